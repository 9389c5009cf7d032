"""Unmodified kanren on terms: its goals in both directions against enumeration; etuples to terms and back."""

from functools import partial
from itertools import islice, permutations, product
from operator import itemgetter

import numpy as np
import pytest
from cons import cons
from etuples import etuple
from kanren import conde, eq, fact, lall, run, var
from kanren.assoccomm import associative, commutative, eq_assoc, eq_assoccomm, eq_comm
from kanren.constraints import isinstanceo, neq, typeo
from kanren.goals import appendo, conso, heado, membero, permuteo, rembero, tailo
from kanren.graph import map_anyo, reduceo, term_walko, walko
from unification import reify, unify
from unification.core import isground

import relgrad as rg
from relgrad.gradient import Gradient
from relgrad.logic.unify import is_variable
from relgrad.ops.arithmetic import add, divide, multiply
from relgrad.ops.exponential import exp, log
from relgrad.ops.reduction import Sum
from relgrad.ops.trigonometric import sin
from relgrad.term import Rands, Term, is_term, reachable

x, y, z = (rg.symbol(name).term for name in "xyz")


@pytest.fixture(scope="module", autouse=True)
def laws_of_addition():
    """State for kanren's goals what the op declares; facts are the whole session's."""
    for law in (associative, commutative):
        fact(law, add)
    yield
    for law in (associative, commutative):
        law.facts.discard((add,))
        law.index.pop((0, add), None)


def trees(parts):
    """Return all sums of some terms, in every order and nesting."""
    if len(parts) == 1:
        return set(parts)
    return {
        add(left, right)
        for order in permutations(parts)
        for i in range(1, len(order))
        for left in trees(order[:i])
        for right in trees(order[i:])
    }


def undo(a, b):
    """Construct a goal stating that a is the logarithm of the exponential of b."""
    u = var()
    return lall(eq(a, log(exp(u))), eq(b, u))


def undone(t):
    """Return what one walk makes of a term: the relation at its root, or at any of its operands and below them."""
    found = {t.rands[0].rands[0]} if t.op is log and t.rands[0].op is exp else set()
    choices = product(*[{rand} | undone(rand) for rand in t.rands])
    return found | {t.op(*rands) for rands in choices if rands != t.rands}


NEST = log(exp(add(log(exp(x)), sin(log(exp(log(exp(y))))))))


# Associativity and commutativity


@pytest.mark.parametrize("t", [add(x, y), add(add(x, y), z), add(x, add(exp(y), z))])
def test_equal_sums_are_all_trees_of_the_summands_in_both_directions(t):
    parts = (
        [p for p in reachable(t) if p.op is not add and p is not y] if exp(y) in t.rands[1:] else [x, y, z]
    )
    parts = [x, exp(y), z] if exp(y) in reachable(t) else [p for p in (x, y, z) if p in reachable(t)]
    q = var()
    for goal in (eq_assoccomm(t, q), eq_assoccomm(q, t)):
        assert {u for u in run(0, q, goal) if is_term(u)} == trees(parts)


def test_a_pattern_meets_every_split_of_a_sum():
    a, b = var(), var()
    found = run(0, (a, b), eq_assoccomm(add(a, b), add(add(x, y), z)))
    assert set(found) == {t.rands for t in trees([x, y, z])}


def test_commutativity_and_associativity_by_themselves():
    q = var()
    assert set(run(0, q, eq_comm(exp(add(x, y)), q))) == {exp(add(x, y)), exp(add(y, x))}
    assert set(run(0, q, eq_assoc(exp(add(add(x, y), z)), q))) == {
        exp(add(add(x, y), z)),
        exp(add(x, add(y, z))),
    }


def test_walking_swaps_the_operands_of_any_sums():
    q = var()
    swap = lambda a, b, op: permuteo(a, b, no_ident=True)
    t = add(add(x, y), z)
    found = run(0, q, term_walko(partial(eq, add), swap, t, q))
    assert set(found) == {t, add(add(y, x), z), add(z, add(x, y)), add(z, add(y, x))}


# Walking and reducing


def test_a_walk_is_every_choice_of_places():
    q = var()
    assert {u for u in run(0, q, walko(undo, NEST, q)) if is_term(u)} == undone(NEST)


def test_a_walk_backwards_gives_terms_that_walk_forwards():
    q = var()
    found = [u for u in run(40, q, walko(undo, q, sin(x), rator_goal=eq)) if is_term(u)]
    assert {log(exp(sin(x))), sin(log(exp(x)))} <= set(found)
    for u in found:
        assert run(1, (), walko(undo, u, sin(x), rator_goal=eq)) == ((),)


