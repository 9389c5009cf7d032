"""Entries that are constant whatever the arguments are: differences of an entry from itself, and what is made of them.

    d = x − max(x):       dₖ = 0 at the one k where x is largest   ⟶   nothing flows back from there, not 0·∞
    d = x[:, None] − x:   dₖₖ = 0
    d = x − clip(x, a, b):  dₖ = 0 where a < xₖ < b
    f(x) − f(y):          0 where an op is told that x − y is
    d = x − mean(x):      d = 0 where an axis repeats the entries of x
    y·log(x/x):           0, since the quotient is 1
    (x − min(x))/y, cbrt(x − max(x)), arccos(x/x[0]), Σ(x − x):  constant where their operands are
    exp(-inf/t):          constant in t, since -inf is

The chain rule takes what flows to x from what flows to max(x), and both are infinite where a root or a pole meets 0.
Entries that tie for the largest do move apart, so they are not constant.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from relgrad.bounds import range_of
from relgrad.dependence import depends
from relgrad.leaf import Anchor
from relgrad.op import Constant, as_term, constant, is_constant
from relgrad.ops.arithmetic import add, divide, float_power, multiply, negative, power, reciprocal, subtract
from relgrad.ops.comparison import equal
from relgrad.ops.extremes import Max, Min
from relgrad.ops.joining import Concatenate
from relgrad.ops.reduction import Sum
from relgrad.ops.selection import maximum, minimum, where
from relgrad.ops.structure import RESHAPES, BroadcastTo, Squeeze, broadcast_like
from relgrad.support import LARGEST
from relgrad.term import Term, kept, reachable
from relgrad.trace.tracer import Tracer
from relgrad.types import ArrayType

CHOICES = 3
"""Choices within choices are looked into so deep."""


class Entries(NamedTuple):
    """x − max(x) → constant where x = max(x), and 0 there:
    masks of the entries that are constant, and of those that are 0.

    None where there are none. `value` is the number that all of them are, where it is known: 1 for x/x.
    """

    constant: Any
    zero: Any
    value: Any = None


def where_moving(v: Term, g: Term) -> Term:
    """Return what flows to or from a value: 0 where all of it is constant, and at single entries if it may be infinite.

    √((x − x)²) + y  ⟶  nothing flows to x, though √ has no slope at 0.
    """
    found = kept(v, "constancy", _constancy)
    if found is None:
        return g
    kind: Any = g.type
    if _is_whole(found):
        return broadcast_like(constant(0.0, kind.dtype), g)
    if not _may_be_infinite(g, v):
        return g
    return as_term(np.where(found.constant, np.zeros((), kind.dtype), Tracer(g)))  # type: ignore[call-overload]


def loses_extreme(t: Term, new: Term) -> bool:
    """a + b − max(a + b) ⟶ a − (max(a + b) − b): whether entries that are constant, since one is compared with itself
    as the largest, are so no more, but for rounding.

    As written x/max(x) is 1 where x is largest: its logarithm is not above 0, and the root of −log a number.
    """
    found = kept(t, "constancy", _constancy)
    if found is None or not isinstance(found.constant, Tracer) or not _tells_extreme(as_term(found.constant)):
        return False
    return kept(new, "constancy", _constancy) is None


def _tells_extreme(mask: Term) -> bool:
    """(x == max(x)) & c → True: whether a mask asks which entry is an extreme."""
    parts = reachable(mask, below=lambda t: [x for x in t.rands if x.type.dtype.kind == "b"])
    return any(t.op is equal and any(type(x.op) in (Max, Min) for x in t.rands) for t in parts)


def without_infinite(v: Term, g: Term, flow: Term) -> Term:
    """Return what flows to an operand; 0 where none flows to the value, which is infinite since a constant in it is.

    exp(-inf/t) = 0 for t near any t > 0, though the chain rule has 0·(inf/t²) for its slope.
    """
    infinite = kept(v, "infinite", _infinite)
    if infinite is None:
        return flow
    kind: Any = flow.type
    unmoved = np.equal(Tracer(g), 0) & infinite  # type: ignore[call-overload]
    return as_term(np.where(unmoved, np.zeros((), kind.dtype), Tracer(flow)))  # type: ignore[call-overload]


def _infinite(v: Term) -> Any:
    """[0, −∞] + x → [False, True]: a mask of the entries that are infinite since a constant is, or None."""
    op = v.op
    if type(op) is Constant:
        found = np.isinf(op.value) if op.value.dtype.kind == "f" and op.value.size <= LARGEST else None
        return found if found is not None and found.any() else None
    known = [x.cache["infinite"] for x in v.rands]
    if all(k is None for k in known) or not isinstance(v.type, ArrayType) or _size(v) > LARGEST:
        return None
    if op in (add, subtract, multiply, negative):
        return functools.reduce(_union, known)
    if op is divide or _takes(v):
        return known[0] if op is divide or known[0] is None else _moved_mask(v, known[:1])
    return _moved_mask(v, known) if isinstance(op, Concatenate) else None


def _moved_mask(v: Term, known: list[Any]) -> Any:
    """v[::−1], [True, False] → [False, True]: the masks of operands moved as an op moves their entries."""
    kinds: list[Any] = [x.type for x in v.rands]
    masks = [np.broadcast_to(False if k is None else k, x.shape) for k, x in zip(known, kinds, strict=False)]
    found = _applied(v, *[m.astype(float) for m in masks])
    return None if found is None else found != 0


def _applied(v: Term, *arrays: Any) -> Any:
    """v[::−1], [1, 2] → [2, 1]: an op at other arrays in the places of its first operands; None where it raises."""
    try:
        return v.op.compute(*arrays, *[x.op.value for x in v.rands[len(arrays) :]])
    except IndexError:  # the program shall raise when it runs, not now
        return None


def _takes(v: Term) -> bool:
    """Whether a term takes entries of its first operand, at places that are known."""
    moves = isinstance(v.op, RESHAPES) or v.op.laws.selects
    return moves and all(map(is_constant, v.rands[1:]))


def _may_be_infinite(g: Term, v: Term) -> bool:
    """Whether a term divides by what depends on a value's operands and may be 0."""
    divisors = kept(g, "vanishing divisors", _vanishing_divisors)
    return depends(divisors, v.rands)


