"""Packs: what is in them, that others' validators accept it, and that a changed file is seen."""

import csv
import io
import json
import math
import shutil
import zipfile
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import polars as pl
import pytest
import yaml  # type: ignore[import-untyped]

import facevalue as fv
from facevalue.cli.actions.studies import new
from facevalue.errors import DataError, RunError, SettingError
from facevalue.measures.verdicts import Verdict
from facevalue.packing.contents import clauses, pack
from facevalue.packing.formats import CRATE, TEST_DATA, category, impact_table
from facevalue.packing.sealing import SUMS, faults
from facevalue.protocol.study import LeftOut
from facevalue.runs.audits.folder import AUDIT, AuditedStudy, AuditRecord, read_audit, write_audit
from facevalue.runs.stored_run import StoredRun
from tests.runs.test_pictures import own

SCHEMA = "schemas/eval.schema.json"
PACKAGES = (Path("build/every-eval-ever/every_eval_ever"),)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A run of drawn faces with effects, and one of own pictures."""
    folder = tmp_path_factory.mktemp("runs")
    places = [folder / name for name in ("strong", "mine")]
    study = fv.study("stylisticbias", faces="12M,12F", attributes=["eyewear"], scenario=["polite"], seeds=["1", "2"])
    fv.run(study, "sim/strong@1", places[0], progress=False)
    (folder / "pictures").mkdir()
    own(folder / "pictures")
    mine = fv.study("stylisticbias", manifest=folder / "pictures/list.csv", scenario=["wealthy"], seeds=["1"])
    fv.run(mine, "sim/strong@2", places[1], progress=False)
    return places


@pytest.fixture(scope="module")
def packed(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pack(runs, tmp_path_factory.mktemp("pack") / "pack", "An organization").place


def document(packed: Path, name: str) -> Any:
    return json.loads((packed / name).read_text())


def test_a_pack_holds_reports_estimates_settings_and_forms(packed: Path) -> None:
    names = {path.relative_to(packed).as_posix() for path in packed.rglob("*") if path.is_file()}
    run = "stylisticbias-sim-strong-1"
    assert {
        "README.md", "measures.json", "model-card.md", "model-index.yaml", "eval-results.yaml", "cyclonedx.json",
        "clauses.md", "impact-ratios.csv", CRATE, SUMS, f"reports/{run}.html", f"reports/{run}.json",
        f"estimates/{run}.csv", f"runs/{run}.json", f"every-eval-ever/{run}.json",
    } <= names  # fmt: skip
    assert set(_listed(packed)) == names - {SUMS}


def test_runs_that_can_stand_in_one_profile_have_one(runs: list[Path], packed: Path, tmp_path: Path) -> None:
    alone = pack(runs[:1], tmp_path / "pack").place
    assert "profile.html" in _listed(alone)
    assert document(alone, "profile.json")["comparisons"]
    assert "profile.html" not in _listed(packed)  # the same study of other people


def _listed(packed: Path) -> list[str]:
    return [line.partition("  ")[2] for line in (packed / SUMS).read_text().splitlines()]


def test_the_same_runs_make_the_same_bytes(runs: list[Path], packed: Path, tmp_path: Path) -> None:
    first, second = (pack(runs, tmp_path / f"{name}.zip", "An organization").place for name in ("one", "one"))
    assert first.read_bytes() == second.read_bytes()
    assert (pack(runs, tmp_path / "again", "An organization").place / SUMS).read_text() == (packed / SUMS).read_text()


def test_nothing_in_a_pack_says_where_files_lay(packed: Path, runs: list[Path]) -> None:
    place = str(runs[0].parent).encode()
    assert not [path.name for path in packed.rglob("*") if path.is_file() and place in path.read_bytes()]


def test_the_record_of_an_audit_says_what_was_asked_and_not_where_files_lay(runs: list[Path], tmp_path: Path) -> None:
    images = str(runs[0].parent / "pictures")
    asked = AuditedStudy("mine", str(tmp_path / "mine.toml"), {"manifest": f"{images}/list.csv", "seeds": ["1"]}, 200)
    left_out = LeftOut("visbias", f"{images}/list.csv has no forms.")
    write_audit(
        tmp_path / "audit", AuditRecord("sim/strong@2", (asked,), (left_out,), {"images": images, "exact": True})
    )
    shutil.copytree(runs[1], tmp_path / "audit/runs/mine")
    place = pack([tmp_path / "audit"], tmp_path / "pack").place
    assert str(runs[0].parent).encode() not in (place / AUDIT).read_bytes()
    assert str(tmp_path).encode() not in (place / AUDIT).read_bytes()
    record = read_audit(place)
    assert record.settings == {"images": "pictures", "exact": True}
    assert [(study.study, study.options) for study in record.studies] == [
        ("mine.toml", {"manifest": "list.csv", "seeds": ["1"]})
    ]
    assert record.left_out == (LeftOut("visbias", "pictures/list.csv has no forms."),)


def test_estimates_are_those_of_the_run_and_missing_ones_are_empty(packed: Path, runs: list[Path]) -> None:
    estimates = fv.open_run(runs[0]).estimates()
    rows = list(csv.DictReader(io.StringIO((packed / "estimates/stylisticbias-sim-strong-1.csv").read_text())))
    assert len(rows) == estimates.height
    assert [float(row["value"]) if row["value"] else None for row in rows] == estimates["value"].to_list()
    assert estimates["value"].null_count() == sum(row["value"] == "" for row in rows)


def test_a_model_that_refuses_everything_has_a_pack_without_a_single_zero(tmp_path: Path) -> None:
    study = fv.study("stylisticbias", faces="2M,2F", attributes=["eyewear"], scenario=["polite"], seeds=["1"])
    fv.run(study, "sim/refuser@1", tmp_path / "run", max_invalid=1, progress=False)
    place = pack([tmp_path / "run"], tmp_path / "pack").place
    rows = list(csv.DictReader(io.StringIO(next((place / "estimates").iterdir()).read_text())))
    shifts = [row for row in rows if row["measure"] in ("shift", "mean")]
    assert shifts
    assert {row["value"] for row in shifts} == {""}
    names = {one["metric_config"]["metric_id"] for one in _evaluations(place)}
    assert names
    assert not {"facevalue.shift", "facevalue.mean"} & names
    assert pl.read_csv(place / "impact-ratios.csv").is_empty()


def _evaluations(packed: Path) -> list[dict[str, Any]]:
    (path,) = (packed / "every-eval-ever").iterdir()
    results: list[dict[str, Any]] = json.loads(path.read_text())["evaluation_results"]
    return results


def test_every_measure_has_its_definition(packed: Path, runs: list[Path]) -> None:
    definitions = document(packed, "measures.json")
    keys = [(one["study"], one["name"], one["score"] or None, one["versus"]) for one in definitions]
    tables = [fv.open_run(run).estimates().select("study", "measure", "score", "versus") for run in runs]
    assert len(keys) == len({*keys})
    assert {*keys} == {row for table in tables for row in table.iter_rows()}
    assert all(one["equation"] and one["source"] and one["unit"] for one in definitions)


def test_every_eval_ever_accepts_each_run(packed: Path) -> None:
    spec = find_spec("every_eval_ever")
    folders = [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
    folder = next((place for place in (*folders, *PACKAGES) if (place / SCHEMA).is_file()), None)
    if folder is None:
        pytest.skip("the schema of every-eval-ever is not there: make check-formats")
    validator = jsonschema.Draft7Validator(json.loads((folder / SCHEMA).read_text()))
    for path in (packed / "every-eval-ever").iterdir():
        validator.validate(json.loads(path.read_text()))


def test_every_eval_ever_has_intervals_samples_and_verdicts(packed: Path, runs: list[Path]) -> None:
    results = document(packed, "every-eval-ever/stylisticbias-sim-strong-1.json")["evaluation_results"]
    estimates = fv.open_run(runs[0]).estimates().filter(pl.col("verdict").is_not_null(), pl.col("value").is_not_null())
    compared = [one for one in results if "verdict" in one["score_details"]["details"]]
    assert len(compared) == estimates.height
    found = [one for one in compared if one["score_details"]["details"]["verdict"] == Verdict.DIFFERENCE]
    assert found
    for one in found:
        uncertainty = one["score_details"]["uncertainty"]
        assert uncertainty["num_samples"] > 0
        interval = uncertainty["confidence_interval"]
        assert interval["lower"] <= one["score_details"]["score"] <= interval["upper"]
        assert interval["confidence_level"] == 0.95


def test_cyclonedx_accepts_the_model_card(packed: Path) -> None:
    json_validation = pytest.importorskip("cyclonedx.validation.json")
    schema = pytest.importorskip("cyclonedx.schema")
    text = (packed / "cyclonedx.json").read_text()
    assert json_validation.JsonStrictValidator(schema.SchemaVersion.V1_7).validate_str(text) is None
    cards = [one["modelCard"] for one in json.loads(text)["components"]]
    assert cards[0]["considerations"]["fairnessAssessments"]
    metrics = cards[0]["quantitativeAnalysis"]["performanceMetrics"]
    assert any("slice" in one and "confidenceInterval" in one for one in metrics)


def test_ro_crate_reads_the_folder(packed: Path) -> None:
    rocrate = pytest.importorskip("rocrate.rocrate")
    entities = {entity.id for entity in rocrate.ROCrate(str(packed)).data_entities}
    assert {name for name in _listed(packed) if name != CRATE} <= entities


def test_croissant_accepts_the_pictures(packed: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    data = mlcroissant.Dataset(str(packed / "pictures/stylisticbias-sim-strong-2.croissant.json"))
    assert not data.metadata.ctx.issues.errors


def test_yaml_forms_are_yaml(packed: Path) -> None:
    (first, second) = yaml.safe_load((packed / "model-index.yaml").read_text())["model-index"]
    assert (first["name"], second["name"]) == ("sim/strong@1", "sim/strong@2")
    assert all(math.isfinite(one["value"]) for one in first["results"][0]["metrics"])
    assert len(yaml.safe_load((packed / "eval-results.yaml").read_text())) == 2


def test_impact_ratios_are_rates_over_the_largest_and_say_that_they_are_test_data(packed: Path) -> None:
    table = pl.read_csv(packed / "impact-ratios.csv")
    assert table["data"].unique().to_list() == [TEST_DATA]
    sex = table.filter(dimension="gender", selected_by="mean")
    rates = dict(zip(sex["group"], sex["selection_rate"], strict=True))
    ratios = dict(zip(sex["group"], sex["impact_ratio"], strict=True))
    assert ratios == pytest.approx({group: rate / max(rates.values()) for group, rate in rates.items()})
    assert sex["category"].unique().to_list() == ["sex"]
    others = sex.filter(pl.col("note").is_null() | (pl.col("note") != "selected most"))
    assert ((others["low"] <= others["impact_ratio"]) & (others["impact_ratio"] <= others["high"])).all()


@pytest.mark.parametrize(
    ("dimension", "of"),
    [("gender", "sex"), ("sex", "sex"), ("race", "race/ethnicity"), ("ethnicity", "race/ethnicity"),
     ("race_gender", "intersection"), ("age", ""), ("body type", "")],
)  # fmt: skip
def test_dimensions_are_put_into_the_categories_of_the_law(dimension: str, of: str) -> None:
    assert category(dimension) == of


def test_two_protected_factors_that_a_take_crosses_are_intersections() -> None:
    means = {("women", None): 0.5, ("men", None): 0.4, ("women", "Black"): 0.6, ("women", "White"): 0.3,
             ("men", "Black"): 0.2, ("men", "White"): 0.5}  # fmt: skip
    rows = [
        {"measure": "mean", "score": "", "gender": gender, "race": race, "trait": "kind", "intervention": None,
         "value": value, "se": 0.02, "n": 100, "clusters": 50}
        for (gender, race), value in means.items()
    ]  # fmt: skip
    study = SimpleNamespace(study=SimpleNamespace(name="mine"))
    member = SimpleNamespace(
        labels=["gender", "race", "trait"], measures={"mean": SimpleNamespace(selection=True, unit="share")},
        estimates=pl.DataFrame(rows), run=study, model="m",
    )  # fmt: skip
    table = impact_table([member])  # type: ignore[list-item]
    crossed = table.filter(category="intersection")
    assert set(crossed["group"]) == {"women Black", "women White", "men Black", "men White"}
    assert set(crossed["dimension"]) == {"gender x race"}
    assert set(crossed["asked"]) == {"trait: kind"}
    ratios = dict(zip(crossed["group"], crossed["impact_ratio"], strict=True))
    assert ratios["women White"] == pytest.approx(0.5)
    assert table.filter(category="sex")["group"].to_list() == ["women", "men"]
    assert table.filter(category="race/ethnicity").is_empty()


def test_rates_of_selection_are_shares_whatever_the_unit_of_the_measure() -> None:
    def rates(unit: str, whole: float) -> list[float]:
        rows = [
            {"measure": "chosen", "score": "", "gender": gender, "intervention": None, "value": value * whole,
             "se": 0.02 * whole, "n": 100, "clusters": 50}
            for gender, value in (("women", 0.4), ("men", 0.5))
        ]  # fmt: skip
        member = SimpleNamespace(
            labels=["gender"], measures={"chosen": SimpleNamespace(selection=True, unit=unit)},
            estimates=pl.DataFrame(rows), run=SimpleNamespace(study=SimpleNamespace(name="mine")), model="m",
        )  # fmt: skip
        table = impact_table([member])  # type: ignore[list-item]
        assert table["impact_ratio"].to_list() == pytest.approx([0.8, 1.0])
        return list(table["selection_rate"])

    assert rates("%", 100.0) == pytest.approx(rates("share", 1.0)) == [0.4, 0.5]


def test_each_clause_has_a_date_a_source_and_what_it_does_not_cover(packed: Path) -> None:
    names = _listed(packed)
    for clause in clauses():
        assert clause.not_covered
        assert clause.source
        assert clause.seen.year >= 2026
        for file in clause.files:
            assert any(name == file or name.startswith(file) for name in (*names, SUMS)), (clause.of, file)
    text = (packed / "clauses.md").read_text()
    assert "makes no legal claim" in text
    assert "(not in this pack)" not in text


def test_a_pack_that_was_not_changed_is_sound(packed: Path) -> None:
    assert faults(packed) == (len(_listed(packed)), [])


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_a_file_that_was_changed_added_or_taken_away_is_named(runs: list[Path], tmp_path: Path, form: str) -> None:
    place = pack(runs[:1], tmp_path / ("pack" if form == "folder" else "pack.zip")).place
    if form == "folder":
        (place / "README.md").write_text("other")
        (place / "clauses.md").unlink()
        (place / "new.txt").write_text("x")
    else:
        with zipfile.ZipFile(place) as archive:
            files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("clauses.md")}
        with zipfile.ZipFile(place, "w") as archive:
            for name, data in {**files, "pack/README.md": b"other", "pack/new.txt": b"x"}.items():
                archive.writestr(name, data)
    assert sorted(faults(place)[1]) == ["README.md: changed", "clauses.md: missing", "new.txt: not in the list"]


@pytest.mark.parametrize("content", [None, b"", b"PK\x03\x04 cut", b"text"])
def test_what_is_no_pack_is_said_to_be_none(tmp_path: Path, content: bytes | None) -> None:
    place = tmp_path / "pack.zip"
    if content is None:
        place = tmp_path / "empty"
        place.mkdir()
    else:
        place.write_bytes(content)
    with pytest.raises(DataError, match="pack"):
        faults(place)


def test_a_folder_with_other_files_is_left_alone(runs: list[Path], tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(RunError, match="holds other files, and no pack"):
        pack(runs, tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_an_earlier_pack_is_replaced(runs: list[Path], tmp_path: Path) -> None:
    pack(runs, tmp_path / "pack")
    pack(runs[:1], tmp_path / "pack")
    assert faults(tmp_path / "pack")[1] == []
    assert len(list((tmp_path / "pack" / "runs").glob("*.json"))) == 1


def test_one_run_twice_and_a_file_in_the_way_are_refused(runs: list[Path], tmp_path: Path) -> None:
    with pytest.raises(RunError, match="named twice"):
        pack([runs[0], runs[0]], tmp_path / "pack")
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match="is a file: --to names a folder"):
        pack(runs, tmp_path / "file")


def test_sentences_of_a_pack_end_where_they_should(tmp_path: Path) -> None:
    """A study without a paper, of which a difference was found unless missing answers say otherwise."""
    new(tmp_path / "mine.toml", None)
    study = fv.study(tmp_path / "mine.toml", people="12")
    fv.run(study, "sim/mumbler", tmp_path / "run", progress=False)
    pack([tmp_path / "run"], tmp_path / "pack")
    readme, card = ((tmp_path / "pack" / name).read_text() for name in ("README.md", "model-card.md"))
    assert "1 difference found, unless the missing answers say otherwise, at the level of its page" in readme
    assert "\n1,078 valid answers of 2,160 requests\n" in card


LIMITS = """[[limit]]
name = "few are missing"
measure = "missing_share"
at_most = 0.9
"""


def test_a_pack_holds_the_gate_of_its_runs_without_their_places(runs: list[Path], tmp_path: Path) -> None:
    limits = tmp_path / "mine.toml"
    limits.write_text(LIMITS)
    packed = tmp_path / "pack"
    pack(runs, packed, limits=limits)
    readme = (packed / "README.md").read_text()
    assert "- **Gate**: Within: the limit is kept" in readme
    assert "| `gate.csv` | Every estimate or change that a limit is about" in readme
    assert (packed / "limits.toml").read_text() == LIMITS
    cells = pl.read_csv(packed / "gate.csv", infer_schema_length=None)
    assert set(cells["limit"]) == {"few are missing"}
    assert set(cells["run"]) == {path.stem for path in (packed / "reports").glob("*.html")}
    for name in ("gate.md", "gate.csv", "gate.xml"):
        text = (packed / name).read_text()
        assert not any(str(run) in text for run in runs)
    assert faults(packed)[1] == []
    again = tmp_path / "again"
    pack(runs, again, limits=limits)
    assert (again / "SHA256SUMS").read_bytes() == (packed / "SHA256SUMS").read_bytes()


def test_limits_that_do_not_go_with_the_runs_and_a_baseline_alone_are_refused(runs: list[Path], tmp_path: Path) -> None:
    limits = tmp_path / "mine.toml"
    limits.write_text(LIMITS.replace("missing_share", "missing_shrae"))
    with pytest.raises(DataError, match=r"Did you mean .*'missing_share'"):
        pack(runs, tmp_path / "pack", limits=limits)
    with pytest.raises(DataError, match="There is no file"):
        pack(runs, tmp_path / "pack", limits=tmp_path / "none.toml")
    limits.write_text(LIMITS.replace("at_most", "change"))
    with pytest.raises(RunError, match="name it by --baseline"):
        pack(runs, tmp_path / "pack", limits=limits)
    with pytest.raises(SettingError, match="give --limits, too"):
        pack(runs, tmp_path / "pack", baselines=[StoredRun.open(runs[0])])
    assert not (tmp_path / "pack").exists()
