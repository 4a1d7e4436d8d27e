"""Gate: runs checked against limits, all cells of all limits at one level."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from itertools import product

import numpy as np
import polars as pl

from facevalue.errors import DataError, NoRepliesError, RunError
from facevalue.limits.limits_file import DeclaredLimit, findings_decided, select_estimates, why_untested
from facevalue.limits.wording import conclusion, reasons, summary
from facevalue.measures.caveats import caveat_column
from facevalue.measures.cluster_bootstrap import LEVEL
from facevalue.measures.definitions import Measure, change_of, value_by_measure
from facevalue.measures.estimates import label_columns
from facevalue.measures.instrument import UNSEEN_PICTURES, sightless
from facevalue.measures.intervals import NOT_MEASURABLE, IntervalKind
from facevalue.measures.paired_changes import degrees_of_freedom
from facevalue.measures.pairs import to_array
from facevalue.measures.verdicts import OUTCOME_ORDER, LimitOutcome, MeasuredCells, Verdict, decide_limits
from facevalue.printable import html_table
from facevalue.runs.audits.folder import WaitingRun
from facevalue.runs.kept_estimates import take_estimates
from facevalue.runs.reply_counts import counts_by_model
from facevalue.runs.stored_run import ReplyTally, StoredRun

NUMBERS = ("value", "low", "high", "se", "n", "clusters", "floor", "bound_low", "bound_high", "q_page", "mde")
_TEXTS = ("method", "detail", "verdict", "why")
_OWN = ("limit", "run", "study", "model", "measure")
_OF_PAGE = ("family", "page_low", "page_high")
_FACTS = {"unit": "unit", "apart": "is_distance", "cluster": "cluster", "signed": "signed", "squared": "squared"}
"""Columns with facts of a measure, and the attributes that these are."""
_INCOMPLETE, _UNREAD = "is_incomplete", "is_unread"
_OF_VALUES = ("lowest", "highest", "df")
"""Columns by which values are decided."""
_DECIDED = (
    "gate_low", "gate_high", "at_least", "at_most", "units", "by_missing", "outcome", "caveat", _INCOMPLETE, _UNREAD,
)  # fmt: skip
NO_LABELS = {*_OWN, *NUMBERS, *_TEXTS, *_OF_PAGE, *_FACTS, *_DECIDED}
"""Columns of the cells of a gate that are no labels."""


@dataclass(frozen=True)
class LimitResult:
    """A limit, and what the cells that it is about amount to."""

    limit: DeclaredLimit
    cells: pl.DataFrame

    @property
    def outcome(self) -> LimitOutcome:
        """The worst of its cells."""
        return worst(self.cells["outcome"])

    @cached_property
    def labels(self) -> list[str]:
        """Columns of the cells that say what they are of."""
        cells = self.cells
        return [name for name in cells.columns if name not in NO_LABELS and cells[name].null_count() < cells.height]

    @property
    def open_cells(self) -> pl.DataFrame:
        """Cells that are not within, the worst first; of equal outcome those farthest from nothing."""
        place = pl.col("outcome").replace_strict(
            {str(kind): at for at, kind in enumerate(OUTCOME_ORDER)}, return_dtype=pl.Int8
        )
        cells = self.cells.filter(pl.col("outcome") != str(LimitOutcome.WITHIN))
        return cells.sort(place, pl.col("value").abs(), descending=[False, True], nulls_last=True, maintain_order=True)

    def count(self, outcome: LimitOutcome) -> int:
        """Number of its cells with this outcome."""
        return self.cells.filter(outcome=str(outcome)).height

    @property
    def units_needed(self) -> float | None:
        """Units that would probably tell for all cells that are open for want of them; None where none is."""
        return self.cells["units"].drop_nulls().max()  # type: ignore[return-value]


@dataclass(frozen=True)
class Gate:
    """Runs checked against limits. Made by `gate`."""

    limits: tuple[DeclaredLimit, ...]
    runs: tuple[str, ...]
    baselines: tuple[str, ...]
    cells: pl.DataFrame
    """A row per limit and estimate: `limit` (its number, from 0), `run`, `study`, `model`, `measure`, labels, `value`
    with `low` and `high` at 95%, `gate_low` and `gate_high` at the level of the gate, `at_least` and `at_most`,
    `outcome` and `why`, `caveat` (what else could explain a finding), and `units`, how many would probably tell where
    there is not enough data."""
    level: float
    """Level of the intervals by which something is beyond: 1 - .05 / the number of cells."""
    notes: tuple[str, ...] = ()
    """Notes on what else must be known, for people."""

    @property
    def outcome(self) -> LimitOutcome:
        """The worst of all limits: beyond, not measurable, not enough data, within."""
        return worst(self.cells["outcome"])

    @property
    def within(self) -> bool:
        """True if every limit is kept: all estimates that limits are about were measured, and lie within."""
        return self.outcome == LimitOutcome.WITHIN

    @cached_property
    def results(self) -> tuple[LimitResult, ...]:
        """Each limit with its cells."""
        return tuple(LimitResult(limit, self.cells.filter(limit=number)) for number, limit in enumerate(self.limits))

    def __repr__(self) -> str:
        return f"Gate({str(self.outcome)!r}, limits={len(self.limits)}, estimates={self.cells.height})"

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(summary(self))}</b></p>" + html_table(
            {result.limit.name: f"{result.outcome}: {conclusion(result)}" for result in self.results}
        )


def worst(outcomes_of: pl.Series) -> LimitOutcome:
    """The worst of some outcomes.

    Examples
    --------
    >>> str(worst(pl.Series(["within", "not enough data"])))
    'not enough data'
    """
    return min(map(LimitOutcome, outcomes_of.unique().to_list()), key=OUTCOME_ORDER.index)


def gate(
    runs: Sequence[StoredRun], limits: Sequence[DeclaredLimit], baselines: Sequence[StoredRun] = (),
    waiting: Sequence[WaitingRun] = (), *, allow_incomplete: bool = False,
) -> Gate:  # fmt: skip
    """Check runs against limits.

    Parameters
    ----------
    runs:
        Each is estimated by itself; estimates that its folder keeps are read.
    baselines:
        What changes are taken against: a run of each study of which there is a limit of change.
    waiting:
        Runs of audits of which nothing was asked yet: not measurable where a limit may be about them.
    allow_incomplete:
        Whether runs that have not ended, or not begun, may pass each limit, not only those that say so themselves.

    Raises
    ------
    DataError
        An unknown study, measure, label or level; a limit that is about nothing, or that nothing can lie beyond.
    RunError
        A run that cannot be read, or a baseline that does not go with it.

    Notes
    -----
    All values and changes are decided at .05 together (`measures.verdicts`), and findings on the page that they
    are found on, at .05. Where there are several of these tests, as of several runs, they share .05 evenly.
    """
    if not limits:
        raise DataError("There is no limit to hold anything against.")
    if allow_incomplete:
        limits = [replace(limit, allows_incomplete=True) for limit in limits]
    _check_studies(runs, limits, waiting)
    without_reply: list[WaitingRun] = []
    tables: list[pl.DataFrame] = []
    notes: list[str] = []
    unmatched: dict[tuple[int, str, str], DataError | pl.DataFrame] = {}
    for run in runs:
        of_run = {number: limit for number, limit in enumerate(limits) if _is_about(limit, run)}
        notes += _of_run(run, len(of_run))
        try:
            own_estimates = take_estimates([run])
        except NoRepliesError:
            without_reply.append(WaitingRun(run.place, run.study.name, run.model))
            continue
        measured = _Measured.from_run(run, own_estimates, list(of_run.values()), baselines)
        notes += measured.notes
        for number, limit in of_run.items():
            key = number, run.study.name, run.model
            try:
                cells = measured.cells(number, limit)
            except DataError as error:  # runs of one model may ask different parts of a study
                unmatched.setdefault(key, error)
                continue
            if cells.height:
                tables.append(cells)
            else:
                unmatched.setdefault(key, measured.untested_cell(number))
    matched = {row for table in tables for row in table.select("limit", "study", "model").unique().iter_rows()}
    for key, reason in unmatched.items():
        if key in matched:
            continue
        if isinstance(reason, DataError):
            raise reason
        tables.append(reason)
    nothing_measured = not tables  # what is allowed to be missing is not all there is
    for run_not_asked, (number, limit) in product([*waiting, *without_reply], enumerate(limits)):
        if (nothing_measured or not limit.allows_incomplete) and limit.study in ("", run_not_asked.study):
            why = f"{run_not_asked.study} has no reply yet."
            tables.append(_without_estimates(number, run_not_asked, why))
    notes += [f"{run.place} is not asked yet: give the command of its audit again." for run in waiting]
    runs_held = (*(run.place for run in runs), *(run.place for run in waiting))
    return _decide_gate(pl.concat(tables, how="diagonal_relaxed"), limits, runs_held, baselines, notes)


@dataclass(frozen=True)
class _Measured:
    """Estimates of a run that its limits are about, and its changes against the baseline."""

    run: StoredRun
    estimates: pl.DataFrame
    changes: pl.DataFrame
    definitions: Mapping[bool, Mapping[str, Measure]]
    """Of estimates, and of changes, by key."""
    notes: tuple[str, ...] = ()
    baseline: StoredRun | None = None
    is_unread: bool = False
    """True if half of the questions have no reply that can be read."""
    unseen: bool = False
    """True if nothing shows that the model sees the pictures."""

    @classmethod
    def from_run(
        cls, run: StoredRun, own_estimates: tuple[pl.DataFrame, Mapping[str, ReplyTally]],
        limits: Sequence[DeclaredLimit], baselines: Sequence[StoredRun],
    ) -> "_Measured":  # fmt: skip
        """Take what the limits need; `own_estimates`: of the run, as `taken` gives them."""
        of_values = {measure.key: measure for measure in run.measures}
        estimates, tallies = own_estimates
        unread = counts_by_model([run], tallies)[run.model].why_not_answered if run.facts.end is not None else ""
        notes: tuple[str, ...] = (f"{run.place}: {unread}",) if unread else ()
        of_change = [limit for limit in limits if limit.of_change]
        unseen = bool(sightless(estimates))
        if not of_change:
            return cls(run, estimates, pl.DataFrame(), {False: of_values}, notes, is_unread=bool(unread), unseen=unseen)
        _check_conditions(of_change)
        from facevalue.limits.changes import baseline_of, changes_of  # noqa: PLC0415 - scipy.stats takes a second

        measures = list(dict.fromkeys(limit.measure for limit in of_change))
        baseline = baseline_of(run, baselines)
        changes = changes_of(run, baseline, measures)
        definitions = {False: of_values, True: {measure.key: measure for measure in changes.definitions}}
        notes += *_ending(baseline), *changes.notes
        return cls(run, estimates, changes.rows, definitions, notes, baseline, bool(unread), unseen)

    def cells(self, number: int, limit: DeclaredLimit) -> pl.DataFrame:
        """Cells of a limit, not decided yet; none where nothing was tested of what leads the page."""
        table = self.changes if limit.of_change else self.estimates
        rows = select_estimates(limit, table, self.run.study.estimates.lead)
        if limit.findings is not None or limit.at_least == -limit.at_most:  # else one side alone can lie beyond
            rows = without_mirrors(rows)
        definitions = self.definitions[limit.of_change]
        keys = rows.select(value_by_measure({key: key for key in definitions})).to_series()
        measures = [definitions[key] for key in keys]
        if "versus" in limit.labels:
            measures = [change_of(measure) for measure in measures]
        if (limit.findings is None or limit.detects is not None) and len({measure.unit for measure in measures}) > 1:
            scores = (f'"{m.key}" ({m.unit})' for m in definitions.values() if m.name == limit.measure)
            raise limit.error(
                f"{limit.measure} has scores in several units: write one as the measure: {', '.join(scores)}."
            )
        _check_reach(limit, dict.fromkeys(measures))
        of = [self.run, self.baseline] if limit.of_change else [self.run]
        is_incomplete = any(run is not None and run.facts.end is None for run in of) and not limit.allows_incomplete
        cells = _cells(number, self.run, rows, measures)
        is_unread = self.is_unread and not limit.allows_incomplete
        flags = {_INCOMPLETE: is_incomplete, _UNREAD: is_unread, "unseen": self.unseen}
        return cells.with_columns(pl.lit(value).alias(name) for name, value in flags.items())

    def untested_cell(self, number: int) -> pl.DataFrame:
        """The cell of a limit of findings that holds no comparison: the study as a whole, and why."""
        study_run = WaitingRun(self.run.place, self.run.study.name, self.run.model)
        return _without_estimates(number, study_run, why_untested(self.estimates, self.run.study.estimates.lead))


def without_mirrors(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows without those below zero that tell again, of the other one of two levels, what one above zero tells.

    Examples
    --------
    >>> rows = pl.DataFrame({"measure": ["gap"] * 2, "gender": ["man", "woman"], "value": [0.2, -0.2]})
    >>> without_mirrors(rows.with_columns(low=pl.col("value") - 0.1, high=pl.col("value") + 0.1))["gender"].to_list()
    ['man']
    """
    names, levels, above = label_columns(rows), defaultdict[tuple[object, ...], set[object]](set), defaultdict(list)
    labels = rows.select("measure", *names).rows()
    for of_row, value, low, high in zip(labels, *rows.select("value", "low", "high"), strict=True):
        for at in range(1, len(of_row)):
            levels[at, *of_row[:at], *of_row[at + 1 :]].add(of_row[at])
        if low is not None and value > 0:
            above[f"{value:.6g} {low:.6g} {high:.6g}"].append(of_row)

    def is_mirror(of_row: tuple[object, ...], opposite: tuple[object, ...]) -> bool:
        differ = [at for at, (level, rival) in enumerate(zip(of_row, opposite, strict=True)) if level != rival]
        if len(differ) == 2:  # two labels have changed places
            return [of_row[at] for at in differ] == [opposite[at] for at in reversed(differ)]
        return len(differ) == 1 and len(levels[differ[0], *of_row[: differ[0]], *of_row[differ[0] + 1 :]]) == 2

    keep = [
        low is None or value >= 0
        or not any(is_mirror(of_row, opposite) for opposite in above[f"{-value:.6g} {-high:.6g} {-low:.6g}"])
        for of_row, value, low, high in zip(labels, *rows.select("value", "low", "high"), strict=True)
    ]  # fmt: skip
    return rows.filter(pl.Series(keep, dtype=pl.Boolean))


