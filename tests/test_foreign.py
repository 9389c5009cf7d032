"""What is computed of arrays from outside is written into as NumPy does; the arrays themselves are not."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relgrad as rg
from relgrad.errors import TraceError

G = np.arange(9.0).reshape(3, 3)
V = np.array([0.5, -1.0, 2.0])
ROWS = np.array([2, 0])
LOG: list[int] = []
BYTES = bytearray(24)
COUNT = 0


class Model:
    """Data in an attribute."""

    def __init__(self) -> None:
        self.data = np.ones(3)


MODEL = Model()
KEPT = {"weights": np.array([[1.0, -2.0, 0.5]])}


class Layer:
    """Weights in an attribute, whose methods are NumPy's."""

    def __init__(self, n: int, m: int) -> None:
        self.weights = np.linspace(-1, 1, n * m).reshape(m, n)

    def forward(self, x: Any) -> Any:
        return np.tanh(self.weights.dot(x))


class Net:
    """Layers in a list."""

    def __init__(self) -> None:
        self.layers = [Layer(3, 4), Layer(4, 2)]

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer.forward(x)
        return np.sum(x)


NET = Net()


def halved(a: np.ndarray) -> np.ndarray:
    a = a.copy()
    a[0] = 0.5
    return a / 2


def diffusion(k: Any, steps: int = 3) -> Any:
    u = V.copy()
    for _ in range(steps):
        u[1:-1] += k * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def chosen(x: Any) -> Any:
    w = G.copy()
    if G[0, 1] > 0.5:
        w[ROWS] = x
    for i in range(int(G[1, 0])):
        w[i] += x
    return w


def closed_over() -> Callable[..., Any]:
    c = np.arange(4.0)
    return lambda x: _at_start(c * 2, x)


def _at_start(w: Any, x: Any) -> Any:
    w[0] = x
    return w


NEW: dict[str, Callable[..., Any]] = {
    "a copy": lambda x: _at_start(G.copy(), x),
    "a copy by NumPy": lambda x: _at_start(np.copy(V), x),
    "a copy of an attribute": lambda x: _at_start(np.copy(MODEL.data), x),
    "another dtype": lambda x: _at_start(V.astype(np.float32), x),
    "whole numbers, which are rounded to": lambda x: _at_start(np.arange(3) * 2, x),
    "arithmetic": lambda x: _at_start(2 * V - 1, x),
    "a comparison": lambda x: _at_start((V > 0) * 1.0, x),
    "a product": lambda x: _at_start(G @ V, x),
    "a mean": lambda x: _at_start(G.mean(axis=0), x),
    "a function": lambda x: _at_start(np.tanh(G), x),
    "a diagonal of numbers": lambda x: _at_start(np.diag([1.0, 2.0]), x),
    "a tile": lambda x: _at_start(np.tile(V, 2), x),
    "a grid": lambda x: _at_start(np.meshgrid(V, V)[0], x),
    "an inverse": lambda x: _at_start(np.linalg.inv(G + 9 * np.eye(3)), x),
    "the result of a helper": lambda x: _at_start(halved(V), x),
    "an array in a cell": closed_over(),
    "a scheme": diffusion,
    "what values of it decide": chosen,
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NEW)
def test_what_is_computed_of_arrays_from_outside_is_written_into(name: str) -> None:
    f = NEW[name]
    before = G.copy(), V.copy()
    for made in (rg.stabilize(f), rg.stabilize(f, strategy="naive")):
        for x in (2.75, -1.5):
            got, want = made(x), f(x)
            np.testing.assert_allclose(got, want, rtol=1e-14)
            assert got.dtype == want.dtype
    if f(1.5).dtype == np.float64 and name != "whole numbers, which are rounded to":
        slope = (np.sum(f(1.5 + 1e-6)) - np.sum(f(1.5 - 1e-6))) / 2e-6
        np.testing.assert_allclose(rg.grad(lambda x: np.sum(f(x)))(1.5), slope, rtol=1e-8, atol=1e-9)
    for a, b in zip((G, V), before, strict=True):
        np.testing.assert_array_equal(a, b)


def written(x: Any, w: Any = np.zeros(3)) -> Any:  # noqa: B008 - the array is made once
    w[0] = x
    return w


