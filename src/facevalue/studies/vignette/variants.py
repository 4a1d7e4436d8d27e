"""Variants of a question: paraphrased, with positional answers, without the picture (7.4, A.3, A.7).

Variants of one prompt about one pair are compared with each other, answer by answer, so that what differs is the way of
asking and nothing else. What only one of them has a valid answer to is left out; `n` says how many were compared.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy import special

from facevalue.measures import selection
from facevalue.measures.adjustment import within
from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import LEVEL, Array, Floor
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.profiles import correlations
from facevalue.measures.proportions import WILSON, score_p
from facevalue.measures.robustness import chance, match_rates
from facevalue.measures.selection import to_array
from facevalue.measures.table_entries import bounds_of, estimates, record
from facevalue.measures.two_proportions import pooled_z
from facevalue.measures.wanted import takes
from facevalue.studies.vignette import measures as m
from facevalue.studies.vignette import profile
from facevalue.studies.vignette.aggregate import Main, offers_four

_TWO, _FOUR = (0.5, 0.5), (0.25,) * 4
_SHARES = ("weight", "other", "swapped", "both", "none", "wrong_1", "wrong_2")
_KEEP = (
    *("cluster", "paradigm", "question", "about", "trait", "valence", "prompt", "repeat", "wording", "reference"),
    *("shown", "mass", "listed_first", "left_first", *_SHARES),
)
_CELL = ("paradigm", "contrast", "dimension", "question", "identity")
_STRATA = (*_CELL, "activity", *selection.UNIT)
_UNITS = ("stratum", "unit_1", "unit_2")
_MATCHES = (m.FULL_MATCH, m.PARTIAL_MATCH, m.ALL_DIFFERENT)
_TAKEN = (
    *(m.FIRST_OPTION, m.LEFT, *_MATCHES),
    *(m.POSITIONAL_SHIFT, m.POSITIONAL_CORRELATION, m.VISION_MINUS_TEXT),
)
_VALUES = ("s", "t", "n")
_Parts = list[tuple[pl.DataFrame, pl.DataFrame]]


class Variants:
    """Collects comparisons of variants from a stream of answers: give it chunks of whole pairs, then `write`.

    What a run did not vary gives no estimates. Answers without a picture come long after those with it: where both are
    asked, one number per answer is kept until then.
    """

    def __init__(self) -> None:
        self._main = Main()
        self._matches: _Parts = []
        self._sides: _Parts = []
        self._positional: list[pl.DataFrame] = []
        self._shown: dict[str, list[pl.DataFrame]] = {"image": [], "text": []}
        self._four = False

    @takes(*_TAKEN)
    def add(self, chunk: pl.DataFrame) -> None:
        """Take in a chunk of whole pairs."""
        self._four = self._four or offers_four(chunk)
        frame = chunk.select(*profile.pair_columns(chunk), *(name for name in _KEEP if name in chunk.columns))
        frame = _sampled(frame.with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String)))
        self._add_sides(self._main(frame))
        if "wording" in frame.columns:
            self._add_matches(self._main(frame, ("shown", "reference")))
        main = self._main(frame, ("wording",))
        if "reference" in frame.columns:
            held = _scored(self._main(main, ("shown",)).filter(pl.col("question") != "doing"))
            by_identity, by_position = (held.filter(pl.col("reference") == level) for level in ("identity", "position"))
            self._positional.append(_reduced(_paired(by_identity, by_position, ["cluster", *_pair_and_prompt(held)])))
        if "shown" in frame.columns:
            held = _scored(self._main(main, ("reference",)))
            for medium, tables in self._shown.items():
                tables.append(held.filter(pl.col("shown") == medium).select(*_pair_and_prompt(held), *_VALUES))

    def _add_sides(self, frame: pl.DataFrame) -> None:
        two = frame.filter((pl.col("paradigm") != "factuality") & pl.col("weight").is_not_null())
        all_text = "shown" in two.columns and two.height > 0 and bool((two["shown"] == "text").all())
        tables = []
        for name, first in (("first_option_share", "listed_first"), ("left_share", "left_first")):
            if first not in two.columns or (name == "left_share" and all_text):
                continue
            rest = profile.other_weight(two)
            chosen = pl.when(pl.col(first)).then("weight").otherwise(rest) * pl.col("mass")
            is_named = (pl.col("weight") + rest) * pl.col("mass")  # both and none have no place among two
            tables.append(two.select("cluster", *_UNITS, "paradigm", pl.lit(name).alias("what"), n=is_named, s=chosen))
        if tables:
            self._sides.append(_either(pl.concat(tables), ("what", "paradigm")))

    def _add_matches(self, frame: pl.DataFrame) -> None:
        wordings = frame["wording"].drop_nulls().unique().sort().to_list()
        if len(wordings) != 3:
            return
        options = [name for name in _SHARES if name in frame.columns]
        replies = frame.group_by("cluster", "paradigm", "question", "prompt", "repeat", maintain_order=True).agg(
            pl.col(name).filter(pl.col("wording") == w).first().alias(f"{name} {w}")
            for w in wordings
            for name in options
        )
        replies = replies.join(frame.select("cluster", *_UNITS).unique("cluster"), on="cluster", maintain_order="left")
        shares = np.stack([[to_array(replies[f"{name} {w}"]) for name in options] for w in wordings])
        listed = np.nan_to_num(shares[:, 1:]).sum(axis=1)
        weight = shares[:, :1]
        rest = np.where(np.isnan(weight), np.nan, 1 - weight - listed[:, None])  # of what has no column of its own
        numbers = np.concatenate([weight, np.nan_to_num(shares[:, 1:]), np.clip(rest, 0.0, 1.0)], axis=1)
        rates = np.array(match_rates(np.moveaxis(numbers, -1, 0)))
        labels = ["cluster", *_UNITS, "paradigm", "question"]
        columns = replies.select(
            *labels, *(pl.Series(measure.name, rate) for measure, rate in zip(_MATCHES, rates, strict=True))
        ).filter(pl.col("full_match").is_not_nan())
        long = columns.unpivot(index=labels, variable_name="what", value_name="s").with_columns(n=pl.lit(1.0))
        apart = long.filter(pl.col("paradigm") != "stereotype")
        over_all = long.with_columns(pl.lit(None, pl.String).alias("question"))
        self._matches += [_either(pairs, ("what", "paradigm", "question")) for pairs in (apart, over_all)]

    def write(self, table: EstimateTable) -> None:
        """Add what was compared to the estimates."""
        for measure, rows in _shares(self._sides, ("what", "paradigm"), (m.FIRST_OPTION, m.LEFT)):
            record(table, measure, rows, WILSON, p=_p(rows))
        for measure, rows in _shares(self._matches, ("what", "paradigm", "question"), _MATCHES):
            record(table, measure, rows, WILSON, floor=_floor(rows, measure, _FOUR if self._four else _TWO))
        if self._positional:
            sums = selection.add(pl.concat(self._positional), ("what", *_STRATA), (*selection.SUMS, *selection.ENDS))
            _write_shift(table, m.POSITIONAL_SHIFT, sums, "positional shift")
            _write_correlation(table, sums)
        image, text = (pl.concat(tables) if tables else None for tables in self._shown.values())
        if image is not None and text is not None and image.height and text.height:
            sums = _reduced(_paired(text, image, _pair_and_prompt(image)))
            _write_shift(table, m.VISION_MINUS_TEXT, sums, "vision minus text", published=_z_scores(sums))


def _shares(frames: _Parts, by: Sequence[str], measures: Sequence[Measure]) -> list[tuple[Measure, pl.DataFrame]]:
    """Shares of each measure, by the name in `what`."""
    if not frames:
        return []
    shares = selection.either_side(pl.concat(a for a, _ in frames), pl.concat(b for _, b in frames), by)
    return [(measure, shares.filter(pl.col("what") == measure.name).sort(by)) for measure in measures]


def _sampled(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows with the picture on either side, told apart by identity, or the person that all is about."""
    sides = profile.with_units(frame)
    person = pl.col("person") if "person" in frame.columns else pl.lit(None, pl.String)
    identity = pl.coalesce(pl.col(name) for name in ("identity", "identity_1") if name in frame.columns)
    partner = pl.coalesce(pl.col(name) for name in ("identity", "identity_2") if name in frame.columns)
    return sides.with_columns(
        pl.when(person.is_null()).then(pl.concat_str(name, side, separator="|")).otherwise(side).alias(side)
        for name, side in ((identity, "unit_1"), (partner, "unit_2"))
    )


