"""Tasks: the questions of a study, each with a kind of answer of its own, and what is taken of the answers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import polars as pl

from facevalue.answers import NA_DTYPE
from facevalue.answers.sorting import Sorting
from facevalue.errors import DataError, UnknownNameError, placed
from facevalue.measures import judge_measures
from facevalue.measures.base import Measure
from facevalue.protocol.aggregate import Aggregate, Axes, Gathering, counted_column
from facevalue.protocol.asks import Ask, Questions
from facevalue.protocol.definitions import SIDE_SCORE, instrument_measures, measures
from facevalue.protocol.outside_scores import ENTRIES, JUDGED_BY, TEXT
from facevalue.protocol.replies import FIRST, LETTER, Options, Score
from facevalue.protocol.side_by_side import LEFT, SIDE
from facevalue.protocol.takes import (
    ALIKE,
    CONTRAST,
    DIMENSION,
    FLIP,
    GAP,
    LEAN,
    LEVELS_MEAN,
    MEAN,
    PREFERENCE,
    SHIFT,
    SIMILARITY,
    Breakdown,
    Take,
)
from facevalue.protocol.written import outside_of
from facevalue.types import Question

TASK = "task"
"""Column of trials and label of estimates that says which of several tasks they are of."""


@dataclass(frozen=True)
class Task:
    """One question of a study, asked about all of its stimuli.

    Attributes
    ----------
    study:
        Name of the study.
    name:
        Of the task; empty where it is the only one.
    ask, axes:
        What is asked, and the arrays that its answers fill.
    breakdown, takes:
        What its answers can be broken down by, and what is taken of them.
    sides:
        Whether pairs are shown, so that scores are turned round where the base is on the left.
    """

    study: str
    name: str
    ask: Ask
    axes: Axes
    breakdown: Breakdown
    takes: tuple[Take, ...]
    sides: bool

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """Scores of the answers, named as in the study."""
        return task_scores(self.name, self.ask)

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """Definitions by name."""
        checks = instrument_measures(self.ask.reply, self.breakdown.sets.unit, sides=self.sides)
        return measures(self.takes, self.breakdown, self.scores) | checks

    def scores_of(self, take: Take) -> list[Score]:
        """Scores that a take is of."""
        return [score for score in self.scores if not take.scores or score.name in take.scores]

    @property
    def labels(self) -> tuple[str, ...]:
        """Columns that say what an estimate is of."""
        return (*self.breakdown.factors, CONTRAST, DIMENSION)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of answers that are gathered."""
        extra = [FIRST, LETTER] if isinstance(self.ask.reply, Options) else []
        fractions = [counted_column(score.name) for score in self.scores if score.leaves_out]
        statuses = outside_of(self.ask.reply).statuses.values()
        names = [score.name for score in self.scores]
        return (*names, *fractions, *extra, *statuses, *([SIDE_SCORE] if self.sides else []))

    def rows(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows that are about this task."""
        return frame.filter(pl.col(TASK) == self.name) if self.name else frame

    def answer(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Scores, mass and reasons in place of text and probabilities."""
        names = {score.name: scored.name for score, scored in zip(self.ask.reply.scores, self.scores, strict=True)}
        fractions = {counted_column(name): counted_column(label) for name, label in names.items()}
        scored = self.ask.read(frame).rename(names | fractions, strict=False)
        if self.sides:
            score = self.scores[0]
            raw = pl.col(score.name)
            turned = pl.when(frame[SIDE].cast(pl.String) == LEFT).then(score.low + score.high - raw).otherwise(raw)
            scored = scored.with_columns(raw.alias(SIDE_SCORE), turned.alias(score.name))
        return pl.concat(
            [frame.drop("text", "probs"), scored.with_columns(pl.col("na").cast(NA_DTYPE))], how="horizontal"
        )

    def estimate(self, answers: Mapping[str, Mapping[str, Aggregate]], labels: Sequence[str]) -> pl.DataFrame:
        """Estimate everything of the answers of each model, and of several models together."""
        from facevalue.protocol.analysis import Program  # noqa: PLC0415 - scipy.stats takes a second to import
        from facevalue.protocol.instrument import judge_instrument  # noqa: PLC0415

        checks = partial(
            judge_instrument, breakdown=self.breakdown, reply=self.ask.reply, scores=self.scores,
            measures=self.measures, repeats=self.axes.repeats,
        )  # fmt: skip
        program = Program(self.study, tuple(labels), self.breakdown, self.scores, self.measures, self.takes, checks)
        estimates = program.estimate(answers)
        if not self.name:
            return estimates
        is_check = pl.col("measure").is_in(list(instrument_measures(self.ask.reply, "", sides=self.sides)))
        return estimates.with_columns(pl.when(is_check).then(pl.lit(self.name)).alias(TASK))


def task_scores(name: str, ask: Ask) -> tuple[Score, ...]:
    """Scores of a question, named as in the study: those of a task by it.

    Examples
    --------
    >>> from facevalue.protocol import Ask, rating
    >>> task_scores("salary", Ask(("What would this person earn?",), rating(1, 5)))[0].suffix
    '_salary'
    """
    scores = ask.reply.scores
    if not name:
        return scores if len(scores) == 1 else tuple(
            replace(score, suffix="" if score.compared else f"_{score.name}") for score in scores
        )  # fmt: skip
    names = [name] if len(scores) == 1 else [f"{name}_{score.name}" for score in scores]
    return tuple(
        replace(
            score, name=label, title=f"{score.title} ({name})", suffix=f"_{name}" if score.compared else f"_{label}"
        )
        for label, score in zip(names, scores, strict=True)
    )


def allotted(
    takes: Sequence[Take], breakdowns: Mapping[str, Breakdown], asks: Mapping[str, Ask], *, sides: bool
) -> dict[str, tuple[Take, ...]]:
    """Takes of each task: those whose scores are its own, or, where they name none, whose factors it has.

    `breakdowns`: of the tasks that are asked. `asks`: all that are declared; what is taken of others alone is left out.

    Raises
    ------
    DataError, UnknownNameError
        A take is on what no task has, or one that its answers do not allow.
    """
    out: dict[str, list[Take]] = {name: [] for name in breakdowns}
    scores = {name: task_scores(name, asks[name]) for name in breakdowns}
    if sides and len({(score.unit, score.span) for task_takes in scores.values() for score in task_takes}) > 1:
        raise DataError("Tasks about pairs side by side need answers on one scale: their preference for a side is one.")
    refused: list[Take] = []
    for take in takes:
        try:
            with placed(take.where):
                of_tasks = _of_tasks(take, breakdowns, asks, scores, sides=sides)
        except UnknownNameError:
            if not take.optional:
                raise
            refused.append(take)
            continue
        for task, task_takes in of_tasks:
            out[task].append(task_takes)
    if refused and not any(take.tested for ts in out.values() for take in ts):
        factors = {name for breakdown in breakdowns.values() for name in breakdown.factors}
        missing = dict.fromkeys(
            name for take in refused for name in (take.of, *take.by) if name and name not in factors
        )
        if not missing:
            with placed(refused[0].where):
                _of_tasks(refused[0], breakdowns, asks, scores, sides=sides)  # raises what else is unknown
        raise DataError(
            f"Nothing is left to compare: what is shown has no {' or '.join(missing)} of two levels or more. Name at "
            "least one of these in a column of its list."
        )
    for name, of_task in out.items():
        if not of_task:
            answers = f"the answers to {name!r}" if name else "the answers"
            raise DataError(f"Nothing is taken of {answers}: leave the task out, or say what is to be measured of it.")
    return {name: tuple(task_takes) for name, task_takes in out.items()}


def _of_tasks(
    take: Take, breakdowns: Mapping[str, Breakdown], asks: Mapping[str, Ask], scores: Mapping[str, Sequence[Score]], *,
    sides: bool,
) -> list[tuple[str, Take]]:  # fmt: skip
    """Tasks that a take is of, with its scores there; none where it is of others than those that are asked."""
    labels = [*filter(None, asks), *(score.name for task in asks for score in task_scores(task, asks[task]))]
    for name in take.scores:
        if name not in labels:
            raise UnknownNameError("score", name, list(dict.fromkeys(labels)))
    out, lacking = [], None
    for task, breakdown in breakdowns.items():
        names = tuple(s.name for s in scores[task] if s.name in take.scores or task in take.scores)
        if take.scores and not names:
            continue
        try:
            breakdown.check(take)
        except UnknownNameError as error:
            if take.scores:
                raise
            lacking = lacking or error
            continue
        if any(score.compared for score in scores[task]) or take.measure == SIMILARITY:
            names = _fitting(take, names, scores[task])
            if not names:
                continue
        _check_score(replace(take, scores=names), scores[task], sides=sides)
        out.append((task, replace(take, scores=names)))
    if lacking and not out and len(breakdowns) == len(asks):
        raise lacking
    if not out and take.measure == SIMILARITY and len(breakdowns) == len(asks):
        raise DataError("A similarity is of lists, and no answer is one.")
    return out


def _fitting(take: Take, names: tuple[str, ...], scores: Sequence[Score]) -> tuple[str, ...]:
    """Scores of a take where some are lists, which a similarity compares, and nothing else does."""
    compared = take.measure == SIMILARITY
    stray = next((score.name for score in scores if score.name in take.scores and score.compared != compared), "")
    if stray:
        reason = "a similarity is of lists" if compared else f"a list has no {take.measure}: take its similarity"
        raise DataError(f"The take of {stray!r}: {reason}.")
    return tuple(
        score.name for score in scores if score.compared == compared and (not names or score.name in names)
    )  # fmt: skip


def _check_score(take: Take, scores: Sequence[Score], *, sides: bool) -> None:
    """Refuse a take that answers with these scores do not allow."""
    is_ratio = take.measure in (MEAN, LEAN) or (take.measure == GAP and _between_answers(take))
    if not is_ratio and (
        apart := next((s for s in scores if s.leaves_out and (not take.scores or s.name in take.scores)), None)
    ):
        raise DataError(
            f"The score {apart.name!r} leaves answers out, so that it has means, leans and gaps of one group versus "
            f"another or all others, and no {_kind_of(take)}: name others with `scores`."
        )
    if take.measure == LEAN and any(s.span is None for s in scores if not take.scores or s.name in take.scores):
        raise DataError("A lean is from the middle of a scale: it needs answers with a lowest and a highest value.")
    if take.measure == LEAN and sides:
        raise DataError("Pairs side by side have a preference, for the picture beside the base, and no lean.")
    if (take.measure == PREFERENCE and not sides) or (take.measure == SHIFT and sides):
        raise DataError("A preference is one of pairs side by side, and a shift one of single pictures.")
    if take.measure == FLIP:
        taken = [score for score in scores if not take.scores or score.name in take.scores]
        if scale := next((score for score in taken if score.unit != "probability"), None):
            title = scale.title[:1].lower() + scale.title[1:]
            raise DataError(f"A flip is of an answer that counts or not; the {title} is on a scale.")
    if sides and (len(scores) > 1 or scores[0].span is None):
        raise DataError("Pairs side by side need an answer on one scale: a choice, yes or no, a rating.")


def _between_answers(take: Take) -> bool:
    """Whether a gap is between all answers of two sides, not between units' means or shifts."""
    return take.on != SHIFT and take.versus not in (LEVELS_MEAN, ALIKE) and not take.welch


def _kind_of(take: Take) -> str:
    """A take that a score which leaves answers out has not, for people."""
    if take.measure != GAP:
        return take.measure
    if take.on == SHIFT:
        return "gap on shifts"
    return "gap by Welch's test" if take.welch else f"gap versus {take.versus}"


@dataclass(frozen=True)
class Tasks:
    """All tasks of a study: whose question each trial is, and whose answer."""

    tasks: tuple[Task, ...]
    questions: tuple[Questions, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Columns that say what an estimate is of."""
        names = [name for task in self.tasks for name in task.labels if name not in (CONTRAST, DIMENSION)]
        task = [TASK] if self._several else []
        judged_by = [JUDGED_BY] if self._sortings else []
        return tuple(dict.fromkeys([*task, *names, CONTRAST, DIMENSION, *judged_by]))

    @property
    def _sortings(self) -> dict[str, Sorting]:
        """What a judge is asked, by name."""
        return {sorting.name: sorting for task in self.tasks for sorting in outside_of(task.ask.reply).judged}

    @property
    def _several(self) -> bool:
        return bool(self.tasks[0].name)

    @property
    def measures(self) -> dict[str, Measure]:
        """Definitions by name; a check that several tasks have reaches as far as in any of them."""
        out: dict[str, Measure] = {}
        for task in self.tasks:
            for name, measure in task.measures.items():
                ends = zip(measure.limits, out.get(name, measure).limits, strict=True)
                (low, other_low), (high, other_high) = ends
                out[name] = replace(measure, limits=(min(low, other_low), max(high, other_high)))
        for name, sorting in self._sortings.items():
            out |= judge_measures.measures(name, sorting.categories)
        return out

    def ask(self, frame: pl.DataFrame) -> list[Question]:
        """The question of each row of a trial frame."""
        if not self._several:
            return self.questions[0](frame)
        rows = frame.with_row_index("(row)")
        question_of_row: dict[int, Question] = {}
        for task, questions in zip(self.tasks, self.questions, strict=True):
            of_task = task.rows(rows)
            question_of_row |= zip(of_task["(row)"].to_list(), questions(of_task), strict=True)
        return [question_of_row[row] for row in range(frame.height)]

    def answer(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Scores, mass and reasons in place of text and probabilities; null where another task has the score."""
        if not self._several:
            return self.tasks[0].answer(frame)
        rows = frame.with_row_index("(row)")
        answers = [task.answer(of_task) for task in self.tasks if (of_task := task.rows(rows)).height]
        if not answers:
            answers = [self.tasks[0].answer(rows)]
        out = pl.concat(answers, how="diagonal").sort("(row)").drop("(row)")
        names = dict.fromkeys(name for task in self.tasks for name in task.columns)
        lists = {score.name for task in self.tasks for score in task.scores if score.compared}
        missing = [
            pl.lit(None, pl.String if name in lists else pl.Float64).alias(name)
            for name in names if name not in out.columns
        ]  # fmt: skip
        if any(outside_of(task.ask.reply) for task in self.tasks):
            kinds = {TEXT: pl.String(), ENTRIES: pl.List(pl.String())}
            out = out.with_columns(pl.lit(None, kinds[name]).alias(name) for name in kinds if name not in out.columns)
        return out.with_columns(missing).select(*(name for name in out.columns if name not in names), *names)

    def __call__(self, answers: Mapping[str, Iterator[pl.DataFrame]]) -> pl.DataFrame:
        """Estimate everything, per model and, with several models, for their mean."""
        gathered = {model: self._gather(chunks) for model, chunks in answers.items()}
        tables = [
            task.estimate({model: scores[task.name] for model, scores in gathered.items()}, self.labels)
            for task in self.tasks
        ]
        return pl.concat(tables)

    def _gather(self, chunks: Iterator[pl.DataFrame]) -> dict[str, dict[str, Aggregate]]:
        """Gather one model's answers by task and score."""
        gatherings = {task.name: Gathering(task.axes, task.columns, np.float64) for task in self.tasks}
        for chunk in chunks:
            for task in self.tasks:
                gatherings[task.name].add(task.rows(chunk))
        return {name: gathering.aggregates() for name, gathering in gatherings.items()}
