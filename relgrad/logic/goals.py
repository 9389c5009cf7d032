"""Goals for kanren: equality modulo the theories, and the two sides of an equation, in both directions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

import kanren.core as core

from relgrad.logic.heads import compile_pattern
from relgrad.logic.match import match
from relgrad.logic.ranges import Goal
from relgrad.logic.rewrite import rewrites
from relgrad.logic.unify import State, fresh, is_variable, label_of, reify_term, unknowns
from relgrad.term import Term, is_term

eq: Callable[[Any, Any], Goal] = cast(Any, core.eq)
lall: Callable[..., Goal] = cast(Any, core.lall)
lany: Callable[..., Goal] = cast(Any, core.lany)
ifa: Callable[[Goal, Goal], Goal] = cast(Any, core.ifa)
fail: Goal = cast(Any, core.fail)
"""kanren's own combinators, on states as mappings."""


def in_turn(streams: Iterable[Iterator[Any]]) -> Iterator[Any]:
    """Yield the first of each stream as it comes, then the second of each, and so on."""
    going: deque[Iterator[Any]] = deque()
    for stream in streams:
        for x in stream:
            yield x
            going.append(stream)
            break
    while going:
        stream = going.popleft()
        for x in stream:
            yield x
            going.append(stream)
            break


def ldisj_seq(goals: Iterable[Goal]) -> Goal:
    """Construct kanren's disjunction, g₁ ∨ g₂ ∨ …: the answers take turns, and a goal is made when it is asked for.

    Changed from the source: a goal that fails is gone, where kanren asks each answer after it whether it is of that
    one; so n goals that fail take n steps, and not n². `goals` are gone through once.
    """
    return lambda s: in_turn(goal(s) for goal in goals)


def _bare(x: Any) -> Any:
    return getattr(x, "term", x)


def equalo(u: Any, v: Any) -> Goal:
    """Construct a goal stating that u and v are equal modulo the theories: AC, inverses, linearity."""

    def equal_goal(s: State) -> Iterator[State]:
        yield from match(_bare(u), _bare(v), s)

    return equal_goal


def relateo(
    u: Any,
    v: Any,
    left: Any,
    right: Any,
    conditions: Callable[[dict[Any, Any]], Sequence[Goal]],
    can_hold: Callable[[Term], bool],
) -> Goal:
    """Construct a goal stating that u turns into v where an equation `left = right` is applied at the root of u.

    u may be a larger product or sum that holds `left`; v then holds `right` in its place. Where u is unknown, the
    equation is read from right to left. The variables of the equation are fresh at each use. `can_hold` tells by heads
    whether `left` may stand at the root of a ground term.
    """

    def relate_goal(s: State) -> Iterator[State]:
        before, after = (reify_term(_bare(x), s) for x in (u, v))
        if is_term(before) and before.ground and not can_hold(before):
            return
        renaming = {x: fresh(label_of(x)) for x in (unknowns(left) | unknowns(right))}
        new_left, new_right = reify_term(left, renaming), reify_term(right, renaming)
        goals = conditions(renaming)
        if is_term(before):
            for rewrite in rewrites(compile_pattern(new_left), new_right, goals, before, s):
                yield from match(after, rewrite.term, rewrite.state)
        elif is_term(after):
            for rewrite in rewrites(compile_pattern(new_right), new_left, goals, after, s):
                yield from match(before, rewrite.term, rewrite.state)
        elif is_variable(before) and is_variable(after):
            for state in match(before, new_left, s):
                yield from match(after, new_right, state)

    return relate_goal
