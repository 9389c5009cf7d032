"""A discrimination index: which of many patterns a place can match, found without asking the others.

    exp(a)·b     demands, at its root, a product with an exponential among its factors
    exp(x)/y     offers {exp, y's head}: the pattern is a candidate

Heads are what a side of an equation demands of the place where it is rooted, at the root and one level below it, and
what a place has to offer. Demands are read off once, offers are computed once per term and theory. Patterns are filed
under their root, and below that under one head that they demand of an operand, of the product or of the sum. So a
place costs the same however many patterns there are for other heads. What was found is kept for every place that
offers the same. Rows of exponentials alone are asked only where a place openly shows one. The parts of a wide sum or
product are filed under their heads in turn, so that those which an equation can concern are found without the others.

Source: the indexing of terms by discrimination nets, after McCune (1992); changed from it: products and sums are
read under their theories, as sets of heads, not as strings of symbols.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Any, NamedTuple

from quicktions import Fraction

from relgrad.leaf import Leaf
from relgrad.logic.group import Number, ProductView, SumView, key_of, whole
from relgrad.logic.theory import BAG, PRODUCT, SUM, linear_positions, theories_of
from relgrad.logic.view import operands, product_of, sum_of
from relgrad.op import Op
from relgrad.ops.arithmetic import absolute, add, power, subtract
from relgrad.ops.exponential import exp
from relgrad.ops.reduction import Sum
from relgrad.ops.statistics import Size
from relgrad.term import Term, is_term

Key = Any
"""A head, an op or a class of ops; two heads, and whether their signs are equal; a head, and in how many summands."""

CONSTANT, ROOT = "constant", "root"
"""What stands among the heads of a sum for its constant, and for factors with a fractional exponent."""

QUOTIENT = "quotient"
"""What stands for a divisor among the factors of a summand."""

JOINT = "joint"
"""What marks two heads that are factors of one summand."""


PART, MOST = "part", 4
"""What marks how many summands there are, the constant among them; so many are told apart."""

INSIDE = "inside"
"""What marks a head of a summand of one of the factors."""


class Demand(NamedTuple):
    """exp(a)/b → (0, product, {exp}): an operand, the theory under which it is read, and the heads that it must
    offer.
    """

    position: int
    kind: str
    heads: frozenset[Key]


class Pattern(NamedTuple):
    """exp(a)·b → (product, {exp}): one side of an equation, read once:
    how its root is matched, and the heads that it needs.
    """

    term: Any
    kind: str
    needs: frozenset[Key]
    operands: tuple[Demand, ...] = ()


def head_key(op: Op) -> Key:
    """sin → sin, a − b → add, Sum(axis) → Sum: a pattern's key in the index:
    the op, or its class where it has parameters.
    """
    if op is subtract:
        return add
    return op if op.elementwise else type(op)


def compile_pattern(p: Any) -> Pattern:
    """exp(a)·b → product, {exp};    a → anything: reads a side of an equation as product, sum, bag, op applied or
    variable.
    """
    if not is_term(p):
        return Pattern(p, "anything", frozenset())
    kind, heads = _read(p)
    if theories_of(p.op) & BAG:
        return Pattern(p, "bag", heads, (Demand(-1, "bag", _bag_needs(p)),))
    if kind == "op" and not (p.op.laws.commutative and len(p.rands) > 1):
        demands = [Demand(i, *_offered_as(rand)) for i, rand in enumerate(p.rands) if is_term(rand)]
        return Pattern(p, kind, heads, tuple(d for d in demands if d.heads))
    return Pattern(p, kind, heads)


def _read(p: Term) -> tuple[str, frozenset[Key]]:
    """a·√b → product, {root};    sin(a) − b → sum, {sin};    sin(a) → op, {sin}:
    the kind of a pattern, and its heads.
    """
    view = product_of(p)
    if (p.op.as_product is not None or p.op is power) and p not in view.factors:
        heads = _keys(view.factors) | frozenset(_demanded_inside(view.factors))
        return "product", heads | ({ROOT} if _is_rooted(view) else set())
    if p.op.as_sum:
        heads = {key for b in sum_of(p).terms for key in _demanded(b)}
        return "sum", frozenset(heads | _demanded_pairs(sum_of(p)) | _demanded_counts(sum_of(p)))
    return "op", frozenset([head_key(p.op)])


def _bag_needs(p: Term) -> frozenset[Key]:
    needs = [_offered_as(q) for q in operands(p, p.op) if is_term(q)]
    return frozenset(key for kind, heads in needs if kind == "product" for key in heads)


def _offered_as(p: Term) -> tuple[str, frozenset[Key]]:
    """sin(a) → product, {sin};    sin(a) + b → sum, {sin};    2 → …, {}:
    how an operand of a pattern is read, and its heads.

    A constant is compared by value, and anything ground by what equals it, which may have another head.
    """
    kind, heads = _read(p)
    if not p.ground:
        return ("product", heads) if kind == "op" else (kind, heads)
    # A constant is compared by value, and anything ground by what it equals, which may have another head.
    return kind, frozenset()


def _keys(bases: Iterable[Any]) -> frozenset[Key]:
    # The size of what is not known yet is a number where it is.
    heads = [b.op for b in bases if is_term(b) and not b.ground and type(b.op) is not Size]
    # Of a sum bindings may leave one summand, which has another head; only alone it is asked for.
    return frozenset(head_key(op) for op in heads if not op.as_sum) or frozenset(map(head_key, heads))


def _demanded_inside(bases: Iterable[Any]) -> Iterator[Key]:
    """(1 + eᵃ)·(1 − cos(b)) → (inside, exp), (inside, cos):
    heads of summands within factors, where all factors are sums.
    """
    sums = [b for b in bases if is_term(b) and not b.ground and type(b.op) is not Size]
    for part in [part for b in sums for part in sum_of(b).terms] if all(b.op.as_sum for b in sums) else ():
        # A power may be written as a product or a quotient, which has other heads.
        yield from (
            (INSIDE, key) for key in _demanded(part) if isinstance(key, (Op, type)) and key is not power
        )


def _demanded(summand: Any) -> Iterator[Key]:
    """a·sin(b) → sin;    a/sin(b) → sin, quotient: heads and forms that a summand of a pattern demands of those of the
    place.
    """
    if not is_term(summand) or summand.ground:
        return
    view = product_of(summand)
    if summand in view.factors:
        yield head_key(summand.op)
        return
    yield from (key for key in _keys(view.factors) if key is not exp)
    # What is divided by may be a number where it is known, and then is none of the factors.
    numbers = {b for b, e in view.factors.items() if e < 0 and not _is_function(b)}
    yield from (key for key in _forms(view) if key is not QUOTIENT or not numbers)
    yield from _joint(view)


def _is_function(b: Any) -> bool:
    return is_term(b) and not b.ground and b.op.elementwise and not b.op.as_sum


def _is_rooted(view: ProductView) -> bool:
    return any(type(e) is not int and e.denominator != 1 for e in view.factors.values())


def _forms(view: ProductView) -> Iterator[Key]:
    """√x → root, x/y → quotient, x²·y² → power: all that can be seen of a product besides its heads."""
    if _is_rooted(view):
        yield ROOT
    if any(e < 0 and not (is_term(b) and b.op is exp) for b, e in view.factors.items()):
        yield QUOTIENT
    if exponents(view):
        yield power


def _joint(view: ProductView) -> Iterator[Key]:
    """sin(x)·cos(y) → (joint, {sin, cos}): the pairs of functions of single entries that are factors of one product."""
    if len(view.factors) < 2:
        return
    bases = [b for b in view.factors if is_term(b) and b.rands]
    # What a pattern knows already may have another head.
    unknown = [b for b in bases if not b.ground] or bases
    heads = {b.op for b in unknown if b.op.elementwise and b.op is not exp and not b.op.as_sum}
    for pair in combinations(heads, 2):
        yield JOINT, frozenset(pair)


def _demanded_pairs(p: SumView) -> set[Key]:
    """sin(a) − cos(b) → {({sin, cos}, False)}: the relative signs of the summands that have a head of their own.

    A linear op may have the sign of its operand outside, so it demands none.
    """
    atoms = [
        (head_key(t.op), k)
        for t, k in p.terms.items()
        if is_term(t) and not t.ground and t in product_of(t).factors and not linear_positions(t.op)
    ]
    return _pairs(Counter((key, k > 0) for key, k in atoms), p.constant)


def _demanded_counts(p: SumView) -> set[Key]:
    """Return how many summands a pattern demands: products, each of which takes one whole, and sums over axes."""
    parts = [(t, product_of(t).factors) for t in p.terms if is_term(t) and not t.ground]
    products = sum(t not in factors for t, factors in parts)
    return _counts(products, sum(Sum in _keys(factors) for _, factors in parts))


def _counts(parts: int, totals: int) -> set[Key]:
    return {
        (kind, n) for kind, count in ((PART, parts), (Sum, totals)) for n in range(2, min(count, MOST) + 1)
    }


def _pairs(signs: Mapping[tuple[Key, bool], int], constant: Number) -> set[Key]:
    """{(sin, +): 2, (cos, −): 1} → ({sin}, True), ({sin, cos}, False):
    pairs of heads, and whether their signs are equal.

    A constant is a head among these.
    """
    found: set[Key] = set()
    entries = list(signs.items())
    if constant:
        found.add(CONSTANT)
        entries.append(((CONSTANT, constant > 0), 1))
    for i, ((key, sign), n) in enumerate(entries):
        if n > 1:
            found.add((frozenset([key]), True))
        for (other, its_sign), _ in entries[:i]:
            found.add((frozenset([key, other]), sign == its_sign))
    return found


def sum_heads(view: SumView) -> set[Key]:
    """eˣ − sin(y) → exp, sin, ({exp, sin}, ≠), (part, 2): all that a sum offers:
    heads, relative signs, and how many parts.
    """
    signs: Counter[tuple[Key, bool]] = Counter()
    for t, k in view.terms.items():
        for key in summand_heads(t):
            signs[key, k > 0] += 1
    parts = len(view.terms) + bool(view.constant)
    counts = _counts(parts, sum(Sum in summand_heads(t) for t in view.terms) if parts > 1 else 0)
    return {key for key, _ in signs} | _pairs(signs, view.constant) | counts


def _offered_sums(t: Term) -> Iterator[SumView]:
    """x·y − x·sin(y) → x·y − x·sin(y), y − sin(y): the sum that a term is, and those behind the factors that all
    share.
    """
    view = sum_of(t)
    yield view
    if t.op.as_sum and (len(view.terms) > 1 or view.constant):
        for base, e in product_of(t).factors.items():
            if e == 1 and base is not t and is_term(base) and base.op.as_sum:
                yield sum_of(base)


LARGEST = 64
"""The largest exponent in what a product is said to be a power of."""


def exponents(view: ProductView) -> list[Number]:
    """x⁻² → [−2, −1], x⁴·y⁴ → [4, 2], x·y → []: the numbers k for which a product is a power k, the largest first."""
    es = [Fraction(e) for e in view.factors.values()]
    if not es or any((e > 0) != (es[0] > 0) for e in es):
        return []
    below = math.lcm(*[e.denominator for e in es])
    above = math.gcd(*[int(e * below) for e in es])
    smaller = [n for n in range(min(above - 1, 8), 0, -1) if above % n == 0 and below <= 2]
    sizes = [Fraction(n, below) for n in (above, *smaller)]
    if max(map(abs, es)) > LARGEST * sizes[-1]:
        return []  # the exponents have no more in common than floats have
    return [whole(a if es[0] > 0 else -a) for a in sizes if a != 1 or es[0] < 0]


def summand_heads(t: Any) -> tuple[Key, ...]:
    """eˣ/sin(y) → (exp, sin, quotient): the heads of a summand, each once: those of its factors, and its forms."""
    if not is_term(t):
        return tuple(dict.fromkeys(_summand_heads(t)))
    found = t.cache.get("summand heads")
    if found is None:
        found = t.cache["summand heads"] = tuple(dict.fromkeys(_summand_heads(t)))
    return found


def _summand_heads(t: Any) -> Iterator[Key]:
    """1 − p[i]: p[i] → Index, head(p);    x/y → …, quotient: heads of factors, of all below selections, and forms."""
    view = product_of(t)
    yield from product_heads(view, 0)
    while is_term(t) and t.op.laws.selects:  # 1 - p[i] is an entry of 1 - p
        t = t.rands[0]
        yield head_key(t.op)
    if is_term(t) and t.op is power:  # of a quotient too, whose parts have exponents of both signs
        yield head_key(power)
    if len(view.factors) > 1 or 1 not in view.factors.values():
        yield from _forms(view)


def heads_of(t: Term, kind: str) -> frozenset[Key]:
    """(eˣ/y, product) → {exp, head(y)}: the heads that a term offers when it is read as a product, a sum, a bag or an
    op.
    """
    found = own_head(t.op)
    if found is not None:
        return found
    if kind == "op":
        return frozenset([head_key(t.op)])
    name = f"{kind} heads"
    found = t.cache.get(name)
    if found is None:
        if kind == "product":
            found = frozenset(product_heads(product_of(t), 3))
        elif kind == "bag":
            found = frozenset(
                key for q in operands(t, t.op, each_once=True) for key in product_heads(product_of(q), 3)
            )
        else:
            found = frozenset(
                key
                for view in _offered_sums(t)
                for key in chain(sum_heads(view), *[_joint(product_of(part)) for part in view.terms])
            )
        t.cache[name] = found
    return found


def own_head(op: Any) -> frozenset[Key] | None:
    """tanh → {tanh}, x → {Input}; exp, Σ → None: all that an op offers however it is read, if no theory reads through.

    Kept on the op, which is asked often.
    """
    try:
        return op._own_head
    except AttributeError:
        is_function = op.elementwise and op.arity == 1 and not theories_of(op) and op not in (exp, absolute)
        op._own_head = frozenset([head_key(op)]) if is_function or issubclass(type(op), Leaf) else None
        return op._own_head


def offered(t: Term, position: int, kind: str) -> frozenset[Key]:
    """(sin(v[0]), 0, product) → heads of v[0] and of v: an operand's heads, all that is selected from included.

    Only a function of single entries is looked through so.
    """
    rand = t.rands[position]
    heads = heads_of(rand, kind)
    if t.op.elementwise and len(t.rands) == 1:
        while rand.op.laws.selects:
            rand = rand.rands[0]
            heads |= heads_of(rand, kind)
    return heads


def product_heads(view: ProductView, depth: int) -> Iterator[Key]:
    """x·Σ eʸ, depth 1 → head(x), Sum, exp: the heads of the factors, and of those below so many linear contractions."""
    if _is_rooted(view):
        yield ROOT
    for base in view.factors:
        if not is_term(base):
            continue
        yield head_key(base.op)
        if depth:
            yield from heads_inside(base)
            for rand in [base.rands[i] for i in linear_positions(base.op) if i < len(base.rands)]:
                yield from product_heads(product_of(rand), depth - 1)


def heads_inside(base: Term) -> Iterator[Key]:
    """Yield the heads of the summands of a factor that is a sum."""
    if base.op.as_sum:
        yield from ((INSIDE, key) for part in sum_of(base).terms for key in summand_heads(part))


KEPT = 1 << 14
"""So many different offers are remembered."""

Place = tuple[int, str]
"""What is asked of a root: an operand's position, or -1 for the root itself, and how it is read."""


