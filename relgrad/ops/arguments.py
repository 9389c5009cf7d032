"""What builders share: reading the arguments of a NumPy call as the user gave them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relgrad.errors import RelationError, ShapeError, TraceError
from relgrad.implementations import IMPLEMENTATIONS
from relgrad.op import Symbolic, as_term, strong
from relgrad.ops.structure import Squeeze
from relgrad.term import Unknown, is_term
from relgrad.types import Interval


def call(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Apply a NumPy function to terms, through what traces it."""
    return IMPLEMENTATIONS[function](*args, **kwargs)


def refuse(function: str, **options: Any) -> None:
    """Raise TraceError for options of a NumPy function that are given but not supported.

    >>> refuse("np.sum", out=None, where=True)
    """
    for name, value in options.items():
        if value is None or value is np._NoValue or value is True:
            continue
        raise TraceError(
            f"{function} cannot be traced with {name}=",
            cause=f"the option {name}= of {function} is not supported on traced arrays",
            cure="leave it out, and write what it does with separate NumPy calls (np.where, for instance)",
        )


def is_ground(x: Any) -> bool:
    """Whether x is a term without logic variables."""
    return is_term(x) and x.ground


def is_symbolic(x: Any) -> bool:
    """Whether x stands for a term, or is one."""
    return isinstance(x, (Symbolic, Unknown)) or is_term(x)


def require_ground(function: str, x: Any) -> Any:
    """x → its term with a dtype; raises RelationError for a pattern, of which the rank would have to be known."""
    x = strong(as_term(x))
    if not is_ground(x):
        raise RelationError(
            f"{function} cannot stand in a relation",
            cause="what it does depends on its operand's rank or extents, which a pattern does not have",
            cure="use functions that name axes from the right: np.expand_dims, np.swapaxes, keepdims=True",
        )
    return x


def several(x: Any) -> tuple[Any, ...]:
    """Return what names axes, extents or places as a tuple: whatever can be iterated over names several.

    >>> several(2), several(range(2)), several([0, -1])
    ((2,), (0, 1), (0, -1))
    """
    return tuple(x) if np.iterable(x) else (x,)


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return axes (None, one, or several, of either sign) as sorted negative integers.

    >>> normalize_axes((0, -1), 3)
    (-3, -1)

    Raises ShapeError for an axis that the array does not have or that is named twice.
    """
    if axis is None or (ndim == 0 and axis in (0, -1)):  # NumPy takes these for the axis of a number
        return tuple(range(-ndim, 0))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    result = [normalize_axis(a, ndim) for a in axes]
    if len(set(result)) != len(result):
        raise ShapeError(f"axes {axis} name the same axis twice")
    return tuple(sorted(result))


def normalize_axis(axis: Any, ndim: int) -> int:
    """Return one axis of either sign as a negative integer; raises ShapeError when the array lacks it.

    >>> normalize_axis(1, 3)
    -2
    """
    a = operator.index(axis)
    if not -ndim <= a < ndim:
        raise ShapeError(f"axis {a} is out of bounds for an array with {ndim} axes")
    return a - ndim if a >= 0 else a


def below_squeeze(x: Any, axes: Sequence[int]) -> tuple[Any, tuple[int, ...], tuple[int, ...]]:
    """(squeeze(x, −2), (−2,)) → x, (−3,), (−2,): a squeeze's operand, the axes as they lie in it, and those to squeeze
    then.
    """
    if not isinstance(x.op, Squeeze):
        return x, tuple(axes), ()
    inner = x.rands[0]
    kept = [a for a in range(-inner.type.ndim, 0) if a not in x.op.axes]
    return inner, tuple([kept[a] for a in axes]), x.op.axes


def hull(*ranges: Interval) -> Interval:
    """Return the least interval that holds several.

    >>> hull(Interval(0.0, 1.0), Interval(1.0, 2.0, open_high=True))
    Interval(low=0.0, high=2.0, open_low=False, open_high=True)
    """
    low, high = min(r.low for r in ranges), max(r.high for r in ranges)
    open_low = all(r.open_low for r in ranges if r.low == low)
    open_high = all(r.open_high for r in ranges if r.high == high)
    return Interval(low, high, open_low, open_high)


def as_balls(array: Any) -> Any:
    """[0.5, ball] → [ball(0.5), ball]: an array of balls:
    of numbers, exactly; of what NumPy made of balls, with its zeros.
    """
    import flint

    def ball(v: Any) -> Any:
        """0.5 → ball(0.5), array(ball) → ball: an entry without the arrays around it."""
        while isinstance(v, (np.ndarray, np.generic)):
            v = v.item()
        return v if hasattr(v, "is_finite") else flint.arb(v)

    array = np.asarray(array, dtype=object)
    if not array.ndim and type(array.item()) is flint.arb:
        return array
    entries = array.reshape(-1).tolist()
    if set(map(type, entries)) <= {flint.arb}:
        return array
    return np.fromiter(map(ball, entries), object, len(entries)).reshape(array.shape)


def log_or_infinite(ball: Any) -> Any:
    """Return the logarithm of a ball, which at 0 is -inf, as it is in floats."""
    return type(ball)("-inf") if ball.is_zero() else ball.log()


ZERO = Interval(0.0, 0.0)


def predicate_ball(true: Callable[..., Any], false: Callable[..., Any]) -> Callable[..., Any]:
    """x < 0 at [1, 2] → 0, at [−1, 1] → [0, 1]: a predicate in ball arithmetic, around both where balls do not tell."""

    def decide(*balls: Any) -> Any:
        """balls → 1 where it is true for certain, 0 where false, else ½ ± ½."""
        import flint

        return flint.arb(1) if true(*balls) else flint.arb(0) if false(*balls) else flint.arb(0.5, 0.5)

    return decide
