"""Objects that a module holds under a name: what pickles and generated source refer to, as to `numpy.linalg.norm`."""

from __future__ import annotations

import sys
from importlib import import_module
from operator import attrgetter
from typing import Any, Self


def is_importable(x: Any, module: Any, name: Any) -> bool:
    """Whether a module that is loaded holds x under a name, with dots where it is part of a class.

    >>> is_importable(attrgetter, "operator", "attrgetter"), is_importable(attrgetter, "operator", "itemgetter")
    (True, False)
    """
    if not isinstance(module, str) or not isinstance(name, str) or module not in sys.modules:
        return False
    try:
        return attrgetter(name)(sys.modules[module]) is x
    except AttributeError:
        return False


def imported(module: str, name: str) -> Any:
    """Return what a module holds under a name: by this, what hides the function it was made of is pickled."""
    return attrgetter(name)(import_module(module))


def home_of(x: Any) -> tuple[str, str] | None:
    """Return a module and the name under which it holds x; None where no module that is loaded does.

    >>> home_of(attrgetter)
    ('operator', 'attrgetter')
    """
    first = str(getattr(x, "__module__", "")), "relgrad."
    for module in sorted(sys.modules, key=lambda name: (not name.startswith(first), name)):
        for name, value in list(getattr(sys.modules[module], "__dict__", {}).items()):
            if value is x:
                return module, name
    return None


class Immutable:
    """copy(x) is deepcopy(x) is x → True: a value whose copies are itself."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self
