"""Check of replies: the one place where whatever a model said is checked, as it comes and as it is read from a file.

Every reply passes here on its own, before it is put together with others: of a server, a plug-in, a function, a worker,
a recording or a model on this machine; to a run, a judge or a scorer. One that cannot count is an error of the request
that it came for, and of no other.
"""

import logging
import math
import operator
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, Protocol

import polars as pl

from facevalue.errors import FaceValueError, ModelError, ReplyError
from facevalue.printable import first_line, quote, short
from facevalue.thinking import CUT_THINKING, ENDLESS_THINKING, endless_thought
from facevalue.types import Request, Response, Status

_LOG = logging.getLogger(__name__)
LONGEST = 2**20
"""Most characters of a reply; a longer one is taken for damage."""
EXCESS = 1e-3
"""Amount by which probabilities of options may sum to more than 1: some models compute in 16 bits."""
_ROUNDING = 1e-6
_MOST_TOKENS = 2**32 - 1
_SLOWEST = 1e15  # milliseconds
ODD = ("The reply cannot count: ", "What is stored cannot count: ")
"""Beginnings of errors of replies that came, and of those that are stored."""
_REASON = 2_000  # characters of an error that are kept
_STATUSES = frozenset(Status)
_OK, _ERROR, _TRUNCATED = Status.OK, Status.ERROR, Status.TRUNCATED  # an attribute of an Enum takes its time
_SAID = (_OK, _TRUNCATED)
_STATUS = pl.Enum([status.value for status in Status])
_AT_ONCE, _LATER = 20, 100
"""Numbers of replies in a row that cannot count after which asking ends: before one that can, and after."""
_NOTES = 3
_AGAIN = "What was answered is kept; run the same command again to go on."
_Key = tuple[int, int]
_NO_KEY = (-1, -1)


