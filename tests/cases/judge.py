"""How wrong a result is: bits of error, and whether that passes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import mpmath
import numpy as np
from mpmath import mp, mpf

from cases.case import Case

ULPS = 64
NEGLIGIBLE = 450
"""So many roundings of the largest entry, 1e-13 of it in float64, are no error of an entry below that."""


class Verdict(NamedTuple):
    """Whether a result passes, how many bits of it are wrong, and the entry that is."""

    ok: bool
    bits: float
    why: str = ""


def judge(case: Case, got: Any, truth: Any) -> Verdict:
    """Compare a result with the reference, entry by entry, in the precision of the case.

    An entry passes within 64 units in the last place of the reference; below the smallest normal float; or if
    both it and its error are negligible beside the largest entry, or beside the natural scale of the case.
    """
    got, everything = np.asarray(got), float(8 * np.dtype(case.dtype).itemsize)
    if got.shape != truth.shape:
        return Verdict(False, everything, f"shape {got.shape}, not {truth.shape}")
    info = np.finfo(case.dtype)
    finite = [abs(t) for t in truth.flat if mpmath.isfinite(t) and abs(t) <= float(info.max)]
    slack = NEGLIGIBLE * float(info.eps) * max([mpf(case.scale), *finite])
    worst = Verdict(True, 0.0)
    for place, (x, t) in enumerate(zip(got.flat, truth.flat, strict=True)):
        bits, ok = _bits(float(x), t, info, slack, everything)
        if (not ok, bits) > (not worst.ok, worst.bits):
            worst = Verdict(ok, bits, "" if ok else f"entry {place}: {float(x)!r}, not {mpmath.nstr(t, 17)}")
    return worst


def _bits(x: float, t: Any, info: Any, slack: Any, everything: float) -> tuple[float, bool]:
    with np.errstate(over="ignore", under="ignore"):
        nearest = info.dtype.type(float(t))
    if not np.isfinite(nearest) or not math.isfinite(x):
        same = x == nearest or (x != x and nearest != nearest)
        return (0.0, True) if same else (everything, False)
    with mp.workdps(60):
        distance = abs(mpf(x) - t)
        ulps = distance / mpf(float(np.spacing(abs(nearest))))
        bits = min(float(mpmath.log(max(ulps, mpf(1)), 2)), everything)
        if ulps <= ULPS:
            return bits, True
        tiny = max(abs(x), abs(t)) < float(info.smallest_normal)
        return (0.0, True) if tiny or (abs(t) <= slack and distance <= slack) else (bits, False)
