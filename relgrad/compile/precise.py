"""Programs that are computed once more in doubled arithmetic, as written, where digits cancel.

All derivatives are written out. Arguments are exact, and so are the numbers that the user wrote; a float that a rule of
differentiation brings, as 2/√π, stands for the number that it is nearest to, and so does π, and what is next to a
fraction, a root or a logarithm, as 1/3. Another constant with more digits than people write was computed before, as
f(x₀) in f(x) − f(x₀), or 1 − t of a number t: how far it is off is not known, and what is made of it stands where that
matters less than its digits do.

    d/dx erf(0.1·x)   ⟶   given(0.1) * (rounded(1.1283791670955126) * exp(-(given(0.1)*x)**2))

What a rule takes by convention where there is no derivative, the sign of 0, is nothing that would be known better.

Nothing is folded: what depends on constants only is computed in doubled arithmetic as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from relgrad import balls as balls
from relgrad import kernels
from relgrad.compile.function import Beside, Compiled, compile_program
from relgrad.compile.guards import is_entrywise, is_extreme, is_rowwise
from relgrad.compile.source import Source
from relgrad.kernels.doubled.named import known_as
from relgrad.kernels.doubled.precise import Again, Wider, mending
from relgrad.kernels.numbers import WRITTEN, is_decimal
from relgrad.kernels.watched import Blurred
from relgrad.leaf import Input
from relgrad.op import Constant, Op, as_term, constant, is_constant, is_float
from relgrad.ops.arithmetic import add, multiply, negative, sign, subtract
from relgrad.ops.casting import Cast
from relgrad.ops.comparison import equal
from relgrad.ops.gather import TakeAlong
from relgrad.ops.order import ArgSort, RunningArg
from relgrad.ops.reduction import Sum
from relgrad.ops.selection import where
from relgrad.syntax import slots
from relgrad.term import Term, rebuild, remade, substitute, subterms, term
from relgrad.trace.trace import Traced
from relgrad.trace.tracer import Tracer
from relgrad.types import ArrayType, TupleType, Type, array_type

Expand = Callable[[Sequence[Term]], Sequence[Term]]
WHOLE, UNIT = 2.0**24, 64.0
"""Whole numbers up to this, and multiples of 1/64, are what they seem to be: no other number is rounded to them."""
WIDE = np.dtype(np.float64)
SMALL = 1000
"""The largest denominator of fractions, and operand of roots and logarithms, that floats of 15 digits are known by."""


class Literal(Op):
    """given(0.1), rounded(1.128…): a constant in doubled arithmetic, exact if `given`, or `rounded` to a float."""

    __props__ = ("kernel", "dtype")
    elementwise = numpy_scalar = True
    function = np.positive

    def __init__(self, kernel: str, dtype: Any):
        self.kernel, self.dtype, self.imports = kernel, dtype, (kernel,)

    @classmethod
    def of(cls, kernel: str, t: Term) -> Term:
        """rounded, 0.33333334 → rounded(0.3333333432674408): a float with its word, and all digits of a float64."""
        x = constant(t.op.value, WIDE) if is_constant(t) else Cast(WIDE).make_node(t)
        return term(cls(kernel, t.type.dtype), x)

    @property
    def name(self) -> str:
        return self.kernel

    def output_type(self, *types: Any) -> Type:
        return array_type(self.dtype, types[0].shape)

    def compute(self, *arrays: Any) -> Any:
        return np.asarray(getattr(kernels, self.kernel)(*arrays), self.dtype)

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        return f"{self.kernel}({names[0]})"

    def ball(self, *balls: Any) -> Any:
        return balls[0]


class Tied(Op):
    """tied(x, m): which entries of x are the largest (smallest) of theirs, m."""

    elementwise = numpy_scalar = True
    imports = ("tied",)

    def output_type(self, *types: Any) -> Type:
        return array_type(bool, types[0].shape)

    def compute(self, *arrays: Any) -> Any:
        return kernels.tied(*arrays)

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        return f"tied({names[0]}, {names[1]})"

    def ball(self, *balls: Any) -> Any:
        return equal.ball(*balls)


class AsWritten(NamedTuple):
    """A program as written, and what it decides by computed floats: what rules of differentiation decide is none."""

    roots: list[Term]
    decisions: list[Term]


def as_written(
    roots: Sequence[Term],
    expand: Expand,
    numbers: frozenset[float] | None = None,
    asked: Sequence[Term] = (),
) -> AsWritten:
    """d/dx erf(x/10) → rounded(2/√π)·…: all derivatives written out, and constants that say whether they are exact.

    Which of several computed numbers is the largest, and has the slope of that, is no matter of floats. Others are
    `asked` for besides: x·y > 1, of a function that goes on in one way or another.
    """

    every = [*roots, *asked]
    said = {t: _word(t.op.value, numbers) for t in subterms(*every) if _is_long(t)}
    user = substitute(every, {t: Literal.of(word, t) for t, word in said.items()})
    ruled = any(t.op.implicit for t in subterms(*user))
    if ruled:
        user = substitute(user, {t: _defined(t) for t in subterms(*user) if t.op is sign})
    own, decided = set(subterms(*user)), _decisions(user)

    lifted = set[Term]()

    def told(old: Term, rands: tuple[Any, ...]) -> Any:
        """A constant that a rule has brought is rounded;    sign(x) of a rule → x/|x|, which is open at 0."""
        if type(old.op) is not Literal:
            alone = lifted.isdisjoint(rands)
            rands = tuple([_told(x, alone and not _is_exact(old)) if is_float(x) else x for x in rands])
        if ruled and old.op is sign:
            x = Tracer(rands[0])
            return as_term(x / np.abs(x))
        new = remade(old, rands) if old in own else _extreme(remade(old, rands))
        if _is_lifted(new, lifted):
            lifted.add(new)
        return new

    found = rebuild(expand([*user, *decided]), told)
    new, first = found[: len(roots)], found[len(roots) : len(user)]
    others = set(found[len(user) :]).difference(first)
    return AsWritten(new, [*first, *(t for t in subterms(*new) if t in others)])


def _extreme(t: Term) -> Term:
    """x == max(x) → tied(x, max(x)): as a ball, the largest of several numbers is not known to equal itself."""
    return term(Tied(), *t.rands) if t.op is equal and is_extreme(*t.rands) else t


def _defined(t: Term) -> Term:
    """sign(x) → where(x == 0, 0, sign(x)): what the user takes the sign of 0 for, beside rules that leave it open."""
    x = Tracer(t.rands[0])
    return as_term(np.where(x == 0, Tracer(constant(0.0, t.type.dtype)), Tracer(t)))


def _told(x: Term, alone: bool) -> Term:
    """2/√π → rounded(2/√π);    0.5, Σ mask → given(0.5), given(Σ mask), among such alone."""
    return Literal.of("rounded", x) if _is_long(x) else Literal.of("given", x) if alone else x


def _is_lifted(t: Term, lifted: Set[Term]) -> bool:
    """Whether a twin makes doubled numbers of a term: arguments, given(0.1), and what holds such."""
    return _has_floats(t) and (type(t.op) in (Input, Literal) or not lifted.isdisjoint(t.rands))


def _has_floats(t: Term) -> bool:
    return any(isinstance(x, ArrayType) and x.dtype.kind == "f" for x in _arrays(t))


def _arrays(t: Term) -> tuple[Any, ...]:
    """The types of a term's arrays, of which some ops have several."""
    return t.type.outputs if isinstance(t.type, TupleType) else (t.type,)


