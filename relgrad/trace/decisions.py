"""Decisions: what a function asks of the values of traced arrays, answered by those of the call that is traced.

    if x > 0: …        for i in range(n): …        x[mask]        {"a": f}[int(k)]

The answer becomes part of the program, and the question its guard: a call for which the question has another answer
is another program. Questions have discrete answers (truth, integers, masks), so that derivatives are those of the
branch that is taken, as the chain rule has them almost everywhere.

Source: Griewank & Walther (2008), *Evaluating Derivatives*, 2nd ed., section 14.2: branches and their derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from relgrad.errors import user_line
from relgrad.interpret import interpret, unknown, value_of
from relgrad.kernels.decided import answers
from relgrad.leaf import Input
from relgrad.op import Constant, is_constant
from relgrad.ops.arguments import call
from relgrad.ops.arithmetic import multiply
from relgrad.ops.failing import Fails
from relgrad.term import Term, is_term, reachable, subterms, term
from relgrad.trace.attempts import is_attempt, raising, treated
from relgrad.trace.nesting import Nesting
from relgrad.types import ArrayType

Explicit = Callable[[Sequence[Term]], Sequence[Term]]
"""Returns terms with their implicit gradients expanded."""


APART = 2.0**-20
"""Numbers whose distance is more than this, compared with the larger one, are different next to a point as well."""


class Decision(NamedTuple):
    """x > 0 → (x > 0, True, "f.py:3"): a term whose value a function asked for, the answer, and the user's line."""

    term: Term
    answer: Hashable
    where: str


class Elsewhere(Exception):
    """x > 0 supposed, y > 0 asked → Elsewhere(y > 0):
    a question without an answer where another is answered otherwise.
    """

    def __init__(self, question: Term | None = None):
        super().__init__()
        self.question = question


