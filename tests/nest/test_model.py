"""A model's entries as methods, and its life."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import threading
from array import array
from collections import deque
from typing import Any

import numpy as np
import pytest

from linnet.artifact import Argument
from linnet.errors import UsageError
from linnet.nest.card import Card
from linnet.nest.model import Facts, Model

from .conftest import Script, entry


def test_entries_are_methods_with_the_sources_parameters(make_model: Any) -> None:
    model = make_model([5])
    assert str(inspect.signature(model.decode)) == "(token, pos)"
    assert model.decode.__doc__ == "decode(token: i32[1, 1], pos: i32) -> f32[1, 512]"
    assert model.decode.__name__ == "decode"
    by_position = model.decode(np.array([[3]]), 0)
    by_name = model.decode(pos=1, token=np.array([[3]]))
    assert by_position.shape == by_name.shape == (1, 512)
    assert [call[2] for call in model._program.calls] == [0, 1]
    assert sorted(model.entries) == ["decode", "forward", "prefill"]


def test_calling_the_model_runs_the_cards_entry(make_model: Any, card: Any) -> None:
    model = make_model([5])
    model(np.array([[3]]), pos=2)
    assert model._program.calls == [("decode", [3], 2)]
    source = dataclasses.replace(card.source, entry=None)
    bare = Model(Script(), Facts(dataclasses.replace(card, source=source)))
    with pytest.raises(UsageError, match="names no entry"):
        bare([[1]])


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "decode: missing.*'token'.*decode\\(token: i32"),
        (([[1]], 0, 0), {}, "too many"),
        (([[1]],), {"posn": 0}, "no parameter 'posn'; did you mean 'pos'"),
        (([[1]], 0), {"token": 1}, "multiple values"),
    ],
)
def test_wrong_calls(make_model: Any, args: Any, kwargs: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_model([5]).decode(*args, **kwargs)


def test_unknown_names_suggest(make_model: Any) -> None:
    model = make_model([5])
    with pytest.raises(AttributeError, match="did you mean 'prefill'"):
        _ = model.prefil
    with pytest.raises(UsageError, match="did you mean 'forward'"):
        model.call("foward")
    assert not hasattr(model, "__array__")


def test_an_entry_named_like_a_method_or_a_keyword(card: Any) -> None:
    program = Script()
    odd = entry("generate", Argument("lambda", "i32", ("1", "S")), states=())
    program.entries = {**program.entries, "generate": odd}
    seen: list[Any] = []
    program.call = lambda name, args, sizes: seen.append((name, args, sizes))  # type: ignore[method-assign]
    model = Model(program, Facts(card))
    model.entries["generate"](lambda_=[[1]])
    assert seen == [("generate", [[[1]]], {})]


def test_sizes_no_input_shows_are_given_by_name(card: Any) -> None:
    program = Script()
    steps = dataclasses.replace(
        entry("steps", Argument("x", "f32", ("2 * S",))), sizes=("S", "N"), states=()
    )
    program.entries = {"steps": steps}
    seen: list[Any] = []
    program.call = lambda name, args, sizes: seen.append(sizes)  # type: ignore[method-assign]
    model = Model(program, Facts(card))
    assert str(inspect.signature(model.steps)) == "(x, *, S=None, N)"
    model.steps([1.0, 2.0], N=3)
    model.steps([1.0, 2.0], N=3, S=1)
    assert seen == [{"N": 3}, {"N": 3, "S": 1}]


def test_a_model_without_the_entries_for_text(card: Any, setup: Any) -> None:
    model = Model(Script(names=["forward"]), Facts(card, text=setup))
    for call in (model.generate, model.stream):
        with pytest.raises(UsageError, match=r"prefill.*its entries are: forward"):
            call("a")
    with pytest.raises(UsageError, match=r"no \[text\] table"):
        Model(Script(), Facts(card)).generate("a")


def test_tokenize_and_back(make_model: Any) -> None:
    model = make_model()
    assert model.detokenize(model.tokenize("the fox 🙂")) == "the fox 🙂"


def test_facts_about_the_model(make_model: Any, card: Any) -> None:
    model = make_model()
    assert (model.name, model.context) == ("tiny", 128)
    assert model.config["n_embd"] == 64
    assert model.generics == {"H": 64}
    noted = Model(Script(), Facts(card, notes=("weights: here",)))
    assert noted.explain() == "weights: here\na script"


def test_closing(make_model: Any) -> None:
    with make_model([5]) as model:
        program = model._program
        assert model.generate([1], max_new_tokens=1).token_ids == (5,)
    assert program.closed == 1
    model.close()
    assert program.closed == 1
    for call in (lambda: model.forward([[1]]), lambda: model.generate([1]), model.reset_state):
        with pytest.raises(UsageError, match="is closed"):
            call()
    assert "closed" in repr(model)


def test_a_program_of_several_rows_gets_the_text_in_each(card: Any, setup: Any) -> None:
    program = Script([5])
    wide = Argument("token", "i32", ("3", "1"))
    program.entries = {
        **program.entries,
        "decode": dataclasses.replace(
            program.entries["decode"], inputs=(wide, Argument("pos", "i32", ()))
        ),
    }
    shapes = []
    inner = program.call

    def call(name: str, args: Any, sizes: Any) -> Any:
        shapes.append(args[0].shape)
        return np.repeat(inner(name, args, sizes), 3, axis=0)

    program.call = call  # type: ignore[method-assign]
    Model(program, Facts(card, text=setup)).generate([1, 2], max_new_tokens=2)
    assert shapes == [(3, 2), (3, 1)]


def test_threads_wait_for_each_other(make_model: Any, tok: Any) -> None:
    model = make_model([*tok.encode("abcdef"), 511])
    results: list[str] = []
    threads = [
        threading.Thread(target=lambda: results.append(model.generate("q"))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == ["abcdef"] * 4


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (None, "not NoneType"),
        ("abc", "not str"),
        ([1.5], r"ids\[0\] = 1.5"),
        ([1, True], r"ids\[1\] = True"),
        ([-1], r"ids\[0\] = -1"),
        ([512], r"ids\[0\] = 512 is out of range: tiny has the ids 0 to 511"),
        ([[1]], r"ids\[0\] = \[1\]"),
        (np.zeros((1, 2), np.int32), r"array of shape \(1, 2\)"),
    ],
)
def test_detokenize_takes_ids_of_the_model(make_model: Any, ids: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_model().detokenize(ids)


@pytest.mark.parametrize("kind", [tuple, deque, np.array, lambda ids: array("i", ids)])
def test_any_sequence_of_ids_is_a_prompt(make_model: Any, kind: Any) -> None:
    model = make_model([65, 66])
    done = model.generate(kind([40, 41, 42]), max_new_tokens=2)
    assert (done.usage.prompt_tokens, done.token_ids) == (3, (65, 66))
    assert model.generate(range(40, 43), max_new_tokens=2) == done
    assert model.detokenize(kind([40, 41, 42])) == model.detokenize(range(40, 43))


def test_a_model_with_no_room_for_a_text_says_so(make_model: Any, card: Card, setup: Any) -> None:
    script = Script([1])
    tokens, pos = Argument("token", "i32", ("0", "1")), Argument("pos", "i32", ())
    script.entries = {**script.entries, "decode": entry("decode", tokens, pos)}
    model = Model(script, Facts(card, {"Batch": 0, "H": 64}, {}, setup))
    with pytest.raises(UsageError, match=r"no text at all \(Batch = 0\)"):
        model.generate([1])


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_model_cannot_be_copied(make_model: Any, copied: Any) -> None:
    with pytest.raises(TypeError, match="cannot be copied or pickled; load it again"):
        copied(make_model())
