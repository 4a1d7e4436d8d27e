"""Limits as a file declares them, and the selection of the estimates that each is about."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.definitions import split_key
from facevalue.measures.estimates import label_columns
from facevalue.measures.multitest import leads_page
from facevalue.measures.pairs import to_array
from facevalue.measures.power import clusters_needed
from facevalue.measures.verdicts import LimitOutcome, Verdict, trusted_error
from facevalue.protocol.toml_tables import TomlTable, lines_of
from facevalue.untrusted_files import read_file, to_text, to_toml

MAX_BYTES = 256 * 1024
"""Largest file of limits."""
MOST = 1000
"""Most limits of a file."""
_LEVELS: Final = ("absolute", "at_least", "at_most")
_CHANGES: Final = ("change", "rise", "fall")
_COUNTS: Final = ("findings", "detects")
_OF: Final = ("name", "study", "measure", "by", "where", "missing", "allow_incomplete")
_MISSING: Final = {"count": True, "leave out": False}
KEYS = (*_OF, *_LEVELS, *_CHANGES, *_COUNTS)
"""Keys of a limit."""


@dataclass(frozen=True, slots=True)
class DeclaredLimit:
    """A limit of some estimates.

    Attributes
    ----------
    place, line:
        Where it is declared, for errors, and in which line of its file; 0 where it is of no file.
    name:
        For people.
    study, measure:
        What it is about; empty for every study that has the measure, and for what leads the page.
    by:
        Labels that the estimates are broken down by.
    where:
        Levels that labels must have.
    at_least, at_most:
        Smallest and largest value, or change where it is one `of_change`; infinite where there is none.
    of_change:
        Whether it is of the change against a baseline.
    findings:
        How many differences may be found; None for a limit of values.
    detects:
        Difference that must not have been missed; None for any.
    counts_missing:
        Whether the bounds for missing answers are checked against it.
    allows_incomplete:
        Whether a run that has not ended, or of which nothing was asked yet, may lie within.

    Examples
    --------
    >>> limit = DeclaredLimit("", 0, "cues", measure="shift", by=("variation",), at_least=-0.2, at_most=0.2)
    >>> limit.labels
    ('variation',)
    """

    place: str
    line: int
    name: str
    study: str = ""
    measure: str = ""
    by: tuple[str, ...] = ()
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    at_least: float = -math.inf
    at_most: float = math.inf
    of_change: bool = False
    findings: int | None = None
    detects: float | None = None
    counts_missing: bool = True
    allows_incomplete: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that its estimates must have."""
        return tuple(dict.fromkeys((*self.by, *self.where)))

    def error(self, text: str) -> DataError:
        """An error at its place."""
        return DataError(f"{self.place}: {text}" if self.place else text)

    def unknown_name_error(self, kind: str, name: str, names: Sequence[str]) -> DataError:
        """An error for a name that there isn't, with the nearest ones."""
        return self.error(str(UnknownNameError(kind, name, names)))


def read_limits(path: Path) -> tuple[DeclaredLimit, ...]:
    """Read a file of limits.

    Raises
    ------
    DataError
        There is no such file, or it says something that no limit is; the message has the line.
    """
    return parse_limits(read_file(path, MAX_BYTES, "limits"), str(path))


def parse_limits(data: bytes, name: str) -> tuple[DeclaredLimit, ...]:
    r"""Understand the bytes of a file of limits, called `name` in errors.

    Examples
    --------
    >>> (limit,) = parse_limits(b'[[limit]]\nmeasure = "shift"\nby = ["variation"]\nabsolute = 0.2', "limits.toml")
    >>> limit.name, limit.at_least, limit.at_most
    ('shift by variation, from -0.2 to 0.2', -0.2, 0.2)
    >>> parse_limits(b'[[limit]]\nmeasure = "shift"\nabsolut = 0.2', "limits.toml")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    facevalue.errors.DataError: limits.toml: line 3: Unknown key 'absolut'. Did you mean 'absolute'? Known: ...
    """
    return _limits(TomlTable(name, lines_of(to_text(data, name)), (), to_toml(data, name, MAX_BYTES)), name)


