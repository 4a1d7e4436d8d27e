"""What can go wrong with the folder of an audit, and with what is asked of it: one sentence, and nothing lost."""

import json
from dataclasses import replace
from pathlib import Path
from shutil import rmtree

import pytest

import facevalue as fv
from facevalue.cli.actions.results import open_all, unasked_of
from facevalue.cli.command import Exit
from facevalue.protocol.study import LeftOut
from facevalue.runs.audits.folder import AuditedStudy, AuditRecord, read_audit, run_place, write_audit
from facevalue.runs.settings import utc_now
from facevalue.view.head import profile as profile_document
from facevalue.view.open_runs import OpenedRuns
from tests.cli.conftest import Command
from tests.runs.test_pictures import own

NAMES = ("stylisticbias", "visbias")
WAITING = "audit has not asked visbias yet: this is of its other studies."
SMALL = ("--faces", "4", "--attributes", "eyewear", "--seeds", "1", "--scenario", "wealthy")
ASKED = ("stylisticbias", "--model", "sim/default", *SMALL)


@pytest.fixture
def half(facevalue: Command) -> Command:
    """An audit in which one study of two was asked."""
    studies = tuple(AuditedStudy(name, name, {}, pilot=10) for name in NAMES)
    write_audit(Path("audit"), AuditRecord("sim/default", studies, (LeftOut("gras", "It needs pictures."),)))
    assert facevalue("run", *ASKED, "--out", str(run_place(Path("audit"), NAMES[0]))).status == 0
    return facevalue


def end(audit: str) -> None:
    write_audit(audit, replace(read_audit(audit), ended=utc_now()))


def test_a_gate_passes_nothing_that_was_never_asked(half: Command) -> None:
    limit = "[[limit]]\nmeasure = 'missing_share'\nat_most = 0.95\n"
    Path("limits.toml").write_text(limit)
    outcome = half("gate", "audit", "--limits", "limits.toml", "--junit", "gate.xml")
    assert outcome.status == Exit.UNDECIDED
    text = " ".join(outcome.out.split())
    assert "audit/runs/visbias is not asked yet: give the command of its audit again." in text
    assert "visbias, as a whole (audit/runs/visbias): not measurable. Not measurable: visbias has no reply yet." in text
    assert '<testsuite name="audit/runs/visbias" tests="1" failures="0" errors="1"' in Path("gate.xml").read_text()
    assert fv.gate("audit", "limits.toml").outcome == "not measurable"
    allowed = half("gate", "audit", "--limits", "limits.toml", "--allow-incomplete")
    assert (allowed.status, "1 estimate within" in allowed.out) == (Exit.DONE, True)
    for study, measure, status in (("visbias", "salary_gap", 4), ("vignette", "x", 1)):
        Path("limits.toml").write_text(f"[[limit]]\nstudy = '{study}'\nmeasure = '{measure}'\nat_most = 0.5\n")
        assert half("gate", "audit", "--limits", "limits.toml").status == status
    assert half("gate", "audit", "--limits", "limits.toml", "--allow-incomplete").status == Exit.REFUSED
    Path("limits.toml").write_text(f"{limit}allow_incomplete = true\n")
    assert half("gate", "audit", "--limits", "limits.toml").status == Exit.DONE


def test_a_pack_says_what_was_not_asked(half: Command) -> None:
    assert half("pack", "audit", "--to", "packed").status == 0
    readme = Path("packed/README.md").read_text()
    assert "- **visbias** is not asked yet: the audit is not complete." in readme
    assert "- **gras** was not asked: It needs pictures." in readme
    assert WAITING in Path("packed/profile.html").read_text()
    assert json.loads(Path("packed/profile.json").read_text())["waiting"] == [WAITING]


def test_profile_and_compare_say_what_was_not_asked(half: Command) -> None:
    sentence = WAITING
    assert sentence in half("profile", "audit").out
    assert sentence in json.loads(half("profile", "audit", "--json").out)["answer"]
    assert half("run", *ASKED, "--sample-seed", "1", "--name", "again", "--out", "again").status == 0
    assert sentence in half("compare", "audit", "again").out
    assert json.loads(half("compare", "x=audit", "again", "--json").out)["left_out"] == [sentence]
    assert sentence in " ".join(fv.profile("audit").answer.split())
    assert sentence in fv.compare("audit", "again").left_out


@pytest.mark.slow
def test_trend_and_view_say_what_was_not_asked(half: Command) -> None:
    assert half("run", *ASKED, "--name", "later", "--out", "later").status == 0
    assert json.loads(half("trend", ".", "--json").out)["left_out"] == [WAITING]
    assert WAITING in fv.trend("audit", "later").left_out
    assert half("view", "audit", "--export", "pages").out.splitlines()[0] == WAITING
    opened = OpenedRuns(open_all(("audit", "later")), waiting=unasked_of(("audit", "later")))
    assert WAITING in profile_document(opened).sentences