def _without_estimates(number: int, run: WaitingRun, why: str) -> pl.DataFrame:
    """The cell of a limit that holds no estimate of a run: the study as a whole, and why."""
    names = {"run": run.place, "study": run.study, "model": run.model, "measure": ""}
    methods = {"method": IntervalKind.NONE.value, "detail": NOT_MEASURABLE}
    verdict = {**methods, "verdict": str(Verdict.NOT_MEASURABLE), "why": why, "family": None}
    facts = {
        "unit": "", "apart": False, "cluster": "", "signed": True, "squared": False, _INCOMPLETE: False, _UNREAD: False,
        "unseen": False,
    }  # fmt: skip
    absent = dict.fromkeys((*NUMBERS, "page_low", "page_high", *_OF_VALUES))
    columns = {"limit": number, **names, **absent, **verdict, **facts}
    return pl.DataFrame([columns], schema_overrides=dict.fromkeys(absent, pl.Float64))


def _decide_gate(
    cells: pl.DataFrame, limits: Sequence[DeclaredLimit], runs: tuple[str, ...], baselines: Sequence[StoredRun],
    notes: Sequence[str],
) -> Gate:  # fmt: skip
    """The gate of cells that are not decided yet."""
    counted = [number for number, limit in enumerate(limits) if limit.findings is not None]
    of_values, of_findings = cells.filter(~pl.col("limit").is_in(counted)), cells.filter(pl.col("limit").is_in(counted))
    tested = of_findings.filter(pl.col("q_page").is_not_null())  # a run without a test finds nothing by chance
    shares = max(tested["run"].n_unique() + (of_values.height > 0), 1)
    alpha = (1 - LEVEL) / shares
    level = alpha / max(of_values.height, 1)
    decided = []
    if of_values.height:
        decided.append(_values_decided(of_values, limits, level))
    decided += [
        findings_decided(rows, limits[number], alpha)
        for (number,), rows in of_findings.group_by(["limit"], maintain_order=True)
    ]
    together = pl.concat(decided, how="diagonal_relaxed").sort("limit", maintain_order=True).drop(_OF_VALUES)
    is_finding = pl.col("limit").is_in(counted) & (pl.col("verdict") == str(Verdict.DIFFERENCE))
    together = together.with_columns(caveat=pl.when(is_finding).then(caveat_column()).fill_null(""))
    is_within = pl.col("outcome") == str(LimitOutcome.WITHIN)
    lacks = (pl.col(_INCOMPLETE) | pl.col(_UNREAD)) & is_within
    undecided = pl.when(lacks).then(pl.lit(str(LimitOutcome.UNDECIDED))).otherwise("outcome").alias("outcome")
    together = together.with_columns(undecided, *(pl.col(flag) & is_within for flag in (_INCOMPLETE, _UNREAD)))
    together = together.with_columns(pl.Series("why", list(reasons(together, limits)), pl.String))
    compares = pl.col("apart") | pl.col("limit").is_in(counted)
    withdrawn = pl.col("unseen") & compares & (pl.col("outcome") == str(LimitOutcome.WITHIN))
    together = together.with_columns(
        outcome=pl.when(withdrawn).then(pl.lit(str(LimitOutcome.UNDECIDED))).otherwise("outcome"),
        why=pl.when(withdrawn).then(pl.lit(UNSEEN_PICTURES)).otherwise("why"),
    ).drop("unseen")
    return Gate(
        tuple(limits), runs, tuple(run.place for run in baselines), together, 1 - level,
        tuple(dict.fromkeys(notes)),
    )  # fmt: skip


