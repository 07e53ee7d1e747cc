"""Every kernel on every instruction set: right, the same bits, whatever the rows and threads.

Reference values are computed by numpy in float64. Sizes are odd, prime, tiny and empty; values
are ordinary, huge and special. All cases of all kernels run in one program an instruction set.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from linnet.resources import folder
from parity import attending, by_rows, products, writing
from parity.attending import DENSE, LENGTHS, ROWS_DENSE, ROWS_LENGTHS
from parity.harness import Kernel, build, same_bits

KERNELS = (*products.KERNELS, *by_rows.KERNELS, *attending.KERNELS, *writing.KERNELS)
TRIALS = [
    *products.linear_trials(),
    *by_rows.trials(),
    *attending.attention_trials(),
    *writing.cache_trials(),
]
GROUPS = [products.linear_rows(), attending.shared_keys(), attending.causal_block()]
CASES = [t.case for t in TRIALS] + [c for whole, parts in GROUPS for c in (whole, *parts)]
Results = Callable[[str, int], list[list[np.ndarray]]]


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    programs = {}
    done: dict[tuple[str, int], list[list[np.ndarray]]] = {}

    def get(isa: str, threads: int) -> list[list[np.ndarray]]:
        if isa not in programs:
            programs[isa] = build(tmp_path_factory.mktemp("kernels"), isa, KERNELS, "kernels")
        if (isa, threads) not in done:
            done[isa, threads] = programs[isa].run(CASES, threads)
        return done[isa, threads]

    return get


def test_values_are_within_the_bounds_of_the_cards(isa: str, results: Results) -> None:
    for trial, arrays in zip(TRIALS, results(isa, 1), strict=False):
        trial.check(arrays)


def test_every_isa_gives_the_same_bits(isa: str, results: Results) -> None:
    for case, mine, reference in zip(CASES, results(isa, 1), results("scalar", 1), strict=True):
        assert all(map(same_bits, mine, reference)), (case.function.symbol, case.numbers)


def test_threads_do_not_change_bits(isa: str, results: Results) -> None:
    for case, one, three in zip(CASES, results(isa, 1), results(isa, 3), strict=True):
        assert all(map(same_bits, one, three)), (case.function.symbol, case.numbers)


def test_rows_of_a_product_do_not_depend_on_their_company(isa: str, results: Results) -> None:
    whole, parts = products.linear_rows()
    at = len(TRIALS)
    outputs = [arrays[-1] for arrays in results(isa, 1)[at : at + 1 + len(parts)]]
    for part in outputs[1:]:
        n = len(part)
        starts = [
            i for i in range(len(outputs[0]) - n + 1) if same_bits(outputs[0][i : i + n], part)
        ]
        assert starts, f"{n} rows alone differ from the same rows among {whole.numbers[0]}"


def test_a_head_alone_gives_the_bits_it_has_in_a_group(isa: str, results: Results) -> None:
    outputs = [arrays[-1] for arrays in results(isa, 1)[-31 - 13 : -31]]
    for i, alone in enumerate(outputs[1:]):
        assert same_bits(outputs[0][:, i : i + 1], alone), i


def test_a_query_alone_gives_the_bits_it_has_in_a_block(isa: str, results: Results) -> None:
    outputs = [arrays[-1] for arrays in results(isa, 1)[-31:]]
    for i, alone in enumerate(outputs[1:]):
        assert same_bits(outputs[0][:, :, i : i + 1], alone), i
        assert np.isinf(alone[0, 0]).any() == (i + 11 > 35)


def test_a_prefix_mask_gives_the_bits_of_the_dense_mask(isa: str, results: Results) -> None:
    by_kernel: dict[Kernel, list[np.ndarray]] = {}
    for trial, arrays in zip(TRIALS, results(isa, 1), strict=False):
        by_kernel.setdefault(trial.case.function, []).append(arrays[-1])  # type: ignore[arg-type]
    for lengths, dense in ((LENGTHS, DENSE), (ROWS_LENGTHS, ROWS_DENSE)):
        for a, b in zip(by_kernel[lengths], by_kernel[dense], strict=False):
            assert same_bits(a, b)


def test_every_card_has_a_parity_test() -> None:
    cards = {f"{p.parent.name}/{p.stem}" for p in (folder("codegen") / "kernels").glob("*/*.toml")}
    assert cards == {k.path for k in KERNELS}
