"""Measuring a function: the error of its value and gradient, as written and as rewritten, at sampled inputs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from relgrad.accuracy.bits import bits_of_error
from relgrad.accuracy.limit import limits
from relgrad.accuracy.result import Accuracy, Errors
from relgrad.balls.graph import Enclosure, enclose
from relgrad.compile.function import Compiled, compile_program
from relgrad.differentiate import pull_along
from relgrad.errors import AssumptionError, GradientError
from relgrad.interpret import interpret
from relgrad.kernels.decided import answers
from relgrad.progress import progress
from relgrad.relation import Library
from relgrad.schedule import Strategy, schedule
from relgrad.schedule.strategy import NAIVE
from relgrad.step import Derivation
from relgrad.term import Term
from relgrad.trace.containers import flatten
from relgrad.trace.trace import Traced, signature, trace

Rule = Callable[..., Any]


class Subject(NamedTuple):
    """f → written, derived, naive, rewritten: a function traced, as written and as rewritten, both compiled."""

    traced: Traced
    written: Derivation
    derived: Derivation
    naive: Compiled
    rewritten: Compiled

    @classmethod
    def of(cls, rule: Rule, args: Sequence[Any], library: Library, strategy: Strategy) -> Subject:
        """rule, (2.0,) → Subject: traces a function of these arguments and rewrites it."""
        traced = trace(rule, args, explicit=lambda roots: schedule(roots, library, NAIVE).after)
        written = schedule(traced.outputs, library, NAIVE)
        derived = schedule(traced.outputs, library, strategy)
        naive = compile_program(traced, written.after, "naive")
        rewritten = compile_program(traced, derived.after, "rewritten", strategy.extended)
        return cls(traced, written, derived, naive, rewritten)

    def decides(self, args: Sequence[Any]) -> bool:
        """x = −1 where x = 2 was traced, `if x > 0` → False: whether arguments decide as those of the trace do."""
        asked = [d.term for d in self.traced.decisions]
        try:
            given = answers(interpret(asked, self.values(args))) if asked else ()
        except Exception:  # on a way that they do not take
            return False
        return given == self.traced.answers

    def accepts(self, args: Sequence[Any]) -> bool:
        """x = −1, x > 0 assumed → False: whether all assumptions are true of these arguments, as far as they can be
        computed.
        """
        stated = self.traced.stated
        if not stated:
            return True
        with np.errstate(all="ignore"):
            found = interpret([t for t, _ in stated], self.values(args))
        return all(known.holds(x) for x, (_, known) in zip(found, stated, strict=True))

    def values(self, args: Sequence[Any]) -> dict[Term, Any]:
        """Return the arrays among the arguments by the inputs that stand for them."""
        leaves, _ = flatten((tuple(args), {}))
        return {t: np.asarray(x, t.type.dtype) for t, x in zip(self.traced.inputs, leaves, strict=True)}

    def truth(self, args: Sequence[Any]) -> tuple[list[Enclosure], list[Any]]:
        """x = 0 → [sin(x)/x = 1], [True]: the outputs over the reals, and which entries are limits:
        they have no value there.
        """
        values = self.values(args)
        found = enclose(self.written.after, values)
        limiting = [np.zeros(e.settled.shape, dtype=bool) for e in found]
        if not all(e.settled.all() for e in found):
            near = limits(self.written.after, values)
            limiting = [~e.settled & n.settled for e, n in zip(found, near, strict=True)]
            found = [
                Enclosure(np.where(limit, n.balls, e.balls), e.settled | limit)
                for e, n, limit in zip(found, near, limiting, strict=True)
            ]
        return found, limiting

    def errors(self, args: Sequence[Any], atol: float) -> list[tuple[Any, Any, Any]]:
        """x = 800 → [(64.0, 0.0, False)]: the errors in bits of each output as written and as rewritten, and which are
        limits.
        """
        truth, limiting = self.truth(args)
        with np.errstate(all="ignore"):
            outputs = [flatten(program(*args))[0] for program in (self.naive, self.rewritten)]
        return [
            (bits_of_error(a, t, atol), bits_of_error(b, t, atol), limit)
            for a, b, t, limit in zip(*outputs, truth, limiting, strict=True)
        ]


def measure(
    fun: Rule,
    args: Sequence[Any],
    *,
    library: Library,
    strategy: Strategy,
    points: int,
    seed: int,
    argnums: Sequence[int] | None,
    gradient: bool,
    atol: float,
) -> Accuracy:
    """f, samplers → Accuracy: the errors of a function and of its gradient, as written and as rewritten.

    Arguments that are callable are samplers: functions of a random generator, drawn from for each point. Points at
    which the function assumes what is false are left out. Raises AssumptionError where there is no other.
    """
    rng = np.random.default_rng(seed)
    drawn = any(map(callable, args))
    inputs = [tuple([a(rng) if callable(a) else a for a in args]) for _ in range(points if drawn else 1)]
    subjects: dict[Any, list[list[tuple[Subject, list[str]]]]] = {}
    asked: dict[str, None] = {}
    errors: dict[str, Errors] = {}
    tried: list[tuple[Any, ...]] = []
    name = getattr(fun, "__name__", "f")
    with progress(f"accuracy of {name}", inputs) as measured:
        for point in measured:
            kept = subjects.setdefault(signature(point, {}), [])
            chosen = next((some for some in kept if all(subject.decides(point) for subject, _ in some)), None)
            if chosen is None:
                chosen = subjects_of(fun, point, library, strategy, argnums, gradient)
                kept.append(chosen)
            if not all(subject.accepts(point) for subject, _ in chosen):
                continue
            tried.append(point)
            for subject, labels in chosen:
                asked |= dict.fromkeys([d.where for d in subject.traced.decisions])
                for label, found in zip(labels, subject.errors(point, atol), strict=True):
                    errors.setdefault(label, Errors(label)).add(len(tried) - 1, *found)
    if not tried:
        raise AssumptionError(
            f"no point at which the assumptions of {name} are true",
            cause="each argument, or all that was drawn, lies elsewhere",
            cure="draw arguments where they are assumed to lie, as relgrad.floats(low, high, shape) does",
        )
    names = next(iter(subjects.values()))[0][0][0].traced.paths
    leaves = [dict(zip(names, flatten((point, {}))[0], strict=True)) for point in tried]
    return Accuracy(name, leaves, list(errors.values()), list(asked))


def subjects_of(
    fun: Rule,
    args: Sequence[Any],
    library: Library,
    strategy: Strategy,
    argnums: Sequence[int] | None = None,
    gradient: bool = True,
    weights: Callable[[Any], Any] = lambda shape: np.ones(shape),
) -> list[tuple[Subject, list[str]]]:
    """f, (x,) → [(f, ["value"]), (∂f, ["gradient x"])]: a function and its gradient, traced, with labels of outputs.

    The gradient is that of the sum of all outputs, each weighted, with respect to the floats among the arguments. With
    no `argnums`, arguments by which there is none are left out.
    """
    value = Subject.of(fun, args, library, strategy)
    structure = value.traced.out_structure
    result = [(value, structure.paths("value"))]
    types = [t.type for t in value.traced.outputs]
    if not gradient or not any(t.differentiable for t in types):
        return result
    flows = [np.asarray(weights(t.shape), t.dtype if t.differentiable else float) for t in types]

    def pulled(chosen: Sequence[int]) -> list[tuple[Subject, list[str]]]:
        """(0, 2) → [(∂f/∂x, ∂f/∂z)]: the cotangents of the floats among some arguments, if there are any."""
        leaves = [x for i in chosen for x in flatten(args[i])[0]]
        floating = [np.asarray(x).dtype.kind == "f" for x in leaves]
        if not any(floating):
            return []

        @functools.wraps(fun)
        def pullback(*primals: Any) -> Any:
            """primals → the cotangents of those that are chosen, Σ w·∂f/∂x."""

            def of_chosen(*some: Any) -> Any:
                given = dict(zip(chosen, some, strict=True))
                return fun(*[given.get(i, x) for i, x in enumerate(primals)])

            return pull_along(of_chosen, tuple([primals[i] for i in chosen]), structure.unflatten(flows))

        paths = _paths_of(value.traced, chosen)
        labels = [f"gradient {path}" for path, varies in zip(paths, floating, strict=True) if varies]
        return [(Subject.of(pullback, args, library, strategy), labels)]

    if argnums is not None:
        return [*result, *pulled([n % len(args) for n in argnums])]
    try:
        return [*result, *pulled(range(len(args)))]
    except GradientError:
        for i in range(len(args)):
            with suppress(GradientError):
                result += pulled([i])
        return result


def _paths_of(traced: Traced, chosen: Sequence[int]) -> list[str]:
    """Return the paths of the leaves of some arguments, argument by argument."""
    sizes = [child.size for child in traced.in_structure.children[0].children]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [path for i in chosen for path in traced.paths[starts[i] : starts[i] + sizes[i]]]
