"""Relations at one place of a term: any subterm, the root included, and the path from there to the root rebuilt.

A term is a DAG: a subterm that occurs several times is one place, and is replaced wherever it occurs. The same holds
of tuples, lists and etuples `(head, *arguments)`, whose equal parts are one place. Nothing recurses on depth.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from unification import unify

from relgrad.logic.goals import in_turn
from relgrad.logic.heads import compile_pattern
from relgrad.logic.index import Index
from relgrad.logic.match import match
from relgrad.logic.places import Graph
from relgrad.logic.ranges import Goal
from relgrad.logic.theory import theories_of
from relgrad.logic.unify import State, fresh, is_variable, walk
from relgrad.term import Term, is_term

BinaryGoal = Callable[[Any, Any], Goal]
"""What relates two terms: a relation, or any function of two terms that constructs a goal."""


def anywhereo(relation: BinaryGoal, u: Any, v: Any) -> Goal:
    """Construct a goal stating that v is u with a relation applied at exactly one place.

    Places are tried from the root downwards, and take turns where they have several answers; each distinct result
    is given once. Where u is unknown, the places are those of v, and the relation is run backwards at each; where
    both are, it holds at the root. A relation rooted in a sum or product is tried at maximal ones only, where it
    carries along what surrounds it.
    """

    def anywhere_goal(s: State) -> Iterator[State]:
        before, after = _walked(u, s), _walked(v, s)
        backwards = is_variable(before)
        if backwards and is_variable(after):
            yield from relation(before, after)(s)
            return
        known, other = (after, before) if backwards else (before, after)
        graph = Graph(known, s)
        can_hold = _filter(relation, backwards)

        def at(place: int) -> Iterator[tuple[Hashable, State]]:
            here, there = graph.nodes[place], fresh("there")
            goal = relation(there, here) if backwards else relation(here, there)
            for state in goal(s):
                new = graph.replaced(place, walk(there, state), state)
                key = new, _bound(graph, state, s, there, can_hold is not None)
                for final in _equal(other, graph, new, state):
                    yield key, final

        seen: set[Hashable] = set()
        trials = (at(i) for i in graph.places() if can_hold is None or can_hold(graph, i))
        for key, state in in_turn(trials):
            if key not in seen:
                seen.add(key)
                yield state

    return anywhere_goal


def rewriteso(relation: BinaryGoal, u: Any, v: Any, fuel: int | None = None) -> Goal:
    """Construct a goal stating that u turns into v where a relation is applied at any places, any number of times.

    The nearest results come first, u itself before all; each once. Where u is unknown, it is looked for from v.
    There may be infinitely many; `fuel` bounds the number of results that are looked at further.
    """

    def rewrites_goal(s: State) -> Iterator[State]:
        before, after = _walked(u, s), _walked(v, s)
        backwards = is_variable(before)
        start, other = (after, before) if backwards else (before, after)
        graph = Graph(start, s)
        seen = {graph.root}
        queue: deque[tuple[int, State]] = deque([(graph.root, s)])
        looked = 0
        while queue:
            index, state = queue.popleft()
            yield from _equal(other, graph, index, state)
            if fuel is not None and looked >= fuel:
                continue
            looked += 1
            here, there = graph.nodes[index], fresh("there")
            step = anywhereo(relation, there, here) if backwards else anywhereo(relation, here, there)
            for found in step(state):
                new = graph.add(walk(there, found), found)
                if new not in seen:
                    seen.add(new)
                    queue.append((new, found))

    return rewrites_goal


def _walked(x: Any, s: State) -> Any:
    x = getattr(x, "term", x)
    return getattr(walked := walk(x, s), "term", walked) if is_variable(x) else x


def _filter(relation: Any, backwards: bool) -> Callable[[Graph, int], bool] | None:
    """Return the test whether a row can hold at a place, by heads; None for goals whose heads are not known."""
    pattern = getattr(relation, "pattern", None)
    if pattern is None:
        return None
    if backwards:
        pattern = compile_pattern(relation.right)
    index = Index([pattern])
    # What is ground is matched by what it equals, which may have another head; so is a variable.
    anything = pattern.kind == "anything" or pattern.term.ground

    def can_hold(graph: Graph, place: int) -> bool:
        t = graph.nodes[place]
        if type(t) is not Term:
            return place == graph.root
        return anything or not t.ground or bool(index.candidates(t, _readings(graph, place, t)))

    return can_hold


def _readings(graph: Graph, place: int, t: Term) -> int:
    """Return the theories under which a term is a maximal sum or product in one of its uses."""
    theories = theories_of(t.op)
    if not theories or place == graph.root:
        return theories
    found = 0
    for parent in graph.parents[place]:
        above = graph.nodes[parent]
        found |= theories & ~theories_of(above.op) if is_term(above) else theories
    return found


def _bound(graph: Graph, state: State, s: State, there: Any, private: bool) -> Hashable:
    """Return what an answer binds besides its result: nothing where the variables are the relation's own."""
    if len(state) - len(s) <= 1:
        return None
    names = graph.variables() if private else [x for x in state if x not in s and x is not there]
    return tuple([(x, graph.add(x, state)) for x in names])


def _equal(other: Any, graph: Graph, new: int, s: State) -> Iterator[State]:
    """Yield the states in which a result is what is on the other side of the relation."""
    result = graph.nodes[new]
    if is_variable(other):
        other = walk(other, s)
    if is_term(other) and is_term(result):
        yield from match(other, result, s)
    elif not (is_variable(other) and other is not result and graph.holds(new, other)):
        state: Any = unify(other, result, s)
        if state is not False:
            yield state
