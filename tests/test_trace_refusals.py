"""What cannot be traced is refused with the construct, the user's line, the cause and the cure."""

from __future__ import annotations

import inspect
import math
import os
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse
import scipy.special

from relgrad.api import symbol
from relgrad.errors import RelationError, TraceError
from relgrad.implementations import IMPLEMENTATIONS
from relgrad.leaf import Input
from relgrad.term import Unknown, term
from relgrad.trace import cures
from relgrad.trace.dispatch import QUERIES
from relgrad.trace.trace import trace
from relgrad.trace.tracer import Tracer
from relgrad.types import array_type

X = np.array([0.5, -1.25, 2.0])
MASK = np.array([True, False, True])


def refused(fun, *args) -> TraceError:
    """Return the error of a function that cannot be traced."""
    return checked(fun, lambda: trace(fun, args or (X,)))


def unanswered(fun) -> TraceError:
    """Return the error of a function of a symbol, which has no value by which a question could be decided."""
    return checked(fun, lambda: fun(symbol("x", 3)))


def checked(fun, call) -> TraceError:
    with pytest.raises(TraceError) as error:
        call()
    assert isinstance(error.value, TypeError)
    assert error.value.cause
    assert error.value.cure
    file, _, line = error.value.where.rpartition(":")
    assert file == __file__
    source, first = inspect.getsourcelines(fun)
    assert first <= int(line) < first + len(source)
    return error.value


# Truth


def if_(x):
    if x[0] > 0:
        return x
    return -x


def elif_(x):
    if x.ndim == 2:
        return x
    elif np.all(x > 0):  # noqa: RET505 - it is elif that is tested
        return -x
    return x


def while_(x):
    while np.max(x) > 1:
        x = x / 2
    return x


def assert_(x):
    assert (x > 0).all(), "positive"
    return x


def and_(x):
    if x[0] > 0 and x[1] > 0:
        return x
    return -x


def chain(x):
    return 0 < x[0] < 1


@pytest.mark.parametrize(
    ("fun", "what", "cure"),
    [
        (if_, "a Python `if` depends on a traced array: `x[0] > 0`", "np.where"),
        (elif_, "a Python `if` depends on a traced array: `np.all(x > 0)`", "x.shape, len(x)"),
        (while_, "a Python `while` depends on a traced array: `np.max(x) > 1`", "for _ in range(n)"),
        (
            assert_,
            "an `assert` depends on a traced array: `(x > 0).all()`",
            "before the call",
        ),
        (and_, "`and` or `or` depends on a traced array: `x[0] > 0`", "np.logical_and"),
        (chain, "a chained comparison depends on a traced array: `0 < x[0] < 1`", "(a < x) & (x < b)"),
        (
            lambda x: x if x[0] > 0 else -x,
            "a conditional expression `a if condition else b` depends on a traced array: `x[0] > 0`",
            "np.where(condition, a, b)",
        ),
        (
            lambda x: [v for v in x if v > 0],
            "the condition of a comprehension depends on a traced array: `v > 0`",
            "np.where",
        ),
        (lambda x: not x[0], "`not` depends on a traced array: `not x[0]`", "np.logical_not"),
        (lambda x: 1.0 in x, "`in` depends on a traced array: `1.0 in x`", "np.any(x == value)"),
        (
            lambda x: x in [1.0, 2.0],
            "`in` depends on a traced array: `x in [1.0, 2.0]`",
            "np.any(x == value)",
        ),
        (lambda x: max(x[0], 0), "max(...) depends on a traced array: `max(x[0], 0)`", "np.maximum(a, b)"),
        (lambda x: min(*x), "min(...) depends on a traced array: `min(*x)`", "np.minimum(a, b)"),
        (lambda x: any(x > 0), "any(...) depends on a traced array: `any(x > 0)`", "np.any(x)"),
        (lambda x: sorted(x), "sorted(...) depends on a traced array: `sorted(x)`", "np.sort(x)"),
        (lambda x: bool(x[0]), "bool(...) depends on a traced array: `bool(x[0])`", "x != 0"),
    ],
)
def test_truth(fun, what, cure):
    error = unanswered(fun)
    assert error.what == what
    assert cure in error.cure
    assert "no values yet" in error.cause


# Numbers


