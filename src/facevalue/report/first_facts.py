"""Facts of the first screen in one line: people, pictures, questions, answers, when."""

from collections.abc import Sequence

from facevalue.report.data import ReportData, RunFacts
from facevalue.report.formatting import DASH, counted
from facevalue.runs.unparsed import MANY_CUT

_RUNS = 3
"""Runs of which answers are told."""
_STOPS = ".!?:;,"


def facts_of(data: ReportData) -> list[str]:
    """How many people, pictures and answers there are, of how many asked, of which models, and when."""
    out = []
    statement = data.statement
    if statement is not None and statement.images:
        sampled = statement.shown_images is not None
        people = statement.shown_identities if sampled else statement.identities
        if people is not None and statement.identities != statement.images:
            out.append(counted(people, "person", "people"))
        alone = ", each counted as a person" if statement.question else ""
        out.append(f"{counted(statement.shown_images or statement.images, 'picture', 'pictures')}{alone}")
    out += map(_answers, data.runs[:_RUNS])
    if len(data.runs) > _RUNS:
        out.append(f"{len(data.runs) - _RUNS} more runs")
    return [*out, _when(data.runs)]


def in_a_line(prompt: str) -> str:
    r"""A prompt in one line; a stroke where a line ends without a stop, as in quoted verses.

    >>> in_a_line("Is this person\n(a) honest or (b) dishonest?\n\nAnswer with a letter")
    'Is this person / (a) honest or (b) dishonest? Answer with a letter'
    """
    lines = [line.strip() for line in prompt.splitlines() if line.strip()]
    ends = [" " if line[-1] in _STOPS else " / " for line in lines[:-1]]
    return "".join(f"{line}{end}" for line, end in zip(lines, [*ends, ""], strict=True))


def _answers(run: RunFacts) -> str:
    """Valid answers of the questions that were asked, and of how many that were to be."""
    questions = run.planned if run.enough and run.planned is not None else run.asked
    if run.valid is None or questions is None:
        text = "answers not counted"
    elif run.enough:
        text = f"{counted(run.valid, 'answer', 'answers')} until enough was known, of {questions:,} questions planned"
    else:
        is_part = run.planned is not None and run.planned > questions
        extent = (
            f"{questions:,} of {run.planned:,} questions" if is_part else counted(questions, "question", "questions")
        )
        text = f"{counted(run.valid, 'answer', 'answers')} to {extent}"
    replies = (run.asked or 0) - (run.errors or 0)
    if run.cut and run.cut >= MANY_CUT * replies:
        text += f", {counted(run.cut, 'reply', 'replies')} cut off before an answer"
    return f"{run.model}: {text}"


def _when(runs: Sequence[RunFacts]) -> str:
    """The days on which the runs began."""
    days = sorted({run.started.date() for run in runs if run.started is not None})
    if not days:
        return DASH
    texts = [f"{day.day} {day:%B %Y}" for day in dict.fromkeys((days[0], days[-1]))]
    return " to ".join(texts)
