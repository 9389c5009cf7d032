"""Stable functions in naive company, read as what they mean.

    logaddexp(0, x) - x  =  log(e⁰ + eˣ) - x    ⟶    softplus(-x)

Each op with a meaning is written out (`Op.meaning`), the relations rewrite the whole, and the result stands if it
gains: if it is somewhere less sensitive to rounding, and nowhere more. So what relations know of the elementary
functions holds for what is made of them as well: log(ndtr(x)) → log_ndtr(x).

Source: D. S. Parker, "Monte Carlo Arithmetic", UCLA Computer Science Department Technical Report CSD-970002 (1997), for
rounding that is drawn at random to see what it does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from relgrad.calculus.path import definition_of
from relgrad.errors import RelgradError
from relgrad.interpret import interpret, unknown, value_of
from relgrad.leaf import Input
from relgrad.logic.build import fit
from relgrad.logic.conditions import range_of
from relgrad.op import as_term, is_constant
from relgrad.ops.increments import Increment
from relgrad.term import Term, reachable, rebuild, substitute, subterms, term
from relgrad.trace.tracer import Tracer
from relgrad.types import NONNEGATIVE, POSITIVE, REAL, Interval, array_type

DEEP, MANY = 4, 24
"""So deep below a place, and in so many terms, what functions mean is looked at."""
DRAWS = 48
POINTS = (0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1e-3, 0.9, 7.0, -7.0, 40.0, -40.0, 800.0, -800.0, 1e-9)
"""How often, and from what, arguments are drawn at which both are compared; the second half lies near these numbers."""
ALIKE = 2.0**-30
"""Differences that large compared with the largest number on the way are not rounding."""
ROUNDED, TIMES = 2.0**-36, 3
"""The size of roundings as they are drawn, and how often they are."""
WORST, GAINED, LOST = 36.0, 10.0, 3.0
"""So many bits are all, so many fewer a gain, and so many more a loss."""


def has_meaning(t: Term) -> bool:
    """Whether a term applies a function that is the same as an expression of others."""
    is_real = t.op.elementwise and t.type.differentiable
    return is_real and definition_of(t.op, len(t.rands)) is not None


class Reading(NamedTuple):
    """logaddexp(0, x) − x → softplus(−x), (logaddexp,):
    a place as rewritten, the functions that were read as their meaning.

    And the terms that this makes anew.
    """

    term: Term
    functions: tuple[str, ...]
    made: frozenset[Term]


def by_definition(t: Term, better: Callable[[Term], Term | None]) -> Reading | None:
    """logaddexp(0, x) − x → softplus(−x), with the right `better`:
    a place with its pattern bettered, functions by definition.

    None where no function in it has a meaning, or nothing is better.
    """
    whole, of = _pattern(t)
    nodes = [node for node in subterms(whole) if node.rands]
    functions = dict.fromkeys(str(node.op) for node in nodes if has_meaning(node))
    new = better(whole) if functions and len(nodes) > 1 else None
    if new is None:
        return None
    found = fit(substitute([new], of)[0], t)
    return Reading(found, tuple(functions), _above(found, set(of.values())))


def _above(root: Term, leaves: set[Term]) -> frozenset[Term]:
    """(sin(x + y) with leaves x, y) → {sin(x + y), x + y}: the terms between a root and leaves."""
    return frozenset(reachable(root, below=lambda t: () if t in leaves else t.rands) - leaves)


def written_out(t: Term) -> Term:
    """logaddexp(x, y) → log(eˣ + eʸ): a term with all functions that have a meaning as what they mean."""

    def change(old: Term, rands: tuple[Any, ...]) -> Any:
        new = old if rands == old.rands else old.op.make_node(*rands)
        return written_out(as_term(new.op.definition(*map(Tracer, new.rands)))) if has_meaning(new) else new

    return rebuild([t], change)[0]


def improved(
    whole: Term, rewrite: Callable[[Term], Term], opened: Callable[[Term], Term] = written_out
) -> Term | None:
    """logaddexp(0, x) − x = log(e⁰ + eˣ) − x → rewrite(that), if it gains:
    a pattern with all meanings written out, or `opened` in another way; or None.
    """
    rng = np.random.default_rng(0)
    of = {node: _drawn(rng, node) for node in reachable(whole) if type(node.op) is Input}
    at_first = _sensitivity(whole, of, rng, 1)
    if at_first is None or not np.any(at_first.bits[DRAWS // 2 :] >= GAINED):
        return None  # at numbers of no special kind, only what is wrong with a function itself costs digits
    new = rewrite(opened(whole))
    if new is whole or new.type != whole.type:
        return None
    old, found = (_sensitivity(t, of, rng, TIMES) for t in (whole, new))
    return new if old and found and _gains(old, found) else None


def _pattern(t: Term) -> tuple[Term, dict[Term, Term]]:
    """sin(v[0] + w) → sin(x0 + x1), {x0: v[0], x1: w}:
    a term of scalars like one to some depth, and its leaves' terms.
    """
    new: dict[Term, Term] = {}
    of: dict[Term, Term] = {}

    def copied(node: Term, depth: int) -> Term:
        """(v[0] + w, 0) → x0 + x1: a node of the pattern; a leaf for increments, what is deep, or of an axis."""
        if node not in new:
            opened = node.rands and node.op.elementwise and not isinstance(node.op, Increment)
            if is_constant(node) and node.type.shape == ():
                new[node] = node
            elif opened and depth < DEEP and len(new) < MANY:
                new[node] = node.op.make_node(*[copied(rand, depth + 1) for rand in node.rands])
            else:
                kind = array_type(node.type.dtype, ())
                new[node] = leaf = term(Input(f"x{len(of)}", kind, symbol=True, range=_signs(range_of(node))))
                of[leaf] = node
        return new[node]

    return copied(t, 0), of


def _signs(known: Interval) -> Interval:
    """[1, 2] → (0, ∞), [0, 2] → [0, ∞), [−1, 2] → ℝ: a range's signs alone, so that many places have one pattern."""
    if known.positive:
        return POSITIVE
    if known.negative:
        return -POSITIVE
    if known.nonnegative:
        return NONNEGATIVE
    return REAL


