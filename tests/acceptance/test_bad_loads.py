"""What `nest.load` must refuse: damaged and foreign checkpoints, bad arguments, no compiler."""

from __future__ import annotations

import json
import shutil
import struct
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from linnet import nest
from linnet.errors import (
    CheckpointError,
    ConfigError,
    LinnetError,
    ShapeError,
    SizeError,
    ToolchainError,
    UnknownModelError,
    UsageError,
)

Write = Callable[..., Path]
Damage = Callable[[Path], object]

WEIGHTS = "model.safetensors"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 497772432\n"
PAGE = "<!DOCTYPE html><html><body>404</body></html>"


def content(change: Callable[[bytes], bytes]) -> Damage:
    return lambda folder: (folder / WEIGHTS).write_bytes(change((folder / WEIGHTS).read_bytes()))


def tensors(change: Callable[[dict[str, Any]], object]) -> Damage:
    def damage(folder: Path) -> None:
        held = dict(load_file(folder / WEIGHTS))
        change(held)
        save_file({k: np.ascontiguousarray(v) for k, v in held.items()}, folder / WEIGHTS)

    return damage


def config(**values: Any) -> Damage:
    def damage(folder: Path) -> None:
        held = json.loads((folder / "config.json").read_text())
        held = {k: v for k, v in (held | values).items() if v is not ...}
        (folder / "config.json").write_text(json.dumps(held))

    return damage


def shard(folder: Path) -> Path:
    return next(folder.glob("model-00002-of-*.safetensors"))


def without(folder: Path) -> None:
    (folder / WEIGHTS).unlink()


