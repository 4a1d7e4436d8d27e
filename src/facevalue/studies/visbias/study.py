"""Declaration of VisBias: explicit questions about people in pictures, and tasks that show bias implicitly."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.annotations.group_lists import theirs
from facevalue.answers.free_text import row_per_text
from facevalue.answers.sorting import Judge
from facevalue.design import Design
from facevalue.measures.cells import Grouped, MissingBy
from facevalue.protocol.settings import Options, names, seeds, whole
from facevalue.protocol.study import About, Draws, Estimated, Planned, Reading, Study, Watched
from facevalue.statistics.precision import Precision, UnitSpread
from facevalue.stimuli.forms import Form, cyclic_forms
from facevalue.studies.visbias import parsing
from facevalue.studies.visbias.measures import LABELS, MEASURES
from facevalue.studies.visbias.parsing import attributes
from facevalue.studies.visbias.pictures import (
    FACTORS,
    PEOPLE,
    SPECIES,
    PeoplePictures,
    layout,
    photographs,
    read_pictures,
    source_of,
    spelled_out,
)
from facevalue.studies.visbias.settings import CITATION, NAME, TITLE, questions_asked, tasks_asked
from facevalue.studies.visbias.tables import ORDERED, choice_questions, genders, occupations, races
from facevalue.types import OptionValue

EVENLY = (
    "a choice that every second answer names, where the sample tells least; a pilot of your own model says how even "
    "its answers are: --pilot RUN"
)


SURE = 0.8
"""Share of a family's level at which its largest statistic is found (`permutation.LONE`, which is slow to import)."""


def choice_precision(
    design: Design, labels: pl.Series, groups: int, options: Sequence[int], ordered: Sequence[bool], task: str,
    weights: Sequence[str], families: int = 1,
) -> Precision | None:  # fmt: skip
    """Describe a study of choices to the planner; None without two groups and a question.

    Parameters
    ----------
    labels:
        Group of each picture, of those that are planned for.
    groups:
        How many groups the family compares, others (by gender besides race) included.
    options, ordered:
        Of each question, how many there are and whether they have an order.
    families:
        How many lead the page.

    Equation
    --------
    A choice that a group of n makes in a share p + d, and all in p, has z = d / sqrt(p (1 - p) (1 - 1/G) / n) for G
    groups of one size. It is found where it is the largest of all groups' and contrasts'
    (`divergence.divergences`), so at the family's level over their number, or a little sooner, as they go together.
    Two runs are compared by each group's share of each choice (`compared`), over the pictures that both show.
    """
    labels = labels.drop_nulls()
    size = labels.n_unique()
    if size < 2 or not options:
        return None
    sets = (1 + (k if k > 2 else 1) + max(k - 3, 0) * in_order for k, in_order in zip(options, ordered, strict=True))
    tests = groups * sum(sets)
    between = float(np.sqrt(1 - 1 / size))

    def units(numbers: npt.NDArray[np.int64]) -> tuple[int, float]:
        trials = design.trials(numbers, ["image", "task"]).filter(pl.col("task").cast(pl.String) == task)
        return trials["image"].n_unique(), 1.0

    def spread_of_task(chunks: Iterator[pl.DataFrame], source: str) -> UnitSpread:
        of_task = (chunk.filter(pl.col("task").cast(pl.String) == task) for chunk in chunks)
        return UnitSpread(pilot_spread(of_task, weights), 0.0, 1.0, source)

    def spread(chunks: Iterator[pl.DataFrame], source: str) -> UnitSpread:
        of_share = spread_of_task(chunks, source)
        return replace(of_share, mean=between * of_share.mean)

    smallest = float(labels.value_counts()["count"].min()) / len(labels)  # type: ignore[arg-type]
    gap = Precision(
        what=f"a gap between a group's share of a choice and the mean of all groups ({labels.name.replace('_', ' ')})",
        tests=tests,
        clusters=len(labels),
        items=1.0,
        cluster="pictures",
        item="answer to each question",
        units=units,
        spread=spread,
        default=UnitSpread(between * 0.5, 0.0, 1.0, EVENLY),
        shares=(smallest,) * tests,
        freedom=1,
        sure=SURE / families,
        each=float(len(options)),
        largest=1 - 1 / size,  # it is one of the groups in the mean
    )
    cells = groups * sum(options)
    share = replace(
        gap, what=f"a group's share of a choice ({labels.name.replace('_', ' ')})", tests=cells, spread=spread_of_task,
        default=UnitSpread(0.5, 0.0, 1.0, EVENLY), shares=(smallest,) * cells, freedom=None, sure=1.0, largest=1.0,
    )  # fmt: skip
    return replace(gap, compared=share)


def pilot_spread(chunks: Iterator[pl.DataFrame], weights: Sequence[str]) -> float:
    """SD of one answer, of the choice whose share is nearest to one half; NaN where there is none."""
    question = pl.col("question").cast(pl.String)
    sums = [chunk.group_by(question).agg(*(pl.col(c).sum() for c in weights)) for chunk in chunks]
    totals = pl.concat(sums).group_by("question").sum() if sums else pl.DataFrame()
    if totals.is_empty():
        return float("nan")
    counts = totals.select(weights).to_numpy()
    with np.errstate(invalid="ignore", divide="ignore"):
        share = counts / counts.sum(axis=1, keepdims=True)
    return float(np.nanmax(np.sqrt(share * (1 - share)))) if np.isfinite(share).any() else float("nan")


