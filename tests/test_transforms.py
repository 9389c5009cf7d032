"""Transformations of transformations: every composition agrees with every other, and with differences."""

from __future__ import annotations

import itertools
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from differences import along, assert_close, jacobian_by_differences

import relgrad as rg

X = np.array([0.3, -0.7, 1.2])
A = np.array([[2.0, -1.0, 0.5], [0.3, 1.0, -0.4], [0.0, 0.7, 1.5]])
U, V, W = np.array([0.5, -1.0, 0.2]), np.array([1.0, 0.3, -0.6]), np.array([-0.2, 0.8, 1.1])

SCALARS: dict[str, Callable[[Any], Any]] = {
    "polynomial": lambda x: np.sum(x**4) + x[0] * x[1] * x[2],
    "exponential": lambda x: np.exp(np.sum(x * np.sin(x))),
    "log of a sum of exponentials": lambda x: np.log(np.sum(np.exp(2.0 * x))),
    "entropy": lambda x: -np.sum(np.exp(x) / np.sum(np.exp(x)) * np.log(np.exp(x) / np.sum(np.exp(x)))),
    "rational": lambda x: np.sum(x / (1.0 + x[::-1] ** 2)),
    "quadratic form": lambda x: (x @ A @ x) * np.tanh(x[1]),
    "network": lambda x: np.mean(np.log1p(np.exp(A @ np.tanh(A.T @ x)))),
    "norm": lambda x: np.linalg.norm(x) ** 3,
}


def reverse(f: Callable[..., Any], v: Any) -> Callable[..., Any]:
    return lambda x: np.sum(rg.grad(f)(x) * v)


def pulled(f: Callable[..., Any], v: Any) -> Callable[..., Any]:
    return lambda x: np.sum(rg.vjp(f, x)[1](1.0)[0] * v)


def forward(f: Callable[..., Any], v: Any) -> Callable[..., Any]:
    return lambda x: rg.jvp(f, (x,), (v,))[1]


def by_jacobian(f: Callable[..., Any], v: Any) -> Callable[..., Any]:
    return lambda x: rg.jacobian(f)(x) @ v


MODES = {"grad": reverse, "vjp": pulled, "jvp": forward, "jacobian": by_jacobian}


@pytest.mark.parametrize("name", SCALARS)
def test_first_derivatives_agree_with_differences(name: str) -> None:
    f = SCALARS[name]
    for mode in MODES.values():
        assert_close(mode(f, U)(X), along(f, (X,), (U,)))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", SCALARS)
def test_second_derivatives_agree_in_all_compositions(name: str) -> None:
    f = SCALARS[name]
    expected = along(reverse(f, U), (X,), (V,))
    for inner, outer in itertools.product(MODES.values(), repeat=2):
        assert_close(rg.stabilize(outer(inner(f, U), V))(X), expected)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", SCALARS)
def test_third_derivatives_agree_in_all_compositions_of_both_modes(name: str) -> None:
    f = SCALARS[name]
    expected = along(reverse(reverse(f, U), V), (X,), (W,))
    for modes in itertools.product((reverse, forward), repeat=3):
        g = f
        for mode, v in zip(modes, (U, V, W), strict=True):
            g = mode(g, v)
        assert_close(rg.stabilize(g)(X), expected)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", SCALARS)
