"""Analysis of VisBias: the answers of each task as sums and rows, and every estimate of them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.annotations import group_lists
from facevalue.annotations.counts import Tokeniser, WordCounter
from facevalue.annotations.text_statistics import statistics
from facevalue.answers import NA
from facevalue.answers.form_fields import decode_forms
from facevalue.answers.json_fields import Read
from facevalue.errors import DataError
from facevalue.measures.cluster_bootstrap import Array, only_values
from facevalue.measures.definitions import is_wanted, takes
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.estimators import Sums, frame_estimates, level_ranks, row_labels
from facevalue.measures.group_shares import GROUP, PERSON, UNIT, Dimension
from facevalue.measures.pairs import to_array as numbers
from facevalue.measures.proportions import shares_of_variance
from facevalue.measures.uncertainty import Estimates
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.levels import Mean
from facevalue.statistics.scores import SumScores, estimate_sums, share_score
from facevalue.statistics.statistic import Score
from facevalue.studies.visbias import measures as m
from facevalue.studies.visbias.comparisons import PAIR_ESTIMANDS, pair_scores, ranking_scores
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
from facevalue.studies.visbias.parsing import CHOICES, FormField
from facevalue.studies.visbias.pictures import SPECIES
from facevalue.studies.visbias.tables import ORDERED, ChoiceQuestion, choice_questions, toml
from facevalue.studies.visbias.texts import (
    SEED,
    TEXT,
    TEXT_ESTIMANDS,
    add_joined_sentiment,
    add_marked_words,
    add_own_words,
    add_unscored,
    text_scores,
)

STUDY = "visbias"
MOST_TEXT = 500 * 2**20
"""Bytes of descriptions that are kept for what needs all of a group's texts at once."""
STRATUM = "occupation"
_NEEDED = ("task", "weight", "mass", "na")


