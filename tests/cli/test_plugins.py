"""Studies and models of other packages: distributions as they are installed, found by their entry points."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import facevalue as fv
from facevalue import studies
from facevalue.errors import FaceValueError, PluginError, UnknownNameError
from facevalue.models import load
from facevalue.models.base import ModelOptions
from facevalue.statistics import statistic
from tests.cli.conftest import Command

Install = Callable[..., None]
STUDY = """
from dataclasses import replace
from facevalue.protocol import Extras
from facevalue.studies.stylisticbias import PROTOCOL
OWN = replace(PROTOCOL, name="tinybias", title="A study of another package", extras=Extras())
"""
MODEL = """
from facevalue.models.sim import SimModel
def make(spec, options):
    model = SimModel("default")
    model.made = (spec, options)
    return model
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a distribution on the path: one module, and entry points by group."""

    def installed(package: str, source: str, **groups: dict[str, str]) -> None:
        site = tmp_path / f"site-{package}"
        info = site / f"{package}-1.0.dist-info"
        info.mkdir(parents=True)
        (site / f"{package}_module.py").write_text(source)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = []
        for group, points in groups.items():
            lines += [f"[facevalue.{group}]", *(f"{name} = {package}_module:{what}" for name, what in points.items())]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
        monkeypatch.syspath_prepend(site)
        monkeypatch.delitem(sys.modules, f"{package}_module", raising=False)

    return installed


def test_a_study_of_another_package_is_run_like_ours(facevalue: Command, install: Install) -> None:
    install("tiny", STUDY, studies={"tinybias": "OWN"})
    assert studies.names()[-1] == "tinybias"
    assert "A study of another package" in facevalue("studies").out
    small = ("--faces", "2", "--scenario", "wealthy", "--attributes", "eyewear", "--seeds", "1")
    assert facevalue("plan", "tinybias", *small).status == 0
    assert "tinybias" in facevalue("plan", "--help").out
    outcome = facevalue("make", "tinybias", "--prompts", "p.csv")
    assert outcome.status == 2
    assert "tinybias offers no pictures to be made; stylisticbias, vignette," in outcome.err
    with pytest.raises(UnknownNameError, match="Did you mean 'tinybias'"):
        studies.protocol("tinybais")


def test_a_model_of_another_package_is_asked_for_by_its_kind(install: Install) -> None:
    install("acme", MODEL, models={"acme": "make"})
    options = ModelOptions(dtype="float32")
    model = load("acme/large", options)
    assert model.made == ("acme/large", options)  # type: ignore[attr-defined]
    with pytest.raises(UnknownNameError, match="acme/NAME"):
        load("acne/large")


def test_what_cannot_be_imported_is_said_only_when_it_is_asked_for(facevalue: Command, install: Install) -> None:
    install("broken", "import a_module_that_is_not_there\n", studies={"lost": "OWN"}, models={"gone": "make"})
    listed = facevalue("studies")
    assert listed.status == 0
    assert "Unavailable: lost, of the package broken, cannot be imported: ModuleNotFoundError" in " ".join(
        listed.out.split()
    )
    assert facevalue("plan", "stylisticbias", "--faces", "2").status == 0
    for args in (("plan", "lost"), ("run", "lost", "--model", "sim/default")):
        outcome = facevalue(*args)
        assert outcome.status == 1
        assert outcome.err.strip().endswith("No module named 'a_module_that_is_not_there'.")
        assert "Traceback" not in outcome.err
    assert load("sim/default").name == "sim/default"
    with pytest.raises(PluginError, match="gone, of the package broken, cannot be imported"):
        load("gone/x")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("OWN = 3\n", "is no study: it is of type int"),
        (STUDY.replace('"tinybias"', '"other"'), "calls itself other"),
        ("raise RuntimeError('first line\\nsecond')\n", "cannot be imported: RuntimeError: first line."),
        ("", "has no attribute 'OWN'"),
    ],
)
def test_what_is_no_study_is_one_sentence(install: Install, source: str, says: str) -> None:
    install("odd", source, studies={"tinybias": "OWN"})
    with pytest.raises(PluginError, match=says) as error:
        studies.protocol("tinybias")
    assert str(error.value).startswith("tinybias, of the package odd, ")
    assert "\n" not in str(error.value)


def test_names_of_ours_stay_ours(facevalue: Command, install: Install) -> None:
    install("thief", STUDY.replace('"tinybias"', '"vignette"') + MODEL, studies={"vignette": "OWN"},
            models={"sim": "make"})  # fmt: skip
    assert studies.protocol("vignette").title.startswith("VIGNETTE")
    assert load("sim/default").__class__.__name__ == "SimModel"
    said = json.loads(facevalue("studies", "--json").out)
    assert [one["name"] for one in said["studies"]].count("vignette") == 1
    assert said["unavailable"]["vignette"] == "vignette, of the package thief, has a name of FaceValue's own."


def test_one_name_of_two_packages_is_refused(install: Install) -> None:
    for package in ("one", "two"):
        install(package, STUDY, studies={"tinybias": "OWN"})
    with pytest.raises(PluginError, match="tinybias is of two packages, one and two: uninstall one of them"):
        studies.protocol("tinybias")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("raise SystemExit(3)\n", "SystemExit: 3"),
        ("raise KeyboardInterrupt\n", "KeyboardInterrupt"),
        ("raise GeneratorExit\n", "GeneratorExit"),
        ("class Odd(BaseException):\n    pass\nraise Odd('odd')\n", "Odd: odd"),
        ("class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd\n", "Odd"),
        ("import sys\nsys.exit()\n", "SystemExit"),
        ("import time\ntime.sleep(3600)\n", "it was not done after 0.2 s"),
        ("(\n", "SyntaxError"),
        ("raise ValueError('\\x1b[2J' + 'x' * 10**6)\n", "ValueError: \\x1b[2Jxxx"),
    ],
)
def test_whatever_a_package_does_on_import_it_is_unavailable_and_nothing_else(
    facevalue: Command, install: Install, monkeypatch: pytest.MonkeyPatch, source: str, says: str
) -> None:
    if "sleep" in source:
        monkeypatch.setattr("facevalue.studies.registry._LISTED", 0.2)
    package = "slow" if "sleep" in source else "odd"  # an import that hangs keeps its module's lock
    install(package, source, studies={"lost": "OWN"}, models={"gone": "make"})
    done = facevalue("studies", "--json")
    assert done.status == 0
    listed = json.loads(done.out)
    assert says in listed["unavailable"]["lost"]
    assert len(listed["unavailable"]["lost"]) < 400
    assert "stylisticbias" in [one["name"] for one in listed["studies"]]
    assert facevalue("plan", "stylisticbias", "--faces", "2").status == 0


@pytest.mark.parametrize(
    "lines",
    [b"[facevalue.studies]\nlost\n", b"[facevalue.studies]\n= = =\nlost", b"\xff\xfe[",
     b"[facevalue.studies]\nlost = odd::\n"],
)  # fmt: skip
def test_a_malformed_list_of_entry_points_hides_no_other_package(
    facevalue: Command, install: Install, tmp_path: Path, lines: bytes
) -> None:
    install("odd", "")
    install("tiny", STUDY, studies={"tinybias": "OWN"})
    (tmp_path / "site-odd" / "odd-1.0.dist-info" / "entry_points.txt").write_bytes(lines)
    listed = json.loads(facevalue("studies", "--json").out)
    assert "tinybias" in [one["name"] for one in listed["studies"]]
    (why,) = listed["unavailable"].values()
    assert "odd" in why
    assert studies.protocol("tinybias").name == "tinybias"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return 7", "int has no name"),
        ("return None", "NoneType has no name"),
        ("raise SystemExit(2)", "makes no model of 'acme/large': SystemExit: 2"),
        ("raise KeyError('x')", "makes no model of 'acme/large': KeyError: 'x'"),
    ],
)
def test_what_makes_no_model_is_one_sentence(install: Install, body: str, says: str) -> None:
    install("acme", f"def make(spec, options):\n    {body}\n", models={"acme": "make"})
    with pytest.raises(FaceValueError, match=says):
        load("acme/large")


STATISTIC = """
from facevalue.statistics import Mean
class Level(Mean):
    kind = "level"
    definitions = {"level": ("{}", "mean score")}
"""
LEVELS = """
name = "levels"
[pictures]
kind = "portraits"
people = "4"
[prompt]
text = "Is this person polite? Answer with only {options}."
[answer]
kind = "yes-no"
[[estimand]]
statistic = "level"
"""


def test_a_statistic_of_another_package_is_named_in_a_file(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistic, "_REGISTERED", dict(statistic.registered_statistics()))
    install("levels", STATISTIC, statistics={"level": "Level", "other": "Level", "gone": "Gone"})
    (tmp_path / "levels.toml").write_text(LEVELS)
    run = fv.run(tmp_path / "levels.toml", "sim/strong", tmp_path / "run", progress=False)
    assert run.estimates().filter(measure="level")["clusters"].to_list() == [4]
    with pytest.raises(UnknownNameError, match=r"Did you mean .*'level'"):
        statistic.statistic_class("leve")
    with pytest.raises(PluginError, match="other, of the package levels, is no subclass of Statistic with kind"):
        statistic.statistic_class("other")
    with pytest.raises(PluginError, match="gone, of the package levels, cannot be imported"):
        statistic.statistic_class("gone")
