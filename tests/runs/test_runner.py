"""A run from its first request to its summary."""

import gc
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl
import pytest

from facevalue.design import Block, Design, Factor
from facevalue.errors import DataError, ModelError, RunError
from facevalue.runs import RunSettings, run
from facevalue.runs.progress import SilentProgress
from facevalue.store import RunLock, read_manifest, read_responses
from facevalue.store.shards import shard_paths
from facevalue.types import Request, Response, Status
from tests.runs.tiny import TinyModel, TinySource, failed, fails, for_a_while, keys, mixed, parse, say, tiny_study


def test_every_request_is_asked_once_and_its_answer_stored(tmp_path: Path) -> None:
    study, model = tiny_study(seeds=(5, 9)), TinyModel(ahead=7)
    summary = run(study, model, tmp_path / "run")
    assert sorted(keys(model.asked)) == [(trial, repeat) for trial in range(12) for repeat in range(2)]
    assert {(r.repeat, r.seed) for r in model.asked} == {(0, 5), (1, 9)}
    frame = read_responses(tmp_path / "run")
    expected = [mixed(r) for r in sorted(model.asked, key=lambda r: r[:2])]
    assert frame["text"].to_list() == [r.text for r in expected]
    assert (summary.requests, summary.asked, summary.skipped, summary.errors, summary.na) == (24, 24, 0, 0, 0)
    assert (summary.complete, summary.interrupted, summary.warnings) == (True, False, ())
    assert (summary.prompt_tokens, summary.completion_tokens, summary.cost) == (240, 48, None)
    assert not model.closed


