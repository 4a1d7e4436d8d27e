"""Acceptance of pictures by rules: limits that known pairs give, who is left, and whether groups are left alike."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import DataError, RunError
from facevalue.generators.base import NULL_EDIT
from facevalue.inspection.quantities import BY_NAME, QUANTITIES
from facevalue.measures.group_shares import group_shares
from facevalue.measures.intervals import describe_method
from facevalue.protocol.inspected_pictures import LOOKED_FOR
from facevalue.protocol.making import IMAGE, PATH
from facevalue.protocol.picture_checks import ACCEPTED, LOOKALIKES, OF_SOURCE, REASONS, SHUT, SPARE, UNSEEN, PictureRule
from facevalue.protocol.sources import ATTEMPT
from facevalue.runs.stored_run import StoredRun, answers
from facevalue.statistics.sets import OTHER_PATH
from facevalue.stimuli.images import ImageFiles, image_files
from facevalue.stimuli.pixels import MOST_VIEWS, facts_of, lookalikes
from facevalue.studies.declared.pictures import GROUPS, PROTOCOL

# What was found of pictures: a row per picture with its quantities, read from a run of inspection.


def joint_levels(table: pl.DataFrame, factors: Sequence[str]) -> pl.Series:
    """The group of each picture: its levels of these factors together."""
    if not factors:
        return pl.Series("group", [""]).new_from_index(0, table.height)
    levels = pl.col(factors).fill_null("(not stated)")
    return table.select(pl.concat_str(levels, separator=", ").alias("group")).to_series()


@dataclass(frozen=True)
class Inspections:
    """Pictures of a run of inspection.

    Attributes
    ----------
    table:
        A row per picture of the list: `image`, `path`, `other_path` (of its source), `looked_for`, `identity`, factors,
        each quantity (null: not computed), and `lookalikes`.
    groups:
        Factors by which acceptance is compared.
    unit:
        Column of what was sampled.
    models:
        What the inspector had models for.
    """

    table: pl.DataFrame
    groups: tuple[str, ...]
    unit: str
    models: tuple[str, ...]

    @classmethod
    def from_run(cls, run: StoredRun) -> "Inspections":
        """Read a run; pictures whose inspection failed have no quantity.

        Raises
        ------
        RunError
            It is of another study, or holds nothing.
        """
        if run.facts.study != PROTOCOL.name:
            raise RunError(f"{run.place} is a run of {run.facts.study}: pictures are inspected by inspect-pictures.")
        names = [quantity.name for quantity in QUANTITIES]
        chunks = []
        for chunk in answers(run):
            present = [name for name in names if name in chunk.columns and name not in run.study.manifest.columns]
            chunks.append(chunk.select(pl.col(IMAGE).cast(pl.String), *present))
        numbers = pl.concat(chunks, how="diagonal_relaxed").unique(IMAGE, keep="first")
        lacking = [pl.lit(None, pl.Float64).alias(name) for name in names if name not in numbers.columns]
        table = run.study.manifest.join(numbers.with_columns(lacking), on=IMAGE, how="left", maintain_order="left")
        files = image_files(table, Path(str(run.facts.options["root"])))
        models = run.facts.options.get("models") or []
        return cls(
            table.with_columns(_lookalikes(table, files)),
            tuple(name for name in GROUPS if name in table.columns and table[name].n_unique() > 1),
            "set" if table["set"].count() else "identity",
            tuple(models) if isinstance(models, list) else (str(models),),
        )

    @property
    def edits(self) -> pl.DataFrame:
        """Pictures that have a source."""
        return self.table.filter(pl.col(OTHER_PATH).is_not_null())


def _lookalikes(table: pl.DataFrame, files: ImageFiles) -> pl.Series:
    """Number of other pictures on the list that look like each; its source and edits of it do not count."""
    views = facts_of(files, table[PATH].to_list()).views
    counts = [0] * table.height
    origins = table.select(pl.coalesce(OTHER_PATH, PATH)).to_series().to_list()
    for first, second in lookalikes(views):
        if origins[first] != origins[second]:
            counts[first] += 1
            counts[second] += 1
    is_viewed = views.shape[0] == table.height
    return pl.Series(LOOKALIKES, counts if is_viewed else [None] * table.height, pl.Float64)


LEAST_PAIRS = 20
"""Known pairs from which a limit is taken; of fewer of a cue and group those of the group are, of fewer of all."""
LEAST_PEOPLE = 6
"""People whose pairs these are, of a cue and group, or of a group: many pairs of a few people tell of these alone."""
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
    pairs, people, kind:
        How many pairs gave it, of how many people, and which: "other people", "null edits", "sources written anew".
    of:
        Whose pairs these are: "cue and group", "group" or "all".
    """

    quantity: str
    cue: str
    group: str
    value: float
    pairs: int
    people: int
    kind: str
    of: str


