"""Conventions: what to take where analysis leaves a choice, one default each, changeable per call.

A convention never changes a value or derivative that exists. Source of the defaults: `scipy.special` for values, the
subgradient of least norm for derivatives at kinks, and for ties the mean of the subgradients.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from relgrad.errors import ConventionError
from relgrad.op import as_term
from relgrad.step import Step
from relgrad.term import Term, rebuild, remade
from relgrad.trace.tracer import Tracer
from relgrad.types import ArrayType

TIES = ("share", "first", "last")
UNDEFINED = ("propagate", "real")


@dataclass(frozen=True)
class Conventions:
    """0·log 0 = 0, …: the values to take at the points that analysis leaves open; see docs/conventions.md.

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
        """ties = "all" → ConventionError, 0 → 0.0: refuses what a convention cannot be; all NaN are one, so equal ones
        are equal.
        """
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


def settled(roots: Sequence[Term], conventions: Conventions) -> tuple[list[Term], list[Step]]:
    """0·log 0 → 0 by `zero_log`: roots with the values that the conventions give where they are open, and the steps
    there.
    """
    steps: list[Step] = []
    if not math.isnan(conventions.zero_log) and conventions.masked != 0:
        return list(roots), steps

    def change(old: Term, rands: tuple[Any, ...]) -> Any:
        """(xlogy(x, y), rands) → its value under the conventions, or the op at the new operands."""
        new = remade(old, rands)
        arrays = all(isinstance(x.type, ArrayType) for x in rands)
        found = old.op.settled(conventions, *map(Tracer, rands)) if arrays else None
        if found is None:
            return new
        name, value = found
        result = as_term(value)
        steps.append(Step("convention", name, new, result, "the convention of this call"))
        return result

    return rebuild(roots, change), steps
