"""Limits at which a run stops: its cost, and its share of replies without a valid answer."""

from facevalue.runs.failures import quoted
from facevalue.runs.settings import RunSettings
from facevalue.types import Response, Status

LOOKED_AT = 200
"""Replies after which the share of those without a valid answer is looked at."""
_DOUBTFUL = 0.5


class RunLimits:
    """Limits at which a run stops, checked as replies come in."""

    def __init__(
        self, settings: RunSettings, prompt_tokens: int, completion_tokens: int, unread: str = "", *, new: bool = True
    ) -> None:
        self._settings = settings
        self._new = new
        self._unread = unread
        self._tokens = self._whole = prompt_tokens, completion_tokens
        self._uncounted = self._doubted = False

    def take(self, response: Response) -> None:
        """Count what a response cost."""
        prompt, completion = self._tokens
        self._tokens = prompt + (response.prompt_tokens or 0), completion + (response.completion_tokens or 0)
        self._uncounted |= response.prompt_tokens is None and response.status in (Status.OK, Status.TRUNCATED)

    def take_counts(self, prompt_tokens: int, completion_tokens: int, uncounted: int) -> None:
        """Count what a unit cost, and how many replies say nothing of it; what was taken of it is counted anew."""
        prompt, completion = self._whole
        self._tokens = self._whole = prompt + prompt_tokens, completion + completion_tokens
        self._uncounted |= uncounted > 0

    def reached(self, replies: int, invalid: int, example: str = "") -> str:
        """Why the run stops, for people; empty if it goes on. `example`: a reply without a valid answer."""
        cost, max_invalid = self._settings.max_cost, self._settings.max_invalid
        if cost is not None and self._uncounted:
            return "The model does not count its tokens, so that no limit of cost can be kept."
        if cost is not None and (spent := self._settings.cost(*self._tokens) or 0.0) >= cost:
            return f"The run has cost {spent:,.2f}, its limit is {cost:,.2f}."
        if max_invalid is not None and replies >= LOOKED_AT and invalid / replies > max_invalid:
            return f"{_invalid(replies, invalid)}, more than {max_invalid:.1%}."
        if max_invalid is None and self._new and replies >= LOOKED_AT and invalid == replies:
            such = f", such as {quoted(example)}" if example else ""
            return f"None of {replies:,} replies has a valid answer{such}. {self._unread}".rstrip()
        return ""

    def doubt(self, replies: int, invalid: int) -> str:
        """What to say, once, where most of the first replies have no valid answer."""
        if self._doubted or replies < LOOKED_AT or invalid / replies <= _DOUBTFUL:
            return ""
        self._doubted = True
        message = f"{_invalid(replies, invalid)}. Ctrl-C stops; `facevalue export` shows them."
        return f"{message} {self._unread}".rstrip()


def _invalid(replies: int, invalid: int) -> str:
    return f"{invalid / replies:.1%} of {replies:,} replies have no valid answer"
