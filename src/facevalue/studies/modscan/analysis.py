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
    answers: Mapping[str, Iterator[pl.DataFrame]], parts: Sequence[Part], real_world: str = ""
) -> pl.DataFrame:
    """Estimate everything, from the answers of each model in chunks."""
    found = {model: Answers(parts, chunks) for model, chunks in answers.items()}
    real = real_shares(real_world) if real_world else None
    tables = {model: Rows() for model in found}
    for part in parts:
        for model, own in found.items():
            if own.asked[part.trials].any():
                _add_part(tables[model], part, own, real)
        _add_agreement(tables, part, found)
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
        told = {n: [level] * size if level is None or isinstance(level, str) else level for n, level in labels.items()}
        floor = floor or cb.no_floor(size)
        p = floor.p if p is None else p
        bounds = bounds or unbounded(found.value)
        self._parts.setdefault(measure, []).append((told, found, p, floor, bounds, [family] * size))

    def table(self, table: EstimateTable) -> pl.DataFrame:
        """All of them as a table."""
        for measure, parts in self._parts.items():
            names = dict.fromkeys(name for told, *_ in parts for name in told)
            labels = {n: [x for told, e, *_ in parts for x in told.get(n, [None] * e.value.size)] for n in names}
            found = cb.joined([e for _, e, *_ in parts])
            p = np.concatenate([p for _, _, p, *_ in parts])
            floors = (np.concatenate([getattr(floor, n) for *_, floor, _, _ in parts]) for n in ("mean", "high", "p"))
            bounds = missing_data_bounds.joined([of_part for *_, of_part, _ in parts])
            families = [x for *_, family in parts for x in family]
            floor = cb.Floor(*floors)
            table.add(measure, labels, found, p=p, floor=floor, family=families, bounds=bounds)  # type: ignore[arg-type]
        return table.frame()


def alike(
    model: str, intervention: str, plain: Iterator[pl.DataFrame], other: Iterator[pl.DataFrame], parts: Sequence[Part]
) -> pl.DataFrame:
    """Similarity of a model's answers with and without an intervention (Table 13)."""
    table = Rows()
    both = [Answers(parts, chunks) for chunks in (plain, other)]
    for part in parts:
        one, two = (own.groups_chosen(part) for own in both)
        _add_similarity(table, part, one, two, {})
    return table.table(EstimateTable(STUDY, model, m.LABELS, intervention))


def _add_part(table: Rows, part: Part, own: Answers, real: Mapping[tuple[str, str], tuple[float, str]] | None) -> None:
    choices = own.choices(part)
    _add_scores(table, part, choices)
    _add_shares(table, part, choices, real)
    _add_shares_of_all(table, part, choices)
    _add_missing(table, part, own, choices)
    _add_position(table, part, own)
    if part.rivals:
        _add_beside(table, part, own)


@takes(m.SCORE, m.SCORE_VALID, m.SCORE_SHARE, m.SCORE_CORRECTED)
def _add_scores(table: Rows, part: Part, choices: Choices) -> None:
    found = bias_scores(choices, SEED)
    empty = [name for name, n in zip(part.instances, choices.valid.sum(axis=0), strict=True) if not n]
    for name, measure in (("all", m.SCORE), ("valid", m.SCORE_VALID), ("share", m.SCORE_SHARE),
                          ("corrected", m.SCORE_CORRECTED)):  # fmt: skip
        family = {m.SCORE: "bias scores", m.SCORE_VALID: "bias scores, valid answers"}.get(measure)
        _enter_score(table, measure, part.labels, found[name], choices, family, empty)


def _enter_score(
    table: Rows, measure: Measure, labels: Labels, score: Score, choices: Choices, family: str | None,
    empty: list[str],
) -> None:  # fmt: skip
    left_out = f"; without {', '.join(empty)}, of which there is no valid answer" if empty else ""
    n = round(float(choices.valid.sum()))
    estimate = cb.single(score.value, score.low, score.high, score.se, n, score.clusters, f"{NOISE}{left_out}")
    floor = None if measure is m.SCORE_CORRECTED else score.floor
    table.add(measure, labels, estimate, floor=floor, family=family, bounds=score.bounds)


