"""Whole programs: the reference's example, the library, the model of the zoo."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from check.programs import check, codes
from linnet.check import check_file, check_source, root_of
from linnet.check.typed import Let, StaticForBlocks
from linnet.diag import Source
from linnet.errors import UsageError
from linnet.resources import folder

HERE = Path(__file__).parent


def test_the_example_of_the_reference_is_accepted() -> None:
    result = check_file(HERE / "pond.linnet")
    assert [(d.code, str(d.primary)) for d in result.problems] == []
    assert result.program is not None
    root = root_of(result.program)
    assert root.name == "Pond"
    assert list(root.members) == ["inlet", "layers", "seen"]
    observe = root.functions["observe"]
    assert [type(s) for s in observe.body[:2]] == [Let, StaticForBlocks]


DECODER = (HERE / "decoder.linnet").read_text()


def test_what_zoo_models_are_made_of_is_accepted() -> None:
    assert [(d.code, str(d.primary)) for d in check(DECODER).problems] == []


@pytest.mark.parametrize(
    ("item", "code", "help"),
    [
        ("(H / Heads) % 2 == 0, ", "E2206", "`(H / Heads) % 2 == 0` to the where list of `step`"),
        (", H % Heads == 0", "E2202", "`H % Heads == 0` to the where list of `step`"),
        ("Heads % Kv == 0, ", "E2206", "`Heads % Kv == 0` to the where list of `step`"),
        (", Shards == 1", "E2205", "`Shards > 0` to the where list of `Model`"),
        ("where D % 2 == 0, ", "E2101", "`D % 2 == 0` to the where list of `tables`"),
    ],
)
def test_every_clause_is_needed_and_the_missing_one_is_offered(
    item: str, code: str, help: str
) -> None:
    text = DECODER.replace(item, "where " if item.startswith("where") else "")
    assert text != DECODER
    found = list(check(text).problems)
    assert {d.code for d in found} == {code}
    assert any(f"add {help}" in d.help for d in found)


@pytest.mark.parametrize("file", sorted(folder("stdlib").rglob("*.linnet")), ids=lambda f: f.stem)
def test_the_standard_library_checks(file: Path) -> None:
    assert [(d.code, d.message) for d in check_file(file).problems] == []


def test_gpt2_checks_quickly() -> None:
    file = folder("nest") / "gpt2" / "gpt2.linnet"
    check_file(file)
    start = time.perf_counter()
    result = check_file(file)
    assert time.perf_counter() - start < 2.0, "budget 0.5 s, with slack for a loaded machine"
    assert [(d.code, d.message) for d in result.problems] == []
    assert result.program is not None
    entries = [f.name for f in root_of(result.program).entries]
    assert entries == ["forward", "decode", "prefill", "decode_rows", "prefill_slots"]


def test_root_is_named_or_the_only_block_with_entries() -> None:
    block = "block {} {{ entry go(x: f32) -> f32 {{ return x }} }}\n"
    one = check(block.format("A")).program
    two = check(block.format("A") + block.format("B")).program
    none = check("fn f(x: f32) -> f32 { return x }").program
    assert one is not None
    assert two is not None
    assert none is not None
    assert root_of(one).name == "A"
    assert root_of(two, "B").name == "B"
    with pytest.raises(UsageError, match="several blocks"):
        root_of(two)
    with pytest.raises(UsageError, match="no entries"):
        root_of(none)
    with pytest.raises(UsageError, match="`C`"):
        root_of(two, "C")


def test_a_program_with_errors_is_not_handed_on() -> None:
    assert check("fn f() -> f32 { return gone }").program is None


def test_strict_refuses_warnings() -> None:
    source = Source("t.linnet", "module t\nfn f(x: f32) -> f32 { let y = x return x }")
    assert check_source(source).program is not None
    assert check_source(source, strict=True).program is None


def test_deep_nesting_is_no_trouble() -> None:
    deep = "(" * 90 + "x" + " + x)" * 90
    assert codes(f"fn f(x: f32) -> f32 {{ return {deep} }}") == []
    assert codes(f"fn f(x: f32) -> f32 {{ return {' + '.join(['x'] * 3000)} }}") == []


def test_reports_come_in_the_order_of_the_source_every_time() -> None:
    text = """
    fn a() -> f32 { return one }
    block B { param w: f32  fn go() -> f32 { return two } }
    fn c(x: Gone) -> f32 { return three }
    """
    first = codes(text)
    assert first == ["E1201", "E4101", "E1201", "E1201", "E1201"]
    assert codes(text) == first
