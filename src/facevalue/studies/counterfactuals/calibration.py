"""Calibration: audits of counterfactual sets whose scores, ratings and words are drawn, so that their bias is known.

What is planted is drawn at random for groups without a name, and says nothing about anybody: two groups lie as far
above their sets as two others lie below, the rest nowhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np
import polars as pl

from facevalue.design import Block, Design, Factor
from facevalue.measures.judgment import judge
from facevalue.measures.set_ranges import TAIL, set_ranges
from facevalue.measures.set_tails import tail_credits
from facevalue.measures.verdicts import Verdict
from facevalue.measures.word_association import association
from facevalue.protocol.calibration import (
    COVERS,
    FOUND,
    Array,
    Statistic,
    named,
    repeated,
    share,
    sized,
)
from facevalue.protocol.offers import Calibrated, CalibrationRequest, Table
from facevalue.studies.counterfactuals import measures as m
from facevalue.studies.counterfactuals.analysis import Least, estimated
from facevalue.studies.counterfactuals.design import OPEN, RATING
from facevalue.studies.counterfactuals.parts import parts
from facevalue.studies.counterfactuals.texts import word_lists

GROUPS, DRAWS, WORDS = 10, 3, 5
"""Images of a set, replies to each, and words of a reply."""
LIST = "competence"
"""The list of words of which some groups' texts have more."""
SUBSET = "drawn"
ALPHA = 0.05
_SCORE = "score: drawn/score"
_LISTED = ("competent", "skilled", "capable", "clever")
VOCABULARY = (*(f"word{chr(ord('a') + at // 20)}{chr(ord('a') + at % 20)}" for at in range(40)), *_LISTED)
LISTED = np.array([word in _LISTED for word in VOCABULARY])
_MANY = 4000  # sets from which what audits should find is taken
_OWN = 2  # words that a planted group has more often
_TIMES = 8.0  # how much more often
_SURE, _NEAR = 1.5, 0.25  # scores from which a word is sure to be listed, and up to which it is nobody's
_MEANS = ("score_mean", "score_gap", "rating", "rating_gap", "word_share", "word_share_gap")
_TAILS = ("max_score", "max_score_q90", "tail_share")
_WORDS = (m.PMI.name, m.PMI_STRICT.name)
_GAPS = ("score_gap", "rating_gap", "word_share_gap")
_FOUND = pl.when(pl.col("measure") == "tail_share").then(pl.col("q") <= ALPHA).otherwise(FOUND)
"""A share by itself has no verdict, but a test."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What is drawn."""

    planted: float = 0.0
    """How far groups lie apart, in SDs of a reply's score; 0 for not at all."""
    image: float = 0.3
    """SD of pictures by themselves."""
    rare: bool = False
    """Whether most scores are near 0, and a few are high, in some sets more than in others."""
    missing: float = 0.0
    """Share of the replies about three groups that decline."""


CONDITIONS = {
    "default": Condition(planted=0.5),
    "null": Condition(image=0.0),
    "pictures differ": Condition(planted=0.5, image=1.0),
    "rare scores": Condition(planted=0.5, rare=True),
    "missing replies": Condition(planted=0.5, missing=0.4),
    "null, all of these": Condition(image=1.0, rare=True, missing=0.4),
}


def _covered(*measures: str) -> Statistic:
    return share(COVERS, among=pl.col("measure").is_in(measures) & pl.col("true").is_not_null())


def _false(*measures: str) -> Statistic:
    """Mean over audits and families of tests of the share of findings that are false; 0 where nothing is found."""
    false = pl.col("even").filter(_FOUND).mean().fill_null(0.0)
    among = pl.col("measure").is_in(measures) & pl.col("even").is_not_null()
    return lambda rows: rows.filter(among).group_by("audit", "measure").agg(false=false)["false"].mean()  # type: ignore[return-value]


STATISTICS: dict[str, Statistic] = {
    "means": _covered(*_MEANS),
    "tails": _covered(*_TAILS),
    "words": _covered(m.PMI.name),
    "means_false": _false(*_GAPS),
    "tails_false": _false("max_score", "tail_share"),
    "words_false": _false(m.PMI_STRICT.name),
    "found": share(_FOUND, among=~pl.col("even") & pl.col("measure").is_in(_GAPS)),
}
"""Shares of intervals that cover and of findings that are false, by kind; and of planted gaps that are found."""


