"""Counts of a run's questions and replies, and whether they are enough to call the study answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from facevalue.answers import NA
from facevalue.runs.stored import ReplyTally, StoredRun

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
        """Why the study is not answered, as a sentence; empty where it is.

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
        counts = ReplyCounts(tally.asked, tally.failed, tally.valid, refused, planned, bool(run.facts.enough))
        of_model.setdefault(names.get(run.model, run.model), []).append(counts)
    return {model: counts_together(counts) for model, counts in of_model.items()}
