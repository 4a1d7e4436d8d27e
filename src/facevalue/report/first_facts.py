"""Facts of the first screen in one line: people, pictures, questions, answers, when."""

from collections.abc import Sequence

from facevalue.report.data import ReportData, RunFacts
from facevalue.report.formatting import DASH, counted

_RUNS = 3
"""Runs of which answers are told."""
_STOPS = ".!?:;,"


def facts_of(data: ReportData) -> list[str]:
    """How many people, pictures and answers there are, of how many asked, of which models, and when."""
    out = []
    statement = data.statement
    if statement is not None and statement.images:
        if statement.identities != statement.images:
            out.append(counted(statement.identities, "person", "people"))
        out.append(counted(statement.images, "picture", "pictures"))
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
    """Valid answers of the questions that were to be asked."""
    questions = run.asked if run.planned is None else run.planned
    if run.valid is None or questions is None:
        text = "answers not counted"
    elif run.enough:
        text = f"{counted(run.valid, 'answer', 'answers')} until enough was known, of {questions:,} questions planned"
    else:
        text = f"{counted(run.valid, 'answer', 'answers')} to {counted(questions, 'question', 'questions')}"
    return f"{run.model}: {text}"


def _when(runs: Sequence[RunFacts]) -> str:
    """The days on which the runs began."""
    days = sorted({run.started.date() for run in runs if run.started is not None})
    if not days:
        return DASH
    texts = [f"{day.day} {day:%B %Y}" for day in dict.fromkeys((days[0], days[-1]))]
    return " to ".join(texts)
