"""How far identities lie apart, and how far behind the one that is chosen most, beside what chance alone gives."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from facevalue.measures import pair_moments, selection
from facevalue.measures.cluster_bootstrap import Array, Floor, no_floor, only_values
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.impact import DELTA, NEVER, REFERENCE, impact_ratios, shortfalls
from facevalue.measures.pair_moments import Codes, Scenes
from facevalue.measures.selection import to_array
from facevalue.studies.vignette import measures as m
from facevalue.studies.vignette.aggregate import Tables
from facevalue.studies.vignette.aggregate_pictures import balanced
from facevalue.studies.vignette.analysis_selection import by_identity
from facevalue.studies.vignette.recorded import record

SEED = 20260
"""Of all that is drawn: the same answers always give the same estimates."""
SPREAD = "noncentral F, from identities dealt anew to the pictures"
_FAMILY = ("contrast", "paradigm", "question", "dimension")


@dataclass(frozen=True)
class Compared:
    """Identities of one dimension, chosen among in answer to one question.

    Attributes
    ----------
    found:
        Their shares (`by_identity`), those with an answer, in the order of all arrays.
    couples:
        Answers of the couples among them: first and second (places in that order), `crossed` and n.
    scenes:
        Their answers by scene; None where pictures are paired across scenes.
    """

    found: pl.DataFrame
    couples: pl.DataFrame
    scenes: Scenes | None

    @property
    def size(self) -> int:
        """How many identities."""
        return self.found.height

    @cached_property
    def selected(self) -> Array:
        """S of each, in percent."""
        return to_array(self.found["value"])

    @cached_property
    def se(self) -> Array:
        """Standard errors of `selected`."""
        return to_array(self.found["se"])

    @cached_property
    def df(self) -> float:
        """Degrees of freedom that all of them have."""
        return float(to_array(self.found["df"]).min()) if self.size else 0.0

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


def _codes(frame: pl.DataFrame, name: str) -> Codes:
    return frame[name].cast(pl.Int64).to_numpy()


def compared(tables: Tables, preferred: bool = False) -> list[tuple[dict[str, str | None], Compared]]:
    """All sets of identities that were chosen among, with their labels, in a fixed order.

    With `preferred`, answers that name both or none count half for each of the two.
    """
    found = by_identity(tables, gender=False, preferred=preferred).filter(pl.col("paradigm") != "factuality")
    measured = found.filter(pl.col("value").is_not_null()).sort(*_FAMILY, "identity")
    places = measured.select(*_FAMILY, "identity", place=pl.int_range(pl.len(), dtype=pl.Int64).over(_FAMILY))
    pairs = tables.pairs.group_by(*_FAMILY, "identity", "other_identity", maintain_order=True)
    couples = pairs.agg(pl.col("n").sum(), pl.col("crossed").any()).filter(pl.col("n") > 0)
    couples = _placed(couples, places, "identity", "other_identity").sort(*_FAMILY, "first", "second")
    selected = balanced(tables.selected) if preferred else tables.selected
    rows = selected.filter((pl.col("n") > 0) & pl.col("unit").is_not_null() & (pl.col("paradigm") != "factuality"))
    rows = rows.join(places, on=[*_FAMILY, "identity"], nulls_equal=True, maintain_order="left")
    own, shared, lines = _parts(measured), _parts(couples), _parts(rows)
    out = []
    for row in found.select(*_FAMILY, "trait").unique().sort(_FAMILY).iter_rows(named=True):
        key = tuple(row[name] for name in _FAMILY)
        if key not in own:
            out.append((dict(row), Compared(measured.clear(), couples.clear(), None)))
            continue
        nested = key in lines and not shared[key]["crossed"].any()
        scenes = _scenes(lines[key], own[key].height) if nested else None
        out.append((dict(row), Compared(own[key], shared[key], scenes)))
    return out


def _parts(frame: pl.DataFrame) -> dict[tuple[object, ...], pl.DataFrame]:
    return frame.partition_by(_FAMILY, as_dict=True)


def _placed(frame: pl.DataFrame, places: pl.DataFrame, one: str, other: str) -> pl.DataFrame:
    """The rows with `first` and `second`: where both identities stand among those of their family."""
    for who, name in ((one, "first"), (other, "second")):
        named = places.rename({"identity": who, "place": name})
        frame = frame.join(named, on=[*_FAMILY, who], nulls_equal=True, maintain_order="left")
    return frame


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


def add_spreads(table: EstimateTable, tables: Tables) -> None:
    """Add spreads of selection frequencies and, of decisions, impact ratios."""
    rows = []
    for labels, one in compared(tables):
        if labels["paradigm"] == "decision" and labels["question"] is None and one.size:
            _impact(table, one)
    for labels, one in compared(tables, preferred=True):
        found = pair_moments.spread_of(one.selected, one.se, one.related, one.df, one.scenes, SEED)
        clusters = 0 if not one.size else float(one.found["clusters"].sum())
        counted = {"n": float(one.found["n"].sum()) / 2, "clusters": clusters}
        rows.append({**labels, **found._asdict(), **counted})
    if not rows:
        return
    text = dict.fromkeys((*_FAMILY, "trait"), pl.String())
    frame = pl.DataFrame(rows, schema_overrides={**text, **dict.fromkeys(pair_moments.Spread._fields, pl.Float64())})
    for where, family in (("is_null", "spreads"), ("is_not_null", "spreads by question")):
        part = frame.filter(getattr(pl.col("question"), where)()).with_columns(pl.selectors.float().fill_nan(None))
        p, least, mean, high = (to_array(part[name]) for name in ("p", "p_least", "floor", "floor_high"))
        record(
            table, m.SPREAD, part, SPREAD, p=p, p_least=least, family=family, floor=Floor(mean, high, p),
            apart=["paradigm"], within=["contrast"],  # dimensions, and questions, together
        )  # fmt: skip


def _impact(table: EstimateTable, one: Compared) -> None:
    found = one.found
    ratio, error, low, high = impact_ratios(one.selected, one.se, one.related, to_array(found["df"]))
    best = int(np.argmax(one.selected))
    how = selection.method(found, DELTA)
    how[one.selected == 0] = NEVER
    how[best] = REFERENCE
    names = [*_FAMILY, "identity"]
    base = found.select(*names, "n", "clusters")
    numbers = {"value": ratio, "low": low, "high": high, "se": ratio * error}
    record(table, m.IMPACT, base.with_columns(pl.Series(k, x).fill_nan(None) for k, x in numbers.items()), how)
    short, floor, least = 1 - ratio, no_floor(one.size), None
    if np.isfinite(one.se).all() and not only_values():
        draws = pair_moments.DRAWS
        null = shortfalls(one.null(draws, SEED + 1, freed=True))
        tested = shortfalls(one.null(5 * draws, SEED + 2, freed=False))
        smallest = max(1 / (1 + len(tested)), one.scenes.least if one.scenes is not None else 0.0)
        p = np.maximum(pair_moments.share_beyond(tested, short), smallest)
        floor, least = pair_moments.null_floor(null, short, p), np.full(one.size, smallest)
    numbers = {"value": short, "low": 1 - high, "high": 1 - low, "se": ratio * error}
    frame = base.with_columns(pl.Series(k, x).fill_nan(None) for k, x in numbers.items())
    record(table, m.SHORTFALL, frame, how, p=floor.p, p_least=least, family="impact", floor=floor)
