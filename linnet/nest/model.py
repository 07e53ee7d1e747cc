"""A loaded model: its entries as methods, and what its task offers on top of them.

In goes a bound program, as `Program` describes it, with the facts the card and the checkpoint
give; out comes `Model`. Calls are checked by the program's own boundary. Nothing is compiled,
found or bound here (`nest.load` does that), and no model is known by name.
"""

from __future__ import annotations

import inspect
import keyword
import os
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, overload

from linnet.artifact import Argument, Entry
from linnet.errors import UsageError
from linnet.nest import tasks
from linnet.nest.card import Card
from linnet.nest.classify import DEFAULT_TOP, Guess, Sight, classify
from linnet.nest.embed import BATCH_TOKENS, Texts, embeddings
from linnet.nest.generate import Completion, Request, Setup, TextStream, text_of
from linnet.nest.nearest import did_you_mean
from linnet.nest.text import Tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image as Picture

PREFILL, DECODE = "prefill", "decode"


class Program(Protocol):
    """A compiled unit with its weights bound: what a model needs of the layer below."""

    @property
    def entries(self) -> Mapping[str, Entry]:
        """The callable entries by name."""

    def call(self, entry: str, args: Sequence[Any], sizes: Mapping[str, int]) -> Any:
        """Run `entry` on arrays in the order of its inputs. `sizes` gives the generics that no
        input determines. Raises ShapeError, DTypeError, UsageError before anything runs."""

    def reset_state(self) -> None: ...

    def explain(self) -> str: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Facts:
    """What belongs to a model besides its program."""

    card: Card
    generics: Mapping[str, int | str] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    text: Setup | None = None
    notes: tuple[str, ...] = ()
    """Lines about this checkpoint for `explain`: where it was found, what was ignored."""
    sight: Sight | None = None
    constants: Mapping[str, int | float | bool | str] = field(default_factory=dict)


class _Callable(Protocol):
    def call(self, entry: str, /, *args: Any, **kwargs: Any) -> Any: ...


