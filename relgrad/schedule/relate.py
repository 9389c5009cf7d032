"""Moves as goals: v is what a relation, or a law of the theories, makes of a term at its root, and m names it.

    relations(t, v, m, library, note)   the goals at a place; their disjunction is the whole question

Goals of one place share two variables, the result and the name, and bind those of the row that they use: a state is a
move with its bindings. kanren composes and runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from relgrad.calculus.increment import difference_quotient, incremented, log_incremented
from relgrad.calculus.kinks import one_function
from relgrad.calculus.lengths import length_taken_out, shows_length, turned_by_little, turns
from relgrad.calculus.remainder import remaindered
from relgrad.leaf import Input
from relgrad.logic.build import fit, fitted
from relgrad.logic.complements import (
    apart_sum,
    complemented_data,
    complemented_sum,
    from_one,
    labelled_sum,
    left_of,
    shared_complement,
    square_at_one,
)
from relgrad.logic.conditions import Goal
from relgrad.logic.distances import squared_distances
from relgrad.logic.entropies import extreme_beside_sum, lacking_entropy, relative_entropy
from relgrad.logic.goals import BinaryGoal, ldisj_seq
from relgrad.logic.masks import bared_length, sunk_product
from relgrad.logic.moments import about_means, beside_projection, without_offset
from relgrad.logic.pieces import joined_sum, left_of_sum, running_sum
from relgrad.logic.rewrite import Wide, rewrites
from relgrad.logic.simplify import (
    averaged_sum,
    cancelled_product,
    cancelled_sum,
    crossed_sum,
    distributed_product,
    divided_sum,
    factored_square,
    factored_sum,
    joined_reductions,
    meant_sum,
    perfect_square,
    root_of_square,
    scaled_product,
    undone,
)
from relgrad.logic.theory import PRODUCT, SUM, inner_product, theories_of
from relgrad.logic.unify import State, extended, fresh, label_of, reify_term
from relgrad.logscale.domain import is_exponential, stated_logarithm
from relgrad.op import as_term, constant, is_constant
from relgrad.ops.arithmetic import (
    absolute,
    add,
    divide,
    float_power,
    multiply,
    negative,
    power,
    sign,
    sqrt,
)
from relgrad.ops.comparison import equal, greater, less
from relgrad.ops.differences import log_quotient
from relgrad.ops.exponential import exp, log, log1p
from relgrad.ops.matmul import MatMul
from relgrad.ops.moments import LogProd
from relgrad.ops.reduction import Prod, Sum
from relgrad.ops.selection import where
from relgrad.ops.stable import xlogy
from relgrad.relation import Library, Relation
from relgrad.term import Term, is_term, substitute, subterms, term
from relgrad.trace.tracer import Tracer
from relgrad.types import ArrayType, array_type


class Named(NamedTuple):
    """(relation, name, summary, (x,)) → a move as states name it:
    its kind, name and reason, and its relation's variables.
    """

    move: str
    name: str
    why: str
    variables: tuple[Any, ...] = ()


class Found(NamedTuple):
    """log(eˣ) → x, {a: x}: a move that can be made: its kind, name, result, reason and bindings."""

    move: str
    name: str
    term: Term
    why: str
    bindings: dict[str, Any]
    before: Term | None = None

    @classmethod
    def of(cls, s: State, v: Any, m: Any) -> Found:
        """Return the move that a state holds: v is its result, m names it."""
        move, name, why, variables = s[m]
        return cls(move, name, s[v], why, {label_of(x): s.get(x) for x in variables})


Note = Callable[[str, Term, Exception], None]
"""What is told of a move that raised: its name, the place, and the exception. The place is left as it is."""


def noted(name: str, t: Term, note: Note) -> Callable[[Goal], Goal]:
    """g ↦ g until it raises: a decorator of the goals of moves at a place; an exception is noted, and is the end."""

    def decorated(goal: Goal) -> Goal:
        def noted_goal(s: State) -> Iterator[State]:
            try:
                yield from goal(s)
            except Exception as error:
                note(name, t, error)

        return noted_goal

    return decorated


class Law(NamedTuple):
    """a·b/a → b: a move that theories license without a row: `make` gives the result of it, or None."""

    name: str
    make: Callable[[Term], Term | None]
    why: str
    theory: int = 0
    """The theory under which a term is looked at; 0 for a law of other ops."""

    def goal(self, t: Term, v: Any, m: Any, note: Note) -> Goal:
        """v = make(t): construct a goal stating that v is this law's result at t, and that m names it."""

        @noted(self.name, t, note)
        def law_goal(s: State) -> Iterator[State]:
            """s → s ∪ {v: make(t), m: the law}, where that is not None."""
            if (new := self.make(t)) is not None:
                yield extended(s, {v: new, m: Named("simplify", self.name, self.why)})

        return law_goal


