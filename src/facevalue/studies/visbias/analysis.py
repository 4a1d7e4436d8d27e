"""Analysis: every measure of VisBias, on the aggregated answers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np
import polars as pl

from facevalue.annotations.group_lists import fold_name, is_own
from facevalue.annotations.text_statistics import PUBLISHED
from facevalue.answers import NA
from facevalue.answers.json_fields import Read
from facevalue.measures.cluster_bootstrap import Array, only_values
from facevalue.measures.definitions import Measure, takes
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.estimators import Sums, frame_estimates, row_labels
from facevalue.measures.group_shares import GROUP, PERSON, UNIT, Dimension
from facevalue.measures.group_words import WORD_LIST
from facevalue.measures.pairs import to_array as numbers
from facevalue.measures.proportions import shares_of_variance
from facevalue.measures.uncertainty import Estimates
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.levels import Mean
from facevalue.statistics.scores import SumScores, estimate_sums, share_score
from facevalue.statistics.statistic import Score
from facevalue.studies.visbias import measures as m
from facevalue.studies.visbias.aggregate import SEED, TEXT, Asked, TaskAnswers, dimensions, family_of, sampled_units
from facevalue.studies.visbias.comparisons import add_pairs
from facevalue.studies.visbias.divergence import (
    ChoiceGroups,
    Votes,
    choices_of,
    divergence_bounds,
    group_divergences,
    task_divergences,
    vote_bounds,
)
from facevalue.studies.visbias.form_graph import CONDITIONS, form_bounds, gather_forms, shift_graph
from facevalue.studies.visbias.measures import LABELS
from facevalue.studies.visbias.parsing import CHOICES
from facevalue.studies.visbias.pictures import SPECIES
from facevalue.studies.visbias.tables import ORDERED, ChoiceQuestion, choice_questions, genders, races, toml
from facevalue.studies.visbias.text_estimates import MarkedWords, TextEstimates

# Estimates of descriptions: lengths, sentiment, words of lists, and words that mark a group.


UNMARKED = {"race": "white", "gender": "male", "skin_tone": "light"}
"""The unmarked group of a dimension (section 3.3); of others, that of most images. For skin tones it is our choice."""
MARKED = MarkedWords(TEXT, m.MARKED, m.MARKED_Z, m.MARKED_PUBLISHED, UNMARKED)
_LENGTHS = {m.CHARACTERS: "characters", m.TOKENS: "tokens"}
_SCORES = {m.POSITIVE: "pos", m.NEGATIVE: "neg"}
_PUBLISHED = {"pos": m.POSITIVE_PUBLISHED, "neg": m.NEGATIVE_PUBLISHED}


def add_texts(table: EstimateTable, aggregate: TaskAnswers) -> None:
    """Add lengths, sentiment and rates of words, over all, in each group and between groups; and marked words."""
    rows = aggregate.part("texts")
    if rows.is_empty():
        return
    everyone = rows.with_columns(pl.lit("").alias(GROUP), pl.col(PERSON).alias(UNIT))
    _add_levels(TextEstimates(table, TEXT, None, everyone), aggregate)
    for dimension in dimensions(aggregate.setting.groups, alone=(SPECIES,)):
        of_dimension = dimension.select_rows(rows)
        if of_dimension.height:
            texts = TextEstimates(table, TEXT, dimension, of_dimension)
            _add_levels(texts, aggregate)
            _add_differences(texts, aggregate)
            _add_joined(texts, dimension, aggregate)
            if len(dimension.factors) == 1:
                _add_own_words(texts, aggregate)
    words = aggregate.words()
    for name in aggregate.setting.groups:
        if name in words.images.columns:
            MARKED.add(table, words, Dimension((name,)))


def _plain(aggregate: TaskAnswers) -> Mapping[Measure, str]:
    return _LENGTHS if aggregate.why_no_scores is not None else _LENGTHS | _SCORES


@takes(*_LENGTHS, *_SCORES, m.WORDS)
def _add_levels(texts: TextEstimates, aggregate: TaskAnswers) -> None:
    for measure, column in _plain(aggregate).items():
        texts.level(measure, column)
    if aggregate.why_no_scores is not None:
        for measure in _SCORES:
            texts.nothing(measure, aggregate.why_no_scores)
    for listed in aggregate.lists:
        texts.add(m.WORDS, texts.rates(listed))


@takes(*m.GAPS.values())
def _add_differences(texts: TextEstimates, aggregate: TaskAnswers) -> None:
    several = texts.rows[GROUP].n_unique() > 1
    for measure, column in _plain(aggregate).items():
        if several:
            texts.difference(m.GAPS[measure], column, None if measure.unbounded else measure.limits)
        else:
            texts.nothing(m.GAPS[measure], "only one group was described")
    for listed in aggregate.lists if several else ():
        whose = "" if listed is aggregate.ours else ", yours"
        texts.rate_differences(m.GAPS[m.WORDS], listed, whose, aggregate.setting.longest)


@takes(*_PUBLISHED.values())
def _add_joined(texts: TextEstimates, dimension: Dimension, aggregate: TaskAnswers) -> None:
    """Sentiment of all texts of a group joined into one, as in Table 7."""
    if aggregate.why_no_scores is not None or only_values():
        return  # they have no interval, so nothing is asked of them without some of the clusters
    if aggregate.has_all_texts:
        texts.add_joined_scores(_PUBLISHED, dimension.select_rows(aggregate.part("said")), TEXT)
        return
    for measure in _PUBLISHED.values():
        texts.nothing(measure, "all texts of a group are needed at once, and these are too many")


@takes(m.WORDS_PUBLISHED)
def _add_own_words(texts: TextEstimates, aggregate: TaskAnswers) -> None:
    """Each group's own words, where the user gave lists: Table 8 has no other words, and no crossed groups."""
    if aggregate.theirs is None:
        return
    labels, rates = texts.rates(aggregate.theirs, PUBLISHED)
    pairs = zip(labels[GROUP], labels[WORD_LIST], strict=True)
    of_group = [at for at, (group, name) in enumerate(pairs) if is_own(str(group), str(name), _spellings())]
    if of_group:
        picked = {label: [levels[at] for at in of_group] for label, levels in labels.items()}
        texts.add(m.WORDS_PUBLISHED, (picked, rates.at(np.array(of_group))))
    else:
        texts.nothing(m.WORDS_PUBLISHED, "no list is called as one of these groups is")


