"""Default pages: what follows from the estimands of a study that declares no page of its own."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from facevalue.measures.caveats import add_caveat
from facevalue.measures.definitions import key_of
from facevalue.measures.judges import JUDGE_AGREEMENTS, JUDGE_ALPHAS, JUDGE_SWAPPED, JUDGE_WITHOUT, JUDGED_BY
from facevalue.prompts.variants import Variant
from facevalue.protocol.asks import WORDING
from facevalue.protocol.blocks import StoredAnswers, Strips
from facevalue.protocol.cards import NO_SCORER, ONE_WORDING, OUTSIDE_SCORES, RATES, Rate, StatedCard, UnitsCard
from facevalue.protocol.charts import Dumbbells
from facevalue.protocol.estimand_findings import facet_of, findings_of
from facevalue.protocol.examples import QuotedQuestions, Wanted, at_levels_of
from facevalue.protocol.instrument_measures import NA_SPREAD
from facevalue.protocol.look import Look, Of
from facevalue.protocol.outside_scores import NEXT_STEPS
from facevalue.protocol.page import Described, Findings, Page, Section
from facevalue.protocol.tasks import TASK, Task
from facevalue.protocol.written import outside_of
from facevalue.statistics.breakdown import DIMENSION, Breakdown
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.rivals import ALIKE, LEVELS_MEAN, OTHERS
from facevalue.statistics.statistic import PairNames, Score, Unsigned

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
    (JUDGE_ALPHAS, "Agreement beyond chance (Krippendorff's alpha)", "Alpha", _NO_PEOPLE),
    (JUDGE_AGREEMENTS, "Texts that are sorted alike", "Share", _NO_PEOPLE),
    (
        (JUDGE_SWAPPED, JUDGE_WITHOUT),
        "Texts sorted otherwise once group words are swapped or taken out; floor: asked again",
        "Share",
        "No text with words for groups was judged again.",
    ),
)
"""Checks of a judge: measures, title, what the number is, and what is said where there is none."""


class _EstimandRow(NamedTuple):
    """An estimand of one score, and its estimates."""

    estimand: Estimand
    score: Score
    of: Of
    task: Task


def page_of(tasks: Sequence[Task], variants: Sequence[Variant] = ()) -> Page:
    """Make the page of a study from its estimands: all tested ones lead, and each family has a section.

    `variants`: those that the study declares, which have a section of their own.
    """
    rows = _together(
        _EstimandRow(estimand, score, _selection(estimand, task, score), task)
        for task in tasks for estimand in task.estimands for score in task.scores_of(estimand)
    )  # fmt: skip
    several = len({row.score.name for row in rows}) > 1
    by_task = () if len(tasks) == 1 else (TASK,)
    factors = list(dict.fromkeys(name for task in tasks for name in task.breakdown.factors))
    tested = [row for row in rows if row.estimand.tested]
    together: dict[str, list[_EstimandRow]] = {}
    for row in rows:
        together.setdefault(_title(row.estimand), []).append(row)
    sections = tuple(
        _section(f"estimand-{number}", title, members, several=several)
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
            Strips(of=(Of(NA_SPREAD, (*by_task, DIMENSION)),), first="Between", what="Spread", numbers="",
                   title="Spread of missing answers between groups"),
        ),
        each_model=True,
        lead="A missing answer is never counted as zero. Worrying: a rate of 5% or more, or groups that differ in it.",
    )  # fmt: skip
    titles = {
        name: measure.title for task in tasks for name, measure in outside_of(task.ask.reply).measures("").items()
    }
    varied = [_varied(rows, variants, several=several)] if variants else []
    judged = _judged(tasks, rows, by_task)
    others = {
        row.estimand.compared_factor: {
            OTHERS: "all others", LEVELS_MEAN: "the mean of all", ALIKE: "those that are alike"
        }
        for row in rows if row.estimand.compared_factor
    }  # fmt: skip
    return Page(
        lead=tuple(_findings(row, several=several, shared=_is_shared(row.estimand, tested)) for row in tested)
        or tuple(_described(row, several=several) for row in rows),
        sections=(*sections, *varied, *judged, _EXAMPLES, missing),
        titles=others,
        examples=partial(_wanted, [row.of for row in rows], {*by_task, *factors}),
        questions=_questions(tasks),
        stated=(_wordings(tasks[0].breakdown), OUTSIDE_SCORES if titles else NO_SCORER),
        rates=(*RATES, *(Rate(of=Of(name, by_task), title=title, note=_NO_SCORE) for name, title in titles.items())),
        missing=partial(_unsettled, list(titles)),
        units=UnitsCard(
            of=() if tested else (rows[0].of,),
            floor="Noise floor" if any(isinstance(row.estimand.statistic, Unsigned) for row in rows[:1]) else "",
        ),
    )


def _is_shared(estimand: Estimand, tested: Sequence[_EstimandRow]) -> bool:
    """Whether others of an estimand's family compare levels of another factor."""
    family, factor = estimand.family, estimand.compared_factor
    return bool(family) and any(
        row.estimand.family == family and row.estimand.compared_factor != factor for row in tested
    )


