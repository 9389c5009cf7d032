"""The accuracy of a function, as a value that prints, displays in a notebook, and plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relgrad.accuracy.report import assignments, table
from relgrad.errors import RelgradError
from relgrad.looks import Shown


class MissingDependency(RelgradError, ImportError):
    """A package that is optional is needed now, and is not installed."""


@dataclass
class Errors:
    """value → naive [52.0, …], rewritten [0.0, …]: the errors of one output in bits, an array for each point.

    NaN where nothing is known.
    """

    label: str
    points: list[int] = field(default_factory=list)
    naive: list[Any] = field(default_factory=list)
    rewritten: list[Any] = field(default_factory=list)
    limiting: list[Any] = field(default_factory=list)

    def add(self, point: int, naive: Any, rewritten: Any, limiting: Any) -> None:
        """(0, 52.0, 0.0, False) → points [0], naive [52.0], …: adds the findings at a point."""
        for row, found in zip(
            (self.points, self.naive, self.rewritten, self.limiting),
            (point, naive, rewritten, limiting),
            strict=True,
        ):
            row.append(found)

    def mean(self, which: str) -> float:
        """The mean error over points and entries; NaN where none is known."""
        known = _known(getattr(self, which))
        return float(known.mean()) if known.size else float("nan")

    def worst(self, which: str) -> float:
        """The largest error; NaN where none is known."""
        known = _known(getattr(self, which))
        return float(known.max()) if known.size else float("nan")

    def worst_inputs(self, which: str, inputs: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """→ {x: 800.0}: the inputs with the largest error; of arrays of the output's shape, the entry that belongs to
        it.
        """
        worst = self.worst(which)
        for point, errors in zip(self.points, getattr(self, which), strict=True):
            places = np.argwhere(errors == worst)
            if len(places):
                shape, place = np.shape(errors), tuple(places[0])
                return {
                    n: np.asarray(x)[place] if np.shape(x) == shape else x for n, x in inputs[point].items()
                }
        return {}

    @property
    def undetermined(self) -> int:
        """How many entries have no value that could be found."""
        return sum(int(np.isnan(x).sum()) for x in self.naive)

    @property
    def limits(self) -> int:
        """How many entries were compared with a limit, having no value of their own."""
        return sum(int(x.sum()) for x in self.limiting)


def _known(arrays: Sequence[Any]) -> Any:
    joined = np.concatenate([np.ravel(x) for x in arrays]) if arrays else np.zeros(0)
    return joined[~np.isnan(joined)]


HEAD = ("bits lost", "naive: mean", "worst", "relgrad: mean", "worst", "naive is worst at")


@dataclass
class Accuracy(Shown):
    """accuracy(f)(x)["value"] → Errors: the errors of a function's value and gradient:
    `print` it, display it, or `plot` it.

    `inputs` holds the arrays of each point by name, `outputs` the errors of each output there.
    """

    name: str
    inputs: list[dict[str, Any]]
    outputs: list[Errors]
    asked: list[str] = field(default_factory=list)
    """The lines at which the function decides by its arguments."""

    def __getitem__(self, label: str) -> Errors:
        for errors in self.outputs:
            if errors.label == label:
                return errors
        raise KeyError(f"{label!r}: there are {', '.join(e.label for e in self.outputs)}")

    @property
    def naive(self) -> float:
        """The largest error of the function as written, over all outputs."""
        return max((e.worst("naive") for e in self.outputs), default=float("nan"))

    @property
    def rewritten(self) -> float:
        """The largest error of the function as rewritten, over all outputs."""
        return max((e.worst("rewritten") for e in self.outputs), default=float("nan"))

    def rows(self) -> list[tuple[str, ...]]:
        """→ [("value", "12.3", "64.0", "0.1", "0.5", "x = 800")]:
        label, mean and worst error of both, where the naive is worst.
        """
        found = []
        for e in self.outputs:
            numbers = [f(which) for which in ("naive", "rewritten") for f in (e.mean, e.worst)]
            at = assignments(e.worst_inputs("naive", self.inputs)) if e.worst("naive") > 1 else ""
            found.append((e.label, *["-" if np.isnan(v) else f"{v:.1f}" for v in numbers], at))
        return found

    def notes(self) -> list[str]:
        """→ ["2 entries have no value and are compared with a limit"]: all that has to be known to read the numbers."""
        limits = sum(e.limits for e in self.outputs)
        unknown = sum(e.undetermined for e in self.outputs)
        lines = ", ".join(self.asked[:4]) + (", …" if len(self.asked) > 4 else "")
        return [
            *([f"each point takes the branch that it decides for, at {lines}"] if self.asked else []),
            *([f"{limits} entries have no value and are compared with a limit"] if limits else []),
            *([f"{unknown} entries are left out: no value was found"] if unknown else []),
        ]

    def __str__(self) -> str:
        count = len(self.inputs)
        title = f"{self.name} at {count} point{'s' * (count != 1)}"
        return "\n".join([title, table(HEAD, self.rows()), *self.notes()])

    __repr__ = __str__

    def series(self, label: str, argument: str | None = None) -> tuple[Any, Any, Any]:
        """(value, "x") → x, naive, rewritten, sorted by x: the entries of an input with the errors of their output.

        An input of one number belongs to the largest error of the point; an array to the output of its shape.
        Raises ValueError for an input of another shape.
        """
        errors = self[label]
        argument = next(iter(self.inputs[0])) if argument is None else argument
        parts = []
        for position, naive, rewritten in zip(errors.points, errors.naive, errors.rewritten, strict=True):
            x = np.asarray(self.inputs[position][argument], dtype=float)
            if x.size == 1:
                largest = [float(_known([e]).max(initial=-1.0)) for e in (naive, rewritten)]
                parts.append([x.reshape(1), *[np.array([e if e >= 0 else np.nan]) for e in largest]])
            elif x.shape == naive.shape:
                parts.append([np.ravel(v) for v in (x, naive, rewritten)])
            else:
                raise ValueError(
                    f"{argument} of shape {x.shape} has no place along an axis for {label} of shape {naive.shape}"
                )
        x, naive, rewritten = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(x)
        return x[order], naive[order], rewritten[order]

    def plot(self, argument: str | None = None) -> Any:
        """x → a matplotlib figure of the errors along an input, by default the first; one panel an output.

        Raises MissingDependency without matplotlib, and what `series` raises.
        """
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise MissingDependency(
                "matplotlib is needed for this and cannot be imported",
                cause=str(error),
                cure="pip install relgrad[accuracy]",
            ) from error
        argument = next(iter(self.inputs[0])) if argument is None else argument
        found = [(e.label, self.series(e.label, argument)) for e in self.outputs]
        figure, axes = pyplot.subplots(
            len(found), 1, sharex=True, squeeze=False, figsize=(7, 1 + 2 * len(found)), layout="constrained"
        )
        for (label, (x, naive, rewritten)), panel in zip(found, axes[:, 0], strict=True):
            panel.plot(x, naive, ".", color="tab:red", label="naive")
            panel.plot(x, rewritten, ".", color="tab:blue", label="relgrad")
            panel.set(ylabel="bits lost", title=label, ylim=(-2, 66))
            if np.abs(x).max(initial=0.0) > 1e3 * max(np.median(np.abs(x)), 1e-300):
                panel.set_xscale("symlog", linthresh=max(float(np.abs(x[x != 0]).min(initial=1.0)), 1e-12))
        axes[0, 0].legend()
        axes[-1, 0].set_xlabel(argument)
        return figure
