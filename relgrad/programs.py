"""What functions became: programs by signature and by what was read outside, kept as long as the function lives.

A call asks the guards of the runs with its signature. Where none holds, the function is traced again, and the trace is
looked up among the programs: one that it is an instance of runs with other values of its outside inputs. At most
SIGNATURES signatures are kept for each function and each way to transform it, and for each as many as VARIANTS
programs and as many runs; those that were not called for longest are dropped. An array that a guard compares by
contents is kept as a copy of at most 4 MiB, or as a digest.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import takewhile
from operator import eq
from threading import Lock
from types import MethodType
from typing import Any, NamedTuple
from weakref import ref

from relgrad.compile.function import Compiled
from relgrad.step import Derivation
from relgrad.term import Term
from relgrad.trace.containers import flatten
from relgrad.trace.trace import Traced

_lock = Lock()
SIGNATURES = 128
VARIANTS = 8
BRANCHES = 64
"""So many programs are kept of a function whose calls decide otherwise."""


class Program(NamedTuple):
    """trace → derivation → compiled: all that a trace became."""

    traced: Traced
    derivation: Derivation
    compiled: Compiled

    def run(self, values: Sequence[Any]) -> list[Any]:
        """[x, …, outside …] → [f(x)]: the arrays of the results, given those of the inputs, arguments first."""
        count = len(self.traced.inputs)
        args, kwargs = self.traced.in_structure.unflatten(values[:count])
        outside = dict(zip(self.traced.outside, values[count:], strict=True))
        return flatten(self.compiled.at(outside)(*args, **kwargs))[0]


Path = tuple[tuple[Term, Hashable], ...]
"""What was decided, in order: terms and their values."""


class Run(NamedTuple):
    """holds(f) → call(x): a program with values of its outside inputs, and the guard of the state in which it is the
    one.
    """

    holds: Callable[[Any], bool]
    call: Callable[..., Any]
    program: Program
    compiled: Compiled
    path: Path = ()

    def taken(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Path:
        """path [(x > 0, True)] at x = −1 → [(x > 0, False)]:
        the decisions of a call, as far as this program's are its own.

        As this program does, and then once otherwise.
        """
        try:
            given = self.compiled.asked(args, kwargs)
        except Exception:  # on a way that the call may not take
            return ()
        for i, ((term, answer), other) in enumerate(zip(self.path, given, strict=True)):
            if answer != other:
                return (*self.path[:i], (term, other))
        return self.path


class Variants:
    """signature → programs, runs: those used last first."""

    __slots__ = ("__weakref__", "branches", "programs", "runs", "seconds", "used")

    def __init__(self) -> None:
        self.programs: list[Program] = []
        self.runs: list[Run] = []
        self.used = False
        """Whether there were calls after the first, since it was last asked."""
        self.seconds = 0.0
        """What the last trace took."""
        self.branches = 0
        """How many programs were made that depend on decisions."""

    def find(self, fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Run | None:
        """f(2.0) → the run with path x > 0 = True: the guard of the outside state holds, and the call decides as the
        program does.

        Each program's decisions tell which others to ask.
        """
        path: Path = ()
        for run in self.runs:
            if not run.holds(fun):
                continue
            if not run.path:
                return run
            if run.path[: len(path)] == path:
                path = run.taken(args, kwargs) or path
                if path == run.path:
                    return run
        return None

    def parting(self, path: Path) -> int:
        """Return after how many decisions calls with a path part from others that are kept."""
        shared = [sum(1 for _ in takewhile(bool, map(eq, path, run.path))) for run in self.runs]
        return max(shared, default=0)

    def keep(self, run: Run, guarded: bool) -> None:
        """run → runs [run, …]: puts a program first, and its run, if its guard may ever hold."""
        self.used = bool(self.programs)
        most = BRANCHES if run.path else VARIANTS
        self.programs = [run.program, *[p for p in self.programs if p is not run.program]][:most]
        if guarded:
            self.runs = [run, *self.runs][:most]


class Programs(dict[Hashable, Variants]):
    """signature → Variants: the variants of each signature."""

    def at(self, key: Hashable) -> Variants:
        """key → its variants; for a new one, those that were not used for longest are dropped (the clock's rule), ≤
        SIGNATURES.
        """
        found = self.get(key)
        if found is None:
            with _lock:
                while len(self) >= SIGNATURES:
                    oldest = next(iter(self))
                    variants = self.pop(oldest)
                    if variants.used:
                        variants.used = False
                        self[oldest] = variants
                found = self.setdefault(key, Variants())
        return found


_kept: dict[tuple[int, ...], tuple[tuple[ref[Any], ...], dict[Hashable, Programs]]] = {}


def programs_of(fun: Callable[..., Any], key: Hashable) -> Programs:
    """(f, key) → the same Programs as long as f lives.

    Functions are told apart by identity, methods by that of their objects and functions.
    """
    parts = (fun.__self__, fun.__func__) if isinstance(fun, MethodType) else (fun,)
    address = tuple(map(id, parts))

    def forget(_: Any) -> None:
        _kept.pop(address, None)

    try:
        refs = tuple([ref(part, forget) for part in parts])
    except TypeError:  # no weak references to such objects: what they became lives with its transformation
        return Programs()
    return _kept.setdefault(address, (refs, {}))[1].setdefault(key, Programs())
