"""Replies that cannot be read: quoted after the first fifty, and a run of mostly such replies stops after 200."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import facevalue as fv
from facevalue.answers import NA, NA_DTYPE
from facevalue.answers.columns import parse_column
from facevalue.protocol.study import Study
from facevalue.runs.reply_counts import UnparsedReplies, unparsed_of
from facevalue.runs.runner import run
from facevalue.runs.settings import RunSettings, RunSummary
from facevalue.runs.storage.mirror import copy_run
from facevalue.runs.storage.units import Unit
from facevalue.runs.storage.worker import LocalWorkers
from facevalue.store import read_responses
from facevalue.store.objects import Objects
from facevalue.types import Request, Response, Status
from tests.runs.remote import Notes, go, in_memory
from tests.runs.tiny import OPTIONS, TinyModel, tiny_study

ALL = RunSettings(max_invalid=1.0)
Kind = Callable[[Study, TinyModel, RunSettings, Notes], RunSummary]


def typed(frame: pl.DataFrame) -> pl.DataFrame:
    """Replies as the forced choice reads them."""
    parsed = parse_column(frame.with_columns(ordering=pl.lit("1")), "text", "ordering", {"1": OPTIONS})
    answers = frame.drop("text", "probs").with_columns(
        parsed["na"], weight=pl.when(parsed["choice"].is_not_null()).then(1.0)
    )
    return answers.with_columns(mass=answers["weight"].fill_null(0.0))


def share(fraction: float, text: str = "A garden, number {}.", status: Status = Status.OK) -> TinyModel:
    """A model of which this share of the replies is something else than an option."""

    def reply(request: Request) -> Response:
        is_option = (request.trial * 37) % 100 >= 100 * fraction
        said = "(a)" if is_option else text.format(request.trial)
        return Response(request.trial, request.repeat, Status.OK if is_option else status, said, None, 10, 2, 1.0)

    return TinyModel(reply)


def study(faces: int = 100, **more: object) -> Study:
    return tiny_study(faces=faces, prompts=8, answer=typed, **more)  # type: ignore[arg-type]


def in_a_folder(path: Path) -> Kind:
    return lambda asked, model, how, notes: run(asked, model, path, how, notes)


def in_objects(*, unit: int) -> Kind:
    objects = in_memory()
    return lambda asked, model, how, notes: go(objects, model, asked, replace(how, unit=unit), notes)


@pytest.fixture(params=["folder", "small units", "one unit"])
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Kind:
    """Ways to store a run."""
    kinds = {"folder": in_a_folder(tmp_path), "small units": in_objects(unit=100), "one unit": in_objects(unit=5_000)}
    return kinds[request.param]


def test_most_replies_that_cannot_be_read_are_quoted_and_stop_the_run(kind: Kind) -> None:
    notes, model = Notes(), share(0.6)
    summary = kind(study(), model, RunSettings(), notes)
    assert not summary.complete
    assert 200 <= len(model.asked) < 420
    found = re.search(r"(\d\d\.\d)% of (\d+) replies could not be read", summary.stopped)
    assert found is not None, summary.stopped
    quotes = re.findall(
        r"“A garden, number \d+\.” where one of “\(a\) competent”, “\(b\) incompetent” was", summary.stopped
    )
    assert len(set(quotes)) == 3
    assert "--max-invalid 1" in summary.stopped


def test_a_folder_is_told_after_fifty_replies(tmp_path: Path) -> None:
    notes = Notes()
    run(study(), share(0.6), tmp_path, RunSettings(), notes)
    early, *_ = (note for note in notes.notes if "could not be read" in note)
    found = re.search(r"of (\d+) replies", early)
    assert found is not None
    assert 50 <= int(found[1]) < 60
    assert "after 200 replies" in early
    assert early.count("“A garden") == 3


@pytest.mark.parametrize(
    "model",
    [
        share(0.4),
        share(1.0, "I'm sorry, but I can't help with that."),
        share(1.0, "", Status.REFUSED),
    ],
    ids=["few", "refused in words", "refused by a signal"],
)  # fmt: skip
def test_refusals_and_a_few_stop_nothing(kind: Kind, model: TinyModel) -> None:
    summary = kind(study(), model, RunSettings(), Notes())
    assert (summary.complete, summary.stopped) == (True, "")
    assert summary.asked == 800


@pytest.mark.parametrize(
    ("model", "quote"),
    [
        (share(1.0, "Both are possible."), "“Both are possible.” where"),
        (share(1.0, "It could be (a), but I am not sure."), "“It could be (a), but I am not sure.” where"),
        (share(0.6, "[THINK]It looks like (b), number {}", Status.TRUNCATED), "cut off at the token limit): nothing "
         "(“Cut off at the token limit before the model had ended thinking”) after the thoughts “[THINK]It looks"),
        (share(0.6, "Okay, so the user wants (b), {}", Status.TRUNCATED), "“<think>Okay, so the user wants"),
        (share(0.6, "[THINK]It looks like (b), number {}"), "“The reply ended before the model had ended thinking”"),
        (share(0.6, "<reasoning>(a)? {}</reasoning>"), "nothing (empty) after the thoughts “<reasoning>(a)?"),
    ],
    ids=["both", "hedged", "cut off", "cut off, unmarked", "endless", "thoughts alone"],
)  # fmt: skip
def test_replies_without_a_usable_answer_stop_the_run(kind: Kind, model: TinyModel, quote: str) -> None:
    summary = kind(study(), model, RunSettings(), Notes())
    assert not summary.complete
    assert 200 <= summary.asked < 420
    assert quote in summary.stopped


def test_a_run_of_which_many_replies_were_cut_off_says_so_at_its_end(kind: Kind) -> None:
    summary = kind(study(), share(0.2, "[THINK]{}: it looks like (b)", Status.TRUNCATED), RunSettings(), Notes())
    assert summary.complete
    (warning,) = summary.warnings
    assert warning.startswith("20.0% of 800 replies were cut off at the token limit before an answer")
    assert "--max-tokens" in warning


def test_a_few_replies_that_were_cut_off_are_not_told(kind: Kind) -> None:
    few = kind(study(), share(0.02, "[THINK]{}", Status.TRUNCATED), RunSettings(), Notes())
    assert (few.complete, few.warnings) == (True, ())


def test_who_is_told_to_go_on_goes_on_and_others_stop_again(kind: Kind) -> None:
    asked = study()
    assert not kind(asked, share(0.8), RunSettings(), Notes()).complete
    second = share(0.8)
    stopped = kind(asked, second, RunSettings(), Notes())
    assert stopped.stopped
    assert stopped.skipped >= 200
    assert 200 <= len(second.asked) < 420
    third = share(0.8)
    summary = kind(asked, third, ALL, Notes())
    assert summary.complete
    assert len(third.asked) == 800 - summary.skipped


def test_a_model_that_was_mended_goes_on_without_being_told(kind: Kind) -> None:
    asked = study()
    kind(asked, share(1.0), RunSettings(), Notes())
    assert kind(asked, TinyModel(), RunSettings(), Notes()).complete


def test_replies_asked_again_do_not_count(kind: Kind) -> None:
    """Of 160 trials 45% are never read: 72 of 160, but 288 of 376 with three rounds of re-asks."""
    summary = kind(study(faces=20, reasks=3), share(0.45), RunSettings(), Notes())
    assert (summary.complete, summary.stopped) == (True, "")
    assert summary.reasked > 200


def test_errors_are_no_replies(kind: Kind) -> None:
    summary = kind(
        study(), TinyModel(lambda r: Response(r.trial, r.repeat, Status.ERROR, error="no")), RunSettings(), Notes()
    )
    assert summary.stopped == ""
    assert summary.errors == 800


def test_a_unit_that_one_worker_gave_up_is_asked_whole_where_most_replies_are_read() -> None:
    """As of the second worker of two: its first 200 replies cannot be read, of 500."""
    came = iter(range(10_000))

    def reply(request: Request) -> Response:
        text = "A garden." if 300 <= next(came) < 500 else "(a)"
        return Response(request.trial, request.repeat, Status.OK, text, None, 10, 2, 1.0)

    class SecondWorker(LocalWorkers):
        def submit(self, unit: Unit) -> None:
            self._worker._watching = True
            super().submit(unit)

    summary = go(in_memory(), TinyModel(reply), study(), RunSettings(unit=300), kind=SecondWorker)
    assert (summary.complete, summary.stopped, summary.asked) == (True, "", 800)


def test_quotes_are_of_one_line_cut_and_escaped(tmp_path: Path) -> None:
    summary = run(study(), share(1.0, "\x1b[2J\u202e" + "x\n" * 900 + "{}"), tmp_path)
    assert "\x1b" not in summary.stopped
    assert "\u202e" not in summary.stopped
    assert "\n" not in summary.stopped
    assert len(summary.stopped) < 1500


def test_what_a_question_without_options_asks_for_is_the_end_of_its_prompt(tmp_path: Path) -> None:
    asked = tiny_study(faces=100, options=(), wording="Describe.\n\nReply as JSON: {}. Now", answer=typed)
    summary = run(asked, share(1.0), tmp_path)
    assert "where “Reply as JSON: {}. Now s" in summary.stopped


def test_probabilities_that_say_nothing_are_called_so(tmp_path: Path) -> None:
    def without_mass(frame: pl.DataFrame) -> pl.DataFrame:
        low = pl.lit(NA.LOW_MASS.value).cast(NA_DTYPE)
        return frame.drop("text", "probs").with_columns(low.alias("na"), weight=pl.lit(None), mass=0.0)

    asked = tiny_study(faces=100, answer=without_mass)
    model = TinyModel(lambda r: Response(r.trial, r.repeat, Status.OK, None, (0.001, 0.001)), probabilities="full")
    summary = run(asked, model, tmp_path, RunSettings(exact=True))
    assert "low-mass" in summary.stopped


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=30), st.sampled_from(["ok", "refused", "error", "truncated"])), max_size=12))
def test_counts_hold_for_any_replies(replies: list[tuple[str, str]]) -> None:
    asked = study(faces=2)
    rows = [(number, 0, status, text, None) for number, (text, status) in enumerate(replies)]
    frame = pl.DataFrame(rows, schema=["trial", "repeat", "status", "text", "probs"], orient="row")
    found = unparsed_of(
        asked,
        frame.cast(
            {
                "repeat": pl.UInt8,
                "trial": pl.UInt64,
                "status": pl.String,
                "text": pl.String,
                "probs": pl.List(pl.Float32),
            }
        ),
    )
    assert 0 <= found.count <= found.replies == sum(status != "error" for _, status in replies)
    assert len(found.examples) <= 3
    assert len(set(found.examples)) == len(found.examples)


def test_sums_of_counts_keep_three_examples() -> None:
    one, two = UnparsedReplies(10, 2, ("a", "b")), UnparsedReplies(5, 3, ("b", "c", "d"))
    assert one + two == UnparsedReplies(15, 5, ("a", "b", "c"))


def test_the_python_api_says_why_it_stopped_and_goes_on(tmp_path: Path) -> None:
    asked = fv.study("stylisticbias", faces="10", attributes="eyewear", seeds=["1"])
    model = share(1.0)
    summary = fv.run(asked, model, tmp_path / "run", progress=False).summary
    assert summary is not None
    assert "could not be read" in summary.stopped
    again = fv.run(asked, share(1.0), tmp_path / "run", max_invalid=1, progress=False)
    assert again.complete


def test_answers_that_were_looked_at_keep_the_hash_of_their_request(tmp_path: Path) -> None:
    objects = Objects.at((tmp_path / "objects").as_uri(), make=True)
    settings = RunSettings(unit=300)
    go(objects, study=study(), settings=settings)
    copy_run(objects.url, tmp_path / "fetched")
    run(study(), TinyModel(), tmp_path / "asked", settings, Notes())
    stored, asked = (read_responses(tmp_path / name)["request"] for name in ("fetched", "asked"))
    assert stored.len() > 200
    assert stored.equals(asked)
