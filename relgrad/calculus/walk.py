"""Maps of terms that go through a sum to each of its parts, and through a product to one of its factors."""

from __future__ import annotations

from collections.abc import Sequence

from relgrad.logic.build import build_product, build_sum
from relgrad.logic.group import ProductView, added, multiplied
from relgrad.logic.parts import dtype_of
from relgrad.logic.view import product_of, sum_of
from relgrad.term import Term, is_term
from relgrad.types import ArrayType

LOOKED = 200
"""No more terms are looked at for one map."""


class Walk:
    """A map of terms, such as t ↦ t/d without a division, each looked at once, and not too many of them.

    a·d + b·d ⟶ a + b
    """

    deepest = LOOKED
    """No term is looked at further below."""

    def __init__(self) -> None:
        self.known: dict[Term, Term | None] = {}
        self.depth = 0

    def __call__(self, t: Term) -> Term | None:
        """t → its image, or None: each term is looked at once, none below `deepest`, and no more than LOOKED."""
        if t not in self.known:
            self.known[t] = None  # so it stays beyond the bounds
            if len(self.known) <= LOOKED and self.depth < self.deepest and isinstance(t.type, ArrayType):
                self.depth += 1
                self.known[t] = self.of(t)
                self.depth -= 1
        return self.known[t]

    def of(self, t: Term) -> Term | None:
        raise NotImplementedError

    def stays(self, t: Term) -> bool:
        """Whether a part is its own image, whatever that of a term is: none, unless a map says so."""
        return False

    def every(self, parts: Sequence[Term]) -> list[Term] | None:
        """[a, b] → [f(a), f(b)]; None if one of them has no image."""
        new: list[Term] = []
        for part in parts:
            if (found := part if self.stays(part) else self(part)) is None:
                return None
            new.append(found)
        return new

    def sum(self, t: Term) -> Term | None:
        """2·a − b → 2·f(a) − f(b); None for a sum that has a number among its summands, or for no sum."""
        view = sum_of(t)
        if view.constant or t in view.terms:
            return None
        parts = self.every(list(view.terms))
        if parts is None:
            return None
        whole = added(*[(sum_of(x), k) for x, k in zip(parts, view.terms.values(), strict=True)])
        return build_sum(whole, dtype_of(t))

    def product(self, t: Term) -> Term | None:
        """a·b/c → f(a)·b/c: the image in place of the first factor that has one; None without any."""
        view = product_of(t)
        for base, e in view.factors.items():
            if e >= 1 and is_term(base) and base is not t and (new := self(base)) is not None:
                left = multiplied((view, 1), (ProductView(1, {base: 1}), -1), (product_of(new), 1))
                return build_product(left, dtype_of(t))
        return None
