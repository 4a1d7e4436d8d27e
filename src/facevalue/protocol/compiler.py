"""Compilation of a protocol to a study: design, questions, answers, samples, estimates, precision."""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from facevalue.annotations.scores import Scores
from facevalue.answers.sorting import Judge
from facevalue.design import Block, Design, Factor
from facevalue.errors import DataError, UnknownNameError, error_place
from facevalue.measures.definitions import key_of
from facevalue.measures.estimates import FIXED_COLUMNS, TYPED_LABELS
from facevalue.printable import join_names
from facevalue.protocol import settings as given
from facevalue.protocol.acceptance import check_whole
from facevalue.protocol.asks import ANY, DRAW, ORDERING, WORDING, Ask, Questions
from facevalue.protocol.offers import CellComparison
from facevalue.protocol.open_answers import Text, outside_of
from facevalue.protocol.outside_scores import DECLINED, ENTRIES, TEXT
from facevalue.protocol.replies import GroupReply, Options
from facevalue.protocol.sampling import WholeUnits
from facevalue.protocol.side_by_side import SIDE, Pairs
from facevalue.protocol.sources import check_listed
from facevalue.protocol.stimuli import Folder, Listed, Rows, Stimuli
from facevalue.protocol.structured_replies import NamedList
from facevalue.protocol.study import About, Changes, Draws, Estimated, LeftOut, Planned, Reading, Scored, Study, Watched
from facevalue.protocol.tasks import TASK, ChoiceTask, Task, Tasks, allot_estimands, task_scores
from facevalue.statistics.answer_arrays import Axes
from facevalue.statistics.breakdown import CONTRAST, DIMENSION, Breakdown
from facevalue.statistics.estimand import Estimand, margins
from facevalue.statistics.precision import Precision
from facevalue.statistics.sets import NO_PICTURE, OTHER_PATH, Sets
from facevalue.stimuli.manifest_rows import Column, Faults
from facevalue.stimuli.pairs import TEXT as SHOWN_TEXT
from facevalue.types import STUDY_TEXT, OptionValue

if TYPE_CHECKING:
    from facevalue.measures.families import Preregistration
    from facevalue.prompts.variants import Variant
    from facevalue.protocol.page import Page
    from facevalue.protocol.protocol import Protocol


# Questions of rows: each picture of a list has a question of its own, with options and a key in its columns.


TEMPLATE = "template"
"""Unit of rows that were written from what was sampled."""


def texts_of_rows(sets: Sets, asks: Collection[Ask], estimands: Sequence[Estimand]) -> tuple[str, ...]:
    """Columns that are texts of the rows' questions and no factors: those that fill slots, and no estimand names.

    None where questions are crossed with pictures: columns that fill slots of a prompt alone are factors.
    """
    filling = (name for ask in asks if _is_of_rows(ask, sets) for name in ask.of_pictures)
    used = {name for estimand in estimands for name in estimand.factors}
    factors = {*used, *sets.cue}
    return tuple(dict.fromkeys(name for name in filling if name in sets.columns and name not in factors))


def check_rows(ask: Ask, sets: Sets, place: str) -> None:
    """Refuse rows whose columns make no question: `place` is the list of pictures, for people.

    Raises
    ------
    DataError
        A text is empty, a key names no option, or two options of a row cannot be told apart; names the rows.
    """
    if not _is_of_rows(ask, sets):
        return
    table, faults = sets.manifest, Faults()
    for name in ask.of_pictures:
        if name in table.columns and name not in ask.optional:
            faults.add_rows(f"{name!r} is empty", table[name].is_null())
    if isinstance(ask.reply, Options):
        _check_keys(ask, ask.reply, table, faults)
    faults.check(place)
    if sets.unit == TEMPLATE and "path" in table.columns:
        shared = table.select(pl.col(sets.key).n_unique().over("path") > 1).to_series()
        faults.add_rows("the picture is in rows of two templates, which were not sampled apart", shared, table["path"])
        faults.check(place)
    if isinstance(ask.reply, Options):
        for number, texts in enumerate(table.select(ask.option_columns).iter_rows(named=True), start=1):
            with error_place(place):
                ask.check_shown(ask.reply, {name: text or "" for name, text in texts.items()}, f"row {number}")


