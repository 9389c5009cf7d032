"""Linear algebra in doubled arithmetic, of matrices of few rows: by elimination, which carries its own bounds.

Source: Golub & Van Loan 2013, Matrix Computations, algorithm 3.4.1, with pivots chosen by their leading parts.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np

from relgrad.kernels.doubled.arrays import FUNCTIONS, NAMED
from relgrad.kernels.doubled.entries import absolute, log, multiply
from relgrad.kernels.doubled.number import Doubled, Undecided

ROWS = 16
"""Bounds grow with each row: matrices of more are computed in floats, and so are stacks of more entries."""
ENTRIES = 1 << 14
_stack = FUNCTIONS[np.concatenate]


def _triangle(a: Doubled, b: Doubled) -> tuple[list[Doubled], Any]:
    """Return the rows of [a | b] that elimination leaves, each from its pivot on, and the sign of the row exchanges.

    The axes of stacks come last: a is of shape (n, n, …).
    """
    rest, rows = _stack([a, b], 1), []
    sign: Any = np.float64(1.0)
    for _ in range(len(a)):
        best = np.argmax(np.abs(rest.hi[:, 0]), axis=0)
        order = np.arange(len(rest)).reshape((-1, *[1] * best.ndim)) + np.zeros_like(best)
        order = np.where(order == 0, best, np.where(order == best, 0, order))
        rest = rest.moved(lambda part: np.take_along_axis(part, order[:, None], 0))  # noqa: B023
        sign = np.where(best == 0, sign, -sign)
        pivot, others = rest[0], rest[1:]
        rows.append(pivot)
        rest = others[:, 1:] - others[:, :1] / pivot[:1] * pivot[None, 1:]
    return rows, sign


def _is_small(a: Doubled) -> bool:
    return 0 < a.shape[-1] <= ROWS and a.size <= ENTRIES


def _leading(a: Doubled) -> Doubled:
    return a.moved(lambda part: np.moveaxis(part, (-2, -1), (0, 1)))


def _pivots(a: Doubled) -> tuple[list[Doubled], Any]:
    a = _leading(a)
    rows, sign = _triangle(a, a[:, :0])
    return [row[0] for row in rows], sign


def _det(a: Any) -> Doubled:
    if not _is_small(a):
        return Doubled.lifted(np.linalg.det(a.floats()), ())
    pivots, sign = _pivots(a)
    return reduce(multiply, pivots) * sign


def _slogdet(a: Any) -> tuple[Doubled, Doubled]:
    if not _is_small(a):
        return Doubled.lifted(tuple(np.linalg.slogdet(a.floats())), ())
    pivots, sign = _pivots(a)
    signs = math.prod([np.sign(p.signs()) for p in pivots], start=sign)
    return Doubled(signs), reduce(lambda x, y: x + y, [log(absolute(p)) for p in pivots])


def _solve(a: Any, b: Any) -> Doubled:
    a, b = Doubled.of(a), Doubled.of(b)
    if b.ndim == 1:
        return _solve(a, b[:, None])[..., 0]
    if not _is_small(a):
        return Doubled.lifted(np.linalg.solve(a.floats(), b.floats()), ())
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = [_leading(x.moved(lambda p: np.broadcast_to(p, (*stack, *p.shape[-2:])))) for x in (a, b)]
    rows, _ = _triangle(a, b)
    found: list[Doubled] = []
    for row in reversed(rows):
        count = len(found)
        known = [row[1 + i : 2 + i] * x for i, x in enumerate(reversed(found))]
        found.append(reduce(lambda x, y: x - y, known, row[1 + count :]) / row[:1])
    solved = FUNCTIONS[np.stack](found[::-1])
    return solved.moved(lambda part: np.moveaxis(part, (0, 1), (-2, -1)))


def _inv(a: Any) -> Doubled:
    return _solve(a, np.broadcast_to(np.eye(a.shape[-1]), a.shape))


def _cofactor(a: Any) -> Doubled:
    if not _is_small(a):
        raise Undecided
    return _det(a)[..., None, None] * FUNCTIONS[np.swapaxes](_inv(a), -1, -2)


FUNCTIONS.update(
    {np.linalg.det: _det, np.linalg.slogdet: _slogdet, np.linalg.solve: _solve, np.linalg.inv: _inv}
)
NAMED["cofactor"] = lambda _: _cofactor
