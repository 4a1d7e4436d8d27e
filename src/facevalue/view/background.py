"""What takes a while, made in a thread of its own while pages are answered; a failure is a sentence, never a wait."""

import logging
from collections.abc import Callable
from threading import Thread
from typing import Generic, TypeVar

from polars.exceptions import PanicException

from facevalue.errors import DataError, FaceValueError

T = TypeVar("T")
_LOG = logging.getLogger(__name__)


class NotYetError(FaceValueError):
    """What a page needs is being made: it is asked for again after a moment."""


class Background(Generic[T]):
    """Something that is being made.

    Parameters
    ----------
    make:
        What makes it; called once, at once.
    failure:
        What a reader is told should it fail; the reason follows.
    """

    def __init__(self, make: Callable[[], T], failure: str) -> None:
        self._make, self._failure = make, failure
        self._values: list[T] = []
        self._reason = ""
        self._thread = Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            self._values.append(self._make())
        except FaceValueError as error:
            self._reason = f"{self._failure}: {error}"
            _LOG.warning("%s", self._reason)
        except (Exception, PanicException):
            self._reason = f"{self._failure}: the viewer's terminal says why."
            _LOG.exception("%s", self._failure)

    def is_ready(self, patience: float | None) -> bool:
        """Whether it was made, or failed; so many seconds are waited for it, or as long as it takes."""
        self._thread.join(timeout=patience)
        return not self._thread.is_alive()

    def value(self, patience: float | None, waiting: str) -> T:
        """What was made.

        `patience`: seconds that are waited for it; None for as long as it takes. `waiting`: what a reader is told.

        Raises
        ------
        NotYetError
            It is not there by then.
        DataError
            It failed.
        """
        if not self.is_ready(patience):
            raise NotYetError(waiting)
        if self._reason:
            raise DataError(self._reason)
        return self._values[0]
