"""Impact ratios in the form of New York City's Local Law 144 of 2021: rates of selection by sex, race and both.

The law asks for them of tools that select people for a job, from historical data, or from test data where these do not
suffice. An audit's answers about pictures are test data: the table says so in each row, and makes no legal claim.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from facevalue.measures.definitions import value_by_measure
from facevalue.measures.impact import impact_ratios
from facevalue.measures.pairs import to_array
from facevalue.packing.packed_runs import PackedRun

LEAST_SHARE = 0.02
"""Share of all people below which the law lets a category be left out: its ratio is not stated."""
_SEX, _RACE = ("sex", "gender"), ("race", "ethnicity")
_GROUPS = ("group", "identity")
"""Labels that name a group, as do those that are called by what the law asks for; others say what was asked."""
SCHEMA = {
    "study": pl.String, "model": pl.String, "selected_by": pl.String, "asked": pl.String, "category": pl.String,
    "dimension": pl.String, "group": pl.String, "n": pl.UInt64, "people": pl.UInt64, "selection_rate": pl.Float64,
    "impact_ratio": pl.Float64, "low": pl.Float64, "high": pl.Float64, "note": pl.String, "data": pl.String,
}  # fmt: skip
TEST_DATA = "test data: answers about pictures, not about applicants"


def impact_table(pack: Sequence[PackedRun]) -> pl.DataFrame:
    """Rates of selection and impact ratios of all runs, a row per group and question.

    Equation
    --------
    Impact ratio: rate of the group / rate of the group that is selected most. Intervals by the delta method on the log
    scale, groups taken as independent, whoever is selected most (`measures.impact`); for groups of the same sets, whose
    rates move together, they are too wide rather than too narrow. Null where a group has less than 2% of the people, is
    selected most, or has no standard error.
    """
    rows = [row for packed in pack for row in _of_run(packed)]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def category(dimension: str) -> str:
    """The category of the law that a dimension is of; empty for one that it does not ask for.

    Examples
    --------
    >>> category("gender"), category("race x gender"), category("age")
    ('sex', 'intersection', '')
    """
    name = dimension.lower()
    is_sex, is_race = (any(word in name for word in words) for words in (_SEX, _RACE))
    return "intersection" if is_sex and is_race else "sex" if is_sex else "race/ethnicity" if is_race else ""


def _of_run(packed: PackedRun) -> Iterator[tuple[object, ...]]:
    selected = value_by_measure({key: measure.selection for key, measure in packed.measures.items()}, default=False)
    by_group = [name for name in packed.labels if name in _GROUPS or (name != "dimension" and category(name))]
    crossed = [pair for pair in combinations(by_group, 2) if category(" x ".join(pair)) == "intersection"]
    plain = packed.estimates.filter(selected, pl.col("intervention").is_null(), pl.col("value").is_not_null())
    for groups in (*((name,) for name in by_group), *crossed):
        question_labels = [name for name in packed.labels if name not in groups]
        compared = plain.filter(
            pl.all_horizontal(pl.col(groups).is_not_null()), *(pl.col(n).is_null() for n in by_group if n not in groups)
        )
        for rates in compared.partition_by("measure", *question_labels, maintain_order=True):
            if rates.height > 1:
                yield from _of_question(packed, rates, groups, question_labels)


def _of_question(
    packed: PackedRun, rates: pl.DataFrame, groups: Sequence[str], question_labels: Sequence[str]
) -> Iterator[tuple[object, ...]]:
    value, se, n, units = (to_array(rates[name]) for name in ("value", "se", "n", "clusters"))
    is_large = n >= LEAST_SHARE * np.nansum(n)
    ratio, low, high = (np.full(value.shape, np.nan) for _ in range(3))
    if is_large.sum() > 1:
        some = np.flatnonzero(is_large)
        impact = impact_ratios(value[some], se[some], np.eye(some.size), np.maximum(units[some] - 1, 1))
        ratio[some], low[some], high[some] = impact.ratio, impact.low, impact.high
    first = rates.row(0, named=True)
    dimension = str(first.get("dimension") or " x ".join(groups))
    question = "; ".join(
        f"{name}: {first[name]}" for name in question_labels if name != "dimension" and first[name] is not None
    )
    for at, row in enumerate(rates.iter_rows(named=True)):
        note = "under 2% of those shown: no ratio" if not is_large[at] else "selected most" if ratio[at] == 1 else ""
        yield (
            packed.run.study.name, packed.model, row["measure"], question, category(dimension), dimension,
            " ".join(row[group] for group in groups), row["n"], row["clusters"], row["value"],
            *(_number(x[at]) for x in (ratio, low, high)), note, TEST_DATA,
        )  # fmt: skip


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
