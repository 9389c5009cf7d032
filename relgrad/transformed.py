"""A function that is traced, rewritten and compiled on its first call: the flow of the whole on one screen.

callable → trace → term → schedule(relations, gradient) → derivation → compile → function → arrays
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import is_not
from threading import active_count
from time import perf_counter
from types import MethodType
from typing import Any

import numpy as np

from relgrad.accuracy.lines import Lines, lines_of, lines_of_gradient
from relgrad.collector import uncollected
from relgrad.compile.decided import decide
from relgrad.compile.function import Compiled, compile_program
from relgrad.compile.precise import in_float64, mended, widened
from relgrad.compile.undefined import keep_numbers, keep_silent, keep_undefined
from relgrad.conventions import Conventions
from relgrad.definedness import Domains, tests, undefined, undefined_where_tested
from relgrad.differentiate import as_decided
from relgrad.display.derivation import Explanation
from relgrad.display.text import show
from relgrad.errors import FailedRelation, ManyBranches, TraceError, warn
from relgrad.gradient import free_anchors, grounded
from relgrad.importable import imported, is_importable
from relgrad.looks import Shown
from relgrad.programs import Path, Program, Run, Variants, programs_of
from relgrad.relation import Library
from relgrad.schedule import Left, Strategy, schedule, without_points
from relgrad.step import Derivation, Failure
from relgrad.term import Term
from relgrad.trace.arguments import arrays, handed_in
from relgrad.trace.assume import Ranges
from relgrad.trace.common import common, lifted
from relgrad.trace.guard import Guard
from relgrad.trace.outside import read
from relgrad.trace.trace import (
    Traced,
    definition,
    has_tracer,
    is_tracing,
    signature,
    trace,
    with_symbolic_arrays,
)
from relgrad.trace.tracer import Tracer
from relgrad.validate import Proof, Sample, Subject, explicit, validated

Function = Callable[..., Any]

MANY = 16
"""A warning says so where so many programs were made for calls that decide otherwise."""
HALF_OF_SINGLE = 12
"""So many bits of float32 may be lost before float64 is asked."""
SINGLE = 4
"""How many programs are made for single numbers from outside, before these are inputs as arrays are."""


@dataclass(frozen=True)
class Settings:
    """(library, strategy, …) = (library, strategy, …) → one program:
    how functions are rewritten, under which conventions.

    And under which assumptions: all that tells their programs apart.
    """

    library: Library
    strategy: Strategy
    conventions: Conventions
    assume: Ranges = ()
    validate: bool = True
    seconds: float | None = None
    precise: bool = True


class Transformed(Shown):
    """f → f′, rewritten: a function that is traced, rewritten and compiled on its first call with each signature.

    `explain(*args)`, `source(*args)` and `term(*args)` show what becomes of a call; within another
    transformation it is traced like any other code. What the function reads beside its arguments is compared at each
    call, and where it differs the function is traced again.
    """

    def __init__(
        self,
        fun: Function,
        rule: Function,
        name: str,
        settings: Settings,
        options: tuple[Any, ...] = (),
        first: tuple[Any, ...] = (),
    ):
        """f, rule → a function with f's name and docstring; raises TraceError for what is not callable."""
        if not callable(fun):
            raise TraceError(
                f"{name} needs a function, not {type(fun).__name__}: {fun!r}", cure="pass a callable"
            )
        functools.update_wrapper(self, fun, updated=())
        self._made_of = fun, rule, name, settings, options, first
        self._rule = rule
        self.settings = settings
        self._first = first
        label = getattr(fun, "__name__", "f")
        label = "f" if not label.isidentifier() else label
        self._name = f"{name}_{label}"
        self._fun = fun
        self._programs = programs_of(fun, (name, options, settings))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """x → rule(x), by the program of the call's signature; inside a trace, traced."""
        args = self._first + args
        if not is_tracing():
            # Programs of symbolic arguments have keys of their own, so that what is found here is numeric.
            variants = self._programs.get(signature(args, kwargs))
            if variants is not None:
                run = variants.find(self._fun, args, kwargs)
                if run is not None:
                    variants.used = True
                    return run.call(*args, **kwargs)
            if not has_tracer(args, kwargs):
                return self._run(args, kwargs).compiled(*args, **kwargs)
        return self._call_while_tracing(args, kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Return the method that a function is when it is looked up on an instance."""
        return self if instance is None else MethodType(self, instance)

    def _call_while_tracing(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """tracer → rule(tracer); number → its value, unless the function closes over something traced."""
        if not has_tracer(args, kwargs):
            # Nothing traced goes in; unless the function closes over something traced, this is a number.
            run = self._find(args, kwargs, nested=True)
            if run is not None:
                return run.compiled(*args, **kwargs)
        args, kwargs = with_symbolic_arrays(args, kwargs)
        return self._rule(*args, **kwargs)

    @np.errstate(all="ignore")
    def _finish(self, traced: Traced, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        """trace → program; where a branch at one point is not the other's limit, the trace is taken as decided:
        x ≠ 0.

        What overflows while a program is made says nothing of the user's numbers, whatever their `errstate` asks for.
        """
        plain = as_decided(traced.outputs, traced.decisions)
        if any(map(is_not, plain, traced.outputs)):
            if self.settings.strategy.relates:
                program = self._validated(traced, args, kwargs)
                after = program.derivation.after
                lined = any(step.move == "line" for step in program.derivation.steps)
                if lined or not any(map(is_not, as_decided(after, traced.decisions), after)):
                    return program
            traced = replace(traced, outputs=tuple(plain))
        return self._validated(traced, args, kwargs)

    def _validated(self, traced: Traced, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        """trace → program that agrees with the function as written, moves that are at fault left out."""
        how = self.settings

        def make(strategy: Strategy, left: Left) -> Program:
            """(strategy, left) → the program by a strategy without some moves:
            rewritten, compiled, with guards and masks.
            """

            def rewrite(roots: Sequence[Term]) -> Derivation:
                """roots → their derivation by this strategy."""
                return schedule(
                    roots,
                    how.library,
                    strategy,
                    conventions=how.conventions,
                    left=left,
                    seconds=how.seconds,
                )

            keeps = how.conventions.nan == "propagate" and strategy.relates
            outputs = list(traced.outputs)
            domains = Domains(outputs if keeps else ())
            found = rewrite([*outputs, *domains.terms])
            if keeps:
                outputs = undefined_where_tested(outputs, found.after, rewrite, how.conventions)
                if any(map(is_not, outputs, traced.outputs)):
                    found = rewrite([*outputs, *domains.terms])
            after = found.after[: len(outputs)]
            extended = strategy.extended and len(how.library) > 0
            expand = functools.partial(explicit, conventions=how.conventions)

            def guarded(traced: Traced, after: Sequence[Term], name: str, **options: Any) -> Compiled:
                """[y·y − x] → its program, which is computed again with more digits where these cancel."""
                wide = in_float64(traced) if how.precise and extended and not left else None
                bits = wide and HALF_OF_SINGLE
                options["relates"] = strategy.relates
                plain = functools.partial(compile_program, traced, after, name, extended, **options)
                compiled = plain(precise=how.precise and extended, bits=bits)
                if not compiled.program.guards:
                    return compiled
                if wide is None:
                    near = functools.partial(without_points, library=how.library)
                    return mended(compiled, traced, near, expand, plain)
                other, reserved = f"{name}_in_float64", compiled.program.reserved
                again = lambda: guarded(wide, rewrite(wide.outputs).after, other, reserved=reserved)
                return widened(compiled, traced, wide, again)

            name = self._name  # the program must not keep the function alive
            compiled = guarded(traced, after, name)
            guards = compiled.program.guards
            became = domains.became(found.after[len(after) :])
            if keeps and (asked := tests(outputs, after, became, rewrite)):
                masks = functools.partial(undefined, outputs, rewrite, how.conventions)
                compiled = keep_undefined(compiled, traced, asked, masks)
            if keeps and any(step.move != "expand" for step in found.steps):
                written = functools.cache(lambda: compile_program(traced, expand(traced.outputs), name))
                compiled = keep_numbers(compiled, written, traced.outside)
            compiled = keep_silent(compiled, traced)
            derivation = replace(
                found,
                before=tuple(outputs),
                after=after,
                besides=tuple(domains.terms),
                assumed=traced.stated,
                decided=traced.decisions,
                guards=guards,
            )
            return Program(traced, derivation, compiled)

        inputs = (*traced.inputs, *traced.outside)
        known = not has_tracer(args, kwargs)
        given = [*arrays(args, kwargs), *traced.outside.values()] if known else None
        program = validated(
            Subject(
                traced.outputs,
                inputs,
                Sample(inputs, given, traced.assumed),
                how.strategy,
                how.library,
                how.conventions,
                self._name,
                make,
                lambda: lines_of(self._rule, args, kwargs),
                definition(self._rule),
                how.validate and known and set(traced.free()) <= traced.outside.keys(),
            )
        )
        for failure in program.derivation.failures:
            self._tell(failure)
        return program._replace(compiled=decide(program.compiled, traced))

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Run:
        """Return the program for a call with what the function reads outside as it is now, kept or made."""
        run = self._find(args, kwargs)
        assert run is not None
        return run

    def _find(self, args: tuple[Any, ...], kwargs: dict[str, Any], nested: bool = False) -> Run | None:
        """f(x) → its run; None if it depends on what a trace around it traces."""
        key = signature(args, kwargs)
        if has_tracer(args, kwargs):
            key = Tracer, key
        variants = self._programs.at(key)
        run = variants.find(self._fun, args, kwargs)
        return run or self._make(args, kwargs, variants, nested)

    @uncollected()
    def _make(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], variants: Variants, nested: bool
    ) -> Run | None:
        """f(x) → trace → run, kept among the variants of its signature where the outside state is stable."""
        guard = read(self._fun, handed_in(args, kwargs), variants.seconds)
        begin = perf_counter()
        traced = self._traced(args, kwargs, guard)
        variants.seconds = perf_counter() - begin
        if nested and (traced.free() or free_anchors(traced.computed)):
            return None
        program, compiled = self._fitting(traced, variants, args, kwargs, bool(guard.reason))
        path = tuple([(d.term, d.answer) for d in traced.decisions])
        run = Run(guard.holds, compiled.function, program, compiled, path)
        if path:
            self._count(variants, path, traced)
        # What the function itself changes is read anew at each call.
        stable = not guard.reason and not traced.told and guard.holds(self._fun)
        if stable and active_count() > 1:
            # Another thread may have changed it for a moment.
            again = common(traced, self._traced(args, kwargs, guard))
            stable = again is not None and again.computed == traced.computed and guard.holds(self._fun)
        variants.keep(run, stable)
        return run

    def _fitting(
        self, traced: Traced, variants: Variants, args: tuple[Any, ...], kwargs: dict[str, Any], drawn: bool
    ) -> tuple[Program, Compiled]:
        """trace → (program, at outside = values): a program that a trace is an instance of, and what computes the
        instance.

        Where numbers may be `drawn` at each call, they are inputs as soon as they differ. A trace that is the one of
        another signature, as that of 1.0 may be the one of np.float64(1.0), has the program of that.
        """
        best = None
        alike = [p for p in variants.programs if p.traced.answers == traced.answers]
        for program in alike:
            found = common(program.traced, traced, drawn or len(alike) >= SINGLE)
            if found is not None and found.computed == program.traced.computed:
                return program, program.compiled.at(found.outside)
            best = best or found
        traced = best or lifted(traced)
        program = self._of_same(traced, args, kwargs) or self._finish(traced, args, kwargs)
        return program, program.compiled

    def _of_same(self, traced: Traced, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program | None:
        """trace = trace′ → the program of trace′, whatever its signature; None where there is none."""
        if has_tracer(args, kwargs) or traced.outside:
            return None
        for key, variants in list(self._programs.items()):
            symbolic = type(key) is tuple and len(key) > 0 and key[0] is Tracer  # what is not validated
            for program in () if symbolic else variants.programs:
                if not program.traced.outside and traced.is_same(program.traced):
                    return program
        return None

    def _traced(self, args: tuple[Any, ...], kwargs: dict[str, Any], guard: Guard | None = None) -> Traced:
        written_out = functools.partial(explicit, conventions=self.settings.conventions)
        traced = trace(self._rule, args, kwargs, written_out, guard)
        return replace(traced, outputs=tuple(grounded(traced.outputs)))

    def _count(self, variants: Variants, path: Path, traced: Traced) -> None:
        """`MANY` programs of one signature → ManyBranches: warns of a function whose calls decide in very many ways.

        Of the first `MANY` of them, and of multiples.
        """
        variants.branches += 1
        if variants.branches % MANY:
            return
        at = variants.parting(path)
        warn(
            ManyBranches,
            f"{self._name} has been made {variants.branches} times for arguments of one signature",
            where=traced.decisions[at].where if at < len(path) else definition(self._rule),
            cause="the function decides there by the values of its arguments, and each way to decide is"
            " a program of its own",
            cure="choose between arrays with np.where or relgrad.cond, which serve all calls",
        )

    def _tell(self, failure: Failure) -> None:
        """(row, place, error) → FailedRelation, "row raised … / where: … / cure: …": warns that a move raised."""
        row = {row.name: row.place for row in self.settings.library}.get(failure.name)
        warn(
            FailedRelation,
            f"{failure.name} raised {type(failure.error).__name__}: {failure.error}",
            where=row or definition(self._rule),
            cause=f"it was tried at {show(failure.place, width=80, limit=12)}, in {self._name}",
            cure="the place is left as it is; mend the relation, or leave it out: library.without(name)",
        )

    def __repr__(self) -> str:
        return f"<relgrad {self._name}>"

    @property
    def name(self) -> str:
        """grad(loss) → "grad_loss": the name in generated code, of the transformation and the function."""
        return self._name

    @property
    def programs(self) -> list[Program]:
        """→ [Program, …]: those that the function has been compiled to so far, by signature."""
        return [program for variants in list(self._programs.values()) for program in variants.programs]

    def __reduce__(self) -> tuple[Any, ...]:
        # A decorated function hides what it was made of, which pickle could not find. Programs are made anew.
        home = getattr(self, "__module__", None), getattr(self, "__qualname__", None)
        return (imported, home) if is_importable(self, *home) else (Transformed, self._made_of)

    def explain(self, /, *args: Any, **kwargs: Any) -> Explanation:
        """x → Explanation: the steps that lead from the function as written to what is computed; to be printed."""
        args = self._first + args
        program = self._run(args, kwargs).program
        values: dict[Term, Any] = dict(program.traced.outside)
        if not has_tracer(args, kwargs):
            values |= zip(program.traced.inputs, arrays(args, kwargs), strict=True)
        return Explanation(Proof.of(program.derivation, self.settings.library), values)

    def lines(self, /, *args: Any, **kwargs: Any) -> Lines:
        """Return the lines of the user's code at which the terms of a call are made, those of its gradient as well."""
        args = self._first + args
        lines = lines_of(self._rule, args, kwargs)
        return lines | lines_of_gradient(self._run(args, kwargs).program.derivation, lines)

    def source(self, /, *args: Any, **kwargs: Any) -> str:
        """Return the NumPy source of what is computed; executed alone, it defines the same function."""
        return self._run(self._first + args, kwargs).compiled.source

    def term(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return the graph of the call before any rewriting, gradients implicit, arranged as the result."""
        traced = self._traced(self._first + args, kwargs)
        return traced.out_structure.unflatten(list(traced.outputs))
