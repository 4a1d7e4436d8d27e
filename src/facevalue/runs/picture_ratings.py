"""Pictures that were made, before people: a sample drawn for them, and how many are fine, of whom, and who agrees."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from facevalue.annotations.picture_packets import (
    CHOICES,
    MOST_ON_A_PAGE,
    CardQuestion,
    PictureCard,
    ShownPicture,
    picture_item,
    view,
    write_packet_page,
    write_packet_sheet,
)
from facevalue.annotations.ratings import read_ratings
from facevalue.errors import DataError
from facevalue.measures.cohen import cohen_kappa
from facevalue.measures.group_shares import group_shares
from facevalue.measures.rater_agreement import alpha
from facevalue.parquet import read_table
from facevalue.protocol.making import IMAGE, PATH, PROMPT, SOURCE
from facevalue.protocol.making_study import MAKING, picture_plan
from facevalue.protocol.picture_questions import EDITED, MADE, USUAL, PictureQuestion, PictureQuestions
from facevalue.runs.made_statement import offer_of
from facevalue.runs.stored import StoredRun
from facevalue.stimuli.images import image_files
from facevalue.store.files import STIMULI

MOST = 100
"""Pictures of a packet, unless more are wanted."""
ALL_FINE = "all of these"
"""Name of what is fine where every answer about a picture is."""
_SEED = 1
"""Of the bootstrap of agreement."""


@dataclass(frozen=True)
class LookedAt:
    """What people say of pictures.

    Attributes
    ----------
    ratings:
        As the raters' files have them: `rater`, `item`, `rating`, `duration`.
    questions:
        A row per question: `question`, `fine` (the answer that speaks for a picture), `share` of answers that do (or
        of yes, where none does) with `low` and `high` over units, `answers`, `pictures`, `raters`, `agreement` (share
        of pictures, rated by several, on which all agree), `kappa` with `kappa_low` and `kappa_high`, `method`; and as
        the paper prints them, `printed_share` and `printed_kappa`.
    groups:
        A row per question that has a fine answer, factor and level: `question`, `factor`, `level`, `share`, `low`,
        `high`, `answers`, `units`.
    """

    ratings: pl.DataFrame
    questions: pl.DataFrame
    groups: pl.DataFrame

    @property
    def raters(self) -> int:
        """How many people looked."""
        return self.ratings["rater"].n_unique()


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
    def of(cls, run: StoredRun) -> "PictureSet":
        """The pictures that a making made.

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
        plan, pictures = picture_plan(run.study), _listed(root / STIMULI)
        missing = {IMAGE, PATH, PROMPT, SOURCE, plan.unit, *plan.groups} - set(pictures.columns)
        if missing or not pictures.height:
            reason = f"has no column {min(missing)!r}" if missing else "is empty"
            raise DataError(f"{root / STIMULI} {reason}: the same `facevalue make` writes it again.")
        offer = offer_of(run.study.options)
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

    def sample(self, size: int, seed: int) -> pl.DataFrame:
        """Draw pictures, each group by its share: the same ones each time."""
        edited = pl.col(SOURCE).is_not_null().alias("_edited")
        mixed = self.pictures.sort(IMAGE).sample(fraction=1.0, shuffle=True, seed=seed)
        ordered = mixed.sort(edited, *self.groups, maintain_order=True, nulls_last=True)
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
            before, text = paths.get(source, "") if source else "", prompt or ""
            questions = tuple(
                _card_question(question, path, before, text)
                for question in self.questions.questions
                if image in subjects[question.name]
            )
            if questions:
                yield PictureCard(path, before, text, questions)


def _listed(path: Path) -> pl.DataFrame:
    """The list of pictures that were made."""
    try:
        return read_table(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{path} cannot be read: {str(error).splitlines()[0]}. The same `facevalue make` writes it again."
        ) from None


def write_packet(pictures: PictureSet, path: Path, size: int, seed: int) -> int:
    """Write a packet of a sample of pictures, a page (.html) or a sheet (.csv); returns how many these are.

    Raises
    ------
    DataError
        More than a page holds, or a picture that is missing or cannot be read.
    """
    cards = list(pictures.cards(pictures.sample(size, seed)))
    if path.suffix == ".csv":
        write_packet_sheet(cards, path)
        return len(cards)
    if len(cards) > MOST_ON_A_PAGE:
        limit = f"{MOST_ON_A_PAGE} pictures at most, not {len(cards):,}"
        raise DataError(f"A page holds {limit}: write a sheet (.csv), or ask about fewer (--most).")
    files = image_files(pictures.pictures, pictures.root)

    def views(card: PictureCard) -> tuple[ShownPicture, ...]:
        labelled = ((card.source, "Before"), (card.path, "After")) if card.source else ((card.path, ""),)
        return tuple(view(files.read(name), name, label) for name, label in labelled)

    write_packet_page([(card, views(card)) for card in cards], pictures.note, path)
    return len(cards)


