"""Conventions: what to take where analysis leaves a choice, one default each, changeable per call.

A convention never changes a value or derivative that exists. Source of the defaults: `scipy.special` for values, the
subgradient of least norm for derivatives at kinks, and for ties the mean of the subgradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from relgrad.errors import ConventionError, GradientError
from relgrad.op import Op, as_term
from relgrad.ops.arithmetic import absolute, fabs, hypot, inverse_radius
from relgrad.ops.deviation import Deviation, LogSoftmaxPullback, SoftmaxPullback
from relgrad.ops.elementwise import Elementwise
from relgrad.ops.entropies import xlog_ratio
from relgrad.ops.extremes import Max, Min
from relgrad.ops.lengths import Norm
from relgrad.ops.selection import fmax, fmin, maximum, minimum
from relgrad.ops.softmax import LogSumExp, Softmax
from relgrad.ops.stable import entr, rel_entr, xdivy, xlog1py, xlogy
from relgrad.step import Step
from relgrad.term import Term, rebuild
from relgrad.trace.tracer import Tracer

TIES = ("share", "first", "last")
UNDEFINED = ("propagate", "real")


@dataclass(frozen=True)
class Conventions:
    """What to take at the points that analysis leaves open; see docs/conventions.md.

    - `zero_log`: 0·log 0, as in `x*np.log(x)` and `scipy.special.xlogy`: 0 (default), or NaN as in IEEE arithmetic.
    - `norm_at_zero`: each entry of the gradient of a norm, of `abs` and `hypot`, at 0: 0 (default), a number, or NaN.
    - `ties`: the gradient of the largest or smallest of equal numbers (`max`, `maximum`, `clip`, relu): "share" it
      (default), or give all to the "first" or the "last" of them.
    - `masked`: `softmax`, the gradient of `logsumexp`, where every entry is -inf: NaN (default), or 0.
    - `nan`: the result where an argument is NaN, or the function as written leaves the reals, as the root of a negative
      number does: "propagate" keeps NaN there as NumPy has it (default), "real" takes what the rewritten function is.
    - `untaken`: what flows into a branch of `where` where it is not taken: 0 (default), or NaN if its derivative is
      not finite there, as 0·inf is in IEEE arithmetic.

    >>> Conventions(ties="first")
    Conventions(zero_log=0.0, norm_at_zero=0.0, ties='first', masked=nan, untaken=0.0, nan='propagate')

    Raises ConventionError for other values.
    """

    zero_log: float = 0.0
    norm_at_zero: float = 0.0
    ties: str = "share"
    masked: float = math.nan
    untaken: float = 0.0
    nan: str = "propagate"

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "ties":
                _require(value in TIES, "ties", value, "'share', 'first' or 'last'")
                continue
            if field.name == "nan":
                _require(value in UNDEFINED, "nan", value, "'propagate' or 'real'")
                continue
            number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
            if field.name == "norm_at_zero":
                _require(number and not math.isinf(value), field.name, value, "a finite number, or NaN")
            else:
                _require(number and (value == 0 or math.isnan(value)), field.name, value, "0 or NaN")
            # One NaN, so that equal conventions are equal.
            object.__setattr__(self, field.name, math.nan if math.isnan(value) else float(value))

    @property
    def ieee(self) -> bool:
        """Whether some 0·inf is to stay NaN."""
        return math.isnan(self.zero_log) or math.isnan(self.untaken)

    def __reduce__(self) -> tuple[Any, ...]:
        return Conventions, tuple([getattr(self, field.name) for field in fields(self)])


def _require(holds: bool, name: str, value: Any, allowed: str) -> None:
    if not holds:
        raise ConventionError(
            f"{name}={value!r} is no convention", cause=f"{name} is {allowed}", cure="see docs/conventions.md"
        )


DEFAULT = Conventions()


# A zero whose derivatives of every order are undefined at 0 as well.
vanishing = Elementwise(
    "vanishing",
    lambda x: np.where(x == 0, np.nan, 0.0),
    lambda g, out, x: g * vanishing(x),
    code="np.where({} == 0, np.nan, 0.0)",
    ball=lambda x: x * 0 if x != 0 else type(x)("nan"),
    strict=False,
)


def differentiated(op: Op, conventions: Conventions) -> Op:
    """Return an op whose derivatives are those of `op` under the conventions; it is applied as `op` itself."""
    zero, ties = conventions.norm_at_zero, conventions.ties
    if zero == 0 and ties == "share":
        return op
    if zero != 0:
        if isinstance(op, Norm):
            return _Sloped(op, zero)
        if op is absolute or op is fabs:
            return _Ruled(op, lambda g, out, x: g * _at_zero(np.sign(x), x, zero))
        if op is hypot:
            return _Ruled(
                op,
                lambda g, out, x, y: g * _at_zero(x * inverse_radius(x, y), out, zero),
                lambda g, out, x, y: g * _at_zero(y * inverse_radius(x, y), out, zero),
            )
    if ties != "share":
        if op in _WINS:
            wins, last = _WINS[op], ties == "last"
            return _Ruled(
                op,
                lambda g, out, x, y: np.where(wins(x, y) if last else _or_tie(wins, x, y), g, 0.0),
                lambda g, out, x, y: np.where(_or_tie(wins, y, x) if last else wins(y, x), g, 0.0),
            )
        if type(op) is Max or type(op) is Min:
            return _Picking(op, ties == "last")
    return op


def _at_zero(slope: Any, x: Any, value: float) -> Any:
    """Return a slope, or where x is 0 what is taken there; an undefined one stays so when it is differentiated."""
    return slope + vanishing(x) if math.isnan(value) else np.where(x == 0, value, slope)


def _or_tie(wins: Callable[..., Any], x: Any, y: Any) -> Any:
    return np.logical_or(wins(x, y), np.equal(x, y))


_WINS: dict[Op, Callable[..., Any]] = {
    maximum: np.greater,
    minimum: np.less,
    fmax: lambda x, y: np.logical_or(np.greater(x, y), np.isnan(y)),
    fmin: lambda x, y: np.logical_or(np.less(x, y), np.isnan(y)),
}
"""When an operand is the result, for certain."""


class _Under(Op):
    """Derivative rules that stand for those of another op, which is what is applied."""

    original: Op

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        return self.original(*inputs)


class _Ruled(_Under, Elementwise):
    """An elementwise op with other rules."""

    def __init__(self, original: Any, *rules: Any):
        super().__init__(original.label, original.function, *rules)
        self.original = original


class _Sloped(_Under, Norm):
    """A norm with another slope at 0."""

    def __init__(self, original: Norm, value: float):
        super().__init__(original.axes)
        self.original, self.value = original, value

    def slope(self, x: Any) -> Any:
        assert isinstance(self.original, Norm)
        return _at_zero(self.original.slope(x), self.original(x), self.value)


class _Picking(_Under, Max):
    """A largest or smallest entry that is the first or last of those that tie."""

    def __init__(self, original: Max | Min, last: bool):
        super().__init__(original.axes)
        self.original, self.last = original, last

    def _ties(self, x: Any, out: Any) -> tuple[Any, Any]:
        extents = [x.shape[a] if a - len(x.shape) in self.axes else 1 for a in range(len(x.shape))]
        if None in extents:
            raise GradientError(
                f"which entry is the {'last' if self.last else 'first'} along an unknown extent is not known",
                cure="state the extents, or let those that tie share: ties='share'",
            )
        count = math.prod(extents)
        places = np.arange(count).astype(x.dtype).reshape(extents)
        pick, never = (np.max, -1) if self.last else (np.min, count)
        mask = np.equal(places, pick(np.where(x == out, places, never), axis=self.axes, keepdims=True))
        return mask, np.sum(mask, axis=self.axes, dtype=x.dtype, keepdims=True)


def exchanged(conventions: Conventions) -> frozenset[Any]:
    """Return the elementwise ops whose values `settled` exchanges: they must be seen there, and not within another."""
    return frozenset(_ZERO_LOGS) if math.isnan(conventions.zero_log) else frozenset()


def settled(roots: Sequence[Term], conventions: Conventions) -> tuple[list[Term], list[Step]]:
    """Return roots with the values that the conventions give them where they are open, and the steps to them."""
    rows: dict[Any, tuple[str, Callable[..., Any]]] = {}
    if math.isnan(conventions.zero_log):
        rows |= {op: ("zero_log", _undefined(op, where)) for op, where in _ZERO_LOGS.items()}
    if conventions.masked == 0:
        rows |= dict.fromkeys(_SOFTMAXES, ("masked", _unweighted))
    steps: list[Step] = []

    def change(old: Term, rands: tuple[Any, ...]) -> Any:
        new = old if all(a is b for a, b in zip(rands, old.rands, strict=True)) else old.op.make_node(*rands)
        row = rows.get(old.op) or rows.get(type(old.op))
        if row is None:
            return new
        name, rule = row
        result = as_term(rule(old.op, *[Tracer(x) for x in rands]))
        steps.append(Step("convention", name, new, result, "the convention of this call"))
        return result

    return (rebuild(roots, change) if rows else list(roots)), steps


def _undefined(op: Op, where: Callable[..., Any]) -> Callable[..., Any]:
    return lambda _, *operands: np.where(where(*operands), np.nan, op(*operands))


def _both(x: Any, y: Any) -> Any:
    return np.logical_and(x == 0, y == 0)


_ZERO_LOGS: dict[Op, Callable[..., Any]] = {
    xlogy: _both,
    xdivy: _both,
    xlog1py: lambda x, y: np.logical_and(x == 0, y == -1),
    entr: lambda x: x == 0,
    rel_entr: lambda x, y: x == 0,
    xlog_ratio: lambda x, y: x == 0,
}
"""Where the ops that have 0·log 0 = 0 take it."""


def _unweighted(op: Any, *operands: Any) -> Any:
    """Return 0 for a softmax over nothing, and for what is multiplied by it."""
    value = op(*operands)
    if type(op) is Softmax:
        return np.where(LogSumExp(op.axes)(*operands) == -np.inf, 0.0, value)
    g, p = operands
    nothing = np.sum(np.abs(p), axis=op.axes, keepdims=True) == 0
    return np.where(nothing, 0.0 if type(op) is SoftmaxPullback else g, value)


_SOFTMAXES = (Softmax, SoftmaxPullback, LogSoftmaxPullback, Deviation)
