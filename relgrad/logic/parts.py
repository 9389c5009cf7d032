"""Parts of views: what must be there, taken out.

    a·b·c less b     a·c

Nothing here looks inside a term: products, sums and bags are multisets, exponents and coefficients may be split.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from quicktions import Fraction

from relgrad.logic.build import build_sum
from relgrad.logic.equality import canonical_key, equal_ground
from relgrad.logic.group import (
    BagView,
    Number,
    ProductView,
    SumView,
    added,
    entry,
    opposite,
    quotient,
    whole,
)
from relgrad.logic.theory import SUM
from relgrad.logic.view import LIMIT, exponent_sum, flat, operands, product_of, sum_of
from relgrad.op import Op
from relgrad.term import is_term


def dtype_of(t: Any) -> Any:
    """Return the dtype of a ground term, or None."""
    return t.type.dtype if is_term(t) and t.ground else None


def holds(e: Number, k: Number) -> bool:
    """Whether an exponent or coefficient e has k in it; a root is not taken out of what is no root."""
    if (e.numerator > 0) != (k.numerator > 0) or abs(e) < abs(k):
        return False
    return k.denominator == 1 or e.denominator == k.denominator


def _member(entries: dict[Any, Number], t: Any) -> Any:
    """{σ(−(2·x)): 1}, σ(2·−x) → σ(−(2·x)): the member of a multiset that is equal to t modulo the theories at every
    depth.
    """
    found = entry(entries, t)
    if found is None and is_term(t) and t.rands:
        alike = [other for other in entries if is_term(other) and other.op == t.op and other.ground]
        found = next((other for other in alike if equal_ground(other, t)), None)
    return found


def _signed_member(entries: dict[Any, Number], part: Any) -> tuple[Any, int]:
    """{(y − x)/z: 1}, (x − y)/z → (y − x)/z, −1: the summand that is equal to a part or to its negative, and which."""
    found = _member(entries, part)
    if found is not None or not (is_term(part) and part.op.as_product is not None):
        return found, 1
    view = product_of(part)
    for other in entries:
        if is_term(other) and other.op.as_product is not None:
            whole_product = product_of(other)
            alike = len(whole_product.factors) == len(view.factors)
            left = without(whole_product, view) if alike else None
            if left is not None and not left.factors and left.coefficient == -1:
                return other, -1
    return None, 1


def _divisor(factors: dict[Any, Number], t: Any) -> tuple[Any, Number]:
    """{x − y}, y − x → x − y, −1;    {x/2 − y/2}, x − y → …, 2:
    the factor that a sum is a multiple of, and the multiple.
    """
    found = opposite(factors, t)
    if found is not None or not (is_term(t) and t.op.as_sum):
        return found, -1
    view = sum_of(t)
    for other in factors:
        if is_term(other) and other.op.as_sum and len(sum_of(other).terms) == len(view.terms):
            constant, terms, _ = sum_of(other)
            members = {entry(terms, part): k for part, k in view.terms.items()}
            multiples = {Fraction(k) / terms[part] for part, k in members.items() if part in terms}
            if members.keys() == terms.keys() and len(multiples) == 1:
                (multiple,) = multiples
                if multiple * constant == view.constant:
                    return other, whole(multiple)
    return None, 1


def without(t: ProductView, needed: ProductView) -> ProductView | None:
    """x·y·z, y → x·z;    (y − x)·z, x − y → −z;    x, y → None: a product divided by factors that must be in it."""
    factors = dict(t.factors)
    c = needed.coefficient
    for base, k in needed.factors.items():
        found = _member(factors, base)
        if found is None and k.denominator == 1:
            found, multiple = _divisor(factors, base)
            c = c if multiple == 1 else c * Fraction(multiple) ** int(k)
        base = found
        e = factors.get(base, 0)
        if not e or not holds(e, k):
            return None
        if e == k:
            del factors[base]
        else:
            factors[base] = (
                whole(Fraction(e) - k) if isinstance(e, Fraction) or isinstance(k, Fraction) else e - k
            )
    coefficient = t.coefficient if c == 1 else quotient(t.coefficient, c)
    return ProductView(coefficient, factors)


def has_constant(t: SumView, needed: SumView) -> bool:
    """Whether a sum has the constant of another: 1 + ε is read as holding a 1, but 3 is not."""
    return not needed.constant or abs(t.constant - needed.constant) * 2 < abs(needed.constant)


def minus(t: SumView, needed: SumView) -> SumView | None:
    """x + 2·y + 1, y → x + y + 1;    x, y → None: a sum less summands that must be in it."""
    taken = []
    for part, k in needed.terms.items():
        member, sign = _signed_member(t.terms, part)
        c = t.terms.get(member, 0)
        if not c or not holds(c, k * sign):
            return None
        taken.append((SumView(0, {member: k * sign}), 1))
    if not has_constant(t, needed):
        return None
    return added((t, 1), (added((SumView(needed.constant, {}), 1), *taken), -1))


def key_of_operand(t: Any) -> Any:
    """Return what an operand is known by: terms that are equal modulo the theories are one."""
    return canonical_key(t) if is_term(t) and t.ground else t


def bag_of(t: Any, op: Op) -> BagView:
    """max(x, max(y, x)) → {x: 2, y: 1}: the operands of an op that is associative and commutative, equal ones
    together.
    """
    parts: dict[Any, Number] = {}
    named: dict[Any, Any] = {}
    for x in operands(t, op):
        member = named.setdefault(key_of_operand(x), x)
        parts[member] = parts.get(member, 0) + 1
    return BagView(op, parts)


def less(t: BagView, known: BagView) -> BagView | None:
    """{x: 2, y: 1}, {x: 1} → {x: 1, y: 1};    {x: 1}, {y: 1} → None: a bag without operands that must be in it."""
    if not known.parts:
        return t
    members = {key_of_operand(x): x for x in t.parts}
    left = dict(t.parts)
    for part, n in known.parts.items():
        member = members.get(key_of_operand(part))
        left[member] = left.get(member, 0) - n
        if left[member] < 0:
            return None
    return BagView(t.op, {x: n for x, n in left.items() if n})


def exponent_of(view: ProductView, k: Number) -> Any:
    """eˣ·eʸ, 2 → x/2 + y/2: the q for which a product of exponentials is exp(q)^k."""
    first, *others = view.factors
    if not others and view.factors[first] == k:
        return first.rands[0]
    total = added(*[(exponent_sum(b.rands[0]), quotient(e, k)) for b, e in view.factors.items()])
    return build_sum(total, dtype_of(first))


def rebuilt(view: SumView, t: Any, old: SumView | None = None) -> Any:
    """y − b − c + a in place of y − ((b + d) − a) ⟶ y − ((b + c) − a): a sum, changed in the innermost sum that can be.

    So sums with a beginning in common, as those of a recurrence, have it in common when they are rewritten. `old` is
    how all of t is read, if that is wider than a view; where much of it goes, nothing is kept.
    """
    before = sum_of(t) if old is None else old
    change, inner, path = added((view, 1), (before, -1)), t, list[tuple[Any, int]]()
    amounts = amounts_of(before)
    gone = {p: -k for p, k in amounts_of(change).items() if (k > 0) != (amounts.get(p, k) > 0)}
    if len(gone) > LIMIT:
        return build_sum(view, dtype_of(t))
    found = _amounts_in(gone, t) if gone else {}
    while (i := _place_of(gone, inner, found)) is not None:
        sign = inner.op.as_sum[i]
        path.append((inner, i))
        change, gone = added((change, sign)), {p: k * sign for p, k in gone.items()}
        inner = inner.rands[i]
    if path:
        before = sum_of(inner) if old is None else flat(inner, SUM)
    new = regrouped(added((before, 1), (change, 1)), inner)
    for outer, i in reversed(path):
        new = outer.op.make_node(*outer.rands[:i], new, *outer.rands[i + 1 :])
    return new


def amounts_of(view: SumView) -> dict[Any, Number]:
    """2·x − 1 → {x: 2, None: −1}: how much of each summand a sum has, and of its number."""
    return view.terms | {None: view.constant} if view.constant else view.terms


def _amounts_in(parts: Iterable[Any], t: Any) -> dict[Any, dict[Any, Number]]:
    """{a, b}, (a + c) + 2·b → {a + c: {a: 1}, (a + c) + 2·b: {a: 1, b: 2}}: of some parts, how much sums have."""
    found: dict[Any, dict[Any, Number]] = {}
    stack = [t]
    while stack:
        node = stack[-1]
        inside = [rand for rand in node.rands if _is_sum(rand) and rand not in found] if _is_sum(node) else ()
        if inside:
            stack += inside
            continue
        total: dict[Any, Number] = {}
        for rand, sign in zip(node.rands, node.op.as_sum, strict=True) if _is_sum(node) else ():
            own = found[rand] if rand in found else amounts_of(sum_of(rand))
            total |= {p: total.get(p, 0) + own[p] * sign for p in parts if p in own}
        found[stack.pop()] = total
    return found


def _place_of(gone: dict[Any, Number], t: Any, found: dict[Any, dict[Any, Number]]) -> int | None:
    """{d: −1}, y − (a + d) → 1: which operand of a sum is a sum that has all that goes; None if no single one has."""
    for i, (rand, sign) in enumerate(zip(t.rands, t.op.as_sum, strict=True)) if gone and _is_sum(t) else ():
        inside = found[rand] if _is_sum(rand) and rand.type.dtype == t.type.dtype else {}
        if all(holds(inside.get(p, 0), k * sign) for p, k in gone.items()):
            return i
    return None


def _is_sum(t: Any) -> bool:
    return is_term(t) and len(t.op.as_sum or ()) > 1


def regrouped(view: SumView, t: Any) -> Any:
    """a + b + 2·c, (a + b) − d → (a + b) + 2·c;    −k·a − k·b, 1 − k·(a + b) → −k·(a + b): the term of a sum, with the
    sums inside t that it has whole.
    """
    left, kept, seen = view, dict[Any, list[tuple[Any, Number]]](), set[Any]()
    amounts = sum_of(t).terms
    scales = [quotient(k, amounts[p]) for p, k in view.terms.items() if p in amounts]
    stack: list[tuple[Any, Number]] = [(t, 1 if 1 in scales else scales[0])] if scales else []
    while stack:
        node, k = stack.pop()
        inside = sum_of(node)
        if not is_term(node) or node in seen or len(inside.terms) + bool(inside.constant) < 2:
            continue
        seen.add(node)
        held = [
            (left.constant, inside.constant),
            *[(left.terms.get(p, 0), c) for p, c in inside.terms.items()],
        ]
        whole = node is not t and node.type.dtype == t.type.dtype and inside.terms and not inside.cancelled
        if whole and all(not c or holds(e, c * k) for e, c in held):
            left = added((left, 1), (inside, -k))
            kept.setdefault(next(iter(inside.terms)), []).append((node, k))
        elif node.op.as_sum:
            stack += [(rand, k * sign) for rand, sign in zip(node.rands, node.op.as_sum, strict=True)][::-1]
        else:
            factors = product_of(node)
            stack += [(base, k * factors.coefficient) for base in factors.factors]
    parts = [
        (SumView(0, {part: 1}), k)
        for p in view.terms
        for part, k in [*kept.get(p, ()), *([(p, left.terms[p])] if p in left.terms else ())]
    ]
    return build_sum(added((SumView(left.constant, {}), 1), *parts), dtype_of(t))
