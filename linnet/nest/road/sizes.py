"""Which generic a size of a checkpoint stands for.

In goes config.json, flat; out come `Size`s, a generic each, by the names such keys usually have.
`Speller` then writes the axes of tensors in these generics, and keeps what else a number could
have meant. All of it is a guess for a person to look at, none of it is knowledge of a family.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

USUAL: dict[str, tuple[str, ...]] = {
    "Vocab": ("vocab_size", "n_vocab", "padded_vocab_size"),
    "MaxPositions": (
        "max_position_embeddings",
        "n_positions",
        "max_sequence_length",
        "max_seq_len",
        "seq_length",
        "n_ctx",
    ),
    "Types": ("type_vocab_size",),
    "H": ("hidden_size", "n_embd", "d_model", "embed_dim", "hidden_dim", "dim"),
    "Heads": ("num_attention_heads", "n_head", "num_heads", "n_heads", "attention_heads"),
    "KvHeads": ("num_key_value_heads", "num_kv_heads", "n_kv_heads", "n_head_kv"),
    "HeadDim": ("head_dim", "d_kv", "attention_head_size"),
    "Inner": (
        "intermediate_size",
        "ffn_dim",
        "n_inner",
        "d_ff",
        "ffn_hidden_size",
        "encoder_ffn_dim",
        "mlp_dim",
    ),
    "Layers": ("num_hidden_layers", "n_layer", "num_layers", "n_layers", "encoder_layers"),
    "Size": ("image_size",),
    "Patch": ("patch_size",),
    "Channels": ("num_channels", "in_chans", "in_channels"),
    "Experts": ("num_local_experts", "num_experts", "n_routed_experts"),
}
"""Generics, and the keys of config.json that usually give them, the likeliest first."""

HINTS: tuple[tuple[str, int, str], ...] = (
    (r"token_type|segment", 0, "Types"),
    (r"position|pos_emb|wpe", 0, "MaxPositions"),
    (r"vocab|lm_head|embed_tokens|word_emb|token_emb|tok_emb|embed_in|embed_out|wte", 0, "Vocab"),
    (r"(^|[._])(k|v|key|value)(_proj|_lin)?\.", 0, "KvHeads * HeadDim"),
    (r"(^|[._])(q|query)(_proj|_lin)?\.", 0, "Heads * HeadDim"),
    (r"(^|[._])(o|out)_proj\.", 1, "Heads * HeadDim"),
    (r"experts?\.", 0, "Experts"),
)
"""What the name of a tensor says about one of its axes."""

MOST_MULTIPLE = 4


@dataclass(frozen=True)
class Size:
    """A generic: its name, its value, and the key of config.json that gives it, if one does.
    `default` is a formula that stands in for a missing key. `counted`: it is the number of what
    the key holds."""

    name: str
    value: int
    key: str | None
    default: str | None = None
    counted: bool = False


def flat(config: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    """The keys of config.json with their values, those of inner objects by dotted paths."""
    for key, value in config.items():
        path = f"{within}.{key}" if within else key
        if isinstance(value, dict) and value and all(isinstance(k, str) for k in value):
            yield from flat(value, path)
        else:
            yield path, value


def guessed(config: Mapping[str, Any]) -> list[Size]:
    """The generics that config.json gives by the usual names, in the order of `USUAL`."""
    values = dict(flat(config))
    found: dict[str, Size] = {}
    for name, keys in USUAL.items():
        key = next((k for k in _anywhere(keys, values) if may_be_size(values[k])), None)
        if key is not None:
            found[name] = Size(name, values[key], key)
    _add_head_width(found)
    labels = config.get("id2label")
    if isinstance(labels, dict) and labels and _is_classifier(config):
        found["Classes"] = Size("Classes", len(labels), "id2label", counted=True)
    return list(found.values())


def _add_head_width(found: dict[str, Size]) -> None:
    if "HeadDim" in found or "KvHeads" not in found or not {"H", "Heads"} <= set(found):
        return
    width, heads = found["H"].value, found["Heads"].value
    if heads and width % heads == 0:
        found["HeadDim"] = Size("HeadDim", width // heads, "head_dim", "H / Heads")


def _is_classifier(config: Mapping[str, Any]) -> bool:
    names = config.get("architectures")
    return isinstance(names, list) and any("Classification" in str(name) for name in names)


def _anywhere(keys: tuple[str, ...], values: Mapping[str, Any]) -> Iterator[str]:
    """The paths that end in one of `keys`: outer ones first."""
    for key in keys:
        if key in values:
            yield key
    for key in keys:
        yield from (path for path in values if path.endswith(f".{key}"))


def may_be_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


@dataclass
class Speller:
    """Writes sizes in generics. `used` are the generics that were needed; `doubts` says for a
    number what it was taken for and what else it could be; `unknown` are the numbers that no
    generic explains."""

    sizes: Mapping[str, int]
    used: set[str] = field(default_factory=set)
    doubts: dict[tuple[int, str], tuple[str, ...]] = field(default_factory=dict)
    unknown: set[int] = field(default_factory=set)

    def shape(self, name: str, shape: tuple[int, ...]) -> tuple[str, ...]:
        """The axes of the tensor `name`, each a generic, a formula or the number itself."""
        return tuple(self.axis(name, at, value) for at, value in enumerate(shape))

    def axis(self, name: str, at: int, value: int) -> str:
        if value <= 1:
            return str(value)
        found = list(self._candidates(name, value))
        if not found:
            self.unknown.add(value)
            return str(value)
        best, *others = sorted(found, key=lambda c: (not self._hinted(name, at, c[1]), *c))
        text = best[1]
        rivals = tuple(c[1] for c in sorted(others) if c[0] <= 1 and c[1] != text)
        if rivals and not self._hinted(name, at, text):
            self.doubts[value, text] = rivals
        self.used |= set(re.findall(r"[A-Z]\w*", text))
        return text

    def count(self, name: str, value: int) -> str:
        """The length of an array."""
        fits = [n for n, size in self.sizes.items() if size == value]
        best = next((n for n in ("Layers", "Experts") if n in fits), None)
        if "expert" in name and "Experts" in fits:
            best = "Experts"
        if best is None:
            self.unknown.add(value)
            return str(value)
        self.used.add(best)
        return best

    def _hinted(self, name: str, at: int, text: str) -> bool:
        for pattern, axis, wanted in HINTS:
            if axis == at and re.search(pattern, name):
                if wanted.startswith("KvHeads") and "KvHeads" not in self.sizes:
                    wanted = wanted.removeprefix("Kv")
                if text == wanted or text.startswith(f"{wanted} + "):
                    return True
        return False

    def _candidates(self, name: str, value: int) -> Iterator[tuple[int, str]]:
        """Formulas that come to `value`, each with how far-fetched it is."""
        sizes = {n: s for n, s in self.sizes.items() if n not in ("Layers", "Heads", "KvHeads")}
        for text, size in sizes.items():
            if size == value:
                yield (_rank(text), text)
        heads, few, width = (self.sizes.get(n, 0) for n in ("Heads", "KvHeads", "HeadDim"))
        for text, size in (
            ("Heads * HeadDim", heads * width),
            ("KvHeads * HeadDim", few * width),
            ("(Heads + 2 * KvHeads) * HeadDim", (heads + 2 * few) * width),
        ):
            if size == value and size:
                yield (1 if text[0] != "(" else 2, text)
        for text in ("H", "Inner"):
            for times in range(2, MOST_MULTIPLE + 1):
                if sizes.get(text, 0) * times == value:
                    yield (2, f"{times} * {text}")
        if re.search(HINTS[1][0], name):
            for more in (1, 2):
                if sizes.get("MaxPositions", 0) + more == value:
                    yield (0, f"MaxPositions + {more}")


def _rank(text: str) -> int:
    """Widths of activations are what an axis mostly is."""
    return 0 if text in ("H", "Inner") else 1