def _vanishing_divisors(t: Term) -> frozenset[Term]:
    """x/y + 1/exp(x) → {y}: all that a term divides by and that may be 0, there and below."""
    found = functools.reduce(_joined, [x.cache["vanishing divisors"] for x in t.rands], frozenset[Term]())
    divisor = _divisor(t)
    if divisor is None or divisor in found or (kind := range_of(divisor)).positive or kind.negative:
        return found
    return found | {divisor}


def _joined(a: frozenset[Term], b: frozenset[Term]) -> frozenset[Term]:
    """Return a union, which is one of both where it can be, since thousands of terms keep one."""
    return a if b <= a else b if a <= b else a | b


def _divisor(t: Term) -> Term | None:
    """x/y → y, 1/x → x, x^−2 → x, x·y → None: what the root of a term divides by."""
    if t.op is reciprocal:
        return t.rands[0]
    if t.op is divide:
        return t.rands[1]
    takes_root = t.op in (power, float_power) and not range_of(t.rands[1]).nonnegative
    return t.rands[0] if takes_root else None


def _constancy(v: Term) -> Entries | None:
    """x − max(x) → 0 where x is the one largest; x/x → 1; x → None:
    a term's constant entries, from those of its operands.
    """
    op = v.op
    if not isinstance(v.type, ArrayType) or type(op) is Anchor:
        return None  # what is differentiated for moves, whatever its value is
    if len(v.rands) == 1 and v.rands[0].cache["constancy"] is None and not is_constant(v.rands[0]):
        return None
    moving = [i for i, x in enumerate(v.rands) if type(x.op) is not Constant]
    if v.rands and all(_is_whole(v.rands[i].cache["constancy"]) for i in moving):
        return _of_constants(v)
    if not op.elementwise:
        return None
    if (
        len(moving) > 1
        and op.distance is None
        and (meaning := op.definition(*map(Tracer, v.rands))) is not None
    ):
        return kept(as_term(meaning), "constancy", _constancy)
    known = [x.cache["constancy"] for x in v.rands]
    same = coincidence(*v.rands) if op in (subtract, divide) else None
    if same is np.True_:
        return Entries(np.True_, np.True_, 0.0) if op is subtract else Entries(np.True_, None, 1.0)
    zero = same if op is subtract else _zero(v)
    if op.distance is not None:
        zero = _union(zero, _zeros(v.rands[op.distance[2]]))
    inherited = known[moving[0]].constant if len(moving) == 1 and known[moving[0]] else None
    constant = _union(same, _union(zero, inherited))
    return None if constant is None else Entries(constant, zero)