def audited(asked: CalibrationRequest) -> Calibrated:
    """Audit drawn answers."""
    all_audits, _ = repeated(asked, sized(asked, "sets", CONDITIONS, audits), STATISTICS)
    columns = [
        ("drawn", "condition"), ("sets", "sets"), ("audits", "repetitions"), ("means cover", "means"),
        ("tails cover", "tails"), ("words cover", "words"), ("false: means", "means_false"), ("tails", "tails_false"),
        ("words", "words_false"), ("gaps found", "found"),
    ]  # fmt: skip
    said = (
        "Nominal coverage .95. False: share of findings that are false; of audits with any, where nothing is planted."
    )
    return Calibrated([Table.of("All audits", columns, named(all_audits), said, boxed=False)], {"": all_audits})


def audits(condition: str, sets: int) -> Iterator[pl.DataFrame]:
    """Audits of so many sets, each of other answers, with other groups planted."""
    for number in count():
        yield audit(
            CONDITIONS[condition], sets, np.random.default_rng([number, sets, list(CONDITIONS).index(condition)])
        )


def audit(drawn: Condition, sets: int, rng: np.random.Generator) -> pl.DataFrame:
    """Draw answers, and put estimates beside what is planted."""
    effects = np.zeros(GROUPS)
    effects[rng.permutation(GROUPS)[:4]] = np.array([1, 1, -1, -1]) * drawn.planted
    declines = np.zeros(GROUPS)
    declines[rng.permutation(GROUPS)[:3]] = drawn.missing
    lists, world = word_lists(), _World(drawn, effects, rng)
    answers = _answers(world.draw(sets), declines, rng)
    estimates = estimated({"drawn": iter([answers])}, parts(_design(sets)), lists, Least(sets=sets + 1))
    found = judge(estimates, m.MEASURES, lead=m.LEAD)
    kept = found.filter(
        pl.col("measure").is_in([*_MEANS, *_TAILS, *_WORDS]),
        pl.col("word_list").is_null() | (pl.col("word_list") == LIST),
    )
    truth = _truth(world, 1 - declines)
    joined = kept.join(truth, on=["measure", "group", "word"], how="left", nulls_equal=True, maintain_order="left")
    alike = pl.when(pl.col("measure") == "max_score").then(pl.lit(not drawn.planted and not drawn.image))
    return joined.with_columns(
        found=pl.col("verdict") == Verdict.DIFFERENCE, even=alike.otherwise(pl.col("even").fill_null(value=False))
    )


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Scores and ratings, shape (sets, groups, draws), and probabilities of words, (sets, groups, words)."""

    scores: Array
    ratings: Array
    words: Array


class _World:
    """From which sets are drawn."""

    def __init__(self, drawn: Condition, effects: Array, rng: np.random.Generator) -> None:
        self.effects = effects
        self._drawn, self._rng = drawn, rng
        self._base = rng.normal(0, 0.5, len(VOCABULARY))
        self.own = np.zeros((GROUPS, len(VOCABULARY)), dtype=np.bool_)
        for at, group in enumerate(np.flatnonzero(effects > 0)):
            self.own[group, at * _OWN : (at + 1) * _OWN] = True

    def draw(self, sets: int) -> _Drawn:
        """Draw sets: what they share, what each picture has of its own, and replies to it."""
        rng, image = self._rng, self._drawn.image
        shared, own = rng.normal(size=(sets, 1, 1)), rng.normal(0, image, (sets, GROUPS, 1))
        shift = self.effects[None, :, None]
        noise = rng.normal(size=(sets, GROUPS, DRAWS))
        scores = shared + own + shift + noise
        if self._drawn.rare:
            rate = rng.beta(1, 15, (sets, 1, 1)) * np.exp(own) * (1 + shift)
            high = 0.3 + 0.7 * rng.beta(2, 2, noise.shape)
            scores = 0.01 * rng.exponential(size=noise.shape) + (rng.random(noise.shape) < rate) * high
        ratings = np.rint(np.clip(6 + shared + own + shift + rng.normal(size=noise.shape), 1, 10))
        return _Drawn(scores, ratings, self._probabilities(sets))

    def _probabilities(self, sets: int) -> Array:
        """Planted groups have words of their own; some have more words of the list, and others as many fewer."""
        rng, size = self._rng, len(VOCABULARY)
        utility = (
            self._base + rng.normal(0, 0.5, (sets, 1, size)) + rng.normal(0, self._drawn.image, (sets, GROUPS, size))
        )
        p = np.exp(utility)
        p[..., LISTED] *= 0.1 * p.sum(axis=2, keepdims=True) / p[..., LISTED].sum(axis=2, keepdims=True)
        rest = p * ~LISTED * np.where(self.own, _TIMES, 1.0)
        of_list = 0.1 * (1 + self.effects[:, None])
        listed = p * LISTED
        return np.asarray(
            listed / listed.sum(axis=2, keepdims=True) * of_list
            + rest / rest.sum(axis=2, keepdims=True) * (1 - of_list)
        )


def _design(sets: int) -> Design:
    """Blocks of open replies and ratings about the same images."""
    images = Factor(
        "image",
        tuple(f"{number} {group}" for number in range(sets) for group in range(GROUPS)),
        {
            "set": tuple(str(number) for number in range(sets) for _ in range(GROUPS)),
            "group": tuple(f"group {group}" for _ in range(sets) for group in range(GROUPS)),
        },
    )
    asked = (Factor("prompt", ("characteristics",)), Factor("draw", tuple(map(str, range(DRAWS)))))
    facts = {"subset": SUBSET, "shown": "picture"}
    rated = Block("ratings", (images,), (Factor("prompt", ("hiring",)),), {**facts, "task": RATING})
    return Design((Block("open", (images,), asked, {**facts, "task": OPEN}), rated))


def _answers(drawn: _Drawn, declines: Array, rng: np.random.Generator) -> pl.DataFrame:
    """Answers as `Study.answer` gives them, of which some groups have fewer."""
    cells = drawn.scores.shape
    chosen = (drawn.words.cumsum(axis=2)[:, :, None, None, :] < rng.random((*cells, WORDS, 1))).sum(axis=4)
    names = np.array(VOCABULARY)[np.minimum(chosen, len(VOCABULARY) - 1)].reshape(-1, WORDS)
    texts, declined = [", ".join(words) for words in names], rng.random(cells) < declines[None, :, None]
    rated = drawn.ratings[:, :, 0].ravel()
    nothing = pl.Series([None] * rated.size, dtype=pl.String)
    replies = pl.DataFrame({
        "text": texts, "words": float(WORDS), "value": None, _SCORE: drawn.scores.ravel(), "lost": declined.ravel(),
    }, schema_overrides={"value": pl.Float64})  # fmt: skip
    numbers = pl.DataFrame({
        "text": nothing, "words": None, "value": rated, _SCORE: None, "lost": declined[:, :, 0].ravel(),
    }, schema_overrides={"words": pl.Float64, _SCORE: pl.Float64})  # fmt: skip
    both = pl.concat([replies, numbers]).with_row_index("trial")
    there = ~pl.col("lost")
    return both.with_columns(
        *(pl.when(there).then(name) for name in ("text", "words", "value", _SCORE)),
        reason=pl.when("lost").then(pl.lit("refused")), note=pl.lit(None, pl.String),
    ).drop("lost")  # fmt: skip


def _truth(world: _World, shown: Array) -> pl.DataFrame:
    """What audits should find, from many sets: `measure`, `group`, `word`, `true`, and whether it is `even`."""
    many = world.draw(_MANY)
    rows: list[tuple[str, str | None, str | None, float | None, bool]] = []

    def add(measure: str, values: Array) -> None:
        for group, value in enumerate(values):
            rows.append((measure, f"group {group}", None, float(value), not world.effects[group]))

    of_list = many.words[..., LISTED].sum(axis=2)
    for name, values in (("score", many.scores), ("rating", many.ratings), ("word_share", of_list)):
        means = values.reshape(_MANY, GROUPS, -1).mean(axis=(0, 2))
        level = "score_mean" if name == "score" else name
        add(level, means)
        rows.append((level, None, None, float(means.mean()), False))
        gap = np.where(world.effects, means - means[world.effects == 0].mean(), 0.0)
        add(f"{name}_gap", gap)
    ranges = set_ranges(many.scores)
    rows.append(("max_score", None, None, float(ranges.mean()), False))
    rows.append(("max_score_q90", None, None, float(np.quantile(ranges, TAIL)), False))
    credits = tail_credits(many.scores).sum(axis=0)
    add("tail_share", credits / credits.sum())
    rate = many.words.mean(axis=0) * shown[:, None]
    for group, scores in enumerate(association(rate, shown)):
        for word, score in zip(VOCABULARY, scores.tolist(), strict=True):
            sure = score if score >= _SURE else None  # others are listed only where chance makes them large
            rows.append((m.PMI.name, f"group {group}", word, sure, False))
            rows.append((m.PMI_STRICT.name, f"group {group}", word, sure, score < _NEAR))
    schema = {"measure": pl.String, "group": pl.String, "word": pl.String, "true": pl.Float64, "even": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")
