"""`facevalue gate`: exit statuses, what it writes, and each input that it refuses."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

import facevalue as fv
from facevalue.cli.command import Exit
from facevalue.runs.kept_estimates import take_estimates
from facevalue.runs.stored_run import StoredRun
from facevalue.store.manifest import read_manifest, write_manifest
from tests.cli.conftest import Command, Outcome

PEOPLE: dict[str, Any] = {
    "faces": "16",
    "attributes": "eyewear",
    "seeds": ["1", "2"],
    "scenario": ["wealthy", "polite"],
}
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "null": ("sim/null", PEOPLE),
    "before": ("sim/null@1", PEOPLE),
    "strong": ("sim/strong@1", PEOPLE),
    "few": ("sim/null", {**PEOPLE, "faces": "2"}),
    "refused": ("sim/refuser", PEOPLE),
    "elsewhere": ("sim/null", {**PEOPLE, "faces": "16", "faces_seed": 7}),
}
SHIFTS = 'measure = "shift"\nby = ["variation"]\n'
Gate = Callable[..., Outcome]


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of models with and without bias, with and without answers, about the same and other people."""
    folder = tmp_path_factory.mktemp("gate")
    for name, (model, settings) in RUNS.items():
        fv.run(fv.study("stylisticbias", **settings), model, folder / name, progress=False)
    study = fv.study("vignette", paradigm="decision", dimension="age", gender="male", activity="cooking", people=2)
    fv.run(study, "sim/null", folder / "pairs", progress=False)
    fv.run("counterfactuals", "sim/default", folder / "apart", sample=20, progress=False)
    for name in ("null", "few", "refused", "pairs", "apart"):  # taken once; of the others each gate takes them itself
        take_estimates([StoredRun.open(folder / name)])
    return folder