def answers(goals: Callable[[Any, Any], Iterable[Goal]]) -> Iterator[Found]:
    """Yield the moves that a disjunction of goals on a result and a name has for answers."""
    v, m = fresh("result"), fresh("move")
    for s in ldisj_seq(goals(v, m))({}):
        yield Found.of(s, v, m)


def relate(t: Term, library: Library, note: Note, within: int = 0) -> Iterator[Found]:
    """Yield the ways in which the library's relations rewrite a term at its root."""
    return answers(lambda v, m: relations(t, v, m, library, note, within))


def relations(t: Term, v: Any, m: Any, library: Library, note: Note, within: int = 0) -> Iterator[Goal]:
    """sin(a)·cos(a) → {v: sin(2·a)/2, m: row}, …: the goals that v is t as relations and laws rewrite it at its root.

    m says which, the most specific first. `within` are the theories under which the term is part of a larger product or
    sum, and not read by itself.
    """
    if isinstance(t.type, ArrayType) and not t.type.differentiable:
        return
    theories = theories_of(t.op)
    readings = theories & ~within
    yield from laws(t, v, m, BEFORE, readings, note)
    yield from lengths(t, v, m, note)
    if t.op is where:
        yield ONE_FUNCTION.goal(t, v, m, note)
    yield from rows(t, v, m, library, note, readings)
    if t.op is log1p:
        yield LOG1P_OF_COMPLEMENT.goal(t, v, m, note)
    if t.op.elementwise and len(t.rands) == 1:
        yield from _logarithm(t, v, m, library, note)
    yield UNDONE.goal(t, v, m, note)
    if t.op.invariant:
        yield OFFSET.goal(t, v, m, note)
    if t.op.from_one is not None:
        yield FROM_ONE.goal(t, v, m, note)
    if t.op is log:
        yield LOG_INCREMENT.goal(t, v, m, note)
    if not theories:
        return
    yield _inner_product(t, v, m, library, note, theories)
    yield from laws(t, v, m, AFTER, readings, note)
    if readings & SUM:
        yield _joined(t, v, m, library, note)


def may_relate(t: Term, library: Library, within: int) -> bool:
    """sin(tanh(x)) → no, sinh(arcsinh(x)) → yes: whether heads show that relations or laws have anything to say of t.

    Sums and products always may, if they are no part of larger ones; others where a row is offered, or an inverse
    stands in its function; and parts of products if there are lengths.
    """
    op = t.op
    theories = theories_of(op)
    return (
        theories & ~within > 0
        or is_asked(op)
        or (theories & PRODUCT > 0 and shows_length(t))
        or (len(t.rands) == 1 and t.rands[0].op.laws.inverse == op.name)
        or bool(library.candidates(t, 0))
    )


@lru_cache(maxsize=1024)
def is_asked(op: Any) -> bool:
    """Whether laws look at an op however it is read: a choice, a logarithm, a matrix product, a direction."""
    of_log = op.elementwise and op.arity == 1 and _may_be_logarithm(op)
    return op is where or op.from_one is not None or op.invariant or of_log or type(op) is MatMul or turns(op)


def lengths(t: Term, v: Any, m: Any, note: Note) -> Iterator[Goal]:
    """Yield the goals that v is t with a length taken out of a direction, or out of the slope of one.

    Parts of products are looked at as well, since several products may share one.
    """
    yield from laws(t, v, m, (OUT_OF_DIRECTION,), theories_of(t.op), note)
    if turns(t.op):
        yield OUT_OF_SLOPE.goal(t, v, m, note)


def may_be_root(op: Any) -> bool:
    """√x, x^½ → True: whether an op takes roots, or powers that may be roots."""
    return op in (sqrt, power, float_power)


def laws(t: Term, v: Any, m: Any, which: Sequence[Law], readings: int, note: Note) -> Iterator[Goal]:
    """[cancel, …] at a·b/a → goal(cancel): the goals of the laws that look at products and sums as t is read."""
    for law in which:
        if readings & law.theory:
            yield law.goal(t, v, m, note)


def rows(t: Term, v: Any, m: Any, library: Library, note: Note, readings: int) -> Iterator[Goal]:
    """Yield the goals of the rows that the index offers for t as it is read."""
    for row in library.candidates(t, readings):
        yield _row(row, t, v, m, note)


