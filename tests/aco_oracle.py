"""A slow judge of matching and unification modulo A, C, U and I: brute force, Maude, and random problems.

Nothing of the code under test is used. A term is a string or number, a `Hole`, or a tuple `(head, *arguments)`; a
theory gives the lawful heads their letters, of "ACUI", and their unit. Finite completeness of brute force: all these
laws have the same variables and, units and repetitions apart, the same leaves on both sides, so that what a hole of
a matcher holds is a unit, a part of the subject, or some of the arguments of an associative part.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product
from typing import Any, NamedTuple

from maude_process import Maude

Answer = tuple[Any, ...]
"""What each hole holds, in the order of the holes' names, in canonical form."""


class Law(NamedTuple):
    """The laws of a head, as letters, and its unit."""

    letters: str
    unit: Any = None


Theory = Mapping[Any, Law]
FREE = Law("")


@dataclass(frozen=True, order=True)
class Hole:
    """A variable."""

    name: str

    def __repr__(self) -> str:
        return f"?{self.name}"


class Problem(NamedTuple):
    """Is the pattern, its holes filled, equal to the subject? The subject has no holes, or a unifier is asked for."""

    theory: Theory
    pattern: Any
    subject: Any


# Terms


def canon(t: Any, theory: Theory) -> Any:
    """Return the same for two terms exactly when they are equal modulo the theory."""
    if not isinstance(t, tuple):
        return t
    head, *arguments = t
    head = canon(head, theory)
    letters, unit = theory.get(head, FREE)
    found: list[Any] = []
    for argument in arguments:
        argument = canon(argument, theory)
        nested = "A" in letters and isinstance(argument, tuple) and argument[0] == head
        found.extend(argument[1:] if nested else [argument])
    if "U" in letters:
        found = [x for x in found if x != unit]
    if "I" in letters:
        found = list(dict.fromkeys(found))
    if "C" in letters:
        found.sort(key=repr)
    if "U" in letters and not found:
        return unit
    if len(found) == 1 and len(arguments) > 1:
        return found[0]
    return (head, *found)


def fill(t: Any, holes: Mapping[Hole, Any]) -> Any:
    """Put what the holes hold in their place."""
    if isinstance(t, Hole):
        return holes.get(t, t)
    return (t[0], *[fill(x, holes) for x in t[1:]]) if isinstance(t, tuple) else t


def subterms(t: Any) -> Iterator[Any]:
    """Yield a term and all that is below it, as often as it stands there; heads are left out."""
    yield t
    if isinstance(t, tuple):
        for argument in t[1:]:
            yield from subterms(argument)


def holes_of(*terms: Any) -> list[Hole]:
    """Return the holes of terms, by name."""
    return sorted({x for t in terms for x in subterms(t) if isinstance(x, Hole)})


def leaves(t: Any, theory: Theory) -> Counter[Any]:
    """Count what no law makes or removes, repetitions apart: free heads, and atoms that are no units."""
    units = {law.unit for law in theory.values()}
    atoms = [x for x in subterms(t) if not isinstance(x, (tuple, Hole)) and x not in units]
    return Counter(atoms + [x[0] for x in subterms(t) if isinstance(x, tuple) and x[0] not in theory])


# Brute force


def pieces(subject: Any, theory: Theory) -> set[Any]:
    """Return everything that a hole can hold where a pattern matches a subject in canonical form."""
    found = {law.unit for law in theory.values() if "U" in law.letters}
    for t in subterms(subject):
        found.add(t)
        letters = theory.get(t[0], FREE).letters if isinstance(t, tuple) else ""
        if "A" in letters:
            n = len(t) - 1
            if "C" in letters:
                some = (c for k in range(2, n) for c in combinations(t[1:], k))
            else:
                some = (t[1:][i:j] for i in range(n) for j in range(i + 2, n + 1))
            found.update(canon((t[0], *arguments), theory) for arguments in some)
    return found


