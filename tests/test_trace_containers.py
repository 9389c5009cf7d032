"""Containers: taking them apart and putting them together are inverse; structures compare as they should."""

from __future__ import annotations

import enum
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relgrad as rg
from relgrad.errors import TraceError
from relgrad.trace.containers import Structure, flatten

Point = namedtuple("Point", "x y")


class Mode(enum.Enum):
    FAST = 1


class Bunch(dict):
    def __init__(self, **kwargs: Any):
        super().__init__(kwargs)


@dataclass
class Layer:
    W: Any
    b: Any
    activation: str = "tanh"
    width: Any = field(init=False, default=None)

    def __post_init__(self):
        self.doubled = np.asarray(self.b) * 2


@dataclass(frozen=True, slots=True)
class Frozen:
    a: Any
    b: Any

    def __post_init__(self):
        if not isinstance(self.a, float):
            raise ValueError("checked")


leaf = st.floats(allow_nan=False) | st.integers() | st.booleans()
static = st.none() | st.text(max_size=3) | st.sampled_from([len, Mode.FAST, np, slice(1, 2), ...])
tree = st.recursive(
    leaf | static,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=2) | st.integers(0, 3), inner, max_size=3)
        | st.tuples(inner, inner).map(lambda p: Point(*p))
    ),
    max_leaves=12,
)


@given(tree)
def test_round_trip(x):
    leaves, structure = flatten(x)
    again = structure.unflatten(leaves)
    assert again == x
    assert type(again) is type(x)
    assert structure.size == len(leaves)
    assert flatten(again) == (leaves, structure)


@given(tree)
def test_paths_reach_the_leaves(x):
    leaves, structure = flatten(x)
    values = [eval(path, {"x": x}) for path in structure.paths("x")]
    assert len(values) == len(leaves)
    assert all(a is b for a, b in zip(values, leaves, strict=True))


@given(tree, tree)
def test_structures_are_equal_iff_containers_are_up_to_their_leaves(x, y):
    (left, a), (right, b) = flatten(x), flatten(y)
    if a == b:
        assert hash(a) == hash(b)
        assert a.unflatten(right) == b.unflatten(right)
    blank_x, blank_y = a.unflatten([0.0] * len(left)), b.unflatten([0.0] * len(right))
    if a != b:
        assert repr(blank_x) != repr(blank_y)


def test_dict_order_is_kept_but_makes_no_difference():
    first, second = {"b": 1.0, "a": 2.0}, {"a": 2.0, "b": 1.0}
    (leaves, one), (other_leaves, two) = flatten(first), flatten(second)
    assert one == two
    assert hash(one) == hash(two)
    assert leaves == other_leaves == [2.0, 1.0]
    assert list(one.unflatten(leaves)) == ["b", "a"]
    assert list(two.unflatten(leaves)) == ["a", "b"]
    assert one.exact != two.exact
    assert one.exact == flatten({"b": 0.0, "a": 0.0})[1].exact


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([1.0], (1.0,)),
        ({"a": 1.0}, {"b": 1.0}),
        ((1.0, None), (1.0, 1.0)),
        ((1.0, "relu"), (1.0, "tanh")),
        (Point(1.0, 2.0), (1.0, 2.0)),
        ({"a": 1.0}, OrderedDict(a=1.0)),
        ([], ()),
        ([[1.0], 2.0], [1.0, [2.0]]),
    ],
)
def test_different_structures(x, y):
    assert flatten(x)[1] != flatten(y)[1]


def test_static_values_are_told_apart_by_type():
    from fractions import Fraction

    assert flatten(Fraction(1))[1] != flatten(("1",))[1]
    assert flatten("1")[1] != flatten(b"1")[1]
    assert flatten(slice(1, 2))[1] == flatten(slice(1, 2))[1] != flatten(slice(1, 3))[1]


def test_dataclasses_keep_all_they_hold_and_are_not_initialised_again():
    layer = Layer(np.ones(2), 1.0)
    structure = flatten(layer)[1]
    assert structure.paths("p") == ["p.W", "p.b", "p.doubled"]
    again = structure.unflatten(["W", "b", "doubled"])
    assert (again.W, again.b, again.doubled, again.activation, again.width) == (
        "W",
        "b",
        "doubled",
        "tanh",
        None,
    )
    frozen = flatten(Frozen(1.0, 2.0))[1].unflatten(["not", "checked"])
    assert (frozen.a, frozen.b) == ("not", "checked")


def test_subclasses_of_dict():
    ordered = OrderedDict([("z", 1.0), ("a", 2.0)])
    leaves, structure = flatten(ordered)
    assert structure.unflatten(leaves) == ordered
    default = defaultdict(list, z=1.0)
    leaves, structure = flatten(default)
    again = structure.unflatten(leaves)
    assert again == default
    assert again["new"] == []
    bunch = Bunch(z=1.0, a=2.0)
    leaves, structure = flatten(bunch)
    assert type(structure.unflatten(leaves)) is Bunch
    assert structure.unflatten(leaves) == bunch


