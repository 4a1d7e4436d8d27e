"""Pool of coroutines for synchronous callers: a bounded number at once, each result as soon as it is ready."""

import asyncio
import queue
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from facevalue.errors import ModelError
from facevalue.printable import first_line
from facevalue.servers.open_files import requests_at_once

C = TypeVar("C")
T = TypeVar("T")
R = TypeVar("R")

_HEARTBEAT = 0.5
"""Seconds after which a caller who waits looks up: not everywhere can the keyboard interrupt a plain wait."""
_GRACE = 10.0
"""Seconds that what is cancelled has to end: other people's code may refuse."""


class Pool(Generic[C]):
    """An event loop in a thread of its own, with a resource that lives as long as it.

    Leaving the `with` block cancels what is running, closes the resource and joins the thread; what does not end within
    some seconds is left to itself. Coroutines may run other people's code: whatever it raises, or cancels, is an error
    that the caller gets.

    `resource`: returns the asynchronous context manager whose value every coroutine gets, such as an HTTP client.
    `patience`: seconds for which one coroutine may hold up all others; None for ever.

    Examples
    --------
    >>> from contextlib import nullcontext
    >>> async def double(_: None, x: int) -> int:
    ...     return 2 * x
    >>> with Pool(nullcontext) as pool:
    ...     sorted(pool.map(double, [1, 2, 3], width=2))
    [2, 4, 6]
    """

    def __init__(self, resource: Callable[[], AbstractAsyncContextManager[C]], patience: float | None = None) -> None:
        self._resource = resource
        self._patience = patience
        self._failure: BaseException | None = None
        self._silent = 0
        self._ready: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._main, name="facevalue-http", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        if error := self._ready.get():
            self._thread.join()
            raise _error(error)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(RuntimeError):  # the loop has ended by itself
            self._loop.call_soon_threadsafe(self._stop.set)
        if threading.current_thread() is not self._thread:  # a generator may be collected anywhere
            self._thread.join(0 if self._is_held_up() else _GRACE)

    def map(self, work: Callable[[C, T], Awaitable[R]], items: Iterable[T], width: int) -> Iterator[R]:
        """Work on items, `width` at once, and yield results as they come.

        Fewer are worked on at once where the process may not open files enough (`open_files`). Items are drawn in the
        caller's thread, one at a time and only when there is room, so an iterator need be neither fast nor thread-safe,
        and at most `width` items are held. An exception, of the iterator or of `work`, ends the iteration; results that
        were there before it are yielded first.
        """
        source, width = iter(items), requests_at_once(width)
        results: queue.SimpleQueue[tuple[R | None, BaseException | None]] = queue.SimpleQueue()
        running, more = 0, True
        while more or running:
            if more and running < width and results.empty():
                try:
                    item = next(source)
                except StopIteration:
                    more = False
                else:
                    self._start(work, item, results)
                    running += 1
                continue
            try:
                result, error = results.get(timeout=_HEARTBEAT)
            except queue.Empty:
                self._look_up()
                continue
            running -= 1
            if error is None:
                yield result  # type: ignore[misc] # R may itself be optional
                continue
            while not results.empty():
                result, later = results.get()
                if later is None:
                    yield result  # type: ignore[misc]
            raise _error(error)

    def run(self, work: Callable[[C], Awaitable[R]]) -> R:
        """Run one coroutine and return what it returns."""

        async def once(resource: C, _: None) -> R:
            return await work(resource)

        (result,) = self.map(once, [None], 1)
        return result

    def _start(
        self,
        work: Callable[[C, T], Awaitable[R]],
        item: T,
        results: queue.SimpleQueue[tuple[R | None, BaseException | None]],
    ) -> None:
        async def report() -> None:
            try:
                result = await work(self._value, item)
            except asyncio.CancelledError as error:
                if not self._stop.is_set():  # cancelled by what was called, or as the loop ended
                    results.put((None, self._failure or error))
                raise
            except BaseException as error:
                results.put((None, error))
            else:
                results.put((result, None))

        def create() -> None:
            task = self._loop.create_task(report())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        try:
            self._loop.call_soon_threadsafe(create)
        except RuntimeError as error:  # the loop has ended
            raise _error(self._failure or error) from None

    def _look_up(self) -> None:
        """Raise what ended the loop, or an error where nothing moves on it for too long."""
        if not self._thread.is_alive():
            raise _error(self._failure or RuntimeError("no further request can be sent"))
        self._silent += 1
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._heard)
        if self._is_held_up():
            raise ModelError(f"One request holds up all others: nothing moved for {self._patience:g} s.")

    def _heard(self) -> None:
        self._silent = 0

    def _is_held_up(self) -> bool:
        """Whether the loop has not answered: counted in looks, as clocks run on while a process is stopped."""
        return self._patience is not None and self._silent * _HEARTBEAT > self._patience

    def _main(self) -> None:
        try:
            with asyncio.Runner() as runner:
                try:
                    runner.run(self._serve())
                except BaseException as error:
                    self._failure = error
        except BaseException as error:  # while it was closed
            self._failure = self._failure or error
        self._ready.put(self._failure)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        async with self._resource() as self._value:
            self._ready.put(None)
            await self._stop.wait()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)


def _error(error: BaseException) -> Exception:
    """An error as callers may get it: an exit or a cancellation that other people's code raises ends no process."""
    return error if isinstance(error, Exception) else ModelError(f"Requests ended early: {first_line(error)}.")
