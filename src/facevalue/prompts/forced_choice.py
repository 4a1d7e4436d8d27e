"""Forced choice between two options: their orders, and the phrase that lists them."""

from dataclasses import dataclass

from facevalue.types import Option


@dataclass(frozen=True, slots=True)
class Ordering:
    """An order of the two poles of a scenario: their letters, and which is shown first."""

    name: str  # the level of the factor `ordering`
    labels: tuple[str, str]  # labels in the order shown
    first: int  # which pole is shown first: 0 or 1

    def options(self, poles: tuple[str, str], levels: tuple[str, str]) -> tuple[Option, Option]:
        """Return the options in the order shown.

        Examples
        --------
        >>> [o.label + " " + o.text for o in ORDERINGS[3].options(("kind", "rude"), ("favourable", "unfavourable"))]
        ['(b) kind', '(a) rude']
        """
        second = 1 - self.first
        return (
            Option(self.labels[0], poles[self.first], levels[self.first]),
            Option(self.labels[1], poles[second], levels[second]),
        )


ORDERINGS = (
    Ordering("1", ("(a)", "(b)"), 0),
    Ordering("2", ("(b)", "(a)"), 1),
    Ordering("3", ("(a)", "(b)"), 1),
    Ordering("4", ("(b)", "(a)"), 0),
)
"""Option order crossed with letter assignment: StylisticBias, Appendix C.2, "Prompt order variants", as numbered
there."""