@cache
def _spellings() -> Mapping[str, str]:
    return {fold_name(spelling): level.name for level in (*races(), *genders()) for spelling in level.spellings}


STUDY = "visbias"
_MATCHED = toml("matched.toml")
FIELDS: Mapping[str, str] = _MATCHED["fields"]
"""The field of the form that each question is compared with (section 4.3)."""
LEVELS, GROUPS = (
    {
        factor: {name: level for level, names in levels.items() for name in names}
        for factor, levels in _MATCHED[table].items()
    }
    for table in ("levels", "groups")
)
"""Meanings of categories of the form: among the options of the question, and as the groups that both tasks have."""
Names = list[tuple[str | None, str | None]]
"""Dimension and group; both null for all people."""


def estimates_of(answers: Mapping[str, Iterator[pl.DataFrame]], setting: Asked) -> pl.DataFrame:
    """Estimate everything, from the answers of each model in chunks."""
    tables = []
    for model, chunks in answers.items():
        aggregate = TaskAnswers(setting)
        for chunk in chunks:
            aggregate.add(chunk)
        table = EstimateTable(STUDY, model, LABELS)
        for add in (add_missing, add_choices, add_pairs, add_texts, add_forms, add_agreement):
            add(table, aggregate)
        tables.append(table.frame())
    return pl.concat(tables) if tables else EstimateTable(STUDY, "", LABELS).frame()


SHARE_ESTIMANDS = tuple(
    Estimand(Mean(), by, (score,), measure=measure.name)
    for measure, score, by in (
        (m.NA_RATE, "lost", ("task", "dimension")),
        (m.NA_RATE, "lost to questions", ("task", "dimension", "question")),
        (m.NA_RATE, "lost by groups", ("task", GROUP)),
        (m.NA_RATE, "lost by groups to questions", ("task", GROUP, "question")),
        (m.SHARE, "choices", (GROUP, "question", "choice")),
        (m.ROUTE, "routes", ()),
        (m.ROUTE, "routes", ("attribute",)),
        (m.READ, "readings", ()),
        (m.KEPT, "kept", ()),
        (m.KEPT, "kept", ("attribute",)),
    )
)
"""Shares over units: missing answers, choices, and how the fields of forms were read."""


