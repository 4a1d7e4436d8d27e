"""Replies of Inspect's providers, as it hands them on and as its logs keep them, read as those of servers are."""

from collections.abc import Mapping
from typing import Any

from facevalue.models._chat import ONLY_THOUGHTS, ServerReply, is_nothing, status_of
from facevalue.models._toplogprobs import read_positions
from facevalue.servers.replies import count, writable
from facevalue.thinking import CUT_THINKING, after_thinking
from facevalue.types import Status

_LONGEST_NAME = 100
_ATTACHED = "attachment://"
PROBS = "facevalue_probs"
"""Metadata of an output of FaceValue's own models: probabilities of the options, which need no text."""


class PromptLengthError(ValueError):
    """The prompt was longer than the model takes."""


def reply_of(
    output: Mapping[str, Any], *, fingerprint: object = None, attachments: Mapping[str, Any] | None = None
) -> ServerReply:
    """Read a reply, every field checked before it is believed.

    Inspect gives the words of an error as the text of a reply that was filtered, or whose prompt was too long. Such a
    text is no reply: it comes without tokens counted, or with `ModelOutput.error`.

    `output`: a `ModelOutput` as JSON has it. `fingerprint`: the build that answered, where the provider says.
    `attachments`: texts that a log keeps apart.

    Raises
    ------
    ValueError
        It is no reply.
    """
    choices, error, usage = output.get("choices"), _text(output.get("error")), output.get("usage")
    if not isinstance(choices, list) or not choices:
        raise ValueError(f"no choices; the provider says {error}" if error else "no choices")
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(message, Mapping):
        raise ValueError("a choice without a message")
    blocks = _blocks(message.get("content"))
    text = text_said(blocks, attachments)
    ended = str(choice.get("stop_reason"))
    is_error = error is not None or not isinstance(usage, Mapping)
    if ended == "model_length" and is_error:
        raise PromptLengthError(f"The prompt is longer than the model takes: {error or text}")
    note = _refusal(choice, blocks, error)
    status = status_of(ended) if note is None else Status.REFUSED
    withheld = note is not None and is_error
    counts = usage if isinstance(usage, Mapping) else {}
    thought = any(block.get("type") == "reasoning" for block in blocks) or bool(count(counts.get("reasoning_tokens")))
    if status is Status.TRUNCATED and not after_thinking(text) and (thought or text):
        note = CUT_THINKING
    elif status is Status.OK and not text.strip():
        if any(block.get("type") == "reasoning" for block in blocks):
            note = ONLY_THOUGHTS.format("reasoning")
        elif not (message.get("tool_calls") or _has_probabilities(output)) and is_nothing(
            text, count(counts.get("output_tokens"))
        ):
            raise ValueError("nothing was said, and no token of it counted")
    cached = count(counts.get("input_tokens_cache_read"))
    served_by = [name[:_LONGEST_NAME] for name in (output.get("model"), fingerprint) if isinstance(name, str) and name]
    return ServerReply(
        status,
        None if withheld else text,
        read_positions(choice.get("logprobs")),
        _prompt_tokens(counts, cached),
        count(counts.get("output_tokens")),
        note,
        ", ".join(served_by),
        thought,
        cached,
    )


def _has_probabilities(output: Mapping[str, Any]) -> bool:
    metadata = output.get("metadata")
    return isinstance(metadata, Mapping) and metadata.get(PROBS) is not None


def text_said(content: object, attachments: Mapping[str, Any] | None) -> str:
    """Return the text of a message, what was thought before it left out.

    Raises
    ------
    ValueError
        It is none.
    """
    return "\n".join(
        _resolve_attachment(block.get("text"), attachments) for block in _blocks(content) if block.get("type") == "text"
    )


def _prompt_tokens(counts: Mapping[str, Any], cached: int | None) -> int | None:
    """Tokens of the whole prompt: Inspect counts apart what a cache had, or was given."""
    fresh, stored = count(counts.get("input_tokens")), count(counts.get("input_tokens_cache_write"))
    return None if fresh is None else count(fresh + (cached or 0) + (stored or 0))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _blocks(content: object) -> list[Mapping[str, Any]]:
    """Parts of what was said, and of what was thought before."""
    listed = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(listed, list) or not all(isinstance(block, Mapping) for block in listed):
        raise ValueError("its content is no text")
    return listed


def _resolve_attachment(text: object, attachments: Mapping[str, Any] | None) -> str:
    """A text itself, where a log keeps it apart."""
    if attachments is not None and isinstance(text, str) and text.startswith(_ATTACHED):
        text = attachments.get(text.removeprefix(_ATTACHED))
    if not isinstance(text, str):
        raise ValueError("its content is no text")
    return writable(text) or ""


def _refusal(choice: Mapping[str, Any], blocks: list[Mapping[str, Any]], error: str | None) -> str | None:
    """Reason why the provider or the model declined; None if neither did."""
    if any(block.get("type") == "text" and block.get("refusal") for block in blocks):
        return "The model declined."
    if choice.get("stop_reason") != "content_filter" and error is None:
        return None
    details = choice.get("stop_details")
    stated = details if isinstance(details, Mapping) else {}
    reason = error or _text(stated.get("explanation")) or _text(stated.get("category"))
    return f"A content filter withheld the reply{f': {reason}' if reason else '.'}"
