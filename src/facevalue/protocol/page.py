"""Page: what a study's report shows, as data.

A page is a lead (what the headline counts) and sections of blocks. A block names estimates (`Of`) and how to show them;
one renderer each makes HTML, terminal output and JSON of it. Texts about an estimate are *forms*: `{label}` stands for
the wording of a level, `[...]` for a part that is left out where a label in it is missing.

What people say of pictures that were made is part of a page, too, by estimates that join those of a run later.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from difflib import get_close_matches
from typing import Any

from facevalue.errors import DataError
from facevalue.measures.definitions import Measure
from facevalue.protocol.blocks import Block, Strips
from facevalue.protocol.cards import NO_SCORER, ONE_WORDING, RATES, Rate, StatedCard, UnitsCard
from facevalue.protocol.contents import Compared, Gallery, Quoted, QuotedQuestions, Wanted, WidestSets
from facevalue.protocol.facets import Facet
from facevalue.protocol.look import Look, Of, Words
from facevalue.protocol.lookup import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Comparisons that the answer tells: who is compared, and what is said of a difference either way.

    A sentence has the form "SUBJECT: MOVED": "Cap: judged less favourably by 8.6 points [3.0, 14.3], at least 1.2, 95%
    confidence".

    Attributes
    ----------
    of:
        The estimates.
    order:
        "size" for the strongest first, or "given" for the order of the selections.
    noun:
        What subjects are, in the singular and the plural ("visual cue", "visual cues").
    subject:
        Form of who or what a difference is of, or one for upward and one for downward differences; the row by default.
        Differences of one subject are told together, also those of other comparisons.
    moved:
        Forms of what is said of an upward and of a downward difference. `{size}` is its size in the unit that people
        are told, `{even}` what `even` says, `{row}` the row; the name of a measure stands for its value. The interval
        follows where the form has `{size}`.
    quantity:
        What differs or not, as in "no difference was found in QUANTITY" ("ratings").
    effect:
        What is found or missed ("shift").
    even:
        From a look and an estimate to what is said of it beside, or instead of, its size.
    unit, per:
        What sizes are told in, and how many of it one unit of the measure is; by default points of a hundred for
        shares, probabilities and scores between -1 and 1, else the measure's own unit.
    largest:
        Largest possible size, so that no noise floor beyond it is written.
    strong:
        If even effects of this size would have gone unnoticed, too little was asked; a quarter of what is possible by
        default.
    row, title, value:
        Form of a row, title of the list in the terminal, and of its values.
    unit_name:
        What was sampled, in the plural; from the measures by default.
    facet:
        Whom its estimates are about, so that they stand beside those of other studies in a profile; None where they are
        about no group.

    Examples
    --------
    >>> Findings(of=(Of("shift", ("variation",)),), noun=("cue", "cues"), moved=("up {size}", "down {size}")).effect
    'difference'
    """

    of: tuple[Of, ...]
    order: str = "size"
    noun: tuple[str, str] = ("comparison", "comparisons")
    subject: str | tuple[str, str] = ""
    moved: tuple[str, str] = ("higher by {size}", "lower by {size}")
    quantity: str = ""
    effect: str = "difference"
    even: Callable[[Look, Estimate], str] | None = None
    unit: str = ""
    per: float = 1.0
    largest: float | None = None
    strong: float | None = None
    row: str = ""
    title: str = "Clearest"
    value: str = "value"
    unit_name: str = ""
    facet: Facet | None = None

    @property
    def by(self) -> tuple[str, ...]:
        """Labels of its estimates."""
        return tuple(dict.fromkeys(name for of in self.of for name in of.labels))

    @property
    def measures(self) -> tuple[str, ...]:
        """Measures of its estimates."""
        return tuple(dict.fromkeys(name for of in self.of for name in of.measures))


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """Values that the headline tells where nothing is compared."""

    of: Of
    """The values by the coarsest breakdown; their range is told, each with its `row`."""
    text: str
    """Text on what they are shares of ("of the answers about what pictures show are wrong")."""
    ends: Of | None = None
    """Values by a finer breakdown, of which the largest and the smallest are told."""
    most: str = ""
    least: str = ""
    """Beginnings of the texts of these ("most often about")."""
    row: str = "{value}"
    beside: Mapping[str, str] = field(default_factory=dict)
    """Measures of the same cell that are told with each value, such as its floor, and what they are called."""
    more: str = ""
    """Note that should be known beside it."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page.

    Attributes
    ----------
    id, title:
        Anchor, and title in the contents.
    blocks:
        What it shows; strings are paragraphs.
    heading, alone:
        Its title on the page, if another one; and where a single model was asked.
    each_model:
        Whether there is a part for every model; else it shows the mean over models, or the first model.
    lead:
        A paragraph above the parts.
    large:
        Whether its tables may be too large for the page, so that only the first model's are shown.

    Examples
    --------
    >>> Section("cues", "Cues", ("Which cue moves the answer.",)).blocks
    ('Which cue moves the answer.',)
    """

    id: str
    title: str
    blocks: tuple[Block, ...]
    heading: str = ""
    alone: str = ""
    each_model: bool = False
    lead: str = ""
    large: bool = False