def _is_of_rows(ask: Ask, sets: Sets) -> bool:
    """Return whether each row asks a question of its own."""
    return bool(ask.option_columns) or (sets.unit == TEMPLATE and bool(ask.of_pictures))


def _check_keys(ask: Ask, reply: Options, table: pl.DataFrame, faults: Faults) -> None:
    """Find rows whose columns name no option of theirs, or one twice."""
    names = list(reply.texts)
    for key in reply.keys:
        if key in ask.option_columns:
            faults.add_rows(f"{key!r} names no option ({', '.join(names)})", ~table[key].is_in(names), table[key])
    for scale in reply.scales:
        for first, second in combinations([name for name in scale.slots if name in ask.option_columns], 2):
            faults.add_rows(f"{first!r} and {second!r} name one option", table[first] == table[second], table[first])


# Columns that a declared study reads of a list of the user's own pictures.


def columns_of(stimuli: Stimuli, asks: Collection[Ask], estimands: Collection[Estimand]) -> tuple[Column, ...]:
    """Columns to read of a list of the user's own pictures: slots of prompts that it fills, factors of estimands."""
    if not isinstance(stimuli, Listed) or isinstance(stimuli, Folder):
        return ()
    columns = {column.name: column for column in stimuli.columns}
    for name in (name for ask in asks if not ask.pictures for name in ask.of_pictures):
        columns.setdefault(name, Column(name, "fills the slot of the prompt", needed=True, filled=True))
    for name in (name for ask in asks for name in ask.pictures):
        columns.setdefault(name, Column(name, "says which questions are asked about the picture"))
    of_questions = {column.name for ask in asks for factor in ask.factors() for column in factor.columns()}
    for estimand in sorted(estimands, key=lambda estimand: estimand.optional):
        compared = estimand.statistic.factors
        for name in (*compared, *estimand.by):
            if name not in of_questions and name not in (TASK, *columns):
                role = "group" if name in compared and not stimuli.cue else ""
                meaning = "answers are compared by it" if name in compared else "estimates are broken down by it"
                columns[name] = Column(name, meaning, needed=not estimand.optional, role=role)
    return tuple(columns.values())


def check_columns(
    stimuli: Stimuli, columns: Collection[Column], table: pl.DataFrame, options: Mapping[str, OptionValue]
) -> None:
    """Refuse a list of the user's own pictures that lacks columns which estimands or slots of a study need.

    Those that the pictures themselves need were checked when the list was read; its table may no longer have them.
    """
    read_before = {column.name for column in stimuli.columns} if isinstance(stimuli, Listed) else set()
    absent = (column for column in columns if column.name not in {*read_before, *table.columns})
    check_listed(table, absent, options, (OTHER_PATH, SIDE))


# Choice of what a declared study plans for: the first of its tests that a planner can say something of.


_ONLY_DESCRIBED = "it estimates nothing that is tested: {} have intervals, and no effect that is detected"
_NO_ENDS = (
    "its scores have no lowest and highest value, or its only tests are spreads, correlations, or ranges of one reply "
    "each"
)


def precision(tasks: Sequence[Task], design: Design) -> tuple[Precision | None, str]:
    """Describe the first test that can be planned for to the planner; and say why none is, or what else there is."""
    estimands = [(task, estimand) for task in tasks for estimand in task.estimands]
    tested = [(task, estimand) for task, estimand in estimands if estimand.tested]
    statistics = [estimand.statistic for _, estimand in estimands]
    notes = dict.fromkeys(estimand.statistic.plan_sentence(task.breakdown) for task, estimand in tested)
    sentences = " ".join(filter(None, notes))
    levels = [statistic for statistic in statistics if not (statistic.says_difference or statistic.is_level)]
    described = list(dict.fromkeys(statistic.plural or f"{statistic.kind}s" for statistic in levels))
    if not tested:
        return None, _ONLY_DESCRIBED.format(join_names(["means", *described]))
    for task, estimand in tested:
        plan = estimand.statistic.precision(estimand, task, task.scores_of(estimand)[0], design)
        if plan is not None:
            text = _describe_unplanned(estimand, [rival for _, rival in tested], described)
            return replace(plan, unplanned=" ".join(filter(None, (text, sentences)))), ""
    return None, " ".join(filter(None, (f"{_NO_ENDS}.", sentences))).removesuffix(".")