@dataclass(frozen=True, slots=True)
class Asked:
    """Settings of the study that its analysis needs.

    Factors that are compared, all images, the form's fields, the file of the user's word lists if any, who is on each
    image (`group_shares.people_on_images`), somebody else on each by default, and the most words that a description can
    have: none has more than tokens were allowed.
    """

    groups: tuple[str, ...]
    images: tuple[str, ...]
    attributes: tuple[FormField, ...]
    words: str
    people: tuple[str, ...] = ()
    longest: int = 1024

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Each factor by itself, and each two of them crossed but species.

        Examples
        --------
        >>> [one.name for one in Asked(("race", "gender", "species"), (), (), "").dimensions]
        ['race', 'gender', 'species', 'race x gender']
        """
        crossed = combinations((name for name in self.groups if name != SPECIES), 2)
        return (*(Dimension((name,)) for name in self.groups), *(Dimension(pair) for pair in crossed))


@dataclass
class TaskAnswers:
    """Collects one model's answers. `why_no_scores` says why sentiment is not measured, if it is not."""

    setting: Asked
    why_no_scores: str | None = None
    _parts: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    _bytes: int = 0

    def __post_init__(self) -> None:
        files = (self.setting.words,) if self.setting.words else ()
        self.lists = (group_lists.ours(), *map(group_lists.theirs, files))
        self.words = {way: WordCounter(len(self.setting.images), way) for way in (Tokeniser.MARKED, Tokeniser.WORDS)}
        self._codes = pl.DataFrame({"image": self.setting.images, "code": np.arange(len(self.setting.images))})
        self._people = dict(zip(self.setting.images, self.setting.people or self.setting.images, strict=True))

    def add(self, chunk: pl.DataFrame) -> None:
        """Take what is needed of a chunk of answers."""
        for name in _NEEDED:
            if name not in chunk.columns:
                raise DataError(f"The answers lack the column {name!r}.")
        sides = [side for side in ("", "_1", "_2") if f"image{side}" in chunk.columns]
        chunk = chunk.with_columns(
            pl.col(f"image{side}").cast(pl.String).replace(self._people).alias(f"{PERSON}{side}") for side in sides
        )
        lost = (1 - pl.col("mass").fill_null(0.0)).alias("lost")
        shown_unit = _first(chunk, PERSON, "pair", "form").alias("shown")
        being = _first(chunk, SPECIES, f"{SPECIES}_1").alias("being")
        self._keep("missing", chunk.select(*self._about(chunk, "task", "question"), lost, "na", shown_unit, being))
        tasks = chunk["task"].cast(pl.String)
        for task, keep in (("mcq", self._choices), ("yesno", self._pairs), (TEXT, self._texts)):
            rows = chunk.filter(tasks == task)
            if rows.height:
                keep(rows)
        forms = chunk.filter(tasks.is_in(["form", "text-form"]))
        if forms.height:
            self._keep("forms", decode_forms(forms))

    def part(self, name: str) -> pl.DataFrame:
        """Rows kept under a name; an empty frame if nothing was."""
        frames = self._parts.get(name)
        return pl.concat(frames, how="diagonal") if frames else pl.DataFrame()

    @property
    def images(self) -> pl.DataFrame:
        """Images with who is on each, null where nothing is described, and how many texts are missing."""
        pictures = self.part("images").unique("image", maintain_order=True)
        lost = self.part("texts").group_by("image").agg(missing=pl.col("characters").is_null().sum())
        images = self._codes.select("image")
        for table in (pictures, lost):
            images = images.join(table, on="image", how="left", maintain_order="left")
        return images.with_columns(pl.col("missing").fill_null(0))

    @property
    def has_all_texts(self) -> bool:
        """True if all descriptions were kept."""
        return self._bytes <= MOST_TEXT

    def lost_forms(self, task: str) -> int:
        """Number of forms of a task that have no reply that is a form."""
        fields = self.part("forms").filter(pl.col("task") == task)
        units = self.part("missing").filter(pl.col("task") == task)["shown"]
        return units.n_unique() - fields["form"].n_unique()

    def _keep(self, name: str, frame: pl.DataFrame) -> None:
        enums = [pl.col(c).cast(pl.String) for c, dtype in frame.schema.items() if isinstance(dtype, pl.Enum)]
        self._parts.setdefault(name, []).append(frame.with_columns(enums))

    def _about(self, frame: pl.DataFrame, *more: str, suffixes: Sequence[str] = ("",)) -> list[str]:
        """Columns that say who is shown, those that there are."""
        names = [f"{c}{s}" for c in ("image", PERSON, "occupation", *self.setting.groups) for s in suffixes]
        return [c for c in dict.fromkeys((*names, *more)) if c in frame.columns]

    def _choices(self, frame: pl.DataFrame) -> None:
        valid = pl.when(pl.col("na").is_null())
        selected = [valid.then(pl.col(c) * pl.col("mass")).alias(c) for c in CHOICES]
        mass = valid.then(pl.sum_horizontal(pl.col(CHOICES) * pl.col("mass"))).alias("valid")
        self._keep("choices", frame.select(*self._about(frame, "question"), *selected, mass))

    def _pairs(self, frame: pl.DataFrame) -> None:
        about = self._about(frame, "pair", "within", "order", "question", suffixes=("_1", "_2"))
        self._keep("pairs", frame.select(*about, pl.when(pl.col("na").is_null()).then("weight").alias("yes")))

    def _texts(self, frame: pl.DataFrame) -> None:
        about = self._about(frame)
        texts = frame.select(pl.col(c).cast(pl.String) for c in (*about, TEXT))
        measured, reasons = statistics(texts, TEXT, self.lists, scored=self.why_no_scores is None)
        self.why_no_scores = self.why_no_scores or reasons
        self._keep("texts", pl.concat([texts.select(about), measured], how="horizontal"))
        self._keep("images", texts.select(about).unique(maintain_order=True))
        code = texts.select("image").join(self._codes, on="image", how="left", maintain_order="left")["code"]
        for counter in self.words.values():
            counter.add(texts, TEXT, code.fill_null(-1).to_numpy())
        self._bytes += int(texts[TEXT].str.len_bytes().sum())
        if self.has_all_texts:
            self._keep("said", texts)


def _first(frame: pl.DataFrame, *names: str) -> pl.Expr:
    """The first of some columns that is not null, those that there are."""
    columns = [pl.col(name).cast(pl.String) for name in names if name in frame.columns]
    return pl.coalesce(columns) if columns else pl.lit(None, pl.String)