def _row(row: Relation, t: Term, v: Any, m: Any, note: Note) -> Goal:
    """left = right at t → {v: right, m: row}: the goal of one use of a row; the state holds its own variables'
    bindings.
    """

    @noted(row.name, t, note)
    def row_goal(s: State) -> Iterator[State]:
        """s → one state for each rewrite of t by the row."""
        named = Named("relation", row.name, row.summary, row.variables)
        for rewrite in rewrites(row.pattern, row.right, row.conditions, t, s):
            yield extended(rewrite.state, {v: rewrite.term, m: named})

    return row_goal


def made_by(name: str, move: BinaryGoal, t: Term, v: Any, m: Any, note: Note) -> Goal:
    """move(t, v) → {v: w}: the goal that v is the term to which a binary goal relates t, brought to the type of t."""

    @noted(name, t, note)
    def move_goal(s: State) -> Iterator[State]:
        """s → one state for each ground term ≠ t that fits the place."""
        w = fresh("other")
        for state in move(t, w)(s):
            new = reify_term(w, state)
            if is_term(new) and new.ground and new is not t and (new := fitted(new, t)) is not None:
                yield extended(s, {v: new, m: Named("goal", name, "")})

    return move_goal


def _logarithm(t: Term, v: Any, m: Any, library: Library, note: Note) -> Iterator[Goal]:
    """Yield goals of rows on a logarithm under another name, log₂(x/y) = log(x/y)/log 2 and log1p(x) = log(1 + x)."""
    (x,) = t.rands
    if not _may_be_logarithm(t.op):
        return
    meaning = t.op.definition(Tracer(x))
    if meaning is None:
        return
    whole = as_term(meaning)
    part = _without_divisor(whole)
    if part.op is not log or part.rands[0] not in (x, add(constant(1.0, x.type.dtype), x)):
        return
    w, n = fresh("logarithm"), fresh("row")
    for of_row in rows(part, w, n, library, note, 0):

        def by_definition(s: State, of_row: Goal = of_row) -> Iterator[State]:
            """logit(x) = log(x/(1 − x)) → the row's result of the log, in its place:
            one state for each, unless t is in it again.
            """
            for state in of_row(s):
                (new,) = substitute([whole], {part: state[w]})
                if t not in subterms(new):
                    why = f"{t.op} read by definition, {state[n].name}"
                    named = Named("simplify", "logarithm_by_definition", why, state[n].variables)
                    yield extended(state, {v: fit(new, t), m: named})

        yield by_definition


@lru_cache(maxsize=1024)
def _may_be_logarithm(op: Any) -> bool:
    """logit → True, since logit(x) = log(x/(1 − x)); log, sin → False:
    whether an op of one operand means a logarithm.
    """
    if op is log:
        return False
    try:
        meaning = op.definition(Tracer(term(Input("x", array_type("float64"), symbol=True))))
    except Exception:  # where a user's op cannot say, it is asked of each term
        return True
    return meaning is not None and _without_divisor(as_term(meaning)).op is log


def _without_divisor(whole: Term) -> Term:
    return whole.rands[0] if whole.op is divide and is_constant(whole.rands[1]) else whole


def log_near_one(t: Term) -> Term | None:
    """log(erf(x)) → log_quotient(erf(x), 1, −erfc(x)), which is log(1 − erfc(x)) where erf(x) is near one:
    the logarithm of what knows what it leaves of one; or None.

    Of a share x[i]/Σ x, and of a product of such, too; log₂ as log/log 2, xlogy(w, x) as w·log x where w is not 0, and
    log_prod as the sum of the logarithms of sizes, if the product is not negative.
    """
    *weight, x = t.rands
    part = log.make_node(x)
    if type(t.op) is LogProd:
        positive = where(greater(x, 0.0), part, log.make_node(absolute(x)))
        total = Sum(t.op.axes).make_node(positive)
        whole = where(less(Prod(t.op.axes).make_node(sign(x)), 0.0), np.nan, total)
    elif weight:
        whole = where(equal(*weight, 0.0), 0.0, multiply(*weight, part))
    else:
        whole = t if t.op is log else as_term(t.op.definition(Tracer(x)))
    left = left_of(x)
    if left is None or (not weight and part not in subterms(whole)):
        return None
    quotient = log_quotient.make_node(x, constant(1.0, x.type.dtype), negative(left))
    return fit(substitute([whole], {part: fit(quotient, part)})[0], t)