class Index:
    """[sin(a), eᵃ·b], eˣ·y → (1,): patterns by position, filed under the heads that they demand."""

    def __init__(self, patterns: Sequence[Pattern]):
        """[sin(a), eᵃ·b] → {sin: [0], product: [1]}: files patterns under their roots, and there under demanded
        heads.
        """
        self._roots: dict[Any, _Shelf] = {}
        grouped: dict[Any, list[tuple[int, tuple[Demand, ...]]]] = {}
        for i, p in enumerate(patterns):
            for root, demands in _filed(p):
                grouped.setdefault(root, []).append((i, demands))
        for root, entries in grouped.items():
            self._roots[root] = _Shelf(entries)

    def candidates(self, t: Term, readings: int) -> tuple[int, ...]:
        """(x + sin(x), SUM) → positions, in order, of the patterns that may match at the root:
        as an op, and as `readings` says.
        """
        found: tuple[int, ...] = ()
        shelf = self._roots.get(head_key(t.op))
        if shelf is not None and (readings & BAG or not theories_of(t.op) & BAG):
            found = shelf.candidates(t)
        if readings & PRODUCT and (shelf := self._roots.get("product")) is not None:
            found += shelf.candidates(t)
        if readings & SUM and (shelf := self._roots.get("sum")) is not None:
            found += shelf.candidates(t)
        return found if len(found) < 2 else tuple(sorted(set(found)))

    def has_root(self, key: Key) -> bool:
        """Whether a pattern is rooted in an op, or in a class of ops."""
        return key in self._roots


