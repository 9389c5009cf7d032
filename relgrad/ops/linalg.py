"""Square matrices: solving, inverting, determinants and factors, over stacks of matrices.

Source: Giles 2008, Collected matrix derivative results for forward and reverse mode algorithmic differentiation;
Murray 2016, Differentiation of the Cholesky decomposition, section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relgrad.errors import RelationError, ShapeError, TraceError
from relgrad.kernels_linalg import cofactor, cofactor_derivative
from relgrad.op import Laws, Op, Project, Symbolic, as_term, implements, strong
from relgrad.ops.arguments import is_ground
from relgrad.ops.diagonal import Embed
from relgrad.ops.matmul import MatMul, swap, total
from relgrad.ops.structure import broadcast_to, expand, squeeze
from relgrad.term import Term, term
from relgrad.types import TupleType, Type, array_type, broadcast_shapes

SlogdetResult: Any = type(np.linalg.slogdet(np.eye(1)))
EighResult: Any = type(np.linalg.eigh(np.eye(1)))


class Square(Op):
    """An op on the square matrices in the last two axes of its first operand."""

    __props__ = ()
    function: Callable[..., Any]
    code: str

    def compute(self, *arrays: Any) -> Any:
        return type(self).function(*arrays)

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        return f"{self.code}({', '.join(names)})"

    def check(self, *types: Any) -> np.dtype:
        """Return the dtype of the result; raises for matrices that are not square, as early as possible."""
        _square(types[0].shape, self.code)
        dtypes = [t.dtype if t.dtype.kind == "f" else np.dtype(np.float64) for t in types]
        dtype = np.result_type(*dtypes)
        if dtype.itemsize not in (4, 8):
            raise TraceError(f"{self.code}: the dtype {dtype} is not supported", cure="use float32 or float64")
        return dtype

    def output_type(self, *types: Any) -> Type:
        dtype = self.check(*types)
        return array_type(dtype, _square(types[0].shape))

    def flops(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> int:
        shape = inputs[0]
        return int(np.prod(shape)) * int(shape[-1])


def _square(shape: Any, name: str = "np.linalg") -> tuple[Any, ...]:
    """Use what is known of one side of a square for the other; raises ShapeError where it is none."""
    if len(shape) < 2:
        raise ShapeError(
            f"{name}: an operand with {len(shape)} axes",
            cause="matrices lie in the last two axes",
            cure="insert axes with x[..., None]",
        )
    if None not in shape[-2:] and shape[-2] != shape[-1]:
        raise ShapeError(f"{name}: matrices of {shape[-2]} rows and {shape[-1]} columns are not square")
    side = shape[-1] if shape[-2] is None else shape[-2]
    return (*shape[:-2], side, side)


def _over_matrices(f: Callable[[Any], Any], *stacks: Any) -> Any:
    """Apply a function of `flint.arb_mat` to stacks of object matrices; a scalar or matrix for each."""
    import flint

    stack = np.broadcast_shapes(*[x.shape[:-2] for x in stacks])
    stacks = tuple([np.broadcast_to(x, (*stack, *x.shape[-2:])) for x in stacks])
    results = []
    for index in np.ndindex(stack):
        found = f(*[flint.arb_mat(x[index].tolist()) for x in stacks])
        results.append(found.tolist() if isinstance(found, flint.arb_mat) else found)
    values = np.array(results, dtype=object)
    return values.reshape(*stack, *values.shape[1:])


class Solve(Square):
    """x with a·x = b, for matrices b; linear in b. x̄ flows back as b̄ = a⁻ᵀ·x̄ and ā = -b̄·xᵀ."""

    laws = Laws(linear=(1,))
    function = staticmethod(np.linalg.solve)
    code = "np.linalg.solve"

    def output_type(self, *types: Any) -> Type:
        a, b = types
        dtype = self.check(a, b)
        n = _square(a.shape)[-1]
        if b.ndim < 2 or (None not in (n, b.shape[-2]) and n != b.shape[-2]):
            raise ShapeError(
                f"np.linalg.solve: matrices of shape {a.shape} and right-hand sides of shape {b.shape} do not fit",
                cure="a right-hand side is a vector if it has one axis, and a stack of matrices otherwise (NumPy 2)",
            )
        try:
            stack = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        except ValueError as error:
            raise ShapeError(f"np.linalg.solve: {error}") from None
        return array_type(dtype, (*stack, b.shape[-2] if n is None else n, b.shape[-1]))

    def make_node(self, *inputs: Any) -> Term:
        a, b = [strong(as_term(x)) for x in inputs]
        if is_ground(b) and b.type.ndim == 1:
            return squeeze(term(self, a, expand(b, (-1,))), (-1,))
        return term(self, a, b)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        (a, _), (x,), (g,) = inputs, outputs, output_gradients
        back = np.linalg.solve(swap(a), g)
        return [-np.matmul(back, swap(x)), back]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        (a, _), (da, db) = inputs, eval_points
        change = total([db, None if da is None else -np.matmul(da, self(*inputs))])
        return [None if change is None else self(a, change)]

    def ball(self, *balls: Any) -> Any:
        return _over_matrices(lambda a, b: a.solve(b), *balls)


class Inv(Square):
    """a⁻¹; x̄ flows back as -a⁻ᵀ·x̄·a⁻ᵀ."""

    laws = Laws(inverse="inv")
    function = staticmethod(np.linalg.inv)
    code = "np.linalg.inv"

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        transposed = swap(outputs[0])
        return [-np.matmul(np.matmul(transposed, output_gradients[0]), transposed)]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        (t,), out = eval_points, self(*inputs)
        return [None if t is None else -np.matmul(np.matmul(out, t), out)]

    def ball(self, *balls: Any) -> Any:
        return _over_matrices(lambda a: a.inv(), *balls)


class Det(Square):
    """det(a); its gradient is the matrix of cofactors, which singular matrices have too."""

    function = staticmethod(np.linalg.det)
    code = "np.linalg.det"

    def output_type(self, *types: Any) -> Type:
        return array_type(self.check(*types), types[0].shape[:-2])

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [_wide(output_gradients[0]) * Cofactor()(inputs[0])]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        (t,) = eval_points
        return [None if t is None else _inner(Cofactor()(inputs[0]), t)]

    def ball(self, *balls: Any) -> Any:
        return _over_matrices(lambda a: a.det(), *balls)


class Cofactor(Square):
    """The matrix of cofactors, det(a)·a⁻ᵀ; its Jacobian is symmetric, being the Hessian of the determinant."""

    function = staticmethod(cofactor)
    code = "cofactor"
    imports = ("cofactor",)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [CofactorDerivative()(inputs[0], output_gradients[0])]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        (t,) = eval_points
        return [None if t is None else CofactorDerivative()(inputs[0], t)]

    def ball(self, *balls: Any) -> Any:
        return _over_matrices(lambda a: (a.inv() * a.det()).transpose(), *balls)


class CofactorDerivative(Square):
    """The derivative of the matrix of cofactors of a along v: (c·⟨c, v⟩ - c·vᵀ·c)/det(a) with c = cofactor(a).

    Linear and self-adjoint in v. It is finite for every matrix; its own derivative in a, the third of the
    determinant, is computed by the formula above and so needs a regular one.
    """

    laws = Laws(linear=(1,))
    function = staticmethod(cofactor_derivative)
    code = "cofactor_derivative"
    imports = ("cofactor_derivative",)

    @property
    def name(self) -> str:
        return "cofactor_derivative"

    def output_type(self, *types: Any) -> Type:
        a, v = types
        return array_type(self.check(a, v), broadcast_shapes(_square(a.shape), v.shape))

    def _along(self, a: Any, v: Any, w: Any) -> Any:
        """Return the third derivative of the determinant at a along v and w."""
        c = Cofactor()(a)
        cv, cw = _wide(_inner(c, v)), _wide(_inner(c, w))
        crossed = np.matmul(np.matmul(w, swap(c)), v) + np.matmul(np.matmul(v, swap(c)), w)
        change = self(a, v * cw + w * cv - crossed)
        second = _wide(_inner(w, self(a, v)))
        return (change - second * c) / _wide(np.linalg.det(a))

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        (a, v), (g,) = inputs, output_gradients
        return [self._along(a, v, g), self(a, g)]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        (a, v), (da, dv) = inputs, eval_points
        return [
            total([None if da is None else self._along(a, v, da), None if dv is None else self(a, dv)]),
        ]

    def ball(self, *balls: Any) -> Any:
        a, v = balls
        c = Cofactor().ball(a)
        along = np.asarray(np.sum(c * v, axis=(-1, -2), keepdims=True))
        return (c * along - np.matmul(np.matmul(c, np.swapaxes(v, -1, -2)), c)) / Det().ball(a)[..., None, None]


def _wide(x: Any) -> Any:
    return np.expand_dims(x, (-2, -1))


def _inner(a: Any, b: Any) -> Any:
    """⟨a, b⟩ for the matrices in the last two axes."""
    return np.sum(a * b, axis=(-2, -1))


class SLogDet(Square):
    """The sign of det(a) and log|det(a)|, whose gradient is a⁻ᵀ; the sign's is zero."""

    function = staticmethod(np.linalg.slogdet)
    code = "np.linalg.slogdet"
    n_outputs = 2

    def output_type(self, *types: Any) -> Type:
        kind = array_type(self.check(*types), types[0].shape[:-2])
        return TupleType((kind, kind))

    def compute(self, *arrays: Any) -> Any:
        return tuple(np.linalg.slogdet(arrays[0]))

    def connection_pattern(self, node: Term) -> list[list[bool]]:
        return [[False, True]]

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        g = output_gradients[1]
        return [None if g is None else _wide(g) * swap(np.linalg.inv(inputs[0]))]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        (a,), (t,) = inputs, eval_points
        return [None, None if t is None else _inner(swap(np.linalg.inv(a)), t)]

    def ball(self, *balls: Any) -> Any:
        det = Det().ball(balls[0])
        return np.frompyfunc(lambda d: d.sgn(), 1, 1)(det), np.frompyfunc(lambda d: abs(d).log(), 1, 1)(det)