class Answering(Protocol):
    """The part of a `Model` that is needed here."""

    @property
    def name(self) -> str:
        """Name of the model for people."""
        ...

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Answer requests, in any order."""
        ...


class ReplyCheck:
    """Asks a model, and lets a response through once for each request.

    A reply that cannot count becomes a response with `Status.ERROR`. A reply to nothing that is open is left out, as
    nobody can say what it answers. Where the model raises, the requests that it had taken become errors, and it is
    asked the rest.

    Parameters
    ----------
    model:
        Who is asked.
    note:
        Called with a sentence about each of the first few replies that cannot count.
    """

    def __init__(self, model: Answering, note: Callable[[str], object] = lambda _: None) -> None:
        self._model, self._note = model, note
        self._open: dict[_Key, Request] = {}
        self._notes = self._in_a_row = 0
        self._last = ""
        self._limit = _AT_ONCE

    def respond(self, requests: Iterable[Request]) -> Generator[Response, None, None]:
        """Responses to requests; those that the model says nothing to have none.

        Raises
        ------
        ModelError
            No reply can count, of the first few or of many in a row; the message quotes the last.
        FaceValueError
            The model's own, by which it says that no request can succeed.
        """
        stream = _RequestStream(requests, self._open)
        while not stream.ended:
            responses: Any = None
            before = stream.count
            try:
                responses = self._model.respond(stream)
                for response in responses:
                    if (checked := self._check_response(response)) is not None:
                        yield checked
                    self._check_hope()
                break
            except FaceValueError:
                raise
            except (Exception, SystemExit) as error:  # whatever a stranger's code raises
                message = f"{self._model.name} raised {first_line(error)}"
                _LOG.info("%s", message, exc_info=error)
                if stream.count == before:
                    raise ModelError(f"{message}. {_AGAIN}") from error
                self._refuse(f"{message}.")
                while self._open:
                    yield _failed_response(self._open.popitem()[1], message)
                self._check_hope()
            finally:
                if callable(close := getattr(responses, "close", None)):
                    with suppress(Exception):  # what ends the asking says more, and is on its way already
                        close()

    def _check_response(self, response: object) -> Response | None:
        """The response to its request; None if it is to nothing that is open."""
        request = self._open.pop(_key(response), None)
        if request is None and not isinstance(response, Response) and len(self._open) == 1:
            _, request = self._open.popitem()  # it can be about nothing else
        if request is None:
            described = quote(response)
            if isinstance(response, Response):
                described = f"repeat {short(response.repeat)} of trial {short(response.trial)}"
            self._refuse(
                f"{self._model.name} answered {described}, which was not asked or was answered before: left out."
            )
            return None
        try:
            checked = checked_response(response, request)
        except ReplyError as error:
            self._refuse(
                f"Trial {request.trial}, repeat {request.repeat}: {error}. It counts as a failed request, and the same "
                "command asks it again."
            )
            return _failed_response(request, str(error))
        if checked.status is not _ERROR:
            self._in_a_row, self._limit = 0, _LATER
        return checked

    def _refuse(self, message: str) -> None:
        self._in_a_row, self._last = self._in_a_row + 1, message
        if self._notes < _NOTES:
            self._notes += 1
            self._note(message)

    def _check_hope(self) -> None:
        if self._in_a_row >= self._limit:
            raise ModelError(
                f"{self._in_a_row} replies of {self._model.name} in a row cannot count. The last: {self._last} {_AGAIN}"
            )


class _RequestStream:
    """Requests on their way to the model; it goes on where the model broke off."""

    def __init__(self, requests: Iterable[Request], taken: dict[_Key, Request]) -> None:
        self._requests, self._taken = iter(requests), taken
        self.count = 0
        self.ended = False

    def __iter__(self) -> Iterator[Request]:
        return self

    def __next__(self) -> Request:
        for request in self._requests:
            self._taken[request[:2]] = request
            self.count += 1
            return request
        self.ended = True
        raise StopIteration


def checked_response(response: object, request: Request) -> Response:
    """A response to a request with every field as it should be; integers and floats may be NumPy's or PyTorch's.

    A reply that is thinking without an end has `Status.TRUNCATED`, however it ended, and is marked as thinking.

    Raises
    ------
    ReplyError
        What is wrong with it.
    """
    if not isinstance(response, Response) or len(response) != len(Response._fields):
        raise ReplyError(f"it is {quote(response)}, not a Response")
    _, _, status, text, probs, prompt, completion, latency, error = response
    status, text = _checked_status(status), checked_text(text)
    probs = None if probs is None else checked_probabilities(probs, len(request.question.options))
    if status is _OK and text is None and probs is None:
        raise ReplyError("it has neither text nor probabilities")
    if text and probs is None and status in _SAID:
        truncated = status is _TRUNCATED
        options = [option.text for option in request.question.options] if truncated else ()
        if (thought := endless_thought(text, truncated=truncated, options=options)) is not None:
            error = error or (CUT_THINKING if truncated else ENDLESS_THINKING)
            status, text = Status.TRUNCATED, thought
    return Response(
        request.trial,
        request.repeat,
        status,
        text,
        probs,
        _checked_count(prompt, "prompt_tokens"),
        _checked_count(completion, "completion_tokens"),
        _checked_latency(latency),
        None if error is None else _reason(error),
    )


def checked_text(text: object) -> str | None:
    """A text that a file can hold; None for none."""
    if text is None:
        return None
    if not isinstance(text, str):
        raise ReplyError(f"its text is {quote(text)}")
    if len(text) > LONGEST:
        raise ReplyError(f"its text has {len(text):,} characters, and at most {LONGEST:,} are taken")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ReplyError(f"its text holds half of a character (a lone surrogate): {quote(text)}") from None
    return text if type(text) is str else str.__str__(text)


def checked_probabilities(probs: Any, options: int | None) -> tuple[float, ...]:
    """Probabilities of a question's options, so many of them; of any number for None."""
    plain = type(probs) is tuple and len(probs) == options and {*map(type, probs)} == {float}
    if plain and min(probs) >= 0.0 and math.fsum(probs) <= 1.0:  # not so with a NaN, wherever it is
        return probs
    if isinstance(probs, str | bytes | Mapping) or not isinstance(probs, Iterable):
        raise ReplyError(f"its probs are {quote(probs)}")
    limit = LONGEST if options is None else options
    values = tuple(_probability(value, probs) for value in islice(probs, limit + 1))
    if len(values) > limit or (options is not None and len(values) != options):
        more = "more than " if len(values) > limit else ""
        raise ReplyError(f"it has {more}{min(len(values), limit)} probabilities, and its question {limit} options")
    if math.fsum(values) > 1 + EXCESS:
        raise ReplyError(f"its probs {quote(values)} sum to {math.fsum(values):.4g}")
    return values