class Call:
    """x = 2.0 → value(x > 0) = True: the call that is traced: the values of its inputs and terms, and its decisions."""

    def __init__(self, given: Mapping[Term, Any], explicit: Explicit | None):
        """{x: 2.0} → values {x: 2.0}, varying {x}."""
        self.values = dict(given)
        self.varying = set(given)
        """The terms that depend on inputs."""
        self.explicit = explicit
        self.decisions: dict[Term, Decision] = {}
        self.attends: CodeType | None = None
        """The code that calls the function, where it matters to the function what is raised within it."""
        self.ignored = frozenset(treated("ignore"))
        """The kinds of floating-point errors of which NumPy does not warn where the function is called."""
        self.silent: frozenset[str] = frozenset()
        """Those of which it does not warn where the function computes, besides."""
        self.told = False
        """Whether the function got a text of values, which guards do not tell."""
        self.partial: dict[Term, str] = {}
        """What raises for some values, and the user's lines that compute it."""
        self.raised: set[Term] = set()
        """What raised in this call, where a question asked for it."""
        self.supposed: dict[Term, bool] = {}
        """Answers that are not those of this call."""
        self.elsewhere: Elsewhere | None = None
        """What has no answer where others are supposed, also if the function has caught that."""
        self.asked: dict[Term, Any] = {}
        """The questions of which `supposing` tells, with their answers."""

    def attempt(self, root: Term) -> None:
        """cholesky(a) → its value, or LinAlgError as NumPy raises it, where it computes a term.

        Where the function may handle that, the program is one of the calls that raise the same.
        """
        kinds = raising()
        asks = bool(kinds) or (self.attends is not None and is_attempt(self.attends))
        options: dict[str, Any] = {"all": "ignore", **dict.fromkeys(kinds, "raise")}
        for node in unknown([root], self.values):
            if type(node.op) is Input or node.op.implicit:
                return
            error: Exception | None = None
            try:
                with np.errstate(**options):
                    self.values[node] = value_of(node, self.values)
            except Exception as raised:
                error = raised
            varies = any(rand in self.varying for rand in node.rands)
            if varies and asks and (kinds or node.op.may_raise(node) or error is not None):
                question = term(Fails(node.op, kinds), *node.rands)
                self.values[question] = np.bool_(error is not None)
                self.varying.add(question)
                self.decide(question)
            if error is not None:
                self.raised.add(node)
                raise error
            if varies:
                self.varying.add(node)

    def value(self, root: Term) -> Any:
        """x > 0 → True at x = 2: the value of a term in this call; None where it depends on what has no value."""
        with np.errstate(all="ignore"):
            for node in unknown([root], self.values):
                if type(node.op) is Input or node.op.implicit:
                    return None
                self.values[node] = value_of(node, self.values)
                if any(rand in self.varying for rand in node.rands):
                    self.varying.add(node)
        return self.values[root]

    def decide(self, root: Term) -> Any:
        """x > 0 → True, decisions {x > 0: True}: the value of a term; the program is one of calls that have the same.

        Where computing it raises, the function may catch that: the program is one of calls that raise it, too.
        """
        if root in self.supposed:
            return np.bool_(self.supposed[root])
        if self.supposed and root not in self.decisions and not self._is_settled(root):
            self.elsewhere = self.elsewhere or Elsewhere(root)
            raise self.elsewhere
        try:
            value = self.value(root)
        except Exception:
            failed = next(t for t in unknown([root], self.values))
            self.raised.add(failed)
            for rand in failed.rands:
                self.decide(rand)
            raise
        if value is None and self.explicit is not None:  # it may be that of an implicit gradient
            (root,) = self.explicit([root])
            value = self.value(root)
        if value is not None and root in self.varying and root not in self.decisions:
            self.decisions[root] = Decision(root, answers([value])[0], user_line())
        if root in self.decisions:
            self.asked[root] = value
        return value

    def _is_settled(self, t: Term) -> bool:
        """Whether an answer is the same next to this call: by continuity, that of a < b is where a and b differ."""
        if _leaves(self.supposed).isdisjoint(reachable(t)):
            return True
        if t.op.negation is None or any(x.type.dtype.kind != "f" for x in t.rands):
            return t.type.dtype.kind == "b" and bool(t.rands) and all(map(self._is_settled, t.rands))
        a, b = (self.value(x) for x in t.rands)
        with np.errstate(all="ignore"):
            return bool(np.all(np.abs(a - b) > APART * np.maximum(np.abs(a), np.abs(b))))

    def complete(self, outputs: Sequence[Term]) -> None:
        """inv(a), unused → decided: what no output depends on is computed, too; raises what NumPy raises there."""
        live = _counted([*outputs, *self.decisions]) if self.partial else set[Term]()
        for t, where in reversed(self.partial.items()):
            if t in live or not self.raised.isdisjoint(subterms(t)):
                continue
            live |= _counted([t])
            asked = call(np.all, call(np.equal, t, t))
            try:
                known = self.value(asked) is not None and self.decide(asked) is not None
            except Exception as error:
                error.add_note(f"  where: {where}")
                raise
            if known and asked in self.decisions:
                self.decisions[asked] = self.decisions[asked]._replace(where=where)


def _counted(roots: Sequence[Term]) -> set[Term]:
    """x·0 + y → {x·0 + y, x·0, y}: the terms below roots, but for what is multiplied by the number zero.

    No program computes that.
    """
    is_zero = lambda x: is_constant(x) and not np.any(x.op.value)
    return reachable(
        *roots, below=lambda t: () if t.op is multiply and any(map(is_zero, t.rands)) else t.rands
    )


_calls: Nesting[Call] = Nesting()
"""The calls that this thread is in the middle of tracing."""


def deciding(given: Mapping[Term, Any], explicit: Explicit | None = None) -> AbstractContextManager[Call]:
    """Answer questions within by the values that are given of inputs, beside those of the traces around."""
    around = {t: v for call in _calls.values for t, v in call.values.items() if type(t.op) is Input}
    return _calls.within(Call({**around, **given}, explicit))


@contextmanager
def supposing(told: Mapping[Term, bool]) -> Iterator[dict[Term, Any]]:
    """Answer questions as told, and collect others that are asked within, for the blocks around as well if they stay.

    x == 0 ⟶ False    as it is everywhere next to 0; x > 1 is False there, as at 0, and x > 0 may be either

    Raises Elsewhere where the function asks what is told may bear upon, and what has no answer by continuity; or where
    it computes what may raise.
    """
    top = _calls.values[-1]
    supposed, asked = top.supposed, top.asked
    decisions, partial = dict(top.decisions), dict(top.partial)
    top.supposed, top.asked, top.elsewhere = {**supposed, **told}, {}, None
    try:
        yield top.asked
        if top.elsewhere is not None:
            raise top.elsewhere
        if any(not _leaves(told).isdisjoint(reachable(t)) for t in top.partial.keys() - partial):
            raise Elsewhere
        if not told:
            asked.update(top.asked)
    except Exception:
        if told:
            top.decisions, top.partial = decisions, partial
        raise
    finally:
        top.supposed, top.asked, top.elsewhere = supposed, asked, None


