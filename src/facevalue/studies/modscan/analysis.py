"""Analysis: every measure of ModSCAN, on the aggregated answers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures import cluster_bootstrap as cb
from facevalue.measures import dyads, missing_data_bounds
from facevalue.measures.base import Measure
from facevalue.measures.estimates import NOT_MEASURABLE, EstimateTable
from facevalue.measures.group_bias import Choices, Score, agreement_by_chance, bias_scores
from facevalue.measures.missing_data_bounds import Bounds, Replies, filled, phi_bounds, unbounded
from facevalue.measures.proportions import score_p
from facevalue.measures.wanted import takes
from facevalue.studies.modscan import measures as m
from facevalue.studies.modscan.aggregate import NOT_ASKED, Answers, Part
from facevalue.studies.modscan.real_world import real_shares
from facevalue.studies.modscan.settings import VISION

STUDY = "modscan"
SEED = 20260
NO_ANSWER = "no answer"
"""Level of `group` that stands for replies without a valid answer."""
ALL_AGREE = "all models agree"
WILSON = "Wilson, effective sample size over scenes"
NOISE = "inversion of the score's distribution, with noise over people or scenes"
Labels = dict[str, str | None]


def estimated(
    answers: Mapping[str, Iterator[pl.DataFrame]], blocks: Sequence[Part], real_world: str = ""
) -> pl.DataFrame:
    """Estimate everything, from the answers of each model in chunks."""
    gathered = {model: Answers(blocks, chunks) for model, chunks in answers.items()}
    real = real_shares(real_world) if real_world else None
    tables = {model: Rows() for model in gathered}
    for block in blocks:
        for model, own in gathered.items():
            if own.asked[block.trials].any():
                _add_part(tables[model], block, own, real)
        _add_agreement(tables, block, gathered)
    frames = [rows.table(EstimateTable(STUDY, model, m.LABELS)) for model, rows in tables.items()]
    return pl.concat(frames) if frames else EstimateTable(STUDY, "", m.LABELS).frame()


_Row = tuple[dict[str, Sequence[str | None]], cb.Estimates, cb.Array, cb.Floor, Bounds, list[str | None]]


class Rows:
    """Estimates that are entered into a table measure by measure: a jackknife takes all of them many times."""

    def __init__(self) -> None:
        self._parts: dict[Measure, list[_Row]] = {}

    def add(
        self, measure: Measure, labels: Mapping[str, str | Sequence[str | None] | None], found: cb.Estimates, *,
        p: cb.Array | None = None, floor: cb.Floor | None = None, family: str | None = None,
        bounds: Bounds | None = None,
    ) -> None:  # fmt: skip
        """Add estimates; a label that is one level, or None, is that of all of them."""
        size = found.value.size
        label_columns = {
            n: [level] * size if level is None or isinstance(level, str) else level for n, level in labels.items()
        }
        floor = floor or cb.no_floor(size)
        p = floor.p if p is None else p
        bounds = bounds or unbounded(found.value)
        self._parts.setdefault(measure, []).append((label_columns, found, p, floor, bounds, [family] * size))

    def table(self, table: EstimateTable) -> pl.DataFrame:
        """All of them as a table."""
        for measure, blocks in self._parts.items():
            names = dict.fromkeys(name for block_labels, *_ in blocks for name in block_labels)
            labels = {n: [x for told, e, *_ in blocks for x in told.get(n, [None] * e.value.size)] for n in names}
            joined = cb.joined([e for _, e, *_ in blocks])
            p = np.concatenate([p for _, _, p, *_ in blocks])
            floors = (np.concatenate([getattr(floor, n) for *_, floor, _, _ in blocks]) for n in ("mean", "high", "p"))
            bounds = missing_data_bounds.joined([of_part for *_, of_part, _ in blocks])
            families = [x for *_, family in blocks for x in family]
            floor = cb.Floor(*floors)
            table.add(measure, labels, joined, p=p, floor=floor, family=families, bounds=bounds)  # type: ignore[arg-type]
        return table.frame()


def alike(
    model: str, intervention: str, plain: Iterator[pl.DataFrame], other: Iterator[pl.DataFrame], blocks: Sequence[Part]
) -> pl.DataFrame:
    """Similarity of a model's answers with and without an intervention (Table 13)."""
    table = Rows()
    gathered = [Answers(blocks, chunks) for chunks in (plain, other)]
    for block in blocks:
        one, two = (answers.groups_chosen(block) for answers in gathered)
        _add_similarity(table, block, one, two, {})
    return table.table(EstimateTable(STUDY, model, m.LABELS, intervention))