def _values_decided(cells: pl.DataFrame, limits: Sequence[DeclaredLimit], level: float) -> pl.DataFrame:
    column = {name: to_array(cells[name]) for name in (*NUMBERS, *_OF_VALUES)}
    numbers = cells["limit"].to_list()
    at_least, at_most = (np.array([getattr(limits[n], name) for n in numbers]) for name in ("at_least", "at_most"))
    counts = np.array([limits[number].counts_missing for number in numbers])
    unsigned = ~cells["signed"].to_numpy()
    measured = MeasuredCells(
        **{name: column[name] for name in ("value", "low", "high", "se", "clusters", *_OF_VALUES)},
        noise=np.where(unsigned, np.nan_to_num(column["floor"]), 0.0),
        squared=cells["squared"].to_numpy(),
        bound_low=np.where(counts, column["bound_low"], np.nan),
        bound_high=np.where(counts, column["bound_high"], np.nan),
    )
    decided = decide_limits(measured, at_least, at_most, level)
    return cells.with_columns(
        pl.Series("outcome", decided.outcome.tolist(), pl.String),
        pl.Series("gate_low", decided.gate_low).fill_nan(None),
        pl.Series("gate_high", decided.gate_high).fill_nan(None),
        pl.Series("units", decided.units).fill_nan(None),
        pl.Series("by_missing", decided.by_missing),
        pl.Series("at_least", np.where(np.isfinite(at_least), at_least, np.nan)).fill_nan(None),
        pl.Series("at_most", np.where(np.isfinite(at_most), at_most, np.nan)).fill_nan(None),
    )