def _findings(row: _EstimandRow, *, several: bool, shared: bool) -> Findings:
    """What a page says of a tested estimand, and whom that is about."""
    facet = facet_of(row.estimand, row.score, row.task.ask.reply, row.task.breakdown)
    sets = row.task.breakdown.sets
    sides = PairNames(sets.beside_base, sets.base_name)
    findings = findings_of(row.estimand, row.score, row.of, several=several, shared=shared, sides=sides)
    return replace(findings, facet=facet)


def _unsettled(statuses: Sequence[str], look: Look) -> str:
    """Say how texts get a score where none has one; nothing elsewhere."""
    reasons = (name.partition(".")[0] for name in statuses if (e := look.one(name)) is not None and e.value == 1)
    return " ".join(dict.fromkeys(NEXT_STEPS[reason] for reason in reasons if reason in NEXT_STEPS))


def _varied(rows: Sequence[_EstimandRow], variants: Sequence[Variant], *, several: bool) -> Section:
    """Estimates of each estimand as it is asked and in each variant."""
    charts = (
        Dumbbells(
            of=(row.of,), first=", ".join(row.estimand.by).capitalize() or "Of", what="As it is → varied",
            heading=f"{_title(row.estimand)}: {_lower(row.score.title)}" if several else _title(row.estimand),
            numbers="The changes",
        )
        for row in rows
    )  # fmt: skip
    lead = " ".join([_VARIED, *(f"{variant.label}: {variant.description}." for variant in variants)])
    return Section("variants", "Asked in other ways", tuple(charts), each_model=True, lead=lead)


def _judged(tasks: Sequence[Task], rows: Sequence[_EstimandRow], by_task: tuple[str, ...]) -> list[Section]:
    """What a judge and scorers leave out, how far people agree with the judge, and how far group words move it."""
    replies = [outside_of(task.ask.reply) for task in tasks]
    statuses = {key: measure.title for outside in replies for key, measure in outside.measures("").items()}
    if not statuses:
        return []
    parts = [
        Strips(
            of=tuple(Of(name, by_task, label=title) for name, title in statuses.items()), first="Of all texts",
            what="Share", title="Texts that are not sorted or scored", empty="Not measurable.",
        )
    ]  # fmt: skip
    sortings = {sorting.name: sorting for outside in replies for sorting in outside.judged}
    for kinds, title, what, empty in _CHECKS if sortings else ():
        checks = [(kind, name) for name in sortings for kind in kinds]
        of = tuple(Of(key_of(kind, name), label=f"{kind} {name}".replace("_", " ")) for kind, name in checks)
        parts.append(Strips(of=of, first="Of", what=what, title=title, key=False, empty=empty))
    shares = {f"{name}_{category}" for name, sorting in sortings.items() for category in sorting.categories}
    of_shares = [row for row in rows if any(row.score.name.endswith(share) for share in shares)]
    if of_shares:
        by = f"({{{JUDGED_BY}}})"
        of = tuple(
            replace(
                row.of, by=(*row.of.by, JUDGED_BY), label=f"{row.score.name.replace('_', ' ')}, {row.of.label} {by}"
            )
            for row in of_shares
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
    (StoredAnswers(lead="Stored answers behind the strongest numbers.", empty="No example: no number has an answer."),),
)  # fmt: skip
_EACH, _MOST = 3, 6  # examples of an estimand, and of all


