"""Choosing the next token from logits: greedy, or drawn with temperature and filters.

In goes a vector of logits [Vocab]; out comes one id. The order of steps is: repetition penalty
and bias on the logits, temperature, top-k, top-p, min-p, draw. Draws come from numpy's PCG64
generator started with the seed, one number a token, so a seed gives the same text again;
`drawing` has the rule by which a number and the filters choose.
Nothing here knows about text or models.

    temperature         0 is greedy; what is below 1e-6 is treated as 0
    top_k               keep the k likeliest; 0 is off
    top_p               keep the fewest that reach this probability; 1 is off, 0 keeps the best
    min_p               keep those at least this likely against the best; 0 is off, 1 is greedy
    repetition_penalty  on every id of the prompt and the text so far, once; 1 is off

Of equal logits the lower id counts as the likelier, everywhere.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from linnet.errors import LinnetError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from linnet.nest.drawing import Drawer

GREEDY_BELOW = 1e-6


@dataclass(frozen=True)
class Sampling:
    """Validated parameters; see the module. Build it with `Sampling.checked`."""

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    seed: int | None = None

    @staticmethod
    def checked(
        *,
        temperature: object = None,
        do_sample: object = None,
        top_k: object = None,
        top_p: object = None,
        min_p: object = None,
        repetition_penalty: object = None,
        logit_bias: object = None,
        seed: object = None,
    ) -> Sampling:
        """Validate; None stands for the default. `do_sample=False` is temperature 0, and
        `do_sample=True` makes the default temperature 1. A drawn seed is filled in when text
        is sampled and none is given.

        Raises UsageError naming the parameter and its value.
        """
        if do_sample is not None and not isinstance(do_sample, bool):
            raise _bad("do_sample", do_sample, "must be true or false")
        usual = 1.0 if do_sample else 0.0
        heat = usual if temperature is None else _number("temperature", temperature, low=0.0)
        if do_sample is False or heat < GREEDY_BELOW:
            heat = 0.0
        penalty = _number("repetition_penalty", repetition_penalty, default=1.0)
        if penalty <= 0.0:
            raise _bad("repetition_penalty", repetition_penalty, "must be greater than 0")
        return Sampling(
            temperature=heat,
            top_k=0 if top_k is None else whole("top_k", top_k),
            top_p=_number("top_p", top_p, default=1.0, low=0.0, high=1.0),
            min_p=_number("min_p", min_p, default=0.0, low=0.0, high=1.0),
            repetition_penalty=penalty,
            logit_bias=_bias(logit_bias),
            seed=_seed(seed, needed=heat > 0.0),
        )


class Sampler:
    """Draws one token after the other. One sampler serves one text."""

    def __init__(self, sampling: Sampling, seen: Collection[int] = ()) -> None:
        """`seen` are the ids of the prompt, for the repetition penalty."""
        self._sampling = sampling
        self._seen = dict.fromkeys(seen)
        self._generator: np.random.Generator | None = None
        self._drawer: Drawer | None = None

    def pick(self, logits: NDArray[np.float32]) -> int:
        """The next id, from logits [Vocab] of a float dtype, which are left as they are.

        Raises LinnetError when a logit is NaN.
        """
        import numpy as np

        adjusted = self._adjusted(np.asarray(logits, dtype=np.float32))
        best = int(adjusted.argmax())
        top = float(adjusted[best])
        if math.isnan(top):
            raise LinnetError(
                "the model computed NaN in place of logits",
                help="the checkpoint may hold NaN or infinite weights, or be damaged",
            )
        chosen = best
        if self._sampling.temperature > 0.0 and math.isfinite(top):
            chosen = self._draw(adjusted, best, top)
        if self._sampling.repetition_penalty != 1.0:
            self._seen[chosen] = None
        return chosen

    def _adjusted(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        import numpy as np

        penalty, bias = self._sampling.repetition_penalty, self._sampling.logit_bias
        if penalty == 1.0 and not bias:
            return logits
        result = logits.copy()
        if penalty != 1.0 and self._seen:
            ids = np.fromiter(self._seen, dtype=np.int64)
            ids = ids[ids < result.size]
            values = result[ids]
            with np.errstate(over="ignore"):
                result[ids] = np.where(values < 0, values * penalty, values / penalty)
        for token, amount in bias.items():
            if token < result.size:
                result[token] += amount
        return result

    def _draw(self, logits: NDArray[np.float32], best: int, top: float) -> int:
        """One token of those that the filters keep. Each uses up one random number."""
        import numpy as np

        from linnet.nest.drawing import Drawer, Filters

        s = self._sampling
        if self._generator is None or self._drawer is None:
            self._generator = np.random.Generator(np.random.PCG64(s.seed))
            self._drawer = Drawer(Filters.of(s.temperature, s.top_k, s.top_p, s.min_p))
        point = self._generator.random()
        return best if s.min_p >= 1.0 else self._drawer.draw(logits, top, point)


def whole(name: str, value: object, *, low: int = 0) -> int:
    """`value` as an int of at least `low`. Raises UsageError naming the parameter."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise _bad(name, value, "must be an integer")
    if value < low:
        raise _bad(name, value, f"must be {low} or more")
    return int(value)


def _number(
    name: str,
    value: Any,
    *,
    default: float = 0.0,
    low: float = -math.inf,
    high: float = math.inf,
) -> float:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise _bad(name, value, "must be a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _bad(name, value, "must be finite")
    if number < low:
        raise _bad(name, value, f"must be {low:g} or more")
    if number > high:
        raise _bad(name, value, f"must be {high:g} or less")
    return number


def _bias(value: object) -> dict[int, float]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _bad("logit_bias", value, "must map token ids to numbers")
    return {
        whole("logit_bias: the token id", token): _number(f"logit_bias[{token}]", amount)
        for token, amount in value.items()
    }


def _seed(value: object, *, needed: bool) -> int | None:
    import secrets

    if value is None:
        return secrets.randbits(32) if needed else None
    return whole("seed", value)


def _bad(name: str, value: object, rule: str) -> UsageError:
    return UsageError(f"{name} = {value!r}: it {rule}")
