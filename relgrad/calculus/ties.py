"""Derivatives of matrix factors where eigenvalues or singular values tie: the limit as they are moved apart.

    D(w) = lim D(w + t·e), t → 0,    v and all that does not depend on w held fixed

D is a derivative of any order of a function that does not depend on the choice of vectors. Its program divides by gaps
of the spectrum: (v*w**2) @ v.T has the derivative v·(f ∘ k)·vᵀ, f_ij = 1/(w_j − w_i), where k_ij vanishes with the gap.
Along A(t) = v·diag(w + t·e)·vᵀ the factors are w + t·e and v, so the program is a Laurent series in t, whose terms of
negative powers cancel. Where they do not, the function depends on the choice and has no derivative: it is NaN.

Source: Higham, "Functions of Matrices", theorem 3.11 (Daleckii & Krein), of which this is the limit for functions that
are not known to be spectral.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from relgrad.calculus.arrays import Coefficient, polynomial
from relgrad.calculus.mended import Mended
from relgrad.calculus.path import MANY, Path, quotient
from relgrad.calculus.ring import NoSeries, Power
from relgrad.errors import RelgradError
from relgrad.leaf import Input
from relgrad.op import Constant, Project
from relgrad.ops.factors import Cauchy
from relgrad.term import Term, substitute, subterms, term

CLOSE = 0.4
"""Values tie where their relative distance is less than this power of the rounding unit."""
ROUNDINGS = 8.0
"""So many roundings of the largest value, for each row, may lie between values that are equal."""
APART = 2.0**-13
"""Values that tie are moved apart by at least this part of the largest distance of such values."""
TERMS = 3
"""So many coefficients are summed; the last one is counted as an error."""
MOST = 12
ZERO: Coefficient = np.zeros(()), 0.0
EACH = 4
"""So many more series are made for each op of a program."""
LEAST = 2.0**-256
"""Zeros are moved apart by so much, and large values by no more than its reciprocal, whose powers are in range."""
TINY = 2.0**-1022
"""Errors that are smaller count as zero, those below LEAST where zeros are moved apart."""
ROUGH = 2.0**-10
"""The largest relative error with which a limit stands for a program."""


class Spectral(NamedTuple):
    """D(w, v, c): a program as a term of spectra w by whose gaps it divides, of factors v, and of other arguments c."""

    body: Term
    gaps: tuple[Term, ...]
    spectra: tuple[Term, ...]
    factors: tuple[Term, ...]
    others: tuple[Term, ...]

    def __repr__(self) -> str:
        return f"{len(self.spectra)} spectra" if len(self.spectra) > 1 else "a spectrum"


class AtTies(Mended):
    """D(w) → lim D(w + t·e), t → 0, where values tie: a program that divides by gaps of spectra.

    Operands: the program's values, and its arguments.
    """

    __props__ = ("program",)

    def __init__(self, program: Spectral):
        self.program = program

    @property
    def name(self) -> str:
        return "at_ties"

    def compute(self, *arrays: Any) -> Any:
        plain, *given = arrays
        program = self.program
        values = dict(zip((*program.spectra, *program.factors, *program.others), given, strict=True))
        doubt = max([_doubt(values[t.rands[0]], t.op.sign) for t in program.gaps])
        return plain if doubt == 0 else _limit(program, values, plain, doubt).astype(plain.dtype)


def at_ties(roots: Sequence[Term]) -> list[Term]:
    """D → at_ties(D, w, v, …): the roots, those that divide by gaps of spectra with their limits where values tie."""
    return [_with_limit(root) if root.type.differentiable else root for root in roots]


def _with_limit(root: Term) -> Term:
    """D(w, v, …) as a body of leaves for the spectra, the factors, and the rest; D itself where no gaps are in it."""
    nodes = list(subterms(root))
    spectra = dict.fromkeys([t.rands[0] for t in nodes if type(t.op) is Cauchy])
    if not spectra:
        return root
    # Results of other factorings are held fixed as well: their derivatives are parts of the program.
    cut = {t for t in nodes if t in spectra or type(t.op) is Project}
    inner: set[Term] = set()
    for t in nodes:
        if t not in cut and not (inner | cut).isdisjoint(t.rands):
            inner.add(t)
    fixed = [x for t in nodes if t in inner for x in t.rands if x not in inner and x not in spectra]
    fixed = [x for x in dict.fromkeys(fixed) if type(x.op) is not Constant]
    factors = [x for x in fixed if x in cut]
    others = [x for x in fixed if x not in cut]
    leaf = {x: term(Input(f"x{i}", x.type, symbol=True)) for i, x in enumerate([*spectra, *factors, *others])}
    (body,) = substitute([root], leaf)
    parts = [tuple([leaf[x] for x in part]) for part in (spectra, factors, others)]
    gaps = tuple([t for t in subterms(body) if type(t.op) is Cauchy])
    return term(AtTies(Spectral(body, gaps, *parts)), root, *leaf)


def _doubt(w: Any, sign: int) -> float:
    """max ε·max|w|/gap: the largest relative error of the gaps of values that may tie; 0 where none do.

    Values are in order, so that those next to each other tie first, and the smallest with the negatives of others.
    """
    size, eps = np.abs(w), np.finfo(w.dtype).eps
    most = np.max(size, axis=-1, keepdims=True, initial=0.0)
    gap = np.abs(w[..., 1:] + sign * w[..., :-1]) if sign else size
    near = gap <= (eps**CLOSE if sign < 0 else ROUNDINGS * w.shape[-1] * eps) * most
    if not near.any() or not np.isfinite(most).all():
        return 0.0
    with np.errstate(all="ignore"):
        return float(np.max(np.nan_to_num(eps * most / gap, nan=np.inf), where=near, initial=0.0))


def _limit(program: Spectral, values: Mapping[Term, Any], plain: Any, doubt: float) -> Any:
    """D → lim D(w + t·e) in entries where that is the more accurate, NaN where there is none, else D."""
    rows = ROUNDINGS * max(values[w].shape[-1] for w in program.spectra)
    least = TINY if all(np.any(values[w], axis=-1).all() for w in program.spectra) else LEAST
    result = np.full(plain.shape, np.nan) if doubt >= 1 / 8 else plain
    known = np.zeros(plain.shape, bool)
    # Values that are small may be close by the size of the largest and yet far apart for what is made of them.
    for local in (False, True):
        with np.errstate(all="ignore"):
            try:
                value, error, none = _estimated(program, values, local, plain.shape)
            except (NoSeries, RelgradError, RecursionError):
                continue
            size = np.max(np.abs(value), initial=0.0, where=~none & np.isfinite(value))
            good = ~(known | none) & (error <= min(doubt, ROUGH) * size + least)
        result = np.where(good, value, np.where(none & ~known & (doubt * rows >= 1), np.nan, result))
        known = known | good
        if known.all():
            break
    return result


def _estimated(
    program: Spectral, values: Mapping[Term, Any], local: bool, shape: tuple[int, ...]
) -> tuple[Any, Any, Any]:
    """c₀ + c₁ + c₂ of the series in t, as the limit; the bound of its error, with |c₂|; and where there is none.

    There is none where c₋₁, … do not vanish, or c₀ is another for another e. Raises NoSeries.
    """
    mirrored = {t.rands[0] for t in program.gaps if t.op.sign >= 0}
    apart = {w: _apart(values[w], w in mirrored, local) for w in program.spectra}
    found = _series(program, values, {w: (base, step) for w, (base, step, _) in apart.items()}, TERMS)
    # A limit that there is does not depend on how values are moved apart.
    other = _series(program, values, {w: (base, step) for w, (base, _, step) in apart.items()}, 1)
    none = np.zeros(shape, bool)
    for k in found.keys() | other.keys():
        (x, ex), (y, ey) = found.get(k, ZERO), other.get(k, ZERO)
        if k < 0:
            none = none | ~(np.abs(x) <= 8 * ex) | ~(np.abs(y) <= 8 * ey)
        elif k == 0:
            none = none | ~(np.abs(x - y) <= 8 * (ex + ey))
    regular = [found[k] for k in range(TERMS)]
    value, error = [np.zeros(shape) + sum(c[i] for c in regular) for i in (0, 1)]
    return value, error + np.abs(regular[-1][0]), none


def _series(
    program: Spectral, values: Mapping[Term, Any], apart: Mapping[Term, tuple[Any, Any]], terms: int
) -> dict[int, Coefficient]:
    """w → b + t·e: the coefficients of a program, as values that tie are moved apart; raises NoSeries."""
    of: dict[Term, Power] = {x: polynomial((values[x], 0.0)) for x in program.others}
    for x in program.factors:
        # Vectors are orthogonal up to rounding, and limits are those of all that are.
        of[x] = polynomial((values[x].astype(float), 4 * np.finfo(values[x].dtype).eps * np.abs(values[x])))
    of |= {w: polynomial((base, 0.0), (step, 0.0)) for w, (base, step) in apart.items()}
    of |= {t: _gaps(*apart[t.rands[0]], t.op.sign) for t in program.gaps}
    path = Path(of, MOST, many=EACH * sum(1 for _ in subterms(program.body)) + MANY)
    series = path(program.body)
    found = {k: series.at(k) or ZERO for k in range(min(series.start, 0), terms)}
    if path.differs or path.has_kinks or not path.keeps_signs(1.0):
        raise NoSeries("a sign changes on the way")
    return found


def _gaps(base: Any, step: Any, sign: int) -> Power:
    """1/(wⱼ − wᵢ), i ≠ j, else 0, for w = b + t·e: the series of a Cauchy matrix; by `sign`, 1/(wⱼ + wᵢ), or 1/wⱼ."""
    spread = lambda w: w[..., None, :] + sign * w[..., :, None] if sign else w[..., None, :]
    off = 1 - np.eye(base.shape[-1]) if sign else np.ones(1)
    return quotient(
        polynomial((off, 0.0)), polynomial((spread(base) + (1 - off), 0.0), (spread(step) * off, 0.0)), MOST
    )


def _apart(w: Any, mirrored: bool, local: bool) -> list[Any]:
    """w → b, e, d with w ≈ b + e: values that may tie are equal in b and apart in e, and otherwise in d.

    They are close by their own size if `local`, else by that of the largest. Where they are `mirrored`, w ties with −w,
    and what may be 0 is 0 in b.
    """
    eps = np.finfo(w.dtype).eps
    rows = [_row_apart(row.astype(float), eps, mirrored, local) for row in w.reshape(-1, w.shape[-1])]
    return [np.reshape(part, w.shape) for part in zip(*rows, strict=True)]


def _row_apart(w: Any, eps: Any, mirrored: bool, local: bool) -> tuple[Any, Any, Any]:
    """(1, 1 + ε, 2) → b = (1, 1, 2) but for rounding, e and d with different first entries: the same of one row."""
    size, rise = np.abs(w), np.diff(w)
    most = np.max(size)
    noise = ROUNDINGS * len(w) * eps * most
    close = np.abs(rise) <= np.maximum(eps**CLOSE * (size[1:] + size[:-1] if local else most), noise)
    group = np.concatenate(([0], np.cumsum(~close)))
    base = (np.bincount(group, w) / np.bincount(group))[group]
    zero = np.isin(group, group[size <= noise]) & mirrored
    base[zero] = 0
    tied = zero | (np.bincount(group)[group] > 1)
    unit = max(APART * np.max(np.abs(w - base)[tied], initial=0.0), min(eps * most, 1 / LEAST)) or LEAST
    up = 1 if w[-1] >= w[0] else -1
    step = up * np.concatenate(([0], np.cumsum(np.where(close, np.maximum(up * rise, unit), 0.0))))
    for k in range(group[-1] + 1):
        here = group == k
        step[here] -= np.min(step[here]) - unit if np.any(zero & here) else np.mean(step[here])
    far = np.max(np.abs(step)) or LEAST
    return base, step, np.where(tied, far + step + step**2 / (4 * far), 0.0)
