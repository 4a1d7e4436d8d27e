"""Words for gates: what each cell is of, why it ended as it did, and what the gate amounts to."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from facevalue.limits.limits_file import DeclaredLimit
from facevalue.measures.caveats import add_caveat, caveat_of, counted_caveats
from facevalue.measures.definitions import count_units, unit_name
from facevalue.measures.intervals import NOT_MEASURABLE
from facevalue.measures.verdicts import LimitOutcome, Verdict
from facevalue.report.formatting import number

if TYPE_CHECKING:
    from facevalue.limits.gate import Gate, LimitResult

_LISTED = 20  # estimates of a limit
_INCOMPLETE = "The run, or its baseline, has not ended: what was asked lies within, and a part was not asked."
_UNREAD = "Half of the questions have no reply that can be read: what could be read lies within."
_MOST_UNITS = 1e7  # a value so near its limit that no sample that can be taken tells


def reasons(cells: pl.DataFrame, limits: Sequence[DeclaredLimit]) -> Iterator[str]:
    """Reasons why the cells of a gate have their outcomes, a sentence each."""
    for row in cells.iter_rows(named=True):
        limit = limits[row["limit"]]
        yield _of_finding(row, limit) if limit.findings is not None else _of_value(row, limit)


def _of_value(row: Mapping[str, Any], limit: DeclaredLimit) -> str:
    unit, outcome = _unit(row, limit), row["outcome"]
    if row["is_incomplete"] or row["is_unread"]:
        return _INCOMPLETE if row["is_incomplete"] else _UNREAD
    if outcome == LimitOutcome.NOT_MEASURABLE:
        return _unmeasured_reason(row)
    interval = interval_text(row["low"], row["high"], unit)
    if outcome == LimitOutcome.WITHIN:
        return f"{interval} lies within {_allowed_interval(row, unit)}."
    wide = interval_text(row["gate_low"], row["gate_high"], unit)
    if outcome == LimitOutcome.BEYOND:
        return f"{wide} lies beyond {_allowed_interval(row, unit)}, at the level of the whole gate."
    if row["by_missing"]:
        worst = interval_text(row["bound_low"], row["bound_high"], unit)
        return (
            f"{interval} lies within {_allowed_interval(row, unit)}, but had the missing answers all gone one way, "
            f"the value would be anything from {worst}."
        )
    return f"{interval} reaches over {_allowed_interval(row, unit)}. {_units_needed(row)}"


def _of_finding(row: Mapping[str, Any], limit: DeclaredLimit) -> str:
    outcome, allowed = row["outcome"], limit.findings or 0
    if row["is_incomplete"] or row["is_unread"]:
        return _INCOMPLETE if row["is_incomplete"] else _UNREAD
    if outcome == LimitOutcome.NOT_MEASURABLE:
        return _unmeasured_reason(row)
    if outcome == LimitOutcome.BEYOND:
        many = "none is allowed" if not allowed else f"{allowed} at most are allowed"
        return f"A difference was found, and {many}. {row['why']}"
    if outcome == LimitOutcome.WITHIN:
        return str(row["why"])
    if row["verdict"] == Verdict.DIFFERENCE:
        text = "A difference was found on the page of the run, but not among all that this gate decides"
        return f"{add_caveat(text, caveat_of(row['why']))}."
    unit = _unit(row, limit)
    sure = "no difference, however large" if row["mde"] is None else f"none below {number(row['mde'], unit)}"
    if limit.detects is None:
        return f"Nothing was found, and {sure}, was sure to be found."
    size = number(limit.detects, unit)
    missed = f"a difference of {size} may have been missed"
    return f"Nothing was found, and {sure}, was sure to be found: {missed}. {_units_needed(row)}"


def _unmeasured_reason(row: Mapping[str, Any]) -> str:
    detail = str(row["detail"] or "")
    why = str(row["why"] or "").removeprefix("Not measurable: ")
    reason = detail.removeprefix(NOT_MEASURABLE).removeprefix(":").strip() or why
    return f"Not measurable: {reason.rstrip('.')}." if reason else "Not measurable."


def _units_needed(row: Mapping[str, Any]) -> str:
    """Number of units that would tell, as a sentence."""
    units, clusters = row["units"], row["clusters"]
    if units is None:
        return "How many more would tell is unknown."
    if units > _MOST_UNITS:
        return "The value lies so near that no sample would tell."
    return f"About {count_units(units, row['cluster'])} would tell; {clusters:,} were asked about."


def _unit(row: Mapping[str, Any], limit: DeclaredLimit) -> str:
    return unit_name(row["unit"], apart=row["apart"] or limit.of_change)


def interval_text(low: float | None, high: float | None, unit: str) -> str:
    """An interval with its unit.

    Examples
    --------
    >>> interval_text(-0.02, 0.1, "share apart"), interval_text(0.02, None, "share")
    ('−2.0 to 10.0 points', 'at least 2.0%')
    """
    if low is None or high is None:
        end = f"at least {number(low, unit)}" if high is None else f"at most {number(high, unit)}"
        return end if (low, high) != (None, None) else "no interval"
    return f"{number(low, unit, bare=True)} to {number(high, unit)}"


def _allowed_interval(row: Mapping[str, Any], unit: str) -> str:
    return interval_text(row["at_least"], row["at_most"], unit)


def value_of(row: Mapping[str, Any], limit: DeclaredLimit) -> str:
    """The value of a cell for people; of a comparison that something may be found of, with its interval at 95%."""
    if row["value"] is None:
        return NOT_MEASURABLE
    unit = _unit(row, limit)
    signed = row["apart"] or limit.of_change
    value = number(row["value"], unit, signed=signed)
    return value if limit.findings is None else f"{value} [{interval_text(row['low'], row['high'], unit)}]"


def name_of(row: Mapping[str, Any], labels: Sequence[str]) -> str:
    """Name of a cell: its measure and levels; the study where nothing of it was tested."""
    if not row["measure"]:
        return f"{row['study']}, as a whole"
    levels = [str(row[name]) for name in labels if row[name] is not None and name not in ("score", "versus")]
    measure = row["measure"] if row.get("score") is None else f"{row['measure']} ({row['score']})"
    measure = measure if row.get("versus") is None else f"change in {measure}"
    return f"{measure} of {', '.join(levels)}" if levels else f"{measure}, as a whole"


def summary(gate: "Gate") -> str:
    """Summary of a gate, in one sentence."""
    counts = {outcome: sum(result.outcome == outcome for result in gate.results) for outcome in LimitOutcome}
    many = len(gate.limits)
    if counts[LimitOutcome.WITHIN] == many:
        sentence = "the limit is kept" if many == 1 else f"{many} limits are kept"
        return f"Within: {sentence}, of {gate.cells.height:,} {'estimate' if gate.cells.height == 1 else 'estimates'}."
    listed = [f"{counts[outcome]} {outcome}" for outcome in LimitOutcome if counts[outcome]]
    return f"{str(gate.outcome).capitalize()}: of {many} {'limit' if many == 1 else 'limits'}, {', '.join(listed)}."


def conclusion(result: "LimitResult") -> str:
    """Conclusion about a limit: number of estimates by outcome, and the sample that would tell."""
    return f"{_count_outcomes(result)}. {_telling(result)}".strip()


def _count_outcomes(result: "LimitResult") -> str:
    """Numbers of estimates of a limit by their outcome."""
    cells = result.cells.height
    if result.outcome == LimitOutcome.WITHIN and result.limit.findings is None:
        return f"{cells:,} {'estimate' if cells == 1 else 'estimates'} within"
    if result.outcome == LimitOutcome.WITHIN:
        caveats = result.cells.filter(verdict=str(Verdict.DIFFERENCE))["caveat"].to_list()
        findings = f"{len(caveats) or 'no'} {'finding' if len(caveats) == 1 else 'findings'}"
        return f"{findings} in {cells:,} comparisons{counted_caveats(caveats)}{_describe_missed(result)}"
    beyond = result.cells.filter(outcome=str(LimitOutcome.BEYOND))["caveat"].to_list()
    return ", ".join(
        f"{many:,} {outcome}{counted_caveats(beyond) if outcome == LimitOutcome.BEYOND else ''}"
        for outcome in LimitOutcome if (many := result.count(outcome))
    )  # fmt: skip


def _describe_missed(result: "LimitResult") -> str:
    """Largest difference that could have been missed, as the end of a sentence."""
    open_cells = result.cells.filter(pl.col("verdict") != str(Verdict.DIFFERENCE))
    if not open_cells.height:
        return ""
    if open_cells["mde"].null_count():
        return "; of some, any difference could have been missed"
    if open_cells["unit"].n_unique() > 1:
        return ""
    row = open_cells.sort("mde", descending=True).row(0, named=True)
    return f"; one below {number(row['mde'], _unit(row, result.limit))} could have been missed"


def _telling(result: "LimitResult") -> str:
    """The sample that would tell, as a sentence; empty where nothing is open for want of one."""
    units = result.units_needed
    if units is None or units > _MOST_UNITS:
        return ""
    row = result.cells.filter(pl.col("units") == units).row(0, named=True)
    return (
        f"About {count_units(units, row['cluster'])} would tell for all of them; {row['clusters']:,} were asked about."
    )


def explain_gate(gate: "Gate") -> str:
    """A gate in plain lines: the sentence, a line per limit, and the estimates that are not within, the worst first."""
    lines = [summary(gate)]
    for result in gate.results:
        lines.append(f"{result.outcome}: {result.limit.name}: {conclusion(result)}")
        if result.outcome != LimitOutcome.WITHIN:
            lines += [f"  {line}" for line in cell_lines(result, _LISTED)]
    return "\n".join([*lines, *gate.notes])


def cell_lines(result: "LimitResult", count: int) -> list[str]:
    """The worst estimates of a limit that are not within, a line each, and how many more there are."""
    cells = result.open_cells
    lines = [
        f"{row['outcome']}: {name_of(row, result.labels)} ({row['run']}): {value_of(row, result.limit)}. {row['why']}"
        for row in cells.head(count).iter_rows(named=True)
    ]
    more = cells.height - count
    return [*lines, *([f"and {more:,} more"] if more > 0 else [])]
