"""Default pages: what follows from the takes of a study that declares no page of its own."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

import polars as pl

from facevalue.protocol.asks import WORDING
from facevalue.protocol.blocks import Answers, Strips
from facevalue.protocol.cards import NO_SCORER, ONE_WORDING, Stated, Units
from facevalue.protocol.definitions import measure_name
from facevalue.protocol.examples import Wanted
from facevalue.protocol.look import Look, Of
from facevalue.protocol.page import Findings, Page, Section
from facevalue.protocol.replies import Score
from facevalue.protocol.takes import (
    CONTRAST,
    DIMENSION,
    GAP,
    LEVELS_MEAN,
    MEAN,
    OTHERS,
    PREFERENCE,
    SHIFT,
    SPREAD,
    Breakdown,
    Take,
)

_TITLES = {
    SHIFT: "Shifts from the base",
    MEAN: "Scores",
    GAP: "Differences",
    SPREAD: "Spreads between groups",
    PREFERENCE: "Preferences",
}
_EFFECTS = {SHIFT: "shift", PREFERENCE: "preference"}
_LEADS = {
    SHIFT: "How far each picture moves the answer from that to its base, within its unit.",
    MEAN: "The answers themselves, before anything is compared.",
    GAP: "How far the answers to one level lie from those to another.",
    SPREAD: "How far the groups lie apart. A spread is never zero, even without any difference: see its noise floor.",
    PREFERENCE: "How far the answers lean to the picture beside the base.",
}


def taken(takes: Sequence[Take], breakdown: Breakdown, scores: Sequence[Score]) -> Page:
    """The page of a study from what it takes: its first tested take leads, and each take has a section.

    `takes`, `breakdown`, `scores`: what is measured, of what it can be broken down by, and of which answers.
    """
    selections = [(take, _selections(take, breakdown, scores)) for take in takes]
    lead = tuple(_lead(take, of) for take, of in selections if take.tested)
    together: dict[str, list[tuple[Take, tuple[Of, ...]]]] = {}
    for take, of in selections:
        together.setdefault(_title(take), []).append((take, of))
    sections = tuple(
        _section(f"take-{number}", title, members) for number, (title, members) in enumerate(together.items(), start=1)
    )
    missing = Section(
        "missing", "Answers missing",
        (
            Strips(
                of=(Of("na_rate", label="All replies"), *(Of("na_rate", (name,)) for name in breakdown.factors)),
                first="Of", what="Rate", title="Replies without a valid answer", empty="Not measurable.",
            ),
            Strips(of=(Of("na_spread", (DIMENSION,)),), first="Between", what="Spread", numbers="",
                   title="Spread of missing answers between groups"),
        ),
        each_model=True,
        lead="A missing answer is never counted as zero. Worrying: a rate of 5% or more, or groups that differ in it.",
    )  # fmt: skip
    others = {name: {OTHERS: "All others", LEVELS_MEAN: "The mean of all"} for take in takes if (name := take.of)}
    return Page(
        lead=lead,
        sections=(*sections, _EXAMPLES, missing),
        titles=others,
        examples=partial(_wanted, [of for _, own in selections for of in own], {*breakdown.factors, *breakdown.asked}),
        stated=(_wordings(breakdown), NO_SCORER),
        units=Units(floor="Noise floor" if any(take.measure == SPREAD for take in takes[:1]) else ""),
    )


_EXAMPLES = Section(
    "examples", "Examples",
    (Answers(lead="Stored answers behind the strongest numbers.", empty="No example: no answer is valid."),),
)  # fmt: skip
_EACH, _MOST = 3, 6  # examples of a take, and of all


def _wanted(selections: Sequence[Of], columns: Collection[str], look: Look) -> list[Wanted]:
    """A stored answer behind each of the strongest estimates of every take, those found first."""
    out = []
    for of in selections:
        rows = sorted(
            (e for e in look.rows(of) if e.value is not None), key=lambda e: (not look.found(e), -abs(e.value or 0.0))
        )
        for e in rows[:_EACH]:
            levels = {name: level for name, level in e.labels.items() if name in columns}
            finding = f"{look.said(of.label, e)}: {look.value(e)} {look.interval(e)}"
            same = [pl.col(name).cast(pl.String) == level for name, level in levels.items()]
            rows_of = pl.all_horizontal(same) if same else pl.lit(value=True)
            title = partial(_shown, sorted(columns))
            out.append(
                Wanted(finding=finding, title=title, rows=rows_of, needs=tuple(levels), once=("trial",), longest=320)
            )
    return out[:_MOST]


def _shown(columns: Sequence[str], look: Look, row: Mapping[str, object]) -> str:
    """What an answer is about: the levels of its picture and question."""
    levels = [look.title(name, str(row[name])) for name in columns if row.get(name) is not None]
    return ", ".join(levels) or "An answer"


def _wordings(breakdown: Breakdown) -> Stated:
    """In how many wordings a question is asked."""
    if WORDING not in breakdown.asked:
        return ONE_WORDING
    return replace(
        ONE_WORDING,
        value=f"Asked in {len(breakdown.levels(WORDING))} wordings",
        note="Estimates are averages over them. Break a take down by wording to see how far the results hang on it.",
    )


def _selections(take: Take, breakdown: Breakdown, scores: Sequence[Score]) -> tuple[Of, ...]:
    """The estimates of a take, a selection for each score."""
    by = {GAP: (*take.by, take.of, CONTRAST), SPREAD: (*take.by, DIMENSION)}.get(take.measure, take.by)
    if take.measure == GAP:
        form = "".join(f"{{{name}}}, " for name in take.by) + f"{{{take.of}}} less {{{CONTRAST}:{take.of}}}"
    else:
        form = ", ".join(f"{{{name}}}" for name in by) or "Over everything"
    taken_scores = [score for score in scores if not take.scores or score.name in take.scores]
    return tuple(
        Of(measure_name(take, breakdown, score, scores), by, label=form, order="value") for score in taken_scores
    )


def _title(take: Take) -> str:
    name = take.named()
    if not name:
        name = f"{_TITLES[take.measure]} by {', '.join(take.by)}" if take.by else _TITLES[take.measure]
    return name[:1].upper() + name[1:]


def _lead(take: Take, of: tuple[Of, ...]) -> Findings:
    effect = _EFFECTS.get(take.measure, "difference")
    return Findings(
        of=of,
        noun=(effect, take.named()),
        found=("differs from zero", "differ from zero"),
        unfound="does not differ from zero",
        same="zero",
        effect=effect,
        strongest=("{row}: {value}", "{row}: {value}"),
        title=f"Clearest: {take.named()}",
    )


def _section(name: str, title: str, members: Sequence[tuple[Take, Sequence[Of]]]) -> Section:
    """Takes of one title, a table for each."""
    alone = len(members) == 1
    tables = tuple(_strips(take, one, alone=alone) for take, of in members for one in of)
    return Section(name, title, tables, each_model=True, lead=_LEADS[members[0][0].measure])


def _strips(take: Take, of: Of, *, alone: bool) -> Strips:
    """A table of a take; `alone`: whether no other take has its title."""
    first = ", ".join(take.by).capitalize() or "Of"
    title = _title(take) if alone else f"{_TITLES[take.measure]}: {', '.join(filter(None, (*take.by, take.of)))}"
    return Strips(of=(of,), first=first, title=title, key=True, empty="Not measurable.")