def _add_part(
    table: Rows, block: Part, gathered: Answers, real: Mapping[tuple[str, str], tuple[float, str]] | None
) -> None:
    choices = gathered.choices(block)
    _add_scores(table, block, choices)
    _add_shares(table, block, choices, real)
    _add_shares_of_all(table, block, choices)
    _add_missing(table, block, gathered, choices)
    _add_position(table, block, gathered)
    if block.rivals:
        _add_beside(table, block, gathered)


@takes(m.SCORE, m.SCORE_VALID, m.SCORE_SHARE, m.SCORE_CORRECTED)
def _add_scores(table: Rows, block: Part, choices: Choices) -> None:
    scores = bias_scores(choices, SEED)
    empty = [name for name, n in zip(block.instances, choices.valid.sum(axis=0), strict=True) if not n]
    for name, measure in (("all", m.SCORE), ("valid", m.SCORE_VALID), ("share", m.SCORE_SHARE),
                          ("corrected", m.SCORE_CORRECTED)):  # fmt: skip
        family = {m.SCORE: "bias scores", m.SCORE_VALID: "bias scores, valid answers"}.get(measure)
        _enter_score(table, measure, block.labels, scores[name], choices, family, empty)


def _enter_score(
    table: Rows, measure: Measure, labels: Labels, score: Score, choices: Choices, family: str | None,
    empty: list[str],
) -> None:  # fmt: skip
    left_out = f"; without {', '.join(empty)}, of which there is no valid answer" if empty else ""
    n = round(float(choices.valid.sum()))
    estimate = cb.single(score.value, score.low, score.high, score.se, n, score.clusters, f"{NOISE}{left_out}")
    floor = None if measure is m.SCORE_CORRECTED else score.floor
    table.add(measure, labels, estimate, floor=floor, family=family, bounds=score.bounds)


def _shares(block: Part, chosen: cb.Array, totals: cb.Array) -> dyads.PairShares:
    """Shares of columns, of arrays by unit, with their uncertainty over people."""
    total, cells = totals.sum(axis=0), totals.shape[1]
    if cb.only_values():
        none, count = np.full(cells, np.nan), (totals > 0).sum(axis=0)
        how, n = np.full(cells, dyads.FEW, dtype=object), np.rint(total).astype(np.int64)
        return dyads.PairShares(
            value=cb.ratio(chosen.sum(axis=0), total), low=none, high=none, n=n, clusters=count, method=how, se=none,
            size=none, df=none, most=none,
        )  # fmt: skip
    left_people, right_people = (np.repeat(side, cells) for side in block.people)
    cell = np.tile(np.arange(cells), block.units)
    estimates = dyads.shares(
        np.minimum(chosen, totals).ravel(), totals.ravel(), (left_people, right_people), cell, cells
    )
    interval_method = dyads.METHOD if block.modality == VISION else WILSON
    method = np.where(estimates.method == dyads.METHOD, interval_method, estimates.method)
    return replace(estimates, method=np.where(total > 0, method, f"{NOT_MEASURABLE}: no valid answer"))


def _less(shares: dyads.PairShares, null: cb.Array, at: npt.NDArray[np.int64]) -> tuple[cb.Estimates, cb.Array]:
    """Shares less what they are compared with, and p of no difference; of some of them."""
    score = shares.at(at)
    p = score_p(score.value, shares.size[at], shares.df[at], null)
    return replace(score, value=score.value - null, low=score.low - null, high=score.high - null), p


