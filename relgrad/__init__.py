"""relgrad: plain NumPy in, stable values and gradients of any order out.

Functions are traced to interned terms, stabilised by relations that miniKanren goals match modulo associativity,
commutativity, inverses and linearity, differentiated layer by layer in between, and compiled to NumPy source.
"""

from relgrad.api import (
    Transformed,
    grad,
    hessian,
    jacobian,
    jvp,
    pushforward,
    stabilize,
    symbol,
    value_and_grad,
    vjp,
)
from relgrad.display.text import show
from relgrad.errors import (
    GradientError,
    OpError,
    OutOfFuel,
    RelationError,
    RelgradError,
    RelgradWarning,
    ShapeError,
    TraceError,
)
from relgrad.implementations import implements
from relgrad.leaf import disconnected, grad_not_implemented, grad_undefined
from relgrad.op import Op, apply
from relgrad.ops import (
    expit,
    log1mexp,
    log_cosh,
    log_expit,
    log_softmax,
    logdiffexp,
    logit,
    logsumexp,
    softmax,
    softplus,
    xlog1py,
    xlogy,
)
from relgrad.relation import (
    Library,
    Relation,
    constant_along,
    negative,
    nonnegative,
    positive,
    relation,
    same_shape,
)
from relgrad.relations import LIBRARY  # pyright: ignore[reportMissingImports]  # from relations/, see pyproject
from relgrad.schedule import DEFAULT, EAGER, Strategy, interleave
from relgrad.types import ArrayType, DisconnectedType, NullType, TupleType, array_type

__version__ = "0.1.0"

__all__ = [
    "DEFAULT",
    "EAGER",
    "LIBRARY",
    "ArrayType",
    "DisconnectedType",
    "GradientError",
    "Library",
    "NullType",
    "Op",
    "OpError",
    "OutOfFuel",
    "Relation",
    "RelationError",
    "RelgradError",
    "RelgradWarning",
    "ShapeError",
    "Strategy",
    "TraceError",
    "Transformed",
    "TupleType",
    "apply",
    "array_type",
    "constant_along",
    "disconnected",
    "expit",
    "grad",
    "grad_not_implemented",
    "grad_undefined",
    "hessian",
    "implements",
    "interleave",
    "jacobian",
    "jvp",
    "log1mexp",
    "log_cosh",
    "log_expit",
    "log_softmax",
    "logdiffexp",
    "logit",
    "logsumexp",
    "negative",
    "nonnegative",
    "positive",
    "pushforward",
    "relation",
    "same_shape",
    "show",
    "softmax",
    "softplus",
    "stabilize",
    "symbol",
    "value_and_grad",
    "vjp",
    "xlog1py",
    "xlogy",
]
