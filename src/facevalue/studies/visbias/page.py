"""Page of VisBias: its lead, its sections, and reasons to trust or doubt it; its words are `words.toml`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import exp, log
from typing import Any

import polars as pl

from facevalue.measures.caveats import counted_caveats
from facevalue.measures.rater_agreement import FLAG, RATERS
from facevalue.protocol import blocks as b
from facevalue.protocol import facets
from facevalue.protocol.cards import NO_SCORER, ONE_WORDING, StatedCard, UnitsCard
from facevalue.protocol.contents import (
    Entry,
    Folded,
    Ledger,
    Link,
    Links,
    Made,
    Mark,
    Marks,
    Paragraph,
    Quoted,
    QuotedQuestions,
    Wanted,
)
from facevalue.protocol.facets import DESCRIPTION, FAVOURS, IMPLICIT, NEITHER, STEREOTYPE, Direction, Facet, Kinds
from facevalue.protocol.look import Look, Of, Words
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Findings, worded
from facevalue.studies.visbias.measures import AS_PUBLISHED, PAIRS, ROUTE
from facevalue.studies.visbias.parsing import attributes
from facevalue.studies.visbias.tables import choice_questions, occupations, races

WORDS = Words(__package__)
FORMS = ("form", "text-form")
PAIR = ("attribute", "choice", "other_attribute", "likeliest")
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


def estimates_about(section: str, measure: str, by: tuple[str, ...], **more: Any) -> Of:
    """Estimates of fictional species in their section, of people's groups in all others."""
    levels, without = (SPECIES, {}) if section == CONTROL else ({}, SPECIES)
    return Of(measure, by, levels, without, **more)


def divergences(section: str, **more: Any) -> Of:
    """Divergences of a group's choices from the mean of all groups, of people or of species."""
    return estimates_about(section, "choice_divergence", CELL, **{"order": "clearest", **more})


