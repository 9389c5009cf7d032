"""Libraries that evaluate and differentiate the same program, each behind three questions about a case.

The programs are written with NumPy's names. What a library does not have raises AttributeError: such a case is not
asked of it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from collection import NUMPY, Case


class Relgrad:
    """relgrad: the naive program stabilised, and its gradients."""

    name, module = "relgrad", "relgrad"

    def __init__(self) -> None:
        self.rg = importlib.import_module("relgrad")

    def value(self, case: Case) -> Any:
        """Return the value."""
        return self.rg.stabilize(lambda *a: case.value(NUMPY, *a))(*case.arguments)

    def gradient(self, case: Case) -> Any:
        """Return the gradient."""
        return self.rg.grad(lambda *a: case.scalar(NUMPY, *a), case.wrt)(*case.arguments)

    def product(self, case: Case) -> Any:
        """Return the product of the Hessian and the direction."""
        slope = self.rg.grad(lambda *a: case.scalar(NUMPY, *a), case.wrt)
        along = case.direction()
        return self.rg.grad(lambda x: np.sum(slope(*replaced(case, x)) * along))(case.arguments[case.wrt])


class NumPy:
    """NumPy, which has no derivatives."""

    name, module = "NumPy", "numpy"

    def value(self, case: Case) -> Any:
        """Return the value."""
        return case.value(NUMPY, *case.arguments)


class Autograd:
    """HIPS autograd."""

    name, module = "autograd", "autograd"

    def __init__(self) -> None:
        self.grad = importlib.import_module("autograd").grad
        self.xp: Any = Names(
            importlib.import_module("autograd.numpy"),
            special=importlib.import_module("autograd.scipy.special"),
        )

    def value(self, case: Case) -> Any:
        """Return the value."""
        return case.value(self.xp, *case.arguments)

    def gradient(self, case: Case) -> Any:
        """Return the gradient."""
        return self.grad(lambda *a: case.scalar(self.xp, *a), case.wrt)(*case.arguments)

    def product(self, case: Case) -> Any:
        """Return the product of the Hessian and the direction."""
        slope = self.grad(lambda *a: case.scalar(self.xp, *a), case.wrt)
        along = case.direction()
        return self.grad(lambda x: self.xp.sum(slope(*replaced(case, x)) * along))(case.arguments[case.wrt])


class Jax:
    """JAX in double precision, compiled."""

    name, module = "JAX", "jax"

    def __init__(self) -> None:
        self.jax = importlib.import_module("jax")
        self.jax.config.update("jax_enable_x64", True)
        self.jax.config.update("jax_platforms", "cpu")
        self.xp: Any = Names(
            importlib.import_module("jax.numpy"), special=importlib.import_module("jax.scipy.special")
        )

    def value(self, case: Case) -> Any:
        """Return the value."""
        return np.asarray(self.jax.jit(lambda *a: case.value(self.xp, *a))(*case.arguments))

    def gradient(self, case: Case) -> Any:
        """Return the gradient."""
        slope = self.jax.grad(lambda *a: case.scalar(self.xp, *a), argnums=case.wrt)
        return np.asarray(self.jax.jit(slope)(*case.arguments))

    def product(self, case: Case) -> Any:
        """Return the product of the Hessian and the direction."""
        slope = self.jax.grad(lambda x: case.scalar(self.xp, *replaced(case, x)))
        turned = self.jax.jit(lambda x, v: self.jax.jvp(slope, (x,), (v,))[1])
        return np.asarray(turned(case.arguments[case.wrt], case.direction()))


class PyTensor:
    """PyTensor, which rewrites for stability: all rewrites of its default mode, run by Python for speed's sake.

    The default linker compiles each function for seconds, and computes the same graph.
    """

    name, module = "PyTensor", "pytensor"

    def __init__(self) -> None:
        self.pytensor = importlib.import_module("pytensor")
        modes = importlib.import_module("pytensor.compile.mode")
        self.mode = modes.Mode(linker="py", optimizer="fast_run")
        pt = self.pt = importlib.import_module("pytensor.tensor")
        self.xp: Any = Names(
            pt,
            special=Names(pt, ndtr=lambda x: 0.5 * pt.erfc(-x / np.sqrt(2.0))),
            linalg=importlib.import_module("pytensor.tensor.linalg"),
            transpose=lambda x: x.T,
            pi=np.pi,
        )

    def _asked(self, case: Case, question: Callable[..., Any]) -> Any:
        shapes = [tuple(1 if n == 1 else None for n in a.shape) for a in case.arguments]
        pairs = enumerate(zip(case.arguments, shapes, strict=True))
        inputs = [self.pt.tensor(f"x{i}", dtype=str(a.dtype), shape=shape) for i, (a, shape) in pairs]
        options = {"mode": self.mode, "on_unused_input": "ignore"}
        compiled = self.pytensor.function(inputs, question(*inputs), **options)
        return np.asarray(compiled(*case.arguments))

    def _slope(self, case: Case, inputs: Any) -> Any:
        scalar = case.scalar(self.xp, *inputs)
        return self.pytensor.grad(scalar, inputs[case.wrt], disconnected_inputs="ignore")

    def value(self, case: Case) -> Any:
        """Return the value."""
        return self._asked(case, lambda *inputs: case.value(self.xp, *inputs))

    def gradient(self, case: Case) -> Any:
        """Return the gradient."""
        return self._asked(case, lambda *inputs: self._slope(case, inputs))

    def product(self, case: Case) -> Any:
        """Return the product of the Hessian and the direction."""

        def turned(*inputs: Any) -> Any:
            along = self.pt.sum(self._slope(case, inputs) * case.direction())
            return self.pytensor.grad(along, inputs[case.wrt], disconnected_inputs="ignore")

        return self._asked(case, turned)


class PyTorch:
    """PyTorch on tensors that mix with arrays and numbers, as NumPy's do."""

    name, module = "PyTorch", "torch"

    def __init__(self) -> None:
        self.torch = importlib.import_module("torch")
        self.torch.set_num_threads(1)
        self.tensor, self.xp = mixing(self.torch)

    def _inputs(self, case: Case) -> list[Any]:
        return [self.tensor(a) for a in case.arguments]

    def _slope(self, case: Case, inputs: list[Any], **options: Any) -> Any:
        inputs[case.wrt].requires_grad_(True)
        scalar = case.scalar(self.xp, *inputs).reshape(())
        return self.torch.autograd.grad(scalar, inputs[case.wrt], **options)[0]

    def value(self, case: Case) -> Any:
        """Return the value."""
        value = case.value(self.xp, *self._inputs(case))
        return value.numpy() if hasattr(value, "numpy") else value

    def gradient(self, case: Case) -> Any:
        """Return the gradient."""
        return self._slope(case, self._inputs(case)).numpy()

    def product(self, case: Case) -> Any:
        """Return the product of the Hessian and the direction."""
        inputs = self._inputs(case)
        slope = self._slope(case, inputs, create_graph=True)
        if not slope.requires_grad:
            return np.zeros(slope.shape)
        along = self.torch.sum(slope * self.tensor(case.direction()))
        turned = self.torch.autograd.grad(along, inputs[case.wrt], allow_unused=True)[0]
        return np.zeros(slope.shape) if turned is None else turned.numpy()


