"""What takes a while, made in a thread of its own while pages are answered; a failure is a sentence, never a wait."""

import logging
from collections.abc import Callable
from threading import Thread
from typing import Generic, TypeVar

from polars.exceptions import PanicException

from facevalue.errors import DataError, FaceValueError

T = TypeVar("T")
_LOG = logging.getLogger(__name__)


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
        self.reason = ""
        """Why it failed; empty where it has not."""
        self._thread = Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            self._values.append(self._make())
        except FaceValueError as error:
            self.reason = f"{self._failure}: {error}"
            _LOG.warning("%s", self.reason)
        except (Exception, PanicException):
            self.reason = f"{self._failure}: the viewer's terminal says why."
            _LOG.exception("%s", self._failure)

    def value(self, patience: float) -> T | None:
        """What was made; None where it is not there within so many seconds.

        Raises
        ------
        DataError
            It failed.
        """
        self._thread.join(timeout=patience)
        if self.reason:
            raise DataError(self.reason)
        return self._values[0] if self._values else None
