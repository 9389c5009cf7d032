"""An op: what it is, how it is applied, and the ops that applying one needs, constants and projections.

Source: Aesara documentation, "Ops". Changed from the source: an application is a term, so `make_node` returns the
term that Aesara's `Apply` node is; `output_type` infers types where `make_node` is not overridden.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from relgrad.contract import Contract, total
from relgrad.errors import OpError, TraceError
from relgrad.held import hold
from relgrad.importable import home_of, imported
from relgrad.symbolic import Symbolic, tracing
from relgrad.term import Term, Unknown, is_term, subterms, term
from relgrad.types import ArrayType, TupleType, Type, array_type


class Op(Contract):
    """add in add(x, y) → the op that is applied. A subclass answers the questions of the contract;
    an instance is immutable.

    `__props__` names the attributes that distinguish instances of one class: they give `==`, `hash` and `str`.
    Without it, an op equals only itself. Props may hold logic variables: such an op is not `ground`.
    """

    __props__: ClassVar[tuple[str, ...] | None] = None

    def __init__(self, *props: Any) -> None:
        """Sum((−1,)).axes = (−1,): an op of its props, in the order of `__props__`."""
        names = self.__props__ or ()
        if props and len(props) != len(names):
            raise TypeError(f"{type(self).__name__} has the props {names}, and not {props}")
        for name, value in zip(names, props, strict=False):
            setattr(self, name, value)

    def __init_subclass__(cls, **options: Any) -> None:
        """__props__ = None → equality by identity, a tuple → by props: as each class that sets it says."""
        super().__init_subclass__(**options)
        if "__props__" in cls.__dict__:
            # Heads are looked up more often than anything else: what equals only itself is compared as an object.
            plain = object if cls.__props__ is None else Op
            cls.__eq__, cls.__hash__ = plain.__eq__, plain.__hash__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        values = self._props()
        inner = ", ".join(f"{k}={v!r}" for k, v in zip(self.__props__ or (), values, strict=True))
        return f"{self.name}{{{inner}}}" if inner else self.name

    __str__ = __repr__

    @property
    def computation(self) -> Callable[..., Any] | None:
        """`compute`, where that is all that an op of one result does: of other numbers balls may tell it."""
        return self.compute if self.n_outputs == 1 and type(self).perform is Contract.perform else None

    @property
    def name(self) -> str:
        """Sum((−1,)) → "sum": the op's name in graphs, steps and error messages."""
        return type(self).__name__.lower()

    def _props(self) -> tuple[Any, ...]:
        return tuple([getattr(self, prop) for prop in self.__props__ or ()])

    def __eq__(self, other: object) -> bool:
        """Sum((−1,)) == Sum((−1,)), Sum((−1,)) ≠ Sum((−2,)):
        equal class and props; ops without props equal only themselves.
        """
        if self is other:
            return True
        if type(self) is not type(other) or self.__props__ is None:
            return False
        return self._props() == other._props()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        """hash(op) = hash((class, props)), kept."""
        try:
            return self._hash
        except AttributeError:
            key = (type(self), id(self) if self.__props__ is None else self._props())
            self._hash: int = hash(key)
            return self._hash

    @property
    def ground(self) -> bool:
        """Sum((−1,)) → True, Sum(a) → False: whether no prop holds a logic variable."""
        try:
            return self._ground
        except AttributeError:
            self._ground: bool = not any(isinstance(prop, Unknown) for prop in self._props())
            return self._ground

    def with_props(self, props: Sequence[Any]) -> Op:
        """Return the op of the same class with other props, in the order of `__props__`."""
        return type(self)(*props)

    def made_of(self) -> tuple[Any, ...]:
        """Return what the class makes an equal op of: the props, where `__init__` takes them."""
        return self._props()

    def __reduce__(self) -> Any:
        """op → (class, props), or (imported, its home) for one that equals only itself: how it is pickled."""
        if type(self).__props__ is not None:
            return type(self), self.made_of()
        # What equals only itself is what a module holds.
        home = home_of(self)
        return object.__reduce_ex__(self, 2) if home is None else (imported, home)

    # Differentiating

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        if self.connected == ():
            return [None for _ in inputs]
        return super().L_op(inputs, outputs, output_gradients)

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any] | None:
        """ẏ = f(ẋ, y) + f(x, ẏ), where f is linear in each operand that moves."""
        connected = range(len(inputs)) if self.connected is None else self.connected
        moved = [i for i in connected if eval_points[i] is not None]
        if self.n_outputs > 1 or not set(moved) <= set(self.laws.linear):
            return None
        return [total([self(*inputs[:i], eval_points[i], *inputs[i + 1 :]) for i in moved])]

    # Building

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """add(1.0, 2.0) → 3.0, add(x, 2.0) → x + 2.0: applies the op to arrays, or to symbolic arrays or terms, giving
        the same.

        While a function is traced, an op that must not be folded is applied to arrays when the program runs.
        """
        wrapper, symbolic = None, False
        for x in inputs:
            if isinstance(x, Symbolic):
                wrapper = symbolic = x.family
                break
            symbolic = symbolic or is_term(x) or isinstance(x, Unknown)
        if not symbolic and tracing.wrapper is not None and self._runs_later(inputs):
            wrapper = symbolic = tracing.wrapper
        if not symbolic:
            arrays = [np.asarray(x) for x in inputs]
            # An op that determines its outputs in make_node may ask its node for them.
            own = type(self).make_node is not Op.make_node and type(self).compute is Op.compute
            results = self.evaluate(self.make_node(*map(constant, arrays)) if own else None, arrays)
        else:
            terms = [as_term(x) for x in inputs]
            # In a pattern nothing has a type or shape that make_node could look at.
            is_pattern = not self.ground
            for t in terms:
                is_pattern = is_pattern or type(t) is not Term or not t.ground
            node = term(self, *terms) if is_pattern else self.make_node(*terms, **options)
            results = outputs_of(node)
            if wrapper is not None:
                results = [wrapper(r) for r in results]
        if self.default_output is not None:
            return results[self.default_output]
        return results[0] if len(results) == 1 else list(results)

    def _runs_later(self, inputs: Sequence[Any]) -> bool:
        if type(self).do_constant_folding is Contract.do_constant_folding:
            return False
        return not self.do_constant_folding(None, self.make_node(*map(as_term, inputs)))

    def make_node(self, *inputs: Any) -> Term:
        """Return the term that applies this op to terms; raises when it cannot be applied to them."""
        return term(self, *[strong(x) for x in inputs])

    def with_rands(self, t: Term, rands: Sequence[Any]) -> Term:
        """Return what an application of this op becomes when its operands are replaced by others."""
        return self.make_node(*rands)

    def type_of(self, rands: tuple[Term, ...]) -> Type:
        """(x : float64 (3,), y : float64) → float64 (3,): the type of an application to ground terms."""
        if type(self).output_type is not Op.output_type:
            return self.output_type(*[rand.type for rand in rands])
        if type(self).make_node is Op.make_node:
            return self.output_type()  # says what is missing
        return self.make_node(*rands).type

    def output_type(self, *types: Any) -> Type:
        """float64 (3,), float64 → float64 (3,): the type of the result (a `TupleType` for several) from those of the
        inputs.
        """
        raise OpError(
            f"op {self} says nothing of its output type",
            cure="define output_type(self, *types), or make_node(self, *inputs) returning apply(self, inputs, types)",
        )


