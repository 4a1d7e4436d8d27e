"""What the answer is about: how far each identity is from an even choice, and how far the identities are apart."""

from math import inf

import polars as pl

from facevalue.report.estimates import Estimate, EstimateIndex
from facevalue.report.formatting import Titles
from facevalue.report.vignette.cells import chosen, estimates

PERCEPTIONS = ("struggle", "capability", "enjoyment", "dislike")
"""Questions of perception, in the paper's order."""
ASKED: tuple[tuple[str, str | None], ...] = (("decision", None), *(("perception", q) for q in PERCEPTIONS))
"""Paradigms and questions that compare two identities as wholes."""
LARGEST = 50.0
"""Points that an identity can be away from an even choice."""
_HEADS = {
    ("decision", None): "Decisions: who is chosen",
    ("perception", "struggle"): "Perception: who faces difficulty",
    ("perception", "capability"): "Perception: who is better at it",
    ("perception", "enjoyment"): "Perception: who enjoys it",
    ("perception", "dislike"): "Perception: who hates it",
}


def asked_title(paradigm: str, question: str | None, titles: Titles) -> str:
    """What is asked, for people."""
    known = _HEADS.get((paradigm, question))
    return known or ": ".join(
        filter(None, [titles.get("paradigm", paradigm), question and titles.get("question", question)])
    )


def two_people() -> pl.Expr:
    """Rows of pictures of two identities in one activity, or of all contrasts."""
    return pl.col("contrast").is_null() | (pl.col("contrast") == "identity")


def dimensions(numbers: EstimateIndex) -> list[str]:
    """Dimensions in the order of the estimates."""
    return numbers.frame["dimension"].drop_nulls().unique(maintain_order=True).to_list()


def gaps(numbers: EstimateIndex, model: str, dimension: str, paradigm: str, question: str | None) -> list[Estimate]:
    """Each identity's distance from an even choice, from the most often to the least often chosen."""
    fixed = {"dimension": dimension, "paradigm": paradigm, "question": question}
    frame = chosen(numbers, "selection_gap", model, ("identity",), fixed, ("contrast", "trait")).filter(two_people())
    return sorted(estimates(frame), key=lambda e: (e.value is None, -(e.value or 0.0)))


def spread(numbers: EstimateIndex, model: str, dimension: str, paradigm: str, question: str | None) -> Estimate | None:
    """How far the identities of a dimension are apart."""
    fixed = {"dimension": dimension, "paradigm": paradigm, "question": question}
    frame = chosen(numbers, "spread", model, (), fixed, ("contrast", "trait")).filter(two_people())
    return next(iter(estimates(frame)), None)


def lead(numbers: EstimateIndex, model: str) -> list[Estimate]:
    """Comparisons that the answer counts, strongest first: decisions, or perceptions where no decision was asked."""
    for paradigm in ("decision", "perception"):
        asked = [(p, q) for p, q in ASKED if p == paradigm]
        rows = [e for d in dimensions(numbers) for p, q in asked for e in gaps(numbers, model, d, p, q)]
        if rows:
            return sorted(rows, key=lambda e: (e.value is None, -abs(e.value or 0.0)))
    return []


def share(numbers: EstimateIndex, e: Estimate) -> Estimate | None:
    """How often the identity of a gap is chosen; answers that name both or none choose nobody."""
    fixed = {
        "dimension": e["dimension"],
        "paradigm": e["paradigm"],
        "question": e["question"],
        "contrast": e["contrast"],
    }
    frame = chosen(numbers, "selection_frequency", e.model, ("identity",), fixed, ("trait",))
    return next(iter(estimates(frame.filter(pl.col("identity") == e["identity"]))), None)


def even(numbers: EstimateIndex, e: Estimate) -> float:
    """How often each of two would be chosen if both were alike: half of what both and none leave, in percent."""
    fixed = {
        "dimension": e["dimension"],
        "paradigm": e["paradigm"],
        "question": e["question"],
        "contrast": e["contrast"],
    }
    rates = (estimates(chosen(numbers, name, e.model, (), fixed)) for name in ("both_rate", "none_rate"))
    return 50 - sum(found[0].value or 0.0 for found in rates if found) / 2


def wholes(numbers: EstimateIndex, model: str) -> list[Estimate]:
    """What the answer counts, or, where no choice was asked, polarities or errors of identities."""
    free = ("paradigm", "contrast")
    own = (
        estimates(chosen(numbers, name, model, ("dimension", "identity"), {}, free))
        for name in ("polarity", "error_rate")
    )
    return lead(numbers, model) or next((rows for rows in own if rows), [])


def found(numbers: EstimateIndex, rows: list[Estimate]) -> list[Estimate]:
    """Those of which a difference was found."""
    return [e for e in rows if e.value is not None and numbers.moved(e)]


def who(identity: str | None, titles: Titles) -> str:
    """An identity for people, as the published tables write it ("Sikh", "old"); empty for none.

    Examples
    --------
    >>> who("sikh", Titles({"identity": {"sikh": "Sikh"}})), who("old", Titles())
    ('Sikh', 'old')
    """
    return "" if identity is None else titles.known("identity", identity) or identity


def missed(least: float) -> str:
    """What could have been missed, if the typical gap is found from so many points up.

    Examples
    --------
    >>> missed(6.04), missed(inf)
    ('a difference of less than about 6.0 points could have been missed', 'any difference could have been missed')
    """
    if least == inf:
        return "any difference could have been missed"
    return f"a difference of less than about {least:.1f} points could have been missed"


def name_of(e: Estimate, titles: Titles) -> str:
    """An identity with its dimension, and the question where there are several."""
    within = [titles.get("dimension", e["dimension"]).lower()]
    if e["question"] is not None:
        within.append(titles.get("question", e["question"]).lower())
    return f"{who(e['identity'], titles)} ({', '.join(within)})"
