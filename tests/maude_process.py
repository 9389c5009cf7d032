"""Maude in a process of its own: several of its modules in one process crash it.

Questions go in as Maude's text, substitutions come back as JSON: {"x": ["f", ["a"], {"variable": "y"}]}.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


class Maude:
    """A functional module, which answers matching and unification problems."""

    def __init__(self, source: str, name: str):
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._ask(source, name)

    def match(self, subject: str, pattern: str) -> list[dict[str, Any]]:
        """Return the matchers, repetitions included."""
        return self._ask("match", subject, pattern)

    def unify(self, u: str, v: str, irredundant: bool = True) -> list[dict[str, Any]]:
        """Return the unifiers."""
        return self._ask("unify", u, v, irredundant)

    def _ask(self, *question: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(question), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        assert answer, f"Maude stopped at {question}"
        return json.loads(answer)

    def __del__(self) -> None:
        if process := getattr(self, "_process", None):
            process.stdin.close()
            process.stdout.close()
            process.wait()


def _serve() -> None:
    import maude

    maude.init(advise=False)
    module: Any = None

    def parsed(text: str) -> Any:
        found = module.parseTerm(text)
        found.reduce()
        return found

    def read(t: Any) -> Any:
        if t.isVariable():
            return {"variable": str(t.getVarName())}
        return [str(t.symbol()), *map(read, t.arguments())]

    def substitution(found: Any) -> dict[str, Any]:
        return {str(x.getVarName()): read(t) for x, t in found}

    for line in sys.stdin:
        match json.loads(line):
            case ["match", subject, pattern]:
                answer = [substitution(s) for s, _ in parsed(subject).match(parsed(pattern))]
            case ["unify", u, v, irredundant]:
                answer = [substitution(s) for s in module.unify([(parsed(u), parsed(v))], irredundant)]
            case [source, name]:
                maude.input(source)
                module = maude.getModule(name)
                answer = name
            case question:
                raise ValueError(question)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    _serve()
