"""Whether two terms are equal at an input, in ball arithmetic: balls that do not meet are a proof that they are not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from relgrad.accuracy.report import Witness
from relgrad.balls.graph import enclose
from relgrad.interpret import interpret
from relgrad.op import Constant
from relgrad.term import Term, subterms

PRECISION, BITS = 1024, 96
"""The working precision at most, and how many bits are compared, at most."""

ROUNDING = 2.0**-40
"""Where constants may have been rounded, sides that differ by less, relatively, are not told apart."""


class Agreement(NamedTuple):
    """How many entries were compared, and a witness where two of them differ."""

    compared: int
    witness: Witness | None = None


def agree(before: Term, after: Term, values: Mapping[Term, Any]) -> Agreement:
    """x·y/y, x at {x: 2, y: 3} → 1 entry compared: two terms entry by entry:
    where the first has a value, the second has it, too.

    Constants of many digits are balls around what they may have been rounded from.
    """
    left, right = before.type.shape, after.type.shape
    inputs = {t.op.name: x for t, x in values.items()}
    if left != right:
        return Agreement(0, Witness("the sides differ in shape", inputs, str(left), str(right)))
    rounded = blurred(before, after)
    sides = enclose([before, after], dict(values) | rounded, BITS, limit=PRECISION)
    compared = 0
    for place in np.ndindex(left):
        x, y = (side.balls[place] for side in sides)
        if not x.is_finite():
            continue
        if y.is_nan():
            if sides[0].settled[place] and _is_nan(after, values, place):
                why = "the left side has a value and the right side has none"
                return Agreement(compared, Witness(why, inputs, x.str(20, radius=False), "nan"))
        elif not x.overlaps(y) and not (rounded and (x - y).abs_lower() < ROUNDING * x.abs_upper()):
            texts = x.str(20, radius=False), y.str(20, radius=False)
            return Agreement(compared, Witness("the sides differ", inputs, *texts))
        else:
            compared += x.rel_accuracy_bits() > 24 or bool(x.abs_upper() < 1e-6)
    return Agreement(compared)


def _is_nan(t: Term, values: Mapping[Term, Any], place: tuple[int, ...]) -> bool:
    """Whether floats have no value either: balls have none where a comparison cannot be decided."""
    with np.errstate(all="ignore"):
        (found,) = interpret([t], values)
    return bool(np.isnan(np.asarray(found)[place]))


def blurred(*roots: Term, ulps: float = 2) -> dict[Term, Any]:
    """0.1·x → {0.1: 0.1 ± 2 ulp}: constants of many digits as balls around what they may have been rounded from.

    A constant of a program may have been rounded, and what is made of it again.
    """
    constants = [t for t in subterms(*roots) if type(t.op) is Constant]
    return {t: _balls(t.op.value, ulps) for t in constants if has_many_digits(t.op.value)}


def has_many_digits(value: Any) -> bool:
    """0.5 → False, 0.1 → True: whether a constant has an entry that takes more than half of a float's digits.

    It may be rounded then.
    """
    if value.dtype.kind != "f":
        return False
    numerators = [float(v).as_integer_ratio()[0] for v in value.flat if np.isfinite(v)]
    return any((n // (n & -n)).bit_length() > 26 for n in numerators if n)


def _balls(value: Any, ulps: float) -> Any:
    import flint

    balls = [flint.arb(float(v), ulps * float(np.abs(np.spacing(v)))) for v in value.flat]
    return np.array(balls, dtype=object).reshape(value.shape)
