"""Default pages: what follows from the takes of a study that declares no page of its own."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from facevalue.measures.judge_measures import ALPHAS, RAW, SWAPPED, WITHOUT
from facevalue.prompts.variants import Variant
from facevalue.protocol.asks import WORDING
from facevalue.protocol.blocks import Answers, Strips
from facevalue.protocol.cards import NO_SCORER, ONE_WORDING, OUTSIDE_SCORES, RATES, Rate, StatedCard, UnitsCard
from facevalue.protocol.charts import Dumbbells
from facevalue.protocol.definitions import companions, measure_name
from facevalue.protocol.examples import QuotedQuestions, Wanted, at_levels_of
from facevalue.protocol.look import Look, Of
from facevalue.protocol.outside_scores import JUDGED_BY, NEXT_STEPS
from facevalue.protocol.page import Described, Findings, Page, Section
from facevalue.protocol.replies import Score
from facevalue.protocol.take_facets import facet_of
from facevalue.protocol.take_wording import findings_of
from facevalue.protocol.takes import (
    ALIKE,
    CONTRAST,
    DIMENSION,
    FLIP,
    GAP,
    LEAN,
    LEVELS_MEAN,
    MEAN,
    OTHERS,
    PREFERENCE,
    RANGE,
    SHIFT,
    SIMILARITY,
    SPREAD,
    TALLY,
    UNSIGNED,
    Breakdown,
    Take,
)
from facevalue.protocol.tasks import TASK, Task
from facevalue.protocol.written import outside_of

_TITLES = {
    SHIFT: "Shifts from the base",
    MEAN: "Scores",
    LEAN: "Leans",
    GAP: "Differences",
    SPREAD: "Spreads between groups",
    FLIP: "Flips of the answer",
    RANGE: "Ranges within units",
    SIMILARITY: "Similarity of lists",
    TALLY: "Questions in which groups differ",
    PREFERENCE: "Preferences",
}
_LEADS = {
    SHIFT: "How far each picture moves the answer from that to its base, within its unit.",
    MEAN: "The answers themselves, before anything is compared.",
    LEAN: "How far the answers lean to either end of their scale, from its middle.",
    GAP: "How far the answers to one level lie from those to another.",
    SPREAD: "How far the groups lie apart. A spread is never zero, even without any difference: see its noise floor.",
    FLIP: "How often the answer differs from that about the base, beyond that about one picture asked twice. Any other "
    "picture would change some answers: this says how far they hang on the picture, not why.",
    RANGE: "How far the levels lie apart within a unit: the highest score less the lowest. A range is never zero, even "
    "without any difference, and grows with the number of levels: see its noise floor, of as many replies to one "
    "picture. Any other picture would move some answers: this says how far they hang on the picture, not why.",
    SIMILARITY: "How much of what is named about two pictures of a unit is the same (Jaccard: entries that both lists "
    "have, of all that either has), beside two lists about one picture. Any other picture would change some lists: "
    "this says how far they hang on the picture, not why.",
    TALLY: "In how many questions the groups differ, or the picture moves the answer, by a test of each. Never zero, "
    "even without any difference: see its noise floor.",
    PREFERENCE: "How far the answers lean to one picture of a pair: to that beside the base, or to that with the level "
    "named first.",
}
_NO_SCORE = "Of the texts. They count in no score, so that estimates are of the others alone. Worrying: 5% or more."
_VARIED = (
    "The estimates as they are, and in each variant. A change is paired: what the variant gives, less what the plain "
    "question gives, on the same trials."
)


_UNSCORED = (
    "A text is missing where no judge or scorer has read it, where the judge names no category, and where it invents "
    "one. It is never counted as zero: bounds say how far that could move a result."
)


_NO_PEOPLE = "Nobody has sorted texts yet: facevalue review RUN --sorted NAME --out DIR."
_BY_PEOPLE = "What people alone say, and the judge of the same texts"
_CHECKS = (
    (ALPHAS, "Agreement beyond chance (Krippendorff's alpha)", "Alpha", _NO_PEOPLE),
    (RAW, "Texts that are sorted alike", "Share", _NO_PEOPLE),
    (
        (SWAPPED, WITHOUT),
        "Texts sorted otherwise once group words are swapped or taken out; floor: asked again",
        "Share",
        "No text with words for groups was judged again.",
    ),
)
"""Checks of a judge: measures, title, what the number is, and what is said where there is none."""


class _Taken(NamedTuple):
    """A take of one score, and its estimates."""

    take: Take
    score: Score
    of: Of
    task: Task


def page_of(tasks: Sequence[Task], variants: Sequence[Variant] = ()) -> Page:
    """The page of a study from what it takes: all tested takes lead, and each family of takes has a section.

    `variants`: those that the study declares, which have a section of their own.
    """
    rows_of_takes = (_Taken(take, score, _selection(take, task, score), task)
             for task in tasks for take in task.takes for score in task.scores_of(take))  # fmt: skip
    taken = _together(rows_of_takes)
    several = len({row.score.name for row in taken}) > 1
    by_task = () if len(tasks) == 1 else (TASK,)
    factors = list(dict.fromkeys(name for task in tasks for name in task.breakdown.factors))
    tested = [row for row in taken if row.take.tested]
    together: dict[str, list[_Taken]] = {}
    for row in taken:
        together.setdefault(_title(row.take), []).append(row)
    sections = tuple(
        _section(f"take-{number}", title, members, several=several)
        for number, (title, members) in enumerate(together.items(), start=1)
    )
    missing = Section(
        "missing", "Answers missing",
        (
            Strips(
                of=(Of("na_rate", by_task, label="" if by_task else "All replies"),
                    *(Of("na_rate", (*by_task, name)) for name in factors)),
                first="Of", what="Rate", title="Replies without a valid answer", empty="Not measurable.",
            ),
            Strips(of=(Of("na_spread", (*by_task, DIMENSION)),), first="Between", what="Spread", numbers="",
                   title="Spread of missing answers between groups"),
        ),
        each_model=True,
        lead="A missing answer is never counted as zero. Worrying: a rate of 5% or more, or groups that differ in it.",
    )  # fmt: skip
    titles = {
        name: measure.title for task in tasks for name, measure in outside_of(task.ask.reply).measures("").items()
    }
    varied = [_varied(taken, variants, several=several)] if variants else []
    judged = _judged(tasks, taken, by_task)
    others = {
        row.take.of: {OTHERS: "all others", LEVELS_MEAN: "the mean of all", ALIKE: "those that are alike"}
        for row in taken
        if row.take.of
    }
    return Page(
        lead=tuple(_findings(row, several=several, shared=_is_shared(row.take, tested)) for row in tested)
        or tuple(_described(row, several=several) for row in taken),
        sections=(*sections, *varied, *judged, _EXAMPLES, missing),
        titles=others,
        examples=partial(_wanted, [row.of for row in taken], {*by_task, *factors}),
        questions=_questions(tasks),
        stated=(_wordings(tasks[0].breakdown), OUTSIDE_SCORES if titles else NO_SCORER),
        rates=(*RATES, *(Rate(of=Of(name, by_task), title=title, note=_NO_SCORE) for name, title in titles.items())),
        missing=partial(_unsettled, list(titles)),
        units=UnitsCard(
            of=() if tested else (taken[0].of,),
            floor="Noise floor" if any(row.take.measure in UNSIGNED for row in taken[:1]) else "",
        ),
    )


def _is_shared(take: Take, tested: Sequence[_Taken]) -> bool:
    """Whether others of a take's family compare levels of another factor."""
    return any(row.take.family == take.family and row.take.of != take.of for row in tested) if take.family else False


