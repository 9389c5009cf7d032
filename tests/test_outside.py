"""What a function reads beside its arguments is never frozen: changes are seen at the next call."""

from __future__ import annotations

import abc
import builtins
import copy
import functools
import gc
import itertools
import os
import random
import sys
import threading
import time
import types
import warnings
import weakref
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal, getcontext, localcontext
from enum import Enum
from typing import Any

import numpy as np
import pytest

import relgrad as rg
from relgrad import programs, transformed
from relgrad.trace.arguments import signature
from relgrad.trace.common import common
from relgrad.trace.outside import read
from relgrad.trace.trace import is_tracing, trace

X = np.array([0.5, -1.0, 2.0])
NUMBERS = itertools.count()
ROUNDS = int(os.environ.get("MUTATIONS", "10"))
"""How many changes are made of what each function reads."""


@contextmanager
def counting(name: str) -> Iterator[list[int]]:
    """Count how often a stage of the flow runs: `trace`, or `schedule`."""
    count, stage = [0], getattr(transformed, name)

    def counted(*args: Any, **kwargs: Any) -> Any:
        count[0] += 1
        return stage(*args, **kwargs)

    setattr(transformed, name, counted)
    try:
        yield count
    finally:
        setattr(transformed, name, stage)


def slope(f: Callable[..., Any], x: Any) -> Any:
    """The gradient of a function that is quadratic at most, from its values: central differences are exact."""
    flat = np.asarray(x, dtype=float)
    result = np.zeros_like(flat)
    for i in np.ndindex(flat.shape):
        step = np.zeros_like(flat)
        step[i] = 0.5
        result[i] = f(flat + step) - f(flat - step)
    return result


