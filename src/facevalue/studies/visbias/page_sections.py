"""Sections of VisBias's page: what is shown of choices, comparisons, descriptions, forms and species."""

from collections.abc import Sequence
from typing import Any

from facevalue.measures.rater_agreement import FLAG, RATERS
from facevalue.protocol import blocks as b
from facevalue.protocol.contents import Made, Paragraph
from facevalue.protocol.look import Look, Of
from facevalue.protocol.lookup import Estimate
from facevalue.studies.visbias.measures import AS_PUBLISHED, PAIRS
from facevalue.studies.visbias.page_forms import PAIR, WORDS, forms, panels

CONTROL = "species"
SPECIES = {"dimension": CONTROL}
GROUP = ("task", "dimension", "group")
CELL = (*GROUP, "question")
SIDES = (*GROUP, "other_group")
MARKED = Of("marked_word", (*SIDES, "word"), order="surest")
AGREED = Of("implicit_explicit_divergence", ("task", "dimension", "question", "group?"))
_CHOICE = (*CELL, "choice")
_LISTED = "listed_words"
_TEXTS = ("characters", "tokens", "positive_sentiment", "negative_sentiment")
_OUTCOMES = WORDS("pairs.parts")


def about(section: str, measure: str, by: tuple[str, ...], **more: Any) -> Of:
    """Estimates of fictional species in their section, of people's groups in all others."""
    levels, without = (SPECIES, {}) if section == CONTROL else ({}, SPECIES)
    return Of(measure, by, levels, without, **more)


def divergences(section: str, **more: Any) -> Of:
    """Divergences of a group's choices from the mean of all groups, of people or of species."""
    return about(section, "choice_divergence", CELL, **{"order": "clearest", **more})


def _found_of(look: Look, rows: Sequence[Estimate]) -> str:
    """How many groups were found different from the mean of all, or that there is only one."""
    if len(rows) < 2:
        return "only one group, nothing to compare it with"
    return f"{sum(map(look.found, rows))} of {len(rows)} found different"


def _summary(look: Look) -> str:
    """Of a question, how many groups of each dimension were found different."""
    by: dict[str | None, list[Estimate]] = {}
    for e in look.rows(divergences("choices", order="given")):
        by.setdefault(e["dimension"], []).append(e)
    texts = [f"{look.title('dimension', name)}: {_found_of(look, rows)}" for name, rows in by.items()]
    return f"Groups beside the mean of all groups: {'; '.join(texts)}." if texts else ""


def _texts_found(look: Look) -> str:
    """How many differences between descriptions of two groups were found."""
    rows = [e for of in _DIFFERENCES for e in look.rows(of) if e.q is not None]
    return WORDS.text("descriptions.found.text").format(found=sum(map(look.found, rows)), rows=len(rows))


def _clearest(section: str) -> b.Strips:
    """The clearest divergences of choices from the mean."""
    of = divergences(section, label="{group}", note="{question}, {dimension:lower}", most=15)
    return b.Strips(of=(of,), rows="{question}|{dimension}|{group}", **WORDS(f"{section}.clearest"))


def _bars(section: str) -> b.Block:
    """Bars of every question and dimension."""
    everyone = () if section == CONTROL else (
        Of("choice_share", ("task", "question", "choice"), label="Everyone"),
        Of("choice_share", ("task", "question", "choice"), label="Without a picture", intervention="no-image"),
    )  # fmt: skip
    stacked = b.Stacked(
        of=(*everyone, Of("choice_share", _CHOICE, label="{group}")), part="choice",
        ordered=("question", ("income", "education")), beside=Of("choice_divergence", CELL, label="{group}"),
        rows=(Of("choice_share", _CHOICE, label="{group}|{choice}"),), **WORDS(f"{section}.bars"),
    )  # fmt: skip
    by_dimension = b.Each(
        of=(about(section, "choice_share", _CHOICE),), over=("dimension",), fold="crossed", order="crossed",
        title="{dimension}", note=lambda look: _found_of(look, look.rows(Of("choice_divergence", CELL))), level=4,
        blocks=(stacked,),
    )  # fmt: skip
    lead = "" if section == CONTROL else _summary
    return b.Each(over=("question",), title="{question}", lead=lead, blocks=(by_dimension,),
                  **WORDS(f"{section}.questions"))  # fmt: skip


def _pairs(section: str) -> b.Block:
    """Pairs of people that were ranked, not ranked, or contradicted, by question."""

    def outcomes(label: str) -> tuple[Of, ...]:
        return tuple(
            about(section, PAIRS.key, ("task", "question", "outcome", *by), label=label)
            for by in ((), ("dimension",), ("dimension", "group"))
        )  # fmt: skip

    return b.Each(
        over=("question",), title="{question}", **WORDS(f"{section}.pairs"),
        blocks=(
            b.Stacked(
                of=outcomes("{group|All pairs}"), part="outcome", parts=_OUTCOMES, initials=True,
                first_beside="ranked", rows=outcomes("{group|All pairs}|{outcome}"), **WORDS("pairs"),
            ),
        ),
    )  # fmt: skip


def _rankings(section: str) -> tuple[b.Block, ...]:
    """Who is ranked above whom, by question."""

    def ranked(**more: Any) -> tuple[Of]:
        return (about(section, "ranked_above", CELL, **more),)

    strips = b.Strips(of=ranked(label="{group}", note="{dimension:lower}", order="value"), **WORDS(f"{section}.ranks"))
    words = WORDS(f"{section}.ranked")
    return (
        b.Each(over=("question",), title="{question}", level=4, blocks=(strips,), **words),
        b.Numbers(of=ranked(label="{question}|{dimension}|{group}"), title=words["heading"],
                  heads=("Question", "Of", "Group")),
    )  # fmt: skip


