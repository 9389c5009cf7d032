"""The questions of `ac_match.py`, and the engines that answer them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

PATTERNS = ("bound", "shared", "factor", "pairs")
LAWFUL, UNARY = ("add", "mul"), ("f", "g", "h", "exp")


class Case(NamedTuple):
    """A question: pattern and subject as nested tuples, variables as strings that begin with "?"."""

    name: str
    n: int
    pattern: Any
    subject: Any
    variables: tuple[str, ...]
    answers: int


def case(name: str, n: int, salt: str = "") -> Case:
    """Return a question; different salts give the leaves different names, so that nothing is known of them yet."""
    k = [f"k{salt}{i}" for i in range(2 * n + 3)]
    if name == "bound":
        subject = ("add", *[("f", k[i]) for i in range(n)])
        return Case(name, n, ("add", ("f", k[n - 1]), "?X"), subject, ("?X",), 1)
    if name == "shared":
        half = n // 2
        fs = [("f", k[i]) for i in range(half - 1)]
        gs = [("g", k[i]) for i in range(half, n - 1)]
        subject = ("add", ("f", k[half - 1]), *fs, *gs, ("g", k[half - 1]))
        return Case(name, n, ("add", ("f", "?A"), ("g", "?A"), "?X"), subject, ("?A", "?X"), 1)
    if name == "factor":
        others = [("mul", k[2 * i], k[2 * i + 1]) for i in range(n - 2)]
        subject = ("add", ("mul", k[2 * n], k[2 * n + 1]), *others, ("mul", k[2 * n], k[2 * n + 2]))
        pattern = ("add", ("mul", "?A", "?B"), ("mul", "?A", "?C"), "?X")
        return Case(name, n, pattern, subject, ("?A", "?B", "?C", "?X"), 2)
    e = max(2, n // 4)
    places = {(2 * i + 1) * n // (2 * e) for i in range(e)}
    subject = ("mul", *[("exp" if i in places else "h", k[i]) for i in range(n)])
    return Case(
        name, n, ("mul", ("exp", "?A"), ("exp", "?B"), "?X"), subject, ("?A", "?B", "?X"), e * (e - 1)
    )


def built(t: Any, leaf: Callable[[str], Any], node: Callable[[str, list[Any]], Any]) -> Any:
    """Build a nested tuple as something else."""
    if isinstance(t, str):
        return leaf(t)
    return node(t[0], [built(x, leaf, node) for x in t[1:]])


class Kanren:
    """A goal of kanren's kind, run by kanren, on etuples."""

    needs = "kanren"

    def __init__(self) -> None:
        from kanren import fact, run, var
        from kanren.assoccomm import associative, commutative

        # kanren's own goals recurse on whatever they walk.
        sys.setrecursionlimit(100_000)
        for head in LAWFUL:
            fact(associative, head)
            fact(commutative, head)
        self.run, self.var, self.goal = run, var, self.load()

    def load(self) -> Callable[[Any, Any], Any]:
        from kanren.assoccomm import eq_assoccomm

        return eq_assoccomm

    def node(self, head: str, parts: list[Any]) -> Any:
        from etuples import etuple

        return etuple(head, *parts)

    def leaf(self, name: str) -> Any:
        return name

    def prepare(self, c: Case) -> Any:
        variables = {v: self.var() for v in c.variables}

        def leaf(name: str) -> Any:
            return variables[name] if name[0] == "?" else self.leaf(name)

        sides = [built(t, leaf, self.node) for t in (c.pattern, c.subject)]
        return tuple(variables.values()), *sides

    def first(self, question: Any) -> int:
        query, pattern, subject = question
        return len(self.run(1, query, self.goal(pattern, subject)))

    def all(self, question: Any) -> int:
        query, pattern, subject = question
        return sum(1 for _ in self.run(None, query, self.goal(pattern, subject)))


class Etuples(Kanren):
    """relgrad's goal in the place of kanren's, on etuples."""

    needs = "relgrad.logic.aco.goal"

    def load(self) -> Callable[[Any, Any], Any]:
        from relgrad.logic.aco.goal import eq_aco

        return eq_aco


