"""Verdicts beyond the ledger: their three forms, packs, limits, odd facts."""

from __future__ import annotations

import time

import pytest

from linnet.dims import (
    Clause,
    Dim,
    Facts,
    Pack,
    Proved,
    Refuted,
    Sym,
    Unknown,
    equal,
    holds,
    is_equal,
    is_nonnegative,
    is_positive,
    never,
    nonnegative,
    parse,
    parse_clause,
    positive,
    prove,
    slice_extent,
)

WORDS = ["A", "B", "C", "D", "H", "K", "M", "N", "P", "S", "W", "Pad", "Stride"]
NAMES = {name: Dim.sym(Sym(name)) for name in WORDS}


def goal(text: str) -> Clause:
    return parse_clause(text, NAMES)


def facts(text: str) -> Facts:
    """Facts from items separated by semicolons."""
    return Facts([goal(item) for item in text.split(";") if item], [Sym(name) for name in WORDS])


@pytest.mark.parametrize(
    ("given", "claims"),
    [
        # A multiple of 4 is a multiple of 2.
        ("H % 4 == 0", "2 * (H / 2) == H; H / 2 == 2 * (H / 4)"),
        ("H % 4 == 0; H % 6 == 0", "2 * (H / 4) == 3 * (H / 6)"),
        # Quotients of products, of quotients, with common factors.
        ("P > 0; H % P == 0; W % P == 0", "(H * W) / (P * P) == (H / P) * (W / P)"),
        ("P > 0; H % P == 0; W % P == 0", "P * (H / P) * (W / P) == H * (W / P)"),
        ("N > 0; H % N == 0; (H / N) % 2 == 0", "H % (2 * N) == 0; H % 2 == 0"),
        ("B > 0; N > 0", "(B * H) / (B * N) == H / N; (B * H) % (B * N) == B * (H % N)"),
        ("N > 0", "(N * S + H) / N == S + H / N"),
        ("N > 0; H < N", "H / N == 0; H % N == H"),
        # Remainders and quotients hang together.
        ("N > 0", "H - N * (H / N) == H % N"),
        ("N > 0", "N * (H / N) <= H; H < N * (H / N) + N; H / N <= H"),
        ("S % 2 == 1", "2 * (S / 2) + 1 == S"),
        # Equalities, also of quotients.
        ("H % N == 0; H / N == D", "N * D == H"),
        ("N > 0; H % N == 0; H / N == 64", "H == 64 * N"),
        ("2 * A == 4 * B", "A * K == 2 * B * K"),
        ("A * B == C * D", "A * B * K - C * D * K == 0"),
        ("S <= M; M <= S", "S == M"),
        ("A >= 3; A <= 3", "A * B == 3 * B"),
        # Inequalities.
        ("S <= M; M <= C; C <= K", "S <= K"),
        ("S <= M", "B * S <= B * M; S * S <= M * M"),
        ("2 * S <= M", "S <= M"),
        ("A * B > 0", "A > 0; B >= 1"),
        ("N > 0; H % N == 0; H > 0", "H / N > 0"),
        ("N > 0; H >= N", "H / N > 0"),
        ("min(A, B) >= 3", "A >= 3; B > 2"),
        ("", "min(A, B) <= A; max(A, B) >= B; min(A, B) + max(A, B) >= 0"),
        ("A <= B", "min(A, B) == A; max(B, A) == B"),
        ("A != 0", "A > 0"),
        ("A != B", "B != A"),
        ("", "2 * A != 2 * B + 1"),
        # A fact proves itself, whatever is known about its divisor.
        ("H % N == 0", "H % N == 0; (2 * H) % N == 0"),
    ],
)
def test_provable(given: str, claims: str) -> None:
    for claim in claims.split(";"):
        assert isinstance(prove(goal(claim), facts(given)), Proved), claim


