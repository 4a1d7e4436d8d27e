"""Standard output and standard error of a command, watched: what cannot be printed is one sentence."""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast


class OutputError(Exception):
    """Something that could not be printed; its cause is the error of the system."""

    @property
    def is_pipe_closed(self) -> bool:
        """Whether the program that read the output ended first, as `head` does."""
        return isinstance(self.__cause__, BrokenPipeError)

    @property
    def why(self) -> str:
        """The reason, in the words of the system."""
        return str(getattr(self.__cause__, "strerror", None) or self.__cause__)


class WatchedStream:
    """A stream whose errors are told apart from all others.

    `is_vital`: whether a command fails where this cannot be printed. Nobody can be told that standard error is full,
    and a run is not to end for want of its progress.
    """

    def __init__(self, stream: TextIO, *, is_vital: bool) -> None:
        self._stream = stream
        self._is_vital = is_vital
        self._failure: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        """Everything else is the stream's own."""
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text."""
        with self._watched():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Write what is waiting."""
        with self._watched():
            self._stream.flush()

    def silence(self) -> None:
        """Drop what is waiting and all that follows, so that the end of the process has no error of its own."""
        with contextlib.suppress(OSError, ValueError):
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, self._stream.fileno())
            os.close(nothing)

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._failure = error
            self.silence()
        if self._failure is not None and (self._is_vital or isinstance(self._failure, BrokenPipeError)):
            raise OutputError from self._failure  # also of all that follows: Click tries a stream before it prints


@contextlib.contextmanager
def watched_streams() -> Iterator[None]:
    """Watch standard output and standard error; what was printed has arrived where this ends.

    Raises
    ------
    OutputError
        Something could not be printed.
    """
    plain = sys.stdout, sys.stderr
    watched = [
        None if stream is None else WatchedStream(stream, is_vital=is_vital)
        for stream, is_vital in zip(plain, (True, False), strict=True)
    ]
    sys.stdout, sys.stderr = (cast(TextIO, stream) for stream in watched)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = plain
        for stream in filter(None, watched):
            stream.flush()