@pytest.fixture
def gate(facevalue: Command, audited: Path, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """Hold runs against limits, each a text of its table."""
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    shutil.copytree(audited, ".", dirs_exist_ok=True)

    def held(runs: str, *limits: str, options: tuple[str, ...] = ()) -> Outcome:
        Path("limits.toml").write_text("\n".join(f"[[limit]]\n{limit}\n" for limit in limits))
        return facevalue("gate", *runs.split(), "--limits", "limits.toml", *options)

    return held


@pytest.mark.parametrize(
    ("runs", "limit", "status", "words"),
    [
        ("null", f"{SHIFTS}absolute = 0.4", Exit.DONE, "Within: the limit is kept, of 2 estimates."),
        ("strong", f"{SHIFTS}absolute = 0.02", Exit.BEYOND, "Beyond: of 1 limit, 1 beyond."),
        ("null", f"{SHIFTS}absolute = 0.02", Exit.UNDECIDED, "would tell"),
        ("few", f"{SHIFTS}absolute = 0.4", Exit.UNDECIDED, "would tell"),
        ("refused", f"{SHIFTS}absolute = 0.4", Exit.UNDECIDED, "Not measurable: "),
        ("refused", "findings = 0", Exit.UNDECIDED, "stylisticbias, as a whole: not measurable."),
        ("null refused", "findings = 0", Exit.UNDECIDED, "stylisticbias, as a whole (refused): not measurable."),
        ("strong refused", "findings = 0", Exit.BEYOND, "stylisticbias, as a whole (refused): not measurable."),
        ("apart", "findings = 0", Exit.UNDECIDED, "counterfactuals, as a whole: not measurable."),
        ("refused", 'measure = "missing_share"\nat_most = 0.1', Exit.BEYOND, "lies beyond at most 10.0%"),
        ("null", "findings = 0", Exit.DONE, "no findings in 2 comparisons; one below"),
        ("strong", "findings = 0", Exit.BEYOND, "A difference was found, and none is allowed."),
        ("strong", "findings = 2", Exit.DONE, "2 findings in 2 comparisons"),
        ("few", "findings = 0", Exit.UNDECIDED, "no difference, however large, was sure to be found"),
        ("null", 'study = "stylisticbias"\nfindings = 0\ndetects = 0.05', Exit.UNDECIDED, "and no difference below"),
        ("null", 'study = "stylisticbias"\nfindings = 0\ndetects = 0.3', Exit.DONE, "no findings"),
        ("null strong", f"{SHIFTS}absolute = 0.02", Exit.BEYOND, "not enough data"),
        ("null pairs", 'measure = "missing_share"\nat_most = 0.6', Exit.DONE, "2 estimates within"),
        ("after=null", f"{SHIFTS}absolute = 0.4", Exit.DONE, "Within"),
    ],
)  # fmt: skip
def test_each_status_means_what_the_page_says(gate: Gate, runs: str, limit: str, status: Exit, words: str) -> None:
    outcome = gate(runs, limit)
    assert outcome.status == status, outcome.out + outcome.err
    assert words in " ".join(outcome.out.split())


def test_the_worst_limit_is_that_of_the_gate(gate: Gate) -> None:
    open_limit, kept, passed = (
        f"{SHIFTS}absolute = 0.01\nname = 'open'",
        'measure = "missing_share"\nat_most = 0.1',
        "findings = 0",
    )
    assert gate("null", kept, open_limit).status == Exit.UNDECIDED
    assert gate("strong", kept, open_limit, passed).status == Exit.BEYOND


def test_changes_are_taken_against_the_baseline_on_the_same_people(gate: Gate) -> None:
    limits = (f"{SHIFTS}change = 0.4", 'measure = "missing_share"\nrise = 0.1', 'measure = "na_rate"\nrise = 0.1')
    kept = gate("null", *limits, options=("--baseline", "before"))
    assert kept.status == Exit.DONE, kept.out
    assert "Compared on the 16 people that both runs were asked about." in kept.out
    moved = gate("strong", f"{SHIFTS}change = 0.02", options=("--baseline", "before", "--json"))
    document = json.loads(moved.out)
    assert (moved.status, document["baselines"], document["limits"][0]["of_change"]) == (3, ["before"], True)
    assert {cell["clusters"] for cell in document["limits"][0]["cells"]} == {16}


@pytest.mark.parametrize(
    ("runs", "limit", "words", "baseline"),
    [
        ("null", 'measure = "shifft"\nabsolute = 0.2', "line 1: Unknown measure 'shifft'. Did you mean", ""),
        ("null", 'measure = "shift"\nby = ["variaton"]\nabsolute = 0.2', "Unknown label of shift 'variaton'", ""),
        ("null", 'measure = "shift"\nwhere = {variation = "shads"}\nabsolute = 0.2', "Unknown level of variation", ""),
        ("null", 'measure = "shift"\nby = ["scenario", "category"]\nabsolute = 0.2', "by scenario and category:", ""),
        ("null", 'study = "vignette"\nmeasure = "shift"\nabsolute = 0.2', "Unknown study of these runs 'vignette'", ""),
        ("null", f"{SHIFTS}absolute = 20", "shift never lies beyond -1 to 1: name limits within", ""),
        ("null", 'measure = "missing_share"\nat_least = -1\nat_most = 1', "never lies beyond 0 to 1", ""),
        ("null", f"{SHIFTS}absolute = nan", "line 4: 'absolute' is a number, not nan", ""),
        ("null", "absolute = 0.2", "'measure' is missing", ""),
        ("null", 'measure = "na_rate"\nfindings = 0', "na_rate compares nothing, so that nothing is found of it", ""),
        ("null", f"{SHIFTS}findings = 0\ndetects = 2", "nothing detects 2", ""),
        ("null null", f"{SHIFTS}absolute = 0.2", "is named 2 times", ""),
        ("nowhere", f"{SHIFTS}absolute = 0.2", "There is no folder nowhere.", ""),
        ("null", f"{SHIFTS}change = 0.2", "with an earlier run of stylisticbias: name it by --baseline", ""),
        ("null", f"{SHIFTS}change = 0.2", "no baseline is: pairs (vignette)", "pairs"),
        ("null", f"{SHIFTS}change = 0.2", "would be compared with itself", "null"),
        ("null", f"{SHIFTS}change = 0.2", "was asked about other pictures than null", "elsewhere"),
        ("null", 'measure = "shift"\nwhere = {intervention = "cipher"}\nchange = 0.2', "interventions", "before"),
        ("null", 'measure = "drift"\nchange = 0.2', "drift is not compared between runs", "before"),
    ],
)  # fmt: skip
def test_what_cannot_be_held_is_refused_and_never_passed(
    gate: Gate, runs: str, limit: str, words: str, baseline: str
) -> None:
    outcome = gate(runs, limit, options=("--baseline", baseline) if baseline else ())
    assert outcome.status == Exit.REFUSED, outcome.out
    assert words in outcome.err
    assert outcome.out == ""
    assert "Traceback" not in outcome.err


def test_a_run_without_answers_or_of_another_version_is_refused(gate: Gate) -> None:
    gate("null", f"{SHIFTS}absolute = 0.4")
    shutil.rmtree("few/responses")
    assert "listed in run.toml, but not there" in gate("few", f"{SHIFTS}absolute = 0.4").err
    text = Path("null/run.toml").read_text()
    Path("null/run.toml").write_text(text.replace("version = 1", "version = 2", 1))
    damaged = gate("null", f"{SHIFTS}absolute = 0.4")
    assert damaged.status == Exit.REFUSED
    assert gate("before", "findings = 0", options=("--nonsense",)).status == Exit.USAGE


def test_estimates_that_are_kept_are_read(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("null/estimates.parquet").unlink(missing_ok=True)
    first = gate("null", f"{SHIFTS}absolute = 0.4")

    def refuse(*_: object) -> None:
        raise AssertionError("taken again")

    monkeypatch.setattr("facevalue.runs.kept_estimates.estimate", refuse)
    assert gate("null", f"{SHIFTS}absolute = 0.4").out == first.out


def test_json_has_every_estimate_with_its_reason(gate: Gate) -> None:
    outcome = gate("strong", f"{SHIFTS}absolute = 0.02", "findings = 0", options=("--json",))
    document = json.loads(outcome.out)
    assert (document["outcome"], outcome.status) == ("beyond", 3)
    shifts, found = document["limits"]
    assert (shifts["line"], shifts["at_most"], shifts["findings"], found["findings"]) == (1, 0.02, None, 0)
    assert {cell["labels"]["variation"] for cell in shifts["cells"]} == {"sunglasses", "thick-rimmed"}
    for cell in shifts["cells"]:
        assert cell["gate_low"] < cell["low"] < cell["value"] < cell["high"] < cell["gate_high"]
        assert cell["why"].endswith(".")


def test_a_study_that_tested_nothing_is_named_in_all_forms(gate: Gate) -> None:
    outcome = gate("refused", "findings = 0", options=("--json", "--junit", "out.xml", "--markdown", "out.md"))
    (limit,) = json.loads(outcome.out)["limits"]
    (cell,) = limit["cells"]
    assert (cell["outcome"], cell["study"], cell["measure"], cell["labels"]) == (
        "not measurable", "stylisticbias", "", {})  # fmt: skip
    assert cell["why"].startswith("Not measurable: Nothing was measured: no valid answer")
    (suite,) = check_junit(Path("out.xml").read_text(encoding="utf-8"))
    assert [child.tag for case in suite.findall("testcase") for child in case] == ["error"]
    assert "stylisticbias, as a whole" in Path("out.md").read_text(encoding="utf-8")


CASES = {"testsuites": {"testsuite"}, "testsuite": {"properties", "testcase", "system-out", "system-err"},
         "properties": {"property"}, "testcase": {"failure", "error"}}  # fmt: skip
NEEDED = {
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname", "id", "package"},
    "testcase": {"name", "classname", "time"}, "failure": {"message", "type"}, "error": {"message", "type"},
}  # fmt: skip


def check_junit(text: str) -> Xml.Element:
    """The rules of two schemas, of Ant's reports and of Jenkins: elements, their order, attributes, and sums."""
    root = Xml.fromstring(text)
    assert (root.tag, root.attrib) == ("testsuites", {})  # Ant's schema allows no attribute, Jenkins' some
    for element in root.iter():
        inner = [child.tag for child in element]
        assert set(inner) <= CASES.get(element.tag, set())
        assert NEEDED.get(element.tag, set()) <= set(element.attrib)
        if element.tag == "testsuite":
            order = ["properties", *["testcase"] * inner.count("testcase"), "system-out", "system-err"]
            assert inner == order
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", element.attrib["timestamp"])
        if element.tag == "testsuite":
            counts = {tag: len(list(element.iter(tag))) for tag in ("testcase", "failure", "error")}
            assert [int(element.attrib[name]) for name in ("tests", "failures", "errors")] == list(counts.values())
    return root


def test_junit_has_a_suite_per_run_and_a_case_per_limit(gate: Gate) -> None:
    limits = (
        f"{SHIFTS}absolute = 0.02\nname = '<b> & \"x\"'",
        "findings = 0",
        'measure = "missing_share"\nat_most = 0.1',
    )
    outcome = gate("strong null", *limits, options=("--junit", "out.xml"))
    assert outcome.status == Exit.BEYOND
    strong, null = check_junit(Path("out.xml").read_text(encoding="utf-8"))
    assert (strong.attrib["name"], null.attrib["name"]) == ("strong", "null")
    cases = strong.findall("testcase")
    assert cases[0].attrib["name"] == '<b> & "x"'
    assert [child.tag for case in cases for child in case] == ["failure", "failure"]
    assert [child.tag for case in null.findall("testcase") for child in case] == ["error"]  # never a skipped test
    assert "sunglasses" in (cases[0][0].text or "")


def test_markdown_shows_names_as_they_are(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "name = '<img src=x> | @ann `rm` [a](b)'"
    gate("strong", f"{SHIFTS}absolute = 0.02\n{name}", options=("--markdown", "out.md"))
    page = Path("out.md").read_text(encoding="utf-8")
    assert page.startswith("## ❌ FaceValue gate: beyond\n")
    assert r"\<img src=x\> \| &#64;ann \`rm\` \[a\](b)" in page
    Path("summary.md").write_text("# Of another step\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    gate("null", f"{SHIFTS}absolute = 0.4", options=("--markdown", "summary.md"))
    assert (
        Path("summary.md").read_text(encoding="utf-8").startswith("# Of another step\n## ✅ FaceValue gate: within\n")
    )


def test_github_has_annotations_at_the_line_of_each_limit(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = (f"{SHIFTS}absolute = 0.4", f"{SHIFTS}absolute = 0.02\nname = '::error::a,b%'")
    assert "::error" not in gate("strong", *limits).err
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    outcome = gate("strong", *limits, options=("--json",))
    (line,) = [line for line in outcome.err.splitlines() if line.startswith("::")]
    assert line.startswith("::error file=limits.toml,line=6,title=FaceValue%3A beyond::::error::a,b%25: ")
    assert "%0A" in line
    json.loads(outcome.out)
    assert gate("null", limits[0], options=("--github",)).err == ""


@pytest.mark.parametrize("limit", [f"{SHIFTS}absolute = 0.4", "findings = 0", f"{SHIFTS}change = 0.5"])
def test_a_run_that_has_not_ended_passes_only_where_that_is_allowed(gate: Gate, limit: str) -> None:
    options = ("--baseline", "before") if "change" in limit else ()
    assert gate("null", limit, options=options).status == Exit.DONE
    for run in ("before", "null") if options else ("null",):
        path = Path(run, "run.toml")
        whole = path.read_bytes()
        write_manifest(Path(run), replace(read_manifest(Path(run)), end=None))
        outcome = gate("null", limit, options=(*options, "--junit", "gate.xml"))
        assert outcome.status == Exit.UNDECIDED
        assert f"{run} has not ended: it holds part of its requests." in outcome.out
        assert "has not ended: what was asked lies within, and a part was not asked." in " ".join(outcome.out.split())
        assert 'failures="0" errors="1"' in Path("gate.xml").read_text()
        assert gate("null", limit, options=(*options, "--allow-incomplete")).status == Exit.DONE
        assert gate("null", f"{limit}\nallow_incomplete = true", options=options).status == Exit.DONE
        path.write_bytes(whole)
    assert gate("null", limit, options=options).status == Exit.DONE


def test_what_lies_beyond_is_beyond_in_a_run_that_has_not_ended(gate: Gate) -> None:
    shutil.copytree("strong", "stopped")
    write_manifest(Path("stopped"), replace(read_manifest(Path("stopped")), end=None))
    assert gate("stopped", f"{SHIFTS}absolute = 0.02").status == Exit.BEYOND
    limit = [{"measure": "shift", "by": ["variation"], "absolute": 0.9}]
    assert fv.gate("stopped", limit).outcome == "not enough data"
    assert fv.gate("stopped", limit, allow_incomplete=True).within
    assert fv.gate("stopped", [{**limit[0], "allow_incomplete": True}]).within


@pytest.mark.parametrize("limit", [f"{SHIFTS}absolute = 0.4", "findings = 0"])
def test_a_run_without_any_reply_is_undecided_and_never_within(gate: Gate, limit: str, facevalue: Command) -> None:
    asked = ("stylisticbias", "--faces", "16", "--attributes", "eyewear", "--scenario", "wealthy,polite")
    assert facevalue("requests", *asked, "--model", "m", "--form", "openai", "--out", "silent").status == Exit.DONE
    for options in ((), ("--allow-incomplete",)):
        outcome = gate("silent", limit, options=options)
        assert outcome.status == Exit.UNDECIDED, outcome.err
        assert "stylisticbias has no reply yet." in " ".join(outcome.out.split())


def test_python_has_the_same_gate(audited: Path, tmp_path: Path) -> None:
    run = fv.open_run(audited / "null")
    gate = fv.gate(run, [{"measure": "shift", "by": ["variation"], "absolute": 0.4, "name": "shifts"}])
    assert (gate.within, gate.results[0].limit.name, gate.results[0].labels) == (
        True,
        "shifts",
        ["attribute", "variation"],
    )
    file = tmp_path / "limits.toml"
    file.write_text(f"[[limit]]\n{SHIFTS}change = 0.4\n")
    assert fv.gate(audited / "null", file, baseline=audited / "before").within
    with pytest.raises(fv.errors.DataError, match="There is no file"):
        fv.gate(run, tmp_path / "nowhere.toml")
