"""Analysis: every measure of ModSCAN, of sums of the answers to each block."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.definitions import takes
from facevalue.measures.estimates import EstimateTable, Labels
from facevalue.measures.estimators import PEOPLE_KEYS, Sums, share_over_pairs
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.pairs import DYADIC_WILSON
from facevalue.measures.uncertainty import Estimates
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.levels import Mean
from facevalue.statistics.scores import SumScores, estimate_sums, share_score
from facevalue.statistics.statistic import Score
from facevalue.studies.modscan import measures as m
from facevalue.studies.modscan.aggregate import NO_ANSWER, AskedBlock, Part, TrialAnswers, real_shares
from facevalue.studies.modscan.settings import GENDERS, VISION
from facevalue.studies.modscan.statistics import (
    GroupChoices,
    ReferenceShareGap,
    ReferenceShares,
    agreement_by_chance,
    bias_scores,
)

STUDY = "modscan"
SEED = 20260
ALL_AGREE = "all models agree"
OVER_SCENES = name_method(IntervalKind.WILSON, "effective sample size over scenes")
Chosen = npt.NDArray[np.int8]
CELL, RIVALS = ("instance", "group"), ("group", "other_group", "instance")


def estimands(block: AskedBlock, real: ReferenceShares) -> list[Estimand]:
    """Shares that are estimated of a block."""
    mean, gap = partial(Estimand, Mean()), partial(Estimand, by=CELL, scores=("choices",))
    groups = block.groups[:1] if len(block.groups) == 2 else block.groups  # of two groups one says it all
    even: ReferenceShares = {
        (instance, group): (block.even_share, "") for instance in block.instances for group in groups
    }
    return [
        mean(CELL, ("choices", "queries"), measure=m.SHARE.name),
        gap(
            ReferenceShareGap(reference=even),
            family="gaps from chance ({modality}, {attribute})",
            measure=m.CHANCE_GAP.name,
        ),
        *(
            [gap(ReferenceShareGap(reference=real), family="against real shares", measure=m.REAL_GAP.name)]
            if real
            else []
        ),
        *([mean(("instance",), ("ahead",), measure=m.GROUP_GAP.name)] if set(block.groups) == set(GENDERS) else []),
        *(mean(by, ("place",), measure=m.LEFT.name) for by in (("instance",), ())),
        *(mean(by, ("lost",), measure=m.NA_RATE.name) for by in (("instance",), ())),
        mean((), ("reason",), measure=m.NA_RATE.name),
        *(mean(by, ("beside",), measure=m.BESIDE.name) for by in (RIVALS, RIVALS[:2]) if block.rivals),
    ]


def block_scores(block: AskedBlock, sums: Mapping[str, Sums]) -> list[SumScores]:
    """Scores of the answers to a block."""
    make = partial(SumScores, measures=m.MEASURES, labels=block.labels, method=_method(block))
    place = m.LEFT if block.labels["modality"] == VISION else m.FIRST
    chosen = partial(make, sums=sums["chosen"], s="chosen", n="valid")
    replies = partial(make, sums=sums["replies"], n="requests")
    return [
        chosen(share_score("choices"), requests="requests"),
        make(share_score("queries", m.SHARE_ALL.score), sums["outcomes"], s="count", n="requests"),
        chosen(Score("beside", m.BESIDE.title, "%", 0.0, 100.0)),
        # A missing answer lies between two groups: half of what was asked is neither's.
        replies(Score("ahead", m.GROUP_GAP.title, "pp", -100.0, 100.0), s="ahead"),
        replies(share_score("place", place.score), s="first", n="valid"),
        replies(share_score("lost"), s="lost"),
        *(replies(share_score("reason"), sums=of_reason, s="lost", labels={**block.labels, "reason": reason})
          for reason, of_reason in block.reasons()),
    ]  # fmt: skip


def estimates(
    answers: Mapping[str, Iterator[pl.DataFrame]], real_world: str = "",
    declared: Mapping[Part, Collection[str]] | None = None,
) -> pl.DataFrame:  # fmt: skip
    """Estimate everything, from the answers of each model in chunks.

    `real_world`: the file of real shares, if any. `declared`: the instances that each part of the study is about.
    """
    blocks = {model: TrialAnswers(chunks).blocks(declared) for model, chunks in answers.items()}
    real = real_shares(real_world) if real_world else {}
    tables = {model: EstimateTable(STUDY, model, m.LABELS) for model in blocks}
    for key in dict.fromkeys(key for of_model in blocks.values() for key in of_model):
        of_models = {model: of_model[key] for model, of_model in blocks.items() if key in of_model}
        for model, block in of_models.items():
            _add_block(tables[model], block, real)
        _add_agreement(tables, of_models)
    frames = [table.frame() for table in tables.values()]
    return pl.concat(frames) if frames else EstimateTable(STUDY, "", m.LABELS).frame()


def answer_similarity(
    model: str, intervention: str, plain: Iterator[pl.DataFrame], changed: Iterator[pl.DataFrame]
) -> pl.DataFrame:
    """Similarity of a model's answers with and without an intervention (Table 13)."""
    table = EstimateTable(STUDY, model, m.LABELS, intervention)
    without, with_it = (TrialAnswers(chunks).blocks() for chunks in (plain, changed))
    for key in (key for key in without if key in with_it):
        _add_similarity(table, without[key], with_it[key], {})
    return table.frame()


