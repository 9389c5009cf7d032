"""What an op declares of itself, each as a trial: a generator of what was found, None where nothing was refuted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, combinations
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from relgrad.balls.graph import evaluate
from relgrad.bounds import range_of
from relgrad.compile.function import compile_program
from relgrad.contract import Contract
from relgrad.differentiate import pull_along, push_along
from relgrad.errors import GradientError, OpError
from relgrad.interpret import interpret
from relgrad.leaf import Input
from relgrad.logic.laws import known_ops
from relgrad.op import Op, as_term, outputs_of
from relgrad.ops.arithmetic import subtract
from relgrad.ops.structure import broadcast_to, expand, squeeze
from relgrad.relation import Library
from relgrad.schedule import schedule
from relgrad.schedule.strategy import NAIVE
from relgrad.term import Term, term
from relgrad.trace.containers import flatten
from relgrad.trace.trace import trace
from relgrad.trace.tracer import Tracer
from relgrad.types import Interval, TupleType, array_type

CLOSE = 1e-9
"""How far apart, relatively, two computations of the same number may round."""
STEP, ROUGH = 1e-6, 2e-5
"""The step of differences, and how far, relatively, they may be from the derivative."""


class Found(NamedTuple):
    """(the op is not linear, "2", "3"): left ≠ right → a sentence, both sides, and the inputs if they are its own."""

    why: str
    left: str = ""
    right: str = ""
    inputs: dict[str, Any] | None = None


@dataclass(frozen=True)
class Application:
    """op(x₀, x₁) at arrays in an interval → its node, and its results: an op applied to inputs."""

    op: Op
    inputs: Sequence[Term]
    arrays: Sequence[Any]

    @cached_property
    def node(self) -> Term:
        """The op applied to the inputs."""
        return self.applied(self.inputs)

    silent = (GradientError, OpError)
    """The errors by which an op says that it has no answer."""

    def applied(self, operands: Sequence[Term]) -> Term:
        """[x, y] → op(x, y), of a difference op → op(x, y, x − y): the op applied to operands, a distance formed."""
        if self.op.distance is not None:
            i, j, d = self.op.distance
            whole = [*operands[:d], None, *operands[d:]]
            whole[d] = subtract(whole[i], whole[j])
            operands = whole  # pyright: ignore[reportAssignmentType]
        return self.op.make_node(*operands)

    def results(self, arrays: Sequence[Any]) -> list[Any]:
        """Return all outputs at some arrays."""
        (found,) = interpret([self.node], dict(zip(self.inputs, [x.copy() for x in arrays], strict=True)))
        return [np.asarray(x) for x in (found if isinstance(self.node.type, TupleType) else (found,))]

    @property
    def types(self) -> Sequence[Any]:
        """The types of the outputs."""
        return self.node.type.outputs if isinstance(self.node.type, TupleType) else (self.node.type,)

    def along(self, places: Sequence[int], rng: np.random.Generator) -> list[Any]:
        """Return a direction in which one array moves, which stands in some places."""
        direction = np.asarray(rng.normal(size=self.arrays[places[0]].shape))
        return [direction if j in places else 0 for j in range(len(self.arrays))]

    @property
    def floats(self) -> list[int]:
        """Which operands are floats."""
        return [i for i, x in enumerate(self.arrays) if x.dtype.kind == "f"]

    def moves(self) -> Iterator[tuple[Application, tuple[int, ...]]]:
        """(x, y, w) → (0,), (1,), (2,), (0, 1) with x = y:
        places in which one array stands, each by itself, and two of one shape.

        In two where the op is smooth in each of them, unlike √(x² − y²) where x is y.
        """
        for i in self.floats:
            yield self, (i,)
        for i, j in combinations(self.floats, 2):
            x, y = self.arrays[i], self.arrays[j]
            if (x.shape, x.dtype) == (y.shape, y.dtype):
                arrays = [x if k == j else z for k, z in enumerate(self.arrays)]
                both = Application(self.op, self.inputs, arrays)
                ones = [[np.ones(x.shape) if k == n else 0 for k in range(len(arrays))] for n in (i, j)]
                if all(np.all(smooth) for v in ones for _, smooth in _quotients(both, v)):
                    yield both, (i, j)


Trial = Iterator[Found | None]


def types(a: Application, rng: np.random.Generator) -> Trial:
    """result.dtype = type.dtype, result.shape = type.shape, for each output."""
    try:
        results = a.results(a.arrays)
    except OpError as error:
        yield Found(str(error).splitlines()[0])
        return
    for result, kind in zip(results, a.types, strict=True):
        shape = len(result.shape) == len(kind.shape) and all(
            n in (None, m) for n, m in zip(kind.shape, result.shape, strict=True)
        )
        if result.dtype != kind.dtype or not shape:
            said, is_ = f"{kind.dtype} {kind.shape}", f"{result.dtype} {result.shape}"
            yield Found("the result is not of the type that was declared", said, is_)
        else:
            yield None


def shapes(a: Application, rng: np.random.Generator) -> Trial:
    """`infer_shape` = the shapes of the outputs."""
    if a.node.op != a.op:
        return
    said = [tuple(s) for s in a.op.infer_shape(None, a.node, [x.shape for x in a.arrays])]
    is_ = [x.shape for x in a.results(a.arrays)]
    fits = len(said) == len(is_) and all(
        len(s) == len(r) and all(n in (None, m) for n, m in zip(s, r, strict=True))
        for s, r in zip(said, is_, strict=True)
    )
    yield None if fits else Found("infer_shape gives another shape than the result has", str(said), str(is_))


def inputs_alone(a: Application, rng: np.random.Generator) -> Trial:
    """x before = x after an evaluation, unless `destroy_map` says that it is overwritten."""
    if a.node.op != a.op or a.op.distance is not None or getattr(a.op, "destroy_map", None):
        return
    given = [x.copy() for x in a.arrays]
    try:
        a.op.evaluate(a.node, given)
    except OpError as error:
        yield Found(str(error).splitlines()[0])
        return
    for before, after in zip(a.arrays, given, strict=True):
        same = np.array_equal(before, after, equal_nan=before.dtype.kind == "f")
        yield None if same else Found("evaluation writes into an operand", str(before), str(after))


def repeated(a: Application, rng: np.random.Generator) -> Trial:
    """f(x) = f(x), evaluated twice, unless the op must not be evaluated before its time."""
    if not a.op.do_constant_folding(None, a.node):
        return
    for x, y in zip(a.results(a.arrays), a.results(a.arrays), strict=True):
        yield None if _close(x, y) else Found("two evaluations differ", str(x), str(y))


def readings(a: Application, rng: np.random.Generator) -> Trial:
    """f(broadcast(x)) = f(an array like it): applied to operands that are stretched, or squeezed, the results are the
    same.

    A canonical form may leave out what operands repeat, where it counts entries as often all the same.
    """
    singly = [(i,) for i in range(len(a.arrays))]
    for moved in (*singly, tuple(range(len(a.arrays)))) if len(singly) > 1 else singly:
        for name, view in VIEWS.items():
            leaves: dict[Term, Any] = {}
            built: list[Term] = []
            for i, (t, x) in enumerate(zip(a.inputs, a.arrays, strict=True)):
                array, read = view(x) if i in moved and x.ndim else (x, lambda t: t)
                leaf = term(Input(f"x{i}", array_type(array.dtype, array.shape), range=t.op.range))
                leaves[leaf] = array
                built.append(as_term(read(leaf)))
            if all(map(is_, built, leaves)):
                continue
            arrays = interpret(built, leaves)
            plain = [
                term(Input(t.op.name, array_type(x.dtype, x.shape), range=t.op.range))
                for t, x in zip(a.inputs, arrays, strict=True)
            ]
            try:
                want = Application(a.op, plain, arrays).results(arrays)
            except Exception:
                continue  # not of these shapes
            node = a.applied(built)
            (found,) = interpret([node], leaves)
            for x, y in zip(found if isinstance(node.type, TupleType) else (found,), want, strict=True):
                fine = np.shape(x) == y.shape and _close(x, y)
                why = f"operands {moved}, {name}, give another result than arrays like them"
                yield None if fine else Found(why, str(x), str(y), {t.op.name: v for t, v in leaves.items()})


VIEWS: dict[str, Callable[[Any], tuple[Any, Callable[[Term], Any]]]] = {
    "stretched along the last axis": lambda x: (x[..., :1], lambda t: broadcast_to(t, x.shape)),
    "stretched along the first axis": lambda x: (x[:1], lambda t: broadcast_to(t, x.shape)),
    "squeezed behind": lambda x: (x[..., None], lambda t: squeeze(t, (-1,))),
    "squeezed in front": lambda x: (x[None], lambda t: squeeze(t, (-x.ndim - 1,))),
    "expanded": lambda x: (x[..., 0], lambda t: expand(t, (-1,))),
}
"""Arrays that an operand is read from, and how."""


def ranges(a: Application, rng: np.random.Generator) -> Trial:
    """low ≤ f(x)ᵢ ≤ high, where [low, high] = `range_of` the operands' ranges."""
    if isinstance(a.node.type, TupleType) or not a.node.type.differentiable:
        return
    said = range_of(a.node)
    slack = Interval(said.low - CLOSE * (1 + abs(said.low)), said.high + CLOSE * (1 + abs(said.high)))
    for x in a.results(a.arrays)[0].flat:
        if not slack.holds(x):
            yield Found("an entry lies outside the range that was declared", str(said), str(x))
            return
    yield None


