"""The human study on forms: what is asked, the page in a real browser, ratings read and joined, and what is refused."""

import base64
import csv
import hashlib
import re
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from facevalue.annotations.ratings import counted, read_ratings, uniform_raters
from facevalue.errors import DataError, RunError, UnknownNameError
from facevalue.measures import conditional_kl
from facevalue.studies.visbias.questionnaire import SCALE, items, judged, write
from tests.browser import CHROMIUM, Browser

PAIRS = pl.DataFrame(
    [
        ("hobbies", "Singing", "medical history", "None", 1.4),
        ("occupation", "Creative roles", "personality type", "INFP", 2.0),
        ("age", "0-17", "occupation", "Student", 1.1),
    ],
    schema=["attribute", "choice", "outcome", "likely", "value"],
    orient="row",
)
NASTY = '<script>alert("1")</script>&\'"'
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
    assert len(SCALE) == 5


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


class Page(HTMLParser):
    """Elements of a page and its visible text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def test_a_statement_cannot_become_code(tmp_path: Path) -> None:
    write(PAIRS.with_columns(likely=pl.lit(NASTY)), tmp_path / "q.html")
    text = (tmp_path / "q.html").read_text(encoding="utf-8")
    page = Page(text)
    assert len(page.all("script")) == 1
    assert NASTY in page.text
    policy = next(a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy") or ""
    for tag in ("script", "style"):
        inner = re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert inner is not None
        digest = base64.b64encode(hashlib.sha256(inner[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert not any(name in attrs for _, attrs in page.tags for name in ("style", "onclick", "src"))
    assert re.findall(r"https?://\S+", text) == []


def test_every_statement_has_five_labelled_choices_and_the_note_stands_first(tmp_path: Path) -> None:
    write(PAIRS, tmp_path / "q.html")
    page = Page((tmp_path / "q.html").read_text(encoding="utf-8"))
    radios = [attrs for attrs in page.all("input") if attrs.get("type") == "radio"]
    assert len(page.all("fieldset")) == len(page.all("legend")) == 3
    assert sorted((a["name"], a["value"]) for a in radios) == sorted(
        (item, str(n)) for item in IDS.values() for n in range(1, 6)
    )
    assert not any("checked" in attrs for attrs in radios)
    assert page.text.index("Content note.") < page.text.index("Singing")
    assert page.text.count("Extremely biased") == 3


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: the questionnaire was not looked at in a browser")
    running = Browser(tmp_path / "profile")
    yield running
    running.close()


def test_ratings_made_in_a_browser_are_read_back(browser: Browser, tmp_path: Path) -> None:
    target, folder = tmp_path / "q.html", tmp_path / "saved"
    folder.mkdir()
    write(PAIRS.with_columns(likely=pl.when(choice="0-17").then(pl.lit(NASTY)).otherwise("likely")), target)
    for domain in ("Page", "Runtime", "Log", "Network"):
        browser.call(f"{domain}.enable")
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    browser.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
    browser.call("Page.navigate", url=target.as_uri())
    browser.wait("Page.loadEventFired")
    assert browser.run("document.documentElement.scrollWidth") == 390, "the page must not scroll sideways on a phone"
    low = "Math.min(...[...document.querySelectorAll('.scale label')].map(l => l.getBoundingClientRect().height))"
    assert browser.run(low) >= 44, "choices must be large enough for a thumb"

    press = "document.getElementById('save').click(); document.getElementById('problem').textContent"
    assert "name first" in browser.run(press)
    browser.run("document.getElementById('rater').value = 'r-1'")
    assert "at least one" in browser.run(press)
    for name, value in (("Singing", 4), ("Creative roles", 5)):
        browser.run(f'document.querySelector(\'[name="{IDS[name]}"][value="{value}"]\').click()')
    assert browser.run("document.getElementById('progress').textContent") == "2 of 3 statements rated."
    assert browser.run(press) == ""
    until = time.monotonic() + 20
    while not (made := folder / "ratings-r-1.csv").exists() and time.monotonic() < until:
        time.sleep(0.02)
    known = {*IDS.values(), *browser_items(browser)}
    found = read_ratings([made], known)
    assert set(found.drop("duration").rows()) == {("r-1", IDS["Singing"], 4), ("r-1", IDS["Creative roles"], 5)}
    assert found["duration"].is_between(0, 60).all()

    complaints = [e for e in browser.events if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]
    assert complaints == []
    asked = [e["params"]["request"]["url"] for e in browser.events if e.get("method") == "Network.requestWillBeSent"]
    assert {url for url in asked if not url.startswith(("data:", "blob:"))} == {target.as_uri()}


def browser_items(browser: Browser) -> list[str]:
    return list(browser.run("[...document.querySelectorAll('fieldset')].map(f => f.dataset.item)"))


def test_a_spreadsheet_that_was_filled_in_is_read_with_its_name_as_the_rater(tmp_path: Path) -> None:
    path = tmp_path / "anne.csv"
    write(PAIRS.with_columns(likely=pl.lit('a "b", c')), path)
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    rows = list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))
    assert list(rows[0]) == ["rater", "item", "statement", "rating"]
    for row, rating in zip(rows, ("1", "", "5.0"), strict=True):
        row["rating"] = rating
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    found = read_ratings([path], [row["item"] for row in rows])
    assert found.rows() == [("anne", rows[0]["item"], 1, None), ("anne", rows[2]["item"], 5, None)]


ITEM, OTHER = IDS["Singing"], IDS["Creative roles"]


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
        read_ratings([saved(tmp_path, "r.csv", rows, header)], IDS.values())


def test_a_rater_in_two_files_is_told_where(tmp_path: Path) -> None:
    one, two = (saved(tmp_path, name, [("a", ITEM, 3)]) for name in ("one.csv", "two.csv"))
    with pytest.raises(DataError, match=r"^two\.csv: line 2: 'a' has rated .* before, in one\.csv: line 2"):
        read_ratings([one, two], IDS.values())


def test_files_that_cannot_be_read_or_written_are_named(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"\xfa\xfe")
    with pytest.raises(DataError, match=r"x\.csv: line 1 is not UTF-8"):
        read_ratings([tmp_path / "x.csv"], [])
    with pytest.raises(DataError, match="There is no file"):
        read_ratings([tmp_path / "absent.csv"], [])
    for name in ("q.csv", "q.html"):
        with pytest.raises(RunError, match="Cannot write"):
            write(PAIRS, tmp_path / "absent" / name)


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
    ratings = read_ratings(files, IDS.values())
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
    found = counted(read_ratings(files, IDS.values()))
    assert found.ratings["item"].to_list() == [OTHER]
    assert found.hasty == ("ann",)


def test_ratings_of_other_pairs_are_refused() -> None:
    with pytest.raises(DataError, match="1 rated items are not pairs of these forms"):
        judged(PAIRS[1:], RATINGS, seed=1)


def test_raters_who_say_the_same_to_everything_are_named() -> None:
    rows = [*RATINGS.rows(), *(("d", item, 3) for item in IDS.values()), ("e", ITEM, 1)]
    assert uniform_raters(pl.DataFrame(rows, schema=RATINGS.schema, orient="row")) == ("c", "d")


def test_the_graph_of_forms_can_be_rated_as_it_is(tmp_path: Path) -> None:
    forms = pl.DataFrame(
        {"form": [*range(20)] * 2, "attribute": ["a"] * 20 + ["b"] * 20, "categories": [["x"]] * 2 + [["y"]] * 18}
        | {"categories": ([["x"]] * 10 + [["y"]] * 10) * 2}
    )
    graph = conditional_kl.graph(conditional_kl.gather(forms, [("a", ["x", "y"]), ("b", ["x", "y"])]), 1, resamples=50)
    write(graph, tmp_path / "q.html")
    found = judged(graph, pl.DataFrame({"rater": ["r"], "item": [items(graph)["item"][0]], "rating": [4]}), seed=1)
    assert found.pairs.height == graph.height
    assert found.pairs["raters"].sum() == 1