@takes(m.SHARE, m.CHANCE_GAP, m.REAL_GAP)
def _add_shares(
    table: Rows, block: Part, choices: Choices, real: Mapping[tuple[str, str], tuple[float, str]] | None
) -> None:
    groups, count = block.groups, len(block.instances)
    names = [name for name in block.instances for _ in groups]
    labels = {**block.labels, "instance": names, "group": [*groups] * count}
    chosen, totals, could = (x.reshape(block.units, -1) for x in (choices.chosen, choices.shown, choices.open))
    shares = _shares(block, chosen, totals)
    bounds = _bounds(block, chosen, totals, could)
    table.add(m.SHARE, labels, shares, bounds=bounds)

    def only(keep: list[int]) -> dict[str, object]:
        return {n: [v[at] for at in keep] if isinstance(v, list) else v for n, v in labels.items()}

    at = np.arange(len(names)) if len(groups) > 2 else np.arange(0, len(names), 2)
    gaps, p = _less(shares, np.full(at.size, choices.even), at)
    family = f"gaps from chance ({block.modality}, {block.attribute})"
    table.add(
        m.CHANCE_GAP, only(at.tolist()), gaps, p=p, family=family,  # type: ignore[arg-type]
        bounds=bounds.at(at).less(choices.even),
    )  # fmt: skip
    if real:
        has_real = [i for i, key in enumerate(zip(names, labels["group"], strict=True)) if key in real]  # type: ignore[arg-type]
        if has_real:
            cells = [real[names[i], str(labels["group"][i])] for i in has_real]  # type: ignore[index]
            null = np.array([share for share, _ in cells])
            differences, p = _less(shares, null, np.array(has_real))
            method = np.array(
                [f"{a}; real share: {b}" for a, (_, b) in zip(differences.method, cells, strict=True)], object
            )
            differences = replace(differences, method=method)
            table.add(
                m.REAL_GAP, only(has_real), differences, p=p, family="against real shares",  # type: ignore[arg-type]
                bounds=bounds.at(np.array(has_real)).less(null),
            )  # fmt: skip


@takes(m.SHARE_ALL, m.GROUP_GAP)
def _add_shares_of_all(table: Rows, block: Part, choices: Choices) -> None:
    """Add shares of all replies, missing ones being a choice of their own."""
    groups, count = block.groups, len(block.instances)
    asked_sums = choices.asked[:, :, None]
    lost = asked_sums - choices.valid[:, :, None]
    outcome = np.concatenate([choices.chosen, lost], axis=2).reshape(block.units, -1)
    labels = {**block.labels, "instance": [n for n in block.instances for _ in (*groups, "")],
            "group": [*groups, NO_ANSWER] * count}  # fmt: skip
    table.add(m.SHARE_ALL, labels, _shares(block, outcome, np.repeat(choices.asked, len(groups) + 1, axis=1)))
    if block.attribute == "gender" and set(groups) == {"male", "female"}:
        less = choices.chosen[:, :, groups.index("male")] - choices.chosen[:, :, groups.index("female")]
        middle = _shares(block, (choices.asked + less) / 2, choices.asked)  # a missing answer lies between the two
        table.add(m.GROUP_GAP, {**block.labels, "instance": list(block.instances)}, _linear(middle, 200.0, -100.0))


def _bounds(block: Part, chosen: cb.Array, totals: cb.Array, could: cb.Array) -> Bounds:
    """What shares could have been, had the missing answers been given; their standard error is over people, too."""
    replies = Replies(np.minimum(chosen, totals), totals, could)
    ends = [_shares(block, filled(replies, pole), could).se for pole in (0.0, 1.0)]
    return replace(phi_bounds(replies), se=np.fmax(*ends))


@takes(m.NA_RATE)
def _add_missing(table: Rows, block: Part, gathered: Answers, choices: Choices) -> None:
    lost, asked = choices.asked - choices.valid, choices.asked
    table.add(m.NA_RATE, {**block.labels, "instance": list(block.instances)}, _shares(block, lost, asked))
    total = asked.sum(axis=1, keepdims=True)
    table.add(m.NA_RATE, block.labels, _shares(block, lost.sum(axis=1, keepdims=True), total))
    for reason in sorted(gathered.reasons):
        counts = block.by_instance(gathered.reasons[reason][block.trials]).sum(axis=1, keepdims=True)
        if counts.any():
            table.add(m.NA_RATE, {**block.labels, "reason": reason}, _shares(block, counts, total))


