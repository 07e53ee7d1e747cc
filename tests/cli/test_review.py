"""`linnet nest check`: each flaw is found by its own line, and what cannot be looked at is said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from linnet.cli.review import review
from linnet.cli.terminal import Console
from linnet.nest import registry
from linnet.nest.road.papers import bench_problems, readme_problems
from tests.cli.conftest import EMBEDDED, ROOT, Run

NEST = ROOT / "nest"


@pytest.fixture
def entry(tmp_path: Path) -> Path:
    """A copy of the embedded entry with source and bindings of its own."""
    folder = tmp_path / "entry"
    shutil.copytree(NEST / EMBEDDED, folder)
    for name in ("gpt2.linnet", "bindings.json"):
        shutil.copyfile(NEST / "gpt2" / name, folder / name)
    change(folder / "nest.toml", "../gpt2/gpt2.linnet", "gpt2.linnet")
    change(folder / "nest.toml", "../gpt2/bindings.json", "bindings.json")
    return folder


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def found(folder: Path, checkpoint: Path | None = None) -> dict[str, tuple[str, str]]:
    where = None if checkpoint is None else str(checkpoint)
    return {
        f.check: (f.verdict, f.detail) for f in review(str(folder), Console(), checkpoint=where)
    }


def test_an_entry_as_it_should_be(entry: Path) -> None:
    assert {verdict for verdict, _ in found(entry).values()} == {"pass"}


@pytest.mark.parametrize(
    ("check", "file", "old", "new", "said"),
    [
        ("readme", "README.md", "## Limits", "## More", "no section `## Limits`"),
        ("readme", "README.md", "# GPT-2 tales", "GPT-2 tales", "does not begin with a title"),
        ("format", "gpt2.linnet", "use std.nn.norm", "use  std.nn.norm", "not in the style"),
        ("bench", "bench.json", '"methods"', '"method"', "lacks 'methods'"),
        ("task", "gpt2.linnet", "pub entry decode(token:", "pub entry decode(one:", "one, pos"),
        ("task", "gpt2.linnet", "pub entry decode_rows(", "pub entry rows(", "no entry decode_r"),
        ("bindings", "bindings.json", '"wte":', '"blocks.{i}.wte":', "'blocks.{i}.wte' is no"),
        ("weights", "bindings.json", '"wpe.weight"', '"wpe.w"', "wpe.w"),
        ("config", "config.json", '"gelu_new"', '"relu"', "activation_function"),
        ("card", "nest.toml", "[weights]", "[wieghts]", "did you mean 'weights'"),
    ],
)  # fmt: skip
def test_each_flaw_has_its_line(
    entry: Path, check: str, file: str, old: str, new: str, said: str
) -> None:
    change(entry / file, old, new)
    if check == "task":
        # Its own names inside do not matter here.
        text = (entry / file).read_text()
        (entry / file).write_text(text.replace("return prefill<1>(token, pos)", _body(new)))
    verdicts = found(entry)
    assert verdicts[check][0] == "fail", verdicts[check]
    assert said in verdicts[check][1]


def _body(head: str) -> str:
    return f"return prefill<1>({'one' if 'one' in head else 'token'}, pos)"


def test_spare_pairs_are_found(entry: Path) -> None:
    pairs = json.loads((entry / "bindings.json").read_text())
    for n in range(4):
        pairs[f"blocks.{n}.ln_1.bias"] = f"h.{n}.ln_1.bias"
    (entry / "bindings.json").write_text(json.dumps(pairs))
    verdict, detail = found(entry)["bindings"]
    assert verdict == "fail"
    assert "'blocks.{i}.ln_1.bias': every parameter it speaks of has a pair of its own" in detail


def test_a_checkpoint_of_ones_own(entry: Path, tmp_path: Path) -> None:
    """Sizes come from its config.json; samples are run with it; digests are the published ones'."""
    own = ROOT / "tests" / "data" / "families"
    checkpoint = tmp_path / "mine"
    shutil.copytree(NEST / EMBEDDED, checkpoint)
    for file in ("config.json", "model.safetensors"):
        (entry / file).unlink()
    verdicts = found(entry, checkpoint)
    assert verdicts["weights"][0] == verdicts["samples"][0] == "pass"
    assert verdicts["digests"] == ("not run", "they are those of the published weights")
    assert verdicts["config"][1].endswith("keys as expected, 7 read") or "mentioned" in str(
        verdicts["config"]
    )
    # One of another family is refused by its config, and nothing else is looked at.
    other = next(own.glob("llama-*"))
    verdicts = found(entry, other)
    assert verdicts["config"][0] == "fail"
    assert verdicts["weights"] == ("not run", "config.json does not fit")
    # Without any, each line that needs one says so.
    verdicts = found(entry)
    for check in ("config", "weights", "digests", "samples"):
        assert verdicts[check][0] == "not run"


