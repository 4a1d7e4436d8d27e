"""Questions as Inspect's messages, for its providers as for its tasks."""

from collections.abc import Sequence

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    Content,
    ContentImage,
    ContentText,
)

from facevalue.types import Question


def messages(pictures: Sequence[str], question: Question) -> list[ChatMessage]:
    """Return the messages of one request: the system message and earlier turns if any, the pictures, then the text."""
    out: list[ChatMessage] = []
    if question.system is not None:
        out.append(ChatMessageSystem(content=question.system))
    for role, text in question.turns:
        out.append(ChatMessageUser(content=text) if role == "user" else ChatMessageAssistant(content=text))
    content: list[Content] = [ContentImage(image=url) for url in pictures]
    content.append(ContentText(text=question.prompt))
    out.append(ChatMessageUser(content=content if pictures else question.prompt))
    return out
