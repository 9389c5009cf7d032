"""Wide sums and products: those of more parts than a view holds, read as one multiset that is indexed by heads.

An equation is tried on the few parts that it can concern: a part that has one of its heads, the parts which are then
known, and some that have its other heads. What becomes of them takes their place, and the search goes on with the
next part; the sum is written once, when nothing is left to do. So the cost is linear in the number of parts, however
often an equation applies.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from quicktions import Fraction

from relgrad.errors import ShapeError
from relgrad.logic.build import build_product, build_sum, fit
from relgrad.logic.group import Number, ProductView, SumView, added, key_of, multiplied, whole
from relgrad.logic.index import Key, Pattern, head_key, heads_inside, sum_heads, summand_heads
from relgrad.logic.match import match_factor, match_summand
from relgrad.logic.parts import dtype_of
from relgrad.logic.rewrite import rewrites
from relgrad.logic.theory import PRODUCT
from relgrad.logic.unify import State, is_variable, reify_term, unknowns
from relgrad.logic.view import inside, product_of, sum_of
from relgrad.ops.exponential import exp
from relgrad.term import Term

CHOICE = 4
"""So many parts are looked at where any of a kind would do."""


class Change(NamedTuple):
    """Some parts rewritten: the bindings, and these parts as a term before and after."""

    state: State
    before: Term
    after: Term


class Wide:
    """A sum or product as one multiset of parts, which equations change in place."""

    def __init__(self, t: Term, theory: int):
        self.term, self.theory = t, theory
        self.number: Number
        self.parts: dict[Any, Number]
        view = _flat(t, theory)
        self.number, self.parts, self.cancelled = view[:3]
        # Exponentials among factors are one, exp(a)·exp(b) = exp(a + b).
        self.cancelled = self.cancelled or (theory == PRODUCT and view.exponentials > 1)
        self.known = {key_of(part): part for part in self.parts}
        self.by_head: dict[Key, dict[Any, None]] = {}
        for part in self.parts:
            self._file(part)
        if theory == PRODUCT:
            inside = (key for part in self.parts for key in heads_inside(part))
            t.cache["product heads"] = frozenset(self.by_head).union(inside)
        else:
            t.cache["sum heads"] = frozenset(sum_heads(SumView(self.number, self.parts)))

    def _keys(self, part: Any) -> set[Key]:
        return {head_key(part.op)} if self.theory == PRODUCT else set(summand_heads(part))

    def _file(self, part: Any) -> None:
        for key in self._keys(part):
            self.by_head.setdefault(key, {})[part] = None

    def built(self) -> Term:
        """Return the sum or product as a term."""
        return fit(self._build(self.number, self.parts), self.term)

    def _build(self, number: Number, parts: dict[Any, Number]) -> Any:
        dtype = dtype_of(self.term)
        if self.theory == PRODUCT:
            return build_product(ProductView(number, parts), dtype)
        return build_sum(SumView(number, parts), dtype)

    def apply(self, left: Pattern, right: Any, conditions: Any) -> Iterator[Change]:
        """Apply an equation wherever it applies among the parts, each time as soon as it is asked for the next."""
        offset, pattern = (product_of if self.theory == PRODUCT else sum_of)(left.term)[:2]
        anchor = self._anchor(pattern)
        if anchor is None:
            return
        p, key = anchor
        for part in list(self.by_head.get(key, ())):
            if part in self.parts:
                change = self._change(left, right, conditions, offset, pattern, p, part)
                if change is not None:
                    yield change

    def _anchor(self, pattern: dict[Any, Number]) -> tuple[Any, Key] | None:
        """Return the part of the pattern, and the head of it, that the fewest parts have."""
        found: dict[tuple[Any, Key], tuple[bool, int]] = {}
        for p in pattern:
            if is_variable(p) or p.ground:
                continue
            for key in self._keys(p):
                # Of exponentials any number may belong together, so they are no good place to begin.
                found[p, key] = (p.op is exp and len(pattern) > 1, len(self.by_head.get(key, ())))
        return min(found, key=lambda entry: found[entry]) if found else None

    def _change(
        self, left: Pattern, right: Any, conditions: Any, offset: Number, pattern: Any, p: Any, part: Any
    ) -> Change | None:
        k = pattern[p]
        scale = Fraction(self.parts[part]) / k
        if p.op.elementwise and p.op is part.op and len(p.rands) == 1 and is_variable(p.rands[0]):
            found = iter([{p.rands[0]: part.rands[0]}])
        elif self.theory == PRODUCT:
            found = (state for state, _ in match_factor(p, k, ProductView(1, {part: self.parts[part]}), {}))
        else:
            found = (state for state, _ in match_summand(p, k, part, k, {}))
        for state in found:
            chosen = self._concerned({q: scale * e for q, e in pattern.items() if q is not p}, part, state)
            if chosen is None:
                continue
            chosen = {part: self.parts[part], **chosen}
            number = int(self.theory == PRODUCT) if self.theory == PRODUCT or not offset else self.number
            before = self._build(number, chosen)
            for rewrite in rewrites(left, right, conditions, before, {}):
                self._replace(number, chosen, rewrite.term)
                return Change(rewrite.state, before, rewrite.term)
        return None

    def _concerned(self, pattern: dict[Any, Number], taken: Any, s: State) -> dict[Any, Number] | None:
        """Return the other parts that an equation may concern; None where one that must be there is missing."""
        chosen: dict[Any, Number] = {}
        for q, amount in pattern.items():
            try:
                q = reify_term(q, s)
            except ShapeError:
                return None  # what was bound does not go together
            if is_variable(q):
                return None
            if unknowns(q):
                like = (c for c in self.by_head.get(head_key(q.op), ()) if c is not taken)
                fitting = list(islice((c for c in like if self.parts[c] == amount or q.op is exp), CHOICE))
                if not fitting:
                    return None
                chosen.update((c, self.parts[c]) for c in fitting)
                continue
            for needed, k in (product_of if self.theory == PRODUCT else sum_of)(q)[1].items():
                part = needed if needed in self.parts else self.known.get(key_of(needed))
                if part not in self.parts or (self.parts[part] > 0) != (k * amount > 0):
                    return None
                chosen[part] = self.parts[part]
        return chosen

    def _replace(self, number: Number, chosen: dict[Any, Number], after: Term) -> None:
        for part in chosen:
            del self.parts[part]
            for key in self._keys(part):
                del self.by_head[key][part]
        view = (product_of if self.theory == PRODUCT else sum_of)(after)
        if self.theory == PRODUCT:
            self.number = whole(Fraction(self.number) * view[0])
        else:
            self.number = whole(Fraction(self.number) - number + view[0])
        for new, amount in view[1].items():
            part = self.known.setdefault(key_of(new), new)
            total = self.parts.get(part, 0) + amount
            if total:
                self.parts[part] = total
                self._file(part)
            else:
                del self.parts[part]


def _flat(t: Term, theory: int) -> Any:
    """Read a term as the sum or product of the views of its parts, however many there are."""
    parts: list[tuple[Any, Number]] = []
    stack: list[tuple[Any, Number]] = [(t, 1)]
    while stack:
        node, scale = stack.pop()
        if node is None:
            parts.append((ProductView(-1, {}), scale))
            continue
        inner = inside(node, theory, None)
        if inner:
            stack.extend((rand, scale * k) for rand, k in reversed(inner))
            continue
        view: Any = (product_of if theory == PRODUCT else sum_of)(node)
        if theory == PRODUCT and not view.coefficient:
            view = ProductView(1, {node: 1})
        parts.append((view, scale))
    return multiplied(*parts) if theory == PRODUCT else added(*parts)