def test_strict_wants_a_reason(run: Run, entry: Path) -> None:
    (entry / "samples.json").write_text("[]")
    assert run("nest", "check", str(entry)).exit_code == 0
    strict = run("nest", "check", "--strict", str(entry))
    assert strict.exit_code == 1
    assert "samples were not run, and the entry does not say why" in strict.stderr
    with open(entry / "nest.toml", "a", encoding="utf-8") as card:
        card.write('\n[samples]\nnot_run = "the weights are secret"\n')
    said = run("nest", "check", "--strict", str(entry))
    assert said.exit_code == 0
    assert "samples   not run, because the weights are secret" in said.stdout
    assert run("nest", "check", "--checkpoint", "x").exit_code == 2


def test_the_commands_of_the_road(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`new`, `bind`, `diagram` and `index` as a person runs them."""
    monkeypatch.chdir(tmp_path)
    stranger = str(ROOT / "tests" / "data" / "stranger")
    made = run("nest", "new", "one", "--from", stranger)
    assert made.exit_code == 0
    assert "one/nest.toml" in made.stdout
    again = run("nest", "new", "one", "--from", stranger)
    assert again.exit_code != 0
    assert "one is there already" in again.stderr
    (tmp_path / "nest").mkdir()
    assert "nest/two/nest.toml" in run("nest", "new", "two", "--from", stranger).stdout
    (tmp_path / "one" / "bindings.json").write_text("{}")
    bound = run("nest", "bind", "one", "--checkpoint", stranger, "--write", "--json")
    assert bound.exit_code == 0
    written = json.loads((tmp_path / "one" / "bindings.json").read_text())
    assert written == json.loads(bound.stdout)["bindings"]
    assert written["layers.{i}.fc1.bias"] == "model.decoder.layers.{i}.fc1.bias"
    assert run("nest", "bind", "gpt2-tales", "--write").exit_code == 1  # another entry's bindings
    assert run("nest", "diagram", "one").stdout.startswith("<svg")
    assert run("nest", "diagram", "one", "--entry", "backward").exit_code == 2
    assert run("nest", "index", "gpt2-tales", "-o", "pages").exit_code == 0
    assert (tmp_path / "pages" / "gpt2-tales.html").is_file()


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({}, []),
        ([], ["it must hold one JSON object"]),
        ({"methods": [{"method": "a", "kind": "b"}]}, ["method 1 lacks 'metrics'"]),
        (
            {"methods": [{"method": "a", "kind": "b", "metrics": {"x": "1"}}], "dat": ""},
            [
                "has an unknown key 'dat'; did you mean 'date'?",
                "method 1 has the metric x = '1', which is no number",
            ],
        ),
    ],
)
def test_bench_files(tmp_path: Path, document: Any, said: list[str]) -> None:
    file = tmp_path / "bench.json"
    file.write_text(json.dumps(document))
    assert list(bench_problems(file)) == said


def test_headings_in_code_are_none(tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    file.write_text("# A\n\n## Use\n\n```sh\n# Limits\n```\n\n## Where from\n\nLicence: MIT\n")
    assert list(readme_problems(file)) == ["there is no section `## Limits`"]


def test_papers_of_the_zoo_are_right() -> None:
    for name in registry.names():
        assert list(bench_problems(NEST / name / "bench.json")) == [], name
        assert list(readme_problems(NEST / name / "README.md")) == [], name
