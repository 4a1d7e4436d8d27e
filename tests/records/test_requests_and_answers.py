"""Requests written for batches and other tools, and their answers brought back: equal to a run, or one sentence."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import facevalue as fv
from facevalue.cli.importing import ImportDocument, import_records
from facevalue.cli.output import Output
from facevalue.errors import FaceValueError, RunError, SettingError
from facevalue.protocol.study import Study
from facevalue.records import lines, requests
from facevalue.records.base import content_of
from facevalue.records.lines import CustomId
from facevalue.runs import RunSettings
from facevalue.runs.requested import Requested, write_requests
from facevalue.store import read_responses
from facevalue.types import Request, Response
from tests.records.recorded import Asking, asking

Line = dict[str, Any]


def chosen(temperature: float = 0.2) -> Study:
    return fv.study(
        "stylisticbias", faces="1M,1F", attributes="eyewear", scenarios="wealthy,friendly", temperature=temperature
    ).compiled


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Asking:
    return asking(tmp_path_factory.mktemp("ours") / "run")


def begin(folder: Path, form: str, **more: Any) -> Requested:
    study = chosen()
    limit = more.pop("max_tokens", None)
    return write_requests(study, "gpt-x", form, folder, RunSettings(sample=120, **more), limit)


def name(request: Request) -> str:
    return str(CustomId.of(request, content_of(request)))


def openai(request: Request, response: Response) -> Line:
    body = {
        "model": "gpt-x-2026",
        "choices": [{"message": {"content": response.text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 2},
    }
    return {"id": "b", "custom_id": name(request), "response": {"status_code": 200, "body": body}, "error": None}


def anthropic(request: Request, response: Response) -> Line:
    message = {
        "model": "gpt-x-20260101",
        "content": [{"type": "thinking", "thinking": "?"}, {"type": "text", "text": response.text}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 4, "cache_read_input_tokens": 5, "output_tokens": 2},
    }
    return {"custom_id": name(request), "result": {"type": "succeeded", "message": message}}


def lmms(request: Request, response: Response) -> Line:
    return {
        "doc_id": 3, "target": name(request), "filtered_resps": [response.text], "resps": [[response.text]],
        "doc_hash": "x", "input": "?", "exact_match": 0.0,
        "token_counts": [{"input_tokens": 9, "output_tokens": 2}],
    }  # fmt: skip


def promptfoo(request: Request, response: Response) -> Line:
    return {
        "promptIdx": 0, "testIdx": 1, "provider": {"id": "openai:gpt-x", "label": ""}, "latencyMs": 12, "success": True,
        "vars": {"custom_id": name(request)}, "prompt": {"raw": "?", "label": "?"},
        "response": {"output": response.text, "tokenUsage": {"prompt": 9, "completion": 2, "total": 11}},
    }  # fmt: skip


class Tool(NamedTuple):
    """Another tool: the form of its requests, and how it writes an answer."""

    form: str
    write: Callable[[Request, Response], Line]


TOOLS = {
    "openai": Tool("openai", openai),
    "anthropic": Tool("anthropic", anthropic),
    "lmms": Tool("rows", lmms),
    "promptfoo": Tool("rows", promptfoo),
}


def save(path: Path, answers: Iterable[Mapping[str, Any]], tool: str) -> Path:
    if tool == "promptfoo":
        path = path.with_suffix(".json")
        document = {"evalId": "e", "results": {"version": 3, "timestamp": "t", "results": list(answers)}, "config": {}}
        path.write_text(json.dumps(document))
    else:
        path.write_text("".join(f"{json.dumps(answer)}\n" for answer in answers))
    return path


def bring(path: Path, out: Path) -> Output[ImportDocument]:
    return import_records((path,), out, None, outside=False)


@pytest.mark.parametrize("tool", TOOLS)
def test_answers_come_back_to_their_requests(asked: Asking, tmp_path: Path, tool: str) -> None:
    form, write = TOOLS[tool]
    written = begin(tmp_path / "run", form)
    assert (written.requests, written.answered, len(written.files)) == (len(asked.pairs), 0, 1)
    answers = [write(*pair) for pair in asked.pairs]
    output = bring(save(tmp_path / "a.jsonl", reversed(answers), tool), tmp_path / "run")
    (document,) = output.document.runs  # type: ignore[union-attr]
    assert (output.status, document.complete, document.model, output.warnings) == (0, True, "gpt-x", [])
    theirs, ours = fv.open_run(tmp_path / "run"), fv.open_run(asked.folder)
    columns = ["trial", "repeat", "text", "weight", "na"]
    assert theirs.answers().select(columns).equals(ours.answers().select(columns))
    if tool == "openai":
        estimates = [run.estimates().drop("model") for run in (theirs, ours)]
        assert_frame_equal(*(table.filter(~pl.col("measure").str.contains("drift")) for table in estimates))
    assert theirs.answers(limit=1)["prompt_tokens"].to_list() == [9]


def test_what_is_written_for_openai(asked: Asking, tmp_path: Path) -> None:
    (path,) = begin(tmp_path / "run", "openai").files
    written = [json.loads(line) for line in path.read_text().splitlines()]
    assert {line["custom_id"] for line in written} == {name(request) for request, _ in asked.pairs}
    line = next(line for line in written if line["custom_id"] == name(asked.pairs[0][0]))
    assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
    request = asked.pairs[0][0]
    body = line["body"]
    assert (body["model"], body["temperature"], body["max_completion_tokens"]) == ("gpt-x", 0.2, 16)
    assert body["seed"] == request.seed
    picture, text = body["messages"][-1]["content"]
    assert picture["image_url"]["url"].startswith("data:image/png;base64,")
    assert text["text"] == request.question.prompt


def test_what_is_written_for_anthropic(asked: Asking, tmp_path: Path) -> None:
    (path,) = begin(tmp_path / "run", "anthropic", max_tokens=1000).files
    document = json.loads(path.read_text())
    assert len(document["requests"]) == len(asked.pairs)
    sent = document["requests"][0]["params"]
    assert (sent["model"], sent["max_tokens"], sent["temperature"]) == ("gpt-x", 1000, 0.2)
    assert "top_p" not in sent
    assert [part["type"] for part in sent["messages"][0]["content"]] == ["image", "text"]
    facts = fv.open_run(tmp_path / "run").stored.facts
    assert facts.model_settings == {"recorded_by": "Anthropic batch", "max_tokens": 1000}
    assert (facts.counts.requests, facts.end) == (len(asked.pairs), None)


def test_files_are_cut_and_what_is_open_is_written_again(
    asked: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(requests.FORMS, "rows", replace(requests.FORMS["rows"], most_requests=50))
    written = begin(tmp_path / "run", "rows")
    assert [path.name for path in written.files] == ["rows-001.jsonl", "rows-002.jsonl", "rows-003.jsonl"]
    rows = [json.loads(line) for path in written.files for line in path.read_text().splitlines()]
    assert len({row["custom_id"] for row in rows}) == len(asked.pairs)
    assert {"trial", "repeat", "prompt", "images", "temperature", "seed"} <= set(rows[0])
    output = bring(save(tmp_path / "a.jsonl", (lmms(*pair) for pair in asked.pairs[:80]), "lmms"), tmp_path / "run")
    assert output.status == 3
    again = begin(tmp_path / "run", "rows")
    assert (again.requests, again.answered) == (len(asked.pairs) - 80, 80)
    assert [path.name for path in (tmp_path / "run" / "requests").iterdir()] == ["rows-001.jsonl"]
    output = bring(save(tmp_path / "b.jsonl", (lmms(*pair) for pair in asked.pairs[80:]), "lmms"), tmp_path / "run")
    assert output.status == 0


def first(asked: Asking, folder: Path, tool: str, change: Callable[[Line], Line]) -> dict[str, Any]:
    """The stored answer to a request whose answer is changed so."""
    form, write = TOOLS[tool]
    begin(folder / "run", form)
    answers = [write(*pair) for pair in asked.pairs]
    answers[0] = change(answers[0])
    bring(save(folder / "a.jsonl", answers, tool), folder / "run")
    trial, repeat = asked.pairs[0][0][:2]
    return read_responses(folder / "run").filter(trial=trial, repeat=repeat).row(0, named=True)


def body(**more: Any) -> Callable[[Line], Line]:
    return lambda line: {**line, "response": {**line["response"], "body": {**line["response"]["body"], **more}}}


def result(**more: Any) -> Callable[[Line], Line]:
    return lambda line: {**line, "result": {**line["result"], **more}}


def message(**more: Any) -> Callable[[Line], Line]:
    return lambda line: result(message={**line["result"]["message"], **more})(line)


def response(**more: Any) -> Callable[[Line], Line]:
    return lambda line: {**line, "response": {**line["response"], **more}}


OUTCOMES: list[tuple[str, Callable[[Line], Line], str, str | None]] = [
    ("openai", body(choices=[{"message": {"content": "(a"}, "finish_reason": "length"}]), "truncated", None),
    ("openai", body(choices=[{"message": {"content": "", "refusal": "No."}, "finish_reason": "stop"}]), "refused",
     "The model declined."),
    ("openai", body(choices=[]), "error", "a.jsonl: the reply is no chat completion: no choices"),
    ("openai", response(status_code=429, body={"error": {"message": "slow down"}}), "error",
     "a.jsonl: HTTP 429: slow down"),
    ("openai", response(status_code=400, body={"error": {"code": "content_filter", "message": "no"}}), "refused", "no"),
    ("openai", lambda line: {**line, "response": None, "error": {"message": "expired"}}, "error", "a.jsonl: expired"),
    ("openai", response(body=7), "error", "a.jsonl: HTTP 200: no reason given"),
    ("anthropic", message(stop_reason="refusal"), "refused", "The model declined."),
    ("anthropic", message(stop_reason="max_tokens"), "truncated", None),
    ("anthropic", message(stop_reason="pause_turn"), "error",
     "a.jsonl: the reply was broken off ('pause_turn')"),
    ("anthropic", result(type="expired"), "error", "a.jsonl: expired"),
    ("anthropic", result(type="errored", error={"type": "error", "error": {"message": "too large"}}), "error",
     "a.jsonl: errored: too large"),
    ("anthropic", message(content="(a)"), "error", "a.jsonl: the content of a message is '(a)', not a list."),
    ("lmms", lambda line: {**line, "resps": [[3]]}, "error", "a.jsonl: the sample has no reply that is a text"),
    ("lmms", lambda line: {**line, "resps": [["(a)", "(b)"]]}, "error",
     "a.jsonl: the sample has 2 replies, and one was asked"),
    ("lmms", lambda line: {**line, "resps": "[LMMS_EVAL_REQUEST_FAILED after 3 retries] (a)"}, "error",
     "a.jsonl: the request failed: [LMMS_EVAL_REQUEST_FAILED after 3 retries] (a)"),
    ("lmms", lambda line: {**line, "resps": [[" "]]}, "error", "a.jsonl: the request failed: its reply is empty"),
    ("lmms", lambda line: {key: value for key, value in line.items() if key != "resps"}, "ok", None),
    ("promptfoo", response(error="Rate limit"), "error", "a.json: Rate limit"),
    ("promptfoo", response(isRefusal=True), "refused", "The model declined."),
    ("promptfoo", response(finishReason="length"), "truncated", None),
    ("promptfoo", response(output={"a": 1}), "error", None),
    ("promptfoo", response(finishReason="MAX_TOKENS"), "truncated", None),
    ("promptfoo", response(finishReason="pause_turn"), "error",
     "a.json: the reply was broken off ('pause_turn')"),
    ("promptfoo", response(guardrails={"flagged": True}), "refused", "The model declined."),
    ("promptfoo", response(error="filtered", guardrails={"flagged": True}), "refused", "The model declined."),
    ("promptfoo", lambda line: {**line, "latencyMs": 10**400}, "ok", None),
    ("anthropic", message(stop_reason="model_context_window_exceeded"), "truncated", None),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "change", "status", "why"), OUTCOMES)
def test_how_an_answer_ended(
    asked: Asking, tmp_path: Path, tool: str, change: Callable[[Line], Line], status: str, why: str | None
) -> None:
    row = first(asked, tmp_path, tool, change)
    assert row["status"] == status
    assert why is None or row["error"] == why


def test_an_answer_to_another_picture_is_not_taken(asked: Asking, tmp_path: Path) -> None:
    trial, repeat = asked.pairs[0][0][:2]
    row = first(asked, tmp_path, "openai", lambda line: {**line, "custom_id": f"{trial}-{repeat}-{'0' * 16}"})
    assert (row["status"], row["error"]) == ("error", "the recorded answer is about something else")


def named(model: str) -> Callable[[Line], Line]:
    return body(model=model)


def test_answers_of_another_model(asked: Asking, tmp_path: Path) -> None:
    begin(tmp_path / "run", "openai")
    answers = [openai(*pair) for pair in asked.pairs]
    answers[3] = named("gpt-mini")(answers[3])
    output = bring(save(tmp_path / "a.jsonl", answers, "openai"), tmp_path / "run")
    (document,) = output.document.runs  # type: ignore[union-attr]
    assert document.failure == "Answered by gpt-mini, not by gpt-x-2026, which was asked."
    assert (output.status, document.errors, output.warnings) == (3, 1, [])


def test_answers_under_the_name_of_a_deployment(asked: Asking, tmp_path: Path) -> None:
    begin(tmp_path / "run", "openai")
    answers = [named("gpt-4o-2024-08-06")(openai(*pair)) for pair in asked.pairs]
    output = bring(save(tmp_path / "a.jsonl", answers, "openai"), tmp_path / "run")
    assert output.status == 0
    assert output.warnings == ["The replies are of gpt-4o-2024-08-06, and the run is of gpt-x: is this the same model?"]


def test_two_files_that_answer_the_same_otherwise(asked: Asking, tmp_path: Path) -> None:
    begin(tmp_path / "run", "openai")
    answers = [openai(*pair) for pair in asked.pairs]
    first_file = save(tmp_path / "a.jsonl", answers, "openai")
    others = [body(choices=[{"message": {"content": "?"}, "finish_reason": "stop"}])(line) for line in answers[:7]]
    second_file = save(tmp_path / "b.jsonl", [*others, *answers[7:]], "openai")
    output = import_records((first_file, second_file), tmp_path / "run", None, outside=False)
    assert output.warnings == ["7 requests have another answer in a later file: that of the first file counts."]
    ours = fv.open_run(asked.folder).answers().select("trial", "repeat", "text")
    assert fv.open_run(tmp_path / "run").answers().select("trial", "repeat", "text").equals(ours)


def test_the_same_from_python(asked: Asking, tmp_path: Path) -> None:
    study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear", scenarios="wealthy,friendly")
    written = fv.write_requests(study, "gpt-x", tmp_path / "run", form="openai", sample=120, max_tokens=50)
    assert (written.requests, written.folder) == (len(asked.pairs), tmp_path / "run")
    answers = save(tmp_path / "a.jsonl", [openai(*pair) for pair in asked.pairs[:-1]], "openai")
    (run,) = fv.import_records(answers, folder=tmp_path / "run", progress=False)
    assert (run.model, run.summary and run.summary.errors, run.complete) == ("gpt-x", 1, False)
    assert fv.write_requests(study, "gpt-x", tmp_path / "run", form="openai", sample=120, max_tokens=50).requests == 1
    with pytest.raises(FaceValueError, match="Unknown form of requests 'opneai'"):
        fv.write_requests(study, "gpt-x", tmp_path / "other", form="opneai")
    for name in ("", " ", "a\nb", "a\x07b", "x" * 301):
        with pytest.raises(SettingError, match="The name of the model that will be asked is a text"):
            fv.write_requests(study, name, tmp_path / "other", form="openai")
    assert not (tmp_path / "other").exists()


def refused(path: Path, out: Path) -> str:
    with pytest.raises(FaceValueError) as caught:
        bring(path, out)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_mistakes_are_one_sentence(asked: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "run"
    (sent,) = begin(run, "openai").files
    good = [openai(*pair) for pair in asked.pairs[:3]]
    path = tmp_path / "a.jsonl"
    assert "holds requests, not answers" in refused(sent, run)
    assert "a second answer to" in refused(save(path, [good[0], good[0]], "openai"), run)
    for other in ("task-1", 7, None, "1-2", "1-999-" + "0" * 16, "\u0661-0-" + "0" * 16, "9" * 19 + "-0-" + "0" * 16):
        bad = save(path, [good[0], {**good[1], "custom_id": other}], "openai")
        assert "a.jsonl, line 2: " in refused(bad, run)
        assert "is no id of a request that FaceValue wrote" in refused(bad, run)
    path.write_text('{"custom_id": 1, "response": \n')
    assert "a.jsonl, line 1 is not valid JSON" in refused(path, run)
    path.write_text(f"{json.dumps(good[0])}\n[1]\n")
    assert "a.jsonl, line 2 is [1], not an object" in refused(path, run)
    path.write_text("\n")
    assert "a.jsonl is empty" in refused(path, run)
    path.write_text('{"x": 1}\n')
    assert "it begins with x. These are: logs of Inspect" in refused(path, run)
    (anthropic_file,) = begin(tmp_path / "other", "anthropic").files
    assert "holds requests, not answers" in refused(anthropic_file, tmp_path / "other")
    (tmp_path / "b.json").write_text('{"a": 1}')
    assert "is no record of answers that is read: it begins with a. These are" in refused(tmp_path / "b.json", run)
    (tmp_path / "b.json").write_text('{"results": {"results": 3}}')
    assert "its results is 3, not a list" in refused(tmp_path / "b.json", run)
    (tmp_path / "b.json").write_text('{"results": {"results": []}}')
    assert "holds no answer" in refused(tmp_path / "b.json", run)
    save(path, [anthropic(*asked.pairs[0])], "anthropic")
    assert "a.jsonl is of Anthropic batch, and" in refused(path, run)
    assert "was begun for OpenAI batch" in refused(path, run)
    assert "does not say which study was asked: import it into the folder that" in refused(path, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    save(path, [openai(*asked.pairs[0])], "openai")
    assert "is of OpenAI batch" in refused(path, asked.folder)
    assert "was begun for a live model" in refused(path, asked.folder)
    monkeypatch.setattr(lines, "LINE", 100)
    assert "line 1: longer than" in refused(save(path, good, "openai"), run)


def test_requests_that_a_form_does_not_take(tmp_path: Path) -> None:
    begin(tmp_path / "run", "openai")
    with pytest.raises(RunError, match=r"other settings: model recorded_by: OpenAI batch in the folder"):
        begin(tmp_path / "run", "anthropic")
    with pytest.raises(SettingError, match="No probabilities come back in the form 'anthropic'"):
        begin(tmp_path / "exact", "anthropic", exact=True)
    released = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear", prompts="released").compiled
    with pytest.raises(SettingError, match="asks again after a reply without an answer"):
        write_requests(released, "gpt-x", "openai", tmp_path / "released", RunSettings(sample=40))
    hot = chosen(temperature=1.5)
    with pytest.raises(SettingError, match=r"take temperatures up to 1, and this study draws at 1\.5"):
        write_requests(hot, "claude-x", "anthropic", tmp_path / "hot", RunSettings(sample=40))


def test_exact_requests_ask_for_log_probabilities(tmp_path: Path) -> None:
    (path,) = begin(tmp_path / "run", "openai", exact=True).files
    sent = json.loads(path.read_text().splitlines()[0])["body"]
    assert (sent["temperature"], sent["logprobs"], sent["top_logprobs"]) == (0, True, 20)


@pytest.mark.slow
def test_answers_that_could_not_be_constrained(tmp_path: Path) -> None:
    study, settings = fv.study("vignette").compiled, RunSettings(sample=20)
    (path,) = write_requests(study, "gpt-x", "rows", tmp_path / "run", settings).files
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    answers = [{"doc_id": 1, "target": row["custom_id"], "filtered_resps": ["(a)"]} for row in rows]
    (document,) = bring(save(tmp_path / "a.jsonl", answers, "lmms"), tmp_path / "run").document.runs  # type: ignore[union-attr]
    assert (document.complete, document.errors) == (True, 0)
    facts = fv.open_run(tmp_path / "run").stored.facts
    assert facts.model_settings == {"recorded_by": "another tool", "structured": False}


def test_a_live_run_is_not_begun_over(asked: Asking, tmp_path: Path) -> None:
    study = chosen()
    with pytest.raises(RunError, match="was begun with other settings: model: sim/default in the folder, gpt-x asked"):
        write_requests(study, "gpt-x", "openai", asked.folder, RunSettings(sample=120))
