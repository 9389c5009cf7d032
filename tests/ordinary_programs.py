"""Ordinary programs on ordinary inputs: whatever is rewritten, values and derivatives are those of plain NumPy.

Programs are lines of NumPy over several arrays of one to three axes, with extents of 1 among them: positive parts,
smoothing, shares of shares, roots beside sums of any sign, reductions over differing axes, broadcasts, products, norms,
moments, scans, selections.
A seed names a program and its inputs. Each is judged where floats judge well: where NumPy in double precision agrees
with NumPy in extended precision, so does the rewritten program; its derivative along a random direction agrees with a
difference quotient in extended precision.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

import relgrad as rg

PART = """
np.exp(A) | np.exp(A) | np.exp(A) | np.exp(-A) | np.exp(-A**2) | np.exp(2*A) | np.exp(A)**2 | np.exp(A + B)
np.exp(A - B) | 1/(1 + np.exp(-A)) | np.log(1 + np.exp(A)) | A**2 + C | abs(A) + C | np.cosh(A) | np.exp(A)*A**2 + C
np.exp(A - A.max(AX)) | np.exp(A - A.max()) | np.exp(-(A[..., None] - B)**2) | np.exp(A)[..., None]*np.exp(B)
"""
SHARE = """
P + C | C*P | P + Q | P*Q | P/Q | P/(P + Q) | P/(Q + C) | P + 1e-9 | P*np.exp(A) | P.sum(AX) | P.mean(AX)
P + Q.sum(AX) | P*Q.sum(AX) | P + Q.mean(AX) | P*Q.mean(AX) | P/P.sum(AX) | P/P.mean(AX) | P/(P.sum(AX) + C)
P/(C + Q.sum(AX)) | P/(P.sum(AX) + Q.mean(AX)) | P/(P.sum(AX)*Q.sum(AX)) | (P*Q).sum(AX)/P.sum(AX)
(P/P.sum(AX)).mean(AX) | (P + C)/(P + C).sum(AX) | (P + C)/(P.sum(AX) + C) | np.exp(A).sum(AX)/np.exp(B).sum(AX)
np.exp(A)/np.exp(B).sum(AX) | 2*(P*Q).sum(AX)/(P.sum(AX) + Q.sum(AX) + C) | (P.sum(AX) + Q)/(P.sum(AX) + Q).sum(AX)
np.ones(P.shape[-1:]) + P | np.arange(1., 1 + P.shape[-1])*P | P + np.arange(1., 1 + P.shape[-1])
np.exp(A)*np.exp(B).sum(AX) | (np.exp(A)*P).sum(AX) | (np.exp(A) + np.exp(B)).sum(AX)
np.exp(A).sum() + np.exp(B).sum(AX) | np.exp(A).sum(AX) + np.exp(B).sum(AX) | (P + Q.sum(AX)).sum(AX)
(P*Q.sum(AX)).mean(AX) | P.sum(AX)/Q.sum(AX) | (P/(P.sum(AX) + C)).sum(AX) | np.exp(np.log(P).mean(AX))
np.exp(np.log(P).sum(AX)) | P.sum(AX)*Q/P.mean(AX) | np.sqrt(P)/np.sqrt(P).sum(AX) | P**2/(P**2).sum(AX)
"""
SHAPED = """
np.sqrt(P) | P**1.5 | 1/P | P**-0.5 | P/C | P.prod(AX) | P.max(AX) | P.min(AX) | P.sum(AX).prod(AX) | np.log1p(P)
np.maximum(P, C) | np.minimum(P, C) + P | np.where(A > 0, P, Q) | np.where(A > 0, P, 1.) | np.tanh(P) | np.expm1(P)
np.cumsum(P, -1) | np.cumsum(P, 0) | np.cumprod(P, -1) | np.concatenate([P, Q], -1) | np.concatenate([P, Q])
np.concatenate([P, P.sum(-1, keepdims=True)], -1) | np.stack([P, Q]) | np.stack([P, Q], -1).sum(AX) | P @ Q | P.T @ Q
np.outer(P, Q) | np.dot(P, Q) | (P[..., None]*Q).sum(AX) | np.sqrt((P**2).sum(AX)) | A.var(AX) + C | A.std(AX) + C
np.linalg.norm(P, axis=-1, keepdims=True) + C | np.prod(1 + P, axis=-1) | P[..., :1] | P[..., 0] | P[0] | P[None]
P[..., None] | P[:, None] | P.T | P.ravel() | P.reshape(-1, 1) | P[..., ::-1] | P[1:] | np.squeeze(P)
np.broadcast_to(P, (2, *P.shape)) | np.repeat(P, 2, -1) | np.swapaxes(P, 0, -1) | np.take(P, [0, 0], -1)
(1/P).sum(AX) | np.sum(P**2, axis=-1)/np.sum(P, axis=-1)**2 | np.einsum('...i,...i->...', P, Q)
"""
REAL = """
A + B | A - B | A*B | A*C | A + C | C - A | -A | A/P | A*P | np.log(P) | np.log(P) | np.log(P/Q) | np.log(P.sum(AX))
np.log(np.sum(P)) | np.log(P.mean(AX)) | np.log(P/P.sum(AX)) | A - np.log(P.sum(AX)) | A - np.log(np.exp(A).sum(AX))
np.log(np.exp(A).sum(AX)) | np.log(np.exp(A).sum(AX) + np.exp(B).sum(AX)) | np.log(np.exp(A).sum(AX) + C)
np.log(np.exp(A) + np.exp(B)) | np.log(np.exp(A).mean(AX)) | np.log(P).sum(AX) | (P*np.log(P)).sum(AX)
(P*np.log(P/Q)).sum(AX) | np.log(P + Q.sum(AX)) | np.log(np.sum(P + Q.sum(AX))) | np.log(P.prod(AX)) | np.sin(A)
np.cos(A) | np.tanh(A) | np.arctan(A) | A.sum(AX) | A.mean(AX) | A.max(AX) | A - A.mean(AX) | A/(1 + abs(A)) | A**2
(A - A.mean(AX))/(A.std(AX) + C) | A**3 | (A*P).sum(AX) | (A*P).sum(AX)/P.sum(AX) | ((A - B)**2).sum(AX)
(A**2).mean(AX) - B.mean(AX)**2 | np.logaddexp(A, B) | A @ B | A.T @ B | np.cumsum(A, -1) | np.where(A > B, A, B)
np.where(A > 0, A, 0.) | np.maximum(A, B) | np.maximum(A, 0) | np.clip(A, -1, 1) | np.diff(A, axis=-1)
A[..., None] - B | A[..., 0] | A.T | A[None] | A[..., None] | A.ravel() | np.log(1 - P/(P.sum(AX) + P))
np.concatenate([A, B], -1) | np.stack([A, B]) | A*np.exp(B).sum(AX) | np.exp(A) - np.exp(B) | A - A.max(AX)
np.exp(A) - 1 | np.log(P) - np.log(Q) | np.log(P) - np.log(P.sum(AX)) | np.sqrt(P) - np.sqrt(Q) | 1/P - 1/Q
A*np.log(P) | np.linalg.norm(A + C) | (1 - P)/(1 + P) | 1 - P | (P - Q)/(P + Q) | P.sum(AX) - Q.sum(AX)
np.exp(A/2)/(np.exp(A) - C) | (np.exp(A) - C)/np.exp(A/2) | (P - C)/np.sqrt(P) | np.sqrt(P)/(P - Q) | A/P**1.5
A*np.sqrt(P) | A/np.sqrt(P) | A*P**-0.5/Q | np.sqrt(A**2) | np.sqrt(A**2*P) | np.sqrt(abs(A))*B | A*abs(A) | np.cbrt(A)
np.sign(A)*P | np.log(abs(A)) | np.log(A**2 + C) | (A - B)/np.sqrt(P + C) | np.exp(A)*(B - C) | np.exp(A)*B/P.sum(AX)
(np.exp(A)*B).sum(AX)/np.exp(A).sum(AX) | (np.exp(A)*B).sum(AX)/(np.exp(A)*B).sum() | np.exp(A)*B + np.exp(B)*A
np.exp(A/2)*B/(np.exp(A)*B - C) | (np.exp(A) - np.exp(B))/(np.exp(A) + np.exp(B))
np.exp(A).sum(AX) - np.exp(B).sum(AX) | np.sum(np.log(P)*Q)
np.mean(np.log(P/P.sum(AX)), AX) | np.log(P/(P.sum(AX) + C)) | np.mean(np.log(P + C))
"""
AXES = ["", "", "axis=0", "axis=-1", "axis=-1, keepdims=True", "axis=0, keepdims=True", "axis=(0, -1)"]
AXES += [
    "axis=(0, 1), keepdims=True",
    "axis=-2, keepdims=True",
    "axis=None, keepdims=True",
    "axis=(-2, -1)",
    "axis=1",
]
NUMBERS = ["1", "2", "0.5", "3", "0.1"]
SHAPES = [(4,), (3,), (2,), (1,), (5, 3), (3, 3), (2, 2), (1, 3), (4, 1), (2, 3, 4), (2, 2, 2), (3, 1, 2)]
SHAPES += [(1, 2, 3), (2, 4, 1), ()]
LARGEST = 72
"""No array of a program has more entries."""


def _templates(text: str) -> list[str]:
    return [t.strip() for line in text.strip().splitlines() for t in line.split(" | ")]


_KINDS = [_templates(text) for text in (PART, SHARE, SHAPED, REAL)]


class Program(NamedTuple):
    """The text of a function `f`, and the arrays that it is called with."""

    text: str
    arrays: tuple[Any, ...]

    @property
    def function(self) -> Callable[..., Any]:
        """The function itself; each time another object, which nothing is known of."""
        space: dict[str, Any] = {"np": np}
        exec(self.text, space)
        return space["f"]


class _Value(NamedTuple):
    name: str
    value: Any
    positive: bool


def program(seed: Any, longest: int = 7) -> Program:
    """Return the program that a seed names: so many lines at most, of which the result depends on all."""
    draw = random.Random(f"ordinary {seed}")
    numbers = np.random.default_rng(draw.getrandbits(32))
    while True:
        arrays = _arrays(draw, numbers)
        values = [_Value(f"x{i}", x, False) for i, x in enumerate(arrays)]
        lines: list[str] = []
        for _ in range(draw.randint(1, longest)):
            made = _line(draw, values, len(lines))
            if made is not None:
                lines.append(f"    {made[0].name} = {made[1]}")
                values.append(made[0])
        if lines:
            names = ", ".join(f"x{i}" for i in range(len(arrays)))
            text = "\n".join([f"def f({names}):", *_used(lines), f"    return {values[-1].name}"])
            if any(f"x{i}" in text.split(":", 1)[1] for i in range(len(arrays))):
                return Program(text, arrays)


def _arrays(draw: random.Random, numbers: Any) -> tuple[Any, ...]:
    shape = draw.choice(SHAPES)
    shapes = [shape]
    for _ in range(draw.choice([0, 0, 1, 1, 2])):
        kind = draw.random()
        if kind < 0.4:
            shapes.append(shape)
        elif kind < 0.8:  # one that broadcasts: axes of extent 1, or left out
            shapes.append(
                tuple([n if draw.random() < 0.6 else 1 for n in shape[draw.randint(0, len(shape)) :]])
            )
        else:
            shapes.append(draw.choice(SHAPES))
    return tuple([numbers.normal(size=s) * draw.choice([1.0, 1.0, 0.3]) for s in shapes])


def _line(draw: random.Random, values: Sequence[_Value], number: int) -> tuple[_Value, str] | None:
    """Draw a line over earlier values that NumPy computes, and that stays moderate; None where many tries fail."""
    for _ in range(30):
        (kind,) = draw.choices(range(len(_KINDS)), (3, 5, 2, 2))
        positive, template = kind < 3, draw.choice(_KINDS[kind])
        late = [*values, *values[-2:], *values[-1:], *values[-1:]]
        real, above = late, [v for v in late if v.positive]
        if any(c in template for c in "PQ") and not above:
            continue
        chosen = {c: draw.choice(real) for c in "AB"} | {c: draw.choice(above or real) for c in "PQ"}
        text = _filled(template, draw, {c: v.name for c, v in chosen.items()})
        try:
            with np.errstate(all="raise"):
                value = eval(text, {"np": np, **{v.name: v.value for v in values}})
        except (ValueError, TypeError, IndexError, FloatingPointError, AttributeError):
            continue
        size = np.abs(value)
        if (
            np.size(value)
            and np.size(value) <= LARGEST
            and np.max(size) < 1e6
            and (not positive or np.min(value) > 1e-6)
        ):
            return _Value(f"t{number}", value, positive), text
    return None


def _filled(template: str, draw: random.Random, names: dict[str, str]) -> str:
    text = template
    while "AX" in text:
        text = text.replace("AX", draw.choice(AXES), 1)
    out = []
    for i, c in enumerate(text):
        alone = not (text[i - 1 : i].isalnum() or text[i + 1 : i + 2].isalnum() or text[i - 1 : i] == ".")
        out.append(names[c] if alone and c in names else draw.choice(NUMBERS) if alone and c == "C" else c)
    return "".join(out)


def _used(lines: Sequence[str]) -> list[str]:
    """Return the lines that the last one depends on."""
    kept: list[str] = []
    needed = {lines[-1].split(" = ")[0].strip()}
    for line in reversed(lines):
        name, text = line.strip().split(" = ", 1)
        if name in needed:
            kept.append(line)
            needed |= {f"t{i}" for i in range(len(lines)) if f"t{i}" in text}
    return kept[::-1]


@contextmanager
def alarmed() -> Iterator[None]:
    """Make errors of the warnings that a step is wrong or a relation raises; floating point does not warn."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for alarm in (rg.WrongRewrite, rg.FailedRelation):
            warnings.simplefilter("error", alarm)
        yield


