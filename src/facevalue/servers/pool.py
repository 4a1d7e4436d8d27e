"""Pool of coroutines for synchronous callers: a bounded number at once, each result as soon as it is ready."""

import asyncio
import queue
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from facevalue.errors import ModelError
from facevalue.printable import first_line
from facevalue.servers.server import Waits

# Files that this process may have open at once, and how many requests fit among them: each holds a connection.


_SPARE = 24
"""Left for files that are read and written meanwhile."""
_EACH = 2
"""Files of a request: an address of a server may be tried while another is."""


def requests_at_once(width: int) -> int:
    """Number of requests that can be open at once: as many as wanted, or as the process may hold connections.

    The limit of the process (`ulimit -n`) is raised as far as the system lets it be.

    Examples
    --------
    >>> requests_at_once(1)
    1
    """
    try:
        import resource  # noqa: PLC0415 - not of every system
    except ImportError:
        return width
    needed = _open_files() + _SPARE + _EACH * width
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft != unlimited and soft < needed:
        with suppress(OSError, ValueError):
            raised = needed if hard == unlimited else min(hard, needed)
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == unlimited or soft >= needed:
        return width
    return max(1, min(width, (soft - _open_files() - _SPARE) // _EACH))


def concurrency_note(width: int) -> str:
    """Note that fewer requests are open at once than was wanted; empty where it is as many."""
    count = requests_at_once(width)
    if count == width:
        return ""
    return f"At most {count} of {width} requests at once: this process may open few files at a time (ulimit -n)."


def _open_files() -> int:
    """Files that are open now, or what a process begins with where that is not told."""
    with suppress(OSError):
        return len(list(Path("/proc/self/fd").iterdir()))
    return _SPARE


# Budgets of requests and tokens a minute, spent evenly.


_FIRST_GUESS = 1000.0
"""Tokens that a request is taken to cost until a server has said what one costs."""


class _Meter:
    """Something that may be used at an even rate.

    `per_minute`: how much may be used a minute; None for no limit.
    """

    def __init__(self, per_minute: float | None) -> None:
        self._seconds_each = 60 / per_minute if per_minute else 0.0
        self._free_at = float("-inf")
        self._part = 1.0

    def reserve(self, amount: float, now: float) -> float:
        """Book an amount and return the seconds until it may be used."""
        start = max(self._free_at, now)
        self._free_at = start + amount * self._seconds_each / self._part
        return start - now

    def share(self, fraction: float) -> None:
        """Use only this part of the rate from now on."""
        self._part = fraction

    def correct(self, amount: float) -> None:
        """Book so much more (or less) after the fact."""
        self._free_at += amount * self._seconds_each / self._part


class Budget:
    """Spends requests and tokens evenly over the minute.

    What a request will cost in tokens is guessed as the mean cost so far and put right by its actual cost.

    `rpm`, `tpm`: requests and tokens a minute; None for no budget. `waits`: the clock and how to wait.
    """

    def __init__(self, rpm: float | None, tpm: float | None, waits: Waits) -> None:
        self._requests, self._tokens = _Meter(rpm), _Meter(tpm)
        self._waits = waits
        self._spent = 0.0
        self._counted = 0

    async def take(self) -> float:
        """Wait until one more request may be sent; return the tokens booked for it."""
        guess = self._spent / self._counted if self._counted else _FIRST_GUESS
        now = self._waits.clock()
        wait = max(self._requests.reserve(1, now), self._tokens.reserve(guess, now))
        if wait > 0:
            await self._waits.sleep(wait)
        return guess

    def share(self, fraction: float) -> None:
        """Spend only this part from now on, as others spend the rest."""
        self._requests.share(fraction)
        self._tokens.share(fraction)

    def settle(self, booked: float, actual: int) -> None:
        """Correct a booking.

        `booked`: what `take` returned for the request. `actual`: the tokens that it cost, prompt and reply.
        """
        self._spent += actual
        self._counted += 1
        self._tokens.correct(actual - booked)


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

        async def work_once(resource: C, _: None) -> R:
            return await work(resource)

        (result,) = self.map(work_once, [None], 1)
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
        """Return whether the loop has not answered: counted in checks, as clocks run on while a process is stopped."""
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
