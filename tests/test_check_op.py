"""Checking ops: honest ones are not refuted; a lie in any of what an op says of itself is found, with a witness."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import relgrad as rg
from relgrad.contract import Laws
from relgrad.logic.laws import known_ops
from relgrad.ops.deviation import Complement, Deviation, LogSoftmaxPullback, SoftmaxPullback
from relgrad.ops.lengths import Norm, PNorm, Unit, UnitPullback
from relgrad.ops.moments import Centred, LogProd, Prod1pm1
from relgrad.ops.softmax import Gibbs, LogSoftmax, LogSumExp, Softmax
from relgrad.types import POSITIVE, UNIT, Interval, array_type

pytest.importorskip("flint")


class Cube(rg.Op):
    """x³, entry by entry."""

    __props__ = ()

    def make_node(self, *inputs):
        (x,) = inputs
        return rg.apply(self, [x], [x.type])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.asarray(inputs[0] ** 3)

    def L_op(self, inputs, outputs, output_gradients):
        return [output_gradients[0] * 3 * inputs[0] ** 2]

    def R_op(self, inputs, eval_points):
        return [eval_points[0] * 3 * inputs[0] ** 2]

    def source(self, node, names):
        return f"{names[0]}**3"


class Mean(rg.Op):
    """(x + y)/2: commutative, idempotent, linear in nothing by itself."""

    __props__ = ()
    laws = Laws(commutative=True, idempotent=True)

    def output_type(self, *types):
        if types[0].shape != types[1].shape:
            raise rg.ShapeError("of arrays of one shape")
        return types[0]

    def compute(self, *arrays):
        x, y = arrays
        return np.asarray((x + y) / 2)

    def L_op(self, inputs, outputs, output_gradients):
        return [output_gradients[0] / 2, output_gradients[0] / 2]


class MeanOfFirst(Mean):
    """A mean that declares the type of its first operand, whatever it broadcasts to."""

    def output_type(self, *types):
        return types[0]


class NormOfOthers(rg.Op):
    """y/‖x‖, whose pullback forgets that an axis may repeat the entries of x."""

    __props__ = ()

    def output_type(self, *types):
        return array_type(np.float64, np.broadcast_shapes(*[t.shape for t in types]))

    def compute(self, *arrays):
        x, y = np.broadcast_arrays(*arrays)
        return np.asarray(y / np.sqrt(np.sum(x * x)))

    def L_op(self, inputs, outputs, output_gradients):
        (x, y), (g,) = inputs, output_gradients
        norm = np.sqrt(np.sum(x * x))
        return [-np.sum(g * y) * x / norm**3, g / norm]


class WrongPullback(Cube):
    def L_op(self, inputs, outputs, output_gradients):
        return [output_gradients[0] * 3.001 * inputs[0] ** 2]


class WrongPushforward(Cube):
    def R_op(self, inputs, eval_points):
        return [eval_points[0] * inputs[0] ** 2]


class WrongSource(Cube):
    def source(self, node, names):
        return f"{names[0]}**2"


class WrongType(Cube):
    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.asarray(inputs[0] ** 3, np.float32)


class WrongShape(Cube):
    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.atleast_1d(inputs[0] ** 3)[None]


class WrongInferredShape(Cube):
    def infer_shape(self, fgraph, node, shapes):
        return [(7, *shapes[0])]


class WrongRange(Cube):
    def range_of(self, *ranges):
        return POSITIVE


class RangeOfPositives(Cube):
    def range_of(self, *ranges):
        return UNIT if ranges[0].positive else Interval(-np.inf, np.inf)


class WritesIntoItsOperand(Cube):
    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.asarray(inputs[0] ** 3)
        inputs[0][...] = 0.0


class NeverTheSame(Cube):
    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.asarray(inputs[0] ** 3 + np.random.default_rng().normal())


class NotConnected(Cube):
    def connection_pattern(self, node):
        return [[False]]


class WrongBall(Cube):
    def ball(self, *balls):
        return balls[0] ** 2


class RaisesInItsPullback(Cube):
    def L_op(self, inputs, outputs, output_gradients):
        raise ZeroDivisionError("a slip")


class NotCommutative(Mean):
    def compute(self, *arrays):
        return np.asarray(0.25 * arrays[0] + 0.75 * arrays[1])


class NotAssociative(Mean):
    laws = Laws(associative=True)


class NotLinear(Cube):
    laws = Laws(linear=(0,))


class NotMonotone(Cube):
    laws = Laws(monotone=-1)


class NoInverse(Cube):
    laws = Laws(inverse="sqrt")


class NoIdentity(Mean):
    laws = Laws(commutative=True, identity=0.0)


class NoHomomorphism(Cube):
    laws = Laws(homomorphism=("add", "multiply"))


class NoSelection(Cube):
    laws = Laws(linear=(0,), selects=True)


class NotInvariant(Cube):
    invariant = True


class NotDisplaced(Softmax):
    displaces = True

    def __init__(self, axes=(-1,)):
        super().__init__(axes)


LIES = [
    (WrongPullback, "pullback"),
    (WrongPushforward, "pushforward"),
    (WrongSource, "source"),
    (WrongType, "types"),
    (WrongShape, "types"),
    (WrongInferredShape, "shapes"),
    (WrongRange, "range"),
    (RangeOfPositives, "range"),
    (WritesIntoItsOperand, "operands"),
    (NeverTheSame, "repetition"),
    (NotConnected, "connections"),
    (WrongBall, "balls"),
    (RaisesInItsPullback, "pullback"),
    (NotCommutative, "laws"),
    (NotAssociative, "laws"),
    (NotLinear, "laws"),
    (NotMonotone, "laws"),
    (NoInverse, "laws"),
    (NoIdentity, "laws"),
    (NoHomomorphism, "laws"),
    (NoSelection, "laws"),
    (NotInvariant, "laws"),
    (NotDisplaced, "laws"),
    (MeanOfFirst, "types"),
    (NormOfOthers, "pullback"),
]


@pytest.mark.parametrize("kind", [Cube, Mean])
def test_an_honest_op_is_not_refuted(kind):
    found = rg.check(kind())
    assert found.ok, found
    assert found.verdict == "not refuted"
    assert {"types", "range", "pullback"} <= {claim.what for claim in found.claims}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("kind", "what"), LIES)
def test_a_lie_is_found_with_a_witness(kind, what):
    found = rg.check(kind())
    assert found.verdict == "false"
    (claim,) = [claim for claim in found.claims if claim.what == what]
    assert claim.witness is not None, found
    assert claim.witness.why in str(found)


DEPENDENT = {"boxcox"}
"""Ops whose last operand follows from the others."""
SPECIAL = {"cholesky", "eigh"}
"""Ops of matrices or numbers of a kind that is not drawn."""
OURS = [op for op in known_ops() if op.ground and op.name not in DEPENDENT | SPECIAL]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("op", OURS[::8], ids=str)
def test_our_own_ops_are_not_refuted(op):
    found = rg.check(op)
    assert found.ok, found


ROWS = (
    [kind((-1,)) for kind in (Complement, Centred, Norm, Unit, UnitPullback, LogProd, Prod1pm1)]
    + [kind((-1,)) for kind in (Deviation, LogSoftmaxPullback, SoftmaxPullback)]
    + [kind((-1,)) for kind in (LogSoftmax, LogSumExp, Softmax)]
    + [Gibbs((-1,), 1), Gibbs((-1,), -2), PNorm((-1,), 3.0)]
)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("op", ROWS, ids=str)
def test_our_ops_over_axes_count_entries_as_often_as_they_are_repeated(op):
    found = rg.check(op)
    assert found.ok, found


WEIGHTED = [(LogSumExp((-1,)), 2), (Softmax((-1,)), 2), (Gibbs((-1,), 1), 3), (Gibbs((-1,), -1), 3)]
SIZES = [(1,), (3,), (2, 1), (2, 3)]


@pytest.mark.sampled(10)
@pytest.mark.parametrize(("op", "arity"), WEIGHTED, ids=str)
@pytest.mark.parametrize("axes", [(-1,), (-2, -1)], ids=str)
def test_weights_count_as_often_as_they_are_repeated(op, arity, axes):
    rng = np.random.default_rng(0)
    for shapes in product(*[SIZES, SIZES, SIZES[::3]][:arity]):
        if max(map(len, shapes)) >= len(axes):
            over = type(op)(axes, *op.made_of()[1:])
            found = rg.check(over, *[rng.normal(size=s) for s in shapes])
            assert found.ok, found


def test_operands_may_be_given():
    class Dot(rg.Op):
        __props__ = ()

        def make_node(self, *inputs):
            x, y = inputs
            return rg.apply(self, [x, y], [rg.array_type(np.float64, ())])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = np.asarray(np.dot(*inputs))

        def L_op(self, inputs, outputs, output_gradients):
            return [output_gradients[0] * inputs[1], output_gradients[0] * inputs[0]]

    assert rg.check(Dot(), np.ones(3), np.ones(3)).ok


def test_an_op_that_takes_nothing_that_was_tried_is_told_so():
    class Never(Cube):
        def perform(self, node, inputs, output_storage):
            raise ValueError("no")

    with pytest.raises(rg.RelgradError, match=r"could be applied to no operands(?s:.*)rg.check\(op, x, y\)"):
        rg.check(Never())
