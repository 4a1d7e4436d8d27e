"""Checks of pictures: the rules that pictures must pass, which of a list passed, and lists without the others.

A file has a table for each rule::

    [[rule]]
    quantity = "structure"          # of facevalue.inspection.quantities, or "lookalikes"
    at_least = 0.9                  # or at_most, or both

    [[rule]]
    quantity = "identity_distance"
    at_most = "calibrated"          # a limit for each cue and group, from pairs that are known
    cues = ["glasses", "beard"]     # of these alone; of all by default
"""

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import ClassVar, Self

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.inspection.quantities import BY_NAME
from facevalue.parquet import read_table_of
from facevalue.printable import first_line
from facevalue.protocol.making import IMAGE
from facevalue.protocol.toml_tables import TomlTable, lines_of
from facevalue.seals import sealed, unsealed
from facevalue.store.files import read_placed
from facevalue.untrusted_files import read_file, to_text, to_toml

# Pictures that were checked: which of a list passed, as a folder of checks holds it, and lists without the others.


TABLE, SEAL = "accepted.parquet", "accepted.toml"
"""Files of a folder of checks: a row per picture (`image`, `accepted`), and the digest of that with the rules."""
_MOST_BYTES = 256 * 2**20
ACCEPTED, REASONS = "accepted", "reasons"
"""Columns of `TABLE`: whether a picture passes, and why not, several reasons with "; " between them."""
SHUT, SPARE, UNSEEN, OF_SOURCE = (
    "it cannot be decoded", "another attempt is kept", "it was not inspected", "its source fails"
)  # fmt: skip
"""Reasons that are no rule's."""


@dataclass(frozen=True)
class PictureVerdicts:
    """Verdicts of rules on pictures.

    Attributes
    ----------
    table:
        A row per picture: `image`, `passes` (null where it was not inspected) and a column of 0 and 1 for each reason.
        An attempt that another one is kept instead of passes all the same.
    reasons:
        Why pictures fail, the commonest first.

    Examples
    --------
    >>> rows = {"image": ["a", "b"], "accepted": [True, False], "reasons": ["", "blankness at most 0.98"]}
    >>> verdicts = PictureVerdicts.from_rows(pl.DataFrame(rows))
    >>> verdicts.reasons, verdicts.of_images(pl.Series(["b", "c"])).row(0)
    (('blankness at most 0.98',), (0.0, 1.0))
    """

    PASSES: ClassVar[str] = "passes"
    table: pl.DataFrame
    reasons: tuple[str, ...]

    @classmethod
    def from_rows(cls, rows: pl.DataFrame) -> Self:
        """From `image`, `accepted` and `reasons`, as `read_verdicts` gives them."""
        lists = rows[REASONS].fill_null("").str.split("; ")
        counts = lists.explode().value_counts(sort=True).rows()
        reasons = tuple(reason for reason, _ in counts if reason not in ("", SPARE, UNSEEN))
        table = rows.select(IMAGE).with_columns(lists.alias(REASONS))
        is_seen = ~pl.col(REASONS).list.contains(UNSEEN)
        breaks = [pl.col(REASONS).list.contains(reason) for reason in reasons]
        passes = ~pl.any_horizontal(breaks) if breaks else pl.lit(value=True)
        marks = {cls.PASSES: passes, **dict(zip(reasons, breaks, strict=True))}
        columns = [pl.when(is_seen).then(mark.cast(pl.Float64)).alias(name) for name, mark in marks.items()]
        return cls(table.select(IMAGE, *columns), reasons)

    def of_images(self, images: pl.Series) -> pl.DataFrame:
        """Verdict on each of these images, and reasons against it; null for pictures that no rule was applied to."""
        rows = pl.DataFrame({IMAGE: images.cast(pl.String)})
        return rows.join(self.table, on=IMAGE, how="left", maintain_order="left").drop(IMAGE)