def test_reducing_gives_the_fixed_point_first():
    q = var()
    everywhere = partial(walko, undo)
    assert run(1, q, reduceo(everywhere, NEST, q)) == (add(x, sin(y)),)
    assert set(run(0, q, reduceo(undo, log(exp(log(exp(x)))), q))) == {x, log(exp(x))}


def test_expanding_is_lazy():
    q = var()
    towers = [x]
    for _ in range(4):
        towers.append(log(exp(towers[-1])))
    assert list(islice(run(None, q, reduceo(undo, q, x)), 4)) == towers[1:]


def test_some_operands_are_mapped():
    q = var()
    found = run(0, q, map_anyo(undo, [log(exp(x)), y, log(exp(z))], q))
    assert {tuple(u) for u in found} == {(x, y, z), (x, y, log(exp(z))), (log(exp(x)), y, z)}


# Containers


def test_a_term_is_taken_apart_and_put_together():
    h, t, q = var(), var(), var()
    whole = add(x, y)
    assert run(0, (h, t), conso(h, t, whole)) == ((add, Rands((x, y))),)
    assert run(0, q, conso(add, whole[1:], q)) == (whole,)
    assert run(0, q, conso(q, whole[1:], whole)) == (add,)
    assert run(0, q, conso(multiply, q, whole)) == ()
    assert run(0, q, heado(q, whole)) == (add,)
    assert run(0, q, tailo(q, whole)) == (whole[1:],)
    assert run(0, q, tailo(whole[1:], q), heado(multiply, q)) == (multiply(x, y),)
    assert run(0, q, membero(q, whole)) == (add, x, y)


def test_joining_splits_a_term_everywhere():
    p, q = var(), var()
    found = run(0, (p, q), appendo(p, q, add(x, y)))
    assert [(tuple(a), tuple(b)) for a, b in found] == [((add, x, y)[:i], (add, x, y)[i:]) for i in range(4)]


def test_an_operand_is_removed_and_put_back():
    q = var()
    assert run(0, q, rembero(y, add(x, y)[1:], q)) == (Rands((x,)),)
    assert exp(x) in run(0, q, rembero(z, q, exp(x)))
    assert {tuple(u) for u in run(0, q, rembero(z, q, exp(x)))} == {
        (exp, x),
        (z, exp, x),
        (exp, z, x),
        (exp, x, z),
    }


def test_disequality():
    p, q = var(), var()
    assert run(0, q, neq(q, x), membero(q, [x, y, z])) == (y, z)
    assert run(0, q, membero(q, [x, y, z]), neq(q, x)) == (y, z)
    assert run(0, q, neq(exp(q), exp(x)), membero(q, [x, y])) == (y,)
    assert run(0, q, eq(q, exp(p)), neq(q, exp(x)), membero(p, [x, y])) == (exp(y),)
    assert run(0, q, neq(q, x), eq(exp(q), exp(x))) == ()


@pytest.mark.parametrize("kind", [isinstanceo, typeo])
def test_types(kind):
    q = var()
    things = [x, 1, exp(y), (1, 2)]
    assert run(0, q, kind(q, Term), membero(q, things)) == (x, exp(y))
    assert run(0, q, membero(q, things), kind(q, Term)) == (x, exp(y))


def test_a_permutation_binds_inside_terms():
    q = var()
    assert run(0, q, permuteo([exp(q), y], [y, exp(x)])) == (x,)


def test_what_is_open_is_known_to_be_open():
    q, axes = var(), var()
    assert isground(exp(x), {}) and isground(exp(q), {q: x}) and isground(exp, {})
    assert not isground(exp(q), {})
    assert not isground(Sum(axes).make_node(x), {})
    assert not isground(Sum(axes), {})
    assert not isground([exp(q)], {q: exp(axes)})


# Partial terms


def test_what_is_no_term_is_a_plain_etuple():
    assert Term() == Rands() == Term([])
    assert Term((exp, x)) is exp(x)
    assert type(cons(add, Rands((x,)))) is Rands
    assert type(cons(add, Rands((x, y, z)))) is Rands
    assert type(cons(x.op, Rands((x,)))) is Rands
    assert type(cons(add, Rands((v.term, rg.symbol("u", (4,)).term)))) is Rands
    assert cons(add, Rands((x, y))) is add(x, y)
    assert add(x, y)[:1] + add(x, y)[1:] is add(x, y)


