"""Functions of one term in a graph: where they lose their leading terms near a point, they become series there.

The *base* of a term is the term that it is a function of, entry by entry: the base that all its operands have in
common, but for numbers, and else itself. A term that others than functions of its base read is looked at as a whole,
and so are the factors of a product that have one base, wherever they stand in it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from functools import lru_cache
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np

from relgrad.bounds import range_of
from relgrad.calculus.fit import fitted
from relgrad.calculus.kinks import smoothed
from relgrad.calculus.lengths import legs_of
from relgrad.calculus.path import definition_of
from relgrad.calculus.series import Series, applied, argument, body_of, expanded, places, values_at
from relgrad.conventions import DEFAULT, Conventions
from relgrad.logic.build import build_product, build_sum, divisible, number_term
from relgrad.logic.group import ProductView, SumView, added, multiplied, sum_key
from relgrad.logic.parts import dtype_of
from relgrad.logic.view import product_of, sum_of
from relgrad.op import Constant, as_term, constant, is_constant
from relgrad.ops.arithmetic import (
    add,
    divide,
    hypot,
    multiply,
    negative,
    power,
    reciprocal,
    sqrt,
    square,
    subtract,
)
from relgrad.ops.exponential import log
from relgrad.ops.increments import Difference
from relgrad.ops.lengths import Norm
from relgrad.ops.reduction import Sum
from relgrad.ops.stable import xlogy
from relgrad.term import Term, is_term, rebuild, remade, substitute, subterms
from relgrad.trace.tracer import Tracer
from relgrad.types import NONNEGATIVE, ArrayType

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
LARGEST = 120
"""Functions of more ops are left as they are written."""
WIDEST = 24
"""Sums of more summands are left as they are written,"""
LONGEST = 512
"""and products of more factors."""
_Factors = list[tuple[Term, int]]


class _Summand(NamedTuple):
    """A summand, its sign, and its factors with their exponents: −x/y → (x/y, −1, [(x, 1), (y, −1)])."""

    term: Term
    sign: int
    factors: _Factors


class Expanded(NamedTuple):
    """(eˣ − 1)/x, series(x), (series,): a term, its form with series, and these."""

    before: Term
    after: Term
    series: tuple[Series, ...]


def in_series(
    roots: Sequence[Term],
    allowed: Callable[[Term], bool] = lambda t: True,
    kinks: int = 0,
    singular: bool = True,
    derived: bool = False,
    conventions: Conventions = DEFAULT,
    improved: Callable[[Term, Callable[[Term], Term]], Term | None] = lambda t, opened: None,
) -> tuple[list[Term], list[Expanded]]:
    """(eˣ − 1)/x → series{1 + 0.5·t + …, t = x}(x): wherever a function of one term cancels near a point.

    Returns the roots, and the changes. Where derivatives up to an order are asked for, `kinks`, those that cancel are
    places as well; or these alone, and not what is `singular`. At kinks, roots that are `derived` have the values that
    rules give them, under the conventions.

    A function of several series is `improved` with what these are series of: h(x) + x·h′(x) of the series h of erf(x)/x
    is erf′(x), though h and x·h′ cancel where x is large.

    A place that is not `allowed`, or at which an op raises, is left as it is. Ops that must not be computed while a
    program is made are no part of a function.
    """
    given, nodes = roots, list(subterms(*roots))
    roots = _rejoined(roots, nodes)
    if kinks:
        roots = _parted(roots)
    written, opened = frozenset[Term](), False
    if roots is not given:
        written, nodes = frozenset(nodes), list(subterms(*roots))
        opened = conventions.zero_log == 0 and any(_is_weighted_log(t) and t not in written for t in nodes)
    base = _bases(nodes)
    exposed = _exposed(nodes, base, roots)
    products = set(_largest(nodes, base, (multiply, divide), _is_part_of_product))
    sums = set(_largest(nodes, base, (add, subtract), _is_part_of_sum))
    new: dict[Term, Term] = {}
    found: list[Expanded] = []

    def function(t: Term, u: Term) -> Term | None:
        """t = f(u) → f(u) with the series that f needs, of what u has become; None if f needs none.

        Else f is tried as a function of 1/u.
        """
        if all(rand is u or type(rand.op) is Constant for rand in t.rands) or not allowed(t):
            return None  # one op has no parts that could cancel
        x = argument(range_of(u))
        try:
            body = body_of(t, u, x, LARGEST)
            if body is None:
                return None
            better, series, read, of = body, (), x, new.get(u, u)
            if singular and (made := _of_one_log(body, x)) is not None:
                better, series = made.make_node(x), (made,)
            if singular and not series:
                better, series = expanded(body, x)
            if kinks and not series:
                alike = 2.0**12 * float(np.finfo(t.type.dtype).eps)
                better, series = smoothed(body, x, kinks, derived, conventions, alike)
            if singular and not series and (turned := _inverted(body, x)) is not None:
                better, series = expanded(turned[1], turned[0])
                if series:
                    read, of = turned[0], reciprocal.make_node(of)
            if singular and not series and _has_several_series(body):
                plain = improved(body, without_series)
                better, series = (None, ()) if plain is None else expanded(plain, x)
            elif not series:
                better = None
            if better is None:
                return None
            after = applied(better, read, of)
        except Exception:
            return None
        if after.type != t.type:
            return None
        found.append(Expanded(t, after, series))
        return after

    for t in nodes:
        u = base.get(t)
        after = function(t, u) if u is not None and u is not t and t in exposed else None
        if after is None and t in products:
            after = _regrouped(_factors(t, base), base, new, function)
        if after is None and t in sums:
            ways = (_gathered(some, base, new, function, needed) for some, needed in _summands(t, base))
            after = next((way for way in ways if way is not None), None)
        if after is None or after.type != t.type:
            rands = [new.get(rand, rand) for rand in t.rands]
            same = all(a is b for a, b in zip(rands, t.rands, strict=True))
            after = t if same else t.op.with_rands(t, rands)
        if after is not t:
            new[t] = after
    if not found:
        return list(given), found
    roots = [new.get(root, root) for root in roots]
    return _with_weighted_logs(roots, written) if opened else roots, found


def _has_several_series(body: Term) -> bool:
    return len({t.op for t in subterms(body) if type(t.op) is Series}) > 1


def without_series(t: Term) -> Term:
    """series{erf(x)/x}(x) + 1 → erf(x)/x + 1: a term with what series are series of in their places."""

    def change(old: Term, rands: tuple[Any, ...]) -> Any:
        op = old.op
        if type(op) is not Series:
            return remade(old, rands)
        return substitute([without_series(op.body)], {op.argument: rands[0]})[0]

    return rebuild([t], change)[0]


@lru_cache(maxsize=2048)
def _inverted(body: Term, x: Term) -> tuple[Term, Term] | None:
    """cos(2/x) − 1/x² ⟶ y, cos(2·y) − y², y = 1/x: a function that reads x in products and powers only; or None."""
    if not any(_divides_by(t, x) for t in subterms(body)):
        return None
    y = argument()
    new: dict[Term, Term | None] = {x: None}

    def made(t: Term) -> Term | None:
        """2/x → 2·y: a term as one of y, by products and powers of x, or by its op's meaning; None without either."""
        if t not in new:
            new[t] = _of_reciprocal(t, x, y) if x in t.rands else None
            if new[t] is None and t.op.elementwise and definition_of(t.op, len(t.rands)):
                new[t] = made(as_term(t.op.definition(*map(Tracer, t.rands))))
            elif new[t] is None:
                rands = [made(rand) for rand in t.rands]
                new[t] = None if None in rands else t.op.with_rands(t, rands)
        return new[t]

    found = made(body)
    return None if found is None else (y, found)