def connections(a: Application, rng: np.random.Generator) -> Trial:
    """f(x + ¼) = f(x) for each output that `connection_pattern` says is not connected to x."""
    if a.node.op != a.op:
        return
    pattern = a.op.connection_pattern(a.node)
    before = a.results(a.arrays)
    for i in a.floats:
        moved = [x + 0.25 * (j == i) for j, x in enumerate(a.arrays)]
        for connected, x, y in zip(pattern[i], before, a.results(moved), strict=True):
            if not connected:
                why = f"an output depends on operand {i}, to which it is said not to be connected"
                yield None if _close(x, y) else Found(why, str(x), str(y))


def source(a: Application, rng: np.random.Generator) -> Trial:
    """source(x) = perform(x): the generated source computes the same."""
    traced = trace(
        lambda *xs: [Tracer(out) for out in outputs_of(a.applied([as_term(x) for x in xs]))], a.arrays
    )
    found = flatten(compile_program(traced, traced.outputs, "f")(*[x.copy() for x in a.arrays]))[0]
    (said,) = [interpret(traced.outputs, dict(zip(traced.inputs, a.arrays, strict=True)))]
    for x, y in zip(found, said, strict=True):
        same = _close(np.asarray(x), np.asarray(y))
        yield None if same else Found("the source computes something else than perform", str(x), str(y))


