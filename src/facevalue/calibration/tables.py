"""Tables of calibrations, for people and for files."""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from facevalue.calibration.families import LEAST_POWER
from facevalue.calibration.repetitions import TABLE, Workshop, state
from facevalue.calibration.runner import SIZES, Runner, Summary, level_audits
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
_PROMISES = (
    ("families", "false findings in .06 of families at most", "false", "false findings"),
    ("families", "intervals cover .93 to .97", "coverage", "covers"),
    ("families", f"power of {LEAST_POWER:g} of a rival's at least", "rival", "power"),
    ("conditions", "false findings on .06 of pages at most, .05 where answers are withheld", "page", "false findings"),
    ("conditions", "intervals of a page cover .93 to .97", "coverage", "covers"),
    ("detectable", "an effect that is said to be found is, in .75 to .90", "found", "finds"),
    ("detectable", "what few people make is not called equivalent", "equivalent", "equivalent"),
    ("comparisons", "two alike differ in .06 at most", "any", "false findings"),
    ("comparisons", "intervals of their differences cover .93 to .97", "coverage", "covers"),
)
"""Table, promise, column of numbers that it is about, and how its mark begins."""


def calibrated(
    named: Sequence[str], repetitions: int | Sequence[int], workshop: Workshop, sizes: Sequence[int] = SIZES
) -> Calibrated:
    """Calibrate studies, by name or file, one after the other.

    Parameters
    ----------
    sizes:
        How many times the pictures of the smallest audit; the hard conditions have those of the middle one.
    repetitions:
        Audits of each condition and size, of all studies or of each; more where nothing is planted
        (`runner.level_audits`).
    """
    many = [repetitions] * len(named) if isinstance(repetitions, int) else repetitions
    runners = [Runner(study, sizes, number, workshop) for study, number in zip(named, many, strict=True)]
    summaries = {one.name: one.summary() for one in runners}
    made = pl.DataFrame(
        [
            {"study": name, "repetitions": number, "nothing_planted": level_audits(number), "effects_seed": TABLE}
            for name, number in zip(summaries, many, strict=True)
        ]
    ).with_columns(made_by=pl.lit(state()))
    frames = {
        "": pl.concat([one.families for one in summaries.values()], how="vertical_relaxed"),
        "-conditions": pl.concat([one.conditions for one in summaries.values()], how="vertical_relaxed"),
        "-detectable": pl.concat([one.detectable for one in summaries.values()], how="vertical_relaxed"),
        "-comparisons": pl.concat([one.comparisons for one in summaries.values()], how="vertical_relaxed"),
        "-made": made,
    }
    return Calibrated([_made(made), *promises(summaries), *_tables(summaries)], frames)


def _made(made: pl.DataFrame) -> Table:
    columns = (("study", "study"), ("repetitions", "repetitions"), ("nothing planted", "nothing_planted"))
    return Table.of(
        "How these tables were made", columns, made.iter_rows(named=True),
        f"Audits of each condition and size, by seeds from 1; effects by seed {TABLE}. FaceValue {state()}.",
    )  # fmt: skip


def promises(summaries: Mapping[str, Summary]) -> tuple[Table, Table]:
    """How many promises hold, and those that are broken, with the numbers that break them."""
    return _glance(summaries), _marks(summaries)


def _glance(summaries: Mapping[str, Summary]) -> Table:
    rows = []
    for table, promise, column, mark in _PROMISES:
        row = [promise]
        for summary in summaries.values():
            numbers: pl.DataFrame = getattr(summary, table).drop_nulls(column)
            broken = numbers.filter(_marked(mark)).height
            total = f"{numbers.height - broken} of {numbers.height}" if broken else f"all {numbers.height}"
            row.append(total if numbers.height else "-")
        rows.append(tuple(row))
    return Table(
        "Promises that hold", ("promise", *summaries), rows,
        "Of families in each size, conditions, stated effects, pairs of models. A promise is broken where the 95% "
        "Monte-Carlo interval of the number excludes it; few repetitions exclude little.", boxed=False,
    )  # fmt: skip


def _marked(mark: str) -> pl.Expr:
    return pl.col("defect").str.split("; ").list.eval(pl.element().str.starts_with(mark)).list.any()


def _marks(summaries: Mapping[str, Summary]) -> Table:
    return Table(
        "Promises that are broken", ("study", "what", "size", "mark", "number", "95% interval"),
        list(_broken(summaries)), "power: of effects found, less .8 of the rival's.", boxed=False,
    )  # fmt: skip


def _broken(summaries: Mapping[str, Summary]) -> Iterator[tuple[str, ...]]:
    labels = {"families": "family", "conditions": "condition", "detectable": "stated", "comparisons": "pair"}
    for name, summary in summaries.items():
        for table, label in labels.items():
            marked: pl.DataFrame = getattr(summary, table).filter(pl.col("defect") != "")
            for row in marked.iter_rows(named=True):
                what = f"{row[label]} ({row['measure']})" if table == "families" else str(row[label])
                for mark in row["defect"].split("; "):
                    value, low, high = (row[key] for key in _number(mark, row))
                    yield name, what, str(row["size"]), mark, f"{value:.3f}", f"{low:.3f} to {high:.3f}"


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


def _tables(summaries: Mapping[str, Summary]) -> Iterator[Table]:
    for name, one in summaries.items():
        yield Table.of(
            f"{name}: families", _FAMILIES, one.families.iter_rows(named=True),
            "false: families with anything found where nothing is planted; covers: intervals, where nothing and where "
            "effects are planted; found: of the effects, on the page; power: within the family; beside: the same, of "
            "those that the rival tests as well (t over units, Holm).", boxed=False,
        )  # fmt: skip
        yield Table.of(
            f"{name}: conditions", _CONDITIONS, one.conditions.iter_rows(named=True),
            'page: audits that find anything where nothing is planted; sure: without "unless".', boxed=False,
        )  # fmt: skip
        yield Table.of(
            f"{name}: effects that are said to be found", _DETECTABLE, one.detectable.iter_rows(named=True),
            "Promised: found in .75 to .90; equivalent in none.", boxed=False,
        )  # fmt: skip
        yield Table.of(
            f"{name}: comparisons", _COMPARED, one.comparisons.iter_rows(named=True),
            "Two models of the same bias. any: comparisons in which a cell differs; mean: the mean difference has p "
            "below .05; covers: intervals of cells that hold zero.", boxed=False,
        )  # fmt: skip
