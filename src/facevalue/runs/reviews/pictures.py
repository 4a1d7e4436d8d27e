"""Pictures before people: what is asked of whom, samples of them as they were shown, what people said."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from facevalue.annotations.review_cards import CardQuestion, Packet, ReviewCard, check_size, item_id, view
from facevalue.errors import DataError, FaceValueError
from facevalue.measures.cluster_bootstrap import LEVEL
from facevalue.measures.estimates import complete_columns, stack_estimates
from facevalue.parquet import read_table
from facevalue.places import MAKING_FOLDER
from facevalue.protocol.making import (
    EDITED,
    IMAGE,
    MADE,
    PATH,
    PROMPT,
    SOURCE,
    USUAL,
    PictureQuestion,
    PictureQuestions,
)
from facevalue.protocol.making import SHOWN as SHOWN_QUESTION
from facevalue.protocol.making_study import MADE_FOR, MAKING, picture_plan
from facevalue.protocol.page import AGREEMENT, FACTOR, FINE, PRINTED, QUESTION, SHOWN, TICKED
from facevalue.runs.pictures import load_shown
from facevalue.runs.reviews.outcomes import RATINGS_FOLDER, read_kept
from facevalue.runs.reviews.rated_pictures import (
    PictureAnswers,
    RatedPictures,
    pair_answers,
    pair_cards,
    rated_pictures,
)
from facevalue.runs.stored_run import StoredRun, answers
from facevalue.stimuli.images import image_files
from facevalue.store.files import STIMULI
from facevalue.studies.declared.pictures import PROTOCOL as CHECKS
from facevalue.studies.offers import making_offer

TITLE = "Are these pictures as asked for?"
INSTRUCTIONS = (
    "A computer made these pictures, or changed them, for studies of how machines judge people by their looks. Before "
    "anybody relies on them, people look at some: is what was asked for to be seen, and nothing else?",
    "A picture does not tell who a person is: judge by what it shows.",
)


@dataclass(frozen=True)
class PictureSet:
    """Pictures that were made, and what people are asked about them.

    Attributes
    ----------
    root:
        Folder of the list.
    pictures:
        The list.
    unit, groups:
        Columns of what was sampled, and of who is shown.
    questions:
        What is asked.
    note:
        What people should be prepared to see.
    loaded:
        From the path of a picture to its bytes; by default they are files, and lie below `root`.
    """

    root: Path
    pictures: pl.DataFrame
    unit: str
    groups: tuple[str, ...]
    questions: PictureQuestions
    note: str = ""
    loaded: Callable[[str], bytes] | None = None

    @classmethod
    def from_run(cls, run: StoredRun, table: pl.DataFrame | None = None) -> "PictureSet":
        """The pictures that a making made; `table`: of these, if not of those that its folder lists.

        Raises
        ------
        DataError
            The run made none.
        """
        if run.study.name != MAKING:
            raise DataError(
                f"{run.place} is a run of {run.study.name}: it made no pictures. Name a folder of `facevalue make`."
            )
        root = run.folder.parent
        plan, pictures = picture_plan(run.study), _read_list(root / STIMULI) if table is None else table
        missing = {IMAGE, PATH, PROMPT, SOURCE, plan.unit, *plan.groups} - set(pictures.columns)
        if missing or not pictures.height:
            reason = f"has no column {min(missing)!r}" if missing else "is empty"
            raise DataError(f"{root / STIMULI} {reason}: the same `facevalue make` writes it again.")
        offer = making_offer(str(run.study.options[MADE_FOR]))
        questions = (offer.questions if offer is not None else None) or USUAL
        note = offer.note if offer is not None else ""
        return cls(root, pictures, plan.unit, plan.groups, questions, note)

    @cached_property
    def items(self) -> pl.DataFrame:
        """A row per answer that there can be: `item`, `question`, `fine`, and the picture's id, unit and groups."""
        paths = dict(self.pictures.select(IMAGE, PATH).iter_rows())
        columns = [PATH, SOURCE, PROMPT, IMAGE]
        frames = []
        for question in self.questions.questions:
            rows = self.pictures.filter(_pictures_of_question(question, self.pictures))
            for name in question.items:
                items = [
                    picture_item(path, paths.get(source, "") if source else "", prompt or "", name)
                    for path, source, prompt, _ in rows.select(columns).iter_rows()
                ]
                about = rows.select(*dict.fromkeys((IMAGE, self.unit, *self.groups)))
                frames.append(
                    about.with_columns(
                        item=pl.Series(items, dtype=pl.String), question=pl.lit(name), fine=pl.lit(question.fine)
                    )
                )
        return pl.concat(frames).unique("item", keep="first", maintain_order=True)

    def rate_pictures(self, ratings: pl.DataFrame) -> RatedPictures:
        """Summarise ratings of these pictures, and of pairs of them."""
        answers = PictureAnswers.from_ratings(ratings, self.items, self.unit, self.groups)
        question = self.questions.pairs
        pairs = None if question is None else pair_answers(ratings, self.pictures, question)
        return rated_pictures(ratings, answers, pairs, self.questions)

    def sample(self, size: int, seed: int) -> pl.DataFrame:
        """Draw pictures, each group by its share: the same ones each time."""
        edited = pl.col(SOURCE).is_not_null().alias("_edited")
        shuffled = self.pictures.sort(IMAGE).sample(fraction=1.0, shuffle=True, seed=seed)
        ordered = shuffled.sort(edited, *self.groups, maintain_order=True, nulls_last=True)
        size = min(size, ordered.height)
        start = np.random.default_rng(seed).random()
        places = ((np.arange(size) + start) * ordered.height / size).astype(np.int64)
        return ordered[places].sample(fraction=1.0, shuffle=True, seed=seed)

    def cards(self, sample: pl.DataFrame) -> Iterator[ReviewCard]:
        """Pictures of a sample with what is asked about each; those of which nothing is asked are left out."""
        paths = dict(self.pictures.select(IMAGE, PATH).iter_rows())
        subjects = {
            question.name: set(sample.filter(_pictures_of_question(question, sample))[IMAGE])
            for question in self.questions.questions
        }
        for image, path, source, prompt in sample.select(IMAGE, PATH, SOURCE, PROMPT).iter_rows():
            origin, text = paths.get(source, "") if source else "", prompt or ""
            questions = tuple(
                _card_question(question, path, origin, text)
                for question in self.questions.questions
                if image in subjects[question.name]
            )
            if questions:
                pictures = ((origin, "Before"), (path, "After")) if origin else ((path, ""),)
                yield ReviewCard(questions, (("Asked for", text),) if text else (), pictures, phase=1)

    def packet(self, size: int, seed: int) -> Packet:
        """A packet of a sample of pictures, and of as many pairs.

        Pairs stand first: whoever has seen what was asked for could tell them by that.

        Raises
        ------
        DataError
            More than a page holds, or a picture that is missing or cannot be read.
        """
        question = self.questions.pairs
        pairs = [] if question is None else list(pair_cards(self.pictures, question, size, seed))
        cards = (*pairs, *self.cards(self.sample(size, seed)))
        names = list(dict.fromkeys(name for card in cards for name, _ in card.pictures))
        packet = Packet("picture", TITLE, INSTRUCTIONS, cards, self.note)
        check_size(packet)
        load = self.loaded or image_files(self.pictures, self.root).read
        return replace(packet, views={name: view(load(name), name) for name in names})