class Cholesky(Square):
    """The lower triangular l with l·lᵀ = a, for the symmetric a whose lower triangle the operand holds.

    Its derivatives are those along symmetric changes of a: l̇ = l·φ(l⁻¹·ȧ·l⁻ᵀ), where φ takes the lower triangle with
    half the diagonal; l̄ flows back as the symmetric part of l⁻ᵀ·φ(lᵀ·l̄)·l⁻¹.
    """

    function = staticmethod(np.linalg.cholesky)
    code = "np.linalg.cholesky"

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        upper = swap(outputs[0])
        inner = _half_lower(np.matmul(upper, np.tril(output_gradients[0])))
        # l⁻ᵀ·m·l⁻¹ by two solves: the second one acts on the transpose.
        full = swap(np.linalg.solve(upper, swap(np.linalg.solve(upper, inner))))
        return [(full + swap(full)) / 2]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        (t,) = eval_points
        if t is None:
            return [None]
        lower = self(*inputs)
        symmetric = (t + swap(t)) / 2
        inner = swap(np.linalg.solve(lower, swap(np.linalg.solve(lower, symmetric))))
        return [np.matmul(lower, _half_lower(inner))]

    def ball(self, *balls: Any) -> Any:
        return _over_matrices(_cholesky_ball, balls[0])