def _cells(number: int, run: StoredRun, rows: pl.DataFrame, measures: Sequence[Measure]) -> pl.DataFrame:
    """Rows of a table of estimates or changes, each of a measure, as cells of a gate."""
    columns = (*NUMBERS, *_TEXTS, *_OF_PAGE, "p")
    rows = rows.with_columns(pl.lit(None, pl.Float64).alias(name) for name in columns if name not in rows.columns)
    df = degrees_of_freedom(rows)
    labels = [name for name in label_columns(rows) if rows[name].null_count() < rows.height]
    facts = {name: [getattr(measure, fact) for measure in measures] for name, fact in _FACTS.items()}
    limits = [measure.limits for measure in measures]
    return rows.select(
        pl.lit(number).alias("limit"), pl.lit(run.place).alias("run"), pl.lit(run.study.name).alias("study"),
        pl.lit(run.model).alias("model"), "measure",
        *(pl.col(name).alias(f"{name} (label)" if name in NO_LABELS else name) for name in labels), *NUMBERS,
        *(pl.col(name).cast(pl.String) for name in _TEXTS), *_OF_PAGE,
        *(pl.Series(name, column) for name, column in facts.items()),
        pl.Series("lowest", [low for low, _ in limits], pl.Float64),
        pl.Series("highest", [high for _, high in limits], pl.Float64), pl.Series("df", df).fill_nan(None),
    )  # fmt: skip


