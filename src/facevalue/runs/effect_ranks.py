"""Effects of two runs in cells, with errors that are drawn together, for correlations of their ranks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.definitions import rows_of_any
from facevalue.measures.paired_changes import OTHER_SUFFIX, REDUCED_COLUMNS, ChangeSet, Deletion, estimate_keys
from facevalue.measures.profiles import RANK_SEED, RankAgreement, draws_for, rank_agreement
from facevalue.runs.answer_pairs import prompt_columns
from facevalue.runs.compared_cells import Differences

_SIDE = "(side)"


@dataclass(frozen=True)
class EffectRanks:
    """Effects of two runs in the same cells, in one measure."""

    measure: str
    changes: ChangeSet
    """Of no effect at all to the estimates of both runs, one below the other: their errors are those of estimates."""
    rows: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
    """The cells of either run."""
    group: npt.NDArray[np.int64]
    """Cells whose mean is no effect, as it is of what is asked: a number each; all -1 where each estimate is one."""

    def agreement(self, level: float = LEVEL) -> RankAgreement:
        """Spearman's correlation of the effects, with its interval at this level."""
        first, second = (self._effects(self.changes.value[rows][None])[0] for rows in self.rows)
        cells = len(self.group)
        drawn = self.changes.drawn(np.concatenate(self.rows), draws_for(cells), RANK_SEED)
        noise = self._effects(drawn[:, :cells]), self._effects(drawn[:, cells:])
        return rank_agreement(self.measure, first, second, noise, level)

    def _effects(self, values: Array) -> Array:
        """Values less the mean of their group, shape (draws, cells)."""
        if (self.group < 0).all():
            return values
        belongs = np.eye(self.group.max() + 1)[self.group]
        return np.asarray(values - ((values @ belongs) / belongs.sum(axis=0))[:, self.group])


def effect_ranks(difference: Differences) -> tuple[EffectRanks, ...]:
    """Effects of two runs, for each measure that is compared and has a direction.

    An estimate that says how far values lie apart is an effect. Of levels, such as shares, effects are what is left
    without the mean over all who are asked the same: else runs would agree in what is often answered.
    """
    frame = difference.changes.frame
    keys = estimate_keys(frame)
    directed = [m for m in difference.measures if m.signed and not m.norm]
    usable = frame.filter(
        rows_of_any(directed), ~pl.col("(floored)"), pl.col("value").is_not_null(),
        pl.col(f"value{OTHER_SUFFIX}").is_not_null(),
    )  # fmt: skip
    if not usable.height:
        return ()
    table = pl.concat([_side(usable, keys, "first"), _side(usable, keys, "second", OTHER_SUFFIX)])
    zero = table.with_columns(pl.col("value", "n") * 0.0)
    deletions = [Deletion(rest.layer, zero, _sides(rest, keys, table.schema)) for rest in difference.without]
    changes = ChangeSet(zero, table, deletions)
    se, half = changes.each.se, usable.height
    prompt_labels = _prompt_labels(difference)
    out = []
    for measure in difference.measures:
        at = np.flatnonzero(usable.select(measure.rows).to_series().to_numpy())
        at = at[(se[at] > 0) & (se[at + half] > 0)]
        group = np.full(at.size, -1)
        if not measure.apart:
            group = _numbered(usable[at], prompt_labels)
            several = np.bincount(group, minlength=1)[group] > 1
            at, group = at[several], np.unique(group[several], return_inverse=True)[1]
        if at.size:
            out.append(EffectRanks(measure.key, changes, (at, at + half), group))
    return tuple(out)


def _side(estimates: pl.DataFrame, keys: Sequence[str], side: str, end: str = "") -> pl.DataFrame:
    """Estimates of one of the runs, whose columns end so."""
    numbers = [pl.col(f"{name}{end}").alias(name) for name in REDUCED_COLUMNS]
    of_side = estimates.select(*keys, *numbers, "(floored)", pl.lit(side).alias(_SIDE))
    return of_side.with_columns(pl.col(name).cast(pl.Float64) for name in REDUCED_COLUMNS if name != "(bare)")


def _sides(deletion: Deletion, keys: Sequence[str], schema: pl.Schema) -> pl.DataFrame:
    """Estimates of both runs without a group, one below the other."""
    sides = [_side(deletion.first, keys, "first"), _side(deletion.second, keys, "second")]
    return pl.concat(sides).cast(dict(schema))  # type: ignore[arg-type]


def _prompt_labels(difference: Differences) -> list[str]:
    """Labels of cells that say what was asked, not who it was asked about."""
    compared = difference.compared
    if compared.person_labels:
        return [name for name in compared.cells if name not in compared.person_labels]
    prompts = {*prompt_columns(difference.study), *compared.within, *compared.question_labels, "measure", "score"}
    return [name for name in compared.cells if name in prompts]


def _numbered(cells: pl.DataFrame, by: Sequence[str]) -> npt.NDArray[np.int64]:
    """A number for each combination of these labels."""
    labels = [name for name in by if name in cells.columns]
    if not labels:
        return np.zeros(cells.height, dtype=np.int64)
    return cells.select(pl.struct(labels).rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()


def rank_agreements(effects: Sequence[Sequence[EffectRanks]]) -> list[tuple[RankAgreement, ...]]:
    """Correlations of all pairs of runs, at a level at which all intervals hold together (Bonferroni)."""
    count = sum(map(len, effects))
    level = 1 - (1 - LEVEL) / max(count, 1)
    return [tuple(ranks.agreement(level) for ranks in of_pair) for of_pair in effects]