NOTE = (
    "This study asks a model for the income, education, politics and religion of people by their looks, as the "
    "published protocol does, and lists what it takes to go together. Nothing it answers is true of the people shown "
    "or of anyone."
)
LEAD = (
    *("explicit answers", "choices about species", "comparisons about species"),
    *("marked words", "shifts in forms, completed fields", "shifts in text-forms, completed fields"),
)
"""Subjects of the answer, first of all: how choices and comparisons differ between groups (section 3.1)."""
_TASKS = {
    "mcq": "Multiple choice",
    "yesno": "Comparisons",
    "description": "Descriptions",
    "form": "Forms",
    "text-form": "Forms as text",
}

PLANNED = ("race", "skin_tone", "gender")
"""Groups that are planned for: the first of these that is compared."""
FOLLOWED = {
    "yes": pl.when(pl.col("task") == "yesno").then("weight"),
    "first option": pl.when(pl.col("task") == "mcq").then("weight_1"),
}


def build(options: Mapping[str, OptionValue], manifest: pl.DataFrame | None = None) -> Study:
    """Build the study."""
    options = spelled_out(options)
    if options["stereotype_words"] and manifest is None:
        theirs(str(options["stereotype_words"]))  # so that nothing is wrong with them once everything is paid for
    pictures = read_pictures(options, manifest)
    fields = attributes(str(options["categories"]))
    forms: tuple[Form, ...] = ()
    if not {"form", "text-form"}.isdisjoint(tasks_asked(options)):
        choices = tuple((a.title, a.categories.names) for a in fields)
        forms = cyclic_forms(choices, whole(options, "forms", 1, 1000), whole(options, "form_seed", 0))
    placed = layout(pictures.kinds, pictures.groups, _filled_fields(forms), options)
    asks = parsing.asks(options, forms, fields)
    released = options["prompts"] == "released"
    images = pictures.frame["image"].to_list()

    def analyse(answers: Mapping[str, Iterator[pl.DataFrame]]) -> pl.DataFrame:
        # Here, as scipy.stats takes a second to import.
        from facevalue.measures.group_shares import people_on_images  # noqa: PLC0415
        from facevalue.studies.visbias.analysis import Asked, estimates_of  # noqa: PLC0415

        words, max_tokens = str(options["stereotype_words"]), parsing.sampling(options, "description").max_tokens
        if released:
            answers = {model: map(row_per_text, chunks) for model, chunks in answers.items()}
        setting = Asked(pictures.groups, tuple(images), fields, words, people_on_images(pictures.frame), max_tokens)
        return estimates_of(answers, setting)

    # Of images that are paired both count.
    kinds = (Grouped.from_column, Grouped.of_pairs)
    grouped = tuple(kind(name, "set", "image") for kind in kinds for name in pictures.groups)
    plain = Study(
        name=NAME,
        version=2,
        about=About(title=TITLE, citation=CITATION, content_note=NOTE, titles=_titles()),
        options=options,
        manifest=pictures.frame,
        design=placed.design,
        draws=Draws(seeds=seeds(options), sampling=parsing.sampling(options, "mcq")),
        source=source_of(options, pictures, forms),
        ask=partial(parsing.ask_questions, questions=parsing.word_questions(asks, fields)),
        sample=placed.sample,
        answer=partial(parsing.answer, by_prompt=asks),
        analyse=analyse,
        estimates=Estimated(measures=MEASURES, labels=LABELS, lead=LEAD),
        planned=Planned(
            protocol=_protocol(options, forms),
            left_out=pictures.left_out,
            counted_by=("prompt",),
            precision=_precision(placed.design, pictures, options),
        ),
        watched=Watched(followed=FOLLOWED, missing_by=MissingBy(grouped, ("task", "question"))),
        asked_together=("set", "image", "pair", "form"),
    )
    if not forms:
        return plain

    def read_with(judge: Judge) -> Study:
        return replace(plain, answer=partial(parsing.answer, by_prompt=parsing.asks(options, forms, fields, judge)))

    return replace(plain, reading=Reading(judged=read_with))


def _filled_fields(forms: tuple[Form, ...]) -> list[str]:
    """Fields filled in beforehand, as one text per form."""
    return [json.dumps(dict(form.filled)) for form in forms]


def _precision(design: Design, pictures: PeoplePictures, options: Options) -> Precision | None:
    """Choices lead the page, those by the first of `PLANNED` that is compared."""
    people = next((rows for kind, rows in pictures.kinds if kind == PEOPLE), pl.DataFrame())
    factor = next((name for name in PLANNED if name in pictures.groups and name in people.columns), None)
    if factor is None or "mcq" not in tasks_asked(options):
        return None
    questions = [question for question in choice_questions() if question.name in questions_asked(options)]
    groups = sum(people[name].n_unique() for name in pictures.groups if name in people.columns and name != SPECIES)
    choices, ordered = (
        [len(question.levels) for question in questions],
        [question.name in ORDERED for question in questions],
    )
    families = 2 if "yesno" in tasks_asked(options) else 1
    return choice_precision(design, people[factor], groups, choices, ordered, "mcq", parsing.CHOICES, families)


def _protocol(options: Options, forms: tuple[Form, ...]) -> Design | None:
    """The paper's 700 photographs, where drawings show only a part of them."""
    if options["folder"] or options["manifest"] or any(names(options, name) for name in FACTORS):
        return None
    return layout([(PEOPLE, photographs())], ("race", "gender"), _filled_fields(forms), options).design


def _titles() -> Mapping[str, Mapping[str, str]]:
    people = {level.name: level.title for level in (*races(), *genders(), *occupations())}
    return {
        "task": _TASKS,
        "question": {question.name: question.title for question in choice_questions()},
        "group": people,
        "dimension": {"race": "Race", "gender": "Gender", "skin tone": "Skin tone", "species": "Species"},
        "choice": {level: text for q in choice_questions() for level, text in zip(q.levels, q.options, strict=True)},
    }
