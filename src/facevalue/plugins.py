"""Plugins: studies, models and statistics of other packages, found by entry points and imported when asked for."""

import threading
from collections.abc import Collection
from importlib.metadata import Distribution, EntryPoint, distributions, entry_points
from typing import Any

from facevalue.errors import PluginError
from facevalue.printable import first_line

STUDIES, MODELS, GENERATORS = "facevalue.studies", "facevalue.models", "facevalue.generators"
STATISTICS = "facevalue.statistics"
"""Groups of entry points."""


class Plugin:
    """An entry point of another package.

    Parameters
    ----------
    point:
        As installed.
    refused:
        Why it is unavailable; empty if it is available.
    """

    def __init__(self, point: EntryPoint, refused: str = "") -> None:
        self._point = point
        self._refused = refused
        self.name = point.name
        self.package = point.dist.name if point.dist is not None else point.value.partition(":")[0]

    def load(self, seconds: float = 120.0) -> Any:
        """Import what it names, in a thread of its own, so that it can neither end nor hang this one.

        Raises
        ------
        PluginError
            It is refused, cannot be imported, or is not done in so many seconds.
        """
        if self._refused:
            raise PluginError(self._refused)
        offers: list[Any] = []
        failure: list[BaseException] = []

        def work() -> None:
            try:
                offers.append(self._point.load())
            except BaseException as error:  # whatever a stranger's package raises, SystemExit too
                failure.append(error)

        thread = threading.Thread(target=work, name=f"import of {self.name}", daemon=True)
        thread.start()
        thread.join(seconds)
        if failure:
            raise self.wrong(f"cannot be imported: {first_line(failure[0])}") from failure[0]
        if not offers:
            raise self.wrong(f"cannot be imported: it was not done after {seconds:g} s")
        return offers[0]

    def wrong(self, message: str) -> PluginError:
        """An error that says what is wrong with it."""
        return PluginError(f"{self.name}, of the package {self.package}, {message}.")


def plugins(group: str, taken: Collection[str]) -> dict[str, Plugin]:
    """Plugins by name, none of them imported.

    Parameters
    ----------
    group:
        Of entry points.
    taken:
        Names that are FaceValue's own; a plugin of such a name is refused.
    """
    points, out = _points(group)
    for point in points:
        plugin = Plugin(point)
        if point.name in taken:
            plugin = Plugin(point, f"{point.name}, of the package {plugin.package}, has a name of FaceValue's own.")
        elif point.name in out:
            packages = sorted((out[point.name].package, plugin.package))
            plugin = Plugin(
                point, f"{point.name} is of two packages, {packages[0]} and {packages[1]}: uninstall one of them."
            )
        out[point.name] = plugin
    return out


def _points(group: str) -> tuple[list[EntryPoint], dict[str, Plugin]]:
    """Entry points, and packages of which they cannot be read."""
    try:
        entries: set[EntryPoint] = set(entry_points(group=group))
        broken: dict[str, Plugin] = {}
    except Exception:  # one malformed list hides all
        entries, broken = _one_by_one(group)
    return sorted(entries, key=lambda point: (point.name, point.value)), broken


def _one_by_one(group: str) -> tuple[set[EntryPoint], dict[str, Plugin]]:
    by_name: dict[str, Collection[EntryPoint]] = {}
    broken: dict[str, Plugin] = {}
    for package in distributions():
        name = "a package without a name"
        try:
            name = package.name or name
            if name not in by_name:  # the first of its name is the one that is imported
                by_name[name] = ()
                by_name[name] = package.entry_points.select(group=group)
        except Exception as error:  # whatever is wrong with a stranger's files
            if _means(package, group):
                message = f"{name}: its entry_points.txt cannot be read: {first_line(error)}."
                broken[name] = Plugin(EntryPoint(name, name, group), message)
    return {point for points in by_name.values() for point in points}, broken


def _means(package: Distribution, group: str) -> bool:
    """Return whether a list that cannot be read is about FaceValue."""
    try:
        return group in (package.read_text("entry_points.txt") or "")
    except UnicodeDecodeError:
        return True
