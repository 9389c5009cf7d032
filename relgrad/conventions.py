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
from relgrad.op import Op
from relgrad.ops.arithmetic import absolute, fabs, hypot, inverse_radius
from relgrad.ops.deviation import Deviation, LogSoftmaxPullback, SoftmaxPullback
from relgrad.ops.elementwise import Elementwise, elementwise
from relgrad.ops.entropies import xlog_ratio
from relgrad.ops.extremes import Max, Min
from relgrad.ops.lengths import Norm
from relgrad.ops.selection import fmax, fmin, maximum, minimum
from relgrad.ops.softmax import LogSumExp, Softmax
from relgrad.ops.stable import entr, rel_entr, xdivy, xlog1py, xlogy
from relgrad.op import as_term
from relgrad.step import Step
from relgrad.term import Term, rebuild
from relgrad.trace.tracer import Tracer

TIES = ("share", "first", "last")


@dataclass(frozen=True)
class Conventions:
    """What to take at the points that analysis leaves open; see docs/conventions.md.

    - `zero_log`: 0·log 0, as in `x*np.log(x)` and `scipy.special.xlogy`: 0 (default), or NaN as in IEEE arithmetic.
    - `norm_at_zero`: each entry of the gradient of a norm, of `abs` and `hypot`, at 0: 0 (default), a number, or NaN.
    - `ties`: the gradient of the largest or smallest of equal numbers (`max`, `maximum`, `clip`, relu): "share" it
      (default), or give all to the "first" or the "last" of them.
    - `masked`: `softmax`, the gradient of `logsumexp`, where every entry is -inf: NaN (default), or 0.
    - `untaken`: what flows into a branch of `where` where it is not taken: 0 (default), or NaN if its derivative is
      not finite there, as 0·inf is in IEEE arithmetic.

    >>> Conventions(ties="first")
    Conventions(zero_log=0.0, norm_at_zero=0.0, ties='first', masked=nan, untaken=0.0)

    Raises ConventionError for other values.
    """

    zero_log: float = 0.0
    norm_at_zero: float = 0.0
    ties: str = "share"
    masked: float = math.nan
    untaken: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "ties":
                _require(value in TIES, "ties", value, "'share', 'first' or 'last'")
                continue
            number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
            if field.name == "norm_at_zero":
                _require(number and not math.isinf(value), field.name, value, "a finite number, or NaN")
            else:
                _require(number and (value == 0 or math.isnan(value)), field.name, value, "0 or NaN")
            # One NaN, so that equal conventions are equal.
            object.__setattr__(self, field.name, math.nan if math.isnan(value) else float(value))


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
    ball=lambda x: x * 0 if x != 0 else x.nan(),
)


def _at_zero(slope: Any, x: Any, value: float) -> Any:
    """Return a slope, or where x is 0 what is taken there; an undefined slope stays undefined when differentiated."""
    return slope + vanishing(x) if math.isnan(value) else np.where(x == 0, value, slope)


class _Sloped(Norm):
    """A norm with another slope at 0."""

    def __init__(self, norm: Norm, value: float):
        super().__init__(norm.axes)
        self.norm, self.value = norm, value

    def slope(self, x: Any) -> Any:
        return _at_zero(self.norm.slope(x), self.norm(x), self.value)


class _Picking(Max):
    """A largest or smallest entry that is the first or last of those that tie."""

    def __init__(self, extreme: Any, last: bool):
        super().__init__(extreme.axes)
        self.extreme, self.last = extreme, last

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        return [None] if eval_points[0] is None else [np.sum(self._mask(inputs[0]) * eval_points[0], self.axes, keepdims=True)]

    def _ties(self, x: Any, out: Any) -> tuple[Any, Any]:
        mask = np.equal(x, out)
        extents = [x.shape[a] for a in self.axes]
        if None in extents:
            raise GradientError(
                f"which entry is the {'last' if self.last else 'first'} of unknown extents is not known",
                cure="state the extents, or let those that tie share: ties='share'",
            )
        shape = [x.shape[a] if a in self.axes else 1 for a in range(-x.ndim, 0)]
        place = np.arange(math.prod(shape), dtype=x.dtype).reshape(shape)
        pick, none = (np.max, -1.0) if self.last else (np.min, float(math.prod(shape)))
        chosen = np.equal(place, pick(np.where(mask, place, none), axis=self.axes, keepdims=True))
        return chosen, np.sum(chosen, axis=self.axes, dtype=x.dtype, keepdims=True)
