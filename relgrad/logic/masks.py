"""Masks: what is multiplied by a known zero is zero, though it may not be finite.

    f·where(c, g, 0)   where(c, f·g, 0)

Floating point has 0·∞ = NaN, so a product with a mask is computed where the mask is not zero only: factors are drawn
into it. This undoes the trap of reverse mode, in which the cotangent of a branch that is not taken is a zero, and meets
a derivative that need not exist there.

Into sums of masks in sums of masks nothing is drawn: each path to the innermost would be written out, and there are
exponentially many. The factor is masked instead, f·m = where(c, f, 1)·m, where c holds wherever m need not be zero: on
the support of m.
"""

from __future__ import annotations

from functools import reduce
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from relgrad.logic.build import build_product, build_sum, fit
from relgrad.logic.conditions import is_constant_along, is_finite
from relgrad.logic.group import Number, ProductView, SumView, multiplied, renamed
from relgrad.logic.parts import dtype_of
from relgrad.logic.space import spread
from relgrad.logic.view import product_of, sum_of
from relgrad.op import Constant, as_term, constant, is_zero
from relgrad.ops.align import FLOATING
from relgrad.ops.arithmetic import copysign, hypot, negative, sign, sqrt
from relgrad.ops.casting import Cast, cast
from relgrad.ops.comparison import logical_and, logical_not, logical_or, not_equal
from relgrad.ops.gather import Index, Scatter
from relgrad.ops.reduction import Sum
from relgrad.ops.roots import hypot_excess
from relgrad.ops.selection import where
from relgrad.ops.structure import BroadcastLike, BroadcastTo, broadcast_to
from relgrad.term import Term, is_term, kept, operands_first, subterms
from relgrad.trace.tracer import Tracer
from relgrad.types import ArrayType, broadcast_shapes

_DEPTH = 3
MANY = 64
"""Into a product that is written with more factors than this nothing is drawn: a view would not hold them."""


def sunk_product(t: Term) -> Any:
    """f·where(c, g, 0) → where(c, f·g, 0): a product whose factors are drawn into a mask among them; or None.

    None where all is finite, or already inside.
    """
    written = _written(t) if holds_mask(t) else []
    if not 1 < len(written) < MANY or not _stands_beside_mask(written):
        return None
    view = product_of(t)
    if all(is_finite(b, k) for b, k in view.factors.items()):
        return None
    for base, e in view.factors.items():
        if e < 1 or e != int(e) or not is_term(base) or not _is_mask(base, _DEPTH):
            continue
        others = multiplied((view, 1), (ProductView(1, {base: 1}), -1))
        inside = _drawn_in_already(base, written)
        wild = {b: k for b, k in others.factors.items() if not is_finite(b, k)}
        if all(inside.get(b, 0) == k for b, k in wild.items()):
            continue
        place, sums = kept(base, "where_not_zero", _support)
        if place is not None and sums > 1:
            if _is_zero(place):
                return fit(constant(0.0, t.type.dtype), t)
            wild = {b: k for b, k in wild.items() if not _is_masked(b, place)}
            if not wild:
                continue
            taken = build_product(ProductView(1, wild), dtype_of(t))
            masked = where(place, taken, constant(1.0, t.type.dtype))
            rest = multiplied((others, 1), (ProductView(1, wild), -1))
            new = multiplied((rest, 1), (ProductView(1, {masked: 1, base: 1}), 1))
            return fit(build_product(new, dtype_of(t)), t)
        choice = _choice(base)
        if choice is not None:
            c, *branches = choice
            return fit(where(c, *[x if _is_zero(x) else _with(t, base, x) for x in branches]), t)
        drawn = _drawn(base, ProductView(1, wild), dtype_of(t))
        if drawn is not None:
            rest = multiplied((others, 1), (ProductView(1, wild), -1))
            new = multiplied((rest, 1), (ProductView(1, {drawn: 1}), 1))
            return fit(build_product(new, dtype_of(t)), t)
    return None


