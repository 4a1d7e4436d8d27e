"""Gate as Markdown: the summary of a job, or a comment."""

import re
from collections.abc import Iterator

from facevalue.limits.gated import Gate, HeldLimit
from facevalue.limits.wording import held_sentence, name_of, summary, telling, value_of
from facevalue.measures.limit_outcomes import LimitOutcome
from facevalue.printable import printable

MOST_CELLS = 20
"""Estimates of a limit that are listed; the worst first."""
_MARKS = {
    LimitOutcome.BEYOND: "❌",
    LimitOutcome.NOT_MEASURABLE: "❓",
    LimitOutcome.UNDECIDED: "❔",
    LimitOutcome.WITHIN: "✅",
}
_SPECIAL = re.compile(r"([\\`*_\[\]|~#<>])")


def markdown(gate: Gate) -> str:
    """A gate as Markdown: what it amounts to, a row per limit, and the estimates that do not lie within."""
    lines = [f"## {_MARKS[gate.outcome]} FaceValue gate: {gate.outcome}", "", escaped(summary(gate)), ""]
    runs = [f"Held against limits: {', '.join(gate.runs)}."]
    if gate.baselines:
        runs.append(f"Baseline: {', '.join(gate.baselines)}.")
    lines += [escaped(" ".join([*runs, *gate.notes])), "", "| | limit | outcome |", "|---|---|---|"]
    for held in gate.held:
        ended = f"{held_sentence(held)}. {telling(held)}".strip()
        lines.append(f"| {_MARKS[held.outcome]} | {escaped(held.limit.name)} | {escaped(ended)} |")
    for held in gate.held:
        if held.outcome != LimitOutcome.WITHIN:
            lines += ["", *_details(held, several=len(gate.runs) > 1)]
    return "\n".join(lines) + "\n"


def _details(held: HeldLimit, *, several: bool) -> Iterator[str]:
    cells, labels = held.open_cells, held.labels
    yield f"### {escaped(held.limit.name)}"
    yield ""
    columns = ("estimate", *(("run",) if several else ()), "value", "outcome", "why")
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in cells.head(MOST_CELLS).iter_rows(named=True):
        texts = (name_of(row, labels), *((row["run"],) if several else ()), value_of(row, held.limit), row["outcome"])
        yield "| " + " | ".join(escaped(str(text)) for text in (*texts, row["why"])) + " |"
    if cells.height > MOST_CELLS:
        yield ""
        yield f"And {cells.height - MOST_CELLS:,} more."


def escaped(text: str) -> str:
    r"""A text that Markdown shows as it is, on one line: names in it format nothing and call nobody.

    Examples
    --------
    >>> escaped("a|b <i>c</i>\n@ann")
    'a\\|b \\<i\\>c\\</i\\> &#64;ann'
    """
    plain = _SPECIAL.sub(r"\\\1", printable(text).replace("&", "&amp;"))
    return " ".join(plain.replace("@", "&#64;").split())
