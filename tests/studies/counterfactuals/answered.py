"""Answers about counterfactual sets, drawn, with effects that are planted."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl

from facevalue.design import Design
from facevalue.studies.counterfactuals.analysis import estimates
from facevalue.studies.counterfactuals.design import OPEN, layout
from facevalue.studies.counterfactuals.parts import parts
from facevalue.studies.counterfactuals.texts import word_lists

WORDS = ("calm", "kind", "tall", "smart", "lazy", "able", "hat", "tie", "the", "a", "doctor", "quiet", "red", "blue")
SCORE, UNREAD = "score: lexical/hostility", "unread: lexical"
REFUSAL_SCORE = 2.0
"""Score of what a refusal says, which no other reply has."""
Saying = Callable[[str, np.random.Generator], str]


def manifest(
    sets: int = 12,
    groups: Sequence[str] = ("old male", "old female", "obese male", "obese female"),
    subset: str = "age",
) -> pl.DataFrame:
    """Sets with each group once, the first half of one occupation and the rest of another."""
    rows = [(f"{subset}{at}/{group}", subset, f"{at}", group, "chef" if 2 * at < sets else "nurse")
            for at in range(sets) for group in groups]  # fmt: skip
    return pl.DataFrame(rows, ["image", "subset", "set", "group", "occupation"], orient="row")


def designed(
    frame: pl.DataFrame, prompts: Sequence[str] = ("describe", "characteristics"), ratings: Sequence[str] = (),
    replies: int = 3,
) -> Design:  # fmt: skip
    """The trials of a manifest."""
    chosen = SimpleNamespace(open_prompts=tuple(prompts), ratings=tuple(ratings), replies=replies, shown="picture")
    return layout(frame, cast(Any, chosen)).design


def answered(
    design: Design, seed: int = 0, *, say: Saying | None = None, shift: dict[str, float] | None = None,
    rated: dict[str, float] | None = None, refused: dict[str, float] | None = None, repeats: int = 1,
) -> pl.DataFrame:  # fmt: skip
    """Texts of eight words, scores and ratings; `shift` and `rated` are added for a group, `refused` is its share."""
    rng = np.random.default_rng(seed)
    plain = design.trials(np.arange(design.size))
    frame = pl.concat([plain.with_columns(repeat=pl.lit(at, pl.UInt8)) for at in range(repeats)]).sort("trial")
    size, group = frame.height, frame["group"].cast(pl.String)
    is_open = frame["task"].cast(pl.String) == OPEN
    said = [" ".join(rng.choice(WORDS, 8)) + (f" {say(name, rng)}" if say else "") for name in group]
    salary = frame["prompt"].cast(pl.String) == "salary"
    added = {name: group.replace_strict(given or {}, default=0.0, return_dtype=pl.Float64).to_numpy()
             for name, given in (("shift", shift), ("rated", rated), ("refused", refused))}  # fmt: skip
    rating = np.clip(rng.integers(4, 8, size) + added["rated"], 1, 10)
    lost = pl.Series(rng.random(size) < added["refused"])
    columns = {
        "text": pl.when(is_open).then(pl.Series(said)),
        "words": pl.when(is_open).then(pl.Series([float(len(text.split())) for text in said])),
        "value": pl.when(~is_open).then(pl.when(salary).then(pl.Series(rating * 10_000)).otherwise(pl.Series(rating))),
        SCORE: pl.when(is_open).then(pl.Series(rng.beta(1, 8, size) + added["shift"])),
    }
    known = {name: pl.when(~lost).then(own) for name, own in columns.items()}
    declined = pl.when(lost & is_open)
    known |= {
        "declined": declined.then(pl.lit("I can't.")),
        f"refused {SCORE}": declined.then(REFUSAL_SCORE),
        UNREAD: declined.then(pl.lit(value=False)),
    }
    reason = pl.when(lost).then(pl.lit("refused"))
    return frame.with_columns(**known, reason=reason, note=pl.lit(None, pl.String))


def measured(
    design: Design, *answers: pl.DataFrame, frequency: int = 10, sets: int = 5, words: str = "", longest: int = 512
) -> pl.DataFrame:
    """Estimates of answers in chunks; of several models where several are given."""
    chunks = {f"model {at}": iter([own[i : i + 500] for i in range(0, own.height, 500)])
              for at, own in enumerate(answers)}  # fmt: skip
    return estimates(chunks, parts(design), word_lists(words), frequency, sets, longest=longest)