def bared_length(t: Term) -> Any:
    """Return a product with a divisor that vanishes where a length does, without the 0 of the length's slopes, or None.

    where(h == 0, 0, x/where(h == 0, 1, h))·y/h ⟶ x·y/h², where h = hypot(x, y): at 0 nothing of it is known
    """
    view = product_of(t)
    for base, e in view.factors.items():
        length, slope = _slope_of_length(base)
        if slope is None or e < 0:
            continue
        others = {b: k for b, k in view.factors.items() if b is not base}
        vanish = [b for b in others if _shorter(b, length)]
        # A function of the length may vanish with it, as J₁(h) does in J₁(h)/h.
        known = not any(is_term(b) and length in subterms(b) for b in others if b not in vanish)
        if known and any(others[b] < 0 for b in vanish):
            rest = multiplied((view, 1), (ProductView(1, {base: -e}), 1), (product_of(slope), e))
            return fit(build_product(rest, dtype_of(t)), t)
    return None


def _slope_of_length(t: Any) -> tuple[Any, Term | None]:
    """where(h = 0, 0, x/where(h = 0, 1, h)) → h, x/h:
    a length at whose 0 a quotient is taken to be 0, and the quotient.
    """
    if not is_term(t) or t.op is not where or not _is_zero(t.rands[1]):
        return None, None
    condition, _, quotient = t.rands
    length = next((x for x in condition.rands if x.op is hypot), None)
    if length is None or condition is not as_term(Tracer(length) == 0):
        return None, None
    divisor = as_term(np.where(Tracer(condition), 1.0, Tracer(length)))
    if divisor not in quotient.rands or not quotient.op.elementwise:
        return None, None
    return length, quotient.op.make_node(*[length if x is divisor else x for x in quotient.rands])


def _shorter(t: Any, length: Term) -> bool:
    """hypot(x, −y), hypot(y, x) − x, where h = hypot(x, y) → True: whether a term vanishes where a length does."""
    if not is_term(t) or t.op not in (hypot, hypot_excess):
        return False
    ours, theirs = ({x.rands[0] if x.op is negative else x for x in u.rands} for u in (t, length))
    return ours == theirs


def _written(t: Term) -> list[tuple[Term, Number]]:
    """(x/y)·exp(z) → [(exp(z), 1), (y, −1), (x, 1)]:
    a product's factors as they are written; the first ones where many.
    """
    found: list[tuple[Term, Number]] = []
    stack: list[tuple[Term, Number]] = [(t, 1)]
    while stack and len(found) < MANY:
        node, e = stack.pop()
        exponents = (
            (1,)
            if type(node.op) in FLOATING
            else node.op.as_product[1]
            if node.op.as_product is not None
            else ()
        )
        stack.extend(zip(node.rands, (e * k for k in exponents), strict=False))
        if not exponents:
            found.append((node, e))
    return found


def _stands_beside_mask(written: list[tuple[Term, Number]]) -> bool:
    """Whether a factor that need not be finite is written beside a mask."""
    wild = {w for w, e in written if not is_finite(w, e)}
    return bool(wild) and any(e > 0 and wild != {m} and _is_mask(m, _DEPTH) for m, e in written)


def _is_masked(t: Any, place: Term) -> bool:
    """where(c, f, 1)[:, 0], c → True: whether a factor is 1 outside of a support; assumed of many nested ones."""
    for _ in range(_DEPTH):
        t = _unmoved(t) if is_term(t) else t
        if not is_term(t) or t.op is not where or not _is_one(t.rands[2]):
            return False
        if _unmoved(t.rands[0]) is _unmoved(place):
            return True
        t = t.rands[1]
    return True


def _is_one(t: Any) -> bool:
    return type(t.op) is Constant and bool((t.op.value == 1).all())


def _unmoved(t: Term) -> Term:
    """Return what is stretched to a term: elementwise ops drop the broadcasts of their operands."""
    while type(t.op) in FLOATING:
        t = t.rands[0]
    return t


class Support(NamedTuple):
    """The condition that holds wherever a term need not be zero (None: everywhere), and how deep sums of masks nest."""

    place: Any = None
    sums: int = 0


_NOWHERE = constant(False)