def stated_limits(tables: Sequence[Mapping[str, object]]) -> tuple[DeclaredLimit, ...]:
    """Limits from tables that were written in Python, with the keys of a file.

    Examples
    --------
    >>> [limit.name for limit in stated_limits([{"findings": 0}])]
    ['findings of what leads the page, at most 0']
    """
    return _limits(TomlTable("limits", {}, (), {"limit": [dict(table) for table in tables]}), "limits")


def _limits(top: TomlTable, name: str) -> tuple[DeclaredLimit, ...]:
    try:
        for key in top:
            if key != "limit":
                with top.place_errors(key, 0):
                    raise UnknownNameError("table", key, ["limit"])
        tables = top.tables("limit")
        if not tables:
            raise DataError(f"{name} has no limit: begin each with a line [[limit]].")
        if len(tables) > MOST:
            raise DataError(f"{name} has {len(tables):,} limits; at most {MOST:,} are read.")
        limits = tuple(_limit(table) for table in tables)
    except UnknownNameError as error:  # a file that cannot be used, not a command line
        raise DataError(str(error)) from None
    _check_names(limits)
    return limits


def _limit(table: TomlTable) -> DeclaredLimit:
    table.check_keys(*KEYS)
    kinds = [keys for keys in (_LEVELS, _CHANGES, _COUNTS) if any(key in table for key in keys)]
    if not kinds:
        raise table.error(f"the limit sets no bound: {_list_names((*_LEVELS, *_CHANGES, 'findings'))}.")
    if len(kinds) > 1:
        first, second = (next(key for key in keys if key in table) for keys in kinds[:2])
        raise table.error(f"{first!r} and {second!r} are limits of two kinds: write two limits.", second)
    (measure, score), by, levels = split_key(table.text("measure", "")), table.names("by", ()), _read_levels(table)
    if score and "score" in levels:
        raise table.error("'measure' and 'where' both name a score: name it once.", "where")
    levels |= {"score": (score,)} if score else {}
    if not measure and kinds != [_COUNTS]:
        raise table.error("'measure' is missing: what the limit is about, as `facevalue measure RUN` names it.")
    if not measure and (by or levels):
        raise table.error("'measure' is missing: labels are those of a measure.", "by" if by else "where")
    missing = table.text("missing", "count")
    if missing not in _MISSING:
        with table.place_errors("missing"):
            raise UnknownNameError("treatment of missing answers", missing, _MISSING)
    if kinds == [_COUNTS] and "missing" in table:
        raise table.error(
            "'missing' goes with limits of values and changes: findings allow for missing answers.", "missing"
        )
    findings, detects = None, None
    low, high = -math.inf, math.inf
    if kinds == [_COUNTS]:
        findings = table.whole_number("findings", low=0)
        detects = _positive(table, "detects") if "detects" in table else None
        if detects is not None and not (measure or "study" in table):
            raise table.error("'detects' is in the unit of a measure: name the study, or the measure.", "detects")
    elif kinds == [_LEVELS]:
        low, high = _read_range(table, "absolute", ("at_least", "at_most"))
    else:
        low, high = _read_range(table, "change", ("fall", "rise"))
    limit = DeclaredLimit(
        table.key_place(), _line(table), "", table.text("study", ""), measure, by, levels, low, high,
        kinds == [_CHANGES], findings, detects, _MISSING[missing],
        table.flag("allow_incomplete", default=False),
    )  # fmt: skip
    return replace(limit, name=table.text("name", "").strip() or wording(limit))


def _read_range(table: TomlTable, either_way: str, ends: tuple[str, str]) -> tuple[float, float]:
    """Smallest and largest value that a limit allows."""
    if either_way in table:
        for key in ends:
            if key in table:
                raise table.error(f"{either_way!r} is for either way: leave {key!r} out.", key)
        size = _positive(table, either_way)
        return -size, size
    if ends[0] == "fall":
        low = -_positive(table, "fall") if "fall" in table else -math.inf
        return low, _positive(table, "rise") if "rise" in table else math.inf
    low, high = (
        table.number(key) if key in table else end for key, end in zip(ends, (-math.inf, math.inf), strict=True)
    )
    if low >= high:
        raise table.error(f"no interval lies between {low:g} and {high:g}: at_least is the smaller one.", "at_least")
    return low, high