def faults(
    p: Program,
    seed: Any,
    strategies: Sequence[str] = ("default", "eager"),
    further: bool = False,
    **options: Any,
) -> Iterator[str]:
    """Yield what is wrong with a program after rewriting: a value, a shape, a derivative, that it raises or warns.

    `further` derivatives are the second one and the pushforward, along the same direction.
    """
    f = p.function
    numbers = np.random.default_rng(random.Random(f"direction {seed}").getrandbits(32))
    along = [numbers.normal(size=np.shape(x)) for x in p.arrays]
    argnums = tuple(range(len(p.arrays)))
    with alarmed():
        wide = [np.asarray(x, np.longdouble) for x in p.arrays]
        plain, truth = f(*p.arrays), np.asarray(f(*wide))
        if not _agree(plain, truth, 1e-9):
            return
        weights = numbers.normal(size=np.shape(plain))
        scalar = lambda *a: np.sum(weights * f(*a))
        slope, curvature = _slopes(scalar, wide, along)
        for how in strategies:
            options["strategy"] = how
            try:
                value = rg.stabilize(f, **options)(*p.arrays)
                if not _agree(value, truth, 1e-6):
                    yield f"{how}: value {value!r} where NumPy has {plain!r}"
                if slope is None:
                    continue
                gradient = rg.grad(scalar, argnums=argnums, **options)
                found, size = _dot(gradient(*p.arrays), along)
                if not abs(found - slope) <= 1e-6 * abs(slope) + 1e-7 * size:
                    yield f"{how}: slope {found!r} where differences give {slope!r}"
                if not further:
                    continue
                pushed = float(np.sum(weights * rg.jvp(f, p.arrays, along, **options)[1]))
                if not abs(pushed - slope) <= 1e-6 * abs(slope) + 1e-7 * size:
                    yield f"{how}: pushforward {pushed!r} where differences give {slope!r}"
                if curvature is None:
                    continue
                second = rg.grad(_projected(gradient, along), argnums=argnums, **options)
                found, size = _dot(second(*p.arrays), along)
                # Differences that settle may themselves be 10⁻⁸ off.
                if not abs(found - curvature) <= 1e-4 * abs(curvature) + 1e-5 * size + 3e-8:
                    yield f"{how}: curvature {found!r} where differences give {curvature!r}"
            except Exception as error:
                yield f"{how}: raises {type(error).__name__}: {str(error).splitlines()[0]}"


