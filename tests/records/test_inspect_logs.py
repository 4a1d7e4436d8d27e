"""Logs of Inspect as runs: equal to a run of ours on the same answers, and one sentence for each mistake."""

import json
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import facevalue as fv
from facevalue.cli.actions.running import ImportDocument, import_records
from facevalue.cli.output import Output
from facevalue.errors import DataError, FaceValueError, ModelError, RunError
from facevalue.records import inspect_log
from facevalue.records.inspect_log import inspect_log as read
from facevalue.store import read_responses
from facevalue.studies.registry import file_text
from tests.records.recorded import Asking, asking, head, sample, samples, write_log
from tests.servers.refused_forms import DECLINED


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Asking:
    return asking(tmp_path_factory.mktemp("ours") / "run")


def bring(log: Path, out: Path, **more: Any) -> Output[ImportDocument]:
    return import_records((log,), out, more.get("name"), more.get("outside", False))


def log_of(asked: Asking, folder: Path, name: str = "log.eval", **changes: Any) -> Path:
    return write_log(folder / name, head(asked.asked, **changes), samples(asked))


ANSWERS = ["trial", "repeat", "text", "preference", "na"]


def test_equal_to_a_run_on_the_same_answers(asked: Asking, tmp_path: Path) -> None:
    output = bring(log_of(asked, tmp_path), tmp_path / "run")
    (document,) = output.document.runs  # type: ignore[union-attr]
    assert (output.status, document.complete, document.errors, output.warnings) == (0, True, 0, [])
    theirs, ours = fv.open_run(tmp_path / "run"), fv.open_run(asked.folder)
    assert theirs.answers().select(ANSWERS).equals(ours.answers().select(ANSWERS))
    estimates = [run.estimates().drop("model") for run in (theirs, ours)]
    # Recorded answers have no times to follow a drift over.
    assert_frame_equal(*(table.filter(~pl.col("measure").str.contains("drift|wavering|sight")) for table in estimates))
    assert theirs.model == "openai/gpt-x"
    assert theirs.verify().replies == len(asked.pairs)


def test_what_the_folder_says_of_who_answered(asked: Asking, tmp_path: Path) -> None:
    config = {"temperature": 0.2, "top_p": 1.0, "max_tokens": 2048, "reasoning_effort": "low", "max_connections": 5}
    bring(log_of(asked, tmp_path, plan={"config": config}), tmp_path / "run", name="before")
    facts = fv.open_run(tmp_path / "run").stored.facts
    assert facts.model_settings == {"recorded_by": "Inspect", "reasoning_effort": "low", "max_tokens": 2048}
    assert (facts.name, facts.replayed) == ("before", True)
    findings = facts.sessions[0].findings
    assert findings["version_inspect_ai"] == "0.3.285"
    assert findings["served_by"] == "gpt-x-2026"
    assert len(str(findings["record_sha256"])) == 64
    rows = fv.open_run(tmp_path / "run").answers(limit=1)
    assert rows["prompt_tokens"].to_list() == [15]


def test_samples_that_a_provider_declined_are_refusals(asked: Asking, tmp_path: Path) -> None:
    errors = [f"BadRequestError('Error code: {status} - {said}')" for status, said in DECLINED.values()]
    withheld = [
        sample(*pair, error={"message": text}, output=None) for pair, text in zip(asked.pairs, errors, strict=False)
    ]
    withheld += [sample(*asked.pairs[len(errors)], output={"choices": [], "error": "Blocked by our content policy."})]
    bring(write_log(tmp_path / "log.eval", head(asked.asked), withheld), tmp_path / "run")
    statuses = {row[:2]: row[2] for row in read_responses(tmp_path / "run").select("trial", "repeat", "status").rows()}
    told = [statuses[request[:2]] for request, _ in asked.pairs[: len(withheld)]]
    assert told == ["refused"] * len(withheld)
    assert sum(status == "refused" for status in statuses.values()) == len(withheld)


