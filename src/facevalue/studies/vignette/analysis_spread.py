"""How far identities lie apart, and how far behind the one that is chosen most, beside what chance alone gives."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from facevalue.measures import pair_moments, selection
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.impact import DELTA, NEVER, REFERENCE, impact_ratios, shortfalls
from facevalue.measures.inference import Array, Floor
from facevalue.measures.pair_moments import Codes
from facevalue.measures.selection import to_array
from facevalue.studies.vignette import measures as m
from facevalue.studies.vignette.analysis_selection import by_identity
from facevalue.studies.vignette.moments import CONTROL, balanced
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
        Their shares with both and none counted half (`by_identity`, preferred), those with an answer, in the order of
        all arrays.
    moments:
        Of the couples among them: first and second (places in that order) and `selection.MOMENTS`.
    stimuli:
        Their picture pairs one by one: first, second, at (number of the activity), n, s; None where they were not kept.
    chosen, couples:
        The first two of selection frequencies proper, an answer "both" or "none" counting for nobody; the moments with
        st and tn (`pair_moments.correlation`).
    """

    found: pl.DataFrame
    moments: pl.DataFrame
    stimuli: pl.DataFrame | None
    chosen: pl.DataFrame
    couples: pl.DataFrame

    @property
    def size(self) -> int:
        """How many identities."""
        return self.found.height

    @cached_property
    def selected(self) -> Array:
        """Share of each, in percent; 50 is an even choice."""
        return to_array(self.found["value"])

    @cached_property
    def pairs(self) -> int:
        """Picture pairs."""
        return int(self.moments["clusters"].sum()) // 2

    @property
    def _couples(self) -> tuple[Codes, Codes]:
        return _codes(self.moments, "first"), _codes(self.moments, "second")

    @cached_property
    def related(self) -> Array:
        """Correlation of the errors of `selected`."""
        n, s, nn, sn, ss = (to_array(self.moments[name]) for name in ("n", "s", "nn", "sn", "ss"))
        return pair_moments.correlation(*self._couples, (n, s, nn, sn, ss), self.size)

    @cached_property
    def chosen_related(self) -> Array:
        """Correlation of the errors of selection frequencies."""
        n, s, nn, sn, ss, st, tn = (to_array(self.couples[name]) for name in ("n", "s", "nn", "sn", "ss", "st", "tn"))
        first, second = _codes(self.couples, "first"), _codes(self.couples, "second")
        return pair_moments.correlation(first, second, (n, s, nn, sn, ss), self.size, (st, tn))

    @cached_property
    def null(self) -> Array:
        """Shares had nobody been preferred, shape (resamples, identities)."""
        if self.stimuli is not None:
            return self._flipped(self.stimuli)
        nn, sn, ss = (to_array(self.moments[name]) for name in ("nn", "sn", "ss"))
        related = pair_moments.flip_correlation(*self._couples, np.maximum(ss - sn + nn / 4, 0.0), self.size)
        return pair_moments.drawn(to_array(self.found["chance"]), related, SEED)

    def _flipped(self, stimuli: pl.DataFrame) -> Array:
        first, second, at = (_codes(stimuli, name) for name in ("first", "second", "at"))
        n, s = to_array(stimuli["n"]), to_array(stimuli["s"])
        asked = np.zeros((self.size, int(at.max()) + 1))
        for who in (first, second):
            np.add.at(asked, (who, at), n)
        strata = (asked > 0).sum(axis=1)
        gain = 100 * (s - n / 2)
        gains = (gain / (strata[first] * asked[first, at]), -gain / (strata[second] * asked[second, at]))
        return pair_moments.flipped(first, second, gains, self.size, SEED)


def _codes(frame: pl.DataFrame, name: str) -> Codes:
    return frame[name].to_numpy()


def compared(tables: Tables) -> list[tuple[dict[str, str | None], Compared]]:
    """All sets of identities that were chosen among, with their labels, in a fixed order."""
    found = by_identity(tables, gender=False, preferred=True)
    measured = found.filter(pl.col("value").is_not_null()).sort(*_FAMILY, "identity")
    places = measured.select(*_FAMILY, "identity", place=pl.int_range(pl.len(), dtype=pl.Int64).over(_FAMILY))
    couples = selection.add(tables.preferred_pairs, [*_FAMILY, "identity", "other_identity"])
    couples = couples.filter(pl.col("clusters") > 0)
    couples = _placed(couples, places, "identity", "other_identity").sort(*_FAMILY, "first", "second")
    own, shared = _parts(measured), _parts(couples)
    kept = _parts(_one_by_one(tables, couples, places))
    chosen = by_identity(tables, gender=False).join(places, on=[*_FAMILY, "identity"], how="semi", nulls_equal=True)
    proper, proper_couples = _parts(chosen.sort(*_FAMILY, "identity")), _parts(_of_both(tables, couples, places))
    out = []
    for row in found.select(*_FAMILY, "trait").unique().sort(_FAMILY).iter_rows(named=True):
        key = tuple(row[name] for name in _FAMILY)
        if key in own:
            one = Compared(own[key], shared[key], kept.get(key), proper[key], proper_couples[key])
        else:
            nobody = measured.clear(), couples.clear()
            one = Compared(*nobody, None, *nobody)
        out.append((dict(row), one))
    return out


