"""Arrays of numbers other than floats in NumPy's protocols, and programs that compute in them.

A *number* consists of parts, arrays of one shape: mantissas and exponents, or leading terms, trailing terms and bounds.
What moves entries moves the parts alike, whatever they mean.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from typing import Any, ClassVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from relgrad.kernels.containers import mapped, parts
from relgrad.kernels.index import add_at, delay, key_along

Rule = Callable[..., Any]
OF_FLOATS_ONLY = TypeError, ValueError, AttributeError, LookupError, RuntimeError
"""Exceptions of functions that are written for arrays of floats only."""
WRITTEN = 1000
"""Arrays of more numbers are data, which nobody writes: they may have been computed."""
LARGEST = 1 << 21
"""Products of matrices are formed entry by entry where they have at most so many products of entries."""


class Numbers(NDArrayOperatorsMixin):
    """np.exp(n) → `ufuncs[np.exp](n)`: an array of numbers that takes part in NumPy's protocols; `of` makes floats one.

    `ufuncs` and `functions` say how NumPy's act on such numbers, `named` makes rules of functions that are known by
    their names, those of `relgrad.kernels` among them. A function without a rule sees floats.
    """

    __slots__ = ()
    ufuncs: ClassVar[dict[Any, Rule]]
    functions: ClassVar[dict[Any, Rule]]
    named: ClassVar[dict[str, Callable[[Any], Rule]]]
    zero: ClassVar[tuple[Any, ...]]
    """The parts of the number 0."""
    surest: ClassVar[Any] = None
    """The numbers that are asked where others know too little: balls, which the ops know how to compute in."""

    def __init__(self, *parts: Any):
        raise NotImplementedError

    @classmethod
    def of(cls, x: Any, dtype: Any = None) -> Any:
        """Return an array, or a number, as such numbers."""
        raise NotImplementedError

    @classmethod
    def made(cls, parts: Sequence[Any]) -> Any:
        """Return the numbers that consist of these parts."""
        return cls(*parts)

    @property
    def parts(self) -> tuple[Any, ...]:
        """The arrays of which the numbers consist."""
        raise NotImplementedError

    @property
    def leading(self) -> Any:
        """The first of them."""
        return self.parts[0]

    def floats(self) -> Any:
        """Return the floats nearest to the numbers."""
        raise NotImplementedError

    @classmethod
    def lifted(cls, x: Any, args: Sequence[Any]) -> Any:
        """1.5, (2.0, 3) → numbers of 1.5, (numbers of 2.0, 3): floats that a function has made, as such numbers."""
        if isinstance(x, (tuple, list)):
            return tuple([cls.lifted(y, args) for y in x])
        return cls.of(x) if is_floating(x) else x

    @property
    def shape(self) -> tuple[int, ...]:
        return self.leading.shape

    @property
    def ndim(self) -> int:
        return self.leading.ndim

    @property
    def size(self) -> int:
        return self.leading.size

    @property
    def dtype(self) -> Any:
        return self.leading.dtype

    @property
    def T(self) -> Any:
        return self.moved(np.transpose)

    def moved(self, move: Callable[[Any], Any]) -> Any:
        """(hi, lo, bound) → (hiᵀ, loᵀ, boundᵀ), say: the numbers elsewhere, all parts moved alike."""
        return self.made([move(part) for part in self.parts])

    @classmethod
    def joined(cls, join: Callable[[Any], Any], arrays: Sequence[Any]) -> Any:
        """join, (x, y) → (join(x.hi, y.hi), …): arrays of numbers joined as their parts are."""
        return cls.made([join(parts) for parts in zip(*[x.parts for x in arrays], strict=True)])

    def reshape(self, *shape: Any) -> Any:
        return self.moved(lambda x: x.reshape(*shape))

    def copy(self) -> Any:
        return self

    def __len__(self) -> int:
        return len(self.leading)

    def __getitem__(self, key: Any) -> Any:
        return self.moved(lambda x: x[key])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.parts))})"

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        rule = self.ufuncs.get(ufunc)
        if method != "__call__" or rule is None:
            return self.unruled(getattr(ufunc, method), inputs, kwargs)
        return rule(*self.operands(inputs))

    @classmethod
    def operands(cls, inputs: Sequence[Any]) -> Sequence[Any]:
        """Return the operands of a ufunc as such numbers, of one dtype."""
        dtype = np.result_type(*[x.leading if isinstance(x, Numbers) else x for x in inputs])
        return [cls.of(x, dtype) for x in inputs]

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self.applied(function, args, kwargs)

    @classmethod
    def applied(cls, function: Any, args: Any, kwargs: Any) -> Any:
        """np.sum, (n,) → `functions[np.sum](n)`, or `unruled`: a function of arguments with such numbers among them."""
        rule = cls.rule_of(function)
        return cls.unruled(function, args, kwargs) if rule is None else rule(*args, **kwargs)

    @classmethod
    def rule_of(cls, function: Any) -> Rule | None:
        """np.concatenate, logsumexp → their rules: of a function, no ufunc, by itself or by its name; or None."""
        rule = cls.functions.get(function)
        make = cls.named.get(getattr(function, "__name__", "")) if rule is None else None
        return rule if make is None else make(function)

    @classmethod
    def unruled(cls, function: Any, args: Any, kwargs: Any) -> Any:
        """f, (n,) → numbers of f(floats of n): a function without a rule."""
        found = function(*map(lowered, args), **{name: lowered(x) for name, x in kwargs.items()})
        return cls.lifted(found, (*args, *kwargs.values()))


def is_floating(x: Any) -> bool:
    """Whether a value is an array, or a scalar, of floats."""
    return isinstance(x, float) or (isinstance(x, (np.ndarray, np.floating)) and x.dtype.kind == "f")


def is_nan(x: Any) -> Any:
    """Return where floats are NaN; nowhere in what is none."""
    return np.isnan(x) if is_floating(x) else np.False_


def has_nan(x: Any) -> bool:
    """Whether NaN is among the floats of a container: (1.0, [nan]): yes; {"a": 3}: no."""
    within = [x]
    for x in within:  # in one Python call, since each call asks
        if isinstance(x, float):
            if x != x:
                return True
        elif isinstance(x, (np.ndarray, np.floating)):
            if x.dtype.kind == "f" and np.isnan(np.minimum.reduce(x, axis=None, initial=np.inf)):
                return True
        elif type(x) in (tuple, list):
            within += x
        else:
            within += [part for part in parts(x) if part is not x]
    return False


def lowered(x: Any) -> Any:
    """[n, (n, 3)] → [floats, (floats, 3)]: floats for other numbers, in tuples and lists as well."""
    if isinstance(x, (tuple, list)):
        return type(x)(map(lowered, x)) if type(x) in (tuple, list) else x
    return x.floats() if isinstance(x, Numbers) else x


def of_floats(function: Any) -> Any:
    """f → f of floats in place of other numbers."""
    return lambda *args, **kwargs: function(*map(lowered, args), **kwargs)


def alike(*args: Any) -> list[Any]:
    """Return arguments as numbers of the kind that is among them."""
    kind = next(type(x) for x in args if isinstance(x, Numbers))
    return [kind.of(x) for x in args]


def stretched(*arrays: Any) -> list[Any]:
    """x : (1,), v : (3,) → x, v : (3,): arrays in the shape that they have in common.

    An entry that a partner repeats along an axis counts so often in what is summed along it.
    """
    shape = np.broadcast_shapes(*map(np.shape, arrays))
    return [np.broadcast_to(x, shape) for x in arrays]


def is_decimal(v: Any) -> bool:
    """Whether a number is a decimal of up to 15 digits, or 6 in float32, as people write them."""
    kind = type(v)
    return kind(f"{v:.{np.finfo(kind).precision}g}") == v


def are_written(x: Any) -> bool:
    """[0.1, 2.5] → True: whether all numbers of an array are decimals, and no more than people write."""
    return np.size(x) <= WRITTEN and all(map(is_decimal, np.ravel(x)))


def innermost(f: Any) -> Any:
    """@errstate(…) def f → f: the function that others wrap."""
    while hasattr(f, "__wrapped__"):
        f = f.__wrapped__
    return f


def with_globals(function: Any, names: dict[str, Any]) -> Callable[..., Any]:
    """f, {"c": 2, …} → f, that wraps no other function, with other globals; a method stays bound to its object."""
    new = types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    new.__kwdefaults__ = function.__kwdefaults__
    owner = getattr(function, "__self__", None)
    return new if owner is None else types.MethodType(new, owner)


class Twin:
    """f, kind → f with NumPy, kernels and constants that know numbers of the kind: the same function, in those."""

    def __init__(self, function: Any, kind: type[Numbers]):
        self._function, self._kind = function, kind

    @cached_property
    def _twin(self) -> Callable[..., Any]:
        """The function's code with other globals, those of the innermost function that is wrapped."""
        f = innermost(self._function)  # a wrapper's names are its own; warnings are off here anyway
        names = {name: self._widened(x) for name, x in f.__globals__.items() if not name.startswith("__")}
        return with_globals(f, names)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return the results as such numbers."""
        return self._twin(*[mapped(self._lifted, x) for x in args], **mapped(self._lifted, kwargs))

    def _lifted(self, x: Any) -> Any:
        return self._kind.of(x) if is_floating(x) else x

    def _widened(self, x: Any) -> Any:
        """np → a namespace of these numbers;    kernel → its rule, if an argument is one;    0.1 → the number 0.1"""
        if x is np:
            return _Namespace(self._kind)
        if isinstance(x, types.FunctionType):
            # Functions that make numbers of constants have their rules whatever the arguments are.
            return self._kind.functions.get(x) or self._dispatched(x)
        if getattr(x, "mends", False):
            return self._dispatched(x)
        op = getattr(x, "op", x)
        computation = getattr(op, "computation", None)  # of an op that is called as it is
        return self._lifted(x) if computation is None and op is x else self._dispatched(computation or x)

    def _dispatched(self, function: Any) -> Any:
        """f → f of floats, and the kind's rule of f where such a number is among the arguments."""
        kind = self._kind

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            wide = any([isinstance(x, kind) for x in args]) or any(  # noqa: C419
                isinstance(x, kind) for x in parts((args, kwargs))
            )
            return kind.applied(function, args, kwargs) if wide else function(*args, **kwargs)

        return call