class Labelled(Op):
    """str(op) = op.label: an op that is called by a label of its own."""

    label: str

    @property
    def name(self) -> str:
        return self.label

    def __repr__(self) -> str:
        return self.label

    __str__ = __repr__


class Constant(Op):
    """constant(0.0) ≠ constant(−0.0), NaN = NaN: a leaf that holds an array, told apart by dtype, shape and bits.

    Large arrays by identity. `weak` marks a bare Python number, whose dtype gives way to its partners' (NumPy's
    promotion rules).
    """

    __props__ = ("key",)
    arity = 0
    LARGE = 1 << 16

    def __init__(self, value: Any, weak: bool = False):
        """value → key (dtype, shape, bytes, weak), or its identity for bytes where it is large."""
        # A private copy of what is small; what is large is held, not copied, and must not be changed in place.
        self.value = np.asarray(value)
        if self.value.nbytes <= self.LARGE and self.value.dtype.kind != "O":
            self.value = np.array(self.value, order="C")
            self.value.setflags(write=False)
            data: Any = self.value.tobytes()
        else:
            data = id(self.value)
            hold(self.value)
        self.weak = weak
        self.key = (self.value.dtype, self.value.shape, data, weak)
        first, n = self.value.flat[:1].tobytes(), self.value.size
        self.repeats = self.value.ndim > 0 < n and type(data) is bytes and data == first * n
        """Whether an array is one number, many times."""

    def made_of(self) -> tuple[Any, ...]:
        return self.value, self.weak

    def with_props(self, props: Sequence[Any]) -> Op:
        return self

    # An attribute, not a property: this is asked of every leaf of every graph.
    ground = True  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]

    @property
    def name(self) -> str:
        return "constant"

    def __repr__(self) -> str:
        if self.value.size == 1:
            return repr(self.value.item())
        return f"constant{{{self.value.dtype}, {self.value.shape}}}"

    __str__ = __repr__

    def type_of(self, rands: tuple[Term, ...]) -> Type:
        return array_type(self.value.dtype, self.value.shape)

    def make_node(self, *inputs: Any) -> Term:
        return term(self)

    def compute(self, *arrays: Any) -> Any:
        return self.value

    def ball(self, *balls: Any) -> Any:
        """[0.5, 1] → [ball(0.5), ball(1)]: each entry as a ball of radius 0."""
        import flint

        return np.vectorize(lambda v: flint.arb(v.item() if hasattr(v, "item") else v), otypes=[object])(
            self.value
        )


