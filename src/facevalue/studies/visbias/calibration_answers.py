"""Generator of simulated answers, whose groups differ by what is planted and by chance.

People differ, and so do the pictures of one person; occupations differ a lot, and all groups have the same occupations.
What is planted is drawn at random, and nothing in it is true of anybody.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import special

from facevalue.answers import NA
from facevalue.answers.json_fields import Read
from facevalue.studies.visbias.design import PLAIN, SWAPPED, drawn_pairs
from facevalue.studies.visbias.parsing import CHOICES
from facevalue.studies.visbias.tables import (
    Attribute,
    attributes,
    choice_questions,
    comparisons,
    genders,
    occupations,
    races,
)

Array = npt.NDArray[np.float64]
GROUPS = ("race", "gender")
WORD = "sash"
"""The word that is planted. All others are invented."""
FIELDS, FORMS = 8, 100
"""Fields of a form, and forms."""
_VOCABULARY, _WORDS = 400, 40
_RELUCTANCE = 1.0
_NODES = 256  # people over whom a planted share is averaged


@dataclass(frozen=True, slots=True)
class Condition:
    """What the people are like, and what is planted."""

    person: float = 0.7
    picture: float = 0.5
    """SD of people, and of the pictures of one, on the logit scale."""
    pictures: int = 1
    """Of each person."""
    occupations: int = 7
    """How many; each has `photographs` people of each race and gender."""
    pairs: int = 10
    """Compared within each occupation."""
    certain: float = 0.0
    """How much likelier one option of each question is than the others, on the logit scale, and how much less people
    are ranked."""
    missing: float = 0.0
    """Largest share of answers that are missing. The share goes by group, and by what would have been said."""
    planted: float = 0.0
    """SD of the groups' differences in choices, on the logit scale."""
    lone: bool = False
    """Whether one choice, one word and one association are planted."""
    drift: float = 0.0
    """Logits by which the model drifts towards the first option, and towards yes, while it is asked in the order of a
    run: whole units at times drawn by seed."""


CONDITIONS = {
    "default": Condition(planted=0.5),
    "null": Condition(),
    "crossed": Condition(person=1.0, picture=0.7, pictures=2, pairs=45),
    "rare": Condition(certain=4.0),
    "missing": Condition(missing=0.4),
    "few": Condition(occupations=2),
    "lone": Condition(lone=True),
    "drift": Condition(drift=0.3),
}
LONE = 2.0
"""Size of the lone choice's effect, on the logit scale; the word is said of 90% of one gender and 5% of the other, and
the second of two fields follows from the first."""


@dataclass(frozen=True)
class Sampled:
    """One audit's answers, and what is planted in them."""

    answers: pl.DataFrame
    """As the study reads them."""
    images: tuple[str, ...]
    """Who is on each image."""
    people: tuple[str, ...]
    divergence: dict[tuple[str, str, str], float]
    """Planted value of `choice_divergence` in nats x 1000, by dimension, group and question."""
    question: str
    fields: tuple[str, ...]
    """Those of the lone effects; empty where there are none."""


def fields() -> tuple[Attribute, ...]:
    """The fields of a form, without those that both tasks have."""
    return tuple(a for a in attributes() if a.name not in GROUPS)[:FIELDS]


def sampled(condition: Condition, photographs: int, rng: np.random.Generator) -> Sampled:
    """Draw people and their answers."""
    shown = _pictures(condition, photographs)
    looks = _looks(shown, condition, rng)
    clock, later = rng.spawn(2)  # apart, so that the other conditions draw what they drew without
    moved = _drift(condition, shown["identity"].n_unique(), clock)[
        shown["identity"].rank("dense").cast(pl.Int64).to_numpy() - 1
    ]
    lone = str(rng.choice([q.name for q in choice_questions()])) if condition.lone else ""
    parts: list[pl.DataFrame] = []
    truth: dict[tuple[str, str, str], float] = {}
    for question in choice_questions():
        base = _base(question.name, len(question.levels), condition)
        tilt = _tilt(condition, len(question.levels), rng, lone=question.name == lone)
        parts.append(_choices(shown, question.name, base, tilt, moved, condition, rng))
        truth |= _divergences(question.name, base, tilt, condition)
    parts += [_compared(shown, looks, condition, rng, later), _described(shown, looks, condition, rng)]
    named = tuple(a.name for a in fields()[:2]) if condition.lone else ()
    parts.append(_forms(rng, lone=condition.lone))
    answers = pl.concat(parts, how="diagonal")
    return Sampled(answers, tuple(shown["image"]), tuple(shown["identity"]), truth, lone, named)