def _zeros(x: Term) -> Any:
    """[0, 2] → [True, False], x − x → all: where a term is 0, whatever the arguments are; None where nowhere."""
    if type(x.op) is not Constant:
        found = x.cache["constancy"]
        return found and found.zero
    mask = np.asarray(x.op.value == 0) if x.op.value.size <= LARGEST else np.False_
    return None if not mask.any() else mask if mask.ndim else np.bool_(mask)


def is_fixed(t: Term) -> bool:
    """[1, 2][0] + 1, x − x → True; x → False: whether a term is constant in all of its entries."""
    return is_constant(t) or _is_whole(kept(t, "constancy", _constancy))


def _is_whole(found: Entries | None) -> bool:
    return found is not None and type(found.constant) in (np.ndarray, np.bool_) and bool(found.constant.all())


def _of_constants(v: Term) -> Entries:
    """exp(x − x) → 1 everywhere: a function of operands that are constant everywhere, with its value where theirs are
    known.
    """
    values = [_value(x) for x in v.rands]
    if v.op.elementwise and None not in values:
        with np.errstate(all="ignore"):
            value = v.op.compute(*values)
        return Entries(np.True_, np.True_ if value == 0 else None, value)
    linear = (0,) if type(v.op) is Sum else v.op.laws.linear
    zeros = [_zeros(v.rands[i]) for i in linear]
    return Entries(np.True_, np.True_ if any(np.all(z) is np.True_ for z in zeros if z is not None) else None)


def _value(x: Term) -> Any:
    """Return the number that all entries of a term are known to be, or None."""
    if type(x.op) is Constant:
        return x.op.value[()] if x.op.value.ndim == 0 else None
    return x.cache["constancy"].value


def _zero(v: Term) -> Any:
    """Return where an operand is 0 in which an op is linear, all others being fixed."""
    return functools.reduce(_union, [_zeros(v.rands[i]) for i in v.op.laws.linear], None)


