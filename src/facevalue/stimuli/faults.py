"""Faults in the rows of a manifest: all at once, counted, with the first rows of each kind named."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from facevalue.errors import DataError

KEPT = 1_000
"""Most rows kept of each kind of fault."""
SHOWN = 5
"""Most rows of each kind, and most pictures, that an error names."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault, and where it is."""

    what: str
    """For people."""
    rows: tuple[tuple[int, str], ...] = ()
    """The first `KEPT` rows, counted from 1 below the header, and what stands there; none where it is the whole file.
    """
    count: int = 0
    """Number of rows."""

    def __str__(self) -> str:
        if not self.rows:
            return self.what
        listed = ", ".join(f"row {row} ({text})" if text else f"row {row}" for row, text in self.rows[:SHOWN])
        more = f" and {self.count - SHOWN:,} more" if self.count > SHOWN else ""
        return f"{self.what}: {listed}{more}"


class ManifestError(DataError):
    """Error that names all that is wrong with a manifest."""

    def __init__(self, place: str, faults: Sequence[Fault]) -> None:
        self.where, self.faults = place, tuple(faults)
        super().__init__(f"{place}: {'; '.join(str(fault).rstrip('.') for fault in faults)}.")


class PicturesError(DataError):
    """Error that names all that is wrong with the pictures of a manifest, by image."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        listed = "; ".join(problem.rstrip(".") for problem in list(self.problems.values())[:SHOWN])
        count = len(self.problems)
        more = f"; and {count - SHOWN:,} more" if count > SHOWN else ""
        super().__init__(f"{count:,} {'image' if count == 1 else 'images'} cannot be shown: {listed}{more}.")


class Faults:
    """Collects faults by kind."""

    def __init__(self) -> None:
        self._rows: dict[str, list[tuple[int, str]]] = {}
        self._counts: dict[str, int] = {}

    def add(self, fault: str, row: int, text: str = "") -> None:
        """Add a row, counted from 1."""
        rows = self._rows.setdefault(fault, [])
        if len(rows) < KEPT:
            rows.append((row, text))
        self._counts[fault] = self._counts.get(fault, 0) + 1

    def where(self, fault: str, mask: pl.Series, texts: pl.Series | None = None) -> None:
        """Add the rows at which a mask is true."""
        positions = mask.fill_null(value=False).arg_true()
        if not len(positions):
            return
        first = positions[:KEPT]
        values: Iterable[object] = [""] * len(first) if texts is None else texts.gather(first).to_list()
        self._rows.setdefault(fault, []).extend(
            (int(row) + 1, "" if text is None else str(text)) for row, text in zip(first, values, strict=True)
        )
        self._counts[fault] = self._counts.get(fault, 0) + len(positions)

    def list_faults(self) -> list[Fault]:
        """Faults that were collected."""
        return [Fault(fault, tuple(rows), self._counts[fault]) for fault, rows in self._rows.items()]

    def check(self, place: str) -> None:
        """Raise a `ManifestError` if there are any."""
        if self._rows:
            raise ManifestError(place, self.list_faults())
