"""Functions of numbers, written once for NumPy and mpmath: how many bits of a value and its derivatives are wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import mpmath as mp
import numpy as np

import relgrad as rg

SAME = (
    "exp",
    "expm1",
    "log",
    "log1p",
    "log10",
    "sqrt",
    "cbrt",
    "hypot",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
)
INVERSE = ("sin", "cos", "tan", "sinh", "cosh", "tanh")
EXACT = SimpleNamespace(
    **{name: getattr(mp, name) for name in SAME},
    **{f"arc{name}": getattr(mp, f"a{name}") for name in INVERSE},
    abs=abs,
    square=lambda x: x * x,
    reciprocal=lambda x: 1 / x,
)
"""The functions of NumPy that occur, in arbitrary precision."""

Function = Callable[..., Any]
"""A function of a namespace and of numbers."""


def _bits(got: Any, exact: Any) -> float:
    """Return log₂ of the error in units in the last place of the exact value."""
    rounded = float(exact)
    if not math.isfinite(got) or not math.isfinite(rounded):
        return 0.0 if got == rounded else 64.0
    error = abs(mp.mpf(float(got)) - exact)
    return float(mp.log(error / np.spacing(abs(rounded)), 2)) if error > np.spacing(abs(rounded)) else 0.0


def _exact(f: Function, point: Sequence[float], wrt: int, order: int) -> Any:
    # So many digits that nothing is lost where 1e-300 is taken from 1, nor in differences of small steps.
    with mp.workdps(1000):
        at = tuple(mp.mpf(float(v)) for v in point)
        if order == 0:
            return f(EXACT, *at)
        steps = tuple(order if i == wrt else 0 for i in range(len(at)))
        h = min([abs(v) for v in at if v] or [mp.mpf(1)]) * mp.mpf(10) ** -40
        return mp.diff(lambda *v: f(EXACT, *v), at, steps, h=min(h, mp.mpf(10) ** -40), relative=False)


def programs(f: Function, wrt: int = 0) -> list[Callable[..., Any]]:
    """Return relgrad's value, gradient and second derivative of a function of arrays in one argument."""
    g = rg.grad(lambda *xs: np.sum(f(np, *xs)), wrt)
    return [
        rg.stabilize(lambda *xs: f(np, *xs)),
        g,
        rg.grad(lambda *xs: np.sum(g(*xs)), wrt),
    ]


def errors(f: Function, *xs: Any, wrt: int = 0, orders: int = 3) -> list[float]:
    """Return the largest error in bits of the value and of so many derivatives."""
    arrays = [np.asarray(x, dtype=float) for x in np.broadcast_arrays(*xs)]
    found = []
    for order, program in enumerate(programs(f, wrt)[:orders]):
        with np.errstate(all="ignore"):
            got = np.broadcast_to(program(*arrays), arrays[0].shape)
        points = list(zip(*[x.flat for x in arrays], strict=True))
        found.append(max(_bits(v, _exact(f, p, wrt, order)) for v, p in zip(got.flat, points, strict=True)))
    return found


def naive_error(f: Function, *xs: Any) -> float:
    """Return the largest error in bits of the formula as it is written."""
    arrays = [np.asarray(x, dtype=float) for x in np.broadcast_arrays(*xs)]
    with np.errstate(all="ignore"):
        got = np.broadcast_to(f(np, *arrays), arrays[0].shape)
    points = list(zip(*[x.flat for x in arrays], strict=True))
    return max(_bits(v, _exact(f, p, 0, 0)) for v, p in zip(got.flat, points, strict=True))


def steps(f: Function, *xs: Any) -> list[str]:
    """Return the names of the moves that stabilise a function."""
    arrays = [np.asarray(x, dtype=float) for x in xs]
    return [step.name for step in rg.stabilize(lambda *v: f(np, *v)).explain(*arrays).steps]