def test_a_fuller_log_goes_on(asked: Asking, tmp_path: Path) -> None:
    part = write_log(tmp_path / "a.eval", head(asked.asked), samples(asked)[:50])
    output = bring(part, tmp_path / "run")
    (document,) = output.document.runs  # type: ignore[union-attr]
    assert (output.status, document.errors) == (3, len(asked.pairs) - 50)
    assert document.failure == "no answer is recorded"
    (document,) = bring(log_of(asked, tmp_path), tmp_path / "run").document.runs  # type: ignore[union-attr]
    assert (document.complete, document.errors, document.skipped) == (True, 0, 50)
    ours = fv.open_run(asked.folder).answers().select(ANSWERS)
    assert fv.open_run(tmp_path / "run").answers().select(ANSWERS).equals(ours)


def test_a_live_run_does_not_go_on_with_it(asked: Asking, tmp_path: Path) -> None:
    bring(log_of(asked, tmp_path), tmp_path / "run")
    study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear", scenario="wealthy,friendly")
    with pytest.raises(RunError, match="other settings: model: openai/gpt-x in the folder, sim/default asked"):
        fv.run(study, "sim/default", tmp_path / "run", sample=120)


def test_logs_of_several_models(asked: Asking, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for model in ("openai/gpt-x", "anthropic/claude-x"):
        log_of(asked, logs, f"{model[:3]}.eval", eval=head(asked.asked, model)["eval"])
    write_log(logs / "other.eval", head(asked.asked, eval={"task": "mmlu", "model": "m", "metadata": None}), ())
    output = bring(logs, tmp_path / "runs")
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [
        "stylisticbias-anthropic-claude-x",
        "stylisticbias-openai-gpt-x",
    ]
    assert output.warnings == [
        "Left out: other.eval is a log of the task 'mmlu', which is none of FaceValue's: 'inspect eval "
        "facevalue/STUDY' writes those that can be imported."
    ]
    write_log(logs / "z.eval", head(replace(asked.asked, sample=60)), samples(asked))
    bring(logs, tmp_path / "more")
    assert (tmp_path / "more" / "stylisticbias-openai-gpt-x-2").is_dir()
    with pytest.raises(FaceValueError, match="--name is for one run, and these are 3"):
        bring(logs, tmp_path / "runs", name="both")


def one(asked: Asking, folder: Path, **changes: Any) -> dict[str, Any]:
    """The stored answer to a sample that is changed so."""
    listed = samples(asked)
    output = {**listed[0]["output"], **changes.pop("output", {})}
    listed[0] = {**listed[0], "output": output, **changes}
    bring(write_log(folder / "log.eval", head(asked.asked), listed), folder / "run")
    rows = fv.open_run(folder / "run").stored.folder
    trial, repeat = asked.pairs[0][0][:2]
    return read_responses(rows).filter(trial=trial, repeat=repeat).row(0, named=True)


def choice(text: object = "(a)", ended: str = "stop", **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": text}, "stop_reason": ended, **more}]}


SAID = "(what was said)"
"""Stands for the text of the first recorded reply."""
CASES: list[tuple[dict[str, Any], str, str | None, str | None]] = [
    ({"output": choice([{"type": "reasoning", "reasoning": "?"}, {"type": "text", "text": "(b)"}])}, "ok", "(b)", None),
    ({"output": choice("attachment://x"), "attachments": {"x": "(b) it is"}}, "ok", "(b) it is", None),
    ({"output": choice("I thi", "max_tokens")}, "truncated", "I thi", None),
    ({"output": choice("", "content_filter")}, "refused", "", "A content filter withheld the reply."),
    (
        {"output": choice("no", "content_filter", stop_details={"explanation": "Content filtered: hate"})},
        "refused", "no", "A content filter withheld the reply: Content filtered: hate",
    ),
    ({"output": choice("(a)", "unknown")}, "error", None,
     "log.eval: the reply was broken off ('unknown')"),
    ({"output": {**choice("Your prompt is too long: (a)", "model_length"), "usage": None}}, "error", None,
     "log.eval: The prompt is longer than the model takes: Your prompt is too long: (a)"),
    ({"output": {**choice("(a) was flagged"), "error": "flagged"}}, "refused", None,
     "A content filter withheld the reply: flagged"),
    ({"output": choice([{"type": "text", "text": "(a)? No.", "refusal": True}])}, "refused", "(a)? No.",
     "The model declined."),
    ({"output": choice([{"type": "reasoning", "reasoning": "?"}], "max_tokens")}, "truncated", "",
     "Cut off at the token limit before the model had ended thinking."),
    ({"output": choice([{"type": "reasoning", "reasoning": "(a)"}])}, "ok", "",
     "All that came is what the model thought (reasoning): no answer was given."),
    ({"output": choice("[THINK]It may be (a)", "max_tokens")}, "truncated", "[THINK]It may be (a)",
     "Cut off at the token limit before the model had ended thinking."),
    ({"output": choice("<xthink>It may be (a)")}, "truncated", "<xthink>It may be (a)",
     "The reply ended before the model had ended thinking."),
    ({"output": {"model": "gpt-mini"}}, "error", None,
     "log.eval: Answered by gpt-mini, not by gpt-x, which was asked."),
    ({"output": {"model": "openai/GPT-x-2026-08-06"}}, "ok", SAID, None),
    ({"output": choice("attachment://x"), "attachments": {}}, "error", None, "log.eval: its content is no text"),
    ({"output": choice(None)}, "error", None, "log.eval: its content is no text"),
    ({"output": {"usage": {"input_tokens": 10**400}}}, "error", None,
     "log.eval: a count of tokens that no reply can have"),
    (
        {"output": {"fallback": {"model": "gpt-x", "fallback_model": "gpt-mini"}}},
        "error", None, "log.eval: Answered by gpt-mini in place of gpt-x.",
    ),
    ({"error": {"message": "RateLimitError"}}, "error", None, "log.eval: RateLimitError"),
    ({"limit": {"type": "time", "limit": 3}, "output": {"choices": []}}, "error", None,
     "log.eval: a limit ended the sample (time)."),
    ({"limit": {"type": "token", "limit": 3}}, "error", None, "log.eval: a limit ended the sample (token)."),
    ({"invalidation": {"author": "me"}}, "error", None, "log.eval: the sample was invalidated."),
    ({"metadata": {"facevalue_content": "0" * 16}}, "error", None, "the recorded answer is about something else"),
    ({"metadata": {}}, "error", None, "the recorded answer is about something else"),
    ({"input": "Is this person rich?"}, "error", None, "the recorded answer is about something else"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "status", "text", "why"), CASES)
def test_how_a_sample_ended(
    asked: Asking, tmp_path: Path, changes: dict[str, Any], status: str, text: str | None, why: str | None
) -> None:
    row = one(asked, tmp_path, **changes)
    text = asked.pairs[0][1].text if text == SAID else text
    assert (row["status"], row["text"], row["error"]) == (status, text, why)


def test_a_sample_that_is_damaged_is_an_error_of_its_own(asked: Asking, tmp_path: Path) -> None:
    row = one(asked, tmp_path, output={"choices": [{"message": 3, "stop_reason": "stop"}]})
    assert row["error"] == "log.eval: a choice without a message"


def test_what_may_be_thinking_that_was_cut_off_is_no_answer(asked: Asking, tmp_path: Path) -> None:
    config = {"temperature": 0.2, "top_p": 1.0, "reasoning_effort": "low"}
    listed = [sample(*pair) for pair in asked.pairs]
    listed[0]["output"] |= choice("(a) seems right, but", "max_tokens")
    bring(write_log(tmp_path / "log.eval", head(asked.asked, plan={"config": config}), listed), tmp_path / "run")
    trial, repeat = asked.pairs[0][0][:2]
    row = read_responses(tmp_path / "run").filter(trial=trial, repeat=repeat).row(0, named=True)
    assert (row["status"], row["text"]) == ("truncated", "<think>(a) seems right, but")


def test_a_sample_that_is_listed_twice(asked: Asking, tmp_path: Path) -> None:
    listed = samples(asked)
    twice = [*listed, {**listed[0], "output": listed[1]["output"]}]
    (tmp_path / "log.json").write_text(json.dumps({**head(asked.asked), "samples": twice}))
    trial, repeat = asked.pairs[0][0][:2]
    assert f"a second answer to sample {trial}, epoch {repeat + 1}" in raised(tmp_path / "log.json", tmp_path / "run")
    strange = [{**listed[0], "id": "01"}, {**listed[0], "id": "\u0661"}, *listed]
    (tmp_path / "log.json").write_text(json.dumps({**head(asked.asked), "samples": strange}))
    assert bring(tmp_path / "log.json", tmp_path / "run").status == 0


def test_no_key_of_a_log_is_kept(asked: Asking, tmp_path: Path) -> None:
    top = head(asked.asked)
    top["eval"] |= {
        "model_base_url": "https://ann:hush@host/v1",
        "model_args": {"region": "eu", "client": {"api_key": "hush", "headers": {"Authorization": "hush"}}},
    }
    top["plan"]["config"]["extra_headers"] = {"x-api-key": "hush", "team": "a"}
    bring(write_log(tmp_path / "log.eval", top, samples(asked)), tmp_path / "run")
    assert "hush" not in (tmp_path / "run" / "run.toml").read_text()
    facts = fv.open_run(tmp_path / "run").stored.facts.model_settings
    assert facts["model_base_url"] == "https://host/v1"
    assert facts["model_args"] == '{"client": {"headers": {}}, "region": "eu"}'


def test_probabilities_of_a_stranger_are_checked(tmp_path: Path) -> None:
    exact = asking(tmp_path / "ours", exact=True, sample=40)
    listed = samples(exact)
    odd = [[10**400, 0], [0.9, 0.9], [-0.1, 0.2], [float("nan"), 0.1], [0.5]]
    for entry, probs in zip(listed, odd, strict=False):
        entry["output"]["metadata"]["facevalue_probs"] = probs
    bring(write_log(tmp_path / "log.eval", head(exact.asked), listed), tmp_path / "run")
    rows = {(row["trial"], row["repeat"]): row for row in read_responses(tmp_path / "run").iter_rows(named=True)}
    statuses = [rows[pair[0][:2]]["status"] for pair in exact.pairs]
    assert statuses == ["error"] * len(odd) + ["ok"] * (len(statuses) - len(odd))


def test_probabilities_from_logprobs(tmp_path: Path) -> None:
    exact = asking(tmp_path / "ours", exact=True, sample=40)
    listed = samples(exact)
    top = [{"token": "(a)", "logprob": -0.2231435513}, {"token": "(b)", "logprob": -1.6094379124}]
    logprobs = {"content": [{"token": "(a)", "logprob": -0.2231435513, "top_logprobs": top}]}
    listed[0]["output"] = choice(logprobs=logprobs)
    listed[1]["output"] = choice()
    listed[2]["metadata"]["facevalue_drawn"] = "Drawn, not read: 5% is not listed."
    listed[2]["output"] = choice("(b)")
    bring(write_log(tmp_path / "log.eval", head(exact.asked), listed), tmp_path / "run")
    rows = {(row["trial"], row["repeat"]): row for row in read_responses(tmp_path / "run").iter_rows(named=True)}
    first, second, third = (rows[pair[0][:2]] for pair in exact.pairs[:3])
    at_temperature = {"(a)": 0.9990243902, "(b)": 0.0009756098}  # 0.2: their fifth powers
    shown = [at_temperature[option.label] for option in exact.pairs[0][0].question.options]
    assert first["probs"] == pytest.approx(shown, abs=1e-6)
    assert (second["status"], second["probs"]) == ("error", None)
    assert (third["status"], third["text"], third["error"]) == ("ok", "(b)", "Drawn, not read: 5% is not listed.")
    assert rows[exact.pairs[5][0][:2]]["probs"] == pytest.approx(exact.pairs[5][1].probs)


def raised(log: Path, out: Path) -> str:
    with pytest.raises(FaceValueError) as caught:
        bring(log, out)
    message = str(caught.value)
    assert "\n" not in message
    return message


MISTAKES: list[tuple[Mapping[str, Any], str]] = [
    ({"version": 1}, "has log format 1; 2 is read: 'inspect log convert' writes it"),
    ({"eval": {"task": "mmlu", "metadata": {}}}, "is a log of the task 'mmlu', which is none of FaceValue's"),
    ({"eval": {"task": "t", "metadata": {"facevalue": 3}}}, "does not say which of FaceValue's studies was asked"),
    ({"eval": 7}, "the head of the log is 7, not an object"),
    ({"plan": {"config": {"temperature": 1.0}}}, "replies were drawn with temperature 1.0, and the study's is 0.2"),
]


@pytest.mark.parametrize(("changes", "message"), MISTAKES)
def test_heads_that_are_wrong(asked: Asking, tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    assert message in raised(log_of(asked, tmp_path, **changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()


ASKED: list[tuple[dict[str, Any], str]] = [
    ({"study": "stylisticbais"}, "Did you mean 'stylisticbias' or 'visbias'?"),
    ({"study": 4}, "what was asked has no 'study'"),
    ({"version": True}, "what was asked has no 'version'"),
    ({"version": 99}, "was asked by version 99 of stylisticbias"),
    ({"trials": 7}, "was asked by version 1 of stylisticbias (7 trials)"),
    ({"stimuli": "0" * 64}, "was asked about other pictures than stylisticbias shows now"),
    ({"options": {"faces": {"a": 1}}}, "the options of the study are not as FaceValue writes them"),
    ({"options": {"fcaes": "1"}}, "Did you mean 'faces' or 'faces_seed'?"),
    ({"options": {"manifest": "/etc/passwd"}}, "names files or folders of this machine (manifest = /etc/passwd)"),
    ({"options": {"manifest": "s3://bucket/list.csv"}}, "names files or folders of this machine"),
    ({"options": {"interventions": ["{"]}}, "A stored intervention cannot be read"),
    ({"sample": -1}, "what was asked has no 'sample' as FaceValue writes it"),
    ({"options": {"temperature": 10**400}}, "must be between 0 (greedy) and 2"),
]


@pytest.mark.parametrize(("changes", "message"), ASKED)
def test_what_was_asked_is_not_believed(asked: Asking, tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    top = head(asked.asked)
    top["eval"]["metadata"]["facevalue"] |= changes
    assert message in raised(write_log(tmp_path / "log.eval", top, samples(asked)), tmp_path / "run")


def test_what_was_asked_is_said_whole(asked: Asking, tmp_path: Path) -> None:
    for name in asked.asked.document():
        top = head(asked.asked)
        del top["eval"]["metadata"]["facevalue"][name]
        message = raised(write_log(tmp_path / "log.eval", top, samples(asked)), tmp_path / "run")
        assert f"what was asked has no {name!r} as FaceValue writes it" in message


def test_the_file_of_a_study_may_name_no_files_either(asked: Asking, tmp_path: Path) -> None:
    text = file_text("gras").replace("[pictures]\n", '[pictures]\nmanifest = "/etc/hostname"\n', 1)
    text = text.replace('name = "gras"', 'name = "mine"', 1)
    top = head(replace(asked.asked, study="mine", options={"study": text}))
    message = raised(write_log(tmp_path / "log.eval", top, samples(asked)), tmp_path / "run")
    assert "log.eval names files or folders of this machine (manifest = /etc/hostname)" in message


def test_another_sample_is_another_run(asked: Asking, tmp_path: Path) -> None:
    bring(log_of(asked, tmp_path), tmp_path / "run")
    top = head(replace(asked.asked, sample=60))
    message = raised(write_log(tmp_path / "b.eval", top, samples(asked)), tmp_path / "run")
    assert "sample: 120 in the folder, 60 asked" in message


def test_answers_to_other_pictures_end_the_import(asked: Asking, tmp_path: Path) -> None:
    listed = [sample(*pair, metadata={"facevalue_content": "0" * 16}) for pair in asked.pairs]
    with pytest.raises(ModelError, match="the first 20 answers are to other prompts or pictures"):
        bring(write_log(tmp_path / "log.eval", head(asked.asked), listed), tmp_path / "run")


def test_files_that_are_no_logs(asked: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.eval").write_bytes(b"PK\x03\x04 not a zip")
    assert "is cut short or damaged" in raised(tmp_path / "a.eval", tmp_path / "run")
    with zipfile.ZipFile(tmp_path / "b.eval", "w") as file:
        file.writestr("x", "y")
    assert "it has no header.json" in raised(tmp_path / "b.eval", tmp_path / "run")
    assert "Did you mean" in raised(tmp_path / "c.eval", tmp_path / "run")
    (tmp_path / "d.txt").write_text("x")
    assert "is no record of answers that is read" in raised(tmp_path / "d.txt", tmp_path / "run")
    (tmp_path / "e.json").write_text('{"version": 2')
    assert "is not valid JSON" in raised(tmp_path / "e.json", tmp_path / "run")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "holds no log of Inspect" in raised(empty, tmp_path / "run")
    assert "holds no answer" in raised(write_log(tmp_path / "f.eval", head(asked.asked), ()), tmp_path / "run")


def test_json_logs_are_read(asked: Asking, tmp_path: Path) -> None:
    document = {**head(asked.asked), "samples": samples(asked)}
    (tmp_path / "log.json").write_text(json.dumps(document))
    assert bring(tmp_path / "log.json", tmp_path / "run").status == 0


def test_a_log_that_was_cut_off_is_read_as_far_as_it_goes(asked: Asking, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as file:
        entry = samples(asked)[0]
        file.writestr("_journal/start.json", json.dumps(head(asked.asked)))
        file.writestr(f"samples/{entry['id']}_epoch_{entry['epoch']}.json", json.dumps(entry))
        file.writestr("samples/strange_epoch_1.json", "{}")
    record = read(tmp_path / "log.eval")
    assert list(record.places) == [asked.pairs[0][0][:2]]


def test_sizes_are_bounded(asked: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_log, "_MOST_SAMPLE", 100_000)
    listed = samples(asked)
    listed[0]["store"] = " " * 200_000
    bring(write_log(tmp_path / "log.eval", head(asked.asked), listed), tmp_path / "run")
    (error,) = read_responses(tmp_path / "run").filter(status="error")["error"]
    assert "is larger than" in error


def test_a_zip_bomb_that_lies_about_its_size(asked: Asking, tmp_path: Path) -> None:
    path = write_log(tmp_path / "log.eval", {**head(asked.asked), "bomb": " " * 2_000_000}, ())
    data = bytearray(path.read_bytes())
    entry = data.rindex(b"PK\x01\x02")  # of the central directory: the size before compression is at 24
    struct.pack_into("<I", data, entry + 24, 1_000)
    path.write_bytes(data)
    assert "its checksum is another one" in raised(path, tmp_path / "run")


def test_a_flipped_bit_is_seen(asked: Asking, tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        file.writestr("header.json", json.dumps(head(asked.asked)))
    data = bytearray(path.read_bytes())
    data[data.index(b"success")] ^= 1
    path.write_bytes(data)
    assert "its checksum is another one" in raised(path, tmp_path / "run")


def test_ways_of_compression_that_are_not_read(asked: Asking, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_BZIP2) as file:
        file.writestr("header.json", json.dumps(head(asked.asked)))
    assert "in a way that is not read" in raised(tmp_path / "log.eval", tmp_path / "run")


def test_a_sample_that_is_filed_under_another_number(asked: Asking, tmp_path: Path) -> None:
    entry = samples(asked)[0]
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as file:
        file.writestr("header.json", json.dumps(head(asked.asked)))
        file.writestr(f"samples/{entry['id'] + 1}_epoch_1.json", json.dumps(entry))
    record = read(tmp_path / "log.eval")
    with pytest.raises(DataError, match="is filed under another number than its own"):
        record.reply(record.places[entry["id"] + 1, 0])