def without_failed(table: pl.DataFrame, checks: Path | str) -> pl.DataFrame:
    """A list of pictures without those that failed, by the checks in a folder or under a URL.

    Raises
    ------
    DataError
        The folder holds no checks, these were changed, or they are not of these pictures; or none of them passed.
    """
    verdicts = read_verdicts(checks)
    passes = table.select("image").join(verdicts, on="image", how="left", maintain_order="left")["accepted"]
    if unchecked := passes.null_count():
        example = table["image"].filter(passes.is_null())[0]
        raise DataError(
            f"{checks}: {unchecked:,} of {table.height:,} pictures were not checked, such as {example!r}. "
            "Check this list: facevalue inspect-pictures."
        )
    if not passes.any():
        raise DataError(f"{checks}: none of the {table.height:,} pictures passed its checks.")
    return table.filter(passes)


def read_verdicts(checks: Path | str) -> pl.DataFrame:
    """Read the verdicts on pictures: `image`, `accepted`, `reasons`; errors as of `without_failed`."""
    seal = _content(checks, SEAL)
    if seal is None:
        kind = "place" if isinstance(checks, str) else "folder"
        raise DataError(f"{checks} is no {kind} that facevalue inspect-pictures finished: it has no {SEAL}.")
    facts = to_toml(unsealed(seal, SEAL), SEAL)
    data = _content(checks, TABLE)
    if data is None or facts.get("table") != hashlib.sha256(data).hexdigest():
        raise DataError(f"{checks}/{TABLE} is not what was written: make it again with facevalue inspect-pictures.")
    try:
        return read_table_of(data).select(
            pl.col("image").cast(pl.String), pl.col("accepted").cast(pl.Boolean), pl.col("reasons").cast(pl.String)
        )
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{checks}/{TABLE} cannot be read: {first_line(error)}") from error


def failed_pictures(place: Path | str) -> tuple[str, ...]:
    """Ids of pictures that failed, by a folder or URL of checks, or by a CSV file with a column `image`.

    A picture that fails only as its source does is left out, as is one that another attempt is kept instead of, or that
    was not inspected.
    """
    if isinstance(place, Path) and place.suffix.lower() == ".csv":
        try:
            data = read_file(place, _MOST_BYTES, "pictures that failed")
            table = pl.read_csv(io.BytesIO(data), infer_schema=False)
        except pl.exceptions.PolarsError as error:
            raise DataError(f"{place} cannot be read as CSV: {first_line(error)}") from None
        if IMAGE not in table.columns:
            raise DataError(f"{place} has no column {IMAGE!r}, which names the pictures that failed.")
        return tuple(table[IMAGE].drop_nulls().cast(pl.String).unique(maintain_order=True))
    verdicts = read_verdicts(place)
    reasons = pl.col(REASONS).fill_null("").str.split("; ").list.set_difference(["", SPARE, UNSEEN, OF_SOURCE])
    return tuple(verdicts.filter(~pl.col(ACCEPTED), reasons.list.len() > 0)[IMAGE])


def _content(checks: Path | str, name: str) -> bytes | None:
    """A file of checks; None if it is not there."""
    return read_placed(checks, name, _MOST_BYTES, "checks of pictures")


def sealed_verdicts(data: bytes, facts: str) -> bytes:
    """Contents of `SEAL`: the digest of a table, and TOML that says how it came to be."""
    return sealed(f'table = "{hashlib.sha256(data).hexdigest()}"\n{facts}'.encode())


# Rules by which pictures are accepted: quantities with a limit, of all pictures or of some cues, from a TOML file.


LOOKALIKES = "lookalikes"
"""Quantity of a set of pictures: others of it, but for the source, that look the same."""
CALIBRATED = "calibrated"
"""A limit that known pairs give."""
MAX_BYTES = 256 * 1024
MOST_RULES = 100


@dataclass(frozen=True)
class PictureRule:
    """Requirement that a picture must fulfil.

    Attributes
    ----------
    quantity:
        Whose value counts.
    low, high:
        Least and greatest value that pass.
    calibrated:
        Which limit known pairs give, "at_least" or "at_most"; empty where the rule has its own.
    cues:
        Edits that it is of; all where there are none.
    edited:
        Whether it is of edits alone that were to change something: not of null edits, nor of sources.

    Examples
    --------
    >>> PictureRule("structure", low=0.9).text
    'structure at least 0.9'
    """

    quantity: str
    low: float = -inf
    high: float = inf
    calibrated: str = ""
    cues: tuple[str, ...] = ()
    edited: bool = False

    @property
    def text(self) -> str:
        """In words."""
        bounds = [f"at least {self.low:g}"] * (self.low > -inf) + [f"at most {self.high:g}"] * (self.high < inf)
        bounds += [f"{self.calibrated.replace('_', ' ')} what known pairs give"] * bool(self.calibrated)
        of = f" ({', '.join(self.cues)})" if self.cues else ""
        return f"{self.quantity} {' and '.join(bounds)}{of}"