def _read_list(path: Path) -> pl.DataFrame:
    """The list of pictures that were made."""
    try:
        return read_table(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{path} cannot be read: {str(error).splitlines()[0]}. The same `facevalue make` writes it again."
        ) from None


def picture_item(path: str, source: str, prompt: str, question: str) -> str:
    """Name of a question about a picture, which follows from these alone.

    Examples
    --------
    >>> picture_item("a.png", "", "An old man", "identity")
    'p-29dc4c6148'
    """
    return item_id("p", (path, source, prompt, question))


def _pictures_of_question(question: PictureQuestion, pictures: pl.DataFrame) -> pl.Expr:
    """Expression for the pictures that a question is about."""
    of = {MADE: pl.col(SOURCE).is_null(), EDITED: pl.col(SOURCE).is_not_null()}.get(question.of, pl.lit(value=True))
    if not question.column:
        return of
    return of & pl.col(question.column).is_not_null() if question.column in pictures.columns else pl.lit(value=False)


def _card_question(question: PictureQuestion, path: str, source: str, prompt: str) -> CardQuestion:
    items = [picture_item(path, source, prompt, name) for name in question.items]
    if not question.several:
        return CardQuestion(question.text, items[0])
    return CardQuestion(question.text, several=tuple(zip(items, question.several, strict=True)))


# What people said of pictures that were made, as estimates of the run that made them, or of one that checked them.