def _shares(part: Part, chosen: cb.Array, shown: cb.Array) -> dyads.PairShares:
    """Shares of columns, of arrays by unit, with their uncertainty over people."""
    total, cells = shown.sum(axis=0), shown.shape[1]
    if cb.only_values():
        none, count = np.full(cells, np.nan), (shown > 0).sum(axis=0)
        how, n = np.full(cells, dyads.FEW, dtype=object), np.rint(total).astype(np.int64)
        return dyads.PairShares(
            value=cb.ratio(chosen.sum(axis=0), total), low=none, high=none, n=n, clusters=count, method=how, se=none,
            size=none, df=none, most=none,
        )  # fmt: skip
    one, other = (np.repeat(side, cells) for side in part.people)
    cell = np.tile(np.arange(cells), part.units)
    estimates = dyads.shares(np.minimum(chosen, shown).ravel(), shown.ravel(), (one, other), cell, cells)
    interval_method = dyads.METHOD if part.modality == VISION else WILSON
    method = np.where(estimates.method == dyads.METHOD, interval_method, estimates.method)
    return replace(estimates, method=np.where(total > 0, method, f"{NOT_MEASURABLE}: no valid answer"))


def _less(shares: dyads.PairShares, null: cb.Array, at: npt.NDArray[np.int64]) -> tuple[cb.Estimates, cb.Array]:
    """Shares less what they are compared with, and p of no difference; of some of them."""
    score = shares.at(at)
    p = score_p(score.value, shares.size[at], shares.df[at], null)
    return replace(score, value=score.value - null, low=score.low - null, high=score.high - null), p


@takes(m.SHARE, m.CHANCE_GAP, m.REAL_GAP)
def _add_shares(
    table: Rows, part: Part, choices: Choices, real: Mapping[tuple[str, str], tuple[float, str]] | None
) -> None:
    groups, count = part.groups, len(part.instances)
    names = [name for name in part.instances for _ in groups]
    labels = {**part.labels, "instance": names, "group": [*groups] * count}
    chosen, shown, could = (x.reshape(part.units, -1) for x in (choices.chosen, choices.shown, choices.open))
    shares = _shares(part, chosen, shown)
    bounds = _bounds(part, chosen, shown, could)
    table.add(m.SHARE, labels, shares, bounds=bounds)

    def only(keep: list[int]) -> dict[str, object]:
        return {n: [v[at] for at in keep] if isinstance(v, list) else v for n, v in labels.items()}

    at = np.arange(len(names)) if len(groups) > 2 else np.arange(0, len(names), 2)
    gaps, p = _less(shares, np.full(at.size, choices.even), at)
    family = f"gaps from chance ({part.modality}, {part.attribute})"
    table.add(
        m.CHANCE_GAP, only(at.tolist()), gaps, p=p, family=family,  # type: ignore[arg-type]
        bounds=bounds.at(at).less(choices.even),
    )  # fmt: skip
    if real:
        known = [i for i, key in enumerate(zip(names, labels["group"], strict=True)) if key in real]  # type: ignore[arg-type]
        if known:
            cells = [real[names[i], str(labels["group"][i])] for i in known]  # type: ignore[index]
            null = np.array([share for share, _ in cells])
            differences, p = _less(shares, null, np.array(known))
            how = np.array(
                [f"{a}; real share: {b}" for a, (_, b) in zip(differences.method, cells, strict=True)], object
            )
            differences = replace(differences, method=how)
            table.add(
                m.REAL_GAP, only(known), differences, p=p, family="against real shares",  # type: ignore[arg-type]
                bounds=bounds.at(np.array(known)).less(null),
            )  # fmt: skip


@takes(m.SHARE_ALL, m.GROUP_GAP)
def _add_shares_of_all(table: Rows, part: Part, choices: Choices) -> None:
    """Add shares of all replies, missing ones being a choice of their own."""
    groups, count = part.groups, len(part.instances)
    asked = choices.asked[:, :, None]
    lost = asked - choices.valid[:, :, None]
    outcome = np.concatenate([choices.chosen, lost], axis=2).reshape(part.units, -1)
    told = {**part.labels, "instance": [n for n in part.instances for _ in (*groups, "")],
            "group": [*groups, NO_ANSWER] * count}  # fmt: skip
    table.add(m.SHARE_ALL, told, _shares(part, outcome, np.repeat(choices.asked, len(groups) + 1, axis=1)))
    if part.attribute == "gender" and set(groups) == {"male", "female"}:
        less = choices.chosen[:, :, groups.index("male")] - choices.chosen[:, :, groups.index("female")]
        middle = _shares(part, (choices.asked + less) / 2, choices.asked)  # a missing answer lies between the two
        table.add(m.GROUP_GAP, {**part.labels, "instance": list(part.instances)}, _linear(middle, 200.0, -100.0))


def _bounds(part: Part, chosen: cb.Array, shown: cb.Array, could: cb.Array) -> Bounds:
    """What shares could have been, had the missing answers been given; their standard error is over people, too."""
    replies = Replies(np.minimum(chosen, shown), shown, could)
    ends = [_shares(part, filled(replies, pole), could).se for pole in (0.0, 1.0)]
    return replace(phi_bounds(replies), se=np.fmax(*ends))


