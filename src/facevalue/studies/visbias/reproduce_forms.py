"""What VisBias prints about completed forms, recomputed from the released ones: sections 3.4 and 4.3, Figure 3."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from facevalue.answers.categories import words as folded
from facevalue.errors import DataError
from facevalue.measures import conditional_kl, divergence
from facevalue.measures.cluster_bootstrap import Array
from facevalue.protocol.reproduction import Cell, number, word
from facevalue.studies.visbias import implicit
from facevalue.studies.visbias.tables import attributes, choice_questions

Completed = Sequence[Mapping[str, Sequence[str]]]

LEAST = 2
"""Forms of a condition: "after excluding cases with only one sample" (section 3.4)."""
_TOGETHER = "the paper says it of its models together, not of each"
_OURS = "which categories of the form and options correspond is not stated: ours give another value"
_FIELDS = {"Income": "income", "Education": "education", "Political Leaning": "politics", "Religion": "religion"}
_NAMES = {"hispanic": "latino", "middle eastern": "ME"}  # of groups, in the released answers


def gathered(completed: Completed) -> conditional_kl.Forms:
    """Released forms as weights."""
    table = attributes("released")
    own = {key: attribute for attribute in table for key in (attribute.title, *attribute.keys)}
    rows: list[tuple[int, str, list[str]]] = [
        (form, own[key].name, [own[key].categories.forms.get(folded(value), value) for value in values])
        for form, fields in enumerate(completed)
        for key, values in fields.items()
        if key in own
    ]
    if not rows:
        raise DataError("The forms of form.jsonl have none of the paper's fields.")
    frame = pl.DataFrame(rows, schema=["form", "attribute", "categories"], orient="row")
    return conditional_kl.gather(frame, [(a.name, a.categories.names) for a in table])


def associations(model: str, forms: conditional_kl.Forms, claims: Sequence[Mapping[str, str]]) -> Iterator[Cell]:
    """The likeliest category of one attribute where another has a given one."""
    titles = {attribute.name: attribute.title for attribute in attributes("released")}
    for claim in claims:
        met, base, outcome = _condition(forms, claim["attribute"], claim["outcome"])
        counts = base[met[:, _place(forms, claim["attribute"], claim["choice"])] > 0].sum(axis=0)
        likely = outcome[int(counts.argmax())] if counts.any() else None
        row, column = f"{titles[claim['attribute']]} = {claim['choice']}", f"{model}/{titles[claim['outcome']]}"
        yield word("3.4", row, column, claim["likely"], likely, _TOGETHER if likely else "no form has this choice")


def strongest(model: str, forms: conditional_kl.Forms, claims: Sequence[Mapping[str, str]]) -> Iterator[Cell]:
    """The choice of an attribute that shifts another most, and by how much (Figure 3; the sizes are not printed)."""
    titles = {attribute.name: attribute.title for attribute in attributes("released")}
    for claim in claims:
        met, votes, _ = _condition(forms, claim["attribute"], claim["outcome"])
        there = (met > 0) & (votes.sum(axis=1) > 0)[:, None]
        counts = np.stack([votes[own].sum(axis=0) for own in there.T])
        shifts = np.where(there.sum(axis=0) >= LEAST, conditional_kl.kl(votes.sum(axis=0), counts), np.nan)
        row, outcome = titles[claim["attribute"]], titles[claim["outcome"]]
        most = None if np.isnan(shifts).all() else int(np.nanargmax(shifts))
        names = forms.choices[forms.attributes.index(claim["attribute"])]
        yield word(
            "F3",
            f"{row}: what shifts {outcome} most",
            model,
            claim["choice"],
            names[most] if most is not None else None,
        )
        if most is not None:
            note = "the figure prints no number; smoothed as docs/forms.md says"
            yield number("F3", f"{row} = {names[most]}: KL of {outcome}", model, None, float(shifts[most]), note=note)


def implicit_explicit(
    model: str,
    forms: conditional_kl.Forms | None,
    answered: pl.DataFrame | None,
    printed: Mapping[str, Mapping[str, str]],
) -> Iterator[Cell]:
    """Mean divergence, over genders or races, of what forms say from what choices say (section 4.3).

    Categories are matched as the study's own measure does (`implicit`): what only one of the lists has is left out.
    """
    for factor, averages in printed.items():
        for name, value in averages.items():
            column, question = f"{model}/{factor}", _FIELDS[name]
            if question not in implicit.FIELDS:
                yield number("4.3", name, column, value, None, note=f"cannot be recomputed: {implicit.NO_COMMON_BOUND}")
            elif forms is None or answered is None:
                missing = "form.jsonl" if forms is None else "mcq.csv or mcq_counts.csv"
                yield number("4.3", name, column, value, None, note=f"the model's answers are not in {missing}")
            else:
                found = _between(forms, answered, factor, question)
                note = _OURS if found is not None else "no group has both forms and choices"
                yield number("4.3", name, column, value, found, note=note)


def _between(forms: conditional_kl.Forms, answered: pl.DataFrame, factor: str, question: str) -> float | None:
    (levels,) = (q.levels for q in choice_questions() if q.name == question)
    members, votes, names = _condition(forms, factor, implicit.FIELDS[question])
    matched = np.zeros((len(names), len(levels)))
    for at, name in enumerate(names):
        if name in implicit.LEVELS[question]:
            matched[at, levels.index(implicit.LEVELS[question][name])] = 1.0
    found = []
    for group in sorted(set(implicit.GROUPS[factor].values())):
        own = [at for at, name in enumerate(_choices(forms, factor)) if implicit.GROUPS[factor].get(name) == group]
        told = votes[members[:, own].sum(axis=1) > 0].sum(axis=0) @ matched
        chosen = answered.filter(
            pl.col("question") == question, pl.col(factor) == _NAMES.get(group, group), pl.col("choice").is_not_null()
        )
        counts = np.bincount(chosen["choice"].to_numpy(), chosen["count"].to_numpy(), len(levels))
        if told.sum() > 0 and counts.sum() > 0:
            found.append(float(divergence.js(told / told.sum(), counts / counts.sum())))
    return float(np.mean(found)) if found else None


def _choices(forms: conditional_kl.Forms, attribute: str) -> tuple[str, ...]:
    return forms.choices[forms.attributes.index(attribute)]


def _place(forms: conditional_kl.Forms, attribute: str, choice: str) -> int:
    return _choices(forms, attribute).index(choice)


def _condition(forms: conditional_kl.Forms, attribute: str, outcome: str) -> tuple[Array, Array, tuple[str, ...]]:
    """Weights of one attribute, and those of another with its categories."""
    given, other = forms.attributes.index(attribute), forms.attributes.index(outcome)
    return forms.weights[given], forms.weights[other], forms.choices[other]