@lru_cache(maxsize=2048)
def _of_one_log(body: Term, x: Term) -> Series | None:
    """log(sin x) − 2·log x ⟶ its series, that of log(sin x/x²): of logarithms that grow where their sum does not."""
    view = sum_of(body)
    of = {t: u for t in view.terms if is_term(t) and (u := _logarithm(t)) is not None}
    found = values_at(list(of.values()), x, 0.0) or []
    logs = {t: u for (t, u), at in zip(of.items(), found, strict=False) if not (np.isfinite(at) and at)}
    if len(logs) < 2 or any(int(view.terms[t]) != view.terms[t] for t in logs):
        return None
    whole = multiplied(*[(product_of(u), view.terms[t]) for t, u in logs.items()])
    one = log.make_node(build_product(whole, body.type.dtype))
    rest = {t: k for t, k in view.terms.items() if t not in logs}
    one = build_sum(SumView(view.constant, {**rest, one: 1}), body.type.dtype)
    right = argument(NONNEGATIVE)
    one, formula = substitute([one, body], {x: right})
    lost = places(one, right, 0.0)
    terms = fitted(one, right, 0.0, max(loss for _, loss in lost), formula=formula) if lost else None
    return None if terms is None else Series(body, x, 0.0, terms)


def _logarithm(t: Term) -> Term | None:
    """log x → x;    log1mexp(x) → 1 − exp(x): of what an op is the logarithm, or None."""
    if t.op is log:
        return t.rands[0]
    definition = definition_of(t.op, len(t.rands)) if t.op.elementwise else None
    if definition is None:
        return None
    t = as_term(t.op.definition(*map(Tracer, t.rands)))
    return t.rands[0] if t.op is log else None


