"""What the system asks of an op, with the answers that hold where it gives none, after Aesara's `Op`.

Source: Aesara documentation, "Ops". Changed from the source: an application is a term, so that `node` is a term
where Aesara has an `Apply`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from relgrad.errors import GradientError, LawError, OpError
from relgrad.looks import Shown
from relgrad.symbolic import tracing
from relgrad.term import Term
from relgrad.types import REAL, ArrayType, Interval, TupleType


@dataclass(frozen=True, slots=True)
class Laws(Shown):
    """The algebraic laws of an op, which theories and relations may use.

    `linear` lists the operands in which the op is linear; `homomorphism=("add", "multiply")` says
    f(a + b) = f(a)·f(b); `inverse` names f⁻¹; `monotone` is +1 or -1 where f is increasing or decreasing;
    `selects` says that every entry of the result is an entry of the first operand, so that it commutes with
    every function of single entries; `extreme` is +1 where no operand is larger than the result, -1 where none is
    smaller; `parity` is +1 where f(−x) = f(x), -1 where f(−x) = −f(x), in each
    operand, and 0 where theories need not know.
    """

    associative: bool = False
    commutative: bool = False
    idempotent: bool = False
    identity: Any = None
    absorbing: Any = None
    inverse: str | None = None
    linear: tuple[int, ...] = ()
    monotone: int = 0
    homomorphism: tuple[str, str] | None = None
    selects: bool = False
    extreme: int = 0
    parity: int = 0

    def __post_init__(self) -> None:
        """identity = absorbing, monotone = 2, linear = (−1,) → LawError:
        laws that contradict each other are refused.
        """
        joins = self.associative or self.commutative
        if self.identity is not None and self.identity == self.absorbing:
            raise LawError(
                f"the identity of an op is also absorbing: {self.identity!r}",
                cause="then x = f(x, e) = e for every x",
                cure="give another identity or absorbing element, or leave one out",
            )
        if joins and self.inverse is not None:
            raise LawError(
                f"an associative or commutative op has an inverse function: {self.inverse!r}",
                cause="`inverse` names g with g(f(x)) = x, so f has one operand; f(x, x) = x would make f trivial",
                cure="leave `inverse` out; the inverse of an operand, as -x under addition, is an op of its own",
            )
        if self.monotone not in (-1, 0, 1):
            raise LawError(
                f"monotone={self.monotone!r} is no direction",
                cause="a function increases (1), decreases (-1) or nothing is known (0)",
                cure="give 1, -1 or 0",
            )
        if any(type(position) is not int or position < 0 for position in self.linear):
            raise LawError(
                f"linear={self.linear!r} names no operands",
                cause="operands are counted from 0, at the left",
                cure="list the positions of the operands, as in linear=(0, 1)",
            )


SELECTION = Laws(linear=(0,), selects=True)
"""The laws of an op that moves or picks entries of its first operand."""


FRESH: Mapping[int, Sequence[int]] = MappingProxyType({})
"""The `view_map` of an op whose results share memory with no input."""


class Contract:
    """result type, value, pullback, laws of f(x, …) ⟶ one class: the questions to an op, with the answers of most.

    `Op` adds identity and application.
    """

    default_output: int | None = None
    arity: int | None = None
    """How many operands it takes; None where only their types tell."""
    laws: Laws = Laws()
    imports: tuple[str, ...] = ()
    """The names of `relgrad.kernels` that generated source needs."""
    elementwise: bool = False
    implicit: bool = False
    """Whether it is expanded, and never computed."""
    destroy_map: Mapping[int, Sequence[int]] = MappingProxyType({})
    """Which inputs `perform` overwrites, by output; it gets copies of them."""
    view_map: Mapping[int, Sequence[int]] | None = None
    """Which inputs the memory of each output may be that of; None where nothing is said, and any may be."""
    read_only: bool = False
    """Whether what shares the memory of an input must not be written to, as entries that are repeated in place."""
    named: bool = True
    """Whether generated source names results after the op; t1, t2, … where entries are but moved or chosen."""
    distance: tuple[int, int, int] | None = None
    """Which inputs are x, y and their distance x − y, of an op that is told it besides, and 0 where that is."""

    # Evaluating

    def perform(self, node: Term | None, inputs: list[Any], output_storage: list[list[Any]]) -> None:
        """cells[i] := f(x)ᵢ: computes the op on arrays and puts the results into the storage cells."""
        results = self.compute(*inputs)
        if not isinstance(results, tuple):
            results = (results,)
        for cell, result in zip(output_storage, results, strict=True):
            cell[0] = result

    def compute(self, *arrays: Any) -> Any:
        """Compute the op on arrays; a tuple for several outputs."""
        raise OpError(
            f"op {self} cannot be evaluated", cure="define perform(self, node, inputs, output_storage)"
        )

    def debug_perform(self, node: Term | None, inputs: list[Any], output_storage: list[list[Any]]) -> None:
        """Do what `perform` does, in debug mode."""
        self.perform(node, inputs, output_storage)

    def evaluate(
        self, node: Term | None, inputs: Sequence[Any], debug: bool = False, typed: bool = True
    ) -> list[Any]:
        """[x, y] → [f(x, y)]: the arrays that `perform` (`debug_perform`) stores, of the types that the application
        has.

        `perform` gets copies of the inputs that `destroy_map` lists, and the others read-only. Raises OpError where it
        writes to those, or stores something else than arrays of the declared dtypes and shapes, if these are `typed`.
        """
        types = (None,) * self.n_outputs if node is None else _outputs(node.type)
        storage: list[list[Any]] = [[None] for _ in types]
        given = list(map(_protected, inputs))
        for positions in self.destroy_map.values():
            for i in positions:
                given[i] = inputs[i].copy()
        around, tracing.wrapper = tracing.wrapper, None  # what an op does with arrays is no part of a trace
        try:
            (self.debug_perform if debug else self.perform)(node, given, storage)
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            raise OpError(
                f"op {self} writes to an input",
                cause=str(error),
                cure="copy it, or list it: destroy_map = {0: [0]} says that output 0 overwrites input 0",
            ) from error
        finally:
            tracing.wrapper = around
        if not typed:
            return [np.asarray(cell[0]) for cell in storage]
        return [
            self._checked(i, cell[0], kind) for i, (cell, kind) in enumerate(zip(storage, types, strict=True))
        ]

    partial: bool = False
    """Whether evaluation raises for some values of operands that have the right types: a singular matrix."""

    def may_raise(self, node: Term) -> bool:
        """Whether that of an application raises for some values."""
        return self.partial

    def _checked(self, i: int, value: Any, kind: Any) -> Any:
        """value → array of the declared type; raises OpError for another dtype or shape."""
        if not isinstance(kind, ArrayType):
            return value
        array = value if isinstance(value, np.generic) else np.asarray(value)
        if array.dtype == kind.dtype and (array.shape == kind.shape or kind.admits(array.shape)):
            return array
        stored = (
            f"{array.dtype} of shape {array.shape}"
            if isinstance(value, (np.ndarray, np.generic))
            else repr(value)
        )
        declared = kind.shape if None not in kind.shape else repr(kind)
        raise OpError(
            f"op {self} stores {stored} as output {i}, which it declares as {kind.dtype} of shape {declared}",
            cause="`perform` does not do what `make_node` or `output_type` says",
            cure="store an array of the declared type, or declare another",
        )

    n_outputs: int = 1

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        """Return a NumPy expression for the result, or None where only `perform` can compute it."""
        return None

    def do_constant_folding(self, fgraph: Any, node: Term) -> bool:
        """Whether an application to constants may be computed once and for all."""
        return True

    def infer_shape(
        self, fgraph: Any, node: Term, shapes: Sequence[tuple[Any, ...]]
    ) -> list[tuple[Any, ...]]:
        """Return a shape for each output, from the shapes of the inputs."""
        return [t.shape for t in _outputs(node.type)]

    # Differentiating

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        """x, y = f(x), ȳ → x̄ = (∂y/∂x)ᵀ·ȳ: the pullback, for each input its cotangent; None where the cost depends not
        on it.

        All arguments are symbolic arrays: write the rule in NumPy. An unused output's gradient is None.
        """
        return self.grad(inputs, output_gradients)

    def grad(self, inputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        """x, ȳ → x̄: the pullback, as `L_op`, without the outputs."""
        raise GradientError(
            f"op {self} has no gradient",
            cause="neither grad nor L_op is defined",
            cure="define L_op(self, inputs, outputs, output_gradients), or return grad_undefined(...) from it",
        )

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any] | None:
        """x, ẋ → ẏ = (∂y/∂x)·ẋ: the pushforward, the tangent of each output from those of the inputs (None is a known
        zero).

        At least one input has a tangent. By default f(ẋ, y) + f(x, ẏ), where f is linear in each of x and y; None
        leaves it to the system, which transposes the pullback.
        """
        return None

    def increment(self, inputs: list[Any], others: list[Any], increments: list[Any]) -> Any:
        """x, y, x − y → f(x) − f(y): told the inputs, others and increments (None where both are the same).

        All arguments are symbolic arrays, as those of `L_op`. None leaves it to the system: ops are applied to the
        increment of an operand in which they are linear, and what is elementwise has an op of its difference.
        """
        return None

    connected: tuple[int, ...] | None = None
    """The inputs whose entries affect those of the outputs; None is all of them."""

    def connection_pattern(self, node: Term) -> list[list[bool]]:
        """broadcast_like(x, y) → [[True], [False]]: for each input, for each output, whether the one's entries affect
        the other's.
        """
        inputs = range(len(node.rands))
        return [
            [i in (inputs if self.connected is None else self.connected)] * self.n_outputs for i in inputs
        ]

    # Where analysis leaves a choice

    def under(self, conventions: Any) -> Any:
        """Return an op with the derivatives that conventions give this one; it is applied as this one itself."""
        return self

    def settled(self, conventions: Any, *operands: Any) -> tuple[str, Any] | None:
        """Return the convention that gives the application another value than the usual one, and that value, or None.

        Operands and value are symbolic arrays. entr(x): ("zero_log", np.where(x == 0, np.nan, entr(x))).
        """
        return None

    # Reasoning

    def mixes(self, node: Term, i: int) -> tuple[int, ...] | None:
        """Return along which negative axes entries of operand i reach entries of the result; None is all of them.

        An entry of the result depends on entries in its own place along the other axes. Where the op is linear,
        op(…, a·x, …) = a·op(…, x, …) for every a that has extent 1 along these axes.
        """
        return None

    def entries(self, node: Term, pattern: Sequence[Any]) -> Any:
        """concatenate([x, y])[:n] → x, where x has n entries:
        entries of an application as those of an operand; or None.

        A pattern has an integer or a slice, as a tuple, for each axis, as that of `Index` has.
        """
        return None

    def in_log_domain(self, node: Term) -> tuple[Any, Any] | None:
        """Return (w, x) with w·eˣ the application, where x may leave the range of eˣ; w = None is 1.

        None is an op that says nothing of its logarithm.
        """
        return None

    def log_size(self, *operands: Any) -> tuple[Any, Any] | None:
        """Return (s, log|f|) of f = op(operands), which may leave the floats where its logarithm does not; or None.

        s has the sign of f; None is f itself. Operands and answer are symbolic arrays.
        Γ(x): ((−1)^⌊x⌋ where x < 0, gammaln(x)).
        """
        return None

    def over_length(self, *operands: Any) -> tuple[Any, Any] | None:
        """x/‖x‖ → (‖x‖, x): a length, and the numerator over it where the length is not 0;
        the quotient is 0 there. Or None.

        Operands and answer are symbolic arrays.
        """
        return None

    range: Interval | Callable[..., Interval] = REAL
    """Where the entries of the result lie; or that, of where those of the inputs lie."""

    def range_of(self, *ranges: Interval) -> Interval:
        """Return where the entries of the result lie, from where those of the inputs lie."""
        return self.range(*ranges) if callable(self.range) else self.range

    finite: bool | Callable[..., bool] = False
    """Whether results are finite wherever operands are, short of overflow; or that, of the ranges of operands.

    log(x): x.low > 0. What is bounded is finite anyway.
    """
    jumps: bool = False
    """Whether it is constant but for jumps, as ⌊x⌋ is."""
    kinks: bool = False
    """Whether it is in parts one of its operands, or the negative of one, as |x| is."""
    one_part: Callable[[Interval], tuple[Any, ...] | None] | None = None
    """Of the range of an operand, or of the difference of two, the rules of the one part there is: x of |x| for x ≥ 0.

    None where there are more.
    """
    divisors: tuple[int, ...] = ()
    """The operands of which only a zero makes the result infinite, though others are finite: y of x/y."""
    signs: tuple[int, ...] = ()
    """The operands, divisors apart, of which the sign of a zero shows: both of arctan2(x, y)."""

    grows: bool = False
    """Whether results may leave the range of floats though operands are in it, as eˣ and x·y do."""
    vanishes: bool = False
    """Whether results may be too small for floats though operands are in their range, as log(1 + eˣ) is."""
    out_of_range: str = "returns"
    """What becomes of operands that have left the range of floats.

    "stays": the result has left it as well, as x + y; "absorbed": it is right nonetheless, as e⁻ˣ is 0; "returns": it
    may be in range again, and wrong, as log x.
    """

    zero_first: bool = False
    """Whether it is 0 where the first operand is, whatever the others are: x·log y."""
    word: str = ""
    """What the names of rows call it; its own name if this is empty."""
    negation: Any = None
    """The comparison that holds where this one does not, but for NaN: x ≥ y of x < y."""
    complement: Callable[..., Any] | None = None
    """Of its operands, what is left of one, 1 − f(x), where that has a function of its own: σ(−x) of σ(x)."""
    alone: bool = True
    """Whether 1 − f(x) is read so where it stands by itself, and is not left to rows, which may speak of more."""
    from_one: Callable[..., Any] | None = None
    """f(…, x), of …, 1 − x, x, if f multiplies errors of x near one: 2·arctan2(√d, √(2 − d)), d = 1 − x, of arccos."""
    reflected: Callable[..., Any] | None = None
    """The g with 1 − f(x, y, …) = g(1 − x, 1 − y, …) for real operands, which does not cancel: min of max."""
    in_entries: Callable[..., Any] | None = None
    """The same in sums and products of entries, where its derivatives lead on and on: x₀·x₁·… of Π x; None of many."""
    mirrored: Any = None
    """The comparison of exchanged operands: y > x of x < y."""
    solutions: Callable[[float], Interval] | None = None
    """Where x lies if the comparison of x with a number holds: below 2, of x < 2."""
    as_sum: tuple[int, ...] = ()
    """How the theory of sums reads an application: the coefficient of each operand; or not at all."""
    as_product: tuple[int, tuple[Any, ...]] | None = None
    """How the theory of products reads an application: a coefficient, and each operand's exponent; or not at all."""
    rounds: bool = True
    """Whether results are rounded; not where entries are moved, picked, joined, compared, or change their signs."""
    tolerant: bool = False
    """Whether an operand needs no more digits than it has after the point: eˣ⁺ᵈ = eˣ·(1 + d), and ⌊x + d⌋ = ⌊x⌋."""
    cancels: str = ""
    """Where the error of a computed operand grows, if it does.

    "sum": summands are near each other in size, and of opposite signs; "zeros": the result vanishes where the operand
    does not, as log u at 1; "centre": the operand is far from 0 beside the result, u less its mean; "difference": so
    are the first two, Σ x less y; "rows": those of a matrix are nearly dependent, and eliminated; "turns": whole ones
    are taken off a large angle.
    """

    def minuend(self, *operands: Any) -> Any:
        """u of u − mean u, p·(1 − p)·g of p·(g − Σpg): beside which a result is small if digits are lost at a "centre".

        Without what an entry takes from itself: (g − p·Σg)ᵢ = (1 − pᵢ)·gᵢ − pᵢ·Σ gⱼ of the others.
        """
        return operands[0]

    invariant: bool = False
    """Whether an offset of its first operand, the same along its axes, changes nothing: softmax(x + c) = softmax(x)."""
    displaces: bool = False
    """Whether it is its first operand less an offset, the same along its axes: log_softmax(x) = x − log Σ eˣ."""
    margin: Callable[..., Any] | None = None
    """How far computed operands are from where their errors are multiplied, if anywhere: 1 - |u| of arcsin u."""
    rough: tuple[int, ...] | Callable[..., tuple[int, ...]] = ()
    """The operands in which there is no derivative where they are 0, as √x; or those, of the ranges of operands."""

    continues: bool = False
    """Whether the derivatives are real outside the domain as well, as 1/x is where log x is not."""

    def outside(self, *operands: Any) -> Any:
        """Return where operands are outside the domain, so that the op is no real number; None is nowhere.

        Operands and answer are symbolic arrays, the answer of truth values: `x < 0` of a root.
        """
        return None

    is_strict: bool = False
    """NaN ∈ x → NaN = f(x, y) wherever x reaches: whether NaN in an operand, the others finite, makes all those entries
    NaN.

    It can reach those of an elementwise op that it meets, and of an op over axes those along them.
    """

    def strict(self, node: Term) -> bool:
        """Whether that holds of an application."""
        return self.is_strict

    times: int = 0
    """How often what `meaning` returns is differentiated in its only operand."""

    def meaning(self, *operands: Any) -> Any:
        """sinc(x) → np.sin(x) / x: an elementwise op in others, on symbolic arrays; None where its rule says it.

        Only the function counts, not how well it is computed so; at single points it may be undefined.
        """
        return None

    def definition(self, *operands: Any) -> Any:
        """Return what `meaning` says where the op is that, and no derivative of it: exprel(x) = (eˣ − 1)/x; or None."""
        return None if self.times else self.meaning(*operands)

    def beside(self, *operands: Any) -> Any:
        """⌊x⌋ → np.floor_divide(x, 1), copysign(x, y) → |x|·sign(y): an elementwise op next to where it turns or jumps.

        By quotients rounded down and signs, on symbolic arrays; another at single points, perhaps. None for others.
        """
        return None

    def unbounded(self, far: bool, *operands: Any) -> Any:
        """log₂ x → log x/LN2 near 0: an elementwise op in others near where it has no finite value.

        arcsinh(x): log(x + √(x² + 1)). Near infinite operands (`far`) it may be the first terms of an asymptotic
        series, in as many powers as count.
        """
        return self.definition(*operands)

    def ball(self, *balls: Any) -> Any:
        """Compute the op in ball arithmetic, on object arrays of `flint.arb`."""
        raise OpError(f"op {self} has no high-precision evaluation", cure="define ball(self, *balls)")


def along_axis(self: Any, node: Term, i: int) -> tuple[int, ...] | None:
    """cumsum over −1 → (−1,): what an op that acts along one axis answers to `mixes`."""
    return (self.axis,)


def of_first(x: Interval, *others: Interval) -> Interval:
    """[0, 1], … → [0, 1]: the range of entries that are some of the first operand's."""
    return x


def total(tangents: Sequence[Any]) -> Any:
    """Return the sum of tangents, of which None is a known zero; None if there are no others."""
    moving = [t for t in tangents if t is not None]
    return sum(moving[1:], moving[0]) if moving else None


def _outputs(kind: Any) -> Sequence[Any]:
    return kind.outputs if isinstance(kind, TupleType) else (kind,)


def _protected(x: Any) -> Any:
    """x → a view of x that cannot be written to; what is no array → itself."""
    if type(x) is not np.ndarray:
        return x
    view = x.view()
    view.flags.writeable = False
    return view
