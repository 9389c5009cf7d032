"""Ball arithmetic: every op has it and agrees with NumPy; precision grows as needed; what is unknown is said so."""

from __future__ import annotations

import importlib
import math
import pkgutil
import subprocess
import sys
from typing import Any

import numpy as np
import op_table
import pytest

import relgrad as rg
import relgrad.ops
from relgrad.accuracy.bits import bits_of_error
from relgrad.accuracy.limit import limits
from relgrad.accuracy.restricted import Restricted
from relgrad.balls.graph import Enclosure, enclose, is_settled, nearest
from relgrad.compile.guards import Test
from relgrad.contract import Contract
from relgrad.definedness.tests import Anywhere, HoldsNaN
from relgrad.differentiate import pull_along
from relgrad.gradient import Anchor, Gradient, Pushforward
from relgrad.interpret import interpret
from relgrad.leaf import Input, Known
from relgrad.ops.elementwise import Elementwise
from relgrad.ops.failing import Fails
from relgrad.schedule import schedule
from relgrad.schedule.strategy import NAIVE
from relgrad.trace.containers import flatten
from relgrad.trace.trace import trace

flint = pytest.importorskip("flint")

ON_INTEGERS = {
    *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_count", "invert", "left_shift", "right_shift"),
    *("gcd", "lcm"),
}
"""Ops whose operands are integers: they are computed as they are."""
ABOUT_FLOATS = {"nextafter", "spacing"}
NO_ARRAYS = {Anchor, Gradient, Pushforward, Input, Known, Restricted, Anywhere, HoldsNaN, Fails, Test}
"""What is no array, is replaced before anything is evaluated, or asks for NaN or for lost digits."""


def subclasses(kind: type) -> set[type]:
    direct = set(kind.__subclasses__())
    return direct.union(*map(subclasses, direct))


def test_every_op_has_balls():
    for module in pkgutil.iter_modules(relgrad.ops.__path__):
        importlib.import_module(f"relgrad.ops.{module.name}")
    own = {k for k in subclasses(rg.Op) if k.__module__.startswith("relgrad.") and k not in NO_ARRAYS}
    abstract = {k for k in own if k.__name__.startswith("_") or subclasses(k)}
    assert {k.__name__ for k in own - abstract if k.ball is Contract.ball} == set()
    modules = [m for name, m in sys.modules.items() if name.startswith("relgrad.ops.")]
    rows = {op for m in modules for op in vars(m).values() if isinstance(op, Elementwise)}
    lacking = {op.label for op in rows if type(op).ball is Elementwise.ball and op.scalar_ball is None}
    assert lacking == ON_INTEGERS | ABOUT_FLOATS


def roots_of(f: Any, args: Any) -> list[tuple[Any, Any]]:
    """Return the graphs of a function, and of the gradient of a smooth function of its outputs, with values."""
    value = trace(f, args)
    found = [(value.outputs, dict(zip(value.inputs, args, strict=True)))]

    def pull(*args: Any) -> Any:
        cost = lambda *xs: sum(np.sum(np.cos(1.0 * out)) for out in flatten(f(*xs))[0])
        return pull_along(cost, args, 1.0)

    gradient = trace(pull, args)
    after = schedule(gradient.outputs, rg.LIBRARY, NAIVE).after
    return [*found, (after, dict(zip(gradient.inputs, args, strict=True)))]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", op_table.ROWS)