def check(f: Callable[..., Any], x: Any = X) -> None:
    """Compare value and gradient, of transformations made anew and kept ones, with the function itself."""
    expected = f(x), slope(f, x)
    for s, d in ((rg.stabilize(f), rg.grad(f)), kept(f)):
        np.testing.assert_allclose(s(x), expected[0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(d(x), expected[1], rtol=1e-9, atol=1e-9)


_kept: dict[int, Any] = {}


def kept(f: Callable[..., Any]) -> tuple[Any, Any]:
    if id(f) not in _kept or _kept[id(f)][0] is not f:
        _kept[id(f)] = f, rg.stabilize(f), rg.grad(f)
    return _kept[id(f)][1:]


# What can be changed: each makes a function and the ways to change what it reads.

SCALE = 0.5
WEIGHTS = np.array([1.0, 2.0, 3.0])
TABLE: dict[str, Any] = {"w": np.ones(3), "lam": 0.25, "deep": [{"b": 1.0}]}
Pair = namedtuple("Pair", "a b")


class Kind(Enum):
    LINEAR = 1
    SQUARE = 2


class Options:
    lam = 0.5
    kind = Kind.LINEAR


class Model:
    factor = 1.0

    def __init__(self) -> None:
        self.w = np.array([1.0, -2.0, 0.5])
        self.bias = 0.25
        self.training = True
        self.parts: list[Any] = [np.ones(3), 2.0]

    @property
    def gain(self) -> float:
        return self.bias * 2 + self.factor

    def forward(self, x: Any) -> Any:
        scaled = x * self.w * self.gain
        return scaled * 0.5 if self.training else scaled

    def loss(self, x: Any) -> Any:
        return np.sum(self.forward(x) ** 2) + np.sum(x * self.parts[0]) * self.parts[1]


class Slotted:
    __slots__ = ("_w", "b")

    def __init__(self) -> None:
        self._w, self.b = np.ones(3), 1.0

    def __call__(self, x: Any) -> Any:
        return np.sum(self._w * x) * self.b


class Alike:
    """Callable objects that are all equal."""

    def __init__(self, c: float) -> None:
        self.c = c

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike)

    def __hash__(self) -> int:
        return 1

    def __call__(self, x: Any) -> Any:
        return self.c * np.sum(x)


@dataclass
class Config:
    lam: float = 0.5
    power: int = 2
    w: Any = field(default_factory=lambda: np.ones(3))


def through_globals(x: Any) -> Any:
    return SCALE * np.sum(WEIGHTS * x) + penalty(x)


def penalty(x: Any, strength: float = 0.1, *, shift: float = 0.0) -> Any:
    return strength * np.sum((x - shift) ** 2)


def set_global(name: str, value: Any) -> None:
    globals()[name] = value


def change_array(a: np.ndarray, rng: random.Random) -> None:
    a[rng.randrange(a.shape[0])] = rng.choice([0.0, -0.0, 1.0, rng.uniform(-2, 2)])


def number(rng: random.Random) -> Any:
    return rng.choice(
        [0.0, 1.0, 2, -1, True, rng.uniform(-2, 2), np.float64(rng.uniform(-2, 2)), np.float32(0.5)]
    )


def vector(rng: random.Random) -> np.ndarray:
    return rng.choice(
        [
            np.array([rng.uniform(-2, 2) for _ in range(3)]),
            np.array([rng.randrange(3) for _ in range(3)]),
            np.array([rng.uniform(-2, 2)]),
            np.array([rng.random() < 0.5 for _ in range(3)]),
            np.array([0.5, 0.25, -1.0], dtype=np.float32),
            np.array([rng.uniform(0, 2) for _ in range(6)])[::2],
        ]
    )


Subject = tuple[Callable[..., Any], list[Callable[[random.Random], Any]]]


def globals_() -> Subject:
    return through_globals, [
        lambda rng: set_global("SCALE", number(rng)),
        lambda rng: set_global("WEIGHTS", vector(rng)),
        lambda rng: change_array(WEIGHTS, rng) if WEIGHTS.dtype == float else None,
        lambda rng: setattr(penalty, "__defaults__", (number(rng),)),
        lambda rng: setattr(penalty, "__kwdefaults__", {"shift": number(rng)}),
        lambda rng: (penalty.__kwdefaults__ or {}).__setitem__("shift", number(rng)),
    ]


def cells() -> Subject:
    lam, w, nested = 0.5, np.ones(3), [1.0, [2.0, np.ones(3)]]

    def change(rng: random.Random) -> None:
        nonlocal lam, w
        if rng.random() < 0.5:
            lam = number(rng)
        else:
            w = vector(rng)

    def inner(x: Any) -> Any:
        return np.sum(w * x) * lam

    def f(x: Any) -> Any:
        return inner(x) + nested[0] * np.sum(nested[1][1] * x) + nested[1][0]

    return f, [
        change,
        change,
        lambda rng: nested.__setitem__(0, number(rng)),
        lambda rng: nested[1].__setitem__(rng.randrange(1), number(rng)),
        lambda rng: nested[1].__setitem__(1, vector(rng)),
    ]


def attributes() -> Subject:
    model = Model()
    return model.loss, [
        lambda rng: setattr(model, "w", vector(rng)),
        lambda rng: setattr(model, "bias", number(rng)),
        lambda rng: setattr(model, "training", not model.training),
        lambda rng: setattr(Model, "factor", number(rng)),
        lambda rng: setattr(model, "factor", number(rng)),
        lambda rng: model.__dict__.pop("factor", None),
        lambda rng: model.parts.__setitem__(1, number(rng)),
        lambda rng: model.parts.__setitem__(0, vector(rng)),
        lambda rng: setattr(model, "parts", [vector(rng), number(rng)]),
        lambda rng: setattr(Model, "forward", rng.choice([FORWARD, lambda self, x: x * self.bias])),
    ]


FORWARD = Model.forward


def slots() -> Subject:
    f = Slotted()
    return f, [lambda rng: setattr(f, "_w", vector(rng)), lambda rng: setattr(f, "b", number(rng))]


def containers() -> Subject:
    pair = [Pair(1.0, np.ones(3))]
    ordered = OrderedDict(a=1.0, b=2.0)
    many: deque[Any] = deque([1.0, 2.0])
    table: defaultdict[str, Any] = defaultdict(float, c=1.0)
    members = {1.0, 2.0}
    space = types.SimpleNamespace(a=1.0)

    def f(x: Any) -> Any:
        first = next_of(ordered)
        total = sum(many) + table["c"] + sum(members) + space.a
        return np.sum(x * pair[0].b) * pair[0].a + ordered[first] * np.sum(x) + total * np.sum(x * x)

    def next_of(d: Any) -> Any:
        (first, *_) = d
        return first

    return f, [
        lambda rng: pair.__setitem__(0, Pair(number(rng), vector(rng))),
        lambda rng: ordered.move_to_end(rng.choice("ab")),
        lambda rng: many.append(number(rng)),
        lambda rng: table.__setitem__("c", number(rng)),
        lambda rng: members.add(rng.random()),
        lambda rng: setattr(space, "a", number(rng)),
        lambda rng: TABLE.__setitem__("lam", number(rng)),
    ]


def table() -> Subject:
    def f(x: Any) -> Any:
        scale = TABLE["deep"][0]["b"] if TABLE["lam"] > 0 else -TABLE["deep"][0]["b"]
        return np.sum(TABLE["w"] * x) * scale + sum(v for v in TABLE.values() if isinstance(v, float)) * x[0]

    return f, [
        lambda rng: TABLE.__setitem__("lam", number(rng)),
        lambda rng: TABLE.__setitem__("w", vector(rng)),
        lambda rng: TABLE["deep"][0].__setitem__("b", number(rng)),
        lambda rng: TABLE.__setitem__("deep", [{"b": number(rng)}]),
    ]


def classes() -> Subject:
    class Base:
        lam = 0.5

        @staticmethod
        def scale(x: Any) -> Any:
            return x * SCALE

        @classmethod
        def shift(cls, x: Any) -> Any:
            return x + cls.lam

    class Derived(Base):
        pass

    def f(x: Any) -> Any:
        return np.sum(Derived.shift(Derived.scale(x))) * (2 if Options.kind is Kind.SQUARE else Options.lam)

    return f, [
        lambda rng: setattr(Base, "lam", number(rng)),
        lambda rng: setattr(Derived, "lam", number(rng)),
        lambda rng: Derived.__dict__.get("lam") is not None and delattr(Derived, "lam"),
        lambda rng: setattr(Options, "lam", number(rng)),
        lambda rng: setattr(Options, "kind", rng.choice(list(Kind))),
        lambda rng: setattr(Base, "scale", staticmethod(functools.partial(np.multiply, rng.random()))),
        lambda rng: set_global("SCALE", number(rng)),
    ]


def partials() -> Subject:
    w = np.ones(3)
    config = Config()

    def g(w: Any, x: Any, *, config: Config) -> Any:
        return np.sum(w * x) * config.lam + np.sum(np.asarray(config.w) * x) * config.power

    f = functools.partial(g, w, config=config)
    return f, [
        lambda rng: change_array(w, rng),
        lambda rng: setattr(config, "lam", number(rng)),
        lambda rng: setattr(config, "power", rng.randrange(3)),
        lambda rng: setattr(config, "w", vector(rng)),
    ]


def computed_outside() -> Subject:
    """Arrays that are computed with before anything traced is met."""
    data = np.arange(12.0).reshape(4, 3)
    index = np.array([0, 2])

    def f(x: Any) -> Any:
        centred = (data - data.mean(0)) / (1.0 + data.std(0))
        rows = centred[index] if data.sum() > 0 else centred
        return np.sum(rows @ x) * int(data.max())

    return f, [
        lambda rng: change_array(data, rng),
        lambda rng: index.__setitem__(rng.randrange(2), rng.randrange(4)),
        lambda rng: data.__imul__(-1.0),
        lambda rng: setattr(data, "shape", rng.choice([(4, 3), (4, 3)])),
    ]


def aliases() -> Subject:
    return (lambda x: np.sum(x * WEIGHTS) + np.sum(X * x)), [
        lambda rng: set_global("WEIGHTS", X),
        lambda rng: set_global("WEIGHTS", vector(rng)),
        lambda rng: change_array(X, rng),
    ]


def decorated() -> Subject:
    factor = [1.0]

    def scaled(f: Any) -> Any:
        @functools.wraps(f)
        def g(x: Any) -> Any:
            return factor[0] * f(x)

        return g

    @scaled
    def f(x: Any) -> Any:
        return SCALE * np.sum(x)

    return f, [lambda rng: factor.__setitem__(0, number(rng)), lambda rng: set_global("SCALE", number(rng))]


def dynamic() -> Subject:
    """What no name in the code tells: traced at each call."""
    config = Config()
    return (lambda x: np.sum(x) * getattr(config, "l" + "am") * globals()["SCA" + "LE"]), [
        lambda rng: setattr(config, "lam", number(rng)),
        lambda rng: set_global("SCALE", number(rng)),
    ]


def modules() -> Subject:
    module: Any = types.ModuleType("settings_of_the_test")
    module.lam = 0.5
    exec("def scale(x):\n    return x * lam", vars(module))

    return (lambda x: np.sum(module.scale(x)) * module.lam), [lambda rng: setattr(module, "lam", number(rng))]


def within_what_numpy_makes() -> Subject:
    """Functions in cells of NumPy's decorators, methods of built-in objects, and names among the builtins."""
    entries = [1.0, 2.0]
    count: Any = entries.__len__

    @np.errstate(all="ignore")
    def f(x: Any) -> Any:
        return SCALE * np.sum(x * count()) * added_to_builtins  # type: ignore[name-defined]  # noqa: F821

    vars(builtins)["added_to_builtins"] = 1.0
    return f, [
        lambda rng: set_global("SCALE", number(rng)),
        lambda rng: entries.append(1.0),
        lambda rng: vars(builtins).update(added_to_builtins=number(rng)),
    ]


def packages() -> Subject:
    """A statement `import a.b` in the function itself names a."""
    package: Any = types.ModuleType("package_of_the_test")
    package.lam, package.part = 0.5, types.ModuleType("package_of_the_test.part")
    package.part.k = 2.0
    sys.modules |= {m.__name__: m for m in (package, package.part)}
    space: dict[str, Any] = {"np": np}
    lines = (
        "import package_of_the_test.part",
        "p = package_of_the_test",
        "return np.sum(x * p.lam) * p.part.k",
    )
    exec("def f(x):\n    " + "\n    ".join(lines), space)
    return space["f"], [
        lambda rng: setattr(package, "lam", number(rng)),
        lambda rng: setattr(package.part, "k", number(rng)),
    ]


def nested_transformations() -> Subject:
    inner = rg.stabilize(lambda x: np.sum(WEIGHTS * x) * SCALE)
    return (lambda x: inner(x) * SCALE), [
        lambda rng: set_global("SCALE", number(rng)),
        lambda rng: set_global("WEIGHTS", vector(rng)),
    ]


def indices() -> Subject:
    """Arrays of integers and truth values, which choose what is computed."""
    index, mask, power = np.array([0, 1]), np.array([True, False, True]), [2]

    def f(x: Any) -> Any:
        return (
            np.sum(x[index] ** 2) + np.sum(np.where(mask, x, 2 * x)) + np.sum(x[mask]) + np.sum(x ** power[0])
        )

    return f, [
        lambda rng: index.__setitem__(rng.randrange(2), rng.randrange(-3, 3)),
        lambda rng: mask.__setitem__(rng.randrange(3), rng.random() < 0.5),
        lambda rng: power.__setitem__(0, rng.choice([0, 1, 2])),
    ]


class Scaled:
    """A callable object that is no function."""

    def __init__(self) -> None:
        self.s = 1.5

    def __call__(self, u: Any) -> Any:
        return u * self.s


def special_methods() -> Subject:
    """What Python looks up on a class without naming it, and what a template names."""

    class Base(abc.ABC):  # noqa: B024 it is registered with
        kind = "b"

    class Special(Base):
        __call__ = Scaled()
        __add__ = Scaled()

    table, kind = {"a": 1.0, "b": 2.0}, "{0.kind}"
    d = Special()

    def f(x: Any) -> Any:
        known = isinstance(2, Base)
        return np.sum(x * d(2.0)) + np.sum(x * x) * (d + 3.0) + table[kind.format(d)] * x[0] + known * x[1]

    return f, [
        lambda rng: setattr(vars(Special)["__call__"], "s", number(rng)),
        lambda rng: setattr(vars(Special)["__add__"], "s", number(rng)),
        lambda rng: setattr(Base, "kind", rng.choice("ab")),
        lambda rng: rng.random() < 0.2 and Base.register(int),
    ]


def members_of_enums() -> Subject:
    first, second = [1.0, 2.0], [2.0]

    class Member(Enum):
        A = first
        B = second

        def __init__(self, value: list[float]) -> None:
            self.gain = value[0]

    chosen = {"k": Member.A}

    def f(x: Any) -> Any:
        return np.sum(x * chosen["k"].value[0]) + np.sum(x * x) * chosen["k"].gain

    return f, [
        lambda rng: Member.A.value.__setitem__(0, number(rng)),
        lambda rng: setattr(Member.B, "gain", number(rng)),
        lambda rng: chosen.__setitem__("k", rng.choice(list(Member))),
    ]


def settings() -> Subject:
    """State of NumPy and of Decimals."""

    def f(x: Any) -> Any:
        third = float(Decimal(1) / Decimal(3))
        return np.sum(x * third) * (2 if np.geterr()["over"] == "ignore" else 1)

    return f, [
        lambda rng: np.seterr(over=rng.choice(["ignore", "warn"])),
        lambda rng: setattr(getcontext(), "prec", rng.choice([2, 3, 28])),
    ]


SUBJECTS = [
    special_methods, members_of_enums, settings, packages, within_what_numpy_makes, indices, globals_,
    cells, attributes, slots, containers, table, classes, partials, computed_outside, aliases, decorated,
    dynamic, modules, nested_transformations,
]  # fmt: skip


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """Put back what the subjects change."""
    before = SCALE, WEIGHTS, copy.deepcopy(TABLE), X.copy(), Model.factor
    with localcontext(), np.errstate():
        yield
    set_global("SCALE", before[0])
    set_global("WEIGHTS", before[1])
    TABLE.clear()
    TABLE.update(before[2])
    X[:] = before[3]
    Model.factor, Model.forward = before[4], FORWARD
    penalty.__defaults__, penalty.__kwdefaults__ = (0.1,), {"shift": 0.0}
    _kept.clear()


def changed(make: Callable[[], Subject], rounds: int, seed: int) -> None:
    """Change what a function reads, again and again; value and gradient follow."""
    rng = random.Random(f"{make.__name__} {seed}")
    f, changes = make()
    check(f)
    for _ in range(rounds):
        for _ in range(rng.choice([1, 1, 1, 2])):
            rng.choice(changes)(rng)
        check(f)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("make", SUBJECTS)
def test_every_change_is_seen(make: Callable[[], Subject]) -> None:
    changed(make, ROUNDS, 0)


# Side effects: run anew at each call, as NumPy does


def test_counters_count_calls() -> None:
    count = 0

    def f(x: Any) -> Any:
        nonlocal count
        count += 1
        return np.sum(x) * count

    s = rg.stabilize(f)
    assert [s(X) / np.sum(X) for _ in range(3)] == [1, 2, 3] and count == 3


def test_an_attribute_that_a_function_gives_itself() -> None:
    def f(x: Any) -> Any:
        if not hasattr(own, "calls"):
            own.calls = 0
        own.calls += 1
        return np.sum(x) * own.calls

    own: Any = f
    s = rg.stabilize(f)
    assert [s(X) / np.sum(X) for _ in range(3)] == [1, 2, 3]


def test_random_numbers_are_drawn_anew() -> None:
    rng, same = np.random.default_rng(0), np.random.default_rng(0)
    d = rg.grad(lambda x: np.sum(x * rng.normal(size=3)))
    with counting("schedule") as searches:
        drawn = [d(X) for _ in range(6)]
    np.testing.assert_allclose(drawn, [same.normal(size=3) for _ in range(6)])
    assert searches[0] <= 3, "draws are inputs of one program"


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x) * np.random.rand(),
        lambda x: np.sum(x) * time.perf_counter(),
        lambda x: np.sum(x) * next(NUMBERS),
        lambda x: np.sum(x * np.random.default_rng().normal(size=3)),
    ],
)
def test_what_differs_from_call_to_call_differs(f: Callable[..., Any]) -> None:
    s = rg.stabilize(f)
    assert len({float(s(X)) for _ in range(3)}) == 3


