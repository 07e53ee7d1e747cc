"""GPT-2 as a GGUF file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from linnet.bench.engine import BF16, need

from .checkpoint import read

_NAMES = {
    "ln_1": "attn_norm",
    "attn.c_attn": "attn_qkv",
    "attn.c_proj": "attn_output",
    "ln_2": "ffn_norm",
    "mlp.c_fc": "ffn_up",
    "mlp.c_proj": "ffn_down",
}


def convert(checkpoint: Path, file: Path, precision: str) -> None:
    """Write a file; matrices in the precision asked for, vectors in f32 as the engine wants."""
    sizes, tensors = read(checkpoint)
    writer = need("gguf").GGUFWriter(str(file), "gpt2")
    writer.add_context_length(sizes.positions)
    writer.add_embedding_length(sizes.width)
    writer.add_feed_forward_length(sizes.inner)
    writer.add_block_count(sizes.layers)
    writer.add_head_count(sizes.heads)
    writer.add_layer_norm_eps(sizes.epsilon)
    writer.add_vocab_size(sizes.vocabulary)
    writer.add_tokenizer_model("no_vocab")

    def add(name: str, tensor: Any) -> None:
        if tensor.ndim == 2 and precision == BF16 and name != "position_embd.weight":
            kind = need("gguf").GGMLQuantizationType.BF16
            writer.add_tensor(name, need("gguf").quants.quantize(tensor, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, tensor)

    add("token_embd.weight", tensors["wte.weight"])
    add("position_embd.weight", tensors["wpe.weight"])
    for kind in ("weight", "bias"):
        add(f"output_norm.{kind}", tensors[f"ln_f.{kind}"])
        for number in range(sizes.layers):
            for theirs, name in _NAMES.items():
                tensor = tensors[f"h.{number}.{theirs}.{kind}"]
                # Matrices are [In, Out] in the checkpoint and [Out, In] in the file.
                tensor = tensor.transpose().copy() if tensor.ndim == 2 else tensor
                add(f"blk.{number}.{name}.{kind}", tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
