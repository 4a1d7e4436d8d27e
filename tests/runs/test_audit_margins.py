"""Margins of an audit's studies, in its file: declared before any answer, so that differences can be ruled out."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import FaceValueError, RunError
from facevalue.runs import settings
from facevalue.runs.audits.settings import read_config
from facevalue.runs.audits.studies import AuditWishes, studies_of
from facevalue.store import read_manifest
from facevalue.types import Question
from tests.runs.own_studies import study_file


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A study without margins, and one with its own."""
    folder = tmp_path_factory.mktemp("studies")
    kind = study_file(folder, "kind", 60)
    own = Path(study_file(folder, "own", 60))
    own.write_text(own.read_text() + "margin = 0.1\n")
    return [kind, str(own)]


def declared(files: list[str], text: str, folder: Path) -> list[dict[str, float] | None]:
    config = folder / "audit.toml"
    config.write_text(text)
    built, _ = studies_of(AuditWishes(tuple(files), margins=read_config(config).margins))
    return [None if study.declared is None else dict(study.declared.margins) for study in built]


def test_margins_are_declared_for_the_study_that_is_named_by_name_or_file(files: list[str], tmp_path: Path) -> None:
    assert declared(files, "[margins.kind]\ngap = 0.05", tmp_path) == [{"gap": 0.05}, None]
    assert declared(files, f'[margins."{files[0]}"]\ngap = 0.05', tmp_path) == [{"gap": 0.05}, None]
    assert declared(files, "exact = true", tmp_path) == [None, None]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("[margin.kind]\ngap = 0.1", 1, "Unknown key 'margin'. Did you mean 'images' or 'margins'?"),
        ("margins = 0.1", 1, "'margins' is a table, not 0.1."),
        ("[margins]\nkind = 0.1", 2, "'kind' is a table, not 0.1."),
        ("[margins.kind]", 1, "[margins.kind] names no measure: write one, such as shift = 0.02."),
        ("[margins.kin]\ngap = 0.1", 1, "Unknown study with margins 'kin'"),
        ("[margins.stylisticbias]\nshift = 0.1", 1, "Unknown study with margins 'stylisticbias'"),
        ("[margins.kind]\ngpa = 0.1", 2, "Unknown measure 'gpa'. Did you mean 'gap'?"),
        ('[margins.kind]\ngap = "0.1"', 2, "'gap' is a number, not '0.1'."),
        ("[margins.kind]\ngap = true", 2, "'gap' is a number, not True."),
        ("[margins.kind]\ngap = 0", 2, "The margin of gap is 0: it is above 0, or nothing is equivalent."),
        ("[margins.kind]\n\ngap = -0.1", 3, "The margin of gap is -0.1: it is above 0"),
        ("[margins.kind]\ngap = inf", 2, "'gap' is a number, not inf."),
        ("[margins.kind]\ngap = nan", 2, "'gap' is a number, not nan."),
        ("[margins.kind]\ngap = 5", 2, "The margin of gap is 5, and gap never lies further than 1 from zero"),
        ("[margins.own]\ngap = 0.2", 1, "own declares in its own file what it confirms: write the `margin` of an"),
    ],
)
def test_a_mistake_in_margins_is_one_sentence_with_its_line(
    files: list[str], tmp_path: Path, text: str, line: int, message: str
) -> None:
    with pytest.raises(FaceValueError) as error:
        declared(files, text, tmp_path)
    assert str(error.value).startswith(f"{tmp_path / 'audit.toml'}: line {line}: ")
    assert message in str(error.value)


@pytest.mark.slow
def test_with_a_margin_a_study_stops_once_differences_are_ruled_out(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(settings, "_FIRST", 0.5)
    draws, config = np.random.default_rng(1), tmp_path / "mine.toml"

    def audited(margin: float) -> fv.Audited:
        config.write_text(f'stop_when = "decided"\nbudget = 400\n[margins.wide]\ngap = {margin}\n')
        return fv.audit(
            lambda question: _drawn(draws, question), "audit", studies=studies, config=config, progress=False
        )

    studies = [study_file(tmp_path, "wide", 400)]
    audit = audited(0.6)
    facts = read_manifest(Path("audit/runs/wide"))
    assert facts.preregistration is not None
    assert facts.counts.ok == 200
    estimates = audit.runs["wide"].estimates()
    gaps = estimates.filter(measure="gap").filter(pl.col("p").is_not_null())
    assert gaps.select("verdict", "margin", "declared").unique().rows() == [("equivalent within the margin", 0.6, True)]
    assert "the one comparison is decided (equivalent)" in audit.report.path.read_text()
    with pytest.raises(RunError, match=r"margins of wide: gap = 0\.6 in the folder, gap = 0\.5 asked"):
        audited(0.5)


def _drawn(draws: np.random.Generator, question: Question) -> str:
    return question.options[int(draws.integers(2))].text