def _positive(table: TomlTable, key: str) -> float:
    value = table.number(key)
    if value <= 0:
        reason = "no interval, however narrow, lies within less" if key != "detects" else "every sample misses less"
        raise table.error(f"{key!r} is a number above zero, not {value:g}: {reason}.", key)
    return value


def _read_levels(table: TomlTable) -> dict[str, tuple[str, ...]]:
    levels = table.table("where", needed=False)
    out = {label: levels.names(label) for label in levels}
    for label, names in out.items():
        if not names:
            raise table.error(f"'where' names no level of {label!r}.", "where")
    return out


def _line(table: TomlTable) -> int:
    line = table.key_place().rpartition(" ")[2]
    return int(line) if line.isdigit() else 0


def wording(limit: DeclaredLimit) -> str:
    """Requirement of a limit, in words.

    Examples
    --------
    >>> wording(DeclaredLimit("", 0, "", findings=0)), wording(DeclaredLimit("", 0, "", measure="na_rate", at_most=0.1))
    ('findings of what leads the page, at most 0', 'na_rate, at most 0.1')
    """
    of = [limit.measure or "findings of what leads the page"]
    if limit.findings is not None and limit.measure:
        of = [f"findings of {limit.measure}"]
    if limit.of_change:
        of = [f"change in {of[0]}"]
    if limit.by:
        of.append(f"by {' and '.join(limit.by)}")
    of += [f"where {label} is {' or '.join(levels)}" for label, levels in limit.where.items()]
    if limit.findings is not None:
        detecting = "" if limit.detects is None else f", and none of {limit.detects:g} missed"
        return f"{' '.join(of)}, at most {limit.findings}{detecting}"
    return f"{' '.join(of)}, {allowed_values(limit)}"


def allowed_values(limit: DeclaredLimit) -> str:
    """Range of values that a limit of values allows, in words.

    Examples
    --------
    >>> allowed_values(DeclaredLimit("", 0, "", at_least=0.8))
    'at least 0.8'
    """
    low, high = limit.at_least, limit.at_most
    if math.isinf(low):
        return f"at most {high:g}"
    return f"at least {low:g}" if math.isinf(high) else f"from {low:g} to {high:g}"


def _check_names(limits: Sequence[DeclaredLimit]) -> None:
    """Refuse two limits of one name: reports of tests tell them apart by it."""
    lines: dict[str, int] = {}
    for limit in limits:
        if limit.name in lines:
            raise limit.error(
                f"the limit in line {lines[limit.name]} is called {limit.name!r}, too: name one otherwise."
            )
        lines[limit.name] = limit.line


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" or {names[-1]}"


# Limits of how many differences may be found, by the verdicts of a run's page.


def findings_decided(cells: pl.DataFrame, limit: DeclaredLimit, alpha: float) -> pl.DataFrame:
    """Decide a limit of findings.

    Parameters
    ----------
    cells:
        Comparisons of one limit, as their pages judged them.
    alpha:
        Level at which something is found here: that of a page, or a share of it where a gate decides by several pages.

    Notes
    -----
    *Beyond* are the differences that were found, where they are more than the limit allows, of each run. *Not
    measurable* is as on the page. *Not enough data* are comparisons that would have missed a difference of the size
    that the limit says must be detected, or, where it says none, any difference at all (of units that all answered
    alike that is not known; all of a run lack data where it is known of none); and what is found on its page but not at
    the level of the gate. All others are within.
    """
    verdict, q_page, mde = cells["verdict"], to_array(cells["q_page"]), to_array(cells["mde"])
    on_page = (verdict == str(Verdict.DIFFERENCE)).fill_null(value=False).to_numpy()
    is_finding = on_page & (q_page < alpha)
    unmeasured = ((verdict == str(Verdict.NOT_MEASURABLE)) | verdict.is_null()).to_numpy()
    runs = cells["run"].to_numpy()
    too_many, blind = (np.zeros(cells.height, dtype=np.bool_) for _ in range(2))
    for run in np.unique(runs):
        of_run = runs == run
        too_many[of_run] = is_finding[of_run].sum() > (limit.findings or 0)
        blind[of_run] = not np.isfinite(mde[of_run]).any()
    blind |= np.isnan(mde) & np.isfinite(to_array(cells["se"]))
    missed = (blind if limit.detects is None else ~(mde <= limit.detects)) & ~on_page
    kinds = [
        (is_finding & too_many, LimitOutcome.BEYOND),
        (unmeasured, LimitOutcome.NOT_MEASURABLE),
        (missed | (on_page & ~is_finding), LimitOutcome.UNDECIDED),
    ]
    outcome = np.select([flags for flags, _ in kinds], [str(kind) for _, kind in kinds], str(LimitOutcome.WITHIN))
    units = np.full(cells.height, np.nan)
    lacking = (outcome == LimitOutcome.UNDECIDED) & missed
    if limit.detects is not None and lacking.any():
        units[lacking] = _needed_units(cells.filter(lacking), limit.detects, alpha / cells.height)
    return cells.with_columns(
        pl.Series("outcome", outcome.tolist(), pl.String),
        pl.Series("units", units).fill_nan(None),
        pl.col("page_low").alias("gate_low"),
        pl.col("page_high").alias("gate_high"),
    )


