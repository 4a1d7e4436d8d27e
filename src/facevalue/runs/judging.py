"""Judging of a run: its texts that no rule sorts, or the words that set its groups apart, put to a model."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import polars as pl

from facevalue.errors import DataError
from facevalue.models.base import Model
from facevalue.protocol.word_lists import JudgedWords
from facevalue.runs.judged import JudgingOutcome, ask
from facevalue.runs.judged_words import WordsOutcome, ask_words, judged_by
from facevalue.runs.kept_estimates import taken
from facevalue.runs.people import texts_of
from facevalue.runs.stored import StoredRun
from facevalue.studies.offers import lacking

Loading = Callable[[], AbstractContextManager[Model]]
"""Loads a judge where there is anything to judge, and closes it at the end if that is right."""


@dataclass(frozen=True, slots=True)
class JudgedTexts:
    """Outcome of judging the texts of a run.

    Attributes
    ----------
    texts:
        Different texts that no rule settles.
    judge:
        Who was asked; empty if there is nothing to judge.
    requests:
        Requests of this call.
    outcome:
        What the judge said of all these texts.
    audited:
        What it said of some of them again, with their words for groups swapped or taken out; None without that audit.
    """

    texts: int
    judge: str = ""
    requests: int = 0
    outcome: JudgingOutcome | None = None
    audited: JudgingOutcome | None = None

    @property
    def unanswered(self) -> int:
        """Requests of this call without an answer; the next call asks them again."""
        if self.outcome is None:
            return 0
        again = self.audited.failed if self.audited else 0
        return again + self.requests - (sum(self.outcome.verdicts.values()) - self.outcome.before)

    @property
    def reason(self) -> str:
        """Why one of these has no answer; empty if that is unknown."""
        outcomes = [outcome for outcome in (self.outcome, self.audited) if outcome is not None]
        return next((outcome.reason for outcome in outcomes if outcome.reason), "")


@dataclass(frozen=True, slots=True)
class JudgedLists:
    """Outcome of judging the lists of words of a run.

    Attributes
    ----------
    lists, words:
        Lists, and words in them.
    times:
        Number of times that each list is judged.
    judge, requests, outcome:
        As those of `JudgedTexts`.
    stereotypes, invented:
        Words of the lists that the judge calls stereotypes, and words that it invented, which are not used.
    """

    lists: int
    words: int
    times: int
    judge: str = ""
    requests: int = 0
    outcome: WordsOutcome | None = None
    stereotypes: int = 0
    invented: int = 0

    @property
    def unanswered(self) -> int:
        """Requests of this call without an answer; the next call asks them again."""
        return 0 if self.outcome is None else self.lists * self.times - len(self.outcome.replies)

    @property
    def reason(self) -> str:
        """Why one of these has no answer; empty if that is unknown."""
        return (self.outcome.why if self.outcome else "") or ""


def judge(run: StoredRun, load: Loading) -> JudgedTexts | JudgedLists:
    """Have a model sort what no rule sorts, and keep what it says in the run folder.

    `run`: an opened run. `load`: loads the judge, if there is anything to judge.

    Raises
    ------
    DataError
        The replies of the run hold nothing that a judge may sort.
    """
    folder = run.folder
    if (offer := run.study.extras.word_lists) is not None:
        return _judged_lists(run, offer, load)
    if run.study.reading.judged is None:
        noun = run.study.extras.judge
        if not noun:
            raise DataError(f"{folder}: {lacking(run.study.name, 'judge', 'replies that a judge may sort')}")
        raise DataError(f"{folder} ({run.study.name}) has no {noun}; a judge sorts what these say, and nothing else.")
    doubts = texts_of(run)
    texts = list(doubts.texts)
    if not texts:
        return JudgedTexts(0)
    audited = None
    with load() as judging:
        outcome = ask(folder, texts, judging)
        if run.study.reading.sortings:
            from facevalue.runs.judge_estimates import audit  # noqa: PLC0415 - scipy.stats takes a second to import

            audited = audit(folder, run.study, doubts, judging)
    return JudgedTexts(len(texts), judging.name, len(texts) - outcome.before, outcome, audited)


def _judged_lists(run: StoredRun, offer: JudgedWords, load: Loading) -> JudgedLists:
    estimates, _ = taken([run])
    lists = offer.lists(estimates.filter(pl.col("intervention").is_null()))
    words, times = sum(len(word_list.words) for word_list in lists), len(offer.seeds)
    if not lists:
        return JudgedLists(0, 0, times)
    with load() as judging:
        outcome = ask_words(run.folder, lists, offer, judging)
    stored = judged_by([run.folder])
    flags = [flagged for word_list in lists if (flagged := stored(word_list)) is not None]
    stereotypes = sum(count > 0 for flagged in flags for count in flagged.times.values())
    invented = sum(len(flagged.invented) for flagged in flags)
    requests = len(lists) * times - outcome.before
    return JudgedLists(len(lists), words, times, judging.name, requests, outcome, stereotypes, invented)