class EntryMethod:
    """One entry as a function of numpy arrays, with the source's parameter names."""

    def __init__(self, owner: _Callable, entry: Entry) -> None:
        self._owner = owner
        self._entry = entry
        self.__name__ = entry.name
        self.__qualname__ = f"{type(owner).__name__}.{entry.name}"
        self.__doc__ = described(entry)
        self.__signature__ = _signature(entry)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._owner.call(self._entry.name, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<entry {self.__doc__}>"


class Model:
    """A model that is ready to run. Every entry of the source is a method; calling the model
    runs the card's entry. Use it from one thread at a time: calls wait for each other.

    An entry that shares its name with something here (`generate`, say) is reached by
    `model.entries[name]`.
    """

    def __init__(self, program: Program, facts: Facts) -> None:
        self._program: Program | None = program
        self._facts = facts
        self._lock = threading.RLock()
        # Counts the uses of the state, so that a stream notices when another call has
        # written over what it had there.
        self._turn = 0
        self._entries = dict(program.entries)
        self._signatures = {name: _signature(entry) for name, entry in self._entries.items()}
        self.entries: Mapping[str, EntryMethod] = {
            name: EntryMethod(self, entry) for name, entry in self._entries.items()
        }
        for name, method in self.entries.items():
            if not hasattr(self, name):
                setattr(self, name, method)

    def __getattr__(self, name: str) -> Any:
        # Reached only when there is no such attribute.
        entries = self.__dict__.get("entries", {})
        public = [n for n in dir(type(self)) if not n.startswith("_")]
        hint = "" if name.startswith("_") else did_you_mean(name, [*entries, *public])
        raise AttributeError(f"the model has no entry or attribute {name!r}{hint}")

    def __repr__(self) -> str:
        state = "closed" if self._program is None else ", ".join(self.entries)
        return f"<linnet model {self.name}: {state}>"

    # What is known about the model.

    @property
    def card(self) -> Card:
        return self._facts.card

    @property
    def name(self) -> str:
        return self._facts.card.name

    @property
    def config(self) -> Mapping[str, Any]:
        """The checkpoint's config.json; empty when it has none."""
        return self._facts.config

    @property
    def generics(self) -> Mapping[str, int | str]:
        """The values of the root block's generics."""
        return self._facts.generics

    @property
    def constants(self) -> Mapping[str, int | float | bool | str]:
        """The constants of the source that do not keep the value it declares."""
        return self._facts.constants

    @property
    def tokenizer(self) -> Tokenizer | None:
        return None if self._facts.text is None else self._facts.text.tokenizer

    @property
    def context(self) -> int | None:
        """The largest number of tokens in one text, if the card states it."""
        return None if self._facts.text is None else self._facts.text.context

    def explain(self) -> str:
        """How this model runs here: the plan, and what is known of its checkpoint."""
        notes = "".join(f"{line}\n" for line in self._facts.notes)
        return notes + self._open().explain()

    # Running it.

    def call(self, entry: str, /, *args: Any, **kwargs: Any) -> Any:
        """Run an entry by name. Inputs are arrays (or what numpy turns into one), by position
        or by name. Returns the result as a new array, a tuple for several.

        Raises UsageError for a wrong number of arguments or an unknown name, and what the
        program's boundary raises: ShapeError, DTypeError.
        """
        if not isinstance(entry, str) or entry not in self._entries:
            hint = did_you_mean(str(entry), self._entries)
            raise UsageError(f"{self.name} has no entry {entry!r}{hint}")
        inputs, sizes = self._arguments(entry, args, kwargs)
        with self._lock:
            if self._entries[entry].states:
                self._turn += 1
            return self._open().call(entry, inputs, sizes)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        entry = self.card.source.entry
        if entry is None:
            raise UsageError(f"the card of {self.name} names no entry to call")
        return self.call(entry, *args, **kwargs)

    def reset_state(self) -> None:
        """Make all state zero, as after loading."""
        with self._lock:
            self._turn += 1
            self._open().reset_state()

    def close(self) -> None:
        """Give back memory, threads and files. Closing twice is fine."""
        with self._lock:
            program, self._program = self._program, None
            if program is not None:
                program.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a loaded model cannot be copied or pickled; load it again")

    # Text.

    def tokenize(self, text: str) -> list[int]:
        """The token ids of `text`. Raises UsageError for invalid Unicode or without a
        tokenizer."""
        return self._text("read text").need_tokenizer("tokenize").encode(text)

    def detokenize(self, ids: Sequence[int]) -> str:
        """The text of `ids`, special tokens included. Raises UsageError for what is no sequence
        of ids this model has, or without a tokenizer."""
        return text_of(self._text("write text"), ids)

    def embed(
        self,
        texts: str | Sequence[int] | Sequence[str | Sequence[int]],
        *,
        batch_tokens: int = BATCH_TOKENS,
        truncate: bool = False,
    ) -> NDArray[np.float32]:
        """One vector for each text: f32 [N, H] for a list, [H] for a single text. A text may be
        given as its token ids. Its bits do not depend on the texts beside it.

        `batch_tokens` bounds the tokens of one call, and so the memory. A text longer than the
        context is refused, unless `truncate` allows to leave out what is too much.

        Raises UsageError for what is no text, for a `batch_tokens` that is no integer of at least
        1 and for a model without this task; ShapeError for an id out of range and for a text that
        is too long.
        """
        tasks.check(tasks.EMBEDDING, self.card, self._entries)
        entry = self._entries[tasks.EMBEDDING.method]
        asked = Texts.checked(self._text("make embeddings"), texts, truncate)
        width = int(entry.results[0].dims[-1])
        with self._lock:
            return embeddings(partial(self.call, entry.name), width, asked, batch_tokens)

    @overload
    def classify(
        self, images: list[Any] | tuple[Any, ...], *, top: int = DEFAULT_TOP
    ) -> list[list[Guess]]: ...

    @overload
    def classify(
        self, images: str | os.PathLike[str] | Picture, *, top: int = DEFAULT_TOP
    ) -> list[Guess]: ...

    @overload
    def classify(
        self, images: NDArray[Any], *, top: int = DEFAULT_TOP
    ) -> list[Guess] | list[list[Guess]]: ...

    def classify(self, images: Any, *, top: int = DEFAULT_TOP) -> list[Guess] | list[list[Guess]]:
        """The `top` likeliest classes, likeliest first: of one image a list of `Guess`, pairs of
        a label and a score; of several (a list, or an array with one axis more) such a list for
        each. Scores of all classes sum to 1; their bits do not depend on the images beside.

        An image is a path, a Pillow image, an array of u8 ([H, W, 3], [H, W, 4], [H, W, 1] or
        [H, W]), or an array [C, Size, Size] of floats that is prepared already (`nest.image`).

        Raises ImageError for what is missing, damaged or no image, UsageError for a `top` that is
        no number of at least 1 and for a model without this task.
        """
        tasks.check(tasks.CLASSIFICATION, self.card, self._entries)
        if self._facts.sight is None:
            raise UsageError(
                f"{self.name} cannot classify images: its card has no [image] table",
                help="add [image] to nest.toml",
            )
        entry = tasks.CLASSIFICATION.method
        with self._lock:
            return classify(self._facts.sight, partial(self.call, entry), images, top)

    def generate(
        self,
        prompt: str | Sequence[int],
        *,
        max_new_tokens: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
        stop: str | Sequence[str] | None = None,
        **more: Any,
    ) -> Completion:
        """Write on from `prompt` (text or token ids) and return the new text.

        `max_new_tokens` is 64 unless given; with the context full the text ends earlier. The
        default is greedy; a temperature above 0 draws with `seed`, or with a drawn seed that
        the result names. Also: `do_sample`, `min_p`, `repetition_penalty`, `logit_bias`,
        `eos_token_id` (an id or several), `ignore_eos`, `streamer` (called with each piece;
        returning False ends the text). See `nest.generate` and `nest.sampling`.

        Raises UsageError for parameters out of range, ShapeError for a prompt that does not fit.
        """
        with self._lock:
            stream = self.stream(
                prompt,
                max_new_tokens=max_new_tokens,
                temperature=temperature,
                top_k=top_k,
                top_p=top_p,
                seed=seed,
                stop=stop,
                **more,
            )
            for _ in stream:
                pass
            return stream.completion

    def stream(
        self,
        prompt: str | Sequence[int],
        *,
        max_new_tokens: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
        stop: str | Sequence[str] | None = None,
        **more: Any,
    ) -> TextStream:
        """As `generate`, but piece by piece: whole characters, which join to the same text.
        The parameters are checked at once, the model starts with the first piece. The stream's
        `completion` has the rest."""
        setup = self._writer()
        request = Request.checked(
            setup,
            prompt,
            max_new_tokens=max_new_tokens,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            seed=seed,
            stop=stop,
            **more,
        )
        return TextStream(_Steps(self), setup, request)

    # Inside.

    def _open(self) -> Program:
        if self._program is None:
            raise UsageError(f"the model {self.name} is closed", help="load it again")
        return self._program

    def _text(self, does: str) -> Setup:
        """Facts about text. Raises UsageError for a model that knows none; `does` completes
        "the model cannot ..."."""
        if self._facts.text is None:
            raise UsageError(
                f"{self.name} cannot {does}: its card has no [text] table",
                help="add [text] to nest.toml",
            )
        return self._facts.text

    def _writer(self) -> Setup:
        """The same for a model that writes text. Raises UsageError for any other."""
        tasks.check(tasks.GENERATION, self.card, self._entries)
        if _leading_size(self._entries[DECODE].inputs[0]) == 0:
            zero = ", ".join(f"{n} = 0" for n, value in self.generics.items() if value == 0)
            raise UsageError(
                f"{self.name} cannot write text: it was loaded with room for no text at all"
                + (f" ({zero})" if zero else ""),
                help="load it with a size of at least 1",
            )
        return self._text("write text")

    def _arguments(
        self, entry: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Any], dict[str, int]]:
        """Split a call into inputs in order and sizes by name."""
        signature = self._signatures[entry]
        unknown = next((name for name in kwargs if name not in signature.parameters), None)
        if unknown is not None:
            hint = did_you_mean(unknown, signature.parameters)
            raise UsageError(f"{entry} has no parameter {unknown!r}{hint}")
        try:
            bound = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise UsageError(f"{entry}: {error}; it is {described(self._entries[entry])}") from None
        names = [_python_name(argument.name) for argument in self._entries[entry].inputs]
        by_python_name = {_python_name(size): size for size in self._entries[entry].sizes}
        sizes = {
            by_python_name[name]: value
            for name, value in bound.items()
            if name not in names and value is not None
        }
        return [bound[name] for name in names], sizes