@dataclass(frozen=True)
class GroupShare:
    """Share of a group's pictures that pass, of those that were inspected, with its interval over people."""

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
    """Balance of a factor: spread of its groups' shares that pass, beside groups dealt by chance to people."""

    factor: str
    spread: float
    p: float | None


@dataclass(frozen=True)
class Acceptance:
    """Result of applying rules to pictures.

    Attributes
    ----------
    table:
        `image`, `accepted`, `reasons` (texts of the rules that it breaks), in the order of the list; of several
        attempts one is accepted.
    shares, balance:
        Of all attempts.
    """

    table: pl.DataFrame
    limits: tuple[Limit, ...]
    shares: tuple[GroupShare, ...]
    balance: tuple[Balance, ...]

    def add_verdicts(self, table: pl.DataFrame) -> pl.DataFrame:
        """Pictures, as a table of inspections has them, with whether each passes and why not."""
        return table.join(self.table, on=IMAGE, how="left", maintain_order="left")


def apply_rules(
    inspections: Inspections, rules: Sequence[PictureRule], rewritten: Callable[[pl.Series], pl.DataFrame] | None = None
) -> Acceptance:
    """Apply rules: a picture fails with its source, and where a quantity is missing that a rule is about.

    `rewritten`: makes pairs of sources and themselves, from the group of each picture; asked where null edits are few.

    Raises
    ------
    DataError
        A rule is about what nothing was computed of, or no pairs are known by which it could be calibrated.
    """
    table = inspections.table
    group = joint_levels(table, inspections.groups)
    sources_anew = cache(lambda: rewritten(group)) if rewritten else None
    columns, limits = [_unopened_reason()], list[Limit]()
    for rule in rules:
        if rule.edited and not inspections.edits.height:
            continue
        _check_computed(rule, inspections)
        low, high = pl.lit(rule.low), pl.lit(rule.high)
        if rule.calibrated:
            pairs = _known_pairs(rule, table.with_columns(person=inspections.unit), group, sources_anew)
            of_rows, of_rule = _limits(rule, table, group, pairs)
            limits += of_rule
            low, high = (of_rows, high) if rule.calibrated == "at_least" else (low, of_rows)
        columns.append(_breach_text(rule, low, high))
    reasons = table.select(pl.concat_list(columns).list.drop_nulls().alias(REASONS))[REASONS]
    verdicts = _with_sources(table, reasons)
    unseen = table.filter(pl.col("readable").is_null())[PATH].implode()
    is_judged = ~pl.any_horizontal(pl.col(PATH, OTHER_PATH).is_in(unseen).fill_null(value=False))
    rows = table.with_columns(verdicts[ACCEPTED]).filter(is_judged)
    factors = [name for name in inspections.groups if rows[name].count()]
    return Acceptance(
        _first_attempts(table, verdicts, inspections.unit),
        tuple(limits),
        tuple(share for factor in ("", *factors) for share in _shares(rows, factor, inspections.unit)),
        tuple(_balance(rows, factor, inspections.unit) for factor in factors),
    )


def _unopened_reason() -> pl.Expr:
    """Expression for the reason why a picture that has no quantities has none; null for others."""
    reason = pl.when(pl.col("readable").is_null()).then(pl.lit(UNSEEN)).otherwise(pl.lit(SHUT))
    return pl.when(~_is_opened()).then(reason)


def _is_opened() -> pl.Expr:
    return (pl.col("readable") == 1).fill_null(value=False)


def _breach_text(rule: PictureRule, low: pl.Expr, high: pl.Expr) -> pl.Expr:
    """The rule in words where a picture that it is about breaks it, or lacks its quantity; null elsewhere."""
    value = pl.col(rule.quantity)
    concerns = _is_opened() & (pl.col(LOOKED_FOR).is_in(rule.cues) if rule.cues else pl.lit(value=True))
    if rule.quantity in BY_NAME and BY_NAME[rule.quantity].source:
        concerns &= pl.col(OTHER_PATH).is_not_null()
    if rule.edited:
        concerns &= pl.col(LOOKED_FOR).ne_missing(pl.lit(NULL_EDIT))
    breaks = concerns & ~((value >= low) & (value <= high)).fill_null(value=False)
    reason = pl.when(value.is_null()).then(pl.lit(f"{rule.quantity} is missing")).otherwise(pl.lit(rule.text))
    return pl.when(breaks).then(reason)


