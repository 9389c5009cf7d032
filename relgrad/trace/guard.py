"""Guards: Python functions that look outside state up again and compare it, written line by line.

A guard holds no object alive that can be referred to weakly, and none of the user's containers: it looks everything up
from the function that it is called with. So a program never keeps the function alive that it was made of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from weakref import ref


class Guard(NamedTuple):
    """holds(f) = outside state is as it was; never, where `reason` says what is not seen.

    `held` are names of functions that the code that is seen may compare by identity; `scopes` are its globals and
    cells; `attends` says whether it may handle exceptions; `asking` are the globals of the code that names `type`,
    and `root` is what the guard was made for. `numbers` are the floats in all that is seen, unless there is a reason.
    """

    holds: Callable[[Any], bool]
    reason: str = ""
    held: frozenset[str] = frozenset()
    scopes: Sequence[Any] = ()
    attends: bool = False
    asking: Sequence[Any] = ()
    root: Any = None
    numbers: frozenset[float] | None = None

    @property
    def still_holds(self) -> bool:
        """Whether outside state is now as it was when the guard was made."""
        return self.holds(self.root)


def never(fun: Any) -> bool:
    """The guard of state that nothing is known of."""
    return False


class Writer:
    """["v0 = root.__globals__['k']", …] → holds(root): a guard while it is written:
    its lines, and what they refer to.
    """

    def __init__(self, constants: Mapping[str, Any]):
        """constants → no lines yet = []."""
        self.lines: list[str] = []
        self.constants = dict(constants)
        self.seen: dict[int, str] = {}
        """The names of objects, by identity; `alive` keeps it from being used twice."""
        self.alive: list[Any] = []
        self.root: Any = None
        """The function that the guard is called with."""

    def compiled(self) -> Callable[[Any], bool]:
        """lines → holds(root) = True, False where any is not so, or raises:
        the guard's function, which takes the root.
        """
        body = [f"        {line}" for line in self.lines]
        text = ["def holds(root):", "    try:", *body, "        return True"]
        text += ["    except Exception:", "        return False"]
        namespace = dict(self.constants)
        exec("\n".join(text), namespace)
        return namespace["holds"]

    def constant(self, value: Any) -> str:
        """Return a name for a value that the guard compares with."""
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def unless(self, condition: str) -> None:
        """Write the line that says when the guard does not hold."""
        self.lines.append(f"if {condition}: return False")

    def named(self, value: Any, text: str) -> str:
        """(k, "root.__globals__['k']") → "v0", line "v0 = …":
        a name for a value in the guard, where it must be the same object.
        """
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.seen[id(value)] = name
        self.alive.append(value)
        if value is not self.root:
            try:
                self.unless(f"{name} is not {self.constant(ref(value))}()")
            except TypeError:  # what holds the same at the same address is the same
                self.unless(f"id({name}) != {id(value)}")
        return name