def _union(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else a | b


def coincidence(x: Term, y: Term, depth: int = CHOICES) -> Any:
    """(x, max(x)) → where x is the one largest, (x, x) → True, (x, y) → None: where two terms are the same entries.

    A mask that broadcasts; None if that is nowhere. Where both are one function of single entries, its operands are
    compared: log(x) and log(max(x)), x − a and y − a, x·x and x[0]·x[0].
    """
    while True:
        x, y = _whole(x), _whole(y)
        if x is y:
            return np.True_
        for a, b in ((x, y), (y, x)):
            if (found := _of_extreme(a, b)) is not None or (found := _of_choice(a, b)) is not None:
                return found
            if _is_mean(a, b):
                return np.True_
        if x.op is not y.op or not x.op.elementwise or len(x.rands) != len(y.rands):
            return _of_positions(x, y)
        differ = list(
            {(id(a), id(b)): (a, b) for a, b in zip(x.rands, y.rands, strict=True) if a is not b}.values()
        )
        if len(differ) != 1:
            return _everywhere(differ, depth - 1) if depth else None
        x, y = differ[0]


def _everywhere(pairs: list[tuple[Term, Term]], depth: int) -> Any:
    """[(x, x), (x, max(x))] → where x is largest: where all of several pairs coincide, or None."""
    found: Any = np.True_
    for x, y in pairs:
        if (mask := coincidence(x, y, depth)) is None:
            return None
        found = mask if found is np.True_ else found & mask
    return found


def _whole(x: Term) -> Term:
    """x[0] : (3,), where x : (1, 3), as a squeeze → x:
    a term with the leading axes of extent 1 that broadcasting supplies.
    """
    if type(x.op) is not Squeeze:
        return x
    before: Any = x.rands[0].type
    after: Any = x.type
    return x.rands[0] if before.shape == (1,) * (before.ndim - after.ndim) + after.shape else x


def _of_extreme(x: Term, m: Term) -> Any:
    """(x, max(x)) → x = max(x) where that holds once:
    where x is the only extreme of the entries of which m is; or None.
    """
    if type(m.op) not in (Max, Min) or m.rands[0] is not x:
        return None
    mask = np.equal(Tracer(x), Tracer(m))  # type: ignore[call-overload]
    return mask & (np.sum(mask, axis=m.op.axes, keepdims=True) == 1)


def _is_mean(x: Term, y: Term) -> bool:
    """(x, Σ x/n) → True where x is repeated along the sum's axes: whether y is the mean of equal entries of x."""
    if y.op is not divide or type(y.rands[0].op) is not Sum or y.rands[0].rands[0] is not x:
        return False
    axes, kind = y.rands[0].op.axes, x.type
    count = math.prod([kind.extent(a) or 0 for a in axes])
    is_count = type(y.rands[1].op) is Constant and bool(np.all(y.rands[1].op.value == count))
    return is_count and kept(x, "repeated axes", _repeated_axes).issuperset(axes)


def _repeated_axes(t: Term) -> frozenset[int]:
    """broadcast(x, (3, 4)) with x : (3, 1) → {−1}: the axes along which all entries of a term are the same.

    Those that a stack of equal arrays has, too, and x[[0, 0]].
    """
    kind, op = t.type, t.op
    if not isinstance(kind, ArrayType):
        return frozenset()
    axes = [a for a in range(-kind.ndim, 0) if kind.extent(a) != 1]
    if isinstance(op, Concatenate) and all(x is t.rands[0] for x in t.rands):
        repeated = t.rands[0].cache["repeated axes"]
        return frozenset([a for a in axes if a in repeated or t.rands[0].type.extent(a) == 1])
    if _takes(t) and type(op) is not BroadcastTo:
        return frozenset(axes) & _repeated_places(t)
    if not (op.elementwise or type(op) in (BroadcastTo, Sum, Max, Min)) or not t.rands:
        return frozenset()
    operands = t.rands[:1] if type(op) is BroadcastTo else t.rands
    return frozenset([a for a in axes if all(_is_repeated(x, a) for x in operands)])


def _repeated_places(t: Term) -> frozenset[int]:
    """x[[0, 0]] → {−1}, x[[0, 1]] → {}: the axes along which a term takes one entry of its operand."""
    x = t.rands[0]
    if any(_size(u) > LARGEST for u in (t, x)):
        return frozenset()
    kind: Any = x.type
    same = [slice(1 if a in x.cache["repeated axes"] else None) for a in range(-kind.ndim, 0)]
    places: Any = np.arange(_size(x)).reshape(kind.shape)[tuple(same)]
    places = _applied(t, np.broadcast_to(places, kind.shape))
    if places is None:
        return frozenset()
    return frozenset([a for a in range(-places.ndim, 0) if not np.diff(places, axis=a).any()])


def _is_repeated(x: Term, axis: int) -> bool:
    kind: Any = x.type
    return -axis > kind.ndim or kind.extent(axis) == 1 or axis in x.cache["repeated axes"]


def _of_choice(x: Term, y: Term, depth: int = CHOICES) -> Any:
    """Return where y picks x, and not what ties with it: x > c of max(x, c); None where it cannot."""
    if y.op in (maximum, minimum) and depth:
        beyond = np.greater if y.op is maximum else np.less
        ways = [(a, beyond(Tracer(a), Tracer(b))) for a, b in (y.rands, y.rands[::-1])]  # type: ignore[call-overload]
    elif y.op is where and depth:
        c: Any = Tracer(y.rands[0])
        ways = [(y.rands[1], c), (y.rands[2], ~c)]
    else:
        return None
    found: Any = None
    for a, taken in ways:
        inner = np.True_ if a is x else _of_choice(x, a, depth - 1)
        if inner is not None:
            found = _union(found, taken if inner is np.True_ else taken & inner)
    return found


def _of_positions(x: Term, y: Term) -> Any:
    """(x[1:], x[:−1]) → None, (x[0], x) → [True, False, …]: where two selections of one array take the same entries."""
    first, second = _chain(x), _chain(y)
    root = next((t for t in first if t in second), None)
    if root is None or any(_size(t) > LARGEST for t in (*first, *second)):
        return None
    places = [_moved(root, chain) for chain in (first, second)]
    if any(p is None for p in places):
        return None
    mask = places[0] == places[1]
    return mask if mask.size <= LARGEST and mask.any() else None


def _size(t: Term) -> int:
    size = t.type.size if isinstance(t.type, ArrayType) else None
    return LARGEST + 1 if size is None else size


def _chain(t: Term) -> list[Term]:
    """x[1:][0] → [x[1:][0], x[1:], x]: a term, and all that it takes entries of, the last first."""
    found = [t]
    while _takes(t):
        t = t.rands[0]
        found.append(t)
    return found


def _moved(root: Term, chain: list[Term]) -> Any:
    """(x, [x[1:][0], x[1:], x]) → 1: the positions in the root of the entries that the first term of a chain takes."""
    kind: Any = root.type
    places: Any = np.arange(_size(root)).reshape(kind.shape)
    for t in reversed(chain[: chain.index(root)]):
        places = None if places is None else _applied(t, places)
    return places