def test_leaves():
    class Column:
        def __array__(self, dtype=None, copy=None):
            return np.ones(2)

    column, array, scalar = Column(), np.ones(2), np.float32(1)
    assert flatten((column, array, scalar, True))[0] == [column, array, scalar, True]
    assert flatten((Mode.FAST, "text", None, len))[0] == []


def test_nothing_at_all():
    leaves, structure = flatten(())
    assert leaves == []
    assert structure.unflatten([]) == ()


def test_description_and_paths():
    structure = flatten(({"W": 1.0, "b": None}, Point(2.0, [3.0])))[1]
    assert repr(structure) == "Structure(({'W': *, 'b': None}, Point(x=*, y=[*])))"
    assert structure.paths("args") == ["args[0]['W']", "args[1].x", "args[1].y[0]"]
    assert repr(flatten((1.0,))[1]) == "Structure((*,))"
    assert repr(flatten(OrderedDict(a=1.0))[1]) == "Structure(OrderedDict({'a': *}))"


def test_static_values_by_path():
    _, structure = flatten({"f": "relu", "x": 1.0, "none": None})
    assert structure.statics("p") == [("p['f']", "relu")]
    assert isinstance(structure, Structure)


def test_wrong_number_of_leaves():
    _, structure = flatten((1.0, 2.0))
    with pytest.raises(ValueError, match="2 leaves, not 1"):
        structure.unflatten([1.0])


def test_what_is_neither_array_nor_hashable_is_refused_by_path():
    with pytest.raises(TraceError) as error:
        flatten({"p": [1.0, {2.0}]})
    assert error.value.what == "cannot take apart a value of type set, at ['p'][1]"
    assert "frozenset" in error.value.cure
    assert __file__ in error.value.where


def test_a_container_that_holds_itself_is_refused():
    numbers: list = [1.0]
    numbers.append(numbers)
    table: dict = {"a": 1.0}
    table["itself"] = [table]
    deep: list = [1.0]
    for _ in range(5000):
        deep = [deep]

    def endless(x):
        result = [x]
        result.append(result)
        return result

    for f, x in [(lambda x: x[0], numbers), (lambda x: x["a"], table), (lambda x: 1.0, deep), (endless, 1.0)]:
        for transformed in (rg.stabilize, rg.jacobian):
            with pytest.raises(TraceError, match="nested more than 200 deep") as error:
                transformed(f)(x)
            assert "hold itself" in error.value.cause


def test_what_is_nested_deeply_but_not_too_deeply_is_taken():
    deep: list = [2.0]
    for _ in range(150):
        deep = [deep]

    def innermost(x):
        while isinstance(x, list):
            (x,) = x
        return x**2

    assert rg.stabilize(innermost)(deep) == 4.0
    gradient = rg.grad(innermost)(deep)
    assert flatten(gradient)[0] == [4.0] and flatten(gradient)[1] == flatten(deep)[1]


VECTORIZED: dict[str, tuple[Any, Callable[..., Any]]] = {
    "dot": (
        np.vectorize(lambda a, b: np.sum(a * b), signature="(n),(n)->()"),
        lambda f, x: f(x, x[0]),
    ),
    "softmax": (
        np.vectorize(lambda z: np.exp(z) / np.sum(np.exp(z)), signature="(k)->(k)"),
        lambda f, x: f(x),
    ),
    "matrix": (
        np.vectorize(lambda m, v: m @ v, signature="(n,m),(m)->(n)"),
        lambda f, x: f(np.stack([x, x]), x[0]),
    ),
    "two": (
        np.vectorize(lambda v: (v.sum(), 2 * v), signature="(n)->(),(n)"),
        lambda f, x: f(x)[0] + f(x)[1].prod(axis=-1),
    ),
    "excluded": (
        np.vectorize(lambda v, p: np.sum(v**p), signature="(n)->()", excluded=[1]),
        lambda f, x: f(x, 3),
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", VECTORIZED)
def test_vectorize_with_a_signature_has_arrays_for_entries(name: str) -> None:
    f, call = VECTORIZED[name]
    x = np.random.default_rng(1).normal(size=(4, 3))
    fun = lambda x: call(f, x)
    assert rg.stabilize(fun)(x) == pytest.approx(fun(x), rel=1e-14)
    loss, step = lambda x: np.sum(np.sin(fun(x))), 1e-6 * np.cos(np.arange(12.0)).reshape(4, 3)
    slope = (loss(x + step) - loss(x - step)) / 2
    assert np.sum(rg.grad(loss)(x) * step) == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "given", "error"),
    [
        ("dot", lambda f, x: f(x, x[:, :2]), ValueError),
        ("dot", lambda f, x: f(x), TypeError),
        ("matrix", lambda f, x: f(x[0], x), ValueError),
    ],
)
def test_vectorize_refuses_what_does_not_fit_its_signature_as_numpy_does(name, given, error) -> None:
    f, _ = VECTORIZED[name]
    x = np.ones((4, 3))
    with pytest.raises(error):
        given(f, x)
    with pytest.raises(error, match="vectorize"):
        rg.stabilize(lambda x: given(f, x))(x)
