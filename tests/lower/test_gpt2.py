"""The small trained model, lowered and interpreted, against references made by transformers.

The definition is held here: what the interpreter gives is what every kernel has to give.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from linnet.check import check_file
from linnet.interp import run
from linnet.ir.node import CallAttrs, Graph, MapAttrs, toposort
from linnet.ir.ops import Op
from linnet.lower import lower_entry, manifest

ROOT = Path(__file__).parents[2]
NEST, DATA = ROOT / "nest", ROOT / "tests" / "data" / "gpt2-tales"
SIZES = {"Vocab": 1857, "MaxPositions": 256, "H": 160, "Heads": 5, "Layers": 4, "MaxSeq": 48}
CASES = {c["name"]: c for c in json.loads((DATA / "references.json").read_text())["cases"]}
LOGITS = load_file(DATA / "references.safetensors")


@cache
def lowered(entry: str, batch: int = 1) -> Graph:
    result = check_file(NEST / "gpt2" / "gpt2.linnet")
    assert result.program is not None
    (root,) = result.program.roots()
    return lower_entry(result.program, root, entry, {**SIZES, "Batch": batch})


@cache
def weights() -> dict[str, np.ndarray]:
    tensors = load_file(NEST / "gpt2-tales" / "model.safetensors")
    names = json.loads((NEST / "gpt2" / "bindings.json").read_text())
    found = {}
    for path, name in names.items():
        for k in range(SIZES["Layers"]):
            key = name.replace("{i}", str(k))
            found[path.replace("{i}", str(k))] = tensors[f"transformer.{key}"]
    return found


def test_manifest_fits_the_checkpoint() -> None:
    result = check_file(NEST / "gpt2" / "gpt2.linnet")
    assert result.program is not None
    (root,) = result.program.roots()
    found = manifest(result.program, root, SIZES)
    shapes = {e.path: tuple(d.value for d in e.type.dims) for e in found.weights}
    assert shapes == {path: tensor.shape for path, tensor in weights().items()}
    assert len(found.states) == 2 * SIZES["Layers"]


def logits(
    entry: str, state: dict[str, np.ndarray], batch: int = 1, **inputs: object
) -> np.ndarray:
    (value,), new = run(lowered(entry, batch), inputs, weights(), state)
    state.update(new)
    return value


def test_forward_gives_the_reference_logits() -> None:
    case = CASES["three_sons"]
    got = logits("forward", {}, tokens=np.array([case["ids"]]))
    assert np.abs(got[0] - LOGITS["logits_all.three_sons"]).max() < 1e-4


def greedy_ids(name: str, count: int) -> list[int]:
    ids = CASES[name]["greedy_ids"]
    assert isinstance(ids, list)
    return ids[:count]


def test_forward_of_the_growing_sequence() -> None:
    ids = list(CASES["king"]["ids"])
    for wanted in greedy_ids("king", 4):
        got = logits("forward", {}, tokens=np.array([ids]))[0, -1]
        assert got.argmax() == wanted
        ids.append(wanted)


def test_prefill_then_decode() -> None:
    ids = CASES["dialogue"]["ids"]
    state: dict[str, np.ndarray] = {}
    logits("prefill", state, tokens=np.array([ids[:5]]), pos=0)
    got = logits("prefill", state, tokens=np.array([ids[5:]]), pos=5)
    best = np.argsort(-got[0], kind="stable")[:10].tolist()
    assert best == CASES["dialogue"]["top10_ids"]
    assert np.abs(got[0][best] - CASES["dialogue"]["top10_logits"]).max() < 1e-4
    for k, wanted in enumerate(greedy_ids("dialogue", 6)):
        assert got[0].argmax() == wanted
        got = logits("decode", state, token=np.array([[wanted]]), pos=len(ids) + k)


def test_slots_then_rows_carry_three_prompts_at_once() -> None:
    names = ("empty", "king", "once")
    prompts = [CASES[n]["ids"] for n in names]
    longest = max(map(len, prompts))
    tokens = np.array([p + [0] * (longest - len(p)) for p in prompts])
    lengths = np.array([len(p) for p in prompts])
    state: dict[str, np.ndarray] = {}
    slots = np.array([2, 0, 1])
    got = logits("prefill_slots", state, 4, tokens=tokens, slots=slots, lengths=lengths)
    wanted = np.array([greedy_ids(n, 4) for n in names])
    assert got.argmax(-1).tolist() == wanted[:, 0].tolist()
    row_tokens, positions = np.zeros((4, 1), np.int32), np.zeros(4, np.int32)
    for k in range(3):
        row_tokens[slots, 0], positions[slots] = wanted[:, k], lengths + k
        got = logits("decode_rows", state, 4, tokens=row_tokens, positions=positions)
        assert got[slots].argmax(-1).tolist() == wanted[:, k + 1].tolist()


@pytest.mark.parametrize(
    ("entry", "sizes", "clauses"),
    [
        ("forward", ("B", "S"), ["S <= MaxPositions"]),
        ("decode", (), []),
        ("prefill", ("S",), ["S > 0", "S <= MaxPositions", "S <= MaxSeq"]),
        ("decode_rows", (), []),
        (
            "prefill_slots",
            ("M", "S"),
            ["M > 0", "M <= Batch", "S > 0", "S <= MaxPositions", "S <= MaxSeq"],
        ),
    ],
)
def test_what_is_left_open(entry: str, sizes: tuple[str, ...], clauses: list[str]) -> None:
    graph = lowered(entry)
    assert graph.sizes == sizes
    assert [c.text for c in graph.clauses] == clauses


def test_ops_are_lowered_once_and_keep_their_names() -> None:
    graph = lowered("forward")
    calls = [n for n in toposort(graph.outputs()) if n.op is Op.CALL]
    functions = {id(n.attrs.function) for n in calls if isinstance(n.attrs, CallAttrs)}
    # embedding, norm, mask, attention, gelu, head, and the four shapes of projections.
    assert len(functions) == 10
    names = {
        (n.origin.name, n.origin.path) for n in calls if n.origin and "blocks.3" in n.origin.path
    }
    assert ("qkv", "blocks.3.attn.c_attn") in names
    assert ("mixed", "blocks.3.attn") in names
    assert not graph.updates
    assert set(lowered("decode").updates) == {
        f"blocks.{k}.attn.cache_{c}" for k in range(4) for c in "kv"
    }


def test_the_scale_is_a_number() -> None:
    graph = lowered("forward")
    attention = next(
        n
        for n in toposort(graph.outputs())
        if isinstance(n.attrs, CallAttrs) and n.attrs.function.op.endswith("::attention")
    )
    scale = attention.args[3]
    assert isinstance(scale.attrs, MapAttrs)
    assert scale.attrs.body.value == float(np.float32(1) / np.sqrt(np.float32(32)))  # type: ignore[attr-defined]
