"""Pictures that were made, before people: what is asked of whom, samples of them, and what people said."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from facevalue.annotations.picture_packets import (
    CHOICES,
    MOST_ON_A_PAGE,
    CardQuestion,
    PictureCard,
    picture_item,
    view,
    write_packet_page,
    write_packet_sheet,
)
from facevalue.annotations.ratings import read_ratings
from facevalue.errors import DataError
from facevalue.parquet import read_table
from facevalue.protocol.making import IMAGE, PATH, PROMPT, SOURCE
from facevalue.protocol.making_study import MADE_FOR, MAKING, picture_plan
from facevalue.protocol.picture_questions import EDITED, MADE, USUAL, PictureQuestion, PictureQuestions
from facevalue.runs.picture_pairs import SIDES, PairItems, pair_answers, pair_cards
from facevalue.runs.rated_pictures import PictureAnswers, RatedPictures, rated_pictures
from facevalue.runs.stored import StoredRun
from facevalue.stimuli.images import image_files
from facevalue.store.files import STIMULI
from facevalue.studies.offers import making_offer

MOST = 100
"""Pictures of a packet, unless more are wanted."""


class PacketSize(NamedTuple):
    """How many pictures, and pairs of these, people look at."""

    pairs: int
    pictures: int


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
    """

    root: Path
    pictures: pl.DataFrame
    unit: str
    groups: tuple[str, ...]
    questions: PictureQuestions
    note: str = ""

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

    @cached_property
    def pair_items(self) -> PairItems:
        """Items that pairs of pictures are."""
        return PairItems(self.pictures, self.questions.pairs)

    def __contains__(self, item: object) -> bool:
        """Whether an item is of this set."""
        return item in self._names or item in self.pair_items

    @cached_property
    def _names(self) -> set[str]:
        return set(self.items["item"])

    def choices(self, item: str) -> Sequence[str]:
        """Answers that there are to an item."""
        return SIDES if item in self.pair_items else CHOICES

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

    def cards(self, sample: pl.DataFrame) -> Iterator[PictureCard]:
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
                yield PictureCard(path, origin, text, questions)


def _listed(path: Path) -> pl.DataFrame:
    """The list of pictures that were made."""
    try:
        return read_table(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{path} cannot be read: {str(error).splitlines()[0]}. The same `facevalue make` writes it again."
        ) from None


def write_packet(pictures: PictureSet, path: Path, size: int, seed: int) -> PacketSize:
    """Write a packet of a sample of pictures, and of as many pairs; a page (.html) or a sheet (.csv).

    Pairs stand first: whoever has seen what was asked for could tell them by that.

    Raises
    ------
    DataError
        More than a page holds, or a picture that is missing or cannot be read.
    """
    question = pictures.questions.pairs
    pairs = [] if question is None else list(pair_cards(pictures.pictures, question, size, seed))
    singles = list(pictures.cards(pictures.sample(size, seed)))
    cards, packet = [*pairs, *singles], PacketSize(len(pairs), len(singles))
    if path.suffix == ".csv":
        write_packet_sheet(cards, path)
        return packet
    if len(cards) > MOST_ON_A_PAGE:
        things = "pictures and pairs" if pairs else "pictures"
        limit = f"{MOST_ON_A_PAGE} {things} at most, not {len(cards):,}"
        raise DataError(f"A page holds {limit}: write a sheet (.csv), or ask about fewer (--most).")
    files = image_files(pictures.pictures, pictures.root)
    with_views = [(card, [view(files.read(name), name, label) for name, label in card.views]) for card in cards]
    write_packet_page(with_views, pictures.note, path)
    return packet


def read_packets(pictures: PictureSet, paths: Sequence[Path]) -> RatedPictures:
    """Read what people said.

    Raises
    ------
    DataError
        A file holds no answers about these pictures, and where.
    """
    return pictures.rated(read_ratings(paths, pictures, pictures.choices))


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
