"""`facevalue requests` and `facevalue import`, from the command line."""

import json
from pathlib import Path

from tests.cli.conftest import Command

STUDY = ("stylisticbias", "--faces", "1M,1F", "--attributes", "eyewear", "--scenarios", "wealthy", "--model", "gpt-x")


def test_requests_are_written_answered_and_none_is_left(facevalue: Command, tmp_path: Path) -> None:
    asking = ("requests", *STUDY, "--form", "openai", "--out", "my run")
    outcome = facevalue(*asking)
    assert outcome.out.splitlines() == [
        "72 requests in the form of OpenAI batch, in one file:",
        "  my run/requests/openai-001.jsonl",
        "Answers: facevalue import ANSWERS --out 'my run'",
    ]
    body = {"model": "gpt-x", "choices": [{"message": {"content": "(a)"}, "finish_reason": "stop"}]}
    lines = [json.loads(line) for line in Path("my run/requests/openai-001.jsonl").read_text().splitlines()]
    answers = [{"custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}} for line in lines]
    Path("answers.jsonl").write_text("".join(f"{json.dumps(answer)}\n" for answer in answers))
    assert facevalue("import", "answers.jsonl", "--out", "my run").status == 0
    assert facevalue(*asking).out == "Nothing is left to ask: 72 requests have an answer.\n"
    outcome = facevalue("import", "answers.jsonl", "--out", "elsewhere")
    assert outcome.status == 1
    assert "does not say which study was asked" in outcome.err