def test_an_array_that_changes_costs_a_trace_and_no_program() -> None:
    w, big = np.ones(3), np.linspace(-1.0, 1.0, 10_000)

    def f(x: Any) -> Any:
        return np.sum(w * x) + np.sum(big * x[0])

    d = rg.grad(f)
    with counting("schedule") as searches:
        for i in range(1, 8):
            w[:], big[:] = [i, 2 * i, -i], i
            np.testing.assert_allclose(d(X), [i + 10_000 * i, 2 * i, -i])
    assert searches[0] <= 3


def test_a_number_that_changes_at_each_call_ends_as_an_input() -> None:
    rate = [1.0]
    d = rg.grad(lambda x: np.sum(x * x) * rate[0])
    with counting("schedule") as searches:
        for i in range(12):
            rate[0] = 1.0 + i
            np.testing.assert_allclose(d(X), 2 * X * (1.0 + i))
    assert searches[0] <= transformed.SINGLE + 2


def test_nothing_is_traced_while_nothing_changes() -> None:
    model = Model()
    for f in (
        through_globals,
        model.loss,
        functools.partial(penalty, strength=0.3),
        cells()[0],
        containers()[0],
    ):
        d = rg.grad(f)
        d(X)
        with counting("trace") as traces:
            for _ in range(3):
                d(X)
                rg.grad(f)(X)
        assert traces == [0], read(f).reason