def test_the_hessian_is_the_jacobian_of_the_gradient_and_symmetric(name: str) -> None:
    f = SCALARS[name]
    h = rg.hessian(f)(X)
    assert_close(rg.jacobian(rg.grad(f))(X), h, 1e-11)
    assert_close(rg.jacobian(rg.jacobian(f))(X), h, 1e-11)
    columns = [rg.jvp(rg.grad(f), (X,), (e,))[1] for e in np.eye(3)]
    assert_close(np.stack(columns, axis=-1), h, 1e-11)
    assert_close(h, h.T, 1e-11)
    assert_close(h, jacobian_by_differences(rg.grad(f), (X,)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("strategy", ["eager", "naive"])
@pytest.mark.parametrize("name", SCALARS)
def test_strategies_agree_to_second_order(name: str, strategy: str) -> None:
    f = SCALARS[name]
    assert_close(rg.grad(f, strategy=strategy)(X), rg.grad(f)(X), 1e-11)
    assert_close(rg.hessian(f, strategy=strategy)(X), rg.hessian(f)(X), 1e-11)


VECTORS: dict[str, Callable[[Any], Any]] = {
    "elementwise": lambda x: np.exp(np.sin(x)),
    "softmax": lambda x: np.exp(x) / np.sum(np.exp(x)),
    "outer": lambda x: np.outer(x, np.tanh(x)),
    "solve": lambda x: np.linalg.solve(A + np.diag(x), x),
    "indexed": lambda x: np.concatenate([x[[2, 0, 0]], np.cumsum(x)[1:], np.maximum(x, 0.1)]),
    "scalar": lambda x: np.prod(x),
}


@pytest.mark.parametrize("name", VECTORS)
def test_vjp_and_jvp_are_transposes(name: str) -> None:
    f = VECTORS[name]
    y, pullback = rg.vjp(f, X)
    w = np.cos(np.arange(np.size(y), dtype=float)).reshape(np.shape(y))
    value, tangent = rg.jvp(f, (X,), (V,))
    assert_close(value, y, 1e-14)
    (cotangent,) = pullback(w)
    np.testing.assert_allclose(np.sum(w * tangent), np.sum(cotangent * V), rtol=1e-12)
    jacobian = rg.jacobian(f)(X)
    assert_close(jacobian, jacobian_by_differences(f, (X,)))
    assert_close(np.tensordot(jacobian, V, 1), tangent, 1e-12)
    assert_close(np.tensordot(w, jacobian, np.ndim(y)), cotangent, 1e-12)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ["elementwise", "softmax", "outer", "solve"])
def test_jacobians_of_jacobians_have_the_axes_in_order(name: str) -> None:
    f = VECTORS[name]
    second = rg.jacobian(rg.jacobian(f))(X)
    assert second.shape == (*np.shape(f(X)), 3, 3)
    assert_close(second, jacobian_by_differences(rg.jacobian(f), (X,)), 1e-7)
    third = rg.jacobian(rg.jacobian(rg.jacobian(lambda x: np.sum(f(x), axis=0))))(X)
    symmetric = np.moveaxis(third, -1, -3)
    assert_close(third, symmetric, 1e-10)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("outer", ["grad", "vjp", "jvp", "jacobian"])
@pytest.mark.parametrize("inner", ["grad", "vjp", "jvp", "jacobian"])
def test_an_inner_derivative_does_not_see_the_outer_variable_as_its_own(inner: str, outer: str) -> None:
    d = {
        "grad": lambda f, x: rg.grad(f)(x),
        "vjp": lambda f, x: rg.vjp(f, x)[1](1.0)[0],
        "jvp": lambda f, x: rg.jvp(f, (x,), (1.0,))[1],
        "jacobian": lambda f, x: rg.jacobian(f)(x),
    }
    for x in (1.0, 3.0):
        # ∂/∂x (x · ∂/∂y (x + y)) = 1, wherever y is; also where y is x itself.
        assert d[outer](lambda x: x * d[inner](lambda y: x + y, 1.0), x) == 1.0
        assert d[outer](lambda x: x * d[inner](lambda y: x + y, x), x) == 1.0
        # ∂/∂x (x · ∂/∂y (x·y) at y = x) = ∂/∂x x² = 2x.
        assert d[outer](lambda x: x * d[inner](lambda y: x * y, x), x) == 2 * x
        # The names of the variables carry no meaning.
        assert d[outer](lambda x: x * d[inner](lambda x: x * x, x), x) == 4 * x
        assert d[outer](lambda x: d[inner](lambda x: 3.0, x) * x, x) == 0.0


def test_three_levels_of_closures() -> None:
    # ∂/∂a ∂/∂b ∂/∂c a²b³c⁴
    f = lambda a: rg.grad(lambda b: rg.grad(lambda c: a**2 * b**3 * c**4)(2.0))(3.0)
    assert_close(rg.grad(f)(5.0), 2 * 5.0 * 3 * 3.0**2 * 4 * 2.0**3)
    assert_close(rg.stabilize(f)(5.0), 25.0 * 27 * 32)
    assert_close(f(5.0), 25.0 * 27 * 32)


def test_transforms_of_constants_inside_a_trace_are_numbers() -> None:
    f = lambda x: x * rg.grad(lambda y: y**3)(2.0) + rg.hessian(lambda y: y**3)(1.0)
    assert rg.grad(f)(1.0) == 12.0
    assert rg.stabilize(f)(1.0) == 18.0
    seen = []
    rg.stabilize(lambda x: (seen.append(rg.grad(np.exp)(0.0)), x)[1])(1.0)
    assert float(seen[0]) == 1.0


def test_transforms_inside_python_control_flow() -> None:
    def power(n: int) -> Callable[..., Any]:
        return lambda x: 1.0 if n == 0 else x * power(n - 1)(x)

    assert [float(rg.grad(power(n))(2.0)) for n in range(4)] == [0.0, 1.0, 4.0, 12.0]
    f = lambda x: sum(rg.grad(power(n))(v) for n, v in enumerate(x))
    assert_close(rg.grad(f)(X), [0.0, 0.0, 2.0])


def test_newton_steps_through_a_hessian_are_differentiable() -> None:
    def step(a: Any, x: Any) -> Any:
        f = lambda x: np.sum(np.exp(a * x) - x)
        return x - np.linalg.solve(rg.hessian(f)(x), rg.grad(f)(x))

    f = lambda a: np.sum(step(a, step(a, X)))
    a = np.array([0.7, 0.9, 1.1])
    assert_close(rg.grad(f)(a), jacobian_by_differences(f, (a,)), 1e-6)


def test_stabilize_commutes_with_derivatives() -> None:
    f = SCALARS["entropy"]
    for g in (rg.stabilize(rg.grad(f)), rg.grad(rg.stabilize(f)), rg.stabilize(rg.grad(rg.stabilize(f)))):
        assert_close(g(X), rg.grad(f)(X), 1e-13)
    assert np.isfinite(rg.grad(rg.stabilize(lambda x: np.log(np.sum(np.exp(x)))))(1e4 * X)).all()


def test_a_value_comes_with_its_gradient() -> None:
    f = SCALARS["network"]
    value, gradient = rg.value_and_grad(f)(X)
    assert_close(value, f(X), 1e-14)
    assert_close(gradient, rg.grad(f)(X), 1e-14)
    both = rg.jvp(rg.value_and_grad(f), (X,), (V,))
    assert_close(both[1][0], gradient @ V, 1e-13)
    assert_close(both[1][1], rg.hessian(f)(X) @ V, 1e-13)


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass
class Layer:
    weight: Any
    bias: Any
    activation: Callable[..., Any] | None = None
    name: str = "layer"


class TestContainers:
    """Arguments and results in nested containers."""

    params: ClassVar[Any] = {
        "layers": [Layer(A, X, np.tanh), Layer(A.T, 0.5)],
        "scale": (2.0, Point(X, 1.0)),
        "none": None,
    }

    @staticmethod
    def loss(p: Any) -> Any:
        h = X
        for layer in p["layers"]:
            h = layer.weight @ h + layer.bias
            h = layer.activation(h) if layer.activation else h
        scale, point = p["scale"]
        return np.sum(h * point.x) * scale + point.y**2

    def test_a_gradient_has_the_structure_of_its_argument(self) -> None:
        g = rg.grad(self.loss)(self.params)
        assert list(g) == ["layers", "scale", "none"] and g["none"] is None
        assert isinstance(g["layers"], list) and isinstance(g["scale"], tuple)
        first, second = g["layers"]
        assert isinstance(first, Layer) and first.weight.shape == (3, 3) and np.shape(second.bias) == ()
        assert isinstance(g["scale"][1], Point) and g["scale"][1].y == 2.0
        # What is no array has no gradient.
        assert first.activation is None and first.name is None

        def moved(t: Any) -> Any:
            p = dict(self.params)
            p["layers"] = [Layer(t, X, np.tanh), self.params["layers"][1]]
            return self.loss(p)

        assert_close(first.weight, jacobian_by_differences(moved, (A,)))

    def test_second_order_through_containers(self) -> None:
        f = lambda p: np.sum(p["a"] ** 2 * p["b"][0])
        p = {"a": X, "b": [2.0]}
        h = rg.hessian(f)(p)
        assert_close(h["a"]["a"], 4.0 * np.eye(3))
        assert_close(h["a"]["b"][0], 2.0 * X)
        assert_close(h["b"][0]["a"], 2.0 * X)
        assert h["b"][0]["b"][0] == 0.0
        j = rg.jacobian(lambda p: {"s": p["a"] * p["b"][0], "t": Point(p["b"][0], p["a"])})(p)
        assert_close(j["s"]["b"][0], X)
        assert_close(j["t"].y["a"], np.eye(3))
        assert_close(j["t"].x["a"], np.zeros(3))

    def test_forward_and_reverse_on_containers(self) -> None:
        f = lambda p, q: {"u": p["a"] * q, "v": (np.sum(p["a"]),)}
        p = {"a": X}
        value, tangent = rg.jvp(f, (p, 2.0), ({"a": V}, 1.0))
        assert_close(tangent["u"], 2.0 * V + X)
        assert_close(tangent["v"][0], np.sum(V))
        out, pullback = rg.vjp(f, p, 2.0)
        assert_close(out["u"], value["u"])
        dp, dq = pullback({"u": W, "v": (3.0,)})
        assert_close(dp["a"], 2.0 * W + 3.0)
        assert_close(dq, np.sum(W * X))

    def test_other_mappings(self) -> None:
        for kind in (OrderedDict, partial(defaultdict, float)):
            p = kind({"b": X, "a": 2.0})  # type: ignore[operator]
            g = rg.grad(lambda p: np.sum(p["a"] * p["b"]))(p)
            assert type(g) is type(p) and list(g) == ["b", "a"]
            assert_close(g["b"], np.full(3, 2.0))

    def test_the_structure_must_fit(self) -> None:
        f = lambda p: p["a"] * p["b"]
        p = {"a": X, "b": 2.0}
        for wrong in ({"a": X, "c": 2.0}, {"a": X}, [X, 2.0], X):
            with pytest.raises(rg.GradientError, match="structure"):
                rg.jvp(f, (p,), (wrong,))
        with pytest.raises(rg.GradientError, match="2 tangents for 1 primals"):
            rg.jvp(f, (p,), (p, p))
        with pytest.raises(rg.GradientError, match=r"shape \(2,\) for a primal of shape \(3,\)"):
            rg.jvp(np.sin, (X,), (X[:2],))
        with pytest.raises(rg.GradientError, match="structure"):
            rg.vjp(lambda x: (x, x), X)[1](X)
        with pytest.raises(rg.GradientError, match=r"shape \(2,\) for a result of shape \(3,\)"):
            rg.vjp(np.sin, X)[1](X[:2])
        with pytest.raises(rg.GradientError, match="tuples"):
            rg.jvp(np.sin, 1.0, 1.0)  # type: ignore[arg-type]


class TestArguments:
    """Which arguments are differentiated for, and what becomes of the others."""

    f = staticmethod(lambda x, y, z=1.0: np.sum(x * y**2) * z)

    def test_argnums(self) -> None:
        f = self.f
        dx, dy = np.full(3, 4.0), 2 * 2.0 * np.sum(X)
        assert_close(rg.grad(f, 1)(X, 2.0), dy)
        assert_close(rg.grad(f, -1)(X, 2.0), dy)
        assert_close(rg.grad(f, np.int64(1))(X, 2.0), dy)
        for argnums in ((1, 0), [1, 0], (-1, -2), range(1, -1, -1), (np.int32(1), 0)):
            gy, gx = rg.grad(f, argnums)(X, 2.0)
            assert_close(gx, dx)
            assert_close(gy, dy)
        (only,) = rg.grad(f, (0,))(X, 2.0)
        assert_close(only, dx)

    def test_an_argument_named_twice_has_one_gradient(self) -> None:
        for argnums in ((0, 0), (0, -2)):
            first, second = rg.grad(self.f, argnums)(X, 2.0)
            assert_close(first, np.full(3, 4.0))
            assert_close(second, first)

    @pytest.mark.parametrize("argnums", ["x", 1.5, None, (0, "y"), 1j])
    def test_argnums_are_integers(self, argnums: Any) -> None:
        with pytest.raises(rg.GradientError, match="neither an integer nor a sequence"):
            rg.grad(self.f, argnums)

    @pytest.mark.parametrize("argnums", [2, -3, (0, 5), ()])
    def test_argnums_name_arguments(self, argnums: Any) -> None:
        with pytest.raises(rg.GradientError, match="argnums"):
            rg.grad(self.f, argnums)(X, 2.0)

    def test_keyword_arguments_are_not_differentiated(self) -> None:
        assert_close(rg.grad(self.f)(X, 2.0, z=3.0), np.full(3, 12.0))
        assert_close(rg.grad(self.f)(X, y=2.0), np.full(3, 4.0))
        with pytest.raises(rg.GradientError, match="0 positional arguments"):
            rg.grad(self.f)(x=X, y=2.0)

    def test_static_arguments_choose_the_program(self) -> None:
        def f(x: Any, kind: str, *, square: bool = False, g: Callable[..., Any] = np.sin) -> Any:
            y = g(x) if kind == "g" else x
            return np.sum(y**2 if square is True else y)

        d = rg.grad(f)
        assert_close(d(X, "g"), np.cos(X))
        assert_close(d(X, "id"), np.ones(3))
        assert_close(d(X, "g", g=np.exp), np.exp(X))
        assert_close(d(X, None), np.ones(3))

    def test_variable_numbers_of_arguments(self) -> None:
        f = lambda *xs, **ys: sum(np.sum(x) ** 2 for x in xs) * sum(ys.values())
        assert_close(rg.grad(f, 1)(X, U, a=1.0, b=2.0), np.full(3, 6 * np.sum(U)))

    def test_what_does_not_matter_has_gradient_zero(self) -> None:
        for f in (lambda x: 3.0, lambda x: np.float64(3.0), lambda x: np.sum(np.zeros_like(x))):
            assert_close(rg.grad(f)(X), np.zeros(3))
            assert_close(rg.hessian(f)(X), np.zeros((3, 3)))
        assert_close(rg.jacobian(lambda x: np.ones(2))(X), np.zeros((2, 3)))
        assert_close(rg.jvp(lambda x: np.ones(2), (X,), (X,))[1], np.zeros(2))
        assert_close(rg.vjp(lambda x: np.ones(2), X)[1](np.ones(2))[0], np.zeros(3))
        x, y = rg.grad(lambda x, y: np.sum(y), argnums=(0, 1))(X, A)
        assert_close(x, np.zeros(3))
        assert_close(y, np.ones((3, 3)))

    def test_shape_rank_and_loops_over_a_traced_array(self) -> None:
        f = lambda x: sum(v * v for v in x) * x.ndim * len(x) * x.shape[0]
        assert_close(rg.grad(f)(X), 18 * X)

    def test_every_kind_of_callable(self) -> None:
        class Model:
            def __init__(self, a: float):
                self.a = a

            def loss(self, x: Any) -> Any:
                return np.sum(self.a * x**2)

            __call__ = loss
            derivative = rg.grad(lambda self, x: np.sum(self.a * x**2), argnums=1)

        model = Model(3.0)
        expected = 6 * X
        for f in (model, model.loss, partial(Model.loss, model), rg.stabilize(model.loss)):
            assert_close(rg.grad(f)(X), expected)
        assert_close(model.derivative(X), expected)
        assert_close(Model.derivative(model, X), expected)
        assert_close(rg.grad(np.linalg.norm)(X), X / np.linalg.norm(X))
        assert rg.grad(np.exp)(0.0) == rg.grad(abs)(2.0) == 1.0

    def test_a_method_of_a_changed_object_is_traced_anew(self) -> None:
        class Model:
            a = 1.0

            def loss(self, x: Any) -> Any:
                return self.a * x

        model = Model()
        kept = rg.grad(model.loss)
        assert kept(1.0) == 1.0
        model.a = 2.0
        assert rg.grad(model.loss)(1.0) == 2.0


class TestIntegersAndBooleans:
    """They take part, and have no derivative."""

    def test_they_are_partners(self) -> None:
        n, b = np.array([1, 2, 3]), np.array([True, False, True])
        assert_close(rg.grad(lambda x, n, b: np.sum(x**2 * n * b))(X, n, b), 2 * X * n * b)
        assert_close(rg.grad(lambda x, n: x**n)(2.0, 3), 12.0)
        assert_close(rg.grad(lambda x, b: np.sum(np.where(b, x, 0)))(X, b), b.astype(float))
        assert_close(rg.grad(lambda x, i: x[i])(X, 1), [0.0, 1.0, 0.0])

    @pytest.mark.parametrize("x", [3, True, np.arange(3), np.array([True]), [1.0, 2]])
    @pytest.mark.parametrize("transform", [rg.grad, rg.value_and_grad, rg.jacobian, rg.hessian])
    def test_asking_for_their_derivative_is_an_error(self, transform: Any, x: Any) -> None:
        with pytest.raises(rg.GradientError, match=r"argument 0.* which has dtype (int64|bool)"):
            transform(lambda x: 1.0)(x)

    @pytest.mark.parametrize("x", ["sum", None, {}, (np.mean, "axis")])
    def test_what_holds_no_array_has_no_derivative(self, x: Any) -> None:
        with pytest.raises(rg.GradientError, match=r"argument 1.* which holds no array"):
            rg.grad(lambda y, x: y, argnums=(0, 1))(1.0, x)

    def test_the_error_says_which_one(self) -> None:
        with pytest.raises(rg.GradientError, match=r"argument 1\['n'\]"):
            rg.grad(lambda x, p: x, argnums=1)(1.0, {"n": 3, "x": 2.0})

    def test_vjp_and_jvp_pass_over_them(self) -> None:
        f = lambda x, n, s: {"y": x * n, "i": n + 1, "k": np.argmax(x)} if s == "a" else {}
        n = np.array([1, 2, 3])
        y, pullback = rg.vjp(f, X, n, "a")
        dx, dn, ds = pullback({"y": V, "i": n, "k": 0})
        assert_close(dx, V * n)
        assert dn is None and ds is None and y["k"] == 2
        for tangent in (None, np.zeros(3, int), n):
            _, dy = rg.jvp(lambda x, n: x * n, (X, n), (V, tangent))
            assert_close(dy, V * n)
        _, dy = rg.jvp(f, (X, n, "a"), (V, None, None))
        assert_close(dy["y"], V * n)
        assert_close(dy["i"], np.zeros(3))

    def test_integer_results(self) -> None:
        with pytest.raises(rg.GradientError, match="returns a float"):
            rg.grad(lambda x: np.argmax(x))(X)
        assert_close(rg.jacobian(lambda x: np.argsort(X) + np.argmax(x))(X), np.zeros((3, 3)))

    def test_a_path_through_integers_carries_nothing(self) -> None:
        f = lambda x: np.sum(x * x.astype(int).astype(float))
        assert_close(rg.grad(f)(2.5 * X), np.trunc(2.5 * X))
        assert_close(rg.jvp(f, (2.5 * X,), (V,))[1], np.trunc(2.5 * X) @ V)


class TestShapesAndDtypes:
    """Ranks, empty arrays, precisions, Python scalars."""

    @pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (1, 1), (2, 1, 3), (0,), (0, 3), (3, 0)])
    def test_ranks_and_empty_arrays(self, shape: tuple[int, ...]) -> None:
        x = np.linspace(-1.0, 1.0, int(np.prod(shape))).reshape(shape)
        f = lambda x: np.sum(np.exp(x) * np.mean(x * x) if x.size else np.exp(x))
        g = rg.grad(f)(x)
        assert np.shape(g) == shape
        assert_close(g, np.reshape(jacobian_by_differences(f, (x,)), shape), 1e-7)
        assert np.shape(rg.hessian(f)(x)) == shape + shape
        y, pullback = rg.vjp(np.exp, x)
        assert_close(pullback(y)[0], y * np.exp(x))
        assert_close(rg.jvp(np.exp, (x,), (x,))[1], x * np.exp(x))
        assert rg.jacobian(lambda x: x.ravel()[:1])(x).shape == (min(1, x.size), *shape)

    def test_reductions_over_nothing(self) -> None:
        x = np.zeros((0, 3))
        assert_close(rg.grad(lambda x: np.sum(np.prod(x, axis=0)))(x), x)
        assert_close(rg.jacobian(lambda x: np.sum(x, axis=0))(x), np.zeros((3, 0, 3)))
        assert_close(rg.stabilize(lambda x: np.sum(np.exp(x)))(x), 0.0)

    @pytest.mark.parametrize("name", SCALARS)
    def test_float32_stays_float32(self, name: str) -> None:
        x = X.astype(np.float32)
        f = lambda x: (
            SCALARS[name](x) * 1.0 if name not in ("quadratic form", "network") else np.sum(x**3) / 3
        )
        g, h = rg.grad(f)(x), rg.hessian(f)(x)
        assert g.dtype == h.dtype == np.float32
        assert rg.value_and_grad(f)(x)[0].dtype == np.float32
        assert rg.jvp(f, (x,), (x,))[1].dtype == rg.jvp(f, (x,), (X,))[1].dtype == np.float32
        assert_close(g, rg.grad(f)(X), 1e-4)
        assert_close(h, rg.hessian(f)(X), 1e-3)

    def test_a_gradient_has_the_dtype_of_its_argument(self) -> None:
        f = lambda x, y: np.sum(np.exp(x) * y)
        x, y = rg.grad(f, (0, 1))(X.astype(np.float32), X)
        assert (x.dtype, y.dtype) == (np.float32, np.float64)
        assert f(X.astype(np.float32), X).dtype == np.float64
        (x,) = rg.vjp(np.exp, X.astype(np.float32))[1](X)
        assert x.dtype == np.float32

    def test_python_scalars(self) -> None:
        assert type(rg.grad(lambda x: x * x)(2.0)) is np.float64
        assert rg.grad(lambda x, y: x * y, 1)(np.float32(2), 3.0).dtype == np.float64
        assert rg.jvp(np.sin, (0.0,), (1,))[1] == 1.0
        assert rg.vjp(np.sin, 0.0)[1](1)[0] == 1.0

    def test_layouts(self) -> None:
        f = lambda x: np.sum(np.exp(x) * np.cumsum(x, axis=1))
        expected = rg.grad(f)(A)
        for same in (
            np.asfortranarray(A),
            A[:, ::-1].copy()[:, ::-1],
            A.astype(">f8"),
            np.repeat(A, 2, 0)[::2],
        ):
            assert_close(rg.grad(f)(same), expected, 1e-14)


