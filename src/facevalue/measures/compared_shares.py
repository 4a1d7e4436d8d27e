"""Selection frequencies of identities that were chosen among, with what they would be had nobody been preferred."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures import pair_moments
from facevalue.measures.cluster_bootstrap import Array, only_values
from facevalue.measures.impact import DELTA, NEVER, REFERENCE, impact_ratios, shortfall_bounds, shortfalls
from facevalue.measures.missing_data_bounds import spread_bounds
from facevalue.measures.pair_moments import Codes, Scenes
from facevalue.measures.selection import method, to_array
from facevalue.measures.uncertainty import Bounds


@dataclass(frozen=True)
class ChosenAmong:
    """Identities that were chosen among in answer to one question."""

    shares: pl.DataFrame
    """Their shares (`selection.cells`), those with an answer, in the order of all arrays."""
    couples: pl.DataFrame
    """Answers of the couples among them: first and second (places in that order), `crossed` and n."""
    scenes: Scenes | None
    """Their answers by scene; None where pictures are paired across scenes."""

    @property
    def size(self) -> int:
        """How many identities."""
        return self.shares.height

    @cached_property
    def selected(self) -> Array:
        """S of each, in percent."""
        return to_array(self.shares["value"])

    @cached_property
    def se(self) -> Array:
        """Standard errors of `selected`."""
        return to_array(self.shares["se"])

    @cached_property
    def df(self) -> float:
        """Degrees of freedom that all of them have."""
        return float(to_array(self.shares["df"]).min()) if self.size else 0.0

    @cached_property
    def related(self) -> Array:
        """Correlation of the errors of `selected`."""
        if self.scenes is not None:
            return self.scenes.related
        first, second = _codes(self.couples, "first"), _codes(self.couples, "second")
        return pair_moments.crossed_correlation(first, second, to_array(self.couples["n"]), self.se)

    def null(self, draws: int, seed: int, *, freed: bool) -> Array:
        """Selection frequencies had nobody been preferred, shape (draws, identities).

        With `freed`, differences between identities are taken out before they are dealt anew: the noise that there is
        beside them. Else all of them are dealt as they are, as a test wants it.
        """
        if self.scenes is None:
            centre = float(self.selected.mean())
            return pair_moments.drawn(self.se, self.related, self.df, draws, seed, centre)
        return self.scenes.dealt(self.scenes.freed if freed else self.scenes.s, draws, seed)

    @cached_property
    def bounds(self) -> Bounds:
        """Between what `selected` would lie, whatever the missing answers had been."""
        low, high, error = (to_array(self.shares[name]) for name in ("bound_low", "bound_high", "bound_se"))
        return Bounds(self.selected, low, high, np.full(self.size, np.nan), error)

    @property
    def spread_bounds(self) -> dict[str, float]:
        """Bounds of `spread`, each identity's missing answers going where they like, and their standard error."""
        ends = spread_bounds([self.bounds.at(np.array([at])) for at in range(self.size)]) if self.size > 1 else None
        error = pair_moments.spread_error(self.selected, self.bounds.se, self.related) if ends else np.nan
        low, high = (float(ends.low[0]), float(ends.high[0])) if ends else (np.nan, np.nan)
        return {"bound_low": low, "bound_high": high, "bound_se": error}

    def spread(self, seed: int) -> pair_moments.PairSpread:
        """How far they lie apart; see `pair_moments.spread_of`."""
        return pair_moments.spread_of(self.selected, self.se, self.related, self.df, self.scenes, seed)

    def impact(self, seed: int) -> tuple[pl.DataFrame, pl.DataFrame, npt.NDArray[np.object_]]:
        """Estimate impact ratios and shortfalls, these with their tests: as columns of `shares`, and their method."""
        tested, smallest = None, 0.0
        if np.isfinite(self.se).all() and not only_values():
            tested = self.null(5 * pair_moments.DRAWS, seed + 2, freed=False)
            smallest = max(1 / (1 + len(tested)), self.scenes.least if self.scenes is not None else 0.0)
        ratio, error, low, high, p = impact_ratios(
            self.selected, self.se, self.related, to_array(self.shares["df"]), tested, smallest
        )
        methods = method(self.shares, DELTA)
        methods[self.selected == 0] = NEVER
        methods[int(np.argmax(self.selected))] = REFERENCE
        short = 1 - ratio
        ends = shortfall_bounds(self.bounds, self.related)
        ratios = {"value": ratio, "low": low, "high": high, "se": ratio * error}
        falls = {"value": short, "low": 1 - high, "high": 1 - low, "se": ratio * error}
        ratios |= {"bound_low": 1 - ends.high, "bound_high": 1 - ends.low, "bound_se": ends.se}
        falls |= {"bound_low": ends.low, "bound_high": ends.high, "bound_se": ends.se}
        if tested is not None:
            floor = pair_moments.null_floor(shortfalls(self.null(pair_moments.DRAWS, seed + 1, freed=True)), short, p)
            falls |= {"floor": floor.mean, "floor_high": floor.high, "p": floor.p}
            falls["p_least"] = np.full(self.size, smallest)
        first, second = (
            self.shares.with_columns(pl.Series(name, values).fill_nan(None) for name, values in numbers.items())
            for numbers in (ratios, falls)
        )
        return first, second, methods