def test_what_is_shown_is_what_is_computed() -> None:
    lam = [2.0]
    f = lambda x: np.sum(x) * lam[0]
    d = rg.grad(f)
    assert "2.0" in d.source(X)
    lam[0] = 3.0
    assert "3.0" in d.source(X) and "2.0" not in d.source(X) and "3.0" in str(d.explain(X))
    space: dict[str, Any] = {}
    w = np.ones(3)
    d = rg.grad(lambda x: np.sum(np.sin(x * w)))
    for i in range(3):
        w[0] = i
        exec(d.source(X), space)
        np.testing.assert_allclose(
            next(v for k, v in reversed(space.items()) if k.startswith("grad"))(X), w * np.cos(X * w)
        )


# Identity, memory, threads


def test_callables_that_are_equal_have_programs_of_their_own() -> None:
    a, b = Alike(1.0), Alike(2.0)
    assert rg.stabilize(a)(X) == 1.5 and rg.stabilize(b)(X) == 3.0
    a.c = 5.0
    assert rg.stabilize(a)(X) == 7.5 and rg.stabilize(b)(X) == 3.0


def test_static_arguments_are_told_apart_and_read_again() -> None:
    s = rg.stabilize(lambda x, scale: scale(x))
    a, b, scale = Alike(1.0), Alike(2.0), [1.0]
    fun = lambda x: np.sum(x) * scale[0]
    assert [s(X, a), s(X, b), s(X, fun)] == [1.5, 3.0, 1.5]
    a.c, scale[0] = 4.0, 2.0
    assert [s(X, a), s(X, b), s(X, fun)] == [6.0, 3.0, 3.0]


