"""Queries: what is asked of a document, checked, with everything bounded."""

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime

from facevalue.errors import SettingError, UnknownNameError
from facevalue.printable import short

MOST_ROWS = 200
"""Rows of a page."""
_MOST_KEYS, _MOST_TEXT, _LARGEST = 60, 400, 2**53


class Query:
    """Names and values of a query.

    Parameters
    ----------
    pairs:
        As they came.
    names:
        Names that the document knows.
    prefixes:
        Beginnings of names, such as "F.", that stand before the name of a factor.

    Raises
    ------
    UnknownNameError
        A name that it does not know.
    SettingError
        Too many names, a name twice, or a text that is too long.
    """

    def __init__(
        self, pairs: Iterable[tuple[str, str]], names: Collection[str], prefixes: Collection[str] = ()
    ) -> None:
        self._values: dict[str, str] = {}
        self._levels: dict[str, dict[str, list[str]]] = {prefix: {} for prefix in prefixes}
        for count, (name, value) in enumerate(pairs):
            if count >= _MOST_KEYS or len(value) > _MOST_TEXT:
                raise SettingError(f"A query has up to {_MOST_KEYS} names, each with up to {_MOST_TEXT} characters.")
            prefix = next((prefix for prefix in prefixes if name.startswith(prefix)), None)
            if prefix is not None:
                self._levels[prefix].setdefault(name.removeprefix(prefix), []).append(value)
            elif name not in names:
                raise UnknownNameError("name in the query", short(name), [*names, *(f"{p}NAME" for p in prefixes)])
            elif name in self._values:
                raise SettingError(f"{name} stands twice in the query.")
            else:
                self._values[name] = value

    def text(self, name: str) -> str:
        """A text; empty where there is none."""
        return self._values.get(name, "")

    def whole(self, name: str, default: int | None = None, largest: int = _LARGEST) -> int:
        """A whole number from 0 to `largest`."""
        value = self._values.get(name)
        if value is None and default is not None:
            return default
        if value is None or not value.isascii() or not value.isdigit() or int(value) > largest:
            raise SettingError(f"{name} is a whole number from 0 to {largest:,}, not {short(value or '')}.")
        return int(value)

    def page(self) -> tuple[int, int]:
        """First row and number of rows that are wanted: `from` and `n`."""
        return self.whole("from", 0), self.whole("n", 50, MOST_ROWS)

    def time(self, name: str) -> datetime | None:
        """A time in ISO 8601, in UTC where it does not say; None where there is none."""
        value = self._values.get(name, "")
        if not value:
            return None
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise SettingError(f"{name} is a time such as 2026-01-31T12:00, not {short(value)}.") from None
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)

    def levels(self, prefix: str, names: Collection[str], kind: str) -> Mapping[str, list[str]]:
        """Levels by factor or label; `kind` of the names, for people."""
        for name in self._levels[prefix]:
            if name not in names:
                raise UnknownNameError(kind, short(name), names)
        return self._levels[prefix]

    def order(self, names: Collection[str], default: str) -> tuple[str, bool]:
        """Column to sort by, and whether the largest is first (`-NAME`)."""
        text = self.text("sort") or default
        name = text.removeprefix("-")
        if name not in names:
            raise UnknownNameError("column to sort by", short(name), names)
        return name, text.startswith("-")
