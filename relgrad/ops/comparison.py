"""Comparisons and truth: what is constant wherever it is continuous, and has no gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad.contract import Laws
from relgrad.op import strong
from relgrad.ops.arguments import predicate_ball
from relgrad.ops.elementwise import Elementwise, elementwise
from relgrad.ops.intervals import TRUTH
from relgrad.types import Interval


class Predicate(Elementwise):
    """x < y ∈ {False, True}: an elementwise op that says what is true of numbers, whose own dtypes do not matter."""

    rounds = False

    def _promote(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        try:
            return super()._promote(inputs)
        except OverflowError:  # NumPy compares small integers with Python's of any size
            return tuple([strong(x) for x in inputs])


def _row(ufunc: np.ufunc, code: str | None = None, **options: Any) -> Elementwise:
    return elementwise(ufunc, *[None] * ufunc.nin, kind=Predicate, code=code, range=TRUTH, **options)


equal = _row(
    np.equal,
    "{} == {}",
    laws=Laws(commutative=True),
    ball=predicate_ball(lambda x, y: x == y, lambda x, y: x != y),
    solutions=lambda bound: Interval(bound, bound),
)
not_equal = _row(
    np.not_equal,
    "{} != {}",
    laws=Laws(commutative=True),
    ball=predicate_ball(lambda x, y: x != y, lambda x, y: x == y),
)
less = _row(
    np.less,
    "{} < {}",
    ball=predicate_ball(lambda x, y: x < y, lambda x, y: x >= y),
    solutions=lambda bound: Interval(high=bound, open_high=True),
)
less_equal = _row(
    np.less_equal,
    "{} <= {}",
    ball=predicate_ball(lambda x, y: x <= y, lambda x, y: x > y),
    solutions=lambda bound: Interval(high=bound),
)
greater = _row(
    np.greater,
    "{} > {}",
    ball=predicate_ball(lambda x, y: x > y, lambda x, y: x <= y),
    solutions=lambda bound: Interval(low=bound, open_low=True),
)
greater_equal = _row(
    np.greater_equal,
    "{} >= {}",
    ball=predicate_ball(lambda x, y: x >= y, lambda x, y: x < y),
    solutions=lambda bound: Interval(low=bound),
)
for one, other in ((equal, not_equal), (less, greater_equal), (greater, less_equal)):
    one.negation, other.negation = other, one
for one, other in ((equal, equal), (not_equal, not_equal), (less, greater), (less_equal, greater_equal)):
    one.mirrored, other.mirrored = other, one


logical_and = _row(
    np.logical_and,
    laws=Laws(associative=True, commutative=True, idempotent=True, identity=1.0, absorbing=0.0),
    ball=predicate_ball(lambda x, y: x != 0 and y != 0, lambda x, y: x == 0 or y == 0),
)
logical_or = _row(
    np.logical_or,
    laws=Laws(associative=True, commutative=True, idempotent=True, identity=0.0, absorbing=1.0),
    ball=predicate_ball(lambda x, y: x != 0 or y != 0, lambda x, y: x == 0 and y == 0),
)
logical_xor = _row(
    np.logical_xor,
    laws=Laws(associative=True, commutative=True, identity=0.0),
    ball=predicate_ball(
        lambda x, y: (x != 0 and y == 0) or (x == 0 and y != 0),
        lambda x, y: (x != 0 and y != 0) or (x == 0 and y == 0),
    ),
)
logical_not = _row(
    np.logical_not,
    laws=Laws(inverse="logical_not", homomorphism=("logical_and", "logical_or")),
    ball=predicate_ball(lambda x: x == 0, lambda x: x != 0),
)

# A ball that is no number says that nothing is known, and so do these.
isnan = _row(np.isnan, ball=predicate_ball(lambda x: False, lambda x: x.is_finite() or x.is_exact()))
isinf = _row(
    np.isinf,
    ball=predicate_ball(lambda x: x.is_exact() and not x.is_finite(), lambda x: x.is_finite()),
)
isfinite = _row(
    np.isfinite,
    ball=predicate_ball(lambda x: x.is_finite(), lambda x: x.is_exact() and not x.is_finite()),
)
signbit = _row(np.signbit, ball=predicate_ball(lambda x: x < 0, lambda x: x > 0), signs=(0,))


def _bitwise(ufunc: np.ufunc, code: str | None = None, **laws: Any) -> Elementwise:
    return elementwise(ufunc, *[None] * ufunc.nin, code=code, laws=Laws(**laws))


bitwise_and = _bitwise(
    np.bitwise_and,
    "{} & {}",
    associative=True,
    commutative=True,
    idempotent=True,
    identity=-1.0,
    absorbing=0.0,
)
bitwise_or = _bitwise(
    np.bitwise_or,
    "{} | {}",
    associative=True,
    commutative=True,
    idempotent=True,
    identity=0.0,
    absorbing=-1.0,
)
bitwise_xor = _bitwise(np.bitwise_xor, "{} ^ {}", associative=True, commutative=True, identity=0.0)
invert = _bitwise(np.invert, "~{}", inverse="invert", homomorphism=("bitwise_and", "bitwise_or"))
left_shift = _bitwise(np.left_shift, "{} << {}")
right_shift = _bitwise(np.right_shift, "{} >> {}")
bitwise_count = _bitwise(np.bitwise_count)