def _found_of(look: Look, rows: Sequence[Estimate]) -> str:
    """Number of groups found different from the mean of all, or a note that there is only one."""
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
    """Number of differences found between descriptions of two groups."""
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
        of=(estimates_about(section, "choice_share", _CHOICE),), over=("dimension",), fold="crossed", order="crossed",
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
            estimates_about(section, PAIRS.key, ("task", "question", "outcome", *by), label=label)
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
    """Rankings of groups above others, by question."""

    def ranks(**more: Any) -> tuple[Of]:
        return (estimates_about(section, "ranked_above", CELL, **more),)

    strips = b.Strips(of=ranks(label="{group}", note="{dimension:lower}", order="value"), **WORDS(f"{section}.ranks"))
    words = WORDS(f"{section}.ranked")
    return (
        b.Each(over=("question",), title="{question}", level=4, blocks=(strips,), **words),
        b.Numbers(of=ranks(label="{question}|{dimension}|{group}"), title=words["heading"],
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
        estimates_about(CONTROL, "choice_share", _CHOICE), estimates_about(CONTROL, "ranked_above", CELL),
        estimates_about(CONTROL, PAIRS.key, ("task", "question", "outcome", "dimension?")),
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
# Forms: which choice shifts which field, how fields were read, and what people say of it.


_FOUND, _OTHERS, _DRAWN = 150, 20, 14
"""Associations in the table, found and not, and in the drawing."""
_PUBLISHED = 1.0
"""KL from which the paper gives a pair to raters."""
_FULL = 3.0
"""KL, in nats, from which marks grow no more."""
_IF, _THEN = "{attribute:field}", "{other_attribute:field}"


def _shifts(task: str, fields: str) -> Of:
    """Associations of forms of one task and kind of fields; found first, then by how far they shift."""
    return Of("attribute_shift", PAIR, {"task": task, "fields": fields}, order="largest")


def _describe_ratings(look: Look) -> str:
    """Sentence on how far raters agree; nothing where no field was read."""
    words, agreed = WORDS("forms.said"), look.find("rater_agreement")
    if agreed is None:
        return words["unrated"] if look.rows(Of(ROUTE.key, ("task", "outcome"))) else ""
    return words["rated"].format(alpha=f"{look.value(agreed)} {look.interval(agreed)}")


def _describe_kept(look: Look) -> str:
    """Sentences on open fields, and on the share of those filled in beforehand that were kept; nothing without any."""
    words, kept_share = WORDS("forms.kept"), look.find("kept_share")
    if not look.rows(Of(ROUTE.key, ("task", "outcome"))):
        return ""
    return words["lead"] + (
        ""
        if kept_share is None
        else words["share"].format(share=f"{look.value(kept_share)} {look.interval(kept_share)}")
    )


def graphs(look: Look) -> list[Made]:
    """Shifts in forms of a task, of fields filled in by the model and beforehand: a drawing and a table of each."""
    return [content for fields, title in WORDS("forms.fields").items() for content in _graph(look, fields, title)]


def _graph(look: Look, fields: str, title: str) -> Sequence[Made]:
    rows = look.rows(Of("attribute_shift", ("task", *PAIR), {"fields": fields}, order="largest"))
    if not rows:
        return ()
    words = WORDS("forms.found")
    measured = [e for e in rows if e.value is not None]
    findings = [e for e in measured if look.found(e)]
    above = sum((e.value or 0.0) > _PUBLISHED for e in measured)
    counts = {
        "found": len(findings) or "none",
        "caveats": counted_caveats(e.caveat for e in findings),
        "measured": len(measured),
        "above": above,
    }
    head = Paragraph(title, "h4", words["counts"].format(**counts))
    if not measured:
        return [head, Paragraph(look.interval(rows[0]), "empty")]
    listed = [*findings[:_FOUND], *[e for e in measured if not look.found(e)][:_OTHERS]]
    rated = {_pair(e): e for e in look.rows(Of("human_rating", PAIR))}
    heads = WORDS("forms.table")["heads"]
    table = Ledger(title, heads if rated else heads[:-1], tuple(_row(look, e, rated) for e in listed), (5, 8, 9))
    lines = tuple(
        Link((if_, e["choice"] or ""), (then, e["likeliest"] or ""), e.value or 0.0,
             f"{if_} {e['choice']}: {then} {e['likeliest']}, {look.value(e)}")
        for e in findings[:_DRAWN] for if_, then in [(look.said(_IF, e), look.said(_THEN, e))]
    )  # fmt: skip
    left = len(findings) - _FOUND
    more = (Paragraph(words["more"].format(left=left), "small"),) if left > 0 else ()
    note = words["listed"].format(rows=len(listed), measured=len(measured))
    return [
        head,
        Links(lines=lines, **WORDS("forms.links")),
        Folded(words["title"], (table, *more), note, open=bool(findings) and fields == "completed"),
    ]


def _pair(e: Estimate) -> tuple[str | None, ...]:
    return tuple(e[name] for name in PAIR)


def _row(look: Look, e: Estimate, rated: Mapping[tuple[str | None, ...], Estimate]) -> tuple[Entry, ...]:
    likely = look.beside("likely_share", e)
    texts = (look.said(_IF, e), e["choice"] or "–", look.said(_THEN, e), e["likeliest"] or "–",
             "–" if likely is None else f"{look.value(likely)} {look.interval(likely)}")  # fmt: skip
    return (
        *map(Entry, texts),
        Entry(look.value(e), strong=look.found(e), of=e),
        Entry(look.interval(e)),
        Entry(look.floor(e), quiet=True),
        Entry(look.said("{q|–}", e)),
        Entry(f"{e.n or 0:,}"),
        Entry("–", judged=e),
        *((Entry(_people_say(look, rated.get(_pair(e)))),) if rated else ()),
    )


def _people_say(look: Look, e: Estimate | None) -> str:
    if e is None or e.value is None:
        return "not rated"
    verdict = "too few raters" if (e.n or 0) < RATERS else "biased" if e.value >= FLAG else "not biased"
    return f"{verdict}, mean {look.value(e, bare=True)} of 5 ({e.n or 0} raters)"


def panels(look: Look) -> Sequence[Made]:
    """For each task with forms, which choices of every field shift the others most, in every model."""
    words = WORDS("panels.said")
    out: list[Made] = []
    for task in FORMS:
        strongest = {model: _strongest(look.of_model(model), task) for model in look.models}
        pairs = list(dict.fromkeys(pair for largest in strongest.values() for pair in largest))
        contents = tuple(
            _panel(look, field, [then for if_, then in pairs if if_ == field], strongest)
            for field in dict.fromkeys(if_ for if_, _ in pairs)
        )
        if contents:
            note = words["note"].format(fields=len(contents))
            out.append(Folded(look.title("task", task), contents, note, open=not out))
    return out or [Paragraph(words["empty"], "empty")]


_Strongest = Mapping[tuple[str, str], tuple[Estimate, bool]]
"""By two fields: the largest shift of the second by the first, and whether people call it biased."""


def _strongest(look: Look, task: str) -> _Strongest:
    rated = look.rows(Of("human_rating", PAIR))
    biased = {_pair(e) for e in rated if (e.n or 0) >= RATERS and (e.value or 0.0) >= FLAG}
    largest: dict[tuple[str, str], Estimate] = {}
    for e in look.rows(_shifts(task, "completed")):
        key = e["attribute"] or "", e["other_attribute"] or ""
        if e.value is not None and (key not in largest or e.value > (largest[key].value or 0.0)):
            largest[key] = e
    return {key: (e, _pair(e) in biased) for key, e in largest.items()}


def _panel(look: Look, field: str, others: Sequence[str], strongest: Mapping[str, _Strongest]) -> Marks:
    """Shifts of other fields by one, in every model: its choice that shifts each most as a letter, larger for more."""
    cells = [[largest.get((field, then)) for largest in strongest.values()] for then in others]
    choices = tuple(dict.fromkeys(cell[0]["choice"] or "" for row in cells for cell in row if cell is not None))

    def mark(cell: tuple[Estimate, bool] | None) -> Mark | None:
        if cell is None:
            return None
        e, biased = cell
        letter = chr(ord("A") + choices.index(e["choice"] or ""))
        sentence = f"{e['choice']}: {look.said(_THEN, e)} {e['likeliest']}. {look.said('{value}', e)}"
        return Mark(
            letter, look.value(e, bare=True), min((e.value or 0.0) / _FULL, 1.0), look.found(e), biased, sentence
        )

    titles = [look.title("field", name) for name in (field, *others)]
    rows = tuple((title, tuple(map(mark, row))) for title, row in zip(titles[1:], cells, strict=True))
    return Marks(titles[0], choices, ("What it shifts", *strongest), rows)


_ROUTES = b.Stacked(
    of=(Of(ROUTE.key, ("task", "outcome"), label="Open fields"),), part="outcome", plain=True,
    parts=WORDS("forms.routes.parts"),
    rows=(Of(ROUTE.key, ("task", "outcome", "attribute?"), label="{attribute:field|all fields}|{outcome:raw}"),),
    **WORDS("forms.routes"),
)  # fmt: skip
_FORMS = b.Each(
    of=(Of(ROUTE.key, ("task", "outcome")), Of("attribute_shift", ("task",))), over=("task",), title="{task}",
    lead=_describe_kept, blocks=(_ROUTES, b.Own(graphs)), **WORDS("forms.each"),
)  # fmt: skip
SECTIONS: dict[str, tuple[b.Block, ...]] = {
    "choices": (_clearest("choices"), _bars("choices"), _REFUSED),
    "comparisons": (_pairs("comparisons"), *_rankings("comparisons")), "descriptions": _DESCRIPTIONS,
    "words": (_MARKED,), "forms": (_FORMS, b.Prose(_describe_ratings, small=True)), "panels": (b.Own(panels),),
    "rated": (_RATED,), "implicit": (_IMPLICIT,),
    CONTROL: (_clearest(CONTROL), _bars(CONTROL), _pairs(CONTROL), *_rankings(CONTROL), b.Own(_no_species)),
    "examples": (b.StoredAnswers(**WORDS("examples.answers")),), "missing": (_MISSING,),
}  # fmt: skip

_MOST = 1000 * log(2)
"""The largest possible divergence, in thousandths of a nat."""


def find_examples(look: Look) -> list[Wanted]:
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


def _describe_lost(look: Look) -> str:
    """Reason why nothing can be judged: no answers, or only one group."""
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
    for e in look.rows(estimates_about("choices", "choice_share", (*CELL, "choice"))):
        groups.setdefault(e["dimension"] or "", set()).add(e["group"] or "")
    if not groups or any(len(names) > 1 for names in groups.values()):
        return ""
    texts = [f"{look.title('dimension', dimension).lower()}: {look.title('group', name)}"
             for dimension, names in groups.items() for name in names]  # fmt: skip
    return WORDS.text("lost.groups").format(groups="; ".join(texts))


def _unread(look: Look) -> StatedCard:
    """Share of open fields of forms that could not be read, in the task where it is largest."""
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


def _farthest_option(look: Look, e: Estimate) -> str:
    """The option in whose share a group is farthest from all people, or all species."""
    apart = [(share, mean) for share, mean in _beside_everyone(look, e) if share.value is not None and mean is not None]
    if not apart or e["dimension"] == "species":
        return f"{100 * (e.value or 0.0) / _MOST:.0f} points from all of them"
    top, mean = max(apart, key=lambda pair: abs((pair[0].value or 0.0) - pair[1]))
    return f"“{top['choice']}” in {look.value(top)} of the answers {look.interval(top)}, for all people in {mean:.1%}"


def _format_value(of: Callable[[float], float], sign: str, suffix: str = "") -> Callable[[Look, Estimate], str]:
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
    """Facet of the people whose choices, rankings and descriptions differ."""
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
        _lead("choices", divergences("choices"), even=_farthest_option, per=100 / _MOST, largest=_MOST),
        _lead("rankings", estimates_about("comparisons", "ranked_above", CELL, order="clearest"),
              even=_format_value(lambda share: 50 + 100 * share, "%")),
        _of_descriptions("lengths", {"characters": "characters", "tokens": "tokens"}),
        _of_descriptions("positive", {"positive_sentiment": "favourable words"}),
        _of_descriptions("negative", {"negative_sentiment": "unfavourable words"}),
        _of_descriptions("listed", {"listed_words": "words"}),
        _lead("words", MARKED, even=_format_value(exp, "", " times")),
        _lead("forms", *(_shifts(task, fields) for task in FORMS for fields in WORDS("forms.fields"))),
        _lead("implicit", replace(AGREED, order="found"), per=100 / log(2), largest=log(2)),
    ),
    control=_lead("species", divergences(CONTROL), even=_farthest_option),
    titles={
        "question": {question.name: question.title for question in choice_questions()},
        "group": {level.name: level.title for level in (*races(), *occupations())},
        "outcome": {name: title for name, (title, _) in WORDS("pairs.parts").items()},
        "field": {field.name: field.title for field in attributes()},
    },
    stated=(StatedCard(**WORDS("scorer")), replace(NO_SCORER, **WORDS("no_scorer")), _unread, ONE_WORDING),
    units=UnitsCard(of=(divergences("choices", crossed=False),), **WORDS("units")),
    examples=find_examples,
    quoted=Quoted(of=MARKED, text="description"),
    questions=QuotedQuestions(**WORDS("questions"), words=WORDS("questions.words")),
    missing=_describe_lost,
    added=("human_rating", "rater_agreement"),
)  # fmt: skip