def balls(a: Application, rng: np.random.Generator) -> Trial:
    """f(x) in floats ≈ f(x) in balls: ball arithmetic encloses what floats compute; |difference| ≤ CLOSE."""
    if isinstance(a.node.type, TupleType) or type(a.op).ball is Contract.ball:
        return
    (found,) = evaluate([a.node], dict(zip(a.inputs, a.arrays, strict=True)), 200)
    for ball, x in zip(found.flat, a.results(a.arrays)[0].flat, strict=True):
        if ball.is_finite() and float(ball.rad()) < CLOSE * (1 + abs(float(ball.mid()))):
            same = abs(float(ball.mid()) - float(x)) <= CLOSE * 1e3 * max(1.0, abs(float(x)))
            why = "ball arithmetic gives another number than perform"
            yield None if same else Found(why, ball.str(17, radius=False), str(x))


def pullback(a: Application, rng: np.random.Generator) -> Trial:
    """⟨pullback(w), v⟩ = Σ w·(f(x + h·v) − f(x − h·v))/(2·h):
    the pullback along a direction is the difference quotient.
    """
    weights = [np.asarray(rng.normal(size=y.shape)) for y in _floating(a, a.arrays)]
    for b, i in a.moves() if weights else ():
        direction = b.along(i, rng)
        quotients = _quotients(b, direction)
        if not all(np.all(smooth) for _, smooth in quotients):
            continue
        outputs = partial(_outputs, b, i)
        try:
            (cotangent,) = _computed(lambda x, f=outputs: pull_along(f, (x,), weights), b, i)
        except GradientError:
            continue  # the op says that it has none
        products = [w * q for w, (q, _) in zip(weights, quotients, strict=True)]
        along, scale = (sum(float(np.sum(f(p))) for p in products) for f in (np.asarray, np.abs))
        found = float(np.sum(cotangent * direction[i[0]]))
        why = f"the pullback to operand {_named_places(i)} is no derivative, along a direction"
        yield None if abs(found - along) <= ROUGH * (1 + scale) else Found(why, str(found), str(along))