def sampled_units(rows: pl.DataFrame) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64] | None]:
    """Person of each unit, in the order of units' names, and its occupation as stratum where groups have equal shares.

    Then strata make no difference between groups, and what they do to answers is no noise of these either.

    Examples
    --------
    >>> rows = {"unit": ["a", "b", "c", "d"], "group": ["f", "m", "f", "m"], "occupation": ["cook"] * 2 + ["nurse"] * 2}
    >>> [found.tolist() for found in sampled_units(pl.DataFrame(rows))]
    [[1, 2, 3, 4], [0, 0, 1, 1]]
    """
    columns = [c for c in (UNIT, PERSON, GROUP, STRATUM) if c in rows.columns]
    units = rows.select(columns).unique(UNIT, keep="first").sort(UNIT)
    person = level_ranks(units[PERSON].fill_null("") if PERSON in columns else units[UNIT]) + 1
    if STRATUM not in columns or units[STRATUM].null_count():
        return person, None
    stratum, group = (level_ranks(units[c]) for c in (STRATUM, GROUP))
    counts = np.zeros((stratum.max() + 1, group.max() + 1))
    np.add.at(counts, (stratum, group), 1)
    shares = counts / counts.sum(axis=1, keepdims=True)
    return person, stratum if np.allclose(shares, shares[0]) else None


# Shares, means and gaps: estimands of sums, and the sums.


ESTIMANDS = (
    *(
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
    ),
    *PAIR_ESTIMANDS,
    *TEXT_ESTIMANDS,
)
"""Missing answers, choices, how the fields of forms were read, pairs that are ranked, and texts."""


def estimates_of(answers: Mapping[str, Iterator[pl.DataFrame]], setting: Asked) -> pl.DataFrame:
    """Estimate everything, from the answers of each model in chunks."""
    tables = []
    for model, chunks in answers.items():
        aggregate, table = TaskAnswers(setting), EstimateTable(STUDY, model, LABELS)
        for chunk in chunks:
            aggregate.add(chunk)
        add_estimates(table, aggregate)
        tables.append(table.frame())
    return pl.concat(tables) if tables else EstimateTable(STUDY, "", LABELS).frame()


def add_estimates(table: EstimateTable, aggregate: TaskAnswers) -> None:
    """Add all estimates of one model's answers that are wanted."""
    estimate_sums(table, ESTIMANDS, list(_scores(aggregate)))
    for add in (add_divergences, add_texts, add_forms, add_agreement):
        add(table, aggregate)


def _scores(aggregate: TaskAnswers) -> Iterator[SumScores]:
    """Scores of what was answered, task by task, of which any measure is wanted."""
    missing, choices, pairs, texts = (aggregate.part(name) for name in ("missing", "choices", "pairs", "texts"))
    if is_wanted([m.NA_RATE.name]) and missing.height:
        yield from _missing_scores(missing, aggregate.setting.dimensions)
    if is_wanted([m.SHARE.name]) and choices.height:
        yield from _choice_scores(choices, aggregate.setting.dimensions)
    if is_wanted([m.PAIRS.name]) and pairs.height:
        yield from pair_scores(pairs)
    if is_wanted([m.ABOVE.name]) and pairs.height:
        yield from ranking_scores(pairs, aggregate.setting.groups)
    if is_wanted([m.CHARACTERS.name, m.GAPS[m.CHARACTERS].name]) and texts.height:
        for dimension, rows in ((None, _everyone(texts, "")), *_by_dimension(texts, aggregate.setting.dimensions)):
            yield from text_scores(rows, dimension, aggregate.lists, aggregate.setting.longest)
    if is_wanted([m.ROUTE.name, m.KEPT.name]):
        yield from _form_scores(aggregate.part("forms"))


def _everyone(rows: pl.DataFrame, group: str | None) -> pl.DataFrame:
    """Rows of all people together, of whom each is a unit."""
    return rows.with_columns(pl.lit(group, pl.String).alias(GROUP), pl.col(PERSON).alias(UNIT))


def _by_dimension(rows: pl.DataFrame, dimensions: Collection[Dimension]) -> Iterator[tuple[Dimension, pl.DataFrame]]:
    """Rows by group, of each dimension that has any."""
    for dimension in dimensions:
        of_dimension = dimension.select_rows(rows)
        if of_dimension.height:
            yield dimension, of_dimension


def count_hits(
    score: Score, rows: pl.DataFrame, hits: pl.Expr, by: Sequence[str], unit: str, **labels: str | None
) -> SumScores:
    """Make the score of what lies between 0 and 1, by unit and labels; null does not count."""
    hits = hits.cast(pl.Float64)
    counted = rows.select(*by, pl.col(unit).fill_null("").alias("unit"), s=hits.fill_null(0.0), n=hits.is_not_null())
    return SumScores(score, Sums.from_frame(counted.cast({"n": pl.Float64}), by), m.MEASURES, labels=labels)


