"""Outages: so many failures that the other requests will fail, too."""

from collections import deque

from facevalue.errors import ModelError
from facevalue.types import Status

_IN_A_ROW = 20
_MANY, _LATELY = 90, 100


class Outage:
    """Ends a run in which `_IN_A_ROW` requests, or `_MANY` of the last `_LATELY`, failed for whatever reason."""

    def __init__(self) -> None:
        self._row = 0
        self._lately: deque[bool] = deque(maxlen=_LATELY)

    def weigh(self, status: Status, error: str | None) -> None:
        """Look at what became of the next request, and why it failed if it did."""
        failed = status is Status.ERROR
        self._row = self._row + 1 if failed else 0
        self._lately.append(failed)
        if self._row < _IN_A_ROW and sum(self._lately) < _MANY:
            return
        many = f"{_IN_A_ROW} requests in a row" if self._row >= _IN_A_ROW else f"{_MANY} of {_LATELY} requests"
        raise ModelError(
            f"{many} failed for good, the last with: {(error or 'no reason').rstrip('.')}. "
            "What was answered is kept; run the same command again to go on."
        )
