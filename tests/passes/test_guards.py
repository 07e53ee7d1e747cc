"""What the sides of a select know."""

from __future__ import annotations

from linnet.dims import Dim, Facts
from linnet.ir import build as ir
from linnet.ir.expr import Expr, Index, Load, walk
from linnet.passes.bounds import inside
from linnet.passes.guards import guards

J = Index("j", Dim.const(12))
POSITION = ir.index_ref(J)


def load(at: Expr) -> Load:
    return Load("f32", 0, (at,))


def below(bound: int) -> Expr:
    return ir.apply("lt", POSITION, ir.const(bound, "i64"))


def is_inside(body: Expr, element: Load, size: int) -> bool:
    guard = guards(body).get(id(element))
    known = guard.bounds if guard is not None else None
    return inside(element.at[0], Dim.const(size), Facts(), known)


def test_each_side_of_a_join_reads_inside_its_part() -> None:
    first, second = load(POSITION), load(ir.apply("sub", POSITION, ir.const(4, "i64")))
    third = load(ir.apply("sub", POSITION, ir.const(8, "i64")))
    body = ir.select(below(4), first, ir.select(below(8), second, third))
    assert is_inside(body, first, 4)
    assert is_inside(body, second, 4)
    assert is_inside(body, third, 4)
    assert not is_inside(body, third, 3)
    assert {id(guards(body)[id(e)].select) for e in (first, second, third)} == {id(body)}


def test_a_load_that_is_used_elsewhere_too_knows_nothing() -> None:
    shared = load(POSITION)
    body = ir.apply("add", ir.select(below(4), shared, load(POSITION)), shared)
    assert not is_inside(body, shared, 4)


def test_a_reduction_is_computed_before_the_select() -> None:
    k = Index("k", Dim.const(3))
    element = load(POSITION)
    total = ir.reduce("sum", (k,), ir.apply("mul", element, load(ir.index_ref(k))))
    assert not is_inside(ir.select(below(4), total, ir.const(0, "f32")), element, 4)


def test_both_parts_of_an_and_hold_on_the_first_side_only() -> None:
    low = ir.apply("le", ir.const(2, "i64"), POSITION)
    one, two = load(POSITION), load(POSITION)
    body = ir.select(ir.both(below(4), low), one, two)
    assert is_inside(body, one, 4)
    assert not is_inside(body, two, 4)
    bounds = guards(body)[id(one)].bounds[J]
    assert (str(bounds.low), str(bounds.high)) == ("2", "3")
    assert all(id(e) not in guards(body) for e in walk(body) if e is two)
