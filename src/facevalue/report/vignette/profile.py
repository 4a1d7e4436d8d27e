"""One identity's scores in the four paradigms, side by side."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import polars as pl

from facevalue.report.estimates import EstimateIndex
from facevalue.report.formatting import DASH, MINUS, NOT_MEASURABLE, Titles
from facevalue.report.vignette.cells import chosen
from facevalue.report.vignette.grids import step

PARADIGMS = ("factuality", "perception", "stereotype", "decision")
_SIGNS = {"consistently low": "▼", "consistently high": "▲", "conflicting": "◆"}


class Named(Protocol):
    """What is needed of a view."""

    numbers: EstimateIndex
    titles: Titles

    def who(self, identity: str | None) -> str:
        """An identity's wording."""
        ...


@dataclass(frozen=True, slots=True)
class Score:
    """A score as text, with its colour."""

    value: str
    interval: str
    class_: str


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """One identity: its scores, and whether they agree."""

    identity: str
    scores: list[Score]
    pattern: str
    sign: str


@dataclass(frozen=True, slots=True)
class Profile:
    """A dimension's identities in the paradigms that were asked."""

    paradigms: list[str]
    rows: list[ProfileRow]


def profile(view: Named, model: str, dimension: str) -> Profile | None:
    """Build the table; None if fewer than two paradigms were asked."""
    own = chosen(view.numbers, "normalised_score", model, ("identity", "paradigm"), {"dimension": dimension})
    asked = [p for p in PARADIGMS if p in own["paradigm"].to_list()]
    if len(asked) < 2:
        return None
    whole = chosen(view.numbers, "normalised_score", model, ("paradigm",), {"dimension": dimension})
    neutral: dict[str, float] = {p: v for p, v in whole.select("paradigm", "value").iter_rows() if v is not None}
    patterns = _patterns(own, neutral)
    by_cell = {(r["identity"], r["paradigm"]): r for r in own.iter_rows(named=True)}
    means = own.group_by("identity", maintain_order=True).agg(pl.col("value").mean().alias("mean"))
    rows = []
    for identity in means.sort("mean", descending=True, nulls_last=True)["identity"]:
        scores = [_score(by_cell.get((identity, p)), neutral.get(p, 50.0)) for p in asked]
        word = patterns.get(identity, "")
        rows.append(ProfileRow(view.who(identity), scores, word, _SIGNS.get(word, "")))
    return Profile([view.titles.get("paradigm", p) for p in asked], rows)


def _patterns(own: pl.DataFrame, neutral: Mapping[str, float]) -> dict[str, str]:
    from facevalue.measures.profiles import pattern  # noqa: PLC0415 - scipy.stats takes a second to import

    middle = pl.col("paradigm").replace_strict(neutral, default=50.0, return_dtype=pl.Float64)
    found = pattern(own.with_columns(middle.alias("neutral")), ["identity"])
    return dict(found.select("identity", "pattern").iter_rows())


def _score(row: Mapping[str, object] | None, neutral: float) -> Score:
    if row is None:
        return Score(DASH, "not asked", "x")
    value, low, high = (row[name] for name in ("value", "low", "high"))
    if not isinstance(value, float):
        return Score(DASH, NOT_MEASURABLE, "x")
    between = (
        f"[{low:.0f}, {high:.0f}]".replace("-", MINUS) if isinstance(low, float) and isinstance(high, float) else ""
    )
    return Score(f"{value:.1f}", between or str(row["method"] or "no interval"), step(value - neutral))
