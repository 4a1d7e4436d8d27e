"""Expectations that an inspector checks in a picture, as lines of a prompt in place of a question."""

from dataclasses import dataclass, fields

OPENING = "Inspect this picture; its source, if there is one, comes first."
"""First line of a prompt to an inspector."""
_LONGEST = 4000


@dataclass(frozen=True, slots=True)
class Expectation:
    """Expected content of a picture, and its person; each field is empty where it isn't known.

    Attributes
    ----------
    text:
        What it was made from.
    attribute:
        What an edit shall have added, in words: "glasses".
    person:
        Who is shown, by the name of the unit.
    group:
        The group whose other people it is compared with.

    Examples
    --------
    >>> expectation = Expectation(attribute="glasses", person="f1")
    >>> Expectation.from_prompt(expectation.prompt()) == expectation
    True
    """

    text: str = ""
    attribute: str = ""
    person: str = ""
    group: str = ""

    def prompt(self) -> str:
        """Lines of a prompt that say so."""
        lines = [(field.name, " ".join(getattr(self, field.name).split())) for field in fields(self)]
        return "\n".join([OPENING, *(f"{name}: {value}" for name, value in lines if value)])

    @classmethod
    def from_prompt(cls, prompt: str) -> "Expectation":
        """Read the lines of a prompt; lines of other names, and empty ones, say nothing."""
        names = {field.name for field in fields(cls)}
        values: dict[str, str] = {}
        for line in prompt.splitlines():
            name, _, value = line.partition(":")
            if name in names and value.strip():
                values[name] = value.strip()[:_LONGEST]
        return cls(**values)