def _is_exact(t: Term) -> bool:
    """Whether floats that come of whole numbers and of masks are such again: 2·[x > 0], Σ [x > 0]: yes; n/3: no."""
    return (
        type(t.op) in (Cast, Sum, Constant)
        or t.op in (where, add, subtract, multiply, negative)
        or t.op.laws.selects
    )


def _word(x: Any, numbers: frozenset[float] | None = None) -> str:
    """0.1 → given;    π, 1/3 → rounded;    0.12345678901234567 → computed: how far off is known of rounded ones only.

    A number that is neither an entry of data, nor among the `numbers` that the function holds, was computed.
    """
    values = list(x.ravel()) if x.size <= WRITTEN else [math.nan]
    if all(known_as(v) is not None for v in values):
        return "rounded"
    if x.size == 1 and numbers is not None and not _is_one_of(numbers, abs(values[0])):
        return "computed"
    if all(map(is_decimal, values)):
        return "given"
    return (
        "rounded"
        if all(is_decimal(v) or _is_rounded(v) or known_as(v) is not None for v in values)
        else "computed"
    )


def _is_one_of(numbers: frozenset[float], v: Any) -> bool:
    """Whether a number, of float32 perhaps, is what one of those is rounded to."""
    return float(v) in numbers or (type(v) is np.float32 and v in map(np.float32, numbers))


