"""`linnet bench` and `linnet profile`: options, output, refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from linnet.bench.measure import Request
from linnet.bench.results import Result as Measured
from linnet.bench.sizes import PRODUCT
from linnet.cli.app import cli
from linnet.nest import registry
from tests.bench.conftest import EMBEDDED
from tests.bench.made import made


def run(*args: str) -> Result:
    result = CliRunner().invoke(cli, args, prog_name="linnet")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """Requests that reach the measurement, which gives a result made by hand."""
    requests: list[Request] = []

    def bench(request: Request, say: Callable[[str], None]) -> Measured:
        requests.append(request)
        return made()

    monkeypatch.setattr("linnet.bench.measure.bench", bench)
    return requests


def test_options_become_a_request(asked: list[Request]) -> None:
    args = ("--threads", "2,1", "--rounds", "7", "--seed", "3", "--python", "/opt/python")
    result = run(
        "bench", EMBEDDED, *args, "--compare", "transformers,openvino", "--compare", "onnxruntime"
    )
    assert result.exit_code == 0
    (request,) = asked
    assert request.threads == (2, 1)
    assert (request.rounds, request.seed, request.quick) == (7, 3, False)
    assert request.compare == ("transformers", "openvino", "onnxruntime")
    assert request.pythons == ("/opt/python",)
    assert (request.tasks, request.precision) == ((), "f32")
    assert "linnet / best other" in result.stdout


def test_all_engines_and_one_quick_round(asked: list[Request]) -> None:
    run("bench", EMBEDDED, "--quick", "--compare", "all")
    assert asked[0].rounds == 1
    assert "llama.cpp" in asked[0].compare
    assert "linnet" not in asked[0].compare


def test_json_is_one_document_and_the_plot_a_file(asked: list[Request], tmp_path: Path) -> None:
    file = tmp_path / "roof.svg"
    result = run("bench", EMBEDDED, "--json", "--plot", str(file))
    assert json.loads(result.stdout)["model"] == "gpt2"
    assert file.read_text().startswith("<svg")
    assert str(file) in result.stderr


def test_update_writes_beside_the_card(
    asked: list[Request], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = registry.find(EMBEDDED)
    text = card.file.read_text().replace("../gpt2/", f"{card.folder.parent}/gpt2/")
    (tmp_path / EMBEDDED).mkdir()
    (tmp_path / EMBEDDED / "nest.toml").write_text(text)
    result = run("bench", str(tmp_path / EMBEDDED), "--update")
    assert result.exit_code == 0, result.stderr
    written = json.loads((tmp_path / EMBEDDED / "bench.json").read_text())
    assert written["methods"][0]["key"] == "linnet-1t"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--threads", "two"), "'two' must be numbers"),
        (("--threads", "0"), "threads must be"),
        (("--rounds", "0"), "rounds must be at least 1"),
        (("--compare", "excel"), "'excel' is no engine"),
        (("--plot", "roof.png"), "must end with .svg"),
        (("--quick", "--update"), "not of --quick"),
        (("--task", "decode_16", "--update"), "or --task"),
        (("--precision", "f64"), "'f64' is not one of"),
    ],
)
def test_bad_options_exit_2_before_anything_runs(
    args: tuple[str, ...], said: str, asked: list[Request]
) -> None:
    result = run("bench", EMBEDDED, *args)
    assert result.exit_code == 2
    assert said in result.stderr
    assert not asked


def test_loops_of_a_bare_file_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "product.linnet"
    file.write_text(PRODUCT, encoding="utf-8")
    sizes = ("--generic", "In=160", "--generic", "Out=192")
    result = run("profile", str(file), "--loops", "--cpu", "", *sizes)
    assert result.exit_code == 0, result.output
    table = [line.split() for line in result.stdout.splitlines()]
    assert table[0][:3] == ["function", "instructions", "multiply-adds"]
    assert any(line[0].startswith(("ln_", "kernel_linear")) for line in table[1:] if line)
    assert run("profile", EMBEDDED, "--generic", "H=8").exit_code == 2


def test_a_profile_is_a_table() -> None:
    result = run("profile", EMBEDDED, "--calls", "2", "-t", "1")
    assert result.exit_code == 0
    assert "blocks.{i}.mlp.c_fc" in result.stdout
    assert "times its limit" in result.stdout


@pytest.mark.parametrize(
    ("args", "status", "said"),
    [
        (("--calls", "0"), 2, "calls must be at least 1"),
        (("--entry", "decod"), 1, "no entry `decod`"),
    ],
)
def test_a_profile_of_nothing_is_refused(args: tuple[str, ...], status: int, said: str) -> None:
    result = run("profile", EMBEDDED, *args)
    assert result.exit_code == status
    assert said in result.stderr
