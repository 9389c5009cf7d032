"""Which places look alike: what was found at one is not looked for again at another of the same looks.

The steps of a loop make the same terms of other operands. A place looks as the first terms below it do, in the order
of a breadth-first walk: their heads, types and ranges, and which of them are one and the same; the names of inputs do
not matter. Relations look no further, but for sums and products that are longer than a view holds. An increment may
rest on what two large programs share further below; of the many places that a loop makes it is looked for at those of
new looks.

    log(exp(u) + …) where nothing applied       nothing is looked for at log(exp(w) + …)
    exp(sin(x))/Σ exp(sin(x)) → softmax(sin(x)) of any x in place of sin(x):  exp(z)/Σ exp(z) → softmax(z)

Not to look is always sound: a place is left as it is, as where no relation applies, and what cancels there has a guard.
What is made of a place is made of others only once it was made of the place with symbols for all that lies deeper, of
which nothing is known but their types and signs: an equation of these, in which other terms stand for them.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

from relgrad.leaf import Input
from relgrad.logic.conditions import range_of
from relgrad.op import is_constant
from relgrad.term import Term, is_term, substitute, term
from relgrad.types import REAL, ArrayType, Interval

SEEN = 32
"""So many distinct terms make the looks of a place."""
ALWAYS = 256
"""At so many places of a program everything is tried, whatever they look like."""
FIRST = 64
"""At so many places no look is taken to keep what is made of them: most programs have no more."""

_Look = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]
"""The labels of the first terms of a walk, and where their operands are in it."""


class Answer(NamedTuple):
    """softmax(x), {a: x}: what is made of a place, and the values of the variables of the row that makes it."""

    term: Term
    name: Any
    bindings: dict[Any, Any]


class _Equation(NamedTuple):
    """softmax(sin(u)), {sin(u): 3, u: 4}: an answer for all places of one look, and where its terms are in a walk."""

    answer: Answer
    places: dict[Term, int]


class Likeness:
    """failed(sin(x) + y) → is_hopeless(sin(u) + w) = True: the looks of places at which nothing applied, and the
    equations of those where something did.
    """

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._labels: dict[Term, int] = {}
        self._looks: dict[Term, _Look] = {}
        self._failed: set[Any] = set()
        """Places, and looks of places; each with how it was looked at."""
        self._places: list[tuple[Term, Any]] = []
        self._equations: dict[Any, _Equation | None] = {}
        self._tried = 0

    def is_hopeless(self, t: Term, how: Any) -> bool:
        """(sin(u) + w, how) → True after failed(sin(x) + y, how): whether nothing applied at a place of these looks.

        The first places are always tried, though none twice.
        """
        if (t, how) in self._failed:
            return True
        self._tried += 1
        if self._tried <= ALWAYS:
            return False
        while self._places:
            place, its = self._places.pop()
            self._failed.add((self._look(place), its))
        return (self._look(t), how) in self._failed

    def failed(self, t: Term, how: Any) -> None:
        """Say that nothing applied at a place."""
        self._failed.add((t, how))
        self._places.append((t, how))

    def answer(self, t: Term, how: Any) -> Answer | None:
        """exp(z)/Σ exp(z) → softmax(z) after found(exp(x)/Σ exp(x), softmax(x)): what is made of a place of these
        looks, or None.
        """
        if self._tried <= FIRST or (equation := self._equations.get((self._look(t), how))) is None:
            return None
        order = _walk(t)
        return _with(equation.answer, {x: order[place] for x, place in equation.places.items()})

    def found(self, t: Term, how: Any, answer: Answer, of: Callable[[Term], Answer | None]) -> None:
        """(exp(sin(x))/Σ exp(sin(x)), softmax(sin(x)), of) → exp(u)/Σ exp(u) = softmax(u), if `of` says the same of it:
        keep what is made of places of these looks.
        """
        if self._tried <= FIRST or (key := (self._look(t), how)) in self._equations:
            return
        self._equations[key] = None
        order = _walk(t)
        known = set(order)
        deeper = [x for x in order if self._is_nameless(x) or not known.issuperset(x.rands)]
        if t in deeper or not all(isinstance(x.type, ArrayType) for x in deeper):
            return
        places = substitute(order, {x: _symbol(x, i) for i, x in enumerate(deeper)})
        general = of(places[0])
        if general is not None and _with(general, dict(zip(places, order, strict=True)))[::2] == answer[::2]:
            self._equations[key] = _Equation(general, {x: i for i, x in enumerate(places)})

    def _look(self, t: Term) -> _Look:
        """x + sin(x) → (+, x, sin), ((1, 2), (), (-1,)): the first terms below t, and where the operands of each are.

        Places of operands are counted from the term that has them, so that f(x) looks as f before what x looks like.
        """
        found = self._looks.get(t)
        if found is None:
            if len(t.rands) == 1 and (below := self._looks.get(t.rands[0])) is not None:
                own = self._labels.get(t) or self._label(t)
                found = (own, *below[0][: SEEN - 1]), ((1,), *below[1][: SEEN - 1])
            else:
                found = self._walked(t)
            self._looks[t] = found
        return found

    def _walked(self, t: Term) -> _Look:
        """sin(x) + x → labels (add, sin, x), places ((1, 2), (1,), ()):
        a place's looks, down to so many terms, breadth first.

        A place is a distance, so that shared operands are seen to be shared.
        """
        order, number, places, size = [t], {t: 0}, list[tuple[int, ...]](), 1
        for i, node in enumerate(order):
            if i == SEEN:
                break
            own = []
            for rand in node.rands:
                place = number.setdefault(rand, size)
                if place == size:
                    order.append(rand)
                    size += 1
                own.append(place - i)
            places.append(tuple(own))
        labels = self._labels
        return tuple([labels[x] if x in labels else self._label(x) for x in order[:SEEN]]), tuple(places)

    def _label(self, t: Term) -> int:
        """sin(x) ≠ sin(y > 0), x : float64 = y : float64:
        the number of a term's head, type and sign; data have no names.
        """
        known = _signs(range_of(t)) if t.type.differentiable else None
        key = type(t.op) if self._is_nameless(t) else t.op, t.type, known
        label = self._labels[t] = self._numbers.setdefault(key, len(self._numbers) + 1)
        return label

    @staticmethod
    def _is_nameless(t: Term) -> bool:
        """x, [0.3, 0.1], x[2] → True; 2, sin(x) → False: whether only the kind of a head matters, and not which."""
        datum = is_constant(t) and (t.type.size != 1 or not _is_plain(t))
        return datum or t.op.laws.selects or type(t.op) is Input


def _walk(t: Term) -> list[Term]:
    """x + sin(x) → [x + sin(x), x, sin(x)]: the first terms of a breadth-first walk."""
    order, known = [t], {t}
    for node in order:
        if len(order) >= SEEN:
            break
        new = [x for x in dict.fromkeys(node.rands) if x not in known]
        order += new
        known.update(new)
    return order[:SEEN]


def _symbol(x: Term, number: int) -> Term:
    """exp(y) → u > 0: a symbol of the type and the signs of a term."""
    known = range_of(x) if x.type.differentiable else REAL
    low = max(bound for bound in (-inf, -1.0, 0.0, 1.0) if known.low >= bound)
    high = min(bound for bound in (inf, 1.0, 0.0) if known.high <= bound)
    range_ = Interval(low, high, low == 0 and known.positive, high == 0 and known.negative)
    return term(Input(f"u{number}", x.type, symbol=True, range=range_))


def _with(answer: Answer, new: dict[Term, Term]) -> Answer:
    """softmax(u), {u: sin(x)} → softmax(sin(x)): an answer with terms in place of symbols."""
    terms = {v: x for v, x in answer.bindings.items() if is_term(x)}
    made, *values = substitute([answer.term, *terms.values()], new)
    return Answer(made, answer.name, {**answer.bindings, **dict(zip(terms, values, strict=True))})


def _signs(known: Interval) -> tuple[bool, ...]:
    """Return on which sides of -1, 0 and 1 all entries lie."""
    low, high = known.low, known.high
    return known.positive, low >= 0, low >= 1, low >= -1, high <= 1, high <= 0, high < 0


def _is_plain(t: Term) -> bool:
    """Whether a constant is a number that relations are written with, and not a datum."""
    scaled = 12 * t.op.value.item()
    return abs(scaled) < 1000 and scaled == int(scaled)
