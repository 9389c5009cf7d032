"""Floats as a comb: which there are in an interval, how far apart they are, and what a difference of two leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from relgrad.accuracy.report import table
from relgrad.display.page import Markup, element, joined
from relgrad.display.svg import NAIVE, RELGRAD, Picture, group, label, legible, line, rect
from relgrad.errors import RelgradError

TEETH = 260
"""So many floats are drawn one by one."""


@dataclass(frozen=True)
class Format:
    """float64 → 53, −1022, 1023: bits of the significand, least and largest exponent of normal numbers."""

    name: str
    digits: int
    least: int
    largest: int

    @classmethod
    def of(cls, dtype: Any) -> Format:
        """Return the format of a dtype, or for a number n a small one, with n bits and exponents from -3 to 3.

        >>> Format.of("float64").spacing(1.0) == 2.0**-52, Format.of(3).spacing(1.0)
        (True, 0.25)

        Raises RelgradError for what is no format.
        """
        if isinstance(dtype, int) and not isinstance(dtype, bool) and 1 <= dtype <= 53:
            return cls(f"{dtype}-bit significands", dtype, -3, 3)
        try:
            info = np.finfo(dtype)
        except (TypeError, ValueError):
            raise RelgradError(
                f"{dtype!r} is no format of floats",
                cure='pass a dtype such as "float16", or a number of bits, 1 to 53',
            ) from None
        if info.nmant > 52:
            raise RelgradError(
                f"{info.dtype} has numbers that no Python float holds", cure='pass "float64", or smaller'
            )
        return cls(str(info.dtype), info.nmant + 1, info.minexp, info.maxexp - 1)

    @property
    def most(self) -> float:
        """float16 → 65504.0: the largest float."""
        return math.ldexp(2.0 - math.ldexp(1.0, 1 - self.digits), self.largest)

    def exponent(self, x: float) -> int:
        """5.0 → 2: e of the binade 2^e ≤ |x| < 2^(e+1) that a number is in; subnormals are in the least."""
        return max(math.frexp(x)[1] - 1, self.least) if x else self.least

    def spacing(self, x: float) -> float:
        """1.0 in float64 → 2⁻⁵²: the distance of the floats next to x, on the side away from zero."""
        return math.ldexp(1.0, self.exponent(x) + 1 - self.digits)

    def nearest(self, x: float | Fraction) -> float:
        """1/3 → 0.3333333333333333: the float nearest to x, ties to even; raises RelgradError where it overflows."""
        if abs(Fraction(x)) > Fraction(self.most):
            raise RelgradError(
                f"a result is larger than {self.most:.6g}, the largest float of {self.name}",
                cure="pass smaller numbers, or another format",
            )
        step = Fraction(self.spacing(float(x)))
        return float(round(Fraction(x) / step) * step)

    def count(self, low: float, high: float) -> int:
        """1, 2 with 3 bits → 5: the number of floats from low to high."""
        return self._ordinal(high, math.floor) - self._ordinal(low, math.ceil) + 1

    def _ordinal(self, x: float, rounding: Any) -> int:
        """the least positive float → 1: the number of the float at x, or of the next by a rounding; 0 → 0."""
        step = Fraction(self.spacing(x))
        whole = rounding(Fraction(x) / step)
        above = (self.exponent(x) - self.least) << (self.digits - 1)
        return whole + above if x > 0 else whole - above if x < 0 else 0

    def number(self, ordinal: int) -> float:
        """1 → the least positive float: the float with a number."""
        size = abs(ordinal)
        above = max((size >> (self.digits - 1)) - 1, 0)
        whole = size - (above << (self.digits - 1))
        return math.copysign(math.ldexp(whole, self.least + above + 1 - self.digits), ordinal)

    def between(self, low: float, high: float, most: int = TEETH) -> tuple[list[float], int]:
        """1, 2 with 3 bits, at most 3 → [1, 1.5, 2], 2: floats, each `step`-th, and the step, a power of two."""
        first, last = self._ordinal(low, math.ceil), self._ordinal(high, math.floor)
        step = 1
        while (last - first) // step + 1 > most:
            step *= 2
        return [self.number(n) for n in range(-(-first // step) * step, last + 1, step)], step


@dataclass
class Comb(Picture):
    """1, 8, 3 bits → 13 teeth: the floats of an interval; the longer the tooth, the rounder the number."""

    low: float
    high: float
    format: Format

    def __post_init__(self) -> None:
        self.low, self.high = _bounds(self.low, self.high, self.format)
        self.floats, self.step = self.format.between(self.low, self.high)
        self.count = self.format.count(self.low, self.high)

    @property
    def title(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """ "Floats from 1 to 8 (3-bit significands): 13": the picture in a line."""
        low, high = self._said(self.low), self._said(self.high)
        return f"Floats from {low} to {high} ({self.format.name}): {_many(self.count)}"

    def _said(self, x: float) -> str:
        short = f"{self.low:.6g}" != f"{self.high:.6g}"
        return f"{x:.6g}" if short else f"{x:.17g}"

    def binades(self) -> list[tuple[float, float, float, int]]:
        """1 … 4 with 3 bits → [(1, 2, 0.25, 4), (2, 4, 0.5, 5)]: from, to, spacing, and number of floats."""
        f, found = self.format, []
        edges = {self.low, self.high, 0.0}
        for end in (self.low, self.high):
            edges |= {math.copysign(math.ldexp(1.0, e), end) for e in range(f.least + 1, f.exponent(end) + 1)}
        inside = sorted(x for x in edges if self.low <= x <= self.high)
        for a, b in pairwise(inside):
            count = f.count(a, b) - (f.nearest(b) == b and b != self.high)
            found.append((a, b, f.spacing(a if abs(a) < abs(b) else b), count))
        return found

    def __str__(self) -> str:
        pieces = self.binades()
        shown = pieces if len(pieces) <= 12 else [*pieces[:6], *pieces[-6:]]
        rows = [(self._said(a), self._said(b), f"{step:.3g}", _many(count)) for a, b, step, count in shown]
        lines = [self.title, table(("from", "to", "apart", "how many"), rows)]
        if len(pieces) > len(shown):
            lines.append(f"{len(pieces) - len(shown)} pieces between these are left out")
        if self.step > 1:
            lines.append(self._note())
        return "\n".join(lines)

    __repr__ = __str__

    def _note(self) -> str:
        return f"one of {self.step:,} floats is drawn" if self.step > 1 else "every float is drawn"

    def drawn(self) -> tuple[float, float, Markup]:
        width, left, right, base = 720.0, 30.0, 690.0, 112.0
        x_of = lambda x: left + (right - left) * ((x - self.low) / (self.high - self.low))
        parts = [label(self.title, left, 18, "start", font_weight="bold", font_size=11)]
        parts += _teeth(self.floats, x_of, base, self.format, self.step)
        ends = [self.low, self.high]
        powers = sorted({a for a, *_ in self.binades()} - set(ends), key=abs, reverse=True)
        parts += _numbers({x: self._said(x) for x in [*ends, *powers]}, x_of, base + 18, width)
        said = f"{self._note()}; the longest teeth, in blue, are powers of two"
        parts.append(label(said, left, base + 42, "start", font_size=11))
        return width, base + 54, joined(parts)


@dataclass
class Difference(Picture):
    """1.0000001 − 1.0 → 1.0000000005838672e-07, of whose 53 bits 25 are lost: what is left of a − b: the floats around
    a, around b, and around their difference, and how many digits are lost.

    a and b stand for all numbers that are rounded to them; their difference is known no better than these are.
    """

    a: float
    b: float
    format: Format

    def __post_init__(self) -> None:
        for x in (self.a, self.b):
            _bounds(x, x, self.format, same=True)
        self.a, self.b = self.format.nearest(self.a), self.format.nearest(self.b)
        self.result = self.format.nearest(Fraction(self.a) - Fraction(self.b))
        """The difference of the two floats, rounded."""
        self.unknown = (self.format.spacing(self.a) + self.format.spacing(self.b)) / 2
        """How far the difference of the two numbers may be from that of the floats."""
        off = [self.format.spacing(x) / 2 for x in (self.a, self.b)]
        self.numbers = [("a", self.a, off[0]), ("b", self.b, off[1]), ("a − b", self.result, self.unknown)]
        """Each by its name, with how far the number may be off that was rounded to it."""

    @property
    def lost(self) -> float:
        """1.0000001 − 1.0 → 25: the last bits of the difference that say nothing of the rounded numbers."""
        if self.result == 0:
            return float(self.format.digits)
        bits = math.log2(self.unknown) - math.log2(self.format.spacing(self.result)) + 1
        return min(max(bits, 0.0), float(self.format.digits))

    @property
    def title(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """ "What is left of 1.0000001000000001 − 1": the picture in a line."""
        return f"What is left of {self.a:.17g} − {self.b:.17g}"

    def __str__(self) -> str:
        f = self.format
        rows = [(name, f"{x:.17g}", f"{f.spacing(x):.3g}", f"{off:.3g}") for name, x, off in self.numbers]
        head = ("", "float", "next float is off by", "the number may be off by")
        return "\n".join([self.title, table(head, rows), self._says()])

    __repr__ = __str__

    def _says(self) -> str:
        said = f"of {self.format.digits} bits of a − b, {self.lost:.0f} say nothing of the numbers that were rounded"
        return said if self.lost else f"all {self.format.digits} bits of a − b are known: nothing cancels"

    def drawn(self) -> tuple[float, float, Markup]:
        width, left, right = 720.0, 150.0, 690.0
        middle, half = (left + right) / 2, (right - left) / 2
        parts = [label(self.title, 16, 20, "start", font_weight="bold", font_size=11)]
        for n, (name, x, off) in enumerate(self.numbers):
            base, step = 104.0 + 100 * n, self.format.spacing(x)
            reach = max(4 * step, 1.6 * off)
            x_of = lambda v, x=x, reach=reach: middle + half * (float(Fraction(v) - Fraction(x)) / reach)
            floats, each = self._near(x, reach)
            floats = [v for v in floats if left <= x_of(v) <= right]
            low, high = (max(min(middle + s * half * off / reach, right), left) for s in (-1, 1))
            said = element("title", legible(f"{name} may be anything within {off:.3g} of {x:.17g}"))
            style = {"fill": NAIVE, "fill_opacity": 0.22, "stroke": NAIVE, "stroke_dasharray": "4 3"}
            shade = rect(low, base - 50, high - low, 50, **style)
            parts.append(group(said, shade))
            parts += _teeth(floats, x_of, base, self.format, each)
            parts.append(label(name, 16, base - 26, "start", font_weight="bold"))
            parts.append(label(f"{x:.12g}", 16, base - 10, "start", font_size=11))
            parts.append(label(f"± {off:.3g}, floats {step:.3g} apart", middle, base + 18, font_size=11))
        said = "red, dashed: where the number may be that was rounded"
        parts.append(label(said, 16, 350, "start", font_size=11))
        parts.append(label(self._says(), 16, 370, "start", font_size=11))
        return width, 384.0, joined(parts)

    def _near(self, x: float, reach: float) -> tuple[list[float], int]:
        most = self.format.most
        return self.format.between(max(x - reach, -most), min(x + reach, most), 120)


def _bounds(low: float, high: float, format: Format, same: bool = False) -> tuple[float, float]:
    """1, 8 → 1.0, 8.0: the ends of an interval; raises RelgradError where the format has none such."""
    low, high = float(low), float(high)
    if not (math.isfinite(low) and math.isfinite(high)) or not (low <= high if same else low < high):
        raise RelgradError(
            f"from {low} to {high} there are no floats to draw",
            cure="pass two finite numbers, the smaller one first",
        )
    if max(abs(low), abs(high)) > format.most:
        raise RelgradError(
            f"{max(abs(low), abs(high)):g} is more than {format.most:g}, the largest float of {format.name}",
            cure="pass smaller numbers, or another format",
        )
    return low, high


def _teeth(floats: list[float], x_of: Any, base: float, format: Format, step: int) -> list[Markup]:
    parts = []
    for x in floats:
        tall = 14 + 36 * _roundness(x, format, step)
        power = tall >= 50
        options: dict[str, Any] = (
            {"stroke": RELGRAD, "stroke_width": 2.4} if power else {"stroke_opacity": 0.7}
        )
        tooth = line(x_of(x), base - tall, x_of(x), base, **options)
        parts.append(group(element("title", legible(f"{x:.17g}")), tooth, class_="tooth"))
    ends = [x_of(x) for x in floats] or [0.0]
    return [line(min(ends), base, max(ends), base), *parts]


def _roundness(x: float, format: Format, step: int) -> float:
    """2.0 → 1.0, 1.25 with 3 bits → 0: the share of zeros at the end of a significand of every `step`-th."""
    whole = int(Fraction(abs(x)) / Fraction(format.spacing(x)))
    if not whole or whole.bit_count() == 1:
        return 1.0
    given = step.bit_length() - 1
    return max((whole & -whole).bit_length() - 1 - given, 0) / max(format.digits - 1 - given, 1) * 0.9


def _numbers(numbers: dict[float, str], x_of: Any, y: float, width: float) -> list[Markup]:
    """{1.0: "1", 8.0: "8"} → texts below their places, those that have room; earlier ones come first."""
    parts: list[Markup] = []
    taken: list[tuple[float, float]] = []
    for x, said in numbers.items():
        half = len(said) * 3.8
        at = min(max(x_of(x), half + 4), width - half - 4)
        if all(abs(at - other) > half + reach + 6 for other, reach in taken):
            taken.append((at, half))
            parts.append(label(said, at, y, font_size=11))
    return parts


def _many(count: int) -> str:
    return f"{count:,}" if count < 10**7 else f"{count:.2e}"