def _findings(row: _Taken, *, several: bool, shared: bool) -> Findings:
    """What a page says of a tested take, and whom that is about."""
    facet = facet_of(row.take, row.score, row.task.ask.reply, row.task.breakdown)
    base = row.task.breakdown.sets.base_name
    return replace(findings_of(row.take, row.score, row.of, several=several, shared=shared, base=base), facet=facet)


def _unsettled(statuses: Sequence[str], look: Look) -> str:
    """Say how texts get a score where none has one; nothing elsewhere."""
    reasons = (name.partition("_")[0] for name in statuses if (e := look.one(name)) is not None and e.value == 1)
    return " ".join(dict.fromkeys(NEXT_STEPS[reason] for reason in reasons if reason in NEXT_STEPS))


def _varied(taken: Sequence[_Taken], variants: Sequence[Variant], *, several: bool) -> Section:
    """Estimates of each take as it is asked and in each variant."""
    charts = (
        Dumbbells(
            of=(row.of,), first=", ".join(row.take.by).capitalize() or "Of", what="As it is → varied",
            heading=f"{_title(row.take)}: {_lower(row.score.title)}" if several else _title(row.take),
            numbers="The changes",
        )
        for row in taken
    )  # fmt: skip
    lead = " ".join([_VARIED, *(f"{variant.label}: {variant.description}." for variant in variants)])
    return Section("variants", "Asked in other ways", tuple(charts), each_model=True, lead=lead)


