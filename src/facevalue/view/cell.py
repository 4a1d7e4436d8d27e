"""An estimate's own page: its definition, its arithmetic in steps, and what each unit that was sampled adds to it.

The file has a row for each estimate that follows from sums: its value, what makes it of the totals, and lists of its
units, their sums and counts, and what the estimate would move by without each.
"""

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import DataError
from facevalue.measures.caveats import add_caveat
from facevalue.measures.cells import UNIT_KEYS
from facevalue.measures.cluster_bootstrap import values_only
from facevalue.measures.definitions import sampled_units, unit_name
from facevalue.measures.uncertainty import TermRecord, terms_kept
from facevalue.parquet import parquet_bytes, read_metadata, scan_tables
from facevalue.protocol.lookup import Estimate
from facevalue.report import formatting
from facevalue.report.blocks.view import View
from facevalue.report.formatting import DASH, number
from facevalue.report.sections.headline import MEANINGS, verdict_of
from facevalue.runs.comparisons.answer_flips import prompt_columns
from facevalue.runs.joined_runs import Followed
from facevalue.runs.kept_estimates import digest_of_run
from facevalue.runs.stored_run import ReplyTally, StoredRun
from facevalue.seals import digest_of
from facevalue.store.files import write_whole
from facevalue.store.remote import cached_folder, make_private
from facevalue.view.answer_index import index_of
from facevalue.view.estimates import ViewedEstimate, key_of, rows_of
from facevalue.view.open_runs import NotYetError, RunState, run_apart
from facevalue.view.pictures import PictureRef, list_pictures
from facevalue.view.query import Query

_NUMBERS = pl.List(pl.Float64)
_COLUMNS: Mapping[str, pl.DataType | type[pl.DataType]] = {
    "key": pl.String,
    "value": pl.Float64, "factor": pl.Float64, "less": pl.Float64, "unsigned": pl.Boolean,
    "total_sum": pl.Float64, "total_count": pl.Float64, "plural": pl.String,
    "unit": pl.List(pl.String), "sum": _NUMBERS, "count": _NUMBERS, "added": _NUMBERS,
}  # fmt: skip
_TOGETHER = 64
"""Estimates that are read together."""
_FULL = "facevalue.full"
_OLD = 24 * 3600.0
"""Seconds after which a file that is no longer written to was left behind."""
GONE = "The run has grown, and its sums were added up anew: look again in some seconds."


@dataclass(frozen=True)
class EstimateSums:
    """Sums that make up an estimate, of all its units and of each.

    Attributes
    ----------
    value:
        The estimate, from the totals: their ratio times `factor`, less `less`, perhaps without its sign.
    total:
        Totals of sums and counts; None where the estimate takes several columns of them.
    plural:
        What its units are, where that is not what the measure says was sampled.
    units:
        Units with answers behind it; by numbers where they are not named.
    are_named:
        Whether they are.
    added:
        What it would move by without each of them; NaN where nothing would be left.
    sums, counts:
        Sums and counts of each; empty where it takes several columns.
    """

    value: float
    factor: float
    less: float
    unsigned: bool
    total: tuple[float, float] | None
    plural: str
    units: tuple[str, ...]
    are_named: bool
    added: npt.NDArray[np.float64]
    sums: npt.NDArray[np.float64]
    counts: npt.NDArray[np.float64]


@dataclass(frozen=True)
class RunSums:
    """Sums behind the estimates of a run.

    Attributes
    ----------
    path:
        Their file.
    is_full:
        Whether there was no room for those of some estimates.
    """

    path: Path
    is_full: bool

    def sums_of_estimate(self, key: str) -> EstimateSums | None:
        """Sums behind an estimate, by its key; None where it has none.

        Raises
        ------
        DataError
            Their file was replaced by that of the run as it is now.
        """
        try:
            rows = scan_tables([self.path], pl.Schema(_COLUMNS)).filter(key=key).collect()
        except (OSError, pl.exceptions.PolarsError) as error:
            raise DataError(GONE) from error
        if not rows.height:
            return None
        row = rows.row(0, named=True)
        total = None if row["total_count"] is None else (row["total_sum"], row["total_count"])
        added, sums, counts = (np.array(row[name], dtype=np.float64) for name in ("added", "sum", "count"))
        are_named = row["unit"] is not None
        units = tuple(row["unit"] if are_named else (f"unit {number + 1}" for number in range(added.size)))
        return EstimateSums(
            row["value"],
            row["factor"],
            row["less"],
            row["unsigned"],
            total,
            row["plural"],
            units,
            are_named,
            added,
            sums,
            counts,
        )


