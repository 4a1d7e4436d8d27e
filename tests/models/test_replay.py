"""Recorded answers as a model: each request gets its own answer or none, whatever holds them and whatever is wrong."""

import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.cli.actions.running import execute
from facevalue.errors import DataError, FaceValueError, ModelError, UnknownNameError
from facevalue.hashing import combined_hash, conditions_hash, question_hash, stimulus_hash
from facevalue.models import load
from facevalue.models.replay import ReplayModel, RequestHashes
from facevalue.protocol.study import Study
from facevalue.protocol.toml_tables import find_variants
from facevalue.protocol.variants import add_interventions
from facevalue.runs import RunSettings, run
from facevalue.runs.export import export
from facevalue.runs.preparation import Prepared
from facevalue.runs.requests import draw_seed
from facevalue.runs.stored_run import StoredRun
from facevalue.store import read_responses
from facevalue.store.reader import count_drawn
from facevalue.studies import build
from facevalue.types import Option, OptionValue, Question, Request, Response, Sampling, Status, Stimulus
from tests.runs.tiny import TinyModel, failed, mixed, tiny_study

OPTIONS = (Option("(a)", "kind", "up"), Option("(b)", "rude", "down"))


def request(
    trial: int = 0, repeat: int = 0, *, exact: bool = False, prompt: str = "?", **factors: str | None
) -> Request:
    shown = {name: level for name, level in factors.items() if name != "question"}
    asked = {name: level for name, level in factors.items() if name == "question"}
    stimulus = Stimulus(str(trial), f"digest {trial}", shown, lambda: ())
    return Request(trial, repeat, 7, stimulus, Question(prompt, OPTIONS, None, asked), Sampling(), exact)


def table(folder: Path, text: str, name: str = "answers.csv") -> ReplayModel:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return ReplayModel(path)


def ask(model: ReplayModel, *requests: Request) -> list[Response]:
    return list(model.respond(requests))


def said(model: ReplayModel, *requests: Request) -> list[str | None]:
    return [response.text for response in ask(model, *requests)]


def test_a_run_is_replayed_answer_for_answer(tmp_path: Path) -> None:
    study = tiny_study(seeds=(5, 9), reasks=1)
    run(study, TinyModel(), tmp_path / "first")
    model = load(f"replay/{tmp_path / 'first'}")
    summary = run(study, model, tmp_path / "second")
    assert summary.errors == 0
    columns = ["trial", "repeat", "status", "text", "probs"]  # another model was asked: other requests
    first, second = (read_responses(tmp_path / name).select(columns) for name in ("first", "second"))
    assert first.equals(second)


def test_a_part_of_a_run_is_replayed(tmp_path: Path) -> None:
    study = tiny_study(faces=50)
    run(study, TinyModel(), tmp_path / "first")
    summary = run(study, ReplayModel(tmp_path / "first"), tmp_path / "part", RunSettings(sample=20, seed=3))
    assert (summary.asked, summary.errors) == (20, 0)


def test_answers_to_another_prompt_picture_or_sampling_are_not_given(tmp_path: Path) -> None:
    run(tiny_study(), TinyModel(), tmp_path / "first")
    model = ReplayModel(tmp_path / "first")
    with pytest.raises(ModelError, match=r"12 of 12 requests .* another study"):
        run(tiny_study(wording="Was this person"), model, tmp_path / "second")
    assert read_responses(tmp_path / "second")["status"].unique().to_list() == ["error"]


def test_what_failed_in_the_recorded_run_is_no_answer_and_is_asked_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    study = tiny_study()
    run(study, TinyModel(lambda r: failed(r) if r.trial == 4 else mixed(r)), tmp_path / "first")
    with caplog.at_level(logging.WARNING):
        summary = run(study, ReplayModel(tmp_path / "first"), tmp_path / "second")
    assert (summary.asked, summary.errors) == (12, 1)
    assert "1 of 12 requests had no recorded answer in replay/first" in caplog.text
    assert "trial 4, repeat 0" in caplog.text
    again = run(study, TinyModel(), tmp_path / "first")
    assert again.asked == 1


def test_probabilities_are_offered_if_they_were_recorded(tmp_path: Path) -> None:
    def exact(r: Request) -> Response:
        return Response(r.trial, r.repeat, Status.OK, None, (0.75, 0.125))

    study = tiny_study()
    run(study, TinyModel(exact, probabilities="full"), tmp_path / "first", RunSettings(exact=True))
    model = ReplayModel(tmp_path / "first")
    assert model.capabilities.probabilities == "full"
    run(study, model, tmp_path / "second", RunSettings(exact=True))
    assert read_responses(tmp_path / "second")["probs"].to_list() == [[0.75, 0.125]] * 12
    run(study, TinyModel(), tmp_path / "texts")
    assert ReplayModel(tmp_path / "texts").capabilities.probabilities == "none"


