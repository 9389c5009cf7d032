"""Arithmetic entry by entry: sums, products, powers, roots, magnitudes and signs."""

from __future__ import annotations

from typing import Any

import numpy as np
from quicktions import Fraction

from relgrad.contract import Laws
from relgrad.implementations import implements
from relgrad.op import Op, constant, is_constant
from relgrad.ops.conventional import Ruled, at_zero
from relgrad.ops.elementwise import Elementwise, elementwise
from relgrad.ops.intervals import (
    added,
    divided,
    increasing,
    larger,
    magnitude,
    multiplied,
    raised,
    squared,
    subtracted,
)
from relgrad.ops.powers import Power, power_rules
from relgrad.ops.structure import broadcast_like
from relgrad.types import NONNEGATIVE, POSITIVE, Interval


def _is_one(x: Any) -> bool:
    return is_constant(x) and x.op.value.size == 1 and x.op.value.item() == 1


def _negated(x: Any) -> Any:
    """Return what a negation negates, or None: the opposite of an integer among real numbers wraps around."""
    return x.rands[0] if x.op is negative and getattr(x.type, "differentiable", True) else None


def _sum(x: Any, y: Any) -> Any:
    """x + (-y) = x - y."""
    if (z := _negated(y)) is not None:
        return subtract(x, z)
    return None if (z := _negated(x)) is None else subtract(y, z)


def _difference(x: Any, y: Any) -> Any:
    """x - (-y) = x + y."""
    return None if (z := _negated(y)) is None else add(x, z)


def _product(x: Any, y: Any) -> Any:
    """1·x = x."""
    if _is_one(x) or _is_one(y):
        return y if _is_one(x) else x
    return None


def _quotient(x: Any, y: Any) -> Any:
    """x/1 = x."""
    return x if _is_one(y) else None


def _power(x: Any, y: Any) -> Any:
    """1ʸ = 1, x¹ = x."""
    if _is_one(x) and y.type.dtype.kind == "f":  # integers to negative powers raise
        return broadcast_like(constant(1.0, y.type.dtype), y)
    return x if _is_one(y) else None


def _opposite(x: Any) -> Any:
    """-(-x) = x, and the opposite of a number is a number."""
    return constant(-x.op.value) if is_constant(x) and x.op.value.size == 1 else _negated(x)