def why_untested(estimates: pl.DataFrame, lead: Sequence[str]) -> str:
    """Reason why nothing was tested of what leads a run's page: that of most of its comparisons.

    `lead`: families that the study's answer is about.
    """
    compared = estimates.filter(pl.col("family").is_not_null(), pl.col("verdict") == str(Verdict.NOT_MEASURABLE))
    of_lead = compared.filter(leads_page(compared, lead, compared))
    sentences = (of_lead if of_lead.height else compared)["why"].drop_nulls()
    return str(sentences.mode().sort()[0]) if sentences.len() else "It compares nothing that leads its page."


def _needed_units(cells: pl.DataFrame, size: float, level: float) -> np.ndarray:
    """Units with which a difference of this size would be found, at the level that most other units were found by."""
    clusters, mde = to_array(cells["clusters"]), to_array(cells["mde"])
    error = trusted_error(to_array(cells["value"]), to_array(cells["se"]))
    return np.where(
        np.isfinite(mde), np.ceil(clusters * (mde / size) ** 2), clusters_needed(error * np.sqrt(clusters), size, level)
    )


_INTERVENTION, _VERSUS = "intervention", "versus"


def select_estimates(limit: DeclaredLimit, estimates: pl.DataFrame, lead: Sequence[str] = ()) -> pl.DataFrame:
    """Rows of a table of estimates that a limit is about.

    Parameters
    ----------
    estimates:
        Of one model, with the limit's measure among them.
    lead:
        Families that the study's answer is about, for a limit that names no measure.

    Notes
    -----
    The rows are those of the coarsest breakdown that has all labels of the limit: `by = ["variation"]` are the rows by
    attribute and variation, as no row has the variation alone, and not those by attribute, variation and scenario; of
    a score that is named, the coarsest of its own. Without labels they are the measure as a whole. A limit without a
    measure is about what leads the page: no row where nothing of that was tested. Requests under an intervention count
    where `intervention` is one of
    the labels, or nothing else is measured; differences where `versus` is.

    Raises
    ------
    DataError
        An unknown label or level, or no row of its measure.

    Examples
    --------
    >>> none = pl.Series([None] * 3, dtype=pl.String)
    >>> rows = pl.DataFrame({"measure": ["shift"] * 3, "intervention": none, "versus": none,
    ...                      "attribute": [None, "eyewear", "eyewear"], "variation": [None, "shades", "shades"],
    ...                      "scenario": [None, None, "kind"], "value": [0.0, 0.1, 0.2]})
    >>> select_estimates(DeclaredLimit("", 0, "", measure="shift", by=("variation",)), rows)["value"].to_list()
    [0.1]
    >>> select_estimates(DeclaredLimit("", 0, "", measure="shift"), rows)["value"].to_list()
    [0.0]
    >>> scored = rows.with_columns(score=pl.Series(["warmth", "words", "words"]))
    >>> by_score = DeclaredLimit("", 0, "", measure="shift", where={"score": ["words"]})
    >>> select_estimates(by_score, scored)["value"].to_list()
    [0.1]
    >>> select_estimates(DeclaredLimit("", 0, "", measure="shift", by=("variaton",)), rows)
    Traceback (most recent call last):
    facevalue.errors.DataError: Unknown label of shift 'variaton'. Did you mean 'scenario' or 'variation'? Known: \
attribute, scenario, variation.
    """
    if not limit.measure:
        return _leading(estimates, lead)
    rows = estimates.filter(measure=limit.measure)
    names = [name for name in label_columns(rows) if rows[name].null_count() < rows.height]
    for name in limit.labels:
        if name not in names:
            raise limit.unknown_name_error(f"label of {limit.measure}", name, names)
    labels, needed = ([name for name in of if name != _INTERVENTION] for of in (names, limit.labels))
    rows = _conditions(limit, rows).filter(*(pl.col(name).is_not_null() for name in needed))
    by_score = rows.partition_by("score", maintain_order=True) if "score" in limit.labels else []
    rows = pl.concat(_coarsest(part, labels) for part in by_score or [rows])
    for name, levels in limit.where.items():
        present = rows[name].drop_nulls().unique().to_list()
        for level in levels:
            if level not in present:
                raise limit.unknown_name_error(f"level of {name} ({limit.measure})", level, present)
        rows = rows.filter(pl.col(name).is_in(levels))
    if not rows.height:
        raise _nothing(limit, estimates)
    if limit.findings is not None and rows["verdict"].null_count() == rows.height:
        raise limit.error(f"{limit.measure} compares nothing, so that nothing is found of it: limit its values.")
    return rows


