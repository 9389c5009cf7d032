"""Two programs compared where the written one is well-conditioned: how far rounding may carry its results.

Each operand of each operation is perturbed, by itself, by a relative η far above rounding. Results that this carries
far are not known well enough to judge by: there nothing is said.

Source: Parker 1997, "Monte Carlo arithmetic", and Vignes 1993, "A stochastic arithmetic". Changed from the source:
η is eps^0.6, so that a few runs show every cancellation; what only moves or compares entries is left exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from relgrad.bounds import range_of
from relgrad.interpret import interpret
from relgrad.op import is_constant
from relgrad.term import Term, subterms
from relgrad.types import ArrayType
from relgrad.validate.points import Values

RUNS = 3
"""So many perturbed runs are made first,"""
MORE = 24
"""and so many before anything is called wrong: what decides between two branches may fall thrice on one side."""
MARGIN = 64.0
"""Results that differ by so many times what perturbations do to them are different."""
NOTHING = 1e-14
"""At moderate inputs, numbers below this may be what is left of constants that were rounded when they were folded."""


class Difference(NamedTuple):
    """written[0][2] = 1.0, rewritten[0][2] = 1.5: where two results differ:
    which output, which entry, and both there.
    """

    output: int
    entry: tuple[int, ...]
    written: Any
    rewritten: Any


class Written:
    """f(x), and the spread of f(x·(1 + η)) → the program as written:
    its values, and how far rounding may carry them.
    """

    def __init__(self, roots: Sequence[Term], differentiated: Sequence[Term] = ()):
        self.roots, self.differentiated = list(roots), list(differentiated)
        self.nodes = list(subterms(*self.roots))
        floats = [t.type.dtype for t in self.nodes if t.type.differentiable]
        self.eta = max([float(np.finfo(d).eps) for d in set(floats)], default=2.0**-52) ** 0.6

    @property
    def entries(self) -> int:
        """The number of entries of all that is computed."""
        return sum(t.type.size or 0 for t in self.nodes if isinstance(t.type, ArrayType))

    def at(self, point: Values, overflowed: Callable[..., None] | None = None) -> list[Any] | None:
        """{x: 2.0} → [f(2.0)]: the values at a point, or None where they cannot be computed.

        What is differentiated must have a value there: 1/x has one at -1, but as the slope of log(x) it has none.
        Where numbers leave the range on the way, `overflowed` is called.
        """
        found = _computed([*self.roots, *self.differentiated], point, overflowed=overflowed)
        if found is None or any(np.any(np.isnan(x)) for x in found[len(self.roots) :]):
            return None
        return _flat(found[: len(self.roots)])

    def difference(
        self, point: Values, written: Sequence[Any], rewritten: Sequence[Any], roots: Sequence[Term] = ()
    ) -> Difference | None:
        """|written − rewritten| > MARGIN·spread → Difference:
        where the results differ by more than rounding explains, or None.

        What the rewritten `roots` lose by rounding is no difference where both results are next to nothing, as are a
        0 that underflowed and the 1e-17 that two summands leave of each other.
        """
        doubtful = [
            i for i, (a, b) in enumerate(zip(written, rewritten, strict=True)) if not self._same(a, b)
        ]
        if not doubtful:
            return None
        found = self._beyond(point, written, rewritten, doubtful, RUNS, roots)
        if found is None or self._overflows(point):
            return None
        return self._beyond(point, written, rewritten, doubtful, MORE, roots)

    def _overflows(self, point: Values) -> bool:
        """exp(1000)/exp(1000) → True: whether finite numbers become infinite on the way; the result is not known
        then.
        """
        found = _computed(self.nodes, point)
        if found is None:
            return True
        infinite = {t: _is_infinite(x) for t, x in zip(self.nodes, found, strict=True)}
        return any(made and t.rands and not any(infinite[x] for x in t.rands) for t, made in infinite.items())

    def _beyond(
        self,
        point: Values,
        written: Sequence[Any],
        rewritten: Sequence[Any],
        doubtful: Sequence[int],
        runs: int,
        roots: Sequence[Term],
    ) -> Difference | None:
        """|a − b| > MARGIN·(spread + η·|a|) → Difference:
        where results differ by more than so many perturbed runs do, or None.
        """
        spreads = self._spreads(self.roots, point, written, runs)
        if spreads is None:
            return None
        lost: list[Any] | None = None
        for i in doubtful:
            a, b = np.asarray(written[i]), np.asarray(rewritten[i])
            if a.shape != b.shape:
                return Difference(i, (), a, b)
            with np.errstate(all="ignore"):
                allowed = MARGIN * (spreads[i] + self.eta * np.abs(np.asarray(a, float)))
                apart = np.abs(np.asarray(b, float) - np.asarray(a, float))
                # What is no number, or infinite, is wrong where the written result is known to some digits.
                wrong = np.where(np.isfinite(b), apart > allowed, allowed < np.abs(a)) & np.isfinite(a)
                small = wrong & (np.maximum(np.abs(a), np.abs(b)) < self.eta)
                if roots and np.any(small):
                    lost = lost or self._spreads(roots, point, rewritten, runs)
                    if lost is not None:
                        wrong &= ~(small & (apart <= np.maximum(MARGIN * lost[i], NOTHING)))
            if np.any(wrong):
                entry = tuple([int(n) for n in np.argwhere(wrong)[0]])
                return Difference(i, entry, a[entry], b[entry])
        return None

    def _same(self, a: Any, b: Any) -> bool:
        """|a − b| ≤ MARGIN·η·|a|, or a is not finite: whether two results are the same but for rounding."""
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape:
            return False
        if a.dtype.kind != "f":
            return bool(np.array_equal(a, b))
        with np.errstate(all="ignore"):
            close = np.abs(a - b) <= MARGIN * self.eta * np.abs(a)
        return bool(np.all(close | ~np.isfinite(a)))

    def _spreads(
        self, roots: Sequence[Term], point: Values, results: Sequence[Any], runs: int
    ) -> list[Any] | None:
        """max over runs |f(x·(1 + η)) − f(x)| → how far perturbations carry each result of roots;
        None without a result.
        """
        rng = np.random.default_rng(len(self.nodes) + runs)
        spreads = [np.zeros(np.shape(a)) for a in results]
        for _ in range(runs):
            found = _computed(roots, point, _Noise(self.eta, rng))
            if found is None:
                return None
            with np.errstate(all="ignore"):
                spreads = [
                    np.maximum(s, np.abs(np.asarray(b, float) - np.asarray(a, float)))
                    for s, a, b in zip(spreads, results, _flat(found), strict=True)
                ]
        return spreads


class _Noise:
    """Perturbs the operands of what rounds; what has left the range of floats may be anything just outside of it.

    exp(-e⁷) > 0 is perturbed, too: the exponential is positive, though its float is 0.
    """

    def __init__(self, eta: float, rng: np.random.Generator):
        self.eta, self.rng = eta, rng

    def __call__(self, node: Term, operands: Sequence[Any]) -> list[Any]:
        """[x, 2.0] → [x·(1 + η), 2.0]: the operands perturbed; constants stay, as do those of what does not round.

        Computed numbers that are compared have been rounded: e^(−x²) > 1 may be false for x = 10⁻⁹, and e^(−x²) = 1.
        """
        op = node.op
        if not op.rounds or op.laws.selects:
            compares = op.kinks or op.negation is not None
            found = [
                self._perturbed(x) if (compares and _is_rounded(t, x)) or _underflowed(t, x) else x
                for t, x in zip(node.rands, operands, strict=True)
            ]
            return _made_of_one(node, found) if op.negation is not None else found
        return [
            x if is_constant(t) else self._perturbed(x) for t, x in zip(node.rands, operands, strict=True)
        ]

    def _perturbed(self, x: Any) -> Any:
        """x → x·(1 ± η), 0 → tiny, ∞ → almost the largest: an array with each entry moved by itself.

        What is below the normal floats has few digits, or none: it moves by as much as the least of these.
        """
        x = np.asarray(x)
        if x.dtype.kind != "f":
            return x
        noise = self.rng.uniform(0.5, 1.0, x.shape) * self.rng.choice((-self.eta, self.eta), x.shape)
        info = np.finfo(x.dtype)
        least, most = float(info.tiny) / float(info.eps), float(info.max) ** 0.95
        with np.errstate(all="ignore"):
            found = np.where(x == 0, least, np.where(np.isinf(x), np.copysign(most, x), x))
            few = (x != 0) & (np.abs(x) < info.tiny)
            moved = np.where(
                few, found + np.copysign(info.tiny, x) * np.abs(noise) / self.eta, found * (1 + noise)
            )
            return moved.astype(x.dtype)


def _made_of_one(node: Term, operands: Sequence[Any]) -> list[Any]:
    """t == max(t) → t, max(t): of two operands the one that is made of the other, unrounded, as that is perturbed."""
    found = list(operands)
    for i, t in enumerate(node.rands):
        if len(node.rands) == 2 and not t.op.rounds and t.rands == (node.rands[1 - i],):
            found[i] = t.op.compute(operands[1 - i])
    return found


def _is_infinite(value: Any) -> bool:
    parts = map(np.asarray, _flat([value]))
    return any(bool(np.any(np.isinf(x))) for x in parts if x.dtype.kind == "f")


def _is_rounded(t: Term, x: Any) -> bool:
    """Whether an operand is the result of what rounds, and no entry is 0: exp(x): yes; x, x − x: no."""
    return bool(t.rands) and t.op.rounds and isinstance(t.type, ArrayType) and bool(np.all(x))


def _underflowed(t: Term, x: Any) -> bool:
    """Whether a positive operand is 0 somewhere."""
    return isinstance(t.type, ArrayType) and range_of(t).positive and bool(np.any(np.asarray(x) == 0))


def _flat(values: Sequence[Any]) -> list[Any]:
    """Return the arrays of which several stand together in a tuple."""
    return [x for value in values for x in (value if isinstance(value, tuple) else (value,))]


def _computed(
    roots: Sequence[Term],
    point: Values,
    noise: _Noise | None = None,
    overflowed: Callable[..., None] | None = None,
) -> list[Any] | None:
    """roots at a point → their values, under noise if given; None if any op raises."""
    told: dict[str, Any] = (
        {} if overflowed is None else {"over": "call", "divide": "call", "call": overflowed}
    )
    try:
        with np.errstate(**{"all": "ignore", **told}):
            return interpret(roots, point, perturb=noise)
    except Exception:  # whatever an op raises at inputs that are not the user's
        return None
