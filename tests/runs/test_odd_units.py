"""Units in object storage with rows that no gate would have let through: set aside, named, asked again."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from facevalue.errors import RunError
from facevalue.runs.storage.worker import read_unit
from facevalue.runs.stored_run import StoredRun
from facevalue.runs.verify import verify
from facevalue.store.objects import Objects
from facevalue.store.remote import encoded, listed_units, read_run, unit_facts
from tests.runs.remote import Notes, go, in_folder, in_memory
from tests.runs.test_odd_replies import STORED
from tests.runs.tiny import TinyModel, failed, keys, mixed, tiny_study


def rewrite(objects: Objects, at: int, change: pl.Expr, rows: int = 1) -> tuple[str, pl.DataFrame]:
    """Change the first rows of a unit, which says of itself what it said before; return its key and what it was."""
    run, key = read_run(objects)[0].id, listed_units(objects)[at].key
    frame, facts = read_unit(objects, key, run), unit_facts(objects, key, run)
    assert facts is not None
    objects.overwrite(key, encoded(pl.concat([frame[:rows].with_columns(change), frame[rows:]]), facts))
    return key, frame


def table(objects: Objects) -> pl.DataFrame:
    run = read_run(objects)[0].id
    units = pl.concat([read_unit(objects, one.key, run) for one in listed_units(objects)])
    return units.drop("latency_ms", "at").sort("trial", "repeat")


KINDS = {
    **STORED,
    "an endless text": pl.lit("x" * (2**22 + 1)).alias("text"),
}


def check_mended(objects: Objects, before: pl.DataFrame, key: str, lost: pl.Series) -> None:
    """Go on with a run of which a unit was changed: what is lost is asked again, and nothing else."""
    spoilt, model = objects.get(key), TinyModel()
    assert spoilt is not None
    summary = go(objects, model)
    assert sorted(keys(model.asked)) == sorted((trial, 0) for trial in lost)
    assert (summary.asked, summary.skipped, summary.errors) == (len(lost), 300 - len(lost), 0)
    assert summary.complete
    (warning,) = summary.warnings
    assert f"{objects.url}/{key}: {len(lost)} row" in warning
    (aside,) = objects.list("aside")
    kept = objects.get(aside.key)
    assert kept is not None
    assert kept[0] == spoilt[0]
    assert table(objects).equals(before)
    assert read_run(objects)[0].counts.ok == 300
    again = TinyModel()
    assert go(objects, again).warnings == ()
    assert again.asked == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_that_cannot_count_is_set_aside_named_and_asked_again(kind: str) -> None:
    objects = in_memory()
    go(objects)
    before = table(objects)
    key, frame = rewrite(objects, 1, KINDS[kind])
    check_mended(objects, before, key, frame["trial"][:1])


@pytest.mark.parametrize(("other", "lost"), [(0, 1), (1, 2)], ids=["another unit", "the same unit"])
def test_a_row_that_says_it_is_of_another_trial_is_asked_again(other: int, lost: int) -> None:
    objects = in_memory()
    go(objects)
    before, run = table(objects), read_run(objects)[0].id
    trial = read_unit(objects, listed_units(objects)[other].key, run)["trial"][1]
    key, frame = rewrite(objects, 1, pl.lit(trial, pl.UInt64).alias("trial"))
    check_mended(objects, before, key, frame["trial"][:lost])  # of two rows of one trial nobody can say which is its


def test_a_unit_of_which_no_row_counts_is_asked_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FACEVALUE_CACHE", str(tmp_path / "cache"))
    study = tiny_study(faces=100)
    monkeypatch.setattr("facevalue.studies.build", lambda name, options, manifest: study)
    objects, model = in_folder(tmp_path / "store"), TinyModel()
    go(objects, study=study)
    before = table(objects)
    _, frame = rewrite(objects, 1, STORED["no status"], rows=1_000)
    (odd,) = verify(StoredRun.open(objects.url)).odd
    assert f"{frame.height} rows cannot count" in odd
    assert go(objects, model, study).asked == len(model.asked) == frame.height
    assert table(objects).equals(before)
    assert verify(StoredRun.open(objects.url)).odd == ()


def test_an_odd_row_among_failed_ones_and_re_asks_costs_its_own_request_alone() -> None:
    objects, model = in_memory(), TinyModel()
    go(objects, TinyModel(lambda r: failed(r) if r.trial % 30 == 0 else mixed(r)))
    go(objects)
    small = min(range(len(listed_units(objects))), key=lambda at: listed_units(objects)[at].size)
    _, frame = rewrite(objects, small, STORED["no status"])
    assert go(objects, model).asked == 1
    assert keys(model.asked) == [(frame["trial"][0], 0)]
    assert read_run(objects)[0].counts.ok == 300


def test_a_changed_prompt_is_refused_before_anything_is_set_aside() -> None:
    objects = in_memory()
    go(objects)
    rewrite(objects, 0, STORED["no status"])
    with pytest.raises(RunError, match="An image or prompt has changed"):
        go(objects, study=tiny_study(faces=100, wording="Another: {}"))
    assert objects.list("aside") == []


def test_a_unit_with_other_columns_is_one_sentence() -> None:
    objects = in_memory()
    go(objects)
    run, key = read_run(objects)[0].id, listed_units(objects)[0].key
    facts = unit_facts(objects, key, run)
    assert facts is not None
    objects.overwrite(key, encoded(read_unit(objects, key, run).drop("status"), replace(facts, rows=3)))
    with pytest.raises(RunError, match=f"^{objects.url}/{key} has no 'status' as"):
        go(objects, notes=Notes())
