"""Documents of the viewer: what they say of runs, and what they refuse."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import facevalue as fv
from facevalue.report.collect import gather_report
from facevalue.report.page_builder import build_page
from facevalue.runs.stored_run import StoredRun
from facevalue.view.documents import KINDS, document, plain, to_json
from facevalue.view.open_runs import OpenedRuns
from tests.view.conftest import Api


def test_the_head_names_the_runs(api: Api) -> None:
    head = api("head")
    assert [run["model"] for run in head["runs"]] == ["sim/default"]
    assert head["runs"][0]["complete"] is True
    assert head["runs"][0]["progress"] is None
    assert head["content_note"]
    assert "Drawings" in head["illustrated"]


def test_the_lead_is_the_reports_first_screen(api: Api, small_run: Path) -> None:
    lead = api("lead")
    page = build_page(gather_report([StoredRun.open(small_run)]).data)
    assert " ".join(lead["sentences"]) == page.answer.sentence
    assert lead["provisional"] is False
    assert lead["asked"]["pictures"]
    assert lead["asked"]["prompt"].startswith("Based only on visible appearance")


def test_a_profile_is_of_several_runs(api: Api, golden: Path) -> None:
    assert "several runs" in api("profile", 400)["error"]
    names = ("stylisticbias", "stylisticbias-mumbler")
    runs = OpenedRuns([StoredRun.open(golden / name) for name in names])
    profile = plain(document(runs, "profile"))
    assert {group["model"] for group in profile["groups"]} == {"sim/default", "sim/mumbler"}
    square = profile["groups"][0]["squares"][0]
    cell = plain(document(runs, "cell", [("run", square["run"]), ("key", square["key"])]))
    assert cell["row"]["key"] == square["key"]


def test_estimates_filter_sort_and_page(api: Api) -> None:
    whole = api("estimates", n=200)
    assert whole["total"] > 20
    assert len({row["key"] for row in whole["rows"]}) == len(whole["rows"])
    some = api("estimates", measure="shift", **{"L.scenario": "polite"}, n=200)
    assert {row["measure"] for row in some["rows"]} == {"shift"}
    assert {row["labels"]["scenario"]["level"] for row in some["rows"]} == {"polite"}
    assert some["total"] < whole["total"]
    ascending = [row["value"] for row in api("estimates", sort="value", n=200)["rows"] if row["value"] is not None]
    assert ascending == sorted(ascending)
    assert api("estimates", sort="value", n=3, **{"from": 2})["rows"][0]["value"] == ascending[2]
    assert api("estimates", q="polite", n=1)["total"] >= some["total"]
    assert api("estimates", q="no such word")["total"] == 0


def test_an_estimate_is_written_as_the_report_writes_it(api: Api, small_run: Path) -> None:
    view = build_page(gather_report([StoredRun.open(small_run)]).data).view
    row = next(row for row in api("estimates", measure="shift", n=200)["rows"] if row["value"] is not None)
    labels = {name: label["level"] for name, label in row["labels"].items()}
    e = view.find("shift", **labels)
    assert e is not None
    assert (row["value"], row["low"], row["high"], row["n"]) == (e.value, e.low, e.high, e.n)
    assert (row["text"]["value"], row["text"]["interval"]) == (view.value(e), view.interval(e))
    scale = row["scale"]
    assert scale["min"] <= row["value"] <= scale["max"]
    assert scale["zero"] == 0


def test_the_steps_of_an_estimate_say_nothing_twice(api: Api) -> None:
    for row in api("estimates", n=200)["rows"][::8]:
        for step in api("cell", run=0, key=row["key"])["steps"]:
            sentences = [part.strip(" .") for part in step["text"].replace(": ", ". ").split(". ") if part.strip(" .")]
            assert len(sentences) == len(set(sentences)), step


def test_answers_filter_by_factor_text_and_status(api: Api) -> None:
    every = api("answers", n=200)
    polite = api("answers", n=200, **{"F.scenario": "polite"})
    assert 0 < polite["total"] < every["total"]
    assert {row["factors"]["scenario"] for row in polite["rows"]} == {"Polite"}
    base = api("answers", n=200, **{"F.variation": ""})
    assert all("variation" not in row["factors"] for row in base["rows"])
    text = every["rows"][0]["reply"]
    assert all(text in row["reply"] for row in api("answers", q=text)["rows"])
    assert api("answers", status="error")["total"] == 0
    assert [row["trial"] for row in api("answers", sort="-trial", n=2)["rows"]] == [
        row["trial"] for row in reversed(every["rows"][-2:])
    ] or every["total"] > 200
    missing = api("answers", answer="missing", n=200)
    valid = api("answers", answer="valid", n=200)
    assert all(row["why"] and row["answer"] is None for row in missing["rows"])
    assert missing["total"] + valid["total"] == every["total"]
    assert api("answers", since="2000-01-01")["total"] == every["total"]
    assert api("answers", until="2000-01-01")["total"] == 0


def test_a_trial_has_its_prompt_replies_and_neighbours(api: Api) -> None:
    first = api("trial", trial=0)
    assert (first["previous"], first["next"]) == (None, 1)
    assert first["options"] == ["(a) polite", "(b) rude"]
    assert first["command"].endswith("--trial 0")
    assert first["pictures"][0]["width"] == 512
    reply = first["replies"][0]
    assert reply["answer"] in first["options"] or reply["why"]
    assert api("trial", trial=1)["previous"] == 0


def test_missing_answers_have_reasons_and_replies(golden: Path) -> None:
    runs = OpenedRuns([StoredRun.open(golden / "stylisticbias")])
    missing = plain(document(runs, "missing"))
    assert sum(reason["count"] for reason in missing["reasons"]) == 26
    for reason in missing["reasons"]:
        assert len(reason["examples"]) == min(reason["count"], 12)
        trial = plain(document(runs, "trial", [("trial", str(reason["examples"][0]["trial"]))]))
        assert trial["replies"][0]["why"] == reason["title"]
    assert missing["groups"]
    linked = next(group for group in missing["groups"] if group["query"] and group["label"] == "gender")
    (run, factor) = linked["query"].split("&")
    assert run == "run=0"
    gender = plain(document(runs, "answers", [tuple(factor.split("="))]))
    assert gender["total"] == linked["of"]


def test_runs_stand_side_by_side_with_flips_first(golden: Path) -> None:
    runs = OpenedRuns([StoredRun.open(golden / name) for name in ("stylisticbias", "stylisticbias-mumbler")])
    compared = plain(document(runs, "compare", [("n", "200")]))
    flipped = [row["flipped"] for row in compared["rows"]]
    assert flipped == sorted(flipped, reverse=True)
    assert [side["title"] for side in compared["sides"]] == ["sim/default", "sim/mumbler"]
    assert all(len(row["replies"]) == 2 for row in compared["rows"])
    some = plain(document(runs, "compare", [("F.scenario", "polite"), ("n", "1")]))
    assert 0 < some["total"] < compared["total"]
    counts = {facet["level"]: facet["count"] for facet in some["facets"]["scenario"]}
    assert counts["polite"] == some["total"], "levels beside the chosen one are counted, too"
    assert sum(counts.values()) == compared["total"]
    for words in (compared["rows"][0]["replies"][0]["reply"], compared["rows"][0]["prompt"][:30]):
        having = plain(document(runs, "compare", [("q", words), ("n", "200")]))
        assert having["rows"], words
        for row in having["rows"]:
            assert any(words in text for text in (row["prompt"], *(side["reply"] for side in row["replies"])))
    having = plain(document(runs, "compare", [("q", words), ("n", "1")]))
    assert having["pending"] is False
    assert (having["total"] is None) == (having["searched"] is not None)
    assert plain(document(runs, "compare", [("q", "nobody said this")]))["total"] == 0


def test_drawings_that_were_made_are_listed_only_where_their_folder_is_named(tmp_path: Path) -> None:
    made = tmp_path / "made"
    fv.make("stylisticbias", "drawn", made, choices={"faces": "1F", "attributes": "eyewear"}, progress=False)
    study = fv.study("stylisticbias", manifest=made / "manifest.parquet", scenario="polite", seeds="1")
    fv.run(study, "sim/default", tmp_path / "run", progress=False)
    for pictures in (None, made):
        runs = OpenedRuns([StoredRun.open(tmp_path / "run", pictures=pictures)])
        rows = plain(document(runs, "answers"))["rows"]
        assert all(len(row["pictures"]) == (pictures is not None) for row in rows)
    next(made.glob("**/*.png")).unlink()
    assert len(plain(document(runs, "answers"))["rows"]) == len(rows), "a picture that is gone hides no answer"


def test_interventions_of_a_run_stand_side_by_side_on_the_same_trials(tmp_path: Path) -> None:
    study = fv.study("stylisticbias", faces="1F", attributes="eyewear", scenario="polite", seeds="1")
    changes = ["no-image", "debiasing"]
    fv.run(study, "sim/default", tmp_path / "run", interventions=changes, progress=False)
    runs = OpenedRuns([StoredRun.open(tmp_path / "run")])
    (head,) = plain(document(runs, "head"))["runs"]
    assert [change["name"] for change in head["interventions"]] == ["plain", *changes]
    compared = plain(document(runs, "compare", [("runs", "0,0:no-image,0:debiasing"), ("n", "200")]))
    assert [side["title"] for side in compared["sides"]] == [change["title"] for change in head["interventions"]]
    assert "between “Unchanged” and “No picture”" in compared["sentences"][0]
    assert "intervention" not in compared["facets"]
    pairs = [[reply["answer"] for reply in row["replies"][:2]] for row in compared["rows"]]
    valid = [pair for pair in pairs if None not in pair]
    flips = sum(before != after for before, after in valid)
    assert compared["sentences"][0].startswith(f"{flips} of {len(valid)} single answers differ")
    for row in compared["rows"]:
        bare, instructed = row["replies"][1:]
        whole = plain(document(runs, "trial", [("trial", str(instructed["trial"]))]))
        first = plain(document(runs, "trial", [("trial", str(row["trial"]))]))
        assert (whole["factors"] | {"intervention": 0}) == (first["factors"] | {"intervention": 0})
        assert instructed["prompt"] == whole["prompt"]
        assert len(instructed["pictures"]) == 1
        assert (bare["prompt"], bare["pictures"]) == (None, [])


@pytest.mark.parametrize(
    ("kind", "query", "says"),
    [
        ("answers", {"n": 201}, "from 0 to 200"),
        ("answers", {"n": -1}, "from 0 to 200"),
        ("answers", {"n": "1e9"}, "whole number"),
        ("answers", {"n": "9" * 300}, "whole number"),
        ("answers", {"from": "x"}, "whole number"),
        ("answers", {"since": "yesterday"}, "is a time"),
        ("answers", {"q": "x" * 500}, "up to"),
        ("answers", {"F.scenario' OR 1": "x"}, "factor"),
        ("answers", {"F.nothing": "x"}, "nothing"),
        ("answers", {"status": "<script>"}, "status"),
        ("answers", {"sort": "text"}, "sort"),
        ("answers", {"unknown": 1}, "unknown"),
        ("estimates", {"measure": "shiftt"}, "shift"),
        ("estimates", {"L.nothing": "x"}, "label"),
        ("estimates", {"sort": "-nothing"}, "sort"),
        ("estimates", {"verdict": "guilty"}, "verdict"),
        ("cell", {"key": "../../run.toml"}, "no estimate"),
        ("cell", {}, "no estimate"),
        ("trial", {}, "whole number"),
        ("trial", {"trial": 10**12}, "is none"),
        ("trial", {"trial": 2**60}, "whole number"),
        ("lead", {"run": 5}, "run"),
        ("lead", {"run": "../x"}, "run"),
        ("compare", {"runs": "0,0"}, "2 to 6"),
        ("compare", {"runs": "0,1"}, "run"),
        ("compare", {"runs": "0,0:nothing"}, "intervention"),
        ("compare", {"runs": ",".join(map(str, range(99)))}, "2 to 6"),
        ("nothing", {}, "document"),
    ],
)  # fmt: skip
def test_mistakes_are_said_in_one_sentence(client: Any, kind: str, query: dict[str, object], says: str) -> None:
    answer = client.get(f"/api/{kind}", params={name: str(value) for name, value in query.items()})
    assert answer.status_code in (400, 404)
    error = answer.json()["error"]
    assert says in error
    assert "Traceback" not in error
    assert len(error) < 500


def test_a_name_twice_or_too_many_are_refused(client: Any) -> None:
    assert client.get("/api/answers?n=1&n=2").json()["error"] == "n stands twice in the query."
    many = "&".join(f"F.scenario={number}" for number in range(100))
    assert client.get(f"/api/answers?{many}").status_code == 400


@pytest.mark.parametrize(
    "name",
    [
        "vignette",
        "modscan",
        "hiring-screen",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("visbias", "counterfactuals")),
    ],
)
def test_every_study_has_its_documents(golden: Path, name: str) -> None:
    runs = OpenedRuns([StoredRun.open(golden / name)])
    rows = plain(document(runs, "estimates", [("n", "5")]))["rows"]
    for row in rows:
        assert plain(document(runs, "cell", [("key", row["key"])]))["row"]["key"] == row["key"]
    answers = plain(document(runs, "answers", [("n", "20")]))["rows"]
    assert len(answers) == 20
    assert all((row["answer"] is None) == (row["why"] is not None) for row in answers)
    trial = plain(document(runs, "trial", [("trial", str(answers[3]["trial"]))]))
    assert trial["prompt"]


def test_every_kind_is_asked_with_names_that_are_known() -> None:
    assert {"head", "lead", "profile", "estimates", "cell", "answers", "trial", "missing", "compare"} == set(KINDS)


def test_json_holds_no_control_and_no_turn_of_direction() -> None:
    hostile = "a\x1b[2J\u202eb</script>\ud800"
    assert to_json({hostile: [hostile]}).count("\\\\u202e") == 2
    assert "\x1b" not in to_json([hostile])
    assert plain(pl.Series([1.5]).to_numpy()[0]) == 1.5
