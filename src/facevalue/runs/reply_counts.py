"""Counts of a run's questions and replies, and whether they are enough to call the study answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import polars as pl

from facevalue.answers import NA
from facevalue.protocol.study import Study
from facevalue.runs.open_requests import missing_reasons
from facevalue.runs.requests import quote_line
from facevalue.runs.stored_run import ReplyTally, StoredRun
from facevalue.thinking import after_thinking
from facevalue.types import Option, Question

# Replies to a trial in words.


def reply_text(text: str | None, probs: Sequence[float] | None, options: Sequence[Option]) -> str:
    """A reply verbatim, or the probabilities of its options in words."""
    if probs is None:
        return text or ""
    labels = [option.wording for option in options]
    return ", ".join(f"{label}: {p:.0%}" for label, p in zip(labels, probs, strict=True))


# Replies that nothing can be read from: how many there are, quoted beside what was asked for.


ENOUGH = 50
"""Replies after which those that cannot be read are quoted."""
LOOKED_AT = 200
"""Replies after which a run of such replies stops."""
MOST = 0.5
"""Share of them that is too many."""
MANY_CUT = 0.05
"""Share of replies cut off before an answer from which on it is said."""
_QUOTED = 3
_LONGEST = 160  # characters of a reply, and of what was asked for
_OPTIONS = 6  # that are named


@dataclass(frozen=True, slots=True)
class UnparsedReplies:
    """Replies to a study's own requests, re-asks not counted, and those that no answer can be read from.

    Refusals are no such replies: they are understood, and how often a model refuses is a finding.
    """

    replies: int = 0
    count: int = 0
    examples: tuple[str, ...] = ()
    """Different ones, quoted beside what was asked for."""
    cut: int = 0
    """Replies among them that were cut off at the token limit."""

    def __add__(self, other: "UnparsedReplies") -> "UnparsedReplies":
        examples = tuple(dict.fromkeys((*self.examples, *other.examples)))[:_QUOTED]
        return UnparsedReplies(self.replies + other.replies, self.count + other.count, examples, self.cut + other.cut)

    @property
    def quoted_enough(self) -> bool:
        """True if no further reply needs to be quoted."""
        return len(self.examples) >= _QUOTED

    @property
    def too_many(self) -> bool:
        """True if most cannot be read."""
        return self.count > MOST * self.replies

    @property
    def sentence(self) -> str:
        """Sentence on the replies that cannot be read, or were cut off, with examples.

        Examples
        --------
        >>> UnparsedReplies(50, 40, ("“Hm” where one of “(a) yes”, “(b) no” was asked for",)).sentence
        '80.0% of 50 replies could not be read: “Hm” where one of “(a) yes”, “(b) no” was asked for.'
        """
        examples = f": {'; '.join(self.examples)}" if self.examples else ""
        cut = f" ({self.cut:,} were cut off at the token limit)" if self.cut else ""
        return f"{self.count / max(self.replies, 1):.1%} of {self.replies:,} replies could not be read{cut}{examples}."

    @property
    def cut_sentence(self) -> str:
        """Sentence on the replies that were cut off before an answer, with advice; empty where few were.

        Examples
        --------
        >>> UnparsedReplies(200, 80, (), 60).cut_sentence.partition(":")[0]
        '30.0% of 200 replies were cut off at the token limit before an answer'
        >>> UnparsedReplies(200, 80, (), 6).cut_sentence
        ''
        """
        if self.cut < MANY_CUT * max(self.replies, 1):
            return ""
        share = f"{self.cut / self.replies:.1%} of {self.replies:,} replies"
        return (
            f"{share} were cut off at the token limit before an answer: allow more with --max-tokens, or with "
            "--reasoning-tokens where the model thinks first."
        )


def unparsed_of(
    study: Study, responses: pl.DataFrame, reasons: pl.Series | None = None, *, quoting: bool = True
) -> UnparsedReplies:
    """Count the replies among stored responses that no answer can be read from, refusals aside.

    `reasons`: why each response holds no valid answer (`missing_reasons`), where that is known. `quoting`: whether
    examples are wanted.
    """
    reasons = missing_reasons(study, responses) if reasons is None else reasons
    first = (responses["repeat"] < study.repeats) & (responses["status"] != "error")
    is_unparsed = (first & reasons.is_not_null() & (reasons != NA.REFUSED.value)).fill_null(value=False)
    cut = int((is_unparsed & (reasons == NA.TRUNCATED.value)).sum())
    if not quoting:
        return UnparsedReplies(int(first.sum()), int(is_unparsed.sum()), cut=cut)
    rows = responses.with_columns(reasons.alias("na")).filter(is_unparsed)
    few = rows.unique("text", keep="first", maintain_order=True).head(_QUOTED)
    questions = study.ask(study.design.trials(few["trial"].to_numpy().astype(np.int64))) if few.height else []
    examples = (
        f"{_quotation(row['text'], row['na'], row.get('error'))} where {_asked_for(question)} was asked for"
        for row, question in zip(few.iter_rows(named=True), questions, strict=True)
    )
    return UnparsedReplies(int(first.sum()), rows.height, tuple(dict.fromkeys(examples)), cut)


def _quotation(text: str | None, reason: str, note: str | None) -> str:
    """A reply as a quotation, or why there is none.

    Of one that holds nothing but thoughts these are quoted.
    """
    answer = after_thinking(text or "").strip()
    if answer:
        return quote_line(answer, _LONGEST)
    return f"nothing ({quote_line(note.rstrip('.'), _LONGEST) if note else reason})" + (
        f" after the thoughts {quote_line(text.strip(), _LONGEST)}" if text and text.strip() else ""
    )


def _asked_for(question: Question) -> str:
    """Answer that a question asks for: one of its options, or the last line of its prompt where it has none."""
    if question.options:
        few = (option.wording for option in question.options[:_OPTIONS])
        more = ", …" if len(question.options) > _OPTIONS else ""
        return f"one of {', '.join(quote_line(option, _LONGEST // 4) for option in few)}{more}"
    lines = [line for line in question.prompt.splitlines() if line.strip()]
    return quote_line(lines[-1] if lines else "", _LONGEST)


HALF = 0.5
"""Share of the replies that cannot be read from which on a study is not answered."""


@dataclass(frozen=True, slots=True)
class ReplyCounts:
    """Numbers of a run's questions, and of what became of them; re-asks are not counted.

    Attributes
    ----------
    asked:
        Questions with any outcome.
    failed, valid, refused:
        Of these: without a reply, with a valid answer, refused.
    planned:
        Questions that the run set out to ask; None if that is not known.
    is_enough:
        Whether the run's own rule ended it, as enough was known.
    """

    asked: int
    failed: int
    valid: int
    refused: int
    planned: int | None = None
    is_enough: bool = False

    @property
    def replies(self) -> int:
        """Questions with a reply."""
        return self.asked - self.failed

    @property
    def unread(self) -> int:
        """Replies that name no answer, and are no refusals."""
        return max(self.replies - self.valid - self.refused, 0)

    @property
    def not_asked(self) -> int:
        """Questions that were to be asked, and have no outcome."""
        return 0 if self.planned is None or self.is_enough else max(self.planned - self.asked, 0)

    @property
    def why_not_answered(self) -> str:
        """Reason why the study is not answered, as a sentence; empty where it is.

        It is not where the run was stopped before all was asked, unless enough was known; and where half of the
        questions that were asked have no reply, or one that cannot be read.

        Examples
        --------
        >>> ReplyCounts(995, 0, 389, 0, planned=1988).why_not_answered
        'Not answered: 993 of 1,988 questions were not asked, 606 replies could not be read.'
        >>> ReplyCounts(995, 0, 389, 0, planned=995).why_not_answered
        'Not answered: 606 of 995 replies could not be read.'
        >>> ReplyCounts(100, 10, 80, 0, planned=100).why_not_answered
        ''
        """
        if not self.not_asked and self.failed + self.unread < max(HALF * self.asked, 1):
            return ""
        clauses = []
        if self.not_asked:
            clauses.append(f"{self.not_asked:,} of {self.planned:,} questions were not asked")
        if self.failed:
            of = "" if clauses else f" of {self.asked:,}"
            clauses.append(f"{self.failed:,}{of} {'request' if self.failed == 1 and not of else 'requests'} failed")
        if self.unread:
            of = "" if clauses else f" of {self.replies:,}"
            clauses.append(
                f"{self.unread:,}{of} {'reply' if self.unread == 1 and not of else 'replies'} could not be read"
            )
        return f"Not answered: {', '.join(clauses)}."


def counts_together(counts: Sequence[ReplyCounts]) -> ReplyCounts:
    """Counts of several runs added up, such as of the parts of a study."""
    planned = [of_run.asked if of_run.is_enough else of_run.planned for of_run in counts]
    numbers = [number for number in planned if number is not None]
    return ReplyCounts(
        asked=sum(of_run.asked for of_run in counts),
        failed=sum(of_run.failed for of_run in counts),
        valid=sum(of_run.valid for of_run in counts),
        refused=sum(of_run.refused for of_run in counts),
        planned=sum(numbers) if len(numbers) == len(planned) else None,
    )


def counts_by_model(
    runs: Sequence[StoredRun], tallies: Mapping[str, ReplyTally], names: Mapping[str, str] = MappingProxyType({})
) -> dict[str, ReplyCounts]:
    """Counts of each model's runs together.

    `tallies`: of the replies of each run, by its folder. `names`: of models, for people; their own by default.
    """
    of_model: dict[str, list[ReplyCounts]] = {}
    for run in runs:
        tally, planned = tallies[str(run.folder)], run.facts.counts.requests
        refused = tally.na.get(NA.REFUSED.value, 0)
        counts = ReplyCounts(tally.asked, tally.failed_requests, tally.valid, refused, planned, bool(run.facts.enough))
        of_model.setdefault(names.get(run.model, run.model), []).append(counts)
    return {model: counts_together(counts) for model, counts in of_model.items()}