def _filed(p: Pattern) -> list[tuple[Any, tuple[Demand, ...]]]:
    if p.kind in ("op", "bag"):
        return [(key, p.operands) for key in p.needs]
    return [(p.kind, (Demand(-1, p.kind, p.needs),) if p.needs else ())]


class _Shelf:
    """product → {exp: [1, 4], log: [2]}: the patterns of one root, each filed under the rarest of its heads."""

    def __init__(self, entries: list[tuple[int, tuple[Demand, ...]]]):
        """[(i, demands), …] → files by (operand, theory, head), and `open`: the patterns that demand nothing."""
        self.demands = dict(entries)
        self.places: list[Place] = sorted({(d.position, d.kind) for _, ds in entries for d in ds})
        count = Counter((d.position, d.kind, key) for _, ds in entries for d in ds for key in d.heads)
        self.open: list[int] = []
        self.files: dict[tuple[int, str, Key], list[int]] = {}
        for i, demands in entries:
            keys = [(d.position, d.kind, key) for d in demands for key in d.heads]
            if keys:
                self.files.setdefault(min(keys, key=lambda key: count[key]), []).append(i)
            else:
                self.open.append(i)
        self.known: dict[tuple[frozenset[Key], ...], tuple[int, ...]] = {}

    def candidates(self, t: Term) -> tuple[int, ...]:
        """eˣ·y → positions of the patterns whose demands this place meets, in order; kept for all places that offer the
        same.
        """
        offers = tuple([offered(t, at, kind) if at >= 0 else heads_of(t, kind) for at, kind in self.places])
        found = self.known.get(offers)
        if found is None:
            if len(self.known) >= KEPT:
                self.known.clear()
            found = self.known[offers] = tuple(sorted(self._search(offers)))
        return found

    def _search(self, offers: tuple[frozenset[Key], ...]) -> list[int]:
        """offers → [i, …] with demands(i) ≤ offers: looks only in the files of the heads that are offered."""
        by_place = dict(zip(self.places, offers, strict=True))
        rows = list(self.open)
        for (at, kind), heads in by_place.items():
            for key in heads:
                rows += [
                    i
                    for i in self.files.get((at, kind, key), ())
                    if all(d.heads <= by_place[d.position, d.kind] for d in self.demands[i])
                ]
        return rows