_LABELS = (QUESTION, FACTOR, SHOWN, PRINTED)


def rated_in(run: StoredRun) -> RatedPictures | None:
    """Ratings by people of the pictures that a run made or checked; None where nobody looked."""
    making = _making(run)
    ratings = None if making is None else read_kept(making.folder)
    if making is None or ratings is None:
        return None
    people = PictureSet.from_run(making).rate_pictures(ratings)
    return people if people.questions.height else None


def people_estimates(run: StoredRun, people: RatedPictures) -> pl.DataFrame:
    """Shares and agreement as estimates of a run; shares of a single unit have no interval and are left out."""
    fine = dict(people.questions.select("question", "fine").iter_rows())
    rows = list(people.questions.iter_rows(named=True))
    rows += [
        {**row, "fine": fine[row["question"]]} for row in people.groups.iter_rows(named=True) if row["low"] is not None
    ]
    constants = {"study": run.study.name, "model": run.model, "level": LEVEL, "source": "FaceValue"}
    tables = [pl.DataFrame([{**constants, **_share(row)} for row in rows], infer_schema_length=None)]
    agreement = [{**constants, **_agreement(row)} for row in rows if row["kappa"] is not None]
    tables += [pl.DataFrame(agreement, infer_schema_length=None)] if agreement else []
    return stack_estimates([complete_columns(table, _LABELS) for table in tables])


def _making(run: StoredRun) -> StoredRun | None:
    """The run that made the pictures that a run is about, beside it or beside their list; None where there is none.

    The list of pictures in object storage is a copy, beside which no making lies.
    """
    if run.study.name == MAKING:
        return run
    if run.study.name != CHECKS.name:
        return None
    for place in (run.folder.parent, Path(str(run.study.options["manifest"])).parent):
        with suppress(FaceValueError, OSError):
            if (making := StoredRun.open(place / MAKING_FOLDER)).study.name == MAKING:
                return making
    return None


def _share(row: Mapping[str, Any]) -> dict[str, object]:
    """The share of answers that speak for pictures, or of ticks."""
    measure, units = FINE if row["fine"] else TICKED, row.get("units", row.get("pictures"))
    return {
        "measure": measure, **_labels(row, "printed_share", "{:.0%}"), "value": row["share"], "low": row["low"],
        "high": row["high"], "n": row["answers"], "clusters": units, "unit": "share",
        "method": row["share_method"], "detail": row["share_detail"],
    }  # fmt: skip


def _agreement(row: Mapping[str, Any]) -> dict[str, object]:
    """Agreement beyond chance."""
    units = row.get("units", row.get("pictures"))
    return {
        "measure": AGREEMENT, **_labels(row, "printed_kappa", "{:.2f}"), "value": row["kappa"],
        "low": row["kappa_low"], "high": row["kappa_high"], "n": row["answers"], "clusters": units, "unit": "1",
        "method": row["method"], "detail": row["detail"],
    }  # fmt: skip


def _labels(row: Mapping[str, Any], printed: str, form: str) -> dict[str, str | None]:
    """Labels of an estimate, with the figure that the paper prints of the same."""
    figure = row[printed]
    return {
        QUESTION: row["question"] + (" (no)" if row["fine"] == "no" else ""), FACTOR: row.get("factor"),
        SHOWN: row.get("level"), PRINTED: None if figure is None else form.format(figure),
    }  # fmt: skip


# Estimates of runs with what people said: of statements that answers imply, and of pictures that were made.


def with_ratings(estimates: pl.DataFrame, runs: Sequence[StoredRun]) -> tuple[pl.DataFrame, list[str]]:
    """Add the ratings that lie in the folders of runs, each to the models of its run; and sentences about them."""
    offer = runs[0].study.extras.questionnaire
    sentences: list[str] = []
    for run in runs:
        pictures = rated_in(run)
        if pictures is not None:
            estimates = stack_estimates([estimates, people_estimates(run, pictures)])
            sentences.append(f"Ratings of pictures: {pictures.ratings.height:,} by {_raters(pictures.raters)}.")
        ratings = read_kept(run.folder) if offer is not None else None
        if offer is None or ratings is None:
            continue
        agreement = offer.beside(estimates.filter(pl.col("model") == run.model), ratings, run.folder)
        people, count = agreement.ratings["rater"].n_unique(), agreement.ratings.height
        summary = f"{count:,} by {_raters(people)}, from {run.folder / RATINGS_FOLDER}" if count else "none that counts"
        sentences += [*agreement.notes, f"Ratings by people: {summary}."]
        estimates = stack_estimates([estimates, agreement.rows])
    return estimates, sentences