def matchers(pairs: Sequence[tuple[Any, Any]], theory: Theory) -> Iterator[dict[Hole, Any]]:
    """Yield all ways to fill the holes of the patterns that make each equal to its subject: each way once."""
    repeats = any("I" in law.letters for law in theory.values())
    pairs = [(pattern, canon(subject, theory)) for pattern, subject in pairs]
    holes = holes_of(*[pattern for pattern, _ in pairs])
    found = {piece for _, subject in pairs for piece in pieces(subject, theory)}
    values = sorted(((v, leaves(v, theory)) for v in found), key=repr)
    counts = [Counter(x for x in subterms(pattern) if isinstance(x, Hole)) for pattern, _ in pairs]
    rooms = [leaves(subject, theory) for _, subject in pairs]
    fixed = [leaves(pattern, theory) for pattern, _ in pairs]

    def fits(i: int, used: Counter[Any], last: bool) -> bool:
        if repeats:
            return set(used) == set(rooms[i]) if last else set(used) <= set(rooms[i])
        return used == rooms[i] if last else used <= rooms[i]

    def extend(k: int, used: list[Counter[Any]], filled: dict[Hole, Any]) -> Iterator[dict[Hole, Any]]:
        last = k == len(holes)
        if not all(fits(i, u, last) for i, u in enumerate(used)):
            return
        if last:
            if all(canon(fill(pattern, filled), theory) == subject for pattern, subject in pairs):
                yield filled
            return
        hole = holes[k]
        for value, parts in values:
            more = [
                u + Counter({x: n * c[hole] for x, n in parts.items()}) if c[hole] else u
                for u, c in zip(used, counts, strict=True)
            ]
            yield from extend(k + 1, more, {**filled, hole: value})

    yield from extend(0, fixed, {})


def brute_force(problem: Problem) -> set[Answer]:
    """Return the answers of a matching problem."""
    holes = holes_of(problem.pattern)
    found = matchers([(problem.pattern, problem.subject)], problem.theory)
    return {tuple(filled[h] for h in holes) for filled in found}


def complaints(problem: Problem, answers: Iterable[Answer], wanted: set[Answer]) -> list[str]:
    """Say which answers are wanting, wrong or repeated."""
    counted = Counter(tuple(canon(x, problem.theory) for x in answer) for answer in answers)
    return [
        *[f"missing {answer}" for answer in sorted(wanted - set(counted), key=repr)],
        *[f"wrong {answer}" for answer in sorted(set(counted) - wanted, key=repr)],
        *[f"repeated {answer}" for answer, n in counted.items() if n > 1],
    ]


# Unifiers


def freeze(t: Any) -> Any:
    """Make the holes of a term constants."""
    return fill(t, {hole: ("frozen", hole.name) for hole in holes_of(t)})


def is_instance(special: Answer, general: Answer, theory: Theory) -> bool:
    """Whether filling the holes of one answer gives the other."""
    fresh = {hole: Hole(f"{hole.name}'") for hole in holes_of(*general)}
    pairs = [(fill(g, fresh), freeze(s)) for g, s in zip(general, special, strict=True)]
    return next(matchers(pairs, theory), None) is not None


def unifier_complaints(problem: Problem, answers: Sequence[Answer], wanted: Iterable[Answer]) -> list[str]:
    """Say which answers are no unifiers, and which wanted ones are instances of none of them."""
    holes = holes_of(problem.pattern, problem.subject)
    found = []
    for answer in answers:
        filled = dict(zip(holes, answer, strict=True))
        sides = [canon(fill(t, filled), problem.theory) for t in (problem.pattern, problem.subject)]
        if sides[0] != sides[1]:
            found.append(f"wrong {answer}")
    for special in wanted:
        if not any(is_instance(special, general, problem.theory) for general in answers):
            found.append(f"missing {special}")
    return found


def redundant(answers: Sequence[Answer], theory: Theory) -> list[tuple[Answer, Answer]]:
    """Return the pairs of an answer and another one of which it is an instance."""
    return [(s, g) for s, g in permutations(answers, 2) if is_instance(s, g, theory)]


def ground_unifiers(problem: Problem, universe: Sequence[Any]) -> Iterator[Answer]:
    """Yield the unifiers that fill the holes with terms of a universe."""
    holes = holes_of(problem.pattern, problem.subject)
    for values in product(universe, repeat=len(holes)):
        filled = dict(zip(holes, values, strict=True))
        if canon(fill(problem.pattern, filled), problem.theory) == canon(
            fill(problem.subject, filled), problem.theory
        ):
            yield values


# Maude