def sums_of(run: StoredRun) -> RunSums:
    """Sums behind the estimates of a run, which are added up apart unless they are kept."""
    of = digest_of_run(run) or secrets.token_hex(16)  # what may change unseen is added up anew for each viewer
    folder = cached_folder("sums", run.place, run.place)
    path = next((path for path in folder.glob(f"{of}-*.parquet") if _is_whole(path)), None)
    path = run_apart(partial(added_up, folder=folder, of=of), run) if path is None else path
    return RunSums(path, _FULL in read_metadata(path))


def added_up(run: StoredRun, folder: Path, of: str) -> Path:
    """Add up the sums of a run, and keep them in place of those of another digest; returns where."""
    with values_only(), terms_kept() as record:
        seen = Followed.from_runs([run])
        run.study.analyse({run.model: seen.passing(run, ReplyTally())})
        seen.missing.estimates(run.study.name, run.model)
    rows = pl.DataFrame(list(_rows(record)), pl.Schema(_COLUMNS), orient="row").sort("key")
    data = parquet_bytes(rows, {_FULL: "1"} if record.is_full else None, together=_TOGETHER)
    path = folder / f"{of}-{digest_of(data)}.parquet"
    make_private(folder)
    write_whole(path, data)
    for other in folder.iterdir():
        if other != path and (other.suffix == path.suffix or other.stat().st_mtime < time.time() - _OLD):
            other.unlink(missing_ok=True)
    return path


