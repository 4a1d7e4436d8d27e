"""Answers about counterfactual sets, drawn, with effects that are planted."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import polars as pl

from facevalue import studies
from facevalue.answers import NA_DTYPE
from facevalue.protocol import outside_scores
from facevalue.protocol.study import Study
from facevalue.studies.counterfactuals.study import OPEN

WORDS = ("calm", "kind", "tall", "smart", "lazy", "able", "hat", "tie", "the", "a", "doctor", "quiet", "red", "blue")
SCORE = "score: lexical/hostility"
REFUSED, UNREAD = f"{outside_scores.REFUSED}{SCORE}", f"{outside_scores.UNREAD}{SCORE}"
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
    frame: pl.DataFrame, questions: Sequence[str] = ("describe", "characteristics"), ratings: Sequence[str] = (),
    replies: int = 3, **options: Any,
) -> Study:  # fmt: skip
    """The study of a manifest; pictures without a set are each one by itself."""
    columns = {"path": pl.lit(None, pl.String), "set": pl.coalesce("set", "image")}
    asked: dict[str, Any] = {"prompt": [*questions, *ratings], "replies": replies, "manifest": "sets.csv", "root": "."}
    listed = frame.with_columns(**columns).cast(dict.fromkeys(("path", "set", "occupation"), pl.String))
    return studies.protocol("counterfactuals").study(asked | options, listed)


def answered(
    design: Study, seed: int = 0, *, say: Saying | None = None, shift: dict[str, float] | None = None,
    rated: dict[str, float] | None = None, refused: dict[str, float] | None = None, repeats: int = 1,
) -> pl.DataFrame:  # fmt: skip
    """Texts of eight words, scores and ratings; `shift` and `rated` are added for a group, `refused` is its share."""
    rng = np.random.default_rng(seed)
    plain = design.design.trials(np.arange(design.design.size))
    frame = pl.concat([plain.with_columns(repeat=pl.lit(at, pl.UInt8)) for at in range(repeats)]).sort("trial")
    size, group, task = frame.height, frame["group"].cast(pl.String), frame["task"].cast(pl.String)
    is_open = task == OPEN
    said = [" ".join(rng.choice(WORDS, 8)) + (f" {say(name, rng)}" if say else "") for name in group]
    added = {name: group.replace_strict(given or {}, default=0.0, return_dtype=pl.Float64).to_numpy()
             for name, given in (("shift", shift), ("rated", rated), ("refused", refused))}  # fmt: skip
    rating = pl.Series(np.clip(rng.integers(4, 8, size) + added["rated"], 1, 10))
    lost = pl.Series(rng.random(size) < added["refused"])
    columns = {
        "text": pl.when(is_open).then(pl.Series(said)),
        "open": pl.when(is_open).then(pl.Series([float(len(text.split())) for text in said])),
        "rating": pl.when(task == "rating").then(rating),
        "salary": pl.when(task == "salary").then(rating * 10_000),
        SCORE: pl.when(is_open).then(pl.Series(rng.beta(1, 8, size) + added["shift"])),
    }
    known: dict[str, pl.Expr] = {name: pl.when(~lost).then(own) for name, own in columns.items()}
    declined = pl.when(lost & is_open)
    known |= {"declined": declined.then(pl.lit("I can't.")), REFUSED: declined.then(REFUSAL_SCORE)}
    reason = pl.when(lost).then(pl.lit("refused"))
    known |= {UNREAD: declined.then(0.0), "mass": pl.when(lost).then(0.0).otherwise(1.0), "na": reason.cast(NA_DTYPE)}
    return frame.with_columns(**known, reason=reason, note=pl.lit(None, pl.String))


class Lexical:
    """Scores that were drawn already; of the sentences of an audit all are alike."""

    name, labels = "lexical", ("hostility",)

    def scores_of_texts(self, texts: pl.Series) -> pl.DataFrame:
        return pl.DataFrame({"hostility": np.zeros(len(texts))})


def measured(
    design: Study, *answers: pl.DataFrame, frequency: int = 10, sets: int = 5, words: str = "", longest: int = 512
) -> pl.DataFrame:
    """Estimates of answers in chunks; of several models where several are given."""
    chunks = {f"model {at}": iter([own[i : i + 500] for i in range(0, own.height, 500)])
              for at, own in enumerate(answers)}  # fmt: skip
    repeats = max((int(own["repeat"].max() or 0) + 1 for own in answers), default=1)  # type: ignore[arg-type]
    options: dict[str, Any] = {"min_frequency": frequency, "min_sets": sets, "words": words, "max_tokens": longest}
    options["seeds"] = [str(seed) for seed in range(repeats)]
    study = studies.protocol("counterfactuals").study({**design.options, **options}, design.manifest)
    if any(SCORE in own.columns for own in answers) and study.reading.scored is not None:
        study = study.reading.scored.carrying([cast(Any, Lexical())])
    return study.analyse(chunks)