def test_replies_that_an_exact_run_drew_are_replayed_as_drawn(tmp_path: Path) -> None:
    def mostly(r: Request) -> Response:
        read = Response(r.trial, r.repeat, Status.OK, None, (0.75, 0.125))
        return Response(r.trial, r.repeat, Status.OK, "(b)", error="too little was listed") if r.trial == 4 else read

    study = tiny_study()
    first = run(study, TinyModel(mostly, probabilities="full"), tmp_path / "first", RunSettings(exact=True))
    assert count_drawn(tmp_path / "first") == 1
    assert any("1 of 12" in warning and "drawn" in warning for warning in first.warnings)
    run(study, ReplayModel(tmp_path / "first"), tmp_path / "second", RunSettings(exact=True))
    again = read_responses(tmp_path / "second")
    assert again["probs"].null_count() == 1
    assert again.filter(pl.col("trial") == 4)["text"].to_list() == ["(b)"]
    assert again["status"].unique().to_list() == ["ok"]


def test_the_name_holds_no_path_and_the_settings_a_hash_of_the_content(tmp_path: Path) -> None:
    one = table(tmp_path, "trial,text\n0,(a)\n")
    other = table(tmp_path, "trial,text\n0,(b)\n", "others.csv")
    assert one.name == "replay/answers.csv"
    assert str(tmp_path) not in json.dumps(dict(one.settings()))
    assert one.settings()["content"] != other.settings()["content"]
    run(tiny_study(), TinyModel(), tmp_path / "first")
    settings = ReplayModel(tmp_path / "first").settings()
    assert settings["answered_by"] == "tiny"
    assert settings == ReplayModel(tmp_path / "first").settings()


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_tables_answer_by_trial_and_repeat(tmp_path: Path, ending: str) -> None:
    frame = pl.DataFrame({"trial": [3, 3, 5], "repeat": [0, 1, 0], "text": ['(a) "yes",\n', "(b)", "ä"]})
    path = tmp_path / f"answers.{ending}"
    if ending == "csv":
        frame.write_csv(path)
    elif ending == "jsonl":
        frame.write_ndjson(path)
    else:
        frame.write_parquet(path)
    model = ReplayModel(path)
    assert said(model, request(5), request(3, 1), request(3)) == ["ä", "(b)", '(a) "yes",\n']


def test_statuses_and_probabilities_of_a_table(tmp_path: Path) -> None:
    lines = [
        {"trial": 0, "status": "refused", "text": None, "probs": None},
        {"trial": 1, "status": "truncated", "text": "I think", "probs": None},
        {"trial": 2, "status": None, "text": "(a)", "probs": [0.5, 0.25]},
        {"trial": 3, "status": "error", "text": None, "probs": None},
    ]
    model = table(tmp_path, "\n".join(map(json.dumps, lines)), "answers.jsonl")
    found = ask(model, *(request(trial) for trial in range(4)))
    assert [r.status for r in found] == [Status.REFUSED, Status.TRUNCATED, Status.OK, Status.ERROR]
    assert found[2].probs is None  # a sampled reply was wanted
    exact = ask(model, request(2, exact=True), request(1, exact=True))
    assert exact[0].probs == (0.5, 0.25)
    assert exact[1].status is Status.ERROR


def test_factors_find_their_requests_whatever_else_the_table_holds(tmp_path: Path) -> None:
    model = table(
        tmp_path,
        "occupation,race,note,question,text\nnurse,asian,x,income,A\nnurse,black,x,income,B\ncook,,y,income,C\n",
    )
    asked = [
        request(0, occupation="nurse", race="black", question="income"),
        request(1, occupation="cook", race=None, question="income"),
        request(2, occupation="nurse", race="asian", question="income", image="1.png"),
    ]
    assert said(model, *asked) == ["B", "C", "A"]


def test_every_column_that_is_a_factor_must_match(tmp_path: Path) -> None:
    model = table(tmp_path, "occupation,race,text\nnurse,asian,A\n")
    found = ask(model, request(0, occupation="nurse", race="asian"), request(1, occupation="nurse", race="white"))
    assert [r.status for r in found] == [Status.OK, Status.ERROR]
    assert found[1].error is not None
    assert "not among the recorded answers" in found[1].error