def pushforward(a: Application, rng: np.random.Generator) -> Trial:
    """pushforward(v) = (f(x + h·v) − f(x − h·v))/(2·h): the pushforward is the difference quotient."""
    for b, i in a.moves() if _floating(a, a.arrays) else ():
        direction, outputs = b.along(i, rng), partial(_outputs, b, i)

        def pushed(x: Any, f: Any = outputs, v: Any = direction[i[0]]) -> Any:
            """x → the pushforward along v, of a symbolic operand."""
            return push_along(f, (x,), (v,))[1]

        try:
            tangents = _computed(pushed, b, i)
        except GradientError:
            continue  # the op says that it has none
        for y, (found, smooth) in zip(tangents, _quotients(b, direction), strict=True):
            same = np.all((np.abs(y - found) <= ROUGH * (1 + np.abs(found))) | ~smooth)
            yield (
                None
                if same
                else Found(
                    f"the pushforward in operand {_named_places(i)} is no derivative", str(y), str(found)
                )
            )


def _quotients(a: Application, direction: Sequence[Any]) -> list[tuple[Any, Any]]:
    """v → [((f(x + h·v) − f(x − h·v))/(2·h), smooth)]: the difference quotients by two steps, and where they agree."""
    found = []
    for h in (STEP, STEP / 2):
        ends = [[x + s * h * v for x, v in zip(a.arrays, direction, strict=True)] for s in (1, -1)]
        high, low = (_floating(a, arrays) for arrays in ends)
        found.append([(p - q) / (2 * h) for p, q in zip(high, low, strict=True)])
    return [
        ((4 * fine - rough) / 3, np.abs(fine - rough) <= 1e-3 * (1 + np.abs(fine)))
        for rough, fine in zip(*found, strict=True)
    ]


def _floating(a: Application, arrays: Sequence[Any]) -> list[Any]:
    return [y for y in a.results(arrays) if y.dtype.kind == "f"]


def _named_places(places: Sequence[int]) -> str:
    return " and ".join(map(str, places))


def _outputs(a: Application, places: Sequence[int], y: Any) -> list[Any]:
    """Return the outputs that are floats, of an array in its places, the others being what they are."""
    node = a.applied([as_term(y if j in places else x) for j, x in enumerate(a.arrays)])
    return [Tracer(out) for out in outputs_of(node) if out.type.differentiable]


def _computed(fun: Callable[..., Any], a: Application, places: Sequence[int]) -> list[Any]:
    """fun, x → [fun(x)]: a function of a symbolic operand, its gradients expanded and nothing rewritten."""
    x = a.arrays[places[0]]
    traced = trace(fun, (x,))
    after = schedule(traced.outputs, Library([]), NAIVE).after
    return [np.asarray(y) for y in interpret(after, dict.fromkeys(traced.inputs, x))]


def laws(a: Application, rng: np.random.Generator) -> Trial:
    """left = right, for each law that the op declares and each pair of sides."""
    for name, left, right in chain(_algebraic(a, rng), _linear(a, rng), _of_meaning(a, rng)):
        same = _close(np.asarray(left), np.asarray(right))
        yield None if same else Found(f"the op is not {name}", str(left), str(right))


def _close(x: Any, y: Any) -> bool:
    """|x − y| ≤ CLOSE·(1 + |y|), NaN = NaN: whether arrays that broadcast are close."""
    try:
        x, y = np.broadcast_arrays(x, y)
    except ValueError:
        return False
    return bool(np.allclose(x, y, rtol=CLOSE, atol=CLOSE, equal_nan=True))


def _named(name: str | None) -> Op | None:
    return next((op for op in known_ops() if op.ground and op.name == name), None) if name else None


Sides = Iterator[tuple[str, Any, Any]]
"""What a law is called that the op has then not, and both sides of it."""


def _of_its_kind(a: Application) -> Any:
    """Return the first array, as booleans where the results are."""
    return a.arrays[0] > 0.5 if a.types[0].dtype.kind == "b" else a.arrays[0]