def may_be_near_zero(t: Term) -> bool:
    """log(erf(x)) → True, log(x) → False: whether `log_near_one` is asked of a term."""
    is_log = t.op.elementwise and len(t.rands) == 1 and (t.op is log or _may_be_logarithm(t.op))
    return (
        (is_log or t.op is xlogy or type(t.op) is LogProd) and t.ground and left_of(t.rands[-1]) is not None
    )


def _inner_product(t: Term, v: Any, m: Any, library: Library, note: Note, theories: int) -> Goal:
    """a @ b = Σ aᵢ·bᵢ → v: the goal that a relation holds of a row times a column as the sum of products that it is."""

    @noted("inner_product", t, note)
    def inner_product_goal(s: State) -> Iterator[State]:
        """s → one state for each result of a relation at the sum, fitted to the product's place."""
        if (dot := inner_product(t)) is not None:
            w = fresh("sum")
            for state in ldisj_seq(relations(dot, w, m, library, note, theories))(s):
                yield extended(state, {v: fit(state[w], t)})

    return inner_product_goal


def _joined(t: Term, v: Any, m: Any, library: Library, note: Note) -> Goal:
    """Σ f + Σ g → Σ (f + g): the goal that two reductions are one where what both run over meets.

    A row knows of it, or a part of a divisor goes: Σ 1/(1 + x) − Σ x/(1 + x)² = Σ 1/(1 + x)².
    """

    @noted("join_reductions", t, note)
    def joined_goal(s: State) -> Iterator[State]:
        """s → one state for each pair of reductions such that a relation, or `divided_sum`, applies to f + g."""
        for inside, joined in joined_reductions(t):
            known = answers(lambda v, m, x=inside: rows(x, v, m, library, note, theories_of(x.op)))
            if divided_sum(inside) is not None or any(known):
                named = Named("simplify", "join_reductions", "what two sums run over meets")
                yield extended(s, {v: joined, m: named})

    return joined_goal


def relate_wide(t: Term, library: Library, note: Note, theory: int) -> tuple[Term, list[Found]]:
    """x₁ + … + sin²y + cos²y → x₁ + … + 1, [move]: a wide sum or product as relations rewrite it, and the moves.

    Each move is on the parts that it concerns.
    """
    wide = Wide(t, theory)
    moves: list[Found] = []
    for row in library.candidates(t, theory):
        if row.pattern.kind == "op":
            continue
        try:
            for state, before, after in wide.apply(row.pattern, row.right, row.conditions):
                bindings = {label_of(v): state.get(v) for v in row.variables}
                moves.append(Found("relation", row.name, after, row.summary, bindings, before))
        except Exception as error:  # it may have come between taking parts and putting others in their place
            note(row.name, t, error)
            return relate_wide(t, library.without(row.name), note, theory)
    if not moves and not wide.cancelled:
        return t, []
    new = wide.built()
    if not moves and new is not t:
        law = next(law for law in SIMPLIFICATIONS if law.theory == theory)
        moves.append(Found("simplify", law.name, new, law.why, {}, t))
    return new, moves


def log1p_of_complement(t: Term) -> Term | None:
    """log1p(−p) → log_quotient(1 − p, 1, −p), which is right where p is near one and where it is near zero; or None."""
    (x,) = t.rands
    left = left_of(negative(x))
    if left is None or stated_logarithm(left) is not None:
        return None
    return log_quotient.make_node(left, constant(1.0, x.type.dtype), x)


def crossed(t: Term) -> Term | None:
    """x·y − u·v → product_difference(x, y, u, v), unless that is one product at two near points: (x + h)·z − x·u"""
    new = crossed_sum(t)
    return None if new is None or incremented(t) is not None else new


def power_of_share(t: Term) -> Term | None:
    """σ(x)^y → e^(y·log σ(x)), y no number: a share may leave the range of floats where its power does not; or None"""
    if t.op not in (power, float_power) or is_constant(t.rands[1]):
        return None
    known = stated_logarithm(t.rands[0])
    if known is None or known[0] is not None or not t.rands[1].type.differentiable:
        return None
    return fit(exp.make_node(multiply(t.rands[1], known[1])), t)


def in_pieces(t: Term) -> Term | None:
    """concatenate((0, σ(x))) − concatenate((σ(x), 1)) → its pieces joined, where the log domain reads them; or None"""
    return joined_sum(t) if is_exponential(t) else None