def _probability(value: Any, probs: object) -> float:
    try:
        number = value if type(value) is float else math.nan if isinstance(value, str | bytes | bool) else float(value)
    except Exception:  # whatever a stranger's object raises
        number = math.nan
    if not -_ROUNDING <= number <= 1 + _ROUNDING:
        raise ReplyError(f"its probs {quote(probs)} are no probabilities")
    return min(max(number, 0.0), 1.0)


def _checked_status(status: object) -> Status:
    if type(status) is Status:
        return status
    if not isinstance(status, str) or status not in _STATUSES:
        raise ReplyError(f"its status is {quote(status)}, not one of {', '.join(Status)}")
    return Status(status)


def _checked_count(count: Any, name: str) -> int | None:
    if count is None or (type(count) is int and 0 <= count <= _MOST_TOKENS):
        return count
    number = _to_whole_number(count)
    if number is None or not 0 <= number <= _MOST_TOKENS:
        raise ReplyError(f"its {name} are {quote(count)}, not a whole number from 0")
    return number


def _checked_latency(latency: Any) -> float:
    if type(latency) is float and 0.0 <= latency <= _SLOWEST:
        return latency
    try:
        number = math.nan if isinstance(latency, str | bytes | bool) else float(latency)
    except Exception:  # whatever a stranger's object raises
        number = math.nan
    if not 0 <= number <= _SLOWEST:
        raise ReplyError(f"its latency_ms is {quote(latency)}, not a number from 0")
    return number


def _to_whole_number(value: Any) -> int | None:
    if type(value) is int:
        return value
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except Exception:  # whatever a stranger's object raises
        return None


def _key(response: object) -> _Key:
    """Trial and repeat that a response says it is to; that of no request if it doesn't."""
    if isinstance(response, Response) and len(response) == len(Response._fields):
        trial, repeat = _to_whole_number(response[0]), _to_whole_number(response[1])
        if trial is not None and repeat is not None:
            return trial, repeat
    return _NO_KEY


def _failed_response(request: Request, message: str) -> Response:
    return Response(request.trial, request.repeat, Status.ERROR, error=f"{ODD[0]}{message}")


def _reason(error: object) -> str:
    text = error if isinstance(error, str) else quote(error)
    return text[:_REASON].encode(errors="replace").decode()


def of_file(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Stored responses; one that cannot count is an error of its request, so that it is asked again."""
    fault = reason()
    odd = pl.any_horizontal(_faults().values()).fill_null(value=False)
    return rows.filter(pl.col("trial").is_not_null(), pl.col("repeat").is_not_null()).with_columns(
        pl.when(odd).then(pl.lit(Status.ERROR.value).cast(_STATUS)).otherwise("status").alias("status"),
        *(pl.when(~odd).then(name).alias(name) for name in ("text", "probs")),
        pl.when(odd).then(fault).otherwise("error").alias("error"),
    )


def reason() -> pl.Expr:
    """Return why a stored response cannot count; null where it can."""
    faults = _faults().items()
    return pl.coalesce(pl.when(case).then(pl.lit(f"{ODD[1]}it has {fault}.")) for fault, case in faults)


def _faults() -> dict[str, pl.Expr]:
    """Conditions under which a stored response cannot count, by what is wrong with it."""
    probs = pl.col("probs")
    return {
        "no status": pl.col("status").is_null(),
        "neither text nor probabilities": (pl.col("status") == "ok") & pl.col("text").is_null() & probs.is_null(),
        "a text that is too long": pl.col("text").str.len_bytes() > 4 * LONGEST,
        "numbers that are no probabilities": probs.list.eval(
            pl.element().is_null() | ~pl.element().is_between(-_ROUNDING, 1 + _ROUNDING)
        ).list.any() | (probs.list.sum() > 1 + EXCESS),
    }  # fmt: skip