@pytest.mark.parametrize(
    ("fun", "what", "cure"),
    [
        (lambda x: float(x[0]), "a Python float: `float(x[0])`", "leave float(...) out"),
        (lambda x: int(x[0]), "a Python int: `int(x[0])`", "np.floor(x)"),
        (lambda x: complex(x[0]), "a Python complex: `complex(x[0])`", "real numbers"),
        (
            lambda x: math.exp(x[0]),
            "a Python float: `math.exp(x[0])`",
            "np.exp(...) instead of math.exp(...)",
        ),
        (lambda x: math.lgamma(x[0]), "a Python float: `math.lgamma(x[0])`", "scipy.special.gammaln(...)"),
        (lambda x: math.floor(x[0]), "a Python int: `math.floor(x[0])`", "np.floor(...)"),
        (lambda x: list(range(x[0])), "an index: `range(x[0])`", "close over it"),
        (lambda x: [1, 2][x[0]], "an index: `[1, 2][x[0]]`", "np.take(array, index)"),
    ],
)
def test_numbers(fun, what, cure):
    error = unanswered(fun)
    assert error.what == f"a traced array cannot become {what}"
    assert cure in error.cure


def test_the_text_of_a_value_does_not_become_a_number():
    error = refused(lambda x: x * float(f"{x[0]:.3f}"))
    assert error.what == 'a traced array cannot become a Python float: `float(f"{x[0]:.3f}")`'
    with pytest.raises(TraceError, match="a traced array cannot become a Python str"):
        f"{symbol('x', ()):.3f}"


@pytest.mark.parametrize("convert", [float, complex, np.random.normal])
def test_what_would_be_lost(convert):
    """Conversions that derivatives do not pass are refused though their values are known."""
    assert "derivatives" in refused(lambda x: convert(x[0])).cause


# Arrays

OUTER = np.zeros(3)


def writes_entry(x):
    a = OUTER
    a[0] = x[0]
    return a


def writes_slice(x):
    a = OUTER
    a[1:] = x[1:]
    return a


def adds_in_place(x):
    a = OUTER
    a += x
    return a


def writes_into_tracer(x):
    x[0] = 1.0
    return x


def adds_into_tracer(x):
    x[0] += 1.0
    return x


def writes_into_protected(x):
    y = np.broadcast_to(x * 2, (2, 3))
    y[0] = 1
    return y


def deletes(x):
    del x[0]
    return x


@pytest.mark.parametrize(
    ("fun", "what", "cure"),
    [
        (lambda x: X[x], "become an ndarray: `X[x]`", "np.take"),
        (lambda x: np.random.normal(x), "become an ndarray: `np.random.normal(x)`", "standard_normal"),
        (writes_entry, "be written into an ndarray: `a[0] = ...`", "np.array(a)"),
        (writes_slice, "be written into an ndarray: `a[1:] = ...`", "np.concatenate"),
        (writes_into_tracer, "be changed in place: `x[0] = ...`", "x = x.copy()"),
        (adds_into_tracer, "be changed in place: `x[0] = ...`", "x = x.copy()"),
        (lambda x: x.__iadd__(1), "be changed in place: `x.__iadd__(1)`", "x = x + y"),
        (lambda x: np.exp(x, out=x), "be changed in place: `np.exp(x, out=x)`", "x = x.copy()"),
        (writes_into_protected, "be changed in place: `y[0] = ...`", "x = x.copy()"),
        (deletes, "be changed in place: `del x[0]`", "np.concatenate([x[:i], x[i + 1 :]])"),
        (lambda x: {x: 1}, "be hashed: `{x: 1}`", "functools"),
    ],
)
def test_arrays(fun, what, cure):
    error = refused(fun)
    assert error.what == f"a traced array cannot {what}"
    assert cure in error.cure + error.cause


@pytest.mark.parametrize(
    ("fun", "what", "cure"),
    [
        (lambda x: np.asarray(x), "`np.asarray(x)`", "leave it out"),
        (lambda x: np.array(x, float), "`np.array(x, float)`", "x.astype(dtype)"),
        (lambda x: np.array([x[0], x[1]]), "`np.array([x[0], x[1]])`", "np.stack([a, b])"),
        (lambda x: np.array([[x[0], 1.0]]), "`np.array([[x[0], 1.0]])`", "np.stack each row"),
        (lambda x: np.mean([x[0], x[1]]), "`np.mean([x[0], x[1]])`", "np.stack([a, b])"),
        (lambda x: np.dot(x, [x[0]] * 3), "`np.dot(x, [x[0]] * 3)`", "np.stack([a, b])"),
        (lambda x: np.full(3, x[0]), "`np.full(3, x[0])`", "np.broadcast_to"),
        (lambda x: np.vectorize(abs)(x), "`np.vectorize(abs)(x)`", "whole array"),
        (lambda x: scipy.special.logsumexp(x), "`scipy.special.logsumexp(x)`", "relgrad.logsumexp"),
        (lambda x: scipy.special.softmax(x), "`scipy.special.softmax(x)`", "relgrad.softmax"),
    ],
)
def test_arrays_of_symbols(fun, what, cure):
    """Outside of a trace NumPy's own makers of arrays ask a symbol for its values."""
    error = unanswered(fun)
    assert error.what == f"a traced array cannot become an ndarray: {what}"
    assert cure in error.cure