def test_bound_methods_of_one_object_share_programs() -> None:
    model = Model()
    assert rg.grad(model.loss)._programs is rg.grad(model.loss)._programs
    assert rg.grad(model.loss)._programs is not rg.grad(Model().loss)._programs


def test_programs_and_guards_keep_nothing_alive() -> None:
    def make() -> Callable[..., Any]:
        def f(x: Any, n: int = 2) -> Any:
            return helper(x, n - 1) if n else np.sum(x * w[0])

        def helper(x: Any, n: int) -> Any:
            return f(x, n)

        w = [np.ones(3)]
        return f

    f, model = make(), Model()
    slope, gone = rg.grad(model.loss), [weakref.ref(f), weakref.ref(model)]
    assert rg.grad(f)(X).shape == slope(X).shape
    del f, model, slope
    gc.collect()
    assert [r() for r in gone] == [None, None]


def test_programs_are_bounded() -> None:
    table: dict[str, Any] = {"f": np.sin}
    f = lambda x: np.sum(table["f"](x))
    d = rg.stabilize(f)
    for power in range(programs.VARIANTS + 4):
        table["f"] = lambda x, power=power: x**power
        d(X)
    (variants,) = d._programs.values()
    assert len(variants.programs) <= programs.VARIANTS >= len(variants.runs)
    kept = programs.Programs()
    first = kept.at(0)
    for i in range(3 * programs.SIGNATURES):
        kept.at(i)
        kept.at(0).used = True
    assert len(kept) == programs.SIGNATURES and kept.at(0) is first