class Tuples(Etuples):
    """relgrad's goal on plain tuples."""

    def node(self, head: str, parts: list[Any]) -> Any:
        return (head, *parts)


class Terms(Etuples):
    """relgrad's goal on its own terms: sums and products of two operands each, laws as the ops declare them."""

    def load(self) -> Callable[[Any, Any], Any]:
        from relgrad.logic.aco.goal import eq_aco
        from relgrad.logic.aco.theory import AC
        from relgrad.ops import arithmetic, exponential, trigonometric

        self.ops = {"add": arithmetic.add, "mul": arithmetic.multiply, "exp": exponential.exp}
        self.ops |= {"f": trigonometric.sin, "g": trigonometric.cos, "h": trigonometric.tan}
        return lambda u, v: eq_aco(u, v, AC)

    def leaf(self, name: str) -> Any:
        from relgrad.leaf import Input
        from relgrad.term import term
        from relgrad.types import array_type

        return term(Input(name, array_type("float64", (3,))))

    def node(self, head: str, parts: list[Any]) -> Any:
        from relgrad.term import term

        op, (first, *others) = self.ops[head], parts
        if not others:
            return term(op, first)
        for other in others:
            first = term(op, first, other)
        return first


class MatchPy:
    """MatchPy's one-to-one matching; X is a sequence wildcard."""

    needs = "matchpy"

    def __init__(self) -> None:
        import matchpy

        self.matchpy = matchpy
        wide, one = matchpy.Arity(2, False), matchpy.Arity.unary
        self.heads = {
            head: matchpy.Operation.new(head, wide, f"M{head}", associative=True, commutative=True)
            for head in LAWFUL
        } | {head: matchpy.Operation.new(head, one, f"M{head}") for head in UNARY}

    def prepare(self, c: Case) -> Any:
        m, symbols = self.matchpy, {}

        def leaf(name: str) -> Any:
            if name[0] == "?":
                return m.Wildcard.plus("X") if name == "?X" else m.Wildcard.dot(name[1:])
            return symbols.setdefault(name, m.Symbol(name))

        pattern, subject = (built(t, leaf, lambda h, xs: self.heads[h](*xs)) for t in (c.pattern, c.subject))
        return subject, m.Pattern(pattern)

    def first(self, question: Any) -> int:
        return sum(1 for _ in islice(self.matchpy.match(*question), 1))

    def all(self, question: Any) -> int:
        return sum(1 for _ in self.matchpy.match(*question))


class Maude:
    """Maude through its Python bindings; the subject is parsed and normalised beforehand."""

    needs = "maude"
    count = 0

    def __init__(self) -> None:
        import maude

        maude.init(advise=False)
        self.maude = maude

    def prepare(self, c: Case) -> Any:
        constants: set[str] = set()

        def leaf(name: str) -> str:
            if name[0] == "?":
                return f"{name[1:]}:T"
            constants.add(name)
            return name

        pattern, subject = (
            built(t, leaf, lambda h, xs: f"{h}({','.join(xs)})") for t in (c.pattern, c.subject)
        )
        Maude.count += 1
        self.maude.input(
            f"fmod BENCH{Maude.count} is sort T . ops {' '.join(LAWFUL)} : T T -> T [assoc comm] . "
            f"ops {' '.join(UNARY)} : T -> T . ops {' '.join(sorted(constants))} : -> T . endfm"
        )
        module = self.maude.getModule(f"BENCH{Maude.count}")
        read = module.parseTerm(subject)
        read.normalize(True)
        return read, module.parseTerm(pattern), module

    def first(self, question: Any) -> int:
        subject, pattern, _ = question
        return sum(1 for _ in islice(subject.match(pattern), 1))

    def all(self, question: Any) -> int:
        subject, pattern, _ = question
        return sum(1 for _ in subject.match(pattern))


ENGINES: dict[str, type] = {
    "relgrad tuples": Tuples,
    "relgrad etuples": Etuples,
    "relgrad terms": Terms,
    "kanren": Kanren,
    "matchpy": MatchPy,
    "maude": Maude,
}