def test_hash_names_memoisation():
    import functools

    @functools.cache
    def memoised(v):
        return v

    assert "functools.cache" in refused(lambda x: memoised(x)).cause
    assert trace(lambda x: memoised(x) * 2, (1.5,)).decisions


def test_outputs():
    error = refused(adds_in_place)
    assert error.what == "a traced result cannot be written into an ndarray: `a += x`"
    assert error.cure.startswith("write a = a + x")
    error = refused(lambda x: np.exp(x, out=OUTER))
    assert error.what == "a traced result cannot be written into an ndarray: `np.exp(x, out=OUTER)`"
    assert "out=" in error.cure


# Calls


@pytest.mark.parametrize(
    ("fun", "what", "cure"),
    [
        (lambda x: np.fft.fft(x), "np.fft.fft cannot be traced", "np.cos"),
        (lambda x: np.linalg.eig(x * np.eye(3)), "np.linalg.eig cannot be traced", "np.linalg.eigh"),
        (lambda x: scipy.special.wrightomega(x), "scipy.special.wrightomega cannot be traced", "relgrad.Op"),
        (lambda x: np.copyto(OUTER, x), "np.copyto cannot be traced", "np.zeros_like(x)"),
        (
            lambda x: np.add.at(OUTER, [0], x[0]),
            "a traced array cannot be changed in place: `np.add.at(OUTER, [0], x[0])`",
            "np.array(y)",
        ),
        (lambda x: np.power.reduce(x), "np.power.reduce cannot be traced", "write a loop"),
        (lambda x: np.arctan2.reduce(x), "np.arctan2.reduce cannot be traced", "write a loop"),
        (lambda x: np.add(x, 1, where=MASK), "np.add cannot be traced with where=", "np.where"),
        (lambda x: x.sort(), "a traced array cannot be changed in place: `x.sort()`", "x = x.copy()"),
        (lambda x: x.fill(0), "a traced array cannot be changed in place: `x.fill(0)`", "x = x.copy()"),
        (lambda x: x.byteswap(), "the array method .byteswap() cannot be traced", "x.astype(dtype)"),
        (lambda x: x.strides, "a traced array has no .strides", "leave it out"),
        (lambda x: len(x[0]), "an array of rank 0 has no length", "np.atleast_1d"),
        (lambda x: list(x[0]), "an array of rank 0 has no length", "np.atleast_1d"),
        (lambda x: x + 1j, "a complex cannot be combined with a traced array", "imaginary parts"),
        (lambda x: x == None, "a NoneType cannot be combined with a traced array", "x is None"),  # noqa: E711
        (lambda x: x + "a", "a str cannot be combined with a traced array", "numbers"),
        (lambda x: x + np.ma.array(X), "a MaskedArray cannot be combined with a traced array", "np.where"),
        (
            lambda x: np.dot(np.ma.array(X), x),
            "a MaskedArray cannot be combined with a traced array",
            "np.where",
        ),
        (
            lambda x: x @ scipy.sparse.eye_array(3),
            "a dia_array cannot be combined with a traced array",
            "toarray()",
        ),
    ],
)
def test_calls(fun, what, cure):
    error = refused(fun)
    assert error.what == what
    assert cure in error.cure


def test_options_that_a_builder_does_not_know(monkeypatch):
    error = refused(lambda x: np.sum(x, out=np.zeros((), np.float32)))
    assert error.what.startswith("np.sum cannot be traced with")
    assert "out" in error.what
    monkeypatch.setitem(IMPLEMENTATIONS, np.packbits, lambda a: a)
    error = refused(lambda x: np.packbits(x > 0, bitorder="little"))
    assert (
        error.what
        == "np.packbits cannot be traced with these arguments: got an unexpected keyword argument 'bitorder'"
    )