def test_threads_that_call_trace_and_change() -> None:
    table: dict[str, Any] = {"lam": 1.0, "w": np.ones(3)}
    weights = [np.ones(3), 2 * np.ones(3)]
    stop = threading.Event()

    def f(x: Any) -> Any:
        return table["lam"] * np.sum(table["w"] * x)

    def call() -> set[float]:
        d, seen = rg.grad(f), set[float]()
        while not stop.is_set():
            seen.update(d(X))
        assert not is_tracing()
        return seen

    with ThreadPoolExecutor(8) as pool:
        seen = [pool.submit(call) for _ in range(7)]
        rng = random.Random(0)
        for _ in range(60):
            table["lam"], table["w"] = rng.choice([1.0, 3.0]), rng.choice(weights)
            time.sleep(0.001)
        stop.set()
    assert set().union(*[s.result() for s in seen]) <= {1.0, 2.0, 3.0, 6.0}
    for table["lam"] in (1.0, 3.0):
        for table["w"] in weights:
            np.testing.assert_allclose(rg.grad(f)(X), table["lam"] * table["w"])


# What cannot be done is refused


def test_a_recursion_without_end_is_refused() -> None:
    def f(x: Any) -> Any:
        return f(x) + 1

    with pytest.raises(rg.TraceError, match=r"f\(\) calls itself more than .*levels deep") as caught:
        rg.grad(f)(1.0)
    assert "cure:" in str(caught.value) and not is_tracing()