def _of_both(tables: Tables, couples: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    """Moments of couples as they chose: s of the first and t of the second of each row.

    With b = (n + s - t)/2, which `couples` holds, Σ s t = (Σ n² + Σ s² + Σ t² + 2 Σ s n - 2 Σ t n - 4 Σ b²)/2.
    """
    key = [*_FAMILY, "identity", "other_identity"]
    own = selection.add(tables.pairs, key).filter(pl.col("clusters") > 0)
    turned = own.select(
        *_FAMILY,
        pl.col("other_identity").alias("identity"),
        pl.col("identity").alias("other_identity"),
        tn="sn",
        tt="ss",
    )
    halves = couples.select(*key, bb="ss")
    for other in (turned, halves):
        own = own.join(other, on=key, nulls_equal=True, maintain_order="left")
    nn, sn, ss, tn, tt, bb = (pl.col(name) for name in ("nn", "sn", "ss", "tn", "tt", "bb"))
    own = own.with_columns(st=(nn + ss + tt + 2 * sn - 2 * tn - 4 * bb) / 2)
    return _placed(own, places, "identity", "other_identity").sort(*_FAMILY, "first", "second")


def _parts(frame: pl.DataFrame) -> dict[tuple[object, ...], pl.DataFrame]:
    return frame.partition_by(_FAMILY, as_dict=True)


def _placed(frame: pl.DataFrame, places: pl.DataFrame, one: str, other: str) -> pl.DataFrame:
    """The rows with `first` and `second`: where both identities stand among those of their family."""
    for who, name in ((one, "first"), (other, "second")):
        named = places.rename({"identity": who, "place": name})
        frame = frame.join(named, on=[*_FAMILY, who], nulls_equal=True, maintain_order="left")
    return frame


def _one_by_one(tables: Tables, couples: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    """Picture pairs of those sets that have few."""
    sizes = couples.group_by(_FAMILY).agg(pl.col("clusters").sum())
    wanted = sizes.filter(pl.col("clusters") <= 2 * pair_moments.MOST_PAIRS)
    labelled = balanced(tables.stimuli).with_columns(pl.col(_FAMILY).cast(pl.String)).filter(pl.col("n") > 0)
    names = ("gender", "identity_1", "identity_2", "activity", "pair_of_pictures", "person")
    rows = labelled.filter(pl.col("paradigm") != "factuality").select(*_FAMILY, *names, "n", "s")
    alike = rows.filter((pl.col("paradigm") == "decision") & ~pl.col("question").str.starts_with(CONTROL))
    over = [name for name in _FAMILY if name != "question"]
    summed = alike.group_by(*over, *names, maintain_order=True).agg(pl.col("n", "s").sum())
    summed = summed.with_columns(pl.lit(None, pl.String).alias("question")).select(rows.columns)
    chosen = pl.concat([rows, summed]).join(wanted, on=_FAMILY, how="semi", nulls_equal=True)
    chosen = chosen.with_columns(pl.col(names).cast(pl.String)).sort(*_FAMILY, *names)
    at = pl.col("activity").fill_null("").rank("dense").cast(pl.Int64) - 1
    return _placed(chosen.with_columns(at=at), places, "identity_1", "identity_2")


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
    found = one.chosen
    selected = to_array(found["value"])
    ratio, error, low, high = impact_ratios(selected, to_array(found["se"]), one.chosen_related, to_array(found["df"]))
    best = int(np.argmax(selected))
    how = selection.method(found, DELTA)
    how[selected == 0] = NEVER
    how[best] = REFERENCE
    names = [*_FAMILY, "identity"]
    base = found.select(*names, "n", "clusters")
    numbers = {"value": ratio, "low": low, "high": high, "se": ratio * error}
    record(table, m.IMPACT, base.with_columns(pl.Series(k, x).fill_nan(None) for k, x in numbers.items()), how)
    short = 1 - ratio
    # Nobody preferred: each keeps how often one of the two was chosen at all, and gets half of it but for chance.
    null = np.clip(one.null + selected - one.selected, 0.0, 100.0)
    floor = pair_moments.null_floor(shortfalls(null), short, one.pairs)
    numbers = {"value": short, "low": 1 - high, "high": 1 - low, "se": ratio * error}
    frame = base.with_columns(pl.Series(k, x).fill_nan(None) for k, x in numbers.items())
    record(table, m.SHORTFALL, frame, how, p=floor.p, family="impact", floor=floor)