OLD: dict[str, Callable[..., Any]] = {
    "the array": lambda x: _at_start(G, x),
    "a row": lambda x: _at_start(G[0], x),
    "the same by another name": lambda x: _at_start(np.asarray(V), x),
    "a view": lambda x: _at_start(np.ravel(G), x),
    "one with more axes": lambda x: _at_start(np.atleast_2d(V), x),
    "an attribute": lambda x: _at_start(np.asarray(MODEL.data), x),
    "a view of an attribute": lambda x: _at_start(np.ravel(MODEL.data), x),
    "memory that is no array's": lambda x: _at_start(np.frombuffer(BYTES), x),
    "a default": lambda x: written(x),
}


@pytest.mark.parametrize("name", OLD)
def test_arrays_from_outside_are_not_written_into(name: str) -> None:
    with pytest.raises(TraceError, match=r"np\.array\(a\)"):
        rg.stabilize(OLD[name])(2.5)
    assert G[0, 0] == 0 and V[0] == 0.5 and MODEL.data[0] == 1 and not any(BYTES)
    default = inspect.signature(written).parameters["w"].default
    np.testing.assert_array_equal(default, np.zeros(3))


def test_arrays_from_outside_are_looked_at_at_each_call() -> None:
    data = np.array([1.0, 2.0])
    f = rg.stabilize(lambda x: _at_start(data * 2, x))
    np.testing.assert_array_equal(f(7.0), [7.0, 4.0])
    data[1] = 5.0
    np.testing.assert_array_equal(f(7.0), [7.0, 10.0])


def test_what_a_function_does_besides_is_done_once_or_refused() -> None:
    def after(x: Any) -> Any:
        w = _at_start(G.copy(), x)
        LOG.append(1)
        return w

    def before(x: Any) -> Any:
        LOG.append(1)
        return _at_start(G.copy(), x)

    def counts(x: Any) -> Any:
        global COUNT
        w = _at_start(G.copy(), x)
        COUNT += 1
        return w

    LOG.clear()
    assert rg.stabilize(after)(2.5)[0, 0] == 2.5 and LOG == [1]
    for f in (before, counts):
        LOG.clear()
        with pytest.raises(TraceError, match="cannot be written into an ndarray"):
            rg.stabilize(f)(2.5)
        assert len(LOG) <= 1 and COUNT == 0


METHODS: dict[str, Callable[..., Any]] = {
    "a global": lambda x: np.sum(G.dot(x) ** 2),
    "a cell": (lambda c: lambda x: np.sum(c.dot(x) ** 2))(np.ones((2, 3))),
    "an attribute": lambda x: MODEL.data.dot(x) ** 3,
    "a bound method": lambda x: np.sum(NET.layers[0].forward(x)),
    "a container": lambda x: KEPT["weights"].dot(x)[0],
    "objects in a list": lambda x: NET(x),
    "a callable object": NET,
    "bounds": lambda x: np.sum(G.clip(x[1], 4.5 * x[2]) ** 2),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_of_arrays_from_outside_take_what_is_traced(name: str) -> None:
    f, x, d = METHODS[name], np.array([0.5, -0.25, 1.0]), np.array([1.0, 2.0, -1.0])
    np.testing.assert_allclose(rg.stabilize(f)(x), f(x), rtol=1e-14)
    slope = (f(x + 1e-5 * d) - f(x - 1e-5 * d)) / 2e-5
    np.testing.assert_allclose(rg.grad(f)(x) @ d, slope, rtol=1e-8)


def test_arrays_whose_methods_are_called_are_looked_at_at_each_call() -> None:
    net, x = Net(), np.array([0.5, -0.25, 1.0])
    f = rg.stabilize(net)
    before = f(x)
    net.layers[0].weights[0] = 3.0
    np.testing.assert_allclose(f(x), net(x), rtol=1e-14)
    assert f(x) != before
    net.layers.append(Layer(2, 2))
    np.testing.assert_allclose(f(x), net(x), rtol=1e-14)


def test_objects_that_change_on_the_way_are_no_copies() -> None:
    class Counting(Net):
        count = 0

        def __call__(self, x: Any) -> Any:
            y = super().__call__(x)
            self.count += 1
            return y

    net = Counting()
    with pytest.raises(TraceError, match=r"weights\.dot"):
        rg.stabilize(net)(np.ones(3))
    assert net.count == 0


def test_functions_that_have_run_often_are_read_as_others() -> None:
    """Python changes the instructions of what runs often."""
    f, x = (lambda w: np.sum(NET.layers[0].weights.dot(w))), np.ones(3)
    for _ in range(100):
        f(x)
    np.testing.assert_allclose(rg.stabilize(f)(x), f(x), rtol=1e-14)
