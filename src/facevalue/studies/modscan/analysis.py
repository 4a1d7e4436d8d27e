"""Analysis: every measure of ModSCAN, of sums of the answers to each block."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.definitions import takes
from facevalue.measures.estimates import EstimateTable, Labels, Level
from facevalue.measures.estimators import CellEstimates, Estimator, Sums, apart_from, share_over_pairs
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.uncertainty import Estimates
from facevalue.protocol.estimands import Derived, SumEstimand, estimate_rows
from facevalue.studies.modscan import measures as m
from facevalue.studies.modscan.aggregate import NOT_ASKED, REASON, AskedBlock, TrialAnswers, real_shares
from facevalue.studies.modscan.bias_score import GroupChoices, agreement_by_chance, bias_scores
from facevalue.studies.modscan.settings import GENDERS, VISION

STUDY = "modscan"
SEED = 20260
ALL_AGREE = "all models agree"
Chosen = npt.NDArray[np.int8]
Real = Mapping[tuple[Level, Level], tuple[float, str]]
"""Share of each instance and group, and where it is from."""
SCENES = partial(share_over_pairs, method=name_method(IntervalKind.WILSON, "effective sample size over scenes"))


def estimands(block: AskedBlock, reasons: Sequence[str], real: Real) -> list[SumEstimand]:
    """Shares that are estimated of a block, in the order of the estimates."""
    seen = block.labels["modality"] == VISION
    family = f"gaps from chance ({block.labels['modality']}, {block.labels['attribute']})"
    gaps = (
        Derived(m.CHANCE_GAP, partial(_from_even, block.even_share), family),
        Derived(m.REAL_GAP, partial(_from_real, real), "against real shares"),
    )
    estimator = _estimator(block)
    share = partial(SumEstimand, estimator=estimator)
    points = partial(_points, estimator)
    groups, rivals = ("instance", "group"), ("group", "other_group", "instance")
    everything = [
        share(m.SHARE, "chosen", groups, s="chosen", n="valid", requests="requests", derived=gaps),
        share(m.SHARE_ALL, "outcomes", groups, s="count", n="requests"),
        SumEstimand(m.GROUP_GAP, "replies", ("instance",), s="ahead", n="requests", estimator=points),
        share(m.NA_RATE, "replies", ("instance",), s="lost", n="requests", total="instance"),
        *(
            share(m.NA_RATE, "replies", s=f"{REASON}{reason}", n="requests", constant={"reason": reason})
            for reason in reasons
        ),
        share(m.LEFT if seen else m.FIRST, "replies", ("instance",), s="first", n="valid", total="instance"),
        share(m.BESIDE, "chosen", rivals, s="chosen", n="valid", total="instance", factor=100.0),
    ]
    applies = {m.GROUP_GAP: set(block.groups) == set(GENDERS), m.BESIDE: block.rivals}
    return [estimand for estimand in everything if applies.get(estimand.measure, True)]


def _estimator(block: AskedBlock) -> Estimator:
    return share_over_pairs if block.labels["modality"] == VISION else SCENES


def _from_even(even: float, cells: Mapping[str, Sequence[Level]], shares: Estimates) -> CellEstimates:
    """Shares less an even choice; of two groups that of one, as it says what the other's does."""
    keep = slice(None, None, 2 if len(set(cells["group"])) == 2 else 1)
    return {name: levels[keep] for name, levels in cells.items()}, apart_from(shares, even).at(keep)


def _from_real(real: Real, cells: Mapping[str, Sequence[Level]], shares: Estimates) -> CellEstimates:
    """Shares less the real ones, where these are given."""
    keys = list(zip(cells["instance"], cells["group"], strict=True))
    keep = [at for at, key in enumerate(keys) if key in real]
    null = np.full(len(keys), np.nan)
    null[keep] = [real[keys[at]][0] for at in keep]
    gaps = apart_from(shares, null).at(np.array(keep, dtype=np.int64))
    methods = zip(gaps.method, keep, strict=True)
    methods_named = np.array([f"{method}; real share: {real[keys[at]][1]}" for method, at in methods], object)
    labels = {name: [levels[at] for at in keep] for name, levels in cells.items()}
    return labels, replace(gaps, method=methods_named)


def _points(estimator: Estimator, sums: Sums, by: Sequence[str]) -> CellEstimates:
    """Shares from one half, in percentage points of a difference: a missing answer lies between two groups."""
    cells, middle = estimator(sums, by)
    return cells, middle.times(200.0).less(100.0)


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


def _add_block(table: EstimateTable, block: AskedBlock, answers: TrialAnswers, real: Real) -> None:
    sums = block.sums(answers)
    _add_scores(table, block, block.choices(sums))
    reasons = [name.removeprefix(REASON) for name in answers.reasons if sums["replies"].numbers[name].any()]
    for row in estimate_rows(estimands(block, reasons, real), sums, block.labels):
        table.add(*row)


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
    tables[first].add(m.AGREED, labels, _estimator(block)(block.by_trial(s=s, n=n), ())[1])
    scores = bias_scores(block.choices(block.sums(gathered[first], is_agreed)), SEED)
    tables[first].add(m.ENSEMBLE, labels, scores["valid"], "agreement")


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
        table.add(measure, about, _estimator(block)(block.by_trial(s=s, n=n), ())[1])
    instance = block.about["instance"].to_physical().to_numpy()
    of_instances = [are_asked & (instance == at) for at in np.unique(instance[are_asked])]
    by_chance = [agreement_by_chance(first[at], second[at], len(block.groups)) * at.sum() for at in of_instances]
    method, none = name_method(IntervalKind.NONE, "follows from the shares of both"), float("nan")
    size, units = int(are_asked.sum()), block.about["unit"].n_unique()
    table.add(
        m.SIMILARITY_CHANCE, about, Estimates.single(sum(by_chance) / size, none, none, none, size, units, method)
    )