class Pack(Op):
    """(x, y) → outputs 0 and 1: several terms as the outputs of one:
    an op of several outputs once it is written out.
    """

    __props__ = ()
    rounds = False

    def type_of(self, rands: tuple[Term, ...]) -> Type:
        return TupleType(tuple(rand.type for rand in rands))

    def compute(self, *arrays: Any) -> Any:
        return arrays

    def ball(self, *balls: Any) -> Any:
        return balls


class Project(Op):
    """Project(1)(Pack(x, y)) = y: one output of an op that has several; of a pack, the term itself."""

    __props__ = ("index",)
    index: int
    arity = 1
    rounds = False

    def make_node(self, *inputs: Any) -> Term:
        (node,) = inputs
        return node.rands[self.index] if type(node.op) is Pack else term(self, node)

    def type_of(self, rands: tuple[Term, ...]) -> Type:
        return rands[0].type.outputs[self.index]

    def compute(self, *arrays: Any) -> Any:
        return arrays[0][self.index]

    def ball(self, *balls: Any) -> Any:
        return balls[0][self.index]

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        return f"{names[0]}[{self.index}]"


def constant(value: Any, dtype: Any = None) -> Term:
    """Return the constant term of an array or scalar; a bare Python number keeps a weak dtype.

    30! is the float that NumPy makes of it beside floats: no integer of NumPy's holds it.

    >>> constant(0.0) is constant(-0.0), constant(1) is constant(True), constant(float("nan")) is constant(np.nan)
    (False, False, True)
    """
    if type(value) is int and not -(2**63) <= value < 2**64:
        value = float(value)
    kind = type(value)
    if dtype is not None:
        if kind is float and value:  # 0.0 == -0.0 would share an entry
            return term(_typed(value, dtype))
        return term(Constant(np.asarray(value, dtype=dtype)))
    if kind is int or kind is bool or (kind is float and value):
        return term(_weak(kind, value))
    return term(Constant(value, weak=kind is float))


def is_constant(x: Any) -> bool:
    """Whether x is a term that holds an array or a number."""
    return type(x) is Term and type(x.op) is Constant


def is_float(t: Term) -> bool:
    """x : float32 → True; x > 0, or a tuple of arrays → False: whether a term is an array of floats."""
    return isinstance(t.type, ArrayType) and t.type.dtype.kind == "f"


def is_zero(x: Any) -> bool:
    """Whether x is a constant, all of whose entries are 0."""
    return is_constant(x) and not x.op.value.any()


def holds_nan(t: Term) -> bool:
    """where(x > 0, x, nan) → True: whether NaN is among the numbers that are written in a term."""
    return any(type(x.op) is Constant and is_float(x) and np.isnan(x.op.value).any() for x in subterms(t))


def strong(x: Any, dtype: Any = None) -> Any:
    """Give a weak constant a definite dtype; return anything else as it is."""
    if type(x) is Term and type(x.op) is Constant and x.op.weak:
        return term(_strong(x.op, dtype))
    return x


@lru_cache(maxsize=4096)
def _strong(op: Constant, dtype: Any) -> Constant:
    # From a Python number: an integer that does not fit raises OverflowError then, and does not wrap.
    return Constant(np.asarray(op.value.item(), dtype=dtype))


@lru_cache(maxsize=4096)
def _typed(value: float, dtype: Any) -> Constant:
    return Constant(np.asarray(value, dtype=dtype))


@lru_cache(maxsize=4096)
def _weak(kind: type, value: Any) -> Constant:
    return Constant(value, weak=True)


def as_term(x: Any) -> Any:
    """2.0 → constant, Tracer(t) → t, [1, 2] → constant:
    the term of a symbolic array, array, number or nested list of them.

    Terms and variables stay. Raises TraceError for complex numbers, and OpError for what holds no numbers.
    """
    if type(x) is Term:
        return x
    if isinstance(x, Symbolic):
        return x.term
    if isinstance(x, Unknown):
        return x
    if isinstance(x, (bool, int, float)):
        return constant(x)
    array = x if isinstance(x, (np.ndarray, np.generic)) else np.asarray(x)
    if array.dtype.kind == "c":
        raise TraceError(
            f"an array of dtype {array.dtype} meets symbolic arrays",
            cause="derivatives are taken over the real numbers",
            cure="pass real and imaginary parts as two arrays",
        )
    if array.dtype.kind not in "biuf":
        raise OpError(
            f"cannot make an array of numbers from {type(x).__name__}: {x!r}",
            cause=f"its dtype is {array.dtype}, and traced arrays hold booleans, integers or floats",
            cure="convert it before the call, with x.astype(float), or leave out what is no number",
        )
    return constant(array)


def apply(op: Op, inputs: Sequence[Any], outputs: Sequence[Type]) -> Term:
    """Return the application of an op whose `make_node` determined the output types itself."""
    type_ = outputs[0] if len(outputs) == 1 else TupleType(tuple(outputs))
    return term(op, *[strong(as_term(x)) for x in inputs], type_=type_)


def outputs_of(node: Term) -> list[Term]:
    """Return the outputs of an application: itself, or its projections."""
    if isinstance(node.type, TupleType):
        return [term(Project(i), node) for i in range(len(node.type.outputs))]
    return [node]
