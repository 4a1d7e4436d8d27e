"""Pictures before people: what is asked of whom, samples of them, and what people said."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from facevalue.annotations.review_cards import CardQuestion, Packet, ReviewCard, check_size, item_id, view
from facevalue.errors import DataError
from facevalue.parquet import read_table
from facevalue.protocol.making import IMAGE, PATH, PROMPT, SOURCE
from facevalue.protocol.making_study import MADE_FOR, MAKING, picture_plan
from facevalue.protocol.picture_questions import EDITED, MADE, USUAL, PictureQuestion, PictureQuestions
from facevalue.runs.picture_pairs import pair_answers, pair_cards
from facevalue.runs.rated_pictures import PictureAnswers, RatedPictures, rated_pictures
from facevalue.runs.stored import StoredRun
from facevalue.stimuli.images import image_files
from facevalue.store.files import STIMULI
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
    def of(cls, run: StoredRun, table: pl.DataFrame | None = None) -> "PictureSet":
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
        plan, pictures = picture_plan(run.study), _listed(root / STIMULI) if table is None else table
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
            rows = self.pictures.filter(_asked(question, self.pictures))
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

    def rated(self, ratings: pl.DataFrame) -> RatedPictures:
        """What ratings of these pictures, and of pairs of them, say."""
        answers = PictureAnswers.of(ratings, self.items, self.unit, self.groups)
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
            question.name: set(sample.filter(_asked(question, sample))[IMAGE]) for question in self.questions.questions
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


def _listed(path: Path) -> pl.DataFrame:
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


def _asked(question: PictureQuestion, pictures: pl.DataFrame) -> pl.Expr:
    """Which pictures a question is about."""
    of = {MADE: pl.col(SOURCE).is_null(), EDITED: pl.col(SOURCE).is_not_null()}.get(question.of, pl.lit(value=True))
    if not question.column:
        return of
    return of & pl.col(question.column).is_not_null() if question.column in pictures.columns else pl.lit(value=False)


def _card_question(question: PictureQuestion, path: str, source: str, prompt: str) -> CardQuestion:
    items = [picture_item(path, source, prompt, name) for name in question.items]
    if not question.several:
        return CardQuestion(question.text, items[0])
    return CardQuestion(question.text, several=tuple(zip(items, question.several, strict=True)))