def _wanted(selections: Sequence[Of], columns: Collection[str], look: Look) -> list[Wanted]:
    """A stored answer behind each of the strongest estimates of every estimand, those found first.

    Its title begins with what the estimate is of.
    """
    out = []
    for of in selections:
        rows = sorted(
            (e for e in look.rows(of) if e.value is not None), key=lambda e: (not look.found(e), -abs(e.value or 0.0))
        )
        for e in rows[:_EACH]:
            levels = tuple(name for name in e.labels if name in columns)
            finding = add_caveat(f"{look.said(of.label, e)}: {look.value(e)} {look.interval(e)}", e.caveat)
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
        note="Estimates are averages over them. Break one down by wording to see how far the results hang on it.",
    )


def _together(rows: Iterable[_EstimandRow]) -> list[_EstimandRow]:
    """Estimands of one score; spreads between several dimensions that are of one family are one selection."""
    out: dict[object, _EstimandRow] = {}
    dimensions: dict[object, dict[str, None]] = {}
    for row in rows:
        key = row.of.measure, row.score.name, row.of.by, row.estimand.family_name
        out.setdefault(key, row)
        dimensions.setdefault(key, {})[row.estimand.compared_factor] = None
    return [
        row._replace(of=replace(row.of, where={**row.of.where, DIMENSION: tuple(dimensions[key])}))
        if DIMENSION in row.of.by
        else row
        for key, row in out.items()
    ]


def _selection(estimand: Estimand, task: Task, score: Score) -> Of:
    """The estimates of an estimand of one score."""
    statistic, by = estimand.statistic, estimand.by
    key = key_of(estimand.name_of(task.breakdown), score.label)
    return Of(key, statistic.labels(by), label=statistic.label_form(by), order="value")


def _title(estimand: Estimand) -> str:
    title = estimand.statistic.title
    name = estimand.family_name or (f"{title} by {', '.join(estimand.by)}" if estimand.by else title)
    return name[:1].upper() + name[1:]


def _described(row: _EstimandRow, *, several: bool) -> Described:
    """What leads where nothing is tested."""
    of_score = f" of {row.score.name.replace('_', ' ')}" if several else ""
    text = f"({_lower(_title(row.estimand))}{of_score}: described, and not tested)"
    beside, statistic = {}, row.estimand.statistic
    if statistic.of_lists:
        beside = {statistic.companions(row.of.measures[0])[1]: "two lists about one picture"}
    return Described(of=row.of, text=text, row=f"{row.of.label}: {{value}}", beside=beside)


def _section(name: str, title: str, members: Sequence[_EstimandRow], *, several: bool) -> Section:
    """Estimands of one title, a table for each."""
    alone = len({row.estimand for row in members}) == 1
    first = members[0]
    tables = [_strips(row, alone=alone, several=several, key=row is first) for row in members]
    for row, table in zip(members, tuple(tables), strict=True):
        statistic = row.estimand.statistic
        if statistic.companion_titles:
            names = statistic.companions(row.of.measures[0])
            tables += [
                replace(table, of=(replace(row.of, measure=measure),), title=title, key=False)
                for measure, title in zip(names, statistic.companion_titles, strict=True)
            ]
    return Section(name, title, tuple(tables), each_model=True, lead=first.estimand.statistic.lead)


def _strips(row: _EstimandRow, *, alone: bool, several: bool, key: bool) -> Strips:
    """A table of an estimand.

    `alone`: whether no other estimand has its title. `several`: whether there are other scores. `key`: whether marks
    are explained.
    """
    estimand = row.estimand
    first = ", ".join(estimand.by).capitalize() or "Of"
    names = estimand.by if isinstance(estimand.statistic, Unsigned) else estimand.factors
    title = _title(estimand) if alone or not names else f"{estimand.statistic.title}: {', '.join(names)}"
    heading = row.score.title if several else ""
    return Strips(of=(row.of,), first=first, title=f"{title}: {_lower(heading)}" if heading else title,
                  heading=heading, key=key, empty="Not measurable.")  # fmt: skip


def _lower(title: str) -> str:
    return title[:1].lower() + title[1:]
