"""Faults planted in copies of sources are found, and the op that has them is pointed at.

What transformers computed is stored in tests/data/compare (`tests/tools/make_recording.py`); our
side is interpreted, so that nothing is compiled here. A fault is a change of the text at a place
marked by the line it stands in; what is pointed at must be that line, or the call of it.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from linnet.bench.subject import Subject
from linnet.compare import report, run, trace
from linnet.compare.inputs import make
from linnet.compare.locate import locate
from linnet.compare.recording import Recording
from linnet.compare.verdicts import State, against_recording
from linnet.nest import registry

TESTS = Path(__file__).parents[1]
TOKENS = {"gpt2": (7, 300, 12, 45), "llama": (85, 64, 51, 27, 31), "bert": (85, 64, 51, 27, 31)}


@dataclass(frozen=True)
class Fault:
    """`right` is replaced by `wrong`. `points` is the text in whose line the place pointed at
    stands, `block` and `op` are the call there; `equal` are what comes in right."""

    model: str
    right: str
    wrong: str
    points: str
    block: str
    op: str
    equal: tuple[str, ...]


LAYER_NORM = "layer_norm(x, weight, some(bias), EPSILON)"
FAULTS = {
    "wrong eps": Fault(
        "gpt2",
        LAYER_NORM,
        "layer_norm(x, weight, some(bias), 100.0 * EPSILON)",
        LAYER_NORM.split("EPS")[0],
        "blocks.0.ln_1",
        "layer_norm",
        ("x = forward: x",),
    ),
    "missing bias": Fault(
        "gpt2",
        "linear(x, permute(weight, [1, 0]), some(bias))",
        "linear(x, permute(weight, [1, 0]))",
        "linear(x, permute",
        "blocks.0.attn.c_attn",
        "linear",
        ("x = blocks.0.ln_1.forward: layer_norm",),
    ),
    "wrong activation": Fault(
        "gpt2",
        "c_proj.forward(gelu(c_fc.forward(x)))",
        "c_proj.forward(max(c_fc.forward(x), 0.0))",
        "c_proj.forward(max(",
        "blocks.0.mlp",
        "",
        ("blocks.0.mlp.c_fc.forward: linear",),
    ),
    "swapped heads": Fault(
        "gpt2",
        "permute(reshape(x, [B, S, N, D]), [0, 2, 1, 3])",
        "permute(reshape(x, [B, S, D, N]), [0, 3, 1, 2])",
        "let query = heads<",
        "blocks.0.attn",
        "heads",
        ("into blocks.0.attn.project: heads",),
    ),
    "no scale": Fault(
        "gpt2",
        "return 1.0 / sqrt(cast<f32>(H / Heads))",
        "return 1.0",
        "let mixed = attention(query, key, value, scale(), some(causal_mask<S, S>()))",
        "blocks.0.attn",
        "attention",
        (
            "query = blocks.0.attn.project: heads",
            "key = blocks.0.attn.project: heads",
            "value = blocks.0.attn.project: heads",
        ),
    ),
    "no residual": Fault(
        "gpt2",
        "return x + mlp.forward(ln_2.forward(x))",
        "return mlp.forward(ln_2.forward(x))",
        "return mlp.forward(ln_2.forward(x))",
        "blocks.0",
        "",
        ("blocks.0.mlp.c_proj.forward: linear",),
    ),
    "other pairs turned": Fault(
        "llama",
        "let (query, key) = (rope(queries(x), c, s), rope(keys(x), c, s))\n        let mask",
        "let (query, key) = (rope(queries(x), s, c), rope(keys(x), c, s))\n        let mask",
        "let (query, key) = (rope(queries(x), s, c)",
        "layers.0.attention",
        "rope",
        ("layers.0.attention.queries",),
    ),
    "an addition for the root": Fault(
        "llama",
        "rms_norm(x, weight, EPSILON)",
        "rms_norm(x, 1.0 + weight, EPSILON)",
        "rms_norm(x, 1.0",
        "layers.0.attention_norm",
        "rms_norm",
        ("embedding",),
    ),
    "a factor too many": Fault(
        "bert",
        "gelu_erf(up.forward(x))",
        "gelu_erf(0.9 * up.forward(x))",
        "down.forward(gelu_erf(",
        "layers.0.mlp",
        "",
        ("layers.0.mlp.up.forward: linear",),
    ),
    "normalised before": Fault(
        "bert",
        "attn_norm.forward(x + attn.forward(x, seen))",
        "attn_norm.forward(attn.forward(x, seen))",
        "attn_norm.forward(attn.forward(x, seen))",
        "layers.0",
        "",
        ("layers.0.attn.out.forward: linear",),
    ),
}


@pytest.fixture
def checkpoint(request: pytest.FixtureRequest, tiny: Path) -> dict[str, Path]:
    families = TESTS / "data" / "families"
    return {"gpt2": tiny, "llama": families / "llama-1", "bert": families / "bert-1"}


def compared(card: str | Path, model: str, checkpoint: Path) -> run.Result:
    """Our entry, interpreted, against what is stored."""
    subject = Subject.find(card, checkpoint)
    opened = subject.opened()
    entry = run.entry_of(subject.card, run.Request(card))
    graph = trace.lowered(trace.probed(opened, entry, "scalar", "equivalent"))
    ours = trace.interpreted(opened, graph, make(graph, TOKENS[model]).ours)
    recording = Recording.load(TESTS / "data" / "compare" / model)
    modules = run.matched(opened, recording, None)
    verdicts = against_recording(ours, recording, modules, None)
    finding = locate(ours, verdicts)
    return run.Result(model, recording.title, "", TOKENS[model], ours, verdicts, modules, finding)


def copied(fault: Fault, folder: Path) -> tuple[Path, int]:
    """An entry with the fault, and the line that is to be pointed at."""
    card = registry.find(fault.model)
    shutil.copytree(card.folder, folder / fault.model)
    source = folder / fault.model / card.source.path.name
    text = source.read_text(encoding="utf-8")
    assert fault.right in text, "the source reads otherwise now: plant the fault anew"
    text = text.replace(fault.right, fault.wrong)
    source.write_text(text, encoding="utf-8")
    return folder / fault.model / "nest.toml", text[: text.index(fault.points)].count("\n") + 1


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_pointed_at(
    name: str, checkpoint: dict[str, Path], tmp_path: Path
) -> None:
    fault = FAULTS[name]
    card, line = copied(fault, tmp_path)
    result = compared(card, fault.model, checkpoint[fault.model])
    assert result.finding is not None
    place = report.document(result)["finding"]["look_at"]
    assert (place["block"], place["op"], place["line"]) == (fault.block, fault.op, line)
    assert place["file"] == registry.find(fault.model).source.path.name
    lines = report.text(result)
    for equal in fault.equal:
        assert any(line.startswith("  came in equal: ") and equal in line for line in lines)


@pytest.mark.parametrize("model", TOKENS)
def test_what_is_right_agrees(model: str, checkpoint: dict[str, Path]) -> None:
    """Blocks are matched, and nearly every value that depends on the input finds its equal."""
    result = compared(model, model, checkpoint[model])
    assert result.finding is None, report.text(result)
    equal = [k for k, v in result.verdicts.of.items() if v.state is State.EQUAL]
    assert len(equal) > 0.8 * len(result.trace.on_inputs)
    assert max(result.verdicts[k].difference.relative for k in equal) < 1e-5  # type: ignore[union-attr]
    for path, found in {
        "gpt2": {"blocks.1.mlp": ("transformer.h.1.mlp",)},
        "llama": {"layers.1.attention": ("model.layers.1.self_attn",)},
        "bert": {"layers.0.attn.query": ("encoder.layer.0.attention.self.query",)},
    }[model].items():
        assert result.modules[path] == found
