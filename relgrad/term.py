"""Terms: interned, immutable expression tuples `(rator, *rands)` with an array type attached.

Structurally equal terms are one object, so `==` is `is` and `hash` never recurses. A program is a DAG of terms.
This is the only module that imports `etuples`; the others have its classes from here.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator
from threading import RLock
from typing import Any, Protocol
from weakref import ref

from etuples.core import ExpressionTuple, KwdPair
from etuples.dispatch import apply as etuple_apply

from relgrad.looks import Shown
from relgrad.types import Type

__all__ = [
    "ExpressionTuple",
    "KwdPair",
    "Rands",
    "Rator",
    "Term",
    "Unknown",
    "intern_table_size",
    "is_term",
    "kept",
    "nearest_where",
    "operands_first",
    "rands_of",
    "reachable",
    "rebuild",
    "rebuilt",
    "substitute",
    "subterms",
    "term",
]


class Unknown(ABC):  # noqa: B024 - a marker that the logic room registers its variables with
    """isinstance(var(), Unknown) → True: what may stand for a term that is not known yet, a logic variable.

    Of a subclass or exactly the registered class: kanren shows constraints with variables of a class of their own,
    which
    equal others and are not identical to them.
    """

    @classmethod
    def __subclasshook__(cls, kind: type) -> Any:
        of_registered = any(base is not object and issubclass(base, cls) for base in kind.__bases__)
        return False if of_registered and cls not in kind.__mro__ else NotImplemented


class Rator(Protocol):
    """op.ground, op.implicit, op.arity, op.type_of(rands) → the questions of a term to its head: an op."""

    @property
    def ground(self) -> bool: ...

    @property
    def implicit(self) -> bool: ...

    @property
    def arity(self) -> int | None: ...

    def type_of(self, rands: tuple[Any, ...]) -> Type: ...


class Rands(ExpressionTuple):
    """cons(op, Rands(x, y)) = op(x, y): the operands of a term as an etuple, or what is no term yet."""

    __slots__ = ()

    def _eval_apply_fn(self, op: Callable[..., Any]) -> Callable[..., Any]:
        # etuples passes the defaults of a signature on, which NumPy's ufuncs have and do not always take.
        return lambda *args, **kwargs: op(*args, **kwargs)

    def __add__(self, other: Iterable[Any]) -> Any:
        return rebuilt((*self._tuple, *other))

    def __radd__(self, other: Iterable[Any]) -> Any:
        return rebuilt((*other, *self._tuple))


class Term(Shown, ExpressionTuple):
    """add(x, y) is add(x, y) → True: one application of an op to operands, hash-consed:
    build terms with `term(op, *rands)`.

    `type` is the array type (None while a logic variable is inside), `ground` says that none is, `orders` how deep
    implicit derivatives stand in each other, and `cache` holds what the rooms above have computed of this term; it
    dies with it.
    """

    __slots__ = ("__weakref__", "cache", "ground", "op", "orders", "rands", "type")

    op: Any
    """The rator: the op that is applied."""
    rands: tuple[Any, ...]
    """The operands: terms, or logic variables in a pattern."""
    ground: bool
    orders: int
    type: Any  # a Type, or None when not ground; Any, because every reader knows which of the two it holds
    cache: dict[Hashable, Any]

    def __new__(cls, parts: Iterable[Any] = ()) -> Any:
        """(add, x, y) → x + y, () → (): the term of a head and its operands, as unification and kanren make containers.

        What is no term, of no parts at all or of too many operands, is a plain etuple.
        """
        return rebuilt(tuple(parts))

    def __init__(self, parts: Iterable[Any] = ()) -> None:
        """Leave the one term as it is."""

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The operands, as Aesara calls them."""
        return self.rands

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    __hash__ = object.__hash__

    def _eval_step(self) -> Generator[Term]:
        # To evaluate an etuple with terms in it applies its heads to them.
        yield self

    def __getitem__(self, key: Any) -> Any:
        part = self._tuple[key]
        return Rands(part) if isinstance(key, slice) else part

    def __reduce__(self) -> tuple[Any, ...]:
        return term, self._tuple

    def __copy__(self) -> Term:
        return self

    def __deepcopy__(self, memo: Any) -> Term:
        return self

    def __str__(self) -> str:
        return f"e({', '.join(_short(part) for part in self._tuple)})"

    __repr__ = __str__


