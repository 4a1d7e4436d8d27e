"""Tables of calibrations, for people and for files."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from facevalue import studies
from facevalue.calibration.families import PROMISES, Promise, broken_promise
from facevalue.calibration.repetitions import TABLE, Workshop, state
from facevalue.calibration.runner import SIZES, CalibrationSummary, Runner, level_audits
from facevalue.protocol.offers import Calibrated, OfferedTable


class _Sheet(NamedTuple):
    """Layout of a table and a file of numbers from a summary."""

    title: str
    label: str
    """Column that says what a row is about."""
    ending: str
    """Of the name of the file."""
    columns: tuple[tuple[str, str], ...]
    """Headings with columns."""
    caption: str
    none: str = "Nothing."
    """Text where there is no row."""


_SHOWN = {
    "families": _Sheet(
        "families", "family", "", (
            ("size", "size"), ("family", "family"), ("measure", "measure"), ("false", "false"), ("covers", "coverage"),
            ("effects", "coverage_effects"), ("found", "power_page"), ("power", "power"), ("beside", "beside"),
            ("rival", "rival"), ("", "defect"),
        ),
        "false: families with anything found where nothing is planted; covers: intervals, where nothing and where "
        "effects are planted; found: of the effects, on the page; power: within the family; beside: the same, of "
        "those that the rival tests as well (t over units, Holm).",
    ),
    "conditions": _Sheet(
        "conditions", "condition", "-conditions", (
            ("condition", "condition"), ("size", "size"), ("page", "page"), ("sure", "page_without_unless"),
            ("family", "family"), ("p < .05", "p_below"), ("covers", "coverage"), ("", "defect"),
        ),
        'page: audits that find anything where nothing is planted; sure: without "unless".',
    ),
    "detectable": _Sheet(
        "effects that are said to be found", "stated", "-detectable", (
            ("stated", "stated"), ("measure", "measure"), ("effect", "effect"), ("planted", "planted"),
            ("found", "found"), ("equivalent", "equivalent"), ("", "defect"),
        ),
        "Promised: found in .75 to .90; equivalent in none.",
        "Left out: the first tests of the study state no effect in a direction (tallies, ranges), or it has no tests.",
    ),
    "comparisons": _Sheet(
        "comparisons", "pair", "-comparisons", (
            ("two models", "pair"), ("size", "size"), ("any", "any"), ("mean", "mean"), ("p < .05", "p_below"),
            ("covers", "coverage"), ("", "defect"),
        ),
        "Two models of the same bias. any: comparisons in which a cell differs; mean: the mean difference has p "
        "below .05; covers: intervals of cells that hold zero.",
        "Left out: the study takes nothing by which two runs are compared.",
    ),
}  # fmt: skip


def calibrate_studies(
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
        sheet.ending: pl.concat([getattr(summary, table) for summary in summaries.values()], how="vertical_relaxed")
        for table, sheet in _SHOWN.items()
    }
    frames["-made"] = setup
    return Calibrated([_setup_table(setup), *promises(summaries), *_tables(summaries)], frames)


def _setup_table(setup: pl.DataFrame) -> OfferedTable:
    columns = (("study", "study"), ("repetitions", "repetitions"), ("nothing planted", "nothing_planted"))
    return OfferedTable.from_rows(
        "How these tables were made", columns, setup.iter_rows(named=True),
        f"Audits of each condition and size, by seeds from 1; effects by seed {TABLE}. FaceValue {state()}.",
    )  # fmt: skip


def promises(summaries: Mapping[str, CalibrationSummary]) -> tuple[OfferedTable, OfferedTable]:
    """Count the promises that hold, and list those that are broken, with the numbers that break them."""
    return _glance(summaries), _marks(summaries)


def _glance(summaries: Mapping[str, CalibrationSummary]) -> OfferedTable:
    rows = [
        (promise.text, *(_count_promises(promise, summary) for summary in summaries.values())) for promise in PROMISES
    ]
    return OfferedTable(
        "Promises: how many hold / are open / are broken", ("promise", *summaries), rows,
        "Of families in each size, conditions, stated effects, pairs of models. A promise holds where the 95% "
        "Monte-Carlo interval of the number lies within it, and is broken where it lies beyond: few repetitions leave "
        "most open.", boxed=False,
    )  # fmt: skip


def _count_promises(promise: Promise, summary: CalibrationSummary) -> str:
    table: pl.DataFrame = getattr(summary, promise.table).drop_nulls(promise.columns[0])
    rows = [row for row in table.iter_rows(named=True) if promise.about(row)]
    broken = [bool(broken_promise(row, promise)) for row in rows]
    holds = sum(promise.holds(row) and not beyond for row, beyond in zip(rows, broken, strict=True))
    return f"{holds} / {len(rows) - holds - sum(broken)} / {sum(broken)}" if rows else "-"


def _marks(summaries: Mapping[str, CalibrationSummary]) -> OfferedTable:
    return OfferedTable(
        "Promises that are broken", ("study", "what", "size", "mark", "number", "95% interval"),
        list(_broken_promises(summaries)), "power: of effects found, less .8 of the rival's.", boxed=False,
    )  # fmt: skip


def _broken_promises(summaries: Mapping[str, CalibrationSummary]) -> Iterator[tuple[str, ...]]:
    for name, summary in summaries.items():
        for table, sheet in _SHOWN.items():
            promises_of_table = [promise for promise in PROMISES if promise.table == table]
            for row in getattr(summary, table).filter(pl.col("defect") != "").iter_rows(named=True):
                label = f"{row['family']} ({row['measure']})" if table == "families" else str(row[sheet.label])
                for promise in promises_of_table:
                    if column := broken_promise(row, promise):
                        value, low, high = (row[column + end] for end in ("", "_low", "_high"))
                        interval = f"{low:.3f} to {high:.3f}"
                        yield name, label, str(row["size"]), promise.broken_end(row)[0], f"{value:.3f}", interval


def _tables(summaries: Mapping[str, CalibrationSummary]) -> Iterator[OfferedTable]:
    for name, summary in summaries.items():
        for table, sheet in _SHOWN.items():
            frame: pl.DataFrame = getattr(summary, table)
            caption = sheet.caption if frame.height else sheet.none
            rows = frame.iter_rows(named=True)
            yield OfferedTable.from_rows(f"{name}: {sheet.title}", sheet.columns, rows, caption, boxed=False)