@pytest.mark.parametrize("is_url", [False, True])
def test_a_command_that_takes_one_run_says_which_an_audit_holds(half: Command, is_url: bool) -> None:
    audit = Path("audit").absolute().as_uri() if is_url else "audit"
    if is_url:
        pytest.importorskip("obstore")
        rmtree(f"audit/runs/{NAMES[0]}")
        assert half("run", *ASKED, "--out", f"{audit}/runs/{NAMES[0]}").status == 0
    words = f"{audit} is an audit, whose folder runs holds a run of each study. Name one of them: "
    for command in (("report",), ("measure",), ("export", "--out", "table.csv"), ("show", "--trial", "0")):
        assert f"Error: {words}{audit}/runs/stylisticbias.\n" in half(*command, audit).err
    if is_url:
        assert words in half("fetch", audit, "--out", "here").err


def test_a_run_of_an_audit_that_is_gone_is_missed(half: Command) -> None:
    end("audit")
    for command in (("verify",), ("profile",), ("compare", "audit/runs/stylisticbias"), ("pack", "--to", "packed")):
        outcome = half(*command, "audit")
        assert outcome.status == 1
        assert "audit/runs/visbias is gone, and audit.toml says that all was asked: restore it" in outcome.err
    rmtree("audit/runs/stylisticbias")
    assert "audit is an audit that has asked nothing yet" in half("profile", "audit").err


def test_no_run_begins_where_an_audit_is(half: Command) -> None:
    assert "audit is an audit: name another place for a run." in half("run", *ASKED, "--out", "audit").err
    url = Path("audit").absolute().as_uri()
    assert "is an audit: name another place for a run." in half("run", *ASKED, "--out", url).err


def test_a_number_in_place_of_a_run_is_answered_by_what_to_give(facevalue: Command) -> None:
    for command in (("audit", "--model", "sim/default", "--pilot"), ("plan", "stylisticbias", "--pilot"), ("report",)):
        outcome = facevalue(*command, "40")
        assert outcome.status == 1
        assert outcome.err == "Error: There is no folder 40: give the folder or URL of a run or audit, not a number.\n"


def test_a_folder_that_is_not_there_or_above_runs_is_named_with_what_is_meant(half: Command) -> None:
    assert half("profile", "audti").err == "Error: There is no folder audti. Did you mean 'audit'?\n"
    err = half("compare", "audit/runs", "audit").err
    assert "audit/runs is not the folder of a run: it has no run.toml. There are runs in it: " in err
    assert "audit/runs/stylisticbias." in err


def test_one_audit_is_compared_with_another_only(half: Command) -> None:
    assert half("run", "visbias", *ASKED[1:3], "--sample", "40", "--out", "audit/runs/visbias").status == 0
    assert half("compare", "audit").err == (
        "Error: A comparison takes two runs or more of one study; there is one of stylisticbias, one of visbias.\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--budget", "0.5"), "A budget of requests is a whole number of them, not '0.5'."),
        (("--budget", "12.5requests"), "A budget of requests is a whole number of them"),
        (("--budget", "inf"), "A budget is written 20usd"),
        (("--budget", "2h", "--rate", "nan"), "nan is no number."),
        (("--budget", "2h", "--rate", "inf"), "A rate is requests a second, above 0, not inf."),
        (("--studies", ","), "--studies names none: name studies with commas between"),
        (("--studies", "visbias,visbias"), "The studies of the audit name 'visbias' twice."),
        (("--studies", "visbais"), "Did you mean 'visbias'?"),
        (("--out", "file.txt"), "file.txt is a file: name a folder."),
        (("--pilot", "nowhere", "--budget", "500"), "There is no folder nowhere."),
        (("--budget", "20chf", "--price-in", "1", "--price-out", "nan"), "'--price-out': nan is no number."),
        (("--stop-when", "soon"), '--stop-when is "decided"'),
        (("--images", "nowhere"), "There are no pictures nowhere"),
    ],
)
def test_what_is_mistyped_is_one_sentence(facevalue: Command, options: tuple[str, ...], message: str) -> None:
    Path("file.txt").write_text("mine")
    command = ("audit", "--plan", "--model", "sim/default")
    outcome = facevalue(*command, *(() if "--studies" in options else ("--studies", "visbias")), *options)
    assert outcome.status in (1, 2)
    assert message in outcome.err
    assert "Traceback" not in outcome.err


def test_studies_that_the_user_s_pictures_do_not_allow_are_left_out_with_why(facevalue: Command) -> None:
    Path("pictures").mkdir()
    own(Path("pictures"))
    command = ("audit", "--plan", "--images", "pictures/list.csv", "--json", "--studies")
    outcome = facevalue(*command, "stylisticbias,gras,bbq-v")
    assert outcome.status == 0, outcome.err
    document = json.loads(outcome.out)
    assert [study["name"] for study in document["studies"]] == ["stylisticbias"]
    reasons = {omission["what"]: omission["why"] for omission in document["left_out"]}
    assert "gender" in reasons["gras"]
    assert "your list needs a column 'template'" in reasons["bbq-v"]
    alone = facevalue(*command, "gras")
    assert alone.status == 1
    assert alone.err.startswith("Error: No study of the audit can be asked with these pictures. gras: ")
