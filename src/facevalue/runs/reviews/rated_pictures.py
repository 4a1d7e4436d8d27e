"""Ratings of pictures that were made: how many answers speak for them, of whom, and how far people agree."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from facevalue.annotations.review_cards import CardQuestion, ReviewCard, item_id
from facevalue.measures.group_shares import group_shares
from facevalue.measures.intervals import IntervalKind, split_method
from facevalue.measures.rater_agreement import cohen_kappa, krippendorff_alpha
from facevalue.protocol.making import IMAGE, PATH, PROMPT, PairedPictures, PictureQuestions

# Pairs of pictures that were made, before people: can they tell which one shows whom?


SIDES = ("A", "B", "Cannot be told")
"""Answers, whose numbers are 1, 2 and 3."""
DISTINGUISHABLE, MATCHED = "pairs: told apart", "pairs: right, where named"
"""What is counted of an answer: the right picture was named; and it was, of those that named one (guesses: half)."""
_ITEM = re.compile(r"d-([0-9a-f]{10})-([0-9a-f]{10})")
_KEY, _ORDER = "_key", "_order"


def pair_cards(pictures: pl.DataFrame, question: PairedPictures, size: int, seed: int) -> Iterator[ReviewCard]:
    """Draw pairs, each group by its share and each picture once at most, with sides by chance.

    Parameters
    ----------
    pictures:
        The list of pictures that were made.
    question:
        Which make a pair, and what they are called.
    size:
        Pairs at most.
    seed:
        Draws the same ones again.
    """
    if question.lacking(pictures.columns):
        return
    called, rng = question.called, np.random.default_rng(seed)
    shuffled = _add_keys(pictures, question).sort(IMAGE).sample(fraction=1.0, shuffle=True, seed=seed)
    shuffled = shuffled.with_columns(pl.int_range(pl.len()).over(*question.same, called).alias(_ORDER))
    shuffled = shuffled.sort(*question.by, *question.same, _ORDER, maintain_order=True, nulls_last=True)
    place = shuffled.with_columns(pl.int_range(pl.len()).over(question.same).alias(_ORDER))
    first = place.filter(pl.col(_ORDER) % 2 == 0).with_columns(pl.col(_ORDER) + 1)
    pairs = first.join(place, on=[*question.same, _ORDER], nulls_equal=True, suffix="_2", maintain_order="left").filter(
        pl.col(called) != pl.col(f"{called}_2")
    )
    size = min(size, pairs.height)
    places = ((np.arange(size) + rng.random()) * pairs.height / max(size, 1)).astype(np.int64)
    sides = (_KEY, PATH, called)
    rows = pairs[places].sample(fraction=1.0, shuffle=True, seed=seed).select(*sides, *(f"{name}_2" for name in sides))
    for row, is_turned in zip(rows.iter_rows(), rng.random(size) < 0.5, strict=True):
        a, b = (row[3:], row[:3]) if is_turned else (row[:3], row[3:])
        target, second = sorted((a[2], b[2]))
        text = question.text.format(target=target, other=second)
        asked_about = CardQuestion(text, f"d-{a[0]}-{b[0]}", choices=SIDES)
        yield ReviewCard((asked_about,), pictures=((a[1], "A"), (b[1], "B")))


def pair_answers(ratings: pl.DataFrame, pictures: pl.DataFrame, question: PairedPictures) -> pl.DataFrame:
    """Tabulate ratings of pairs: a row per answer, with what counts.

    `rater`, `question` (`DISTINGUISHABLE`, `MATCHED`), `image` (the pair, whichever picture stood on which side), the
    factors of `question.by`, `counts` and `yes` (whether the right picture was named).
    """
    sides = ratings.with_columns(
        pl.col("item").str.extract_groups(_ITEM.pattern).struct.rename_fields(["a", "b"]).alias("sides")
    ).unnest("sides")
    pairs = sides.drop_nulls("a")
    if question.lacking(pictures.columns) or not pairs.height:
        return pl.DataFrame(schema={"question": pl.String})
    with_keys = _add_keys(pictures, question)
    labels = with_keys.select(_KEY, question.called)
    pairs = pairs.join(with_keys.select(_KEY, question.called, *question.by), left_on="a", right_on=_KEY)
    pairs = pairs.join(labels, left_on="b", right_on=_KEY, suffix="_2")
    right = pl.when(pl.col(question.called) < pl.col(f"{question.called}_2")).then(1).otherwise(2)
    pairs = pairs.with_columns(
        pl.concat_str(pl.min_horizontal("a", "b"), pl.max_horizontal("a", "b")).alias(IMAGE),
        counts=pl.col("rating") == right,
        yes=pl.col("rating") == right,
    )
    told_apart = pairs.filter(pl.col("rating") != len(SIDES))
    rows_of = ((DISTINGUISHABLE, pairs), (MATCHED, told_apart))
    columns = ("rater", IMAGE, *question.by, "counts", "yes")
    return pl.concat(rows.select(pl.lit(name).alias("question"), *columns) for name, rows in rows_of)


def _add_keys(pictures: pl.DataFrame, question: PairedPictures) -> pl.DataFrame:
    """Pictures that can be in a pair, each with a name that follows from its file and what was asked for."""
    rows = pictures.drop_nulls([PATH, question.called])
    keys = [item_id("", (path, prompt or "")).lstrip("-") for path, prompt in rows.select(PATH, PROMPT).iter_rows()]
    return rows.with_columns(pl.Series(_KEY, keys, dtype=pl.String)).unique(_KEY, keep="first", maintain_order=True)


ALL_FINE = "all of these"
"""Name of what is fine where every answer about a picture is."""
_SEED = 1
"""Of the bootstrap of agreement."""
_PRINTED = ("printed_share", "printed_kappa")
_KAPPA = ("kappa", "kappa_low", "kappa_high")
_METHOD = ("method", "detail")
_SHARE_METHOD = ("share_method", "share_detail")
_GROUPS = pl.Schema(
    {
        **dict.fromkeys(("question", "factor", "level"), pl.String()),
        **dict.fromkeys(("share", "low", "high"), pl.Float64()),
        **dict.fromkeys(("answers", "units"), pl.Int64()),
        **dict.fromkeys(_KAPPA, pl.Float64()),
        **dict.fromkeys((*_METHOD, *_SHARE_METHOD), pl.String()),
        **dict.fromkeys(_PRINTED, pl.Float64()),
    }
)


@dataclass(frozen=True)
class RatedPictures:
    """Ratings of pictures by people.

    Attributes
    ----------
    ratings:
        As the raters' files have them: `rater`, `item`, `rating`, `duration`.
    questions:
        A row per question: `question`, `fine` (the answer that speaks for a picture), `share` of answers that do (or
        of yes, where none does) with `low`, `high`, `share_method` and `share_detail` over units, `answers`, `pictures`
        (or pairs of these), `raters`, `agreement` (share of pictures, rated by several, on which all agree), `kappa`
        with `kappa_low` and `kappa_high`, `method`, `detail`; and as the paper prints them, `printed_share` and
        `printed_kappa`.
    groups:
        A row per question that has a fine answer, factor and level: `question`, `factor`, `level`, `share`, `low`,
        `high`, `share_method`, `share_detail`, `answers`, `units`, and `kappa` to `printed_kappa` as above.
    unit:
        Column of what was sampled.
    source:
        Where printed numbers are from; empty where there are none.
    """

    ratings: pl.DataFrame
    questions: pl.DataFrame
    groups: pl.DataFrame
    unit: str
    source: str

    @property
    def raters(self) -> int:
        """Number of people who rated."""
        return self.ratings["rater"].n_unique()


@dataclass(frozen=True)
class PictureAnswers:
    """Answers about single pictures.

    Attributes
    ----------
    items:
        A row per answer that there can be: `item`, `question`, `fine`, and the picture's id, unit and groups.
    answers:
        Those that there are, with `rater`, `yes` and `counts`: whether it speaks for the picture (or is a yes, where
        no answer does).
    unit, groups:
        Columns of what was sampled, and of who is shown.
    """

    items: pl.DataFrame
    answers: pl.DataFrame
    unit: str
    groups: tuple[str, ...]

    @classmethod
    def from_ratings(
        cls, ratings: pl.DataFrame, items: pl.DataFrame, unit: str, groups: tuple[str, ...]
    ) -> "PictureAnswers":
        """Find those of ratings that are about these items."""
        yes = pl.col("yes")
        answers = ratings.join(items, on="item", how="inner", maintain_order="left").with_columns(
            yes=pl.col("rating") == 1
        )
        counts = pl.when(pl.col("fine") == "").then(yes).otherwise(yes == (pl.col("fine") == "yes"))
        return cls(items, answers.with_columns(counts=counts), unit, groups)

    @cached_property
    def complete(self) -> pl.DataFrame:
        """Verdicts of raters on pictures of which they answered all questions: whether all answers speak for it."""
        verdicts = self.answers.filter(pl.col("fine") != "")
        needed = self.items.filter(pl.col("fine") != "").group_by(IMAGE).agg(needed=pl.len())
        columns = dict.fromkeys((IMAGE, self.unit, *self.groups))
        complete = verdicts.group_by("rater", *columns, maintain_order=True).agg(
            answered=pl.len(), counts=pl.col("counts").all()
        )
        complete = complete.join(needed, on=IMAGE, maintain_order="left").filter(pl.col("answered") == pl.col("needed"))
        return complete.with_columns(fine=pl.lit("yes"), yes=pl.col("counts"))


def rated_pictures(
    ratings: pl.DataFrame, pictures: PictureAnswers, pairs: pl.DataFrame | None, questions: PictureQuestions
) -> RatedPictures:
    """Shares of answers that speak for pictures, by question and by group, and how far raters agree.

    Parameters
    ----------
    ratings:
        As the raters' files have them.
    pictures:
        Those that are about single pictures.
    pairs:
        Those that are about pairs, as `rated_pictures.pair_answers` has them; None where the study asks about none.
    questions:
        What was asked, and what the paper prints of it.
    """
    rows, groups = [], []
    for name, share, kappa in _printed_values(questions):
        answers = pictures.complete if name == ALL_FINE else pictures.answers.filter(pl.col("question") == name)
        if answers.height:
            row = _row(answers, pictures.unit)
            rows.append(
                {"question": name, "fine": answers["fine"][0], **row, "printed_share": share, "printed_kappa": kappa}
            )
            if answers["fine"][0]:
                groups += [_by_group(answers, name, factor, pictures.unit) for factor in pictures.groups]
    for name in (DISTINGUISHABLE, MATCHED):
        answers = pl.DataFrame() if pairs is None else pairs.filter(pl.col("question") == name)
        if answers.height and questions.pairs is not None:
            printed = questions.pairs.printed if name == DISTINGUISHABLE else {}
            figures = dict(zip(_PRINTED, printed.get("", (None, None)), strict=True))
            rows.append({"question": name, "fine": "yes", **_row(answers, IMAGE), **figures})
            groups += [_of_pairs(answers, name, factor, printed) for factor in questions.pairs.by]
    by_group = pl.concat([_GROUPS.to_frame(), *(table.select(_GROUPS.names()).cast(_GROUPS) for table in groups)])
    table = pl.DataFrame(rows, infer_schema_length=None)
    return RatedPictures(ratings, table, by_group, pictures.unit, questions.source)


def _printed_values(questions: PictureQuestions) -> Iterator[tuple[str, float | None, float | None]]:
    """Each question about pictures with the share and the kappa that the paper prints, that of all of them last."""
    for question in questions.questions:
        for place, name in enumerate(question.items):
            yield name, question.share[place] if place < len(question.share) else None, question.kappa
    yield ALL_FINE, questions.all_fine, None


def _row(answers: pl.DataFrame, unit: str) -> dict[str, str | float | int | None]:
    """Row of the answers to one question, and of how far people agree."""
    shares = group_shares(answers, "counts", [], unit)
    per_picture = answers.group_by(IMAGE).agg(n=pl.len(), agreed=pl.col("yes").n_unique() == 1).filter(pl.col("n") > 1)
    agreement = per_picture["agreed"].mean()
    kappa = _agreement(answers, unit)
    return {
        **shares.select(_of_share()).row(0, named=True), "pictures": answers[IMAGE].n_unique(),
        "raters": answers["rater"].n_unique(),
        "agreement": agreement if isinstance(agreement, float) else None, **kappa,
    }  # fmt: skip


def _of_share() -> list[pl.Expr]:
    """A share, its interval, how that was made, and how many answers it is of."""
    method = (pl.col(name).alias(f"share_{name}") for name in _METHOD)
    return [pl.col("share", "low", "high"), *method, pl.col("n").alias("answers")]


def _agreement(answers: pl.DataFrame, unit: str) -> dict[str, str | float | None]:
    """Cohen's kappa of two raters; Krippendorff's alpha, nominal, of more."""
    table = answers.pivot("rater", index=[*dict.fromkeys((IMAGE, unit))], values="yes", maintain_order=True)
    raters = [name for name in table.columns if name not in (IMAGE, unit)]
    if len(raters) < 2:
        return {**dict.fromkeys(_KAPPA), "method": IntervalKind.NONE.value, "detail": "one rater"}
    values = table.select(pl.col(raters).cast(pl.Float64).fill_null(float("nan"))).to_numpy().T
    if len(raters) == 2:
        estimate = cohen_kappa(values, _SEED, table[unit].rank("dense").to_numpy().astype(np.int64))
        name = "Cohen's kappa"
    else:
        estimate, name = krippendorff_alpha(values, _SEED, "nominal"), "Krippendorff's alpha, nominal"
    numbers = (("kappa", estimate.value), ("kappa_low", estimate.low), ("kappa_high", estimate.high))
    finite = {key: float(value[0]) if np.isfinite(value[0]) else None for key, value in numbers}
    kind, detail = split_method(str(estimate.method[0]))
    return {**finite, "method": kind.value, "detail": f"{detail}; {name}"}


def _by_group(answers: pl.DataFrame, question: str, factor: str, unit: str) -> pl.DataFrame:
    """Shares by the levels of a factor; agreement is that of all levels together."""
    shares = group_shares(answers, "counts", [factor], unit)
    return shares.select(
        pl.lit(question).alias("question"), pl.lit(factor).alias("factor"),
        pl.col(factor).cast(pl.String).alias("level"), *_of_share(), "units",
        *(pl.lit(None, pl.Float64).alias(name) for name in (*_KAPPA, *_PRINTED)),
        *(pl.lit(None, pl.String).alias(name) for name in _METHOD),
    )  # fmt: skip


def _of_pairs(
    answers: pl.DataFrame, question: str, factor: str, printed: Mapping[str, tuple[float, float]]
) -> pl.DataFrame:
    """Shares of pairs by the levels of a factor, with agreement and what the paper prints."""
    shares = _by_group(answers, question, factor, IMAGE)
    kappas = [_agreement(answers.filter(pl.col(factor).eq_missing(level)), IMAGE) for level in shares["level"]]
    figures = [printed.get(level, (None, None)) for level in shares["level"]]
    return shares.with_columns(
        *(pl.Series(name, [row[name] for row in kappas], pl.Float64) for name in _KAPPA),
        *(pl.Series(name, [row[name] for row in kappas], pl.String) for name in _METHOD),
        *(
            pl.Series(name, list(column), pl.Float64)
            for name, column in zip(_PRINTED, zip(*figures, strict=True), strict=True)
        ),
    )