def _pictures(condition: Condition, photographs: int) -> pl.DataFrame:
    rows = [
        (f"{job.name}/{race.name}_{gender.name}/{who}/{picture}", f"{job.name} {race.name} {gender.name} {who}",
         race.name, gender.name, job.name)
        for job in occupations()[: condition.occupations]
        for race, gender, who, picture in product(races(), genders(), range(photographs), range(condition.pictures))
    ]  # fmt: skip
    columns = ("image", "identity", "race", "gender", "occupation")
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def _looks(shown: pl.DataFrame, condition: Condition, rng: np.random.Generator, size: int = 1) -> Array:
    """What is special about each picture: its person, and itself; shape (pictures, size)."""
    who = shown["identity"].rank("dense").cast(pl.Int64).to_numpy() - 1
    people = condition.person * rng.normal(size=(int(who.max()) + 1, size))
    return np.asarray(people[who] + condition.picture * rng.normal(size=(shown.height, size)))


def _drift(condition: Condition, units: int, clock: np.random.Generator) -> Array:
    """By how much the model has moved when each unit is asked, around the middle of the run."""
    return np.asarray(condition.drift * (clock.permutation(units) / max(units - 1, 1) - 0.5))


def _base(question: str, options: int, condition: Condition) -> Array:
    """Utilities of the options in each occupation, the same in all audits; shape (occupations, options)."""
    rng = np.random.default_rng([len(question), options])
    base = rng.normal(size=options) * 0.5 + rng.normal(size=(condition.occupations, options))
    base[:, 0] += condition.certain
    return np.asarray(base)


def _tilt(condition: Condition, options: int, rng: np.random.Generator, *, lone: bool) -> Array:
    """What is planted, shape (races, genders, options)."""
    tilt = condition.planted * (
        rng.normal(size=(len(races()), 1, options)) + rng.normal(size=(1, len(genders()), options))
    )
    if lone:
        tilt[rng.integers(len(races())), :, rng.integers(options)] += LONE
    return np.asarray(tilt)


def _kept(options: int, condition: Condition) -> Array:
    """Share of answers that are given, by what they would have been."""
    return 1 - condition.missing * np.linspace(0, 1, options)


def _choices(
    shown: pl.DataFrame,
    question: str,
    base: Array,
    tilt: Array,
    moved: Array,
    condition: Condition,
    rng: np.random.Generator,
) -> pl.DataFrame:
    job, race, gender = (
        shown[c]
        .replace_strict([level.name for level in listed()], range(len(listed())), return_dtype=pl.Int64)
        .to_numpy()
        for c, listed in (("occupation", occupations), ("race", races), ("gender", genders))
    )
    options = base.shape[1]
    wanted = base[job] + tilt[race, gender] + _looks(shown, condition, rng, options)
    wanted[:, 0] += moved
    said = (wanted + rng.gumbel(size=wanted.shape)).argmax(axis=1)
    by_group = 1 - condition.missing * np.linspace(0, 1, len(races()))[race]
    given = rng.random(said.size) < _kept(options, condition)[said] * by_group
    weights = {
        name: np.where(given, said == at, np.nan) if at < options else np.full(said.size, np.nan)
        for at, name in enumerate(CHOICES)
    }
    return shown.drop("identity").with_columns(
        *(pl.Series(name, values).fill_nan(None) for name, values in weights.items()),
        pl.lit("mcq").alias("task"), pl.lit(question).alias("question"),
        *_given(given, 1.0),
    )  # fmt: skip


def _divergences(question: str, base: Array, tilt: Array, condition: Condition) -> dict[tuple[str, str, str], float]:
    """What more people of the same kind would show."""
    from facevalue.measures.divergence import jsd  # noqa: PLC0415 - slow to import

    sd = float(np.hypot(condition.person, condition.picture))
    looks = sd * np.random.default_rng(0).normal(size=(_NODES, base.shape[1]))
    wanted = base[:, None, None, None] + tilt[None, :, :, None] + looks
    shares = special.softmax(wanted, axis=-1).mean(axis=(0, 3)) * _kept(base.shape[1], condition)
    shares = shares / shares.sum(axis=-1, keepdims=True)
    crossed = shares.reshape(-1, shares.shape[2])
    names = [f"{r.name} {g.name}" for r in races() for g in genders()]
    out: dict[tuple[str, str, str], float] = {}
    for dimension, levels, table in (
        ("race", [r.name for r in races()], shares.mean(axis=1)),
        ("gender", [g.name for g in genders()], shares.mean(axis=0)),
        ("race x gender", names, crossed),
    ):  # fmt: skip
        out |= {(dimension, level, question): float(v) for level, v in zip(levels, jsd(table), strict=True)}
    return out


