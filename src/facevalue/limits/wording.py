"""Words for gates: what each cell is of, why it ended so, as Markdown, JUnit XML and annotations of GitHub."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as Xml

import polars as pl

from facevalue import __version__
from facevalue.limits.limits_file import DeclaredLimit
from facevalue.measures.caveats import add_caveat, caveat_of, counted_caveats
from facevalue.measures.definitions import count_units, unit_name
from facevalue.measures.intervals import NOT_MEASURABLE
from facevalue.measures.verdicts import LimitOutcome, Verdict
from facevalue.printable import in_markdown, printable
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
        text = add_caveat("A difference was found on the page of the run", caveat_of(row["why"]))
        return f"{text}. It was not found among all that this gate decides."
    unit = _unit(row, limit)
    sure = "no difference, however large," if row["mde"] is None else f"no difference below {number(row['mde'], unit)}"
    if limit.detects is None:
        return f"Nothing was found, and {sure} was sure to be found."
    size = number(limit.detects, unit)
    missed = f"a difference of {size} may have gone unnoticed"
    return f"Nothing was found, and {sure} was sure to be found: {missed}. {_units_needed(row)}"


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
    """Largest difference that would have gone unnoticed, as the end of a sentence."""
    open_cells = result.cells.filter(pl.col("verdict") != str(Verdict.DIFFERENCE))
    if not open_cells.height:
        return ""
    if open_cells["mde"].null_count():
        return "; for some, any difference would have gone unnoticed"
    if open_cells["unit"].n_unique() > 1:
        return ""
    row = open_cells.sort("mde", descending=True).row(0, named=True)
    return f"; one below {number(row['mde'], _unit(row, result.limit))} would have gone unnoticed"


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


# Gate as annotations of GitHub Actions: a line per limit that is not kept, at its line of the file of limits.


MOST_ANNOTATED = 5
"""Estimates that an annotation names; the worst first."""


def as_annotations(gate: "Gate", path: str = "") -> Iterator[str]:
    """Commands that GitHub Actions reads from the output of a step.

    Limits that are passed by, or cannot be decided, are errors; what else must be known is a notice.

    Parameters
    ----------
    path:
        The file of limits, relative to the repository.
    """
    for result in gate.results:
        if result.outcome == LimitOutcome.WITHIN:
            continue
        lines = [f"{result.limit.name}: {conclusion(result)}", *cell_lines(result, MOST_ANNOTATED)]
        yield _command("error", "\n".join(lines), path, result.limit.line, f"FaceValue: {result.outcome}")
    for note in gate.notes:
        yield _command("notice", note, "", 0, "FaceValue")


def _command(kind: str, message: str, path: str, line: int, title: str) -> str:
    """A command, as the runner of GitHub Actions parses it: values and message are escaped, each in its way."""
    places = {"file": path, "line": str(line) if line and path else "", "title": title}
    properties = ",".join(f"{name}={_property(value)}" for name, value in places.items() if value)
    return f"::{kind} {properties}::{_data(message)}"


def _data(text: str) -> str:
    r"""A message.

    Examples
    --------
    >>> _data("100% of\n::error::x")
    '100%25 of%0A::error::x'
    """
    return printable(text.replace("\r", " ")).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    """A value, in which colons and commas end it unless they are escaped, too."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")


# Gate as JUnit XML: a test suite per run, a test case per limit, as readers of test reports take it.


MOST_IN_JUNIT = 50
"""Estimates of a limit that are listed; the worst first."""
_NONE_OF_XML = re.compile("[\ufffe\uffff]")