class Names:
    """A module's names, with some of them replaced."""

    def __init__(self, module: Any, **replaced: Any) -> None:
        self.__dict__.update(replaced)
        self.module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)


def mixing(torch: Any) -> tuple[Callable[[Any], Any], Any]:
    """Return how to make such a tensor, and PyTorch's functions under NumPy's names."""

    class Tensor(torch.Tensor):
        __array_ufunc__ = None

    def mixed(x: Any) -> Any:
        return tensor(x) if isinstance(x, np.ndarray) else x

    for name in ("add", "sub", "mul", "true_divide", "pow", "matmul"):
        method, function = name.replace("true_divide", "truediv"), getattr(torch, name)
        setattr(Tensor, f"__{method}__", lambda x, y, function=function: function(x, mixed(y)))
        setattr(Tensor, f"__r{method}__", lambda x, y, function=function: function(tensor(y), x))

    def tensor(x: Any) -> Any:
        if isinstance(x, Tensor):
            return x
        held = torch.as_tensor(np.array(x) if not isinstance(x, torch.Tensor) else x)
        return held.as_subclass(Tensor)

    def lifted(function: Any) -> Any:
        return lambda *args: function(*(tensor(a) for a in args))

    def reduced(function: Any) -> Any:
        def over(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
            axes = tuple(range(tensor(x).ndim)) if axis is None else axis
            return function(tensor(x), dim=axes, keepdim=keepdims)

        return over

    def product(x: Any, axis: Any = None) -> Any:
        return torch.prod(tensor(x)) if axis is None else torch.prod(tensor(x), dim=axis)

    same = (
        "exp expm1 log log1p log2 log10 sqrt tanh sin cos tan sinh cosh arctan arcsin arccos abs sign square "
        "reciprocal ones_like maximum minimum matmul where trace"
    )
    names = {name: lifted(getattr(torch, name)) for name in same.split()}
    names |= {
        "sum": reduced(torch.sum),
        "mean": reduced(torch.mean),
        "max": reduced(torch.amax),
        "prod": product,
    }
    names |= {"dot": lifted(torch.matmul), "transpose": lambda x: tensor(x).T, "pi": np.pi}
    names |= {"cumprod": lambda x: torch.cumprod(tensor(x), 0)}
    linear = {name: lifted(getattr(torch.linalg, name)) for name in ("det", "inv", "solve")}
    special = {name: lifted(getattr(torch.special, name)) for name in ("erf", "erfc", "gammaln", "ndtr")}
    return tensor, SimpleNamespace(
        **names, linalg=SimpleNamespace(**linear), special=SimpleNamespace(**special)
    )


def replaced(case: Case, x: Any) -> tuple[Any, ...]:
    """Return the arguments of a case with another one in the place of that which is differentiated."""
    return (*case.arguments[: case.wrt], x, *case.arguments[case.wrt + 1 :])


PEERS = (NumPy, Jax, PyTorch, Autograd, PyTensor, Relgrad)


def installed() -> tuple[list[Any], list[str]]:
    """Return a peer of each kind that can be imported, and the names of the others."""
    found, missing = [], []
    for kind in PEERS:
        try:
            found.append(kind())
        except ImportError:
            missing.append(kind.name)
    return found, missing