def _divides_by(t: Term, x: Term) -> bool:
    """Whether a term divides by x: 1/x, 2/x, x**-2: yes; x/2, 1/x²: no."""
    if t.op in (reciprocal, divide):
        return t.rands[-1] is x
    return (
        t.op is power
        and t.rands[0] is x
        and is_constant(t.rands[1])
        and bool(np.all(t.rands[1].op.value < 0))
    )


def _of_reciprocal(t: Term, x: Term, y: Term) -> Term | None:
    """2/x → 2·y;    x/2 → 1/(2·y);    xⁿ → y⁻ⁿ: one product or power of x and numbers as one of y = 1/x, or None."""
    if t.op is reciprocal:
        return y
    if t.op is square:
        return reciprocal.make_node(square.make_node(y))
    other = t.rands[t.rands[0] is x] if len(t.rands) == 2 else x
    if not is_constant(other):
        return None
    if t.op is multiply:
        return divide.make_node(other, y)
    if t.op is divide:
        return (
            multiply.make_node(other, y)
            if t.rands[1] is x
            else reciprocal.make_node(multiply.make_node(other, y))
        )
    return power.make_node(y, negative.make_node(other)) if t.op is power and t.rands[0] is x else None


def _rejoined(roots: Sequence[Term], nodes: Sequence[Term]) -> Sequence[Term]:
    """exp(−x·y) − x·y, (x·y)/(x²·y²)   ⟶   exp(−(x·y)) − (x·y), (x·y)/(x·y)²

    Multiples and powers of one product become those of the product itself, where that stands beside them, squares of
    legs that of the hypotenuse, a multiple of a logarithm that of the power, and a weighted one that times its weight.
    """
    views = {t: product_of(t) for t in nodes if t.op in (multiply, divide) and t.type.differentiable}
    degrees = {t: _degree(view) for t, view in views.items() if len(view.factors) > 1}
    new = _of_weighted_logs(nodes) | _of_lengths(nodes) | _of_powers(nodes, views)
    wholes: dict[Any, Term] = {}
    for t, (degree, key) in degrees.items():
        if degree == 1 and abs(views[t].coefficient) == 1:
            kept = wholes.setdefault(key, t)
            if views[kept].coefficient != 1 == views[t].coefficient:
                wholes[key] = t
    for t, (degree, key) in degrees.items():
        whole = wholes.get(key)
        if whole is None or whole is t or whole.type != t.type:
            continue
        coefficient = views[t].coefficient * views[whole].coefficient ** abs(degree)
        again = build_product(ProductView(coefficient, {whole: degree}), t.type.dtype)
        if again.type == t.type and again is not t:
            new[t] = again
    return substitute(roots, new) if new else roots


def _of_weighted_logs(nodes: Sequence[Term]) -> dict[Term, Term]:
    """xlogy(w, y)/(y − 1) → {xlogy(w, y): w·log y}: a factor of a product, of which y may have a function beside it."""
    factors = dict.fromkeys(x for t in nodes if t.op in (multiply, divide) for x in t.rands if x.op is xlogy)
    opened = {t: multiply.make_node(t.rands[0], log.make_node(t.rands[1])) for t in factors}
    return {t: new for t, new in opened.items() if new.type == t.type}


def _is_weighted_log(t: Term) -> bool:
    return t.op is multiply and t.rands[1].op is log


def _with_weighted_logs(roots: Sequence[Term], written: Container[Term]) -> list[Term]:
    """w·log y → xlogy(w, y), which is 0 where w and y are, beyond series too; what is `written` so stays."""

    def change(old: Term, rands: tuple[Any, ...]) -> Term:
        new = remade(old, rands)
        if type(new.op) is Series:
            (body,) = _with_weighted_logs([new.op.body], written)
            return new.op.of(body).make_node(*new.rands)
        if old in written or not _is_weighted_log(new):
            return new
        weighted = xlogy.make_node(new.rands[0], new.rands[1].rands[0])
        return weighted if weighted.type == new.type else new

    return rebuild(roots, change)


