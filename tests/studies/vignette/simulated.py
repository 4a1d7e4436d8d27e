"""Answers of a simulated model with known preferences, in the columns of VIGNETTE's answers frame."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl

Chance = Callable[[dict[str, Any]], float]
"""From a trial to the probability of option 1 (or of the right answer)."""
DECISION = [{"paradigm": "decision", "question": q, "trait": q} for q in ("ability", "status")]
PERCEPTION = [{"paradigm": "perception", "question": q} for q in ("struggle", "capability", "enjoyment", "dislike")]
TERMS = [
    {
        "paradigm": "stereotype",
        "question": term,
        "trait": "sociability",
        "valence": valence,
        "pair": "friendly-unfriendly",
    }
    for term, valence in (("friendly", "high"), ("unfriendly", "low"))
]
POLITICS = [{"paradigm": "stereotype", "question": "traditional", "trait": "politics", "valence": "high"}]
DOING = [{"paradigm": "factuality", "question": "doing", "about": about} for about in "12"]
COLUMNS = (
    *("gender", "dimension", "contrast", "shown", "identity_1", "identity_2", "activity", "prompt", "paradigm"),
    *("question", "about", "trait", "valence", "pair", "wording", "reference"),
)


def answered(
    chance: Chance,
    prompts: Sequence[Mapping[str, str]] = DECISION,
    identities: Sequence[str] = ("adult", "child", "old", "young"),
    activities: Sequence[str | None] = ("cooking", "sleeping", "hiking", "reading", "fishing"),
    variants: Mapping[str, Sequence[str]] | None = None,
    *,
    contrast: str = "identity",
    dimension: str = "age",
    genders: Sequence[str] = ("male", "female"),
    exact: bool = False,
    missing: float = 0.0,
    seed: int = 0,
) -> pl.DataFrame:
    """Ask everything once, pictures with all their prompts and variants together, text after all pictures."""
    rng = np.random.default_rng(seed)
    inner = {name: levels for name, levels in (variants or {}).items() if name != "shown"}
    rows: list[dict[str, Any]] = []
    shown = (variants or {}).get("shown", (None,))
    for medium, gender, (one, two), activity in product(shown, genders, combinations(identities, 2), activities):
        left = bool(rng.integers(2))
        for prompt in prompts:
            first = bool(rng.integers(2))
            for levels in product(*inner.values()):
                row: dict[str, Any] = dict.fromkeys(COLUMNS)
                row |= {"gender": gender, "dimension": dimension, "contrast": contrast, "shown": medium}
                row |= {"identity_1": one, "identity_2": two, "activity": activity, **prompt}
                row |= {"prompt": " ".join([prompt["question"], prompt.get("about", "")]).strip()}
                row |= dict(zip(inner, levels, strict=True))
                row |= {"listed_first": first, "left_first": left}
                p = chance(row)
                valid = rng.random() >= missing
                weight = p if exact else float(rng.random() < p)
                row |= {"weight": weight if valid else None, "mass": float(valid), "na": None if valid else "refusal"}
                rows.append(row)
    absent = [name for name in ("shown", "wording", "reference") if name not in (variants or {})]
    frame = pl.DataFrame(rows, infer_schema_length=None).drop(absent)
    nothing = [pl.lit(None, pl.Float64).alias(name) for name in ("swapped", "both", "none")]
    counted = frame.with_row_index("trial").with_columns(pl.lit(0, pl.UInt8).alias("repeat"), *nothing)
    return counted.with_columns(pl.col(name).cast(pl.String) for name in COLUMNS if name in counted.columns)


def prefers(strength: Mapping[str, float]) -> Chance:
    """Chooses by strength, on the logit scale; a right answer likewise for the identity that is asked about."""

    def chance(row: dict[str, Any]) -> float:
        if row["paradigm"] == "factuality":
            return float(1 / (1 + np.exp(-strength.get(row[f"identity_{row['about']}"], 0.0))))
        return float(1 / (1 + np.exp(strength.get(row["identity_2"], 0.0) - strength.get(row["identity_1"], 0.0))))

    return chance


def chunks(frame: pl.DataFrame, size: int) -> list[pl.DataFrame]:
    """Cut a frame into pieces of so many rows."""
    return [frame[start : start + size] for start in range(0, frame.height, size)]
