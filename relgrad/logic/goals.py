"""Goals for kanren: equality modulo the theories, the two sides of an equation, and relations anywhere in a term.

    run(1, v, relateo(2*sin(x)*cos(x), v, …))       v = sin(2*x)
    anywhereo(relation, u, v)                       the relation at one place: any subterm, the root included

All work in both directions. The places of a term are its distinct subterms, numbered, operands before what uses them.
A term is a DAG: a subterm that occurs several times is one place, and is replaced wherever it occurs. The same holds
of tuples, lists and etuples `(head, *arguments)`, whose equal parts are one place: terms are told apart by identity,
those by their parts, anything else by type and value. Nothing recurses on depth.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, cast

import kanren.core as core
from unification import unify

from relgrad.logic.conditions import Goal, finding
from relgrad.logic.index import Index, compile_pattern
from relgrad.logic.match import match
from relgrad.logic.rewrite import rewrites
from relgrad.logic.theory import theories_of
from relgrad.logic.unify import State, fresh, is_variable, label_of, reify_term, unknowns, walk
from relgrad.term import ExpressionTuple, Term, is_term, term


class Graph:
    """sin(x) + x → nodes [x, sin(x), sin(x) + x]: a term as numbered nodes, operands first.

    Terms that differ from it in one place are added to the same numbering.
    """

    def __init__(self, root: Any, s: State):
        """sin(x) + x → nodes 0, 1, 2 and the root 2: numbers the subterms of a root under a state."""
        self.nodes: list[Any] = []
        self.operands: list[tuple[int, ...]] = []
        self._numbers: dict[Hashable, int] = {}
        self.root = self.add(root, s)
        self.size = len(self.nodes)

    def add(self, x: Any, s: State) -> int:
        """x·x → number of x·x, new nodes [x, x·x]: a term under a state; its new subterms are numbered before it."""
        found: dict[int, int] = {}
        keep = [x]  # numbers are found by identity while they are given
        stack = [_read(x, s)]
        while stack:
            node = stack[-1]
            if id(node) in found:
                stack.pop()
                continue
            number = self._numbers.get(node) if type(node) is Term else None
            if number is None:
                operands = [_read(y, s) for y in operands_of(node)]
                missing = [y for y in operands if id(y) not in found]
                if missing:
                    keep += missing
                    stack.extend(reversed(missing))
                    continue
                number = self._number(node, tuple([found[id(y)] for y in operands]))
            stack.pop()
            found[id(node)] = number
        return found[id(_read(x, s))]

    def _number(self, x: Any, operands: tuple[int, ...]) -> int:
        """(sin(x), (0,)) → 1, again → 1: the number of a node that has these operands, a new one at its first
        occurrence.
        """
        key = _key(x, operands)
        number = self._numbers.setdefault(key, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(x)
            self.operands.append(operands)
        return number

    @cached_property
    def parents(self) -> list[list[int]]:
        """x + sin(x) → [[1, 2], [2], []]: for each place the nodes that use it."""
        parents: list[list[int]] = [[] for _ in range(self.size)]
        for number in range(self.size):
            for operand in dict.fromkeys(self.operands[number]):
                parents[operand].append(number)
        return parents

    def places(self) -> Iterator[int]:
        """x + sin(y) → x + sin(y), x, sin(y), y: the numbers of the root and of all other nodes that are no variables.

        From the left, each before its operands.
        """
        seen = {self.root}
        stack = [self.root]
        while stack:
            number = stack.pop()
            yield number
            for operand in reversed(self.operands[number]):
                if operand not in seen and not is_variable(self.nodes[operand]):
                    seen.add(operand)
                    stack.append(operand)

    def replaced(self, place: int, x: Any, s: State) -> int:
        """x·x + 1, x ↦ y → y·y + 1: the number of the term in which another stands at a place, wherever that occurs."""
        new = {place: self.add(x, s)}
        if new[place] == place:
            return self.root
        above = {place}
        stack = [place]
        while stack:
            for parent in self.parents[stack.pop()]:
                if parent not in above:
                    above.add(parent)
                    stack.append(parent)
        for number in sorted(above - {place}):
            new[number] = self.with_operands(number, [new.get(y, y) for y in self.operands[number]], s)
        return new[self.root]

    def with_operands(self, number: int, operands: Sequence[int], s: State) -> int:
        """(x + y, [x, z]) → x + z: the number of a node with other operands."""
        if tuple(operands) == self.operands[number]:
            return number
        node = _rebuilt(self.nodes[number], [self.nodes[y] for y in operands])
        return self.add(node, s) if type(node) is Term else self._number(node, tuple(operands))

    def variables(self) -> list[Any]:
        """Return the logic variables that stand among the nodes of the term, in patterns too."""
        return [x for x in self.nodes[: self.size] if is_variable(x)]

    def holds(self, number: int, x: Any) -> bool:
        """(x + sin(v), v) → True: whether a variable occurs in a node."""
        target = self._numbers.get(_key(x, ()))
        if target is None:
            return False
        seen, stack = {number}, [number]
        while stack:
            node = stack.pop()
            if node == target:
                return True
            new = [y for y in self.operands[node] if y not in seen]
            seen.update(new)
            stack.extend(new)
        return False


def operands_of(x: Any) -> tuple[Any, ...]:
    """Return the operands of a term, and the arguments of a tuple, list or etuple."""
    if type(x) is Term:
        return x.rands
    return tuple(x)[1:] if isinstance(x, (tuple, list, ExpressionTuple)) else ()


def _read(x: Any, s: State) -> Any:
    x = getattr(x, "term", x) if not isinstance(x, (tuple, list, ExpressionTuple)) else x
    x = walk(x, s)
    return reify_term(x, s) if type(x) is Term and not x.ground else x


def _key(x: Any, operands: tuple[int, ...]) -> Hashable:
    """x : term → x;    (f, …) → (tuple, key(f), operands);    2 → (int, 2): a node as something that can be hashed."""
    if type(x) is Term:
        return x
    if isinstance(x, ExpressionTuple) or (isinstance(x, (tuple, list)) and x):
        kind = ExpressionTuple if isinstance(x, ExpressionTuple) else list if isinstance(x, list) else tuple
        return kind, _key(next(iter(x)), ()), operands
    try:
        hash(x)
    except TypeError:
        return "identity", id(x)
    return type(x), x


def _rebuilt(x: Any, operands: list[Any]) -> Any:
    """(x + y, [x, 2]) → x + 2, ("f", a, b) with [c, d] → ("f", c, d):
    a node with other operands, of the kind that it was.
    """
    if is_term(x):
        ground = x.op.ground and all(is_term(y) and y.ground for y in operands)
        return x.op.make_node(*operands) if ground else term(x.op, *operands)
    kind = ExpressionTuple if isinstance(x, ExpressionTuple) else list if isinstance(x, list) else tuple
    return kind((next(iter(x)), *operands))


BinaryGoal = Callable[[Any, Any], Goal]
"""What relates two terms: a relation, or any function of two terms that constructs a goal."""


def anywhereo(relation: BinaryGoal, u: Any, v: Any) -> Goal:
    """x + sin(−y) = u, sin(−y) ↦ −sin(y) ⟶ v = x − sin(y):
    construct a goal stating that v is u with one place rewritten.

    Places are tried from the root downwards, and take turns where they have several answers; each distinct result
    is given once. Where u is unknown, the places are those of v, and the relation is run backwards at each; where
    both are, the relation holds at the root. A relation rooted in a sum or product is tried at maximal ones only, where
    what surrounds is carried along.
    """

    def anywhere_goal(s: State) -> Iterator[State]:
        """s → the states in which the relation holds at one place of the known side, and the other is the result."""
        before, after = _walked(u, s), _walked(v, s)
        backwards = is_variable(before)
        if backwards and is_variable(after):
            yield from relation(before, after)(s)
            return
        known, other = (after, before) if backwards else (before, after)
        graph = Graph(known, s)
        can_hold = _filter(relation, backwards)

        def at(place: int) -> Iterator[tuple[Hashable, State]]:
            """place → (result and bindings, state), …: the answers at one place, with keys by which equal ones are
            known.
            """
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
    """u ⟶ … ⟶ v: construct a goal stating that u turns into v where a relation is applied at any places, any number of
    times.

    The nearest results come first, u itself before all; each once. Where u is unknown, the search begins at v.
    There may be infinitely many; `fuel` bounds the number of results that are looked at further.
    """

    def rewrites_goal(s: State) -> Iterator[State]:
        """s → the states of u itself, then of all that is one step away, two steps, …: breadth first."""
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
    """(graph, place) → whether a row can hold there, by heads; None for goals whose heads are not known."""
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
    """x + y in sin(x + y) → SUM, in (x + y) + z → 0: the theories under which a term is maximal in one of its uses."""
    theories = theories_of(t.op)
    if not theories or place == graph.root:
        return theories
    found = 0
    for parent in graph.parents[place]:
        above = graph.nodes[parent]
        found |= theories & ~theories_of(above.op) if is_term(above) else theories
    return found


def _bound(graph: Graph, state: State, s: State, there: Any, private: bool) -> Hashable:
    """s, s ∪ {a: x} → ((a, x),): an answer's bindings besides its result; none where the variables are the relation's
    own.
    """
    if len(state) - len(s) <= 1:
        return None
    names = graph.variables() if private else [x for x in state if x not in s and x is not there]
    return tuple([(x, graph.add(x, state)) for x in names])


def _equal(other: Any, graph: Graph, new: int, s: State) -> Iterator[State]:
    """v, x − sin(y) → s ∪ {v: x − sin(y)}: the states in which a result is the other side of the relation."""
    result = graph.nodes[new]
    other = walk(other, s)
    if is_term(other) and is_term(result):
        yield from match(other, result, s)
    elif not (is_variable(other) and other is not result and graph.holds(new, other)):
        state: Any = unify(other, result, s)
        if state is not False:
            yield state


eq: Callable[[Any, Any], Goal] = cast(Any, core.eq)
lall: Callable[..., Goal] = cast(Any, core.lall)
lany: Callable[..., Goal] = cast(Any, core.lany)
ifa: Callable[[Goal, Goal], Goal] = cast(Any, core.ifa)
fail: Goal = cast(Any, core.fail)
"""kanren's own combinators, on states as mappings."""


