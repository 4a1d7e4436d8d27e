"""Acceptance of pictures by rules: limits that known pairs give, who is left, and whether groups are left alike."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import DataError
from facevalue.generators.base import NULL_EDIT
from facevalue.inspection.quantities import BY_NAME
from facevalue.measures.estimators import Sums, share
from facevalue.protocol.inspected_pictures import LOOKED_FOR
from facevalue.protocol.making import IMAGE, PATH
from facevalue.protocol.picture_rules import LOOKALIKES, PictureRule
from facevalue.protocol.sets import OTHER_PATH
from facevalue.runs.inspections import Inspections

ACCEPTED, REASONS = "accepted", "reasons"
SHUT = "it cannot be decoded"
LEAST_PAIRS = 20
"""Known pairs of a cue and group, or of a group, from which a limit is taken; of fewer, those of all are."""
TAIL = 0.05
"""Share of known pairs beyond a limit: of other people who would pass for the same, of null edits that would not."""
_DEALS = 2000


@dataclass(frozen=True)
class Limit:
    """A limit that known pairs gave.

    Attributes
    ----------
    cue, group:
        What it is of; empty for all.
    value:
        The limit.
    pairs, kind:
        How many pairs gave it, and which: "other people", "null edits".
    of:
        Whose pairs these are: "cue and group", "group" or "all".
    """

    quantity: str
    cue: str
    group: str
    value: float
    pairs: int
    kind: str
    of: str


@dataclass(frozen=True)
class GroupShare:
    """Share of a group's pictures that pass, with its interval over people."""

    factor: str
    group: str
    accepted: int
    pictures: int
    people: int
    share: float
    low: float | None
    high: float | None
    method: str


@dataclass(frozen=True)
class Balance:
    """Whether a factor's groups pass alike: how far their shares lie apart, beside groups dealt by chance to people."""

    factor: str
    spread: float
    p: float | None


@dataclass(frozen=True)
class Acceptance:
    """What rules leave of pictures.

    Attributes
    ----------
    table:
        `image`, `accepted`, `reasons` (texts of the rules that it breaks), in the order of the list.
    """

    table: pl.DataFrame
    limits: tuple[Limit, ...]
    shares: tuple[GroupShare, ...]
    balance: tuple[Balance, ...]


def accepted(inspections: Inspections, rules: Sequence[PictureRule]) -> Acceptance:
    """Apply rules: a picture fails with its source, and where a quantity is missing that a rule is about.

    Raises
    ------
    DataError
        A rule is about what nothing was computed of, or no pairs are known by which it could be calibrated.
    """
    table = inspections.table
    group = _joint(table, inspections.groups)
    opened = (pl.col("readable") == 1).fill_null(value=False)
    shut = pl.when(pl.col("readable").is_null()).then(pl.lit("it was not inspected")).otherwise(pl.lit(SHUT))
    columns, limits = [pl.when(~opened).then(shut)], list[Limit]()
    for rule in rules:
        _check_computed(rule, inspections)
        low, high = pl.lit(rule.low), pl.lit(rule.high)
        if rule.calibrated:
            of_rows, of_rule = _limits(rule, table, group)
            limits += of_rule
            low, high = (of_rows, high) if rule.calibrated == "at_least" else (low, of_rows)
        value = pl.col(rule.quantity)
        concerns = opened & (pl.col(LOOKED_FOR).is_in(rule.cues) if rule.cues else pl.lit(value=True))
        if rule.quantity in BY_NAME and BY_NAME[rule.quantity].source:
            concerns &= pl.col(OTHER_PATH).is_not_null()
        broken = concerns & ~((value >= low) & (value <= high)).fill_null(value=False)
        why = pl.when(value.is_null()).then(pl.lit(f"{rule.quantity} is missing")).otherwise(pl.lit(rule.text))
        columns.append(pl.when(broken).then(why))
    reasons = table.select(pl.concat_list(columns).list.drop_nulls().alias(REASONS))[REASONS]
    failed = table.select(PATH, own=reasons.list.len() > 0)
    sources = failed.select(pl.col(PATH).alias(OTHER_PATH), source_failed="own").unique(OTHER_PATH)
    of_source = table.join(sources, on=OTHER_PATH, how="left", maintain_order="left")["source_failed"].fill_null(
        value=False
    )
    its_source = pl.Series(REASONS, [["its source fails"] if fails else [] for fails in of_source], pl.List(pl.String))
    verdicts = table.select(IMAGE).with_columns(
        (~(failed["own"] | of_source)).alias(ACCEPTED), reasons.list.concat(its_source).alias(REASONS)
    )
    rows = table.with_columns(verdicts[ACCEPTED])
    return Acceptance(
        verdicts,
        tuple(limits),
        tuple(part for factor in ("", *inspections.groups) for part in _shares(rows, factor, inspections.unit)),
        tuple(_balance(rows, factor, inspections.unit) for factor in inspections.groups),
    )


def _check_computed(rule: PictureRule, inspections: Inspections) -> None:
    if rule.quantity == LOOKALIKES or inspections.table[rule.quantity].count():
        return
    quantity = BY_NAME[rule.quantity]
    if quantity.need and quantity.need.value not in inspections.models:
        lack = f"inspect the pictures with a model for it: --with-model {quantity.need.value}=..."
    elif quantity.source and not inspections.edits.height:
        lack = "it compares a picture with its source, and none of the list has one"
    else:
        lack = "no picture has it"
    raise DataError(f"A rule is about {rule.quantity}, of which there is nothing: {lack}.")


