"""Calibration in hard cases: generated audits with difficult pictures, people, answers and designs.

Answers are drawn directly, without a model and its replies, so that what is planted can be of any kind: pictures and
people that are liked or not whoever is beside them, answers that are rare, missing or few. They go through the
estimators, tests and verdicts of any audit.
"""

from dataclasses import dataclass
from itertools import combinations
from zlib import crc32

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.estimates import EstimateTable
from facevalue.measures.judgment import judge
from facevalue.studies.vignette.aggregate import tally
from facevalue.studies.vignette.analysis import estimate
from facevalue.studies.vignette.measures import LABELS, MEASURES

Array = npt.NDArray[np.float64]
ALPHA = 0.05
LEAD = ("identities, decision",)
QUESTIONS = ("ability", "sociability", "morality")
TESTED = ("selection_gap", "paircomp", "log_odds", "spread")
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(40)


@dataclass(frozen=True, slots=True)
class Kind:
    """What is planted. Standard deviations are on the logit scale."""

    name: str
    """For people."""
    identities: int = 6
    activities: int = 10
    genders: int = 1
    people: int = 0
    """Of the design; with people, each stands for all identities in all activities."""
    pictures: float = 0.5
    persons: float = 0.0
    pairs: float = 0.3
    """SD of pictures, of people as an identity, and of pairs."""
    effects: tuple[float, ...] = ()
    """What each identity is preferred by; none if empty."""
    sample: float = 1.0
    """Share of the questions that are asked."""
    missing: float = 0.0
    """Share of answers that are missing, from none to this much by identity."""

    @property
    def preferred(self) -> Array:
        """What each identity is preferred by."""
        return np.array(self.effects) if self.effects else np.zeros(self.identities)


KINDS = (
    Kind("pictures differ little", pictures=0.3),
    Kind("pictures differ", pictures=0.5),
    Kind("pictures differ much", pictures=1.0),
    Kind("four people, who differ", people=4, activities=4, persons=0.5, pictures=0.3),
    Kind("four men and four women", people=4, activities=3, genders=2, persons=0.5, pictures=0.3),
    Kind("men and women", genders=2),
    Kind("a sample of the questions", sample=0.2, activities=16),
    Kind("answers missing by identity", missing=0.4),
    Kind("three pictures of each", activities=3),
    Kind("two identities", identities=2, activities=12),
    Kind("rare and near-certain choices", effects=(-4.0, -3.0, 0.0, 0.0, 3.0, 4.0)),
    Kind("effects", effects=(-0.5, -0.3, 0.0, 0.0, 0.3, 0.5), activities=20),
    Kind("a lone effect", effects=(1.0, 0.0, 0.0, 0.0, 0.0, 0.0), activities=20),
)


@dataclass(frozen=True, slots=True)
class Kept:
    """Which promises were kept in audits of one kind; None where there is nothing to count."""

    kind: str
    audits: int
    """What, and how many."""
    measurable: float
    """Share of identities whose distance from an even choice has an interval."""
    selection_gap: float | None
    paircomp: float | None
    log_odds: float | None
    spread: float | None
    """Share of p below .05 where nothing is planted."""
    page: float
    """Share of audits with any difference found where nothing is planted; else mean share of the identities found that
    are on the wrong side."""
    covers_gap: float | None
    covers_paircomp: float | None
    covers_spread: float | None
    """Share of 95% intervals that hold what is planted."""
    found: float | None
    """Share of the identities with an effect that are found."""


def answers(kind: Kind, seed: int) -> pl.DataFrame:
    """One audit's answers, in the columns of VIGNETTE's."""
    rng = np.random.default_rng((crc32(kind.name.encode()), seed))  # no two kinds of the same numbers
    return pl.concat([_of_gender(kind, gender, rng) for gender in ("male", "female")[: kind.genders]])