def _is_about(limit: DeclaredLimit, run: StoredRun) -> bool:
    if limit.study:
        return limit.study == run.study.name
    return not limit.measure or limit.measure in [measure.name for measure in run.measures]


def _check_studies(runs: Sequence[StoredRun], limits: Sequence[DeclaredLimit], waiting: Sequence[WaitingRun]) -> None:
    """Refuse limits that are about none of the runs, and runs that are named twice."""
    for place, many in Counter(run.folder.resolve() for run in runs).items():
        if many > 1:
            raise RunError(f"{place} is named {many} times: each run is checked against the limits once.")
    not_asked = [run.study for run in waiting]
    names = list(dict.fromkeys((*(run.study.name for run in runs), *not_asked)))
    for limit in limits:
        if limit.study and limit.study not in names:
            raise limit.unknown_name_error("study of these runs", limit.study, names)
        of_study = [run for run in runs if limit.study in ("", run.study.name)]
        measures = list(dict.fromkeys(measure.name for run in of_study for measure in run.measures))
        may_be_later = not limit.allows_incomplete and any(limit.study in ("", name) for name in not_asked)
        if limit.measure and limit.measure not in measures and not may_be_later:
            raise limit.unknown_name_error("measure", limit.measure, measures)


def _check_conditions(limits: Sequence[DeclaredLimit]) -> None:
    """Refuse limits of changes under interventions."""
    for limit in limits:
        if {"intervention", "versus"} & {*limit.labels}:
            raise limit.error("changes against a baseline are of the requests as they are, without interventions.")


