"""Pairs of pictures that were made, before people: can they tell which one shows whom?"""

import re
from collections.abc import Iterator

import numpy as np
import polars as pl

from facevalue.annotations.review_cards import CardQuestion, ReviewCard, item_id
from facevalue.protocol.making import IMAGE, PATH, PROMPT
from facevalue.protocol.picture_questions import PairedPictures

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
    shuffled = _keyed(pictures, question).sort(IMAGE).sample(fraction=1.0, shuffle=True, seed=seed)
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
    """What ratings of pairs say: a row per answer and what is counted of it.

    `rater`, `question` (`DISTINGUISHABLE`, `MATCHED`), `image` (the pair, whichever picture stood on which side), the
    factors of `question.by`, `counts` and `yes` (whether the right picture was named).
    """
    sides = ratings.with_columns(
        pl.col("item").str.extract_groups(_ITEM.pattern).struct.rename_fields(["a", "b"]).alias("sides")
    ).unnest("sides")
    pairs = sides.drop_nulls("a")
    if question.lacking(pictures.columns) or not pairs.height:
        return pl.DataFrame(schema={"question": pl.String})
    with_keys = _keyed(pictures, question)
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


def _keyed(pictures: pl.DataFrame, question: PairedPictures) -> pl.DataFrame:
    """Pictures that can be in a pair, each with a name that follows from its file and what was asked for."""
    rows = pictures.drop_nulls([PATH, question.called])
    keys = [item_id("", (path, prompt or "")).lstrip("-") for path, prompt in rows.select(PATH, PROMPT).iter_rows()]
    return rows.with_columns(pl.Series(_KEY, keys, dtype=pl.String)).unique(_KEY, keep="first", maintain_order=True)
