"""Functions as models: from a question to a text."""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType

from facevalue.models.base import Capabilities
from facevalue.types import Question, Request, Response, Status


class FunctionModel:
    """A function of one's own that is asked one question after another, and sees no picture.

    What it returns is checked like any other reply; an exception is an error of the request alone.

    Examples
    --------
    >>> from facevalue.types import Question
    >>> FunctionModel(lambda question: question.options[0].label).name
    'function/lambda'
    """

    capabilities = Capabilities(
        images_per_request=2**16, sight="stated"
    )  # it is asked with a picture or without, as it sees none

    def __init__(self, function: Callable[[Question], str]) -> None:
        self._function = function
        called = getattr(function, "__name__", None) or type(function).__name__
        self.name = f"function/{str(called).strip('<>')[:80]}"

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """A hash of its code, as another function of the same name is another model; none where it has no code."""
        code = getattr(self._function, "__code__", None)
        return {"code": hashlib.sha256(_code(code)).hexdigest()[:16]} if isinstance(code, CodeType) else {}

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Ask the function."""
        for request in requests:
            started = time.perf_counter()
            text = self._function(request.question)
            latency = (time.perf_counter() - started) * 1000
            yield Response(request.trial, request.repeat, Status.OK, text, latency_ms=latency)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


def _code(code: CodeType) -> bytes:
    inner = [
        _code(constant) if isinstance(constant, CodeType) else repr(constant).encode() for constant in code.co_consts
    ]
    return b"\0".join([code.co_code, repr(code.co_names).encode(), *inner])