def _support(t: Term) -> Support:
    """Return where a term need not be zero, of the supports s of its operands.

    s(where(c, x, 0)) = c ∧ s(x);   s(a + b) = s(a) ∨ s(b);   s(a·b) = s(a) ∧ s(b);   s(put(v, i)) = put(s(v), i)
    """
    op, parts = t.op, [x.cache["where_not_zero"] for x in t.rands]
    if not isinstance(t.type, ArrayType) or None in t.type.shape:
        return Support()
    if _is_truth(t):
        return Support(t.rands[0] if type(op) is Cast else t)
    if _has_zeros(t):
        return Support(constant(op.value != 0))
    if op is sign:
        return Support(not_equal(t.rands[0], constant(0.0)))
    place: Any = None
    if op is where:
        c, *branches = t.rands
        x, y = [_NOWHERE if _is_zero(b) else p.place for b, p in zip(branches, parts[1:], strict=True)]
        if x is not None or y is not None:
            place = _either(_both(c, x), _both(_folded(logical_not(c)), y))
    elif op.as_sum or type(op) is Sum:
        place = reduce(_either, [p.place for p in parts])
        if place is not None and type(op) is Sum:
            counted = _folded(op.make_node(_folded(cast(place, np.float64))))
            place = _folded(not_equal(counted, constant(0.0)))
        return Support(_filling(place, t), max(p.sums for p in parts) + (place is not None))
    elif op.as_product is not None:
        parts = [p for p, e in zip(parts, op.as_product[1], strict=True) if e > 0]
        place = reduce(_both, [p.place for p in parts], None)
    elif type(op) is Scatter or (t.rands and _moves_entries(t)):
        inner = parts[0].place
        if type(op) is Scatter and inner is None and None not in t.rands[0].type.shape:
            inner = constant(np.ones(t.rands[0].type.shape, bool))
        if inner is not None:
            place = inner if inner is _NOWHERE else _folded(op.make_node(inner, *t.rands[1:]))
    return Support(_filling(place, t), max([p.sums for p in parts], default=0))


