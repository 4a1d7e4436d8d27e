"""Replies without a valid answer are asked again, as often as the study says."""

from pathlib import Path

import pytest

from facevalue.errors import ModelError
from facevalue.runs import RunSettings, run
from facevalue.runs.requests import reask_seed
from facevalue.store import read_responses
from facevalue.types import Request, Response, Status
from tests.runs.tiny import TinyModel, failed, keys, say, tiny_study


def mumbles_until(valid: int, repeats: int) -> TinyModel:
    """Trials with odd numbers get a valid answer only in the given round."""

    def reply(r: Request) -> Response:
        unclear = r.trial % 2 and r.repeat // repeats < valid
        return say("hm" if unclear else "(a)")(r)

    return TinyModel(reply)


@pytest.mark.parametrize(("valid", "rounds"), [(0, 0), (1, 1), (2, 2), (9, 3)])
def test_until_valid_or_enough(tmp_path: Path, valid: int, rounds: int) -> None:
    model = mumbles_until(valid, repeats=2)
    summary = run(tiny_study(seeds=(5, 9), reasks=3), model, tmp_path)
    again = [(t, k + 2 * r) for r in range(1, rounds + 1) for t in range(1, 12, 2) for k in (0, 1)]
    assert sorted(keys(model.asked)[:24]) == [(t, k) for t in range(12) for k in (0, 1)]
    assert sorted(keys(model.asked)[24:]) == sorted(again)
    rounds_of = [r.repeat // 2 for r in model.asked]
    assert rounds_of == sorted(rounds_of)
    assert (summary.requests, summary.reasked, summary.asked) == (24, len(again), 24 + len(again))
    assert summary.complete
    assert read_responses(tmp_path).height == 24 + len(again)


def test_a_reask_has_a_seed_of_its_own(tmp_path: Path) -> None:
    model = mumbles_until(9, repeats=2)
    run(tiny_study(seeds=(5, 9), reasks=2), model, tmp_path)
    seeds = {r.repeat: r.seed for r in model.asked}
    assert (seeds[0], seeds[1]) == (5, 9)
    assert len(set(seeds.values())) == 6
    assert seeds[4] == reask_seed(5, 2)


@pytest.mark.parametrize("seed", [0, -1, 2**31, 2**64 - 1])
def test_seeds_are_ones_that_servers_take(seed: int) -> None:
    assert all(0 <= reask_seed(seed, again) < 2**31 for again in range(1, 50))


def test_each_reask_is_made_once_across_sessions(tmp_path: Path) -> None:
    study = tiny_study(seeds=(5, 9), reasks=2)

    def breaks(r: Request) -> Response:
        if r.repeat >= 2 and r.trial > 5:
            raise ModelError
        return say("hm")(r)

    first = TinyModel(breaks)
    with pytest.raises(ModelError):
        run(study, first, tmp_path)
    second = TinyModel(say("hm"))
    summary = run(study, second, tmp_path)
    stored = keys(first.asked)[:-1]
    assert sorted(stored + keys(second.asked)) == [(t, k) for t in range(12) for k in range(6)]
    assert summary.skipped == 24
    assert run(study, TinyModel(), tmp_path).asked == 0


def test_errors_are_no_reason_for_a_reask(tmp_path: Path) -> None:
    study = tiny_study(reasks=1)
    model = TinyModel(failed)
    summary = run(study, model, tmp_path)
    assert (summary.asked, summary.reasked) == (12, 0)


def test_a_failed_reask_is_asked_again(tmp_path: Path) -> None:
    study = tiny_study(reasks=1)
    run(study, TinyModel(lambda r: failed(r) if r.repeat else say("hm")(r)), tmp_path)
    model = TinyModel(say("(b)"))
    summary = run(study, model, tmp_path)
    assert sorted(keys(model.asked)) == [(t, 1) for t in range(12)]
    assert (summary.errors, summary.na) == (0, 0)


def test_refusals_are_asked_again_in_a_sample_too(tmp_path: Path) -> None:
    def refuse(r: Request) -> Response:
        return Response(r.trial, r.repeat, Status.REFUSED)

    model = TinyModel(refuse)
    run(tiny_study(faces=40, reasks=1), model, tmp_path, RunSettings(sample=10, chunk=3))
    trials = [r.trial for r in model.asked[:10]]
    assert keys(model.asked) == [(t, 0) for t in trials] + [(t, 1) for t in trials]  # in one and the same order