def _missing_scores(rows: pl.DataFrame, dimensions: Collection[Dimension]) -> Iterator[SumScores]:
    """Scores of replies without a valid answer, by task, question and group, and for which reasons."""
    rows = rows.with_columns(pl.when(pl.col("being").is_not_null()).then(pl.lit(SPECIES)).alias("dimension"))
    lost, with_question = pl.col("lost"), pl.col("question").is_not_null()
    of_people = partial(count_hits, by=("task", "dimension", "question"), unit="shown")
    yield of_people(share_score("lost"), rows, lost)
    for reason in sorted(set(rows["na"].drop_nulls()), key=[reason.value for reason in NA].index):
        of_reason = pl.when(pl.col("na") == reason).then(lost).otherwise(0.0)
        yield of_people(share_score("lost"), rows, of_reason, reason=reason)
    if rows.select(with_question.any()).item():
        yield of_people(share_score("lost to questions"), rows.filter(with_question), lost)
    if "image" not in rows.columns:
        return
    for dimension, grouped in _by_dimension(rows.drop_nulls("image").drop("dimension"), dimensions):
        of_groups = partial(count_hits, by=("task", GROUP, "question"), unit=UNIT, dimension=dimension.name)
        asked_questions = grouped.filter(with_question)
        yield of_groups(share_score("lost by groups"), grouped, lost)
        if asked_questions.height:
            yield of_groups(share_score("lost by groups to questions"), asked_questions, lost)


def _choice_scores(rows: pl.DataFrame, dimensions: Collection[Dimension]) -> Iterator[SumScores]:
    """Scores of each option among the valid answers of all people, and of each group."""
    people = rows if SPECIES not in rows.columns else rows.filter(pl.col(SPECIES).is_null())
    questions = [question for question in choice_questions() if question.name in set(rows["question"])]
    options = [(q.name, column, level) for q in questions for column, level in zip(CHOICES, q.levels, strict=False)]
    places = pl.DataFrame(options, schema=["question", "column", "choice"], orient="row")
    everyone = [(None, _everyone(people, None))] if people.height else []
    for dimension, grouped in (*everyone, *_by_dimension(rows, dimensions)):
        orders: dict[str, Sequence[str] | pl.Series] = {
            GROUP: grouped[GROUP].drop_nulls().unique().sort(),
            "question": [question.name for question in questions],
            "choice": places["choice"].unique(maintain_order=True),
        }
        index = [UNIT, GROUP, "question", "valid"]
        long = grouped.unpivot(CHOICES, index=index, variable_name="column", value_name="s")
        sums = long.join(places, on=["question", "column"]).select(
            "unit", *(pl.col(name).cast(pl.Enum(levels)) for name, levels in orders.items()),
            pl.col("s").fill_null(0.0), n=pl.col("valid").fill_null(0.0), requests=pl.lit(1.0),
        )  # fmt: skip
        labels = {"task": "mcq", "dimension": None if dimension is None else dimension.name}
        of_options = Sums.from_frame(sums, list(orders))
        yield SumScores(share_score("choices"), of_options, m.MEASURES, requests="requests", labels=labels)


def _form_scores(forms: pl.DataFrame) -> Iterator[SumScores]:
    """Scores of routes of open fields, over all and by attribute, of how replies were read, of filled fields kept."""
    for fields in forms.partition_by("task", maintain_order=True) if forms.height else ():
        open_ = fields.filter(~pl.col("prefilled")).with_columns(
            how=pl.when(pl.col("state") != "value")
            .then("state")
            .when(pl.col("route") == "none")
            .then(pl.concat_str(pl.lit("none: "), pl.col("reason").fill_null("unknown")))
            .otherwise("route")
        )
        replies, prefilled = fields.unique(["form", "repeat"], maintain_order=True), fields.filter("prefilled")
        of_form, by = partial(count_hits, unit="form", task=fields["task"][0]), ("attribute",)
        routes, readings = share_score("routes", m.ROUTE.score), share_score("readings", m.READ.score)
        for kind in sorted(set(open_["how"])):
            yield of_form(routes, open_, pl.col("how") == kind, by, outcome=kind)
        for reading in Read:
            yield of_form(readings, replies, pl.col("read") == reading.value, by, outcome=reading.value)
        if prefilled.height:
            yield of_form(share_score("kept"), prefilled, pl.col("kept"), by)


# What the paper alone computes: divergences of choices, marked words, Algorithm 1, forms beside choices.


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


