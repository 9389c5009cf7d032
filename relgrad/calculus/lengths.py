"""Lengths taken out of directions by what vanishes with them, so that nothing is open where a vector is 0.

    g(‖x‖)·x/‖x‖ = (g(‖x‖)/‖x‖)·x,    g(0) = 0

The direction x/‖x‖ has no limit at x = 0, and by convention is 0 there, with no slope. A product with g(‖x‖) has a
limit, and a slope, which no convention may change: sin‖x‖·(x/‖x‖) has the slope 1, and ‖x‖² the Hessian 2·I.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from quicktions import Fraction

from relgrad.calculus.series import applied, argument, body_of, expanded, values_at
from relgrad.calculus.walk import LOOKED, Walk
from relgrad.contract import Contract
from relgrad.interpret import RAISED, interpret
from relgrad.logic.build import build_product, build_sum, fitted
from relgrad.logic.group import Number, ProductView, SumView, added, multiplied
from relgrad.logic.parts import dtype_of
from relgrad.logic.theory import BAG, theories_of
from relgrad.logic.view import LIMIT, operands, product_of, sum_of, width
from relgrad.op import Constant, as_term, constant, is_constant, is_zero
from relgrad.ops.arithmetic import absolute, add, divide, hypot, inverse_radius, multiply, power, sqrt, square
from relgrad.ops.increments import difference_of
from relgrad.ops.joining import Concatenate
from relgrad.ops.lengths import Norm
from relgrad.ops.reduction import Sum
from relgrad.ops.selection import where
from relgrad.ops.shaping import Rearrangement
from relgrad.ops.structure import RESHAPES, Expand, Squeeze
from relgrad.ops.trigonometric import arctan, arctan2
from relgrad.term import Term, is_term, kept, subterms
from relgrad.trace.tracer import Tracer
from relgrad.types import NONNEGATIVE, ArrayType

LARGEST = 120
"""Functions of more ops are left as they are written,"""
DEPTH = 40
"""and no terms are looked at deeper below a product."""
NEAR = 1e-300
"""A length next to none."""


class Direction(NamedTuple):
    """unit(x) → unit(x), norm(x), x: a term v/‖x‖, 0 where that is 0; the length ‖x‖; and the vector v."""

    term: Term
    length: Term
    vector: Term


def length_taken_out(t: Term) -> Term | None:
    """g(‖x‖)·(x/‖x‖) → (g(‖x‖)/‖x‖)·x: the length out of a direction beside a factor that vanishes with it; or None.

    sin(norm(x)) * unit(x) ⟶ series_of_sin(x)_over_x(norm(x)) * x
    """
    if not t.ground or not isinstance(t.type, ArrayType) or not shows_length(t):
        return None
    view = product_of(t)
    for base, straight, direction in _directed(view):
        over = Over(direction.length)
        others = [(x, n) for x, n in view.factors.items() if x is not base and is_term(x)]
        orders = [n for x, n in others if over(x) is not None]
        if any(n < 0 for n in orders) and sum(orders) < 1:
            continue  # sin‖x‖/‖x‖ does not vanish with ‖x‖
        if _has(view, over.size):
            return fitted(
                build_product(multiplied((view, 1), (over.size, -1), (straight, 1)), dtype_of(t)), t
            )
        for other, n in others:
            if n < 1:
                continue
            beside = multiplied((view, 1), (ProductView(1, {other: 1}), -1))
            if (rest := over(other)) is not None:
                taken = multiplied((beside, 1), (product_of(rest), 1), (straight, 1))
                return fitted(build_product(taken, dtype_of(t)), t)
            if n == 1 and (angles := _angles(other, over)) is not None:
                small, large = map(product_of, angles)
                parts = [
                    multiplied((beside, 1), (small, 1), (straight, 1)),
                    multiplied((beside, 1), (large, 1)),
                ]
                near, far = [build_product(part, dtype_of(t)) for part in parts]
                return fitted(add(near, far), t)
    return None


def _angles(t: Term, over: Over) -> tuple[Term, Term] | None:
    """arctan2(‖x‖, z) → where(z > ‖x‖, arctan(‖x‖/z)/‖x‖, 0), where(z > ‖x‖, 0, arctan2(‖x‖, z)):
    a small angle over a length, with which no other angle vanishes, and others as they are, reshaped or not; or None.
    """
    if isinstance(t.op, RESHAPES) and _crosses(t, over.length):
        inner = _angles(t.rands[0], over)
        return inner and (t.op.make_node(inner[0]), t.op.make_node(inner[1]))
    if t.op is not arctan2 or over(t.rands[0]) is None:
        return None
    ahead = over(arctan(divide(*t.rands)))
    if ahead is None:
        return None
    u, z = map(Tracer, t.rands)
    small = z > np.abs(u)
    return as_term(np.where(small, Tracer(ahead), 0.0)), as_term(np.where(small, 0.0, Tracer(t)))


def shows_length(t: Term) -> bool:
    """y·norm(x), √(x²)·y → True; x·sin(y), sin(norm(x)) → False:
    whether a product or sum may be read with a length in it, or with something over one.
    """
    return kept(t, "shows length", _shows_length, _opened)


def _shows_length(t: Term) -> bool:
    of_length = type(t.op) is Norm or t.op in (absolute, hypot, sqrt, power, where) or says_length(t.op)
    return of_length or any(x.cache["shows length"] for x in _opened(t))


def _opened(t: Term) -> Sequence[Term]:
    """x·y → x, y;    sin(x) → none: the operands into which views look, or linear ops."""
    return () if t.op.elementwise and not theories_of(t.op) else t.rands


def _directed(view: ProductView) -> Iterator[tuple[Any, ProductView, Direction]]:
    """2·unit(x)[0] ⟶ 2·unit(x)[0], x[0]/unit(x)[0];    x/norm(x) ⟶ 1/norm(x), norm(x)

    Yields factors that hold a direction, what multiplies the product as each becomes one of the vector, and the
    direction.
    """
    for base, e in view.factors.items():
        if e >= 1 and is_term(base):
            for direction in directions(base):
                if (straight := _Times(direction)(base)) is not None:
                    new = multiplied((product_of(straight), 1), (ProductView(1, {base: 1}), -1))
                    yield base, new, direction
        elif e <= -1 and is_term(base) and (vector := _measured(base)) and _has(view, product_of(vector)):
            yield base, ProductView(1, {base: 1}), Direction(base, base, vector)


def _measured(t: Term) -> Any:
    """norm(x) → x, |x| → x: the vector, or number, of which a term is the length, or None."""
    return t.rands[0] if type(t.op) is Norm or t.op is absolute else None


def _has(view: ProductView, part: ProductView) -> bool:
    """x·y²·z, 2·x·y → True: whether a product has all factors of another, but for numbers."""
    return all(view.factors.get(x, 0) / n >= 1 for x, n in part.factors.items())


def _size(t: Term) -> ProductView:
    """|2·x·y| → 2·|x|·|y|, as roots of squares are read; norm(x) → norm(x): the factors of a length."""
    coefficient, factors = product_of(t.rands[0])[:2] if t.op is absolute else (1, {})
    if not factors or not all(map(is_term, factors)):
        return ProductView(1, {t: 1})
    return ProductView(abs(coefficient), {absolute.make_node(x): n for x, n in factors.items()})


def turned_by_little(t: Term) -> Term | None:
    """P(x)·g(‖x‖)·v/‖x‖ = P(x)·(g(‖x‖)/‖x‖)·v, P(x) = I − x·xᵀ/‖x‖²: an op over a length, and linear in v; or None.

    unit_pullback(x, sin(norm(x)) * v) ⟶ where(norm(x) == 0, s*v, unit_pullback(unit(x), s*v)), s = sin(norm)/norm
    """
    direction = _as_direction(t) if turns(t.op) and t.ground else None
    if direction is None:
        return None
    for i in t.op.laws.linear:
        if (rest := Over(direction.length)(t.rands[i])) is not None:
            rands = [rest if k == i else x for k, x in enumerate(t.rands)]
            found = t.op.over_length(*map(Tracer, rands))
            return None if found is None else fitted(as_term(found[1]), t)
    return None


def turns(op: Any) -> bool:
    """Whether an op is something over a length, and linear in an operand: the pullback of x/‖x‖: yes; x/‖x‖: no."""
    return bool(op.laws.linear) and says_length(op)


def directions(t: Term) -> tuple[Direction, ...]:
    """2*unit(x)[0] - 3*unit(x)[2] ⟶ unit(x);    unit(x) + unit(y) ⟶ none

    The directions that all summands of a term are multiples of, entry by entry or through linear ops.
    """
    if (found := t.cache.get("directions")) is not None:
        return found
    stack = [t]
    while stack:
        node = stack[-1]
        if "directions" in node.cache:
            stack.pop()
            continue
        own = _as_direction(node)
        below = () if own or not _is_linear(node) else node.rands
        missing = [rand for rand in below if "directions" not in rand.cache]
        if missing:
            stack += missing
            continue
        held = [rand.cache["directions"] for rand in below if not _is_zero(rand)]
        if held and (node.op.as_sum or type(node.op) is Concatenate):
            held = [[d for d in held[0] if all(d in others for others in held[1:])]]
        node.cache["directions"] = (own,) if own else tuple(dict.fromkeys(d for some in held for d in some))
        stack.pop()
    return t.cache["directions"]


def _as_direction(t: Term) -> Direction | None:
    """unit(x) → itself, norm(x), x;    1/√(x² + y²) → itself, hypot(x, y), 1: a term over a length as such, or None."""
    if not isinstance(t.type, ArrayType) or t.type.dtype.kind != "f":
        return None
    if t.op is where:
        length = _inverted_length(t)
        return None if length is None else Direction(t, length, constant(1.0, t.type.dtype))
    said = t.op.over_length(*map(Tracer, t.rands)) if says_length(t.op) else None
    return None if said is None else Direction(t, *map(as_term, said))


def says_length(op: Any) -> bool:
    """Whether an op may be something over a length."""
    return getattr(op.over_length, "__func__", None) is not Contract.over_length


def _inverted_length(t: Term) -> Term | None:
    """where(h == 0, 0, 1/h) → h = hypot(x, y), as it stands in the slopes of a hypotenuse; or None."""
    condition = t.rands[0]
    length = next((x for x in condition.rands if x.op is hypot), None)
    return length if length is not None and as_term(inverse_radius(*map(Tracer, length.rands))) is t else None


def _is_linear(t: Term) -> bool:
    """Whether a term is a sum, a product, or of an op linear in some operands: a + b, a·b, Σ a: yes; exp(a): no."""
    return t.type.differentiable and (bool(t.op.as_sum) or t.op.as_product is not None or _moves_or_sums(t))


def _moves_or_sums(t: Term) -> bool:
    """Whether an op is linear in some of its operands, as a whole, or puts them side by side."""
    return type(t.op) is Concatenate or (bool(t.op.laws.linear) and not t.op.elementwise)


def _bare(t: Term) -> Term:
    """x[None, :] → x: a term without axes of extent 1 that are put around it, or taken off."""
    while type(t.op) in (Expand, Squeeze):
        (t,) = t.rands
    return t


def _crosses(t: Term, length: Term) -> bool:
    """Whether ‖x‖·L(t) = L(‖x‖·t): of one number, or of one that is constant where L sums: yes."""
    if length.type.size == 1:
        return True
    shape = length.type.shape
    return type(t.op) is Sum and all(-axis > len(shape) or shape[axis] == 1 for axis in t.op.axes)


class _OfLength(Walk):
    """A map of terms that goes through linear ops as well: f(L(t)) = L(f(t)); zeros stay zeros.

    A term knows its image, which is asked for again as the program around it changes.
    """

    deepest = DEPTH

    def __init__(self, about: Any):
        super().__init__()
        self._key = type(self), about
        self.products: dict[Term, Term | None] = {}

    def __call__(self, t: Term) -> Term | None:
        if self.depth:
            return super().__call__(t)
        if self._key not in t.cache:
            self.known, self.products = {}, {}  # so that the image is that of the term alone
            t.cache[self._key] = super().__call__(t)
        return t.cache[self._key]

    def stays(self, t: Term) -> bool:
        return _is_zero(t)

    def _linear(self, t: Term, length: Term) -> Term | None:
        """L(t) → L(f(t));    concatenate(a, b) → concatenate(f(a), f(b)): None where the length does not cross L."""
        if not _crosses(t, length):
            return None
        if type(t.op) is Concatenate:
            parts = self.every(t.rands)
            return None if parts is None else self._applied(t, dict(enumerate(parts)))
        for i in t.op.laws.linear:
            if (new := self(t.rands[i])) is not None:
                return self._applied(t, {i: new})
        return None

    def _applied(self, t: Term, new: dict[int, Term]) -> Term | None:
        rands = [fitted(new[i], rand) if i in new else rand for i, rand in enumerate(t.rands)]
        return None if None in rands else t.op.make_node(*rands)


class _Times(_OfLength):
    """t·‖x‖ without a product, for a multiple of a direction: 2*unit(x)[0] - 3*unit(x)[2] ⟶ 2*x[0] - 3*x[2]"""

    def __init__(self, direction: Direction):
        super().__init__(direction)
        self.direction = direction

    def of(self, t: Term) -> Term | None:
        """unit(x) → x;    Σ tᵢ → Σ f(tᵢ);    L(t) → L(f(t));    a·b → a·f(b); None for no multiple of the direction."""
        if t is self.direction.term:
            return self.direction.vector
        if self.direction not in directions(t):
            return None
        if t.op.as_sum:
            return self.sum(t)
        if _moves_or_sums(t):
            return self._linear(t, self.direction.length)
        return self.product(t)


class Over(_OfLength):
    """t/‖x‖ without a division, or None: of sums, products, linear ops, and of functions that are 0 at 0.

    norm(x)**2 + sin(2*norm(x)) ⟶ norm(x) + 2*series_of_sin(x)_over_x(2*norm(x))
    """

    def __init__(self, length: Term):
        super().__init__(length)
        self.length, self.size = length, _size(length)

    def of(self, t: Term) -> Term | None:
        """‖x‖ → 1;    Σ x² → ‖x‖;    a + b → a/‖x‖ + b/‖x‖;    L(t) → L(t/‖x‖);    f(u) → (f(u)/u)·(u/‖x‖)"""
        if self._is_length(t):
            return constant(1.0, t.type.dtype)
        if self._is_square(t):
            return self.length
        if t.type.dtype.kind != "f" or not t.rands:
            return None
        if t.op.as_sum and (parts := self.sum(t)) is not None:
            return parts
        if _moves_or_sums(t):
            return self._linear(t, self.length)
        if t.op is where:
            return self._branches(*t.rands)
        return (None if t.op.as_sum else self.product(t)) or self._function(t)

    def _linear(self, t: Term, length: Term) -> Term | None:
        """L(t) → L(t/‖x‖);    put(u, s)/|x| → put(u/|x|[s], s): of entries that are placed, by the lengths there."""
        places = isinstance(t.op, Rearrangement) and not t.op.laws.selects
        if not places or t.type.shape != length.type.shape:
            return super()._linear(t, length)
        flows = t.op.L_op([*map(Tracer, t.rands)], [Tracer(t)], [Tracer(length)])
        new = None if flows[0] is None else Over(as_term(flows[0]))(t.rands[0])
        return None if new is None else self._applied(t, {0: new})

    def product(self, t: Term) -> Term | None:
        """a·b → a·(b/‖x‖), of the first factor that has one; None where a divisor vanishes with the length."""
        if t not in self.products:
            self.products[t] = None
            below = [base for base, e in product_of(t).factors.items() if e < 0 and is_term(base)]
            if not any(self(base) is not None for base in below if base is not t):
                self.products[t] = super().product(t)
        return self.products[t]

    def _branches(self, condition: Term, *branches: Term) -> Term | None:
        """where(norm(x) < 1, norm(x), 1) ⟶ where(norm(x) < 1, 1, 1/norm(x))

        Each branch over the length; one that is not taken near the length 0 is divided by it. None where the one near 0
        has no quotient. A guard at 0 itself, as in where(n > 0, sin(n), 0), which is sin(n), becomes one that lets 0
        pass.
        """
        parts = [x if _is_zero(x) else self(x) for x in branches]
        guarded = False
        if any(self(u) is not None for u in self._arguments(condition, False)):
            x = argument(NONNEGATIVE)
            u = self._argument(condition)
            body = None if u is None else body_of(condition, u, x, LARGEST)
            if body is None or u is None:
                return None
            near = int(not _value(body, x, NEAR))
            guarded = near != int(not _value(body, x, 0.0))
            if parts[near] is None or (guarded and not _is_zero(branches[1 - near])):
                return None
            same = self.length.type.shape == condition.type.shape
            if not same and not self._is_length(u):
                return None
            n = Tracer(self.length if same else u)
            parts[1 - near] = divide(branches[1 - near], as_term(np.where(n == 0, 1.0, n)))
            if guarded:  # as in where(n > 0, sin(n), 0), which is sin(n)
                condition = as_term(
                    np.logical_or(Tracer(condition), n == 0)
                    if near == 0
                    else np.logical_and(Tracer(condition), n != 0)
                )
        if None in parts:
            return None
        return as_term(np.where(Tracer(condition), *map(Tracer, parts)))

    def _is_length(self, t: Term) -> bool:
        """Whether a term is the length: norm(x), norm(x)[None] of one vector: yes; of several, in that shape only.

        So is |x|·|y| where that is |x·y|.
        """
        if t is self.length or (self.length.type.size == 1 and _bare(t) is _bare(self.length)):
            return True
        split = self.length not in self.size.factors
        return split and t.type == self.length.type and product_of(t)[:2] == self.size[:2]

    def sum(self, t: Term) -> Term | None:
        """a + b → a/‖x‖ + b/‖x‖, with (x² + y²)/hypot(x, y) = hypot(x, y); None unless a summand has a quotient.

        A summand that vanishes with x otherwise is over ‖x‖ but where that is 0: there it is 0, as x/‖x‖ is by
        convention.
        """
        view, dtype = sum_of(t), dtype_of(t)
        if view.constant or t in view.terms:
            return None
        k, squares = self._squared(view)
        parts = {x: (self(x), n) for x, n in view.terms.items() if x not in squares}
        if k:
            parts[t] = self.length, k
        if not any(part is not None for part, _ in parts.values()):
            return None
        found: list[tuple[SumView, Number]] = []
        for x, (part, n) in parts.items():
            if part is None:
                if not self._is_zero_with(x):
                    return None
                length = Tracer(self.length)
                masked = np.where(length == 0, 0.0, np.reciprocal(np.where(length == 0, 1.0, length)))
                part = multiply(x, as_term(masked))
            found.append((sum_of(part), n))
        return build_sum(added(*found), dtype)

    def _squared(self, view: SumView) -> tuple[Number, set[Term]]:
        """2·x² + z + 2·y² → 2, {x², y²}: the squares of hypot(x, y)'s legs, and their multiple; 0 without them all."""
        legs = legs_of(self.length) if self.length.op is hypot else []
        squares, multiples = set[Term](), set[Number]()
        for leg in legs:
            c, factors = product_of(square.make_node(leg))[:2]
            found = next((x for x in view.terms if product_of(x).factors == factors), None)
            if found is None:
                return 0, set()
            squares.add(found)
            multiples.add(view.terms[found] * product_of(found).coefficient / Fraction(c))
        return (multiples.pop(), squares) if len(multiples) == 1 and len(squares) == len(legs) else (0, set())

    def _is_zero_with(self, t: Term) -> bool:
        """Whether a term is 0 where all arguments of the length are: x·y of ‖x‖: yes; y: no. By one draw of others."""
        nodes = list(islice(subterms(self.length, t), LOOKED))
        leaves = [x for x in nodes if not x.rands and type(x.op) is not Constant]
        own = {x for x in subterms(self.length) if not x.rands} if len(nodes) < LOOKED else set()
        rng = np.random.default_rng(0)
        try:
            values = {
                x: np.zeros(x.type.shape) if x in own else rng.normal(size=x.type.shape) for x in leaves
            }
            with np.errstate(all="ignore"):
                return bool(own) and not any(np.any(x) for x in interpret([self.length, t], values))
        except RAISED:
            return False

    def _is_square(self, t: Term) -> bool:
        """Whether a term is the square of the length: Σ x² of norm(x), x² of |x|: yes; Σ x²·y: no."""
        op = self.length.op
        if type(op) is Norm and type(t.op) is Sum and t.op.axes == op.axes:
            return product_of(t.rands[0]) == product_of(square.make_node(*self.length.rands))
        return op is absolute and product_of(t) == product_of(square.make_node(*self.length.rands))

    def _function(self, t: Term) -> Term | None:
        """f(u)/‖x‖ = (f(u)/u)·(u/‖x‖), where f(0) = 0 and u vanishes with the length; or None, as of a sign."""
        if not t.op.elementwise or t.op.jumps:
            return None
        u = self._argument(t)
        if u is None or u.type.dtype != t.type.dtype or (rest := self(u)) is None:
            return None
        x = argument(NONNEGATIVE) if self._is_length(u) else argument()
        body = body_of(t, u, x, LARGEST)
        if body is None or _limit(body, x) != 0:
            return None
        better, series = expanded(divide.make_node(body, x), x)
        if series:
            return multiply(applied(better, x, u), rest)
        return self._slope(t)

    def _slope(self, t: Term) -> Term | None:
        """f(u)/‖x‖ = f[u, 0]·(u/‖x‖), with the mean slope f[u, 0] of one op: Hadamard's lemma."""
        difference = difference_of(t.op, 0) if len(t.rands) == 1 else None
        if difference is None or (rest := self(t.rands[0])) is None:
            return None
        if not np.isfinite(difference.mean_slope.compute(0.0, 0.0, 0.0)):
            return None
        (u,) = t.rands
        return multiply(difference.mean_slope.make_node(u, constant(0.0, u.type.dtype), u), rest)

    def _argument(self, t: Term) -> Term | None:
        """sin(2·‖x‖) → ‖x‖: the one term that another is a function of, entry by entry, and that vanishes with ‖x‖."""
        for whole in (False, True):
            found = list(islice(self._arguments(t, whole), 2))
            if len(found) == 1:
                return found[0]
        return None

    def _arguments(self, t: Term, whole: bool) -> Iterator[Term]:
        """sin(norm(x) + norm(x)**2) ⟶ norm(x), and as a whole norm(x) + norm(x)**2

        Yields the length, and what else a function reads; where `whole`, the largest terms that vanish with the length.
        """
        stack, seen = list(t.rands), set[Term]()
        while stack:
            node = stack.pop()
            if node in seen or (is_constant(node) and node.type.ndim == 0):
                continue
            seen.add(node)
            single = not node.rands or not node.op.elementwise or self._is_length(node) or len(seen) > LARGEST
            mixed = sum(not is_constant(rand) for rand in node.rands) > 1
            product = mixed and node.op.as_product is not None and self.product(node) is not None
            if single or product or (whole and self(node) is not None):
                yield node
            else:
                stack += node.rands


def legs_of(t: Term) -> list[Term]:
    """hypot(hypot(x, y), z) ⟶ [x, y, z]: the numbers of whose squares a hypotenuse is the root.

    The two of the outermost, where there are more than a view holds: steps that share all before them have 2ⁿ.
    """
    return operands(t, hypot) if width(t, BAG, LIMIT) <= LIMIT else list(t.rands)


def _limit(body: Term, x: Term) -> Any:
    """sin(x)/x → 1: the value of a function of one number at 0, that of its series where it is open; or None."""
    found = _value(body, x, 0.0)
    return _value(expanded(body, x)[0], x, 0.0) if found is not None and np.isnan(found) else found


def _value(body: Term, x: Term, at: float) -> Any:
    """cos(x), 0 → 1: the value of a function at one number; None where an op raises."""
    found = values_at([body], x, at)
    return None if found is None else found[0]


def _is_zero(t: Any) -> bool:
    while isinstance(t.op, RESHAPES):
        (t,) = t.rands
    return is_zero(t)