def _half_lower(x: Any) -> Any:
    return (np.tril(x) + np.tril(x, -1)) / 2


def _cholesky_ball(a: Any) -> Any:
    import flint

    n = a.nrows()
    rows: list[list[Any]] = [[flint.arb(0)] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            left = a[i, j] - sum((rows[i][k] * rows[j][k] for k in range(j)), flint.arb(0))
            rows[i][j] = left.sqrt() if i == j else left / rows[j][j]
    return flint.arb_mat(rows)


class Eigh(Square):
    """Eigenvalues w, ascending, and eigenvectors v of the symmetric a whose lower triangle the operand holds.

    ẇ = diag(vᵀ·ȧ·v) and v̇ = v·(f ∘ (vᵀ·ȧ·v)) with f_ij = 1/(w_j - w_i). Eigenvectors of equal eigenvalues are not
    determined; what does not depend on their choice has the right derivative with f_ij = 0 there.
    """

    function = staticmethod(np.linalg.eigh)
    code = "np.linalg.eigh"
    n_outputs = 2

    def output_type(self, *types: Any) -> Type:
        dtype, shape = self.check(*types), _square(types[0].shape)
        return TupleType((array_type(dtype, shape[:-1]), array_type(dtype, shape)))

    def compute(self, *arrays: Any) -> Any:
        return tuple(np.linalg.eigh(arrays[0]))

    def _gaps(self, w: Any) -> Any:
        gap = np.expand_dims(w, -2) - np.expand_dims(w, -1)
        return np.where(gap == 0, 0, 1 / np.where(gap == 0, 1, gap))

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        (w, v), (gw, gv) = outputs, output_gradients
        inner = total(
            [
                None if gw is None else Embed(0)(gw),
                None if gv is None else self._gaps(w) * np.matmul(swap(v), gv),
            ]
        )
        full = np.matmul(np.matmul(v, inner), swap(v))
        return [(full + swap(full)) / 2]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        (t,) = eval_points
        if t is None:
            return [None, None]
        w, v = self(*inputs)
        inner = np.matmul(np.matmul(swap(v), (t + swap(t)) / 2), v)
        return [np.diagonal(inner, 0, -2, -1), np.matmul(v, self._gaps(w) * inner)]


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    """Trace `np.linalg.solve`: b is a vector only if it has one axis, as in NumPy 2."""
    return Solve().make_node(a, b)


@implements(np.linalg.inv)
def inv(a: Any) -> Any:
    """Trace `np.linalg.inv`."""
    return Inv().make_node(as_term(a))


@implements(np.linalg.det)
def det(a: Any) -> Any:
    """Trace `np.linalg.det`."""
    return Det().make_node(as_term(a))


@implements(cofactor)
def cofactor_(x: Any) -> Any:
    """Trace the kernel `cofactor`."""
    return Cofactor().make_node(as_term(x))


@implements(cofactor_derivative)
def cofactor_derivative_(x: Any, v: Any) -> Any:
    """Trace the kernel `cofactor_derivative`."""
    return CofactorDerivative().make_node(as_term(x), as_term(v))


def _outputs(op: Op, a: Any, swapped: bool = False) -> list[Any]:
    """Return the outputs of an op with several, wrapped as the operand is: NumPy's named tuples are not unwrapped."""
    node = op.make_node(swap(as_term(a)) if swapped else as_term(a))
    parts = [term(Project(i), node) for i in range(op.n_outputs)]
    return [type(a)(part) for part in parts] if isinstance(a, Symbolic) else parts


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    """Trace `np.linalg.slogdet`; the result is NumPy's named tuple."""
    return SlogdetResult(*_outputs(SLogDet(), a))


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """Trace `np.linalg.cholesky`."""
    return swap(Cholesky().make_node(swap(as_term(a)))) if upper else Cholesky().make_node(as_term(a))


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:
    """Trace `np.linalg.eigh`; the result is NumPy's named tuple."""
    return EighResult(*_outputs(Eigh(), a, swapped=UPLO.upper() == "U"))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Trace `np.linalg.eigvalsh`."""
    return eigh(a, UPLO)[0]


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> Any:
    """Trace `np.linalg.matrix_power`, by squaring; negative powers are those of the inverse."""
    x = as_term(a)
    if not is_ground(x):
        raise RelationError("np.linalg.matrix_power cannot stand in a relation", cure="write the product with @")
    if not isinstance(n, (int, np.integer)):
        raise TraceError(f"np.linalg.matrix_power: the exponent {n!r} is not an integer")
    side = _square(x.type.shape)[-1]
    if n < 0:
        x, n = Inv().make_node(x), -n
    if n == 0:
        if side is None:
            raise ShapeError("np.linalg.matrix_power with n=0 of a matrix whose extents are not known")
        return strong(broadcast_to(as_term(np.eye(side, dtype=x.type.dtype)), x.type.shape))
    product = None
    while n:
        if n & 1:
            product = x if product is None else MatMul().make_node(product, x)
        n >>= 1
        if n:
            x = MatMul().make_node(x, x)
    return product