class _Steps:
    """One text's hold on a model. Other calls that use the state end it."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._turn = -1
        # The program may hold several rows of state; a single text fills all with the same.
        self._rows = _leading_size(model._entries[DECODE].inputs[0])

    def reset(self) -> None:
        with self._model._lock:
            self._model.reset_state()
            self._turn = self._model._turn

    def prefill(self, ids: Sequence[int], pos: int) -> NDArray[np.float32]:
        return self._call(PREFILL, ids, pos)

    def decode(self, token: int, pos: int) -> NDArray[np.float32]:
        return self._call(DECODE, [token], pos)

    def _call(self, entry: str, ids: Sequence[int], pos: int) -> NDArray[np.float32]:
        import numpy as np

        tokens = np.array([ids] * self._rows, dtype=np.int32)
        model = self._model
        with model._lock:
            if model._turn != self._turn:
                raise UsageError(
                    "this text cannot go on: another call has used the model's state since",
                    help="finish one text before the next, or load the model twice",
                )
            logits = model._open().call(entry, [tokens, np.array(pos, np.int32)], {})
        row: NDArray[np.float32] = logits[0]
        return row


def _leading_size(argument: Argument) -> int:
    """The size of the first axis when it is a number, else 1."""
    first = argument.dims[0] if argument.dims else ""
    return int(first) if first.isdigit() else 1


def described(entry: Entry) -> str:
    """The entry's head for people: `decode(token: i32[1, 1], pos: i32) -> f32[1, 512]`."""
    inputs = ", ".join(f"{a.name}: {_type(a)}" for a in entry.inputs)
    results = ", ".join(_type(a) for a in entry.results)
    return f"{entry.name}({inputs}) -> " + (f"({results})" if entry.tuple_result else results)


def _type(argument: Argument) -> str:
    return f"{argument.dtype}[{', '.join(argument.dims)}]" if argument.dims else argument.dtype


def _signature(entry: Entry) -> inspect.Signature:
    """The inputs by name, then by keyword the sizes that no input shows as an axis of its own;
    those that occur within a sum or product may be left out."""
    dims = [dim for argument in entry.inputs for dim in argument.dims]
    words = {word for dim in dims for word in re.findall(r"\w+", dim)}
    inputs = [
        inspect.Parameter(_python_name(a.name), inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for a in entry.inputs
    ]
    sizes = [
        inspect.Parameter(
            _python_name(name),
            inspect.Parameter.KEYWORD_ONLY,
            default=None if name in words else inspect.Parameter.empty,
        )
        for name in entry.sizes
        if name not in dims
    ]
    return inspect.Signature([*inputs, *sizes])


def _python_name(name: str) -> str:
    """`lambda` is a fine name in Linnet; here it gets an underscore."""
    return f"{name}_" if keyword.iskeyword(name) else name
