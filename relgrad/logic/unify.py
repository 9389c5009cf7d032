"""Terms under logical-unification's own dispatch, so that stock `unify`, `reify`, `eq` and `run` work on them.

Syntactic unification in the sense of Robinson (1965), with the occurs check, iterative, each pair of subterms once:
linear where ground terms meet, since two ground terms are equal exactly when they are one object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import is_
from typing import Any

from unification.core import _reify, _unify, construction_sentinel, unify
from unification.variable import Var

from relgrad.op import Op
from relgrad.ops.arguments import is_ground
from relgrad.term import Rands, Term, Unknown, is_term, operands_first, rebuilt

Unknown.register(Var)

State = Mapping[Any, Any]

Test = tuple[frozenset[Any], Callable[[State], bool]]
"""What is decided once variables are known: the variables, and whether it holds in a state."""


class Tested(dict[Any, Any]):
    """{a: x} with x > 0 to be tested of a: a state with tests, each made as soon as all of its variables are bound."""

    __slots__ = ("tests",)
    tests: Sequence[Test]

    @classmethod
    def of(cls, s: State, tests: Sequence[Test]) -> Tested:
        """Return a state with further tests, none of whose variables are all bound in it."""
        state = cls(s)
        state.tests = tests
        return state

    def extended(self, bindings: Mapping[Any, Any]) -> Any:
        """{}, {a: 2} → {a: 2}; → False where a test that the bindings decide fails."""
        state = Tested.of({**self, **bindings}, self.tests)
        for variables, holds in self.tests:
            if not variables.isdisjoint(bindings) and variables <= state.keys() and not holds(state):
                return False
        return state


def is_variable(x: Any) -> bool:
    """Whether x is a logic variable."""
    return type(x) is Var


def fresh(label: str) -> Var:
    """Return a logic variable that nothing else shares, labelled for display.

    >>> fresh("x") == fresh("x")
    False
    """
    return Var(prefix=label)


def label_of(variable: Any) -> str:
    """Return the label that a variable was made with."""
    return str(variable.token).rsplit("_", 1)[0] or str(variable.token)


def walk(x: Any, s: State) -> Any:
    """a under {a: b, b: x} → x, sin(a) → sin(a): a variable's value, as far as it is known; anything else as it is."""
    while type(x) is Var and x in s:
        x = s[x]
    return x


def unknowns(x: Any) -> frozenset[Any]:
    """sin(a) + Sum(axes)(b) → {a, b, axes}: the logic variables in a pattern, its props included."""
    if is_variable(x):
        return frozenset([x])
    if not is_term(x) or x.ground:
        return frozenset()
    found = x.cache.get("unknowns")
    if found is None:
        found = set()
        for node in _open_subterms(x):
            found.update(part for part in (*node.rands, *node.op._props()) if is_variable(part))
        found = x.cache["unknowns"] = frozenset(found)
    return found


def _open_subterms(root: Term) -> Iterator[Term]:
    """sin(a) + cos(x) → sin(a) + cos(x), sin(a): the distinct subterms that are not ground."""
    stack, seen = [root], {root}
    while stack:
        node = stack.pop()
        yield node
        for rand in node.rands:
            if is_term(rand) and not rand.ground and rand not in seen:
                seen.add(rand)
                stack.append(rand)


def occurs(variable: Any, x: Any, s: State) -> bool:
    """(a, sin(b), {b: a + 1}) → True: whether a variable occurs in a term under a substitution."""
    stack, seen = [x], set()
    while stack:
        node = walk(stack.pop(), s)
        if node is variable:
            return True
        if is_term(node) and not node.ground and node not in seen:
            seen.add(node)
            stack.extend(unknowns(node))
    return False


def bind(variable: Any, x: Any, s: State) -> Any:
    """Return the state with one more binding, or False where the variable occurs in what it is bound to."""
    if is_term(x) and not x.ground and occurs(variable, x, s):
        return False
    return extended(s, {variable: x})


def extended(s: State, bindings: Mapping[Any, Any]) -> Any:
    """{}, {a: x} → {a: x}: the state with more bindings, or False where one breaks a test or constraint that it
    carries.
    """
    if type(s) is dict:
        return {**s, **bindings}
    if type(s) is Tested:
        return s.extended(bindings)
    state: Any = s
    for variable, x in bindings.items():  # kanren's constraints are looked at by its own unify
        state = unify(variable, x, state)
        if state is False:
            return False
    return state


