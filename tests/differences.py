"""Derivatives by differences: what the derivatives of relgrad are measured against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

H = 1e-3


def slope(f: Callable[[float], Any], h: float = H) -> Any:
    """Return the derivative at 0 of a function of one number: the five-point rule, with an error of h⁴."""
    y = {k: np.asarray(f(k * h), float) for k in (-2, -1, 1, 2)}
    return (8 * (y[1] - y[-1]) - (y[2] - y[-2])) / (12 * h)


def along(f: Callable[..., Any], args: Sequence[Any], directions: Sequence[Any], h: float = H) -> Any:
    """Return the derivative of f(*args) along directions; None for an argument that stays."""

    def at(t: float) -> Any:
        moved = [
            a if v is None else np.asarray(a, float) + t * v for a, v in zip(args, directions, strict=True)
        ]
        return f(*moved)

    return slope(at, h)


def jacobian_by_differences(
    f: Callable[..., Any], args: Sequence[Any], position: int = 0, h: float = H
) -> Any:
    """Return ∂f/∂args[position], of f's shape followed by the argument's."""
    x = np.asarray(args[position], float)
    columns = []
    for index in np.ndindex(x.shape):
        unit = np.zeros(x.shape)
        unit[index] = 1.0
        columns.append(along(f, args, [unit if i == position else None for i in range(len(args))], h))
    shape = np.shape(f(*args))
    return np.moveaxis(np.array(columns).reshape(x.shape + shape), range(x.ndim), range(-x.ndim, 0))


def assert_close(got: Any, expected: Any, rtol: float = 1e-8, scale: float = 0.0) -> None:
    """Check arrays entry by entry against the largest of them (and `scale`), and that the shapes agree."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape, (got.shape, expected.shape)
    size = max(1.0, scale, float(np.max(np.abs(expected), initial=0.0)))
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * size)