def _short(part: Any) -> str:
    """Name an operand by its head only, so that printing never recurses."""
    if not isinstance(part, Term):
        return str(part)
    return f"{part.op}(…)" if part.rands else str(part.op)


class _Entry(ref):
    """A weak reference to a term that knows its key (as in a WeakValueDictionary, whose look-ups cost more)."""

    __slots__ = ("key",)
    key: tuple[Any, ...]


def _forget(entry: Any) -> None:
    with _lock:
        # The same key may meanwhile stand for a younger term.
        if _table.get(entry.key) is entry:
            del _table[entry.key]


_table: dict[tuple[Any, ...], _Entry] = {}
_lock = RLock()


def term(op: Rator, *rands: Any, type_: Type | None = None) -> Term:
    """Return the one term that applies `op` to `rands`, exactly as given.

    `term(op, *t.rands) is t` whenever `op == t.op`. The operands are terms or logic variables; anything else
    must be wrapped in a constant first. `type_` spares the op's type inference; it must agree with it, since a
    term's type is a function of its key. Raises what the op's type inference raises.
    """
    key = (op, *rands)
    entry = _table.get(key)
    if entry is not None:
        found = entry()
        if found is not None:
            return found
    ground, orders = op.ground, 0
    for rand in rands:
        if type(rand) is Term:
            ground = ground and rand.ground
            if rand.orders > orders:
                orders = rand.orders
        elif isinstance(rand, Unknown):
            ground = False
        else:
            raise TypeError(
                f"an operand must be a term or a logic variable, not {type(rand).__name__}: {rand!r}"
            )
    # ExpressionTuple's own constructor converts and copies; the slots are filled directly.
    new = object.__new__(Term)
    new._tuple = key
    new._evaled_obj = ExpressionTuple.null
    new._parent = None
    new.op = op
    new.rands = rands
    new.ground = ground
    new.orders = orders + 1 if op.implicit else orders
    new.type = (type_ if type_ is not None else op.type_of(rands)) if ground else None
    new.cache = {}
    with _lock:
        entry = _table.get(key)
        found = entry() if entry is not None else None
        if found is not None:
            return found
        entry = _Entry(new, _forget)
        entry.key = key
        _table[key] = entry
    return new


def intern_table_size() -> int:
    """The number of terms that are alive."""
    return len(_table)


def is_term(x: object) -> bool:
    """Whether x is a term, and no logic variable, array or symbolic array."""
    return type(x) is Term


def rebuilt(parts: tuple[Any, ...]) -> Any:
    """(sin, x) → sin(x), (sin, x, y) → etuple: the term of a head and its operands; a plain etuple where there is
    none.
    """
    if parts and hasattr(parts[0], "type_of") and parts[0].arity in (None, len(parts) - 1):
        try:
            return term(*parts)
        except Exception:  # whatever type inference raises says that there is no such term
            pass
    return Rands(parts)


# What multipledispatch decorates has become a dispatcher, which is not declared anywhere.
@etuple_apply.register(Callable, Rands)  # pyright: ignore[reportFunctionMemberAccess]
def _apply_to_rands(rator: Any, rands: Rands) -> Any:
    return rebuilt((rator, *rands))


def subterms(*roots: Any) -> Iterator[Term]:
    """sin(x) + x → x, sin(x), sin(x) + x: every distinct term below the roots once, operands before the terms that use
    them.
    """
    seen: set[Term] = set()
    for root in roots:
        if not is_term(root) or root in seen:
            continue
        stack: list[tuple[Term, int]] = [(root, 0)]
        seen.add(root)
        while stack:
            node, position = stack.pop()
            rands = node.rands
            while position < len(rands):
                rand = rands[position]
                position += 1
                if type(rand) is Term and rand not in seen:
                    seen.add(rand)
                    stack.append((node, position))
                    stack.append((rand, 0))
                    break
            else:
                yield node


