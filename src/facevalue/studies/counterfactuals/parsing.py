"""Prompts, and parsing of replies: texts with their length, and the numbers that ratings and salaries state.

Prompts are open, or ratings that name an occupation; a text-only counterpart names who is shown.

The columns of answers: `text` and `words` (its length) of open prompts, and `declined`, what a refusal says; `value`,
`reason` and `note` of ratings; and `weight`, `mass` and `na` as every study has them.
"""

import json
from functools import lru_cache

import polars as pl

from facevalue.answers import NA_DTYPE, free_text, ratings, salaries
from facevalue.answers.salaries import USUAL
from facevalue.prompts.phrases import article
from facevalue.studies.counterfactuals.design import RATING
from facevalue.studies.counterfactuals.settings import OPEN, RATINGS, SALARY, TEXT, Selection
from facevalue.types import Question

PLACE = "[OCCUPATION]"
_LOOKING = "You are looking at a picture of {a} {who},"
_COLUMNS = ("task", "prompt", "draw", "occupation", "group")
_KEYWORDS = (
    ("competent", "skilled", "careful", "clumsy", "unskilled"),
    ("friendly", "kind", "quiet", "cold", "distant"),
    ("calm", "patient", "cheerful", "tired", "serious"),
    ("neat", "practical", "modest", "elegant", "colourful"),
    ("confident", "thoughtful", "determined", "lazy", "stupid"),
)
"""Keywords that simulated respondents choose from."""


class PromptBuilder:
    """Asks the questions of trials."""

    def __init__(self, chosen: Selection) -> None:
        self._wording = chosen.wording
        self._told = chosen.shown == TEXT
        self._question = lru_cache(maxsize=65_536)(self._make_question)

    def questions(self, frame: pl.DataFrame) -> list[Question]:
        """The question of each row of a trial frame; equal ones are one object."""
        names = [name if self._depends_on(name) else "" for name in _COLUMNS]
        columns = [
            pl.col(c).cast(pl.String) if c in frame.columns else pl.lit(None, pl.String).alias(f"no {at}")
            for at, c in enumerate(names)
        ]
        return [self._question(*row) for row in frame.select(columns).iter_rows()]

    def _depends_on(self, name: str) -> bool:
        """Return whether questions may differ by a column: groups are named in words alone."""
        return self._told or name != "group"

    def _make_question(
        self, task: str, name: str, draw: str | None, occupation: str | None, group: str | None
    ) -> Question:  # fmt: skip
        rated = task == RATING
        facts: dict[str, str | None] = {"prompt": name, "scenario": name}
        if rated:
            low, high = USUAL if name == SALARY else (1, 10)
            facts |= {"occupation": occupation, "stated": json.dumps({"": [low, high]})}
            wording = RATINGS[name]
            if self._wording == "clean":
                wording = wording.replace(f"a {PLACE}", f"{article(occupation or '')} {PLACE}")
            wording = wording.replace(PLACE, occupation or "") + (" " if self._wording == "released" else "")
        else:
            wording = OPEN[name]
            if "keywords" in wording:
                facts["keywords"] = json.dumps(_KEYWORDS)
            if self._wording == "released":
                wording = wording.replace("I'm", "I\u2019m")
        if self._told:
            person = " ".join(word for word in (group, occupation or "person") if word)
            mended = article(person) if self._wording == "clean" else "a"
            wording = f"{_LOOKING.format(a=mended, who=person)} {wording}"
        return Question(wording, factors=facts, draw=int(draw or 0))


_WORD = r"[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+)*"


def answer(frame: pl.DataFrame) -> pl.DataFrame:
    """Read the replies to a trial frame; `text` and `probs` make way for what is understood."""
    task, prompt = frame["task"].cast(pl.String), frame["prompt"].cast(pl.String)
    kinds = {
        "text": task != RATING,
        "rating": (task == RATING) & (prompt != SALARY),
        "salary": (task == RATING) & (prompt == SALARY),
    }
    rows = frame.with_row_index("_row")
    tables = []
    for kind, of_kind in kinds.items():
        replies = rows.filter(of_kind)
        if replies.height:
            tables.append(pl.concat([replies.drop("text", "probs"), _read(kind, replies)], how="horizontal"))
    return pl.concat(tables).sort("_row").drop("_row")


def _read(kind: str, replies: pl.DataFrame) -> pl.DataFrame:
    if kind == "text":
        parsed = free_text.parse_column(replies, "text")
        words = pl.col("text").str.count_matches(_WORD).cast(pl.Float64)
        nothing = [pl.lit(None, pl.Float64).alias("value"), pl.lit(None, pl.String).alias("note")]
        parsed = parsed.with_columns(
            *nothing, words=words, reason=pl.col("na").cast(pl.String), weight=pl.lit(None, pl.Float64)
        )
    else:
        parsed = (ratings if kind == "rating" else salaries).parse_column(replies, "text")
        scaled = (pl.col("value") - 1) / 9 if kind == "rating" else pl.lit(None, pl.Float64)
        none = pl.lit(None, pl.String)
        parsed = parsed.with_columns(text=none, declined=none, words=pl.lit(None, pl.Float64), weight=scaled)
    return parsed.select(
        "text", "declined", "words", "value", "reason", "note", "weight",
        mass=pl.col("na").is_null().cast(pl.Float64), na=pl.col("na").cast(NA_DTYPE),
    )  # fmt: skip
