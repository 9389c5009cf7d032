"""What `type(x)` answers while a function is traced: the class that a traced array shows, as `x.__class__` does.

type(x) is np.ndarray, type(t) in (int, float), type(x).__name__
"""

from __future__ import annotations

from typing import Any

from relgrad.symbolic import Symbolic


class _Meta(type):
    """type(tracer) → np.ndarray: the class of what stands in for `type`, called, asked and compared as `type` is."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """tracer → tracer.__class__, 2 → int, ("C", (), {}) → a class."""
        if cls is not Type:  # a metaclass that was made of it
            return super().__call__(*args, **kwargs)
        if len(args) == 1 and not kwargs and isinstance(args[0], Symbolic):
            return args[0].__class__
        made = type(*args, **kwargs)
        return cls if made is type else made

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, type) if cls is Type else super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, type) if cls is Type else super().__subclasscheck__(subclass)

    def __eq__(cls, other: object) -> bool:
        return other is cls or (cls is Type and other is type)

    def __hash__(cls) -> int:
        return hash(type) if cls is Type else super().__hash__()

    def __repr__(cls) -> str:
        return repr(type) if cls is Type else super().__repr__()


class Type(type, metaclass=_Meta):
    """Type(tracer) → np.ndarray, Type(2) → int: the stand-in for `type`."""

    original = type
