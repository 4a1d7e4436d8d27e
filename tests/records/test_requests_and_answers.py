"""Requests written for batches, and their answers brought back: equal to a run, or one sentence."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import facevalue as fv
from facevalue.cli.actions.running import ImportDocument, import_records
from facevalue.cli.output import Output
from facevalue.errors import FaceValueError, ModelError, RunError, SettingError
from facevalue.hashing import model_hash
from facevalue.protocol.study import Study
from facevalue.records import batches
from facevalue.records.batches import ANTHROPIC, OPENAI, CustomId
from facevalue.report.collect import origin
from facevalue.report.data import RunFacts
from facevalue.report.sections.checks import CardStatus, record_card
from facevalue.runs import RunSettings
from facevalue.runs.outside_runs import Requested, write_requests
from facevalue.runs.stored_run import StoredRun
from facevalue.store import read_responses
from facevalue.store.manifest import RECORDED_BY
from facevalue.types import Request, Response
from tests.records.recorded import Asking, asking
from tests.servers.refused_forms import DECLINED

Line = dict[str, Any]


def chosen(temperature: float = 0.2, **more: Any) -> Study:
    asked_about: dict[str, Any] = {"faces": "1M,1F", "attributes": "eyewear", "scenario": "wealthy,friendly"}
    return fv.study("stylisticbias", temperature=temperature, **asked_about, **more).compiled


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Asking:
    return asking(tmp_path_factory.mktemp("ours") / "run")


def begin(folder: Path, form: str, **more: Any) -> Requested:
    study = chosen()
    limit = more.pop("max_tokens", None)
    return write_requests(study, "gpt-x", form, folder, RunSettings(sample=120, **more), limit)


def name(request: Request, tool: str, model: str = "gpt-x", **facts: str | int) -> str:
    return str(CustomId.of_request(request, model_hash(model, {RECORDED_BY: tool, **facts})))


def openai(request: Request, response: Response) -> Line:
    body = {
        "model": "gpt-x-2026",
        "choices": [{"message": {"content": response.text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 2},
    }
    return {
        "id": "b",
        "custom_id": name(request, OPENAI),
        "response": {"status_code": 200, "body": body},
        "error": None,
    }


def anthropic(request: Request, response: Response) -> Line:
    message = {
        "model": "gpt-x-20260101",
        "content": [{"type": "thinking", "thinking": "?"}, {"type": "text", "text": response.text}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 4, "cache_read_input_tokens": 5, "output_tokens": 2},
    }
    return {"custom_id": name(request, ANTHROPIC), "result": {"type": "succeeded", "message": message}}


class Tool(NamedTuple):
    """Another tool: the form of its requests, and how it writes an answer."""

    form: str
    write: Callable[[Request, Response], Line]


TOOLS = {
    "openai": Tool("openai", openai),
    "anthropic": Tool("anthropic", anthropic),
}


def save(path: Path, answers: Iterable[Mapping[str, Any]]) -> Path:
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
    output = bring(save(tmp_path / "a.jsonl", reversed(answers)), tmp_path / "run")
    (document,) = output.document.runs  # type: ignore[union-attr]
    assert (output.status, document.complete, document.model, output.warnings) == (0, True, "gpt-x", [])
    theirs, ours = fv.open_run(tmp_path / "run"), fv.open_run(asked.folder)
    columns = ["trial", "repeat", "text", "preference", "na"]
    assert theirs.answers().select(columns).equals(ours.answers().select(columns))
    if tool == "openai":
        estimates = [run.estimates().drop("model") for run in (theirs, ours)]
        assert_frame_equal(
            *(table.filter(~pl.col("measure").str.contains("drift|wavering|sight")) for table in estimates)
        )
    assert theirs.answers(limit=1)["prompt_tokens"].to_list() == [9]


def test_what_is_written_for_openai(asked: Asking, tmp_path: Path) -> None:
    (path,) = begin(tmp_path / "run", "openai").files
    written = [json.loads(line) for line in path.read_text().splitlines()]
    assert {line["custom_id"] for line in written} == {name(request, OPENAI) for request, _ in asked.pairs}
    line = next(line for line in written if line["custom_id"] == name(asked.pairs[0][0], OPENAI))
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
    monkeypatch.setitem(batches.FORMS, "openai", replace(batches.FORMS["openai"], most_requests=50))
    written = begin(tmp_path / "run", "openai")
    assert [path.name for path in written.files] == ["openai-001.jsonl", "openai-002.jsonl", "openai-003.jsonl"]
    sent = [json.loads(line) for path in written.files for line in path.read_text().splitlines()]
    assert len({line["custom_id"] for line in sent}) == len(asked.pairs)
    output = bring(save(tmp_path / "a.jsonl", (openai(*pair) for pair in asked.pairs[:80])), tmp_path / "run")
    assert output.status == 3
    again = begin(tmp_path / "run", "openai")
    assert (again.requests, again.answered) == (len(asked.pairs) - 80, 80)
    assert [path.name for path in (tmp_path / "run" / "requests").iterdir()] == ["openai-001.jsonl"]
    output = bring(save(tmp_path / "b.jsonl", (openai(*pair) for pair in asked.pairs[80:])), tmp_path / "run")
    assert output.status == 0


def first(asked: Asking, folder: Path, tool: str, change: Callable[[Line], Line]) -> dict[str, Any]:
    """The stored answer to a request whose answer is changed so."""
    form, write = TOOLS[tool]
    begin(folder / "run", form)
    answers = [write(*pair) for pair in asked.pairs]
    answers[0] = change(answers[0])
    bring(save(folder / "a.jsonl", answers), folder / "run")
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
    ("anthropic", message(stop_reason="model_context_window_exceeded"), "truncated", None),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "change", "status", "why"), OUTCOMES)
def test_how_an_answer_ended(
    asked: Asking, tmp_path: Path, tool: str, change: Callable[[Line], Line], status: str, why: str | None
) -> None:
    row = first(asked, tmp_path, tool, change)
    assert row["status"] == status
    assert why is None or row["error"] == why


def _withheld(tool: str, line: Line, status: int | None, said: Any) -> Line:
    """The line of a request that a provider declined, as a tool writes it down."""
    if tool == "openai":
        return {**line, "response": {"status_code": status, "body": said}} if status else {**line, "response": None,
                                                                                          "error": said}  # fmt: skip
    return {**line, "result": {"type": "errored", "error": {"type": "error", "error": said}}}


@pytest.mark.parametrize("tool", TOOLS)
def test_every_form_of_a_refusal_is_known_in_records_too(asked: Asking, tmp_path: Path, tool: str) -> None:
    form, write = TOOLS[tool]
    begin(tmp_path / "run", form)
    known = list(DECLINED.values())
    answers = [
        _withheld(tool, write(*pair), *withheld)
        for pair, withheld in zip(asked.pairs, known, strict=False)
    ]  # fmt: skip
    import_records((save(tmp_path / "a.jsonl", answers),), tmp_path / "run", None, outside=False)
    statuses = {row[:2]: row[2] for row in read_responses(tmp_path / "run").select("trial", "repeat", "status").rows()}
    assert [statuses[request[:2]] for request, _ in asked.pairs[: len(known)]] == ["refused"] * len(known)
    assert sum(status == "refused" for status in statuses.values()) == len(known)


def test_the_users_own_words_are_those_of_a_refusal(asked: Asking, tmp_path: Path) -> None:
    begin(tmp_path / "run", "openai")
    first, second, third = (openai(*pair) for pair in asked.pairs[:3])
    second["response"] = {"status_code": 400, "body": {"error": {"message": "Denied: AI Shield, rule 7"}}}
    third["response"]["body"]["choices"][0]["message"]["content"] = "Denied by AI Shield."
    path = save(tmp_path / "a.jsonl", [first, second, third])
    fv.import_records(path, folder=tmp_path / "run", refusal_words=["ai shield"], progress=False)
    statuses = {row[:2]: row[2] for row in read_responses(tmp_path / "run").select("trial", "repeat", "status").rows()}
    assert [statuses[request[:2]] for request, _ in asked.pairs[:4]] == ["ok", "refused", "refused", "error"]


def test_an_answer_to_another_picture_is_not_taken(asked: Asking, tmp_path: Path) -> None:
    trial, repeat = asked.pairs[0][0][:2]
    row = first(
        asked, tmp_path, "openai", lambda line: {**line, "custom_id": f"{trial}-{repeat}-{'0' * 16}-{'0' * 16}"}
    )
    assert (row["status"], row["error"]) == ("error", "the recorded answer is about something else")


def named(model: str) -> Callable[[Line], Line]:
    return body(model=model)


def test_answers_of_another_model(asked: Asking, tmp_path: Path) -> None:
    begin(tmp_path / "run", "openai")
    answers = [openai(*pair) for pair in asked.pairs]
    answers[3] = named("gpt-mini")(answers[3])
    output = bring(save(tmp_path / "a.jsonl", answers), tmp_path / "run")
    (document,) = output.document.runs  # type: ignore[union-attr]
    assert document.failure == "Answered by gpt-mini, not by gpt-x-2026, which was asked."
    assert (output.status, document.errors, output.warnings) == (3, 1, [])


def test_answers_under_the_name_of_a_deployment(asked: Asking, tmp_path: Path) -> None:
    begin(tmp_path / "run", "openai")
    answers = [named("gpt-4o-2024-08-06")(openai(*pair)) for pair in asked.pairs]
    path = save(tmp_path / "a.jsonl", answers)
    with pytest.raises(ModelError, match=r"is by gpt-4o-2024-08-06, and this run is of gpt-x\. .*--allow-mismatch"):
        bring(path, tmp_path / "run")
    output = import_records((path,), tmp_path / "run", None, outside=False, allow_mismatch=True)
    assert output.status == 0
    (warning,) = output.warnings
    assert "answers are by another model than this run's" in warning
    run = StoredRun.open(tmp_path / "run")
    (card,) = record_card([RunFacts("gpt-x", **origin(run))])
    assert (card.status, card.value) == (CardStatus.CAUTION, "OpenAI batch: a.jsonl, by gpt-4o-2024-08-06")
    assert f"{len(asked.pairs)} of the answers are by another model" in card.note


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("other", ["another model", "other seeds", "another temperature"])
def test_answers_to_what_another_run_asked_are_refused(asked: Asking, tmp_path: Path, tool: str, other: str) -> None:
    """As of two runs whose files were taken for one another: trial and repeat are the same."""
    form, write = TOOLS[tool]
    changes: dict[str, Any] = {"other seeds": {"seeds": ["7"]}, "another temperature": {"temperature": 0.7}}
    study = chosen(**changes.get(other, {}))
    model = "gpt-y" if other == "another model" else "gpt-x"
    write_requests(study, model, form, tmp_path / "run", RunSettings(sample=120))
    path = save(tmp_path / "a.jsonl", [write(*pair) for pair in asked.pairs])
    error = "other prompts or pictures" if other == "another temperature" else "--allow-mismatch"
    assert error in refused(path, tmp_path / "run")
    assert not (tmp_path / "run" / "responses").exists() or not answered(tmp_path / "run")
    if other == "another temperature":
        return
    (run,) = fv.import_records(path, folder=tmp_path / "run", allow_mismatch=True, progress=False)
    assert answered(tmp_path / "run")
    assert int(run.stored.facts.sessions[-1].findings["mismatched"]) > 0


def answered(folder: Path) -> list[tuple[Any, ...]]:
    return read_responses(folder).filter(pl.col("status") == "ok").select("trial", "repeat").rows()


def test_answers_of_another_run_among_ones_own_are_refused(asked: Asking, tmp_path: Path) -> None:
    begin(tmp_path / "run", "openai")
    answers = [openai(*pair) for pair in asked.pairs]
    answers[5]["custom_id"] = name(asked.pairs[5][0], OPENAI, "gpt-y")
    assert "--allow-mismatch" in refused(save(tmp_path / "a.jsonl", answers), tmp_path / "run")


def test_two_files_that_answer_the_same_otherwise(asked: Asking, tmp_path: Path) -> None:
    begin(tmp_path / "run", "openai")
    answers = [openai(*pair) for pair in asked.pairs]
    first_file = save(tmp_path / "a.jsonl", answers)
    others = [body(choices=[{"message": {"content": "?"}, "finish_reason": "stop"}])(line) for line in answers[:7]]
    second_file = save(tmp_path / "b.jsonl", [*others, *answers[7:]])
    output = import_records((first_file, second_file), tmp_path / "run", None, outside=False)
    assert output.warnings == ["7 requests have another answer in a later file: that of the first file counts."]
    ours = fv.open_run(asked.folder).answers().select("trial", "repeat", "text")
    assert fv.open_run(tmp_path / "run").answers().select("trial", "repeat", "text").equals(ours)


def test_the_same_from_python(asked: Asking, tmp_path: Path) -> None:
    study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear", scenario="wealthy,friendly")
    written = fv.write_requests(study, "gpt-x", tmp_path / "run", form="openai", sample=120, max_tokens=50)
    assert (written.requests, written.folder) == (len(asked.pairs), tmp_path / "run")
    lines_written = [{**openai(*pair), "custom_id": name(pair[0], OPENAI, max_tokens=50)} for pair in asked.pairs[:-1]]
    answers = save(tmp_path / "a.jsonl", lines_written)
    (run,) = fv.import_records(answers, folder=tmp_path / "run", progress=False)
    assert (run.model, run.summary and run.summary.errors, run.complete) == ("gpt-x", 1, False)
    assert fv.write_requests(study, "gpt-x", tmp_path / "run", form="openai", sample=120, max_tokens=50).requests == 1
    with pytest.raises(FaceValueError, match="Unknown form of requests 'opneai'"):
        fv.write_requests(study, "gpt-x", tmp_path / "other", form="opneai")
    for model in ("", " ", "a\nb", "a\x07b", "x" * 301):
        with pytest.raises(SettingError, match="The name of the model that will be asked is a text"):
            fv.write_requests(study, model, tmp_path / "other", form="openai")
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
    assert "a second answer to" in refused(save(path, [good[0], good[0]]), run)
    for other in ("task-1", 7, None, "1-2", "1-999-" + "0" * 16, "\u0661-0-" + "0" * 16, "9" * 19 + "-0-" + "0" * 16):
        bad = save(path, [good[0], {**good[1], "custom_id": other}])
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
    save(path, [anthropic(*asked.pairs[0])])
    assert "a.jsonl is of Anthropic batch, and" in refused(path, run)
    assert "was begun for OpenAI batch" in refused(path, run)
    assert "does not say which study was asked: import it into the folder that" in refused(path, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    save(path, [openai(*asked.pairs[0])])
    assert "is of OpenAI batch" in refused(path, asked.folder)
    assert "was begun for a live model" in refused(path, asked.folder)
    monkeypatch.setattr(batches, "LINE", 100)
    assert "line 1: longer than" in refused(save(path, good), run)


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
    (path,) = write_requests(study, "gpt-x", "openai", tmp_path / "run", settings).files
    body = {"model": "gpt-x", "choices": [{"message": {"content": "(a)"}, "finish_reason": "stop"}]}
    response = {"status_code": 200, "body": body}
    answers = [{"custom_id": json.loads(line)["custom_id"], "response": response} for line in path.open()]
    (document,) = bring(save(tmp_path / "a.jsonl", answers), tmp_path / "run").document.runs  # type: ignore[union-attr]
    assert (document.complete, document.errors) == (True, 0)
    facts = fv.open_run(tmp_path / "run").stored.facts
    assert facts.model_settings == {"recorded_by": "OpenAI batch", "structured": False}


def test_a_live_run_is_not_begun_over(asked: Asking, tmp_path: Path) -> None:
    study = chosen()
    with pytest.raises(RunError, match="was begun with other settings: model: sim/default in the folder, gpt-x asked"):
        write_requests(study, "gpt-x", "openai", asked.folder, RunSettings(sample=120))