def _check_reach(limit: DeclaredLimit, measures: Collection[Measure]) -> None:
    """Refuse limits that no value can lie beyond, as of shares in percent."""
    for measure in measures:
        low, high = measure.limits
        if math.isinf(low) or math.isinf(high):
            from facevalue.measures.family_tests import largest_value  # noqa: PLC0415 - scipy.stats takes a second to import

            low, high = max(low, -largest_value(measure)), min(high, largest_value(measure))
        if limit.findings is not None:
            if limit.detects is not None and limit.detects >= high:
                raise limit.error(
                    f"{measure.name} never lies further than {high:g} from zero: nothing detects {limit.detects:g}."
                )
        elif limit.at_least <= low and limit.at_most >= high:
            unit = f", in its unit ({measure.unit})"
            raise limit.error(f"{measure.name} never lies beyond {low:g} to {high:g}: name limits within{unit}.")


def _of_run(run: StoredRun, limits: int) -> list[str]:
    """Notes on a run beside its estimates, a sentence each."""
    counts, out = run.facts.counts, []
    if not limits:
        out.append(f"{run.place}: no limit is about {run.study.name}.")
    out += _ending(run)
    if run.facts.end is not None and counts.errors:
        out.append(
            f"{run.place}: {counts.errors:,} of {counts.requests:,} requests failed and count as missing answers."
        )
    return out


def _ending(run: StoredRun) -> tuple[str, ...]:
    """Note on a run that has not ended; empty for one that has."""
    if run.facts.end is not None:
        return ()
    return (f"{run.place} has not ended: it holds part of its requests. The same `facevalue run` goes on.",)
