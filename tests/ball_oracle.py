"""What a NumPy function is over the reals: the function itself, as written, run on balls of thousands of bits.

Derivatives are central differences with steps so small that their error lies far below a float's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import total_ordering
from typing import Any

import flint
import numpy as np

BITS = 3000


@total_ordering
class Ball:
    """An arb with the names that NumPy looks for on the entries of object arrays, and on rank-0 results."""

    __slots__ = ("arb",)

    def __init__(self, value: Any):
        self.arb = value.arb if isinstance(value, Ball) else flint.arb(value)

    def __add__(self, other: Any) -> Any:
        return _lifted(lambda x, y: x + y, self, other)

    def __sub__(self, other: Any) -> Any:
        return _lifted(lambda x, y: x - y, self, other)

    def __mul__(self, other: Any) -> Any:
        return _lifted(lambda x, y: x * y, self, other)

    def __truediv__(self, other: Any) -> Any:
        return _lifted(lambda x, y: x / y, self, other)

    def __radd__(self, other: Any) -> Any:
        return _lifted(lambda x, y: y + x, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _lifted(lambda x, y: y - x, self, other)

    def __rmul__(self, other: Any) -> Any:
        return _lifted(lambda x, y: y * x, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _lifted(lambda x, y: y / x, self, other)

    def __pow__(self, other: Any) -> Any:
        return _lifted(_power, self, other)

    def __rpow__(self, other: Any) -> Any:
        return _lifted(lambda x, y: _power(y, x), self, other)

    def __neg__(self) -> Ball:
        return Ball(-self.arb)

    def __pos__(self) -> Ball:
        return self

    def __abs__(self) -> Ball:
        return Ball(abs(self.arb))

    def __eq__(self, other: object) -> bool:
        return self.arb == _arb(other)

    def __lt__(self, other: Any) -> bool:
        return self.arb < _arb(other)

    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        if name in (
            "exp",
            "log",
            "log1p",
            "expm1",
            "sqrt",
            "sin",
            "cos",
            "tan",
            "sinh",
            "cosh",
            "tanh",
            "atan",
        ):
            return lambda: Ball(getattr(self.arb, name)())
        if name in ("sum", "mean", "reshape", "squeeze", "prod"):
            return getattr(np.array(self, dtype=object), name)
        raise AttributeError(name)

    def arctan(self) -> Ball:
        return Ball(self.arb.atan())

    def log2(self) -> Ball:
        return Ball(self.arb.log() / flint.arb(2).log())

    def log10(self) -> Ball:
        return Ball(self.arb.log() / flint.arb(10).log())

    def exp2(self) -> Ball:
        return Ball((self.arb * flint.arb(2).log()).exp())

    def __getitem__(self, index: Any) -> Any:
        return np.array(self, dtype=object)[index]

    def __float__(self) -> float:
        if not self.arb.is_finite():
            return float("nan")
        middle = self.arb.mid()
        if abs(middle) > flint.arb(10) ** 308:
            return float("inf") if middle > 0 else float("-inf")
        # A ball wider than a float's last digit would make the test meaningless.
        if self.arb.rad() > flint.arb(10) ** -18 * abs(middle) + flint.arb(10) ** -330:
            raise ArithmeticError(f"the oracle has lost its digits: {self.arb.str(5)}")
        return float(middle)


def _arb(x: Any) -> Any:
    return x.arb if isinstance(x, Ball) else flint.arb(x.item() if isinstance(x, np.generic) else x)


def _lifted(f: Callable[..., Any], x: Ball, y: Any) -> Any:
    if isinstance(y, np.ndarray):
        return NotImplemented
    return Ball(f(x.arb, _arb(y)))


def _power(x: Any, y: Any) -> Any:
    return x ** int(float(y)) if y.is_exact() and float(y) == int(float(y)) else x**y


STEP = flint.arb(2) ** -400


def balls(x: Any) -> Any:
    """Return an array of balls that hold exactly the entries of an array."""
    x = np.asarray(x)
    out = np.empty(x.shape, dtype=object)
    for i in np.ndindex(x.shape):
        out[i] = Ball(float(x[i]))
    return out


def floats(x: Any) -> Any:
    """Return the nearest floats of an array of balls."""
    return np.array([float(b) for b in np.ravel(np.asarray(x, dtype=object))]).reshape(np.shape(x))


def value(f: Callable[..., Any], x: Any) -> Any:
    """f(x)."""
    with flint.ctx.workprec(BITS), np.errstate(all="ignore"):
        return floats(f(balls(x)))


def gradient(f: Callable[..., Any], x: Any) -> Any:
    """∂f/∂x of a scalar f."""
    with flint.ctx.workprec(BITS), np.errstate(all="ignore"):
        b = balls(x)
        out = np.empty(b.shape, dtype=object)
        for i in np.ndindex(b.shape):
            up, down = _moved(b, i)
            out[i] = _item(f(up) - f(down)) / Ball(2 * STEP)
        return floats(out)


def curvature(f: Callable[..., Any], x: Any, v: Any) -> Any:
    """The Hessian of a scalar f times v."""
    with flint.ctx.workprec(BITS), np.errstate(all="ignore"):
        b = balls(x)
        along = balls(v) * Ball(STEP)
        out = np.empty(b.shape, dtype=object)
        for i in np.ndindex(b.shape):
            up, down = _moved(b, i)
            mixed = f(up + along) - f(up - along) - f(down + along) + f(down - along)
            out[i] = _item(mixed) / Ball(4 * STEP * STEP)
        return floats(out)


def _moved(b: Any, i: tuple[int, ...]) -> tuple[Any, Any]:
    up, down = b.copy(), b.copy()
    up[i] = up[i] + Ball(STEP)
    down[i] = down[i] - Ball(STEP)
    return up, down


def _item(x: Any) -> Any:
    return x.item() if isinstance(x, np.ndarray) else x
