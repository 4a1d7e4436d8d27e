"""Structured choice: the ways to tell a server that a reply must be one of a few texts."""

import json
from collections.abc import Sequence
from enum import StrEnum

from facevalue.types import Option


class Way(StrEnum):
    """A parameter with which some servers constrain a reply, in the order in which they are tried.

    Those that give the bare option come first: JSON changes what is said, and by that perhaps what is chosen.
    """

    STRUCTURED_OUTPUTS = "structured_outputs"
    """vLLM."""
    GUIDED_CHOICE = "guided_choice"
    """vLLM before 0.12."""
    GRAMMAR = "grammar"
    """llama.cpp, in its own notation of grammars (GBNF)."""
    EBNF = "ebnf"
    """SGLang, in the same notation."""
    RESPONSE_FORMAT = "response_format"
    """OpenAI and others: a JSON schema. The reply is then '{"answer": "(a)"}'."""


JSON_TOKENS = 16
"""Tokens that JSON may put around an option; the limit of a reply is raised by so many."""

PROBES = (("qzx-7", "wvk-3"), ("jfb-9", "xmg-2"))
"""Texts that no model says by itself."""


def wanted(options: Sequence[Option]) -> list[str]:
    """Return what a constrained reply may be: the options' labels, or the text of one that has none.

    Examples
    --------
    >>> wanted([Option("(a)", "kind", "up"), Option("", "rude", "down")])
    ['(a)', 'rude']
    """
    return list(dict.fromkeys(option.label or option.text for option in options))


def constraint(way: Way, texts: Sequence[str]) -> dict[str, object]:
    """Return the parameters by which a reply is constrained to these texts."""
    texts = list(texts)
    if way is Way.STRUCTURED_OUTPUTS:
        return {way.value: {"choice": texts}}
    if way is Way.GUIDED_CHOICE:
        return {way.value: texts}
    if way is Way.RESPONSE_FORMAT:
        named = {"name": "answer", "strict": True, "schema": schema(texts)}
        return {way.value: {"type": "json_schema", "json_schema": named}}
    return {way.value: grammar(texts)}


def schema(texts: Sequence[str]) -> dict[str, object]:
    """Return the JSON schema of a choice between texts."""
    return {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": list(texts)}},
        "required": ["answer"],
        "additionalProperties": False,
    }


def grammar(texts: Sequence[str]) -> str:
    r"""Return the GBNF grammar of a choice between texts.

    Examples
    --------
    >>> print(grammar(["(a)", 'so-called "b"']))
    root ::= "(a)" | "so-called \"b\""
    """
    return "root ::= " + " | ".join(f'"{"".join(map(_escaped, text))}"' for text in texts)


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return character if character.isprintable() else f"\\U{ord(character):08X}"


def said(way: Way, text: str) -> str | None:
    """Return which text a reply consists of, out of its JSON where that is the way; None if it is no such JSON."""
    if way is not Way.RESPONSE_FORMAT:
        return text.strip()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    answer = value.get("answer") if isinstance(value, dict) and len(value) == 1 else None
    return answer if isinstance(answer, str) else None
