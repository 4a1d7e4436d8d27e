"""Tasks: the questions of a study, each with a kind of answer of its own, and what is estimated of the answers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from facevalue.answers import NA_DTYPE
from facevalue.answers.sorting import Sorting
from facevalue.errors import DataError, UnknownNameError, error_place
from facevalue.measures.cells import Grouped, MissingBy
from facevalue.measures.definitions import Measure, rows_of
from facevalue.measures.estimates import EstimateTable, TableEntry
from facevalue.measures.judges import JUDGED_BY, SCORER_SHIFT, judge_measures, scorer_shifts
from facevalue.protocol.asks import Ask, Questions
from facevalue.protocol.instrument import SIDE_SCORE, instrument_measures
from facevalue.protocol.open_answers import NOTE, WrittenReply, outside_of
from facevalue.protocol.outside_scores import DECLINED, ENTRIES, TEXT
from facevalue.protocol.replies import FIRST, LETTER, GroupReply, Options
from facevalue.protocol.side_by_side import LEFT, SIDE
from facevalue.statistics.answer_arrays import Axes, Gathering, counted_column
from facevalue.statistics.breakdown import CONTRAST, DIMENSION, Breakdown
from facevalue.statistics.estimand import Estimand, definitions
from facevalue.statistics.group_choices import (
    GROUP,
    OTHER_GROUP,
    REASON,
    ChoiceStatistic,
    ChoiceTally,
    compare_choices,
    estimate_choices,
)
from facevalue.statistics.statistic import MOST_GROUPS, Score
from facevalue.store.schema import PICTURE_SHARE
from facevalue.types import Question

_MOST = 40  # levels of a factor that are looked at as groups
TASK = "task"
"""Column of trials and label of estimates that says which of several tasks they are of."""
SCORERS = "scorers"
"""Name by which estimands are of all scores that scorers give, where every one counts."""


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
    breakdown, estimands:
        What its answers can be broken down by, and what is estimated of them.
    sides:
        Whether pairs are shown, so that scores are turned round where the base is on the left.
    published:
        Definitions of measures by key, as the study's paper has them.
    """

    study: str
    name: str
    ask: Ask
    axes: Axes
    breakdown: Breakdown
    estimands: tuple[Estimand, ...]
    sides: bool
    published: Mapping[str, Measure] = field(default_factory=dict)

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """Scores of the answers, named as in the study."""
        return task_scores(self.name, self.ask)

    @cached_property
    def checks(self) -> dict[str, Measure]:
        """Definitions of checks of the instrument by key, without those that estimands are of."""
        names = {name for estimand in self.estimands for name in estimand.names_of(self.breakdown)}
        checks = instrument_measures(self.ask.reply, self.breakdown.sets.unit, sides=self.sides)
        return {key: measure for key, measure in checks.items() if measure.score or measure.name not in names}

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """Definitions by key."""
        ours = definitions(self.estimands, self.breakdown, self.scores) | self.checks
        return {key: self.published.get(key, measure) for key, measure in ours.items()}

    @cached_property
    def collectors(self) -> list[Any]:
        """Collections of what estimands need of answers beside scores."""
        collectors = (estimand.statistic.collector for estimand in self.estimands)
        return list(dict.fromkeys(collector for collector in collectors if collector is not None))

    def scores_of(self, estimand: Estimand) -> list[Score]:
        """Scores that an estimand is of."""
        return list(filter(estimand.is_of, self.scores))

    @property
    def labels(self) -> tuple[str, ...]:
        """Columns that say what an estimate is of."""
        further = (name for estimand in self.estimands for name in estimand.statistic.further_labels)
        return tuple(dict.fromkeys([*self.breakdown.labels, *further]))

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of answers that are gathered."""
        reply = self.ask.reply
        extra = [FIRST, LETTER] if isinstance(reply, Options) and reply.favourable is None else []
        fractions = [counted_column(score.name) for score in self.scores if score.leaves_out]
        statuses = outside_of(self.ask.reply).statuses.values()
        names = [score.name for score in self.scores]
        others = reply.columns if isinstance(reply, WrittenReply) else ()
        return (*names, *fractions, *extra, *statuses, *others, *([SIDE_SCORE] if self.sides else []))

    def gathering(self) -> Any:
        """Arrays or sums that its answers are put in, chunk by chunk."""
        return Gathering(self.axes, self.columns, np.float64)

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
        trials = frame.drop("text", "probs", PICTURE_SHARE, strict=False)
        return pl.concat([trials, scored.with_columns(pl.col("na").cast(NA_DTYPE))], how="horizontal")

    def estimate(
        self, answers: Mapping[str, Any], labels: Sequence[str], collected: Mapping[str, Mapping[Any, Any]]
    ) -> pl.DataFrame:
        """Estimate everything of the gathered answers of each model, and of several models together."""
        from facevalue.protocol.instrument import judge_instrument  # noqa: PLC0415
        from facevalue.statistics.scores import Program  # noqa: PLC0415 - scipy.stats takes a second to import

        checks = partial(
            judge_instrument, breakdown=self.breakdown, reply=self.ask.reply, scores=self.scores,
            measures=self.measures, repeats=self.axes.repeats,
            estimated=[name for estimand in self.estimands for name in estimand.names_of(self.breakdown)],
        )  # fmt: skip
        program = Program(self.study, tuple(labels), self.breakdown, self.scores, self.measures, self.estimands, checks)
        estimates = program.estimate(answers, collected)
        if not self.name:
            return estimates
        is_check = rows_of(self.checks)
        return estimates.with_columns(pl.when(is_check).then(pl.lit(self.name)).alias(TASK))


class ChoiceTask(Task):
    """A question whose answers choose between groups: sums of them by unit, in place of arrays."""

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """Definitions by key: the study's own."""
        return dict(self.published)

    def scores_of(self, estimand: Estimand) -> list[Score]:
        """Shares that an estimand is of, by the names that sums have them by."""
        return [Score(name, name, "share", 0.0, 1.0) for name in estimand.scores]

    @property
    def labels(self) -> tuple[str, ...]:
        """Columns that say what an estimate is of."""
        tally = self.gathering()
        return (*tally.within, tally.item, GROUP, OTHER_GROUP, REASON)

    @property
    def columns(self) -> tuple[str, ...]:
        """None that other tasks lack."""
        return ()

    def gathering(self) -> ChoiceTally:
        """Sums that its answers are added to."""
        reply, (item, *_) = self.ask.reply, self.ask.named_factors
        assert isinstance(reply, GroupReply)
        return ChoiceTally(reply.within, item.name, item.levels, reply.groups, reply.shown_groups(), reply.place)


