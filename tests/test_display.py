"""How terms and patterns read as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
from counting import calls
from unification import var

import relgrad.kernels
from relgrad.display.text import show
from relgrad.logic.unify import fresh
from relgrad.op import Op, constant
from relgrad.trace.trace import trace
from relgrad.trace.tracer import Tracer

X, Y, V = np.ones((2, 3)), np.ones((2, 3)), np.ones(3)


def softmax(x: Any) -> Any:
    return np.exp(x) / np.sum(np.exp(x), axis=-1, keepdims=True)


def shifted(x: Any) -> Any:
    return softmax(x - np.max(x, axis=-1, keepdims=True))


GOLDEN: list[tuple[Callable[..., Any], tuple[Any, ...], str]] = [
    (lambda x: x, (X,), "x"),
    (softmax, (X,), "exp(x) / sum(exp(x), axis=-1, keepdims)"),
    (
        shifted,
        (X,),
        "t1 / sum(t1, axis=-1, keepdims)\n  where t1 = exp(x - max(x, axis=-1, keepdims))",
    ),
    (lambda x, y: x - (y - x), (X, Y), "x - (y - x)"),
    (lambda x, y: x - y - x, (X, Y), "x - y - x"),
    (lambda x, y: (x + y) * (x - y) / (x * y), (X, Y), "(x + y) * (x - y) / (x * y)"),
    (lambda x, y: -(x + y), (X, Y), "-(x + y)"),
    (lambda x, y: np.exp(-x) * -y, (X, Y), "exp(-x) * -y"),
    (lambda x: np.sum(x, axis=-1), (X,), "sum(x, axis=-1)"),
    (lambda x: np.sum(x), (X,), "sum(x, axis=(-2, -1))"),
    (lambda x, v: x * v[:, None], (np.ones((3, 3)), V), "x * v[:, None]"),
    (lambda x: x * 0.5 + 1, (X,), "x * 0.5 + 1.0"),
    (lambda x: np.maximum(x, -1.0), (X,), "maximum(x, -1.0)"),
    (lambda v: v + np.array([1.0, 2.0, 3.0]), (V,), "v + [1.0, 2.0, 3.0]"),
    (lambda v: v + np.ones((9, 3)), (V,), "v + array(9, 3)"),
    (lambda x: np.where(x > 0, x, 0.0), (X,), "where(x > 0.0, x, 0.0)"),
    (lambda x, y: x @ y.T, (X, Y), "matmul(x, y.T)"),
    (scipy.special.expit, (X,), "expit(x)"),
    (lambda x: relgrad.kernels.logsumexp(x, axis=-1, keepdims=True), (X,), "logsumexp(x, axis=-1, keepdims)"),
]


@pytest.mark.parametrize(("fun", "args", "text"), GOLDEN, ids=[text for _, _, text in GOLDEN])
def test_terms_read_as_they_were_written(fun: Callable[..., Any], args: tuple[Any, ...], text: str) -> None:
    assert show(trace(fun, args).outputs[0]) == text


def test_several_roots_share_their_names() -> None:
    def several(x: Any) -> Any:
        long = np.exp(x - np.max(x, axis=-1, keepdims=True))
        return long, np.log(long), x

    assert show(trace(several, (X,)).outputs) == (
        "t1\nlog(t1)\nx\n  where t1 = exp(x - max(x, axis=-1, keepdims))"
    )


def test_names_that_the_program_uses_are_left_to_it() -> None:
    def uses(t1: Any) -> Any:
        long = np.exp(t1 - np.max(t1, axis=-1, keepdims=True))
        return long * np.sin(long)

    assert show(trace(uses, (X,)).outputs[0]) == (
        "t2 * sin(t2)\n  where t2 = exp(t1 - max(t1, axis=-1, keepdims))"
    )


def test_patterns_show_the_labels_of_their_variables() -> None:
    x, axis = fresh("x"), fresh("axis")
    t = Tracer(x)
    assert show((np.exp(t) / np.sum(np.exp(t), axis=axis, keepdims=True)).term) == (
        "exp(x) / sum(exp(x), axis=axis, keepdims)"
    )
    assert show(x) == "x"
    assert show(var("u")) == "u"


def test_variables_of_one_label_are_told_apart() -> None:
    first, second = Tracer(fresh("x")), Tracer(fresh("x"))
    assert show((first * second + first).term) == "x * x2 + x"


def test_an_op_shows_its_props() -> None:
    class Blur(Op):
        __props__ = ("width", "mode")

        def __init__(self, width: Any, mode: str):
            self.width, self.mode = width, mode

        def output_type(self, *types: Any) -> Any:
            return types[0]

    x = fresh("x")
    assert show(Blur((2, 3), "wrap")(x)) == "blur(x, width=(2, 3), mode='wrap')"
    assert show(Blur(fresh("w"), "wrap")(constant(np.ones(2)))) == "blur([1.0, 1.0], width=w, mode='wrap')"
    assert show(Blur(np.float64, "a b")(x)) == "blur(x, width=\"<class 'numpy.float64'>\", mode='a b')"


def test_outputs_of_an_op_with_several_are_numbered() -> None:
    traced = trace(lambda a: np.linalg.slogdet(a)[1] * 2, (np.eye(2),))
    assert show(traced.outputs[0]) == "slogdet(a)[1] * 2.0"


def chain(count: int) -> Any:
    def long(x: Any) -> Any:
        y = x
        for i in range(count):
            y = np.sin(y) if i % 3 else y * x + 1
        return y

    return trace(long, (X,)).outputs[0]


def test_deep_terms_are_cut_short() -> None:
    text = show(chain(3000), width=80, limit=20)
    assert text.split("\n")[0] == "sin(sin(sin(t1) * x + 1.0))"
    assert text.count("…") == 1
    assert max(map(len, text.split("\n"))) <= 80
    assert show(chain(3000), limit=1) == "sin(…)"


def test_showing_does_not_recurse_on_depth() -> None:
    root = chain(20_000)
    assert len(show(root)) < 20_000
    assert calls(lambda: show(root)) < 20_000  # it looks at what it shows only
    assert len(show(root, limit=10**6).split("\n")) > 1000


def test_a_shared_graph_is_shown_once() -> None:
    def doubling(x: Any) -> Any:
        for _ in range(50):
            x = np.sin(x) * 0.25 + x
        return x

    text = show(trace(doubling, (X,)).outputs[0])
    assert text.count("sin") == 50
