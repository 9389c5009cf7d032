"""The class of elementwise ops: one ufunc, one row of derivatives, one range."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from relgrad.contract import total
from relgrad.errors import GradientError, OpError, ShapeError
from relgrad.implementations import IMPLEMENTATIONS, implements
from relgrad.op import Constant, Labelled, Op, constant, is_constant, strong
from relgrad.ops.align import FLOATING, align
from relgrad.ops.arguments import refuse
from relgrad.ops.casting import Cast
from relgrad.ops.structure import BroadcastTo, broadcast_to, expand, squeeze
from relgrad.term import Term, term
from relgrad.types import Type, array_type, broadcast_shapes

Rule = Callable[..., Any]

_PREPARED = frozenset((Constant, *FLOATING))
"""The heads of operands that give way to their partners: in dtype, or in the axes that they have."""


class Elementwise(Labelled):
    """f(x, y)ᵢ = f(xᵢ, yᵢ): an op that acts entry by entry under NumPy's broadcasting.

    `rules` holds, for each operand, the cotangent as a function of `(g, out, *operands)`. Since the Jacobian of an
    elementwise op is diagonal, the same rule applied to a tangent gives the pushforward. A rule of None says that
    the derivative is zero wherever it exists. A `strict` op is NaN wherever a finite operand's partner is NaN (by
    default, one of a single operand). `under` takes the op and conventions to an op with other rules. An op that is
    `called` has no source of its own: generated code calls it. All other `answers` are those to questions of the
    contract, as where operands are `outside` the domain, and to those below.
    """

    __props__ = None
    elementwise = True
    # An attribute, not a property: this is asked for each term.
    ground = True  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]
    # A number of each, where other ops may leave it open.
    arity: int  # pyright: ignore[reportIncompatibleVariableOverride]
    dtype: Callable[..., np.dtype] | None = None
    """The dtype of results, of those of operands, where NumPy's promotion does not say it."""
    undefined: str | None = None
    """Why there is no gradient."""
    exactly: Callable[..., Any] | None = None
    """Of operands, a simpler term that is equal bit for bit, or None."""
    log: Callable[..., Any] | None = None
    """Of operands, the logarithm of the size of the result; and its sign, where it has both."""
    sign: Callable[..., Any] | None = None
    zero_log: Callable[..., Any] | None = None
    """Of operands, where a value is 0·log 0."""

    @cached_property
    def _results(self) -> dict[np.dtype, np.dtype]:
        """The dtype of what operands of one dtype give."""
        return {}

    def __init__(
        self,
        label: str,
        function: Callable[..., Any],
        *rules: Rule | None,
        arity: int | None = None,
        code: str | None = None,
        ball: Callable[..., Any] | None = None,
        kernel: bool = False,
        strict: bool | None = None,
        called: bool = False,
        under: Callable[..., Op] | None = None,
        **answers: Any,
    ):
        """(sin, np.sin, rule) → code np.sin({}): an op by its label, function, and a rule for each operand."""
        self.label = label
        self.function = function
        self.rules = rules
        self.arity = len(rules) if arity is None else arity  # pyright: ignore[reportIncompatibleVariableOverride]
        self.code = code or (label if kernel else f"np.{label}") + "(" + ", ".join(["{}"] * self.arity) + ")"
        self.called, self.scalar_ball, self.choice = called, ball, under
        self.is_strict = self.arity == 1 if strict is None else strict
        told = getattr(function, "tells", "")
        self.grows, self.vanishes = told == "grows", told == "vanishes"
        if kernel:
            IMPLEMENTATIONS.setdefault(function, self)
            self.imports = (label,)
        self.says(**answers)

    def says(self, **answers: Any) -> None:
        """Answer questions of the contract: `op.says(grows=True)`."""
        for question, answer in answers.items():
            if not hasattr(Elementwise, question):
                raise OpError(
                    f"op {self.label} answers {question!r}, which nobody asks",
                    cure="see relgrad/contract.py for the questions",
                )
            setattr(self, question, answer)

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        if options:
            refuse(f"np.{self.label}", **options)
        return super().__call__(*inputs)

    def make_node(self, *inputs: Any) -> Term:
        """f(x, 2) → f(x, float64(2)), f(squeeze x) → squeeze(f(x)): operands promoted and aligned, squeezes outside."""
        if len(inputs) != self.arity:
            raise TypeError(f"{self.label} takes {self.arity} operands, not {len(inputs)}")
        same, kind = True, None
        for x in inputs:
            if not getattr(x, "ground", False):
                return term(self, *inputs)
            if same:
                kind = kind or x.type
                same = x.type is kind and type(x.op) not in _PREPARED
        if same:  # nothing to promote or to align
            return self._simplest(term(self, *inputs), inputs)
        inputs = self._widen(self._promote(inputs))
        for x in inputs:
            if type(x.op) is BroadcastTo:
                return self._broadcast_last(inputs)
        operands, axes = align(inputs)
        node = self._simplest(term(self, *operands), operands)
        return squeeze(node, axes) if axes else node

    def _simplest(self, node: Term, operands: Sequence[Any]) -> Term:
        """max(x, x) → x, and what else is equal bit for bit."""
        if self.laws.idempotent and len(operands) == 2 and operands[0] is operands[1]:
            return operands[0] if operands[0].type == node.type else node
        return node if self.exactly is None else _in_place_of(node, self.exactly(*operands))

    def with_rands(self, t: Term, rands: Sequence[Any]) -> Term:
        """f(x) with y → f(y): `make_node`, spared where operands of the same types take the place of those that were
        aligned.
        """
        for new, old in zip(rands, t.rands, strict=True):
            if new.type is not old.type or isinstance(new.op, FLOATING):
                return self.make_node(*rands)
        return self._simplest(term(self, *rands, type_=t.type), rands)

    def _broadcast_last(self, inputs: Sequence[Any]) -> Term:
        """Compute on what was stretched, and stretch the result: f(broadcast(x)) = broadcast(f(x))."""
        shape = self.output_type(*[x.type for x in inputs]).shape  # type: ignore[union-attr]
        node = self.make_node(*[x.rands[0] if type(x.op) is BroadcastTo else x for x in inputs])
        return broadcast_to(node, shape)

    def _promote(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """(x : float32, 2) → x, float32(2): weak constants in the dtype that NumPy's promotion gives them among these
        partners.
        """
        for x in inputs:
            if type(x.op) is Constant and x.op.weak:
                break
        else:
            return tuple(inputs)
        loop = self._loop(tuple([_dtype_key(x) for x in inputs]))
        return tuple([strong(x, loop[i]) for i, x in enumerate(inputs)])

    def _widen(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """(x₃₂, y₆₄) → cast(x₃₂, float64), y₆₄: explicit that floats of different precisions are brought to the larger
        one.
        """
        dtype = inputs[0].type.dtype
        for x in inputs:
            if x.type.dtype is not dtype:
                break
        else:
            return inputs
        floats = {x.type.dtype for x in inputs if x.type.dtype.kind == "f"}
        if len(floats) < 2:
            return inputs
        widest = np.result_type(*floats)
        return tuple([_widened(x, widest) if x.type.dtype.kind == "f" else x for x in inputs])

    def _loop(self, keys: tuple[Any, ...]) -> tuple[np.dtype, ...]:
        if isinstance(self.function, np.ufunc):
            return _resolve(self.function, keys)
        return (_common(keys),) * (len(keys) + 1)

    def type_of(self, rands: tuple[Any, ...]) -> Type:
        """(float64 (3,), float64 (3,)) → float64 (3,): mostly one type, of which only the dtype may change."""
        # Mostly all are of one type: then only the dtype may be another.
        kind = rands[0].type
        for x in rands:
            if x.type is not kind:
                return self.output_type(*[x.type for x in rands])
        found = self._results.get(kind.dtype)
        if found is None:
            found = self._results[kind.dtype] = self.output_type(*[kind] * len(rands)).dtype  # type: ignore[union-attr]
        return kind if found is kind.dtype else array_type(found, kind.shape)

    def output_type(self, *types: Any) -> Type:
        """(float32 (3,), float64 (2, 1)) → float64 (2, 3); raises ShapeError for shapes that do not broadcast."""
        keys = tuple([t.dtype for t in types])
        dtype = self.dtype(*keys) if self.dtype is not None else self._loop(keys)[-1]
        try:
            shape = broadcast_shapes(*[t.shape for t in types])
        except ValueError as error:
            raise ShapeError(
                f"{self.label}: {error}",
                cause="two operands of an elementwise operation must have equal extents, or 1, along each axis",
                cure="insert an axis with [:, None] or keepdims=True where the extents should broadcast",
            ) from None
        return array_type(dtype, shape)

    def log_size(self, *operands: Any) -> tuple[Any, Any] | None:
        if self.log is None:
            return None
        return None if self.sign is None else self.sign(*operands), self.log(*operands)

    def under(self, conventions: Any) -> Op:
        return self if self.choice is None else self.choice(self, conventions)

    def settled(self, conventions: Any, *operands: Any) -> tuple[str, Any] | None:
        if self.zero_log is None or not math.isnan(conventions.zero_log):
            return None
        return "zero_log", np.where(self.zero_log(*operands), np.nan, self(*operands))

    def compute(self, *arrays: Any) -> Any:
        return self.function(*arrays)

    def evaluate(
        self, node: Term | None, inputs: Sequence[Any], debug: bool = False, typed: bool = True
    ) -> list[Any]:
        """[x] → [f(x)]: a ufunc writes to none of its operands, so that there is nothing to protect."""
        if type(self) is not Elementwise or not isinstance(self.function, np.ufunc):
            return super().evaluate(node, inputs, debug, typed)
        # A ufunc writes to none of its operands: there is nothing to protect.
        result = self.function(*inputs)
        return [np.asarray(result) if node is None or not typed else self._checked(0, result, node.type)]

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        return None if self.called else self.code.format(*names)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        """x̄ᵢ = ruleᵢ(ȳ, y, x₁, …); None for integers, constants, and rules that are None."""
        self._check_defined()
        (out,), (g,) = outputs, output_gradients
        return [
            None if rule is None or x.dtype.kind != "f" or is_constant(x.term) else rule(g, out, *inputs)
            for x, rule in zip(inputs, self.rules, strict=True)
        ]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any] | None:
        """ẏ = Σᵢ ruleᵢ(ẋᵢ, y, x₁, …), since the Jacobian is diagonal."""
        self._check_defined()
        out = self(*inputs)
        moves = [
            (t, r) for t, r in zip(eval_points, self.rules, strict=True) if t is not None and r is not None
        ]
        return [total([rule(t, out, *inputs) for t, rule in moves])]

    def _check_defined(self) -> None:
        if self.undefined is not None:
            raise GradientError(f"the gradient of {self.label} is not defined", cause=self.undefined)

    def ball(self, *balls: Any) -> Any:
        return super().ball(*balls) if self._entry_ball is None else self._entry_ball(*balls)

    @cached_property
    def _entry_ball(self) -> Any:
        return None if self.scalar_ball is None else np.frompyfunc(self.scalar_ball, self.arity, 1)


class OfProps(Elementwise):
    """jv(2, x), exprel_n(x, 1): an elementwise op that its props tell, as a kind and an order.

    These may be logic variables, so the general answers hold again.
    """

    ground = Op.ground  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]
    __repr__ = __str__ = Op.__repr__