@takes(m.NA_RATE)
def _add_missing(table: Rows, part: Part, own: Answers, choices: Choices) -> None:
    lost, asked = choices.asked - choices.valid, choices.asked
    table.add(m.NA_RATE, {**part.labels, "instance": list(part.instances)}, _shares(part, lost, asked))
    whole = asked.sum(axis=1, keepdims=True)
    table.add(m.NA_RATE, part.labels, _shares(part, lost.sum(axis=1, keepdims=True), whole))
    for reason in sorted(own.reasons):
        counts = part.by_instance(own.reasons[reason][part.trials]).sum(axis=1, keepdims=True)
        if counts.any():
            table.add(m.NA_RATE, {**part.labels, "reason": reason}, _shares(part, counts, whole))


@takes(m.LEFT, m.FIRST)
def _add_position(table: Rows, part: Part, own: Answers) -> None:
    first = part.by_instance(own.weights[part.trials, 0])
    valid = part.by_instance(own.valid[part.trials])
    measure = m.LEFT if part.modality == VISION else m.FIRST
    table.add(measure, {**part.labels, "instance": list(part.instances)}, _shares(part, first, valid))
    sums = (first.sum(axis=1, keepdims=True), valid.sum(axis=1, keepdims=True))
    table.add(measure, part.labels, _shares(part, *sums))


@takes(m.BESIDE)
def _add_beside(table: Rows, part: Part, own: Answers) -> None:
    """Of each two groups, how often the one is chosen beside the other: by instance, and over all."""
    weights, valid = own.weights[part.trials, :2], own.valid[part.trials]
    chosen, shown = part.beside(weights), part.beside(np.stack([valid, valid], axis=1))
    for a, b in permutations(range(len(part.groups)), 2):
        sums = chosen[:, :, a, b], shown[:, :, a, b]
        if not part.pairs[a, b]:
            continue
        labels = {**part.labels, "group": part.groups[a], "other_group": part.groups[b]}
        table.add(m.BESIDE, {**labels, "instance": list(part.instances)}, _linear(_shares(part, *sums), 100.0))
        both = (x.sum(axis=1, keepdims=True) for x in sums)
        table.add(m.BESIDE, labels, _linear(_shares(part, *both), 100.0))


def _linear(estimates: cb.Estimates, times: float, more: float = 0.0) -> cb.Estimates:
    """Estimates in another unit."""
    assert estimates.se is not None
    value, low, high = (times * x + more for x in (estimates.value, estimates.low, estimates.high))
    return replace(estimates, value=value, low=low, high=high, se=times * estimates.se)


def _add_agreement(tables: Mapping[str, Rows], part: Part, found: Mapping[str, Answers]) -> None:
    """Similarity of each two models, and the scores where all agree."""
    named = {model: own.groups_chosen(part) for model, own in found.items()}
    for one, other in combinations(named, 2):
        _add_similarity(tables[one], part, named[one], named[other], {"other_model": other})
    if len(named) < 2:
        return
    codes = list(named.values())
    asked = np.logical_and.reduce([own > NOT_ASKED for own in codes])
    agreed = np.logical_and.reduce([own == codes[0] for own in codes]) & (codes[0] >= 0)
    first = next(iter(tables))
    labels: Labels = {**part.labels, "other_model": ALL_AGREE}
    sums = (part.by_instance(x.astype(np.float64)).sum(axis=1, keepdims=True) for x in (agreed, asked))
    tables[first].add(m.AGREED, labels, _shares(part, *sums))
    choices = found[first].choices(part, agreed)
    _enter_score(tables[first], m.ENSEMBLE, labels, bias_scores(choices, SEED)["valid"], choices, "agreement", [])


def _add_similarity(
    table: Rows, part: Part, one: npt.NDArray[np.int8], other: npt.NDArray[np.int8], labels: Labels
) -> None:
    """Add how often two sets of answers to the same trials are the same."""
    asked = (one > NOT_ASKED) & (other > NOT_ASKED)
    if not asked.any():
        return
    same = (one == other).astype(np.float64)
    about: Labels = {**part.labels, **labels}
    for measure, on in ((m.SIMILARITY, asked), (m.SIMILARITY_VALID, asked & (one >= 0) & (other >= 0))):
        sums = (part.by_instance(x * on).sum(axis=1, keepdims=True) for x in (same, np.ones_like(same)))
        table.add(measure, about, _shares(part, *sums))
    by = [agreement_by_chance(one[own], other[own], len(part.groups)) * own.sum()
          for at in range(len(part.instances)) for own in [asked & (part.instance == at)] if own.any()]  # fmt: skip
    how, none = "no interval: follows from the shares of both", float("nan")
    chance = cb.single(sum(by) / asked.sum(), none, none, none, int(asked.sum()), part.units, how)
    table.add(m.SIMILARITY_CHANCE, about, chance)