class MaudeJudge:
    """Maude's own answers. Its associative operators can't be idempotent."""

    ATTRIBUTES = (("A", "assoc"), ("C", "comm"))

    def __init__(self, theory: Theory, arities: Mapping[Any, int], atoms: Iterable[Hashable], name: str):
        self.theory = theory
        constants = {*atoms, *(law.unit for law in theory.values() if law.unit is not None)}
        self.spelled = {atom: self._word(atom) for atom in constants}
        self.atoms = {word: atom for atom, word in self.spelled.items()}
        declarations = [f"ops {' '.join(self.spelled.values())} : -> T ."]
        for head, arity in arities.items():
            law = theory.get(head, FREE)
            attributes = [word for letter, word in self.ATTRIBUTES if letter in law.letters]
            if "U" in law.letters:
                attributes.append(f"id: {self.spelled[law.unit]}")
            laws = f" [{' '.join(attributes)}]" if attributes else ""
            declarations.append(f"op {head} : {'T ' * arity}-> T{laws} .")
        self.maude = Maude(f"fmod {name} is sort T . {' '.join(declarations)} endfm", name)

    @staticmethod
    def _word(atom: Any) -> str:
        return f"k{atom}"

    def _text(self, t: Any) -> str:
        if isinstance(t, Hole):
            return f"{t.name}:T"
        if not isinstance(t, tuple):
            return self.spelled[t]
        return f"{t[0]}({','.join(map(self._text, t[1:]))})"

    def _written(self, t: Any) -> str:
        return self._text(canon(t, self.theory))

    def _read(self, t: Any) -> Any:
        if isinstance(t, dict):
            return Hole(t["variable"])
        name, *arguments = t
        return (name, *map(self._read, arguments)) if arguments else self.atoms[name]

    def _answer(self, substitution: dict[str, Any], holes: list[Hole]) -> Answer:
        filled = {Hole(name): self._read(t) for name, t in substitution.items()}
        return tuple(canon(filled.get(hole, hole), self.theory) for hole in holes)

    def match(self, problem: Problem) -> list[Answer]:
        """Return Maude's matchers, repetitions included."""
        holes = holes_of(problem.pattern)
        found = self.maude.match(self._written(problem.subject), self._written(problem.pattern))
        return [self._answer(substitution, holes) for substitution in found]

    def unify(self, problem: Problem, irredundant: bool = True) -> list[Answer]:
        """Return Maude's unifiers."""
        holes = holes_of(problem.pattern, problem.subject)
        found = self.maude.unify(self._written(problem.pattern), self._written(problem.subject), irredundant)
        return [self._answer(unifier, holes) for unifier in found]


# Random problems

ATOMS = ("a", "b", "c")
ARITIES = {"f": 1, "g": 2}
UNITS = {"s": 0, "p": 1}
LAWS = ("A", "AU", "C", "CU", "AC", "ACU", "ACI", "ACUI")


def one_law(letters: str) -> Theory:
    """Return the theory with one lawful head."""
    return {"s": Law(letters, 0 if "U" in letters else None)}


def two_laws(first: str, second: str) -> Theory:
    """Return the theory with two lawful heads."""
    return {h: Law(w, UNITS[h] if "U" in w else None) for h, w in (("s", first), ("p", second))}


