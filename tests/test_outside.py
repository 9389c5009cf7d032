"""What a function reads beside its arguments is never frozen: changes are seen at the next call."""

from __future__ import annotations

import copy
import functools
import random
import sys
import time
import types
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import pytest

import relgrad as rg
from relgrad import transformed

X = np.array([0.5, -1.0, 2.0])


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
        lambda rng: penalty.__kwdefaults__.__setitem__("shift", number(rng)),
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
        return (
            np.sum(TABLE["w"] * x) * scale + sum(TABLE.values(), start=0 * x).sum()
            if len(TABLE) > 3
            else scale * x[0]
        )

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
    module = types.ModuleType("settings_of_the_test")
    module.lam = 0.5
    exec("def scale(x):\n    return x * lam", vars(module))

    return (lambda x: np.sum(module.scale(x)) * module.lam), [lambda rng: setattr(module, "lam", number(rng))]


def nested_transformations() -> Subject:
    inner = rg.stabilize(lambda x: np.sum(WEIGHTS * x) * SCALE)
    return (lambda x: inner(x) * SCALE), [
        lambda rng: set_global("SCALE", number(rng)),
        lambda rng: set_global("WEIGHTS", vector(rng)),
    ]


SUBJECTS = [
    globals_, cells, attributes, slots, containers, table, classes, partials, computed_outside, aliases, decorated,
    dynamic, modules, nested_transformations,
]  # fmt: skip


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """Put back what the subjects change."""
    before = SCALE, WEIGHTS, copy.deepcopy(TABLE), X.copy(), Model.factor
    yield
    set_global("SCALE", before[0])
    set_global("WEIGHTS", before[1])
    TABLE.clear()
    TABLE.update(before[2])
    X[:] = before[3]
    Model.factor, Model.forward = before[4], FORWARD
    penalty.__defaults__, penalty.__kwdefaults__ = (0.1,), {"shift": 0.0}
    _kept.clear()


def mutate(make: Callable[[], Subject], rounds: int, seed: int) -> None:
    """Change what a function reads, again and again; value and gradient follow."""
    rng = random.Random(f"{make.__name__} {seed}")
    f, changes = make()
    check(f)
    for _ in range(rounds):
        for _ in range(rng.choice([1, 1, 1, 2])):
            rng.choice(changes)(rng)
        check(f)


@pytest.mark.parametrize("make", SUBJECTS)
def test_every_change_is_seen(make: Callable[[], Subject]) -> None:
    mutate(make, 12, 0)


if __name__ == "__main__":
    for make in SUBJECTS:
        t = time.time()
        mutate(make, int(sys.argv[1]), int(sys.argv[2]))
        print(make.__name__, time.time() - t)