def _either(rows: pl.DataFrame, by: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Sums by picture, on whichever side it is, and moments of pairs of two different pictures."""
    pairs = rows.group_by(*by, "cluster", *_UNITS, maintain_order=True).agg(pl.col("n", "s").sum(), asked=pl.len())
    return selection.sides(pairs.with_columns(pair=pl.col("unit_1") != pl.col("unit_2")), by)


def _floor(rows: pl.DataFrame, measure: Measure, people: tuple[float, ...]) -> Floor:
    """What answers drawn at random give: factuality always offers four options."""
    place = _MATCHES.index(measure)
    rate = np.array([chance(_FOUR if paradigm == "factuality" else people)[place] for paradigm in rows["paradigm"]])
    share, size, df = (to_array(rows[name]) for name in ("value", "size", "df"))
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.where((rate > 0) & (rate < 1), score_p(share / 100, size, df, rate), np.nan)
        high = rate + special.stdtrit(df, LEVEL) * np.sqrt(rate * (1 - rate) / size)
    none = np.full(rate.shape, np.nan)
    return Floor(100 * rate, 100 * np.minimum(high, 1.0), p if measure is m.FULL_MATCH else none)


def _pair_and_prompt(frame: pl.DataFrame) -> list[str]:
    return [*profile.pair_columns(frame), "paradigm", "question", "about", "prompt", "repeat"]


def _scored(frame: pl.DataFrame) -> pl.DataFrame:
    """Answers that say something of an identity, with `s` and `n`; n is 0 of those that are missing.

    Decisions and factuality are put together over questions; terms too, turned round where their valence is low; each
    question of perception stands for itself. Terms alone count an answer "both" or "none" half for each of the two.
    """
    comparing = frame.filter(profile.comparing())
    term, turned = pl.col("paradigm") == "stereotype", profile.favourable_weight(comparing)
    score = pl.when(term).then(turned).otherwise(pl.col("weight"))
    against = pl.when(term).then(1 - turned).otherwise(profile.other_weight(comparing))
    mass = pl.when(pl.col("weight").is_not_null()).then("mass").otherwise(0.0)
    return comparing.with_columns(s=score.fill_null(0.0), t=against.fill_null(0.0), n=mass)


def _paired(base: pl.DataFrame, varied: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Answers to two variants of one prompt side by side, for each identity: `s_base`, `s_other` and `n`.

    `s_least` and `s_most` are the shares that shifts are taken as (`_reduced`), had what is missing of either variant
    gone one way or the other.
    """
    joined = base.select(*keys, *_VALUES).join(
        varied.select(*keys, *_VALUES), on=keys, how="inner", nulls_equal=True, suffix="_other", maintain_order="left"
    )
    n, n_other = (pl.col(name).clip(upper_bound=1.0) for name in ("n", "n_other"))

    def share(s: str, unknown: pl.Expr) -> pl.Expr:
        return (1 + n_other * pl.col(f"{s}_other") - n * pl.col(s) + unknown) / 2

    def sums(s: str) -> pl.Expr:
        valid = pl.col("n") * pl.col("n_other")
        return pl.struct(
            s_base=pl.col(s) * valid,
            s_other=pl.col(f"{s}_other") * valid,
            s_least=share(s, n - 1),
            s_most=share(s, 1 - n_other),
        )

    answers = profile.with_units(joined).with_columns(n=pl.col("n") * pl.col("n_other"), s=sums("s"), t=sums("t"))
    return profile.by_identity(answers.drop("s_other", "t_other")).drop("t").unnest("s")


def _reduced(rows: pl.DataFrame) -> pl.DataFrame:
    """Sums of what either variant chose, and of the shift between them, for each identity, activity and picture.

    The shift d of an answer lies in [-1, 1]; it is taken as the share (1 + d)/2, for which `selection` has intervals.
    """
    activity = pl.col("activity") if "activity" in rows.columns else pl.lit(None, pl.String)
    rows = rows.with_columns(
        pl.when(pl.col("paradigm") == "perception").then("question").alias("question"),
        pl.when(pl.col("contrast") == "identity").then(activity).alias("activity"),
    )
    numbers = ("n", "s_base", "s_other", *selection.ENDS)
    units = rows.group_by(_STRATA, maintain_order=True).agg(pl.col(numbers).sum(), asked=pl.len())
    shift = (pl.col("n") + pl.col("s_other") - pl.col("s_base")) / 2
    columns = {"base": pl.col("s_base"), "other": pl.col("s_other"), "shift": shift}
    tables = [units.with_columns(pl.lit(name).alias("what"), s=s) for name, s in columns.items()]
    return pl.concat(tables).select("what", *_STRATA, *selection.SUMS, *selection.ENDS)


def _write_shift(
    table: EstimateTable, measure: Measure, sums: pl.DataFrame, title: str, published: pl.DataFrame | None = None
) -> None:
    cells = selection.cells(sums.filter(pl.col("what") == "shift"), _CELL).sort(_CELL)
    if not cells.height:
        return
    paper = None
    if published is not None:
        joined = cells.join(published, on=_CELL, how="left", nulls_equal=True, maintain_order="left")
        paper = to_array(joined["p_paper"])
    p, cell = _p(cells), cells.select(pl.struct(_CELL[:-1]).rank("dense").cast(pl.Int64)).to_series().to_numpy()
    family = pl.concat_str(pl.lit(title), "paradigm", "question", "dimension", separator=", ", ignore_nulls=True)
    ends = ("value", "low", "high", "bound_low", "bound_high")
    scaled = cells.with_columns(*(pl.col(name) * 2 - 100 for name in ends), pl.col("se", "bound_se") * 2)
    table.add(
        measure, {name: cells[name].to_list() for name in _CELL}, estimates(scaled, selection.method(cells)), p=p,
        q=within(p, cell), p_paper=paper, family=cells.select(family).to_series().to_list(),
        bounds=bounds_of(scaled),
    )  # fmt: skip


def _z_scores(sums: pl.DataFrame) -> pl.DataFrame:
    """The published test of pictures against none (7.4, footnote 4): z of shares of all answers to what was asked.

    The authors' code divides how often an identity was named by all answers to a question, not by those that offered
    it, and takes all answers for independent (`two_proportions.pooled_z`).
    """
    cells = sums.filter(pl.col("what") != "shift").group_by("what", *_CELL, maintain_order=True)
    counted = cells.agg(pl.col("n", "s").sum()).with_columns(
        answers=pl.col("n").sum().over("what", *_CELL[:-1]) / 2  # each stands with both of its identities
    )
    base, varied = (counted.filter(pl.col("what") == name).drop("what") for name in ("base", "other"))
    joined = varied.join(base, on=_CELL, nulls_equal=True, suffix="_base", maintain_order="left")
    _, p = pooled_z(*(to_array(joined[name]) for name in ("s", "answers", "s_base", "answers_base")))
    return joined.select(*_CELL, pl.Series("p_paper", p).fill_nan(None))


def _write_correlation(table: EstimateTable, sums: pl.DataFrame) -> None:
    base, varied = (selection.cells(sums.filter(pl.col("what") == name), _CELL) for name in ("base", "other"))
    joined = base.join(varied, on=_CELL, nulls_equal=True, suffix="_other", maintain_order="left").sort(_CELL)
    for key, rows in joined.group_by(_CELL[:-1], maintain_order=True):
        correlation = correlations(to_array(rows["value"]), to_array(rows["value_other"]), profile.SEED)
        labels = {name: [None if level is None else str(level)] for name, level in zip(_CELL, key, strict=False)}
        table.add(m.POSITIONAL_CORRELATION, labels, correlation.at(slice(0, 1)))


def _p(rows: pl.DataFrame) -> Array:
    """Against one half, as the interval."""
    share = to_array(rows["value"]) / 100
    return score_p(share, to_array(rows["size"]), to_array(rows["df"]))
