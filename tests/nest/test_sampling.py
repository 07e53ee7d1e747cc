"""The sampler against probabilities worked out by hand, its edges, and its refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from linnet.errors import LinnetError, UsageError
from linnet.nest.sampling import Sampler, Sampling


def sampler(seen: Any = (), **parameters: Any) -> Sampler:
    return Sampler(Sampling.checked(**parameters), seen)


def logits_of(*probabilities: float) -> np.ndarray:
    return np.log(np.array(probabilities, dtype=np.float32))


def drawn(logits: np.ndarray, count: int = 4000, **parameters: Any) -> np.ndarray:
    """How often each id is drawn, as a share."""
    one = sampler(seed=5, **{"temperature": 1.0, **parameters})
    ids = [one.pick(logits) for _ in range(count)]
    return np.bincount(ids, minlength=logits.size) / count


@pytest.mark.parametrize("temperature", [0, 0.0, -0.0, 1e-45, 1e-10, np.float32(0)])
def test_no_or_tiny_temperature_is_greedy_and_ties_go_to_the_lower_id(temperature: float) -> None:
    logits = np.array([1, 3, 3, 2, 3], np.float32)
    assert sampler(temperature=temperature, seed=1).pick(logits) == 1


def test_do_sample_words() -> None:
    assert Sampling.checked(do_sample=False, temperature=0.9).temperature == 0.0
    assert Sampling.checked(do_sample=True).temperature == 1.0
    assert Sampling.checked().temperature == 0.0


def test_shares_follow_the_probabilities() -> None:
    logits = logits_of(0.5, 0.25, 0.125, 0.125)
    assert drawn(logits) == pytest.approx([0.5, 0.25, 0.125, 0.125], abs=0.03)
    # Temperature 0.5 squares: 16 : 4 : 1 : 1 of 22.
    assert drawn(logits, temperature=0.5) == pytest.approx(
        [16 / 22, 4 / 22, 1 / 22, 1 / 22], abs=0.03
    )
    assert drawn(logits, temperature=1e10) == pytest.approx([0.25] * 4, abs=0.03)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"top_k": 2}, [2 / 3, 1 / 3, 0, 0]),
        ({"top_k": 3}, [4 / 7, 2 / 7, 1 / 7, 0]),  # of the tied 2 and 3 the lower id stays
        ({"top_k": 1}, [1, 0, 0, 0]),
        ({"top_k": 99}, [0.5, 0.25, 0.125, 0.125]),
        ({"top_p": 0.0}, [1, 0, 0, 0]),
        ({"top_p": 0.49}, [1, 0, 0, 0]),
        ({"top_p": 0.6}, [2 / 3, 1 / 3, 0, 0]),
        ({"top_p": 0.8}, [4 / 7, 2 / 7, 1 / 7, 0]),
        ({"top_p": 1.0}, [0.5, 0.25, 0.125, 0.125]),
        ({"min_p": 0.4}, [2 / 3, 1 / 3, 0, 0]),
        ({"min_p": 1.0}, [1, 0, 0, 0]),
        ({"top_k": 3, "top_p": 0.8}, [2 / 3, 1 / 3, 0, 0]),  # of the kept three
        ({"top_p": 0.8, "min_p": 0.4}, [2 / 3, 1 / 3, 0, 0]),
    ],
)
def test_filters(parameters: dict[str, float], expected: list[float]) -> None:
    assert drawn(logits_of(0.5, 0.25, 0.125, 0.125), **parameters) == pytest.approx(
        expected, abs=0.03
    )


@pytest.mark.parametrize("size", [1, 63, 64, 65, 700, 50257])
@pytest.mark.parametrize(
    "parameters", [{}, {"top_k": 40}, {"top_p": 0.9}, {"top_p": 0.999}, {"min_p": 0.01}]
)
def test_a_large_vocabulary_is_drawn_as_a_plain_sort_says(
    size: int, parameters: dict[str, float]
) -> None:
    # Rounded logits make many ties at every edge.
    rng = np.random.default_rng(size)
    logits = np.round(rng.standard_normal(size) * 2, 1).astype(np.float32)
    order = np.argsort(-logits, kind="stable")
    p = np.exp(logits[order].astype(np.float64))
    p /= p.sum()
    keep = np.ones(size, bool)
    if "top_k" in parameters:
        keep[int(parameters["top_k"]) :] = False
    if "top_p" in parameters:
        keep = np.cumsum(p) - p < parameters["top_p"] - 1e-7
    if "min_p" in parameters:
        keep = p >= parameters["min_p"] * p[0] * (1 + 1e-7)
    allowed = set(order[keep].tolist())
    one = sampler(temperature=1.0, seed=3, **parameters)
    ids = [one.pick(logits) for _ in range(300)]
    assert set(ids) <= allowed
    mass = sum(p[keep][: max(1, size // 100)]) / p[keep].sum()
    head = set(order[keep][: max(1, size // 100)].tolist())
    assert np.mean([i in head for i in ids]) == pytest.approx(mass, abs=0.1)


def test_repetition_penalty_on_both_signs_once_an_id() -> None:
    one = sampler(seen=[1, 3, 3, 3, 1], repetition_penalty=2)
    adjusted = one._adjusted(np.array([-2, -1, 1, 2], np.float32))
    assert adjusted.tolist() == [-2, -2, 1, 1]
    # What was picked counts from then on.
    assert one.pick(np.array([9, 0, 0, 0], np.float32)) == 0
    assert one._adjusted(np.array([4, 0, 0, 0], np.float32))[0] == 2
    huge = sampler(seen=[0], repetition_penalty=1e30)
    assert huge.pick(np.array([-1e20, -2e30], np.float32)) == 1
    same = np.array([1, 2], np.float32)
    assert sampler(seen=[0, 1], repetition_penalty=1.0)._adjusted(same) is same


def test_logit_bias_moves_the_choice() -> None:
    assert sampler(logit_bias={2: 100}).pick(np.zeros(4, np.float32)) == 2
    assert sampler(logit_bias={0: -100.0, 999: 5.0}).pick(np.zeros(4, np.float32)) == 1


def test_the_seed_fixes_the_draws_and_a_drawn_one_is_told() -> None:
    logits = np.zeros(1000, np.float32)

    def ten(seed: int) -> list[int]:
        one = sampler(temperature=1.0, seed=seed)
        return [one.pick(logits) for _ in range(10)]

    assert ten(1) == ten(1) != ten(2)
    drawn_seed = Sampling.checked(temperature=1.0).seed
    assert isinstance(drawn_seed, int)
    assert Sampling.checked().seed is None


def test_infinite_logits_and_nan() -> None:
    sample = sampler(temperature=1.0, seed=1)
    assert sample.pick(np.array([0, np.inf, 0], np.float32)) == 1
    assert sample.pick(np.array([-np.inf, 0, -np.inf], np.float32)) == 1
    with pytest.raises(LinnetError, match="NaN"):
        sample.pick(np.array([0, np.nan, 1], np.float32))
    with pytest.raises(LinnetError, match="NaN"):
        sampler().pick(np.array([0, np.nan, 1], np.float32))


def test_logits_are_not_changed() -> None:
    logits = np.arange(4, dtype=np.float32)
    sampler(seen=[3], repetition_penalty=2, temperature=1.0, top_p=0.5, seed=0).pick(logits)
    assert logits.tolist() == [0, 1, 2, 3]


BAD = [
    ("temperature", [-1, -1e-9, math.nan, math.inf, -math.inf, "0", True, [0], 10**400, 1j]),
    ("top_k", [-1, 1.5, 2.0, "40", True, math.nan]),
    ("top_p", [-0.1, 1.1, math.nan, math.inf, "1", False]),
    ("min_p", [-0.1, 1.5, math.nan, "x", True]),
    ("repetition_penalty", [0, -1, math.nan, math.inf, "1", True]),
    ("seed", [-1, 1.5, "7", True]),
    ("do_sample", [1, "yes"]),
    ("logit_bias", [[1], {"a": 1}, {1: math.nan}, {-1: 1}, {1: "2"}]),
]


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in BAD for v in values])
def test_bad_values_are_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=name):
        Sampling.checked(**{name: value})
