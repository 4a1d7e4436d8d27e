"""Effects of two runs in cells, with errors that are drawn together, for correlations of their ranks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.estimates import label_columns
from facevalue.measures.paired_changes import ChangeSet, Deletion
from facevalue.measures.rank_agreement import SEED, RankAgreement, draws_for, rank_agreement
from facevalue.protocol.study import Study
from facevalue.runs.answer_pairs import prompt_columns
from facevalue.runs.compared_cells import Differences

_SIDE = "(side)"
_OTHER = " (other)"
_NUMBERS = ("value", "n", "clusters", "bound_low", "bound_high", "(bare)")


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
        drawn = self.changes.drawn(np.concatenate(self.rows), draws_for(cells), SEED)
        noise = self._effects(drawn[:, :cells]), self._effects(drawn[:, cells:])
        return rank_agreement(self.measure, first, second, noise, level)

    def _effects(self, values: Array) -> Array:
        """Values less the mean of their group, shape (draws, cells)."""
        if (self.group < 0).all():
            return values
        belongs = np.eye(self.group.max() + 1)[self.group]
        return np.asarray(values - ((values @ belongs) / belongs.sum(axis=0))[:, self.group])


def effect_ranks(difference: Differences, without: Sequence[Deletion]) -> tuple[EffectRanks, ...]:
    """Effects of two runs, for each measure that is compared and has a direction.

    An estimate that says how far values lie apart is an effect. Of levels, such as shares, effects are what is left
    without the mean over all who are asked the same: else runs would agree in what is often answered.
    """
    frame = difference.changes.frame
    keys = ["measure", *label_columns(frame.select(pl.exclude(r"^.*\(other\)$", "(floored)", *_NUMBERS)))]
    names = [m.name for m in difference.measures if m.signed and not m.norm]
    usable = frame.filter(
        pl.col("measure").is_in(names), ~pl.col("(floored)"), pl.col("value").is_not_null(),
        pl.col(f"value{_OTHER}").is_not_null(),
    )  # fmt: skip
    if not usable.height:
        return ()
    table = pl.concat([_side(usable, keys, "", "first"), _side(usable, keys, _OTHER, "second")])
    zero = table.with_columns(pl.col("value", "n") * 0.0)
    deletions = [Deletion(one_out.layer, zero, _left(one_out, keys, table)) for one_out in without]
    changes = ChangeSet(zero, table, deletions)
    se, half = changes.each.se, usable.height
    out = []
    for measure in difference.measures:
        at = np.flatnonzero((usable["measure"] == measure.name).to_numpy())
        at = at[(se[at] > 0) & (se[at + half] > 0)]
        asked = [] if measure.apart else _asked(difference.study, difference)
        group = _groups(usable[at], asked) if not measure.apart else np.full(at.size, -1)
        several = np.bincount(group)[group] > 1 if at.size and not measure.apart else np.ones(at.size, dtype=np.bool_)
        at, group = at[several], _renumbered(group[several])
        if at.size:
            out.append(EffectRanks(measure.name, changes, (at, at + half), group))
    return tuple(out)


def _side(frame: pl.DataFrame, keys: Sequence[str], end: str, side: str) -> pl.DataFrame:
    numbers = [pl.col(f"{name}{end}").cast(pl.Float64).alias(name) for name in _NUMBERS[:-1]]
    bare = pl.col(f"(bare){end}").alias("(bare)")
    return frame.select(*keys, *numbers, bare, "(floored)", pl.lit(side).alias(_SIDE))


def _left(deletion: Deletion, keys: Sequence[str], table: pl.DataFrame) -> pl.DataFrame:
    """Estimates of both runs without a group, one below the other."""
    sides = [
        estimates.select(*keys, *(pl.col(name).cast(pl.Float64) for name in _NUMBERS[:-1]), "(bare)", "(floored)")
        .with_columns(pl.lit(side).alias(_SIDE))
        for estimates, side in ((deletion.first, "first"), (deletion.second, "second"))
    ]  # fmt: skip
    return pl.concat(sides).select(table.columns).cast(dict(table.schema))  # type: ignore[arg-type]


def _asked(study: Study, difference: Differences) -> list[str]:
    """Labels of cells that say what was asked, not who it was asked about."""
    compared = difference.compared
    if compared.who:
        return [name for name in compared.cells if name not in compared.who]
    prompts = {*prompt_columns(study), *compared.within, *compared.asked, "measure"}
    return [name for name in compared.cells if name in prompts]


def _groups(cells: pl.DataFrame, by: Sequence[str]) -> npt.NDArray[np.int64]:
    labels = [name for name in by if name in cells.columns]
    if not labels:
        return np.zeros(cells.height, dtype=np.int64)
    return cells.select(pl.struct(labels).rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()


def _renumbered(group: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return group if (group < 0).all() else np.unique(group, return_inverse=True)[1].astype(np.int64)


def rank_agreements(effects: Sequence[Sequence[EffectRanks]]) -> list[tuple[RankAgreement, ...]]:
    """Correlations of all pairs of runs, at a level at which all intervals hold together (Bonferroni)."""
    count = sum(map(len, effects))
    level = 1 - (1 - LEVEL) / max(count, 1)
    return [tuple(ranks.agreement(level) for ranks in of_pair) for of_pair in effects]