def _judged(tasks: Sequence[Task], taken: Sequence[_Taken], by_task: tuple[str, ...]) -> list[Section]:
    """What a judge and scorers leave out, how far people agree with the judge, and how far group words move it."""
    replies = [outside_of(task.ask.reply) for task in tasks]
    statuses = dict.fromkeys(name for outside in replies for name in outside.statuses)
    if not statuses:
        return []
    parts = [
        Strips(
            of=tuple(Of(name, by_task, label=name.replace("_", " ")) for name in statuses), first="Of all texts",
            what="Share", title="Texts that are not sorted or scored", empty="Not measurable.",
        )
    ]  # fmt: skip
    sortings = {sorting.name: sorting for outside in replies for sorting in outside.judged}
    for kinds, title, what, empty in _CHECKS if sortings else ():
        names = [f"{kind}_{name}" for name in sortings for kind in kinds]
        of = tuple(Of(name, label=name.replace("_", " ")) for name in names)
        parts.append(Strips(of=of, first="Of", what=what, title=title, key=False, empty=empty))
    shares = {f"{name}_{category}" for name, sorting in sortings.items() for category in sorting.categories}
    rows = [row for row in taken if any(row.score.name.endswith(share) for share in shares)]
    if rows:
        by = f"({{{JUDGED_BY}}})"
        of = tuple(
            replace(
                row.of, by=(*row.of.by, JUDGED_BY), label=f"{row.score.name.replace('_', ' ')}, {row.of.label} {by}"
            )
            for row in rows
        )
        parts.append(Strips(of=of, first="Of", title=_BY_PEOPLE, key=False, empty=_NO_PEOPLE))
    return [Section("outside", "The judge and the scorer", tuple(parts), each_model=True, lead=_UNSCORED)]


def _questions(tasks: Sequence[Task]) -> QuotedQuestions:
    """Quote each task once in every wording; of one task and wording the first two questions, in two orders."""
    many = len(tasks) > 1
    worded = any(WORDING in task.breakdown.asked for task in tasks)
    by = (*([TASK] if many else []), *([WORDING] if worded else []))
    title = ", ".join([*(["{task}"] if many else []), *(["wording {wording}"] if worded else [])])
    return QuotedQuestions(block=TASK if many else "", by=by, title=title or "{block}")


_EXAMPLES = Section(
    "examples", "Examples",
    (Answers(lead="Stored answers behind the strongest numbers.", empty="No example: no number has an answer."),),
)  # fmt: skip
_EACH, _MOST = 3, 6  # examples of a take, and of all


def _wanted(selections: Sequence[Of], columns: Collection[str], look: Look) -> list[Wanted]:
    """A stored answer behind each of the strongest estimates of every take, those found first.

    Its title begins with what the estimate is of.
    """
    out = []
    for of in selections:
        rows = sorted(
            (e for e in look.rows(of) if e.value is not None), key=lambda e: (not look.found(e), -abs(e.value or 0.0))
        )
        for e in rows[:_EACH]:
            levels = tuple(name for name in e.labels if name in columns)
            finding = f"{look.said(of.label, e)}: {look.value(e)} {look.interval(e)}"
            further = sorted({*columns} - {*levels, WORDING})
            title = "".join(f"[, {{{name}}}]" for name in (*levels, *further))
            title += f"[, wording {{{WORDING}}}]" if WORDING in columns else ""
            out.append(
                Wanted(
                    finding=finding, title=title, rows=at_levels_of(e, *levels), needs=levels, once=("trial",),
                    longest=320,
                )
            )  # fmt: skip
    return out[:_MOST]