@pytest.mark.parametrize(
    ("given", "claim"),
    [
        ("", "H % N == H % N"),  # false where N is 0
        ("", "(8 * N) / N == 8"),
        ("H % N == 0", "N > 0"),  # a divisor has to be stated positive
        ("H % 3 == 0", "2 * (H / 2) == H"),
        ("H % 2 == 0", "4 * (H / 4) == H"),
        ("H % N == 0; N > 0", "2 * ((H / N) / 2) == H / N"),
        ("", "A * B == A * C"),
        ("B * A == B * C", "A == C"),  # B may be 0
        ("S <= M", "S < M"),
        ("A % 2 == 0; B % 2 == 0", "(A + B) % 4 == 0"),
    ],
)
def test_not_provable(given: str, claim: str) -> None:
    assert not holds(goal(claim), facts(given))


def test_a_refutation_carries_sizes_that_satisfy_the_facts() -> None:
    verdict = prove(goal("S <= 1024"), facts("S <= M; S > 2"))
    assert isinstance(verdict, Refuted)
    assert verdict.example["S"] > 1024
    assert verdict.example["M"] >= verdict.example["S"]
    odd = equal(NAMES["H"].floordiv(2) * 2, NAMES["H"], facts(""))
    assert isinstance(odd, Refuted)
    assert odd.example["H"] % 2 == 1


def test_unknown_shows_what_is_left() -> None:
    # True for all sizes, but no rule knows that a square is never negative.
    verdict = prove(goal("(A - B) * (A - B) >= 0"), facts(""))
    assert isinstance(verdict, Unknown)
    assert verdict.residue == parse("A * A + B * B - 2 * A * B", NAMES)


@pytest.mark.parametrize(
    ("given", "claim", "expected"),
    [
        ("", "2 - 3 >= 0", True),
        ("S > 0", "-S >= 0", True),
        ("S > 4", "S - 3 < 1", True),
        ("", "S - S - 1 >= 0", True),
        ("", "3 < 3", True),
        ("", "S - 1 >= 0", False),
        ("", "(H + 2 * Pad - K) / Stride + 1 >= 0", False),
        ("", "2 * A == 2 * B + 1", True),
        ("A < B", "A == B", True),
        ("A == B", "A != B", True),
        ("A < B", "B <= A", True),
        ("A >= 2", "A <= 1", True),
        ("A >= 2", "A > 2", False),
    ],
)
def test_never(given: str, claim: str, expected: bool) -> None:
    assert never(goal(claim), facts(given)) is expected


def test_reshape_needs_the_divisibility_it_relies_on() -> None:
    before, after = parse("B * H", NAMES), parse("B * 2 * (H / 2)", NAMES)
    assert isinstance(equal(before, after, facts("")), Refuted)
    assert isinstance(equal(before, after, facts("H % 2 == 0")), Proved)
    assert isinstance(equal(before, after, facts("H % 4 == 0")), Proved)
    assert isinstance(equal(before, after, facts("H % 3 == 0")), Refuted)
    at_the_call = goal("H % 2 == 0").substitute({Sym("H"): Dim.const(7)})
    assert isinstance(prove(at_the_call, facts("")), Refuted)
    assert never(at_the_call, facts(""))


def test_constant_counts_that_differ() -> None:
    assert never(Clause.of("==", Dim.const(2) * 3, 7), facts(""))


def test_a_pack_equals_itself_and_nothing_else() -> None:
    first, second = Dim.numel(Pack("S")), Dim.numel(Pack("L"))
    assert is_equal(first * NAMES["H"], NAMES["H"] * first, facts(""))
    assert isinstance(equal(first, second, facts("")), Refuted)
    assert not is_equal(first, Dim.sym(Sym("S")), facts(""))
    assert is_nonnegative(first, facts(""))
    assert not is_positive(first, facts(""))


def test_divisors_and_signs() -> None:
    assert isinstance(positive(NAMES["N"], facts("")), Refuted)
    assert isinstance(positive(NAMES["N"], facts("N > 0")), Proved)
    assert isinstance(positive(NAMES["N"] * 2, facts("N != 0")), Proved)
    assert isinstance(nonnegative(NAMES["S"] - 1, facts("S >= 1")), Proved)
    assert isinstance(nonnegative(NAMES["S"] - 1, facts("")), Refuted)