def _describe_unplanned(planned: Estimand, tested: Sequence[Estimand], described: Sequence[str]) -> str:
    families = dict.fromkeys(rival.family_name for rival in tested if rival.family_name != planned.family_name)
    sentences = []
    if families:
        names = ", ".join(repr(name) for name in families)
        sentences.append(f"That is of the tests called {planned.family_name!r}; of {names} it says nothing.")
    if described:
        text = join_names(described)
        sentences.append(f"{text[:1].upper()}{text[1:]} are described and not tested: no effect of them is detected.")
    return " ".join(sentences)


# Choice of what two runs of a study are compared by, from its estimands.


def compared_estimands(declared: CellComparison, tasks: Sequence[Task]) -> CellComparison:
    """Return what is declared; else the effects that lead the page, and besides them means and what has no direction.

    Of several estimands of one measure about one factor, such as shifts by cue and shifts by cue and job, the first
    gives the cells, as it is what the page leads with. Without any effect the means are compared, those of answers on a
    scale first. Without means, too, nothing is named.
    """
    if declared.measures:
        return declared
    effects: dict[str, None] = {}
    families: dict[tuple[str, str], str] = {}
    means: dict[str, bool] = {}
    also: dict[str, None] = {}
    for task in tasks:
        for estimand in task.estimands:
            for score in task.scores_of(estimand):
                name = estimand.name_of(task.breakdown)
                key = key_of(name, score.label)
                if estimand.statistic.is_effect and estimand.tested:
                    effects[key] = None
                    families.setdefault((key, estimand.compared_factor), estimand.family_name)
                elif not estimand.statistic.is_level:
                    also[key] = None
                    if estimand.statistic.of_lists:
                        also[key_of(estimand.statistic.companions(name)[0], score.label)] = None
                else:
                    means.setdefault(key, score.span is None)
    ordered = sorted(means, key=lambda key: means[key])
    if not effects:
        return replace(declared, measures=tuple(ordered), also=(*declared.also, *also))
    return replace(
        declared,
        measures=tuple(effects),
        families=tuple(dict.fromkeys(families.values())),
        also=(*declared.also, *ordered, *also),
    )


_CARRIED_NOT = ("image", "path", OTHER_PATH, "seed")
_RESERVED = frozenset(FIXED_COLUMNS) | frozenset(TYPED_LABELS) | frozenset((CONTRAST, DIMENSION))
_ANSWERS = frozenset(("weight", "mass", "na", "reply", "repeat", "status", "trial", "block", "text", "probs", DRAW))
TAKEN = _RESERVED | _ANSWERS
"""Names that no factor can have."""


