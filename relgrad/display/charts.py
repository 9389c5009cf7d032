"""Errors in bits as pictures: along an input, and over two inputs as a map."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relgrad.accuracy.report import table
from relgrad.display.page import Markup, element, joined
from relgrad.display.svg import NAIVE, RELGRAD, Picture, fitted, group, label, legible, line, rect, width_of

DECADES = 3.0
"""Over so many orders of magnitude an axis is logarithmic."""
ROWS = 12
"""So many rows the table of a picture has."""


@dataclass(frozen=True)
class Axis:
    """1e-9 … 1, "log": 1e-9 ↦ 0, 1 ↦ 1: numbers from `low` to `high` as places from 0 to 1: evenly, by their
    logarithms, or both sides of 0 by these.

    `least` is the size below which an axis on both sides of zero is even.
    """

    low: float
    high: float
    kind: str = "linear"
    least: float = 0.0

    @classmethod
    def of(cls, low: float, high: float, spacing: str | None = None) -> Axis:
        """Return the axis that suits a range, or the one that is asked for.

        >>> Axis.of(1e-8, 1.0).kind, Axis.of(0.0, 1.0).kind, Axis.of(-1.0, 1.0, "log").kind
        ('log', 'linear', 'both')
        """
        size = max(abs(low), abs(high))
        same = low > 0 or high < 0
        wide = same and max(abs(low), abs(high)) / min(abs(low), abs(high)) >= 10**DECADES
        if spacing == "linear" or (spacing is None and not wide):
            return cls(low, high)
        if same:
            return cls(low, high, "log")
        return cls(low, high, "both", max(size * 1e-17, 5e-324 * 2**52))

    def _coordinate(self, x: float) -> float:
        if self.kind == "log":
            return math.copysign(1.0, self.low) * math.log10(abs(x))
        if self.kind == "both":
            return math.copysign(math.log10(max(abs(x) / self.least, 1.0)), x)
        return x

    def place(self, x: float) -> float:
        """3.0 on 0 … 10 → 0.3: the place of a number."""
        low, high = self._coordinate(self.low), self._coordinate(self.high)
        if self.kind == "linear" and math.isinf(high - low):
            return (x / 2 - low / 2) / (high / 2 - low / 2)
        return (self._coordinate(x) - low) / (high - low)

    def number(self, place: float) -> float:
        """0.3 on 0 … 10 → 3.0: the number at a place."""
        low, high = self._coordinate(self.low), self._coordinate(self.high)
        at = low * (1 - place) + high * place
        if self.kind == "log":
            found = 10.0**at if self.low > 0 else -(10.0**-at)
        elif self.kind == "both":
            found = math.copysign(self.least * 10.0 ** abs(at), at)
        else:
            found = at
        return min(max(found, self.low), self.high)

    def points(self, count: int, rng: np.random.Generator) -> list[float]:
        """4 on 0 … 1 → [0.2, 0.4, 0.6, 0.9]: numbers along the axis, one drawn in each of as many parts of one size."""
        return [self.number((i + u) / count) for i, u in enumerate(rng.random(count))]

    def ticks(self, most: int = 6) -> list[tuple[float, str]]:
        """0 … 1 → [(0, "0"), (0.2, "0.2"), …]: the numbers that are written along the axis, and their texts."""
        if self.kind == "linear":
            step = 10.0 ** math.floor(math.log10(max((self.high - self.low) / most, 1e-320)))
            step *= next(k for k in (1, 2, 5, 10) if (self.high - self.low) / (k * step) <= most)
            first = math.ceil(self.low / step - 1e-9)
            numbers = [
                n * step for n in range(first, first + most + 2) if n * step <= self.high + step * 1e-9
            ]
            return [(x, f"{x + 0.0:.6g}") for x in numbers]
        sides = []
        for sign, edge in ((-1, -self.low), (1, self.high)):
            if edge > 0:
                other = -self.high if sign < 0 else self.low
                sides.append((sign, self.least if self.kind == "both" else other, edge))
        found: list[tuple[float, str]] = [(0.0, "0")] if self.kind == "both" else []
        for sign, near, far in sides:
            first, last = math.ceil(math.log10(near) - 1e-9), math.floor(math.log10(far) + 1e-9)
            first += self.kind == "both"
            step = max(1, math.ceil((last - first) * len(sides) / most))
            found += [
                (sign * 10.0**e, _power(sign, e))
                for e in range(last, first + (self.kind == "both") * step // 2 - 1, -step)
            ]
        return sorted(found)


def _power(sign: int, exponent: int) -> str:
    size = "1" if exponent == 0 else "10" if exponent == 1 else f"1e{exponent}"
    return size if sign > 0 else f"-{size}"


@dataclass
class ErrorCurve(Picture):
    """(1 − cos x)/x² at x = 1e-9, …, 1 → 53, …, 1 bits as written, 0 as rewritten: errors in bits along an input, as
    written and as rewritten, and where formulas change.

    `x` are the numbers tried, `naive` and `rewritten` the bits that are lost there, NaN where no true value is known.
    """

    name: str
    argument: str
    x: Sequence[float]
    naive: Sequence[float]
    rewritten: Sequence[float]
    axis: Axis
    most: float = 64.0
    changes: Sequence[tuple[float, str]] = field(default_factory=list)
    """Where a formula takes over from another, and which test says so."""

    @property
    def title(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """ "Bits lost by f along x": the picture in a line."""
        return f"Bits lost by {self.name} along {self.argument}"

    def __str__(self) -> str:
        count = len(self.x)
        rows = []
        for i in _some(count, ROWS):
            part = range(max(0, i - count // (2 * ROWS)), min(count, i + count // (2 * ROWS) + 1))
            worst = [_worst([series[j] for j in part]) for series in (self.naive, self.rewritten)]
            rows.append((f"{self.x[i]:.4g}", *worst))
        lines = [self.title, table((f"{self.argument} near", "naive: worst", "relgrad: worst"), rows)]
        lines += [f"a formula changes at {self.argument} = {at:.6g}: {why}" for at, why in self.changes]
        unknown = sum(math.isnan(n) for n in self.naive)
        if unknown:
            lines.append(f"{unknown} of {count} points are left out: no true value was found")
        return "\n".join(lines)

    __repr__ = __str__

    def drawn(self) -> tuple[float, float, Markup]:
        width, height, left, top, bottom = 640.0, 330.0, 46.0, 52.0, 48.0
        inner, tall = width - left - 16, height - top - bottom
        x_of = lambda x: left + inner * self.axis.place(x)
        y_of = lambda bits: top + tall * (1 - min(bits, self.most) / self.most)
        parts = [_frame(left, top, inner, tall), *_legend(left, 34.0, bool(self.changes))]
        parts.append(label(fitted(self.title, width - 32), left, 18, "start", font_weight="bold"))
        for bits in range(0, int(self.most) + 1, 16 if self.most > 32 else 8):
            parts.append(line(left, y_of(bits), left + inner, y_of(bits), stroke_opacity=0.15))
            parts.append(label(bits, left - 6, y_of(bits) + 4, "end", font_size=11))
        parts += _along(self.axis, x_of, top + tall, left, width)
        parts.append(label(self.argument, left + inner / 2, height - 8))
        for at, why in self.changes:
            if 0 <= self.axis.place(at) <= 1:
                said = element("title", legible(f"at {at:.6g} a formula changes: {why}"))
                mark = line(x_of(at), top, x_of(at), top + tall, stroke_dasharray="2 3", stroke_width=1.5)
                tip = element("path", d=f"M{x_of(at) - 4:.1f} {top - 7:.1f}h8l-4 7Z", fill="currentColor")
                parts.append(group(said, mark, tip, class_="change"))
        for x, naive, rewritten in zip(self.x, self.naive, self.rewritten, strict=True):
            if not math.isnan(naive):
                parts.append(_cross(x_of(x), y_of(naive)))
            if not math.isnan(rewritten):
                parts.append(_ring(x_of(x), y_of(rewritten)))
        return width, height, joined(parts)


@dataclass
class ErrorMap(Picture):
    """log(eˣ + eʸ) over x, y → two maps of squares: errors in bits over two inputs, as written and as rewritten side by
    side.

    `naive` and `rewritten` are arrays, a row for each number along the second input, NaN where nothing is known.
    """

    name: str
    arguments: tuple[str, str]
    x: Sequence[float]
    y: Sequence[float]
    naive: Any
    rewritten: Any
    axes: tuple[Axis, Axis]
    most: float = 64.0

    @property
    def title(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """ "Bits lost by f over x and y": the picture in a line."""
        return f"Bits lost by {self.name} over {self.arguments[0]} and {self.arguments[1]}"

    def __str__(self) -> str:
        lines = [self.title]
        xs, ys = _some(len(self.x), 6), _some(len(self.y), 6)
        for name, errors in self._panels():
            head = (f"{name}: {self.arguments[1]} \\ {self.arguments[0]}", *[f"{self.x[i]:.3g}" for i in xs])
            lines.append(
                table(head, [(f"{self.y[j]:.3g}", *[_bits(errors[j, i]) for i in xs]) for j in ys[::-1]])
            )
        worst = [f"{name} at most {_worst(list(np.ravel(e)))}" for name, e in self._panels()]
        return "\n".join([*lines, f"bits lost: {', '.join(worst)}"])

    __repr__ = __str__

    def _panels(self) -> list[tuple[str, Any]]:
        return [("naive", self.naive), ("relgrad", self.rewritten)]

    def drawn(self) -> tuple[float, float, Markup]:
        side, left, top, between = 280.0, 62.0, 60.0, 30.0
        width, height = left + 2 * side + between + 20, top + side + 86
        parts = [label(fitted(self.title, width - 32), left, 18, "start", font_weight="bold")]
        cell = side / max(len(self.x), len(self.y))
        for n, (name, errors) in enumerate(self._panels()):
            x0 = left + n * (side + between)
            parts += [_frame(x0, top, side, side), label(name, x0 + side / 2, top - 10)]
            for (j, i), bits in np.ndenumerate(errors):
                at = x0 + side * (i + 0.5) / len(self.x), top + side * (1 - (j + 0.5) / len(self.y))
                where = f"{self.arguments[0]} = {self.x[i]:.3g}, {self.arguments[1]} = {self.y[j]:.3g}"
                parts.append(_cell(*at, cell, float(bits), self.most, where))
            x_of = lambda x, x0=x0: x0 + side * self.axes[0].place(x)
            parts += _along(self.axes[0], x_of, top + side, x0 - 10, x0 + side + 15, 4)
            parts.append(label(self.arguments[0], x0 + side / 2, top + side + 34))
        for y, said in self.axes[1].ticks(6):
            at = top + side * (1 - self.axes[1].place(y))
            parts += [line(left - 4, at, left, at), label(said, left - 7, at + 4, "end", font_size=11)]
        parts.append(label(fitted(self.arguments[1], left + 60), 8, top - 10, "start"))
        parts.append(label("bits lost:", left, height - 20, "start", font_size=11))
        for k, bits in enumerate([1, *[self.most * q / 4 for q in range(1, 5)]]):
            at = left + 100 + 76 * k
            parts.append(_cell(at, height - 24, 16.0, bits, self.most, "scale"))
            parts.append(label(f"{bits:g}", at + 14, height - 20, "start", font_size=11))
        return width, height, joined(parts)


def _cell(x: float, y: float, cell: float, bits: float, most: float, where: str) -> Markup:
    """64 bits → a large red square, 1 bit → a small blue one, NaN → a ring."""
    said = element("title", legible(f"{where}: {_bits(bits)} bits"))
    if math.isnan(bits):
        ring = element("circle", cx=x, cy=y, r=1.5, stroke="currentColor", stroke_opacity=0.5)
        return group(said, ring, class_="cell")
    share = min(bits / most, 1.0)
    size = max(math.sqrt(share) * cell * 0.96, 1.4)
    fill = RELGRAD if bits <= 4 else NAIVE
    square = rect(x - size / 2, y - size / 2, size, size, fill=fill, fill_opacity=0.45 + 0.55 * share)
    return group(said, square, class_="cell")


def _frame(x: float, y: float, width: float, height: float) -> Markup:
    return rect(x, y, width, height, stroke="currentColor", stroke_opacity=0.5)


def _along(
    axis: Axis, x_of: Callable[[float], float], y: float, low: float, high: float, most: int = 8
) -> list[Markup]:
    """axis → ticks below a panel, with those of their texts that have room between two borders."""
    parts, end = [], low - 4
    for x, said in axis.ticks(most):
        at, half = x_of(x), width_of(said) / 2
        parts.append(line(at, y, at, y + 4))
        if at - half > end + 4 and at + half < high:
            parts.append(label(said, at, y + 17, font_size=11))
            end = at + half
    return parts


def _legend(x: float, y: float, changes: bool) -> list[Markup]:
    parts = [
        _cross(x + 5, y),
        label("naive, as written", x + 14, y + 4, "start", font_size=11),
        _ring(x + 160, y),
        label("relgrad, as rewritten", x + 169, y + 4, "start", font_size=11),
    ]
    if changes:
        parts.append(element("path", d=f"M{x + 336:g} {y - 4:g}h8l-4 7Z", fill="currentColor"))
        parts.append(label("a formula changes", x + 349, y + 4, "start", font_size=11))
    return parts


def _cross(x: float, y: float) -> Markup:
    d = f"M{x - 2.6:.1f} {y - 2.6:.1f}l5.2 5.2m0 -5.2l-5.2 5.2"
    return element("path", d=d, stroke=NAIVE, stroke_width=1.4)


def _ring(x: float, y: float) -> Markup:
    return element("circle", cx=x, cy=y, r=2.6, stroke=RELGRAD, stroke_width=1.5)


def _some(count: int, most: int) -> list[int]:
    """10, 4 → [0, 3, 6, 9]: at most so many positions of a list, evenly from the first to the last."""
    return sorted({round(k * (count - 1) / (most - 1)) for k in range(most)}) if count else []


def _bits(bits: float) -> str:
    return "unknown" if math.isnan(bits) else f"{bits:.1f}"


def _worst(errors: Sequence[float]) -> str:
    return _bits(float(np.fmax.reduce(errors)))
