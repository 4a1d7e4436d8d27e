"""Gate as JUnit XML: a test suite per run, a test case per limit, as readers of test reports take it."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from xml.etree import ElementTree as Xml  # only written here: nothing of strangers is parsed

from facevalue import __version__
from facevalue.limits.gated import Gate, HeldLimit
from facevalue.limits.wording import cell_lines, held_sentence, telling
from facevalue.measures.limit_outcomes import LimitOutcome
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
    suites = [(run, list(_held(gate, run))) for run in gate.runs]
    root = Xml.Element("testsuites")  # without attributes: the schema of Ant's reports allows none
    for number, (run, held_limits) in enumerate(suites):
        suite = Xml.SubElement(
            root, "testsuite", {"name": _text(run), **_counts(held_limits)}, skipped="0", id=str(number),
            package="facevalue", hostname="localhost", timestamp=moment,
        )  # fmt: skip
        properties = Xml.SubElement(suite, "properties")
        Xml.SubElement(properties, "property", name="facevalue", value=__version__)
        for baseline in gate.baselines:
            Xml.SubElement(properties, "property", name="baseline", value=_text(baseline))
        for held in held_limits:
            _case(suite, held)
        Xml.SubElement(suite, "system-out").text = _text("\n".join(gate.notes))
        Xml.SubElement(suite, "system-err").text = ""
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _held(gate: Gate, run: str) -> Iterator[HeldLimit]:
    """Limits that are about a run, with its cells."""
    for held in gate.held:
        cells = held.cells.filter(run=run)
        if cells.height:
            yield HeldLimit(held.limit, cells)


def _counts(held_limits: list[HeldLimit]) -> dict[str, str]:
    failures = sum(held.outcome == LimitOutcome.BEYOND for held in held_limits)
    within = sum(held.outcome == LimitOutcome.WITHIN for held in held_limits)
    errors = len(held_limits) - failures - within
    return {"tests": str(len(held_limits)), "failures": str(failures), "errors": str(errors), "time": "0"}


def _case(suite: Xml.Element, held: HeldLimit) -> None:
    first = held.cells.row(0, named=True)
    classname = f"{first['study']}.{str(first['model']).replace('.', '_')}"
    case = Xml.SubElement(suite, "testcase", classname=_text(classname), name=_text(held.limit.name), time="0")
    if held.outcome == LimitOutcome.WITHIN:
        return
    kind = "failure" if held.outcome == LimitOutcome.BEYOND else "error"
    message = f"{held_sentence(held)}. {telling(held)}".strip()
    problem = Xml.SubElement(case, kind, message=_text(message), type=str(held.outcome))
    problem.text = _text("\n".join(cell_lines(held, MOST_CELLS)))


def _text(text: str) -> str:
    return _NONE_OF_XML.sub("?", printable(text))