def _conditions(limit: DeclaredLimit, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of the requests as they are, or of those under interventions; differences only where they are named."""
    rows = rows.filter(pl.col(_VERSUS).is_not_null() == (_VERSUS in limit.labels))
    if _INTERVENTION in limit.labels:
        return rows.filter(pl.col(_INTERVENTION).is_not_null())
    plain = rows.filter(pl.col(_INTERVENTION).is_null())
    return plain if plain.height else rows


def _coarsest(rows: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Rows of the breakdowns that hold no other breakdown of the rows."""
    if not labels or not rows.height:
        return rows
    flags = rows.select(pl.col(name).is_not_null() for name in labels)
    breakdowns = [frozenset(name for name in labels if row[name]) for row in flags.unique().iter_rows(named=True)]
    coarsest = [names for names in breakdowns if not any(coarser < names for coarser in breakdowns)]
    of_coarsest = [pl.all_horizontal(pl.col(name) == (name in names) for name in labels) for names in coarsest]
    return rows.filter(flags.select(pl.any_horizontal(of_coarsest)).to_series())


def _leading(estimates: pl.DataFrame, lead: Sequence[str]) -> pl.DataFrame:
    """Comparisons of the families that lead the page; those that were declared before the run go first."""
    compared = estimates.filter(
        pl.col("verdict").is_not_null(), pl.col(_INTERVENTION).is_null(), pl.col("family").is_not_null()
    )
    return compared.filter(leads_page(compared, lead, compared.filter(pl.col("q_page").is_not_null())))


def _nothing(limit: DeclaredLimit, estimates: pl.DataFrame) -> DataError:
    """The error of a limit that is about no estimate: a limit that matches nothing would always be kept."""
    rows = estimates.filter(measure=limit.measure)
    labels = [name for name in label_columns(rows) if rows[name].null_count() < rows.height]
    breakdowns = rows.select(
        pl.concat_str(
            [pl.when(pl.col(name).is_not_null()).then(pl.lit(name)) for name in labels],
            separator=" and ", ignore_nulls=True,
        ).alias("by")
        if labels else pl.lit("").alias("by")
    )["by"]  # fmt: skip
    listed = "; ".join(name or "nothing, as a whole" for name in breakdowns.unique(maintain_order=True)[:10])
    return limit.error(f"no estimate of {limit.measure} is broken down by {' and '.join(limit.labels)}: by {listed}.")
