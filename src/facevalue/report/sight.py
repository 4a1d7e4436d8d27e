"""Sight of models: a card on whether they see the pictures shown, and a warning in the answer where nothing says so."""

import polars as pl

from facevalue.measures.instrument import (
    SIGHT_ALPHA,
    SIGHT_DEPENDENCE,
    SIGHT_MEASURES,
    SIGHT_QUESTIONS,
    SIGHT_TOKENS,
    UNSEEN_PICTURES,
    sightless,
)
from facevalue.protocol.lookup import Estimate, EstimateIndex
from facevalue.report.checks import Card, CardStatus
from facevalue.report.formatting import chance_with_sign

_CARD = "sight"
_TITLE = "Does the model see the pictures?"
_RULE = (
    "One sign is enough: right answers to questions about pictures made on the spot (colour, count, place; before the "
    f"run), tokens that a picture adds to a prompt, or answers that depend on which picture is shown "
    f"(p below {SIGHT_ALPHA})."
)
STEP = (
    "Find out first whether the pictures reach the model: whether it takes any, and whether the server passes them on. "
    "Until then more answers say nothing of how it judges people."
)
"""What to do before anything else where nothing shows that a model sees."""
_WITHDRAWN = "So nothing here is called equivalent."


def sentences(numbers: EstimateIndex) -> list[str]:
    """Sentences that open the answer where nothing shows that a model sees, one for each such model."""
    unseen = sightless(numbers.frame)
    many = numbers.frame["model"].n_unique() > 1
    return [f"{_subject(model, many=many)}: {_signs(_rows(numbers, model))}. {_WITHDRAWN}" for model in unseen]


def sight_card(numbers: EstimateIndex) -> list[Card]:
    """Card on the signs by which each model sees; none where that is no question."""
    rows_by_model = {
        model: rows
        for model in numbers.frame["model"].unique(maintain_order=True).to_list()
        if (rows := _rows(numbers, model))
    }
    if not rows_by_model:
        return []
    unseen = sightless(numbers.frame)
    doubtful = [model for model, rows in rows_by_model.items() if model not in unseen and _has_failed(rows)]
    many = len(rows_by_model) > 1
    lines = [f"{f'{model}: ' if many else ''}{_signs(rows)}" for model, rows in rows_by_model.items()]
    note = _RULE
    if unseen:
        value, status = "Nothing shows it" + (f": {', '.join(unseen)}" if many else ""), CardStatus.PROBLEM
        note = f"{UNSEEN_PICTURES} {_WITHDRAWN} {_RULE}"
    elif doubtful:
        value, status = "Tokens alone say so", CardStatus.CAUTION
        note = f"A picture takes tokens, but questions about simple ones were answered no better than by chance. {note}"
    else:
        value, status = "Yes", CardStatus.OK
    return [Card(_CARD, _TITLE, value, note, status, tuple(lines))]


def is_problem(card: Card) -> bool:
    """Return whether a card says that nothing shows that a model sees."""
    return card.name == _CARD and card.status is CardStatus.PROBLEM


def _rows(numbers: EstimateIndex, model: str) -> dict[str, Estimate]:
    names = [measure.name for measure in SIGHT_MEASURES]
    rows = numbers.filter_estimates(pl.col("measure").is_in(names) & (pl.col("model") == model))
    return {estimate.measure: estimate for estimate in rows}


def _has_failed(rows: dict[str, Estimate]) -> bool:
    """Return whether questions were answered as by chance, and the run's answers do not make up for it."""
    questions, depends = rows.get(SIGHT_QUESTIONS.name), rows.get(SIGHT_DEPENDENCE.name)
    return questions is not None and questions.p is not None and questions.p > SIGHT_ALPHA and not _is_below(depends)


def _is_below(estimate: Estimate | None) -> bool:
    return estimate is not None and estimate.p is not None and estimate.p <= SIGHT_ALPHA


def _subject(model: str, *, many: bool) -> str:
    return f"Nothing shows that {model if many else 'the model'} sees the pictures"


def _signs(rows: dict[str, Estimate]) -> str:
    """The three signs in one clause each."""
    return ", ".join(filter(None, (_describe_questions(rows), _tokens(rows), _dependence(rows))))


def _describe_questions(rows: dict[str, Estimate]) -> str:
    e = rows.get(SIGHT_QUESTIONS.name)
    if e is None or e.value is None or not e.n:
        return "no question about pictures made on the spot was asked"
    return f"{round(e.value * e.n)} of {e.n} questions about pictures made on the spot were answered rightly"


def _tokens(rows: dict[str, Estimate]) -> str:
    e = rows.get(SIGHT_TOKENS.name)
    if e is None or e.value is None:
        return "what a picture adds to the tokens of a prompt is not known"
    return f"a picture adds {'no' if round(e.value) == 0 else f'{e.value:,.0f}'} tokens to a prompt"


def _dependence(rows: dict[str, Estimate]) -> str:
    e = rows.get(SIGHT_DEPENDENCE.name)
    if e is None or e.p is None:
        return "whether answers depend on the picture cannot be told from so few"
    depend = "answers depend" if _is_below(e) else "nothing shows that answers depend"
    return f"{depend} on which picture is shown (p {chance_with_sign(e.p)})"