def test_two_answers_for_one_request_are_no_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model = table(tmp_path, "race,judge,text\nasian,one,A\nasian,two,B\nblack,one,C\n")
    with caplog.at_level(logging.WARNING):
        found = ask(model, request(0, race="asian"), request(1, race="black"))
    assert [r.status for r in found] == [Status.ERROR, Status.OK]
    assert "1 more than one recorded answer fits (such as trial 0, repeat 0)" in caplog.text
    assert "not looked at: judge" in caplog.text
    assert model.misses.total() == 1


def test_two_answers_for_one_trial_are_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="two answers for trial 4, repeat 0"):
        table(tmp_path, "trial,text\n4,(a)\n4,(b)\n")


def test_a_trial_whose_factors_differ_is_of_another_study(tmp_path: Path) -> None:
    model = table(tmp_path, "trial,race,prompt,text\n0,asian,?,A\n1,black,?,B\n")
    found = ask(model, request(0, race="asian", prompt="?"), request(1, race="white", prompt="?"))
    assert [r.text for r in found] == ["A", None]
    assert found[1].error is not None
    assert "something else" in found[1].error


def stored(study: Study, folder: Path) -> StoredRun:
    """A run of a simulated model; the ones that refuse and ramble are among the answers."""
    execute(Prepared(study, folder, RunSettings()), load("sim/default"))
    return StoredRun.open(folder)


VISBIAS: dict[str, OptionValue] = {
    "occupation": ["cook"], "race": ["dark", "light"], "pairs": 3, "descriptions": 2, "forms": 1,
}  # fmt: skip
_SIZES = {"pairs": ("yesno",), "descriptions": ("description",), "forms": ("form", "text-form")}


def visbias(task: str) -> Study:
    """A study of one task, with the settings that go with it."""
    people = () if task in _SIZES["forms"] else ("occupation", "race")
    own = (*people, *(name for name, tasks in _SIZES.items() if task in tasks))
    return build("visbias", {**{name: VISBIAS[name] for name in own}, "task": [task]})


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("name", "options", "done"),
    [
        (
            "stylisticbias",
            {"faces": "2", "scenario": ["wealthy"], "attributes": ["eyewear"], "seeds": ["1", "2"]},
            ("no-image",),
        ),
        ("vignette", {"dimension": ["age"], "gender": ["male"], "activity": ["cooking", "eating"]}, ()),
        ("visbias", {**VISBIAS, "species": "drawn"}, ()),
        ("visbias", {**VISBIAS, "images": "composite"}, ("cipher", "no-image")),
    ],
)
def test_an_exported_table_is_replayed(
    tmp_path: Path, name: str, options: dict[str, OptionValue], done: tuple[str, ...], ending: str
) -> None:
    study = add_interventions(build(name, options), find_variants(done))
    sample = RunSettings(sample=1500 if study.design.size > 3000 else None)
    execute(Prepared(study, tmp_path / "first", sample), load("sim/default"))
    rows = export(StoredRun.open(tmp_path / "first"), tmp_path / f"wide.{ending}")
    summary = run(study, ReplayModel(tmp_path / f"wide.{ending}"), tmp_path / "again", sample)
    assert (summary.asked, summary.errors) == (rows, 0)
    first, second = (read_responses(tmp_path / folder)["text"] for folder in ("first", "again"))
    assert first.equals(second)


@pytest.mark.parametrize(
    ("task", "columns"),
    [
        ("mcq", ["occupation", "skin_tone", "gender", "question"]),
        ("mcq", ["image", "question", "task"]),
        ("mcq", ["image", "prompt"]),
        ("yesno", ["image_1", "image_2", "order", "question"]),
        ("description", ["image", "draw"]),
        ("form", ["form"]),
        ("text-form", ["filled"]),
    ],
)
def test_tables_by_factors_as_the_design_names_them_are_replayed(tmp_path: Path, task: str, columns: list[str]) -> None:
    study = visbias(task)
    export(stored(study, tmp_path / "first"), tmp_path / "wide.parquet")
    pl.read_parquet(tmp_path / "wide.parquet").select(*columns, "text").write_csv(tmp_path / "short.csv")
    summary = run(study, ReplayModel(tmp_path / "short.csv"), tmp_path / "again")
    assert summary.errors == 0
    first, second = (read_responses(tmp_path / folder)["text"] for folder in ("first", "again"))
    assert first.equals(second)


def test_conditions_are_told_apart_by_factors(tmp_path: Path) -> None:
    study = add_interventions(visbias("mcq"), find_variants(("cipher",)))
    export(stored(study, tmp_path / "first"), tmp_path / "wide.parquet")
    wide = pl.read_parquet(tmp_path / "wide.parquet")
    wide.select("image", "question", "intervention", "text").write_csv(tmp_path / "short.csv")
    assert run(study, ReplayModel(tmp_path / "short.csv"), tmp_path / "again").errors == 0
    first, second = (read_responses(tmp_path / folder)["text"] for folder in ("first", "again"))
    assert first.equals(second)


