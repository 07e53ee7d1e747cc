"""GPT-2 as CTranslate2 describes a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from linnet.bench.engine import need

from .checkpoint import Sizes, read


def convert(checkpoint: Path, folder: Path) -> None:
    """Write the converted model to `folder`."""
    spec = _spec(*read(checkpoint))
    spec.validate()
    spec.save(str(folder))


def _spec(sizes: Sizes, tensors: Mapping[str, Any]) -> Any:
    """The model as its library describes one."""
    specs = need("ctranslate2.specs")
    spec = specs.TransformerDecoderModelSpec.from_config(
        sizes.layers, sizes.heads, pre_norm=True, activation=specs.Activation.GELUTanh
    )
    decoder = spec.decoder
    decoder.scale_embeddings = False
    decoder.embeddings.weight = tensors["wte.weight"]
    decoder.position_encodings.encodings = tensors["wpe.weight"]
    decoder.projection.weight = tensors["wte.weight"]
    _norm(decoder.layer_norm, tensors, "ln_f")
    for number, layer in enumerate(decoder.layer):
        name = f"h.{number}"
        _norm(layer.self_attention.layer_norm, tensors, f"{name}.ln_1")
        _linear(layer.self_attention.linear[0], tensors, f"{name}.attn.c_attn")
        _linear(layer.self_attention.linear[1], tensors, f"{name}.attn.c_proj")
        _norm(layer.ffn.layer_norm, tensors, f"{name}.ln_2")
        _linear(layer.ffn.linear_0, tensors, f"{name}.mlp.c_fc")
        _linear(layer.ffn.linear_1, tensors, f"{name}.mlp.c_proj")
    # Ids are what is given and taken; the texts of tokens only have to be different.
    spec.register_vocabulary([f"t{k}" for k in range(sizes.vocabulary)])
    spec.config.bos_token = spec.config.eos_token = spec.config.unk_token = f"t{sizes.end}"
    spec.config.layer_norm_epsilon = sizes.epsilon
    return spec


def _norm(spec: Any, tensors: Mapping[str, Any], name: str) -> None:
    spec.gamma, spec.beta = tensors[f"{name}.weight"], tensors[f"{name}.bias"]


def _linear(spec: Any, tensors: Mapping[str, Any], name: str) -> None:
    """The checkpoint keeps [In, Out]; here it is [Out, In]."""
    spec.weight = tensors[f"{name}.weight"].transpose().copy()
    spec.bias = tensors[f"{name}.bias"]
