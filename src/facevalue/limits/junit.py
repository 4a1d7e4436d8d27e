"""Gate as JUnit XML: a test suite per run, a test case per limit, as readers of test reports take it."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from xml.etree import ElementTree as Xml  # only written here: nothing of strangers is parsed

from facevalue import __version__
from facevalue.limits.gated import Gate, LimitResult
from facevalue.limits.wording import cell_lines, conclusion
from facevalue.measures.verdicts import LimitOutcome
from facevalue.printable import printable

MOST_CELLS = 50
"""Estimates of a limit that are listed; the worst first."""
_NONE_OF_XML = re.compile("[\ufffe\uffff]")


def junit(gate: Gate, when: datetime | None = None) -> str:
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
    problem.text = _text("\n".join(cell_lines(result, MOST_CELLS)))


def _text(text: str) -> str:
    return _NONE_OF_XML.sub("?", printable(text))
