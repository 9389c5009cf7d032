"""The contract: every question is asked of ops, by attribute, has a default, is documented; every op answers it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relgrad as rg
from relgrad.bounds import told
from relgrad.contract import Contract, Laws
from relgrad.errors import OpError
from relgrad.leaf import Input
from relgrad.logic.laws import known_ops
from relgrad.op import Op, as_term
from relgrad.ops.elementwise import Elementwise
from relgrad.term import term
from relgrad.types import POSITIVE, REAL, Interval, array_type

ROOT = Path(__file__).resolve().parent.parent
QUESTIONS = {name: answer for name, answer in vars(Contract).items() if not name.startswith("_")}
KINDS: dict[str, Any] = {
    "default_output": (int, type(None)),
    "arity": (int, type(None)),
    "laws": Laws,
    "imports": tuple,
    "destroy_map": Mapping,
    "view_map": (Mapping, type(None)),
    "distance": (tuple, type(None)),
    "n_outputs": int,
    "range": (Interval, Callable),
    "finite": (bool, Callable),
    "divisors": tuple,
    "signs": tuple,
    "rough": (tuple, Callable),
    "out_of_range": str,
    "cancels": str,
    "word": str,
    "complement": (Callable, type(None)),
    "alone": bool,
    "from_one": (Callable, type(None)),
    "reflected": (Callable, type(None)),
    "one_part": (Callable, type(None)),
    "in_entries": (Callable, type(None)),
    "times": (int, object),
    "as_sum": tuple,
    "connected": (tuple, type(None)),
    "as_product": (tuple, type(None)),
    "negation": (Op, type(None)),
    "mirrored": (Op, type(None)),
    "solutions": (Callable, type(None)),
    "margin": (Callable, type(None)),
}
CHOICES = {
    "out_of_range": {"returns", "stays", "absorbed"},
    "cancels": {"", "difference", "sum", "zeros", "centre", "rows", "turns"},
}


def asked() -> set[str]:
    """Return the attributes that the package reads of anything."""
    found = set()
    for path in (ROOT / "relgrad").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                found.add(node.attr)
    return found


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_op_answers_every_question(question):
    kind = KINDS.get(question, Callable if callable(QUESTIONS[question]) else bool)
    for op in (*known_ops(), Op()):
        answer = getattr(op, question)
        assert isinstance(answer, kind), op
        assert question not in CHOICES or answer in CHOICES[question], op


def test_every_question_is_asked():
    assert set(QUESTIONS) <= asked()


def test_every_question_is_documented():
    text = (ROOT / "docs" / "ops.md").read_text()
    assert [q for q in QUESTIONS if f"`{q}`" not in text and f"`{q}(" not in text] == []


def test_what_nobody_asks_is_refused():
    with pytest.raises(OpError, match="nobody asks"):
        Elementwise("twice", lambda x: 2 * x, lambda g, out, x: 2 * g, doubles=True)


@pytest.mark.parametrize("op", [op for op in known_ops() if op.arity in (1, 2)], ids=str)
def test_answers_of_ranges_are_of_as_many_as_there_are_operands(op):
    for r in (REAL, POSITIVE, Interval(-2.0, 0.0)):
        ranges = [r] * op.arity
        finite, rough = (a(*ranges) if callable(a) else a for a in (op.finite, op.rough))
        assert finite in (True, False)
        assert all(0 <= i < op.arity for i in (*rough, *op.divisors, *op.signs))
    assert not op.as_sum or len(op.as_sum) == op.arity
    assert op.as_product is None or len(op.as_product[1]) == op.arity


@pytest.mark.parametrize("op", [op for op in known_ops() if op.as_sum or op.as_product], ids=str)
def test_theories_read_ops_as_they_are(op):
    x = [np.array([0.3, 1.7, 2.5]) * (i + 1) for i in range(op.arity)]
    if op.as_sum:
        assert np.allclose(op(*x), sum(c * y for c, y in zip(op.as_sum, x, strict=True)))
    if op.as_product:
        coefficient, exponents = op.as_product
        assert np.allclose(
            op(*x), coefficient * np.prod([y ** float(e) for y, e in zip(x, exponents, strict=True)], axis=0)
        )


@pytest.mark.parametrize("op", [op for op in known_ops() if op.negation is not None], ids=str)
def test_comparisons_know_their_opposites(op):
    x, y = np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 2.0])
    assert (op.negation(x, y) == ~op(x, y)).all()
    assert (op.mirrored(y, x) == op(x, y)).all()
    if op.solutions is not None:
        assert [holds(op.solutions(2.0), v) for v in x] == list(op(x, y))


def holds(where: Interval, x: float) -> bool:
    above = x > where.low or (x == where.low and not where.open_low)
    return above and (x < where.high or (x == where.high and not where.open_high))


class Ratio(rg.Op):
    """x/y, of a user who knows what NumPy does not tell."""

    __props__ = ()
    elementwise = True
    as_product = 1, (1, -1)
    word = "ratio"

    def make_node(self, x, y):
        return rg.apply(self, [x, y], [x.type])

    def compute(self, x, y):
        return x / y

    def L_op(self, inputs, outputs, output_gradients):
        (x, y), (g,) = inputs, output_gradients
        return [g / y, -g * x / (y * y)]


def test_what_an_op_of_a_user_says_is_heard():
    ratio = Ratio()
    z = np.array([1000.0, 0.0, 3.0])
    softmax = rg.stabilize(lambda z: ratio(np.exp(z), np.broadcast_to(np.sum(np.exp(z)), (3,))))
    assert np.allclose(softmax(z), [1.0, 0.0, 0.0])
    assert rg.match(lambda a, b: a / b, lambda x, y: ratio(x, y)) is not None


class Root(rg.Op):
    """√x, without a derivative at 0; finite where x is not negative."""

    __props__ = ()
    elementwise = True
    grows = False
    finite = staticmethod(lambda x: x.nonnegative)
    rough = (0,)

    def make_node(self, x):
        return rg.apply(self, [x], [x.type])

    def compute(self, x):
        return np.sqrt(x)


def test_an_answer_may_be_a_function_of_ranges():
    x = term(Input("x", array_type(float, (3,))))
    root = Root()
    assert not told(root.finite, root(x))
    assert told(root.finite, root(as_term(np.array([1.0, 2.0, 3.0]))))
