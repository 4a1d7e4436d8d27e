"""The steps of an estimate's page end in the estimate itself, in every study."""

import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from facevalue.errors import RunError
from facevalue.measures.cluster_bootstrap import values_only
from facevalue.measures.estimates import label_columns
from facevalue.measures.uncertainty import terms_kept
from facevalue.runs.joined_runs import Followed
from facevalue.runs.stored_run import ReplyTally, StoredRun
from facevalue.view import cell as arithmetic
from facevalue.view.cell import NOT_SUMS
from facevalue.view.documents import document, plain
from facevalue.view.open_runs import OpenedRuns
from tests.golden.cases import GOLDEN
from tests.view.conftest import Api

MEASURES = {
    "stylisticbias": {"shift", "abs_shift", "shift_gap", "shift_over_groups", "reversal_depth", "mean", "na_rate"},
    "visbias": {"choice_share", "outcome_share", "gap", "na_rate"},
    "modscan": {"choice_share", "chance_gap", "beside", "similarity"},
    "counterfactuals": {"mean", "na_rate"},
    "vignette": {"error_rate", "na_rate"},
    "hiring-screen": {"shift", "gap", "shift_gap", "mean"},
    "caption-assistant": {"shift", "gap", "mean"},
}  # fmt: skip
"""Measures of which every estimate has its sums, beside those of missing answers."""


@pytest.mark.parametrize("name", MEASURES)
def test_sums_give_the_estimates_of_every_study(golden: Path, name: str) -> None:
    run = StoredRun.open(golden / name)
    with values_only(), terms_kept() as record:
        seen = Followed.from_runs([run])
        run.study.analyse({run.model: seen.passing(run, ReplyTally())})
        seen.missing.estimates(run.study.name, run.model)
    expected = MEASURES[name] | {"missing_share", "missing_gap"}
    table = pl.read_parquet(GOLDEN / f"{name}.parquet").filter(pl.col("value").is_not_null())
    labels = [label for label in label_columns(table) if label != "intervention"]
    measured = set()
    for row in table.iter_rows(named=True):
        levels = frozenset((label, row[label]) for label in labels if row[label] is not None)
        term = record.terms.get((row["measure"], row["intervention"], levels))
        if term is not None:
            measured.add(row["measure"])
            assert term.value() == pytest.approx(row["value"], rel=1e-9, abs=1e-9), (row["measure"], levels)
        elif row["measure"] in expected and row["intervention"] is None:
            pytest.fail(f"{row['measure']} has no sums at {levels}")
    assert measured >= expected


def cell_of(get: Any, key: str) -> Any:
    for _ in range(240):
        cell = get(key)
        if not cell["cluster"]["pending"]:
            return cell
        time.sleep(0.25)
    raise AssertionError("sums were not added up")


def test_the_page_of_an_estimate_ends_in_it_and_ranks_units(api: Api) -> None:
    row = next(r for r in api("estimates", measure="shift", n=200)["rows"] if r["value"] is not None)
    cell = cell_of(lambda key: api("cell", key=key), row["key"])
    titles = [step["title"] for step in cell["steps"]]
    assert titles[:3] == ["Sums of each", "All together", "Interval"]
    table = cell["steps"][0]["table"]
    total = sum(float(line[1]) for line in table["rows"]) / sum(float(line[2]) for line in table["rows"])
    assert total == pytest.approx(row["value"], abs=1e-5)
    last = cell["steps"][1]["text"].split(" = ")[1].split(":")[0].split(",")[0]
    assert float(last) == pytest.approx(row["value"], rel=1e-5)
    assert len(last.lstrip("-0.")) <= 7  # six digits, and perhaps a point, are enough to read
    added = [abs(unit["added"]) for unit in cell["cluster"]["rows"] if unit["added"] is not None]
    assert added == sorted(added, reverse=True)
    assert cell["cluster"]["title"] == "people"
    first = cell["cluster"]["rows"][0]
    assert first["cluster"] in ("m-0001", "f-0001")
    assert first["trials"]
    assert first["pictures"]
    identities = {api("trial", trial=trial)["factors"]["identity"].lower() for trial in first["trials"]}
    assert identities == {first["cluster"]}


def test_someone_on_either_side_of_pairs_is_shown_by_name(golden: Path) -> None:
    runs = OpenedRuns([StoredRun.open(golden / "modscan")])
    rows = plain(
        document(runs, "estimates", [("measure", "choice_share"), ("L.versus", ""), ("L.score", ""), ("n", "50")])
    )["rows"]
    of_faces = (row for row in rows if row["value"] and "Vision" in row["title"] and "Gender" in row["title"])
    row = next(row for row in of_faces if "intervention" not in row["labels"])
    cell = cell_of(lambda key: plain(document(runs, "cell", [("key", key)])), row["key"])
    sides: dict[str, set[str]] = {"person_1": set(), "person_2": set()}
    for unit in cell["cluster"]["rows"]:
        assert unit["pictures"], unit
        for trial in unit["trials"]:
            factors = runs.state_of_run("0").run.study.design.trials([trial]).row(0, named=True)
            if trial == unit["trials"][0]:  # others may stand beside it
                assert (factors["attribute"], factors["instance"]) == ("gender", "nurse")
            for side in sides:
                sides[side] |= {factors[side]} & {unit["cluster"]}
    assert all(sides.values())
    assert sides["person_1"] | sides["person_2"] == {unit["cluster"] for unit in cell["cluster"]["rows"]}


def test_units_of_pairs_are_people(golden: Path) -> None:
    runs = OpenedRuns([StoredRun.open(golden / "visbias")])
    (row,) = plain(document(runs, "estimates", [("measure", "outcome_share"), ("L.outcome", "ranked"), ("n", "1")]))[
        "rows"
    ]
    cell = cell_of(lambda key: plain(document(runs, "cell", [("key", key)])), row["key"])
    assert cell["cluster"]["title"] == cell["steps"][0]["table"]["heads"][0] == "people"
    assert "people" in cell["steps"][0]["text"]
    assert all(unit["cluster"].startswith("person ") for unit in cell["cluster"]["rows"])


def test_an_estimator_without_sums_says_so(golden: Path) -> None:
    runs = OpenedRuns([StoredRun.open(golden / "stylisticbias")])

    def get(key: str) -> Any:
        return plain(document(runs, "cell", [("key", key)]))

    (row, *_) = plain(document(runs, "estimates", [("measure", "spread"), ("n", "1")]))["rows"]
    cell = cell_of(get, row["key"])
    assert cell["steps"][0]["text"] == NOT_SUMS
    assert cell["cluster"]["rows"] == []
    assert cell["definition"]["equation"]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RunError("the run holds no reply."), "the run holds no reply."),
        (ZeroDivisionError("a mistake"), "the viewer's terminal says why."),
        (pl.exceptions.PanicException("a library gave up"), "the viewer's terminal says why."),
    ],
)
def test_sums_that_cannot_be_added_up_are_no_page_that_waits(
    small_run: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: BaseException,
    reason: str,
) -> None:
    def fail(_run: StoredRun) -> None:
        raise error

    monkeypatch.setattr(arithmetic, "sums_of", fail)
    runs = OpenedRuns([StoredRun.open(small_run)])
    (row,) = plain(document(runs, "estimates", [("measure", "shift"), ("n", "1")]))["rows"]
    cell = cell_of(lambda key: plain(document(runs, "cell", [("key", key)])), row["key"])
    assert cell["steps"][0] == {"title": "Sums", "text": f"{arithmetic.FAILED}: {reason}", "table": None}
    assert cell["cluster"]["rows"] == []
    assert arithmetic.FAILED in caplog.text