def _by_list(measure: str, **more: Any) -> Of:
    by = (*GROUP, *(("word_list",) if measure == _LISTED else ()))
    return Of(f"mean.{measure}", by, **more)


def _of_texts(measure: str, title: str = "{measure}") -> b.Strips:
    return b.Strips(of=(_by_list(measure, label="{group}"),), first="Group", what="Mean", zero=False, numbers="",
                    title=title)  # fmt: skip


def _no_species(look: Look) -> Sequence[Made]:
    """That no species was shown, where that is so."""
    measured = (
        about(CONTROL, "choice_share", _CHOICE), about(CONTROL, "ranked_above", CELL),
        about(CONTROL, PAIRS.key, ("task", "question", "outcome", "dimension?")),
    )  # fmt: skip
    return () if any(map(look.rows, measured)) else (Paragraph(WORDS.text("species.absent.text"), "empty"),)


_DIFFERENCES = tuple(
    Of(f"gap.{name}", (*SIDES, *(("word_list",) if name == _LISTED else ())), order="surest",
       label="{measure}[: {word_list:raw}]|{group}|{other_group}")
    for name in (*_TEXTS, _LISTED)
)  # fmt: skip
_REFUSED = b.Each(
    over=("dimension",), title="{dimension}", level=4, order="crossed", **WORDS("choices.refused"),
    blocks=(
        b.Strips(of=(Of("na_rate", GROUP, {"task": "mcq"}, SPECIES, label="{group}"),),
                 **WORDS("choices.refusals")),
    ),
)  # fmt: skip
_DESCRIPTIONS = (
    b.Numbers(
        of=(
            *(Of(f"mean.{name}", ("task",), label="{measure}|–") for name in _TEXTS),
            *(Of(name, ("task", "word_list"), label="{measure}|{word_list:raw}")
              for name in (f"mean.{_LISTED}", f"mean.{_LISTED}{AS_PUBLISHED}")),
        ),
        **WORDS("descriptions.all"),
    ),
    b.Each(
        of=tuple(map(_by_list, (*_TEXTS, _LISTED))), over=("dimension",), title="{dimension}", lead=_texts_found,
        fold="crossed", order="crossed", **WORDS("descriptions.each"),
        blocks=(
            b.Side((
                *map(_of_texts, _TEXTS),
                b.Each(over=("word_list",), nonzero=True,
                       blocks=(_of_texts(_LISTED, WORDS.text("descriptions.listed.title")),)),
            )),
            b.Numbers(of=_DIFFERENCES, **WORDS("descriptions.differences")),
            b.Numbers(
                of=(
                    _by_list(_LISTED, label="{measure}|{word_list:raw}|{group}"),
                    *(Of(f"mean.{name}{AS_PUBLISHED}", (*GROUP, "word_list?"),
                         label="{measure}|{word_list:raw|–}|{group}")
                      for name in ("positive_sentiment", "negative_sentiment", _LISTED)),
                ),
                **WORDS("descriptions.published"),
            ),
        ),
    ),
)  # fmt: skip
_MARKED = b.WordLists(
    of=MARKED, rank="marked_word_z", published=Of("marked_word_published", (*GROUP, "other_group?", "word")),
    **WORDS("words.lists"),
)  # fmt: skip
_RATED = b.Distribution(of=Of("human_rating", PAIR), low=1, high=5, step=1 / 3, flag=FLAG, least=RATERS,
                        **WORDS("rated.ratings"))  # fmt: skip
_IMPLICIT = b.Strips(
    of=(Of("implicit_explicit_divergence", AGREED.by, label="{question}", note="{group|Mean}, {dimension:lower}"),),
    rows="{question}|{group|Mean}|{dimension}", **WORDS("implicit.divergences"),
)  # fmt: skip
_MISSING = b.Strips(
    of=(
        Of("na_rate", ("task", "dimension?", "question?"), label="{task}",
           note="[{dimension:lower}][, {question}]"),
        Of("na_rate", ("task", "dimension?", "reason"), label="{task}",
           note="[{dimension:lower}, ]reason: {reason:raw}"),
    ),
    rows=(
        Of("na_rate", ("task", "dimension?", "question?", "reason?", "group?"),
           label="{task}|{question|–}[, reason: {reason:raw}]|{dimension|Everyone}|{group|–}"),
    ),
    **WORDS("missing.rates"),
)  # fmt: skip
SECTIONS: dict[str, tuple[b.Block, ...]] = {
    "choices": (_clearest("choices"), _bars("choices"), _REFUSED),
    "comparisons": (_pairs("comparisons"), *_rankings("comparisons")), "descriptions": _DESCRIPTIONS,
    "words": (_MARKED,), "forms": (b.Own(forms),), "panels": (b.Own(panels),), "rated": (_RATED,),
    "implicit": (_IMPLICIT,),
    CONTROL: (_clearest(CONTROL), _bars(CONTROL), _pairs(CONTROL), *_rankings(CONTROL), b.Own(_no_species)),
    "examples": (b.StoredAnswers(**WORDS("examples.answers")),), "missing": (_MISSING,),
}  # fmt: skip