class _Namespace:
    """np, with other numbers where its own functions make floats of them: np.asarray(n) → n, np.float64(n) → n."""

    def __init__(self, kind: type[Numbers]) -> None:
        self._kind = kind
        self.float64, self.float32 = _Float(np.float64, kind), _Float(np.float32, kind)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def asarray(self, x: Any, dtype: Any = None) -> Any:
        """n → n, 0.1 → the number 0.1: the same numbers in a dtype."""
        if isinstance(x, self._kind):
            return x if dtype is None else x.astype(dtype)  # pyright: ignore[reportAttributeAccessIssue]
        array = np.asarray(x, dtype)
        return self._kind.of(array) if is_floating(array) else array

    array = asarray

    def full(self, shape: Any, x: Any, dtype: Any = None) -> Any:
        """(2, 3), n → 2 × 3 numbers that equal n."""
        if isinstance(x, self._kind):
            return self.asarray(np.broadcast_to(x, shape), dtype)  # pyright: ignore[reportCallIssue, reportArgumentType]
        return np.full(shape, x, dtype)


class _Float:
    """A floating type, which converts to other numbers."""

    def __init__(self, scalar: Any, kind: type[Numbers]):
        self.dtype, self._kind = np.dtype(scalar), kind

    def __call__(self, x: Any) -> Any:
        return self._kind.of(x, self.dtype)