class TestDerivativesThatAreAsked:
    """What cannot be differentiated says why."""

    @pytest.mark.parametrize(
        ("f", "message"),
        [
            (lambda x: x, r"scalar; the function returned shape \(3,\)|returned shape \(3,\)"),
            (lambda x: x[:1], r"shape \(1,\)"),
            (lambda x: None, "NoneType"),
            (lambda x: (np.sum(x), x), "tuple"),
            (lambda x: "text", "str"),
        ],
    )
    def test_the_gradient_needs_a_scalar(self, f: Any, message: str) -> None:
        with pytest.raises(rg.GradientError, match=message):
            rg.grad(f)(X)

    def test_errors_of_the_function_are_its_own_and_leave_nothing_behind(self) -> None:
        def f(x: Any) -> Any:
            raise KeyError("mine")

        for transform in (rg.grad, rg.hessian, rg.jacobian, rg.stabilize):
            with pytest.raises(KeyError, match="mine"):
                transform(f)(X)
        assert type(rg.stabilize(np.sin)(X)) is np.ndarray


def test_gradients_that_turn_out_equal_are_all_expanded() -> None:
    def inner(x: Any, y: Any) -> Any:
        a, b = rg.grad(lambda x, y: np.sum(U * np.floor_divide(x, y)), (0, 1))(x, y)
        return np.sum(a * V) + np.sum(b * V)

    a, b = rg.grad(inner, (0, 1))(X, X + 3.0)
    assert_close(a, np.zeros(3))
    assert_close(b, np.zeros(3))


def test_what_cancels_to_zero_is_no_error() -> None:
    assert_close(rg.stabilize(lambda x: np.expm1(x - x))(X), np.zeros(3))
