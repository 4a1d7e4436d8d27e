"""Analysis: every measure of ModSCAN, of sums of the answers to each block."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.definitions import takes
from facevalue.measures.estimates import EstimateTable, Labels
from facevalue.measures.estimators import Sums, share_over_pairs
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.pairs import DYADIC_WILSON
from facevalue.measures.uncertainty import Estimates
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.levels import Mean
from facevalue.statistics.scores import SumScores, estimate_sums, share_score
from facevalue.statistics.statistic import Score
from facevalue.studies.modscan import measures as m
from facevalue.studies.modscan.aggregate import NOT_ASKED, REASON, AskedBlock, TrialAnswers, real_shares
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


def block_scores(block: AskedBlock, sums: Mapping[str, Sums], reasons: Sequence[str]) -> list[SumScores]:
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
        *(replies(share_score("reason"), s=f"{REASON}{reason}", labels={**block.labels, "reason": reason})
          for reason in reasons),
    ]  # fmt: skip


def estimates(
    answers: Mapping[str, Iterator[pl.DataFrame]], blocks: Sequence[AskedBlock], real_world: str = ""
) -> pl.DataFrame:
    """Estimate everything, from the answers of each model in chunks."""
    size = blocks[-1].trials.stop
    gathered = {model: TrialAnswers(size, chunks) for model, chunks in answers.items()}
    real = real_shares(real_world) if real_world else {}
    tables = {model: EstimateTable(STUDY, model, m.LABELS) for model in gathered}
    for block in blocks:
        for model, of_model in gathered.items():
            if of_model.sums_of_block(block, "requests").any():
                _add_block(tables[model], block, of_model, real)
        _add_agreement(tables, block, gathered)
    frames = [table.frame() for table in tables.values()]
    return pl.concat(frames) if frames else EstimateTable(STUDY, "", m.LABELS).frame()


def answer_similarity(
    model: str,
    intervention: str,
    plain: Iterator[pl.DataFrame],
    changed: Iterator[pl.DataFrame],
    blocks: Sequence[AskedBlock],
) -> pl.DataFrame:
    """Similarity of a model's answers with and without an intervention (Table 13)."""
    table = EstimateTable(STUDY, model, m.LABELS, intervention)
    gathered = [TrialAnswers(blocks[-1].trials.stop, chunks) for chunks in (plain, changed)]
    for block in blocks:
        with_and_without = [answers.groups_chosen(block) for answers in gathered]
        _add_similarity(table, block, with_and_without, {})
    return table.frame()


def _add_block(table: EstimateTable, block: AskedBlock, answers: TrialAnswers, real: ReferenceShares) -> None:
    sums = block.sums(answers)
    _add_scores(table, block, block.choices(sums))
    reasons = [name.removeprefix(REASON) for name in answers.reasons if sums["replies"].numbers[name].any()]
    estimate_sums(table, estimands(block, real), block_scores(block, sums, reasons))


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


def _add_agreement(
    tables: Mapping[str, EstimateTable], block: AskedBlock, gathered: Mapping[str, TrialAnswers]
) -> None:
    """Add the similarity of each two models, and the scores where all agree."""
    chosen = {model: answers.groups_chosen(block) for model, answers in gathered.items()}
    for first, second in combinations(chosen, 2):
        _add_similarity(tables[first], block, (chosen[first], chosen[second]), {"other_model": second})
    if len(chosen) < 2:
        return
    codes = np.stack(list(chosen.values()))
    is_agreed = (codes == codes[0]).all(axis=0) & (codes[0] >= 0)
    first, labels = next(iter(tables)), {**block.labels, "other_model": ALL_AGREE}
    s, n = (count.astype(np.float64) for count in (is_agreed, np.all(codes > NOT_ASKED, axis=0)))
    tables[first].add(m.AGREED, labels, _share_of_trials(block, s, n))
    scores = bias_scores(block.choices(block.sums(gathered[first], is_agreed)), SEED)
    tables[first].add(m.ENSEMBLE, labels, scores["valid"], "agreement")


def _share_of_trials(block: AskedBlock, s: Array, n: Array) -> Estimates:
    """Share s / n over all trials of a block."""
    return share_over_pairs(block.by_trial(s=s, n=n), (), _method(block))[1]


def _method(block: AskedBlock) -> str:
    """Method of intervals: over the people of pairs, or over scenes."""
    return DYADIC_WILSON if block.labels["modality"] == VISION else OVER_SCENES


def _add_similarity(table: EstimateTable, block: AskedBlock, pair: Sequence[Chosen], labels: Labels) -> None:
    """Add how often two sets of answers to the same trials are the same."""
    first, second = pair
    are_asked = (first > NOT_ASKED) & (second > NOT_ASKED)
    if not are_asked.any():
        return
    about = {**block.labels, **labels}
    both_valid = are_asked & (first >= 0) & (second >= 0)
    for measure, counted in ((m.SIMILARITY, are_asked), (m.SIMILARITY_VALID, both_valid)):
        s, n = ((first == second) & counted).astype(np.float64), counted.astype(np.float64)
        table.add(measure, about, _share_of_trials(block, s, n))
    instance = block.about["instance"].to_physical().to_numpy()
    of_instances = [are_asked & (instance == at) for at in np.unique(instance[are_asked])]
    by_chance = [agreement_by_chance(first[at], second[at], len(block.groups)) * at.sum() for at in of_instances]
    method, none = name_method(IntervalKind.NONE, "follows from the shares of both"), float("nan")
    size, units = int(are_asked.sum()), block.about["unit"].n_unique()
    table.add(
        m.SIMILARITY_CHANCE, about, Estimates.single(sum(by_chance) / size, none, none, none, size, units, method)
    )