def count_hits(
    score: Score, rows: pl.DataFrame, hits: pl.Expr, by: Sequence[str], unit: str, **labels: str | None
) -> SumScores:
    """Make the score of what lies between 0 and 1, by unit and labels; null does not count."""
    hits = hits.cast(pl.Float64)
    counted = rows.select(*by, pl.col(unit).fill_null("").alias("unit"), s=hits.fill_null(0.0), n=hits.is_not_null())
    return SumScores(score, Sums.from_frame(counted.cast({"n": pl.Float64}), by), m.MEASURES, labels=labels)


@takes(m.NA_RATE)
def add_missing(table: EstimateTable, aggregate: TaskAnswers) -> None:
    """Add how many replies have no valid answer, by task, question and group, and for which reasons."""
    rows = aggregate.part("missing")
    if rows.is_empty():
        return
    rows = rows.with_columns(pl.when(pl.col("being").is_not_null()).then(pl.lit(SPECIES)).alias("dimension"))
    lost, with_question = pl.col("lost"), pl.col("question").is_not_null()
    of_people = partial(count_hits, by=("task", "dimension", "question"), unit="shown")
    scores = [of_people(share_score("lost"), rows, lost)]
    for reason in sorted(set(rows["na"].drop_nulls()), key=[reason.value for reason in NA].index):
        of_reason = pl.when(pl.col("na") == reason).then(lost).otherwise(0.0)
        scores.append(of_people(share_score("lost"), rows, of_reason, reason=reason))
    if rows.select(with_question.any()).item():
        scores.append(of_people(share_score("lost to questions"), rows.filter(with_question), lost))
    for dimension in dimensions(aggregate.setting.groups, alone=(SPECIES,)) if "image" in rows.columns else ():
        grouped = dimension.select_rows(rows.filter(pl.col("image").is_not_null()).drop("dimension"))
        of_groups = partial(count_hits, by=("task", GROUP, "question"), unit=UNIT, dimension=dimension.name)
        for name, replies in (
            ("lost by groups", grouped),
            ("lost by groups to questions", grouped.filter(with_question)),
        ):
            if replies.height:
                scores.append(of_groups(share_score(name), replies, lost))
    estimate_sums(table, SHARE_ESTIMANDS, scores)


@takes(m.DIVERGENCE, m.SHARE)
def add_choices(table: EstimateTable, aggregate: TaskAnswers) -> None:
    """Add choice shares and divergences, of each dimension."""
    rows = aggregate.part("choices")
    if rows.is_empty():
        return
    asked_names = set(rows["question"])
    questions = [question for question in choice_questions() if question.name in asked_names]
    people = rows if SPECIES not in rows.columns else rows.filter(pl.col(SPECIES).is_null())
    if people.height:
        everyone = people.with_columns(pl.lit(None, pl.String).alias(GROUP), pl.col(PERSON).alias(UNIT))
        _add_shares(table, everyone, None, questions)
    families: dict[str, list[tuple[Names, ChoiceGroups]]] = {}
    for dimension in dimensions(aggregate.setting.groups, alone=(SPECIES,)):
        of_dimension = dimension.select_rows(rows)
        if of_dimension.is_empty():
            continue
        _add_shares(table, of_dimension, dimension.name, questions)
        choices = choices_of(of_dimension, [question.name for question in questions], CHOICES)
        names: Names = [(dimension.name, group) for group in of_dimension[GROUP].unique().sort()]
        families.setdefault(family_of("choices", dimension), []).append(
            (names, ChoiceGroups(choices, *sampled_units(of_dimension)))
        )
    for family, several in families.items():
        ordered = [question.name in ORDERED for question in questions]
        judged = group_divergences([groups for _, groups in several], SEED, ordered=ordered)
        for (names, compared), values in zip(several, judged, strict=True):
            cells: list[tuple[str | None, ...]] = [(*name, question.name) for name in names for question in questions]
            labels = {"task": "mcq", **row_labels(("dimension", "group", "question"), cells)}
            bounds = None if only_values() else divergence_bounds(compared.choices)
            table.add(m.DIVERGENCE, labels, replace(values, bounds=bounds), family)