def _of_lengths(nodes: Sequence[Term]) -> dict[Term, Term]:
    """[hypot(x, y), x² + y², √(x² + y²)] → {x² + y²: hypot(x, y)², √(x² + y²): hypot(x, y)};
    [‖x‖, Σ x²] → {Σ x²: ‖x‖²}
    """
    lengths = {_squares(t): t for t in nodes if t.op is hypot}
    sums = [t for t in nodes if t.op.as_sum] if lengths else []
    of = {t: h for t in sums if (h := lengths.get(sum_key(sum_of(t)))) and h.type == t.type}
    norms = {(t.rands[0], t.op.axes): t for t in nodes if type(t.op) is Norm}
    for t in nodes if norms else ():
        whole = product_of(t.rands[0]) if type(t.op) is Sum else ProductView(1, {})
        ((x, k),) = whole.factors.items() if len(whole.factors) == 1 else ((t, 0),)
        n = norms.get((x, t.op.axes)) if k == 2 and whole.coefficient == 1 else None
        if n is not None and n.type == t.type:
            of[t] = n
    roots = {t: of[t.rands[0]] for t in nodes if t.op is sqrt and t.rands[0] in of}
    return {t: square.make_node(h) for t, h in of.items()} | roots


def _squares(length: Term) -> Any:
    """hypot(hypot(x, y), z) → the key of x² + y² + z²"""
    parts = [sum_of(square.make_node(leg)) for leg in legs_of(length)]
    return sum_key(added(*[(part, 1) for part in parts]))


def _of_powers(nodes: Sequence[Term], views: dict[Term, ProductView]) -> dict[Term, Term]:
    """[xᵏ, 2·k·log x] → {2·k·log x: 2·log xᵏ}"""
    powers = [t for t in nodes if t.op is power and not is_constant(t.rands[1])]
    if not powers:
        return {}
    views = views | {t: product_of(multiply(t.rands[0], log(t.rands[1]))) for t in nodes if t.op is xlogy}
    new: dict[Term, Term] = {}
    of_logs = [
        (t, view) for t, view in views.items() if any(is_term(b) and b.op is log for b in view.factors)
    ]
    for (t, view), whole in product(of_logs, powers):
        x, k = whole.rands
        rest = multiplied((view, 1), *[(ProductView(1, {part: 1}), -1) for part in (log.make_node(x), k)])
        if len(rest.factors) == len(view.factors) - 2:
            again = build_product(
                multiplied((rest, 1), (ProductView(1, {log.make_node(whole): 1}), 1)), dtype_of(t)
            )
            if again.type == t.type:
                new[t] = again
    return new