def _both(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return a if b is None else b
    return _NOWHERE if a is _NOWHERE or b is _NOWHERE else _folded(logical_and(a, b))


def _either(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return None
    return a if b is _NOWHERE else b if a is _NOWHERE else _folded(logical_or(a, b))


def _folded(t: Any) -> Any:
    """Return a condition, computed where nothing in it is free: what holds everywhere is to be seen."""
    if any(type(x.op) is not Constant for x in t.rands):
        return t
    return constant(t.op.evaluate(t, [x.op.value for x in t.rands])[0])


def _filling(place: Any, t: Term) -> Any:
    """c of shape (3,), t of shape (2, 3) → c of shape (2, 3);    all true → None:
    a condition in the shape of a term.
    """
    if place is None or place is _NOWHERE:
        return place
    if type(place.op) is Constant and place.op.value.all():
        return None
    return place if place.type.shape == t.type.shape else _folded(broadcast_to(place, t.type.shape))


def _drawn_in_already(base: Term, written: list[tuple[Term, Number]]) -> dict[Any, Number]:
    """put(a·v, i) = a·put(v, i): the factors that stand inside the mask as written, and are read as standing outside.

    To draw a in once more would gain nothing, again and again.
    """
    return next((own for m, _ in written if base is not m and base in (own := product_of(m).factors)), {})


def _choice(base: Term) -> tuple[Any, Any, Any] | None:
    """where(c, g, 0) → c, g, 0;    sign(x) → x ≠ 0, ±1, 0:
    a mask as a condition and its values where that holds, and not.

    One of the two is zero or another mask.
    """
    op, zero = base.op, constant(0.0, base.type.dtype if base.type.differentiable else np.float64)
    if op is where:
        return base.rands[0], base.rands[1], base.rands[2]
    if _is_truth(base):
        one = constant(1.0) if base.type.dtype.kind == "b" else constant(1.0, base.type.dtype)
        return (base.rands[0] if type(op) is Cast else base), one, zero
    if op is sign:
        x = base.rands[0]
        return not_equal(x, constant(0.0)), copysign(constant(1.0), x), zero
    if _has_zeros(base):
        value = op.value
        return constant(value != 0), constant(np.where(value == 0, value.dtype.type(1), value)), zero
    if op.zero_first:
        first, second = base.rands
        mask = next((b for b in product_of(first).factors if is_term(b) and _is_mask(b, _DEPTH)), None)
        inner_choice = None if mask is None else _choice(mask)
        if mask is None or inner_choice is None:
            return None
        c, *parts = inner_choice
        return c, *[zero if _is_zero(x) else op(_with(first, mask, x), second) for x in parts]
    if _moves_entries(base) and type(op) not in (BroadcastTo, BroadcastLike) and base.rands[0].op is where:
        inner = base.rands[0]
        if None in inner.type.shape:
            return None
        c, x, y = [broadcast_to(x, inner.type.shape) for x in inner.rands]
        moved = [op.make_node(part, *base.rands[1:]) for part in (c, x, y)]
        return moved[0], *[zero if _is_zero(part) else m for part, m in zip((x, y), moved[1:], strict=True)]
    return None


def _with(t: Term, base: Term, new: Any) -> Any:
    """(a/b)·c, c ↦ d → (a/b)·d: a product with a factor replaced, or as it is where that factor is only read, not
    written.

    Nothing else about it changes: (a/b)·c may be finite where (a·c)/b is not.
    """
    done: dict[Any, Any] = {base: new}
    factors = lambda x: () if x.op.as_product is None or x.op is sqrt else x.rands
    for node in operands_first([t], done.__contains__, factors):
        rands = [done[x] for x in factors(node)]
        done[node] = node if all(map(is_, rands, node.rands)) else node.op.make_node(*rands)
    return done[t]


def holds_mask(t: Term) -> bool:
    """x·(y + where(c, z, 0)) → True: whether a term, or any below it, may be a mask by itself."""
    return kept(t, "holds mask", lambda t: is_masking(t) or any(x.cache["holds mask"] for x in t.rands))


def is_masking(t: Term) -> bool:
    """Whether a term may be a mask by itself."""
    return t.op is where or t.op is sign or type(t.op) is Scatter or _has_zeros(t) or _is_truth(t)


def _is_truth(t: Term) -> bool:
    kind = getattr(t.type, "dtype", None)
    if kind is None or type(t.op) is Constant:
        return False
    return kind.kind == "b" or (type(t.op) is Cast and t.rands[0].type.dtype.kind == "b")


def _has_zeros(t: Term) -> bool:
    """Whether a constant array has some entries that are zero, and others."""
    return type(t.op) is Constant and t.op.value.size > 1 and not t.op.value.all() and bool(t.op.value.any())


def _is_zero(t: Any) -> bool:
    return is_zero(_unmoved(t))


def _is_mask(t: Term, depth: int) -> bool:
    """where(c, g, 0), sign(x), put(v, i), x > 0 → True; x → False:
    whether a factor has entries that are known to be zero.

    Such that other factors can be drawn into it; sums of masks and what moves their entries are masks, to a depth.
    """
    op = t.op
    if op is where:
        parts = t.rands[1:]
        return any(_is_zero(x) for x in parts) or (depth > 0 and any(_is_mask(x, depth - 1) for x in parts))
    if op is sign or type(op) is Scatter or _is_truth(t) or _has_zeros(t):
        return True
    if not depth:
        return False
    if op.zero_first or type(op) is Sum:
        return _has_mask(t.rands[0], depth - 1)
    if _moves_entries(t):
        return _is_mask(t.rands[0], depth - 1)
    if op.as_sum:
        view = sum_of(t)
        return not view.constant and all(_has_mask(part, depth - 1) for part in view.terms)
    return False


def _has_mask(t: Any, depth: int) -> bool:
    return is_term(t) and any(
        is_term(b) and e >= 1 and _is_mask(b, depth) for b, e in product_of(t).factors.items()
    )


def _moves_entries(t: Term) -> bool:
    return type(t.op) in FLOATING or t.op.laws.selects


def _drawn(base: Term, factor: ProductView, dtype: Any) -> Any:
    """Σ m, f → Σ m·f;    m + n, f → m·f + n·f: a mask times a factor that is drawn into it, or None where it cannot
    be.
    """
    op = base.op
    if type(op) is Scatter:
        return _scattered(base, build_product(factor, dtype), dtype)
    if type(op) is Sum:
        if not all(is_constant_along(b, op.axes) for b in factor.factors):
            return None
        return op.make_node(spread(_times(base.rands[0], factor, dtype), base.rands[0], op.axes))
    if not op.as_sum:
        return None
    view = sum_of(base)
    return build_sum(SumView(0, renamed(view.terms, lambda part: _times(part, factor, dtype))), dtype)


def _times(t: Term, factor: ProductView, dtype: Any) -> Any:
    return build_product(multiplied((product_of(t), 1), (factor, 1)), dtype)


def _scattered(base: Term, factor: Any, dtype: Any) -> Any:
    """put(v, i)·f = put(v·f[i], i)."""
    if base.op.shape is None or None in factor.type.shape:
        return None
    if broadcast_shapes(factor.type.shape, base.type.shape) != base.type.shape:
        return None
    factor = broadcast_to(factor, base.type.shape)
    arrays = base.rands[1:]
    selected = Index(base.op.pattern).make_node(factor, *arrays)
    values = _times(base.rands[0], product_of(selected), dtype)
    return base.op.make_node(fit(values, base.rands[0]), *arrays)
