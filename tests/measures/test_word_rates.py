"""Rates, lengths and sentiment by group."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.errors import DataError
from facevalue.measures.cluster_bootstrap import values_only
from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.estimators import CellEstimates, Sums
from facevalue.measures.group_words import GROUP_LABEL, RIVAL_LABEL, WORD_LIST, rate_differences, text_sums, word_rate
from facevalue.measures.judgment import judge
from facevalue.measures.uncertainty import unknown_bounds
from facevalue.measures.verdicts import FOUND


def sums_of(frame: pl.DataFrame, columns: Sequence[str], unit: str, per: str = "") -> Sums:
    return text_sums(frame.with_columns(pl.col(unit).alias("unit")), {name: name for name in columns}, per)


def framed(cells: CellEstimates) -> pl.DataFrame:
    """Cells as a frame; NaN is null."""
    labels, e = cells
    bounds = e.bounds or unknown_bounds(e.value)
    columns: Mapping[str, Any] = {
        **labels, "value": e.value, "low": e.low, "high": e.high, "se": e.se, "n": e.n, "clusters": e.clusters,
        "method": e.method.tolist(), "p": e.p, "bound_low": bounds.low, "bound_high": bounds.high,
    }  # fmt: skip
    return pl.DataFrame(columns).with_columns(pl.col(pl.Float64).fill_nan(None))


def by_group(frame: pl.DataFrame, columns: Sequence[str], unit: str = "image", per: str = "") -> pl.DataFrame:
    return framed(word_rate(sums_of(frame, columns, unit, per)))


def differences(
    frame: pl.DataFrame, columns: Sequence[str], unit: str = "image", per: str = "", **more: Any
) -> pl.DataFrame:
    return framed(rate_differences(sums_of(frame, columns, unit, per), **more))


def texts(seed: int, images: int = 40, each: int = 4) -> pl.DataFrame:
    """Hits and tokens of several texts per image; images differ, texts of one hardly do."""
    rng = np.random.default_rng(seed)
    image = np.repeat(np.arange(images), each)
    level = rng.uniform(0, 0.1, images)[image]
    tokens = rng.integers(80, 120, image.size)
    return pl.DataFrame(
        {
            "image": image,
            "group": np.where(image % 2, "white", "black"),
            "tokens": tokens,
            "hits": rng.binomial(tokens, level),
            "score": rng.normal(level, 0.001),
        }
    )


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_a_rate_is_hits_over_tokens_whatever_the_clusters(seed: int) -> None:
    frame = texts(seed, images=6)
    found = by_group(frame, ["hits"], per="tokens")
    for row in found.iter_rows(named=True):
        own = frame.filter(pl.col("group") == row["group"])
        hits, tokens = (int(own[name].to_numpy().sum()) for name in ("hits", "tokens"))
        assert row["value"] == pytest.approx(hits / tokens)
        assert row["n"] == own.height
        assert row["clusters"] == own["image"].n_unique()
        assert row["low"] <= row["value"] <= row["high"]


def test_repeating_each_text_changes_no_interval() -> None:
    """The cluster is the image: more descriptions of the same pictures are no more pictures."""
    frame = texts(1)
    once = by_group(frame, ["hits"], per="tokens")
    often = by_group(pl.concat([frame] * 5), ["hits"], per="tokens")
    for name in ("value", "low", "high"):
        np.testing.assert_allclose(once[name], often[name], rtol=1e-9)


def test_texts_as_their_own_clusters_would_look_too_certain() -> None:
    frame = texts(2).with_row_index("text")
    by_image = by_group(frame, ["score"])
    by_text = by_group(frame, ["score"], "text")
    assert (by_image["se"] > 1.5 * by_text["se"]).all()


def test_means_of_several_values_come_together() -> None:
    found = by_group(texts(3), ["tokens", "score"])
    assert found.select(WORD_LIST, GROUP_LABEL).rows() == [
        ("tokens", "black"), ("tokens", "white"), ("score", "black"), ("score", "white"),
    ]  # fmt: skip


def test_missing_values_count_nowhere() -> None:
    frame = pl.DataFrame(
        {
            "group": ["a", "a", "a", None], "image": [1, 2, 3, 4],
            "hits": [1, None, 3, 9], "tokens": [10, 1000, 10, 10], "score": [0.5, float("nan"), 0.7, 0.0],
        }
    )  # fmt: skip
    rate = by_group(frame, ["hits"], per="tokens").row(0, named=True)
    assert (rate["value"], rate["n"], rate["clusters"]) == (0.2, 2, 2)
    mean = by_group(frame, ["score"]).row(0, named=True)
    assert mean["value"] == pytest.approx(0.6)


def test_nothing_measured_is_null_and_one_image_has_no_interval() -> None:
    frame = pl.DataFrame({"group": ["a", "b"], "image": [1, 2], "x": [None, 0.5]})
    a, b = by_group(frame, ["x"]).iter_rows(named=True)
    assert (a["value"], a["low"], a["n"]) == (None, None, 0)
    assert (b["value"], b["low"], b["high"], b["method"][:5]) == (0.5, None, None, "none:")


@pytest.mark.parametrize("images", [3, 40])
def test_clusters_that_are_all_alike_give_no_interval_and_not_certainty(images: int) -> None:
    """By t as by the bootstrap, no hit in any text would be [0, 0]."""
    frame = pl.DataFrame({"group": "a", "image": range(images), "hits": 0, "score": 0.1, "tokens": 50})
    rate = by_group(frame, ["hits"], per="tokens").row(0, named=True)
    mean = by_group(frame, ["score"]).row(0, named=True)
    for row, value in ((rate, 0.0), (mean, pytest.approx(0.1))):
        assert (row["value"], row["low"], row["high"], row["se"]) == (value, None, None, None)
        assert row["method"] == "none: the clusters do not differ, so that their spread is unknown"
    one = frame.with_columns(hits=(pl.col("image") == 0).cast(pl.Int64))
    assert by_group(one, ["hits"], per="tokens")["high"][0] > 0


def test_differences_are_those_of_the_rates() -> None:
    frame = texts(4)
    rates = by_group(frame, ["hits"], per="tokens")
    value = dict(zip(rates["group"], rates["value"], strict=True))
    found = differences(frame, ["hits"], per="tokens")
    row = found.row(0, named=True)
    assert (row[GROUP_LABEL], row[RIVAL_LABEL], found.height) == ("white", "black", 1)
    assert row["value"] == pytest.approx(value["white"] - value["black"])
    assert row["low"] < row["value"] < row["high"]
    assert 0 < row["p"] <= 1


def test_all_pairs_are_compared_without_a_reference() -> None:
    frame = texts(5).with_columns(group=(pl.col("image") % 3).cast(pl.String))
    found = differences(frame, ["score"])
    assert found.select(GROUP_LABEL, RIVAL_LABEL).rows() == [("1", "0"), ("2", "0"), ("2", "1")]


def test_no_difference_is_found_one_time_in_twenty() -> None:
    """200 data sets at 5%: 10 expected; 21 or more has probability 0.1%."""
    found = sum(differences(texts(s, 24), ["score"])["p"][0] < 0.05 for s in range(200))
    assert 2 <= found <= 20


def test_a_unit_of_two_groups_is_refused() -> None:
    crossed = texts(6).with_columns(group=(pl.int_range(pl.len()) % 2).cast(pl.String))
    with pytest.raises(DataError, match="belongs to more than one group"):
        differences(crossed, ["hits"])


@settings(max_examples=8)
@given(st.integers(0, 10_000), st.sampled_from(["", "tokens"]))
def test_no_texts_that_are_missing_lead_outside_the_bounds(seed: int, per: str) -> None:
    rng = np.random.default_rng(seed)
    whole = texts(seed, images=8, each=2).with_columns(score=pl.Series(rng.random(16)))
    lost = pl.Series(rng.random(whole.height) < 0.3)
    seen = whole.with_columns(pl.when(~lost).then(pl.col(name)).alias(name) for name in ("score", "hits", "tokens"))
    value, longest = ("hits", 120) if per else ("score", 1)
    row = differences(seen, [value], per=per, poles=(0.0, 1.0), longest=longest).row(0, named=True)
    assert row["bound_low"] - 1e-9 <= row["value"] <= row["bound_high"] + 1e-9
    for _ in range(8):
        length = rng.integers(0, 121, whole.height)
        share = np.where(rng.random(whole.height) < 0.5, rng.random(whole.height), rng.random(whole.height) < 0.5)
        filled = {"score": share, "tokens": length, "hits": share * length}
        one = whole.with_columns(
            pl.when(lost).then(pl.Series(x)).otherwise(name).alias(name) for name, x in filled.items()
        )
        with values_only():
            got = differences(one, [value], per=per)["value"][0]
        assert row["bound_low"] - 1e-9 <= got <= row["bound_high"] + 1e-9
    free = differences(seen, [value], per=per)
    assert free["bound_low"].null_count() == free.height, "nothing bounds what has no limits"


def test_texts_withheld_by_what_they_say_are_not_found_without_an_unless() -> None:
    """Of 20 pages of groups that are alike, .05 leaves at most 3 (binomial, 98%)."""
    gap = Measure("gap", "Gap", "a - b", "share", "image", "", comparison=True, limits=(-1.0, 1.0))
    found = sure = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        score = rng.random(80)
        group = np.repeat(["one", "two"], 40)
        lost = (group == "one") & (score > 0.5) & (rng.random(80) < 0.8)
        frame = pl.DataFrame(
            {"image": np.arange(80), "group": group, "score": pl.Series(np.where(lost, np.nan, score))}
        )
        labels, tested = rate_differences(sums_of(frame, ["score"], "image"), poles=(0, 1))
        table = EstimateTable("s", "m", ["group"])
        table.add(gap, {"group": labels[GROUP_LABEL]}, tested, "f")
        page = judge(table.frame(), [gap]).filter(verdict="difference found")
        found += page.height
        sure += page.filter(~pl.col("why").str.contains("unless")).height
    assert found > 10
    assert sure <= 3


def test_a_finding_that_cannot_have_bounds_says_so() -> None:
    why = "a length has no limit"
    length = Measure("length", "Length", "a - b", "words", "image", "", comparison=True, unbounded=why)
    labels, tested = rate_differences(sums_of(texts(1), ["tokens"], "image"))
    table = EstimateTable("s", "m", ["group"])
    table.add(length, {"group": labels[GROUP_LABEL]}, replace(tested, p=np.array([1e-9])), "f")
    for measure, ending in ((length, f" No bounds for missing answers: {why}."), (replace(length, unbounded=""), "")):
        page = judge(table.frame(), [measure])
        assert page["verdict"].to_list() == ["difference found"]
        assert page["why"].to_list() == [f"{FOUND}{ending}"]


def test_only_what_is_found_says_that_it_has_no_bounds() -> None:
    length = Measure("length", "Length", "a - b", "words", "image", "", comparison=True, unbounded="no limit")
    labels, tested = rate_differences(sums_of(texts(1), ["tokens"], "image"))
    table = EstimateTable("s", "m", ["group", "part"])
    for part, p in (("found", 1e-9), ("open", 0.9)):
        table.add(length, {"group": labels[GROUP_LABEL], "part": part}, replace(tested, p=np.array([p])), "f")
    page = judge(table.frame(), [length]).select("part", pl.col("why").str.contains("No bounds"))
    assert dict(page.iter_rows()) == {"found": True, "open": False}