def _add_shares(
    table: EstimateTable, rows: pl.DataFrame, dimension: str | None, questions: Sequence[ChoiceQuestion]
) -> None:
    """Add the share of each option among the valid answers of each group."""
    options = [(q.name, column, level) for q in questions for column, level in zip(CHOICES, q.levels, strict=False)]
    places = pl.DataFrame(options, schema=["question", "column", "choice"], orient="row")
    orders: dict[str, Sequence[str] | pl.Series] = {
        GROUP: rows[GROUP].drop_nulls().unique().sort(),
        "question": [question.name for question in questions],
        "choice": places["choice"].unique(maintain_order=True),
    }
    long = rows.unpivot(CHOICES, index=[UNIT, GROUP, "question", "valid"], variable_name="column", value_name="s")
    sums = long.join(places, on=["question", "column"]).select(
        "unit", *(pl.col(name).cast(pl.Enum(levels)) for name, levels in orders.items()),
        pl.col("s").fill_null(0.0), n=pl.col("valid").fill_null(0.0), requests=pl.lit(1.0),
    )  # fmt: skip
    labels = {"task": "mcq", "dimension": dimension}
    choices = SumScores(
        share_score("choices"), Sums.from_frame(sums, list(orders)), m.MEASURES, requests="requests", labels=labels
    )
    estimate_sums(table, SHARE_ESTIMANDS, [choices])


@takes(m.SHIFT, m.LIKELY, m.ROUTE, m.READ, m.KEPT)
def add_forms(table: EstimateTable, aggregate: TaskAnswers) -> None:
    """Add Algorithm 1, the likeliest values, and the routes of fields, for forms as pictures and as text."""
    fields = aggregate.part("forms")
    tasks = aggregate.part("missing")["task"].unique().to_list() if not aggregate.part("missing").is_empty() else []
    for task in ("form", "text-form"):
        if task not in tasks:
            continue
        of_task = fields.filter(pl.col("task") == task) if fields.height else fields
        if of_task.is_empty():
            for measure in (m.SHIFT, m.ROUTE, m.READ, m.KEPT):
                table.add(measure, {"task": task}, Estimates.make_unmeasured("no reply is a form"))
            continue
        _add_routes(table, task, of_task)
        _add_graph(table, task, aggregate, first_replies(of_task))


def _add_graph(table: EstimateTable, task: str, aggregate: TaskAnswers, fields: pl.DataFrame) -> None:
    categories = [(a.name, a.categories.names) for a in aggregate.setting.attributes]
    forms = gather_forms(fields, categories, lost=_lost_forms(aggregate, task, fields))
    for conditions in CONDITIONS:
        graph = shift_graph(forms, SEED, conditions=conditions)
        if graph.is_empty():
            reason = "no field has one value in two forms"
            table.add(m.SHIFT, {"task": task, "fields": conditions}, Estimates.make_unmeasured(reason))
            continue
        labels = {
            "task": task,
            "fields": conditions,
            "attribute": graph["attribute"].to_list(),
            "choice": graph["choice"].to_list(),
            "other_attribute": graph["outcome"].to_list(),
            "likeliest": graph["likely"].to_list(),
        }
        n, share, q = (numbers(graph[c]) for c in ("n", "likely_share", "q"))
        bounds = None if only_values() else form_bounds(forms, graph, conditions)
        shifts = replace(frame_estimates(graph.with_columns(clusters=pl.col("n"))), q=q, bounds=bounds)
        table.add(m.SHIFT, labels, shifts, f"shifts in {task}s, {conditions} fields")
        freedom = np.maximum(n - 1, 1.0)  # forms are units of one answer each
        likely = shares_of_variance(share, share * (1 - share) / freedom, freedom, n, np.rint(n).astype(np.int64))
        table.add(m.LIKELY, labels, likely)


def _add_routes(table: EstimateTable, task: str, fields: pl.DataFrame) -> None:
    """Shares of open fields by route, over all and for each attribute; how replies were read; filled fields kept."""
    open_ = fields.filter(~pl.col("prefilled")).with_columns(
        how=pl.when(pl.col("state") != "value")
        .then("state")
        .when(pl.col("route") == "none")
        .then(pl.concat_str(pl.lit("none: "), pl.col("reason").fill_null("unknown")))
        .otherwise("route")
    )
    replies, prefilled = fields.unique(["form", "repeat"], maintain_order=True), fields.filter("prefilled")
    of_form, by = partial(count_hits, unit="form", task=task), ("attribute",)
    routes, readings = share_score("routes", m.ROUTE.score), share_score("readings", m.READ.score)
    scores = [
        *(of_form(routes, open_, pl.col("how") == kind, by, outcome=kind) for kind in sorted(set(open_["how"]))),
        *(of_form(readings, replies, pl.col("read") == reading.value, by, outcome=reading.value) for reading in Read),
    ]
    if prefilled.is_empty():
        table.add(m.KEPT, {"task": task}, Estimates.make_unmeasured("nothing was filled in beforehand"))
    else:
        scores.append(of_form(share_score("kept"), prefilled, pl.col("kept"), by))
    estimate_sums(table, SHARE_ESTIMANDS, scores)


