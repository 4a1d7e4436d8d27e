"""Units of a study: how far those of a run differ in an effect, and how many a sample of trials is about."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Design
from facevalue.protocol.expected_precision import Spread
from facevalue.protocol.sets import Sets

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


def variation_spread(phi: Array, sets: Sets, source: str, growth: float = 0.0) -> Spread:
    """Spread of shifts in a run, pooled over its cues; NaN where none has two units.

    Root mean squares: half of the cues would vary more than a median says. A pilot's shifts are small beside those that
    a plan asks about, so that their growth, by how much of an effect itself units differ, is the assumed one.
    """
    delta = phi[sets.varied] - phi[sets.base_of]
    cues = sets.slicing(sets.varied, *sets.cue)
    return pooled_spread([delta[cues.codes == code] for code in range(len(cues))], source, growth)


def pooled_spread(groups: list[Array], source: str, growth: float = 0.0) -> Spread:
    """Spread between the rows of each part, (units, items), pooled; NaN where no part has two rows."""
    means, withins, items = [], [], []
    for scores in groups:
        seen = np.isfinite(scores)
        k = seen.sum(axis=1)
        answered, seen, k = scores[k > 0], seen[k > 0], k[k > 0]
        if k.size < 2:
            continue
        unit = np.where(seen, answered, 0).sum(axis=1) / k
        means.append(unit.var(ddof=1))
        items.append(k.mean())
        if (k > 1).any():
            squares = np.where(seen, (answered - unit[:, None]) ** 2, 0).sum()
            withins.append(squares / (k - 1).sum())
    if not means:
        return Spread(np.nan, np.nan, 0, source)
    mean, within = (float(np.sqrt(np.mean(squares_of))) if squares_of else np.nan for squares_of in (means, withins))
    return Spread(mean, within, float(np.mean(items)), source, growth)


def units_asked(
    design: Design, keys: list[str], tests: int = 1, rows: Callable[[pl.DataFrame], pl.DataFrame] | None = None
) -> Callable[[Codes], tuple[int, float]]:
    """From trial numbers to how many units they are about, and items of each in a test.

    `keys`: name a unit, then its items. `tests`: among how many the items of a unit are shared out. `rows`: which
    trials count; all by default.
    """

    def units(numbers: Codes) -> tuple[int, float]:
        trials = (design.trials(numbers, keys) if rows is None else rows(design.trials(numbers))).unique(keys)
        many = trials[keys[0]].n_unique()
        return many, trials.height / many / tests

    return units
