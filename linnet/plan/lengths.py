"""Masks that are a prefix: "key k counts if k <= e", with e free of k, is a number of keys.

    mask = map (q, k) le(cast i32 k, add(pos, cast i32 q))
    ==>  lengths = map (q) clamp(cast i64 (pos + q) + 1, 0, K)

Attention then reads the filled prefix instead of the whole cache. Anything else stays a mask.
"""

from __future__ import annotations

from linnet.dims import Dim
from linnet.ir.expr import Apply, Const, DimConst, Expr, Index, IndexRef, walk
from linnet.ir.node import MapAttrs, Node, TensorType
from linnet.ir.ops import INT_SIZES, Op

_MIRRORED = {"le": "ge", "lt": "gt", "ge": "le", "gt": "lt"}


def prefix_lengths(mask: Node) -> Node | None:
    """The lengths (i64, the mask's dims without the last) that say the same as `mask`, or
    None when its last axis is not a prefix that this analysis can see."""
    if not isinstance(mask.attrs, MapAttrs) or not mask.attrs.indices:
        return None
    *outer, key = mask.attrs.indices
    bound = _bound(mask.attrs.body, key)
    if bound is None:
        return None
    low = Apply("i64", "max", (bound, Const("i64", 0)))
    length = Apply("i64", "min", (low, DimConst("i64", key.domain)))
    dims = tuple(index.domain for index in outer)
    return Node(
        Op.MAP, mask.args, TensorType("i64", dims), MapAttrs(tuple(outer), length), mask.origin
    )


def _bound(body: Expr, key: Index) -> Expr | None:
    """How many keys from 0 on satisfy `body`, before clamping."""
    match body:
        case Const(dtype="bool", value=True):
            return DimConst("i64", key.domain)
        case Apply(fn=fn, args=(left, right)) if fn in _MIRRORED:
            if _mentions(right, key):
                left, right, mirrored = right, left, _MIRRORED[fn]
            else:
                mirrored = fn
            if mirrored in ("ge", "gt") or _mentions(right, key):
                return None
            shift = _key_plus(left, key)
            if shift is None:
                return None
            limit = _as_i64(right)
            more = (1 if mirrored == "le" else 0) - shift
            return limit if more == 0 else Apply("i64", "add", (limit, Const("i64", more)))
    return None


def _key_plus(expr: Expr, key: Index) -> int | None:
    """c when `expr` is key + c (through integer casts that hold every key), else None."""
    match expr:
        case IndexRef(index=index):
            return 0 if index is key else None
        case Apply(fn="cast", args=(inner,)) if _holds(expr.dtype, key.domain):
            return _key_plus(inner, key)
        case Apply(fn="add" | "sub" as fn, args=(inner, Const(value=int() as value))):
            shift = _key_plus(inner, key)
            return None if shift is None else shift + (value if fn == "add" else -value)
    return None


def _holds(dtype: str, domain: Dim) -> bool:
    """Whether an integer dtype holds every position of an axis: known sizes are compared, others
    need 31 bits (memory cannot hold a longer axis of anything that is attended to)."""
    if dtype not in INT_SIZES:
        return False
    bits = 8 * INT_SIZES[dtype] - (0 if dtype.startswith("u") else 1)
    return domain.value <= 2**bits if domain.is_const else bits >= 31


def _as_i64(expr: Expr) -> Expr:
    return expr if expr.dtype == "i64" else Apply("i64", "cast", (expr,))


def _mentions(expr: Expr, key: Index) -> bool:
    return any(isinstance(e, IndexRef) and e.index is key for e in walk(expr))