class Generator:
    """Random terms and problems of a theory."""

    def __init__(self, seed: Any, theory: Theory, atoms: Sequence[Any] = ATOMS, widest: int = 3):
        self.random = random.Random(seed)
        self.theory, self.widest = theory, widest
        self.atoms = (*atoms, *(law.unit for law in theory.values() if "U" in law.letters))

    def term(self, depth: int, holes: Sequence[Hole] = (), holey: float = 0.5) -> Any:
        """Return a term of at most so many levels, whose leaves are often holes."""
        choose = self.random
        if depth <= 0 or choose.random() < 0.25:
            if holes and choose.random() < holey:
                return choose.choice(holes)
            return choose.choice(self.atoms)
        return self._application(choose.choice([*self.theory, *self.theory, *ARITIES]), depth, holes, holey)

    def _application(self, head: Any, depth: int, holes: Sequence[Hole], holey: float) -> Any:
        choose = self.random
        arity = ARITIES.get(head) or (
            choose.randint(2, self.widest) if "A" in self.theory[head].letters else 2
        )
        return (head, *[self.term(depth - 1, holes, holey) for _ in range(arity)])

    def scrambled(self, t: Any) -> Any:
        """Return a term that is equal modulo the theory, and looks different."""
        if not isinstance(t, tuple):
            return self._with_unit(t)
        letters = self.theory.get(t[0], FREE).letters
        arguments = [self.scrambled(x) for x in t[1:]]
        if "C" in letters:
            self.random.shuffle(arguments)
        if "I" in letters and self.random.random() < 0.2:
            arguments.append(arguments[0])
        while "A" in letters and len(arguments) > 2 and self.random.random() < 0.5:
            i = self.random.randrange(len(arguments) - 1)
            arguments[i : i + 2] = [(t[0], *arguments[i : i + 2])]
        return self._with_unit((t[0], *arguments))

    def _with_unit(self, t: Any) -> Any:
        heads = [h for h, law in self.theory.items() if "U" in law.letters]
        if not heads or self.random.random() > 0.1:
            return t
        head = self.random.choice(heads)
        return (head, t, self.theory[head].unit)

    def matching(self, holes: int = 3, leaves_at_most: int = 6, depth: int = 2) -> Problem:
        """Return a pattern and a ground subject, which is most often an instance of it."""
        variables = [Hole(name) for name in "XYZW"[:holes]]
        while True:
            lawful = self.random.random() < 0.6
            head = self.random.choice([*self.theory] if lawful else [*ARITIES])
            pattern = self._application(head, depth, variables, 0.6)
            if not holes_of(pattern):
                continue
            chance = self.random.random()
            filled = fill(pattern, {h: self._filling() for h in variables})
            subject = self.term(depth) if chance < 0.15 else filled
            if chance > 0.85:
                atom = self.random.choice([x for x in subterms(subject) if not isinstance(x, tuple)])
                subject = self._replaced_once(subject, atom)
            size = sum(not isinstance(x, tuple) for x in subterms(canon(subject, self.theory)))
            if size <= leaves_at_most and len(list(subterms(pattern))) <= 12:
                return Problem(self.theory, self.scrambled(pattern), self.scrambled(subject))

    def _filling(self) -> Any:
        """Return a small ground term, often a sum."""
        if self.random.random() < 0.5:
            return self.term(1)
        return self._application(self.random.choice([*self.theory]), 1, (), 0)

    def _replaced_once(self, t: Any, atom: Any) -> Any:
        places = [i for i, x in enumerate(subterms(t)) if x == atom]
        place = iter(range(len(list(subterms(t)))))
        chosen = self.random.choice(places)

        def change(t: Any) -> Any:
            here = next(place) == chosen
            if isinstance(t, tuple):
                return (t[0], *[change(x) for x in t[1:]])
            return self.random.choice(self.atoms) if here else t

        return change(t)

    def unification(self, holes: int = 3, depth: int = 2, nodes_at_most: int = 8) -> Problem:
        """Return two terms with holes: two generalisations of one term, most often."""
        variables = [Hole(name) for name in "XYZW"[:holes]]
        while True:
            head = self.random.choice([*self.theory] * 2 + [*ARITIES])
            whole = self._application(head, depth, (), 0)
            held: dict[Hole, Any] = {}
            sides = [self._generalised(whole, held, variables, root=True) for _ in range(2)]
            if self.random.random() < 0.1:
                sides[1] = self._application(head, depth, variables, 0.6)
            small = all(len(list(subterms(t))) <= nodes_at_most for t in sides)
            if small and all(holes_of(t) for t in sides):
                return Problem(self.theory, *[self.scrambled(t) for t in sides])

    def _generalised(
        self, t: Any, held: dict[Hole, Any], variables: Sequence[Hole], root: bool = False
    ) -> Any:
        """Put holes into a term; what each holds is noted, and is the same wherever it stands."""
        choose = self.random
        if not root and choose.random() < 0.5:
            value = canon(t, self.theory)
            fitting = [hole for hole in variables if held.get(hole, value) == value]
            if fitting:
                hole = choose.choice(fitting)
                held[hole] = value
                return hole
        if not isinstance(t, tuple):
            return t
        letters = self.theory.get(t[0], FREE).letters
        arguments = list(t[1:])
        if "A" in letters and len(arguments) > 2 and choose.random() < 0.7:
            if "C" in letters:
                choose.shuffle(arguments)
            arguments[:2] = [(t[0], *arguments[:2])]
        return (t[0], *[self._generalised(x, held, variables) for x in arguments])