def task_scores(name: str, ask: Ask) -> tuple[Score, ...]:
    """Scores of a question, named as in the study: those of a task by it.

    Examples
    --------
    >>> from facevalue.protocol import Ask, rating
    >>> task_scores("salary", Ask(("What would this person earn?",), rating(1, 5)))[0].label
    'salary'
    """
    scores = [score for score in ask.reply.scores if not score.labels]
    apart = tuple(score for score in ask.reply.scores if score.labels)  # their labels tell them from others
    if not name:
        return (*(scores if len(scores) == 1 else [replace(score, label=score.name) for score in scores]), *apart)
    names = [name] if len(scores) == 1 else [f"{name}_{score.name}" for score in scores]
    of_task = (
        replace(score, name=label, title=f"{score.title} ({name})", label=label)
        for label, score in zip(names, scores, strict=True)
    )
    return (*of_task, *apart)


def allot_estimands(
    estimands: Sequence[Estimand], breakdowns: Mapping[str, Breakdown], asks: Mapping[str, Ask], *, sides: bool
) -> dict[str, tuple[Estimand, ...]]:
    """Estimands of each task: those whose scores are its own, or, where they name none, whose factors it has.

    `breakdowns`: of the tasks that are asked. `asks`: all that are declared; what is of others alone is left out.

    Raises
    ------
    DataError, UnknownNameError
        An estimand is of what no task has, or one that its answers do not allow.
    """
    out: dict[str, list[Estimand]] = {name: [] for name in breakdowns}
    if all(isinstance(asks[name].reply, GroupReply) for name in breakdowns):
        return dict.fromkeys(breakdowns, tuple(estimands))
    scores = {name: task_scores(name, asks[name]) for name in breakdowns}
    if sides and len({(score.unit, score.span) for of_task in scores.values() for score in of_task}) > 1:
        raise DataError("Tasks about pairs side by side need answers on one scale: their preference for a side is one.")
    refused: list[Estimand] = []
    for estimand in estimands:
        try:
            with error_place(estimand.place):
                of_tasks = _of_tasks(estimand, breakdowns, asks, scores, sides=sides)
        except UnknownNameError:
            if not estimand.optional:
                raise
            refused.append(estimand)
            continue
        for task, of_task in of_tasks:
            out[task].append(of_task)
    if refused and not any(estimand.tested for of_task in out.values() for estimand in of_task):
        factors = {name for breakdown in breakdowns.values() for name in breakdown.factors}
        missing = dict.fromkeys(name for estimand in refused for name in estimand.factors if name not in factors)
        if not missing:
            with error_place(refused[0].place):
                _of_tasks(refused[0], breakdowns, asks, scores, sides=sides)  # raises what else is unknown
        raise DataError(
            f"Nothing is left to compare: what is shown has no {' or '.join(missing)} of two levels or more. Name at "
            "least one of these in a column of its list."
        )
    for name, chosen in out.items():
        if not chosen:
            answers = f"the answers to {name!r}" if name else "the answers"
            raise DataError(
                f"Nothing is estimated of {answers}: leave the task out, or say what is to be estimated of it."
            )
    return {name: tuple(chosen) for name, chosen in out.items()}


