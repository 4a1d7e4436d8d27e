"""Progress of a run and its interface; and interrupts, after which no shard is left half written."""

import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any, Protocol, Self

from facevalue.errors import SettingError
from facevalue.printable import quote
from facevalue.runs.settings import RunSummary


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Progress of a run at a moment."""

    done: int
    """Requests answered, by earlier sessions too."""
    total: int
    """Requests of the run; grows when trials turn out to need asking again."""
    rate: float
    """Responses a second over the last half minute."""
    eta: float | None
    """Seconds to go at that rate; None if nothing moves."""
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """Of this session, stored so far; cost is None if no price was given."""
    stored: int
    na: int
    errors: int
    """Of this session: responses stored, and how many of them were no valid answer or failed."""
    where: str = ""
    """Units, workers and failures by node, for people; empty for a run in a folder."""

    @property
    def na_rate(self) -> float | None:
        """Share of replies without a valid answer; None if there are no replies."""
        replies = self.stored - self.errors
        return self.na / replies if replies else None


class Progress(Protocol):
    """Receiver of a run's progress.

    All calls come from the thread that called `run`, but for a note that no answer has come.
    """

    def start(self, done: int, total: int) -> None:
        """The first request is about to be made."""
        ...

    def update(self, now: Snapshot) -> None:
        """Show the progress; called a few times a second while responses come."""
        ...

    def note(self, message: str) -> None:
        """Show a note that people should know; may come before `start`."""
        ...

    def finish(self, summary: RunSummary | None) -> None:
        """The run ended; None if by an exception, which is on its way."""
        ...


def check_progress(progress: object) -> None:
    """Raise `SettingError` if an object of one's own lacks a method of `Progress`."""
    if missing := [
        name for name in ("start", "update", "note", "finish") if not callable(getattr(progress, name, None))
    ]:
        raise SettingError(f"progress is True, False or where to report, and {quote(progress)} has no {missing[0]}().")


class SilentProgress:
    """Reports nothing."""

    def start(self, done: int, total: int) -> None:
        """Do nothing."""

    def update(self, now: Snapshot) -> None:
        """Do nothing."""

    def note(self, message: str) -> None:
        """Do nothing."""

    def finish(self, summary: RunSummary | None) -> None:
        """Do nothing."""


class Meter:
    """Rate over a window of time, so that an old pause or a warm cache does not spoil the estimate.

    Examples
    --------
    >>> meter = Meter(window=30.0)
    >>> meter.rate(0, now=100.0), meter.rate(50, now=110.0)
    (0.0, 5.0)
    """

    def __init__(self, window: float = 30.0) -> None:
        self._window = window
        self._marks: deque[tuple[float, int]] = deque()

    def rate(self, count: int, now: float | None = None) -> float:
        """Note a count, and return how many a second there were lately."""
        now = time.monotonic() if now is None else now
        self._marks.append((now, count))
        while len(self._marks) > 2 and self._marks[1][0] < now - self._window:
            self._marks.popleft()
        since, before = self._marks[0]
        return (count - before) / (now - since) if now > since else 0.0


# Line for people who wait: nothing was answered for some seconds, as by a server that accepts and never answers.


SILENT = 10.0
"""Seconds after which it is said."""


@contextmanager
def silence_told(progress: Progress, *, still: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Note once that no answer has come, where none has when `SILENT` seconds are over.

    `still`: whether none has come. The block may wait in any way, so that the note comes from a thread of its own.
    """
    over = threading.Event()

    def tell() -> None:
        if not over.wait(SILENT) and still():
            progress.note(f"No answer has come for {SILENT:g} s; requests wait for --timeout. Ctrl-C ends this.")

    thread = threading.Thread(target=tell, name="facevalue-silence", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Handles both signals within a `with` block in the main thread; elsewhere it does nothing.

    Outside `draining`, a signal raises KeyboardInterrupt at once. Within, the first one calls back, and a second one,
    or `grace` seconds, raises. Within `shield`, the exception waits until the end of the block.
    """

    def __init__(self, grace: float) -> None:
        self._grace = grace
        self._before: dict[signal.Signals, Any] = {}
        self._callback: Any = None
        self._timer: threading.Timer | None = None
        self._shields = 0
        self._held = False

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._shields += 1  # a timer that just went off must not hit the code that follows
            self._timer.join()
            self._shields -= 1
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    @contextmanager
    def draining(self, stop: Any) -> Iterator[None]:
        """Call `stop` at the first signal instead of raising."""
        self._callback = stop
        try:
            yield
        finally:
            self._callback = None

    @contextmanager
    def shield(self) -> Iterator[None]:
        """Let nothing interrupt the block."""
        self._shields += 1
        try:
            yield
        finally:
            self._shields -= 1
            if self._held and not self._shields:
                self._held = False
                raise KeyboardInterrupt

    def over(self) -> None:
        """Ignore signals from here to the end of the block: the run is only being put in order."""
        self._callback = None
        self._shields += 1
        self._held = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._callback is not None:
            stop, self._callback = self._callback, None
            stop()
            self._timer = threading.Timer(self._grace, _interrupt_again)
            self._timer.daemon = True
            self._timer.start()
        elif self._shields:
            self._held = True
        else:
            raise KeyboardInterrupt


def _interrupt_again() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)  # also ends a wait in the main thread
