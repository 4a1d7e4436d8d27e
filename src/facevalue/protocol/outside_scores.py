"""Scores of texts that come from outside: categories by a judge, numbers by scorers, and what of them is missing."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from facevalue.annotations.scores import Scores, columns
from facevalue.answers.sorting import TEXT_SLOT, Judge, Sorting
from facevalue.errors import DataError
from facevalue.measures.definitions import Measure, key_of, split_key
from facevalue.prompts.phrases import OPTIONS, check_unfilled, fill_slots, slots
from facevalue.statistics.statistic import Score

TEXT = "text"
ENTRIES, DECLINED = "entries", "declined"
"""Columns of answers that hold texts which a judge or a scorer reads, and lists of texts; null where there is none."""
REFUSED, UNREAD = "refused ", "unread "
"""Prefixes of columns, before the name of a score: that of what a refusal says, and 1 or 0 where its scorer has not
read it, or has."""
_ROW = "(row)"
_UNJUDGED, _UNSORTED, _INVENTED, _UNSCORED = "unjudged", "unsorted", "invented", "unscored"
_TOLD = {
    _UNJUDGED: ("Texts that no judge has sorted", "texts that the judge was not asked about, or whose request failed"),
    _UNSORTED: ("Texts of which the judge names no category", "texts of none of the categories or of several"),
    _INVENTED: ("Texts for which the judge invents a category", "texts with a category that there is not: never used"),
    _UNSCORED: ("Texts without a score", "texts that no scorer has read, or that it gives no score"),
}
NEXT_STEPS = {
    f"{_UNJUDGED}_share": "No text has been sorted yet: `facevalue judge RUN --model MODEL` does that.",
    f"{_UNSCORED}_share": "No text has been scored yet: `facevalue annotate RUN --scorer SCORER` does that.",
}
"""Text where all texts lack a score for that reason."""


@dataclass(frozen=True)
class ScoredText:
    """A number that a scorer gives each text (`facevalue annotate`).

    Attributes
    ----------
    name:
        Of the score.
    label:
        What the scorer calls it, in any case, such as "toxicity"; "SCORER/toxicity" where several scorers have such a
        label.
    low, high:
        Least and greatest value.

    Examples
    --------
    >>> ScoredText("toxicity", "toxicity").high
    1.0
    """

    name: str
    label: str
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise DataError(f"The least {self.name}, {self.low:g}, is not below the greatest, {self.high:g}.")


@dataclass(frozen=True)
class Outside:
    """Scores of a text that are not the study's own to give.

    Attributes
    ----------
    judged:
        What a judge is asked: the share of texts of each category is a score.
    scored:
        What scorers give.
    all_scores:
        Whether everything counts that any scorer gives, of texts and of what refusals say.
    judge, scorers:
        What was judged and scored; nothing yet where these are None and empty.

    Raises
    ------
    DataError
        Two scores have one name.

    Examples
    --------
    >>> tone = Sorting("tone", ("warm", "cold"))
    >>> [score.name for score in Outside((tone,)).scores]
    ['tone_warm', 'tone_cold']
    """

    judged: tuple[Sorting, ...] = ()
    scored: tuple[ScoredText, ...] = ()
    all_scores: bool = False
    judge: Judge | None = field(default=None, compare=False, repr=False)
    scorers: Sequence[Scores] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        names = [score.name for score in self.scores]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise DataError(f"Two scores of a text are called {twice!r}. Rename one of them.")
        for sorting in self.judged:
            check_unfilled(
                (sorting.heading, sorting.question, *sorting.texts),
                f"what a judge is asked ({sorting.name}), whose template alone holds columns,",
            )
            if sorting.template.count(TEXT_SLOT) != 1 or OPTIONS in sorting.template:
                raise DataError(
                    f"The template of {sorting.name!r} has {TEXT_SLOT} in it once, for the text that is judged, beside "
                    f"slots for columns, and no {OPTIONS}."
                )
            if (size := len(sorting.template) - len(TEXT_SLOT)) >= sorting.longest:
                raise DataError(
                    f"The template of {sorting.name!r} has {size:,} characters beside {TEXT_SLOT}, and a judge is "
                    f"shown {sorting.longest:,} of both: nothing of the text would be left."
                )

    def __bool__(self) -> bool:
        return bool(self.judged or self.scored or self.all_scores)

    def bound(self, judge: Judge | None, scorers: Sequence[Scores]) -> "Outside":
        """The same, with what was judged and scored."""
        return replace(self, judge=judge, scorers=tuple(scorers))

    @property
    def scores(self) -> tuple[Score, ...]:
        """A score for each category of each sorting, and for each scorer's number."""
        shares = (
            Score(f"{sorting.name}_{category}", f'Share of texts sorted as "{category}" ({sorting.name})',
                  "probability", 0.0, 1.0, quantity=f"texts sorted as “{category}”",
                  moved=(f"described in “{category}” texts {{size}} more often",
                         f"described in “{category}” texts {{size}} less often"))
            for sorting in self.judged for category in sorting.categories
        )  # fmt: skip
        numbers = (Score(s.name, f"{s.name.capitalize()} of the text", "score", s.low, s.high) for s in self.scored)
        of_scorers = (
            Score(f"score: {s.name}/{label}", label, "score", labels={"scorer": s.name, "score": label})
            for s in (self.scorers if self.all_scores else ())
            for label in s.labels
        )
        return (*shares, *numbers, *of_scorers)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the scores of refusals, and of whether the scorer has read these, by the name of the score."""
        names = [score.name for score in self.scores if score.labels]
        return tuple(f"{prefix}{name}" for name in names for prefix in (REFUSED, UNREAD))

    @property
    def slots(self) -> list[str]:
        """Columns that a judge is shown with a text."""
        names = (name for sorting in self.judged for name in slots(sorting.template) if name != TEXT)
        return list(dict.fromkeys(names))

    @property
    def statuses(self) -> dict[str, str]:
        """Columns of answers that say of a text why it lacks a score, by the key of the measure of their share."""
        reasons = [(status, s.name) for s in self.judged for status in (_UNJUDGED, _UNSORTED, _INVENTED)]
        reasons += [(_UNSCORED, scored.name) for scored in self.scored]
        return {key_of(f"{status}_share", name): f"({status}_{name})" for status, name in reasons}

    def measures(self, unit: str) -> dict[str, Measure]:
        """Definitions of the shares of texts that lack a score, by reason."""
        out = {}
        for key in self.statuses:
            name, score = split_key(key)
            title, equation = _TOLD[name.removesuffix("_share")]
            out[key] = Measure(
                name, f"{title} ({score})", f"{equation} / texts", "share", unit, "FaceValue", limits=(0.0, 1.0),
                score=score,
            )  # fmt: skip
        return out

    def score_all(self, texts: pl.Series, declined: pl.Series) -> dict[str, pl.Series]:
        """All scores that scorers give texts, those of what refusals say, and which of these no scorer has read."""
        if not (self.all_scores and self.scorers):
            return {}
        out = {column.name: column for column in columns(self.scorers, texts)}
        for scored in self.scorers:
            unread = pl.select(pl.when(declined.is_not_null()).then(~scored.knows(declined))).to_series()
            for column in columns([scored], declined):
                out[f"{REFUSED}{column.name}"] = column
                out[f"{UNREAD}{column.name}"] = unread.cast(pl.Float64)
        return out

    def score_texts(self, texts: pl.Series, rows: pl.DataFrame) -> dict[str, pl.Series]:
        """Scores of texts, and why they lack one; null where there is no text.

        A score of a list is the mean of its entries that have one. `rows` has the columns for slots.

        Examples
        --------
        >>> said = {"Hello!": "warm", "Go away.": "cold"}
        >>> tone = Outside((Sorting("tone", ("warm", "cold")),), judge=lambda _, text: said.get(text))
        >>> lists = pl.Series([["Hello!", "Hm."], None, ["Hello!", "Go away."]])
        >>> scores = tone.score_texts(lists, pl.DataFrame())
        >>> scores["tone_warm"].to_list(), scores["(unjudged_tone)"].to_list()
        ([1.0, None, 0.5], [0.5, None, 0.0])
        """
        of_lists = texts.dtype == pl.List(pl.String)
        filling = {name: rows[name].cast(pl.String) for name in self.slots}
        entries = pl.DataFrame({_ROW: np.arange(len(texts)), TEXT: texts, **filling})
        entries = entries.explode(TEXT) if of_lists else entries.cast({TEXT: pl.String})
        out: dict[str, pl.Series] = {}
        for sorting in self.judged:
            out |= sorted_shares(entries, sorting, self.judge)
        for scored in self.scored:
            values = _scores(entries[TEXT], scored, self.scorers)
            lacks = pl.select(pl.when(entries[TEXT].is_not_null()).then(values.is_null().cast(pl.Float64))).to_series()
            out |= {scored.name: values, f"({_UNSCORED}_{scored.name})": lacks}
        if not of_lists:
            return out
        return pl.DataFrame(out | {_ROW: entries[_ROW]}).group_by(_ROW, maintain_order=True).mean().drop(_ROW).to_dict()


def sorted_shares(texts: pl.DataFrame, sorting: Sorting, judge: Judge | None) -> dict[str, pl.Series]:
    """Category of each text, as a share of 0 or 1 by category, and the reason why it has none.

    Each distinct text is looked up once, with what the template of the sorting shows beside it. A text without a
    category has no share, which is never zero.

    Examples
    --------
    >>> tone = Sorting("tone", ("warm", "cold"))
    >>> said = {"Hello!": "warm", "Go away.": "icy"}
    >>> texts = pl.DataFrame({"text": ["Hello!", "Go away.", None, "Hm."]})
    >>> columns = sorted_shares(texts, tone, lambda _, text: said.get(text))
    >>> columns["tone_warm"].to_list(), columns["(invented_tone)"].to_list(), columns["(unjudged_tone)"].to_list()
    ([1.0, None, None, None], [0.0, 1.0, None, 0.0], [0.0, 0.0, None, 1.0])
    """
    keys = list(dict.fromkeys(slots(sorting.template)))
    distinct = texts.select(keys).drop_nulls(TEXT).unique(maintain_order=True)
    judged = (
        fill_slots(sorting.template, {name: text or "" for name, text in row.items()})
        for row in distinct.iter_rows(named=True)
    )
    verdicts = [_verdict(sorting, None if judge is None else judge(sorting, text)) for text in judged]
    table = distinct.with_columns(pl.Series("(verdict)", verdicts, pl.String))
    frame = texts.select(keys).join(table, on=keys, how="left", nulls_equal=True, maintain_order="left")
    names = [f"={category}" for category in sorting.categories]
    has_category = pl.col("(verdict)").is_in(names)
    shares = {
        f"{sorting.name}_{name[1:]}": pl.when(has_category).then((pl.col("(verdict)") == name).cast(pl.Float64))
        for name in names
    }
    statuses = {
        f"({status}_{sorting.name})": (pl.col("(verdict)") == status).cast(pl.Float64)
        for status in (_UNJUDGED, _UNSORTED, _INVENTED)
    }
    return frame.select(**shares, **statuses).to_dict()


def _verdict(sorting: Sorting, reply: str | None) -> str:
    """Category of a text, after "="; else why it has none."""
    if reply is None:
        return _UNJUDGED
    if reply in sorting.categories:
        return f"={reply}"
    return _INVENTED if reply else _UNSORTED


def _scores(texts: pl.Series, scored: ScoredText, scorers: Sequence[Scores]) -> pl.Series:
    """Scores of texts by the scorer that has the label; null without one."""
    name = scored.label.casefold()
    matches = [(s, label) for s in scorers for label in s.labels
               if name in (label.casefold(), f"{s.name}/{label}".casefold())]  # fmt: skip
    having = [s for s, _ in matches]
    if len(having) > 1:
        names = " and ".join(repr(scores.name) for scores in having)
        raise DataError(
            f"Scores called {names} both have the label {scored.label!r}, of which {scored.name!r} is one: name it in "
            f'the file, label = "{having[0].name}/{scored.label}", or remove the folder of the others.'
        )
    if not having:
        return pl.Series(scored.name, [None], pl.Float64).new_from_index(0, len(texts))
    label = matches[0][1]
    values = columns(having, texts)[f"score: {having[0].name}/{label}"]
    outside = values.filter((values < scored.low) | (values > scored.high))
    if len(outside):
        raise DataError(
            f"{having[0].scorer} gives a {scored.name} of {outside[0]:g}, which is not from {scored.low:g} to "
            f"{scored.high:g}: say low and high of [answer.scored.{scored.name}]."
        )
    return values.alias(scored.name)