class Filed:
    """sin(x) − y → like(sin) = {sin(x)}: the parts of a sum or product with their amounts, found by heads and by
    keys.
    """

    def __init__(self, view: ProductView | SumView):
        """2·x − y → {x: 2, y: −1}: files all parts of a view."""
        self.heads: Callable[[Any], tuple[Key, ...]] = (
            summand_heads if isinstance(view, SumView) else lambda b: (head_key(b.op),)
        )
        self.amounts: dict[Any, Number] = {}
        self._known: dict[Any, Any] = {}
        self._by_head: dict[Key, dict[Any, None]] = {}
        self.add(view[1])

    def like(self, key: Key, amount: Number | None = None) -> Mapping[Any, None]:
        """Return the parts that have a head; those that stand so often, if an amount is given."""
        return self._by_head.get(key if amount is None else (key, amount), {})

    def member(self, t: Any) -> Any:
        """Return the part that is equal to a term, or None."""
        part = t if t in self.amounts else self._known.get(key_of(t))
        return part if part in self.amounts else None

    def add(self, parts: Mapping[Any, Number]) -> None:
        """{x: 1, y: 1} + {x: −1} → {y: 1}: puts further parts among these; what amounts to nothing goes."""
        for new, amount in parts.items():
            part = self._known.setdefault(key_of(new), new)
            old = self.amounts.get(part, 0)
            if not old + amount:
                self.remove([part])
                continue
            self.amounts[part] = old + amount
            for key in self.heads(part):
                if old:
                    del self._by_head[key, old][part]
                for name in (key, (key, old + amount)):
                    self._by_head.setdefault(name, {})[part] = None

    def remove(self, parts: Iterable[Any]) -> None:
        """{x: 1, y: 1} less x → {y: 1}: takes parts out."""
        for part in parts:
            amount = self.amounts.pop(part)
            for key in self.heads(part):
                del self._by_head[key][part], self._by_head[key, amount][part]
