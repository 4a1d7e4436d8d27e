"""Default pages: sections and findings that follow from the estimands of a study without a page of its own."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from typing import NamedTuple

from facevalue.measures.caveats import add_caveat
from facevalue.measures.definitions import key_of, split_key
from facevalue.measures.judges import JUDGE_AGREEMENTS, JUDGE_ALPHAS, JUDGE_SWAPPED, JUDGE_WITHOUT, JUDGED_BY
from facevalue.prompts.variants import Variant
from facevalue.protocol.asks import WORDING
from facevalue.protocol.blocks import StoredAnswers, Strips
from facevalue.protocol.cards import NO_SCORER, ONE_WORDING, OUTSIDE_SCORES, RATES, Rate, StatedCard, UnitsCard
from facevalue.protocol.charts import Dumbbells
from facevalue.protocol.contents import QuotedQuestions, Wanted, at_levels_of
from facevalue.protocol.facets import FAVOURS, IMPLICIT, NEITHER, ONE_PERSON, TWO_PEOPLE, Facet, Kinds
from facevalue.protocol.instrument import NA_SPREAD
from facevalue.protocol.look import Look, Of
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.open_answers import Text, outside_of
from facevalue.protocol.outside_scores import NEXT_STEPS
from facevalue.protocol.page import Described, Findings, Page, Section
from facevalue.protocol.replies import Reply
from facevalue.protocol.structured_replies import NamedList
from facevalue.protocol.tasks import TASK, Task
from facevalue.statistics.breakdown import CONTRAST, DIMENSION, Breakdown
from facevalue.statistics.contrasts import Gap
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.rivals import ALIKE, LEVELS_MEAN, OTHERS
from facevalue.statistics.statistic import NO_NAMES, PairNames, Score, Unsigned, contrast_form

# Findings of estimands: how they read, and whom they are about, in a study that declares no page.


SIMILARITIES = ("SSIM", "cosine")
"""Units of similarities: between -1 and 1, and no shares of anything."""
_MOST_NAMED = 3
"""Levels of a cue that a row names where an estimand is over all of them."""


def facet_of(estimand: Estimand, score: Score, reply: Reply, breakdown: Breakdown) -> Facet | None:
    """Describe whom the findings of an estimand are about; None where they are about no group, as a spread is.

    The group is the level that a gap or preference is of, else those levels of pictures that a shift or lean is broken
    down by; a shift of everything is that of what was changed. What the prompt varies is the trait.
    """
    statistic = estimand.statistic
    if not statistic.facet_title:
        return None
    prompt = [name for name in estimand.by if breakdown.is_of_prompt(name)]
    of_pictures = [name for name in estimand.by if name not in prompt]
    dimension, group, versus = _group(estimand, of_pictures, breakdown)
    if not dimension:
        return None
    return Facet(
        title=statistic.facet_title.format(statistic.facet_words(score.words)),
        dimension=dimension,
        group=group,
        trait=", ".join(f"{{{name}}}" for name in [*prompt, *(of_pictures if statistic.compares else ())]),
        versus=versus,
        kinds=Kinds(
            directness=IMPLICIT if isinstance(reply, Text | NamedList) else Kinds().directness,
            people=TWO_PEOPLE if statistic.of_pairs else ONE_PERSON,
        ),
        means=FAVOURS if score.favours else NEITHER,
    )


def _group(estimand: Estimand, of_pictures: list[str], breakdown: Breakdown) -> tuple[str, str, str]:
    """Dimension, form of the group, and form of the one group it is compared with; empty where there is none."""
    statistic = estimand.statistic
    if statistic.compares:
        factor = estimand.compared_factor
        return factor, f"{{{factor}:raw}}", contrast_form(factor) if statistic.has_single_rival(breakdown) else ""
    if of_pictures:
        first = next((name for name in of_pictures if name in breakdown.sets.cue), of_pictures[0])
        return first, ", ".join(f"{{{name}}}" for name in of_pictures), ""
    cue = breakdown.sets.cue if statistic.from_base or statistic.of_pairs else ()
    if not cue:
        return "", "", ""
    levels = [level for level in breakdown.levels(cue[-1]) if level != breakdown.sets.base_level]
    return cue[-1], " or ".join(levels) if len(levels) <= _MOST_NAMED else "any", ""


def findings_of(
    estimand: Estimand, score: Score, of: Of, *, several: bool, shared: bool = False, sides: PairNames = NO_NAMES
) -> Findings:
    """Describe what a page says of the differences of an estimand of one score.

    `of`: its estimates. `several`: whether there are other scores. `shared`: whether its family has estimands of other
    factors. `sides`: what stands beside the base in pairs, and what shifts and preferences are from, where they have
    names.

    Examples
    --------
    >>> from facevalue.protocol.replies import rating
    >>> from facevalue.statistics.contrasts import Gap
    >>> gap = Estimand(Gap(factor="gender"))
    >>> findings_of(gap, rating(1, 10).scores[0], Of("gap", ("gender",)), several=False).moved
    ('rated {size} higher than {contrast:gender}', 'rated {size} lower than {contrast:gender}')
    """
    statistic, by = estimand.statistic, estimand.by
    words = statistic.quantity_words(estimand.measure, score)
    unit, per = statistic.told_in
    if not unit:
        unit, per = _told_in(score)
    up, down = score.moved if score.moved[0] else (f"{words} {{size}} higher", f"{words} {{size}} lower")
    factor = estimand.compared_factor.replace("_", " ")
    higher, lower = statistic.direction_forms(by, up, down, sides, words)
    rates = score.is_share and isinstance(statistic, Gap) and not statistic.of_shifts
    name = f"{estimand.family_name}, by {factor}" if shared else estimand.family_name
    return Findings(
        of=(of,),
        noun=statistic.noun(by),
        subject=statistic.subject(by, sides),
        moved=(f"{higher}{{even}}", f"{lower}{{even}}") if rates else (higher, lower),
        even=partial(_both_rates, estimand.compared_factor) if rates else None,
        quantity=statistic.phrase(words),
        effect=statistic.effect,
        unit=unit,
        per=per,
        row=statistic.row(by, sides),
        title=f"Clearest: {name}{f', {score.words}' if several else ''}",
    )


def _both_rates(factor: str, look: Look, e: Estimate) -> str:
    """Rates that a difference is between, in brackets, where the study estimates both; else empty."""
    levels = {
        name: level for name, level in e.labels.items() if name not in (CONTRAST, DIMENSION) and level is not None
    }
    rates = [look.find("mean", **levels), look.find("mean", **levels | {factor: e[CONTRAST] or ""})]
    if any(rate is None or rate.value is None for rate in rates):
        return ""
    return f" ({' against '.join(map(look.value, rates))})"


def _told_in(score: Score) -> tuple[str, float]:
    """The unit in which people are told a score, and how many of it one of the score is; empty for its own."""
    if score.unit == "points":  # as tables have them, but where the highest says what they are of
        return (f"of {score.high:g} points" if score.low in (0, 1) and 1 < score.high < inf else "scale points"), 1.0
    if score.low >= -1 and score.high <= 1 and score.unit not in SIMILARITIES:
        return "points", 100.0
    return "", 1.0


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
    rows = _merge_rows(
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
    varied = [_variant_section(rows, variants, several=several)] if variants else []
    judged = _judge_sections(tasks, rows, by_task)
    others = {
        row.estimand.compared_factor: {
            OTHERS: "all others", LEVELS_MEAN: "the mean of all", ALIKE: "those that are alike"
        }
        for row in rows if row.estimand.compared_factor
    }  # fmt: skip
    return Page(
        lead=tuple(_findings(row, several=several, shared=_is_shared(row.estimand, tested)) for row in tested)
        or tuple(_describe_row(row, several=several) for row in rows),
        sections=(*sections, *varied, *judged, _EXAMPLES, missing),
        titles=others,
        examples=partial(_find_examples, [row.of for row in rows], {*by_task, *factors}),
        questions=_questions(tasks),
        stated=(_wordings(tasks[0].breakdown), OUTSIDE_SCORES if titles else NO_SCORER),
        rates=(*RATES, *(Rate(of=Of(name, by_task), title=title, note=_NO_SCORE) for name, title in titles.items())),
        missing=partial(_describe_unsettled, list(titles)),
        units=UnitsCard(
            of=() if tested else (rows[0].of,),
            floor="Noise floor" if any(isinstance(row.estimand.statistic, Unsigned) for row in rows[:1]) else "",
        ),
    )


def _is_shared(estimand: Estimand, tested: Sequence[_EstimandRow]) -> bool:
    """Return whether others of an estimand's family compare levels of another factor."""
    family, factor = estimand.family, estimand.compared_factor
    return bool(family) and any(
        row.estimand.family == family and row.estimand.compared_factor != factor for row in tested
    )


