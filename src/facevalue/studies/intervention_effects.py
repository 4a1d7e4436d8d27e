"""Estimates of interventions: those of the plain study in each condition, and their paired changes."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Design
from facevalue.measures import intervention_effects
from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import values_only
from facevalue.measures.clusters import UNITS, clusters
from facevalue.measures.estimates import EstimateTable, stacked
from facevalue.measures.intervention_effects import Asked
from facevalue.prompts import caesar
from facevalue.protocol.study import Study
from facevalue.studies.intervention_conditions import READING, Conditions

SEED = 20260
"""Of the groups that clusters are dealt into, and of resampling: the same answers always give the same estimates."""
MOST_ROWS = 3_000_000
"""Answers of one model that are kept in memory; what is more waits on the disk."""
MANY_ROWS = 12_000_000
"""Answers of one model from which fewer groups are left out, as each takes another pass over all of them."""
FEWER_GROUPS = 10
_CLUSTER = "(cluster)"


def measures(plain: Sequence[Measure], *, ciphered: bool) -> tuple[Measure, ...]:
    """Definitions of what is measured besides the plain study's own measures."""
    unit = unit_of(plain)
    own = [*map(intervention_effects.change_of, plain), intervention_effects.missing_change(unit)]
    return (*own, intervention_effects.reading_share(unit)) if ciphered else tuple(own)


def unit_of(measures: Sequence[Measure]) -> str:
    """The unit that a study samples: that of most of its measures; "stimulus" where it has none."""
    return Counter(m.cluster for m in measures).most_common(1)[0][0] if measures else "stimulus"


def analyse(conditions: Conditions, answers: Mapping[str, Iterator[pl.DataFrame]]) -> pl.DataFrame:
    """Estimate everything in every condition, and the changes.

    Returns the plain study's estimates from the plain answers; then, for each model and intervention, its estimates and
    their changes, with the label `intervention`. A condition without answers has none.
    """
    study = conditions.study
    with TemporaryDirectory(prefix="facevalue-") as folder:
        kept = {
            model: _split(conditions, chunks, Path(folder) / str(at))
            for at, (model, chunks) in enumerate(answers.items())
        }
        parts = [study.analyse({model: own[0].chunks() for model, own in kept.items()})]
        for model, own in kept.items():
            plain = parts[0].filter(pl.col("model") == model) if parts[0].height else parts[0]
            parts += _model(conditions, model, own, plain)
    return stacked([part for part in parts if part.height] or parts[:1])


class Kept:
    """One model's answers in one condition, as answers of the plain study."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parts: list[pl.DataFrame | Path] = []
        self.rows = 0
        self._trials: list[npt.NDArray[np.uint64]] = []

    def add(self, chunk: pl.DataFrame, *, to_disk: bool) -> None:
        """Keep a chunk with its column of clusters."""
        self.rows += chunk.height
        self._trials.append(chunk["trial"].unique().to_numpy())
        if not to_disk:
            self._parts.append(chunk)
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{len(self._parts)}.arrow"
        chunk.write_ipc(path)
        self._parts.append(path)

    def raw(self) -> Iterator[pl.DataFrame]:
        """All chunks, with their clusters."""
        for part in self._parts:
            yield part if isinstance(part, pl.DataFrame) else pl.read_ipc(part.read_bytes())

    def chunks(
        self, only: npt.NDArray[np.uint64] | None = None, left_out: pl.Series | None = None
    ) -> Iterator[pl.DataFrame]:
        """All chunks, or those of some trials, or without some clusters."""
        for part in self.raw():
            chunk = part
            if only is not None:
                chunk = chunk.filter(np.isin(chunk["trial"].to_numpy(), only))
            if left_out is not None:
                chunk = chunk.filter(~pl.col(_CLUSTER).is_in(left_out.implode()))
            if chunk.height:
                yield chunk.drop(_CLUSTER)

    def trials(self) -> npt.NDArray[np.uint64]:
        """Trials that were answered, ascending."""
        found = np.concatenate(self._trials) if self._trials else np.zeros(0, dtype=np.uint64)
        return pl.Series(found).unique().sort().to_numpy()


def _split(conditions: Conditions, chunks: Iterator[pl.DataFrame], folder: Path) -> list[Kept]:
    """One model's answers by condition."""
    count = 1 + len(conditions.interventions)
    out = [Kept(folder / str(condition)) for condition in range(count)]
    named = Clusters(conditions.study)
    for chunk in chunks:
        plain = conditions.plain(chunk)
        plain = plain.with_columns(pl.Series(_CLUSTER, named.of(plain)))
        condition = pl.Series(conditions.of(chunk))
        for c, own in enumerate(out):
            part = plain.filter(condition == c)
            if part.height:
                own.add(part, to_disk=sum(kept.rows for kept in out) > MOST_ROWS)
    return out


