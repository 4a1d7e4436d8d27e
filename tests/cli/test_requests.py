"""`facevalue requests` and `facevalue import`, from the command line."""

import json
from pathlib import Path

from PIL import Image

from tests.cli.conftest import Command

STUDY = ("stylisticbias", "--faces", "1M,1F", "--attributes", "eyewear", "--scenario", "wealthy", "--model", "gpt-x")


def test_a_study_with_a_longest_reply_of_its_own_is_asked_in_a_batch(facevalue: Command) -> None:
    asked = (
        "counterfactuals",
        "--sets",
        "2",
        "--max-tokens",
        "99",
        "--model",
        "gpt-x",
        "--form",
        "openai",
        "--out",
        "r",
    )
    outcome = facevalue("requests", *asked)
    assert outcome.status == 0, outcome.err
    line = json.loads(Path("r/requests/openai-001.jsonl").read_text().splitlines()[0])
    assert {line["body"].get("max_tokens"), line["body"].get("max_completion_tokens")} >= {99}


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


def test_the_printed_import_takes_the_list_that_the_folder_was_begun_with(facevalue: Command) -> None:
    Path("pics").mkdir()
    Image.new("RGB", (8, 8)).save("pics/a.png")
    Image.new("RGB", (8, 8), "white").save("pics/b.png")
    Path("pics/list.csv").write_text("path,identity,gender\na.png,a,male\nb.png,b,female\n")
    asked = ("--manifest", "pics/list.csv", "--kind", "photographs", "--model", "m")
    written = facevalue("requests", "gras", *asked, "--form", "openai", "--out", "run")
    assert written.status == 0, written.err
    body = {"model": "m", "choices": [{"message": {"content": "Yes"}, "finish_reason": "stop"}]}
    lines = [json.loads(line) for line in Path("run/requests/openai-001.jsonl").read_text().splitlines()]
    answers = [{"custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}} for line in lines]
    Path("ANSWERS.jsonl").write_text("".join(f"{json.dumps(answer)}\n" for answer in answers))
    printed = written.out.splitlines()[-1].removeprefix("Answers: facevalue ").replace("ANSWERS", "ANSWERS.jsonl")
    outcome = facevalue(*printed.split())
    assert outcome.status == 0, outcome.err
