"""The table of estimates: no value without n, interval and method."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import LEVEL, Array, Estimates, Floor
from facevalue.measures.missing_data_bounds import Bounds

FACTORS = (
    *("model", "other_model", "attribute", "variation", "category", "scenario", "dimension", "group"),
    *("paradigm", "contrast", "gender", "question", "trait", "identity", "other_identity", "activity"),
)
"""Factor columns; null means "over all of them"."""

SCHEMA: dict[str, pl.DataType] = {
    "study": pl.String(),
    "measure": pl.String(),
    **{name: pl.String() for name in FACTORS},
    "value": pl.Float64(),
    "low": pl.Float64(),
    "high": pl.Float64(),
    "level": pl.Float64(),
    "se": pl.Float64(),
    "n": pl.UInt64(),
    "clusters": pl.UInt64(),
    "p": pl.Float64(),
    "q": pl.Float64(),
    "q_page": pl.Float64(),
    "p_least": pl.Float64(),
    "p_paper": pl.Float64(),
    "q_paper": pl.Float64(),
    "family": pl.String(),
    "kind": pl.String(),
    "floor": pl.Float64(),
    "floor_high": pl.Float64(),
    "mde": pl.Float64(),
    "margin": pl.Float64(),
    "declared": pl.Boolean(),
    "verdict": pl.String(),
    "why": pl.String(),
    "bound_low": pl.Float64(),
    "bound_high": pl.Float64(),
    "unit": pl.String(),
    "method": pl.String(),
    "source": pl.String(),
}
"""Columns of `estimates.parquet`.

`value` with its interval `low` to `high` at `level`; null is *not measurable*, never zero. `n` observations in
`clusters` units that were sampled. `p` tests the value that is shown and agrees with its interval; `q` is adjusted
within `family`, and `q_page` for all families of the page besides (`page_error`): it decides the verdict. `p_least`:
smallest p that the test could have given, null where any could come. `p_paper` and `q_paper`: by the protocol's own
test and its own correction, as published; they decide nothing. `floor` and `floor_high`: mean and 95th percentile of
the measure where there is no effect, for unsigned measures. `se`: standard error over clusters. `mde`: smallest effect
that would be detected with 80% power at the family's level. `margin`: largest difference that would not matter,
`declared` before the run or not; `verdict` and `why`: what may be said, see `verdicts`; `kind` of the family,
confirmatory or exploratory. `bound_low`, `bound_high`: the value if all missing answers had gone one way or the other.
"""

NOT_MEASURABLE = "not measurable"
"""How the method of an estimate begins that could not be taken; a reason may follow."""


class EstimateTable:
    """Collects estimates of one study and model into the table.

    Parameters
    ----------
    study, model:
        What was asked of whom.
    """

    def __init__(self, study: str, model: str) -> None:
        self._study = study
        self._model = model
        self._parts: list[pl.DataFrame] = []

    def add(
        self,
        measure: Measure,
        labels: Mapping[str, Sequence[str | None]],
        estimates: Estimates,
        *,
        p: Array | None = None,
        q: Array | None = None,
        p_paper: Array | None = None,
        q_paper: Array | None = None,
        p_least: Array | None = None,
        family: str | Sequence[str] | None = None,
        floor: Floor | None = None,
        bounds: Bounds | None = None,
        keep: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        """Add a family of estimates, one per label row.

        Parameters
        ----------
        measure:
            What they are.
        labels:
            Factor columns, each as long as the estimates.
        estimates, p, q, p_paper, q_paper, p_least, floor:
            Arrays of that length; see `SCHEMA`.
        family:
            Within which family q holds: one for all rows, or one each.
        bounds:
            Worst cases for missing answers.
        keep:
            Which rows apply; all by default. A row that applies but was not measured is stored as not measurable.
        """
        columns: dict[str, object] = {name: list(values) for name, values in labels.items()}
        low = np.maximum(estimates.low, measure.limits[0])
        high = np.minimum(estimates.high, measure.limits[1])
        columns |= {"value": estimates.value, "low": low, "high": high}
        columns |= {"n": estimates.n, "clusters": estimates.clusters, "method": _methods(estimates)}
        if estimates.se is not None:
            columns["se"] = estimates.se
        if bounds is not None:
            columns |= {"bound_low": bounds.low, "bound_high": bounds.high}
        tests = {"p": p, "p_paper": p_paper, "q_paper": q_paper, "p_least": p_least}
        columns |= {name: column for name, column in tests.items() if column is not None}
        if q is not None:
            columns |= {
                "q": q,
                "family": [family] * len(q) if family is None or isinstance(family, str) else list(family),
            }
        if floor is not None:
            columns |= {"floor": floor.mean, "floor_high": floor.high}
            if p is None:
                columns["p"] = floor.p
        frame = pl.DataFrame(columns, strict=False)
        if keep is not None:
            frame = frame.filter(keep)
        constants = {"study": self._study, "measure": measure.name, "unit": measure.unit, "source": measure.source}
        frame = frame.with_columns(pl.lit(LEVEL).alias("level"), *(pl.lit(v).alias(k) for k, v in constants.items()))
        if "model" not in frame.columns:
            frame = frame.with_columns(pl.lit(self._model).alias("model"))
        missing = [pl.lit(None).alias(name) for name in SCHEMA if name not in frame.columns]
        numbers = [name for name, dtype in SCHEMA.items() if dtype == pl.Float64()]
        frame = frame.with_columns(missing).select(list(SCHEMA)).cast(SCHEMA)  # type: ignore[arg-type]
        self._parts.append(frame.with_columns(pl.col(numbers).fill_nan(None)))

    def frame(self) -> pl.DataFrame:
        """All estimates so far."""
        return pl.concat(self._parts) if self._parts else pl.DataFrame(schema=SCHEMA)


def _methods(estimates: Estimates) -> list[str]:
    """Say of each estimate how its interval was made, or that there is none, with the reason where one is given."""
    out = []
    for value, low, method in zip(estimates.value, estimates.low, estimates.method, strict=True):
        if not np.isfinite(value):
            out.append(str(method) if str(method).startswith(NOT_MEASURABLE) else NOT_MEASURABLE)
        elif not np.isfinite(low) and "no interval" not in method:
            out.append(f"no interval: too few clusters for the {method}")
        else:
            out.append(str(method))
    return out
