"""Questions that users of kanren and of its tensor libraries ask: `eq_aco` has every answer that they get, once.

Sources: the tests of kanren's `assoccomm` module and of PyTensor's and Aesara's kanren rewrites, restated; logpy's
issue 39; kanren's pull request 27. Where there is a stock goal, it is run beside ours.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pytest
from aco_oracle import Answer, Hole, Law, canon, is_instance
from cons import cons
from etuples import etuple
from etuples.core import ExpressionTuple
from kanren import eq, fact, lall, run, var
from kanren.assoccomm import associative, commutative, eq_assoc, eq_assoccomm, eq_comm
from kanren.term import arguments, operator
from kanren.term import term as kanren_term
from unification import isvar

from relgrad.contract import Laws
from relgrad.leaf import Input
from relgrad.logic.aco.goal import eq_aco
from relgrad.logic.aco.theory import AC, Theory
from relgrad.ops.arithmetic import add, multiply
from relgrad.term import term
from relgrad.types import array_type

THEORY = {"c": Law("C"), "a": Law("A"), "ac": Law("AC"), "add": Law("AC"), "mul": Law("AC")}
X, Y, Z = (Hole(name) for name in "XYZ")


@pytest.fixture(autouse=True)
def facts() -> Iterator[None]:
    """State the facts, and only these, for the time of a test."""
    relations = (associative, commutative)
    before = [(r.facts.copy(), r.index.copy()) for r in relations]
    for r in relations:
        r.facts.clear()
        r.index.clear()
    for head, law in THEORY.items():
        for letter, r in zip("AC", relations, strict=True):
            if letter in law.letters:
                fact(r, head)
    yield
    for r, (old_facts, old_index) in zip(relations, before, strict=True):
        r.facts.clear()
        r.index.clear()
        r.facts.update(old_facts)
        r.index.update(old_index)


class Question(NamedTuple):
    """Two terms, and how many of the stock goal's answers to look at (0 for all)."""

    u: Any
    v: Any
    n: int = 0


def written(t: Any, variables: dict[Hole, Any], carrier: Callable[[Sequence[Any]], Any]) -> Any:
    if isinstance(t, Hole):
        return variables.setdefault(t, var())
    if isinstance(t, tuple):
        return carrier([written(x, variables, carrier) for x in t])
    return t


def read(t: Any) -> Any:
    if isvar(t):
        return Hole(str(t.token))
    if isinstance(t, (tuple, list, ExpressionTuple)):
        return tuple(map(read, t))
    return canon(t, THEORY)


def answers(goal: Callable[..., Any], question: Question, carrier: Any, n: int = 0) -> list[Answer]:
    """Return what the variables hold, in canonical form, by the names of the variables."""
    variables: dict[Hole, Any] = {}
    u, v = (written(t, variables, carrier) for t in question[:2])
    query = tuple(variables[h] for h in sorted(variables))
    return [tuple(canon(read(x), THEORY) for x in answer) for answer in run(n, query, goal(u, v))]


def as_etuple(parts: Sequence[Any]) -> Any:
    return etuple(*parts)


