"""Side conditions: goals over the ranges and shapes of terms, and over what is finite.

    positive(x), nonnegative(x), constant_along(x, axis), same_shape(x, y), finite(x), …

A condition holds of a variable as long as nothing is bound to it. Finite is what is finite wherever the leaves of the
program are, short of overflow: what may stand beside a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from quicktions import Fraction

from relgrad.bounds import possible, range_of, told
from relgrad.errors import ShapeError
from relgrad.leaf import Anchor
from relgrad.logic.group import Number
from relgrad.logic.unify import State, Test, reify_term, unknowns
from relgrad.op import Constant, as_term, is_constant, is_zero
from relgrad.ops.arithmetic import add, divide, multiply, subtract
from relgrad.ops.arithmetic import negative as negative_of
from relgrad.ops.casting import Cast
from relgrad.ops.comparison import equal
from relgrad.ops.selection import where
from relgrad.ops.structure import RESHAPES
from relgrad.term import Term, is_term, kept, nearest_where, subterms
from relgrad.trace.tracer import Tracer
from relgrad.types import ArrayType

Goal = Callable[[State], Iterator[State]]
_SHORT = 32
"""Numbers of fewer binary digits are as somebody wrote them: hardly one in a million is a rounded one."""


def _goal(name: str, tests: Sequence[Test]) -> Goal:
    """goal(s) → s where all tests hold of s, else nothing: a goal that binds nothing.

    The tests may be made one by one, each as soon as its variables are known (`tests_of`).
    """

    def condition_goal(s: State) -> Iterator[State]:
        if all(holds(s) for _, holds in tests):
            yield s

    condition_goal.__name__ = name
    condition_goal.tests = tests  # pyright: ignore[reportFunctionMemberAccess]
    return condition_goal


def tests_of(conditions: Sequence[Goal]) -> list[Test]:
    """Return the tests that conditions consist of, as far as they bind nothing."""
    return [test for condition in conditions for test in getattr(condition, "tests", ())]


def _condition(holds: Callable[..., bool]) -> Callable[..., Goal]:
    """range(x).positive → positive(x): a goal constructor of a predicate on ground terms; what is open is left open.

    positive(x) holds under {x: 2} and under {}, and fails under {x: −2}.
    """

    def construct(*terms: Any) -> Goal:
        """(x, …) → the goal that the predicate holds of these terms, which may be variables or tracers."""
        terms = tuple(getattr(t, "term", t) for t in terms)

        def test(s: State) -> bool:
            """{x: 2} → holds(2), {} → True: whether the predicate holds of the terms under a state, or is open
            there.
            """
            try:
                known = [reify_term(t, s) for t in terms]
            except ShapeError:  # what does not fit together is no array, and nothing holds of it
                return False
            is_open = any(
                (is_term(t) and not t.ground) or not (is_term(t) or isinstance(t, (tuple, int)))
                for t in known
            )
            return is_open or holds(*known)

        goal: Any = _goal(construct.__name__, [(frozenset().union(*map(unknowns, terms)), test)])
        goal.about = terms
        return goal

    construct.__name__ = holds.__name__.strip("_")
    construct.__doc__ = holds.__doc__
    return construct


@_condition
def positive(x: Term) -> bool:
    """Construct a goal stating that every entry of x is > 0."""
    return range_of(x).positive


@_condition
def nonnegative(x: Term) -> bool:
    """Construct a goal stating that every entry of x is >= 0."""
    return range_of(x).nonnegative


@_condition
def negative(x: Term) -> bool:
    """Construct a goal stating that every entry of x is < 0."""
    return range_of(x).negative


@_condition
def maybe_nonpositive(x: Term) -> bool:
    """Construct a goal stating that an entry of x may be <= 0, as far as is known."""
    return not range_of(x).positive


@_condition
def exact_at_minus_one(x: Term) -> bool:
    """Construct a goal stating that no number in a sum x is rounded where x is near -1: -y, not 1e-20 - y."""
    summands = nearest_where([x], lambda part: not part.op.as_sum)
    return range_of(x).low >= -0.5 or not any(map(is_constant, summands))


@_condition
def maybe_large(x: Term) -> bool:
    """Construct a goal stating that no entry of x is known to be at most 8 in size."""
    known = range_of(x)
    return known.low < -8 or known.high > 8


@_condition
def unknown(*terms: Term) -> bool:
    """Construct a goal stating that no term is a number or an array of numbers."""
    return all(is_term(t) and type(t.op) is not Constant for t in terms)


@_condition
def number(*terms: Term) -> bool:
    """Construct a goal stating that all terms are numbers, or arrays of numbers."""
    return all(is_term(t) and type(t.op) is Constant for t in terms)


def additive(*terms: Any) -> Goal:
    """x and y[0] − 2·x → holds; 3 first, x·y, eˣ, integers → fails:
    construct a goal stating that terms are sums of data.

    Data are inputs, multiples of them, and what is picked from them; integers are none, whose sums are exact. The first
    is no constant: so the terms may be near each other.
    """
    return _goal("additive", tests_of([unknown(terms[0]), *map(_additive, terms)]))


@_condition
def _additive(term: Term) -> bool:
    return is_additive(term) and (term.type.differentiable or type(term.op) is Constant)


def is_additive(t: Any) -> bool:
    """x − 2·y, x/2, v[0] + v[1:] → True; x·y, eˣ → False:
    whether a term is data, a multiple of data or a sum of them.
    """
    stack, seen = [t], set[Any]()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if not is_term(node):
            return False
        if node.op in (add, subtract, negative_of) or _is_multiple(node):
            stack.extend(node.rands)
        elif node.op.laws.selects or isinstance(node.op, RESHAPES):
            stack.append(node.rands[0])
        elif node.rands and type(node.op) is not Anchor:
            return False
    return True


@_condition
def unrounded(t: Term) -> bool:
    """x, −2·x[0], x + y/4, 0.75 → holds; x/3, 0.3 → fails:
    construct a goal stating that no multiple in a sum of data is rounded, as one may be that matching has rescaled.

    A number that was rounded, as 1/3 was, fills its mantissa.
    """
    return all(
        not any(type(x.op) is Constant and _bits(x.op.value) > 1 for x in node.rands)
        if _is_multiple(node)
        else type(node.op) is not Constant or node.type.dtype.kind != "f" or _bits(node.op.value) <= _SHORT
        for node in subterms(t)
    )


def _bits(value: Any) -> int:
    """0.75 → 2, 0.3 → 52: how many binary digits the longest mantissa of an array has."""
    mantissas = [abs(float(v).as_integer_ratio()[0]) for v in np.ravel(value) if np.isfinite(v)]
    return max([(m // (m & -m)).bit_length() for m in mantissas if m], default=0)


def _is_multiple(t: Term) -> bool:
    if t.op is divide:
        return type(t.rands[1].op) is Constant
    return t.op is multiply and any(type(rand.op) is Constant for rand in t.rands)


def whole_of(t: Term) -> Term:
    """x[i, None] → x: the array that a term repeats, or is entries of."""
    while isinstance(t.op, RESHAPES) or t.op.laws.selects:
        t = t.rands[0]
    return t


def maybe_one(x: Term) -> bool:
    """x, x[0], [1, 2] → True; 1, eˣ → False: whether entries may be exactly one, as those of labels, and of an array
    with ones in it.
    """
    x = whole_of(x)
    return (
        bool(np.any(x.op.value == 1)) and x.op.value.size > 1
        if type(x.op) is Constant
        else not x.rands or type(x.op) is Cast
    )


@_condition
def constant_along(x: Term, axes: Any) -> bool:
    """Construct a goal stating that x has extent 1 along the axes."""
    return is_constant_along(x, axes)


@_condition
def varying_along(x: Term, axes: Any) -> bool:
    """Construct a goal stating that x has another extent than 1 along each of the axes."""
    return isinstance(x.type, ArrayType) and all(x.type.extent(axis) != 1 for axis in axes)


@_condition
def same_shape(x: Term, y: Term) -> bool:
    """Construct a goal stating that x and y have the same shape."""
    return x.type.shape == y.type.shape


def is_constant_along(x: Any, axes: tuple[int, ...]) -> bool:
    """Whether a term has extent 1 along each of the negative axes."""
    return isinstance(x.type, ArrayType) and all(x.type.extent(axis) == 1 for axis in axes)


def finding(goal: Goal, given: Any, found: Any, needs: Callable[[Term], bool] | None = None) -> Goal:
    """f(given) = found: a goal that says of itself which variables it `reads`, looking into their terms, and `finds`.

    `needs` is asked of a place: the goal fails of all that is read from a term, or from a part of it, without that.
    """
    given, found = (getattr(x, "term", x) for x in (given, found))
    goal.reads, goal.finds = unknowns(given), unknowns(found)  # type: ignore[attr-defined]
    goal.given, goal.needs = given, needs  # type: ignore[attr-defined]
    return goal


def may_hold(conditions: Sequence[Goal], left: Any, t: Term) -> bool:
    """needs(t) = False → no: whether conditions may hold where a left side is found at a place, on that side or a
    variable of it.

    A goal that needs exponentials fails at x/y, whatever of it is divided by what.
    """
    for condition in conditions:
        needs = getattr(condition, "needs", None)
        if needs is not None and t.ground and not needs(t):
            given = condition.given  # type: ignore[attr-defined]
            if given is left or given in unknowns(left):
                return False
    return True


def is_finite(base: Any, e: Number) -> bool:
    """(x·x + 1, 1) → True; (x, −1), (log x, 1) → False: whether base^e is finite wherever the leaves are.

    Overflow apart.
    """
    if not is_term(base):
        return False
    if (e < 0 or isinstance(e, Fraction)) and not is_nonzero(base):
        return False
    return _finite(base)


def is_nonzero(t: Term) -> bool:
    """Whether a divisor is not zero: by its range, or since it is chosen so, as where(x == 0, 1, x)."""
    interval = range_of(t)
    if interval.low > 0 or interval.high < 0:
        return True
    if t.op is not where or t.rands[0].op is not equal:
        return False
    condition, replacement, x = t.rands
    return x in condition.rands and any(is_zero(y) for y in condition.rands) and is_nonzero(replacement)


def finite(x: Any) -> Goal:
    """x·y + 1 → holds; 1/x, log x → fails: construct a goal stating that x is finite wherever the program's leaves are.

    Overflow apart.
    """

    def finite_goal(s: State) -> Iterator[State]:
        known = reify_term(getattr(x, "term", x), s)
        if not (is_term(known) and known.ground) or _finite(known):
            yield s

    return finite_goal


def _finite(t: Term) -> bool:
    return kept(t, "finite", _finite_node)


def _finite_node(node: Term) -> bool:
    """finite(f(x)) = finite(x) ∧ f is finite where x is, with divisors ≠ 0; or its range is bounded, and x in its
    domain: tanh(x), arccos(tanh(x)) → True; tanh(1/x), arccos(x) → False.
    """
    op = node.op
    if type(op) is Constant:
        return node.op.value.dtype.kind in "biuf" and bool(np.isfinite(node.op.value).all())
    if not node.rands:
        return True
    if getattr(getattr(node.type, "dtype", None), "kind", "") in ("b", "i", "u"):
        return True
    if not all(rand.cache["finite"] for rand in node.rands):
        return False
    if told(op.finite, node) and all(is_nonzero(node.rands[i]) for i in op.divisors):
        return True
    interval = range_of(node)
    return bool(np.isfinite(interval.low) and np.isfinite(interval.high)) and _is_defined(node)


def _is_defined(node: Term) -> bool:
    """arccos(tanh(x)) → True; arccos(x) → False: whether ranges keep operands in the domain of an op."""
    test = node.op.outside(*map(Tracer, node.rands))
    return test is None or possible(as_term(test)) is None
