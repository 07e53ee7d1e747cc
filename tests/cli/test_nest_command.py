"""`linnet nest`: the zoo as the command line shows and reviews it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import EMBEDDED, ROOT, Run

NEST = ROOT / "nest"


@pytest.fixture(autouse=True)
def no_hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    """A folder with copies of the two entries, to be changed."""
    for name in ("gpt2", EMBEDDED):
        shutil.copytree(NEST / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def tales(zoo: Path) -> Path:
    """The copy of the embedded entry, on the source as it stands: that is compiled once."""
    card = zoo / EMBEDDED / "nest.toml"
    text = card.read_text()
    assert "../gpt2/gpt2.linnet" in text
    card.write_text(text.replace("../gpt2/gpt2.linnet", str(NEST / "gpt2" / "gpt2.linnet")))
    return zoo / EMBEDDED


def findings(run: Run, *args: str) -> tuple[int, dict[str, tuple[str, str]]]:
    result = run("nest", "check", "--json", *args)
    rows: list[dict[str, Any]] = json.loads(result.stdout)
    return result.exit_code, {row["check"]: (row["verdict"], row["detail"]) for row in rows}


def sample(case: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A sample from what transformers wrote for a prompt."""
    text = case["greedy_text"].removesuffix("<|endoftext|>")
    plain = {
        "kind": "text",
        "prompt": case["prompt"],
        "chat": False,
        "output": text,
        "reference": text,
        "reference_stack": "transformers 5.24.0, f32, eager",
        "tokens": len(case["greedy_ids"]),
        "agreeing_prefix": len(case["greedy_ids"]),
    }
    return plain | changes


def test_list_says_where_weights_are(run: Run) -> None:
    rows = [line.split("  ") for line in run("nest", "list").stdout.splitlines()]
    places = {row[0]: next(cell for cell in row[1:] if cell).strip() for row in rows}
    assert places["gpt2"] == "to download"
    assert places[EMBEDDED] == "included"
    listed = json.loads(run("nest", "list", "--json").stdout)
    assert {entry["name"]: entry["weights"] for entry in listed} == places


def test_show_is_the_card(run: Run) -> None:
    text = run("nest", "show", "gpt2").stdout
    assert "openai-community/gpt2 at 607a30d783dfa663caf39e06633721c8d4cfcd7e" in text
    assert run("nest", "show", "gpt").exit_code == 1


def test_every_entry_passes_and_says_what_was_not_looked_at(run: Run) -> None:
    result = run("nest", "check", "gpt2")
    assert result.exit_code == 0
    assert (
        "gpt2  weights   not run, because the weights of gpt2 are not on this machine"
        in result.stdout
    )
    assert result.stderr.startswith("12 checks: ")
    assert run("nest", "check", "gpt2", "--strict").exit_code == 0  # its card says why
    status, found = findings(run, EMBEDDED)
    assert status == 0
    assert {verdict for check, (verdict, _) in found.items()} == {"pass"}
    assert found["weights"][1] == "52 tensors from the entry's own folder"


def test_samples_are_run(run: Run, tales: Path, references: dict[str, dict[str, Any]]) -> None:
    cases = [sample(references[name]) for name in ("empty", "king", "unicode", "ends")]
    (tales / "samples.json").write_text(json.dumps(cases))
    status, found = findings(run, str(tales))
    assert found["samples"] == ("pass", "4 of text")
    assert status == 0


@pytest.mark.parametrize(
    ("changes", "verdict", "said"),
    [
        (
            {"output": "A Farmer was chosen"},
            "fail",
            "differs from the stored one at character",
        ),
        ({"reference": "A Farmer ran", "agreeing_prefix": 9}, "fail", "and 9 did"),
        ({"agreeing_prefix": "9"}, "fail", "must be of type int"),
        ({"seed": 1}, "fail", "has an unknown key 'seed'"),
        ({"chat": True}, "not run", "it needs a chat template"),
        ({"kind": "image"}, "fail", "has an unknown kind 'image'"),
    ],
)
def test_samples_that_do_not_hold(
    run: Run,
    tales: Path,
    references: dict[str, dict[str, Any]],
    changes: dict[str, Any],
    verdict: str,
    said: str,
) -> None:
    file = tales / "samples.json"
    file.write_text(json.dumps([sample(references["empty"], **changes)]))
    status, found = findings(run, str(tales))
    assert found["samples"][0] == verdict
    assert said in found["samples"][1]
    assert status == (1 if verdict == "fail" else 0)


def test_a_malformed_card_stops_what_needs_it(run: Run, zoo: Path) -> None:
    card = zoo / EMBEDDED / "nest.toml"
    card.write_text(card.read_text().replace("licence", "license").replace("[text]", "[texts]"))
    status, found = findings(run, str(zoo / EMBEDDED))
    assert status == 1
    assert found["card"][0] == "fail"
    assert found["source"] == ("not run", "the card is malformed")


def test_each_flaw_is_found_by_its_own_check(run: Run, zoo: Path) -> None:
    folder = zoo / EMBEDDED
    (folder / "README.md").unlink()
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"scale_attn_weights": False}))
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    bindings = zoo / "gpt2" / "bindings.json"
    bindings.write_text(bindings.read_text().replace("blocks.{i}.ln_1.weight", "blocks.{i}.ln1.w"))
    status, found = findings(run, str(folder))
    assert status == 1
    verdicts = {check: verdict for check, (verdict, _) in found.items()}
    for check in ("readme", "bindings", "config", "digests"):
        assert verdicts[check] == "fail", check
    assert verdicts["source"] == "pass"
    assert "scale_attn_weights" in found["config"][1]


def test_a_source_with_errors(run: Run, zoo: Path) -> None:
    source = zoo / "gpt2" / "gpt2.linnet"
    source.write_text(source.read_text().replace("where S <= MaxPositions", "where S <= 2 * H", 1))
    status, found = findings(run, str(zoo / EMBEDDED))
    assert status == 1
    assert found["source"][0] == "fail"
    assert found["source"][1].startswith("E22")
    assert found["entry"] == ("not run", "the source does not check")


def test_samples_are_shown(run: Run, tales: Path, references: dict[str, dict[str, Any]]) -> None:
    (tales / "samples.json").write_text(json.dumps([sample(references["king"])]))
    text = run("nest", "samples", str(tales)).stdout
    assert repr(references["king"]["greedy_text"]) in text
    assert "64 of 64 tokens with transformers" in text


def test_samples_are_brought_up_to_date(
    run: Run, tales: Path, references: dict[str, dict[str, Any]]
) -> None:
    right = sample(references["king"])
    file = tales / "samples.json"
    file.write_text(json.dumps([right | {"output": "", "agreeing_prefix": 0}]))
    assert run("nest", "samples", "--update", str(tales)).exit_code == 0
    assert json.loads(file.read_text()) == [right]


def test_an_unknown_name_is_one_error(run: Run) -> None:
    result = run("nest", "check", "gpt3")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: there is no model 'gpt3'; did you mean 'gpt2'?")


def test_a_page_of_a_relative_is_called_so(run: Run) -> None:
    assert "  see also  https://" in run("nest", "show", EMBEDDED).stdout
    assert "  link      https://" in run("nest", "show", "gpt2").stdout
