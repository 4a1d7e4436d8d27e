"""Gate as Markdown: the summary of a job, or a comment."""

from collections.abc import Iterator

from facevalue.limits.gated import Gate, LimitResult
from facevalue.limits.wording import conclusion, name_of, summary, value_of
from facevalue.measures.verdicts import LimitOutcome
from facevalue.printable import in_markdown

MOST_CELLS = 20
"""Estimates of a limit that are listed; the worst first."""
_MARKS = {
    LimitOutcome.BEYOND: "❌",
    LimitOutcome.NOT_MEASURABLE: "❓",
    LimitOutcome.UNDECIDED: "❔",
    LimitOutcome.WITHIN: "✅",
}


def markdown(gate: Gate) -> str:
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
    for row in cells.head(MOST_CELLS).iter_rows(named=True):
        texts = (name_of(row, labels), *((row["run"],) if several else ()), value_of(row, result.limit), row["outcome"])
        yield "| " + " | ".join(in_markdown(str(text)) for text in (*texts, row["why"])) + " |"
    if cells.height > MOST_CELLS:
        yield ""
        yield f"And {cells.height - MOST_CELLS:,} more."
