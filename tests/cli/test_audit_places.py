"""Commands that take a run take an audit, too."""

import json
from pathlib import Path

from facevalue.runs.audits.folder import AUDIT, AuditedStudy, AuditRecord, run_place, write_audit
from tests.cli.conftest import Command


def test_status_and_verify_of_an_audit(facevalue: Command) -> None:
    names = ("stylisticbias", "visbias")
    record = AuditRecord("sim/default", tuple(AuditedStudy(name, name, {}, pilot=10) for name in names))
    write_audit(Path("audit"), record)
    place = run_place(Path("audit"), "stylisticbias")
    asked = (
        "run",
        "stylisticbias",
        "--model",
        "sim/default",
        "--faces",
        "4",
        "--attributes",
        "eyewear",
        "--seeds",
        "1",
    )
    assert facevalue(*asked, "--out", str(place)).status == 0
    text = facevalue("status", "audit").out
    assert f"{place}: stylisticbias on sim/default\n" in text
    assert "Not begun: visbias" in text
    document = json.loads(facevalue("status", "audit", "--json").out)
    assert document["waiting"] == ["visbias"]
    assert [run["study"] for run in document["runs"]] == ["stylisticbias"]
    assert f"{place}: sound" in facevalue("verify", "audit").out
    (Path("audit") / AUDIT).write_bytes((Path("audit") / AUDIT).read_bytes() + b"# edited\n")
    outcome = facevalue("verify", "audit")
    assert outcome.status == 1
    assert "damaged or edited" in outcome.err
