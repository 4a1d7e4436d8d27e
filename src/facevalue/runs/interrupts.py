"""Interrupts (Ctrl-C and SIGTERM): stop asking, wait briefly for requests on their way, never break off a shard."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

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
