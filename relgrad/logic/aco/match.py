"""Matching modulo declared laws: the values of a pattern's variables that make it equal to a ground term.

Sources: Eker (2003), "Associative-commutative rewriting on large terms": what is bound is taken away first, what has
a head is tried with what has the same head, the fewest candidates first, variables come last. Every answer
determines which arguments each part of the pattern takes, so each is found once and none is compared with others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from unification.variable import Var

from relgrad.logic.aco.carriers import OP
from relgrad.logic.aco.node import NONE, UNKNOWN, Node, instantiate, make, same, variables_in
from relgrad.logic.aco.normal import normal
from relgrad.logic.aco.problems import Bag, Either, Rest, Word, open_bag, open_word

Bindings = dict[Any, Any]
Pairs = tuple[tuple[Any, Any], ...]
Problem = Bag | Either | Word


def match(pattern: Any, subject: Any, s: Mapping[Any, Any]) -> Iterator[dict[Any, Any]]:
    """a + x, a + b + c → {x: b + c}: the extensions of a substitution under which a pattern equals a ground subject,
    each once, lazily.

    All three are over children of one reading.
    """
    for found in matches(instantiate(pattern, s), subject):
        yield {**s, **{x: value.child() if type(value) is Rest else value for x, value in found.items()}}


def matches(pattern: Any, subject: Any) -> Iterator[Bindings]:
    """a + x, a + b + c → {x: Rest(b, c)}: the additions of `match` to a substitution that binds none of the pattern's
    variables.

    A variable that occurs once may be bound to a `Rest`: what is left over, not yet made a child.
    """
    once = _occurring_once(pattern)
    stack: list[Iterator[tuple[Bindings, Pairs, tuple[Problem, ...]]]] = [
        iter([({}, ((pattern, subject),), ())])
    ]
    while stack:
        state = next(stack[-1], None)
        if state is None:
            stack.pop()
            continue
        settled = _settled(*state)
        if settled is None:
            continue
        bindings, problems = settled
        if not problems:
            yield bindings
        else:
            chosen = min(problems, key=lambda problem: problem.width(bindings))
            others = tuple([problem for problem in problems if problem is not chosen])
            stack.append(chosen.branches(bindings, others, once))


def _occurring_once(pattern: Any) -> frozenset[Any]:
    """x + y + y → {x}: variables that stand at one place of a pattern only."""
    if type(pattern) is not Node or not pattern.symbol.commutative:
        return frozenset()
    single = {x for x, n in pattern.parts.items() if type(x) is Var and n == 1}
    return frozenset(single - variables_in(*[x for x in pattern.parts if type(x) is Node]))


def _settled(
    bindings: Bindings, pairs: Pairs, problems: tuple[Problem, ...]
) -> tuple[Bindings, tuple[Problem, ...]] | None:
    """f(x) = f(a) → {x: a}, (): as far as there is only one way; None where there is none."""
    todo = list(pairs)
    new: list[Problem] = []
    owned = False
    while todo:
        p, t = todo.pop()
        if p is t:
            continue
        if type(p) is Var:
            value = bindings.get(p, NONE)
            if value is NONE:
                if not owned:
                    bindings, owned = dict(bindings), True
                bindings[p] = t
            elif not same(value, t):
                return None
        elif type(p) is not Node:
            if not same(p, t):
                return None
        elif p.ground:
            return None  # equal nodes are one object
        elif p.symbol.free:
            inner = _arguments(p, t)
            if inner is None:
                return None
            todo.extend(inner)
        else:
            problem = (open_bag if p.symbol.commutative else open_word)(p, t)
            if problem is None:
                return None
            new.append(problem)
    return bindings, (*problems, *new) if new else problems


def _arguments(p: Node, t: Any) -> list[tuple[Any, Any]] | None:
    """f(x, y), f(a, b) → [(x, a), (y, b)]: a free application against a subject; None at a clash."""
    symbol = p.symbol
    if symbol.carrier is OP and type(t) is symbol.rator:
        return [(x, normal(prop, symbol.reading)) for x, prop in zip(p.args, t._props(), strict=True)]
    if type(t) is not Node or t.symbol.carrier is not symbol.carrier:
        return None
    if symbol is t.symbol:
        return list(zip(p.args, t.args, strict=True)) if len(p.args) == len(t.args) else None
    if symbol.rator is not UNKNOWN:
        return None
    # Once the head is known, its laws are: the application is read again under them.
    head, *rands = p.args
    return [(make(t.symbol, rands), t), (head, t.symbol.rator)]