def _degree(view: ProductView) -> tuple[int, Any]:
    """5·x²·y⁶ → 2, x·y³: the whole power that a product is, but for a number, and of what; 0 for x^½."""
    exponents = list(view.factors.values())
    if any(e != int(e) for e in exponents):
        return 0, None
    degree = math.gcd(*map(int, exponents)) * (-1 if sum(exponents) < 0 else 1)
    return degree, frozenset((b, int(e) // degree) for b, e in view.factors.items())


def _parted(roots: Sequence[Term]) -> Sequence[Term]:
    """max(x, y) + log1p(exp(−|x − y|)) ⟶ y + (max(x − y, 0) + log1p(exp(−|x − y|)))

    Only where x − y stands in the program: the whole may be a function of that.
    """
    nodes = list(subterms(*roots))
    apart = {t for t in nodes if t.op is subtract}
    new: dict[Term, Any] = {}
    for t in nodes:
        if not (t.op.kinks and t.op.laws.commutative and not any(map(is_constant, t.rands))):
            continue
        for x, y in (t.rands, t.rands[::-1]):
            u = subtract.make_node(x, y)
            if u in apart and u.type == t.type:
                new[t] = add.make_node(y, t.op.make_node(u, constant(0.0, t.type.dtype)))
                break
    return substitute(roots, new) if new else roots


def _bases(nodes: Sequence[Term]) -> dict[Term, Term]:
    """sin(x)·x → x;    exp(x·y) → x·y;    Σ x → Σ x: the term that each float is a function of, entry by entry."""
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
        if not (t.op.elementwise and t.rands) or not t.op.do_constant_folding(None, t):
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
    """sin(x)/x·y → sin(x)/x: the functions that are read by others than functions of the same term, or are roots."""
    found = {t for t in roots if base.get(t, t) is not t and t.type.dtype.kind == "f"}
    for t in nodes:
        own = base.get(t)
        for rand in t.rands:
            u = base.get(rand)
            if u is not None and u is not rand and u is not own and rand.type.dtype.kind == "f":
                found.add(rand)
    return found


def _largest(
    nodes: Sequence[Term],
    base: dict[Term, Term],
    ops: Sequence[Any],
    is_part: Callable[[Term, dict[Term, Term]], bool],
) -> Iterator[Term]:
    """[x·y, sin(x·y/z), x·y/z], products ⟶ x·y/z: the sums, or products, that are no part of another one."""
    inner: set[Term] = set()
    for t in reversed(nodes):
        if t not in inner and t.op in ops and (base.get(t) is t or _is_part_of_sum(t, base)):
            stack = [t]
            while stack:
                node = stack.pop()
                if node not in inner and is_part(node, base):
                    inner.add(node)
                    stack.extend(node.rands)
            yield t


def _may_cancel(factors: _Factors) -> bool:
    """Whether a divisor stands beside another factor: sin(x)/x, log(x)/(x − 1): yes; 1/(x·sin(x)): no."""
    return len({_divides(f, e) for f, e in factors}) > 1 or len({e > 0 for _, e in factors}) > 1


def _divides(factor: Term, exponent: int) -> bool:
    """Whether a factor is a divisor, or infinite at zero by its name, as an op for 1/(eˣ − 1) is: y of x/y: yes."""
    return exponent < 0 or _has_pole(factor.op)


@lru_cache(maxsize=1024)
def _has_pole(op: Any) -> bool:
    """Whether an op of one operand is infinite at zero: 1/x, log: yes; eˣ: no."""
    if not op.elementwise or op.arity != 1:
        return False
    with np.errstate(all="ignore"):
        try:
            return bool(np.isinf(op.compute(np.float64(0.0))))
        except (TypeError, ValueError, ArithmeticError):
            return False


def _at_number(t: Term) -> tuple[Term, Term] | None:
    """Δ(x², 1) = x² − 1 ⟶ x², 1: an increment from a number, as two summands that others may share; or None."""
    op = t.op
    if not isinstance(op, Difference) or op.position or not all(map(is_constant, t.rands[1:-1])):
        return None
    at, *others = [x.op.value for x in t.rands[1:-1]]
    with np.errstate(all="ignore"):
        value = op.of.compute(at, *others)
    if np.ndim(value) or np.rint(value) != value:
        return None
    return op.of.make_node(t.rands[0], *t.rands[2:-1]), constant(value, t.type.dtype)


def _summands(t: Term, base: dict[Term, Term]) -> Iterator[tuple[list[_Summand], _Summand | None]]:
    """Δ(x², 1) + y − log y ⟶ itself; x² + y − log y − 1, with −1: readings of a sum, and what each is made for."""
    summands = [_Summand(x, sign, _factors(x, base)) for x, sign in islice(_added(t, base), WIDEST + 1)]
    if len(summands) > WIDEST:
        return
    yield summands, None
    yield from ((freed, freed[-1]) for freed in _set_free(summands, base))
    yield from ((again, None) for again in _in_powers(summands, base))
    for opened in _multiplied_out(summands, base):
        yield from ((again, None) for again in _in_powers(opened, base))
        yield opened, None


def _multiplied_out(summands: Sequence[_Summand], base: dict[Term, Term]) -> Iterator[list[_Summand]]:
    """(x + y)·f(x·y) − x ⟶ x·f(x·y) + y·f(x·y) − x: sums in which a product is multiplied out."""
    for i, s in enumerate(summands):
        for f, e in s.factors:
            if e != 1 or not _is_sum(f) or base.get(f) is not f:
                continue
            rest = list(s.factors)
            rest.remove((f, e))
            parts = list(_added(f, base))
            terms = [_product([(x, 1), *rest]) for x, _ in parts]
            if any(t.type != s.term.type for t in terms):
                continue
            opened = [
                _Summand(t, s.sign * sign, [*_factors(x, base), *rest])
                for t, (x, sign) in zip(terms, parts, strict=True)
            ]
            again = [*summands[:i], *opened, *summands[i + 1 :]]
            if len(again) <= WIDEST:
                yield again


def _in_powers(summands: Sequence[_Summand], base: dict[Term, Term]) -> Iterator[list[_Summand]]:
    """sin(x/y)/x − 1/y ⟶ (1/y)·sin(x/y)/(x/y) − 1/y: sums of one degree in the factors of a product, in its powers."""
    for u in dict.fromkeys([base[f] for s in summands for f, _ in s.factors if f in base]):
        of = {} if u.op.as_sum else product_of(u).factors
        if len(of) < 2 or not set(of.values()) <= {1, -1} or abs(product_of(u).coefficient) != 1:
            continue
        read = [_powers_of(of, s.factors) for s in summands]
        powers = {x: [degrees[x] * of[x] for degrees, _ in read] for x in of}
        # What does not depend on a factor is written without it, as far as that goes.
        pivot = min(of, key=lambda x: (len(powers[x]) - powers[x].count(0), min(powers[x])))
        again: list[_Summand] = []
        for s, (degrees, others) in zip(summands, read, strict=True):
            k = int(degrees[pivot] * of[pivot])
            left = [(u, k), *[(x, int(degrees[x] - k * e)) for x, e in of.items()]]
            factors = [(x, e // abs(e)) for x, e in left for _ in range(abs(e))]
            again.append(s._replace(factors=[*others, *_sign(u, k), *factors]))
        if any(group[0] is u for group in _alike(again, base)):
            yield again


def _sign(u: Term, k: int) -> _Factors:
    """−x·y, 3 → [−1];    −x·y, 2 → []: what the k-th power of a product has beside powers of its factors."""
    return [(constant(-1.0, u.type.dtype), 1)] if product_of(u).coefficient < 0 and k % 2 else []


def _powers_of(of: Any, factors: _Factors) -> tuple[Counter[Term], _Factors]:
    """[x, y], (2·x²)/(y·z) → {x: 2, y: −1}, [2, 1/z]: the powers of some terms in a product, and its other factors."""
    degrees: Counter[Term] = Counter()
    others: _Factors = []
    for f, e in factors:
        view = product_of(f)
        ((x, k),) = view.factors.items() if len(view.factors) == 1 else ((f, 0),)
        if x in of and k == int(k):
            degrees[x] += e * int(k)
            others += [(number_term(view.coefficient, x.type.dtype), e)] if view.coefficient != 1 else []
        else:
            others.append((f, e))
    return degrees, others


def _set_free(summands: Sequence[_Summand], base: dict[Term, Term]) -> Iterator[list[_Summand]]:
    """Δ(x², 1) + y − log y ⟶ x² + y − log y − 1: sums in which a number that one summand has taken is another's."""
    for i, s in enumerate(summands):
        if (parts := _at_number(s.term)) is not None:
            of, at = parts
            base.setdefault(of, base[s.term])
            own = _Summand(of, s.sign, [(of, 1)]), _Summand(at, -s.sign, [(at, 1)])
            yield [*summands[:i], *summands[i + 1 :], *own]


def _is_part_of_sum(t: Term, base: dict[Term, Term]) -> bool:
    """Whether a term is opened as a sum: x + y, −(x + y), x·y − 1: yes; sin(x) + x, a function of x alone: no."""
    mixed = base.get(t)
    moved = t.op in (add, subtract) and any(map(_is_number, t.rands))
    beside = _is_product(mixed) and any(rand is mixed for rand in t.rands)
    return (
        (t.op in (add, subtract) and mixed is t)
        or ((moved or t.op is negative) and _is_sum(mixed))
        or (moved and beside)
    )


def _added(t: Term, base: dict[Term, Term]) -> Iterator[tuple[Term, int]]:
    """x − (y − z) → (x, 1), (y, −1), (z, 1): the summands of a sum, with their signs."""
    stack = [(t, 1)]
    while stack:
        node, sign = stack.pop()
        if _is_part_of_sum(node, base):
            if node.op is not negative:
                stack.append((node.rands[1], -sign if node.op is subtract else sign))
            stack.append((node.rands[0], -sign if node.op is negative else sign))
        else:
            yield node, sign


def _is_sum(t: Term | None) -> bool:
    return t is not None and t.op in (add, subtract)


def _alike(
    summands: Sequence[_Summand], base: dict[Term, Term]
) -> list[tuple[Term, _Factors, list[_Summand]]]:
    """w·sin(x) − w·x + y → x, [w], [w·sin(x), −w·x]: summands that differ by functions of one term, x, and the rest."""
    groups: dict[Any, list[_Summand]] = {}
    beside: dict[Any, Counter[Term]] = {}
    for s in summands:
        for u in dict.fromkeys([base[f] for f, _ in s.factors if f in base]):
            rest = Counter()
            for f, e in s.factors:
                if base.get(f) is not u and not _is_number(f):
                    rest[f] += e
            key = u, frozenset(rest.items())
            groups.setdefault(key, []).append(s)
            beside.setdefault(key, rest)  # in the order in which the factors stand
    for s in summands:  # w − w·f(x) = w·(1 − f(x))
        plain = Counter()
        for f, e in s.factors:
            if not _is_number(f):
                plain[f] += e
        for (_, rest), found in groups.items():
            # A summand that stands twice counts twice: t − (t·eˣ − t) = t·(2 − eˣ).
            if rest == frozenset(plain.items()) and not any(s is other for other in found):
                found.append(s)
    alike: list[tuple[Term, _Factors, list[_Summand]]] = []
    for key, found in groups.items():
        rest = [(f, e) for f, e in beside[key].items() if e]
        without = [s for s in found if any(base.get(f) is key[0] for f, _ in s.factors)]
        alike += [(key[0], rest, some) for some in (found, without)[: 1 + (len(without) < len(found))]]
    return [group for group in alike if len(group[-1]) > 1]


def _gathered(
    summands: Sequence[_Summand],
    base: dict[Term, Term],
    new: dict[Term, Term],
    function: Callable[[Term, Term], Term | None],
    needed: _Summand | None,
) -> Term | None:
    """w·x·f(x) − w·g(x) + y → w·series(x·f(x) − g(x)) + y, where that function of x needs a series; else None.

    Also where none would take a summand that is `needed`.
    """
    left = list(summands)
    parts: list[Term] = []
    for u, rest, group in _alike(summands, base):
        if not all(s in left for s in group):
            continue
        own = [[(f, e) for f, e in s.factors if base.get(f) is u or _is_number(f)] for s in group]
        one = constant(1.0, u.type.dtype)
        whole = function(
            _sum([(_product(f or [(one, 1)]), s.sign) for f, s in zip(own, group, strict=True)]), u
        )
        if whole is not None:
            left = [s for s in left if s not in group]
            parts.append(
                _product([(whole, 1), *[(new.get(f, f), e) for f, e in rest for _ in range(abs(e))]])
            )
    if not parts or needed in left:
        return None
    return _sum([*[(part, 1) for part in parts], *[(new.get(s.term, s.term), s.sign) for s in left]])


def _sum(parts: Sequence[tuple[Term, int]]) -> Term:
    """[(x, 1), (y, −1)] → x − y: a sum of terms with signs, those with + first; of integers as numbers."""
    (first, sign), *others = sorted([(divisible(t), sign) for t, sign in parts], key=lambda part: -part[1])
    found = first if sign > 0 else negative.make_node(first)
    for term, sign in others:
        found = (add if sign > 0 else subtract).make_node(found, term)
    return found


def _factors(t: Term, base: dict[Term, Term]) -> list[tuple[Term, int]]:
    """−(a·b)/c → [(−1, 1), (a, 1), (b, 1), (c, −1)]: the factors of a product; itself alone where they are many."""
    found: list[tuple[Term, int]] = []
    stack = [(t, 1)]
    while stack:
        node, e = stack.pop()
        if not _is_part_of_product(node, base):
            found.append((node, e))
        elif node.op is negative:
            found.append((constant(-1.0, node.type.dtype), 1))
            stack.append((node.rands[0], e))
        else:
            stack += [(node.rands[1], -e if node.op is divide else e), (node.rands[0], e)]
        if len(found) + len(stack) > LONGEST:
            return [(t, 1)]
    return found


def _is_part_of_product(t: Term, base: dict[Term, Term]) -> bool:
    """Whether a term is opened as a product: x·y, −(x·y), 2/x: yes; x·sin(x), a function of x alone: no."""
    mixed = base.get(t)
    return t.op in (multiply, divide, negative) and (
        mixed is t or _is_product(mixed) or any(map(_is_number, t.rands))
    )


def _is_product(t: Term | None) -> bool:
    return t is not None and t.op in (multiply, divide)


def _powers(u: Term, factors: Sequence[tuple[Term, int]]) -> dict[Term, tuple[Any, int, int]] | None:
    """x·y², f/(x²·y) → {x: (1, −2, 1), y: (1, −1, 2)}: with which coefficient and power the product has each factor,
    and with which power u has it.

    None unless u is a product of several factors with whole powers, one of which is a divisor.
    """
    if u.op.as_sum:
        return None
    view = product_of(u)
    if len(view.factors) < 2 or abs(view.coefficient) != 1 or any(e != int(e) for e in view.factors.values()):
        return None
    found: dict[Term, tuple[Any, int]] = {}
    for f, e in factors:
        own = product_of(f)
        if len(own.factors) != 1:
            continue
        ((x, k),) = own.factors.items()
        if x in view.factors and k == int(k):
            coefficient, degree = found.get(x, (1, 0))
            numbers = (ProductView(coefficient, {}), 1), (ProductView(own.coefficient, {}), e)
            found[x] = multiplied(*numbers).coefficient, degree + e * int(k)
    powers = {x: (*found.get(x, (1, 0)), int(e)) for x, e in view.factors.items()}
    return powers if any(k * e < 0 for _, k, e in powers.values()) else None


def _over_powers(
    u: Term,
    group: Sequence[tuple[Term, int]],
    factors: Sequence[tuple[Term, int]],
    new: dict[Term, Term],
    function: Callable[[Term, Term], Term | None],
) -> tuple[Term, list[Term], _Factors] | None:
    """f(x·y)/(x²·y)   ⟶   f(x·y)/(x·y), the divisors x² and y, and 1/x that is left

    log1p(x/y²)/x   ⟶   log1p(x/y²)/(x/y²), the divisor x, and 1/y² that is left

    f(−x·y)/x   ⟶   f(−x·y)/(−x·y), the divisor x, and −1·y that is left

    A function over the highest power of its product with which it needs a series; None if there is none. It has a value
    at 0, unless the product is 0 only where it is a divisor.
    """
    powers = _powers(u, factors)
    if powers is None:
        return None
    poles = all(k * e < 0 for _, k, e in powers.values())
    for m in range(-min(k // e for _, k, e in powers.values()), 0, -1):
        whole = function(_product([*group, *[(u, -1)] * m]), u)
        if whole is not None and (poles or _has_value_at_zero(whole, new.get(u, u))):
            used = [
                f for f, _ in factors if len(own := product_of(f).factors) == 1 and next(iter(own)) in powers
            ]
            degrees = {x: {x: k + e * m} if k + e * m else {} for x, (_, k, e) in powers.items()}
            left = [build_product(ProductView(powers[x][0], d), x.type.dtype) for x, d in degrees.items()]
            return whole, used, [*_sign(u, m), *[(x, 1) for x in left]]
    return None


def _has_value_at_zero(t: Term, u: Term) -> bool:
    """sin(u)/u → True, cos(u)/u → False: whether a function is a number where its argument is 0."""
    x = argument()
    body = body_of(t, u, x, LARGEST)
    found = None if body is None else values_at([body], x, 0.0)
    return found is not None and bool(np.isfinite(found[0]))


def _regrouped(
    factors: Sequence[tuple[Term, int]],
    base: dict[Term, Term],
    new: dict[Term, Term],
    function: Callable[[Term, Term], Term | None],
) -> Term | None:
    """sin(x)·y/x → series(sin(x)/x)·y: factors that are functions of one term together, where they need a series."""
    groups: dict[Term, _Factors] = {}
    for f, e in factors:
        groups.setdefault(base.get(f, f), []).append((f, e))
    for u, group in groups.items():
        over = None if u is group[0][0] else _over_powers(u, group, factors, new, function)
        if over is not None:
            whole, used, left = over
            rest = [(f, e) for f, e in factors if f not in used and (f, e) not in group]
            return _product([(whole, 1), *left, *[(new.get(f, f), e) for f, e in rest]])
    wholes = {u: function(_product(group), u) for u, group in groups.items() if _may_cancel(group)}
    if not any(wholes.values()):
        return None
    parts: _Factors = []
    for u, group in groups.items():
        whole = wholes.get(u)
        parts += [(new.get(f, f), e) for f, e in group] if whole is None else [(whole, 1)]
    return _product(parts)


def _product(factors: Sequence[tuple[Term, int]]) -> Term:
    """[(x, 1), (y, −1), (z, 1)] → x·z/y"""
    above = [f for f, e in factors if e > 0]
    below = [f for f, e in factors if e < 0]
    if not above:
        above = [constant(1.0, below[0].type.dtype if below else np.float64)]
    found = above[0]
    for f in above[1:]:
        found = multiply.make_node(found, f)
    for f in below:
        found = divide.make_node(found, f)
    return found
