"""Normal forms: interned symbols and nodes, flattened, without units and repetitions, and written back as terms.

    s(a, s(b, 0))     s{a: 1, b: 1}          a multiset of children where s commutes, a tuple where it does not

Two terms are equal modulo the laws of a reading exactly when their normal forms in it are one object (atoms: equal).

    child = Node | Var | atom

where an atom is any other object, compared by `==`, wrapped in `Opaque` if it cannot be hashed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from threading import RLock
from typing import Any
from weakref import ref

from unification.variable import Var

from relgrad.errors import LawError
from relgrad.logic.aco.carriers import OP, TERM, Carrier, Opaque, atom, carrier_of
from relgrad.logic.aco.theory import LAWLESS, Reading, is_neutral, is_number, unit_of_op
from relgrad.term import Term


class _Unknown:
    """x(a) → UNKNOWN(x, a): the rator of a symbol whose nodes have their head as first argument."""

    def __repr__(self) -> str:
        return "?"


UNKNOWN = _Unknown()
NONE: Any = object()
"""No unit: unequal to every child."""


class Symbol:
    """+: a rator, the carrier of its applications, and the laws that hold of it; interned per reading.

    `unit` is the child that stands for no arguments, `NONE` where there is none.
    A symbol with the rator `UNKNOWN` heads nodes whose head is not known yet, or is a term: it is their `args[0]`.
    """

    __slots__ = (
        "associative",
        "carrier",
        "commutative",
        "free",
        "idempotent",
        "nodes",
        "rator",
        "reading",
        "unit",
    )

    def __init__(self, carrier: Carrier, rator: Any, reading: Reading, as_grouped: bool = False):
        self.carrier, self.rator, self.reading = carrier, rator, reading
        laws = LAWLESS if rator is UNKNOWN or carrier is OP else reading.laws_of(rator)
        self.associative, self.commutative = laws.associative and not as_grouped, laws.commutative
        self.idempotent = laws.idempotent and not as_grouped
        self.free = not (self.associative or self.commutative)
        self.nodes: dict[Any, _Entry] = {}
        self.unit: Any = NONE

    def __repr__(self) -> str:
        return f"{self.carrier}:{self.rator}"

    @property
    def has_unit(self) -> bool:
        """+ with 0 → True: whether there is an identity."""
        return self.unit is not NONE

    def is_unit(self, x: Any) -> bool:
        """0 under + → True: whether a child is the identity, in one of the ways in which it may be written."""
        if self.carrier is TERM:
            return self.has_unit and is_number(x, self.unit.op.value)
        return x == self.unit

    def admits_unit(self, others: Iterable[Any], unit: Any = None) -> bool:
        """0 beside x → True: whether a unit may stand beside, or be left out beside, the other arguments."""
        if self.carrier is not TERM or not self.has_unit:
            return self.has_unit
        unit = self.unit if unit is None else unit
        return is_neutral(self.rator, unit, [term_of(x) for x in others if is_ground(x)])


def symbol_of(carrier: Carrier, rator: Any, reading: Reading, as_grouped: bool = False) -> Symbol:
    """ "+" → +: the one symbol of a rator, which can be hashed; another for what must stay grouped as it is."""
    key = (carrier, rator, as_grouped) if as_grouped else (carrier, rator)
    found = reading.symbols.get(key)
    if found is None:
        found = reading.symbols[key] = Symbol(carrier, rator, reading, as_grouped)
        laws = LAWLESS if found.free or as_grouped else reading.laws_of(rator)
        if laws.identity is not None:
            found.unit = unit_of_op(laws.identity) if carrier is TERM else _unit(rator, laws.identity)
    return found


def _unit(rator: Any, identity: Any) -> Any:
    if carrier_of(identity) is not None:
        raise LawError(
            f"the identity of {rator!r} is a term: {identity!r}",
            cause="only atoms are supported as identities",
            cure="name the identity by a string or number",
        )
    return atom(identity)


class Node:
    """+(a, b): a normal application: `symbol` of `args`, or of the multiset `parts` (child -> how often) if
    commutative.

    `ground` says that no variable is inside, `variables` which are. Arguments stand in the order in which they first
    occurred. Equality is identity.
    """

    __slots__ = ("__weakref__", "args", "ground", "index", "origin", "parts", "symbol", "variables")

    symbol: Symbol
    ground: bool
    args: tuple[Any, ...]
    parts: dict[Any, int]
    variables: frozenset[Any]
    origin: Any
    index: Any

    def __getattr__(self, name: str) -> Any:
        # What can be computed of the rest is, when it is first asked for.
        if name == "args":
            value: Any = tuple(expanded(self.parts))
        elif name == "parts":
            value = counted(self.args)
        elif name == "variables":
            value = variables_in(self)
        elif name == "index":
            value = None
        else:
            raise AttributeError(name)
        setattr(self, name, value)
        return value

    def __repr__(self) -> str:
        # By the heads of the arguments only, so that printing never recurses.
        parts = [f"{x.symbol.rator}(…)" if type(x) is Node else repr(x) for x in self.args[:8]]
        return f"{self.symbol.rator}({', '.join([*parts, *['…'][: len(self.args) > 8]])})"


class _Entry(ref):
    """key → node: a weak reference to a node that knows its key (a WeakValueDictionary's look-ups cost more)."""

    __slots__ = ("key", "table")
    key: Any
    table: dict[Any, Any]


def _forget(entry: Any) -> None:
    with _lock:
        # The same key may meanwhile stand for a younger node.
        if entry.table.get(entry.key) is entry:
            del entry.table[entry.key]


_lock = RLock()


def interned(
    symbol: Symbol, key: Any, args: tuple[Any, ...] | None, parts: dict[Any, int] | None, origin: Any = None
) -> Node:
    """+, {a, b} → a + b: the one node of a symbol and its arguments, or parts; the key tells them apart.

    `origin` is the tuple or etuple that it was read from.
    """
    entry = symbol.nodes.get(key)
    found = entry() if entry is not None else None
    if found is not None:
        return found
    node = Node()
    if parts is None:
        node.args = args or ()
    else:
        node.parts = parts
    node.ground = all(map(is_ground, node.args if parts is None else parts))
    node.origin = origin
    node.symbol = symbol
    table = symbol.nodes
    entry = _Entry(node, _forget)
    entry.key, entry.table = key, table
    other = table.setdefault(key, entry)
    if other is not entry:
        with _lock:
            found = table.get(key, other)()
            if found is not None:
                return found
            table[key] = entry
    return node


def is_ground(child: Any) -> bool:
    """f(x) → False, f(1) → True: whether no variable is inside a child."""
    kind = type(child)
    return child.ground if kind is Node else kind is not Var


def same(x: Any, y: Any) -> bool:
    """1, 1.0 → True: whether two ground children are equal."""
    if x is y:
        return True
    if type(x) is Node or type(y) is Node:
        return False
    try:
        return bool(x == y)
    except Exception:  # whatever a foreign `==` raises
        return False


def variables_in(*children: Any) -> frozenset[Any]:
    """f(x, y) → {x, y}: the variables inside children."""
    found, seen, stack = set(), set(), list(children)
    while stack:
        x = stack.pop()
        if type(x) is Var:
            found.add(x)
        elif type(x) is Node and not x.ground and x not in seen:
            seen.add(x)
            stack.extend(x.parts if x.symbol.commutative else x.args)
    return frozenset(found)


def counted(children: Iterable[Any]) -> dict[Any, int]:
    """a, b, a → {a: 2, b: 1}: the number of times that each child occurs, in the order of first occurrence."""
    counts: dict[Any, int] = {}
    for x in children:
        counts[x] = counts.get(x, 0) + 1
    return counts


def expanded(parts: dict[Any, int]) -> Iterator[Any]:
    """{a: 2, b: 1} → a, a, b: each child as often as it occurs."""
    for x, n in parts.items():
        for _ in range(n):
            yield x


def parts_of(x: Any, symbol: Symbol) -> dict[Any, int]:
    """a + a + b → {a: 2, b: 1}: the arguments of a child under an associative and commutative symbol."""
    if type(x) is Node and x.symbol is symbol and x.parts:
        return dict(x.parts)
    return {} if symbol.is_unit(x) else {x: 1}


def word_of(x: Any, symbol: Symbol) -> list[Any]:
    """a·b·a → [a, b, a]: the arguments of a child read as an application of an associative symbol."""
    if type(x) is Node and x.symbol is symbol and x.args:
        return list(x.args)
    return [] if symbol.is_unit(x) else [x]


def term_of(child: Any) -> Any:
    """+(a, b) → ("+", a, b): the term that was read, where there was one; else flat, or left-nested."""
    if type(child) is not Node:
        return child.value if type(child) is Opaque else child
    done: dict[Node, Any] = {}
    stack = [child]
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
            continue
        known = original(node)
        if known is None:
            args = node.args
            missing = [x for x in args if type(x) is Node and x not in done]
            if missing:
                stack.extend(missing)
                continue
            known = _written(node, [done[x] if type(x) is Node else term_of(x) for x in args])
        done[node] = known
        stack.pop()
    return done[child]


def _written(node: Node, args: list[Any]) -> Any:
    symbol = node.symbol
    if symbol.rator is not UNKNOWN:
        args.insert(0, symbol.rator)
    term = symbol.carrier.write(args, symbol.associative, node.ground)
    remember(node, term)
    return term


def original(node: Node) -> Any:
    """+(a, b) → ("+", a, b) or None: the term that a node was read from or last written as, or None."""
    origin = node.origin
    return origin() if type(origin) is ref else origin


def remember(node: Node, term: Any) -> None:
    """+(a, b) ↔ ("+", a, b): lets a node be written as this term."""
    # A term holds its node in its cache, so the node must not hold the term.
    node.origin = ref(term) if type(term) is Term else term


def make(symbol: Symbol, args: Iterable[Any]) -> Any:
    """+, [a, b + a, 0] → a + a + b: the normal form of a symbol applied to children: flattened, without units and
    repetitions.

    One argument that is left is that argument, where the symbol is associative or has a unit; none is the unit.
    """
    if symbol.commutative:
        return bag(symbol, counted(args))
    given = tuple(args)
    if symbol.rator is UNKNOWN:
        return _headed(symbol, given)
    if not symbol.free:
        given = _spliced(symbol, given)
        if symbol.has_unit:
            given = _without_units(symbol, given)
            if not given:
                return symbol.unit
        if len(given) == 1:
            return given[0]
    return interned(symbol, given, given, None)


def bag(symbol: Symbol, counts: dict[Any, int]) -> Any:
    """+, {a: 1, b + a: 1} → a + a + b: the normal form of a commutative symbol applied to children, each as often as
    given.

    The dictionary is not used again by the caller.
    """
    if symbol.associative:
        counts = _spliced_bag(symbol, counts)
    if symbol.has_unit:
        counts = _without_units(symbol, counts)
        if not counts:
            return symbol.unit
    if symbol.idempotent:
        counts = dict.fromkeys(counts, 1)
    if len(counts) == 1 and (symbol.associative or symbol.has_unit):
        ((only, count),) = counts.items()
        if count == 1:
            return only
    return interned(symbol, frozenset(counts.items()), None, counts)


def _is_nested(symbol: Symbol, x: Any) -> bool:
    # An application to nothing, of a symbol without a unit, is a constant.
    return type(x) is Node and x.symbol is symbol and bool(x.parts if symbol.commutative else x.args)


def _spliced(symbol: Symbol, args: tuple[Any, ...]) -> tuple[Any, ...]:
    if not symbol.associative or not any(_is_nested(symbol, x) for x in args):
        return args
    return tuple([y for x in args for y in (x.args if _is_nested(symbol, x) else (x,))])


def _spliced_bag(symbol: Symbol, counts: dict[Any, int]) -> dict[Any, int]:
    for x in counts:
        if type(x) is Node and x.symbol is symbol and x.parts:
            break
    else:
        return counts
    flat: dict[Any, int] = {}
    for x, n in counts.items():
        if _is_nested(symbol, x):
            for y, m in x.parts.items():
                flat[y] = flat.get(y, 0) + n * m
        else:
            flat[x] = flat.get(x, 0) + n
    return flat


def _without_units(symbol: Symbol, args: Any) -> Any:
    """(a, 0) → (a,): leaves the units out of a tuple or a dictionary of arguments, as far as the others admit it."""
    found = [x for x in args if symbol.is_unit(x)]
    if not found:
        return args
    others = [x for x in args if x not in found] or _most_general(symbol, found)
    gone = {x for x in found if x not in others and symbol.admits_unit(others, x)}
    if isinstance(args, dict):
        return {x: 1 if x in found and x in others else n for x, n in args.items() if x not in gone}
    return tuple([x for x in args if x not in gone])


def _most_general(symbol: Symbol, units: list[Any]) -> list[Any]:
    """[0, 0] → []: the unit that is left of several: none, unless they have types to keep."""
    if symbol.carrier is not TERM:
        return []
    keeping = [x for x in units if all(x is y or symbol.admits_unit([x], y) for y in units)]
    return [min(keeping or units, key=lambda x: str(x.op.key))]


def _headed(symbol: Symbol, args: tuple[Any, ...]) -> Any:
    """UNKNOWN, ("f", a) → f(a): an application under its head's own symbol where that is known."""
    head = args[0]
    if type(head) is Node and head.ground and head.symbol.carrier is OP:
        head = term_of(head)
    if type(head) in (Node, Var, Opaque):
        return interned(symbol, args, args, None)
    return make(symbol_of(symbol.carrier, head, symbol.reading), args[1:])


class Cyclic(Exception):
    """{x: f(x)} → Cyclic: no finite term is the value of x."""


def instantiate(child: Any, s: Mapping[Any, Any]) -> Any:
    """f(x), {x: y + a, y: b} → f(b + a): bound variables replaced, all the way down; raises Cyclic."""
    if not s or is_ground(child):
        return child
    done: dict[Any, Any] = {}
    opened: set[Any] = set()
    stack = [child]
    while stack:
        x = stack[-1]
        if x in done or is_ground(x):
            stack.pop()
            continue
        below = _below(x, s)
        missing = [y for y in below if y not in done and not is_ground(y)]
        if missing:
            if x in opened:
                raise Cyclic
            opened.add(x)
            stack.extend(missing)
            continue
        stack.pop()
        new = [done.get(y, y) for y in below]
        done[x] = _rebuilt(x, new) if type(x) is Node else new[0] if new else x
    return done[child]


def _below(x: Any, s: Mapping[Any, Any]) -> Collection[Any]:
    if type(x) is Node:
        return x.parts if x.symbol.commutative else x.args
    return (s[x],) if x in s else ()


def _rebuilt(x: Node, new: list[Any]) -> Any:
    old = x.parts if x.symbol.commutative else x.args
    if all(a is b for a, b in zip(old, new, strict=True)):
        return x
    if not x.symbol.commutative:
        return make(x.symbol, new)
    counts: dict[Any, int] = {}
    for y, n in zip(new, x.parts.values(), strict=True):
        counts[y] = counts.get(y, 0) + n
    return bag(x.symbol, counts)