def unify_terms(u: Any, v: Any, s: Any) -> Any:
    """sin(a), sin(x) → {a: x};    sin(a), cos(x) → False:
    the most general state that makes terms, ops or variables equal.
    """
    todo, seen = [(u, v)], set()
    while todo:
        u, v = todo.pop()
        u, v = walk(u, s), walk(v, s)
        if u is v:
            continue
        if is_variable(u):
            s = bind(u, v, s)
        elif is_variable(v):
            s = bind(v, u, s)
        elif is_term(u) and is_term(v):
            if (u.ground and v.ground) or len(u) != len(v):
                return False
            if (u, v) not in seen:
                seen.add((u, v))
                todo.extend(zip(u.rands[::-1], v.rands[::-1], strict=True))
                todo.append((u.op, v.op))
        elif isinstance(u, Op) and isinstance(v, Op):
            if u == v:
                continue
            if type(u) is not type(v) or (u.ground and v.ground):
                return False
            todo.extend(zip(u._props(), v._props(), strict=True))
        else:
            s = unify(u, v, s)
        if s is False:
            return False
    return s


def reify_term(x: Any, s: State) -> Any:
    """sin(a) + b under {a: x} → sin(x) + b: a pattern with its bound variables replaced; open, it stays a pattern."""
    x = walk(x, s)
    if not is_term(x) or x.ground or not s:
        return x
    done: dict[Any, Any] = {}
    stack = [x]
    while stack:
        root = stack[-1]
        # Bindings may hold open terms, whose own variables are replaced first.
        missing: list[Any] = []
        for node in _open_order(root):
            if node in done:
                continue
            rands: list[Any] = []
            for rand in node.rands:
                value = walk(rand, s)
                if is_term(value) and not value.ground:
                    if value in done:
                        value = done[value]
                    else:
                        missing.append(value)
                rands.append(value)
            if missing:
                break
            done[node] = _applied(node, reify_op(node.op, s), rands)
        if missing:
            stack.extend(missing)
        else:
            stack.pop()
    return done[x]


def walked(x: Any, s: State) -> Any:
    """a under {a: x} → x;    sin(a) → sin(x);    a + b → a + b:
    a variable's value, and a pattern all of whose are bound.
    """
    if s and is_term(x) and not x.ground and all(v in s for v in unknowns(x)):
        return reify_term(x, s)
    return walk(x, s)


def _applied(node: Term, op: Any, rands: list[Any]) -> Any:
    """sin, [x] → sin(x), [a] → the pattern sin(a): the op applied to new operands, a term of the graph where nothing is
    open.
    """
    if op.ground and all(map(is_ground, rands)):
        return op.make_node(*rands)
    if op is node.op and all(map(is_, rands, node.rands)):
        return node
    return rebuilt((op, *rands))


def _open_order(root: Term) -> tuple[Term, ...]:
    """sin(a) + b → (sin(a), sin(a) + b): the distinct subterms that are not ground, operands before the terms that use
    them.
    """
    found = root.cache.get("open order")
    if found is None:
        order: dict[Term, None] = {}
        opened = lambda t: [x for x in t.rands if is_term(x) and not x.ground]
        for node in operands_first([root], order.__contains__, opened):
            order[node] = None
        found = root.cache["open order"] = tuple(order)
    return found


def _reify_open(x: Any, s: State) -> Any:
    """sin(a) under {} → sin(a) showing a: a term or op reified; what is open shows its variables, for `isground` to
    see.
    """
    if x.ground:
        return x
    found = reify_term(x, s) if is_term(x) else reify_op(x, s)
    if isinstance(found, Rands):
        return _reify_parts(found, s)
    return _showing(found, unknowns(found) if is_term(found) else filter(is_variable, found._props()))


def _showing(x: Any, variables: Iterable[Any]) -> Any:
    for variable in variables:  # noqa: UP028 - what is sent back is for no iterator
        yield variable
    yield construction_sentinel
    yield x


def _unify_any(u: Any, v: Any, s: Any) -> Any:
    """Unify terms and ops as `unification` does; a variable that kanren has wrapped with its constraints is itself."""
    return unify_terms(*[Var(x.token) if isinstance(x, Var) else x for x in (u, v)], s)


def _reify_parts(x: Rands, s: State) -> Any:
    """Reify operands or a partial term, which becomes the term that it is part of once a head can be applied."""
    parts = yield _reify(x._tuple, s)
    yield construction_sentinel
    yield rebuilt(parts)


def reify_op(op: Any, s: State) -> Any:
    """Return an op with the bound variables among its props replaced."""
    if op.ground:
        return op
    return op.with_props([walk(p, s) for p in op._props()])


# multipledispatch's dispatchers, which their stubs show as plain functions.
_unify_dispatch: Any = _unify
_reify_dispatch: Any = _reify
for _kinds in ((Term, Term), (Var, Term), (Term, Var), (Op, Op)):
    _unify_dispatch.add((*_kinds, Mapping), _unify_any)
for _kind, _reifies in ((Term, _reify_open), (Op, _reify_open), (Rands, _reify_parts)):
    _reify_dispatch.add((_kind, Mapping), _reifies)