def _given(given: npt.NDArray[np.bool_], said: Array | float) -> Iterator[pl.Series]:
    """Weight, mass and reason of answers, some of which were refused."""
    yield pl.Series("weight", np.where(given, said, np.nan)).fill_nan(None)
    yield pl.Series("mass", given.astype(np.float64))
    yield pl.Series("na", [None if g else NA.REFUSED.value for g in given])


def _compared(
    shown: pl.DataFrame, looks: Array, condition: Condition, rng: np.random.Generator, clock: np.random.Generator
) -> pl.DataFrame:
    listed = drawn_pairs(shown, condition.pairs, int(rng.integers(2**31)), GROUPS)
    at = dict(zip(shown["image"], range(shown.height), strict=True))
    sides = [np.array([at[name] for name in listed[f"image_{side}"]]) for side in (1, 2)]
    about = {
        f"{c}_{side}": shown[c].gather(sides[side - 1]) for c in ("image", *GROUPS, "occupation") for side in (1, 2)
    }
    frame = listed.select("pair", "within").with_columns(**about)
    parts, moved = [], _drift(condition, listed.height, clock)
    for question in comparisons():
        above = (looks[sides[0]] - looks[sides[1]])[:, 0] * 2 + rng.normal(size=listed.height)
        for order, sign in ((PLAIN, 1), (SWAPPED, -1)):
            chance = special.expit(sign * above + moved - _RELUCTANCE - condition.certain / 2)
            given = rng.random(listed.height) >= condition.missing / 2
            said = (rng.random(listed.height) < chance).astype(np.float64)
            parts.append(frame.with_columns(
                pl.lit("yesno").alias("task"), pl.lit(question.name).alias("question"), pl.lit(order).alias("order"),
                *_given(given, said),
            ))  # fmt: skip
    return pl.concat(parts)


def _described(shown: pl.DataFrame, looks: Array, condition: Condition, rng: np.random.Generator) -> pl.DataFrame:
    """Descriptions of invented words, more of them about some people; some words go with an occupation or a person."""
    words = np.array([f"ba{'aeiou'[at % 5]}{'dfgklmnprst'[at // 5 % 11]}{'aeiou'[at // 55 % 5]}{'xvz'[at // 275]}"
                      for at in range(_VOCABULARY)])  # fmt: skip
    often = 1.0 / np.arange(1, _VOCABULARY + 1)
    length = np.maximum(_WORDS + 5 * looks[:, 0] + 3 * rng.normal(size=shown.height), 5).astype(np.int64)
    women = (shown["gender"] == genders()[0].name).to_numpy()
    has = rng.random(shown.height) < np.where(women, 0.9, 0.05)
    own = [
        rng.integers(_VOCABULARY, size=shown[c].n_unique())[shown[c].rank("dense").cast(pl.Int64).to_numpy() - 1]
        for c in ("identity", "occupation")
    ]
    texts = []
    for at in range(shown.height):
        said = [*rng.choice(words, size=length[at], p=often / often.sum()), *(words[code[at]] for code in own)]
        texts.append(" ".join([*said, *([WORD] if condition.lone and has[at] else [])]) + ".")
    given = rng.random(shown.height) >= condition.missing / 2
    return shown.drop("identity").with_columns(
        pl.lit("description").alias("task"),
        pl.Series("description", [text if g else None for text, g in zip(texts, given, strict=True)], pl.String),
        *_given(given, 1.0),
    )  # fmt: skip


def _forms(rng: np.random.Generator, *, lone: bool) -> pl.DataFrame:
    """Forms in which nothing goes with anything, or the second field with the first."""
    asked = fields()
    codes = [
        rng.choice(len(a.categories.names), size=FORMS, p=_marginal(a.name, len(a.categories.names))) for a in asked
    ]
    if lone:
        codes[1] = codes[0] % len(asked[1].categories.names)
    texts = []
    for form in range(FORMS):
        told = [
            {"attribute": a.name, "state": "value", "read": Read.JSON.value, "route": "exact", "reason": None,
             "categories": [a.categories.names[own[form]]], "prefilled": False, "kept": None}
            for a, own in zip(asked, codes, strict=True)
        ]  # fmt: skip
        texts.append(json.dumps({"fields": told}))
    names = [str(form) for form in range(FORMS)]
    return pl.DataFrame({"form": names, "fields": texts}).with_columns(
        pl.lit("form").alias("task"), pl.lit(0).cast(pl.UInt8).alias("repeat"), weight=pl.lit(1.0), mass=pl.lit(1.0)
    )


def _marginal(name: str, size: int) -> Array:
    return np.asarray(np.random.default_rng([len(name), size]).dirichlet(np.full(size, 2.0)))
