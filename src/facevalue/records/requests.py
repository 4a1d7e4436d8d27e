"""Requests as files for batches, of OpenAI's and Anthropic's kinds."""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace

from facevalue.errors import SettingError
from facevalue.models._chat import Dialect, body, encoded
from facevalue.records.batches import ANTHROPIC, OPENAI
from facevalue.records.lines import CustomId
from facevalue.servers.payload import as_json
from facevalue.types import Request

_DIALECT = Dialect(limit="max_completion_tokens")
_HOTTEST = 1.0  # of Anthropic's


@dataclass(frozen=True)
class RequestForm:
    """A form in which requests are written.

    Attributes
    ----------
    tool:
        Who takes them, as a run's settings call it (`RECORDED_BY`).
    most_requests:
        Most requests of a file.
    size:
        Most bytes of a file.
    start, between, end:
        What a file begins with, has between two requests, and ends with.
    ending:
        Of its name.
    write:
        From the model's name, a request, the most tokens of its reply (None for the study's) and its id to the request
        in this form.
    exact:
        Whether log-probabilities come with the answers.
    """

    tool: str
    most_requests: int
    size: int
    start: bytes
    between: bytes
    end: bytes
    ending: str
    write: Callable[[str, Request, int | None, CustomId], bytes]
    exact: bool


def _limited(request: Request, limit: int | None) -> Request:
    return request if limit is None else request._replace(sampling=replace(request.sampling, max_tokens=limit))


def _openai(model: str, request: Request, limit: int | None, name: CustomId) -> bytes:
    sampling = _limited(request, limit).sampling
    sent = body(
        model, encoded(request.stimulus.load()), request.question, sampling, request.seed,
        dialect=_DIALECT, logprobs=request.exact,
    )  # fmt: skip
    return (
        as_json({"custom_id": str(name), "method": "POST", "url": "/v1/chat/completions"})[:-1]
        + b',"body":' + sent + b"}"
    )  # fmt: skip


def _anthropic(model: str, request: Request, limit: int | None, name: CustomId) -> bytes:
    sampling = _limited(request, limit).sampling
    if sampling.temperature > _HOTTEST:
        raise SettingError(
            f"Anthropic's models take temperatures up to {_HOTTEST:g}, and this study draws at "
            f"{sampling.temperature:g}."
        )
    question = request.question
    pictures = [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": image.media_type, "data": b64encode(image.data).decode("ascii")},
        }
        for image in request.stimulus.load()
    ]
    messages: list[object] = [{"role": role, "content": text} for role, text in question.turns]
    messages.append({"role": "user", "content": [*pictures, {"type": "text", "text": question.prompt}]})
    # Newer models refuse top_p beside a temperature; a whole nucleus is none.
    nucleus = {"top_p": sampling.top_p} if sampling.top_p < 1 else {"temperature": sampling.temperature}
    system = {} if question.system is None else {"system": question.system}
    sent = {"model": model, "max_tokens": sampling.max_tokens, **nucleus, **system, "messages": messages}
    return as_json({"custom_id": str(name), "params": sent})


FORMS: dict[str, RequestForm] = {
    "openai": RequestForm(OPENAI, 50_000, 190_000_000, b"", b"\n", b"\n", "jsonl", _openai, exact=True),
    "anthropic": RequestForm(
        ANTHROPIC, 100_000, 250_000_000, b'{"requests":[\n', b",\n", b"\n]}\n", "json", _anthropic, exact=False
    ),
}
"""By name. Sizes are a little below what the interfaces take: 200 MB and 50,000 requests, 256 MB and 100,000."""