USUAL = (PictureRule("blankness", high=0.98), PictureRule("greatest_change", low=2.0, edited=True))
"""Rules where the user declares none: a picture shows something, and an edit is no copy of its source. One that cannot
be opened never passes."""


def reason_in_words(reason: str) -> str:
    """A reason as people read it: with what the quantity is called, and its unit.

    Examples
    --------
    >>> reason_in_words("shift at most 2"), reason_in_words("shift is missing"), reason_in_words("its source fails")
    ('shift of the frame: at most 2 % of width', 'shift of the frame is missing', 'its source fails')
    """
    name, _, rest = reason.partition(" ")
    if name not in BY_NAME:
        return reason
    quantity = BY_NAME[name]
    title = quantity.title[:1].lower() + quantity.title[1:]
    if rest == "is missing":
        return f"{title} {rest}"
    limit, bracket, cues = rest.partition(" (")
    unit = f" {quantity.unit}" if quantity.unit not in ("1", "share", "probability") else ""
    return f"{title}: {limit}{unit}{bracket}{cues}"


def read_rules(path: Path) -> tuple[PictureRule, ...]:
    """Read the rules of a file.

    Raises
    ------
    DataError, UnknownNameError
        A key, quantity or limit is none; names the file and line.
    """
    text = to_text(read_file(path, MAX_BYTES, "rules of acceptance"), path.name)
    table = TomlTable(path.name, lines_of(text), (), to_toml(text.encode(), path.name))
    table.check_keys("rule")
    tables = table.tables("rule")
    if not 0 < len(tables) <= MOST_RULES:
        raise table.error(f"Rules of acceptance are 1 to {MOST_RULES} tables [[rule]], not {len(tables)}.")
    return tuple(_rule(rule) for rule in tables)


def _rule(table: TomlTable) -> PictureRule:
    table.check_keys("quantity", "at_least", "at_most", "cues")
    name = table.text("quantity")
    if name not in BY_NAME and name != LOOKALIKES:
        with table.place_errors("quantity"):
            raise UnknownNameError("quantity", name, [*BY_NAME, LOOKALIKES])
    cues = table.names("cues", ())
    document = table.document()
    limits = [key for key in ("at_least", "at_most") if key in table]
    calibrated = [key for key in limits if document[key] == CALIBRATED]
    if not limits:
        raise table.error("A rule has a limit: at_least, at_most, or both.", "quantity")
    if calibrated:
        if len(limits) > 1:
            raise table.error('A limit that is "calibrated" stands alone.', calibrated[0])
        if name == LOOKALIKES or not BY_NAME[name].source:
            raise table.error(
                f"Known pairs say how far a picture is from its source, which {name} is not about.", calibrated[0]
            )
        return PictureRule(name, calibrated=calibrated[0], cues=cues)
    if stray := next((key for key in limits if isinstance(document[key], str)), None):
        raise table.error(f'A limit is a number or "{CALIBRATED}", not {document[stray]!r}.', stray)
    low, high = table.number("at_least", -inf), table.number("at_most", inf)
    if low > high:
        raise table.error(f"Nothing is at least {low:g} and at most {high:g}.", "at_most")
    _check_reachable(table, name, low, high, limits)
    return PictureRule(name, low, high, cues=cues)


def _check_reachable(table: TomlTable, name: str, low: float, high: float, limits: Sequence[str]) -> None:
    """Refuse limits that no value can fulfil."""
    if name in BY_NAME and (low > BY_NAME[name].greatest or high < BY_NAME[name].least):
        of = BY_NAME[name]
        raise table.error(f"{name} goes from {of.least:g} to {of.greatest:g}: no picture would pass.", limits[0])