def test_a_partial_term_becomes_the_term_when_it_is_known():
    q, r = var(), var()
    assert run(0, q, eq(q, Rands((exp, r))), eq(r, x)) == (exp(x),)
    assert reify(Rands((add, x, Rands((exp, r)))), {r: y}) is add(x, exp(y))
    assert type(reify(exp(r), {r: sin})) is Rands
    assert unify(Rands((exp, r)), exp(x), {}) == {r: x}


# Etuples

A = rg.symbol("A", (2, 3))
v, w = rg.symbol("v", (3,)), rg.symbol("w", (3,))
ROUND = [
    (v + 1) * 2.5 - w,
    A @ v,
    np.exp(A).sum(axis=0, keepdims=True),
    np.where(v > 0, v, -w),
    np.linalg.slogdet(A @ A.T)[1],
    np.float32(2) * v[::-1],
    np.concatenate([v, w])[2:5],
]


@pytest.mark.parametrize("expression", ROUND)
def test_a_term_survives_being_an_etuple(expression):
    e = rg.etuple(expression)
    assert not is_term(e) and e.evaled_obj is expression.term
    assert rg.term(e) is expression.term


@pytest.mark.parametrize("expression", ROUND)
def test_an_etuple_has_the_value_of_the_program(expression):
    rng = np.random.default_rng(0)
    values = {"A": rng.normal(size=(2, 3)), "v": rng.normal(size=3), "w": rng.normal(size=3)}
    names = {t.op.label for t in reachable(expression.term) if not t.rands and hasattr(t.op, "label")}
    given = {name: values[name] for name in names}
    whole = rg.etuple(expression, **given).evaled_obj
    program = rg.stabilize(lambda **given: rg.etuple(expression, **given).evaled_obj, validate=False)
    assert np.shape(whole) == expression.shape
    np.testing.assert_allclose(whole, program(**given), rtol=1e-14)


def test_an_etuple_is_a_program_with_a_gradient():
    a = np.array([1000.0, 0.0, -1000.0])
    e = etuple(np.log, etuple(np.sum, etuple(np.exp, v)))
    naive = rg.etuple(e, v=np.array([1.0, 2.0, 3.0])).evaled_obj
    assert naive == pytest.approx(np.log(np.exp([1.0, 2.0, 3.0]).sum()))
    np.testing.assert_array_equal(rg.grad(lambda v: rg.etuple(e, v=v).evaled_obj)(a), [1, 0, 0])


def test_an_implicit_gradient_stays_until_there_are_values():
    t = rg.grad(lambda x: np.sum(np.exp(x))).term(v)
    assert any(type(node.op) is Gradient for node in reachable(t))
    assert rg.term(rg.etuple(t)) is t
    np.testing.assert_allclose(rg.etuple(t, x=np.arange(3.0)).evaled_obj, np.exp(np.arange(3.0)))


def test_functions_of_numpy_and_ops_are_heads_alike():
    assert rg.term(etuple(np.add, x, etuple(np.exp, 2.0))) is rg.term(etuple(add, x, np.exp(2.0)))
    assert rg.term(etuple(np.add, x, etuple(exp, y))) is add(x, exp(y))
    assert rg.term(etuple(add, x, y, z)) is add(add(x, y), z)
    assert rg.term(etuple(np.sum, v, axis=0, keepdims=True)) is np.sum(v, axis=0, keepdims=True).term
    assert rg.term(etuple(np.stack, [v.term, w])) is np.stack([v, w]).term
    assert rg.term(etuple(itemgetter(1), etuple(np.linalg.slogdet, etuple(np.matmul, A, A.T)))) is (
        np.linalg.slogdet(A @ A.T)[1].term
    )
    assert rg.term(etuple(lambda a, b: a * np.sin(b), x, y)) is multiply(x, sin(y))


def test_an_etuple_with_variables_is_a_pattern():
    q, axis = var(), var()
    assert unify(rg.term(etuple(np.add, q, etuple(np.exp, y))), add(x, exp(y)), {}) == {q: x}
    pattern = rg.term(etuple(np.sum, q, axis=axis, keepdims=True))
    assert unify(pattern, np.sum(v, axis=0, keepdims=True).term, {}) == {q: v.term, axis: (-1,)}
    assert rg.term(rg.etuple(pattern)) is pattern
    assert is_variable(rg.term(q))


