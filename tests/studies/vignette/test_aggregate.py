"""Answers are reduced to the same moments, however they are cut, and to those of plain Python."""

from collections import defaultdict
from dataclasses import fields
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from facevalue.errors import DataError
from facevalue.measures.pairs import SHARE_SUMS
from facevalue.studies.vignette.aggregate import Tables, core_variant
from tests.studies.vignette.framed import answers, chunks, collect

FRAME = answers(repeats=2, exact=True)


def same(one: Tables, other: Tables) -> None:
    for field in fields(Tables):
        assert_frame_equal(getattr(one, field.name), getattr(other, field.name), check_row_order=False)


WHOLE = collect([FRAME])


@settings(max_examples=15)
@given(st.lists(st.integers(1, FRAME.height - 1), max_size=6))
def test_any_cut_of_the_frame_gives_the_same_tables(cuts: list[int]) -> None:
    edges = sorted({0, *cuts, FRAME.height})
    same(WHOLE, collect(FRAME[a:b] for a, b in pairwise(edges)))


def test_one_row_at_a_time_gives_the_same_tables() -> None:
    some = FRAME.filter(pl.col("gender").cast(pl.String) == "male")[-160:]
    same(collect([some]), collect(chunks(some, 1)))


def by_hand(frame: pl.DataFrame) -> dict[str, dict[tuple[Any, ...], list[float]]]:
    """n, s and asked of each picture, as `selected` and `own` have them, in plain Python."""
    cells: dict[str, dict[tuple[Any, ...], list[float]]] = {
        name: defaultdict(lambda: [0.0] * 3) for name in ("selected", "own")
    }
    for row in frame.iter_rows(named=True):
        mass = row["mass"] if row["weight"] is not None else 0.0
        chosen = (row["weight"] or 0.0) * mass
        mine = [row["activity"] or row[f"activity_{k}"] or "portrait" for k in (1, 2)]
        if row["contrast"] == "activity":
            who = row["identity"]
            sides = [(who, row["activity_1"], who, chosen), (who, row["activity_2"], who, mass - chosen)]
        else:
            activity = row["activity"] or row.get(f"activity_{row['about']}")
            sides = [
                (row["identity_1"], activity, mine[0], chosen),
                (row["identity_2"], activity, mine[1], mass - chosen),
            ]
            if row["paradigm"] == "factuality":
                k = int(row["about"])
                sides = [(row[f"identity_{k}"], activity, mine[k - 1], chosen)]
        summed = row["paradigm"] in ("decision", "factuality")
        crossed = row["contrast"] == "identity-activity" and row["paradigm"] != "factuality"
        for who, activity, unit, s in sides:
            for question in (row["question"], None) if summed else (row["question"],):
                key = (row["gender"], row["contrast"], row["paradigm"], question, who)
                into = [cells["selected"][*key, activity, None if crossed else unit]]
                for sums in [*into, cells["own"][*key, unit]] if crossed else into:
                    for i, x in enumerate((mass, s, 1.0)):
                        sums[i] += x
    return cells


def test_sums_by_picture_are_those_of_plain_python() -> None:
    names = ("gender", "contrast", "paradigm", "question", "identity")
    for table, more in (("selected", ("activity", "unit")), ("own", ("unit",))):
        expected, found = by_hand(FRAME)[table], getattr(WHOLE, table)
        assert found.height == len(expected)
        for row in found.iter_rows(named=True):
            assert [row[x] for x in SHARE_SUMS] == pytest.approx(expected[tuple(row[name] for name in (*names, *more))])


def test_a_couple_of_identities_is_there_in_both_orders_and_mirrored() -> None:
    key = ["gender", "contrast", "paradigm", "question"]
    both = WHOLE.pairs.join(
        WHOLE.pairs, left_on=[*key, "identity", "other_identity"], right_on=[*key, "other_identity", "identity"],
        nulls_equal=True,
    )  # fmt: skip
    assert both.height == WHOLE.pairs.height
    assert (both["s"] + both["s_right"] - both["n"]).abs().max() == pytest.approx(0, abs=1e-9)