def _with_sources(table: pl.DataFrame, reasons: pl.Series) -> pl.DataFrame:
    """Verdicts: a picture fails for reasons of its own, and with its source, however many edits lie between."""
    fails = {path: len(texts) > 0 for path, texts in zip(table[PATH], reasons, strict=True)}
    of_source = [any(fails.get(path, False) for path in line[1:]) for line in _lines(table)]
    verdicts = table.select(IMAGE).with_columns(_with_reason(reasons, of_source, OF_SOURCE))
    return verdicts.select(IMAGE, (pl.col(REASONS).list.len() == 0).alias(ACCEPTED), REASONS)


def _with_reason(reasons: pl.Series, fails: Iterable[bool], reason: str) -> pl.Series:
    """Reasons, and another one of pictures that fail for it."""
    return reasons.list.concat(pl.Series([[reason] if failed else [] for failed in fails], dtype=pl.List(pl.String)))


def _lines(table: pl.DataFrame) -> list[list[str]]:
    """Each picture, what it was edited from, what that was edited from, and so on."""
    origins: dict[str, str | None] = dict(table.select(PATH, OTHER_PATH).iter_rows())
    return [_line(path, origins) for path in table[PATH]]


def _line(path: str, origins: Mapping[str, str | None]) -> list[str]:
    line = [path]
    while (origin := origins.get(line[-1])) is not None and origin not in line:
        line.append(origin)
    return line


def _first_attempts(table: pl.DataFrame, verdicts: pl.DataFrame, unit: str) -> pl.DataFrame:
    """Keep one attempt at each unit: the first that passes as a whole, else the one of which most passes.

    Attempts are numbered in a column, and at the end of the unit's name, as `make --draws` does; edits go with what
    they were edited from, as each picture may be a unit by itself.
    """
    if ATTEMPT not in table.columns:
        return verdicts
    units = dict(table.select(PATH, unit).iter_rows())
    first_units = pl.Series([units.get(line[-1]) for line in _lines(table)], dtype=pl.String)
    slots = first_units.str.replace(r"/\d+$", "").alias("slot")
    rows = table.select(slots, pl.col(ATTEMPT).cast(pl.Int64, strict=False)).with_columns(verdicts[ACCEPTED])
    of_attempt = rows.group_by("slot", ATTEMPT).agg(pl.col(ACCEPTED).sum().alias("passed"))
    ordered = of_attempt.sort("passed", ATTEMPT, descending=[True, False])
    best = ordered.unique("slot", keep="first", maintain_order=True).select("slot", best=ATTEMPT)
    rows = rows.join(best, on="slot", how="left", maintain_order="left")
    spare = ((rows[ATTEMPT] != rows["best"]) & rows[ACCEPTED]).fill_null(value=False)
    return verdicts.with_columns(
        (pl.col(ACCEPTED) & ~spare).alias(ACCEPTED), _with_reason(verdicts[REASONS], spare, SPARE)
    )


def _check_computed(rule: PictureRule, inspections: Inspections) -> None:
    if inspections.table[rule.quantity].count():
        return
    if rule.quantity == LOOKALIKES:
        raise DataError(f"A rule is about {LOOKALIKES}, which are looked for in up to {MOST_VIEWS:,} pictures.")
    quantity = BY_NAME[rule.quantity]
    if quantity.need and quantity.need.value not in inspections.models:
        lack = f"inspect the pictures with a model for it: --with-model {quantity.need.value}=..."
    elif quantity.source and not inspections.edits.height:
        lack = "it compares a picture with its source, and none of the list has one"
    else:
        lack = "no picture has it"
    raise DataError(f"A rule is about {rule.quantity}, of which there is nothing: {lack}.")


@dataclass(frozen=True)
class _KnownPairs:
    """Known pairs: their `cue`, `group`, `person` and `value`, what they are, and the share of them below the limit."""

    rows: pl.DataFrame
    kind: str
    below: float


