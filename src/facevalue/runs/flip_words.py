"""Flips in words: which picture, what was asked, what either run answered."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from facevalue.runs.answer_flips import AnswerFlips, ComparedAnswers
from facevalue.runs.answer_pairs import prompt_columns
from facevalue.runs.pictures import TrialPictures, shown
from facevalue.runs.reply_words import said
from facevalue.runs.stored import StoredRun
from facevalue.store import read_responses
from facevalue.types import Option

AT_ONCE = 20_000
"""Flips that are worded at a time."""
NO_FLIPS = pl.DataFrame(
    schema={"trial": pl.UInt64, "seed": pl.Int64, **dict.fromkeys(("picture", "factors", "asked", "first", "second"),
            pl.String), "shift": pl.Float64},
)  # fmt: skip
"""Flips in words, none of them."""


@dataclass(frozen=True, slots=True)
class FlipInWords:
    """A flip for people."""

    trial: int
    """Number in the first run."""
    seed: int
    picture: str
    """Names of the pictures; empty where none has a name."""
    factors: str
    """What else is known of what was shown."""
    asked: str
    """The prompt, verbatim."""
    first: str
    second: str
    """Replies, an option's letter with the option; or the probabilities of the options."""
    shift: float
    """How far the chances of answers lie apart, 0 to 1."""
    rare: float
    """Share of the second answer among the first run's answers to this question."""

    def pictures(self, run: StoredRun) -> TrialPictures:
        """What the trial showed; `run`: the first one."""
        return shown(run.plain(), self.trial)


def worded(flips: pl.DataFrame, first: StoredRun, second: StoredRun, *, spelled: bool = False) -> pl.DataFrame:
    """Flips as a table of texts, the columns of `NO_FLIPS`.

    `spelled`: whether a reply that only names the letter of an option is followed by the option.
    """
    study, trials = first.plain().study, flips["trial"].to_numpy().astype(np.int64)
    factors = study.design.trials(trials)
    questions = study.ask(factors)
    question_columns = ("trial", "block", *prompt_columns(study))
    names = [name for name in factors.columns if name not in question_columns]
    images = [name for name in names if name.startswith("image")]
    replies = []
    for run, trial, reply in ((first, "trial", "reply"), (second, "trial_2", "reply_2")):
        stored = read_responses(run.folder, trials=flips[trial].unique().to_numpy().astype(np.int64))
        of_run = stored.select(pl.col("trial").alias(trial), pl.col("repeat").alias(reply), "text", "probs")
        texts = flips.select(trial, reply).join(of_run, on=[trial, reply], how="left", maintain_order="left")
        rows = zip(texts["text"], texts["probs"], questions, strict=True)
        replies.append(
            [
                said(text, probs, question.options) + (_option(text, question.options) if spelled else "")
                for text, probs, question in rows
            ]
        )
    plain = factors.with_columns(pl.col(names).cast(pl.String))
    return pl.DataFrame(
        {
            "trial": flips["trial"],
            "seed": flips["seed"],
            "picture": plain.select(_joined(images, " | "))[:, 0] if images else [""] * flips.height,
            "factors": plain.select(_joined([name for name in names if name not in images], ", ", named=True))[:, 0],
            "asked": [question.prompt for question in questions],
            "first": replies[0],
            "second": replies[1],
            "shift": flips["shift"],
        },
        schema=NO_FLIPS.schema,
    )


def _option(reply: str | None, options: Sequence[Option]) -> str:
    """The text of the option whose letter is all that a reply says, after a space; empty for other replies."""
    letter = re.sub(r"\W|option", "", (reply or "").lower())
    labels = {re.sub(r"\W", "", option.label.lower()): option.text for option in options if option.label}
    return f" {labels[letter]}" if letter in labels else ""


def _joined(names: list[str], separator: str, *, named: bool = False) -> pl.Expr:
    texts = [pl.when(pl.col(name).is_not_null()).then((f"{name} " if named else "") + pl.col(name)) for name in names]
    return pl.concat_str(texts, separator=separator, ignore_nulls=True)


def telling_flips(flips: AnswerFlips, first: StoredRun, second: StoredRun) -> tuple[FlipInWords, ...]:
    """The most telling flips, for people."""
    if not flips.telling.height:
        return ()
    texts = worded(flips.telling, first, second, spelled=True).with_columns(flips.telling["rare"])
    return tuple(FlipInWords(**row) for row in texts.iter_rows(named=True))


def all_worded(compared: ComparedAnswers) -> Iterator[pl.DataFrame]:
    """All flips as tables of texts, some at a time."""
    for flips in compared.all_flips():
        for start in range(0, flips.height, AT_ONCE):
            yield worded(flips[start : start + AT_ONCE], *compared.pairs.runs)