def _drawn(rng: np.random.Generator, leaf: Term) -> Any:
    """x ≥ 0 → 0, 0.5, 40, 1.07, 0.0011, …: points within the range of a leaf, of which the second half is of no special
    kind.
    """
    drawn, known = rng.choice(POINTS, DRAWS), leaf.op.range
    drawn[DRAWS // 2 :] *= rng.uniform(0.7, 1.4, DRAWS // 2)
    inside = (drawn >= known.low) & (drawn <= known.high)
    other = np.clip(np.abs(drawn), known.low, known.high)
    return np.where(inside, drawn, other).astype(leaf.type.dtype)


class Sensitivity(NamedTuple):
    """(1 + x) − 1 at x = 1e-9 → 1e-9, 30, 1: values, the bits that rounding on the way costs, and the largest size
    there.
    """

    values: Any
    bits: Any
    size: Any


def _sensitivity(t: Term, of: Mapping[Term, Any], rng: np.random.Generator, times: int) -> Sensitivity | None:
    """(1 + x) − 1 at x = 1e-9 → 30 bits: how sensitive to rounding a pattern is, of all operands shaken;
    None if it fails.
    """

    def rounded(node: Term, operands: list[Any]) -> list[Any]:
        """(node, [x, y]) → [x·(1 + ε), y·(1 + δ)]: the operands that were computed, rounded in another way."""
        return [
            x * (1 + ROUNDED * rng.uniform(-1, 1, DRAWS)) if rand.rands and rand.type.differentiable else x
            for rand, x in zip(node.rands, operands, strict=True)
        ]

    try:
        with np.errstate(all="ignore"):
            values = dict(of)
            for node in unknown([t], values):
                values[node] = value_of(node, values, typed=False)
            others = [interpret([t], of, perturb=rounded, typed=False)[0] for _ in range(times)]
            value = np.broadcast_to(values[t], DRAWS).astype(float)
            change = [np.where(x == value, 0.0, np.abs(x - value) / np.abs(value)) for x in others]
            bits = np.log2(np.maximum(np.fmax.reduce(change) / ROUNDED, 1.0))
            sizes = [np.abs(x) for node, x in values.items() if node.type.differentiable]
            size = np.max([np.broadcast_to(np.where(np.isfinite(x), x, 0.0), DRAWS) for x in sizes], axis=0)
    except (RelgradError, ValueError, TypeError, ArithmeticError):
        return None
    return Sensitivity(value, np.where(np.isfinite(value), np.minimum(bits, WORST), WORST), size)


def _gains(old: Sensitivity, new: Sensitivity) -> bool:
    """values alike, new.bits ≤ old.bits + LOST everywhere, new.bits ≤ old.bits − GAINED somewhere:
    whether a rewriting gains.
    """
    with np.errstate(all="ignore"):
        wrong = np.isfinite(old.values) & ~(np.abs(new.values - old.values) <= ALIKE * old.size)
    worse = new.bits > old.bits + LOST
    return not np.any(wrong | worse) and bool(np.any(old.bits >= new.bits + GAINED))
