"""Ops that declare themselves associative, read as one application to many operands; as a multiset if commutative.

Sums and products have richer theories of their own (see `view`); this is for every other op, a user's own included.
Operands that must be there are taken out first, then those that have a head, variables share the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from relgrad.logic.aco.shares import shares
from relgrad.logic.equality import MOST, canonical_key
from relgrad.logic.theory import BAG, theories_of
from relgrad.logic.unify import State, bind, is_variable, walked
from relgrad.op import Op
from relgrad.term import Term, is_term

Matcher = Callable[[Any, Any, State], Iterator[State]]


def is_bag(op: Op) -> bool:
    """Whether an op is read as one application to many operands."""
    return bool(theories_of(op) & BAG)


def operands(t: Any, op: Op) -> list[Any]:
    """Return the operands of an associative op applied again and again, from left to right."""
    found: list[Any] = []
    stack = [t]
    while stack:
        node = stack.pop()
        if is_term(node) and node.op == op:
            stack.extend(node.rands[::-1])
        else:
            found.append(node)
    return found


def distinct_operands(t: Any, op: Op) -> list[Any]:
    """Return the operands of an associative op applied again and again, each once."""
    found: dict[Any, None] = {}
    stack, seen = [t], {t}
    while stack:
        node = stack.pop()
        if is_term(node) and node.op == op:
            stack.extend(rand for rand in node.rands[::-1] if rand not in seen)
            seen.update(node.rands)
        else:
            found.setdefault(node)
    return list(found)


def has_many_operands(t: Any, op: Op) -> bool:
    """Whether an op is applied to more than `MOST` operands: those of a, b ⟵ b, logaddexp(a, b) are as Fibonacci's."""
    count, stack = 0, [t]
    while stack and count + len(stack) <= MOST:
        node = stack.pop()
        if is_term(node) and node.op == op:
            stack.extend(node.rands)
        else:
            count += 1
    return bool(stack)


def applied(op: Op, parts: list[Any]) -> Any:
    """Return an associative op applied to operands from left to right; one alone stands for itself."""
    result = parts[0]
    for part in parts[1:]:
        result = op(result, part)
    return result


def match_bag(
    p: Term, t: Term, s: State, extend: bool, match: Matcher
) -> Iterator[tuple[State, list[Any], list[Any]]]:
    """Yield states in which a pattern is (part of) a subject, with what is left of its operands before and behind.

    Where order means nothing, all that is left stands before. `match` compares single operands.
    """
    op = p.op
    patterns = operands(p, op)
    if not op.laws.commutative:
        yield from _match_sequence(op, patterns, operands(t, op), s, extend, match)
        return
    for state, left in _match_multiset(op, patterns, operands(t, op), s, extend, match):
        yield state, left, []


def _match_multiset(
    op: Op, ps: list[Any], ts: list[Any], s: State, extend: bool, match: Matcher
) -> Iterator[tuple[State, list[Any]]]:
    heads: list[Any] = []
    variables: dict[Any, int] = {}
    needed: Counter[Any] = Counter()
    for q in [part for p in ps for part in operands(walked(p, s), op)]:
        if is_variable(q):
            variables[q] = variables.get(q, 0) + 1
        elif is_term(q) and q.ground:
            needed[_key(q)] += 1
        else:
            heads.append(q)
    left: list[Any] = []
    for t in ts:
        if needed[key := _key(t)]:
            needed[key] -= 1
        else:
            left.append(t)
    if any(needed.values()) or len(left) < len(heads) + sum(variables.values()):
        return
    if heads:
        candidates = [{_key(t): i for i, t in enumerate(left) if _may_match(q, t)} for q in heads]
        best = min(range(len(heads)), key=lambda i: len(candidates[i]))
        others = heads[:best] + heads[best + 1 :] + [v for v, n in variables.items() for _ in range(n)]
        for i in sorted(candidates[best].values()):
            for state in match(heads[best], left[i], s):
                rest = left[:i] + left[i + 1 :]
                yield from _match_multiset(op, others, rest, state, extend, match)
    elif variables:
        yield from _share(op, list(variables.items()), left, s, extend)
    elif extend or not left:
        yield s, left


def _key(t: Any) -> Any:
    return canonical_key(t) if is_term(t) and t.ground else t


def _may_match(p: Any, t: Any) -> bool:
    return not is_term(t) or theories_of(p.op) != 0 or theories_of(t.op) != 0 or type(t.op) is type(p.op)


def _share(
    op: Op, variables: list[tuple[Any, int]], ts: list[Any], s: State, extend: bool
) -> Iterator[tuple[State, list[Any]]]:
    """Give every variable some of the operands, few first; the last takes all that are left, where none may be."""
    (variable, times), *rest = variables
    amounts = Counter(map(_key, ts))
    first = {_key(t): t for t in reversed(ts)}
    available = [(key, n // times) for key, n in amounts.items() if n >= times]
    most = min(sum(n for _, n in available), (len(ts) - sum(n for _, n in rest)) // times)
    sizes = range(1, most + 1)
    if not rest and not extend:
        sizes = [most] if most > 0 and most * times == len(ts) else []
    for taken in shares(available, sizes):
        left, out = [], {key: n * times for key, n in taken.items()}
        for t in ts:
            if out.get(key := _key(t)):
                out[key] -= 1
            else:
                left.append(t)
        bound = bind(variable, applied(op, [first[key] for key, n in taken.items() for _ in range(n)]), s)
        if bound is False:
            continue
        if rest:
            yield from _share(op, rest, left, bound, extend)
        else:
            yield bound, left


def _match_sequence(
    op: Op, ps: list[Any], ts: list[Any], s: State, extend: bool, match: Matcher
) -> Iterator[tuple[State, list[Any], list[Any]]]:
    starts = range(len(ts) - len(ps) + 1) if extend else [0]
    for start in starts:
        for state, end in _match_from(op, ps, ts, start, s, extend, match):
            yield state, ts[:start], ts[end:]


def _match_from(
    op: Op, ps: list[Any], ts: list[Any], at: int, s: State, extend: bool, match: Matcher
) -> Iterator[tuple[State, int]]:
    if not ps:
        if extend or at == len(ts):
            yield s, at
        return
    first, *rest = operands(walked(ps[0], s), op) + ps[1:]
    longest = len(ts) - at - len(rest)
    if longest < 1:
        return
    sizes = range(1, longest + 1) if is_variable(first) else [1]
    if is_variable(first) and not rest and not extend:
        sizes = [longest]
    for size in sizes:
        for state in match(first, applied(op, ts[at : at + size]), s):
            yield from _match_from(op, rest, ts, at + size, state, extend, match)