@takes(m.DIVERGENCE)
def add_divergences(table: EstimateTable, aggregate: TaskAnswers) -> None:
    """Add how far the choices of each group lie from the mean of all groups of its dimension."""
    rows = aggregate.part("choices")
    if rows.is_empty():
        return
    questions = [question for question in choice_questions() if question.name in set(rows["question"])]
    families: dict[str, list[tuple[Names, ChoiceGroups]]] = {}
    for dimension, grouped in _by_dimension(rows, aggregate.setting.dimensions):
        choices = choices_of(grouped, [question.name for question in questions], CHOICES)
        names: Names = [(dimension.name, group) for group in grouped[GROUP].unique().sort()]
        family = "explicit answers (choices)"
        if dimension.factors == (SPECIES,):
            family = "choices about species"
        elif len(dimension.factors) > 1:
            family = f"choices by {dimension.name}"
        families.setdefault(family, []).append((names, ChoiceGroups(choices, *sampled_units(grouped))))
    for family, several in families.items():
        ordered = [question.name in ORDERED for question in questions]
        judged = group_divergences([groups for _, groups in several], SEED, ordered=ordered)
        for (names, compared), values in zip(several, judged, strict=True):
            cells: list[tuple[str | None, ...]] = [(*name, question.name) for name in names for question in questions]
            labels = {"task": "mcq", **row_labels(("dimension", "group", "question"), cells)}
            bounds = None if only_values() else divergence_bounds(compared.choices)
            table.add(m.DIVERGENCE, labels, replace(values, bounds=bounds), family)


def add_texts(table: EstimateTable, aggregate: TaskAnswers) -> None:
    """Add sentiment as published, words of the user's lists as published, and words that mark a group."""
    rows = aggregate.part("texts")
    if rows.is_empty():
        return
    unscored = aggregate.why_no_scores
    if unscored is not None:
        add_unscored(table, None, unscored)
    # Without an interval, so that nothing is asked of joined texts without some of the clusters
    texts = aggregate.part("said") if aggregate.has_all_texts else None
    for dimension, grouped in _by_dimension(rows, aggregate.setting.dimensions):
        if unscored is not None:
            add_unscored(table, dimension, unscored)
        elif not only_values():
            add_joined_sentiment(table, dimension, None if texts is None else dimension.select_rows(texts))
        if len(dimension.factors) == 1 and len(aggregate.lists) > 1:
            add_own_words(table, dimension, grouped, aggregate.lists[1])
    images = aggregate.images
    for name in aggregate.setting.groups:
        if name in images.columns:
            counts = [aggregate.words[way].counts() for way in (Tokeniser.MARKED, Tokeniser.WORDS)]
            add_marked_words(table, Dimension((name,)), images, *counts)


@takes(m.SHIFT, m.LIKELY, m.ROUTE, m.READ, m.KEPT)
def add_forms(table: EstimateTable, aggregate: TaskAnswers) -> None:
    """Add Algorithm 1 and the likeliest values, for forms as pictures and as text; and what of forms is not there."""
    fields, missing = aggregate.part("forms"), aggregate.part("missing")
    asked_tasks = missing["task"].unique() if missing.height else ()
    for task in (task for task in ("form", "text-form") if task in asked_tasks):
        of_task = fields.filter(pl.col("task") == task) if fields.height else fields
        if of_task.is_empty():
            for measure in (m.SHIFT, m.ROUTE, m.READ, m.KEPT):
                table.add(measure, {"task": task}, Estimates.make_unmeasured("no reply is a form"))
            continue
        if not of_task["prefilled"].any():
            table.add(m.KEPT, {"task": task}, Estimates.make_unmeasured("nothing was filled in beforehand"))
        _add_graph(table, task, aggregate, first_replies(of_task))


@takes(m.SHIFT, m.LIKELY)
def _add_graph(table: EstimateTable, task: str, aggregate: TaskAnswers, fields: pl.DataFrame) -> None:
    categories = [(a.name, a.categories.names) for a in aggregate.setting.attributes]
    forms = gather_forms(fields, categories, lost=aggregate.lost_forms(task))
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


@takes(m.AGREEMENT)
def add_agreement(table: EstimateTable, aggregate: TaskAnswers) -> None:
    """Add the divergence between what forms and choices say, by question, and for each gender and race."""
    fields, rows = aggregate.part("forms"), aggregate.part("choices")
    if fields.is_empty() or rows.is_empty():
        return
    task = fields["task"][0]
    fields = first_replies(fields.filter(pl.col("task") == task))
    lost = aggregate.lost_forms(task)
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