_DIVIDED = "a part of a divisor goes where two summands are brought over it"
CANCEL_FACTORS = Law(
    "cancel_factors", cancelled_product, "factors meet their inverses, or exponentials meet", PRODUCT
)
AFTER = (
    Law("cancel_summands", cancelled_sum, "summands meet their negatives", SUM),
    Law("multiply_out", factored_sum, "a part of a summand that is multiplied out meets another", SUM),
    Law("complement", complemented_sum, "what a product of shares leaves of one is what each leaves", SUM),
    Law("entries_left", left_of_sum, "a sum less entries that it has is the sum of the others", SUM),
    Law("apart", apart_sum, "what is above one and below one is compared with it", SUM),
    Law("residual", labelled_sum, "what a share lacks of a label is what it lacks of one, or all of it", SUM),
    Law("divide_sum", divided_sum, _DIVIDED, SUM),
    Law("factor_square", factored_square, "a number is taken from a square", SUM),
    Law("meaning_to_cancel", meant_sum, "a summand, read as the sum that it means, meets another", SUM),
    Law("cross_products", crossed, "two products of data are taken from each other", SUM),
    Law("take_out_data", complemented_data, "what data leave of one is computed before a product", SUM),
    Law("lacking_entropy", lacking_entropy, "equal shares have the largest entropy", SUM),
    Law("relative_entropy", relative_entropy, "equal parts are no information", PRODUCT),
    Law("read_mean", averaged_sum, "a sum of exponentials over their number is a mean", SUM),
    CANCEL_FACTORS,
    Law("power_of_share", power_of_share, "a power of what states its logarithm is an exponential", PRODUCT),
    Law("bare_length", bared_length, "nothing is known where a length is 0 that divides", PRODUCT),
    Law("scale_factors", scaled_product, "factors that grow alike are scaled alike", PRODUCT),
    Law("distribute_to_cancel", distributed_product, "a factor meets its inverse inside a sum", PRODUCT),
)
LOG_INCREMENT = Law("log_increment", log_incremented, "the log of one program at two near points")
LOG1P_OF_COMPLEMENT = Law("log1p_of_complement", log1p_of_complement, "a logarithm is of what is left of one")
LOG_NEAR_ONE = Law("log_near_one", log_near_one, "a logarithm near zero is of what is left of one")
FROM_ONE = Law("from_one", from_one, "errors near one are multiplied, those of the distance are not")
BEFORE = (
    Law("squared_distances", squared_distances, "norms less a product of matrices are distances", SUM),
    Law("join_pieces", in_pieces, "what is joined of pieces is added piece by piece", SUM),
    Law("between_entries", running_sum, "two entries of what runs differ by what lies between", SUM),
    Law("read_square", perfect_square, "a quadratic form is a sum of squares of differences", SUM),
    Law("square_at_one", square_at_one, "a sum is a square where a factor is one", SUM),
    Law("divide_pair", lambda t: divided_sum(t, 2), _DIVIDED, SUM),
    Law("beside_projection", beside_projection, "what Cauchy and Schwarz leave is beside a projection", SUM),
    Law("extreme_beside_sum", extreme_beside_sum, "the largest of a log-sum-exp has a share of it", SUM),
    Law("centre", about_means, "a shift of the data changes nothing", SUM),
    Law("take_out_complement", shared_complement, "a complement is a factor of a summand beside it", SUM),
)
"""What is done before a row is looked for, and what after."""
_OUT = "what vanishes with a length takes it out of a direction"
ONE_FUNCTION = Law("one_function", one_function, "both sides of a point have one function")
OUT_OF_DIRECTION = Law("take_out_length", length_taken_out, _OUT, PRODUCT)
OUT_OF_SLOPE = Law("take_out_length_of_slope", turned_by_little, _OUT)
OFFSET = Law("without_offset", without_offset, "a common offset changes nothing")
ROOT = Law("root_of_square", root_of_square, "the root of a square is a size")
SIMPLIFICATIONS = (*AFTER, *BEFORE)
UNDONE = Law("cancel_inverse", undone, "a function meets its inverse")
INTO_MASK = Law("sink_into_mask", sunk_product, "what a mask hides is not multiplied by zero", PRODUCT)
"""Factors of a product are drawn into a mask among them, if they may be infinite where it is zero."""
INCREMENTS = (
    Law("remainder", remaindered, "one function at several near points", SUM),
    Law("increment", incremented, "one program at two near points", SUM),
    Law("difference_quotient", difference_quotient, "a difference over the distance", PRODUCT),
)
"""A sum, or a quotient, with one program at two near points in it becomes an increment."""
