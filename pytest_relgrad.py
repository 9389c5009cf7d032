"""A plugin of pytest: `relgrad check` and `relgrad lint` of a project's own code, by a line of its configuration.

    [tool.pytest.ini_options]
    relgrad_check = ["mypkg/relations.py"]
    relgrad_lint = ["mypkg/losses.py:loss(np.ones(3))"]

It stands outside the package, so that nothing is imported where nothing is configured.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

CHECK, LINT = "relgrad_check", "relgrad_lint"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the lines of configuration."""
    parser.addini(CHECK, "files whose relations are checked", type="linelist", default=[])
    parser.addini(LINT, "functions that must have no hazards: FILE.py:FUNCTION(ARGUMENTS)", "linelist", [])


def pytest_configure(config: pytest.Config) -> None:
    """Look at the configuration only; a project without any has no hook that is called for its files."""
    if config.getini(CHECK) or config.getini(LINT):
        config.pluginmanager.register(_Plugin(config), "relgrad-items")


class _Plugin:
    """Makes items of what is configured, by the files where it stands."""

    def __init__(self, config: pytest.Config):
        self.wanted: dict[Path, list[str | None]] = defaultdict(list)
        for file in config.getini(CHECK):
            self.wanted[_resolved(config, file)].append(None)
        for place in config.getini(LINT):
            file, suffix, call = place.partition(".py:")
            self.wanted[_resolved(config, f"{file}.py" if suffix else place)].append(call)

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect a file that pytest comes by, so that it can be asked for by name."""
        wanted = self.wanted.get(file_path.resolve())
        return _File.of(parent, file_path, wanted) if wanted else None

    def pytest_collection_modifyitems(
        self, session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Add the files that pytest does not come by, unless it was told what to run."""
        if config.args_source is pytest.Config.ArgsSource.ARGS:
            return
        met = {item.path.resolve() for item in items if isinstance(item, _Item)}
        for path, wanted in self.wanted.items():
            if path not in met:
                items += _File.of(session, path, wanted).collect()


def _resolved(config: pytest.Config, file: str) -> Path:
    return (config.rootpath / file).resolve()


class _File(pytest.File):
    """A file with relations to be checked, functions to be examined, or both."""

    wanted: Sequence[str | None]

    @classmethod
    def of(cls, parent: Any, path: Path, wanted: Sequence[str | None]) -> _File:
        found = cls.from_parent(parent, path=path)
        found.wanted = wanted
        return found

    def collect(self) -> list[pytest.Item]:
        return [item for call in self.wanted for item in self._items(call)]

    def _items(self, call: str | None) -> Iterable[pytest.Item]:
        if call is not None:
            yield _Lint.from_parent(self, name=f"lint[{call}]")
            return
        from relgrad.errors import RelgradError
        from relgrad.loading import relations_of

        try:
            rows = relations_of(self.path)
        except RelgradError as error:
            yield _Unreadable.of(self, error)
            return
        for row in rows:
            yield _Check.of(self, row)


class _Item(pytest.Item):
    """What is told where it fails is the text of what was found, without a traceback."""

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"relgrad {self.name}"

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any, **kwargs: Any) -> Any:
        from relgrad.errors import RelgradError

        if excinfo.errisinstance((_Found, RelgradError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *args, **kwargs)


class _Found(Exception):
    """What is wrong, in words."""


class _Check(_Item):
    """A relation, which must not be refuted."""

    row: Any

    @classmethod
    def of(cls, parent: _File, row: Any) -> _Check:
        item = cls.from_parent(parent, name=f"check[{row.name}]")
        item.row = row
        return item

    def runtest(self) -> None:
        from relgrad import check

        found = check(self.row)
        if not found.ok:
            raise _Found(f"{self.row.place}: {found}")

    def reportinfo(self) -> tuple[Path, int | None, str]:
        file, _, line = self.row.place.rpartition(":")
        return Path(file), int(line) - 1, f"relgrad {self.name}"


class _Lint(_Item):
    """A call, which must have no hazards but those that are ignored for a reason."""

    def runtest(self) -> None:
        from relgrad.findings import examined

        found = examined(f"{self.path}:{self.name.removeprefix('lint[').removesuffix(']')}")
        if not found.ok:
            raise _Found(str(found))


class _Unreadable(_Item):
    """A file that defines no relation, or that cannot be imported."""

    error: Exception

    @classmethod
    def of(cls, parent: _File, error: Exception) -> _Unreadable:
        item = cls.from_parent(parent, name="check")
        item.error = error
        return item

    def runtest(self) -> None:
        raise self.error