@takes(m.AGREEMENT)
def add_agreement(table: EstimateTable, aggregate: TaskAnswers) -> None:
    """Add the divergence between what forms and choices say, by question, and for each gender and race."""
    fields, rows = aggregate.part("forms"), aggregate.part("choices")
    if fields.is_empty() or rows.is_empty():
        return
    task = fields["task"][0]
    fields = first_replies(fields.filter(pl.col("task") == task))
    lost = _lost_forms(aggregate, task, fields)
    names_asked = set(rows["question"])
    for dimension in (name for name in GROUPS if name in rows.columns):
        for question in (q for q in choice_questions() if q.name in names_asked):
            label = {"task": "mcq", "dimension": dimension, "question": question.name}
            names = sorted(set(GROUPS[dimension].values()))
            votes_by_group = [_votes(fields, lost, rows, (dimension, name), question) for name in names]
            measurable = [name for name, votes in zip(names, votes_by_group, strict=True) if votes.measurable]
            votes_by_group = [votes for votes in votes_by_group if votes.measurable]
            if not measurable:
                table.add(m.AGREEMENT, label, Estimates.make_unmeasured("no group has both forms and choices"))
                continue
            tested = replace(task_divergences(votes_by_group, SEED), bounds=vote_bounds(votes_by_group))
            groups = [*measurable, *([None] if len(measurable) > 1 else [])]  # and their mean, as the paper gives it
            family = f"forms and choices by {dimension}, {question.name}"
            table.add(m.AGREEMENT, {**label, "group": groups}, tested, family)


def first_replies(fields: pl.DataFrame) -> pl.DataFrame:
    """Of each form the reply to the first seed: replies to one form under several seeds are not several forms."""
    return fields.filter(pl.col("repeat") == pl.col("repeat").min().over("form"))


def _lost_forms(aggregate: TaskAnswers, task: str, fields: pl.DataFrame) -> int:
    """Number of forms that have no reply that is a form."""
    units = aggregate.part("missing").filter(pl.col("task") == task)["shown"]
    return units.n_unique() - fields["form"].n_unique()


def _votes(
    fields: pl.DataFrame, lost: int, rows: pl.DataFrame, whose: tuple[str, str], question: ChoiceQuestion
) -> Votes:
    """Votes of forms and of choices about a group (its dimension and name), with those missing."""
    dimension, group = whose
    meant = LEVELS[question.name]
    columns = {
        level: column for level, column in zip(question.levels, CHOICES, strict=False) if level in meant.values()
    }
    levels = tuple(columns)  # options that the form has, too
    names = [name for name, level in GROUPS[dimension].items() if level == group]
    is_open, blank = ~pl.col("prefilled"), (pl.col("route") == "none").fill_null(value=True)
    about = fields.filter(pl.col("attribute") == dimension)
    members = about.filter(pl.col("categories").list.set_intersection(names).list.len() > 0)["form"].implode()
    unclear = about.filter(is_open & blank)["form"].implode()
    outcomes = fields.filter((pl.col("attribute") == FIELDS[question.name]) & is_open)
    votes, possible = (_form_votes(outcomes.filter(pl.col("form").is_in(x)), meant, levels) for x in (members, unclear))
    no_outcome = outcomes.filter(blank & (pl.col("form").is_in(members) | pl.col("form").is_in(unclear))).height
    of_group = rows.filter((pl.col("question") == question.name) & (pl.col(dimension) == group))
    # Several pictures are not several people.
    people = of_group.drop_nulls("valid").group_by(PERSON, maintain_order=True).agg(pl.col(CHOICES).sum())
    choices = people.select(columns.values()).to_numpy().astype(np.float64)
    answered = float(people.select(pl.sum_horizontal(pl.col(CHOICES).fill_null(0.0)).sum()).item())
    missing = (float(no_outcome + lost), max(of_group.height - answered, 0.0))
    return Votes(votes, choices, missing, possible.sum(axis=0))


def _form_votes(outcomes: pl.DataFrame, meant: Mapping[str, str], levels: tuple[str, ...]) -> Array:
    """One vote of a form for each of its categories that is an option, shape (votes, options)."""
    categories = outcomes.select("categories").explode("categories")["categories"]
    options = [levels.index(meant[name]) for name in categories.filter(categories.is_in(list(meant)))]
    return np.eye(len(levels))[options].reshape(-1, len(levels))
