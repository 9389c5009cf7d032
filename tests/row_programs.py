"""Programs of rows: each row of an array is answered as if it were alone, whatever stands in the others.

    f([[1e-200, 2e-200], [3, nan]]) = [f([1e-200, 2e-200]), f([3, nan])]

A program is a few lines of NumPy along the last axis. Each row has a scale of its own; a few have ties, zeros of either
sign, infinities or NaN. A seed names a program and its rows.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import relgrad as rg

PART = """
r*r | r**2 | abs(r) | np.exp(r) | np.exp(-r*r) | 1/r | r + 1 | r - 1 | 1/(1 + np.exp(-r)) | np.sqrt(abs(r)) | r + r | -r
np.log(abs(r)) | np.log(1 + r*r) | np.tanh(r) | np.sin(r) | np.expm1(r) | np.arctan(r) | r*np.exp(r) | r/(1 + abs(r))
np.maximum(r, 0) | np.where(r > 0, r, -2*r) | np.log1p(np.exp(r)) | r**3 | r*abs(r) | r**1.5 | np.hypot(r, 1)
np.cosh(r) | r - r.max(**k) | r - r.sum(**k) | r/r.sum(**k) | r - r.mean(**k) | np.cumsum(r, -1) | np.cumprod(r, -1)
r[..., ::-1] | r/np.sqrt((r*r).sum(**k)) | np.exp(r - r.max(**k)) | np.sort(r, -1) | r/r.max(**k) | r*r.prod(**k)
r/r.std(**k) | np.exp(r)/np.exp(r).sum(**k) | (r - r.mean(**k))/np.sqrt(r.var(**k) + 1e-5) | np.roll(r, 1, -1)
r - r[..., :1] | r*r[..., -1:] | np.where(r == r.max(**k), r, 0.) | r/(r.sum(**k) + r)
np.sqrt(r*r + (r*r).sum(**k)) | r*r.min(**k) | np.diff(r, axis=-1, append=1.) | np.diff(r, axis=-1, prepend=0.)
r[..., :1] - r[..., -1:]
"""
NUMBER = """
r.sum(-1) | r.mean(-1) | r.max(-1) | r.min(-1) | r.prod(-1) | (r*r).sum(-1) | r.var(-1) | r.std(-1) | r[..., 0]
np.log(np.exp(r).sum(-1)) | np.sqrt((r*r).sum(-1)) | np.log(abs(r).sum(-1)) | np.log(r.prod(-1)**2) | 1/(1/r).sum(-1)
abs(r).prod(-1)**(1/r.shape[-1]) | np.log((r*r).sum(-1)) | (r*np.log(abs(r))).sum(-1) | r.sum(-1)**2/(r*r).sum(-1)
np.log(np.mean(np.exp(r), -1)) | (r**3).sum(-1)/(r*r).sum(-1)**1.5 | np.linalg.norm(r, axis=-1) | r.max(-1) - r.min(-1)
(abs(r)**3).sum(-1)**(1/3) | np.arctan2(r.max(-1), r.sum(-1)) | np.hypot(r.sum(-1), r.max(-1)) | np.median(r, -1)
"""
LAST = ["y", "y", "np.log(1 + y*y)", "y*y", "np.sqrt(abs(y))", "np.exp(-abs(y))", "1/y"]
SCALES = [1e-300, 1e-160, 1e-90, 1e-20, 1e-9, 1.0, 1.0, 30.0, 800.0, 1e9, 1e90, 1e160, 1e300]
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 1e200]
KINDS: dict[str, Callable[..., Any]] = {
    "value": lambda f, **options: rg.stabilize(f, **options),
    "gradient": lambda f, **options: rg.grad(lambda x: np.sum(f(x)), **options),
    "curvature": lambda f, **options: rg.grad(
        lambda x: np.sum(rg.grad(lambda x: np.sum(f(x)), **options)(x)), **options
    ),
}
"""Of a function of rows: its numbers, their slopes, and how these change along ones."""


class Rows(NamedTuple):
    """A function of the last axis, its lines, and an array of rows."""

    text: str
    function: Callable[..., Any]
    rows: np.ndarray


def program(seed: int) -> Rows:
    """Return the program that a seed names, and its rows."""
    draw, numbers = random.Random(f"rows {seed}"), np.random.default_rng([77, seed])
    parts, ends = ([x.strip() for x in s.replace("\n", "|").split("|") if x.strip()] for s in (PART, NUMBER))
    lines = [f"    r = {x}" for x in draw.choices(parts, k=draw.randint(0, 3))]
    text = "\n".join(["def f(r):", *lines, f"    y = {draw.choice(ends)}", f"    return {draw.choice(LAST)}"])
    names: dict[str, Any] = {"np": np, "k": {"axis": -1, "keepdims": True}}
    exec(text, names)
    n, count = draw.choice([1, 2, 3, 3, 5]), draw.randint(2, 4)
    rows = numbers.normal(size=(count, n))
    for row in rows:
        row *= draw.choice(SCALES)
        if draw.random() < 0.25:
            row[:] = np.rint(row)
        if draw.random() < 0.15:
            row[draw.randrange(n)] = draw.choice(SPECIAL)
    return Rows(text, names["f"], rows)


HALF, FLOOR = 1e-6, 2.0**-100
"""Half of the digits, which is as much as a row may have lost before it is computed again; and what is left of none."""


def differences(seed: int, **options: Any) -> list[str]:
    """Return in words which rows have numbers alone, and others in company; none where relgrad is right."""
    text, function, rows = program(seed)
    found = list[str]()
    for kind, of in KINDS.items():
        answered = of(function, validate=False, **options)
        with np.errstate(all="ignore"):
            together = answered(rows)
            alone = np.concatenate([answered(rows[i : i + 1]) for i in range(len(rows))])
        size = np.abs(np.where(np.isfinite(alone), alone, 0.0))
        if kind != "value":  # digits of a row's slopes are those of the largest
            size = size.max(axis=-1, keepdims=True, initial=0.0)
        with np.errstate(all="ignore"):
            near = np.abs(together - alone) <= FLOOR + HALF * size
            same = near | ~np.isfinite(alone)
        for i in np.unique(np.nonzero(~same)[0]):
            found.append(
                f"{kind} of row {rows[i]} of {rows.tolist()}: {together[i]}, alone {alone[i]}\n{text}"
            )
    return found
