"""Keys: content that is compared often, interned.

Equal contents have one key, so `==` is `is` and `hash` never recurses, however deeply keys are nested.
"""

from __future__ import annotations

from collections.abc import Hashable
from weakref import WeakValueDictionary


class Key:
    """interned(p) is interned(q) ⟺ p = q: what equal contents have in common; build keys with `interned(parts)`."""

    __slots__ = ("__weakref__", "parts")

    def __init__(self, parts: Hashable):
        self.parts = parts


_keys: WeakValueDictionary[Hashable, Key] = WeakValueDictionary()


def interned(parts: Hashable) -> Key:
    """Return the one key that is made of these parts."""
    key = _keys.get(parts)
    return key if key is not None else _keys.setdefault(parts, Key(parts))
