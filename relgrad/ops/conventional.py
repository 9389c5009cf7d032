"""Derivatives where analysis leaves a choice, as conventions make it; see docs/conventions.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from relgrad.contract import FRESH
from relgrad.op import Op
from relgrad.ops.elementwise import Elementwise

# A zero whose derivatives of every order are undefined at 0 as well.
vanishing = Elementwise(
    "vanishing",
    lambda x: np.where(x == 0, np.nan, 0.0),
    lambda g, out, x: g * vanishing(x),
    code="np.where({} == 0, np.nan, 0.0)",
    ball=lambda x: x * 0 if x != 0 else type(x)("nan"),
    strict=False,
    view_map=FRESH,
    named=False,
    beside=lambda x: 0.0 * np.sign(x),
)


def at_zero(slope: Any, x: Any, value: float) -> Any:
    """Return a slope, or where x is 0 what is taken there; an undefined one stays so when it is differentiated."""
    return slope + vanishing(x) if math.isnan(value) else np.where(x == 0, value, slope)


class Under(Op):
    """Under(f)(x) = f(x): derivative rules that stand for those of another op, which is what is applied."""

    original: Op

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        return self.original(*inputs)


class Ruled(Under, Elementwise):
    """Ruled(max, r, s)(x, y) = max(x, y), with rules r and s: an elementwise op with other rules."""

    def __init__(self, original: Elementwise, *rules: Any):
        super().__init__(original.label, original.function, *rules)
        self.original = original


def picking(wins: Callable[[Any, Any], Any]) -> Callable[[Elementwise, Any], Op]:
    """Return how max(x, y) is differentiated where x = y: whole in the first, or the last, or shared.

    `wins` says when an operand is the result for certain: x > y.
    """

    def or_tie(x: Any, y: Any) -> Any:
        return np.logical_or(wins(x, y), np.equal(x, y))

    def under(op: Elementwise, conventions: Any) -> Op:
        """ties = "first" → ∂max/∂x = [x ≥ y], ∂max/∂y = [y > x]: an op that picks, under a convention."""
        if conventions.ties == "share":
            return op
        first, second = (wins, or_tie) if conventions.ties == "last" else (or_tie, wins)
        return Ruled(
            op,
            lambda g, out, x, y: np.where(first(x, y), g, 0.0),
            lambda g, out, x, y: np.where(second(y, x), g, 0.0),
        )

    return under