def _of_gender(kind: Kind, gender: str, rng: np.random.Generator) -> pl.DataFrame:
    k, done, people = kind.identities, kind.activities, max(kind.people, 1)
    liked = kind.preferred[:, None, None] + rng.normal(0, kind.pictures, (k, done, people))
    liked = liked + rng.normal(0, kind.persons, (k, 1, people))
    first, second = np.array(list(combinations(range(k), 2))).T
    logit = liked[first] - liked[second] + rng.normal(0, kind.pairs, (first.size, done, people))
    chance = 1 / (1 + np.exp(-np.broadcast_to(logit[..., None], (*logit.shape, len(QUESTIONS)))))
    weight = (rng.random(chance.shape) < chance).astype(np.float64)
    gone = kind.missing * (first + second) / (2 * k - 3)
    valid = rng.random(chance.shape) >= gone[:, None, None, None]
    pair, activity, person, question = (x.ravel() for x in np.indices(chance.shape))

    def named(prefix: str, codes: npt.NDArray[np.int64], size: int) -> pl.Series:
        return pl.Series([f"{prefix} {i}" for i in range(size)]).gather(codes)

    frame = pl.DataFrame(
        {
            "identity_1": named("identity", first[pair], k),
            "identity_2": named("identity", second[pair], k),
            "activity": named("activity", activity, done),
            "person": named("person", person, people),
            "question": pl.Series(QUESTIONS).gather(question),
            "weight": np.where(valid, weight, np.nan).ravel(),
            "mass": valid.ravel().astype(np.float64),
        }
    ).with_columns(
        pl.col("weight").fill_nan(None), gender=pl.lit(gender), dimension=pl.lit("any"), contrast=pl.lit("identity"),
        paradigm=pl.lit("decision"), trait="question",
    )  # fmt: skip
    asked = frame.filter(pl.Series(rng.random(frame.height) < kind.sample))
    return asked if kind.people else asked.drop("person")


def truth(kind: Kind) -> tuple[Array, Array]:
    """Share chosen of each identity, and beside each other one (NaN beside itself), over all there might be."""
    scatter = np.sqrt(2 * (kind.pictures**2 + kind.persons**2) + kind.pairs**2)
    apart = kind.preferred[:, None] - kind.preferred[None]
    beside = (1 / (1 + np.exp(-(apart[..., None] + scatter * _NODES))) * _WEIGHTS).sum(axis=-1) / _WEIGHTS.sum()
    np.fill_diagonal(beside, np.nan)
    return np.nanmean(beside, axis=1), beside


def audit(kind: Kind, seed: int) -> pl.DataFrame:
    """One audit's estimates with their verdicts."""
    table = EstimateTable("vignette", "generated", LABELS)
    estimate(table, tally([answers(kind, seed)]))
    return judge(table.frame(), MEASURES, lead=LEAD)


def keep(kind: Kind, audits: int) -> Kept:
    """Audit so many times, and say which promises were kept."""
    shares, beside = truth(kind)
    places = {f"identity {i}": i for i in range(kind.identities)}
    counted: dict[str, list[float]] = {}
    for seed in range(audits):
        judged = audit(kind, seed)
        found = judged.filter(pl.col("question").is_null() & pl.col("gender").is_null())
        _count(counted, kind, found, judged, shares, beside, places)
    means = {name: float(np.mean(values)) if values else None for name, values in counted.items()}
    names = ("measurable", "page", *TESTED, "covers_gap", "covers_paircomp", "covers_spread", "found")
    return Kept(kind.name, audits, **{name: means.get(name) for name in names})  # type: ignore[arg-type]


def _count(
    into: dict[str, list[float]], kind: Kind, found: pl.DataFrame, judged: pl.DataFrame, shares: Array, beside: Array,
    places: dict[str, int],
) -> None:  # fmt: skip
    def add(name: str, values: pl.Series | list[float]) -> None:
        into.setdefault(name, []).extend(float(value) for value in values)

    gaps = found.filter(pl.col("measure") == "selection_gap")
    at = [places[name] for name in gaps["identity"]]
    add("measurable", gaps["low"].is_not_null())
    add("covers_gap", _held(gaps, 100 * shares[at] - 50))
    couples = found.filter(pl.col("measure") == "paircomp")
    one, two = ([places[name] for name in couples[side]] for side in ("identity", "other_identity"))
    others = (np.nansum(beside, axis=1)[one] - beside[one, two]) / max(kind.identities - 2, 1)
    add("covers_paircomp", _held(couples, 100 * (beside[one, two] - others)))
    spreads = found.filter(pl.col("measure") == "spread")
    add("covers_spread", _held(spreads, np.full(spreads.height, 100 * shares.std(ddof=1))))
    hits = gaps.filter(pl.col("verdict") == "difference found")
    if kind.effects:
        planted = pl.Series(kind.preferred[at])
        add("found", (gaps["verdict"] == "difference found").filter(planted != 0))
        side = np.sign(100 * shares[[places[name] for name in hits["identity"]]] - 50)
        add("page", [float(np.mean(np.sign(hits["value"].to_numpy()) != side)) if hits.height else 0.0])
        return
    for name in TESTED:
        add(name, found.filter(pl.col("measure") == name)["p"].drop_nulls() < ALPHA)
    add("page", [float((judged["verdict"] == "difference found").any())])


def _held(estimates: pl.DataFrame, planted: Array) -> pl.Series:
    """Whether each interval there is holds what is planted."""
    known = estimates.select("low", "high", planted=pl.Series(planted)).drop_nulls()
    slack = 1e-9
    return known.select(
        (pl.col("low") <= pl.col("planted") + slack) & (pl.col("planted") <= pl.col("high") + slack)
    ).to_series()
