"""`linnet inspect`: entries, parameters, Core IR."""

from __future__ import annotations

import re

from linnet.ir.text import parse_graph, print_graph
from tests.cli.conftest import EMBEDDED, Run


def test_overview_of_the_published_sizes(run: Run) -> None:
    text = run("inspect", "gpt2").stdout
    assert "148 tensors, 124,439,808 elements, 497.8 MB" in text
    assert "Vocab = 50257" in text
    assert "blocks.{i}.attn.cache_k: f32[1, 12, 1024, 64], 12 of them" in text
    assert "forward(tokens: i32[B, S]) -> f32[B, S, 50257]" in text
    assert "where S <= MaxPositions" in text


def test_every_parameter_has_a_row(run: Run) -> None:
    lines = run("inspect", "gpt2", "--parameters").stdout.splitlines()
    rows = [line.split("  ", 1) for line in lines]
    shapes = {path: shape.strip() for path, shape in rows}
    assert len(shapes) == 148
    assert shapes["blocks.11.mlp.c_fc.weight"] == "f32[768, 3072]"


def test_core_ir_parses_back(run: Run) -> None:
    text = run("inspect", EMBEDDED, "--core-ir", "--entry", "decode").stdout
    graph = parse_graph(text)
    assert graph.name == "decode"
    assert print_graph(graph).strip() == text.strip()


def test_generics_change_the_sizes(run: Run) -> None:
    text = run("inspect", "gpt2", "--generic", "Layers=2", "--parameters").stdout
    assert len(text.splitlines()) == 28
    assert "blocks.2." not in text


def test_calls_in_running_order(run: Run) -> None:
    head, *lines = run("inspect", EMBEDDED, "--calls", "--entry", "decode").stdout.splitlines()
    assert head == f"decode: {len(lines)} calls"
    rows = [re.split(r"  +", line) for line in lines]
    assert [row[0] for row in rows[:4]] == [
        *("prefill: embedding", "prefill: embedding"),
        *("blocks.0.ln_1.forward: layer_norm", "blocks.0.ln_1.forward"),
    ]
    assert rows[2][1:] == ["gpt2.linnet:36", "f32[1, 1, 160]"]
    assert rows[-1][0] == "prefill"