def _findings(row: _EstimandRow, *, several: bool, shared: bool) -> Findings:
    """Sentences of a page about the findings of a tested estimand, with the people that they are about."""
    facet = facet_of(row.estimand, row.score, row.task.ask.reply, row.task.breakdown)
    sets = row.task.breakdown.sets
    sides = PairNames(sets.beside_base, sets.base_name)
    findings = findings_of(row.estimand, row.score, row.of, several=several, shared=shared, sides=sides)
    return replace(findings, facet=facet)


def _describe_unsettled(statuses: Sequence[str], look: Look) -> str:
    """Say how texts get a score where none has one; nothing elsewhere."""
    reasons = (split_key(name)[0] for name in statuses if (e := look.find(name)) is not None and e.value == 1)
    return " ".join(dict.fromkeys(NEXT_STEPS[reason] for reason in reasons if reason in NEXT_STEPS))


def _variant_section(rows: Sequence[_EstimandRow], variants: Sequence[Variant], *, several: bool) -> Section:
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


def _judge_sections(tasks: Sequence[Task], rows: Sequence[_EstimandRow], by_task: tuple[str, ...]) -> list[Section]:
    """Sections on texts that judge and scorers leave out, people's agreement with the judge, and group words."""
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
    worded = any(WORDING in task.breakdown.prompt_factors for task in tasks)
    by = (*([TASK] if many else []), *([WORDING] if worded else []))
    title = ", ".join([*(["{task}"] if many else []), *(["wording {wording}"] if worded else [])])
    return QuotedQuestions(block=TASK if many else "", by=by, title=title or "{block}")


_EXAMPLES = Section(
    "examples", "Examples",
    (StoredAnswers(lead="Stored answers behind the strongest numbers.", empty="No example: no number has an answer."),),
)  # fmt: skip
_EACH, _MOST = 3, 6  # examples of an estimand, and of all


def _find_examples(selections: Sequence[Of], columns: Collection[str], look: Look) -> list[Wanted]:
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
    if WORDING not in breakdown.prompt_factors:
        return ONE_WORDING
    return replace(
        ONE_WORDING,
        value=f"Asked in {len(breakdown.levels(WORDING))} wordings",
        note="Estimates are averages over them. Break one down by wording to see how far the results hang on it.",
    )


def _merge_rows(rows: Iterable[_EstimandRow]) -> list[_EstimandRow]:
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


def _describe_row(row: _EstimandRow, *, several: bool) -> Described:
    """Description that leads the page where nothing is tested."""
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