def test_shared_and_deep_etuples_are_read_once_and_without_recursion():
    called = []

    def double(a):
        called.append(a)
        return a + a

    e = x
    for _ in range(20_000):
        e = etuple(double, e)
    assert sum(1 for _ in reachable(rg.term(e))) == 20_001
    assert len(called) == 20_000
    assert rg.etuple(rg.term(e), x=0.0).evaled_obj == 0


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: rg.term(etuple()), rg.TraceError, "an etuple is empty"),
        (lambda: rg.term(etuple("add", x, y)), rg.TraceError, "no function at its head: 'add'"),
        (lambda: rg.term(etuple(x, y)), rg.TraceError, "no function at its head"),
        (lambda: rg.etuple(x, u=1.0), rg.TraceError, "the expression has no symbol u\n.*its symbols are x"),
        (
            lambda: rg.etuple(v, v=np.ones(4)),
            rg.ShapeError,
            r"the value of v has dtype float64 and shape \(4,\)",
        ),
        (lambda: rg.etuple(v, v=np.ones(3) * 1j), rg.ShapeError, "the value of v has dtype complex128"),
        (lambda: rg.term(etuple(np.add, v, rg.symbol("u", (4,)))), rg.ShapeError, "shape"),
    ],
)
def test_errors_say_what_and_how_to_mend_it(make, error, text):
    with pytest.raises(error, match=f"(?s){text}"):
        make()


# The founding issue's questions

M, B = rg.symbol("M", (2, 3)), [rg.symbol(name, (3, 4)) for name in "XYZ"]
COLUMNS = [rg.symbol(name, (3,)) for name in "XYZ"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("parts", [B, COLUMNS], ids=["matrices", "vectors"])
@pytest.mark.parametrize("nest", [lambda p, q, r: (p + q) + r, lambda p, q, r: p + (q + r)])
def test_a_matrix_times_a_sum_is_met_in_every_order_and_nesting(parts, nest):
    a, b, c, d = rg.variables("a b c d")
    columns = [p[:, None] if p.ndim == 1 else p for p in parts]
    wanted = {(M.term, *[p.term for p in order]) for order in permutations(columns)}
    for order in permutations(parts):
        subject = M @ nest(*order)
        found = rg.match(a @ ((b + c) + d), subject)
        assert {tuple(u.term for u in answer.values()) for answer in found} == wanted
    # Of vectors, kanren meets the product of columns that NumPy's product of a vector is.
    subject = (M @ nest(*columns)).term
    names = [u.term for u in (a, b, c, d)]
    pattern = etuple(np.matmul, names[0], etuple(np.add, etuple(np.add, *names[1:3]), names[3]))
    assert (
        set(
            run(
                0,
                names,
                eq_assoccomm(rg.term(pattern), subject),
                results_filter=lambda found: map(tuple, found),
            )
        )
        == wanted
    )


def test_a_factor_lifts_through_a_sum_and_sinks_back():
    a, b, axis = var(), var(), var()
    total = lambda u: rg.term(etuple(np.sum, u, axis=axis, keepdims=True))

    def lifts(u, t):
        """Construct a goal stating that sum(b / a) = sum(b) / a for an a that does not vary along the axes."""
        return lall(eq(u, total(divide(b, a))), eq(t, divide(total(b), a)), rg.constant_along(a, axis))

    q, s = var(), rg.symbol("s")
    inside, before = (np.sum(v / s, keepdims=True).term, (np.sum(v, keepdims=True) / s).term)
    assert run(0, q, lifts(inside, q)) == (before,)
    assert run(0, q, lifts(q, before)) == (inside,)
    assert run(0, q, rg.anywhereo(lifts, sin(inside), q)) == (sin(before),)
    assert set(run(0, q, walko(lifts, sin(inside), q, rator_goal=eq))) >= {sin(before)}
    # What varies along the axis stays inside, and modulo the reals the two are one.
    assert run(0, q, lifts(np.sum(v / w, keepdims=True).term, q)) == ()
    assert len(rg.match(lambda b, axis: np.sum(b, axis=axis, keepdims=True), before)) == 1


def test_a_sum_of_sums_is_the_sum_of_a_sum():
    a, b, axis = var(), var(), var()
    total = lambda u: rg.term(etuple(np.sum, u, axis=axis, keepdims=True))

    def additive(u, t):
        """Construct a goal stating that sum(a + b) = sum(a) + sum(b)."""
        return lall(eq(u, total(add(a, b))), eq(t, add(total(a), total(b))))

    q = var()
    together = np.sum(v + w, keepdims=True).term
    apart = (np.sum(v, keepdims=True) + np.sum(w, keepdims=True)).term
    assert run(0, q, additive(together, q)) == (apart,)
    assert run(0, q, additive(q, apart)) == (together,)
    assert set(run(0, q, walko(additive, exp(together), q, rator_goal=eq))) >= {exp(apart)}
    assert set(run(0, q, conde([additive(together, q)], [eq(q, together)]))) == {together, apart}
