"""`linnet compile`: what is made where, and which sizes are refused."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import EMBEDDED, Run

SCALE = """module scale

pub block Scale<N: Dim, T: Float = f32> {
    param w: Tensor[N; T]

    entry forward(x: Tensor[N; T]) -> Tensor[N; T] {
        return x * w
    }
}
"""


def test_a_size_that_breaks_a_clause_is_a_diagnostic(run: Run) -> None:
    result = run("compile", "nest/gpt2", "--bind", "S=1025")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error[E2206]: `S <= MaxPositions` does not hold")
    assert "S = 1025, MaxPositions = 1024" in result.stderr
    assert "gpt2.linnet:" in result.stderr


def test_a_model_of_the_zoo_has_its_address_from_anywhere(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("compile", "nest/gpt2", "--bind", "S=1025").stderr.startswith("error[E2206]")


def test_c_goes_to_stdout_and_to_a_file(run: Run, tmp_path: Path) -> None:
    args = ("compile", EMBEDDED, "--entry", "decode", "--target", "neon")
    printed = run(*args, "--emit", "c")
    assert printed.exit_code == 0
    assert "vfmaq_f32(" in printed.stdout
    assert "decode" in printed.stdout
    assert "prefill" not in printed.stdout.splitlines()[0]
    out = tmp_path / "decode.c"
    written = run(*args, "-o", str(out))
    assert (written.stdout, written.stderr) == ("", f"wrote {out}\n")
    assert out.read_text() == printed.stdout
    assert run(*args, "-o", "-").stdout == printed.stdout


def test_bound_sizes_become_constants(run: Run) -> None:
    args = ("compile", EMBEDDED, "--entry", "forward", "--entry", "decode", "--target", "scalar")
    free = run(*args, "--emit", "c").stdout
    bound = run(*args, "--emit", "c", "--bind", "S=8", "--bind", "B=1").stdout
    assert "decode" in bound
    assert len(bound) < len(free)


def test_a_library_and_an_object(run: Run, tmp_path: Path) -> None:
    library, unit = tmp_path / "tales.so", tmp_path / "tales.o"
    args = ("compile", EMBEDDED, "--entry", "decode", "--target", "scalar", "-q")
    assert run(*args, "-o", str(library)).exit_code == 0
    assert run(*args, "-o", str(unit)).exit_code == 0
    assert ctypes.CDLL(str(library)).linnet_pool_new is not None
    names = subprocess.run(["nm", str(unit)], capture_output=True, check=True, text=True).stdout
    assert "linnet_pool_new" in names


def test_without_a_destination_the_cache_has_it(run: Run, cache: Path) -> None:
    result = run("compile", EMBEDDED, "--entry", "decode", "--target", "scalar")
    library = Path(result.stdout.strip())
    assert library.is_relative_to(cache)
    assert library.name == "unit.so"
    assert library.is_file()
    assert "this is in the cache" in result.stderr


@pytest.mark.parametrize(
    ("args", "status", "said"),
    [
        (["gpt2", "--bind", "S"], 2, "--bind: 'S' must be NAME=NUMBER, such as S=8"),
        (["gpt2", "--bind", "S=-1"], 2, "--bind: 'S=-1': the value must be a whole number"),
        (["gpt2", "--bind", "S=1", "--bind", "S=2"], 2, "--bind gives S two values"),
        (["gpt2", "--bind", "Q=1"], 1, "no entry has a generic `Q`; there are B, M, S"),
        (["gpt2", "--generic", "Wide=1"], 1, "generics: gpt2 has no generic 'Wide'"),
        (["gpt2", "--generic", "T=f31"], 1, "generics: T = 'f31' is no dtype"),
        (["gpt2", "--entry", "dekode"], 1, "`Gpt2` has no entry `dekode`"),
        (["gpt2", "--emit", "exe"], 2, "--emit: 'exe' is not one of"),
        (["gpt2", "-o", "out.txt"], 2, "-o out.txt: the name must end in .c, .o or .so"),
        (["gpt2", "--emit", "so", "-o", "-"], 2, "only C can be written to stdout"),
        (["gpt2", "--target", "vax"], 2, "--target: 'vax' is no target"),
        (["gpt2", "--root", "Nope", "--emit", "c"], 1, "the file has no block `Nope`"),
        (["gpt3"], 1, "there is no model 'gpt3'; did you mean 'gpt2'?"),
        (["gpt2", "--generic", "H=770", "--emit", "c"], 1, ""),
    ],
)
def test_bad_requests(run: Run, args: list[str], status: int, said: str) -> None:
    result = run("compile", *args)
    assert result.exit_code == status
    assert result.stdout == ""
    assert result.stderr.startswith(f"error: {said}")


def test_an_unwritable_destination_is_named(run: Run, tmp_path: Path) -> None:
    for name in ("a.c", "a.o"):
        out = tmp_path / "nowhere" / name
        result = run("compile", EMBEDDED, "--entry", "decode", "--target", "scalar", "-o", str(out))
        assert result.exit_code == 1
        assert str(tmp_path / "nowhere") in result.stderr


def test_a_source_of_ones_own_takes_its_generics_from_the_command_line(
    run: Run, tmp_path: Path
) -> None:
    source = tmp_path / "scale.linnet"
    source.write_text(SCALE)
    made = run("compile", str(source), "--generic", "N=12", "--target", "avx2", "--emit", "c")
    assert made.exit_code == 0, made.stderr
    assert "12" in made.stdout
    missing = run("compile", str(source), "--emit", "c")
    assert missing.exit_code == 1
    assert "`N`" in missing.stderr