def test_equal_and_nonnegative_take_divisors_for_granted() -> None:
    quotient = parse("H / N + 1", NAMES)
    assert isinstance(equal(quotient, quotient, facts("")), Proved)
    assert isinstance(nonnegative(quotient, facts("")), Proved)


def test_a_poisoned_dimension_is_never_proven_anything() -> None:
    poisoned = NAMES["H"] * 2**62 * 4
    for op in ("==", "!=", "<=", ">="):
        claim = Clause.of(op, poisoned, poisoned)
        assert isinstance(prove(claim, facts("")), Unknown)
        assert not never(claim, facts(""))
    assert not is_equal(poisoned, poisoned, facts(""))
    known = Facts([Clause.of("==", poisoned, 1), goal("H > 0")])
    assert holds(goal("H > 0"), known)


def test_overflow_inside_the_prover_gives_no_proof() -> None:
    large = Dim.const(2**62)
    known = Facts([Clause.of("==", NAMES["A"], NAMES["B"] * large), goal("B > 3")])
    assert not is_equal(NAMES["A"] * 4, Dim.const(0), known)
    assert not never(Clause.of(">", NAMES["A"] * 4, 0), known)


@pytest.mark.parametrize(
    "given",
    [
        "1 == 0",
        "A < A",
        "A > B; B > A",
        "A == B; A == B + 1",
        "0 % 0 == 0",
        "A / 0 == B; B % (A - A) > 3",
        "A == A * A; B * B * B == A % B; min(A, B) != max(A, C)",
        "A % B == 0; B % A == 0; A % (A % B) == 1",
        "A == B / C; B == C / A; C == A / B",
        "A == 2 * B; B == 2 * C; C == 2 * A",
    ],
)
def test_odd_facts_do_no_harm(given: str) -> None:
    known = facts(given)
    for claim in ("A == C", "A + B >= 0", "A * (B / A) == B", "min(A, B) < C"):
        prove(goal(claim), known)
        never(goal(claim), known)
    assert holds(goal("C >= 0"), known)


def test_facts_extend_without_changing_the_parent() -> None:
    parent = facts("N > 0")
    child = parent.extended([goal("H % N == 0")])
    assert holds(goal("N * (H / N) == H"), child)
    assert not holds(goal("N * (H / N) == H"), parent)
    assert parent.extended([]) is parent
    parent.assume(goal("S == 3"))
    parent.declare(Sym("Q"))
    assert holds(goal("S * H == 3 * H"), parent)
    assert len(child.clauses) == 2


def test_an_equality_is_solved_for_the_latest_symbol() -> None:
    known = facts("").extended([goal("A == B")])
    assert known.normalise(NAMES["B"]) == NAMES["A"]


def test_a_slice_of_unknown_sign_is_at_least_empty() -> None:
    size = NAMES["S"]
    assert slice_extent(size, facts(""), 2) == (size - 2).maximum(0)
    assert slice_extent(size, facts("S >= 2"), 2) == size - 2
    with pytest.raises(ValueError):
        slice_extent(size, facts(""), 0, None, 0)


def test_thousands_of_questions_are_cheap() -> None:
    known = facts("N > 0; H % N == 0; S > 0; S <= M")
    left, right = parse("B * S * H", NAMES), parse("B * S * N * (H / N)", NAMES)
    start = time.perf_counter()
    for _ in range(20_000):
        assert is_equal(left, right, known)
    assert time.perf_counter() - start < 1.0


def test_hostile_expressions_end_soon() -> None:
    quotient, smallest = NAMES["A"], NAMES["A"]
    for i in range(16):
        quotient = (quotient + NAMES["B"]).floordiv(NAMES["C"] + i)
        smallest = smallest.minimum(NAMES[WORDS[i % 8]] * (i + 2) - NAMES[WORDS[i % 5]])
    assert not (quotient - smallest).poisoned
    known = facts("A <= B; B <= C; C <= D; D <= H; H <= K; K <= M; A + B >= C - D; C > 0")
    start = time.perf_counter()
    prove(Clause.of(">=", quotient - smallest, NAMES["M"]), known)
    assert time.perf_counter() - start < 5.0
