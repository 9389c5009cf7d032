"""Transformed functions, and what they are made of, are pickled, copied, and sent to other processes."""

from __future__ import annotations

import copy
import math
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
import scipy.special

import relgrad as rg
from relgrad.trace.containers import flatten
from relgrad.transformed import Settings

X = np.array([-2.0, 0.5, 800.0])


def log_of_total(x):
    return np.log(np.sum(np.exp(x)))


def scaled(x, scale=1.0):
    return log_of_total(x * scale)


@rg.stabilize
def decorated(x):
    return np.exp(x) / np.sum(np.exp(x))


@rg.relation
def tangent_of_double(x):
    """tan 2x = 2 tan x/(1 - tan² x)."""
    return np.tan(2 * x), 2 * np.tan(x) / (1 - np.tan(x) ** 2)


def sine_of_double(x):
    """sin 2x = 2 sin x cos x."""
    return np.sin(2 * x), 2 * np.sin(x) * np.cos(x)


class Model:
    def __init__(self, scale):
        self.scale = scale
        self.slope = rg.grad(self.loss)

    def loss(self, x):
        return scaled(x, self.scale)

    @rg.stabilize
    def decorated(self, x):
        return self.scale * x**3


ways = {
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
TRANSFORMED = {
    "stabilize": rg.stabilize(log_of_total),
    "grad": rg.grad(scaled, argnums=[0]),
    "hessian": rg.hessian(scaled),
    "jacobian": rg.jacobian(decorated),
    "value_and_grad": rg.value_and_grad(scaled, strategy="eager"),
    "of a gradient": rg.jacobian(rg.grad(scaled)),
    "decorated": decorated,
    "under assumptions": rg.grad(scaled, assume={"x": (-10, 1000)}),
    "under conventions": rg.grad(scaled, conventions=rg.Conventions(ties="first", zero_log=math.nan)),
    "with relations": rg.grad(scaled, relations=[tangent_of_double, rg.relation(sine_of_double)]),
    "of a method": Model(0.5).slope,
    "pullback": lambda: rg.vjp(decorated, X)[1],
}


@pytest.mark.parametrize("way", ways)
@pytest.mark.parametrize("name", TRANSFORMED)
def test_what_comes_back_computes_the_same(name, way):
    f = TRANSFORMED[name]() if name == "pullback" else TRANSFORMED[name]
    again = ways[way](f)
    for got, want in zip(flatten(again(X))[0], flatten(f(X))[0], strict=True):
        np.testing.assert_array_equal(got, want)
    assert again.__name__ == f.__name__
    assert again.source(X) == f.source(X)


@pytest.mark.parametrize("way", ways)
def test_settings_stay_equal(way):
    settings = Settings(rg.LIBRARY, rg.DEFAULT, rg.Conventions(zero_log=math.nan), (("x", rg.Interval(0.0)),))
    assert ways[way](settings) == settings
    assert hash(ways[way](settings)) == hash(settings)


def test_relations_of_a_module_are_the_same_ones():
    assert pickle.loads(pickle.dumps(tangent_of_double)) is tangent_of_double
    assert list(pickle.loads(pickle.dumps(rg.LIBRARY))) == list(rg.LIBRARY)
    row = rg.relation(sine_of_double)
    again = pickle.loads(pickle.dumps(row))
    assert (again.name, again.summary, repr(again)) == (row.name, row.summary, repr(row))
    assert copy.deepcopy({"row": row})["row"] is row


def test_a_copied_object_keeps_the_gradient_of_its_own_method():
    model = Model(1.0)
    other = copy.deepcopy(model)
    other.scale = 0.0
    np.testing.assert_allclose(other.slope(X), 0.0)
    np.testing.assert_allclose(model.slope(X), [0.0, 0.0, 1.0])


def test_decorated_methods_are_pickled_with_their_object():
    cube = pickle.loads(pickle.dumps(Model(2.0).decorated))
    np.testing.assert_allclose(cube(X), 2 * X**3)


def test_a_function_that_pickle_cannot_find_is_refused_as_python_does():
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(rg.grad(lambda x: x * x))


def test_errors_cross_processes():
    error = rg.TraceError("x went wrong", where="f.py:3", cause="y", cure="do z")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.cure) == (rg.TraceError, str(error), "do z")


def test_a_pool_of_processes_maps_a_transformed_function():
    rows = [X, X + 1, X - 1]
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        for got, row in zip(pool.map(TRANSFORMED["under assumptions"], rows), rows, strict=True):
            np.testing.assert_allclose(got, rg.grad(scaled)(row))


@pytest.mark.parametrize("function", [np.sum, np.linalg.norm, np.median, scipy.special.logsumexp])
def test_functions_of_libraries_are_pickled_as_themselves(function):
    """pickle(grad(np.sum)) refers to np.sum, whatever stands in for it while functions are traced."""
    again = pickle.loads(pickle.dumps(rg.grad(function)))
    np.testing.assert_array_equal(again(X), rg.grad(function)(X))
