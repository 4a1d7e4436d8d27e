"""Slots: names in braces that stand in prompts and options for what is filled in."""

import re
from collections.abc import Iterable, Mapping

from facevalue.errors import DataError

OPTIONS = "{options}"
"""Slot of a prompt that the options are written in."""
_SLOT = re.compile(r"\{([A-Za-z_][A-Za-z0-9_ -]{0,63})\}")  # all other braces are text


def slots(text: str) -> list[str]:
    """Slots of a text, but for that of the options.

    Examples
    --------
    >>> slots("Is this {person} a {job}? {options} {0} {a.b}")
    ['person', 'job']
    """
    return [name for name in _SLOT.findall(text) if f"{{{name}}}" != OPTIONS]


def check_unfilled(texts: Iterable[str], of: str) -> None:
    """Refuse slots in texts that nothing fills: their braces would be sent. `of`: what the texts are.

    Examples
    --------
    >>> check_unfilled(["Is the text about {trait}?"], "the question to a judge")
    Traceback (most recent call last):
    facevalue.errors.DataError: {trait} in the question to a judge is filled by nothing: only prompts, options and ...
    """
    if unfilled := next((name for text in texts for name in slots(text)), ""):
        raise DataError(
            f"{{{unfilled}}} in {of} is filled by nothing: only prompts, options and templates have slots. Write it in "
            "words."
        )


def fill_slots(text: str, levels: Mapping[str, str]) -> str:
    """Fill the slots of a text; what is put in is not looked at again.

    Examples
    --------
    >>> fill_slots("A {job}: {options}", {"job": "{options}", "options": "(a) or (b)"})
    'A {options}: (a) or (b)'
    """
    return _SLOT.sub(lambda slot: levels.get(slot[1], slot[0]), text)