def test_requests_about_one_stimulus_are_neighbours_and_it_is_made_once(tmp_path: Path) -> None:
    source = TinySource()
    study, model = tiny_study(faces=5, prompts=7, seeds=(1, 2), source=source), TinyModel()
    run(study, model, tmp_path, RunSettings(chunk=3, check=False))
    assert sorted(source.made) == [0, 1, 2, 3, 4]
    asked = keys(model.asked)
    assert [trial // 7 for trial, _ in asked[::14]] == source.made
    assert all(sorted(asked[at : at + 14]) == [(asked[at][0] // 7 * 7 + s, k) for s in range(7) for k in (0, 1)]
               for at in range(0, 70, 14))  # fmt: skip
    assert [repeat for _, repeat in asked] == [0, 1] * 35
    for request in model.asked:
        assert request.stimulus.factors["face"] == f"f{request.trial // 7}"
        assert request.question.factors["scenario"] == f"s{request.trial % 7}"


def test_a_run_that_ended_however_leaves_no_object_out_of_the_search_for_unused_ones(tmp_path: Path) -> None:
    class Failing(TinyModel):
        def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
            assert gc.get_freeze_count() > 0
            raise ModelError("gone")

    with pytest.raises(ModelError):
        run(tiny_study(), Failing(), tmp_path)
    assert gc.get_freeze_count() == 0


def test_the_stream_is_lazy(tmp_path: Path) -> None:
    source = TinySource()
    study = tiny_study(faces=1000, prompts=2, source=source)
    seen = []

    class Looker(TinyModel):
        def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
            for request in requests:
                seen.append((request.trial, source.made[-1], len(source.made)))
                yield mixed(request)

    run(study, Looker(), tmp_path, RunSettings(check=False, chunk=10))
    assert [(trial // 2, face, made) for trial, face, made in seen] == [
        (face, face, place + 1) for place, face in enumerate(source.made) for _ in (0, 1)
    ]
    assert sorted(trial for trial, *_ in seen) == list(range(2000))
    assert sorted(source.made) == list(range(1000))


def test_a_sample(tmp_path: Path) -> None:
    study, model = tiny_study(faces=50, seeds=(1, 2)), TinyModel()
    summary = run(study, model, tmp_path, RunSettings(sample=20, seed=3))
    wanted = study.sample(20, 3, 2).tolist()
    assert sorted({r.trial for r in model.asked}) == wanted
    assert summary.requests == summary.asked == 20
    again = run(study, model, tmp_path, RunSettings(sample=20, seed=3))
    assert (again.asked, again.skipped) == (0, 20)


def test_exact_asks_only_repeat_zero_and_never_again(tmp_path: Path) -> None:
    def probabilities(r: Request) -> Response:
        return Response(r.trial, r.repeat, Status.OK, None if r.trial else "", (0.75, 0.125) if r.trial else None)

    study, model = tiny_study(seeds=(5, 9), reasks=3), TinyModel(probabilities, probabilities="full")
    summary = run(study, model, tmp_path, RunSettings(exact=True))
    assert sorted(keys(model.asked)) == [(trial, 0) for trial in range(12)]
    assert all(r.exact and r.seed == 5 for r in model.asked)
    assert read_responses(tmp_path)["probs"].to_list() == [None] + [[0.75, 0.125]] * 11
    assert (summary.requests, summary.na, summary.reasked, summary.complete) == (12, 1, 0, True)


def test_exact_samples_as_many_trials_as_requests(tmp_path: Path) -> None:
    model = TinyModel(probabilities="top-k")
    assert run(tiny_study(seeds=(5, 9)), model, tmp_path, RunSettings(exact=True, sample=6)).asked == 6


def test_tokens_and_cost(tmp_path: Path) -> None:
    settings = RunSettings(price_in=2.0, price_out=5.0)
    summary = run(tiny_study(), TinyModel(), tmp_path, settings)
    assert summary.cost == pytest.approx((120 * 2 + 24 * 5) / 1e6)
    assert RunSettings(price_out=5.0).cost(10, 2, 1) == pytest.approx(1e-5)
    assert RunSettings(price_each=0.04).cost(10, 2, 3) == pytest.approx(0.12)


def test_a_model_that_refuses_everything_ends_normally(tmp_path: Path) -> None:
    def refuse(r: Request) -> Response:
        return Response(r.trial, r.repeat, Status.REFUSED, error="content filter")

    summary = run(tiny_study(), TinyModel(refuse), tmp_path)
    assert (summary.asked, summary.refused, summary.na, summary.errors, summary.complete) == (12, 12, 12, 0, True)


def test_errors_everywhere_end_normally_and_are_asked_again(tmp_path: Path) -> None:
    study = tiny_study()
    summary = run(study, TinyModel(failed), tmp_path)
    assert (summary.asked, summary.errors, summary.na, summary.complete) == (12, 12, 0, True)
    assert read_manifest(tmp_path).counts.errors == 12
    model = TinyModel()
    summary = run(study, model, tmp_path)
    assert (summary.asked, summary.skipped, summary.errors) == (12, 0, 0)
    assert read_responses(tmp_path)["status"].unique().to_list() == ["ok"]
    assert read_manifest(tmp_path).counts.errors == 0
    assert run(study, model, tmp_path).asked == 0


def test_only_errors_are_asked_again(tmp_path: Path) -> None:
    study = tiny_study()
    run(study, TinyModel(lambda r: failed(r) if r.trial % 5 == 0 else mixed(r)), tmp_path)
    model = TinyModel()
    assert run(study, model, tmp_path).skipped == 9
    assert sorted(r.trial for r in model.asked) == [0, 5, 10]


def test_what_was_stored_before_a_failure_is_kept_and_the_message_passes_on(tmp_path: Path) -> None:
    study, model = tiny_study(), TinyModel(for_a_while(5, fails(ModelError, "the key was revoked")))
    with pytest.raises(ModelError, match="the key was revoked"):
        run(study, model, tmp_path)
    assert read_responses(tmp_path)["trial"].to_list() == sorted(r.trial for r in model.asked[:5])
    manifest = read_manifest(tmp_path)
    assert manifest.end is None
    assert manifest.counts.ok == manifest.sessions[0].asked == 5
    assert run(study, TinyModel(), tmp_path).asked == 7


def test_a_missing_image_ends_the_run_whatever_the_model_makes_of_it(tmp_path: Path) -> None:
    class Swallows(TinyModel):
        def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
            try:
                yield from super().respond(requests)
            except DataError:
                return

    source = TinySource(fail_at=2)
    with pytest.raises(DataError, match="No image of f2"):
        run(tiny_study(source=source), Swallows(), tmp_path, RunSettings(check=False))
    assert read_responses(tmp_path).height == 3 * len(source.made)


def test_a_model_that_leaves_requests_out_is_told_on(tmp_path: Path) -> None:
    class Forgets(TinyModel):
        def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
            return (r for r in super().respond(requests) if r.trial != 4)

    summary = run(tiny_study(), Forgets(), tmp_path)
    assert not summary.complete
    assert summary.warnings == ("tiny gave no response to 1 requests; the same command asks them again.",)
    assert read_manifest(tmp_path).end is None
    assert run(tiny_study(), TinyModel(), tmp_path).asked == 1


def test_blocks_of_different_shapes(tmp_path: Path) -> None:
    face, place = Factor("face", ("f0", "f1")), Factor("place", ("p0",))
    scenario = Factor("scenario", ("s0", "s1", "s2"))
    design = Design((Block("faces", (face,), (scenario,)), Block("both", (face, place), (scenario,), {"view": "side"})))
    source = TinySource()
    base = tiny_study(source=source)
    study = type(base)(**{**vars(base), "design": design})
    model = TinyModel()
    assert run(study, model, tmp_path).asked == 12
    assert [len(columns["face"]) for columns in source.checked] == [4]
    assert set(source.checked[0]) == {"block", "face", "place", "view"}
    assert {r.stimulus.factors["view"] for r in model.asked} == {None, "side"}


def test_the_folder_says_what_was_done(tmp_path: Path) -> None:
    study = tiny_study(seeds=(1, 2))
    run(study, TinyModel(facts={"version": "7"}), tmp_path, RunSettings(sample=10, seed=4))
    document = tomllib.loads((tmp_path / "run.toml").read_text())
    assert document["study"]["options"] == {"faces": 4, "kinds": ["x", "y"]}
    assert document["model"] == {"name": "tiny", "settings": {"version": "7"}}
    assert (document["sample"], document["seed"], document["exact"]) == (10, 4, False)
    assert document["counts"]["ok"] == document["sessions"][0]["asked"] == 10
    assert document["end"] >= document["start"]
    assert pl.read_parquet(tmp_path / "manifest.parquet").equals(study.manifest)


def test_nothing_left_to_do_leaves_the_folder_as_it_is(tmp_path: Path) -> None:
    study = tiny_study()
    run(study, TinyModel(), tmp_path)
    before = (tmp_path / "run.toml").read_text()
    model = TinyModel()
    assert run(study, model, tmp_path).complete
    assert model.asked == []
    assert (tmp_path / "run.toml").read_text() == before


def test_a_sample_of_fewer_requests_than_wanted_says_so(tmp_path: Path) -> None:
    notes: list[str] = []

    class Noting(SilentProgress):
        def note(self, message: str) -> None:
            notes.append(message)

    study = tiny_study(seeds=(5, 9))
    run(study, TinyModel(), tmp_path / "odd", RunSettings(sample=5), Noting())
    assert notes == ["4 of 5 requests: as many whole units as fit."]
    run(study, TinyModel(), tmp_path / "even", RunSettings(sample=4), Noting())
    run(study, TinyModel(), tmp_path / "all", RunSettings(sample=24), Noting())
    assert len(notes) == 1


def test_an_empty_sample_is_no_error(tmp_path: Path) -> None:
    base = tiny_study()
    study = type(base)(**{**vars(base), "sample": lambda *_: pl.Series([], dtype=pl.Int64).to_numpy()})
    summary = run(study, TinyModel(), tmp_path, RunSettings(sample=1))
    assert (summary.requests, summary.asked, summary.complete) == (0, 0, True)


def test_many_small_shards_become_few(tmp_path: Path) -> None:
    run(tiny_study(faces=300), TinyModel(), tmp_path, RunSettings(flush_rows=4))
    rows = [pl.scan_parquet(path).select(pl.len()).collect().item() for path in shard_paths(tmp_path)]
    assert sum(rows) == 900
    assert len(rows) <= 227  # full ones are left alone; after 50 and 200 replies what is there is looked at
    run(tiny_study(faces=300), TinyModel(), tmp_path, RunSettings(flush_rows=1000))
    assert len(shard_paths(tmp_path)) == 1


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with RunLock(tmp_path), pytest.raises(RunError, match="is being written by process"):
        run(tiny_study(), TinyModel(), tmp_path)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="Cannot write"):
        run(tiny_study(), TinyModel(), tmp_path / "file" / "run")


def test_a_parser_that_fails_loses_no_reply(tmp_path: Path) -> None:
    def broken(frame: pl.DataFrame) -> pl.DataFrame:
        raise ValueError("parser")

    with pytest.raises(ValueError, match="parser"):
        run(tiny_study(answer=broken), TinyModel(), tmp_path)
    assert read_responses(tmp_path).height == 12
    assert run(tiny_study(answer=parse), TinyModel(say("(a)")), tmp_path).asked == 0