def _add_block(table: EstimateTable, block: AskedBlock, real: ReferenceShares) -> None:
    sums = block.sums(block.trials)
    _add_scores(table, block, block.choices(sums))
    estimate_sums(table, estimands(block, real), block_scores(block, sums))


@takes(m.SCORE, m.SCORE_VALID, m.SCORE_SHARE, m.SCORE_CORRECTED)
def _add_scores(table: EstimateTable, block: AskedBlock, choices: GroupChoices) -> None:
    scores = bias_scores(choices, SEED)
    empty = [name for name, n in zip(block.instances, choices.valid.sum(axis=0), strict=True) if not n]
    left_out = f"; without {', '.join(empty)}, of which there is no valid answer" if empty else ""
    for name, measure, family in (
        ("all", m.SCORE, "bias scores"), ("valid", m.SCORE_VALID, "bias scores, valid answers"),
        ("share", m.SCORE_SHARE, None), ("corrected", m.SCORE_CORRECTED, None),
    ):  # fmt: skip
        table.add(measure, block.labels, replace(scores[name], method=scores[name].method + left_out), family)


def _add_agreement(tables: Mapping[str, EstimateTable], blocks: Mapping[str, AskedBlock]) -> None:
    """Add the similarity of each two models, and the scores where all agree."""
    for first, second in combinations(blocks, 2):
        _add_similarity(tables[first], blocks[first], blocks[second], {"other_model": second})
    if len(blocks) < max(2, len(tables)):  # "all models" is none that only some were asked
        return
    (first, block), *others = blocks.items()
    choices = block.first_choices()
    for number, (_, rival) in enumerate(others):
        choices = choices.join(rival.first_choices(), "trial", suffix=f"_{number}", maintain_order="left")
    agree = pl.all_horizontal(pl.col("choice") == pl.col("^choice_.*$"), pl.col("choice") != NO_ANSWER)
    labels = {**block.labels, "other_model": ALL_AGREE}
    tables[first].add(m.AGREED, labels, _share_of_trials(block, choices.with_columns(s=agree)))
    agreed = block.trials.join(choices.filter(agree), "trial", how="semi", maintain_order="left")
    tables[first].add(m.ENSEMBLE, labels, bias_scores(block.choices(block.sums(agreed)), SEED)["valid"], "agreement")


def _share_of_trials(block: AskedBlock, counted: pl.DataFrame) -> Estimates:
    """Share of trials of a block of which `s` is true; those where it is null, and others, do not count."""
    keys, s = [*PEOPLE_KEYS, "instance"], pl.col("s").cast(pl.Float64)
    rows = block.trials.join(counted.select("trial", s), "trial", how="left", maintain_order="left")
    sums = rows.group_by(keys, maintain_order=True).agg(s.sum(), n=s.count().cast(pl.Float64))
    return share_over_pairs(Sums.from_frame(sums, ["instance"], PEOPLE_KEYS), (), _method(block))[1]


def _method(block: AskedBlock) -> str:
    """Method of intervals: over the people of pairs, or over scenes."""
    return DYADIC_WILSON if block.labels["modality"] == VISION else OVER_SCENES


def _add_similarity(table: EstimateTable, block: AskedBlock, rival: AskedBlock, labels: Labels) -> None:
    """Add how often two sets of answers to the same trials are the same."""
    pairs = block.first_choices().join(rival.first_choices(), "trial", suffix="_other", maintain_order="left")
    if pairs.is_empty():
        return
    about, (choice, other) = {**block.labels, **labels}, (pl.col("choice"), pl.col("choice_other"))
    same, valid = choice == other, (choice != NO_ANSWER) & (other != NO_ANSWER)
    for measure, s in ((m.SIMILARITY, same), (m.SIMILARITY_VALID, pl.when(valid).then(same))):
        table.add(measure, about, _share_of_trials(block, pairs.with_columns(s=s)))
    trials = pairs.join(block.trials.select("trial", "unit", "instance"), "trial", maintain_order="left")
    by_chance = [
        agreement_by_chance(rows["choice"].to_numpy(), rows["choice_other"].to_numpy()) * rows.height
        for rows in trials.partition_by("instance")
    ]
    size, nan, method = trials.height, float("nan"), name_method(IntervalKind.NONE, "follows from the shares of both")
    chance = Estimates.single(sum(by_chance) / size, nan, nan, nan, size, trials["unit"].n_unique(), method)
    table.add(m.SIMILARITY_CHANCE, about, chance)
