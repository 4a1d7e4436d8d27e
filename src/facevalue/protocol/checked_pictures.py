"""Pictures that were checked: which of a list passed, as a folder of checks holds it, and lists without the others."""

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import polars as pl

from facevalue.errors import DataError
from facevalue.given import read_file, to_toml
from facevalue.parquet import read_table_of
from facevalue.printable import first_line
from facevalue.protocol.making import IMAGE
from facevalue.seals import sealed, unsealed
from facevalue.store.placed_files import read_placed

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
    """What rules left of pictures.

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
    >>> verdicts = PictureVerdicts.of(pl.DataFrame(rows))
    >>> verdicts.reasons, verdicts.of_images(pl.Series(["b", "c"])).row(0)
    (('blankness at most 0.98',), (0.0, 1.0))
    """

    PASSES: ClassVar[str] = "passes"
    table: pl.DataFrame
    reasons: tuple[str, ...]

    @classmethod
    def of(cls, rows: pl.DataFrame) -> Self:
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
        """Whether each of these passes, and why not; null for pictures that no rule was applied to."""
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
    """Which pictures passed, and why not: `image`, `accepted`, `reasons`; errors as of `without_failed`."""
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
