"""Replies that nothing can be read from: how many there are, quoted beside what was asked for."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from facevalue.answers import NA
from facevalue.protocol.study import Study
from facevalue.runs.failures import quoted
from facevalue.runs.retries import missing_reasons
from facevalue.thinking import after_thinking
from facevalue.types import Question

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
        """Whether no further reply needs to be quoted."""
        return len(self.examples) >= _QUOTED

    @property
    def too_many(self) -> bool:
        """Whether most cannot be read."""
        return self.count > MOST * self.replies

    @property
    def sentence(self) -> str:
        """How many cannot be read, and were cut off, with examples.

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
        """How many replies were cut off before an answer, and what to do; empty where few were.

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
        return quoted(answer, _LONGEST)
    return f"nothing ({quoted(note.rstrip('.'), _LONGEST) if note else reason})" + (
        f" after the thoughts {quoted(text.strip(), _LONGEST)}" if text and text.strip() else ""
    )


def _asked_for(question: Question) -> str:
    """What a question asks for: its options, or the last line of its prompt where there are none."""
    if question.options:
        few = (option.wording for option in question.options[:_OPTIONS])
        more = ", …" if len(question.options) > _OPTIONS else ""
        return f"one of {', '.join(quoted(option, _LONGEST // 4) for option in few)}{more}"
    lines = [line for line in question.prompt.splitlines() if line.strip()]
    return quoted(lines[-1] if lines else "", _LONGEST)
