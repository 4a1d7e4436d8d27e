"""Next steps: whether the audit is enough to decide by, how much more would be, and where to look first."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, log10
from statistics import median

from facevalue.printable import join_names
from facevalue.protocol.page import Section, selections
from facevalue.report.cards import unit_counts
from facevalue.report.checks import FEWEST, KINDS, Card, CardStatus
from facevalue.report.findings import Finding, LeadComparison, PageComparisons, findings
from facevalue.report.headline import Headline, HeadlineKind
from facevalue.report.sight import STEP, is_problem
from facevalue.report.sizes import POINTS
from facevalue.stimuli.base import Kind

MOST = 4
"""Steps that the first screen shows."""
_WORTH = 0.1
"""Share of the largest possible difference that an audit should find; ten points of a hundred."""
_NAMED = 3
_READ = "Read some replies (facevalue export RUN --out FILE.csv), then mend the prompt."
_REMEDIES = {
    HeadlineKind.NO_ANSWER: _READ,
    HeadlineKind.ALMOST_NONE: _READ,
    HeadlineKind.NOT_ANSWERED: (
        "Give the run's command again, which asks what is left; where replies cannot be read, read some of them first "
        "(facevalue export RUN --out FILE.csv)."
    ),
    HeadlineKind.DESCRIBED: "Nothing here is tested. Compare intervals, or ask what sets groups side by side.",
    HeadlineKind.NOT_MEASURABLE: "Ask about more people or pictures: facevalue plan says how many it takes.",
}
"""What to do where nothing was compared."""
_MISSING = "missing"
"""Section about answers that are missing."""
_PLAIN = {"Drift while the run lasted": "Change of the model during the run"}
"""Titles of cards that the first screen says in other words."""


@dataclass(frozen=True, slots=True)
class NextStep:
    """Something to do, and the section of the page where it is told."""

    text: str
    anchor: str = ""
    title: str = ""
    grave: bool = False


def next_steps(
    of_page: PageComparisons, answer: Headline, cards: Sequence[Card], sections: Sequence[Section], kind: Kind
) -> list[NextStep]:
    """Next steps after this audit, the most important first."""
    comparisons, units = of_page.everything, of_page.page.units.name
    steps = [*_missing_decides(comparisons), *_warnings(cards, kind, units)]
    decisive = None if answer.verdict is HeadlineKind.UNSEEN else _decide(of_page, answer, kind)
    steps = [step for step in (decisive, *steps) if step is not None]
    if of_page.page.steps is not None:
        steps = [*map(NextStep, of_page.page.steps(of_page.view)), *steps]
    steps = [*_unseen(cards), *steps]
    if answer.verdict is HeadlineKind.ALMOST_NONE:
        reading = next((NextStep("Read next:", s.id, s.title) for s in sections if s.id == _MISSING), None)
    else:
        reading = _reading(comparisons, sections)
    return steps[:MOST] if reading is None else [*steps[: MOST - 1], reading]


def more_needed(comparison: LeadComparison) -> tuple[float, str, bool] | None:
    """Factor of units needed to find a difference worth finding, that difference, and whether it is half of today's.

    The smallest difference that would be found shrinks with the square root of the number of units: `(mde / d)²` times
    as many find `d`: the margin where there is one, else a tenth of what is possible, else half of what is found today.
    None where nothing is undecided, or where not even the largest difference would be found.
    """
    smallest = comparison.missable
    if smallest is None or smallest == inf:
        return None
    e = comparison.open_rows[0]
    largest = comparison.possible
    worth = e.margin or (_WORTH * largest if largest is not None else smallest / 2)
    scale = comparison.scale(e)
    if scale.unit == POINTS and scale.curve is None and e.margin is None:
        worth = 10.0 / scale.per
    half = smallest <= worth or (largest is None and e.margin is None)
    worth = smallest / 2 if half else worth
    return (smallest / worth) ** 2, scale.text(worth), half


def _unseen(cards: Sequence[Card]) -> list[NextStep]:
    """Step to take first where nothing shows that a model sees the pictures."""
    return [NextStep(STEP, "trust", "why it matters", grave=True)] if any(map(is_problem, cards)) else []


def _decide(of_page: PageComparisons, answer: Headline, kind: Kind) -> NextStep | None:
    """Step that says whether there is enough to decide by, or how much more is needed."""
    comparisons = of_page.everything
    moved = findings(comparisons)
    unsure = {comparison.subject(e) for comparison, e in moved if e.caveat}
    sure = [(comparison, e) for comparison, e in moved if comparison.subject(e) not in unsure]
    names = list(dict.fromkeys(comparison.subject(e) for comparison, e in sure))
    undecided = next((c for c in comparisons if c.coarser is None and c.missable is not None), None)
    if answer.verdict in _REMEDIES:
        return NextStep(_REMEDIES[answer.verdict])
    text = ""
    if names:
        listed_names = join_names(names) if len(names) <= _NAMED else f"the {len(names)} differences found"
        if few := _too_few(of_page, sure):
            text = f"Confirm {listed_names} first: {few} are too few to act on. "
        elif kind is Kind.ILLUSTRATED:
            text = f"Enough to look for {listed_names} in photographs. "
        else:
            text = f"Enough to act on {listed_names}. "
    if undecided is not None and (need := more_needed(undecided)) is not None:
        times, size, half = need
        aim = "differences half as large" if half else f"differences of {size}"
        text += f"To see {aim}{' elsewhere' if names else ''}, ask about {_units_wanted(times, undecided)}."
    elif undecided is not None:
        whom = "the others" if names else "anything"
        text += f"{undecided.units} {undecided.unit_name} cannot decide {whom}: see facevalue plan --detect."
    elif answer.verdict is HeadlineKind.EQUIVALENT and not answer.caveat:
        text += "Enough to decide: differences beyond the margin are ruled out."
    return NextStep(text.strip()) if text else None


def _too_few(of_page: PageComparisons, moved: Sequence[Finding]) -> str:
    """Number of units behind the findings, as the card on units counts them; empty where they are enough."""
    comparison, e = min(moved, key=lambda finding: finding[1].clusters or inf)
    counts, units = unit_counts(of_page), of_page.page.units
    typical = int(median(counts)) if counts else None
    if typical is not None and typical < min(FEWEST, e.clusters or FEWEST):
        return f"{typical:,} {_lower(units.title) if units.of else comparison.unit_name}"
    return f"{e.clusters:,} {comparison.unit_name}" if e.clusters and e.clusters < FEWEST else ""


def _units_wanted(times: float, comparison: LeadComparison) -> str:
    """Number of further units that are wanted, beside those that a comparison has now.

    `times`: how many times as many there have to be.
    """
    if not comparison.units:
        return f"{_round_up(times)} times as many {comparison.unit_name}"
    more = _round_up((times - 1) * comparison.units)
    return f"{more} more {comparison.unit_name} for each comparison ({comparison.units:,} now)"


def _round_up(number: float) -> str:
    """A number that claims no more than it knows, rounded up: two digits that count.

    >>> _round_up(3.2), _round_up(24.3), _round_up(1234.0)
    ('4', '25', '1,300')
    """
    step = 10.0 ** max(int(log10(max(number, 1.0))) - 1, 0)
    return f"{ceil(number / step - 1e-9) * step:,.0f}"


def _missing_decides(comparisons: Sequence[LeadComparison]) -> list[NextStep]:
    """Differences that hang on what the missing answers were."""
    turned = [
        comparison.subject(e)
        for comparison in comparisons if comparison.speaks
        for e in comparison.differences if e.open_to_missing
    ]  # fmt: skip
    if not turned:
        return []
    names = join_names(list(dict.fromkeys(turned))[:_NAMED])
    return [
        NextStep(
            f"Missing answers could undo some of what was found of {names}.",
            "trust",
            "worst case",
            grave=True,
        )
    ]


def _warnings(cards: Sequence[Card], kind: Kind, units: str) -> list[NextStep]:
    """Reasons to doubt, a line each: those of the pictures and the model first, problems before cautions."""
    order = {"kind": 0, "planted": 1, "simulated": 1}
    grave = [card for card in cards if card.status in (CardStatus.CAUTION, CardStatus.PROBLEM)]
    grave.sort(key=lambda card: (order.get(card.name, 2), card.status is not CardStatus.PROBLEM))
    about = [card for card in grave if card.name in order]
    further = [card for card in grave if card.name not in order and card.value.lower() != "none found"]
    further = [card for card in further if not is_problem(card)]  # told first
    joined = " ".join(_first_sentence(KINDS[kind][1] if card.name == "kind" else card.note) for card in about)
    steps = [NextStep(joined, "trust", "", grave=True)] if joined else []
    return [*steps, *(NextStep(_in_a_line(card, units), "trust", "why it matters", grave=True) for card in further)]


def _in_a_line(card: Card, units: str) -> str:
    """A card's number or word; of the number of units that were sampled also what follows from it."""
    text = f"{_PLAIN.get(card.title, card.title)}: {_lower(card.value)}."
    return f"{text} {_first_sentence(card.note)}" if card.name == units else text


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".") + "."


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:] if text[:1].isalpha() and not text[:2].isupper() else text


def _reading(comparisons: Sequence[LeadComparison], sections: Sequence[Section]) -> NextStep | None:
    """The section that says more of what was found, or the first one."""
    clear = next((comparison for comparison in comparisons if comparison.differences), next(iter(comparisons), None))
    section = section_about(() if clear is None else clear.lead.measures, sections)
    return None if section is None else NextStep("Read next:", section.id, section.title)


def section_about(measures: Sequence[str], sections: Sequence[Section]) -> Section | None:
    """The section that shows most of these measures, the first of those; the first of all where none does."""
    names = {*measures}
    counts = [len(names & {name for of in selections(section) for name in of.measures}) for section in sections]
    return sections[counts.index(max(counts))] if sections else None
