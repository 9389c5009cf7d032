"""Functions of one term in a graph: where they lose their leading terms near a point, they become series there.

The *base* of a term is the term that it is a function of, entry by entry: the base that all its operands have in
common, but for numbers, and else itself. A term that others than functions of its base read is looked at as a whole,
and so are the factors of a product that have one base, wherever they stand in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from relgrad.bounds import range_of
from relgrad.calculus.series import Series, applied, argument, body_of, expanded
from relgrad.op import Constant
from relgrad.ops.arithmetic import divide, multiply
from relgrad.term import Term, subterms
from relgrad.types import ArrayType

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
LARGEST = 120
"""Functions of more ops are left as they are written."""


class Expanded(NamedTuple):
    """A term, what it became, and the series in it."""

    before: Term
    after: Term
    series: tuple[Series, ...]


def in_series(
    roots: Sequence[Term],
    allowed: Callable[[Term], bool] = lambda t: True,
    note: Callable[[Term, Exception], None] = lambda t, error: None,
    opaque: Collection[Any] = frozenset(),
) -> tuple[list[Term], list[Expanded]]:
    """Return the roots with a series wherever a function of one term cancels near a point, and what became of what.

    A place that is not `allowed`, or at which an op raises, is left as it is; `note` is told of the exception. `opaque`
    ops are no part of a function, nor are those that must not be computed while a program is made.
    """
    nodes = list(subterms(*roots))
    base = _bases(nodes, opaque)
    exposed = _exposed(nodes, base, roots)
    products = _products(nodes, base)
    if not exposed and not products:
        return list(roots), []
    new: dict[Term, Term] = {}
    found: list[Expanded] = []

    def function(t: Term, u: Term) -> Term | None:
        """Return a function of u with the series that it needs, of what u has become; None if it needs none."""
        if all(rand is u or type(rand.op) is Constant for rand in t.rands) or not allowed(t):
            return None  # one op has no parts that could cancel
        x = argument(range_of(u))
        try:
            body = body_of(t, u, x, LARGEST)
            if body is None:
                return None
            better, series = expanded(body, x)
            if not series:
                return None
            after = applied(better, x, new.get(u, u))
        except Exception as error:
            note(t, error)
            return None
        if after.type != t.type:
            return None
        found.append(Expanded(t, after, series))
        return after

    for t in nodes:
        u = base.get(t)
        after = function(t, u) if u is not None and u is not t and t in exposed else None
        if after is None and t in products:
            after = _regrouped(products[t], base, new, function)
            after = after if after is None or after.type == t.type else None
        if after is None:
            rands = [new.get(rand, rand) for rand in t.rands]
            same = all(a is b for a, b in zip(rands, t.rands, strict=True))
            after = t if same else t.op.with_rands(t, rands)
        if after is not t:
            new[t] = after
    return [new.get(root, root) for root in roots], found


def _bases(nodes: Sequence[Term], opaque: Collection[Any] = frozenset()) -> dict[Term, Term]:
    """Return of which term each float is a function, entry by entry."""
    base: dict[Term, Term] = {}
    numbers: set[Term] = set()
    for t in nodes:
        kind = t.type
        if _is_number(t) or (t.op.elementwise and t.rands and numbers.issuperset(t.rands)):
            numbers.add(t)
            continue
        if not isinstance(kind, ArrayType) or type(t.op) is Constant or kind.dtype.kind not in "fb":
            continue
        if kind.dtype in _FLOATS:
            base[t] = t
        if not (t.op.elementwise and t.rands) or t.op in opaque or not t.op.do_constant_folding(None, t):
            continue
        found = None
        for rand in t.rands:
            if rand in numbers:
                continue
            u = base.get(rand)
            if u is None or (found is not None and u is not found):
                break
            found = u
        else:
            if (
                found is not None
                and found.type.shape == kind.shape
                and kind.dtype in (found.type.dtype, bool)
            ):
                base[t] = found
    return base


def _is_number(t: Term) -> bool:
    return type(t.op) is Constant and t.type.ndim == 0 and t.type.dtype.kind in "iuf"


def _exposed(nodes: Sequence[Term], base: dict[Term, Term], roots: Sequence[Term]) -> set[Term]:
    """Return the functions that are read by others than functions of the same term."""
    found = {t for t in roots if base.get(t, t) is not t and t.type.dtype.kind == "f"}
    for t in nodes:
        own = base.get(t)
        for rand in t.rands:
            u = base.get(rand)
            if u is not None and u is not rand and u is not own and rand.type.dtype.kind == "f":
                found.add(rand)
    return found


def _products(nodes: Sequence[Term], base: dict[Term, Term]) -> dict[Term, list[tuple[Term, int]]]:
    """Return the largest products of functions of several terms: their factors, each with the exponent 1 or -1."""
    inner: set[Term] = set()
    found: dict[Term, list[tuple[Term, int]]] = {}
    for t in reversed(nodes):
        if t in inner or t.op not in (multiply, divide) or base.get(t) is not t:
            continue
        factors = list(_factors(t, base, inner))
        bases = [base[f] for f, _ in factors if f in base and base[f] is not f]
        divided = any(_divides(f, e) for f, e in factors)
        if (divided and len(factors) > 2 and len(bases) != len(set(bases))) or _shared(factors, base):
            found[t] = factors
    return found


def _shared(factors: Sequence[tuple[Term, int]], base: dict[Term, Term]) -> bool:
    """Whether a divisor and another factor are functions of one term, which may be one of them."""
    below = {base[f] for f, e in factors if _divides(f, e) and f in base}
    return any(not _divides(f, e) and base.get(f) in below for f, e in factors)


def _divides(factor: Term, exponent: int) -> bool:
    """Whether a factor is a divisor, or a function of a name that is infinite at zero, as 1/(eˣ - 1) is."""
    return exponent < 0 or _has_pole(factor.op)


@lru_cache(maxsize=1024)
def _has_pole(op: Any) -> bool:
    """Whether an op of one operand is infinite at zero."""
    if not op.elementwise or getattr(op, "arity", 0) != 1:
        return False
    with np.errstate(all="ignore"):
        try:
            return bool(np.isinf(op.compute(np.float64(0.0))))
        except (TypeError, ValueError, ArithmeticError):
            return False


def _factors(t: Term, base: dict[Term, Term], inner: set[Term]) -> Iterator[tuple[Term, int]]:
    stack = [(t, 1)]
    while stack:
        node, e = stack.pop()
        if node.op in (multiply, divide) and base.get(node) is node:
            inner.add(node)
            stack.append((node.rands[1], -e if node.op is divide else e))
            stack.append((node.rands[0], e))
        else:
            yield node, e


def _regrouped(
    factors: Sequence[tuple[Term, int]],
    base: dict[Term, Term],
    new: dict[Term, Term],
    function: Callable[[Term, Term], Term | None],
) -> Term | None:
    """Return a product with the factors that are functions of one term together, where they need a series together."""
    groups: dict[Any, list[tuple[Term, int]]] = {}
    for f, e in factors:
        groups.setdefault(base.get(f, f), []).append((f, e))
    above: list[Term] = []
    below: list[Term] = []
    changed = False
    for u, group in groups.items():
        whole = None
        if len(group) > 1 and len({_divides(f, e) for f, e in group}) > 1:
            whole = function(_product(group), u)
        if whole is not None:
            changed = True
            above.append(whole)
            continue
        for f, e in group:
            (above if e > 0 else below).append(new.get(f, f))
    return _product([*[(f, 1) for f in above], *[(f, -1) for f in below]]) if changed else None


def _product(factors: Sequence[tuple[Term, int]]) -> Term:
    above = [f for f, e in factors if e > 0]
    below = [f for f, e in factors if e < 0]
    found = above[0]
    for f in above[1:]:
        found = multiply.make_node(found, f)
    for f in below:
        found = divide.make_node(found, f)
    return found
