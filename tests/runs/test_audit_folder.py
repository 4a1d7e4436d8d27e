"""An audit's folder: its record, its runs, and what is no audit."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from facevalue.errors import RunError
from facevalue.protocol.study import LeftOut
from facevalue.runs import RunSettings, SilentProgress
from facevalue.runs.audits.folder import (
    AUDIT,
    AuditedStudy,
    AuditRecord,
    begun_runs,
    is_audit,
    read_audit,
    run_place,
    runs_of,
    write_audit,
)
from facevalue.runs.preparation import Prepared
from facevalue.runs.runner import begin
from tests.runs.tiny import TinyModel, tiny_study

RECORD = AuditRecord(
    model="http://127.0.0.1:8000/v1#NAME",
    studies=(
        AuditedStudy("visbias", "visbias", {"tasks": ["yesno", "mcq"], "occupations": 4}, pilot=200, sample=4_000),
        AuditedStudy("hiring", "mine/hiring.toml", {}, pilot=100, digest="ab" * 32),
    ),
    left_out=(LeftOut("vignette", "no pairs"),),
    settings={"exact": True, "seed": 3},
    budget="20usd",
    planned=True,
    ended=datetime(2026, 11, 26, 10, 0, tzinfo=UTC),
)


@pytest.fixture(params=["folder", "url"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    if request.param == "url":
        pytest.importorskip("obstore")
        return f"file://{tmp_path}/audit"
    return tmp_path / "audit"


def test_a_record_is_read_as_it_was_written(place: Path | str) -> None:
    assert not is_audit(place)
    write_audit(place, RECORD)
    assert is_audit(place)
    assert read_audit(place) == RECORD
    begun = replace(RECORD, studies=RECORD.studies[1:], planned=False, ended=None, budget="")
    write_audit(place, begun)
    assert read_audit(place) == begun


def test_runs_of_an_audit_are_those_that_have_begun_in_its_order(place: Path | str) -> None:
    write_audit(place, RECORD)
    with pytest.raises(RunError, match="an audit that has asked nothing yet"):
        runs_of(place)
    for name in ("hiring", "visbias"):
        begin(Prepared(tiny_study(), run_place(place, name), RunSettings()), TinyModel(), SilentProgress())
    assert runs_of(place) == [str(run_place(place, name)) for name in ("visbias", "hiring")]
    assert list(begun_runs(place, RECORD)) == ["visbias", "hiring"]
    assert not is_audit(run_place(place, "hiring"))
    assert runs_of(run_place(place, "hiring")) == [str(run_place(place, "hiring"))]


def test_a_file_of_the_same_name_that_its_user_wrote_is_no_record(tmp_path: Path) -> None:
    (tmp_path / AUDIT).write_text('model = "reference"\n')
    with pytest.raises(RunError, match="is not the record of an audit, which FaceValue writes itself"):
        read_audit(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"4000", b"4001", "damaged or edited"),
        (b"sha256", b"sha255", "damaged or edited|not valid TOML|lacks the digest"),
        (b"facevalue-audit", b"facevalue-other", "damaged or edited"),
        (b"[", b"", "damaged or edited"),
    ],
)
def test_a_damaged_record_is_told_in_a_sentence(tmp_path: Path, old: bytes, new: bytes, message: str) -> None:
    write_audit(tmp_path, RECORD)
    path = tmp_path / AUDIT
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    with pytest.raises(RunError, match=message):
        read_audit(tmp_path)


def test_a_record_of_a_later_version_and_one_with_paths_in_names_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_audit(tmp_path, replace(RECORD, studies=(replace(RECORD.studies[0], name="../elsewhere"),)))
    with pytest.raises(RunError, match="is not as FaceValue writes it"):
        read_audit(tmp_path)
    monkeypatch.setattr("facevalue.runs.audits.folder.VERSION", 2)
    write_audit(tmp_path, RECORD)
    monkeypatch.undo()
    with pytest.raises(RunError, match="has version 2; this FaceValue reads 1"):
        read_audit(tmp_path)