def _is_rounded(v: Any) -> bool:
    """Whether a number is the float next to a fraction, root or logarithm of small whole numbers: 1/3, √6, log 3."""
    kind, size = type(v), abs(float(v))
    most = round(SMALL ** (np.finfo(kind).precision / 15))
    if not 1e-6 < size < 1e3:
        return False
    square, power = round(v * v), round(math.exp(min(size, math.log(most))))
    near = kind(Fraction(float(v)).limit_denominator(most)) == v
    return near or (square <= most and kind(math.sqrt(square)) == size) or kind(math.log(power)) == size


def _is_long(t: Term) -> bool:
    """Whether a float may be the result of rounding: 0.1, 1/3: yes; 3, 0.25, 2²⁴: no."""
    if type(t.op) is not Constant or not is_float(t):
        return False
    x = t.op.value
    with np.errstate(all="ignore"):
        return bool(np.any(np.isfinite(x) & ((np.rint(x * UNIT) != x * UNIT) | (np.abs(x) > WHOLE))))


def mended(
    compiled: Compiled, traced: Traced, near: Expand, expand: Expand, plain: Callable[[], Compiled]
) -> Compiled:
    """f → f that is computed again as written, in doubled arithmetic, where a guard trips.

    `near` makes of what is written what it is next to points at which it chooses otherwise.

    As written means nothing where doubled arithmetic would not see all rounding. That is asked when a guard trips
    first; the `plain` program, without guards, is what counts then.
    """

    @cache
    def written() -> Written | None:
        """f → f as written, and whether for single entries; None where that would not be known better."""
        questions = [d.term for d in traced.decisions if not _is_of_all(d.term)]
        computed = _computed(questions)
        asked = [t for t in questions if t in computed]
        roots, decisions = as_written(near(traced.outputs), expand, traced.numbers, asked)
        every = [*roots, *decisions[: len(asked)]]
        if not _fits(every):
            return None
        name, reserved = f"{compiled.program.name}_as_written", compiled.program.reserved
        program = compile_program(traced, roots, name, folds=False, decisions=decisions, reserved=reserved)
        entrywise = not traced.outside and is_entrywise(every)
        return Written(program, entrywise, not entrywise and is_rowwise(every, traced.inputs))

    # Which of numbers is the largest may change with their last digits, and the derivative is one of them for all that.
    is_choice = any(t.op.kernel == "ties" for t in compiled.program.guards)
    derivative = not is_choice and any(t.op.implicit for t in subterms(*traced.outputs))

    def joined(function: Callable[..., Any], outside: Mapping[Term, Any]) -> Callable[..., Any]:
        return mending(
            function,
            lambda: (w := written()) and Again(w.program.at(outside).function, w.entrywise, w.rowwise),
            Blurred(function, derivative),
        )

    def shown(main: Compiled, outside: Mapping[Term, Any]) -> Source:
        if (found := written()) is None:
            return alone().at(outside).whole()
        other = found.program.at(outside).program
        how = ", entrywise=True" if found.entrywise else ", rowwise=True" if found.rowwise else ""
        how += ", derivative=True" if derivative else ""
        return main.whole().decorated("precise", f"@precise(by={other.name}{how})", [other])

    alone = cache(plain)
    return Beside(compiled, traced.outside, joined, shown)


def in_float64(traced: Traced) -> Traced | None:
    """x : float32, x·0.1 → x : float64, x·0.10000000149011612: a trace of float64 alone, with the same numbers.

    None where there is a float of another precision, and where computed floats decide: as they do in float32.
    """
    nodes = list(subterms(*traced.outputs))
    kinds = {x.type.dtype for x in nodes if isinstance(x.type, ArrayType) and x.type.dtype.kind in "fc"}
    if kinds != {np.dtype(np.float32)} or traced.decisions or traced.assumed or _decisions(traced.outputs):
        return None

    def change(old: Term, rands: tuple[Any, ...]) -> Any:
        """Inputs, constants and casts of float32 → of float64; other terms made again."""
        op, kind = old.op, old.type
        if not isinstance(kind, ArrayType) or kind.dtype != np.float32:
            return remade(old, rands)
        if type(op) is Input:
            wide = array_type(np.float64, kind.shape)
            return term(Input(op.label, wide, op.symbol, op.range, op.facts, op.trace))
        if type(op) is Constant:
            return constant(op.value, np.float64)
        return term(Cast(WIDE), *rands) if type(op) is Cast else op.make_node(*rands)

    every = (*traced.inputs, *traced.outside)
    new = rebuild([*every, *traced.outputs], change)
    outputs = new[len(every) :]
    if any(x.type.dtype == np.float32 for x in subterms(*outputs) if isinstance(x.type, ArrayType)):
        return None
    outside = dict(zip(new[len(traced.inputs) : len(every)], traced.outside.values(), strict=True))
    return replace(traced, inputs=tuple(new[: len(traced.inputs)]), outputs=tuple(outputs), outside=outside)