def _raters(count: int) -> str:
    return "1 rater" if count == 1 else f"{count:,} raters"


PICTURES = (IMAGE, "image_1", "image_2")
"""Columns of answers that say which pictures were shown."""
_VARIATION, _IDENTITY, _SET = "variation", "identity", "set"
_NO_FACTORS = (IMAGE, PATH, _IDENTITY, _SET, "seed", "source", "prompt")
"""Columns of a manifest that say nothing of who is shown."""


def pictures_of(run: StoredRun) -> PictureSet:
    """The pictures of a run: those that it made, or those that it showed."""
    return PictureSet.from_run(run) if run.study.name == MAKING else shown_pictures(run)


def shown_pictures(run: StoredRun) -> PictureSet:
    """The pictures that answers of a run are about, with questions of ours.

    Where one differs from others by one thing, it stands beside the first of them: a face without the variation, or
    the first of its set.

    Raises
    ------
    DataError
        Its trials do not show single pictures of a list.
    """
    trials = _trials(run)
    listed = run.study.manifest.filter(pl.col(IMAGE).is_in(list(trials)))
    if not listed.height:
        raise DataError(
            f"{run.place} ({run.study.name}) shows no single pictures of a list: review those it joins where they were "
            "made, in a folder of `facevalue make`."
        )
    unit = next(name for name in (_SET, _IDENTITY, IMAGE) if name in listed.columns)
    factors = [name for name in listed.columns if name not in _NO_FACTORS and listed[name].dtype == pl.String]
    sources = _sources(listed, unit)
    titles = run.study.about.titles
    rows = {row[IMAGE]: row for row in listed.iter_rows(named=True)}
    prompts = [_describe_picture(row, rows.get(sources.get(image, "")), factors, titles) for image, row in rows.items()]
    table = listed.select(*dict.fromkeys((IMAGE, unit, *factors))).with_columns(
        pl.col(IMAGE).alias(PATH),
        pl.Series(SOURCE, [sources.get(image) for image in rows], pl.String),
        pl.Series(PROMPT, prompts, pl.String),
    )

    def load(image: str) -> bytes:
        picture = load_shown(run.plain(), trials[image])
        if len(picture.images) != 1:
            raise DataError(f"{image}: {picture.why or 'it was shown with others'}.")
        return picture.images[0].data

    groups = tuple(name for name in factors if name not in (_VARIATION, "attribute"))
    return PictureSet(run.folder, table, unit, groups, SHOWN_QUESTION, run.study.about.content_note, load)


def _trials(run: StoredRun) -> dict[str, int]:
    """A trial that showed each picture."""
    trials: dict[str, int] = {}
    for chunk in answers(run.plain()):
        if IMAGE not in chunk.columns:
            return {}
        first = chunk.select("trial", pl.col(IMAGE).cast(pl.String)).drop_nulls().unique(IMAGE, keep="first")
        for trial, image in first.iter_rows():
            trials.setdefault(image, trial)
    return trials


def _sources(listed: pl.DataFrame, unit: str) -> dict[str, str]:
    """Beside which picture each stands that differs from it by one thing."""
    if _VARIATION in listed.columns:
        bases = dict(listed.filter(pl.col(_VARIATION).is_null()).select(unit, IMAGE).iter_rows())
        edits = listed.filter(pl.col(_VARIATION).is_not_null())
    else:
        bases = dict(listed.unique(unit, keep="first", maintain_order=True).select(unit, IMAGE).iter_rows())
        edits = listed.filter(~pl.col(IMAGE).is_in(list(bases.values())))
    return {image: bases[of] for of, image in edits.select(unit, IMAGE).iter_rows() if of in bases}


def _describe_picture(
    row: Mapping[str, str | None],
    source: Mapping[str, str | None] | None,
    factors: list[str],
    titles: Mapping[str, Mapping[str, str]],
) -> str:
    """Describe who and what a picture is said to show; for one beside another, how it differs from that."""
    telling = [name for name in factors if row[name] is not None and (source is None or row[name] != source[name])]
    words = []
    for name in telling:
        level, of_factor = str(row[name]), titles.get(name, {})
        key = f"{row.get('attribute')}/{level}"
        words.append(f"{name.replace('_', ' ')}: {of_factor.get(key, of_factor.get(level, level))}")
    return "; ".join(words)