@takes(m.LEFT, m.FIRST)
def _add_position(table: Rows, block: Part, gathered: Answers) -> None:
    first = block.by_instance(gathered.weights[block.trials, 0])
    valid = block.by_instance(gathered.valid[block.trials])
    measure = m.LEFT if block.modality == VISION else m.FIRST
    table.add(measure, {**block.labels, "instance": list(block.instances)}, _shares(block, first, valid))
    sums = (first.sum(axis=1, keepdims=True), valid.sum(axis=1, keepdims=True))
    table.add(measure, block.labels, _shares(block, *sums))


@takes(m.BESIDE)
def _add_beside(table: Rows, block: Part, gathered: Answers) -> None:
    """Of each two groups, how often the one is chosen beside the other: by instance, and over all."""
    weights, valid = gathered.weights[block.trials, :2], gathered.valid[block.trials]
    chosen, totals = block.beside(weights), block.beside(np.stack([valid, valid], axis=1))
    for a, b in permutations(range(len(block.groups)), 2):
        sums = chosen[:, :, a, b], totals[:, :, a, b]
        if not block.pairs[a, b]:
            continue
        labels = {**block.labels, "group": block.groups[a], "other_group": block.groups[b]}
        table.add(m.BESIDE, {**labels, "instance": list(block.instances)}, _linear(_shares(block, *sums), 100.0))
        summed = (x.sum(axis=1, keepdims=True) for x in sums)
        table.add(m.BESIDE, labels, _linear(_shares(block, *summed), 100.0))


def _linear(estimates: cb.Estimates, times: float, more: float = 0.0) -> cb.Estimates:
    """Estimates in another unit."""
    assert estimates.se is not None
    value, low, high = (times * x + more for x in (estimates.value, estimates.low, estimates.high))
    return replace(estimates, value=value, low=low, high=high, se=times * estimates.se)


def _add_agreement(tables: Mapping[str, Rows], block: Part, gathered: Mapping[str, Answers]) -> None:
    """Similarity of each two models, and the scores where all agree."""
    groups_chosen = {model: answers.groups_chosen(block) for model, answers in gathered.items()}
    for one, other in combinations(groups_chosen, 2):
        _add_similarity(tables[one], block, groups_chosen[one], groups_chosen[other], {"other_model": other})
    if len(groups_chosen) < 2:
        return
    codes = list(groups_chosen.values())
    all_asked = np.logical_and.reduce([codes_of_model > NOT_ASKED for codes_of_model in codes])
    is_agreed = np.logical_and.reduce([own == codes[0] for own in codes]) & (codes[0] >= 0)
    first = next(iter(tables))
    labels: Labels = {**block.labels, "other_model": ALL_AGREE}
    sums = (block.by_instance(x.astype(np.float64)).sum(axis=1, keepdims=True) for x in (is_agreed, all_asked))
    tables[first].add(m.AGREED, labels, _shares(block, *sums))
    choices = gathered[first].choices(block, is_agreed)
    _enter_score(tables[first], m.ENSEMBLE, labels, bias_scores(choices, SEED)["valid"], choices, "agreement", [])


def _add_similarity(
    table: Rows, block: Part, one: npt.NDArray[np.int8], other: npt.NDArray[np.int8], labels: Labels
) -> None:
    """Add how often two sets of answers to the same trials are the same."""
    asked = (one > NOT_ASKED) & (other > NOT_ASKED)
    if not asked.any():
        return
    same = (one == other).astype(np.float64)
    about: Labels = {**block.labels, **labels}
    for measure, on in ((m.SIMILARITY, asked), (m.SIMILARITY_VALID, asked & (one >= 0) & (other >= 0))):
        sums = (block.by_instance(x * on).sum(axis=1, keepdims=True) for x in (same, np.ones_like(same)))
        table.add(measure, about, _shares(block, *sums))
    by = [agreement_by_chance(one[own], other[own], len(block.groups)) * own.sum()
          for at in range(len(block.instances)) for own in [asked & (block.instance == at)] if own.any()]  # fmt: skip
    method, none = "no interval: follows from the shares of both", float("nan")
    chance = cb.single(sum(by) / asked.sum(), none, none, none, int(asked.sum()), block.units, method)
    table.add(m.SIMILARITY_CHANCE, about, chance)