def _joint(table: pl.DataFrame, groups: Sequence[str]) -> pl.Series:
    """The group of each picture: its levels of all factors."""
    levels = [pl.col(name).fill_null("(not stated)") for name in groups]
    return (
        table.select(pl.concat_str(levels, separator=", ").alias("group") if levels else pl.lit("").alias("group"))[
            "group"
        ]
        if levels
        else pl.Series("group", [""] * table.height)
    )


def _limits(rule: PictureRule, table: pl.DataFrame, group: pl.Series) -> tuple[pl.Expr, list[Limit]]:
    """A limit for each picture, from known pairs of its cue and group as far as there are enough."""
    of_people = rule.quantity == "identity_distance" and table["other_distance"].count() > 0
    kind = "other people" if of_people else "null edits"
    quantity = "other_distance" if of_people else rule.quantity
    rows = table.select(pl.col(LOOKED_FOR).alias("cue"), value=quantity).with_columns(group.alias("group"))
    pairs = rows.filter(pl.col("value").is_not_null())
    if not of_people:
        pairs = pairs.filter(pl.col("cue") == NULL_EDIT)
    if pairs.height < LEAST_PAIRS:
        raise DataError(
            f"{rule.quantity} cannot be calibrated: {pairs.height} known pairs ({kind}), of {LEAST_PAIRS} that it "
            f"takes. Have null edits made, too, or write a number."
        )
    # Other people who are nearer than the limit would pass; null edits beyond it would not
    tail = TAIL if of_people or rule.calibrated == "at_least" else 1 - TAIL
    limits: list[Limit] = []
    chosen: dict[tuple[str, str], float] = {}
    for cue, of_group in rows.select("cue", "group").unique(maintain_order=True).iter_rows():
        same_group = pairs.filter(pl.col("group") == of_group)
        same_cue = same_group.filter(pl.col("cue") == cue) if of_people else same_group.clear()
        candidates = (("cue and group", same_cue), ("group", same_group), ("all", pairs))
        of, taken = next((name, some) for name, some in candidates if some.height >= LEAST_PAIRS)
        value = float(np.quantile(taken["value"].to_numpy(), tail))
        chosen[cue, of_group] = value
        limits.append(Limit(rule.quantity, cue, of_group, value, taken.height, kind, of))
    of_rows = [chosen[key] for key in zip(rows["cue"], rows["group"], strict=True)]
    return pl.lit(pl.Series("limit", of_rows, pl.Float64)), limits


def _shares(rows: pl.DataFrame, factor: str, unit: str) -> list[GroupShare]:
    """Accepted pictures of each level of a factor; of all without one."""
    counted = rows.select(
        pl.col(unit).alias("unit"),
        (pl.col(factor) if factor else pl.lit("")).alias("group"),
        pl.col(ACCEPTED).cast(pl.Float64).alias("s"),
        pl.lit(1.0).alias("n"),
    ).filter(pl.col("group").is_not_null())
    labels, tested = share(Sums.of(counted, ["group"]), ["group"])
    estimates = tested.estimates
    sums = dict(counted.group_by("group").agg(pl.col("s").sum()).iter_rows())
    return [
        GroupShare(
            factor, str(level), int(sums[level]), int(estimates.n[at]), int(estimates.clusters[at]),
            float(estimates.value[at]), _finite(estimates.low[at]), _finite(estimates.high[at]),
            str(estimates.method[at]),
        )
        for at, level in enumerate(labels["group"])
        if level is not None
    ]  # fmt: skip


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _balance(rows: pl.DataFrame, factor: str, unit: str) -> Balance:
    """Spread of the groups' shares, and how often groups dealt by chance to people lie as far apart.

    A person who is shown in several groups keeps the places of these among their pictures: people are dealt, and not
    pictures. p counts the deal that was seen (Phipson and Smyth 2010).
    """
    stated = rows.filter(pl.col(factor).is_not_null())
    per_unit = stated.group_by(unit, maintain_order=True).agg(
        pl.col(factor).first(),
        pl.col(factor).n_unique().alias("levels"),
        pl.col(ACCEPTED).sum().alias("s"),
        pl.len().alias("n"),
    )
    groups, codes = np.unique(per_unit[factor].to_numpy(), return_inverse=True)
    hits, sizes = per_unit["s"].to_numpy().astype(float), per_unit["n"].to_numpy().astype(float)

    def spread(of: npt.NDArray[np.int64]) -> float:
        counts = np.bincount(of, sizes, groups.size)
        shares = np.bincount(of, hits, groups.size) / np.maximum(counts, 1)
        return float(shares.max() - shares.min())

    seen = spread(codes)
    if (per_unit["levels"] > 1).any() or groups.size == per_unit.height:
        return Balance(factor, seen, None)
    rng = np.random.default_rng(0)
    beyond = sum(spread(rng.permutation(codes)) >= seen - 1e-12 for _ in range(_DEALS))
    return Balance(factor, seen, (beyond + 1) / (_DEALS + 1))
