"""Reasons to trust or doubt a run, as a page declares them."""

from dataclasses import dataclass

from facevalue.protocol.look import Of


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A number to trust or doubt the run by: the one farthest from where it should be, of each model."""

    of: Of
    """The numbers."""
    title: str
    note: str
    """Subject of the card, and what follows."""
    neutral: float = 0.0
    """Value that it should have."""
    fine: float = 0.05
    problem: float = 0.15
    """Distances from there up to which it is fine, and from which on it is a problem; in the measure's unit."""
    where: str = ""
    """Form of where the worst one is."""
    missing: str = ""
    unmeasured: str = "not measurable"
    unmeasured_note: str = ""
    """Status if it was not measured ("" for no card), and what is said then."""
    exact: str = ""
    """Text where probabilities were read, so that it cannot be measured."""
    name: str = ""
    """Stable identifier; the measure by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedCard:
    """A reason to trust or doubt that is the same for every run."""

    name: str
    title: str
    value: str
    note: str
    """Text of the card."""
    status: str = "note"
    """"fine", "note", "caution" or "problem"."""
    when: tuple[Of, ...] = ()
    """Said only if any of these was measured."""
    unless: tuple[Of, ...] = ()
    """Said only if none of these was."""


ONE_WORDING = StatedCard(
    name="paraphrases",
    title="Other wordings",
    value="Asked in one wording",
    note=(
        "Each question is asked in one wording. How far the results hang on it cannot be told from this run; worrying "
        "would be shifts that change sign between wordings."
    ),
)
NO_SCORER = StatedCard(
    name="scorer",
    title="Scores",
    value="No scores by another model",
    note=(
        "No second model and no word list scores the answers, so none can bring a bias of its own into the numbers. "
        "Worrying would be scores that change when only the group words of a sentence are swapped."
    ),
    status="fine",
)
OUTSIDE_SCORES = StatedCard(
    name="scorer",
    title="Scores",
    value="By another model or a word list",
    note=(
        "A judge or a scorer says what the texts are, and may treat the words for one group otherwise than those for "
        "another. Worrying would be people who disagree with it, and categories or scores that change when only the "
        "group words of a text are swapped."
    ),
)
RATES = (
    Rate(
        of=Of("na_rate", ("paradigm?", "dimension?")),
        title="Questions without an answer",
        note=(
            "No valid answer could be read, or the request failed. They are left out, never counted as zero. Worrying: "
            "5% or more, or more for one group than for another."
        ),
        problem=0.2,
    ),
    Rate(
        of=Of("refusal_rate"),
        title="Refusals",
        note="Of all questions. Worrying: 5% or more.",
        problem=0.2,
        exact="Probabilities of the options were read. They do not say whether other replies would be refusals.",
    ),
    Rate(
        of=Of("response_bias.position"),
        title="Preference for the first option",
        note="Share of choices of the option shown first, less one half. Worrying: beyond ±5 points.",
    ),
    Rate(
        of=Of("response_bias.letter"),
        title="Preference for the letter (a)",
        note="Share of choices of the option lettered (a), less one half. Worrying: beyond ±5 points.",
    ),
)
"""Rates that any study can report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitsCard:
    """Cards on the number of sampled units and on the noise floor, which follow from the lead.

    Attributes
    ----------
    title:
        Of the card ("Faces").
    name:
        Stable identifier of the card.
    of:
        Estimates whose clusters are counted; those of the lead by default.
    none, few, enough:
        What is said of none, of too few, of enough.
    strict:
        Whether none is a problem.
    floor, floor_none:
        Title of the card on the noise floor (no card without), and what is said where there is none.
    floor_note:
        What it means, if not the usual; `{least}` and `{most}` are the smallest and the largest floor.
    """

    title: str = "Sampled units"
    name: str = "units"
    of: tuple[Of, ...] = ()
    none: str = "Nothing could be estimated."
    strict: bool = True
    few: str = "intervals may be too narrow. Take the results as a trial, not as a finding."
    enough: str = "The unit that was sampled. Intervals are taken over them, not over replies."
    floor: str = "Noise floor"
    floor_note: str = ""
    floor_none: str = "Nothing to set a floor by."