def operands_first(
    roots: Iterable[Any], known: Callable[[Any], bool], below: Callable[[Any], Iterable[Any]]
) -> Iterator[Any]:
    """[sin(x) + x], x known → sin(x), sin(x) + x: the roots and all below them that is not known, operands first.

    Whoever asks makes each known before the next. Nothing recurses.
    """
    stack = list(roots)[::-1]
    while stack:
        node = stack[-1]
        if known(node):
            stack.pop()
        elif missing := [x for x in below(node) if not known(x)]:
            stack += missing[::-1]
        else:
            stack.pop()
            yield node


def rands_of(t: Term) -> tuple[Any, ...]:
    """Return what a term is applied to."""
    return t.rands


def kept(
    t: Term, name: str, of: Callable[[Term], Any], below: Callable[[Term], Iterable[Term]] = rands_of
) -> Any:
    """cache[name] = of(t): what is kept on a term under a name; of each below that is without it first, operands
    first.
    """
    cache = t.cache
    if name not in cache:
        missing = [x for x in below(t) if name not in x.cache]
        for node in operands_first(missing, lambda x: name in x.cache, below):
            node.cache[name] = of(node)
        cache[name] = of(t)
    return cache[name]


def once(t: Term, name: Hashable, of: Callable[[Term], Any]) -> Any:
    """cache[name] = of(t): what is kept on a term under a name, where nothing below is asked."""
    if name not in t.cache:
        t.cache[name] = of(t)
    return t.cache[name]


def reachable(*roots: Any, below: Callable[[Term], Iterable[Any]] = rands_of) -> set[Term]:
    """sin(x) + x → {x, sin(x), sin(x) + x}: the distinct terms below the roots, for questions that need no order."""
    stack = [root for root in roots if type(root) is Term]
    seen = set(stack)
    while stack:
        for rand in below(stack.pop()):
            if type(rand) is Term and rand not in seen:
                seen.add(rand)
                stack.append(rand)
    return seen


def nearest_where(roots: Iterable[Term], holds: Callable[[Term], bool]) -> list[Term]:
    """[sin(x²) + x²], is a power → [x²]: the terms with a property that are met first on a way down from the roots."""
    found: dict[Term, None] = {}

    def below(t: Term) -> tuple[Any, ...]:
        if not holds(t):
            return t.rands
        found[t] = None
        return ()

    reachable(*roots, below=below)
    return list(found)


def rebuild(roots: Iterable[Any], change: Callable[[Term, tuple[Any, ...]], Any]) -> list[Any]:
    """[sin(x)], x ↦ y → [sin(y)]: terms mapped bottom-up:
    `change(old, new_rands)` stands for `old`; each distinct term once.
    """
    roots = list(roots)
    new: dict[Any, Any] = {}
    for node in subterms(*roots):
        new[node] = change(node, tuple([new.get(rand, rand) for rand in node.rands]))
    return [new.get(root, root) for root in roots]


def remade(old: Term, rands: tuple[Any, ...]) -> Any:
    """Return a term with other operands; the same object if they are the same."""
    return old if all(a is b for a, b in zip(rands, old.rands, strict=True)) else old.op.make_node(*rands)


def substitute(roots: Iterable[Any], replacements: dict[Term, Any]) -> list[Any]:
    """[sin(x) + x], {x: y} → [sin(y) + y]: terms replaced wherever they stand below the roots;
    the rest stays the same.

    What stands below a replaced term alone is not made again, and need not fit what is replaced there.
    """
    roots = list(roots)
    new: dict[Any, Any] = dict(replacements)
    below = lambda t: [rand for rand in t.rands if type(rand) is Term]
    for node in operands_first(filter(is_term, roots), new.__contains__, below):
        new[node] = remade(node, tuple([new.get(rand, rand) for rand in node.rands]))
    return [new.get(root, root) for root in roots]