PERMUTATIONS = ("c", X, Y, Z)
COMMUTATIVE = [
    Question(1, 1),
    Question(("c", 1, 2, 3), ("c", 1, 2, 3)),
    Question(("c", 3, 2, 1), ("c", 1, 2, 3)),
    Question(("c", 3, Y, 1), ("c", 1, 2, 3)),
    Question(("c", X, Y, 1), ("c", 1, 2, 3)),
    Question(("c", 2, 3, 1), ("c", 1, X, Y)),
    Question(("op", 3, 2, 1), ("op", 1, 2, 3)),
    Question((3, "c", 2, 1), ("c", 1, 2, 3)),
    Question(("c", 1, 2, 1), ("c", 1, 2, 3)),
    Question(("op", 1, 2, 3), ("c", 1, 2, 3)),
    Question(("c", 1, 2, 3), ("c", 2, X, 1)),
    Question(("div", 1, ("c", 1, 2, 3)), ("div", 1, ("c", 2, X, 1))),
    Question(("div", 1, ("div", 1, 2, 3)), ("div", 1, ("div", 2, X, 1))),
    Question(("c", 1, 2, 3), PERMUTATIONS),
    Question(PERMUTATIONS, ("c", 1, 2, 3)),
    Question(("div", 1, ("c", 1, 2, 3)), ("div", 1, PERMUTATIONS)),
    Question(("c", ("c", 1, X), Y), ("c", 2, ("c", 3, 1))),
    Question((("c", 3, 1),), (("c", 1, X),)),
    Question((2, ("c", 3, 1)), (Y, ("c", 1, X))),
    Question(X, Y, 4),
]
ASSOCIATIVE = [
    Question(1, 1),
    Question(("a", 1, 2, 3), ("a", 1, 2, 3)),
    Question(("a", 3, 2, 1), ("a", 1, 2, 3)),
    Question(("a", ("a", 1, 2), 3), ("a", 1, 2, 3)),
    Question(("a", 1, 2, 3), ("a", ("a", 1, 2), 3)),
    Question(("a", 1, ("a", 2, 3), 4), ("a", 1, 2, 3, 4)),
    Question(("a", 1, 2, 3), ("a", 1, ("a", 2, 3), 4)),
    Question(("o", 1, 2, 3), ("o", ("o", 1, 2), 3)),
    Question(("a", 1, 2, 3), X),
    Question(X, ("a", 1, 2, 3)),
    Question(("a", 1, X, 4), ("a", 1, 2, 3, 4)),
    Question(("a", 1, 2, 3, 4), ("a", 1, X, 4)),
    Question(("a", 1, 1), ("other", 1, 1)),
    Question(("a", 1, 2, ("a", X, 5, 6)), ("a", ("a", 1, 2), 3, 4, 5, 6)),
    Question(X, Y, 3),
]
BOTH = [
    Question(1, 1),
    Question((1,), (1,)),
    Question(X, (1,)),
    Question((1,), X),
    Question(("ac", 1, ("ac", 2, 3)), ("ac", ("ac", 1, 2), 3)),
    Question(("ac", 1, ("ac", 2, 3)), ("ac", ("ac", 3, 2), 1)),
    Question(("ac", 1, ("ac", 3, 2)), ("ac", ("ac", 1, 2), 3)),
    Question(("ac", 1, ("ac", 2, 3)), X),
    Question(("ac", 1, 3, 2), X),
    Question(("ac", 2, ("ac", 3, 1)), X),
    Question(X, ("ac", 1, ("ac", 2, 3))),
    Question(("ac", ("ac", 1, X), Y), ("ac", 2, ("ac", 3, 1))),
    Question(("ac", ("ac", 1, 2), 3), ("ac", 1, 2, 3)),
    Question(("ac", 3, ("ac", 1, 2)), ("ac", 1, 2, 3)),
    Question(("ac", 1, 1), ("other", 1, 1)),
    Question(("ac", 3, ("ac", 1, 2)), ("ac", 1, X, 3)),
    Question(("mul", ("add", 1, X), Y), ("mul", 2, ("add", 3, 1))),
    Question(("add", 1, 2, 3), ("add", 1, X)),
    Question(X, Y, 4),
]
QUESTIONS = [
    pytest.param(goal, question, id=f"{goal.__name__} {question.u} {question.v}")
    for goal, questions in ((eq_comm, COMMUTATIVE), (eq_assoc, ASSOCIATIVE), (eq_assoccomm, BOTH))
    for question in questions
]


@pytest.mark.parametrize(("goal", "question"), QUESTIONS)
@pytest.mark.parametrize("carrier", [tuple, list, as_etuple])
def test_every_answer_of_kanren_once(goal: Callable[..., Any], question: Question, carrier: Any):
    stock, ours = answers(goal, question, carrier, question.n), answers(eq_aco, question, carrier)
    assert len(ours) == len(set(ours))
    for answer in stock:
        assert any(is_instance(answer, general, THEORY) for general in ours), (answer, ours)
    if not question.n:
        assert len(ours) <= len(set(stock)), (ours, stock)


def test_the_comparison_can_fail():
    """Syntactic unification lacks most answers; associativity alone lacks some."""
    for goal in (eq, eq_assoc):
        question = Question(("ac", ("ac", 1, X), Y), ("ac", 2, ("ac", 3, 1)))
        found = answers(goal, question, tuple)
        assert {(2, 3), (3, 2)} - set(found)
    assert len(answers(eq_assoccomm, BOTH[7], tuple)) > len(set(answers(eq_assoccomm, BOTH[7], tuple)))


def test_a_cons_pair_is_a_term_whose_arguments_are_unknown():
    head, rest = var(), var()
    for goal in (eq_assoc, eq_aco):
        found = run(0, (head, rest), goal(cons(head, rest), ("a", 1, 2, 3)))
        assert {canon(read((h, *r)), THEORY) for h, r in found} == {("a", 1, 2, 3)}