def read_packets(pictures: PictureSet, paths: Sequence[Path]) -> LookedAt:
    """Read what people said.

    Raises
    ------
    DataError
        A file holds no answers about these pictures, and where.
    """
    return looked_at(pictures, read_ratings(paths, pictures.items["item"], CHOICES))


def looked_at(pictures: PictureSet, ratings: pl.DataFrame) -> LookedAt:
    """Shares of answers that speak for pictures, by question and by group, and how far raters agree."""
    answers = ratings.join(pictures.items, on="item", how="inner", maintain_order="left")
    answers = answers.with_columns(yes=pl.col("rating") == 1).with_columns(
        counts=pl.when(pl.col("fine") == "").then(pl.col("yes")).otherwise(pl.col("yes") == (pl.col("fine") == "yes"))
    )
    rows, groups = [], []
    printed = {
        name: (question.share[place] if place < len(question.share) else None, question.kappa)
        for question in pictures.questions.questions
        for place, name in enumerate(question.items)
    }
    together = _all_fine(pictures, answers)
    printed[ALL_FINE] = (pictures.questions.all_fine, None)
    tables = [(name, answers.filter(pl.col("question") == name)) for name in printed if name != ALL_FINE]
    for name, table in [*tables, (ALL_FINE, together)]:
        if table.height:
            rows.append(
                {
                    "question": name,
                    "fine": table["fine"][0],
                    **_row(table, pictures.unit),
                    "printed_share": printed[name][0],
                    "printed_kappa": printed[name][1],
                }
            )
            if table["fine"][0]:
                groups += [_by_group(table, name, factor, pictures.unit) for factor in pictures.groups]
    return LookedAt(ratings, pl.DataFrame(rows, infer_schema_length=None), pl.concat(groups))


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


def _all_fine(pictures: PictureSet, answers: pl.DataFrame) -> pl.DataFrame:
    """Whether every answer of a rater about a picture speaks for it; only of pictures of which they answered all."""
    counted = answers.filter(pl.col("fine") != "")
    needed = pictures.items.filter(pl.col("fine") != "").group_by(IMAGE).agg(needed=pl.len())
    columns = dict.fromkeys((IMAGE, pictures.unit, *pictures.groups))
    complete = counted.group_by("rater", *columns, maintain_order=True).agg(
        answered=pl.len(), counts=pl.col("counts").all()
    )
    complete = complete.join(needed, on=IMAGE, maintain_order="left").filter(pl.col("answered") == pl.col("needed"))
    return complete.with_columns(fine=pl.lit("yes"), yes=pl.col("counts"))


def _row(answers: pl.DataFrame, unit: str) -> dict[str, str | float | int | None]:
    """What people say in answer to one question, and how far they agree."""
    share, low, high, count = group_shares(answers, "counts", [], unit).select("share", "low", "high", "n").row(0)
    several = answers.group_by(IMAGE).agg(n=pl.len(), agreed=pl.col("yes").n_unique() == 1).filter(pl.col("n") > 1)
    agreement = several["agreed"].mean()
    kappa = _agreement(answers, unit)
    return {
        "share": share, "low": low, "high": high, "answers": count, "pictures": answers[IMAGE].n_unique(),
        "raters": answers["rater"].n_unique(),
        "agreement": agreement if isinstance(agreement, float) else None, **kappa,
    }  # fmt: skip


def _agreement(answers: pl.DataFrame, unit: str) -> dict[str, str | float | None]:
    """Cohen's kappa of two raters; Krippendorff's alpha, nominal, of more."""
    table = answers.pivot("rater", index=[*dict.fromkeys((IMAGE, unit))], values="yes", maintain_order=True)
    raters = [name for name in table.columns if name not in (IMAGE, unit)]
    if len(raters) < 2:
        return {"kappa": None, "kappa_low": None, "kappa_high": None, "method": "one rater"}
    values = table.select(pl.col(raters).cast(pl.Float64).fill_null(float("nan"))).to_numpy().T
    if len(raters) == 2:
        estimate = cohen_kappa(values, _SEED, table[unit].rank("dense").to_numpy().astype(np.int64))
        name = "Cohen's kappa"
    else:
        estimate, name = alpha(values, _SEED, "nominal"), "Krippendorff's alpha, nominal"
    numbers = (("kappa", estimate.value), ("kappa_low", estimate.low), ("kappa_high", estimate.high))
    finite = {key: float(value[0]) if np.isfinite(value[0]) else None for key, value in numbers}
    return {**finite, "method": f"{name}; {estimate.method[0]}"}


def _by_group(answers: pl.DataFrame, question: str, factor: str, unit: str) -> pl.DataFrame:
    shares = group_shares(answers, "counts", [factor], unit)
    return shares.select(
        pl.lit(question).alias("question"), pl.lit(factor).alias("factor"),
        pl.col(factor).cast(pl.String).alias("level"), "share", "low", "high", pl.col("n").alias("answers"), "units",
    )  # fmt: skip
