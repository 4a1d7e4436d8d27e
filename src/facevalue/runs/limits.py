"""Limits at which a run stops: its cost, and its share of replies without a valid answer."""

from facevalue.runs.settings import RunSettings
from facevalue.runs.unparsed import ENOUGH, LOOKED_AT, MOST, UnparsedReplies
from facevalue.store.manifest import Counts
from facevalue.store.remote import UnitFacts
from facevalue.store.sight import Sight
from facevalue.types import Response, Status


class RunLimits:
    """Limits at which a run stops, checked as replies come in."""

    def __init__(self, settings: RunSettings, counts: Counts, unread: str = "", sight: Sight | None = None) -> None:
        self._settings = settings
        self._unread = unread
        sight_tally = sight or Sight()
        self._spent = self._whole = (
            counts.prompt_tokens + sight_tally.prompt_tokens, counts.completion_tokens + sight_tally.completion_tokens,
            counts.ok + counts.truncated,
        )  # fmt: skip
        self._uncounted = self._doubted = self._quoted = False

    def take(self, response: Response) -> None:
        """Count what a response cost."""
        prompt, completion, answered = self._spent
        is_answer = response.status in (Status.OK, Status.TRUNCATED)
        tokens = prompt + (response.prompt_tokens or 0), completion + (response.completion_tokens or 0)
        self._spent = *tokens, answered + is_answer
        self._uncounted |= response.prompt_tokens is None and is_answer

    def take_counts(self, facts: UnitFacts) -> None:
        """Count what a unit cost, and how many replies say nothing of it; what was taken of it is counted anew."""
        prompt, completion, answered = self._whole
        self._spent = self._whole = (
            prompt + facts.prompt_tokens, completion + facts.completion_tokens,
            answered + facts.rows - facts.errors - facts.refused,
        )  # fmt: skip
        self._uncounted |= facts.uncounted > 0

    def reached(self, replies: int, invalid: int, unparsed: UnparsedReplies) -> str:
        """Why the run stops, for people; empty if it goes on.

        `unparsed`: the session's replies, and which could not be read: most of them stop it, unless a limit of invalid
        ones was named.
        """
        cost, max_invalid = self._settings.max_cost, self._settings.max_invalid
        if cost is not None and self._uncounted and self._settings.by_token:
            return "The model does not count its tokens, so that no limit of cost can be kept."
        if cost is not None and (spent := self._settings.cost(*self._spent) or 0.0) >= cost:
            return f"The run has cost {spent:,.2f}, its limit is {cost:,.2f}."
        if max_invalid is not None and replies >= LOOKED_AT and invalid / replies > max_invalid:
            return f"{_invalid(replies, invalid)}, more than {max_invalid:.1%}."
        if max_invalid is None and unparsed.replies >= LOOKED_AT and unparsed.too_many:
            return f"{self._of(unparsed)} --max-invalid 1 goes on all the same."
        return ""

    def _of(self, unparsed: UnparsedReplies) -> str:
        return f"{unparsed.sentence} {self._unread}".rstrip()

    def doubt(self, replies: int, invalid: int, unparsed: UnparsedReplies) -> str:
        """What to say, once, where most of the first replies cannot be read, or have no valid answer."""
        if not self._quoted and unparsed.replies >= ENOUGH and unparsed.too_many:
            self._quoted = True
            stops = f" The run stops after {LOOKED_AT} replies if that goes on; with --max-invalid 1 it does not."
            return f"{self._of(unparsed)}{stops if self._settings.max_invalid is None else ''}"
        if self._doubted or replies < LOOKED_AT or invalid / replies <= MOST:
            return ""
        self._doubted = True
        message = f"{_invalid(replies, invalid)}. Ctrl-C stops; `facevalue export` shows them."
        return f"{message} {self._unread}".rstrip()


def _invalid(replies: int, invalid: int) -> str:
    return f"{invalid / replies:.1%} of {replies:,} replies have no valid answer"