def _rows(record: TermRecord) -> Iterator[tuple[object, ...]]:
    names: dict[int, pl.Series] = {}
    for (measure, intervention, labels), term in record.terms.items():
        value = term.value()
        if not np.isfinite(value):
            continue
        if term.of.names and id(term.of) not in names:
            names[id(term.of)] = pl.Series(list(map(str, term.of.names)), dtype=pl.String)
        used = np.flatnonzero(term.answered_units())
        units = names[id(term.of)][used] if term.of.names else None
        columns = term.sums()
        total = [None, None] if columns is None else [float(totals[term.column]) for totals in term.of.total]
        lists = (
            [pl.Series(dtype=pl.Float64)] * 2 if columns is None else [pl.Series(column[used]) for column in columns]
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            added = pl.Series(value - term.without_each()[used])
        key = key_of(measure, intervention, dict(labels))
        yield key, value, term.factor, term.less, term.unsigned, *total, term.of.plural, units, *lists, added


def _is_whole(path: Path) -> bool:
    """Return whether a file of the cache is as it was written."""
    try:
        return digest_of(path.read_bytes()) == path.stem.rpartition("-")[2]
    except OSError:
        return False


# Arithmetic of an estimate, in the sums that its estimator added up: steps to its value, and what each unit adds.


CLOSE = 1e-9
"""How far what the sums give may lie from the estimate, of the larger of it and 1."""
_LINES = 12
"""Units in the table of sums; all that move the estimate most are in the list beside."""
_WHOLE = 1e15
"""Numbers above are written by their power of ten."""
NOT_SUMS = (
    "The contribution of each unit is not available for this statistic. Its equation is above, and every answer behind "
    "it is in the list of answers."
)
TOO_MANY = "The run has more sums than are kept to show."
FAILED = "The sums behind the estimates could not be computed"
WAITING = "Computing the sums."


@dataclass(frozen=True)
class Arithmetic:
    """Sums behind an estimate that give its value.

    Attributes
    ----------
    of:
        The sums.
    means:
        Mean of each unit alone; NaN where the estimate is no mean over units.
    """

    of: EstimateSums
    means: npt.NDArray[np.float64]

    @classmethod
    def check_sums(cls, of: EstimateSums, e: Estimate) -> "Arithmetic | None":
        """The arithmetic of an estimate; None where the sums do not give its value, as after a further step."""
        if e.value is None or not abs(of.value - e.value) <= CLOSE * max(1.0, abs(e.value)):
            return None
        means = of.sums / of.counts * of.factor - of.less if of.total else np.full(len(of.units), np.nan)
        return cls(of, means)

    def rank_units(self) -> npt.NDArray[np.int64]:
        """Units in the order of what they add; those without which nothing is left come first."""
        size = np.where(np.isfinite(self.of.added), np.abs(self.of.added), np.inf)
        return np.lexsort((np.arange(size.size), -size))


def sums_of_run(state: RunState) -> RunSums:
    """Sums behind a run's estimates, which the first call begins to add up.

    Raises
    ------
    NotYetError
        They are being added up.
    DataError
        They cannot be added up.
    """
    return state.make_in_background("sums", lambda: sums_of(state.run), FAILED, WAITING)


def total_lines(arithmetic: Arithmetic, e: Estimate, *, signed: bool) -> tuple[str, list[tuple[str, ...]]]:
    """The totals in words, and a row for each of the first units: sum, count, mean."""
    of = arithmetic.of
    total_sum, total_count = of.total or (np.nan, np.nan)
    steps = [f"{six_digits(total_sum)} / {six_digits(total_count)} = {six_digits(total_sum / total_count)}"]
    if of.factor != 1.0:
        steps.append(f"times {six_digits(of.factor)}")
    if of.less:
        steps.append(f"less {six_digits(of.less)}")
    if of.unsigned:
        steps.append("without its sign")
    value = f": {six_digits(of.value)}" if len(steps) > 1 else ""
    text = f"{', '.join(steps)}{value}, which is {number(e.value, e.written_unit, signed=signed)}."
    rows: list[tuple[str, ...]] = [
        (
            of.units[at],
            *map(six_digits, (of.sums[at], of.counts[at], arithmetic.means[at])),
            _moves(float(of.added[at])),
        )
        for at in arithmetic.rank_units()[:_LINES]
    ]
    return text, rows


def six_digits(value: float) -> str:
    """A number of a step, to six digits; whole ones are whole, however large.

    Examples
    --------
    >>> six_digits(-2.41666666667), six_digits(1_250_000.0), six_digits(-0.0)
    ('-2.41667', '1,250,000', '0')
    """
    is_whole = np.isfinite(value) and value == round(value) and abs(value) < _WHOLE
    return f"{value + 0.0:,.0f}" if is_whole else f"{value:.6g}"


def _moves(added: float) -> str:
    return f"{added:+.6g}" if np.isfinite(added) else "all of it"


def unit_columns(run: StoredRun, names: Sequence[str]) -> tuple[str, ...]:
    """Factor of trials whose levels these units are, or those of both sides of a pair; empty for none."""
    if not names:
        return ()
    first = run.study.design.trials([0])
    levels = {name: set(dtype.categories) for name, dtype in first.schema.items() if isinstance(dtype, pl.Enum)}
    candidates = dict.fromkeys(["identity", "set", *(name for of in UNIT_KEYS.values() for name in of), *levels])
    sides = [(name, f"{name[:-1]}2") for name in levels if name.endswith("_1")]
    for columns in (*((name,) for name in candidates if not name.endswith(("_1", "_2"))), *sides):
        if set(names) <= set().union(*(levels.get(name, ()) for name in columns)):
            return columns
    return ()


# Trials of units that were sampled, at the labels of an estimate, and their pictures.


_TRIALS = 4
"""Trials of a unit, without those beside them."""
_UNITS = 10
"""Units of which all trials are looked through together."""


def trials_of_units(
    state: RunState, columns: Sequence[str], units: Sequence[str], row: ViewedEstimate
) -> dict[str, list[int]]:
    """Trials of each unit at the levels of an estimate's labels; any where a unit has none there.

    `columns`: the factor whose levels are units, or those of both sides of a pair, on either of which someone may be.

    Where a label says what is shown, each is followed by the trial of the same unit that was asked the same about
    something else: the picture without the change first, where there is one.
    """
    index, study = index_of(state), state.run.study
    levels = {name: label.level for name, label in row.labels.items() if name in study.design.columns}
    prompt_factors = [name for name in prompt_columns(study) if name not in columns]
    needed = list(dict.fromkeys([*columns, *levels, *prompt_factors]))
    cues = [name for name in levels if name not in (*prompt_factors, *columns)]
    out: dict[str, list[int]] = {}
    for start in range(0, len(units), _UNITS):
        sides = (
            study.design.trials(index.trials_at(column, units[start : start + _UNITS]), needed).with_columns(
                unit=pl.col(column).cast(pl.String)
            )
            for column in columns
        )
        out |= _of_units(pl.concat(sides), levels, prompt_factors, cues)
    return out


def _of_units(
    factors: pl.DataFrame, levels: Mapping[str, str], prompt_factors: Sequence[str], cues: Sequence[str]
) -> dict[str, list[int]]:
    """The same, of all trials of some units with their factors; `cues`: labels that say what is shown."""
    at_levels = [pl.col(name).cast(pl.String) == level for name, level in levels.items()]
    frame = factors.with_columns(is_at=pl.all_horizontal(True, *at_levels).fill_null(value=False))
    if not frame["is_at"].all():
        frame = frame.with_columns(is_at=pl.col("is_at") | ~pl.col("is_at").any().over("unit"))
    first_trials = frame.filter("is_at").group_by("unit", maintain_order=True).head(_TRIALS)
    neighbours = (
        _match_trials(first_trials, frame.filter(~pl.col("is_at")), ["unit", *prompt_factors], cues) if cues else {}
    )
    out: dict[str, list[int]] = {}
    for unit, trial in first_trials.select("unit", "trial").iter_rows():
        numbers = out.setdefault(unit, [])
        numbers += [number for number in (trial, neighbours.get(trial)) if number is not None and number not in numbers]
    return out


def _match_trials(
    first: pl.DataFrame, others: pl.DataFrame, same: Sequence[str], cues: Sequence[str]
) -> dict[int, int]:
    """To each trial another one with the same levels but for cues, of which as many as can be are missing."""
    missing = pl.sum_horizontal(pl.col(name).is_null() for name in cues)
    candidates = others.with_columns(missing.alias("missing")).sort("missing", descending=True, maintain_order=True)
    nearest = candidates.unique(same, keep="first", maintain_order=True).select(*same, beside="trial")
    pairs = first.join(nearest, on=list(same), how="inner", nulls_equal=True, maintain_order="left")
    return dict(pairs.select("trial", "beside").iter_rows())


def pictures_of_trials(state: RunState, trials: Sequence[int]) -> dict[int, tuple[PictureRef, ...]]:
    """Pictures of trials, those of one stimulus once."""
    if not trials:
        return {}
    design = state.run.study.design
    numbers = np.array(trials, dtype=np.int64)
    _, places = np.unique(design.stimulus_numbers(numbers), return_index=True)
    distinct = numbers[np.sort(places)]
    return dict(zip(distinct.tolist(), list_pictures(state, design.trials(distinct)), strict=True))


QUERY = ("run", "key")
_CLUSTERS = 100
"""Units that are listed."""


@dataclass(frozen=True, slots=True)
class StepTable:
    """Numbers of a step, as texts."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A step on the way to an estimate."""

    title: str
    text: str
    table: StepTable | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """Definition of a measure."""

    title: str
    equation: str
    source: str


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """A unit that was sampled: its own mean, and what the estimate would move by without it."""

    cluster: str
    title: str
    value: float | None
    added: float | None
    n: float | None
    text: str
    """What it adds, as the report writes numbers of the measure."""
    trials: tuple[int, ...]
    pictures: tuple[PictureRef, ...]


@dataclass(frozen=True, slots=True)
class CellClusters:
    """Units behind an estimate, those that move it most first; `pending`: they are being added up."""

    title: str
    total: int
    pending: bool
    note: str
    rows: tuple[ClusterRow, ...]


@dataclass(frozen=True, slots=True)
class CellPage:
    """An estimate with everything behind it."""

    row: ViewedEstimate
    definition: Definition
    steps: tuple[Step, ...]
    cluster: CellClusters
    behind: str
    """Query of the answers at the levels of its labels, as far as these are factors."""


def cell(state: RunState, query: Query) -> CellPage:
    """The page of an estimate."""
    return cell_of(state, query.text("key"))


def cell_of(state: RunState, key: str) -> CellPage:
    """The page of an estimate, by its key."""
    rows = rows_of(state)
    e, row = rows.row_of(key)
    view = rows.view
    run_sums, arithmetic, waiting, failure = None, None, "", ""
    try:
        run_sums = sums_of_run(state)
        if (of := run_sums.sums_of_estimate(key)) is not None:
            arithmetic = Arithmetic.check_sums(of, e)
    except NotYetError as error:
        waiting = str(error)
    except DataError as error:
        failure = str(error)
    steps = _steps(view, e)
    if arithmetic is not None:
        steps = [*_sums(view, e, arithmetic), *steps]
    elif failure:
        steps = [Step("Sums", failure), *steps]
    elif run_sums is not None and e.value is not None:
        steps = [Step("Sums", TOO_MANY if run_sums.is_full else NOT_SUMS), *steps]
    return CellPage(
        row,
        _definition(view, e),
        tuple(steps),
        _clusters(state, view, e, row, arithmetic, waiting),
        _behind(state, row),
    )


def _sums(view: View, e: Estimate, arithmetic: Arithmetic) -> Sequence[Step]:
    """Steps from the sums of units to the value."""
    signed = view.is_signed(e)
    of = arithmetic.of
    plural = of.plural or _unit_name(view, e)
    units = f"{len(of.units):,} {plural}"
    if of.total is None:
        text = f"From the sums of {units}: {six_digits(of.value)}, which is {view.value(e)}."
        return [Step("Value", text)]
    text, rows = total_lines(arithmetic, e, signed=signed)
    heads = (plural, "sum", "count", "mean", "moves it by")
    first = f"The first {len(rows)} of {units}, by what they add." if len(rows) < len(of.units) else units
    return [Step("Sums of each", first, StepTable(heads, tuple(rows))), Step("All together", text)]


def _unit_name(view: View, e: Estimate) -> str:
    measure = view.definition(e)
    return view.unit_name if measure is None else sampled_units(measure.cluster)


def _clusters(
    state: RunState, view: View, e: Estimate, row: ViewedEstimate, arithmetic: Arithmetic | None, waiting: str
) -> CellClusters:
    """Units behind an estimate, those that move it most first, each with some of its trials."""
    name = _unit_name(view, e)
    if arithmetic is None:
        return CellClusters(name, e.clusters or 0, bool(waiting), waiting, ())
    of, order = arithmetic.of, arithmetic.rank_units()[:_CLUSTERS]
    columns = unit_columns(state.run, of.units if of.are_named else ())
    trials = trials_of_units(state, columns, [of.units[at] for at in order], row) if columns else {}
    pictures = pictures_of_trials(state, [number for numbers in trials.values() for number in numbers])
    signed = view.is_signed(e)
    out = []
    for at in order:
        unit, added = of.units[at], _finite(of.added[at])
        numbers = tuple(trials.get(unit, ()))
        text = "all of it" if added is None else formatting.number(added, _distance_unit(e), signed=True)
        out.append(
            ClusterRow(
                unit, state.titles.get(columns[0], unit) if columns else unit, _finite(arithmetic.means[at]), added,
                float(of.counts[at]) if of.total else None, text, numbers,
                tuple(picture for number in numbers for picture in pictures.get(number, ())),
            )
        )  # fmt: skip
    name = of.plural or name
    note = f"What the estimate{'' if signed else ', which has no sign,'} would move by without each."
    return CellClusters(name, len(of.units), False, note, tuple(out))


def _distance_unit(e: Estimate) -> str:
    """Unit in which people read how far an estimate moves."""
    return unit_name(e.unit, apart=True)


def _finite(value: float) -> float | None:
    return float(value) if isfinite(value) else None


def _definition(view: View, e: Estimate) -> Definition:
    measure = view.definition(e)
    if measure is None:
        return Definition(e.measure, "", e.source or "")
    return Definition(measure.title, measure.equation, measure.source)


def _steps(view: View, e: Estimate) -> Sequence[Step]:
    """Steps shown beside an estimate's value, in the report's words."""
    interval = view.interval(e)
    method = f": {e.method_words}" if e.method_words and e.method_words not in interval else ""
    steps = [Step("Interval", f"{view.value(e)} {interval}{method}")]
    size = view.numbers.size(e)
    if (floor := view.floor(size)) != DASH:
        steps.append(Step("What chance alone gives", floor))
    if e.has_bounds:
        steps.append(Step("Had all missing answers gone one way", formatting.worst_case(e, signed=view.is_signed(e))))
    if at_page := formatting.page_interval(e, signed=view.is_signed(e)):
        family = f", of the family “{e.family}”" if e.family else ""
        steps.append(Step("Among all comparisons of the page", f"{at_page}{family}"))
    verdict = verdict_of(e.verdict)
    if verdict is not None:
        reason = f" {e.why}" if e.why and not MEANINGS[verdict].startswith(e.why) else ""
        steps.append(Step("Verdict", f"{add_caveat(verdict.value, e.caveat)}.{reason} {MEANINGS[verdict]}"))
    return steps


def _behind(state: RunState, row: ViewedEstimate) -> str:
    columns = state.run.study.design.columns
    levels = {f"F.{name}": label.level for name, label in row.labels.items() if name in columns}
    return urlencode({"run": state.number, **levels})