def test_balls_of_values_and_gradients_agree_with_numpy(name):
    f, *args = op_table.ROWS[name]
    for roots, values in roots_of(f, args):
        for got, truth in zip(interpret(roots, values), enclose(roots, values), strict=True):
            assert truth.settled.all()
            np.testing.assert_allclose(np.asarray(got, float), truth.middle, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", op_table.NOT_A_FUNCTION_OF_THE_REALS)
def test_what_is_no_function_of_the_reals_is_refused(name):
    f, *args = op_table.NOT_A_FUNCTION_OF_THE_REALS[name]
    traced = trace(f, args)
    with pytest.raises(rg.OpError, match=r"no high-precision evaluation(?s:.*)cure"):
        enclose(traced.outputs, dict(zip(traced.inputs, args, strict=True)))


def enclosed(f: Any, x: Any, **options: Any) -> Any:
    traced = trace(f, (x,))
    (found,) = enclose(traced.outputs, {traced.inputs[0]: x}, **options)
    return found


@pytest.mark.parametrize("x", [1.0, 40.0, 300.0, 700.0])
def test_precision_grows_until_the_digits_are_there(x):
    found = enclosed(lambda x: 1 - 1 / (1 + np.exp(-x)), np.array(x))
    assert found.settled
    assert float(found.middle) == pytest.approx(1 / (1 + math.exp(x)), rel=1e-15)


def test_at_the_limit_what_is_not_known_is_said_to_be_unknown():
    x = np.array([0.5, 4000.0])
    found = enclosed(lambda x: np.log(1 - np.tanh(x)), x, limit=512)
    assert found.settled.tolist() == [True, False]
    assert np.isnan(found.middle).tolist() == [False, True]
    assert enclosed(lambda x: np.log(1 - np.tanh(x)), x, limit=1 << 14).settled.all()


def test_no_value_is_no_number():
    found = enclosed(lambda x: np.log(x), np.array([-1.0, 0.0, 1.0]))
    assert found.settled.tolist() == [False, True, True]
    assert found.middle[1] == -np.inf


def test_beyond_the_range_of_floats_values_are_known():
    found = enclosed(lambda x: np.log(np.exp(x)), np.array([-1e5, 1e5]))
    assert found.middle.tolist() == [-1e5, 1e5]
    assert enclosed(np.exp, np.array(1e5)).middle == np.inf


def test_infinities_are_values():
    found = enclosed(lambda x: np.exp(x), np.array([-np.inf, np.inf]))
    assert found.middle.tolist() == [0.0, np.inf]
    assert found.settled.all()


def test_a_term_of_a_hundred_thousand_operations():
    x = rg.symbol("x", ())
    y = x
    for _ in range(100_000):
        y = -y * 1.5 if _ < 10 else -y
    (found,) = enclose([y.term], {x.term: np.array(2.0)})
    assert found.middle == 2.0 * 1.5**10


def test_an_input_without_a_value_is_an_error():
    x = rg.symbol("x", ())
    with pytest.raises(KeyError):
        enclose([np.exp(x).term], {})


def test_limits_stand_in_where_there_is_no_value():
    x = np.array([0.0, 1.0, 1e-300])
    traced = trace(lambda x: np.sin(x) / x, (x,))
    assert not enclosed(lambda x: np.sin(x) / x, x).settled[0]
    (found,) = limits(traced.outputs, {traced.inputs[0]: x})
    np.testing.assert_allclose(found.middle, [1.0, math.sin(1.0), 1.0], rtol=1e-15)


def test_at_the_border_of_a_domain_the_inside_counts():
    x = np.array([0.0, 0.5, 0.5])
    traced = trace(lambda p: -np.sum(p * np.log(p)), (x,))
    (found,) = limits(traced.outputs, {traced.inputs[0]: x})
    assert float(found.middle) == pytest.approx(math.log(2), rel=1e-15)


@pytest.mark.parametrize("f", [lambda x: np.abs(x) / x, lambda x: 1 / x, lambda x: np.log(x)])
def test_there_is_no_limit_where_sides_differ(f):
    traced = trace(f, (np.array(0.0),))
    (found,) = limits(traced.outputs, {traced.inputs[0]: np.array(0.0)})
    assert not found.settled


@pytest.mark.parametrize(
    ("got", "truth", "bits"),
    [
        (np.float64(1.0), "1", 0),
        (np.float64(1 + 2**-52), "1", 0),
        (np.float64(1 + 2**-50), "1", 2),
        (np.float64(2.0), "1", 52),
        (np.float64(np.nan), "1", 64),
        (np.float64(np.inf), "1", 64),
        (np.float64(np.inf), "1e400", 0),
        (np.float64(-np.inf), "1e400", 64),
        (np.float64(1e308), "1e400", 64),
        (np.float64(0.0), "1e-400", 0),
        (np.float64(1e-17), "0", 64),
        (np.float32(np.nan), "1", 32),
        (np.float32(1 + 2**-21), "1", 2),
        (np.int64(3), "3", 0),
        (np.int64(3), "4", 64),
    ],
)
def test_errors_in_bits(got, truth, bits):
    ball = np.array(flint.arb(truth), dtype=object)
    found = bits_of_error(got, enclosure(ball))
    assert float(found) == pytest.approx(bits, abs=1e-6)


def enclosure(balls: Any) -> Any:
    return Enclosure(
        balls, np.frompyfunc(is_settled, 1, 1)(balls).astype(bool) if balls.ndim else np.array(True)
    )


def test_what_is_unknown_has_no_error():
    found = enclosed(np.log, np.array([-1.0, 1.0]))
    assert np.isnan(bits_of_error(np.array([np.nan, 0.0]), found)).tolist() == [True, False]


def test_balls_round_to_the_nearest_float():
    with flint.ctx.workprec(200):
        assert nearest(flint.arb(1) / 3) == 1 / 3
        assert nearest(flint.arb(10) ** 400) == np.inf
        assert np.isnan(nearest(flint.arb.nan()))


def test_without_matplotlib_the_cure_is_named():
    code = """
import sys
sys.modules["matplotlib.pyplot"] = None
import numpy as np, relgrad as rg
try:
    rg.accuracy(np.exp, 1.0).plot()
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "matplotlib is needed" in done.stdout
    assert "pip install relgrad[accuracy]" in done.stdout