def compile_study(protocol: "Protocol", options: Mapping[str, OptionValue], manifest: pl.DataFrame | None) -> Study:
    """Make the study of a protocol that says what is shown, asked and taken."""
    stimuli = protocol.stimuli
    assert stimuli is not None
    given_names = tuple(options)
    options = stimuli.with_paths(options)
    with error_place(_where_listed(protocol, options)):
        table = stimuli.table(options) if manifest is None else _check_stored_manifest(manifest)
    sets = stimuli.sets(table)
    asks, unasked = _drop_unshown(_select_tasks(protocol.asks, options), sets)
    if protocol.estimands_of is not None:
        protocol = replace(protocol, estimands=tuple(protocol.estimands_of(sets)), estimands_of=None)
    if manifest is None and not any(ask.where for ask in asks.values()):  # the user has seen no file of the study
        check_columns(stimuli, columns_of(stimuli, asks.values(), protocol.estimands), table, options)
    levelled = [
        *(name for estimand in protocol.estimands for name in estimand.only),
        *(name for ask in asks.values() for name in ask.from_pictures.values()),
    ]
    sets = replace(
        sets, texts=(*sets.texts, *texts_of_rows(sets, asks.values(), protocol.estimands)),
        fixed=(*sets.fixed, *levelled),
    )  # fmt: skip
    for name in ("image", sets.key, *sets.cue):
        if name not in table.columns or (table[name].null_count() and name not in sets.cue):
            raise DataError(f"The table of pictures has no {name!r} in some row: it is not of this study.")
    sides, seeds = isinstance(stimuli, Pairs), given.seeds(options)
    shared, published = protocol.shared_labels, {measure.key: measure for measure in protocol.measures}
    breakdowns = {
        name: Breakdown(sets.narrow(ask.pictures), ask.question_factors, shared=shared) for name, ask in asks.items()
    }
    for name, ask in asks.items():
        _check_labels(breakdowns[name], ask, name)
    estimands = allot_estimands(protocol.estimands, breakdowns, protocol.asks, sides=sides)
    tasks = []
    for name, ask in asks.items():
        axes = Axes(
            breakdowns[name].sets.manifest["image"].to_list(), ask.question_codes, list(ask.reply.orderings),
            len(seeds) * ask.replies, _items(ask), ask.replies,
        )  # fmt: skip
        kind = ChoiceTask if isinstance(ask.reply, GroupReply) else Task
        tasks.append(kind(protocol.name, name, ask, axes, breakdowns[name], estimands[name], sides, published))
    left_out = (*stimuli.left_out(options), *unasked) if manifest is None else stimuli.left_out_of(table)
    place = Path(str(options.get("manifest") or options.get("folder") or "rows")).name
    if manifest is None:  # of a run that has begun all is taken as it stands
        check_whole([task for task in tasks if not isinstance(task, ChoiceTask)], protocol.max_tokens)
        for task in tasks:
            check_rows(task.ask, task.breakdown.sets, place)
    questions = []
    for task in tasks:
        pictures = task.breakdown.sets
        picture_slots = task.ask.shown(list(dict.fromkeys([*task.breakdown.factors, *pictures.columns])))
        if manifest is None:
            needed = [name for name in task.ask.of_pictures if name not in task.ask.optional]
            _check_filled(pictures.manifest, needed, place)
        questions.append(Questions(task.ask, picture_slots, {**task.ask.labels, **task.ask.reply.instructions}))
    design = _design(
        table, tasks, protocol.counted_by, text=isinstance(stimuli, Rows) or options.get("shown") == SHOWN_TEXT
    )
    analysis = Tasks(tuple(tasks), tuple(questions), _group_words(protocol, table))
    measures = tuple({**published, **analysis.measures}.values())
    page = protocol.page if protocol.page_of is None else partial(protocol.page_of, sets)
    if page is not None:
        from facevalue.protocol.page import check_page  # noqa: PLC0415 - scipy.stats takes a second to import

        check_page(page(), measures, (*analysis.labels, *TYPED_LABELS, "model"))
    scores = [score for task in tasks for score in task.scores]
    bounded = {score.name: (pl.col(score.name) - score.low) / score.span for score in scores if score.span}
    planned, unplanned = precision(tasks, design)
    stored: dict[str, OptionValue] = {STUDY_TEXT: protocol.text} if protocol.text else {}
    subject = stimuli.subject(table) if isinstance(stimuli, Listed) else ""
    return Study(
        name=protocol.name,
        version=protocol.version,
        about=About(protocol.title, protocol.citation, protocol.content_note, protocol.titles, subject),
        options={**options, **stored},
        manifest=table,
        design=design,
        draws=Draws(
            seeds, given.sampling({"top_p": 1.0, "max_tokens": protocol.max_tokens, **options}), protocol.reasks
        ),
        source=stimuli.source(table, options),
        ask=analysis.ask,
        sample=WholeUnits(
            design, sets,
            {task.name: (_items(task.ask), len(task.ask.reply.orderings) * task.ask.replies) for task in tasks},
            "one unit asked one question", "Use fewer seeds." if len(seeds) > 1 else "",
        ),
        answer=analysis.answer,
        reading=protocol.reading or _reading(protocol, asks, {name: options[name] for name in given_names}, table),
        analyse=analysis,
        estimates=Estimated(
            measures=measures,
            labels=analysis.labels,
            lead=protocol.lead
            or tuple(dict.fromkeys(one.family_name for task in tasks for one in task.estimands if one.tested)),
            declared=_declare_families(protocol, tasks),
        ),
        planned=Planned(
            left_out=left_out, unshown=stimuli.reason_not_shown(options), precision=planned, unplanned=unplanned,
            counted_by=tuple(name for name in protocol.counted_by if name not in table.columns),
        ),
        asked_together=(sets.key,),
        watched=protocol.watched
        or Watched(
            missing_by=analysis.missing_by,
            followed=bounded if len(bounded) != 1 else {"": next(iter(bounded.values()))},
        ),
        changes=replace(
            protocol.changes or Changes(), alike=analysis.compare_variants if analysis.are_compared else None
        ),
        extras=replace(protocol.extras, compare=compared_estimands(protocol.extras.compare, tasks)),
        page=page or partial(_page, analysis, asked_variants(protocol, asks)),
    )  # fmt: skip


