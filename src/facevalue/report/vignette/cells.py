"""From columns of estimates to the cells of grids, and how many cells a page can bear."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from facevalue.measures.verdicts import Verdict
from facevalue.report.estimates import Estimate, EstimateIndex, made
from facevalue.report.formatting import MINUS, number, share_of_chance
from facevalue.report.vignette.grids import Cell

TITLED = 40_000
"""Up to so many cells each says everything when pointed at; beyond, only those in which a difference was found."""
MOST = 120_000
"""Beyond so many cells the tables of contrasts other than two identities in one activity are left out."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How much the tables of a page may say.

    Attributes
    ----------
    titled:
        Whether every cell has a title, or only the marked ones.
    contrasts:
        Whether there is room for all contrasts.
    models:
        Models whose tables are shown.
    """

    titled: bool
    contrasts: bool
    models: tuple[str, ...]


def budget(numbers: EstimateIndex) -> Budget:
    """Choose from the size of the estimates."""
    cells = numbers.frame.filter(
        pl.col("measure").is_in(["selection_frequency", "paircomp"])
        & (pl.col("activity").is_not_null() | pl.col("other_identity").is_not_null())
    )
    sizes = dict(cells.group_by("model").len().iter_rows())
    first = numbers.primary
    every = list(dict.fromkeys([first, *numbers.models]))
    models = every if sum(sizes.get(m, 0) for m in every) <= TITLED else [first]
    size = sum(sizes.get(m, 0) for m in models)
    return Budget(size <= TITLED, size <= MOST, tuple(models))


def chosen(
    numbers: EstimateIndex,
    measure: str,
    model: str,
    by: Sequence[str],
    fixed: Mapping[str, str | None],
    free: Sequence[str] = (),
) -> pl.DataFrame:
    """Estimates that vary over `by`, `fixed` at these levels (None: null), whatever the levels of `free`.

    All other labels must be null: their rows are other estimates.
    """
    conditions = [pl.col("measure") == measure, pl.col("model") == model]
    for name in numbers.labels:
        if name in by:
            conditions.append(pl.col(name).is_not_null())
        elif name in fixed:
            conditions.append(pl.col(name).eq_missing(pl.lit(fixed[name], pl.String)))
        elif name not in free:
            conditions.append(pl.col(name).is_null())
    return numbers.frame.filter(conditions)


def estimates(frame: pl.DataFrame) -> list[Estimate]:
    """Rows of `chosen` as estimates."""
    return list(made(frame))


def cell(row: Mapping[str, object], *, neutral: float, odds: Mapping[str, object] | None, titled: bool) -> Cell:
    """A cell from a row of the estimates.

    Parameters
    ----------
    row:
        The estimate that is shown.
    neutral:
        What its colour is counted from.
    odds:
        The log-odds of the same cell with its test; the row's own test if there is none.
    titled:
        Whether it says everything although no difference was found.
    """
    value = row["value"]
    if not isinstance(value, float):
        return Cell(None, 0.0, found=False, title="")
    test = odds if odds is not None else row
    q, found = test.get("q_page"), test.get("verdict") == Verdict.DIFFERENCE
    title = _title(row, odds, q) if titled or found else ""
    return Cell(value, value - neutral, found=found, title=title)


def _title(row: Mapping[str, object], odds: Mapping[str, object] | None, q: object) -> str:
    unit = str(row["unit"])
    parts = [number(_float(row["value"]), unit, signed=unit == "pp").removesuffix(" pp")]
    low, high = _float(row["low"]), _float(row["high"])
    if low is not None and high is not None:
        parts.append(f"[{low:.0f}, {high:.0f}]".replace("-", MINUS))
    if odds is not None:
        parts.append(f"log odds {number(_float(odds['value']), 'log odds', signed=True)}")
    if isinstance(q, float):
        chance = share_of_chance(q)
        parts.append(f"q {chance}" if chance.startswith("<") else f"q = {chance}")
    parts.append(f"n = {row['n']}")
    return ", ".join(parts).replace(", [", " [")


def _float(value: object) -> float | None:
    return value if isinstance(value, float) else None


def cells(
    frame: pl.DataFrame,
    row: str,
    column: str,
    *,
    neutral: float = 0.0,
    odds: pl.DataFrame | None = None,
    titled: bool = True,
) -> dict[tuple[str, str], Cell]:
    """Cells by the levels of two factors."""
    tests = {} if odds is None else {(r[row], r[column]): r for r in odds.iter_rows(named=True)}
    return {
        (r[row], r[column]): cell(r, neutral=neutral, odds=tests.get((r[row], r[column])), titled=titled)
        for r in frame.iter_rows(named=True)
    }


def ordered(keys: Iterable[str], size: Callable[[str], float | None]) -> list[str]:
    """Levels from the highest value to the lowest; those without one last, by name."""
    known = {key: size(key) for key in keys}
    return sorted(known, key=lambda key: (known[key] is None, -(known[key] or 0.0), key))