class Clusters:
    """Numbers the clusters of a study's answers.

    By what it says was sampled (`Study.sampled`), or the columns of its measures' unit, where the answers have them;
    else by what is shown, a picture and the same without the picture being one cluster.
    """

    def __init__(self, study: Study) -> None:
        self._design = study.design
        unit = unit_of(study.measures)
        columns = UNITS.get(unit, ())
        known = [{*b.constants, *(c.name for a in b.axes for c in a.columns())} for b in study.design.blocks]
        self._unit = unit if columns and all(name in names for name in columns for names in known) else None
        self._codes: dict[str, int] = {}
        self._shift = _twins(study.design)
        self._sampled = study.sampled

    def of(self, frame: pl.DataFrame) -> npt.NDArray[np.int64]:
        """The cluster of each row of the plain study's answers."""
        if self._unit is None:
            numbers = frame["trial"].to_numpy().astype(np.int64)
            block = np.searchsorted(self._design.offsets, numbers, side="right") - 1
            shown = self._design.stimulus_numbers(numbers) - self._shift[block]
            return shown if self._sampled is None else self._together(frame.select(self._sampled).to_series(), shown)
        codes, names = clusters(frame, self._unit)
        place = np.array([self._codes.setdefault(name, len(self._codes)) for name in names], dtype=np.int64)
        return place[codes]

    def _together(self, named: pl.Series, shown: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Clusters of what was sampled together, numbered below zero, and of what is shown elsewhere."""
        known = named.drop_nulls().unique(maintain_order=True)
        place = {name: -1 - self._codes.setdefault(name, len(self._codes)) for name in known}
        cells = named.replace_strict(place, default=None, return_dtype=pl.Int64)
        return np.where(named.is_null().to_numpy(), shown, cells.fill_null(0).to_numpy())


def _twins(design: Design) -> npt.NDArray[np.int64]:
    """By how much each block's stimulus numbers lie behind those of the first block that shows the same."""
    first: dict[tuple[object, ...], int] = {}
    shift = np.zeros(len(design.blocks), dtype=np.int64)
    for at, block in enumerate(design.blocks):
        fixed = sorted((name, value) for name, value in block.constants.items() if name != "shown")
        key = (*fixed, block.stimuli, *((id(axis)) for axis in block.stimulus))
        twin = first.setdefault(key, at)
        shift[at] = design.stimulus_offsets[at] - design.stimulus_offsets[twin]
    return shift


def _model(conditions: Conditions, model: str, kept: Sequence[Kept], plain: pl.DataFrame) -> list[pl.DataFrame]:
    """Estimates and changes of one model under every intervention."""
    study, unit = conditions.study, unit_of(conditions.study.measures)
    base = kept[0]
    groups = _groups(kept)
    known: dict[bytes, list[pl.DataFrame]] = {}
    parts = []
    for intervention, own in zip(conditions.interventions, kept[1:], strict=True):
        if not own.rows:
            continue
        name = intervention.name
        estimates = study.analyse({model: own.chunks()})
        parts.append(estimates.with_columns(pl.lit(name).alias("intervention")))
        table = EstimateTable(study.name, model, (READING,) if intervention.cipher else (), name)
        if intervention.cipher:
            _add_readings(table, own, unit)
        if base.rows:
            both = np.intersect1d(base.trials(), own.trials())
            whole = both.size == base.trials().size == own.trials().size
            only = None if whole else both
            if both.tobytes() not in known:
                own_plain = plain if whole else study.analyse({model: base.chunks(only)})
                known[both.tobytes()] = _taken(study, model, base, only, own_plain, groups)
            own_other = estimates if whole else study.analyse({model: own.chunks(only)})
            before, after = known[both.tobytes()], _taken(study, model, own, only, own_other, groups)
            without = zip(before[1:], after[1:], strict=True)
            parts.append(
                intervention_effects.changes(
                    before[0], after[0], without, study.measures, study=study.name, model=model, intervention=name
                )
            )
            intervention_effects.add_missing_change(table, *_asked(base, own, only), unit)
            if study.alike is not None:
                parts.append(study.alike(model, name, base.chunks(only), own.chunks(only)))
        parts.append(table.frame())
    return parts


def _taken(
    study: Study,
    name: str,
    kept: Kept,
    only: npt.NDArray[np.uint64] | None,
    whole: pl.DataFrame,
    groups: Sequence[pl.Series],
) -> list[pl.DataFrame]:
    """The estimates of one condition, then their values without each group."""
    with values_only():
        left = [intervention_effects.reduced(study.analyse({name: kept.chunks(only, group)})) for group in groups]
    return [intervention_effects.reduced(whole), *left]


def _groups(kept: Sequence[Kept]) -> list[pl.Series]:
    """Random groups of clusters."""
    found = [chunk[_CLUSTER].unique() for own in kept for chunk in own.raw()]
    if not found:
        return []
    names = pl.concat(found).unique().sort()
    rows = sum(own.rows for own in kept)
    group = intervention_effects.deal(
        names.len(), intervention_effects.GROUPS if rows <= MANY_ROWS else FEWER_GROUPS, SEED
    )
    return [names.filter(pl.Series(group == g)) for g in range(int(group.max()) + 1)]


def _asked(base: Kept, own: Kept, only: npt.NDArray[np.uint64] | None) -> tuple[Asked, Asked]:
    """Replies and missing answers by cluster, in both conditions."""
    totals = [_totals(one, only) for one in (base, own)]
    joined = totals[0].join(totals[1], on=_CLUSTER, how="full", coalesce=True, suffix="_other").fill_null(0.0)
    columns = {name: joined[name].to_numpy() for name in joined.columns}
    return Asked(columns["replies"], columns["missing"]), Asked(columns["replies_other"], columns["missing_other"])


def _totals(kept: Kept, only: npt.NDArray[np.uint64] | None) -> pl.DataFrame:
    parts = []
    for chunk in kept.raw():
        rows = chunk if only is None else chunk.filter(np.isin(chunk["trial"].to_numpy(), only))
        valid = pl.col("mass").cast(pl.Float64) if "mass" in rows.columns else pl.lit(1.0)
        mass = pl.when(pl.col("na").is_null()).then(valid).fill_null(0.0)
        parts.append(rows.group_by(_CLUSTER).agg(replies=pl.len().cast(pl.Float64), missing=(1 - mass).sum()))
    return pl.concat(parts).group_by(_CLUSTER).agg(pl.all().sum()).sort(_CLUSTER)


def _add_readings(table: EstimateTable, kept: Kept, unit: str) -> None:
    parts = [chunk.filter(pl.col(READING).is_not_null()).group_by(_CLUSTER, READING).len() for chunk in kept.raw()]
    counted = pl.concat(parts).group_by(_CLUSTER, READING).agg(pl.col("len").sum()).sort(_CLUSTER)
    if not counted.height:
        return
    kinds = [kind.value for kind in caesar.Kind]
    cluster = counted[_CLUSTER].rank("dense").to_numpy().astype(np.int64) - 1
    kind = counted[READING].cast(pl.Enum(kinds)).to_physical().to_numpy().astype(np.int64)
    counts = np.zeros((int(cluster.max()) + 1, len(kinds)))
    np.add.at(counts, (cluster, kind), counted["len"].to_numpy())
    intervention_effects.add_readings(table, counts, kinds, unit, SEED)
