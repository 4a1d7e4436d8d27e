"""Reproduction of VIGNETTE's printed figures from its tables and design. docs/papers/reproduce.md says what differs.

Answers are not released, so that selection frequencies cannot be recomputed; what can are the counts (Tables 5 to 8)
and the summaries of other printed tables (Tables 11 to 13).
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from facevalue.errors import UnknownNameError
from facevalue.measures.pairs import to_array
from facevalue.measures.run_comparison import DELTA_STATISTICS, Matched, match_tables
from facevalue.protocol.reproduction import Cell, Paper, Printed, Reproduction
from facevalue.protocol.settings import defaults
from facevalue.studies.vignette import tables
from facevalue.studies.vignette.comparisons import chance_match_rates
from facevalue.studies.vignette.design import product_layout
from facevalue.studies.vignette.pictures import casts, everyone
from facevalue.studies.vignette.settings import SETTINGS, selection

PAPER = Paper.shipped(__package__)
COLUMNS = ("Identities", "Individual Images", "Identity Contrast", "Activity Contrast", "Identity-Activity Contrast")
CONTRASTS = ("identity", "activity", "identity-activity")
_KEYS = ["model", "identity", "activity"]


def reproduce(_: Path | None = None) -> Reproduction:
    """Recompute what follows from the paper's own tables and from the design."""
    return PAPER.reproduce({
        "size": lambda _: f"{sum(_total(column) for column in COLUMNS[2:]) // 10**7 * 10}M+",
        "single": _single,
        "portraits": lambda _: f"~{round(_singles(portraits=True).height, -1)}",
        "terms": lambda cell: sum(cell.row in ("all", pair.trait) for pair in tables.term_pairs()),
        "identities": lambda cell: sum(
            len(tables.identities(dimension.name))
            for dimension in tables.dimensions()
            if cell.row in ("all", dimension.name)
        ),
        "activities": lambda cell: sum(cell.row in ("all", activity.time) for activity in tables.activities()),
        "pictures": _pictures,
        "row_sum": lambda cell: sum(int(share) for share in list(PAPER.table("11")[cell.row].values())[1:]),
        "different": lambda _: float(chance_match_rates([0.5, 0.5]).different),
        "difference": _difference,
        "options": lambda _: 4,
        "full_match": _full_match,
    })  # fmt: skip


def _singles(*, portraits: bool = False) -> pl.DataFrame:
    """Pictures of one person, doing something or not."""
    return everyone(selection(defaults(SETTINGS))).filter(pl.col("activity").is_null() == portraits)


@cache
def _table_8() -> Mapping[tuple[str, str], tuple[int, ...]]:
    """Table 8 by dimension and gender, from the tables (people, single pictures) and a run's design (pairs)."""
    chosen = selection(defaults(SETTINGS))
    layout = product_layout(casts(everyone(chosen)), chosen, drop=False, released=False)
    pairs = {
        tuple(b.constants[n] for n in ("gender", "dimension", "contrast")): b.stimuli for b in layout.design.blocks
    }
    single = _singles().group_by("gender", "dimension").len().iter_rows()
    return {
        (dimension, gender): (
            len(tables.identities(dimension, gender)),
            count,
            *(pairs[gender, dimension, contrast] for contrast in CONTRASTS),
        )
        for gender, dimension, count in single
    }


def _total(column: str, genders: tuple[str, ...] = tables.GENDERS) -> int:
    return sum(row[COLUMNS.index(column)] for (_, gender), row in _table_8().items() if gender in genders)


def _pictures(cell: Printed) -> int:
    title, _, column = cell.column.partition("/")
    gender = title.lower()
    if cell.row == "Total Images":
        return _total(column, (gender,))
    (name,) = (dimension.name for dimension in tables.dimensions() if dimension.title == cell.row)
    row = _table_8().get((name, gender))
    return row[COLUMNS.index(column)] if row else 0


def _single(cell: Printed) -> int | str:
    """Pictures of one person doing something; 12,525 are printed as 12k, cut off rather than rounded."""
    if cell.column == "both":
        return _total("Individual Images")
    return f"{_total('Individual Images', (cell.column,)) // 1000}k"


def _full_match(cell: Printed) -> str:
    questions = PAPER.document["categories"][cell.row.partition(": ")[2]]
    shares = [int(PAPER.table("11")[question]["Full Match"]) for question in questions]
    return "exceeds 60%" if sum(shares) / len(shares) > 60 else "does not exceed 60%"


@cache
def _differences() -> Mapping[str, Mapping[str, float]]:
    """Tables 12 ("all") and 13 (by model and task), from Tables 15 to 19."""
    rows = [
        (*place.split("/"), *column.split("/"), float(value))
        for table in range(15, 20)
        for place, values in PAPER.table(str(table)).items()
        for column, value in values.items()
    ]
    frame = pl.DataFrame(rows, schema=["model", "identity", "activity", "pictures", "value"], orient="row")
    matched = match_tables(frame.filter(pictures="real"), frame.filter(pictures="synthetic"), _KEYS)
    out: dict[str, dict[str, float]] = {}
    for by in ([], ["model", "activity"]):
        for row in summarise_deltas(matched, by).iter_rows(named=True):
            place = out.setdefault("/".join(row[name] for name in by) or "all", {})
            place |= {row["statistic"]: row["value"], "n_points": row["n"], "n_descriptors": row["n"]}
    return out


def _difference(cell: Printed) -> Cell:
    """These tables round to four decimals and drop zeros at the end: "4.0" is 4.0000."""
    value, (integer, _, decimals) = _differences()[cell.row][cell.column], str(cell.text).partition(".")
    return cell.at(cell.column, f"{integer}.{decimals:0<4}" if decimals else integer).number(value)


def summarise_deltas(matched: Matched, by: Sequence[str] = ()) -> pl.DataFrame:
    """Take the four numbers of Tables 12 and 13.

    `by`: keys to summarise by (activity); all cells together by default.
    Returns a row per level of `by` and statistic: `by`, `statistic`, `value`, `n` (cells).

    Equation
    --------
    mean signed delta Σ d_i / N; mean absolute error Σ |d_i| / N; RMSE sqrt(Σ d_i² / N); maximum max |d_i| (VIGNETTE,
    section A.6, Tables 12 and 13), d_i = second - first.
    """
    for name in by:
        if name not in matched.keys:
            raise UnknownNameError("key", name, matched.keys)
    groups = [((), matched.cells)] if not by else matched.cells.group_by(list(by), maintain_order=True)
    tables = []
    for levels, cells in groups:
        delta = to_array(cells["delta"])
        values = (delta.mean(), np.abs(delta).mean(), np.sqrt((delta**2).mean()), np.abs(delta).max())
        rows = pl.DataFrame({"statistic": DELTA_STATISTICS, "value": [float(x) for x in values], "n": [delta.size] * 4})
        tables.append(
            rows.select(*(pl.lit(lv, pl.String).alias(k) for k, lv in zip(by, levels, strict=True)), pl.all())
        )
    return pl.concat(tables)
