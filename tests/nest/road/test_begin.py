"""`linnet nest new` and `bind`: what is written from a checkpoint checks, binds and says what it
does not know. The checkpoints are those of families in tests/data, one of a family that is not in
the zoo, and one made to be odd."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from safetensors.numpy import save_file

from linnet import driver
from linnet.cli.review import review
from linnet.cli.terminal import Console
from linnet.errors import CheckpointError, LinnetError, UsageError
from linnet.nest import registry
from linnet.nest.bindings import load_bindings
from linnet.nest.card import load_card
from linnet.nest.road.begin import begin
from linnet.nest.road.binding import proposal_for, write_bindings
from linnet.nest.road.propose import propose

DATA = Path(__file__).parents[2] / "data"
STRANGER = DATA / "stranger"
FAMILIES = sorted(f.parent for f in DATA.glob("families/*-1/config.json"))


def verdicts(folder: Path, checkpoint: Path) -> dict[str, tuple[str, str]]:
    found = review(str(folder), Console(), checkpoint=str(checkpoint))
    return {f.check: (f.verdict, f.detail) for f in found}


def odd_checkpoint(folder: Path) -> Path:
    """A checkpoint with what makes names hard: words of the language, numbers that are no array,
    arrays in arrays, a head that is the table, buffers of integers, a scalar, matrices stored
    [In, Out], a bare list, two shards' worth of dtypes."""
    folder.mkdir()
    vocab, width, heads, few, inner, layers, experts = 60, 16, 4, 2, 24, 3, 2
    tensors: dict[str, Any] = {}

    def put(name: str, *shape: int, dtype: Any = np.float32) -> None:
        tensors[name] = (np.arange(np.prod(shape, dtype=int)) + len(tensors)).reshape(shape)
        tensors[name] = tensors[name].astype(dtype)

    put("net.table.weight", vocab, width)
    tensors["lm_head.weight"] = tensors["net.table.weight"].copy()
    put("net.norm.weight", width, dtype=np.float16)
    put("net.position_ids", 1, 32, dtype=np.int64)
    tensors["net.scale"] = np.array(2, np.float32)
    for n in range(layers):
        at = f"net.block.{n}"
        put(f"{at}.self.q_proj.weight", width, width)
        put(f"{at}.self.k_proj.weight", width, width // heads * few)
        put(f"{at}.self.k_proj.bias", width // heads * few)
        put(f"{at}.mlp.0.weight", width, inner)
        put(f"{at}.mlp.0.bias", inner)
        put(f"{at}.mlp.2.weight", inner, width)
        put(f"{at}.mlp.2.bias", width)
        for e in range(experts):
            put(f"{at}.experts.{e}.up.weight", inner, width)
        for k in range(2):
            put(f"{at}.gates.{k}", width)
    save_file(tensors, folder / "model.safetensors")
    config = {
        "model_type": "odd",
        "vocab_size": vocab,
        "hidden_size": width,
        "text_config": {"num_attention_heads": heads, "num_key_value_heads": few},
        "ffn_dim": inner,
        "num_hidden_layers": layers,
        "num_local_experts": experts,
        "act": None,
    }
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize("checkpoint", [*FAMILIES, STRANGER], ids=lambda path: str(path.name))
def test_a_new_folder_checks_and_binds(checkpoint: Path, tmp_path: Path) -> None:
    folder = begin("fresh", checkpoint, tmp_path / "fresh").folder
    found = verdicts(folder, checkpoint)
    assert "fail" not in {verdict for verdict, _ in found.values()}, found
    for check in ("card", "readme", "source", "format", "entry", "bindings", "config", "weights"):
        assert found[check][0] == "pass", found[check]
    assert "unused" not in found["weights"][1]
    # What names and shapes say without bindings.json is what `new` wrote.
    card = load_card(folder)
    proposal = proposal_for(card, str(checkpoint), fresh=True)
    assert proposal.complete
    assert not proposal.left
    assert proposal.bindings == json.loads((folder / "bindings.json").read_text())


def test_what_is_odd_is_declared_or_named(tmp_path: Path) -> None:
    checkpoint = odd_checkpoint(tmp_path / "odd")
    begun = begin("odd-one", checkpoint, tmp_path / "entry")
    found = verdicts(begun.folder, checkpoint)
    unused = "3 tensors unused: lm_head.weight, net.position_ids, net.scale"
    assert found["weights"] == ("pass", f"35 tensors from the path {checkpoint}, {unused}")
    card = load_card(begun.folder)
    assert card.weights.tied == {"lm_head.weight": "table.weight"}
    generics = {k: v for k, v in card.generics.items() if k != "T"}
    assert generics == {
        "Vocab": 60, "H": 16, "Heads": 4, "KvHeads": 2, "HeadDim": 4, "Inner": 24, "Layers": 3,
        "Experts": 2,
    }  # fmt: skip
    assert card.config_generics["KvHeads"].key.text == "text_config.num_key_value_heads"
    default = card.config_generics["HeadDim"].default
    assert default is not None
    assert default.text == "H / Heads"
    source = (begun.folder / "odd_one.linnet").read_text()
    assert "Tensor[In, Out; T]" in source  # all its biased matrices are stored that way
    assert "sub self_:" in source
    assert "sub experts: [Expert<" in source
    assert "//     net.block.{i}.experts.{j}.up.weight  f32 [24, 16]  i = 0..2, j = 0..1" in source
    said = "\n".join(begun.notes)
    assert "net.position_ids is left out: of dtype i64" in said
    assert "net.scale is left out: a single number" in said
    assert "lm_head.weight is left out: the same values as `net.table.weight`" in said


def test_without_a_config_sizes_are_numbers(tmp_path: Path) -> None:
    shutil.copyfile(STRANGER / "model.safetensors", tmp_path / "model.safetensors")
    begun = begin("fresh", tmp_path, tmp_path / "fresh")
    assert "the checkpoint has no config.json: all sizes stand as numbers" in begun.notes
    found = verdicts(begun.folder, tmp_path)
    assert "fail" not in {verdict for verdict, _ in found.values()}, found
    assert found["weights"][0] == "pass"


def test_every_key_of_the_config_stands_in_the_card(tmp_path: Path) -> None:
    folder = begin("fresh", STRANGER, tmp_path / "fresh").folder
    card = (folder / "nest.toml").read_text()
    config = json.loads((STRANGER / "config.json").read_text())
    assert [key for key in config if key not in card] == []
    expect = tomllib.loads(card)["config"]["expect"]
    assert expect == {"model_type": config["model_type"]}  # the others are for a person to decide
    assert '# activation_function = "relu"' in card


def test_positions_with_an_offset_and_further_sizes_are_generics(tmp_path: Path) -> None:
    folder = begin("fresh", STRANGER, tmp_path / "fresh").folder
    source = (folder / "fresh.linnet").read_text()
    assert "sub embed_positions: Matrix<MaxPositions + 2, H, T>" in source
    assert "sub embed_tokens: Matrix<Vocab, WordEmbedProjDim, T>" in source
    assert "sub layers: [Layer<" in source
    assert "embedding(tokens, embed_tokens.weight)" in source


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        begin("mine", STRANGER, tmp_path / "mine")
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["notes.txt"]
    with pytest.raises(UsageError, match="small letters"):
        begin("Mine!", STRANGER, tmp_path / "other")
    with pytest.raises(UsageError, match="has an entry 'gpt2' already"):
        begin("gpt2", STRANGER, tmp_path / "other")
    with pytest.raises(CheckpointError, match="no checkpoint at"):
        begin("mine", tmp_path / "nowhere", tmp_path / "other")
    (tmp_path / "empty").mkdir()
    with pytest.raises(LinnetError):
        begin("mine", tmp_path / "empty", tmp_path / "other")
    assert not (tmp_path / "other").exists()


def small_checkpoints(name: str) -> list[Path | None]:
    """Those of an entry's kind: its own weights, or the small ones of its family."""
    card = registry.find(name)
    own = all((card.folder / file).is_file() for file in card.weights.files)
    found = [p for p in DATA.glob("families/*-*") if p.name.rpartition("-")[0] == name]
    return [None] if own else [*found]


@pytest.mark.parametrize("name", [n for n in registry.names() if small_checkpoints(n)])
def test_proposals_agree_with_the_zoo(name: str) -> None:
    """What is proposed from nothing for the entries of the zoo is what their authors wrote."""
    card = registry.find(name)
    for checkpoint in small_checkpoints(name):
        proposal = proposal_for(card, checkpoint and str(checkpoint), fresh=True)
        pairs = {} if card.weights.bindings is None else load_bindings(card.weights.bindings).pairs
        wrong = [
            pair
            for pair in proposal.pairs
            if pair.tensor != _renamed(pairs).get(pair.path, pair.path)
        ]
        assert not wrong, wrong
        # Norms that stand before one part and behind another are open; nothing else is.
        left = [item.path for item in proposal.open if not item.optional]
        assert all("norm" in path for path in left), left


@pytest.mark.parametrize("name", [n for n in registry.names() if small_checkpoints(n)])
def test_proposals_keep_what_other_checkpoints_of_the_family_have(name: str) -> None:
    """Whichever one is looked at, nothing is taken out of bindings.json."""
    card = registry.find(name)
    pairs = {} if card.weights.bindings is None else load_bindings(card.weights.bindings).pairs
    named = {path: tensor for path, tensor in _renamed(pairs).items() if path != tensor}
    for checkpoint in small_checkpoints(name):
        assert proposal_for(card, checkpoint and str(checkpoint)).bindings == named


def _renamed(pairs: Any) -> dict[str, str]:
    """With the letters of proposals."""
    return {
        key.replace("{n}", "{i}").replace("{layer}", "{i}"): name.replace("{n}", "{i}").replace(
            "{layer}", "{i}"
        )
        for key, name in pairs.items()
    }


def test_words_decide_as_a_person_would() -> None:
    """Short names against long ones; a norm before a part and one behind it are no matter of
    words."""

    class P(NamedTuple):
        path: str
        dims: tuple[int, ...]
        dtype: str = "f32"
        optional: bool = False

    class T(NamedTuple):
        shape: tuple[int, ...]
        dtype: str = "f32"

    square = (8, 8)
    names = {
        "layers.{i}.attn.q.weight": "model.decoder.layers.{i}.self_attn.q_proj.weight",
        "layers.{i}.attn.k.weight": "model.decoder.layers.{i}.self_attn.k_proj.weight",
        "layers.{i}.attn.v.weight": "model.decoder.layers.{i}.self_attn.v_proj.weight",
        "layers.{i}.attn.c_proj.weight": "model.decoder.layers.{i}.self_attn.out_proj.weight",
        "layers.{i}.mlp_norm": "model.decoder.layers.{i}.post_attention_layernorm.weight",
        "layers.{i}.attention_norm": "model.decoder.layers.{i}.input_layernorm.weight",
    }
    shapes = {name: square if "attn" in name else (8,) for name in names}
    ours = [P(n.replace("{i}", str(k)), shapes[n]) for n in names for k in range(2)]
    theirs = {t.replace("{i}", str(k)): T(shapes[n]) for n, t in names.items() for k in range(2)}
    found = propose(ours, theirs)
    assert {pair.path: pair.tensor for pair in found.pairs} == {
        path: tensor for path, tensor in names.items() if "attn" in path
    }
    assert {item.path for item in found.open} == {
        "layers.{i}.mlp_norm", "layers.{i}.attention_norm",
    }  # fmt: skip


SOURCE = """module other

block Norm<N: Dim, T: Float> {
    param gain: Tensor[N; T]
    param shift: Tensor[N; T]
}

block Map<Out: Dim, In: Dim, T: Float> {
    param weight: Tensor[Out, In; T]
    param bias: Tensor[Out; T]
}

block Layer<H: Dim, Inner: Dim, T: Float> {
    sub one: Map<H, H, T>
    sub two: Map<H, H, T>
    sub up: Map<Inner, H, T>
    sub down: Map<H, Inner, T>
}

pub block Other<H: Dim, Inner: Dim, Layers: Dim, Extra: Dim = 7, T: Float = f32> {
    param table: Tensor[9, H; T]
    sub stack: [Layer<H, Inner, T>; Layers]
    param odd: Tensor[Extra, Extra; T]

    pub entry forward<B: Dim>(x: Tensor[B, H; T]) -> Tensor[B, H; T] {
        return x
    }
}
"""
CARD = """[model]
name = "other"
title = "Other"
summary = "For tests."
license = "MIT"
[links]
huggingface = "https://example.org"
[source]
path = "other.linnet"
entry = "forward"
[generics]
H = 8
Inner = 12
Layers = 2
[check]
B = 1
[weights]
bindings = "bindings.json"
"""


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """An entry whose names have little in common with those of its checkpoint."""
    (tmp_path / "other.linnet").write_text(SOURCE)
    (tmp_path / "nest.toml").write_text(CARD)
    (tmp_path / "bindings.json").write_text("{}\n")
    tensors = {"emb.weight": np.zeros((9, 8), np.float32)}
    for n in range(2):
        for name, out, size in (("a", 8, 8), ("b", 8, 8), ("f1", 12, 8), ("f2", 8, 12)):
            tensors[f"h.{n}.{name}.weight"] = np.zeros((out, size), np.float32)
            tensors[f"h.{n}.{name}.bias"] = np.zeros(out, np.float32)
    tensors["strange"] = np.zeros((3, 7), np.float32)
    save_file(tensors, tmp_path / "model.safetensors")
    return tmp_path


def test_what_cannot_be_decided_is_explained(other: Path) -> None:
    card = load_card(other)
    found = proposal_for(card, str(other))
    pairs = {pair.path: pair.tensor for pair in found.pairs}
    # Shapes alone decide these, and the biases follow their modules.
    assert pairs == {
        "table": "emb.weight",
        "stack.{i}.up.weight": "h.{i}.f1.weight",
        "stack.{i}.up.bias": "h.{i}.f1.bias",
        "stack.{i}.down.weight": "h.{i}.f2.weight",
        "stack.{i}.down.bias": "h.{i}.f2.bias",
    }
    left = {item.path: item for item in found.open}
    assert set(left) == {
        "stack.{i}.one.weight", "stack.{i}.one.bias", "stack.{i}.two.weight",
        "stack.{i}.two.bias", "odd",
    }  # fmt: skip
    candidates = {name for name, _ in left["stack.{i}.one.weight"].candidates}
    assert candidates == {"h.{i}.a.weight", "h.{i}.b.weight"}
    assert "no tensor that is left has its shape" in left["odd"].why
    assert ("strange", (3, 7)) in found.left
    assert not found.complete


def test_a_pair_that_is_given_settles_its_neighbours(other: Path) -> None:
    given = {"stack.{n}.one.weight": "h.{n}.b.weight"}
    (other / "bindings.json").write_text(json.dumps(given))
    card = load_card(other)
    found = proposal_for(card, str(other))
    pairs = {pair.path: pair.tensor for pair in found.pairs}
    assert pairs["stack.{i}.one.weight"] == "h.{i}.b.weight"
    assert pairs["stack.{i}.one.bias"] == "h.{i}.b.bias"
    assert pairs["stack.{i}.two.weight"] == "h.{i}.a.weight"
    assert pairs["stack.{i}.two.bias"] == "h.{i}.a.bias"
    write_bindings(card, found)
    written = load_bindings(other / "bindings.json")
    request = driver.Request(other / "other.linnet", generics={"H": 8, "Inner": 12, "Layers": 2})
    names = written.expand([p.path for p in driver.manifest(request)])
    assert names["stack.1.two.bias"] == "h.1.a.bias"
