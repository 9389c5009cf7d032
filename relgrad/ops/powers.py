"""The class of powers: their derivatives, and where they are real."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.op import as_term, is_constant, strong
from relgrad.ops.arguments import is_ground
from relgrad.ops.casting import cast
from relgrad.ops.elementwise import Elementwise, Rule
from relgrad.term import Term


def _fixed(x: Any) -> Any:
    """Return the value of a constant operand, or None."""
    x = strong(as_term(x))
    return x.op.value if is_constant(x) else None


def power_rules(power: Any) -> tuple[Rule, Rule]:
    """∂xʸ/∂x = y·xʸ⁻¹, ∂xʸ/∂y = xʸ·log x: the derivatives of a power, with factors finite wherever their product is."""

    def base(g: Any, out: Any, x: Any, y: Any) -> Any:
        """g·y·xʸ⁻¹, and 0 for x⁰ = 1 at 0 too."""
        n = _fixed(y)
        if n is None or not np.all(n):
            # x⁰ is constant at x = 0 too, where x⁻¹ is not finite.
            return g * (y * power(x, np.where(np.logical_and(x == 0, y == 0), 1, y - 1)))
        if n.ndim == 0 and n == 1:
            return g
        if n.ndim == 0 and n == 2:
            return g * (n * x)
        less = n - n.dtype.type(1)
        if np.all(less + n.dtype.type(1) == n):
            return g * (n * power(x, less))
        # The exponent would be rounded, by which a power of what is huge or tiny would lose digits.
        return g * (n * np.where(x == 0, power(x, less), out / np.where(x == 0, 1.0, x)))

    def exponent(g: Any, out: Any, x: Any, y: Any) -> Any:
        """g·xʸ·log x, and 0 for 0ʸ = 0, y > 0."""
        b = _fixed(x)
        if b is not None and np.all(b > 0):
            return g * out * np.log(b)
        # 0ʸ vanishes for every y > 0, faster than log(0) grows.
        return g * out * np.log(np.where(np.logical_and(x == 0, y > 0), 1.0, x))

    return base, exponent


class Power(Elementwise):
    """xʸ: real for x < 0 if y is whole; x⁰ = 1ʸ = 1 whatever the other operand is, even NaN."""

    def make_node(self, *inputs: Any) -> Term:
        """True ** True → cast(True) ** True: of truth values the power is that of numbers.

        NumPy's operator squares them in another dtype.
        """
        if len(inputs) == 2 and all(map(is_ground, inputs)) and inputs[0].type.dtype.kind == "b":
            inputs = (
                cast(inputs[0], self._loop(tuple([x.type.dtype for x in self._promote(inputs)]))[-1]),
                inputs[1],
            )
        return super().make_node(*inputs)

    def outside(self, *operands: Any) -> Any:
        """x < 0 and y no integer → True; None where no operand can be."""
        x, y = operands
        n = _fixed(y)
        if n is None:
            return np.logical_and(x < 0, y != np.floor(y))
        fractional = n != np.floor(n)
        if np.all(fractional):
            return x < 0
        return np.logical_and(x < 0, fractional) if np.any(fractional) else None

    def may_raise(self, node: Term) -> bool:
        exponent = _fixed(node.rands[1])  # integers have no powers of negative exponents
        return node.type.dtype.kind in "iu" and not (exponent is not None and np.all(exponent >= 0))

    def strict(self, node: Term) -> bool:
        base, exponent = map(_fixed, node.rands)
        return bool((exponent is not None and np.all(exponent)) or (base is not None and np.all(base != 1)))
