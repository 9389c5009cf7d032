"""Answers as people read them: lazily computed, printed as NumPy, one a line, or as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from relgrad.display.text import show
from relgrad.looks import Lazy, Shown
from relgrad.op import as_term
from relgrad.trace.tracer import Tracer

NOTHING = "equal as they stand"


class Question(NamedTuple):
    """a·exp(b) = x·exp(y)? → the two sides as terms, the variables by name, and the theory in words:
    answers are answers to it.
    """

    left: Any
    right: Any
    variables: Mapping[str, Any]
    theory: str


class Answer(Mapping[str, Any], Shown):
    """a·exp(b) = x·exp(y) → a = x, b = y: an expression for each variable, by name or as an attribute.

    >>> from relgrad.leaf import Input
    >>> from relgrad.term import term
    >>> from relgrad.types import array_type
    >>> x = Tracer(term(Input("x", array_type(float))))
    >>> Answer({"a": x + 1, "b": x})
    a = x + 1.0, b = x
    """

    def __init__(self, bindings: Mapping[str, Any], question: Question | None = None):
        self._bindings = dict(bindings)
        self._question = question

    def __getitem__(self, name: str) -> Any:
        return self._bindings[name]

    def __getattr__(self, name: str) -> Any:
        """answer.a → x; raises AttributeError, with the names that there are, for a variable that it has not."""
        try:
            return self.__dict__["_bindings"][name]
        except KeyError:
            known = ", ".join(self.__dict__.get("_bindings", ())) or "none"
            raise AttributeError(f"no variable {name} in this answer; there are: {known}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._bindings)

    def __len__(self) -> int:
        return len(self._bindings)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._bindings]

    def __repr__(self) -> str:
        texts, where = _texts(list(self._bindings.values()))
        parts = [f"{name} = {text}" for name, text in zip(self, texts, strict=True) if name != text]
        return "\n".join([", ".join(parts) or NOTHING, *where])


def question_of(answer: Answer) -> Question | None:
    """Return what an answer is an answer to, if it is known: its attributes are variables."""
    return answer.__dict__["_question"]


class Answers(Lazy[Answer]):
    """answers[0] → Answer, answers[:3] → Answers: a lazy sequence of answers, of which slices are such sequences
    too.
    """

    nothing = "no answers"

    def __init__(self, names: Sequence[str], answers: Iterable[Answer], question: Question | None = None):
        super().__init__(answers)
        self.names = tuple(names)
        self.question = question

    def _slice(self, members: Iterable[Answer]) -> Answers:
        return Answers(self.names, members, self.question)


@show.register(Answer)
@show.register(Answers)
def _(answers: Any, width: int = 100, limit: int = 200) -> str:
    return repr(answers)


def _texts(values: Sequence[Any]) -> tuple[list[str], list[str]]:
    """[sin(x), 2] → ["np.sin(x)", "2"], []: the text of each value, and the lines that define the names in these."""
    shown = [as_term(x) for x in values if isinstance(x, Tracer)]
    lines = show(shown, width=10_000).split("\n") if shown else []
    texts = iter(lines)
    return [next(texts) if isinstance(x, Tracer) else repr(x) for x in values], lines[len(shown) :]