def computedo(
    function: Callable[[Term], Any], x: Any, y: Any, needs: Callable[[Term], bool] | None = None
) -> Goal:
    """y = f(x): construct a goal stating that y is the value of a function at the term x, if there is one; x is given.

    `needs` is as for `finding`.
    """

    def computed_goal(s: State) -> Iterator[State]:
        u, v = (reify_term(_bare(t), s) for t in (x, y))
        if is_term(u) and u.ground and (found := function(u)) is not None:
            yield from match(v, found, s)

    return finding(computed_goal, x, y, needs)


def in_turn(streams: Iterable[Iterator[Any]]) -> Iterator[Any]:
    """[1, 2, 3], [a, b] → 1, a, 2, b, 3: the first of each stream as it comes, then the second of each, and so on."""
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
    """g₁ ∨ g₂ ∨ … = kanren's disjunction: the answers take turns, and a goal is made when it is asked for.

    Changed from the source: a goal that fails is gone, where kanren asks each answer after it whether it is of that
    one; so n goals that fail take n steps, and not n². `goals` are gone through once.
    """
    return lambda s: in_turn(goal(s) for goal in goals)


def _bare(x: Any) -> Any:
    return getattr(x, "term", x)


def equalo(u: Any, v: Any) -> Goal:
    """u = v, as in x·y/y = x: construct a goal stating that two terms are equal modulo AC, inverses and linearity."""

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
        """s → s ∪ {v: right} where left is found in u; s ∪ {u: left} where right is found in v, and u is unknown."""
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
