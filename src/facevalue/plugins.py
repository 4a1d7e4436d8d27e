"""Plugins: studies and models of other packages, found by their entry points and imported when asked for."""

from collections.abc import Collection, Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from facevalue.errors import PluginError

STUDIES, MODELS = "facevalue.studies", "facevalue.models"
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

    def load(self) -> Any:
        """Import what it names.

        Raises
        ------
        PluginError
            It is refused, or cannot be imported.
        """
        if self._refused:
            raise PluginError(self._refused)
        try:
            return self._point.load()
        except Exception as error:  # whatever a stranger's package raises
            raise self.wrong(f"cannot be imported: {_line(error)}") from error

    def wrong(self, why: str) -> PluginError:
        """An error that says what is wrong with it."""
        return PluginError(f"{self.name}, of the package {self.package}, {why}.")


def plugins(group: str, taken: Collection[str]) -> dict[str, Plugin]:
    """Plugins by name, none of them imported.

    Parameters
    ----------
    group:
        Of entry points.
    taken:
        Names that are FaceValue's own; a plugin of such a name is refused.
    """
    out: dict[str, Plugin] = {}
    for point in _points(group):
        plugin = Plugin(point)
        if point.name in taken:
            plugin = Plugin(point, f"{point.name}, of the package {plugin.package}, has a name of FaceValue's own.")
        elif point.name in out:
            both = sorted((out[point.name].package, plugin.package))
            plugin = Plugin(point, f"{point.name} is of two packages, {both[0]} and {both[1]}: uninstall one of them.")
        out[point.name] = plugin
    return out


def _points(group: str) -> Iterator[EntryPoint]:
    yield from sorted(set(entry_points(group=group)), key=lambda point: (point.name, point.value))


def _line(error: Exception) -> str:
    """The first line of an error, with its kind."""
    said = (str(error).splitlines() or [""])[0].rstrip(".")
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