def _agree(value: Any, truth: Any, tolerance: float) -> bool:
    if np.shape(value) != np.shape(truth):
        return False
    scale = np.max(np.abs(truth), initial=0)
    return bool(
        np.allclose(
            np.asarray(value, np.longdouble),
            truth,
            rtol=tolerance,
            atol=float(1e-3 * tolerance * scale) + 1e-15,
        )
    )


def _inner(cotangents: Sequence[Any], along: Sequence[Any]) -> Any:
    return sum(np.sum(g * d) for g, d in zip(cotangents, along, strict=True))


def _projected(gradient: Callable[..., Any], along: Sequence[Any]) -> Callable[..., Any]:
    return lambda *arrays: _inner(gradient(*arrays), along)


def _dot(cotangents: Sequence[Any], along: Sequence[Any]) -> tuple[float, float]:
    """Return a derivative along a direction, and how large what it is made of may be."""
    size = sum(float(np.sum(np.abs(g * d))) for g, d in zip(cotangents, along, strict=True))
    return float(_inner(cotangents, along)), 1e-3 + size


def _slopes(
    f: Callable[..., Any], at: Sequence[Any], along: Sequence[Any]
) -> tuple[float | None, float | None]:
    """Return two derivatives along a direction; None where two steps do not agree on it, as at a kink."""
    firsts, seconds = [], []
    for step in (1e-4, 3e-5):
        middle, *ends = [
            f(*[x + s * step * d for x, d in zip(at, along, strict=True)]) for s in (0, 1, -1, 2, -2)
        ]
        firsts.append(float((8 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12 * step)))
        seconds.append(
            float((16 * (ends[0] + ends[1]) - (ends[2] + ends[3]) - 30 * middle) / (12 * step * step))
        )
    return _settled(firsts, 1e-9), _settled(seconds, 1e-6)


def _settled(found: Sequence[float], tolerance: float) -> float | None:
    one, other = found
    good = np.isfinite(one) and abs(one - other) <= tolerance * (abs(one) + 1e-2)
    return other if good else None
