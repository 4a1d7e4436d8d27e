"""Groups that are compared: their dimensions, who was sampled, how often groups are chosen, and skew of a corpus."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.errors import UnknownNameError
from facevalue.measures.cluster_bootstrap import LEVEL, Array, cluster_sums
from facevalue.measures.estimators import column_shares
from facevalue.measures.intervals import with_details
from facevalue.measures.pairs import number_cells
from facevalue.measures.proportions import wilson_interval

UNIT = "unit"
PERSON = "person"
GROUP = "group"


@dataclass(frozen=True, slots=True)
class Dimension:
    """Groups that are compared: the levels of one factor, or of two that are crossed."""

    factors: tuple[str, ...]

    @property
    def name(self) -> str:
        """As in the column `dimension`.

        Examples
        --------
        >>> Dimension(("skin_tone", "gender")).name
        'skin tone x gender'
        """
        return " x ".join(factor.replace("_", " ") for factor in self.factors)

    def select_rows(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Rows that belong to one of the groups, with `group` and `unit`.

        A unit is a person (`people_on_images`) where all images of a person are in one group: five drawings that differ
        in skin tone alone are one drawing of a woman, not five of them. Otherwise it is an image.
        """
        if any(factor not in frame.columns for factor in self.factors):
            return frame.clear().with_columns(pl.lit(None, pl.String).alias(c) for c in (GROUP, UNIT))
        with_groups = frame.drop_nulls(list(self.factors)).with_columns(
            pl.concat_str([pl.col(f).cast(pl.String) for f in self.factors], separator=" ").alias(GROUP),
            pl.col("image").cast(pl.String).alias(UNIT),
        )
        if PERSON not in frame.columns:
            return with_groups
        of_one_person = pl.col(PERSON).is_not_null() & (pl.col(GROUP).n_unique().over(PERSON) == 1)
        return with_groups.with_columns(pl.when(of_one_person).then(PERSON).otherwise(UNIT).alias(UNIT))


def people_on_images(manifest: pl.DataFrame) -> tuple[str, ...]:
    """Name who is on each image: images of one identity, or of one counterfactual set, are of one person.

    Examples
    --------
    >>> people_on_images(pl.DataFrame({"image": ["a", "b", "c"], "identity": ["x", "x", "y"], "set": [None, "s", "s"]}))
    ('person 0', 'person 0', 'person 0')
    """
    size = manifest.height
    links = []
    for name in ("identity", "set"):
        if name in manifest.columns:
            units = manifest.select(row=pl.int_range(pl.len()), key=pl.col(name)).drop_nulls()
            first = units.select("row", first=pl.col("row").first().over("key"))
            links.append(first.to_numpy())
    joined = np.concatenate(links) if links else np.empty((0, 2), dtype=np.int64)
    graph = scipy.sparse.coo_array((np.ones(len(joined)), (joined[:, 0], joined[:, 1])), shape=(size, size))
    _, numbers = scipy.sparse.csgraph.connected_components(graph, directed=False)
    return tuple(f"person {code}" for code in numbers.tolist())


def group_shares(rows: pl.DataFrame, flag: str, by: Sequence[str], unit: str) -> pl.DataFrame:
    """Share of the things of each group of which something is true, with its interval over units.

    Parameters
    ----------
    rows:
        One row per thing, with the columns below.
    flag:
        Whether it is true of the thing; null where nobody knows, which counts in no share.
    by:
        Columns that make the groups, in which null is a group, too; none for all things together.
    unit:
        Column of what was sampled: things of one unit are not independent.

    Returns
    -------
    DataFrame
        The columns of `by`, then `share`, `low`, `high` (null where all things are of one unit), `n` (things of which
        it is known), `units`, `method` and `detail`; in the order of the groups' names.

    Raises
    ------
    UnknownNameError
        No such column.

    Equation
    --------
    share = Σ_u s_u / Σ_u n_u over units u, of n_u things of which it is true of s_u; Wilson's interval with the
    effective sample size of its cluster-robust standard error (`cluster_bootstrap.standard_error`,
    `proportions.wilson_interval`).

    Examples
    --------
    >>> columns = {"face": ["a", "b", "c", "d"], "gender": ["m", "m", "f", "f"], "refused": [True, False] * 2}
    >>> shares = group_shares(pl.DataFrame(columns), "refused", ["gender"], "face")
    >>> shares.select("gender", "share", "n", "units").rows()
    [('f', 0.5, 2, 2), ('m', 0.5, 2, 2)]
    """
    for name in (flag, unit, *by):
        if name not in rows.columns:
            raise UnknownNameError("column", name, rows.columns)
    things = rows.drop_nulls(flag).sort(by, nulls_last=True) if by else rows.drop_nulls(flag)
    groups, cell = (
        number_cells(things, by) if by else (pl.DataFrame({"all": [None]}), np.zeros(things.height, np.int64))
    )
    place = things[unit].rank("dense").fill_null(0).to_numpy().astype(np.int64)
    flags = things[flag].cast(pl.Float64).to_numpy()
    units = int(place.max(initial=0)) + 1
    estimates = column_shares(*cluster_sums(flags, place, cell, units, groups.height))
    numbers = (("share", estimates.value), ("low", estimates.low), ("high", estimates.high))
    columns = [
        *(pl.Series(name, column, pl.Float64).fill_nan(None) for name, column in numbers),
        pl.Series("n", estimates.n, pl.Int64),
        pl.Series("units", estimates.clusters, pl.Int64),
        pl.Series("method", estimates.method.tolist(), pl.String),
    ]
    return with_details(pl.DataFrame([*groups.select(by).get_columns(), *columns]))


def corpus_skew(
    male: npt.ArrayLike, female: npt.ArrayLike, level: float = LEVEL
) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]]:
    """Share of male words, and how far it is from one half.

    Parameters
    ----------
    male, female:
        Words of each gender in the texts that name an instance, at least 0; arrays of one shape.
    level:
        Of the intervals.

    Returns
    -------
    Share with its low and high end, then skew with its low and high end: arrays of that shape, the share in [0, 1] and
    the skew in [0, 1/2]. NaN where there are no words at all.

    Equation
    --------
    S = |m / (m + f) - 1/2| (ModSCAN, section 6 and Table 7). Intervals are ours: Wilson's
    of m / (m + f), and what |p - 1/2| takes over it, from 0 where it holds 1/2.

    Notes
    -----
    Wilson's interval takes words as independent. Words of one text are not, so that the true interval is wider.

    Examples
    --------
    Nurse, therapist and software developer of Table 7:

    >>> share, skew = corpus_skew([43, 3, 0], [104, 1, 0])
    >>> skew[0].round(4).tolist()
    [0.2075, 0.25, nan]
    >>> skew[1].round(4).tolist(), skew[2].round(4).tolist()
    ([0.1294, 0.0, nan], [0.275, 0.4544, nan])
    """
    m, f = (np.asarray(count, dtype=np.float64) for count in (male, female))
    size = m + f
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(size > 0, m / size, np.nan)
    low, high = wilson_interval(share, np.where(size > 0, size, np.nan), np.full(size.shape, np.inf), level)
    ends = np.abs(low - 0.5), np.abs(high - 0.5)
    nearest = np.where((low <= 0.5) & (high >= 0.5), 0.0, np.minimum(*ends))
    return (share, low, high), (np.abs(share - 0.5), nearest + 0 * share, np.maximum(*ends))