def _wordings(breakdown: Breakdown) -> StatedCard:
    """In how many wordings a question is asked."""
    if WORDING not in breakdown.asked:
        return ONE_WORDING
    return replace(
        ONE_WORDING,
        value=f"Asked in {len(breakdown.levels(WORDING))} wordings",
        note="Estimates are averages over them. Break a take down by wording to see how far the results hang on it.",
    )


def _together(rows: Iterable[_Taken]) -> list[_Taken]:
    """Takes of one score; spreads between several dimensions that are of one family are one selection."""
    out: dict[object, _Taken] = {}
    dimensions: dict[object, dict[str, None]] = {}
    for row in rows:
        key = row.of.measure, row.of.by, row.take.named()
        out.setdefault(key, row)
        dimensions.setdefault(key, {})[row.take.of] = None
    return [
        row._replace(of=replace(row.of, where={DIMENSION: tuple(dimensions[key])})) if DIMENSION in row.of.by else row
        for key, row in out.items()
    ]


def _selection(take: Take, task: Task, score: Score) -> Of:
    """The estimates of a take of one score."""
    by = (*take.by, DIMENSION) if take.measure in UNSIGNED else take.by
    if take.compares:
        by, word = (*take.by, take.of, CONTRAST), "less" if take.measure == GAP else "beside"
        form = "".join(f"{{{name}}}, " for name in take.by) + f"{{{take.of}}} {word} {{{CONTRAST}:{take.of}}}"
    else:
        form = ", ".join(f"{{{name}}}" for name in by) or "Over everything"
    return Of(measure_name(take, task.breakdown, score), by, label=form, order="value")


def _title(take: Take) -> str:
    name = take.named()
    if not name:
        name = f"{_TITLES[take.measure]} by {', '.join(take.by)}" if take.by else _TITLES[take.measure]
    return name[:1].upper() + name[1:]


def _described(row: _Taken, *, several: bool) -> Described:
    """What leads where nothing is tested."""
    of_score = f" of {row.score.name.replace('_', ' ')}" if several else ""
    text = f"({_lower(_title(row.take))}{of_score}: described, and not tested)"
    beside = {}
    if row.take.measure == SIMILARITY:
        beside = {companions(row.take, row.of.measures[0])[1]: "two lists about one picture"}
    return Described(of=row.of, text=text, row=f"{row.of.label}: {{value}}", beside=beside)


def _section(name: str, title: str, members: Sequence[_Taken], *, several: bool) -> Section:
    """Takes of one title, a table for each."""
    alone = len({row.take for row in members}) == 1
    first = members[0]
    tables = [_strips(row, alone=alone, several=several, key=row is first) for row in members]
    for row, table in zip(members, tuple(tables), strict=True):
        if row.take.measure in _BESIDE:
            tables += [replace(table, of=(replace(row.of, measure=measure),), title=title, key=False)
                       for measure, title in zip(companions(row.take, row.of.measures[0]), _BESIDE[row.take.measure],
                                                 strict=True)]  # fmt: skip
    return Section(name, title, tuple(tables), each_model=True, lead=_LEADS[members[0].take.measure])


def _strips(row: _Taken, *, alone: bool, several: bool, key: bool) -> Strips:
    """A table of a take.

    `alone`: whether no other take has its title. `several`: whether there are other scores. `key`: whether marks are
    explained.
    """
    take = row.take
    first = ", ".join(take.by).capitalize() or "Of"
    names = take.by if take.measure in UNSIGNED else (*take.by, *filter(None, [take.of]))
    title = _title(take) if alone or not names else f"{_TITLES[take.measure]}: {', '.join(names)}"
    heading = row.score.title if several else ""
    return Strips(of=(row.of,), first=first, title=f"{title}: {_lower(heading)}" if heading else title,
                  heading=heading, key=key, empty="Not measurable.")  # fmt: skip


_BESIDE = {
    FLIP: ("Answers that differ from that about the base", "Answers that differ where one picture is asked twice"),
    RANGE: ("Ranges that one in ten exceeds",),
    SIMILARITY: ("What two lists about one picture have beyond it", "Similarity of two lists about one picture"),
}
"""Titles of the tables of what stands beside a take."""


def _lower(title: str) -> str:
    return title[:1].lower() + title[1:]