MOVES: tuple[Any, ...] = (
    *(np.reshape, np.transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.expand_dims, np.squeeze),
    *(np.broadcast_to, np.ravel, np.flip, np.fliplr, np.flipud, np.roll, np.rot90, np.take, np.tile),
    *(np.repeat, np.diagonal, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.copy, np.matrix_transpose),
    *(np.take_along_axis, np.compress, np.resize),
)
JOINS: tuple[Any, ...] = (np.concatenate, np.stack, np.hstack, np.vstack, np.column_stack, np.dstack)


def share_rules(kind: type[Numbers]) -> None:
    """Numbers with +, ·, / → moves, joins, Π, max, min, mean, dot, cumsum, cumprod, put_at, recurrences of the same."""
    functions, ufuncs = kind.functions, kind.ufuncs
    add, multiply, divide = ufuncs[np.add], ufuncs[np.multiply], ufuncs[np.divide]

    def moving(function: Any) -> Rule:
        return lambda x, *args, **kwargs: kind.of(x).moved(lambda part: function(part, *args, **kwargs))

    def joining(function: Any) -> Rule:
        """concatenate([x, y]) → (concatenate(x.hi, y.hi), …): parts joined alike."""

        def rule(arrays: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
            return kind.joined(lambda parts: function(parts, *args, **kwargs), list(map(kind.of, arrays)))

        return rule

    def reduced(operation: Any, start: float | None) -> Rule:
        """a∘b∘c∘d → (a∘c)∘(b∘d): a reduction by halves, in ⌈log₂ n⌉ steps of the operation."""

        def rule(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False, **_: Any) -> Any:
            """a∘b∘c → (a∘b)∘c: reduced axes come together in front, rows are combined by halves; `start` for none."""
            axes = axes_of(axis, x.ndim)
            kept = tuple(1 if a in axes else n for a, n in enumerate(x.shape))
            lead = tuple(range(len(axes)))
            rest = tuple(n for a, n in enumerate(x.shape) if a not in axes)
            count = math.prod(x.shape[a] for a in axes)
            x = x.moved(lambda part: np.moveaxis(part, axes, lead).reshape((count, *rest)))
            if not len(x):
                if start is None:
                    raise ValueError("zero-size array to reduction operation which has no identity")
                x = kind.of(np.full((1, *rest), start, x.dtype))
            while len(x) > 1:
                half = len(x) // 2
                left = operation(x[:half], x[half : 2 * half])
                x = functions[np.concatenate]([left, x[2 * half :]]) if len(x) % 2 else left
            return x.reshape(kept) if keepdims else x[0]

        return rule

    def accumulated(operation: Any) -> Rule:
        """(a, b, c) → (a, a∘b, a∘b∘c): one step of the operation for each row."""

        def rule(x: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
            axis = -1 if axis is None else axis
            moved = (x.reshape(-1) if x.ndim == 0 else x).moved(lambda part: np.moveaxis(part, axis, 0))
            rows = [moved[:1]] if len(moved) else []
            for i in range(1, len(moved)):
                rows.append(operation(rows[-1], moved[i : i + 1]))
            if not rows:
                return x
            return functions[np.concatenate](rows).moved(lambda part: np.moveaxis(part, 0, axis))

        return rule

    def mean(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        count = math.prod(x.shape[a] for a in axes_of(axis, x.ndim))
        return divide(functions[np.sum](x, axis, keepdims=keepdims), kind.of(count, x.dtype))

    def dot(a: Any, b: Any) -> Any:
        a, b = kind.of(a), kind.of(b)
        return multiply(a, b) if 0 in (a.ndim, b.ndim) else ufuncs[np.matmul](a, b)

    def put_at(values: Any, key: Any, shape: tuple[int, ...]) -> Any:
        """(u, v), [0, 2], (3,) → (u, 0, v): zeros with numbers at places."""
        parts = [np.full(shape, z, np.result_type(p)) for z, p in zip(kind.zero, values.parts, strict=True)]
        for whole, part in zip(parts, values.parts, strict=True):
            whole[key] = part
        return kind.made(parts)

    def recurrence(a: Any, b: Any, axis: int, adjoint: bool = False) -> Any:
        """sₖ = bₖ + aₖ·sₖ₋₁ along an axis; the adjoint one, sₖ = bₖ + aₖ₊₁·sₖ₊₁."""
        a, b = kind.of(a), kind.of(b)
        full = np.broadcast_shapes(a.shape, b.shape)
        a, b = [x.moved(lambda part: np.moveaxis(np.broadcast_to(part, full), axis, 0)) for x in (a, b)]
        n, rows = len(b), {}
        for k in range(n - 1, -1, -1) if adjoint else range(n):
            before, factor = (k + 1, k + 1) if adjoint else (k - 1, k)
            rows[k] = add(b[k], multiply(a[factor], rows[before])) if before in rows else b[k]
        stacked = functions[np.stack]([rows[k] for k in range(n)])
        return stacked.moved(lambda part: np.moveaxis(part, 0, axis))

    functions.update({function: moving(function) for function in MOVES})
    functions.update({function: joining(function) for function in JOINS})
    functions[np.shape] = lambda x: x.shape
    functions.update({np.prod: reduced(multiply, 1.0), np.max: reduced(ufuncs[np.maximum], None)})
    functions.update({np.min: reduced(ufuncs[np.minimum], None), np.mean: mean, np.dot: dot})
    functions.update({np.cumsum: accumulated(add), np.cumprod: accumulated(multiply)})
    functions.setdefault(np.sum, reduced(add, 0.0))
    kind.named.update(dict.fromkeys(("diag_embed", "tril", "triu"), moving))
    kind.named.update({"put_at": lambda _: put_at, "linear_recurrence": lambda _: recurrence})
    kind.named["delay"] = lambda _: lambda x, axis, step: x.moved(lambda part: delay(part, axis, step))
    kind.named["add_along"] = lambda _: (
        lambda x, indices, axis, shape: add_at(x, key_along(indices, axis, shape), shape)
    )


def rules_in(table: dict[Any, Any]) -> Callable[..., Callable[[Rule], Rule]]:
    """rule(np.add)(f) → table[np.add] = f: a decorator that enters functions into a table of rules."""

    def of(*functions: Any) -> Callable[[Rule], Rule]:
        def register(rule: Rule) -> Rule:
            table.update(dict.fromkeys(functions, rule))
            return rule

        return register

    return of


def near_by_rules(kind: type[Numbers]) -> Rule:
    """near(x, …, far) of numbers of a kind: the series and what stands `far` from its point both in such numbers."""

    def near(
        x: Any, point: float, radius: float, power: int, step: int, coefficients: Sequence[float], far: Rule
    ) -> Any:
        """f(x) = t^power · Σₖ coefficients[k]·t^(k·step) where t = x − point and |t| < radius, and far(x) elsewhere."""
        wide = kind.of(x).astype(np.float64)
        t = wide - point
        inside = lowered(abs(t) < radius)
        total, factor = kind.of(np.full(t.shape, coefficients[-1])), t**step
        for c in coefficients[-2::-1]:
            total = total * factor + c
        for _ in range(power):
            total = total * t
        outside = far(np.where(inside, point + 2.0 * radius, wide))
        return np.where(inside, total, outside).astype(x.dtype)

    return near


def axes_of(axis: Any, rank: int) -> tuple[int, ...]:
    """None, 3 → (0, 1, 2);    −1, 3 → (2,): the axes that an argument of that name means, counted from the left."""
    if axis is None:
        return tuple(range(rank))
    return tuple(a % rank for a in (axis if isinstance(axis, (tuple, list)) else (axis,)))


def entrywise_products(a: Any, b: Any, multiply: Rule, total: Rule) -> Any:
    """(a·b)_ik = Σ_j a_ij·b_jk of stacks of matrices, entry by entry."""
    return total(multiply(a[..., None], b[..., None, :, :]), axis=-2)


def of_matrices(product: Rule) -> Rule:
    """(n,)·(n, m) → (m,), (n,)·(n,) → (): the product of matrices as one that takes vectors, too."""

    def rule(a: Any, b: Any) -> Any:
        left, right = a.ndim == 1, b.ndim == 1
        result = product(a[None] if left else a, b[:, None] if right else b)
        result = result[..., 0, :] if left else result
        return result[..., 0] if right else result

    return rule
