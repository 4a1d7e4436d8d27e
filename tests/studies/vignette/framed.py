"""A small whole VIGNETTE: all contrasts and prompts, with answers that are drawn or given."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations
from typing import Any

import numpy as np
import polars as pl

from facevalue.studies.vignette.aggregate import SHOWN_AS, RoleAnswers, Tables, whole_stimuli

PERCEPTION = ("struggle", "capability", "enjoyment", "dislike")
DECISION = ("ability", "sociability", "morality", "agency", "status", "appearance")
TERMS = (
    ("friendly", "sociability", "friendly-unfriendly", "high"),
    ("unfriendly", "sociability", "friendly-unfriendly", "low"),
    ("moral", "morality", "moral-immoral", "high"),
    ("immoral", "morality", "moral-immoral", "low"),
)
CONTRASTS = ("identity", "activity", "identity-activity", "portrait")
STIMULUS = (
    *("gender", "dimension", "contrast", "identity", "identity_1", "identity_2"),
    *("activity", "activity_1", "activity_2"),
)
LABELS = (*STIMULUS, "paradigm", "question", "about", "trait", "pair", "valence", "prompt")


def answers(
    identities: Sequence[str] = ("old", "young", "adult"),
    activities: Sequence[str] = ("cooking", "sleeping", "running"),
    genders: Sequence[str] = ("male", "female"),
    contrasts: Sequence[str] = CONTRASTS,
    *,
    seed: int = 0,
    repeats: int = 1,
    exact: bool = False,
    missing: float = 0.1,
) -> pl.DataFrame:
    """Answers to everything once per repeat, in the order of trials, options even."""
    rows: list[dict[str, Any]] = []
    for gender in genders:
        for contrast in contrasts:
            block = {"gender": gender, "dimension": "age", "contrast": contrast}
            for shown in stimuli(contrast, identities, activities):
                for prompt in prompts(contrast):
                    rows += [{**block, **shown, **prompt, "repeat": k} for k in range(repeats)]
    frame = pl.DataFrame(rows, schema={**dict.fromkeys(LABELS, pl.String()), "repeat": pl.UInt8()}, strict=False)
    return drawn(frame, seed=seed, exact=exact, missing=missing)


def drawn(frame: pl.DataFrame, *, seed: int, exact: bool, missing: float) -> pl.DataFrame:
    """The rows with answers drawn: of two options either, of four the right one in half of the cases."""
    rng = np.random.default_rng(seed)
    size = frame.height
    weight = rng.random(size) if exact else (rng.random(size) < 0.5).astype(np.float64)
    gone = rng.random(size) < missing
    mass = np.where(gone, 0.0, rng.uniform(0.6, 1.0, size) if exact else 1.0)
    other = rng.dirichlet([1, 1, 1], size) if exact else np.eye(3)[rng.integers(0, 3, size)]
    told = (frame["question"] == "who").fill_null(value=False).to_numpy() & ~gone
    outcomes = {
        name: np.where(told, other[:, i] * (1 - weight), np.nan) for i, name in enumerate(("swapped", "both", "none"))
    }
    numbers = {"weight": np.where(gone, np.nan, weight), **outcomes}
    enums = [pl.col(x).cast(pl.Enum(frame[x].drop_nulls().unique(maintain_order=True))) for x in LABELS]
    return frame.with_columns(
        *enums,
        *(pl.Series(name, values).fill_nan(None) for name, values in numbers.items()),
        pl.Series("mass", mass),
        pl.int_range(size, dtype=pl.UInt64).alias("trial"),
        pl.Series("listed_first", rng.random(size) < 0.5),
        pl.Series("left_first", rng.random(size) < 0.5),
        pl.when(pl.Series(gone)).then(pl.lit("refused")).alias("na"),
    )


def stimuli(contrast: str, identities: Sequence[str], activities: Sequence[str]) -> Iterator[dict[str, str]]:
    """What is shown in a block."""
    if contrast == "activity":
        for who in identities:
            for first, second in combinations(activities, 2):
                yield {"identity": who, "activity_1": first, "activity_2": second}
        return
    for one, two in combinations(identities, 2):
        people = {"identity_1": one, "identity_2": two}
        if contrast == "portrait":
            yield people
        elif contrast == "identity":
            yield from ({**people, "activity": activity} for activity in activities)
        else:
            for first, second in permutations(activities, 2):
                yield {**people, "activity_1": first, "activity_2": second}


def prompts(contrast: str) -> Iterator[dict[str, str]]:
    """What is asked about a pair."""
    crossed = contrast == "identity-activity"
    if contrast == "portrait":
        for term, trait, pair, valence in TERMS:
            yield asked("stereotype", term, trait=trait, pair=pair, valence=valence)
        return
    for question in ("doing", "who") if crossed else ("doing",) if contrast == "identity" else ():
        yield from (asked("factuality", question, about=about) for about in "12")
    for question in PERCEPTION:
        yield from (
            (asked("perception", question, about=k) for k in "12") if crossed else [asked("perception", question)]
        )
    if contrast == "identity":
        yield from (asked("decision", question, trait=question) for question in DECISION)


def asked(paradigm: str, question: str, **labels: str) -> dict[str, str]:
    """A prompt's columns."""
    name = " ".join([paradigm, question, labels.get("about", "")]).strip()
    return {"paradigm": paradigm, "question": question, "prompt": name, **labels}


def chunks(frame: pl.DataFrame, size: int) -> Iterator[pl.DataFrame]:
    """The frame in pieces."""
    for start in range(0, frame.height, size):
        yield frame[start : start + size]


def collect(chunks: Iterable[pl.DataFrame]) -> Tables:
    """Add up all chunks, which come in the order of trials."""
    out = RoleAnswers()
    for chunk in whole_stimuli(chunks, SHOWN_AS):
        out.add(chunk)
    return out.tables()
