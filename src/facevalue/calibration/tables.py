"""Tables of calibrations, for people and for files."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from facevalue import studies
from facevalue.calibration.families import (
    ALPHA,
    COVERED,
    DETECTED,
    LEAST_POWER,
    MOST_FALSE,
    MOST_UNEXPLAINED,
)
from facevalue.calibration.repetitions import TABLE, Workshop, state
from facevalue.calibration.runner import CERTAIN, SIZES, CalibrationSummary, Runner, level_audits
from facevalue.protocol.offers import Calibrated, Table

_FAMILIES = (
    ("size", "size"), ("family", "family"), ("measure", "measure"), ("false", "false"), ("covers", "coverage"),
    ("effects", "coverage_effects"), ("found", "power_page"), ("power", "power"), ("beside", "beside"),
    ("rival", "rival"), ("", "defect"),
)  # fmt: skip
_CONDITIONS = (
    ("condition", "condition"), ("size", "size"), ("page", "page"), ("sure", "page_without_unless"),
    ("family", "family"), ("p < .05", "p_below"), ("covers", "coverage"), ("", "defect"),
)  # fmt: skip
_DETECTABLE = (
    ("stated", "stated"), ("measure", "measure"), ("effect", "effect"), ("planted", "planted"), ("found", "found"),
    ("equivalent", "equivalent"), ("", "defect"),
)  # fmt: skip
_COMPARED = (
    ("two models", "pair"), ("size", "size"), ("any", "any"), ("mean", "mean"), ("p < .05", "p_below"),
    ("covers", "coverage"), ("", "defect"),
)  # fmt: skip
_WITHHELD = pl.col("condition").str.contains("withheld")
_CHANCE = pl.col("condition") != CERTAIN


class _Promise(NamedTuple):
    """A promise on a number of a table: from `low` to `high`; its mark begins with `mark` where that is broken."""

    table: str
    text: str
    columns: tuple[str, ...]
    low: float
    high: float
    mark: str
    only: tuple[pl.Expr, ...] = ()


_COVERS = (*COVERED, "covers")
_PROMISES = (
    _Promise("families", "false findings in a family, .06 at most", ("false",), 0.0, MOST_FALSE, "false findings"),
    _Promise("families", "coverage of a family, .93 to .97", ("coverage", "coverage_effects"), *_COVERS),
    _Promise("families", f"power of a family, {LEAST_POWER:g} of a rival's at least", ("ahead",), 0.0, 1.0, "power"),
    _Promise("conditions", "false findings on a page, .06 at most", ("page",), 0.0, MOST_FALSE, "false", (~_WITHHELD,)),
    _Promise(
        "conditions", 'the same without "unless", answers withheld, .05 at most', ("page_without_unless",), 0.0,
        MOST_UNEXPLAINED, "false", (_WITHHELD,),
    ),
    _Promise("conditions", "coverage of a page, .93 to .97", ("coverage",), *_COVERS, (~_WITHHELD, _CHANCE)),
    _Promise("detectable", "effects that are said to be found, .75 to .90 are", ("found",), *DETECTED, "finds"),
    _Promise("detectable", "what few people make, called equivalent, .05 at most", ("equivalent",), 0.0, ALPHA, "equi"),
    _Promise("comparisons", "two models alike that differ, .06 at most", ("any",), 0.0, MOST_FALSE, "false"),
    _Promise("comparisons", "coverage of their differences, .93 to .97", ("coverage",), *_COVERS),
)  # fmt: skip


def calibrated(
    names: Sequence[str],
    repetitions: int | Sequence[int],
    workshop: Workshop,
    sizes: Sequence[int] = SIZES,
    *,
    outside: bool = False,
) -> Calibrated:
    """Calibrate studies, by name or file, one after the other.

    Parameters
    ----------
    sizes:
        How many times the pictures of the smallest audit; the hard conditions have those of the middle one.
    repetitions:
        Audits of each condition and size, of all studies or of each; more where nothing is planted
        (`runner.level_audits`).
    outside:
        Whether studies' files may name files that are not below their own folders.
    """
    for study in names:
        studies.protocol(study, outside=outside)
    many = [repetitions] * len(names) if isinstance(repetitions, int) else repetitions
    runners = [Runner(study, sizes, number, workshop) for study, number in zip(names, many, strict=True)]
    summaries = {runner.name: runner.summary() for runner in runners}
    setup = pl.DataFrame(
        [
            {"study": name, "repetitions": number, "nothing_planted": level_audits(number), "effects_seed": TABLE}
            for name, number in zip(summaries, many, strict=True)
        ]
    ).with_columns(made_by=pl.lit(state()))
    frames = {
        "": pl.concat([summary.families for summary in summaries.values()], how="vertical_relaxed"),
        "-conditions": pl.concat([summary.conditions for summary in summaries.values()], how="vertical_relaxed"),
        "-detectable": pl.concat([summary.detectable for summary in summaries.values()], how="vertical_relaxed"),
        "-comparisons": pl.concat([summary.comparisons for summary in summaries.values()], how="vertical_relaxed"),
        "-made": setup,
    }
    return Calibrated([_made(setup), *promises(summaries), *_tables(summaries)], frames)


def _made(setup: pl.DataFrame) -> Table:
    columns = (("study", "study"), ("repetitions", "repetitions"), ("nothing planted", "nothing_planted"))
    return Table.of(
        "How these tables were made", columns, setup.iter_rows(named=True),
        f"Audits of each condition and size, by seeds from 1; effects by seed {TABLE}. FaceValue {state()}.",
    )  # fmt: skip


def promises(summaries: Mapping[str, CalibrationSummary]) -> tuple[Table, Table]:
    """Count the promises that hold, and list those that are broken, with the numbers that break them."""
    return _glance(summaries), _marks(summaries)


def _glance(summaries: Mapping[str, CalibrationSummary]) -> Table:
    rows = [(promise.text, *(_counted(promise, summary) for summary in summaries.values())) for promise in _PROMISES]
    return Table(
        "Promises: how many hold / are open / are broken", ("promise", *summaries), rows,
        "Of families in each size, conditions, stated effects, pairs of models. A promise holds where the 95% "
        "Monte-Carlo interval of the number lies within it, and is broken where it lies beyond: few repetitions leave "
        "most open.", boxed=False,
    )  # fmt: skip


def _counted(promise: _Promise, summary: CalibrationSummary) -> str:
    rows: pl.DataFrame = getattr(summary, promise.table).filter(*promise.only).drop_nulls(promise.columns[0])
    if rows.is_empty():
        return "-"
    within = [
        (pl.col(f"{column}_low") >= promise.low) & (pl.col(f"{column}_high") <= promise.high)
        for column in promise.columns
    ]
    begins = pl.element().str.starts_with(promise.mark)
    is_broken = pl.col("defect").str.split("; ").list.eval(begins).list.any()
    holds = rows.filter(pl.all_horizontal(within).fill_null(value=True) & ~is_broken).height
    broken = rows.filter(is_broken).height
    return f"{holds} / {rows.height - holds - broken} / {broken}"


def _marks(summaries: Mapping[str, CalibrationSummary]) -> Table:
    return Table(
        "Promises that are broken", ("study", "what", "size", "mark", "number", "95% interval"),
        list(_broken(summaries)), "power: of effects found, less .8 of the rival's.", boxed=False,
    )  # fmt: skip


def _broken(summaries: Mapping[str, CalibrationSummary]) -> Iterator[tuple[str, ...]]:
    labels = {"families": "family", "conditions": "condition", "detectable": "stated", "comparisons": "pair"}
    for name, summary in summaries.items():
        for table, column in labels.items():
            marked: pl.DataFrame = getattr(summary, table).filter(pl.col("defect") != "")
            for row in marked.iter_rows(named=True):
                label = f"{row[column]} ({row['measure']})" if table == "families" else str(row[column])
                for mark in row["defect"].split("; "):
                    value, low, high = (row[key] for key in _number(mark, row))
                    yield name, label, str(row["size"]), mark, f"{value:.3f}", f"{low:.3f} to {high:.3f}"


def _number(mark: str, row: dict[str, object]) -> tuple[str, str, str]:
    """Columns of the number that a mark is about."""
    if mark == "power":
        name = "ahead"
    elif mark.startswith("covers"):
        beyond = {"covers too little": ("high", 0.93, -1), "covers too much": ("low", 0.97, 1)}[mark]
        end, limit, sign = beyond
        first = row[f"coverage_{end}"]
        name = "coverage" if first is not None and sign * (float(str(first)) - limit) > 0 else "coverage_effects"
    elif mark == "false findings":
        withheld = "withheld" in str(row.get("condition"))
        name = "false" if "false" in row else "any" if "any" in row else "page_without_unless" if withheld else "page"
    else:
        name = "equivalent" if mark == "equivalent" else "found"
    return name, f"{name}_low", f"{name}_high"


def _tables(summaries: Mapping[str, CalibrationSummary]) -> Iterator[Table]:
    for name, summary in summaries.items():
        yield Table.of(
            f"{name}: families", _FAMILIES, summary.families.iter_rows(named=True),
            "false: families with anything found where nothing is planted; covers: intervals, where nothing and where "
            "effects are planted; found: of the effects, on the page; power: within the family; beside: the same, of "
            "those that the rival tests as well (t over units, Holm).", boxed=False,
        )  # fmt: skip
        yield Table.of(
            f"{name}: conditions", _CONDITIONS, summary.conditions.iter_rows(named=True),
            'page: audits that find anything where nothing is planted; sure: without "unless".', boxed=False,
        )  # fmt: skip
        yield Table.of(
            f"{name}: effects that are said to be found", _DETECTABLE, summary.detectable.iter_rows(named=True),
            "Promised: found in .75 to .90; equivalent in none.", boxed=False,
        )  # fmt: skip
        yield Table.of(
            f"{name}: comparisons", _COMPARED, summary.comparisons.iter_rows(named=True),
            "Two models of the same bias. any: comparisons in which a cell differs; mean: the mean difference has p "
            "below .05; covers: intervals of cells that hold zero.", boxed=False,
        )  # fmt: skip