def test_an_unknown_head():
    head, x = var(), var()
    assert "op" in run(0, head, eq_aco(etuple(head, 1, 2), etuple("op", 1, 2)))
    assert ("op", 2) in run(0, (head, x), eq_aco((head, 1, x), ("op", 1, 2)))
    assert run(
        0, (head, x), eq_aco(("div", (head, 1, x), ("ac", 1, x)), ("div", ("f", 1, 3), ("ac", 3, 1)))
    ) == (("f", 3),)


class Operator:
    """A head of a user's own."""

    def __init__(self, name: str):
        self.name = name


class Node:
    """A term of a user's own class, which kanren knows by its dispatch."""

    def __init__(self, op: Operator, args: Sequence[Any]):
        self.op, self.args = op, tuple(args)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and (self.op, self.args) == (other.op, other.args)

    def __hash__(self) -> int:
        return hash((self.op, self.args))


kanren_term.register(Operator, Sequence)(Node)
operator.register(Node)(lambda node: node.op)
arguments.register(Node)(lambda node: node.args)


def test_terms_of_a_users_own_class():
    plus, x = Operator("plus"), var()
    fact(associative, plus)
    fact(commutative, plus)

    def total(*args: Any) -> Node:
        return Node(plus, args)

    for goal in (eq_assoccomm, eq_aco):
        assert run(0, True, goal(total(1, 2, 3), total(3, 1, 2))) == (True,)
        assert run(0, x, goal(total(1, 2, 3), total(1, 2, x))) == (3,)
        assert run(0, x, goal(total(1, 2, 3), total(x, 2, 1))) == (3,)
        assert run(0, True, goal(total(1, 2, 3), total(3, 1, 1))) == ()


def test_squares_of_a_net_of_commutative_pairs():
    """Issue 39 of logpy: the pattern is the same for permutations of 1 … 4 that keep the net."""

    def net(a: Any, b: Any, c: Any, d: Any, swapped: bool) -> Any:
        p = "c"
        first = (p, (p, a, b), (p, (p, (p, a, c), (p, b, d)), (p, (p, a, d), (p, b, c))))
        b, c, d = (d, b, c) if swapped else (c, b, d)
        return (p, first, (p, (p, a, b), (p, (p, (p, a, c), (p, b, d)), (p, (p, a, d), (p, b, c)))))

    x = [var() for _ in range(4)]
    found = run(0, tuple(x), eq_aco(net(*x, swapped=False), net(1, 2, 3, 4, swapped=True)))
    assert (1, 2, 4, 3) in found
    found = run(0, tuple(x), eq_aco(net(*x, swapped=False), net(1, 2, 3, 4, swapped=False)))
    assert {(1, 2, 3, 4), (1, 3, 2, 4)} <= set(found)
    for answer in found:
        assert canon(net(*answer, swapped=False), THEORY) == canon(net(1, 2, 3, 4, swapped=False), THEORY)
    assert len(found) == len(set(found))


