"""How far identities lie apart, and how far behind the one that is chosen most, beside what chance alone gives."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures import pair_moments, selection
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.impact import DELTA, NEVER, REFERENCE, impact_ratios, shortfalls
from facevalue.measures.inference import Array, Floor
from facevalue.measures.selection import to_array
from facevalue.studies.vignette import measures as m
from facevalue.studies.vignette.analysis_selection import by_identity
from facevalue.studies.vignette.moments import CONTROL
from facevalue.studies.vignette.recorded import record
from facevalue.studies.vignette.tallies import Tables

SEED = 20260
"""Of all that is drawn: the same answers always give the same estimates."""
SPREAD = "delta method over picture pairs"
_FAMILY = ("contrast", "paradigm", "question", "dimension")


@dataclass(frozen=True)
class Compared:
    """Identities of one dimension, chosen among in answer to one question.

    Attributes
    ----------
    found:
        Their selection frequencies (`by_identity`), those with an answer, in the order of all arrays.
    moments:
        Of the couples among them: identity, other_identity and `selection.MOMENTS`.
    stimuli:
        Their picture pairs one by one: identity_1, identity_2, activity, n, s; None where they were not kept.
    """

    found: pl.DataFrame
    moments: pl.DataFrame
    stimuli: pl.DataFrame | None

    @property
    def size(self) -> int:
        """How many identities."""
        return self.found.height

    @cached_property
    def selected(self) -> Array:
        """S of each, in percent."""
        return to_array(self.found["value"])

    @cached_property
    def pairs(self) -> int:
        """Picture pairs."""
        return int(self.moments["clusters"].sum()) // 2

    def _codes(self, names: pl.Series) -> npt.NDArray[np.int64]:
        places = {name: i for i, name in enumerate(self.found["identity"].to_list())}
        return names.cast(pl.String).replace_strict(places, default=-1, return_dtype=pl.Int64).to_numpy()

    @cached_property
    def _couples(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        return self._codes(self.moments["identity"]), self._codes(self.moments["other_identity"])

    @cached_property
    def related(self) -> Array:
        """Correlation of the errors of `selected`."""
        n, s, nn, sn, ss = (to_array(self.moments[name]) for name in ("n", "s", "nn", "sn", "ss"))
        return pair_moments.correlation(*self._couples, (n, s, nn, sn, ss), self.size)

    @cached_property
    def null(self) -> Array:
        """Selection frequencies had nobody been preferred, shape (resamples, identities)."""
        if self.stimuli is not None and self.stimuli.height <= pair_moments.MOST_PAIRS:
            return self._flipped(self.stimuli)
        nn, sn, ss = (to_array(self.moments[name]) for name in ("nn", "sn", "ss"))
        related = pair_moments.flip_correlation(*self._couples, np.maximum(ss - sn + nn / 4, 0.0), self.size)
        return pair_moments.drawn(to_array(self.found["chance"]), related, SEED)

    def _flipped(self, stimuli: pl.DataFrame) -> Array:
        first, second = self._codes(stimuli["identity_1"]), self._codes(stimuli["identity_2"])
        activity = stimuli["activity"].cast(pl.String).fill_null("").rank("dense").to_numpy().astype(np.int64) - 1
        n, s = to_array(stimuli["n"]), to_array(stimuli["s"])
        shape = (self.size, int(activity.max()) + 1)
        asked = np.zeros(shape)
        for who in (first, second):
            np.add.at(asked, (who, activity), n)
        strata = (asked > 0).sum(axis=1)
        gain = 100 * (s - n / 2)
        gains = (gain / (strata[first] * asked[first, activity]), -gain / (strata[second] * asked[second, activity]))
        return pair_moments.flipped(first, second, gains, self.size, SEED)


def compared(tables: Tables) -> list[tuple[dict[str, str | None], Compared]]:
    """All sets of identities that were chosen among, with their labels, in a fixed order."""
    found = by_identity(tables, gender=False).filter(pl.col("paradigm") != "factuality")
    measured = found.filter(pl.col("value").is_not_null())
    own = {key: part.sort("identity") for key, part in measured.group_by(_FAMILY)}
    couples = selection.add(tables.pairs, [*_FAMILY, "identity", "other_identity"])
    shared = {key: part.sort("identity", "other_identity") for key, part in couples.group_by(_FAMILY)}
    kept = _one_by_one(tables, shared)
    out = []
    for row in found.select(*_FAMILY, "trait").unique().sort(_FAMILY).iter_rows(named=True):
        key = tuple(row[name] for name in _FAMILY)
        if key in own:
            part = shared[key].filter(pl.col("clusters") > 0)
            out.append((dict(row), Compared(own[key], part, kept.get(key))))
        else:
            out.append((dict(row), Compared(measured.clear(), couples.clear(), None)))
    return out


def _one_by_one(
    tables: Tables, shared: dict[tuple[object, ...], pl.DataFrame]
) -> dict[tuple[object, ...], pl.DataFrame]:
    """Picture pairs of those sets that have few."""
    few = [key for key, part in shared.items() if part["clusters"].sum() <= 2 * pair_moments.MOST_PAIRS]
    if not few or not tables.stimuli.height:
        return {}
    wanted = pl.DataFrame(few, schema=dict.fromkeys(_FAMILY, pl.String()), orient="row")
    labelled = tables.stimuli.with_columns(pl.col(_FAMILY).cast(pl.String)).filter(pl.col("n") > 0)
    names = ("gender", "identity_1", "identity_2", "activity", "pair_of_pictures", "person")
    rows = labelled.filter(pl.col("paradigm") != "factuality").select(*_FAMILY, *names, "n", "s")
    alike = rows.filter((pl.col("paradigm") == "decision") & ~pl.col("question").str.starts_with(CONTROL))
    over = [name for name in _FAMILY if name != "question"]
    summed = alike.group_by(*over, *names).agg(pl.col("n", "s").sum())
    summed = summed.with_columns(pl.lit(None, pl.String).alias("question")).select(rows.columns)
    chosen = pl.concat([rows, summed]).join(wanted, on=_FAMILY, how="semi", nulls_equal=True)
    return {key: part.sort(names) for key, part in chosen.group_by(_FAMILY)}


def add_spreads(table: EstimateTable, tables: Tables) -> None:
    """Add spreads of selection frequencies and, of decisions, impact ratios."""
    rows, floors = [], []
    for labels, one in compared(tables):
        numbers, floor = _spread(one)
        rows.append({**labels, **numbers})
        floors.append(floor)
        if labels["paradigm"] == "decision" and labels["question"] is None and one.size:
            _impact(table, one)
    if not rows:
        return
    text = dict.fromkeys((*_FAMILY, "trait"), pl.String())
    frame = pl.DataFrame(rows, schema_overrides={**text, **dict.fromkeys(("value", "low", "high", "se"), pl.Float64())})
    null = Floor(*(np.array(column) for column in zip(*floors, strict=True)))
    single = frame["question"].is_not_null().to_numpy()
    for where, family in ((~single, "spreads"), (single, "spreads by question")):  # dimensions, and questions, together
        chance = Floor(null.mean[where], null.high[where], null.p[where])
        part, by = frame.filter(where), {"apart": ["paradigm"], "within": ["contrast"]}
        record(table, m.SPREAD, part, SPREAD, p=chance.p, family=family, floor=chance, **by)


def _spread(one: Compared) -> tuple[dict[str, float], tuple[float, float, float]]:
    counted = {"n": float(one.found["n"].sum()) / 2, "clusters": float(one.pairs)}
    if one.size < 2:
        return {**dict.fromkeys(("value", "low", "high", "se"), np.nan), **counted}, (np.nan,) * 3
    value = float(pair_moments.spread(one.selected))
    se, low, high = pair_moments.spread_interval(
        one.selected, to_array(one.found["se"]), one.related, float(one.pairs - one.size)
    )
    floor = pair_moments.null_floor(pair_moments.spread(one.null), value, one.pairs)
    numbers = {"value": value, "low": low, "high": high, "se": se, **counted}
    return numbers, (float(floor.mean), float(floor.high), float(floor.p))


def _impact(table: EstimateTable, one: Compared) -> None:
    found = one.found
    ratio, error, low, high = impact_ratios(one.selected, to_array(found["se"]), one.related, to_array(found["df"]))
    best = int(np.argmax(one.selected))
    how = selection.method(found, DELTA)
    how[one.selected == 0] = NEVER
    how[best] = REFERENCE
    names = [*_FAMILY, "identity"]
    base = found.select(*names, "n", "clusters")
    numbers = {"value": ratio, "low": low, "high": high, "se": ratio * error}
    record(table, m.IMPACT, base.with_columns(pl.Series(k, x).fill_nan(None) for k, x in numbers.items()), how)
    short = 1 - ratio
    floor = pair_moments.null_floor(shortfalls(one.null), short, one.pairs)
    numbers = {"value": short, "low": 1 - high, "high": 1 - low, "se": ratio * error}
    frame = base.with_columns(pl.Series(k, x).fill_nan(None) for k, x in numbers.items())
    record(table, m.SHORTFALL, frame, how, p=floor.p, family="impact", floor=floor)
