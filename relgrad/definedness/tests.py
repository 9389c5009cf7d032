"""Questions to arguments, by which a rewritten program is NaN wherever the written one is undefined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from relgrad.bounds import possible
from relgrad.definedness.marks import covered, origins
from relgrad.definedness.reach import Reach
from relgrad.kernels.numbers import has_nan
from relgrad.leaf import Input
from relgrad.op import Constant, Op
from relgrad.step import Derivation
from relgrad.term import Term, term
from relgrad.types import Type, array_type


class Anywhere(Op):
    """Σ [xᵢ], a number that is true where any xᵢ is: count_nonzero is quicker to tell than any."""

    __props__ = ()
    numpy_scalar = True

    def output_type(self, *types: object) -> Type:
        return array_type(np.intp)

    def compute(self, *arrays: np.ndarray) -> object:
        return np.count_nonzero(arrays[0])

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        return f"np.count_nonzero({names[0]})"


class HoldsNaN(Op):
    """isnan(min x): whether an array holds NaN, as its minimum is then, and only then; that wakes no threads."""

    __props__ = ()
    numpy_scalar = True

    def output_type(self, *types: object) -> Type:
        return array_type(bool)

    def compute(self, *arrays: np.ndarray) -> object:
        return has_nan(arrays[0])

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        (x,) = names
        kind = node.rands[0].type
        if not kind.ndim:
            return f"np.isnan({x})"
        empty = "" if kind.size else ", initial=np.inf"
        return f"np.isnan(np.minimum.reduce({x}, axis=None{empty}))"


def tests(
    written: Sequence[Term],
    rewritten: Sequence[Term],
    became: Mapping[Term, Term | None],
    rewrite: Callable[[Sequence[Term]], Derivation],
) -> list[Term]:
    """x·y/y → x: [isnan(y)]: unless one is true, the rewritten roots are NaN where the written ones are undefined.

    They ask whether an argument holds NaN that the rewritten roots may not show, or an op of the written ones is
    outside its domain. Tests of domains that have been rewritten `became` others; the rest are rewritten here.
    """
    may, does = Reach(written, certain=False), Reach(rewritten, certain=True)
    pairs = list(zip(written, rewritten, strict=True))
    missing = [(mark, new) for old, new in pairs for mark in may.of[old] if not covered(mark, does.of[new])]
    found = set(origins(mark for mark, _ in missing))
    order = [t for t in may.atoms if t in found]
    domains = [t for t in order if type(t.op) not in (Input, Constant)]
    if domains:
        # The operands that are tested are rewritten too: what is known of them then, and of what is computed anyway.
        others = [t for t in domains if t not in became and any(x.rands for x in t.rands)]
        simple = rewrite(others).after if others else ()
        became = {**became, **dict(zip(others, map(possible, simple), strict=True))}
        missing = [(mark._replace(atom=became.get(mark.atom, mark.atom)), new) for mark, new in missing]
        missing = [(m, new) for m, new in missing if m.atom is not None and not covered(m, does.of[new])]
        found = {became.get(t, t) for t in origins(mark for mark, _ in missing)}
        order = [t for t in (became.get(t, t) for t in order) if t is not None and t in found]
    return [_asked(t) for t in dict.fromkeys(order)]


def _asked(t: Term) -> Term:
    if type(t.op) in (Input, Constant):
        return term(HoldsNaN(), t)
    return term(Anywhere(), t) if t.type.ndim else t