def _known_pairs(
    rule: PictureRule, table: pl.DataFrame, group: pl.Series, sources: Callable[[], pl.DataFrame] | None
) -> _KnownPairs:
    """Other people for an identity, else null edits, or sources written anew where there are few of these."""
    rows = table.with_columns(group.alias("group"), pl.col(LOOKED_FOR).alias("cue"))
    if rule.quantity == "identity_distance" and table["other_distance"].count() >= LEAST_PAIRS:
        people = rows.select("cue", "group", "person", value="other_distance").drop_nulls("value")
        return _KnownPairs(people, "other people", TAIL)  # so many of them would pass for the same person
    below = TAIL if rule.calibrated == "at_least" else 1 - TAIL
    unedited = rows.filter(cue=NULL_EDIT).select("cue", "group", "person", value=rule.quantity).drop_nulls("value")
    if unedited.height >= LEAST_PAIRS:
        return _KnownPairs(unedited, "null edits", below)
    inspected = sources() if sources else pl.DataFrame()
    if rule.quantity in inspected.columns:
        persons = inspected.join(rows.select(PATH, "person"), on=PATH, how="left")
        pairs = persons.select(pl.lit("").alias("cue"), "group", "person", value=rule.quantity).drop_nulls("value")
        if pairs.height >= LEAST_PAIRS:
            return _KnownPairs(pairs, "sources written anew", below)
    raise DataError(
        f"{rule.quantity} cannot be calibrated: there are {unedited.height} null edits of the {LEAST_PAIRS} that it "
        "takes, and too few sources. Write a number."
    )


def _limits(
    rule: PictureRule, table: pl.DataFrame, group: pl.Series, pairs: _KnownPairs
) -> tuple[pl.Expr, list[Limit]]:
    """A limit for each picture, from known pairs of its cue and group as far as there are enough."""
    rows = table.select(cue=LOOKED_FOR).with_columns(group.alias("group"))
    limits: dict[tuple[str, str], Limit] = {}
    for cue, of_group in rows.unique(maintain_order=True).iter_rows():
        same_group = pairs.rows.filter(group=of_group)
        candidates = (("cue and group", same_group.filter(cue=cue)), ("group", same_group), ("all", pairs.rows))
        of, rows_of = next((name, pairs_of) for name, pairs_of in candidates if name == "all" or _are_enough(pairs_of))
        value = float(np.quantile(rows_of["value"].to_numpy(), pairs.below))
        people = rows_of["person"].n_unique()
        limits[cue, of_group] = Limit(rule.quantity, cue, of_group, value, rows_of.height, people, pairs.kind, of)
    of_rows = [limits[key].value for key in zip(rows["cue"], rows["group"], strict=True)]
    return pl.lit(pl.Series("limit", of_rows, pl.Float64)), list(limits.values())


def _are_enough(pairs: pl.DataFrame) -> bool:
    return pairs.height >= LEAST_PAIRS and pairs["person"].n_unique() >= LEAST_PEOPLE


def _shares(rows: pl.DataFrame, factor: str, unit: str) -> list[GroupShare]:
    """Accepted pictures of each level of a factor; of all without one."""
    by = [factor] if factor else []
    shares = group_shares(rows.drop_nulls(by) if by else rows, ACCEPTED, by, unit).filter(pl.col("n") > 0)
    return [
        GroupShare(
            factor, str(row[factor]) if factor else "", round(row["share"] * row["n"]), row["n"], row["units"],
            row["share"], row["low"], row["high"], describe_method(row["method"], row["detail"]),
        )
        for row in shares.iter_rows(named=True)
    ]  # fmt: skip


def _balance(rows: pl.DataFrame, factor: str, unit: str) -> Balance:
    """Spread of the groups' shares, and how often groups dealt by chance to people lie as far apart.

    A person who is shown in several groups keeps the places of these among their pictures: people are dealt, and not
    pictures. p counts the deal that was seen (Phipson and Smyth 2010).
    """
    per_unit = (
        rows.drop_nulls(factor)
        .group_by(unit, maintain_order=True)
        .agg(
            pl.col(factor).first(),
            pl.col(factor).n_unique().alias("levels"),
            pl.col(ACCEPTED).sum().alias("s"),
            pl.len().alias("n"),
        )
    )
    groups, codes = np.unique(per_unit[factor].to_numpy(), return_inverse=True)
    hits, sizes = per_unit["s"].to_numpy().astype(float), per_unit["n"].to_numpy().astype(float)

    def spread(of: npt.NDArray[np.int64]) -> float:
        counts = np.bincount(of, sizes, groups.size)
        shares = np.bincount(of, hits, groups.size) / np.maximum(counts, 1)
        return float(shares.max() - shares.min())

    observed = spread(codes)
    if (per_unit["levels"] > 1).any() or groups.size == per_unit.height:
        return Balance(factor, observed, None)
    rng = np.random.default_rng(0)
    beyond = sum(spread(rng.permutation(codes)) >= observed - 1e-12 for _ in range(_DEALS))
    return Balance(factor, observed, (beyond + 1) / (_DEALS + 1))