def in_its_place(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    (folder / WEIGHTS).mkdir()


F32 = np.float32
BIAS, MATRIX = "h.1.ln_1.bias", "h.1.attn.c_attn.weight"

SINGLE: dict[str, tuple[Damage, type[LinnetError], list[str]]] = {
    # files
    "no folder": (shutil.rmtree, CheckpointError, ["no checkpoint at"]),
    "no weights": (without, CheckpointError, [WEIGHTS, "it holds `config.json`"]),
    "a folder": (in_its_place, CheckpointError, ["is a folder"]),
    "LFS": (content(lambda _: POINTER.encode()), CheckpointError, ["LFS", "git lfs pull"]),
    "HTML": (content(lambda _: PAGE.encode()), CheckpointError, ["HTML page"]),
    "empty": (content(lambda _: b""), CheckpointError, ["is empty"]),
    "cut": (content(lambda b: b[:-1000]), CheckpointError, ["truncated", "669,760", "668,760"]),
    "cut early": (content(lambda b: b[:100]), CheckpointError, ["truncated"]),
    "hostile": (
        content(lambda b: struct.pack("<Q", 2**62) + b[8:]),
        CheckpointError,
        ["header claims"],
    ),
    # tensors
    "missing": (tensors(lambda t: t.pop(BIAS)), CheckpointError, [BIAS, "no such tensor", "[60]"]),
    "misshapen": (
        tensors(lambda t: t.update({MATRIX: t[MATRIX].T})),
        CheckpointError,
        [MATRIX, "[180, 60]", "[60, 180]"],
    ),
    "integers": (
        tensors(lambda t: t.update({BIAS: np.zeros(60, np.int32)})),
        CheckpointError,
        [BIAS, "dtype i32", "f32"],
    ),
    "three at once": (
        tensors(
            lambda t: (t.pop("wpe.weight"), t.update({BIAS: np.zeros(61, F32), MATRIX: t[BIAS]}))
        ),
        CheckpointError,
        ["3 tensors", "wpe.weight", BIAS, MATRIX],
    ),
    "one layer too many": (
        tensors(lambda t: t.update({"h.3.ln_1.bias": np.zeros(60, F32)})),
        CheckpointError,
        ["h.3.ln_1.bias", "no place"],
    ),
    "a weight twice": (
        tensors(lambda t: t.update({"transformer.wte.weight": t["wte.weight"] + 1})),
        CheckpointError,
        ["both `wte.weight` and `transformer.wte.weight`"],
    ),
    "a head of its own": (
        tensors(lambda t: t.update({"lm_head.weight": t["wte.weight"] + 1})),
        CheckpointError,
        ["`lm_head.weight` differs from `wte.weight`"],
    ),
    # config.json
    "no config": (
        lambda folder: (folder / "config.json").unlink(),
        CheckpointError,
        ["no config.json beside it", "h.3.ln_1.weight"],
    ),
    "a folder as config": (
        lambda folder: ((folder / "config.json").unlink(), (folder / "config.json").mkdir()),
        ConfigError,
        ["config.json", "directory"],
    ),
    "no layers": (config(n_layer=0), CheckpointError, ["h.0.", "no place", "config.json"]),
    "a size left out": (config(n_head=...), ConfigError, ["n_head is not there", "Heads"]),
    "quantized": (
        config(quantization_config={"bits": 4}),
        ConfigError,
        ["quantization_config", "quantized weights"],
    ),
    "end of text as a word": (config(eos_token_id="x"), ConfigError, ["eos_token_id", '"x"']),
    "end of text out of range": (config(eos_token_id=5000), ConfigError, ["eos_token_id", "509"]),
    "no JSON": (
        lambda folder: (folder / "config.json").write_text('{"a":'),
        ConfigError,
        ["config.json", "not valid JSON"],
    ),
    "another model": (config(model_type="llama"), ConfigError, ["model_type", "llama", "gpt2"]),
    "two contradictions": (
        config(activation_function="relu", layer_norm_epsilon=1e-6),
        ConfigError,
        ["activation_function", '"relu"', "layer_norm_epsilon", "1e-06"],
    ),
    "a size as text": (config(n_embd="60"), ConfigError, ["n_embd", '"60"']),
    "heads": (config(n_head=7), ConfigError, ["H % Heads == 0", "H = 60", "(n_head = 7)"]),
    "no heads": (config(n_head=0), ConfigError, ["Heads > 0", "n_head = 0"]),
    "more layers": (config(n_layer=4), CheckpointError, ["12 tensors", "h.3.ln_1.weight"]),
    "fewer layers": (config(n_layer=2), CheckpointError, ["h.2.", "no place", "config.json"]),
    "far more layers": (config(n_layer=3000), ShapeError, ["more than", "Layers = 3000"]),
    "absurdly many layers": (config(n_layer=10**9), ShapeError, ["1,000,000,000 blocks"]),
    "another vocabulary": (config(vocab_size=510), CheckpointError, ["[509, 60]", "[510, 60]"]),
}

SHARDED: dict[str, tuple[Damage, type[LinnetError], list[str]]] = {
    "missing": (lambda f: shard(f).unlink(), CheckpointError, ["lacks 1 of the 3 shards"]),
    "LFS": (lambda f: shard(f).write_text(POINTER), CheckpointError, ["LFS", "00002-of-00003"]),
    "cut": (
        lambda f: shard(f).write_bytes(shard(f).read_bytes()[:-64]),
        CheckpointError,
        ["truncated", "00002-of-00003"],
    ),
    "bad index": (
        lambda f: (f / f"{WEIGHTS}.index.json").write_text("{"),
        CheckpointError,
        ["index.json", "not valid JSON"],
    ),
}


def refused(error: type[LinnetError], parts: list[str], *arguments: Any, **options: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(LinnetError) as caught:
            nest.load(*arguments, **options)
    assert type(caught.value) is error
    message = str(caught.value)
    for part in parts:
        assert part in message
    assert message == message.strip()


@pytest.mark.parametrize("case", SINGLE)
def test_a_checkpoint_that_is_not_right(checkpoint: Write, tmp_path: Path, case: str) -> None:
    damage, error, parts = SINGLE[case]
    folder = tmp_path / "copy"
    shutil.copytree(checkpoint("odd"), folder)
    damage(folder)
    refused(error, parts, "gpt2", checkpoint=folder)


@pytest.mark.parametrize("case", SHARDED)
def test_shards_that_are_not_right(checkpoint: Write, tmp_path: Path, case: str) -> None:
    damage, error, parts = SHARDED[case]
    folder = tmp_path / "copy"
    shutil.copytree(checkpoint("odd", "--sharded", "3"), folder)
    damage(folder)
    refused(error, parts, "gpt2", checkpoint=folder)


def test_tensors_of_other_kinds_are_ignored_and_told(checkpoint: Write, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(checkpoint("odd"), folder)
    with nest.load("gpt2", checkpoint=folder) as model:
        wanted = model.forward([[1, 2, 3]])
    tensors(
        lambda t: t.update(
            {"score.weight": np.zeros((2, 60), F32), "lm_head.weight": t["wte.weight"].copy()}
        )
    )(folder)
    with nest.load("gpt2", checkpoint=folder) as model:
        assert model.forward([[1, 2, 3]]).tobytes() == wanted.tobytes()
        assert "score.weight" in model.explain()


def test_a_part_of_a_checkpoint_by_giving_the_generics(checkpoint: Write) -> None:
    with nest.load("gpt2", checkpoint=checkpoint("odd"), generics={"Layers": 2}) as model:
        assert model.forward([[1, 2, 3]]).shape == (1, 3, 509)


ARGUMENTS: list[tuple[dict[str, Any], type[LinnetError], list[str]]] = [
    ({"generics": {"Btch": 2}}, UsageError, ["Btch", "did you mean 'Batch'"]),
    ({"generics": {"Batch": -1}}, UsageError, ["Batch = -1"]),
    ({"generics": {"Batch": 2.5}}, UsageError, ["Batch = 2.5"]),
    ({"generics": {"Batch": True}}, UsageError, ["Batch = True"]),
    ({"generics": {"T": "float"}}, UsageError, ["T = 'float'", "f32"]),
    ({"generics": [("Batch", 2)]}, UsageError, ["generics", "dictionary"]),
    ({"generics": {"MaxSeq": 512}}, SizeError, ["MaxSeq <= MaxPositions", "512", "256"]),
    ({"generics": {"Heads": 7}}, SizeError, ["H % Heads == 0", "H = 160", "Heads = 7"]),
    ({"generics": {"Vocab": 10}}, CheckpointError, ["[1857, 160]", "[10, 160]"]),
    ({"threads": 0}, UsageError, ["threads", "0"]),
    ({"threads": 1.5}, UsageError, ["threads", "1.5"]),
    ({"target": "mips"}, UsageError, ["mips", "neon"]),
    ({"numerics": "quick"}, UsageError, ["quick", "equivalent"]),
]


@pytest.mark.parametrize(("options", "error", "parts"), ARGUMENTS)
def test_bad_arguments(options: dict[str, Any], error: type[LinnetError], parts: list[str]) -> None:
    refused(error, parts, "gpt2-tales", **options)


def test_names_that_are_none(tmp_path: Path) -> None:
    refused(UnknownModelError, ["did you mean 'gpt2-tales'"], "gpt2-tale")
    refused(UnknownModelError, ["no nest.toml"], tmp_path)
    refused(UsageError, ["None"], None)


# --- the compiler --------------------------------------------------------------------------


def script(folder: Path, text: str) -> str:
    path = folder / "mycc"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


REAL = 'case "$*" in *-shared*) {}; esac\nexec cc "$@"'


@pytest.mark.parametrize(
    ("compiler", "parts"),
    [
        (None, ["CC", "no-such-compiler"]),
        (REAL.format("echo sorry >&2; exit 3"), ["sorry", "mycc"]),
        (REAL.format("sleep 100"), ["mycc", "2"]),
    ],
    ids=["none", "failing", "hanging"],
)
def test_compilers_that_do_not_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: str | None, parts: list[str]
) -> None:
    path = "/no-such-compiler" if compiler is None else script(tmp_path, compiler)
    cache = tmp_path / "cache"
    monkeypatch.setenv("LINNET_CACHE", str(cache))
    monkeypatch.setenv("CC", path)
    monkeypatch.setenv("LINNET_CC_TIMEOUT", "2")
    refused(ToolchainError, parts, "gpt2-tales")
    assert not [*cache.rglob("unit.so")]
    # With a compiler that works, the same folder serves.
    monkeypatch.delenv("CC")
    monkeypatch.delenv("LINNET_CC_TIMEOUT")
    with nest.load("gpt2-tales") as model:
        assert model.generate("Once upon a time", max_new_tokens=2) == " there was"