add = elementwise(
    np.add,
    lambda g, out, x, y: g,
    lambda g, out, x, y: g,
    code="{} + {}",
    laws=Laws(associative=True, commutative=True, identity=0.0),
    range=added,
    ball=lambda x, y: x + y,
    exactly=_sum,
    strict=True,
    finite=True,
    out_of_range="stays",
    as_sum=(1, 1),
    cancels="sum",
    word="sum",
)
subtract = elementwise(
    np.subtract,
    lambda g, out, x, y: g,
    lambda g, out, x, y: -g,
    code="{} - {}",
    range=subtracted,
    ball=lambda x, y: x - y,
    exactly=_difference,
    strict=True,
    finite=True,
    out_of_range="stays",
    as_sum=(1, -1),
    cancels="sum",
    word="difference",
)
multiply = elementwise(
    np.multiply,
    lambda g, out, x, y: g * y,
    lambda g, out, x, y: g * x,
    code="{} * {}",
    laws=Laws(associative=True, commutative=True, identity=1.0, absorbing=0.0, linear=(0, 1)),
    range=multiplied,
    ball=lambda x, y: x * y,
    exactly=_product,
    strict=True,
    finite=True,
    grows=True,
    as_product=(1, (1, 1)),
    word="product",
)
divide = elementwise(
    np.divide,
    lambda g, out, x, y: g / y,
    lambda g, out, x, y: -g * out / y,
    code="{} / {}",
    laws=Laws(linear=(0,)),
    range=divided,
    ball=lambda x, y: x / y,
    exactly=_quotient,
    strict=True,
    finite=True,
    divisors=(1,),
    grows=True,
    rough=(1,),
    as_product=(1, (1, -1)),
    word="quotient",
)
negative = elementwise(
    np.negative,
    lambda g, out, x: -g,
    code="-{}",
    laws=Laws(inverse="negative", linear=(0,), monotone=-1, homomorphism=("add", "add")),
    range=lambda x: -x,
    ball=lambda x: -x,
    exactly=_opposite,
    finite=True,
    out_of_range="stays",
    rounds=False,
    as_sum=(-1,),
    as_product=(-1, (1,)),
    word="negated",
)
positive = elementwise(
    np.positive,
    lambda g, out, x: g,
    code="+{}",
    laws=Laws(idempotent=True, inverse="positive", linear=(0,), monotone=1, homomorphism=("add", "add")),
    range=lambda x: x,
    ball=lambda x: x,
    finite=True,
    out_of_range="stays",
    rounds=False,
    as_sum=(1,),
    as_product=(1, (1,)),
)
reciprocal = elementwise(
    np.reciprocal,
    lambda g, out, x: -g * out * out,
    laws=Laws(inverse="reciprocal", homomorphism=("multiply", "multiply")),
    range=lambda x: divided(Interval(1.0, 1.0), x),
    ball=lambda x: 1 / x,
    finite=True,
    divisors=(0,),
    grows=True,
    rough=(0,),
    as_product=(1, (-1,)),
)
square = elementwise(
    np.square,
    lambda g, out, x: g * (2.0 * x),
    laws=Laws(homomorphism=("multiply", "multiply"), parity=1),
    range=squared,
    ball=lambda x: x * x,
    finite=True,
    grows=True,
    as_product=(1, (2,)),
)
# One op, since the product's own rule would add −(1 + x) and 1 − x, which cancel near 0.
one_minus_square = Elementwise(
    "one_minus_square",
    lambda x: (1 - x) * (1 + x),
    lambda g, out, x: -2.0 * g * x,
    code="(1 - {0}) * (1 + {0})",
    range=lambda x: subtracted(Interval(1.0, 1.0), squared(x)),
    ball=lambda x: 1 - x * x,
    finite=True,
    margin=lambda x: 1.0 - np.abs(x),
)


def _root_range(x: Interval) -> Interval:
    return increasing(np.sqrt, POSITIVE if x.positive else NONNEGATIVE, fixed=(0.0, 1.0))(x)


sqrt = elementwise(
    np.sqrt,
    lambda g, out, x: g * 0.5 / out,
    laws=Laws(inverse="square", monotone=1, homomorphism=("multiply", "multiply")),
    range=_root_range,
    ball=lambda x: x.sqrt(),
    outside=lambda x: x < 0,
    finite=lambda x: x.nonnegative,
    rough=(0,),
    as_product=(1, (Fraction(1, 2),)),
    word="root",
)


def _cube_root_ball(x: Any) -> Any:
    # arb's root is that of a positive number only.
    return -((-x).root(3)) if x < 0 else x.root(3)


cbrt = elementwise(
    np.cbrt,
    lambda g, out, x: g / (3.0 * (out * out)),
    laws=Laws(monotone=1, homomorphism=("multiply", "multiply"), parity=-1),
    range=increasing(np.cbrt, fixed=(0.0, 1.0)),
    ball=_cube_root_ball,
    rough=(0,),
)


def _rough_power(x: Interval, y: Interval) -> tuple[int, ...]:
    """xʸ has no derivative at x = 0 where y < 1."""
    return (0,) if y.low < 1.0 else ()


def _finite_power(x: Interval, y: Interval) -> bool:
    """x², xʸ for x, y ≥ 0: yes; 1/x, (−1)^½: no: whether a power of what is finite is."""
    return y.nonnegative and (x.nonnegative or (y.low == y.high and y.low.is_integer()))


power, float_power = (
    Power(
        f.__name__,
        f,
        *power_rules(f),
        code=code,
        range=raised,
        ball=lambda x, y: x**y,
        exactly=_power,
        grows=True,
        rough=_rough_power,
        finite=_finite_power,
        signs=(0,),
    )
    for f, code in ((np.power, "{} ** {}"), (np.float_power, "np.float_power({}, {})"))
)
implements(np.power)(power)
implements(np.float_power)(float_power)


