"""Page of VisBias: its lead, and reasons to trust or doubt it; its words are `words.toml`."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import exp, log
from typing import Any

import polars as pl

from facevalue.protocol import facets
from facevalue.protocol.cards import NO_SCORER, ONE_WORDING, StatedCard, UnitsCard
from facevalue.protocol.examples import Quoted, QuotedQuestions, Wanted
from facevalue.protocol.facets import DESCRIPTION, FAVOURS, IMPLICIT, NEITHER, STEREOTYPE, Direction, Facet, Kinds
from facevalue.protocol.look import Look, Of
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Findings, worded
from facevalue.studies.visbias.form_tables import attributes
from facevalue.studies.visbias.measures import ROUTE
from facevalue.studies.visbias.page_forms import FORMS, WORDS, shifts
from facevalue.studies.visbias.page_sections import AGREED, CELL, CONTROL, MARKED, SECTIONS, SIDES, about, divergences
from facevalue.studies.visbias.tables import choice_questions, occupations, races

_MOST = 1000 * log(2)
"""The largest possible divergence, in thousandths of a nat."""


def wanted(look: Look) -> list[Wanted]:
    """One answer of each task: a choice behind the clearest divergence, a ranked pair, the first of the others."""
    return [*_telling(look), *(_answer(**row) for row in WORDS.rows("examples.answer"))]


def _beside_everyone(look: Look, e: Estimate) -> list[tuple[Estimate, float | None]]:
    """Shares of the choices of a group that a divergence is of, each with the share of all people or species."""
    everyone = look.rows(Of("choice_share", ("choice",), {"task": e["task"], "question": e["question"]}))
    means = {share["choice"]: share.value for share in everyone}
    shares = look.rows(Of("choice_share", ("choice",), {name: e[name] for name in CELL}))
    return [(share, means.get(share["choice"])) for share in shares]


def _telling(look: Look) -> list[Wanted]:
    """A choice that a group is given more often than everyone, from each of the clearest divergences."""
    out = []
    for divergence in look.rows(divergences("choices", most=20)):
        shares = _beside_everyone(look, divergence)
        if not shares:
            continue
        top, mean = max(shares, key=lambda pair: (pair[0].value or 0.0) - (pair[1] or 0.0))
        sentence = look.said("{question}: {choice} for {value} of {group}", top)
        sentence += f", {100 * mean:.1f}% of everyone" if mean is not None else ""
        column = (top["dimension"] or "").replace(" ", "_")
        same = [pl.col(name).cast(pl.String) == level for name, level in
                ((column, top["group"]), ("question", top["question"]))]  # fmt: skip
        chose = (pl.col("choice") == top["choice"]) | pl.col("choice").is_null()
        out.append(_answer("mcq", sentence, *same, chose, needs=(column, "choice")))
    return out


def _answer(
    task: str, finding: str, *rows: pl.Expr, needs: tuple[str, ...] = (), present: str = "", absent: str = "",
    prefer: str = "", longest: int = 480, instead_of: str = "",
) -> Wanted:  # fmt: skip
    """A stored answer of a task.

    `rows`: which will do. `present`, `absent`: a column that has a level in them, and one that has none.
    """
    of_column = [*([pl.col(present).is_not_null()] if present else []), *([pl.col(absent).is_null()] if absent else [])]
    words = {**WORDS("examples.row"), **(WORDS("examples.pair") if task == "yesno" else {})}
    return Wanted(
        finding=finding, rows=pl.all_horizontal(pl.col("task").cast(pl.String) == task, *rows, *of_column),
        needs=tuple(filter(None, ("task", *needs, present, absent))), prefer=pl.col(prefer) if prefer else None,
        choice="{choice|}" if task == "mcq" else "", longest=longest, instead_of=instead_of or task, **words,
    )  # fmt: skip


def _lost(look: Look) -> str:
    """Why nothing can be judged: no answers, or only one group."""
    rates = [e.value for e in look.rows(Of("na_rate", ("task",))) if e.value is not None]
    if rates and min(rates) >= 1:
        shares: dict[str, list[float]] = {}
        for e in look.rows(Of("na_rate", ("task", "reason"))):
            if e["reason"] and e.value:
                shares.setdefault(e["reason"], []).append(100 * e.value)
        ends = {reason: (min(of_tasks), max(of_tasks)) for reason, of_tasks in shares.items()}
        texts = [f"{reason} {f'{low:.1f}% to ' if low < high else ''}{high:.1f}%"
                 for reason, (low, high) in sorted(ends.items(), key=lambda item: -item[1][1])]  # fmt: skip
        return WORDS.text("lost.answers") + (f" Replies by task: {', '.join(texts)}." if texts else "")
    groups: dict[str, set[str]] = {}
    for e in look.rows(about("choices", "choice_share", (*CELL, "choice"))):
        groups.setdefault(e["dimension"] or "", set()).add(e["group"] or "")
    if not groups or any(len(names) > 1 for names in groups.values()):
        return ""
    texts = [f"{look.title('dimension', dimension).lower()}: {look.title('group', name)}"
             for dimension, names in groups.items() for name in names]  # fmt: skip
    return WORDS.text("lost.groups").format(groups="; ".join(texts))


def _unread(look: Look) -> StatedCard:
    """How many open fields of forms could not be read, in the task where most."""
    shares = {}
    for task in FORMS:
        if rows := look.rows(Of(ROUTE.key, ("outcome",), {"task": task})):
            unread = (e.value or 0.0 for e in rows if (e["outcome"] or "").startswith(("none", "missing", "doubled")))
            shares[task] = 100 * sum(unread)
    if not shares:
        return StatedCard(**WORDS("no_fields"))
    task = max(shares, key=lambda name: shares[name])
    share, words = shares[task], WORDS("fields")
    words["value"] = words["value"].format(share=share, task=look.title("task", task).lower())
    return StatedCard(status="fine" if share < 5 else "caution" if share < 20 else "problem", **words)


def _what_was_asked(look: Look) -> str:
    """The tasks, for people who know nothing of the study."""
    words = WORDS("asked")
    sentence = words.pop("text")
    tasks = {(e["task"] or "").removeprefix("text-") for e in look.rows(Of("na_rate", ("task",)))}
    texts = [text for task, text in words.items() if task in tasks]
    return sentence.format(tasks="; ".join(texts)) if texts else ""


def _chosen(look: Look, e: Estimate) -> str:
    """The option in whose share a group is farthest from all people, or all species."""
    apart = [(share, mean) for share, mean in _beside_everyone(look, e) if share.value is not None and mean is not None]
    if not apart or e["dimension"] == "species":
        return f"{100 * (e.value or 0.0) / _MOST:.0f} points from all of them"
    top, mean = max(apart, key=lambda pair: abs((pair[0].value or 0.0) - pair[1]))
    return f"“{top['choice']}” in {look.value(top)} of the answers {look.interval(top)}, for all people in {mean:.1%}"


def _even(of: Callable[[float], float], sign: str, suffix: str = "") -> Callable[[Look, Estimate], str]:
    """A value and its interval as another number."""

    def text(_look: Look, e: Estimate) -> str:
        ends = "" if e.low is None or e.high is None else f" [{of(e.low):.1f}{sign}, {of(e.high):.1f}{sign}]"
        return f"{of(e.value or 0.0):.1f}{sign}{suffix}{ends}"

    return text


def _lead(name: str, *of: Of, **more: Any) -> Findings:
    words = WORDS(f"lead.{name}")
    form = words.pop("moved")
    facet = _facet(name) if name in _FACETS else None
    moved = (form, form) if isinstance(form, str) else form
    return Findings(of=of, order="given", moved=moved, facet=facet, **words, **more)


_DESCRIBED = Kinds(directness=IMPLICIT, about=DESCRIPTION)
_FACETS: dict[str, tuple[Kinds, Direction]] = {
    "choices": (Kinds(about=STEREOTYPE), facets.APART),
    "rankings": (Kinds(people=facets.TWO_PEOPLE, about=STEREOTYPE), FAVOURS),  # of income and of education
    "lengths": (_DESCRIBED, NEITHER),
    "positive": (_DESCRIBED, FAVOURS),
    "negative": (_DESCRIBED, facets.DISFAVOURS),
    "listed": (_DESCRIBED, NEITHER),
}


def _facet(name: str) -> Facet:
    """Whose choices, rankings and descriptions differ."""
    kinds, means = _FACETS[name]
    words = WORDS(f"facets.{name}")
    return Facet(dimension="{dimension:raw}", group="{group:raw}", kinds=kinds, means=means, **words)


def _of_descriptions(name: str, measures: Mapping[str, str]) -> Findings:
    """Differences between descriptions, and what they are of."""
    by = (*SIDES, "word_list?")
    return _lead(name, *(
        Of(f"gap.{measure}", by, order="found",
           label=f"{noun}[ of “{{word_list:raw}}”], {{group}} less {{other_group}}")
        for measure, noun in measures.items()
    ))  # fmt: skip


PAGE = worded(
    WORDS,
    SECTIONS,
    asked=_what_was_asked,
    conditions=False,
    lead=(
        _lead("choices", divergences("choices"), even=_chosen, per=100 / _MOST, largest=_MOST),
        _lead("rankings", about("comparisons", "ranked_above", CELL, order="clearest"),
              even=_even(lambda share: 50 + 100 * share, "%")),
        _of_descriptions("lengths", {"characters": "characters", "tokens": "tokens"}),
        _of_descriptions("positive", {"positive_sentiment": "favourable words"}),
        _of_descriptions("negative", {"negative_sentiment": "unfavourable words"}),
        _of_descriptions("listed", {"listed_words": "words"}),
        _lead("words", MARKED, even=_even(exp, "", " times")),
        _lead("forms", *(shifts(task, fields) for task in FORMS for fields in WORDS("forms.fields"))),
        _lead("implicit", replace(AGREED, order="found"), per=100 / log(2), largest=log(2)),
    ),
    control=_lead("species", divergences(CONTROL), even=_chosen),
    titles={
        "question": {question.name: question.title for question in choice_questions()},
        "group": {level.name: level.title for level in (*races(), *occupations())},
        "outcome": {name: title for name, (title, _) in WORDS("pairs.parts").items()},
        "field": {field.name: field.title for field in attributes()},
    },
    stated=(StatedCard(**WORDS("scorer")), replace(NO_SCORER, **WORDS("no_scorer")), _unread, ONE_WORDING),
    units=UnitsCard(of=(divergences("choices", crossed=False),), **WORDS("units")),
    examples=wanted,
    quoted=Quoted(of=MARKED, text="description"),
    questions=QuotedQuestions(**WORDS("questions"), words=WORDS("questions.words")),
    missing=_lost,
    added=("human_rating", "rater_agreement"),
)  # fmt: skip