def _check_filled(table: pl.DataFrame, slots: Sequence[str], place: str) -> None:
    """Refuse pictures that lack what fills a slot."""
    for name in slots:
        if table[name].null_count():
            image = table.filter(pl.col(name).is_null())["image"][0]
            raise DataError(f"{place}: {image} has no {name!r}, which fills a slot.")


def _check_stored_manifest(manifest: pl.DataFrame) -> pl.DataFrame:
    """A run's table of stimuli, which may come from a stranger."""
    if not manifest.height or any(kind != pl.String for kind in manifest.dtypes):
        raise DataError("The table of pictures is empty or holds more than texts: it is not of this study.")
    return manifest


def _select_tasks(asks: Mapping[str, Ask], options: Mapping[str, OptionValue]) -> dict[str, Ask]:
    """The tasks and, of each, the levels that the user chose."""
    names = given.names(options, TASK) if TASK in options else ()
    tasks = given.chosen(TASK, names, list(asks)) if names else list(asks)
    levels: dict[str, list[str]] = {}
    for task in tasks:
        for factor in asks[task].named_factors:
            levels[factor.name] = list(dict.fromkeys([*levels.get(factor.name, ()), *factor.levels]))
    chosen = {
        name: given.chosen(name, names, declared_levels)
        for name, declared_levels in levels.items()
        if (names := given.names(options, name) if name in options else ())
    }
    narrowed = {task: asks[task].narrow(chosen) if chosen else asks[task] for task in tasks}
    return {task: replace(ask, draws=ask.choose_draws(options)) for task, ask in narrowed.items()}


def _drop_unshown(asks: Mapping[str, Ask], sets: Sets) -> tuple[dict[str, Ask], tuple[LeftOut, ...]]:
    """The tasks that there are pictures for, and those of a published study that there are none for.

    Raises
    ------
    DataError
        There are none for any task.
    UnknownNameError
        A study's file names a column or a level that no picture has.
    """
    omissions: dict[str, LeftOut] = {}
    why = ""
    for task, ask in asks.items():
        with error_place(next(filter(None, map(ask.place_of, ask.pictures)), ask.where)):
            for name, levels in ask.pictures.items() if ask.where else ():
                if name not in sets.columns:
                    raise UnknownNameError("column of the pictures", name, sets.columns)
                for level in levels:
                    if level not in (ANY, *sets.levels(name)):
                        raise UnknownNameError(f"level of {name}", level, sets.levels(name))
            if {*ask.pictures} <= {*sets.columns} and sets.narrow(ask.pictures).manifest.height:
                continue
            names = join_names([name.replace("_", " ") for name in ask.pictures])
            omissions[task] = LeftOut(f"the task {task!r}", f"No picture has the {names} that it is asked about.")
            why = f"no picture has the {names} that the task {task!r} is asked about."
            if ask.where:
                raise DataError(f"No{why[2:]}")
    if len(omissions) == len(asks):
        raise DataError(f"Nothing is left to ask: {why}")
    return {task: ask for task, ask in asks.items() if task not in omissions}, tuple(omissions.values())


def asked_variants(protocol: "Protocol", tasks: Collection[str]) -> "list[Variant]":
    """Variants of a protocol that are of any of these tasks."""
    return [variant for variant in protocol.variants if not variant.tasks or {*tasks} & {*variant.tasks}]


def _items(ask: Ask) -> int:
    return int(np.prod([len(factor) for factor in ask.question_factors], dtype=np.int64))


def _where_listed(protocol: "Protocol", options: Mapping[str, OptionValue]) -> str:
    """The place in the study's file that names a list of pictures which is not there; empty where there is one."""
    manifest = next((setting for setting in protocol.settings if setting.name == "manifest" and setting.default), None)
    if manifest is None or options.get("manifest") != manifest.default or Path(str(manifest.default)).exists():
        return ""
    return manifest.place