def test_wrong_answers_and_right_ones_make_all() -> None:
    wrong = WHOLE.wrong.group_by("gender").agg(pl.col("s").sum()).sort("gender")
    who = WHOLE.selected.filter(pl.col("question") == "who").group_by("gender").agg(pl.col("n", "s").sum())
    who = who.sort("gender")
    assert (wrong["s"] + who["s"]).to_list() == pytest.approx(who["n"].to_list())


def test_what_is_missing_and_what_was_answered_make_all_that_was_asked() -> None:
    missing = WHOLE.missing.filter(pl.col("identity").is_null())
    assert missing["n"].sum() == FRAME.height
    assert missing["s"].sum() == pytest.approx(FRAME.height - FRAME["mass"].sum())
    alone = WHOLE.missing.filter((pl.col("contrast") == "activity") & pl.col("identity").is_not_null())
    assert alone["n"].sum() == (FRAME["contrast"].cast(pl.String) == "activity").sum()


def test_only_the_papers_own_way_of_asking_counts() -> None:
    variants = [
        FRAME.with_columns(
            wording=pl.lit(w).cast(pl.Enum(["1", "2"])),
            reference=pl.lit(r).cast(pl.Enum(["identity", "position"])),
            shown=pl.lit(s).cast(pl.Enum(["text", "picture"])),
            weight=pl.col("weight") if (w, r, s) == ("1", "identity", "picture") else 1 - pl.col("weight"),
        )
        for w in "12"
        for r in ("identity", "position")
        for s in ("text", "picture")
    ]
    asked = pl.concat(variants)
    assert core_variant(asked[:1]) == {"wording": "1", "reference": "identity", "shown": "picture"}
    same(WHOLE, collect([asked]))


def test_a_run_without_pictures_counts_what_there_is() -> None:
    text = FRAME.with_columns(shown=pl.lit("text"), reference=pl.lit("position"))
    assert core_variant(text) == {"shown": "text", "reference": "position"}
    same(WHOLE, collect([text]))


def test_questions_of_the_control_stay_out_of_the_sum_over_questions() -> None:
    control = answers(contrasts=("identity",)).with_columns(pl.col("question").cast(pl.String))
    more = control.filter(pl.col("question") == "ability").with_columns(question=pl.lit("irrelevant 1"))
    plain, both = (
        collect([x]).selected.filter(pl.col("question").is_null()) for x in (control, pl.concat([control, more]))
    )
    assert_frame_equal(plain, both, check_row_order=False)


def test_what_was_sampled_is_the_person_else_the_picture_else_the_activity() -> None:
    def units(frame: pl.DataFrame) -> set[str]:
        return set(collect([frame]).selected["unit"])

    alone = answers(contrasts=("identity",))
    assert units(alone) == {"cooking", "sleeping", "running"}
    pictures = alone.with_columns(image_1=pl.col("identity_1").cast(pl.String) + "1", image_2=pl.lit("b"))
    assert units(pictures) == {"old1", "young1", "b"}
    assert units(pictures.with_columns(person=pl.lit("4"))) == {"4"}
    crossed = [
        collect([x]).pairs["crossed"].all() for x in (alone, pictures, pictures.with_columns(person=pl.lit("4")))
    ]
    assert crossed == [False, True, False]
    assert collect([answers(contrasts=("identity-activity",))]).pairs["crossed"].all()


def test_pictures_of_one_couple_are_different_pairs() -> None:
    once = answers(contrasts=("portrait",))
    twice = pl.concat([once.with_columns(pair_of_pictures=pl.lit(name)) for name in ("a.png", "b.png")])
    assert collect([twice]).pairs["clusters"].sum() == 2 * collect([once]).pairs["clusters"].sum()


def test_nothing_in_nothing_out() -> None:
    assert collect([]).selected.height == 0
    assert collect([FRAME.clear()]).pairs.height == 0


def test_frames_that_are_no_answers_are_refused() -> None:
    with pytest.raises(DataError, match="'mass' is missing"):
        collect([FRAME.drop("mass")])
