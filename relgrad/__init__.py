"""relgrad: plain NumPy in, stable values and gradients of any order out.

Functions are traced to interned terms, stabilised by relations that miniKanren goals match modulo associativity,
commutativity, inverses and linearity, differentiated layer by layer in between, and compiled to NumPy source.
"""

from relgrad.api import (
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
from relgrad.authoring import loops, new_relation, overlaps
from relgrad.contract import Laws
from relgrad.conventions import Conventions
from relgrad.display.text import show
from relgrad.errors import (
    AssumptionError,
    ConventionError,
    DerivationError,
    FailedRelation,
    GradientError,
    LawError,
    ManyBranches,
    OpError,
    OutOfFuel,
    RelationError,
    RelgradError,
    RelgradWarning,
    ShapeError,
    TraceError,
    WrongRewrite,
)
from relgrad.examine import (
    accuracy,
    check,
    floats,
    lint,
    load_derivation,
    rewrites,
    spellings,
    stabilizedo,
    why_not,
)
from relgrad.explore.answers import Answer, Answers
from relgrad.explore.expressions import etuple, term
from relgrad.explore.match import ACU, match, unify, variables
from relgrad.implementations import implements
from relgrad.leaf import disconnected, grad_not_implemented, grad_undefined
from relgrad.logic.aco.goal import eq_aco
from relgrad.logic.aco.theory import AC, DECLARED, FREE, Theory
from relgrad.logic.goals import anywhereo, rewriteso
from relgrad.logic.laws import (
    absorbing,
    associative,
    commutative,
    homomorphism,
    idempotent,
    identity,
    inverse,
    linear,
    monotone,
)
from relgrad.magic import load_ipython_extension
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
from relgrad.pictures import comb, difference, error_along, error_map, graph, steps
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
from relgrad.shown import LOOKS as _LOOKS  # noqa: F401 - objects ask there how they are shown
from relgrad.trace.assume import assume, checked_assumptions
from relgrad.trace.branches import cond
from relgrad.transformed import Transformed
from relgrad.types import ArrayType, DisconnectedType, Interval, NullType, TupleType, array_type

__version__ = "0.1.0"

__all__ = [
    "AC",
    "ACU",
    "DECLARED",
    "DEFAULT",
    "EAGER",
    "FREE",
    "LIBRARY",
    "Answer",
    "Answers",
    "ArrayType",
    "AssumptionError",
    "ConventionError",
    "Conventions",
    "DerivationError",
    "DisconnectedType",
    "FailedRelation",
    "GradientError",
    "Interval",
    "LawError",
    "Laws",
    "Library",
    "ManyBranches",
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
    "Theory",
    "TraceError",
    "Transformed",
    "TupleType",
    "WrongRewrite",
    "absorbing",
    "accuracy",
    "anywhereo",
    "apply",
    "array_type",
    "associative",
    "assume",
    "check",
    "checked_assumptions",
    "comb",
    "commutative",
    "cond",
    "constant_along",
    "difference",
    "disconnected",
    "eq_aco",
    "error_along",
    "error_map",
    "etuple",
    "expit",
    "floats",
    "grad",
    "grad_not_implemented",
    "grad_undefined",
    "graph",
    "hessian",
    "homomorphism",
    "idempotent",
    "identity",
    "implements",
    "interleave",
    "inverse",
    "jacobian",
    "jvp",
    "linear",
    "lint",
    "load_derivation",
    "load_ipython_extension",
    "log1mexp",
    "log_cosh",
    "log_expit",
    "log_softmax",
    "logdiffexp",
    "logit",
    "logsumexp",
    "loops",
    "match",
    "monotone",
    "negative",
    "new_relation",
    "nonnegative",
    "overlaps",
    "positive",
    "pushforward",
    "relation",
    "rewrites",
    "rewriteso",
    "same_shape",
    "show",
    "softmax",
    "softplus",
    "spellings",
    "stabilize",
    "stabilizedo",
    "steps",
    "symbol",
    "term",
    "unify",
    "value_and_grad",
    "variables",
    "vjp",
    "why_not",
    "xlog1py",
    "xlogy",
]
