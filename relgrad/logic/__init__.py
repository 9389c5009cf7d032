"""Goals on terms: unification, views of products and sums, matching modulo them, side conditions.

This is the only room that imports `kanren`, `unification` and `cons`.
"""

from relgrad.logic.aco.goal import eq_aco
from relgrad.logic.anywhere import BinaryGoal, rewriteso
from relgrad.logic.build import fit, fitted
from relgrad.logic.centred import centredo
from relgrad.logic.drawn import drawn_product
from relgrad.logic.entries import centred_exponentso, entrieso, log_probabilityo
from relgrad.logic.equality import equal_ground
from relgrad.logic.factors import product_logarithmo
from relgrad.logic.finite import finite
from relgrad.logic.goals import bind_goal, eq, equalo, fail, ifa, lall, lany, ldisj_seq, relateo
from relgrad.logic.heads import Pattern, compile_pattern, head_key, heads_of
from relgrad.logic.index import Index
from relgrad.logic.logarithm import logarithmo, unlike_exponentials, without_exponentials
from relgrad.logic.normalize import normalizedo
from relgrad.logic.places import Graph
from relgrad.logic.ranges import (
    Goal,
    additive,
    constant_along,
    maybe_large,
    maybe_one,
    negative,
    nonnegative,
    number,
    positive,
    range_of,
    same_shape,
    unknown,
    unrelated,
    varying_along,
)
from relgrad.logic.rewrite import Rewrite, rewrites
from relgrad.logic.shown import shows_elementary, sums_multiples
from relgrad.logic.simplify import (
    cancelled_product,
    cancelled_sum,
    distributed_product,
    divided_pair,
    divided_sum,
    factored_sum,
    gathered_sum,
    joined_reductions,
    rooted_power,
    scattered_product,
    shared_complement,
    undone,
)
from relgrad.logic.sink import is_masking, sunk_product
from relgrad.logic.special import averaged_sum, crossed_sum, factored_square, perfect_square
from relgrad.logic.theory import (
    BAG,
    PRODUCT,
    SUM,
    in_product,
    in_sum,
    inner_product,
    is_contraction,
    shared_theories,
    theories_of,
)
from relgrad.logic.unify import (
    State,
    extended,
    fresh,
    is_variable,
    label_of,
    reify_term,
    unknowns,
    walk,
    walked,
)
from relgrad.logic.view import LIMIT, product_of, sum_of
from relgrad.logic.wide import Wide, is_open, width

__all__ = [
    "BAG",
    "LIMIT",
    "PRODUCT",
    "SUM",
    "BinaryGoal",
    "Goal",
    "Graph",
    "Index",
    "Pattern",
    "Rewrite",
    "State",
    "Wide",
    "additive",
    "averaged_sum",
    "bind_goal",
    "cancelled_product",
    "cancelled_sum",
    "centred_exponentso",
    "centredo",
    "compile_pattern",
    "constant_along",
    "crossed_sum",
    "distributed_product",
    "divided_pair",
    "divided_sum",
    "drawn_product",
    "entrieso",
    "eq",
    "eq_aco",
    "equal_ground",
    "equalo",
    "extended",
    "factored_square",
    "factored_sum",
    "fail",
    "finite",
    "fit",
    "fitted",
    "fresh",
    "gathered_sum",
    "head_key",
    "heads_of",
    "ifa",
    "in_product",
    "in_sum",
    "inner_product",
    "is_contraction",
    "is_masking",
    "is_open",
    "is_variable",
    "joined_reductions",
    "label_of",
    "lall",
    "lany",
    "ldisj_seq",
    "log_probabilityo",
    "logarithmo",
    "maybe_large",
    "maybe_one",
    "negative",
    "nonnegative",
    "normalizedo",
    "number",
    "perfect_square",
    "positive",
    "product_logarithmo",
    "product_of",
    "range_of",
    "reify_term",
    "relateo",
    "rewrites",
    "rewriteso",
    "rooted_power",
    "same_shape",
    "scattered_product",
    "shared_complement",
    "shared_theories",
    "shows_elementary",
    "sum_of",
    "sums_multiples",
    "sunk_product",
    "theories_of",
    "undone",
    "unknown",
    "unknowns",
    "unlike_exponentials",
    "unrelated",
    "varying_along",
    "walk",
    "walked",
    "width",
    "without_exponentials",
]