def test_an_answer_to_one_question_is_not_given_to_the_others(tmp_path: Path) -> None:
    study = visbias("mcq")
    rows = [f"cook,{tone},{gender},income,B" for tone in ("dark", "light") for gender in ("female", "male")]
    path = tmp_path / "income.csv"
    path.write_text("\n".join(["occupation,skin_tone,gender,question,text", *rows]))
    summary = run(study, ReplayModel(path), tmp_path / "run")
    assert summary.errors == 3 * summary.requests // 4
    frame = study.design.trials(range(study.design.size))
    asked = frame["question"].cast(pl.String)
    answered = read_responses(tmp_path / "run")["text"].is_not_null()
    assert answered.to_list() == (asked == "income").to_list()


@pytest.mark.parametrize("columns", ["occupation,skin_tone,gender", "image"])
def test_a_table_that_lacks_what_tells_requests_apart_is_refused(tmp_path: Path, columns: str) -> None:
    study = visbias("mcq")
    frame = study.design.trials(range(study.design.size)).unique("image").select(columns.split(","))
    path = tmp_path / "short.csv"
    frame.with_columns(text=pl.lit("B")).write_csv(path)
    with pytest.raises(DataError, match=r"one answer that fits several requests.*question"):
        run(study, ReplayModel(path), tmp_path / "run")


def test_one_answer_serves_trials_that_ask_the_very_same(tmp_path: Path) -> None:
    """Without a picture, an answer to a question is one, however many people are not shown."""
    study = add_interventions(visbias("mcq"), find_variants(("no-image",)))
    path = tmp_path / "none.csv"
    questions = ("income", "education", "politics", "religion")
    path.write_text("\n".join(["intervention,question,text", *(f"no-image,{name},B" for name in questions)]))
    summary = run(study, ReplayModel(path), tmp_path / "run")
    assert summary.errors == summary.requests // 2


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "trial,txt\n0,a\n", "Its columns: trial, txt"),
        ("a.csv", "text\na\n", "'trial'"),
        ("a.csv", "", "empty"),
        ("a.csv", "trial,text\n", "no answer"),
        ("a.csv", "trial,text\n0\n", "line 2: 1 cells under 2 columns"),
        ("a.csv", "trial,text\nx,a\n", "line 2: trial is 'x'"),
        ("a.csv", "trial,text\n-1,a\n", "trial is '-1'"),
        ("a.csv", "trial,repeat,text\n1,256,a\n", "from 0 to 255"),
        ("a.csv", "trial,trial,text\n1,1,a\n", "two columns 'trial'"),
        ("a.csv", "trial,,text\n1,1,a\n", "without a name"),
        ("a.csv", "trial,text,status\n1,a,okay\n", "Did you mean 'ok'"),
        ("a.csv", "trial,probs\n1,0.9 0.9\n", "not probabilities"),
        ("a.csv", "trial,probs\n1,nan\n", "not probabilities"),
        ("a.csv", 'trial,text\n1,"a\n', "cannot be read as CSV"),
        ("a.csv", f"trial,text\n1,{'x' * 140_000}\n", "field limit|characters"),
        ("a.jsonl", "[1]\n", "line 1: not an object"),
        ("a.jsonl", '{"trial": 1, "text": "a"}\n{"trial": 2, "txt": "a"}\n', "line 2: 'txt'"),
        ("a.jsonl", '{"trial": 1, "text": 5}\n', "where a text is due"),
        ("a.jsonl", '{"trial": 1, "text": "\\ud800"}\n', "half of a character"),
        ("a.jsonl", "{", "not valid JSON"),
        ("a.jsonl", '{"trial": 1, "text": "' + "x" * 140_000 + '"}', "140,000 characters"),
        ("a.parquet", "PAR1 nothing", "cannot be read as Parquet"),
        ("a.pickle", "x", "neither a run folder"),
    ],
)
def test_what_cannot_be_read_is_one_clear_message(tmp_path: Path, name: str, text: str, says: str) -> None:
    with pytest.raises(FaceValueError, match=says):
        table(tmp_path, text, name)


def test_nothing_there_and_no_run_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no file"):
        load(f"replay/{tmp_path / 'nothing.csv'}")
    with pytest.raises(DataError, match=r"no run\.toml"):
        ReplayModel(tmp_path)
    with pytest.raises(ModelError, match="replay/PATH"):
        load("replay/")
    run(tiny_study(), TinyModel(), tmp_path / "first")
    shard = next((tmp_path / "first" / "responses").glob("part-*"))
    shard.write_bytes(shard.read_bytes()[:100])
    with pytest.raises(DataError, match="not what was written"):
        ReplayModel(tmp_path / "first")