def _under_norm(op: Elementwise, conventions: Any) -> Op:
    """|x| with the slope at 0 that a convention says."""
    zero = conventions.norm_at_zero
    return Ruled(op, lambda g, out, x: g * at_zero(np.sign(x), x, zero)) if zero != 0 else op


def _one_size(x: Interval) -> tuple[Any, ...] | None:
    """|x| = x for x ≥ 0, −x for x ≤ 0."""
    if x.nonnegative:
        return (lambda g, out, x: g,)
    return (lambda g, out, x: -g,) if x.high <= 0 else None


def _size(function: np.ufunc, **answers: Any) -> Elementwise:
    return elementwise(
        function,
        lambda g, out, x: g * np.sign(x),
        laws=Laws(idempotent=True, homomorphism=("multiply", "multiply")),
        range=magnitude,
        ball=abs,
        finite=True,
        out_of_range="stays",
        rounds=False,
        under=_under_norm,
        kinks=True,
        one_part=_one_size,
        **answers,
    )


absolute = _size(np.absolute, code="np.abs({})", word="size")
fabs = _size(np.fabs)


def _sign_range(x: Interval) -> Interval:
    low = 1.0 if x.positive else 0.0 if x.nonnegative else -1.0
    high = -1.0 if x.negative else 0.0 if x.high <= 0 else 1.0
    return Interval(low, high)


sign = elementwise(
    np.sign,
    None,
    laws=Laws(idempotent=True, homomorphism=("multiply", "multiply")),
    range=_sign_range,
    ball=lambda x: x.sgn(),
    jumps=True,
    tolerant=True,
    rounds=False,
    over_length=lambda x: (np.abs(x), x),
)


def _copysign_range(x: Interval, y: Interval) -> Interval:
    size = magnitude(x)
    if y.positive:
        return size
    return -size if y.negative else Interval(-size.high, size.high, size.open_high, size.open_high)


copysign = elementwise(
    np.copysign,
    lambda g, out, x, y: g * (np.sign(x) * np.copysign(1.0, y)),
    None,
    range=_copysign_range,
    ball=lambda x, y: abs(x) * (1 if y >= 0 else y.sgn()),
    exactly=lambda x, y: x if x is y else None,
    finite=True,
    jumps=True,
    kinks=True,
    beside=lambda x, y: np.abs(x) * np.sign(y),
    signs=(1,),
)


def inverse_radius(x: Any, y: Any) -> Any:
    """Return 1/√(x² + y²) without overflow, and 0 at the origin, where directions are taken to be 0."""
    radius = np.hypot(x, y)
    return np.where(radius == 0, 0.0, np.reciprocal(np.where(radius == 0, 1.0, radius)))


def _under_norm_of_two(op: Elementwise, conventions: Any) -> Op:
    """x/√(x² + y²) = c at 0: √(x² + y²) with the slopes at 0 that a convention says."""
    zero = conventions.norm_at_zero
    if zero == 0:
        return op
    return Ruled(
        op,
        lambda g, out, x, y: g * at_zero(x * inverse_radius(x, y), out, zero),
        lambda g, out, x, y: g * at_zero(y * inverse_radius(x, y), out, zero),
    )


# Direction cosines are products with the reciprocal, whose own derivative, −(g·out)·out, does not overflow.
hypot = elementwise(
    np.hypot,
    lambda g, out, x, y: g * (x * inverse_radius(x, y)),
    lambda g, out, x, y: g * (y * inverse_radius(x, y)),
    laws=Laws(associative=True, commutative=True, parity=1),
    range=lambda x, y: Interval(
        larger(magnitude(x), magnitude(y)).low,
        added(magnitude(x), magnitude(y)).high,
        larger(magnitude(x), magnitude(y)).open_low,
    ),
    ball=lambda x, y: (x * x + y * y).sqrt(),
    strict=True,
    finite=True,
    meaning=lambda x, y: np.sqrt(x * x + y * y),
    under=_under_norm_of_two,
)