def _widened(x: Term, dtype: np.dtype) -> Term:
    if is_constant(x):
        return constant(x.op.value.astype(dtype))
    return Cast(dtype).make_node(x)


def _in_place_of(node: Term, simpler: Any) -> Term:
    """(f(x) : (1, 3), x : (3,)) → x : (1, 3): a simpler term where it is of the same type but for leading axes;
    else the node.
    """
    if simpler is None or simpler.type.dtype != node.type.dtype:
        return node
    lead = node.type.ndim - simpler.type.ndim
    if lead < 0 or node.type.shape != (1,) * lead + simpler.type.shape:
        return node
    return expand(simpler, tuple(range(-node.type.ndim, -simpler.type.ndim))) if lead else simpler


def _dtype_key(x: Any) -> Any:
    """x → float64, 2.0 → float, True → bool: a dtype, or the Python type of a bare number."""
    if is_constant(x) and x.op.weak:
        # Python's bool is NumPy's: only int and float give way to their partners.
        kind = type(x.op.value.item())
        return np.dtype(bool) if kind is bool else kind
    return x.type.dtype


def joint_dtype(*operands: Any) -> np.dtype:
    """Return the dtype that NumPy's promotion gives operands together, to which Python's numbers give way."""
    keys = map(_dtype_key, operands)
    return np.result_type(*[k(0) if isinstance(k, type) else k for k in keys])


@lru_cache(maxsize=4096)
def _resolve(ufunc: np.ufunc, keys: tuple[Any, ...]) -> tuple[np.dtype, ...]:
    return ufunc.resolve_dtypes((*keys, *[None] * ufunc.nout))


@lru_cache(maxsize=4096)
def _common(keys: tuple[Any, ...]) -> np.dtype:
    """Return the floating dtype that the operands have in common."""
    scalars = [k(0) if isinstance(k, type) else k for k in keys]  # a dtype may equal a Python type
    dtype = np.result_type(*scalars)
    return dtype if dtype.kind == "f" else np.result_type(dtype, np.float64)


def elementwise(
    function: Callable[..., Any], *rules: Rule | None, kind: type[Elementwise] | None = None, **options: Any
) -> Elementwise:
    """Return an elementwise op that is called as its function, NumPy's or a kernel, and traces it.

    >>> from relgrad.ops.exponential import exp
    >>> exp(np.zeros(2))
    array([1., 1.])
    """
    label = function.__name__
    kernel = getattr(np, label, None) is not function
    op = (kind or Elementwise)(label, function, *rules, kernel=kernel, **options)
    implements(function)(op)
    return op