def test_a_function_that_changes_a_container_among_its_arguments_is_refused() -> None:
    def f(p: dict[str, Any]) -> Any:
        p["y"] = p["x"] * 2
        return p["y"]

    with pytest.raises(rg.TraceError, match=r"f\(\) changes a container among its arguments"):
        rg.stabilize(f)({"x": 1.0})


def test_a_traced_array_that_leaks_is_refused_wherever_it_is_used() -> None:
    kept: list[Any] = []
    s = rg.stabilize(lambda x: (kept.append(x * x), x)[1])
    s(2.0)
    box = types.SimpleNamespace(x=kept[0])
    for use in (lambda x: x * kept[0], lambda y: kept[-1] + y, lambda x: np.stack([x, box.x]).sum()):
        for transform in (rg.stabilize, rg.grad):
            with pytest.raises(rg.TraceError, match="a traced array of another call") as caught:
                transform(use)(3.0)
            assert "cure:" in str(caught.value)


def test_a_traced_array_may_be_used_by_a_thread_within_the_call() -> None:
    def f(x: Any) -> Any:
        with ThreadPoolExecutor(2) as pool:
            return sum(pool.map(lambda c: np.sum(c * x), [1.0, 2.0]))

    np.testing.assert_allclose(rg.grad(f)(X), [3.0, 3.0, 3.0])


# Guards and generalisations by themselves


def test_what_numpy_writes_to_a_file_is_written_at_each_call(tmp_path: Any) -> None:
    path = tmp_path / "w.npy"

    def f(x: Any) -> Any:
        np.save(path, WEIGHTS)
        return np.sum(x)

    s = rg.stabilize(f)
    for _ in range(2):
        s(X)
        np.testing.assert_array_equal(np.load(path), WEIGHTS)
        path.unlink()


def test_what_numpy_raises_is_read_where_the_function_may_handle_it() -> None:
    """It is set outside, by np.errstate around the call."""

    def f(x: Any) -> Any:
        try:
            return np.sum(np.exp(1000 * x))
        except FloatingPointError:
            return np.sum(x)

    s, d = rg.stabilize(f), rg.grad(f)
    for over in ("ignore", "raise", "warn", "raise"):
        with np.errstate(over=over), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            assert s(X) == f(X)
            if over == "raise":
                assert list(d(X)) == [1.0, 1.0, 1.0]


def test_a_guard_says_why_it_never_holds() -> None:
    lock = threading.Lock()
    assert "getattr" in read(lambda x: getattr(x, "y")).reason  # noqa: B009
    assert "random" in read(lambda x: np.random.rand()).reason
    assert "lock" in read(lambda x: lock).reason
    assert "time" in read(lambda x: time.time()).reason
    big = np.zeros(100_000)
    assert "bytes" in read(lambda x: big).reason
    assert read(lambda x: big, seconds=1.0).reason == ""


