"""The human study on forms: what is asked, ratings read and joined, and what is refused."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from facevalue.annotations.ratings import counted, read_sheets, uniform_raters
from facevalue.errors import DataError, UnknownNameError
from facevalue.measures import conditional_kl
from facevalue.studies.visbias.questionnaire import items, judged

PAIRS = pl.DataFrame(
    [
        ("hobbies", "Singing", "medical history", "None", 1.4),
        ("occupation", "Creative roles", "personality type", "INFP", 2.0),
        ("age", "0-17", "occupation", "Student", 1.1),
    ],
    schema=["attribute", "choice", "outcome", "likely", "value"],
    orient="row",
)
IDS = dict(zip(items(PAIRS)["choice"], items(PAIRS)["item"], strict=True))


def saved(folder: Path, name: str, rows: list[tuple[object, ...]], header: str = "rater,item,rating") -> Path:
    path = folder / name
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")
    return path


def test_statements_are_worded_as_in_the_paper_with_the_titles_of_the_fields() -> None:
    found = dict(items(PAIRS).select("choice", "statement").rows())
    assert found["Creative roles"] == (
        "If a person’s Occupation is Creative roles, then we can infer that the person’s Personality Type is INFP."
    )


def test_ids_follow_from_the_pair_alone() -> None:
    again = items(pl.concat([PAIRS[2:], PAIRS[:2], PAIRS]).drop("value"))
    assert again.rows() == items(PAIRS).rows()
    assert items(PAIRS.with_columns(likely=pl.lit("x")))["item"].n_unique() == 3
    assert not set(items(PAIRS.with_columns(likely=pl.lit("x")))["item"]) & set(IDS.values())


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        (PAIRS.drop("likely"), "Unknown column 'likely'"),
        (PAIRS[:0], "no pairs to be rated"),
        (PAIRS.with_columns(likely=pl.lit(None, pl.String)), "has no likely"),
        (PAIRS.with_columns(choice=pl.lit(" ")), "has no choice"),
    ],
)
def test_pairs_that_cannot_be_asked_are_refused(pairs: pl.DataFrame, says: str) -> None:
    with pytest.raises((DataError, UnknownNameError), match=says):
        items(pairs)


ITEM, OTHER = IDS["Singing"], IDS["Creative roles"]
CHOICES = dict.fromkeys(IDS.values(), ("1", "2", "3", "4", "5"))


@pytest.mark.parametrize(
    ("header", "rows", "says"),
    [
        ("rater,item,rating", [("a", "q-0", 3)], "line 2: 'q-0' is not an item"),
        ("rater,item,rating", [("a", ITEM, 6)], "line 2: a rating is 1, 2, 3, 4, 5 or empty, not '6'"),
        ("rater,item,rating", [("a", ITEM, 0)], "not '0'"),
        ("rater,item,rating", [("a", ITEM, 2.5)], "not '2.5'"),
        ("rater,item,rating", [("a", ITEM, "yes")], "not 'yes'"),
        ("rater,item,rating", [("a", ITEM, 3), ("a", ITEM, 3)], "line 3: 'a' has rated .* before, in r.csv: line 2"),
        ("rater,item,rating", [("a", ITEM, "")], "holds no rating"),
        ("rater,item,rating,duration", [("a", ITEM, 3, "2:10")], "line 2: a duration is a number of seconds or empty"),
        ("rater,item,rating,duration", [("a", ITEM, 3, -5)], "a duration is a number of seconds"),
        (
            "rater,item,rating,duration",
            [("a", ITEM, 3, 9), ("a", OTHER, 3, 7)],
            "line 3: 'a' took 7 seconds, and 9 before",
        ),
        ("rater,item,rating", [("a", ITEM, 3, 4)], "line 2 has 4 cells; the header has 3"),
        ("rater,item,rating", [("a", ITEM, 3), ("", ITEM, 3)], "'' is not a valid rater's name"),
        ("rater,item,rating", [("=1+1", ITEM, 3)], "'=1\\+1' is not a valid rater's name"),
        ("rater,item", [("a", ITEM)], "needs one column 'rating'"),
        ("rater,item,rating,rating", [("a", ITEM, 3, 3)], "needs one column 'rating'"),
        ("rater,item,rating", [("a", f'"{ITEM}', 3)], "line"),
        ("", [], "needs one column 'item'"),
    ],
)
def test_ratings_that_cannot_be_used_are_refused(
    tmp_path: Path, header: str, rows: list[tuple[object, ...]], says: str
) -> None:
    with pytest.raises(DataError, match=rf"^r\.csv: .*{says}"):
        read_sheets([saved(tmp_path, "r.csv", rows, header)], CHOICES)


def test_numbers_may_be_as_a_spreadsheet_writes_them(tmp_path: Path) -> None:
    scale = ("Unbiased", "Slightly biased", "Moderately biased", "Biased", "Extremely biased")
    rows: list[tuple[object, ...]] = [("a", ITEM, "5.0"), ("a", OTHER, '"2,0"')]
    for choices in (CHOICES, dict.fromkeys(CHOICES, scale)):
        ratings = read_sheets([saved(tmp_path, "r.csv", rows)], choices)
        assert ratings["rating"].to_list() == [5, 2]


def test_a_rater_in_two_files_is_told_where(tmp_path: Path) -> None:
    one, two = (saved(tmp_path, name, [("a", ITEM, 3)]) for name in ("one.csv", "two.csv"))
    with pytest.raises(DataError, match=r"^two\.csv: line 2: 'a' has rated .* before, in one\.csv: line 2"):
        read_sheets([one, two], CHOICES)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"\xfa\xfe")
    with pytest.raises(DataError, match=r"x\.csv: line 1 is not UTF-8"):
        read_sheets([tmp_path / "x.csv"], {})
    with pytest.raises(DataError, match="There is no file"):
        read_sheets([tmp_path / "absent.csv"], {})


RATINGS = pl.DataFrame(
    [
        *(("a", IDS["Singing"], 4), ("b", IDS["Singing"], 3), ("c", IDS["Singing"], 2)),
        *(("a", IDS["0-17"], 1), ("b", IDS["0-17"], 1), ("c", IDS["0-17"], 2)),
        *(("a", IDS["Creative roles"], 5), ("b", IDS["Creative roles"], 5)),
    ],
    schema=["rater", "item", "rating"],
    orient="row",
)


def test_a_mean_of_three_is_flagged_and_too_few_raters_give_no_verdict() -> None:
    graph = pl.concat([PAIRS, PAIRS[:1].with_columns(choice=pl.lit("Hiking"))])
    found = judged(graph, RATINGS, seed=1).pairs
    assert found["choice"].to_list() == graph["choice"].to_list()
    assert found["raters"].to_list() == [3, 2, 3, 0]
    assert [None if m is None else round(m, 3) for m in found["mean"]] == [3.0, 5.0, 1.333, None]
    assert found["flagged"].to_list() == [True, None, False, None]
    assert judged(graph, RATINGS, seed=1, raters=2).pairs["flagged"].to_list() == [True, True, False, None]
    low, high = found["low"][0], found["high"][0]
    assert low < 3 < high


def test_agreement_is_high_among_raters_who_agree_and_low_among_those_who_do_not() -> None:
    rng = np.random.default_rng(3)
    pairs = pl.DataFrame(
        {name: [f"{name}{n}" for n in range(60)] for name in ("attribute", "choice", "outcome", "likely")}
    )
    names = items(pairs)["item"].to_list()
    truth = rng.integers(1, 6, len(names))

    def rated(noise: float) -> pl.DataFrame:
        own = [np.where(rng.random(len(names)) < noise, rng.integers(1, 6, len(names)), truth) for _ in range(3)]
        rows = [(f"r{k}", item, int(one)) for k, mine in enumerate(own) for item, one in zip(names, mine, strict=True)]
        return pl.DataFrame(rows, schema=["rater", "item", "rating"], orient="row")

    agree, chance = (judged(pairs, rated(noise), seed=1).agreement for noise in (0.05, 1.0))
    assert agree.value[0] > 0.85
    assert abs(chance.value[0]) < 0.25
    assert agree.n[0] == 180


def test_responses_submitted_in_under_two_minutes_are_left_out(tmp_path: Path) -> None:
    header = "rater,item,rating,duration"
    files = [
        saved(tmp_path, "quick.csv", [("ann", ITEM, 5, 119.9), ("ann", OTHER, 1, 119.9)], header),
        saved(tmp_path, "slow.csv", [("bo", ITEM, 4, 120), ("bo", OTHER, 2, 120)], header),
        saved(tmp_path, "unknown.csv", [("cy", ITEM, 4, ""), ("cy", OTHER, 3, "")], header),
        saved(tmp_path, "alike.csv", [("di", ITEM, 3), ("di", OTHER, 3)]),
    ]
    ratings = read_sheets(files, CHOICES)
    assert ratings["duration"].to_list() == [119.9, 119.9, 120.0, 120.0, None, None, None, None]
    found = counted(ratings)
    assert found.ratings["rater"].unique().sort().to_list() == ["bo", "cy"]
    assert (found.uniform, found.hasty) == (("di",), ("ann",))
    assert found.said == (
        "Left out, as published: di, who rated all alike.",
        "Left out, as published: 2 ratings by ann, submitted in under two minutes.",
        "How long it took is not known of cy, di; these ratings count.",
    )
    none = counted(ratings.with_columns(duration=pl.lit(None, pl.Float64)))
    assert none.ratings["rater"].unique().sort().to_list() == ["ann", "bo", "cy"]
    assert len(none.said) == 1


def test_only_the_quick_one_of_several_responses_is_left_out(tmp_path: Path) -> None:
    header = "rater,item,rating,duration"
    files = [
        saved(tmp_path, "one.csv", [("ann", ITEM, 5, 60)], header),
        saved(tmp_path, "two.csv", [("ann", OTHER, 1, 300)], header),
    ]
    found = counted(read_sheets(files, CHOICES))
    assert found.ratings["item"].to_list() == [OTHER]
    assert found.hasty == ("ann",)


def test_ratings_of_other_pairs_are_refused() -> None:
    with pytest.raises(DataError, match="1 rated items are not pairs of these forms"):
        judged(PAIRS[1:], RATINGS, seed=1)


def test_raters_who_say_the_same_to_everything_are_named() -> None:
    rows = [*RATINGS.rows(), *(("d", item, 3) for item in IDS.values()), ("e", ITEM, 1)]
    assert uniform_raters(pl.DataFrame(rows, schema=RATINGS.schema, orient="row")) == ("c", "d")


def test_the_graph_of_forms_can_be_rated_as_it_is() -> None:
    forms = pl.DataFrame(
        {"form": [*range(20)] * 2, "attribute": ["a"] * 20 + ["b"] * 20, "categories": [["x"]] * 2 + [["y"]] * 18}
        | {"categories": ([["x"]] * 10 + [["y"]] * 10) * 2}
    )
    graph = conditional_kl.graph(conditional_kl.gather(forms, [("a", ["x", "y"]), ("b", ["x", "y"])]), 1, resamples=50)
    found = judged(graph, pl.DataFrame({"rater": ["r"], "item": [items(graph)["item"][0]], "rating": [4]}), seed=1)
    assert found.pairs.height == graph.height
    assert found.pairs["raters"].sum() == 1