def test_a_table_without_a_factor_of_the_study_names_the_nearest(tmp_path: Path) -> None:
    model = table(tmp_path, "ocupation,text\nnurse,A\n")
    with pytest.raises(UnknownNameError, match="Did you mean 'occupation'"):
        ask(model, request(0, occupation="nurse"))


def test_bytes_that_are_no_text_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"trial,text\n1,\xff\xfe\n")
    with pytest.raises(DataError, match="cannot be read as CSV"):
        ReplayModel(path)


words = st.text(st.characters(codec="utf-8"), max_size=30)


samplings = st.builds(Sampling, st.sampled_from([0.0, 0.2, 1]), st.sampled_from([0.9, 1]), st.integers(1, 999))
options = st.lists(st.builds(Option, words, words, words), max_size=3).map(tuple)
turns = st.lists(st.tuples(st.sampled_from(["user", "assistant"]), words), max_size=2).map(tuple)
questions = st.builds(
    Question, words, options, st.none() | words, turns=turns, sampling=st.none() | samplings, draw=st.integers(0, 2)
)


@given(questions, words, samplings, st.integers(0, 2**40), st.booleans(), st.booleans())
def test_requests_are_hashed_as_the_store_hashes_them(
    question: Question, content: str, sampling: Sampling, seed: int, exact: bool, constrain: bool
) -> None:
    stimulus = Stimulus("key", content, {}, lambda: ())
    asked = Request(
        5, 0, draw_seed(seed, question.draw), stimulus, question, question.sampling or sampling, exact, constrain
    )
    ours = RequestHashes(sampling, (seed,)).hash_requests([asked])
    parts = (stimulus_hash(stimulus), question_hash(question), conditions_hash(sampling, seed, exact, constrain))
    theirs = combined_hash(*(np.array([part], dtype=np.uint64) for part in parts))
    assert ours == theirs.view(np.int64).tolist()


def test_several_draws_of_one_question_are_told_apart(tmp_path: Path) -> None:
    own = Sampling(1.0, 1.0, 99)
    drawn = [Question("Describe it.", sampling=own, draw=draw) for draw in range(3)]
    study = replace(tiny_study(), ask=lambda frame: [drawn[int(level[1:])] for level in frame["scenario"]])
    run(study, TinyModel(lambda r: Response(r.trial, r.repeat, Status.OK, f"{r.trial}")), tmp_path / "first")
    run(study, ReplayModel(tmp_path / "first"), tmp_path / "second")
    assert read_responses(tmp_path / "second")["text"].to_list() == [str(trial) for trial in range(12)]


def test_a_hundred_thousand_answers_are_found(tmp_path: Path) -> None:
    count = 100_000
    frame = pl.DataFrame({"face": [f"f{i}" for i in range(count)], "text": [f"t{i}" for i in range(count)]})
    frame.write_parquet(tmp_path / "a.parquet")
    model = ReplayModel(tmp_path / "a.parquet")

    def requests() -> Iterable[Request]:
        for trial in range(0, count, 100):
            yield request(trial, face=f"f{trial}")

    assert [r.text for r in model.respond(requests())] == [f"t{trial}" for trial in range(0, count, 100)]


def test_one_question_asked_in_several_trials_keeps_each_trials_answer(tmp_path: Path) -> None:
    """Where the trials differ in nothing that is shown or said, the hash alone would not tell them apart."""
    same = Question("Who?", OPTIONS)
    study = replace(tiny_study(), ask=lambda frame: [same] * frame.height)
    run(study, TinyModel(lambda r: Response(r.trial, r.repeat, Status.OK, f"{r.trial}")), tmp_path / "first")
    model = ReplayModel(tmp_path / "first")
    run(study, model, tmp_path / "second")
    assert read_responses(tmp_path / "second")["text"].to_list() == [str(trial) for trial in range(12)]
    with pytest.raises(ModelError, match="12 more than one recorded answer fits"):
        run(study, _Shifted(model, 100), tmp_path / "third")


class _Shifted:
    """Asks for trials under other numbers."""

    def __init__(self, model: ReplayModel, by: int) -> None:
        self._model, self._by = model, by
        self.name, self.capabilities = model.name, model.capabilities
        self.settings, self.close = model.settings, model.close

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        for response in self._model.respond(r._replace(trial=r.trial + self._by) for r in requests):
            yield response._replace(trial=response.trial - self._by)