def _of_tasks(
    estimand: Estimand, breakdowns: Mapping[str, Breakdown], asks: Mapping[str, Ask],
    scores: Mapping[str, Sequence[Score]], *, sides: bool,
) -> list[tuple[str, Estimand]]:  # fmt: skip
    """Tasks that an estimand is of, with its scores there; none where it is of others than those that are asked."""
    labels = [*filter(None, asks), *(score.name for task in asks for score in task_scores(task, asks[task]))]
    labels += [SCORERS] if any(outside_of(ask.reply).all_scores for ask in asks.values()) else []
    for name in estimand.scores:
        if name not in labels:
            raise UnknownNameError("score", name, list(dict.fromkeys(labels)))
    out, lacking, of_lists = [], None, estimand.statistic.of_lists
    for task, breakdown in breakdowns.items():
        names = tuple(
            s.name
            for s in scores[task]
            if s.name in estimand.scores or (SCORERS if s.labels else task) in estimand.scores
        )
        if estimand.scores and not names:
            continue
        try:
            estimand.check(breakdown)
        except UnknownNameError as error:
            if estimand.scores:
                raise
            lacking = lacking or error
            continue
        if any(score.compared for score in scores[task]) or of_lists:
            names = _fitting(estimand, names, scores[task])
            if not names:
                continue
        chosen = replace(estimand, scores=names)
        for score in filter(chosen.is_of, scores[task]):
            chosen.statistic.check_score(score, sides=sides)
        if sides and (len(scores[task]) > 1 or scores[task][0].span is None):
            raise DataError("Pairs side by side need an answer on one scale: a choice, yes or no, a rating.")
        out.append((task, chosen))
    if lacking and not out and len(breakdowns) == len(asks):
        raise lacking
    if not out and of_lists and len(breakdowns) == len(asks):
        raise DataError("A similarity is of lists, and no answer is one.")
    return out


