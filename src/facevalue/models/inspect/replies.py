"""Replies of Inspect's providers, read as those of servers are."""

from collections.abc import Mapping
from typing import Any

from inspect_ai.model import ChatCompletionChoice, ContentReasoning, ContentText, ModelOutput, ModelUsage

from facevalue.models._chat import CUT_THINKING, ServerReply
from facevalue.models._toplogprobs import read_positions
from facevalue.servers.payload import count, writable
from facevalue.servers.server import Failure
from facevalue.thinking import after_thinking
from facevalue.types import Status

_STATUSES = {
    "stop": Status.OK,
    "tool_calls": Status.OK,
    "max_tokens": Status.TRUNCATED,
    "model_length": Status.TRUNCATED,
}
_LONGEST = 100


def reply_of(output: ModelOutput, response: Mapping[str, Any]) -> ServerReply:
    """Read a reply, every field checked before it is believed.

    Inspect gives the words of an error as the text of a reply that was filtered, or whose prompt was too long. Such a
    text is no reply: it comes without tokens counted, or with `ModelOutput.error`.

    `output`: as Inspect gives it. `response`: what the provider itself sent, where that is known.

    Raises
    ------
    ValueError
        It is no reply.
    Failure
        The prompt was too long for the model.
    """
    if output.empty:
        raise ValueError(f"no choices; the provider says {output.error}" if output.error else "no choices")
    choice = output.choices[0]
    text = writable(choice.message.text) or ""
    is_error = output.error is not None or output.usage is None
    if choice.stop_reason == "model_length" and is_error:
        raise Failure(f"The prompt is longer than the model takes: {output.error or text}")
    refusal = _refusal(choice, output.error)
    if refusal is None and choice.stop_reason not in _STATUSES:
        raise ValueError(f"the reply was broken off (stop reason {choice.stop_reason!r})")
    status = _STATUSES[choice.stop_reason] if refusal is None else Status.REFUSED
    usage = output.usage or ModelUsage()
    thought = _has_thought(choice) or bool(usage.reasoning_tokens)
    note = refusal
    if status is Status.TRUNCATED and not after_thinking(text) and (thought or text):
        note = CUT_THINKING
    prompt = usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    fingerprint = response.get("system_fingerprint")
    served_by = [name[:_LONGEST] for name in (output.model, fingerprint) if isinstance(name, str) and name]
    return ServerReply(
        status,
        None if refusal is not None and is_error else text,
        None if choice.logprobs is None else read_positions(choice.logprobs.model_dump()),
        None if output.usage is None else count(prompt),
        None if output.usage is None else count(usage.output_tokens),
        note,
        ", ".join(served_by),
        thought,
        count(usage.input_tokens_cache_read),
    )


def _refusal(choice: ChatCompletionChoice, error: str | None) -> str | None:
    """Why the provider or the model declined; None if neither did."""
    content = choice.message.content
    if not isinstance(content, str) and any(isinstance(part, ContentText) and part.refusal for part in content):
        return "The model declined."
    if choice.stop_reason != "content_filter" and error is None:
        return None
    details = choice.stop_details
    reason = error or (details and (details.explanation or details.category))
    return f"A content filter withheld the reply{f': {reason}' if reason else '.'}"


def _has_thought(choice: ChatCompletionChoice) -> bool:
    content = choice.message.content
    return not isinstance(content, str) and any(isinstance(part, ContentReasoning) for part in content)