def _algebraic(a: Application, rng: np.random.Generator) -> Sides:
    """f(x, y) = f(y, x), f(f(x, y), z) = f(x, f(y, z)), f(x, x) = x, f(x, e) = x, …: the sides of what `laws` declares.

    Of an inverse g, f(g(f(x))) = f(x); of a homomorphism, f(x + y) = f(x)·f(y) for its + and ·, as eˣ⁺ʸ = eˣ·eʸ.
    """
    f, laws, x, two = a.op, a.op.laws, _of_its_kind(a), len(a.arrays) == 2
    if laws.commutative:
        yield "commutative", f(*a.arrays), f(*a.arrays[::-1])
    if laws.associative and {y.shape for y in (*a.arrays, *a.results(a.arrays))} == {x.shape}:
        y, z = a.arrays[1], _permuted(np.abs(a.arrays[0]), rng)
        yield "associative", f(f(a.arrays[0], y), z), f(a.arrays[0], f(y, z))
    if laws.idempotent:
        yield ("idempotent", f(x, x), x) if two else ("idempotent", f(f(x)), f(x))
    if laws.identity is not None and two:
        e = np.asarray(laws.identity, dtype=x.dtype)
        for operands in ((x, e), (e, x))[: 1 + laws.commutative]:
            yield "neutral to its identity", f(*operands), x
    if laws.absorbing is not None and two:
        e = np.asarray(laws.absorbing, dtype=a.arrays[0].dtype)
        yield "absorbed by its absorbing element", f(a.arrays[0], e), e
    if laws.parity:
        for i, y in enumerate(a.arrays):
            mirrored = f(*a.arrays[:i], -y, *a.arrays[i + 1 :])
            yield "odd or even", mirrored, laws.parity * f(*a.arrays)
    if len(a.arrays) == 1:
        x = a.arrays[0]
        if (other := _named(laws.inverse)) is not None:
            yield "undone by its inverse", f(other(f(x))), f(x)
        add, multiply = map(_named, laws.homomorphism or ("", ""))
        if add is not None and multiply is not None:
            y = _permuted(x, rng)
            yield "a homomorphism", f(add(x, y)), multiply(f(x), f(y))
        if laws.monotone:
            rise = laws.monotone * (np.asarray(f(x + 0.125), dtype=float) - f(x))
            yield "monotone", np.where(np.isnan(rise), 0.0, np.minimum(rise, 0.0)), 0.0


def _permuted(x: Any, rng: np.random.Generator) -> Any:
    return np.asarray(rng.permutation(np.ravel(x)).reshape(x.shape))


def _linear(a: Application, rng: np.random.Generator) -> Sides:
    """f(x + c·u, y) = f(x, y) + c·f(u, y) for each operand in which it is linear."""
    for i in set(a.op.laws.linear).intersection(a.floats):
        u, c = np.asarray(rng.normal(size=a.arrays[i].shape)), float(rng.normal())
        at = [
            [v if j == i else x for j, x in enumerate(a.arrays)]
            for v in (a.arrays[i], u, a.arrays[i] + c * u)
        ]
        for f, g, h in zip(*[a.results(arrays) for arrays in at], strict=True):
            yield "linear", h, f + c * g


def _of_meaning(a: Application, rng: np.random.Generator) -> Sides:
    """1 − f(x) = complement(x), f(x) = from_one(1 − x), 1 − f(x) = reflected(1 − x), …: what else an op says it is."""
    f: Any = a.op
    xs = a.arrays
    less = [1 - x if x.dtype.kind == "f" else x for x in xs]
    if f.laws.selects:
        for y in a.results(xs):
            yield "a selection of entries", np.isin(y, xs[0]), True
    if f.complement is not None:
        yield "left of one by its complement", 1 - f(*xs), f.complement(*xs)
    if f.from_one is not None:
        yield "a function of the distance from one", f(*xs), f.from_one(*xs[:-1], less[-1], xs[-1])
    if f.reflected is not None:
        yield "left of one by its reflection", 1 - f(*xs), f.reflected(*less)
    if f.invariant:
        yield "the same without an offset", f(xs[0] + rng.normal(), *xs[1:]), f(*xs)
    if f.displaces:
        offset = xs[0] - f(*xs)
        yield "an operand less an offset", offset, np.mean(offset, axis=f.axes, keepdims=True)
    if f.in_entries is not None and (found := f.in_entries(*xs)) is not None:
        yield "the same in entries", f(*xs), found


CLAIMS: dict[str, Callable[[Application, np.random.Generator], Trial]] = {
    "types": types,
    "shapes": shapes,
    "operands": inputs_alone,
    "repetition": repeated,
    "readings": readings,
    "range": ranges,
    "connections": connections,
    "source": source,
    "balls": balls,
    "pullback": pullback,
    "pushforward": pushforward,
    "laws": laws,
}
"""What is tried of every op."""