def _fitting(estimand: Estimand, names: tuple[str, ...], scores: Sequence[Score]) -> tuple[str, ...]:
    """Scores of an estimand where some are lists, which a similarity compares, and nothing else does."""
    compared = estimand.statistic.of_lists
    stray = next((score.name for score in scores if score.name in estimand.scores and score.compared != compared), "")
    if stray:
        reason = "a similarity is of lists" if compared else (
            f"a list has no {estimand.statistic.kind}: estimate its similarity"
        )  # fmt: skip
        raise DataError(f"The estimand of {stray!r}: {reason}.")
    return tuple(
        score.name for score in scores if score.compared == compared and (not names or score.name in names)
    )  # fmt: skip


@dataclass(frozen=True)
class Tasks:
    """All tasks of a study: whose question each trial is, and whose answer."""

    tasks: tuple[Task, ...]
    questions: tuple[Questions, ...]
    # Words for groups by which scorers are audited, where all of their scores count
    group_words: Mapping[str, str] = field(default_factory=dict)

    @property
    def labels(self) -> tuple[str, ...]:
        """Columns that say what an estimate is of."""
        names = [name for task in self.tasks for name in task.labels]
        compared = [name for name in (CONTRAST, DIMENSION) if not self.tasks[0].breakdown.shared]
        task = [TASK] if self._several and not all(task.ask.labels for task in self.tasks) else []
        judged_by = [JUDGED_BY] if self._sortings else []
        return tuple(dict.fromkeys([*task, *(name for name in names if name not in compared), *compared, *judged_by]))

    @property
    def _sortings(self) -> dict[str, Sorting]:
        """Questions that a judge is asked, by name."""
        return {sorting.name: sorting for task in self.tasks for sorting in outside_of(task.ask.reply).judged}

    @property
    def _several(self) -> bool:
        return bool(self.tasks[0].name)

    @property
    def measures(self) -> dict[str, Measure]:
        """Definitions by key; a check that several tasks have reaches as far as in any of them."""
        out: dict[str, Measure] = {}
        for task in self.tasks:
            for name, measure in task.measures.items():
                ends = zip(measure.limits, out.get(name, measure).limits, strict=True)
                (low, other_low), (high, other_high) = ends
                out[name] = replace(measure, limits=(min(low, other_low), max(high, other_high)))
        if any(outside_of(task.ask.reply).all_scores for task in self.tasks):
            published = {measure.key: measure for task in self.tasks for measure in task.published.values()}
            out[SCORER_SHIFT.key] = published.get(SCORER_SHIFT.key, SCORER_SHIFT)
        for name, sorting in self._sortings.items():
            out |= judge_measures(name, sorting.categories)
        return out

    @property
    def missing_by(self) -> MissingBy:
        """Groups of pictures by what was changed and by each factor that several units share, and questions."""
        several: dict[str, Grouped] = {}
        breakdowns = [task.breakdown for task in self.tasks]

        def is_compared(name: str, breakdown: Breakdown) -> bool:
            """Return whether pictures of all levels are asked the same, or are of the same units."""
            levels_of_tasks = {tuple(one.levels(name)) if name in one.factors else () for one in breakdowns}
            return len(levels_of_tasks) == 1 or breakdown.sets.varies(name)

        for breakdown in breakdowns:
            sets, units = breakdown.sets, len(breakdown.sets.identities)
            for name in (name for name in breakdown.factors if name not in breakdown.of_prompt):
                limit = MOST_GROUPS if name in (*sets.cue, *sets.fixed) else min(_MOST, units / 2)
                if 1 < len(breakdown.levels(name)) <= limit and is_compared(name, breakdown):
                    several[name] = Grouped.from_column(name, sets.key)
        factors = (name for task in self.tasks for name in task.breakdown.prompt_factors)
        task = [TASK] if TASK in self.labels else []
        return MissingBy(tuple(several.values()), tuple(dict.fromkeys([*task, *factors])))

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
        lists = {score.name for task in self.tasks for score in task.scores if score.compared} | {REASON, NOTE}
        missing = [
            pl.lit(None, pl.String if name in lists else pl.Float64).alias(name)
            for name in names if name not in out.columns
        ]  # fmt: skip
        if any(outside_of(task.ask.reply) for task in self.tasks):
            kinds: dict[str, pl.DataType] = {TEXT: pl.String(), ENTRIES: pl.List(pl.String())}
            if any(outside_of(task.ask.reply).all_scores for task in self.tasks):
                kinds[DECLINED] = pl.String()
            out = out.with_columns(pl.lit(None, kinds[name]).alias(name) for name in kinds if name not in out.columns)
        return out.with_columns(missing).select(*(name for name in out.columns if name not in names), *names)

    def __call__(self, answers: Mapping[str, Iterator[pl.DataFrame]]) -> pl.DataFrame:
        """Estimate everything, per model and, with several models, for their mean."""
        gathered = {model: self._gather(chunks) for model, chunks in answers.items()}
        tables = []
        for task in self.tasks:
            if not isinstance(task, ChoiceTask):
                of_task = ({model: scores[at][task.name] for model, scores in gathered.items()} for at in (0, 1))
                arrays, collected = of_task
                tables.append(task.estimate(arrays, self.labels, collected))
        if self._choices:  # tested together
            study, estimands = self._choices[0].study, self._choices[0].estimands
            of_models = {model: EstimateTable(study, model, self.labels) for model in gathered}
            tallies = {model: self._tallies(scores) for model, (scores, _) in gathered.items()}
            estimate_choices(of_models, tallies, tuple(self.measures.values()), estimands)
            tables += [table.frame() for table in of_models.values()]
        for model in answers if self._audits else ():
            table = EstimateTable(self.tasks[0].study, model, self.labels)
            for row in self._audits:
                table.add(*row)
            tables.append(table.frame())
        return pl.concat(tables)

    @cached_property
    def _audits(self) -> list[TableEntry]:
        """Shifts of each scorer's scores by the words for a group alone, where every score counts."""
        outside = [outside_of(task.ask.reply) for task in self.tasks]
        scorers = {scorer.name: scorer for scores in outside if scores.all_scores for scorer in scores.scorers}
        return [scorer_shifts(scorer, self.group_words) for scorer in scorers.values()]

    @property
    def _choices(self) -> list[ChoiceTask]:
        """Tasks whose answers choose between groups."""
        return [task for task in self.tasks if isinstance(task, ChoiceTask)]

    def _tallies(self, gathered: Mapping[str, Any]) -> list[ChoiceTally]:
        return [gathered[task.name] for task in self._choices]

    def _gather(self, chunks: Iterator[pl.DataFrame]) -> tuple[dict[str, Any], dict[str, dict[Any, Any]]]:
        """Gather one model's answers by task, and by score or as sums; and what else statistics need of them."""
        gatherings = {task.name: task.gathering() for task in self.tasks}
        collected = {
            task.name: {collector: collector.start(task.breakdown, task.axes) for collector in task.collectors}
            for task in self.tasks
        }
        for chunk in chunks:
            for task in self.tasks:
                rows = task.rows(chunk)
                for collection in (gatherings[task.name], *collected[task.name].values()):
                    collection.add(rows)
        return {name: gathering.aggregates() for name, gathering in gatherings.items()}, collected

    @property
    def are_compared(self) -> bool:
        """True if answers with and without a variant are set beside each other."""
        estimands = (estimand for task in self._choices for estimand in task.estimands)
        return any(isinstance(estimand.statistic, ChoiceStatistic) for estimand in estimands)

    def compare_variants(
        self, model: str, variant: str, plain: Iterator[pl.DataFrame], varied: Iterator[pl.DataFrame]
    ) -> pl.DataFrame:
        """Estimate how one model's answers with a variant are beside those without it."""
        table = EstimateTable(self._choices[0].study, model, self.labels, variant)
        without, with_variant = (self._tallies(self._gather(chunks)[0]) for chunks in (plain, varied))
        compare_choices(table, without, with_variant, self._choices[0].estimands)
        return table.frame()