def test_graphs_that_differ_at_their_roots():
    """Pull request 27 of kanren: a sum and a product of the same deep parts are told apart without a search."""
    count = 0

    def tally(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    def deep(levels: int) -> Any:
        if not levels:
            return var()
        return ("add", deep(levels - 1), ("mul", deep(levels - 1), 2))

    inner = deep(10)
    goal = eq_aco(("add", inner, 1), ("mul", inner, 1))
    sys.setprofile(tally)
    try:
        found = run(0, True, goal)
    finally:
        sys.setprofile(None)
    assert found == () and count < 300


# PyTensor and Aesara


def test_the_operand_of_a_product():
    q = var()
    for carrier in (tuple, as_etuple):
        assert run(None, q, eq_aco(carrier(("dot", "A", "x")), carrier(("dot", q, "x")))).__next__() == "A"


PRODUCTS = {(*"A", *order) for order in ("xyz", "xzy", "yxz", "yzx", "zxy", "zyx")}


@pytest.mark.parametrize("carrier", [tuple, list, as_etuple])
def test_a_matrix_times_a_sum_of_three(carrier: Any):
    """A·((x + y) + z) against A·(x + (y + z)), the sum AC, the product commutative only: 3! answers."""
    fact(commutative, "dot")
    a, x, y, z = variables = [var() for _ in range(4)]
    pattern = carrier(("dot", a, carrier(("add", x, carrier(("add", y, z))))))
    subject = carrier(("dot", "A", carrier(("add", carrier(("add", "x", "y")), "z"))))
    out = var()
    found = run(0, out, lall(eq_aco(pattern, subject), eq(tuple(variables), out)))
    assert len(found) == len(PRODUCTS) and set(found) == PRODUCTS
    assert set(run(0, tuple(variables), eq_aco(subject, pattern))) == PRODUCTS
    stock = set(run(0, tuple(variables), eq_assoccomm(pattern, subject)))
    assert stock <= PRODUCTS and stock


def test_a_product_times_a_sum_of_three_as_arrays():
    """The same with relgrad's own terms, where the product is AC too."""
    leaves = [term(Input(n, array_type("float64", (3,)))) for n in "Axyz"]
    A, x, y, z = leaves
    variables = a, p, q, r = [var() for _ in range(4)]
    pattern = term(multiply, a, term(add, p, term(add, q, r)))
    subject = term(multiply, A, term(add, term(add, x, y), z))
    wanted = {(A, *order) for order in ((x, y, z), (x, z, y), (y, x, z), (y, z, x), (z, x, y), (z, y, x))}
    found = run(0, tuple(variables), eq_aco(pattern, subject, AC))
    assert len(found) == 6 and set(found) == wanted
    with_identities = run(0, tuple(variables), eq_aco(pattern, subject))
    assert set(with_identities) >= wanted and len(set(with_identities)) == len(with_identities) > 6


def distributes(whole: Any, parts: Any) -> Any:
    """A·(x + b) = A·x + A·b, as a relation that runs in both directions."""
    a, x, b = var(), var(), var()
    return lall(
        eq_aco(etuple("dot", a, etuple("add", x, b)), whole),
        eq_aco(etuple("add", etuple("dot", a, x), etuple("dot", a, b)), parts),
    )


def test_distribution_forwards_and_backwards():
    """As a rewrite to a fixed point does it: A·(x + B·(c + d)) = A·x + A·(B·c + B·d)."""
    inner = etuple("dot", "B", etuple("add", "c", "d"))
    spread = etuple("add", etuple("dot", "B", "c"), etuple("dot", "B", "d"))
    q = var()

    def same(found: Any, wanted: Any) -> bool:
        return {canon(read(t), THEORY) for t in found} == {canon(read(wanted), THEORY)}

    assert same(run(0, q, distributes(inner, q)), spread)
    assert same(run(0, q, distributes(q, spread)), inner)
    whole = etuple("dot", "A", etuple("add", "x", inner))
    parts = etuple("add", etuple("dot", "A", "x"), etuple("dot", "A", inner))
    assert same(run(0, q, distributes(whole, q)), parts)
    assert same(run(0, q, distributes(q, parts)), whole)


def test_the_operator_of_a_known_graph():
    head = var()
    x, y = etuple("in", "x"), etuple("in", "y")
    assert "add" in run(0, head, eq_aco(etuple("add", x, y), etuple(head, x, y)))
    assert run(0, head, eq_aco(etuple("add", x, y), "x")) == ()


def test_laws_of_the_call_instead_of_facts():
    """The same questions with the laws given as a theory, for heads that no fact names."""
    theory = Theory({"plus": Laws(associative=True, commutative=True)})
    x, y = var(), var()
    for question in BOTH:
        renamed = [_renamed(t) for t in question[:2]]
        variables: dict[Hole, Any] = {X: x, Y: y}
        u, v = (written(t, variables, tuple) for t in renamed)
        by_theory = {canon(_back(read(t)), THEORY) for t in run(0, (x, y), eq_aco(u, v, theory))}
        u, v = (written(t, variables, tuple) for t in question[:2])
        by_facts = {canon(_back(read(t)), THEORY) for t in run(0, (x, y), eq_aco(u, v))}
        if "mul" not in repr(question):
            assert len(by_theory) == len(by_facts)
            assert {t for t in by_theory if not _open(t)} == {t for t in by_facts if not _open(t)}


def _renamed(t: Any) -> Any:
    if isinstance(t, tuple):
        return tuple(map(_renamed, t))
    return "plus" if t in ("ac", "add") else t


def _back(t: Any) -> Any:
    if isinstance(t, tuple):
        return tuple(map(_back, t))
    return "ac" if t in ("plus", "add") else t


def _open(t: Any) -> bool:
    return any(map(_open, t)) if isinstance(t, tuple) else isinstance(t, Hole)