def compared(
    estimates: pl.DataFrame,
    couples: pl.DataFrame,
    rows: pl.DataFrame,
    family: Sequence[str],
    labels: Sequence[str] = (),
) -> Iterator[tuple[dict[str, str | None], ChosenAmong]]:
    """All sets of identities that were chosen among, with their labels, in a fixed order.

    Parameters
    ----------
    estimates:
        Selection frequencies (`selection.cells`) by `family` and `identity`.
    couples:
        Moments of pairs by `family`, `identity`, `other_identity` and `crossed`.
    rows:
        Sums by `family`, `identity`, `activity` and `selection.UNIT`.
    labels:
        Further columns of `estimates` that belong to a set.
    """
    measured = estimates.filter(pl.col("value").is_not_null()).sort(*family, "identity")
    places = measured.select(*family, "identity", place=pl.int_range(pl.len(), dtype=pl.Int64).over(family))
    grouped = couples.group_by(*family, "identity", "other_identity", maintain_order=True)
    couples = grouped.agg(pl.col("n").sum(), pl.col("crossed").any()).filter(pl.col("n") > 0)
    for column, name in (("identity", "first"), ("other_identity", "second")):
        renamed = places.rename({"identity": column, "place": name})
        couples = couples.join(renamed, on=[*family, column], nulls_equal=True, maintain_order="left")
    rows = rows.filter((pl.col("n") > 0) & pl.col("unit").is_not_null())
    rows = rows.join(places, on=[*family, "identity"], nulls_equal=True, maintain_order="left")
    cells, shared, lines = (
        frame.partition_by(family, as_dict=True) for frame in (measured, couples.sort(*family, "first", "second"), rows)
    )
    for row in estimates.select(*family, *labels).unique().sort(family).iter_rows(named=True):
        key = tuple(row[name] for name in family)
        if key not in cells:
            yield row, ChosenAmong(measured.clear(), couples.clear(), None)
            continue
        nested = key in lines and not shared[key]["crossed"].any()
        yield row, ChosenAmong(cells[key], shared[key], _scenes(lines[key], cells[key].height) if nested else None)


def _codes(frame: pl.DataFrame, name: str) -> Codes:
    return frame[name].cast(pl.Int64).to_numpy()


def _scenes(rows: pl.DataFrame, identities: int) -> Scenes:
    """Answers about pictures that are paired within scenes alone."""
    rows = rows.with_columns(
        _scene=pl.struct("stratum", "unit").rank("dense").cast(pl.Int64) - 1,
        _stratum=pl.col("stratum").fill_null("").rank("dense").cast(pl.Int64) - 1,
        _activity=pl.col("activity").fill_null("").rank("dense").cast(pl.Int64) - 1,
    )
    line = pl.struct("_activity", "_scene").rank("dense").cast(pl.Int64) - 1
    rows = rows.with_columns(_line=line).sort("_line", "place")
    n, s = np.zeros((2, int(rows["_line"].max()) + 1, identities))  # type: ignore[arg-type]
    at = _codes(rows, "_line"), _codes(rows, "place")
    n[at], s[at] = to_array(rows["n"]), to_array(rows["s"])
    lines = rows.unique("_line", maintain_order=True)
    return Scenes(n, s, *(_codes(lines, name) for name in ("_scene", "_stratum", "_activity")))