def test_what_two_traces_have_in_common() -> None:
    a, b = (trace(lambda x, c=c: 2 * x + c, (X,)) for c in (np.arange(3.0), np.arange(1.0, 4.0)))
    both = common(a, b)
    assert both is not None and [v.tolist() for v in both.outside.values()] == [[1, 2, 3]]
    assert common(a, trace(lambda x: 2 * x + np.ones(3), (X,))) is None, (
        "an array of one number is the number"
    )
    assert both.outputs != a.outputs
    again = common(both, trace(lambda x: 2 * x + np.array([5.0, 6.0, 7.0]), (X,)))
    assert again is not None and again.outputs == both.outputs
    assert [v.tolist() for v in again.outside.values()] == [[5, 6, 7]]
    negative = common(both, trace(lambda x: 2 * x - np.array([5.0, 6.0, 7.0]), (X,)))
    assert negative is None
    below = common(both, trace(lambda x: 2 * x + np.array([-5.0, 6.0, 7.0]), (X,)))
    assert below is not None and below.outputs != both.outputs, "the sign is another"
    assert common(a, trace(lambda x: 3 * x + np.arange(1.0, 4.0), (X,))) is None, "numbers stay"
    assert common(a, trace(lambda x: 3 * x + np.arange(1.0, 4.0), (X,)), scalars=True) is not None
    assert signature((X,)) == signature((X + 1,))


def test_variables_of_differentiation_are_told_apart() -> None:
    """The mixed derivative is no instance of the second one."""

    def mixed(x: Any, y: Any) -> Any:
        return rg.grad(lambda a: rg.grad(lambda b: table["f"](a, b))(y))(x)

    table: dict[str, Any] = {"f": lambda a, b: np.sin(a) * b}
    s = rg.stabilize(mixed)
    assert np.isclose(s(0.5, 0.25), np.cos(0.5))
    table["f"] = lambda a, b: np.sin(b) * a
    assert np.isclose(s(0.5, 0.25), np.cos(0.25))
    table["f"] = lambda a, b: np.sin(a) * a + b
    assert np.isclose(s(0.5, 0.25), 0.0)


def test_what_is_made_once_and_kept_is_made_as_where_nothing_is_traced():
    """A cache that is filled while a function is traced holds arrays, for the function as it is written, too."""
    kept: dict[int, Any] = {}
    made: list[Any] = []
    drawn: list[int] = []

    @functools.cache
    def window(n: int) -> Any:
        drawn.append(n)
        return np.arange(float(n)) * len(drawn)

    def basis(n: int) -> Any:
        if n not in kept:
            kept[n] = (np.eye(n), {"ones": np.ones(n)})
            made.append(np.linspace(0.0, 1.0, n).sum())
        return kept[n][0] + kept[n][1]["ones"]

    class Layer:
        def __init__(self) -> None:
            self.scale: Any = None

        @functools.cached_property
        def weights(self) -> Any:
            return np.full(4, 2.0)

        def __call__(self, x: Any) -> Any:
            if self.scale is None:
                self.scale = np.ones(4)
            return np.sum(self.weights * self.scale * x * window(4)) + np.sum(basis(4) @ x) + made[0]

    layer, x = Layer(), np.array([1.0, -2.0, 0.5, 3.0])
    value, slope = rg.stabilize(layer)(x), rg.grad(layer)(x)
    for held in (layer.scale, layer.weights, kept[4][0], kept[4][1]["ones"], window(4)):
        assert type(held) is np.ndarray
    assert type(made[0]) is np.float64
    assert drawn == [4]
    np.testing.assert_allclose(layer(x), value, rtol=1e-15)
    np.testing.assert_array_equal(slope, 2 * np.arange(4.0) + 5)


def test_caches_are_asked_where_arguments_are_not_traced():
    """What a cache holds counts, however long ago it was made; nothing traced is in one that outlasts the trace."""
    scale = [1.0]

    @functools.cache
    def held(n: int) -> float:
        return scale[0] * n

    @functools.cache
    def squared(v: float) -> Any:
        return v * v

    held(3)
    scale[0] = 7.0
    np.testing.assert_array_equal(rg.grad(lambda x: held(3) * squared(x))(2.0), 12.0)
    assert squared.cache_info().currsize == 0
    assert squared(2.0) == 4.0


def test_a_property_over_a_slot_is_not_run_by_the_guard() -> None:
    """read(v.slot) = the member's value, never code of a property that shadows it."""
    runs: list[int] = []

    class Held:
        __slots__ = ("_w",)

    class Computed(Held):
        __slots__ = ()

        @property
        def _w(self) -> float:
            runs.append(1)
            return 2.0

    held = Computed()
    assert rg.stabilize(lambda x: x if held is None else 3 * x)(2.0) == 6.0
    assert not runs