def _check_labels(breakdown: Breakdown, ask: Ask, task: str) -> None:
    """Refuse factors whose name means something else in the tables of answers and estimates."""
    scores = {*(score.name for score in task_scores(task, ask)), *([TASK] if task else [])}
    columns = [name for name in breakdown.sets.manifest.columns if name not in _CARRIED_NOT]
    for name in [*columns, *breakdown.of_prompt]:
        with error_place(ask.place_of(name)):
            if name in _RESERVED:
                raise DataError(f"No factor can be called {name!r}, which is a column of the estimates. Rename it.")
            if name in _ANSWERS or name in scores or (name == ORDERING and name in columns):
                raise DataError(f"No factor can be called {name!r}, which is a column of the answers. Rename it.")
            if [*columns, *breakdown.of_prompt].count(name) > 1:
                place = "wordings of the prompt" if name == WORDING else "slots and items of the prompt"
                raise DataError(f"The factor {name!r} is one of the pictures and of the {place}. Rename one of them.")


def _reading(
    protocol: "Protocol", asks: Mapping[str, Ask], options: Mapping[str, OptionValue], table: pl.DataFrame
) -> Reading:
    """Define the reading of texts with the verdicts of a judge and the scores of scorers."""
    outside = {task: outside_of(ask.reply) for task, ask in asks.items()}

    def bound(judge: Judge | None, scorers: Sequence[Scores]) -> Study:
        of_tasks = {task: _bound(ask, judge, scorers) for task, ask in protocol.asks.items()}
        questions = {"ask": of_tasks[""]} if protocol.ask is not None else {"tasks": of_tasks}
        return replace(protocol, **questions).study(options, table)

    scored = [task for task, scores in outside.items() if scores.scored or scores.all_scores]
    if not any(outside.values()):
        return Reading()
    texts = dict.fromkeys(ENTRIES if isinstance(asks[task].reply, NamedList) else TEXT for task in scored)
    of_scored = pl.col(TASK).cast(pl.String).is_in(scored) if protocol.tasks else pl.lit(value=True)
    words = _group_words(protocol, table)
    declined = [DECLINED] if any(scores.all_scores for scores in outside.values()) else []
    return Reading(
        judged=(lambda judge: bound(judge, ())) if any(scores.judged for scores in outside.values()) else None,
        sortings=tuple(dict.fromkeys(sorting for scores in outside.values() for sorting in scores.judged)),
        scored=Scored(of_scored, words, lambda scorers: bound(None, scorers), (*texts, *declined), _fills(asks))
        if scored
        else None,
    )


def _fills(asks: Mapping[str, Ask]) -> dict[str, tuple[float, float]]:
    """Least and greatest value of scores that scorers give, by the name that they have in the study."""
    out = {}
    for task, ask in asks.items():
        given_names = {scored.name for scored in outside_of(ask.reply).scored}
        for score, score_of_study in zip(ask.reply.scores, task_scores(task, ask), strict=True):
            if score.name in given_names:
                out[score_of_study.name] = (score.low, score.high)
    return out


def _bound(ask: Ask, judge: Judge | None, scorers: Sequence[Scores]) -> Ask:
    """The question with what was judged and scored of its replies, beside what is known already."""
    reply = ask.reply
    if not isinstance(reply, Text | NamedList) or not reply.outside:
        return ask
    outside = reply.outside
    return replace(ask, reply=replace(reply, outside=outside.bound(judge or outside.judge, scorers or outside.scorers)))


def _group_words(protocol: "Protocol", table: pl.DataFrame) -> dict[str, str]:
    """Words that name each group: wordings of the levels of the factors of pictures that estimands name, or others."""
    if protocol.stimuli is not None and (others := protocol.stimuli.group_words(table)):
        return dict(others)
    names = dict.fromkeys(name for estimand in protocol.estimands for name in estimand.factors if name in table.columns)
    words: dict[str, str] = {}
    for name in names:
        titles = protocol.titles.get(name, {})
        words |= {level: titles.get(level, level) for level in table[name].drop_nulls().unique(maintain_order=True)}
    return words