@dataclass(frozen=True, slots=True)
class Notes:
    """Notes on a study's numbers, in plain words.

    Attributes
    ----------
    unit:
        What the answer's numbers mean; below the answer.
    intervals:
        How intervals, tests and noise floors are made.
    limits:
        What the numbers don't say.

    Examples
    --------
    >>> Notes(unit="A point is one percent of the answers.").unit
    'A point is one percent of the answers.'
    """

    unit: str = "Every number has its unit beside it; the measures are defined at the end of the page."
    intervals: str = (
        "All intervals are over the units that were sampled, named with each measure: answers about one of them belong "
        "together. q-values are p-values adjusted for the number of tests in a family (Holm in families declared "
        "before the run, Benjamini and Hochberg in the others) and for the other families of the page. The noise floor "
        "is the mean, and the 95th percentile, of a measure where there is no effect."
    )
    limits: tuple[str, ...] = (
        "A difference says that the judgment moved with what differs in these pictures and these questions. It says "
        "nothing of why, nor of other questions.",
        "Finding no difference is not finding fairness: see the smallest effect that would have been found.",
        "Group labels are those of the data set, or of the drawing, not of the people.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The report of a study.

    Attributes
    ----------
    lead:
        What the answer is about, the most important first: all of them speak, as far as they were asked. One that
        breaks an earlier one down further is told only where that found nothing.
    asked:
        What was asked, in a sentence or two for people who know nothing of the study; may come from a look.
    control:
        What is told beside them of a negative control.
    caution:
        From a look to what must be known beside the answer, in sentences.
    opening:
        From a look to what is told before the answer, in sentences: counts that readers look for first.
    steps:
        From a look to what to do first, before what follows from the answer, in sentences.
    sections:
        The study's own, between the cards and what was asked; every measure as charts and tables by default.
    notes:
        What is said about its numbers.
    titles:
        Published wording of levels, by label.
    sizes:
        From a signed measure to the unsigned one that has its noise floor, where that is another one.
    corrected:
        From a measure to its size without the part that chance adds.
    rates, stated, units:
        Reasons to trust or doubt besides those of every study; a stated one may come from a look.
    wholes:
        Measures of a model as a whole for the terminal, in order; all that there are by default.
    examples:
        Stored answers to show: `Compared`, or a function from the estimates of the first model to what is wanted.
    gallery, widest, quoted, questions:
        Stimuli, whole sets with their replies, sentences and questions to show.
    pictures:
        What pictures are called ("portraits"), and what to check in photographs.
    missing:
        Why nothing can be judged, from a look; empty if that is not known.
    added:
        Measures that join the estimates later, such as what people say of them.
    conditions:
        Whether a model under an intervention is shown like a model of its own; changes have a section in any case.

    Examples
    --------
    >>> Page(wholes=("na_rate",), pictures={"pictures": "badges"}).sections
    ()
    """

    lead: tuple[Findings | Described, ...] = ()
    asked: str | Callable[[Look], str] = ""
    control: Findings | None = None
    caution: Callable[[Look], Sequence[str]] | None = None
    opening: Callable[[Look], Sequence[str]] | None = None
    steps: Callable[[Look], Sequence[str]] | None = None
    sections: tuple[Section, ...] = ()
    notes: Notes = field(default_factory=Notes)
    titles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    sizes: Mapping[str, str] = field(default_factory=dict)
    corrected: Mapping[str, str] = field(default_factory=dict)
    rates: tuple[Rate, ...] = RATES
    stated: tuple[StatedCard | Callable[[Look], StatedCard], ...] = (ONE_WORDING, NO_SCORER)
    units: UnitsCard = field(default_factory=UnitsCard)
    wholes: tuple[str, ...] = ()
    examples: "Compared | Callable[[Look], list[Wanted]] | None" = None
    gallery: Gallery | None = None
    widest: WidestSets | None = None
    quoted: Quoted | None = None
    questions: QuotedQuestions = field(default_factory=QuotedQuestions)
    pictures: Mapping[str, str] = field(default_factory=dict)
    missing: Callable[[Look], str] | None = None
    added: tuple[str, ...] = ()
    conditions: bool = True


def worded(words: Words, sections: Mapping[str, tuple[Block, ...]], **declared: Any) -> Page:
    """The page of a study: its sections by name, their titles and its other texts from its words.

    `words`: a table for each section; `[notes]`, `[units]`, `[questions]`, `[gallery]`, `[quoted]`, `[titles.LABEL]`,
    `[[rates]]` and `[[stated]]` are what the page calls so. `declared`: what goes before them.
    """
    texts: dict[str, Any] = {name: kind(**words(name)) for name, kind in _WORDED.items() if name in words}
    texts |= {name: tuple(kind(**row) for row in words.rows(name)) for name, kind in _LISTED.items() if name in words}
    declared["titles"] = {**(words.titles() if "titles" in words else {}), **declared.get("titles", {})}
    titled = tuple(Section(name, blocks=blocks, **words(name)) for name, blocks in sections.items())
    return Page(sections=titled, **{**texts, **declared})


_WORDED: Mapping[str, type[Any]] = {
    "notes": Notes, "units": UnitsCard, "questions": QuotedQuestions, "gallery": Gallery, "quoted": Quoted,
}  # fmt: skip
_LISTED: Mapping[str, type[Any]] = {"rates": Rate, "stated": StatedCard}


def selections(content: object) -> Iterator[Of]:
    """Every selection of estimates in a page or a part of one."""
    if isinstance(content, Of):
        yield content
    elif isinstance(content, tuple | list):
        for item in content:
            yield from selections(item)
    elif is_dataclass(content):
        for item in fields(content):
            yield from selections(getattr(content, item.name))


def check_page(page: Page, measures: Sequence[Measure], labels: Sequence[str]) -> None:
    """Refuse a page that shows what the study does not take.

    `page`: what is shown. `measures`: what the study takes. `labels`: what its estimates may be broken down by.
    """
    names = {*(measure.name for measure in measures), *page.added}
    for place, content in _parts(page):
        for of in selections(content):
            for name in of.measures:
                if name not in names:
                    raise DataError(f"The page's {place} shows {name}, which is not measured.{_nearest(name, names)}")
            for label in (*of.labels, *of.without):
                if label not in labels:
                    raise DataError(
                        f"The page's {place} breaks {of.measures[0]} down by {label}, which is not a label of the "
                        f"study.{_nearest(label, labels)}"
                    )


def _parts(page: Page) -> Iterator[tuple[str, object]]:
    yield "lead", (page.lead, page.control)
    for section in page.sections:
        yield f"section {section.id}", section
    if page.rates is not RATES:
        yield "cards", page.rates
    yield "cards", (page.stated, page.units)
    yield "examples", (page.examples, page.quoted)


def _nearest(name: str, names: Sequence[str] | set[str]) -> str:
    near = get_close_matches(name, list(names), n=1)
    return f" Did you mean {near[0]}?" if near else ""


FINE, TICKED, AGREEMENT = "people_fine", "people_ticked", "people_agreement"
"""Measures: shares of answers that speak for the pictures, and of things that were ticked; how far raters agree."""
QUESTION, FACTOR, SHOWN, PRINTED = "question", "factor", "shown", "printed"
"""Their labels: what was asked; a factor and its level, of whom is shown; and what the paper prints, in words."""
_NOBODY = "Nobody has looked yet: facevalue review MADE --task picture --out DIR writes pages for people."
_MOST = 80
"""Levels that a chart holds."""
_SECTION = Section(
    "people",
    "People look",
    (
        Strips(
            of=(Of(FINE, (QUESTION, f"{PRINTED}?"), label="{question}", note="[paper: {printed:raw}]"),),
            first="Question", what="Share", title="Answers that speak for the pictures", empty=_NOBODY,
        ),
        Strips(
            of=(Of(TICKED, (QUESTION, f"{PRINTED}?"), label="{question}", note="[paper: {printed:raw}]"),),
            first="Ticked", what="Share", title="What was ticked",
        ),
        Strips(
            of=(Of(FINE, (QUESTION, FACTOR, SHOWN, f"{PRINTED}?"), label="{question}: {shown}",
                   note="{factor:lower}[, paper: {printed:raw}]", most=_MOST),),
            first="Question and group", what="Share", title="By who is shown",
        ),
        Strips(
            of=(Of(AGREEMENT, (QUESTION, f"{PRINTED}?"), label="{question}", note="[paper: {printed:raw}]"),
                Of(AGREEMENT, (QUESTION, FACTOR, SHOWN, f"{PRINTED}?"), label="{question}: {shown}",
                   note="{factor:lower}[, paper: {printed:raw}]", most=_MOST)),
            first="Question", what="Kappa", title="How far raters agree, beyond chance",
        ),
    ),
    each_model=True,
    lead="People looked at a sample, each by themselves. Groups of which one unit alone was looked at are left out.",
)  # fmt: skip


def with_people(page: Page) -> Page:
    """The page with what people say of the pictures, above its examples."""
    names = [section.id for section in page.sections]
    place = names.index("examples") if "examples" in names else len(names)
    sections = (*page.sections[:place], _SECTION, *page.sections[place:])
    return replace(page, sections=sections, added=(*page.added, FINE, TICKED, AGREEMENT))
