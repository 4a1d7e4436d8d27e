"""Formats of a gate's result: Markdown, JUnit XML, and annotations of GitHub Actions."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from xml.etree import ElementTree as Xml

from facevalue import __version__
from facevalue.limits.gate import Gate, LimitResult
from facevalue.limits.wording import cell_lines, conclusion, name_of, summary, value_of
from facevalue.measures.verdicts import LimitOutcome
from facevalue.printable import in_markdown, printable

# Gate as annotations of GitHub Actions: a line per limit that is not kept, at its line of the file of limits.


MOST_ANNOTATED = 5
"""Estimates that an annotation names; the worst first."""


def as_annotations(gate: Gate, path: str = "") -> Iterator[str]:
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


def as_junit(gate: Gate, when: datetime | None = None) -> str:
    """A gate as JUnit XML.

    A limit that is passed by is a `failure`; one that cannot be measured or decided is an `error`, never a skipped
    test, which readers take for a success. `when`: time that the suites state, now by default.
    """
    moment = (when or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%S")
    suites = [(run, list(_of_run(gate, run))) for run in gate.runs]
    root = Xml.Element("testsuites")  # without attributes: the schema of Ant's reports allows none
    for number, (run, results) in enumerate(suites):
        suite = Xml.SubElement(
            root, "testsuite", {"name": _text(run), **_counts(results)}, skipped="0", id=str(number),
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


def _of_run(gate: Gate, run: str) -> Iterator[LimitResult]:
    """Limits that are about a run, with its cells."""
    for result in gate.results:
        cells = result.cells.filter(run=run)
        if cells.height:
            yield LimitResult(result.limit, cells)


def _counts(results: list[LimitResult]) -> dict[str, str]:
    failures = sum(result.outcome == LimitOutcome.BEYOND for result in results)
    within = sum(result.outcome == LimitOutcome.WITHIN for result in results)
    errors = len(results) - failures - within
    return {"tests": str(len(results)), "failures": str(failures), "errors": str(errors), "time": "0"}


def _case(suite: Xml.Element, result: LimitResult) -> None:
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


def as_markdown(gate: Gate) -> str:
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


def _details(result: LimitResult, *, several: bool) -> Iterator[str]:
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