def as_junit(gate: "Gate", when: datetime | None = None) -> str:
    """A gate as JUnit XML.

    A limit that is passed by is a `failure`; one that cannot be measured or decided is an `error`, never a skipped
    test, which readers take for a success. `when`: time that the suites state, now by default.
    """
    moment = (when or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%S")
    suites = [(run, list(_of_run(gate, run))) for run in gate.runs]
    root = Xml.Element("testsuites")  # without attributes: the schema of Ant's reports allows none
    for index, (run, results) in enumerate(suites):
        suite = Xml.SubElement(
            root, "testsuite", {"name": _text(run), **_counts(results)}, skipped="0", id=str(index),
            package="facevalue", hostname="localhost", timestamp=moment,
        )  # fmt: skip
        properties = Xml.SubElement(suite, "properties")
        Xml.SubElement(properties, "property", name="facevalue", value=__version__)
        for baseline in gate.baselines:
            Xml.SubElement(properties, "property", name="baseline", value=_text(baseline))
        for result in results:
            _case(suite, result)
        Xml.SubElement(suite, "system-out").text = _text("\n".join(gate.notes))
        Xml.SubElement(suite, "system-err").text = ""
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _of_run(gate: "Gate", run: str) -> "Iterator[LimitResult]":
    """Limits that are about a run, with its cells."""
    for result in gate.results:
        cells = result.cells.filter(run=run)
        if cells.height:
            yield replace(result, cells=cells)


def _counts(results: "list[LimitResult]") -> dict[str, str]:
    failures = sum(result.outcome == LimitOutcome.BEYOND for result in results)
    within = sum(result.outcome == LimitOutcome.WITHIN for result in results)
    errors = len(results) - failures - within
    return {"tests": str(len(results)), "failures": str(failures), "errors": str(errors), "time": "0"}


def _case(suite: Xml.Element, result: "LimitResult") -> None:
    first = result.cells.row(0, named=True)
    classname = f"{first['study']}.{str(first['model']).replace('.', '_')}"
    case = Xml.SubElement(suite, "testcase", classname=_text(classname), name=_text(result.limit.name), time="0")
    if result.outcome == LimitOutcome.WITHIN:
        return
    kind = "failure" if result.outcome == LimitOutcome.BEYOND else "error"
    problem = Xml.SubElement(case, kind, message=_text(conclusion(result)), type=str(result.outcome))
    problem.text = _text("\n".join(cell_lines(result, MOST_IN_JUNIT)))


def _text(text: str) -> str:
    return _NONE_OF_XML.sub("?", printable(text))


# Gate as Markdown: the summary of a job, or a comment.


MOST_IN_MARKDOWN = 20
"""Estimates of a limit that are listed; the worst first."""
_MARKS = {
    LimitOutcome.BEYOND: "❌",
    LimitOutcome.NOT_MEASURABLE: "❓",
    LimitOutcome.UNDECIDED: "❔",
    LimitOutcome.WITHIN: "✅",
}


def as_markdown(gate: "Gate") -> str:
    """A gate as Markdown: what it amounts to, a row per limit, and the estimates that do not lie within."""
    lines = [f"## {_MARKS[gate.outcome]} FaceValue gate: {gate.outcome}", "", in_markdown(summary(gate)), ""]
    runs = [f"Held against limits: {', '.join(gate.runs)}."]
    if gate.baselines:
        runs.append(f"Baseline: {', '.join(gate.baselines)}.")
    lines += [in_markdown(" ".join([*runs, *gate.notes])), "", "| | limit | outcome |", "|---|---|---|"]
    for result in gate.results:
        lines.append(
            f"| {_MARKS[result.outcome]} | {in_markdown(result.limit.name)} | {in_markdown(conclusion(result))} |"
        )
    for result in gate.results:
        if result.outcome != LimitOutcome.WITHIN:
            lines += ["", *_details(result, several=len(gate.runs) > 1)]
    return "\n".join(lines) + "\n"


def _details(result: "LimitResult", *, several: bool) -> Iterator[str]:
    cells, labels = result.open_cells, result.labels
    yield f"### {in_markdown(result.limit.name)}"
    yield ""
    columns = ("estimate", *(("run",) if several else ()), "value", "outcome", "why")
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in cells.head(MOST_IN_MARKDOWN).iter_rows(named=True):
        texts = (name_of(row, labels), *((row["run"],) if several else ()), value_of(row, result.limit), row["outcome"])
        yield "| " + " | ".join(in_markdown(str(text)) for text in (*texts, row["why"])) + " |"
    if cells.height > MOST_IN_MARKDOWN:
        yield ""
        yield f"And {cells.height - MOST_IN_MARKDOWN:,} more."