def _leaves(terms: Iterable[Term]) -> set[Term]:
    """Return the inputs and constants below terms."""
    return {x for t in terms for x in reachable(t) if not x.rands}


def decided(x: Any) -> Any:
    """x > 0 → True: the discrete value of a term in the call that is traced; None where it has no value.

    The program is that of the calls in which the value is the same.
    """
    return _answered(x, lambda call: call.decide(x))


def _answered(x: Any, by: Callable[[Call], Any]) -> Any:
    """2.0 → 2.0, x → by(call): the value of a constant, or the answer of the call that is traced;
    None without a value.
    """
    if not _has_value(x):
        return None
    if is_constant(x):
        return x.op.value
    return by(_calls.values[-1]) if _calls.values else None


def attempted(x: Term) -> None:
    """Raise at this place what computing a term raises, if the function may handle it: else the program raises it.

    What NumPy is told not to warn of at this place, the program does not warn of.
    """
    ignored = treated("ignore") if _calls.values else ()
    for around in _calls.values:
        around.silent = around.silent.union(ignored) - around.ignored
    if _calls.values and _calls.values[-1].attends is not None and _has_value(x):
        _calls.values[-1].attempt(x)


def is_attempted() -> bool:
    """Whether the function may handle at this place what is raised."""
    top = _calls.values[-1].attends if _calls.values else None
    return top is not None and is_attempt(top)


def value_of_call(x: Term) -> Any:
    """x → 2.0: the value that a number has in the call that is traced, as Python's own; no guard tells it.

    None where it has no value.
    """
    value = x.op.value if is_constant(x) else _calls.values[-1].value(x) if _calls.values else None
    return None if value is None else value.item()


def told(x: Any) -> Any:
    """x → 2.0: the value of a term for a text, which no guard tells: the function is traced at each call."""

    def by(call: Call) -> Any:
        """call → the value, and every call around is `told`."""
        value = call.value(x)
        if value is None and call.explicit is not None:
            value = call.value(*call.explicit([x]))
        for around in _calls.values if value is not None and x in call.varying else ():
            around.told = True
        return value

    return _answered(x, by)


def computed(t: Term) -> Term:
    """inv(a) → inv(a), partial {inv(a): line}: a term that a function computes, kept in mind where that may raise."""
    if _calls.values and is_term(t):
        inner = t
        while len(inner.rands) == 1 and inner.op.laws.selects and not inner.op.may_raise(inner):
            inner = inner.rands[0]
        if inner.op.may_raise(inner):
            _calls.values[-1].partial.setdefault(inner, user_line())
    return t


def is_deciding() -> bool:
    """Whether a call is traced, by which questions are answered."""
    return bool(_calls.values)


def is_given(x: Term) -> bool:
    """Whether a term has a value in one of the calls that are traced."""
    return any(x in call.values for call in _calls.values)


def known(x: Any) -> Any:
    """ones(3) + 1 → [2, 2, 2], x → None: the value of a term that depends on no input, in whatever trace."""

    def by(call: Call) -> Any:
        """call → the value, None where it varies or raises."""
        try:
            value = call.value(x)
        except Exception:  # what raises there raises where the program computes it
            return None
        return None if x in call.varying else value

    return _answered(x, by)


def as_numpy(x: Any) -> Any:
    """Tracer(1 + 1) → 2, Tracer(x) → itself: a symbolic array that depends on no input as NumPy has it."""
    t = x.term
    if not _has_value(t) or any(not node.rands and type(node.op) is not Constant for node in subterms(t)):
        return x
    try:
        return np.array(interpret([t], {})[0])[()]
    except Exception:  # what raises there raises where it is looked at
        return x


def _has_value(x: Any) -> bool:
    return is_term(x) and x.ground and isinstance(x.type, ArrayType)