def _design(table: pl.DataFrame, tasks: Sequence[Task], counted_by: Sequence[str], *, text: bool) -> Design:
    """Bases, second bases and all others in blocks of their own, by the levels of some columns, for each task."""
    by = [name for name in counted_by if name in table.columns]
    pictures: dict[int, list[tuple[str, dict[str, str], Factor]]] = {}
    blocks = []
    for task in tasks:
        sets = task.breakdown.sets
        if id(sets) not in pictures:
            pictures[id(sets)] = _picture_blocks(sets, by)
        for number, (kind, levels, listed) in enumerate(pictures[id(sets)]):
            bare = text or (kind == "bases" and sets.base_level == NO_PICTURE)
            constants = levels | ({"shown": "text"} if bare else {}) | ({TASK: task.name} if task.name else {})
            constants |= task.ask.labels
            words = [level for name, level in levels.items() if kind == "pictures" or name not in sets.cue]
            label = f"rows {number}" if text else " ".join(words if words and kind == "pictures" else [*words, kind])
            label = f"{task.name}: {label}" if task.name else label
            is_base, is_second_base = kind == "bases", kind == "second bases"
            image = _with_picture_factors(listed, task.ask)
            blocks.append(Block(label, (image,), task.ask.factors(), constants, is_base, is_second_base))
    return Design(tuple(blocks))


def _with_picture_factors(image: Factor, ask: Ask) -> Factor:
    """Pictures with the levels of the question's factors that are theirs."""
    columns = dict(image.attributes)
    for name, factor in ask.picture_factors.items():
        places = {level: place for place, level in enumerate(factor.levels)}
        with error_place(ask.place_of(name) or ask.where):
            if strange := next((level for level in columns[name] if level not in places), None):
                raise UnknownNameError(f"level of {name}", strange, factor.levels)
        at = [places[str(level)] for level in columns[name]]
        columns |= {column.name: tuple(column.values[place] for place in at) for column in factor.columns()}
    return replace(image, attributes=columns)


def _picture_blocks(sets: Sets, by: Sequence[str]) -> list[tuple[str, dict[str, str], Factor]]:
    """Kind of the pictures of each block, the levels of `by` that all of them have, and these pictures."""
    table, by = sets.manifest, [name for name in by if name in sets.manifest.columns]
    carried = [name for name in table.columns if name not in (*_CARRIED_NOT, *by)]
    bases, controls = sets.base[sets.base >= 0], sets.control[sets.control >= 0]
    rest = np.setdiff1d(np.arange(table.height), np.concatenate([bases, controls]))
    blocks = []
    for kind, rows in (("bases", bases), ("second bases", controls), ("pictures", rest)):
        listed = table[np.sort(rows)]
        for key, pictures in listed.group_by(by, maintain_order=True) if by else [((), listed)] if rows.size else ():
            levels = {name: str(level) for name, level in zip(by, key, strict=True) if level is not None}
            columns = {column: tuple(pictures[column]) for column in carried}
            blocks.append((kind, levels, Factor("image", tuple(pictures["image"]), columns)))
    return blocks


def _page(analysis: Tasks, variants: "Sequence[Variant]") -> "Page":
    """Page of the report where the protocol declares none."""
    from facevalue.protocol.default_page import page_of  # noqa: PLC0415 - scipy.stats takes a second to import

    return page_of(analysis.tasks, variants)


def _declare_families(protocol: "Protocol", tasks: Sequence[Task]) -> "Callable[[], Preregistration] | None":
    """Confirmatory families and margins of the estimands, as what was declared before the run."""
    limits = {
        name: margin for task in tasks for name, margin in margins(task.estimands, task.breakdown, task.scores).items()
    }
    confirmed = [
        (task, estimand) for task in tasks for estimand in task.estimands if estimand.confirmatory and estimand.tested
    ]
    if not limits and not confirmed:
        return None
    counts = Counter(estimand.family_name for task, estimand in confirmed for _ in task.scores_of(estimand))

    def declare() -> "Preregistration":
        from facevalue.measures.families import ALPHA, Family, Preregistration  # noqa: PLC0415 - slow to import

        families = []
        for task, estimand in confirmed:
            breakdown = task.breakdown
            for score in task.scores_of(estimand):
                levels: dict[str, tuple[str, ...] | None] = dict.fromkeys(breakdown.factors)
                levels |= {name: tuple(estimand.only.get(name, ("*",))) for name in estimand.by}
                levels |= estimand.statistic.declared_levels(breakdown)
                name = estimand.family_name
                name = f"{name} ({score.name})" if counts[name] > 1 else name
                measure = estimand.name_of(breakdown)
                levels |= {"score": (score.label,)} if score.label else {}
                families.append(Family(name, "confirmatory", measure, levels, estimand.correction, ALPHA))
        text = protocol.text or repr(protocol.estimands)
        return Preregistration(tuple(families), limits, ALPHA, hashlib.sha256(text.encode()).hexdigest(), text)

    return declare
