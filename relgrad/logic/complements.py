"""What products of shares leave of one, and factors that they leave in common.

1 − σ(x)·(1 − y)     σ(−x) + σ(x)·y         (1 − p) − (1 − p)·q     (1 − p)·(1 − q)
(1 + x)·(1 + y) − 1  x + (1 + x)·y
1 − max(σ(x), c)     min(σ(−x), 1 − c)      σ(x) − y                (1 − y)·σ(x) − y·σ(−x)
1 − Π (1 − xᵢ)       −prod1pm1(−x)          1 − Π (1 − xᵢ)ⁿ         −prod1pm1(power1pm1(−x, n))
1 + expm1(x)³        eˣ·(1 − p + p²), p = expm1(x)      2 − erf(x) − erf(y)     erfc(x) + erfc(y)
x² + y² − 2·x·y·eᶻ   (x − y)² − 2·x·y·(eᶻ − 1)         x² + y² − 2·x·y·cos z   (x − y)² + 2·x·y·versin z
1 − x[i]/Σ x         C(x)[i]                           1 − Σ x·y/(‖x‖·‖y‖)    Σ r²/(1 + Σ x·y/(‖x‖·‖y‖)), r across x
1 − eˣ·cos y         versin y − cos y·(eˣ − 1)                      cosh x − cos y          2·sinh²(x/2) + versin y
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any

import numpy as np
from quicktions import Fraction

from relgrad.bounds import range_of
from relgrad.interpret import interpret
from relgrad.logic.build import build_product, build_sum, fit, opposite
from relgrad.logic.conditions import is_additive, maybe_one
from relgrad.logic.group import Number, ProductView, SumView, added, multiplied, quotient
from relgrad.logic.parts import dtype_of, has_constant, rebuilt
from relgrad.logic.simplify import by_meaning, divided_sum, factored_sum, held_in, meant_sum, perfect_square
from relgrad.logic.view import SHARED, in_floats, product_of, sum_of, summand, times
from relgrad.op import as_term, constant, is_constant
from relgrad.ops.arithmetic import absolute, add, divide, fabs, multiply, negative, power, sqrt, subtract
from relgrad.ops.comparison import greater, less
from relgrad.ops.deviation import Complement
from relgrad.ops.differences import power1pm1
from relgrad.ops.exponential import exp
from relgrad.ops.increments import Telescope
from relgrad.ops.lengths import Unit
from relgrad.ops.moments import Prod1pm1
from relgrad.ops.norms import unit_pullback
from relgrad.ops.order import Places
from relgrad.ops.reduction import Prod, Sum
from relgrad.ops.selection import where
from relgrad.ops.softmax import Gibbs, Softmax
from relgrad.ops.structure import RESHAPES
from relgrad.term import Term, is_term, kept
from relgrad.trace.tracer import Tracer

ONE, NOTHING = ProductView(1, {}), SumView(0, {})
MOVED = 1 << 16
"""Of arrays with more entries nobody asks where each goes."""
ROUNDED = Fraction(1, 1 << 50)
"""Numbers that people write as weights add up to one so far."""


def complement_of(t: Term) -> Term | None:
    """σ(x) → σ(−x);    max(σ(x), y)[i] → min(σ(−x), 1 − y)[i]: what a term leaves of one, without a subtraction of
    what is near it; None where neither its op nor an operand, of which it chooses entries, knows that.
    """
    return kept(t, "complement", _complement_of, _chosen)


def left_of(t: Term) -> Term | None:
    """erf(x) → erfc(x);    −expm1(x)·erf(y) → eˣ + (1 − eˣ)·erfc(y): what a term, or a product of such, leaves of one;
    or None.
    """
    view = product_of(t)
    if (left := complement_of(t)) is not None:
        return left
    k, factors = view.coefficient, dict[Term, Any]()
    for b, e in view.factors.items():
        if not is_term(b) or not b.ground or not b.type.differentiable or e < 1 or e != int(e):
            return None
        factor = b if complement_of(b) is not None else negative(b)
        if complement_of(factor) is None:
            return None
        k, factors[factor] = k * (1 if factor is b else (-1) ** int(e)), e
    rest = _left_of_product(ProductView(1, factors), dtype_of(t)) if k == 1 else None
    return None if rest is None else fit(build_sum(rest, dtype_of(t)), t)


def _complement_of(t: Term) -> Term | None:
    op = t.op
    if op.complement is not None:
        return as_term(op.complement(*[Tracer(in_floats(x, t)) for x in t.rands]))
    if op in (absolute, fabs):
        (x,) = t.rands
        if (of_size := _of_size(x)) is not None:
            return complement_of(of_size)
        left = complement_of(x)
        return None if left is None else where(less(x, 0.0), add(1.0, x), left)
    if (op is divide or type(op) is Gibbs) and t.ground and (rest := _share_of_others(t)) is not None:
        return rest
    if type(op) is Telescope and _is_one(t.rands[0]) and _is_one(t.rands[2]):
        return t.rands[1]
    if type(op) is Sum and (rest := _left_of_cosine(t)) is not None:
        return rest
    if isinstance(op, Prod) and (rest := _left(t.rands[0])) is not None:
        return negative(Prod1pm1(op.axes).make_node(negative(rest)))
    lefts = {x: left for x in _chosen(t) if (left := x.cache["complement"]) is not None}
    if not lefts:
        return _left_of_sum(t) if t.ground and t.type.differentiable else None
    operands = [
        lefts[x] if x in lefts else subtract(1.0, x) if _is_value(t, i) else _places(x, lefts)
        for i, x in enumerate(t.rands)
    ]
    return as_term((op.reflected or op)(*map(Tracer, operands)))


def _left_of_sum(t: Term) -> Term | None:
    """−expm1(x) → eˣ;    2 + expm1(x) → −eˣ;    −erf(x) → erfc(−x);    0.3·erf(x) + 0.7·erf(y) → 0.3·erfc(x) +
    0.7·erfc(y): what is left of one by what means one less something, by an odd function, and by a mean of shares, with
    weights that add up to one but for rounding; or None.
    """
    view = sum_of(t)
    if len(view.terms) > SHARED or (view.constant and by_meaning(view) == view):
        return None
    if len(view.terms) == 1:
        ((p, k),) = view.terms.items()
        if k == -1 and is_term(p) and p.op.laws.parity == -1 and p.op.complement is not None:
            return complement_of(p.op.make_node(opposite(*p.rands)))
    alone = SumView(0, {p: k for p, k in view.terms.items() if len(product_of(p).factors) == 1})
    left = added((SumView(1, {}), 1), (view, -1), (alone, 1), (by_meaning(alone), -1))
    shares = left.terms if len(view.terms) > 1 and abs(left.constant) > ROUNDED else {}
    for p, k in shares.items():
        if p.type.differentiable and (below := complement_of(p if k < 0 else negative(p))) is not None:
            left = added((left, 1), (SumView(abs(k), {p: k}), -1), (sum_of(below), abs(k)))
    return None if abs(left.constant) > ROUNDED else fit(build_sum(left, dtype_of(t)), t)


def _share_of_others(t: Term) -> Term | None:
    """x[i]/Σ x → C(x)[i], C(x) = 1 − x/Σ x;    gibbs(x[i], x) → C(softmax(x))[i];    max x/Σ x → min C(x), if Σ x > 0:
    what the share that an entry has of a sum leaves of one; or None.
    """
    op, path, x = t.op, [t.rands[0]], t.rands[1]
    if op is divide and type(x.op) is Sum:
        axes, shares = x.op.axes, (x := x.rands[0])
    elif type(op) is Gibbs and len(t.rands) == 2 and op.power == 1:
        axes, shares = op.axes, Softmax(op.axes).make_node(x)
    else:
        return None
    others, largest = Complement(axes).make_node(shares), path[0]
    if largest.op.laws.extreme and largest.rands == (x,) and largest.op.axes == axes:
        least, most = as_term(largest.op.reflected(Tracer(others))), largest.op.make_node(others)
        return fit(least if op is not divide else where(greater(t.rands[1], 0.0), least, most), t)
    while path[-1] is not x:
        if not (path[-1].op.laws.selects or type(path[-1].op) in RESHAPES):
            return None
        path.append(path[-1].rands[0])
    beside = [a for a in range(-x.type.ndim, 0) if a not in axes and x.type.extent(a) != 1]
    if not all(_stays(path, a) for a in beside):
        return None  # beside several sums an entry may stand that is none of their summands
    left = others
    for node in reversed(path[:-1]):
        left = node.op.make_node(left, *node.rands[1:])
    return fit(left, t)


def _left_of_cosine(t: Term) -> Term | None:
    """c = Σ x·y/(‖x‖·‖y‖) → Σ r²/(1 + c), r = (y − x·Σ x·y/Σ x²)/‖y‖:
    what the cosine of an angle between vectors leaves of one, 1 + |c| where it is wide or a vector is 0; or None.
    """
    view = product_of(t.rands[0])
    units = [b for b, e in view.factors.items() if e == 1 and is_term(b) and type(b.op) is Unit]
    if view.coefficient != 1 or len(units) != 2 or len(view.factors) > 2:
        return None
    (x, y), axes, c = [Tracer(b.rands[0]) for b in units], t.op.axes, Tracer(t)
    shape = t.rands[0].type.shape
    if any(b.op.axes != axes for b in units) or None in shape:
        return None
    if x.shape != y.shape:
        x, y = [np.broadcast_to(v, shape) for v in (x, y)]
    length, other = [np.linalg.norm(v, axis=axes, keepdims=True) for v in (x, y)]
    near = (c > -0.5) & (length > 0) & (other > 0)
    across = unit_pullback(x, y, axis=axes) * (length / np.where(near, other, 1.0))
    square = np.sum(np.square(across), axis=axes, keepdims=True)
    return as_term(np.where(near, square / np.where(near, 1 + c, 1.0), 1 + np.abs(c)))


def _stays(path: Sequence[Term], a: int) -> bool:
    """x[:, 0][:, None] → True along the first axis, x.T → False: whether entries of x stand where they stand in x."""
    found, x = path[0], path[-1]
    if x.type.size is None or x.type.size > MOVED or found.type.ndim < -a:
        return False
    rank = [-1, *[1] * (-a - 1)]
    places = np.arange(x.type.extent(a), dtype=x.type.dtype).reshape(rank)
    try:
        (moved,) = interpret([found], {x: np.broadcast_to(places, x.type.shape).copy()})
    except KeyError:  # which entries it has, an argument says
        return False
    return moved.shape[a] == places.size and bool(np.all(moved == places))


def _chosen(t: Term) -> Sequence[Term]:
    """max(x, y)[i] → max(x, y);    where(c, x, y) → x, y: the real operands that a reflected op chooses entries of;
    Π x → x.
    """
    op = t.op
    if isinstance(op, Prod):
        return t.rands
    chooses = op.complement is None and (op.laws.selects or op.reflected is not None) and t.ground
    return [x for x in t.rands if x.type.differentiable] if chooses else ()


def _is_value(t: Term, i: int) -> bool:
    """where(c, x, y) → x, y;    x[i] → x;    concatenate(0, x) → 0, x: whether a term has entries of an operand."""
    return i in t.op.laws.linear if t.op.laws.selects else t.op is not where or i > 0


def _left(t: Term) -> Term | None:
    """1 + x → −x;    erf(x) → erfc(x): what is left of one, also if it is one and something, or a power of that."""
    if t.op.as_sum and (inner := sum_of(t)).constant == 1:
        return build_sum(added((SumView(1, {}), 1), (inner, -1)), t.type.dtype)
    if t.op is power and t.rands[0].op.as_sum and (left := _left(t.rands[0])) is not None:
        return negative(power1pm1(negative(left), t.rands[1]))
    if t.op is where and (left := _left(t.rands[1])) is not None and _is_one(t.rands[2]):
        return where(t.rands[0], left, constant(0.0, t.type.dtype))
    return complement_of(t)


def _is_one(t: Term) -> bool:
    return is_constant(t) and bool(np.all(t.op.value == 1))


def _of_size(t: Term) -> Term | None:
    """tanh(x) → tanh(|x|), which is |tanh(x)|: an odd function that has the sign of its operand; or None."""
    if t.op.laws.parity != -1 or len(t.rands) != 1:
        return None
    found = t.op.make_node(absolute(*t.rands))
    return found if range_of(found).nonnegative else None


def _places(t: Term, lefts: dict[Term, Term]) -> Term:
    """argsort(x), 1 − x → argsort(−(1 − x)): entries are ordered by what they leave of one, where that tells more."""
    ordered = isinstance(t.op, Places) and len(t.rands) == 1 and t.rands[0] in lefts
    return t.op.make_node(negative(lefts[t.rands[0]])) if ordered else t


def shared_complement(t: Term) -> Any:
    """Return a sum that holds a complement, and a multiple of it, with the complement taken out, or None.

    (1 - p) - (1 - p)·q = (1 - p)·(1 - q): 1 - (p + (1 - p)·q) is no difference of what is near one. What is left
    beside must be one summand: 1 - ((1 - p)·q + p·(1 - q)) = (1 - p)·(1 - q) + p·q
    """
    view, dtype = sum_of(t), dtype_of(t)
    if not view.constant or not 1 < len(view.terms) <= SHARED:
        return None
    for part, k in view.terms.items():
        product = product_of(part)
        for base, e in product.factors.items():
            if e < 1 or not is_term(base) or not base.op.as_sum or (e == 1 and len(product.factors) < 2):
                continue
            inner = sum_of(base)
            c = Fraction(view.constant) / inner.constant if inner.constant else Fraction(0)
            left = added((view, 1), (SumView(0, {part: 1}), -k), (inner, -c))
            if c * k * product.coefficient >= 0 or left.constant:
                continue
            beyond = factored_sum(build_sum(left, dtype)) if len(left.terms) > 1 else None
            if left.terms and (beyond is None or len(sum_of(beyond).terms) > 1 or sum_of(beyond).constant):
                continue
            outside = multiplied((product, 1), (ProductView(1, {base: 1}), -1))
            beside = build_sum(added((SumView(c, {}), 1), (times(SumView(1, {}), outside, dtype), k)), dtype)
            taken = multiplied((ProductView(1, {base: 1}), 1), (ProductView(1, {beside: 1}), 1))
            whole_ = SumView(0, {build_product(taken, dtype): 1} | ({} if beyond is None else {beyond: 1}))
            return fit(rebuilt(whole_, t), t)
    return None


def complemented_sum(t: Term) -> Any:
    """Return a sum in which one less a product is what is left of one, of each factor in turn, or None.

    1 − σ(x)·(1 − y) = σ(−x) + σ(x)·y; nothing is left for one factor, w − w·Φ(x) = w·Φ(−x), of an odd function
    1 + tanh x = 1 − tanh(−x), and of a mean 2 − Φ(x) − Φ(y) = Φ(−x) + Φ(−y)
    """
    view, dtype = sum_of(t), dtype_of(t)
    for part, k in view.terms.items():
        for taken in _either_way(product_of(part)):
            c = -k * taken.coefficient
            for one, outside in _wholes(view, taken, c):
                within = {b: e for b, e in taken.factors.items() if b not in outside.factors}
                shares = {b: e for b, e in within.items() if is_term(b) and _is_share(b, within)}
                if not shares or (taken.factors == shares and _is_left_to_rows(view, shares)):
                    continue
                rest = _left_of_product(ProductView(1, within), dtype, outside, (view, c))
                if rest is not None:
                    new = added((view, 1), (SumView(0, {part: k}), -1), (one, -1), (rest, c))
                    return fit(rebuilt(new, t), t)
    if not view.constant or not 1 < len(view.terms) <= SHARED:
        return None
    mean = added((view, -1 / Fraction(view.constant)), (SumView(1, {}), 1))
    rest = _left_of_sum(build_sum(mean, dtype))
    return None if rest is None else fit(build_sum(added((sum_of(rest), view.constant)), dtype), t)


def complemented_data(t: Term) -> Any:
    """w − w·x − w·y → w·(1 − x − y), of data x and y: a sum in which what is left of one is one subtraction, of numbers
    that no product has rounded; or None.
    """
    view, dtype = sum_of(t), dtype_of(t)
    products = {p: product_of(p) for p in view.terms} if 1 < len(view.terms) <= SHARED else {}
    for part, product in products.items():
        whole = ProductView(1, product.factors)
        rests = {p: multiplied((other, 1), (whole, -1)) for p, other in products.items()}
        amounts = {p: view.terms[p] for p, rest in rests.items() if p is part or _is_of_data(rest)}
        scales = {rests[p].coefficient * k for p, k in amounts.items()}
        if min(scales) < 0 < max(scales):
            scale = max(scales) if len(scales) == 2 and not sum(scales) else 1  # 3·w − 3·w·x = 3·w·(1 − x)
            left = added(*[(summand(rests[p], None, dtype), quotient(k, scale)) for p, k in amounts.items()])
            factor = ProductView(1, {build_sum(left, dtype): 1})
            new = SumView(0, {build_product(multiplied((whole, 1), (factor, 1)), dtype): scale})
            return fit(rebuilt(added((view, 1), (SumView(0, amounts), -1), (new, 1)), t), t)
    return None


def _is_of_data(view: ProductView) -> bool:
    return bool(view.factors) and all(e == 1 and is_additive(b) for b, e in view.factors.items())


def _wholes(view: SumView, product: ProductView, k: Any) -> Iterator[tuple[SumView, ProductView]]:
    """3 + 3·w − …, w·p, 3 → (3, 1), (3·w, w): the summands of which a product is a share, k times, and without k."""
    if view.constant and has_constant(view, SumView(k, {})):
        yield SumView(k, {}), ONE
    for part, n in view.terms.items():
        whole = product_of(part)
        if n * whole.coefficient == k and whole.factors.items() < product.factors.items():
            yield SumView(0, {part: n}), ProductView(1, whole.factors)
    for base, c in held_in(view, product, k):
        yield added((sum_of(base), c)), ProductView(1, {base: 1})


def _is_share(b: Term, within: dict[Any, Any]) -> bool:
    """σ(x) → True;    1 − x → True beside another such factor: whether a factor says what it leaves of one.

    The power of one sum is a row's, and of a quotient the divisor is what both are brought over.
    """
    if complement_of(b) is not None:
        return True
    return len(within) > 1 and min(within.values()) > 0 and _left(b) is not None


def _is_left_to_rows(view: SumView, shares: dict[Term, Any]) -> bool:
    """1 − cos(x) → True: whether a sum is of 1 and of a function alone, of which it is rows that say what it leaves."""
    ((base, e), *others) = shares.items()
    return len(view.terms) == 1 and not others and e == 1 and not base.op.alone


def _left_of_product(
    product: ProductView,
    dtype: Any,
    outside: ProductView = ONE,
    beside: tuple[SumView, Number] = (NOTHING, 1),
) -> SumView | None:
    """p·q → (1 − p) + p·(1 − q), what a product leaves of one, times what stands outside of it; or None.

    As a telescope, whose slopes are those of p·q, unless the parts are those of shares, and of one factor more, or
    some are gone beside other summands, as in (1 + x)·(1 + y) − 1 − x = (1 + x)·y.
    """
    found = _complements(product) if product.coefficient == 1 else None
    if not found:
        return None
    shares = [range_of(b).within(0, 1) for b, _ in found]
    bare = all(b in product.factors for b, _ in found)
    plain = len(found) == 1 or (bare and any(shares) and shares.count(False) < 2)
    before, parts = outside if plain else ONE, list[SumView]()
    for factor, left in found:
        parts.append(summand(multiplied((before, 1), (product_of(left), 1)), None, dtype))
        before = multiplied((before, 1), (product_of(factor), 1))
    total = added(*[(part, 1) for part in parts])
    if plain or (outside is ONE and added((beside[0], 1), (total, beside[1])).cancelled):
        return total
    one = constant(1.0, dtype)
    rest = Telescope(len(parts)).make_node(
        one, build_product(product, dtype), one, *[build_sum(x, dtype) for x in parts]
    )
    return summand(multiplied((outside, 1), (product_of(rest), 1)), None, dtype)


def from_one(t: Term) -> Any:
    """arccos(cos x·cos y) → 2·arctan2(√d, √(2 − d)), d = 1 − cos x·cos y: a function that multiplies the error of what
    is near one, of what that leaves of one; or None.

    So of 1 − d as it stands, and of that alone if small values of x have their digits in x and not in d.
    """
    op, x = t.op, t.rands[-1]
    view, left = sum_of(x), subtract(1.0, x)
    if view.constant != 1 or not view.terms:
        anywhere = op.laws.monotone < 1 or op.laws.parity or op.outside(*[0.5 for _ in t.rands])
        single = anywhere and not view.constant and len(view.terms) == 1
        left = _left_of_single(x) if single else None
    return None if left is None else fit(as_term(op.from_one(*map(Tracer, (*t.rands[:-1], left, x)))), t)


def _left_of_single(x: Term) -> Any:
    """x/(x + y) → y/(x + y), √p → (1 − p)/(1 + √p): what a summand leaves of one, if parts meet there; or None."""
    left = subtract(1.0, x)
    if x.op is sqrt and (square := _left_of_single(*x.rands)) is not None:
        return divide(square, add(1.0, x))
    return meant_sum(left) or divided_sum(left) or complemented_sum(left)


def labelled_sum(t: Term) -> Any:
    """σ(x) − y = (1 − y)·σ(x) − y·σ(−x): a share less what may be exactly one, as labels are, by what is left of one;
    or None.

    What a share lacks of one does not cancel then.
    """
    view, dtype = sum_of(t), dtype_of(t)
    if view.constant or len(view.terms) != 2:
        return None
    for (p, k), (y, n) in permutations(view.terms.items()):
        if k != -n or not is_term(p) or not is_term(y) or not maybe_one(y):
            continue
        if not range_of(p).within(0, 1) or (left := complement_of(p)) is None:
            continue
        rest = build_sum(SumView(1, {y: -1}), dtype)
        parts = [
            (summand(multiplied((product_of(a), 1), (product_of(b), 1)), None, dtype), c)
            for a, b, c in ((rest, p, k), (y, left, -k))
        ]
        return fit(rebuilt(added(*parts), t), t)
    return None


def square_at_one(t: Term) -> Any:
    """x² + y² − 2·x·y·cos z = (x − y)² + 2·x·y·versin z:
    a sum that is the square of a difference where a factor is one, by what that factor leaves of one; or None.
    """
    view, dtype = sum_of(t), dtype_of(t)
    if not 1 < len(view.terms) <= SHARED:
        return None
    for part, k in view.terms.items():
        product = product_of(part)
        beside = sum(
            product_of(q).coefficient * n * product.coefficient * k < 0 for q, n in view.terms.items()
        )
        if beside + (view.constant * product.coefficient * k < 0) < 2:
            continue
        for base, e in product.factors.items():
            if not is_term(base) or len(product.factors) < 2 or (e != 1 and base.op is not exp):
                continue
            factor = base if e == 1 else exp.make_node(multiply(constant(float(e), dtype), *base.rands))
            if (left := complement_of(factor)) is None:
                continue
            outside = multiplied((product, 1), (ProductView(1, {base: e}), -1))
            at_one = added((view, 1), (SumView(0, {part: 1}), -k), (summand(outside, None, dtype), k))
            square = perfect_square(build_sum(at_one, dtype))
            if square is not None:
                rest = summand(multiplied((outside, 1), (product_of(left), 1)), None, dtype)
                return fit(rebuilt(added((sum_of(square), 1), (rest, -k)), t), t)
    return None


def _either_way(product: ProductView) -> Iterator[ProductView]:
    """y·erf(x) → y·erf(x), −y·erf(−x): a product, and the same of −f(x) for each factor f(x) of which that has a
    complement;    y·x[i]/Σ x → y·(x[i]/Σ x), of each entry that has a share of a sum.
    """
    yield product
    for base, e in product.factors.items():
        if e == -1 and is_term(base) and type(base.op) is Sum:
            for part, n in product.factors.items():
                if n == 1 and is_term(part) and complement_of(share := divide(part, base)) is not None:
                    factors = {b: n for b, n in product.factors.items() if b not in (part, base)}
                    yield ProductView(product.coefficient, {**factors, share: 1})
        if not is_term(base) or not base.ground or not base.type.differentiable or e < 1 or e != int(e):
            continue
        if complement_of(below := negative(base)) is not None:
            factors = {b: n for b, n in product.factors.items() if b is not base}
            yield ProductView(product.coefficient * (-1) ** int(e), {**factors, below: e})


def _complements(product: ProductView) -> list[tuple[Term, Term]] | None:
    """erf(x) → [(erf(x), erfc(x))], where erfc = 1 − erf:
    the factors of a product with what each leaves of one; or None.

    Shares of a whole first, which are no larger than it.
    """
    found: list[tuple[Term, Term]] = []
    for base, e in product.factors.items():
        if not is_term(base) or not base.ground or (powers := _powers(base, e)) is None:
            return None
        found += powers
    return sorted(found, key=lambda pair: not range_of(pair[0]).within(-1, 1))


def _powers(base: Term, e: Any) -> list[tuple[Term, Term]] | None:
    """x² → [(x, 1 − x), (x, 1 − x)];    1/x → [(1/x, −(1 − x)/x)];    √x → [(√x, −power1pm1(−(1 − x), ½))]

    The factors that a power is taken for, with what each leaves of one; or None.
    """
    if e > SHARED or (left := _left(base)) is None:
        return None
    if e > 0 and e == int(e):
        return [(base, left)] * int(e)
    power_ = build_product(ProductView(1, {base: e}), base.type.dtype)
    if e == -1:
        return [(power_, negative(multiply(left, power_)))]
    return [(power_, negative(power1pm1(negative(left), float(e))))] if range_of(base).positive else None


def apart_sum(t: Term) -> Any:
    """cosh(x) − cos(y) = (cosh(x) − 1) + (1 − cos(y)): a difference of what is at least one and at most one, in which
    nothing cancels; or None.
    """
    view, dtype = sum_of(t), dtype_of(t)
    if not 1 < len(view.terms) <= SHARED:
        return None
    for (p, k), (q, n) in permutations(view.terms.items(), 2):
        if k != -n or range_of(p).low < 1 or range_of(q).high > 1:
            continue
        above, below = [_left_of_product(product_of(x), dtype) for x in (p, q)]
        if above is not None and below is not None:
            taken = SumView(0, {p: k, q: n})
            return fit(rebuilt(added((view, 1), (taken, -1), (below, k), (above, n)), t), t)
    return None