def widened(compiled: Compiled, traced: Traced, wide: Traced, made: Callable[[], Compiled]) -> Compiled:
    """f, f in float64 → f that is computed again in float64 where a guard trips; that is made when one trips first."""
    made = cache(made)

    def program(outside: Mapping[Term, Any]) -> Compiled:
        """Return f in float64, with values of the inputs that are no arguments."""
        return made().at(dict(zip(wide.outside, [outside[x] for x in traced.outside], strict=True)))

    def joined(function: Callable[..., Any], outside: Mapping[Term, Any]) -> Callable[..., Any]:
        return mending(function, lambda: Wider(program(outside).function))

    def shown(main: Compiled, outside: Mapping[Term, Any]) -> Source:
        other = program(outside).whole()
        return main.whole().decorated("wider", f"@wider(by={other.name})", [other])

    return Beside(compiled, traced.outside, joined, shown)


class Written(NamedTuple):
    """A program as written, and whether it can be computed for some entries, or rows, alone."""

    program: Compiled
    entrywise: bool
    rowwise: bool


def _fits(roots: Sequence[Term]) -> bool:
    """Whether each float is known exactly, or computed of such that a twin has made doubled numbers: x·eˣ: yes.

    Not so for complex numbers, nor for an op that is called, and not written as NumPy: such an op is its author's, and
    may ask of arrays anything.
    """
    lifted = set[Term]()
    for t in subterms(*roots):
        if not all(
            isinstance(x, ArrayType) and x.dtype.kind != "c" and x.dtype.itemsize <= 8 for x in _arrays(t)
        ):
            return False
        if t.rands and t.op.source(t, slots(len(t.rands))) is None:
            return False
        if _is_lifted(t, lifted):
            lifted.add(t)
        elif _has_floats(t) and not _is_exact(t):
            return False  # of whole numbers, where they are rounded
    return True


def _decisions(roots: Sequence[Term]) -> list[Term]:
    """exp(x) > 1, floor(x·y) → themselves: terms that jump where computed floats change; x > 0 of an argument: none.

    An order that entries are sorted by themselves is none: what is sorted does not jump.
    """
    computed = _computed(roots)
    every = [t for t in subterms(*roots) if isinstance(t.type, ArrayType)]
    uses = {x for t in every for x in t.rands if not _is_order_of(x, t)}.union(roots)
    jumps = [t for t in every if (not is_float(t) or t.op.jumps) and t in uses]
    return [t for t in jumps if any(is_float(x) and x in computed for x in t.rands)]


def _is_order_of(x: Term, t: Term) -> bool:
    """argsort(u), u[argsort(u)] → True: whether entries are taken in their own order, along the axis that it is of."""
    return (
        isinstance(x.op, (ArgSort, RunningArg))
        and isinstance(t.op, TakeAlong)
        and x.op.axis == t.op.axis
        and x is t.rands[1]
        and x.rands == t.rands[:1]
    )


def _is_of_all(t: Term) -> bool:
    """all(x == x) → True: whether a question has the same answer for all numbers, as that whether an inverse exists."""
    while len(t.rands) == 1:
        t = t.rands[0]
    return t.op is equal and t.rands[0] is t.rands[1]


def _computed(roots: Sequence[Term]) -> set[Term]:
    """x·y + 1 → x·y, x·y + 1: the terms that need not have the value in floats that they have in numbers."""
    found = set[Term]()
    for t in subterms(*roots):
        if (is_float(t) and t.rands and type(t.op) is not Literal) or not found.isdisjoint(t.rands):
            found.add(t)
    return found
