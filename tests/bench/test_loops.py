"""Inner loops read from assembly; and what must stay true of those we generate.

The second half guards speed where no time can be trusted: it counts instructions, so it says the
same on a busy machine and for a processor that is not there.
"""

from __future__ import annotations

import dataclasses

import pytest

from linnet import driver
from linnet.bench import loops
from linnet.bench.loops import Loop, cycles, is_load, is_multiply_add
from linnet.bench.subject import Subject
from linnet.targets.detect import host_machine
from linnet.targets.target import load_target
from tests.bench.conftest import EMBEDDED
from tests.support.targets import require

ARM = """
outer:
	mov	x2, 0
.L5:
	add	x2, x2, 1
.L3:
	ldp	q0, q1, [x1], 32	// two weights
	ldr	q2, [sp, 64]
	prfm	PLDL1KEEP, [x1, 4096]
	fmla	v4.4s, v0.4s, v2.s[0]
	fmla	v5.4s, v1.4s, v2.s[0]
	cmp	x1, x3
	bne	.L3
	cbnz	x2, .L5
	ret
	.size	outer, .-outer
plain:
.L9:
	add	x0, x0, 1
	b.ne	.L9
"""

X86 = """
row:
	xorl	%eax, %eax
.L2:
	vbroadcastss	(%rsi), %zmm0 # x
	prefetcht0	64(%rax)
	vfmadd231ps	-4096(%rax), %zmm0, %zmm4
	vmovups	%zmm4, 8(%rsp)
	addq	$4, %rsi
	jne	.L2
	ret
"""


def test_the_innermost_loop_of_arm_is_found() -> None:
    (loop,) = loops.loops(ARM, fewest=1)
    assert loop.functions == ("outer",)
    assert len(loop.instructions) == 7
    assert (loop.multiply_adds, loop.loads, loop.stack_accesses) == (2, 2, 1)


def test_the_loop_of_x86_is_found() -> None:
    (loop,) = loops.loops(X86, fewest=1)
    assert len(loop.instructions) == 6
    assert (loop.multiply_adds, loop.loads, loop.stack_accesses) == (1, 2, 1)


@pytest.mark.parametrize(
    ("text", "adds", "reads"),
    [
        ("vfmadd231ps (%rax), %zmm0, %zmm4", True, True),
        ("vfnmadd132ps %ymm1, %ymm0, %ymm4", True, False),
        ("vmovups %zmm4, 8(%rax)", False, False),
        ("leaq 8(%rax), %rcx", False, False),
        ("ld1 {v0.4s}, [x1]", False, True),
        ("st1 {v0.4s}, [x1]", False, False),
        ("fmla v0.4s, v1.4s, v2.4s", True, False),
        ("fmadd s0, s1, s2, s3", True, False),
    ],
)
def test_instructions_are_told_apart(text: str, adds: bool, reads: bool) -> None:
    assert is_multiply_add(text) is adds
    assert is_load(text) is reads


@pytest.mark.skipif(loops.analyser() is None, reason="llvm-mca is not installed")
def test_a_model_knows_the_limits_of_its_units() -> None:
    """Neoverse V1 has four units for 128-bit multiply-adds: sixteen that do not wait for one
    another take four cycles."""
    body = tuple(f"fmla v{k}.4s, v30.4s, v31.4s" for k in range(16))
    found = cycles(Loop(("f",), body), "neon", "neoverse-v1", loops.analyser() or "")
    assert found.multiply_adds == pytest.approx(4.0)
    assert found.whole == pytest.approx(4.0, rel=0.05)
    assert found.loads == 0


# --- what is generated ---------------------------------------------------------------------

TARGETS = [
    pytest.param("neon", marks=pytest.mark.isa),
    pytest.param("avx512", marks=pytest.mark.isa),
    pytest.param("avx2", marks=pytest.mark.isa),
]
MOST_A_PRODUCT = {"neon": 0.60, "avx512": 0.21, "avx2": 0.40}
"""Instructions for each product in the loop over the weights of one row."""
PRODUCTS = ("ln_tile", "ln_row", "ln_panels")
"""How the functions are called whose loops multiply matrices; others hold some of them inlined."""
MOST_INSTRUCTIONS = {
    "neon": {32: 69, 20: 33, 16: 28, 12: 23, 8: 18, 4: 13},
    "avx512": {24: 43, 20: 38, 16: 33, 12: 24, 8: 19, 4: 15},
    "avx2": {12: 28, 10: 25, 8: 22, 6: 19, 4: 14},
}
"""Instructions of a product's loop by its number of multiply-adds: what the loads, the counters
and the fetching of later weights come to, and two for what another compiler does."""


@pytest.fixture(scope="module")
def generated() -> dict[str, list[Loop]]:
    return {}


def _loops(target: str, known: dict[str, list[Loop]]) -> list[Loop]:
    if target == "neon":
        require(target)  # the cross compiler; nothing is run
    elif host_machine() != "x86_64":
        pytest.skip("no compiler for x86-64 here")
    if target not in known:
        request = Subject.find(EMBEDDED).request()
        request = dataclasses.replace(request, target=target, entries=("decode", "prefill"))
        known[target] = loops.loops(loops.assembly(driver.generate(request).c, target))
    return known[target]


@pytest.mark.parametrize("target", TARGETS)
def test_one_row_takes_few_instructions_a_weight(
    target: str, generated: dict[str, list[Loop]]
) -> None:
    rows = [
        loop
        for loop in _loops(target, generated)
        if any("_row" in function for function in loop.functions)
    ]
    assert rows, "no loop of a one-row product was found"
    lanes = load_target(target).f32.lanes
    best = min(len(loop.instructions) / (loop.multiply_adds * lanes) for loop in rows)
    assert best <= MOST_A_PRODUCT[target]


@pytest.mark.parametrize("target", TARGETS)
def test_no_loop_of_a_product_gets_more_instructions_or_spills(
    target: str, generated: dict[str, list[Loop]]
) -> None:
    most = MOST_INSTRUCTIONS[target]
    found = [
        loop
        for loop in _loops(target, generated)
        if any(function.startswith(PRODUCTS) for function in loop.functions)
    ]
    assert max(loop.multiply_adds for loop in found) == max(most), "the largest block is gone"
    for loop in found:
        assert loop.multiply_adds in most, f"a block of another shape: {loop}"
        assert len(loop.instructions) <= most[loop.multiply_adds], loop
        assert loop.stack_accesses == 0, loop
