"""What VisBias's answer counts: choices, rankings, descriptions, words that mark a group, associations of forms."""

from collections.abc import Iterable
from functools import cache

from facevalue.report.estimates import Estimate, EstimateIndex
from facevalue.report.formatting import Titles

SPECIES = "species"
FORMS = ("form", "text-form")
CONDITIONS = ("completed", "prefilled")
DIVERGENCE, MARKED, SHIFT, ABOVE = "choice_divergence", "marked_word", "attribute_shift", "ranked_above"
AGREEMENT = "implicit_explicit_divergence"
LENGTHS = {"characters_difference": "characters", "tokens_difference": "tokens"}
SENTIMENT = {
    "positive_sentiment_difference": "favourable words",
    "negative_sentiment_difference": "unfavourable words",
}
LISTED = {"listed_words_difference": "words"}
"""Differences between descriptions of two groups, with what differs."""
_PREPOSITION = " x "


def plain_models(numbers: EstimateIndex) -> tuple[str, ...]:
    """Models as they are, without those that stand for an intervention."""
    return numbers.plain or numbers.models


def primary(numbers: EstimateIndex) -> str:
    """Whose numbers come first: the first model with any."""
    models = plain_models(numbers)
    return next((model for model in numbers.measured if model in models), models[0] if models else "")


def dimension_title(name: str | None, titles: Titles) -> str:
    """A dimension for people; crossed ones by both names.

    Examples
    --------
    >>> dimension_title("skin tone x gender", Titles())
    'Skin tone × gender'
    """
    if name is None:
        return "Everyone"
    first, *rest = (titles.get("dimension", part) for part in name.split(_PREPOSITION))
    return " × ".join([first, *(part.lower() for part in rest)])


def dimensions(numbers: EstimateIndex, model: str, *measures: str) -> list[str]:
    """Dimensions that any of these measures has, crossed ones last."""
    frame = numbers.frame
    own = frame.filter((frame["model"] == model) & frame["measure"].is_in(list(measures)))
    found: list[str] = own["dimension"].drop_nulls().unique(maintain_order=True).to_list()
    return sorted(found, key=lambda name: (name == SPECIES, _PREPOSITION in name))


def divergences(numbers: EstimateIndex, model: str, *, species: bool = False) -> list[Estimate]:
    """Divergences of groups of people, or of species, clearest first."""
    rows = numbers.all(DIVERGENCE, model, "task", "dimension", "group", "question")
    return clearest(e for e in rows if (e["dimension"] == SPECIES) is species)


def rankings(numbers: EstimateIndex, model: str) -> list[Estimate]:
    """Groups ranked above others, clearest first."""
    rows = numbers.all(ABOVE, model, "task", "dimension", "group", "question")
    return clearest(e for e in rows if e["dimension"] != SPECIES)


def marked(numbers: EstimateIndex, model: str) -> list[Estimate]:
    """Words that mark groups, clearest first."""
    rows = numbers.all(MARKED, model, "task", "dimension", "group", "other_group", "word")
    return sorted(rows, key=lambda e: (not numbers.tested(e), e.p is None, e.p or 0.0, -(e.value or 0.0)))


def differences(numbers: EstimateIndex, model: str, measures: Iterable[str]) -> list[Estimate]:
    """Differences between descriptions of two groups; found first, then by how clear they are."""
    labels = ("task", "dimension", "group", "other_group")
    rows = [e for name in measures for by in (labels, (*labels, "word_list")) for e in numbers.all(name, model, *by)]
    return sorted(rows, key=lambda e: (not numbers.tested(e), e.value is None, -beyond(e)))


def difference_title(e: Estimate) -> str:
    """What differs between two groups.

    Examples
    --------
    >>> difference_title(Estimate("listed_words_difference", "m", {"word_list": "warmth"}))
    'words of “warmth”'
    """
    title = {**LENGTHS, **SENTIMENT, **LISTED}.get(e.measure, e.measure)
    return f"{title} of “{e['word_list']}”" if e["word_list"] else title


def agreements(numbers: EstimateIndex, model: str) -> list[Estimate]:
    """Divergences between what forms and choices say, of each group and of their mean; clearest first."""
    labels = ("task", "dimension", "question")
    rows = [*numbers.all(AGREEMENT, model, *labels), *numbers.all(AGREEMENT, model, *labels, "group")]
    return sorted(clearest(rows), key=lambda e: not numbers.tested(e))


def shifts(numbers: EstimateIndex, model: str, task: str, condition: str) -> list[Estimate]:
    """Associations of forms of one task and kind of condition; found first, then by how far they shift."""
    labels = ("attribute", "choice", "other_attribute", "likeliest")
    rows = numbers.all(SHIFT, model, *labels, task=task, fields=condition)
    return sorted(rows, key=lambda e: (not numbers.tested(e), -(e.value or 0.0)))


def all_shifts(numbers: EstimateIndex, model: str) -> list[Estimate]:
    """Associations of forms of every task and kind of condition."""
    return [e for task in FORMS for condition in CONDITIONS for e in shifts(numbers, model, task, condition)]


def groups_asked(numbers: EstimateIndex, model: str) -> dict[str, list[str]]:
    """Groups of people with any estimate, by dimension."""
    frame = numbers.frame
    own = frame.filter((frame["model"] == model) & frame["dimension"].is_not_null() & frame["group"].is_not_null())
    pairs = own.select("dimension", "group").unique(maintain_order=True).iter_rows()
    out: dict[str, list[str]] = {}
    for dimension, group in pairs:
        if dimension != SPECIES:
            out.setdefault(dimension, []).append(group)
    return out


def clearest(rows: Iterable[Estimate]) -> list[Estimate]:
    """Estimates from the one farthest beyond its noise to the least; those without a value last."""
    return sorted(rows, key=lambda e: (e.value is None, -beyond(e)))


def beyond(e: Estimate) -> float:
    """How many noise floors high an estimate is, or how many standard errors from none; 0 if that can't be said."""
    scale = e.floor_high or e.se
    return abs(e.value) / scale if e.value is not None and scale else 0.0


@cache
def form_titles() -> dict[str, str]:
    """Labels of the form's fields by name."""
    from facevalue.studies.visbias.tables import attributes  # noqa: PLC0415 - only reports of this study need them

    return {one.name: one.title for one in attributes()}


def association(e: Estimate) -> str:
    """A choice of the form and the likeliest value of what it shifts."""
    return f"{field_title(e['attribute'])} {e['choice']}: {field_title(e['other_attribute'])} {e['likeliest']}"


def field_title(name: str | None) -> str:
    """The label of a field of the form."""
    return form_titles().get(name or "", name or "")