def test_unknown_attributes_stay_attribute_errors():
    x = Tracer(term(Input("x", array_type(float, (3,)))))
    assert not hasattr(x, "values")
    assert not hasattr(x, "__dlpack__")
    assert not hasattr(x, "__array_interface__")


def test_unknown_extents():
    x = Tracer(term(Input("x", array_type(float, (None, 3)))))
    assert x.shape == (None, 3)
    for use in (len, list, lambda x: x.size, lambda x: x.nbytes):
        with pytest.raises(TraceError, match="not known"):
            use(x)
    assert repr(x) == "Tracer(x, float64, (?, 3))"


def test_logic_variables_have_no_shape():
    class Variable(Unknown):
        def __repr__(self):
            return "~v"

    v = Tracer(Variable())
    assert repr(v) == "Tracer(~v)"
    pattern = np.exp(v)
    assert isinstance(pattern, Tracer)
    for x in (v, pattern):
        for attribute in ("shape", "ndim", "dtype", "size"):
            with pytest.raises(RelationError, match="no shape, rank or dtype") as error:
                getattr(x, attribute)
            assert "make the axis a parameter" in error.value.cure
            assert error.value.where.startswith(__file__)


def test_without_source_the_line_and_the_cure_remain():
    names: dict = {}
    exec(compile("def f(x):\n    if x[0] > 0:\n        return x", "<nowhere>", "exec"), names)
    with pytest.raises(TraceError) as error:
        names["f"](symbol("x", 3))
    assert error.value.where == "<nowhere>:2"
    assert error.value.what == "the truth value of a traced array depends on a traced array"
    assert "np.where" in error.value.cure


def test_a_numpy_error_that_hides_the_cause_is_taken_off():
    held = [np.fromiter]

    def program(x):
        return held[0]((v for v in x), float)

    with pytest.raises(TraceError, match="cannot become a Python float"):
        trace(program, (X,))


@pytest.mark.parametrize(
    "fun", [np.ndarray.sum, lambda x: np.ndarray.__add__(x, 1), lambda x: next(x.flat), memoryview]
)
def test_what_takes_arrays_of_numpys_own_is_refused_with_a_cure(fun):
    with pytest.raises(TraceError, match=r"'(Tracer|Flat)'") as error:
        trace(fun, (X,))
    assert error.value.cure


def test_the_message_in_full():
    try:
        if_(symbol("x", 3))
    except TraceError as error:
        line = inspect.getsourcelines(if_)[1] + 1
        assert str(error).splitlines() == [
            "a Python `if` depends on a traced array: `x[0] > 0`",
            f"  where: {__file__}:{line}",
            "  cause: while a function is traced its arrays have a shape and a dtype, but no values yet,"
            " so they are neither true nor false",
            "  cure:  choose with np.where(condition, a, b), np.maximum, np.minimum or np.clip; or branch on"
            " what is static, such as x.shape, len(x), or a Python value of the closure",
        ]


def test_cures_name_only_what_can_be_traced():
    texts = [
        cure for _, cure in (*cures.METHODS.values(), *cures.ATTRIBUTES.values(), *cures.FUNCTIONS.values())
    ]
    texts += [cure for _, cure in cures.CONDITIONS.values()]
    texts += [*cures.CALLS.values(), *cures.MATH.values(), cures.STACK, cures.WRITE, cures.ORDER]
    named = {name for text in texts for name in re.findall(r"np\.([a-z][\w.]*\w)", text)}
    assert len(named) > 20
    plain = {"eye", "ones", "zeros", "array", "asarray", "float64", "float32", "timedelta64", "ndenumerate"}
    for name in named - plain:
        function = np
        for part in name.split("."):
            function = getattr(function, part)
        assert function in IMPLEMENTATIONS or function in QUERIES, name


def test_scipy_in_array_api_mode():
    code = """
        import numpy as np, scipy.special
        from relgrad.interpret import interpret
        from relgrad.trace.trace import trace
        x = np.array([[1.0, 2.0, 30.0], [3.0, 4.0, 5.0]])
        for f in (
            lambda x: scipy.special.softmax(x, axis=1),
            lambda x: scipy.special.logsumexp(x, axis=1),  # writes into a copy
            scipy.special.erf,
            scipy.special.expit,
        ):
            traced = trace(f, (x,))
            (got,) = interpret(traced.outputs, {traced.inputs[0]: x})
            np.testing.assert_allclose(got, f(x), rtol=1e-14)
    """
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
