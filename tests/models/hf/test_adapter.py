"""`hf/...` as a model: requests in, responses out, nothing lost and nothing believed that isn't so."""

import doctest
import io
import json
import re
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

from facevalue.errors import DataError, ModelError, UnknownNameError
from facevalue.models import base, load
from facevalue.models.base import ModelOptions
from facevalue.types import Image, Option, Question, Request, Response, Sampling, Status, Stimulus
from tests.models.hf import planted, tiny

torch: Any = tiny.torch

from facevalue.models.hf import adapter  # noqa: E402
from facevalue.models.hf.adapter import HFModel, decode_pictures, fingerprint  # noqa: E402
from facevalue.models.hf.calls import Rejected  # noqa: E402
from facevalue.models.hf.prefix import Prefix  # noqa: E402

SAMPLING = Sampling(1.0, 1.0, 5)
LETTERS = (Option("(a)", "competent", "up"), Option("(b)", "honest", "down"))
CPU = ModelOptions(device="cpu", threads=1)
SURE = {")": 20.0, ".": 20.0, "</s>": 20.0, "a": 20.6, "b": 20.6}


def png(picture: PIL.Image.Image, form: str = "PNG") -> Image:
    buffer = io.BytesIO()
    picture.save(buffer, form)
    return Image(buffer.getvalue(), f"image/{form.lower()}")


def shown(key: str, *images: Image) -> Stimulus:
    return Stimulus(key, f"digest of {key}", {}, lambda: images or (png(tiny.picture(key)),))


def ask(word: str) -> Question:
    return Question(prompt=f"Who is more {word}, the left person or the right person?", options=LETTERS)


def requests(stimulus: Stimulus, first: int = 0, *, exact: bool = True, count: int = 3) -> list[Request]:
    words = ("competent", "lazy", "warm", "honest", "friendly")
    return [Request(first + at, 0, 1, stimulus, ask(words[at % 5]), SAMPLING, exact) for at in range(count)]


def answers(model: Any, wanted: list[Request]) -> dict[int, Response]:
    """Responses by trial."""
    found = {response.trial: response for response in model.respond(iter(wanted))}
    assert sorted(found) == sorted(request.trial for request in wanted)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sure enough of how its replies begin that their probabilities are read."""
    return planted.plant(tiny.llava(tmp_path_factory.mktemp("llava")), SURE)


@pytest.fixture(scope="module")
def unsure(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A model most of whose replies begin in ways too many and too rare to be followed."""
    return load(f"hf/{planted.plant(tiny.llava(tmp_path_factory.mktemp('unsure')))}", CPU)


@pytest.fixture(scope="module")
def model(folder: Path) -> Any:
    """Tried already with both kinds of request, as a model is at the first of each: the order of tests is free."""
    model = load(f"hf/{folder}", CPU)
    for exact in (True, False):
        answers(model, requests(shown("tried"), exact=exact))
    return model


def test_exact_requests_get_probabilities_and_others_replies(model: Any) -> None:
    stimulus = shown("one")
    found = answers(model, [*requests(stimulus), *requests(stimulus, 3, exact=False, count=5)])
    for trial in (0, 1, 2):
        response = found[trial]
        assert (response.status, response.text, response.error) == (Status.OK, None, None)
        assert response.probs is not None
        assert 0 < sum(response.probs) <= 1
        assert response.completion_tokens == 0
    for trial in range(3, 8):
        response = found[trial]
        assert response.status in (Status.OK, Status.TRUNCATED)
        assert isinstance(response.text, str)
        assert response.probs is None
        assert 1 <= (response.completion_tokens or 0) <= 5
        assert (response.status is Status.TRUNCATED) <= (response.completion_tokens == 5)
    assert {response.status for response in found.values()} == {Status.OK, Status.TRUNCATED}
    assert found[0].prompt_tokens == found[3].prompt_tokens > 5  # type: ignore[operator]
    assert all(response.latency_ms > 0 for response in found.values())


def test_a_question_that_is_not_decided_is_answered_by_a_drawn_reply(unsure: Any) -> None:
    wanted = requests(shown("one"), count=4)
    scores = {
        n: s for n, s, _ in unsure.engine.score(decode_pictures(shown("one")), [r.question for r in wanted], SAMPLING)
    }
    assert all(score.undecided > 0.01 for score in scores.values())
    found = answers(unsure, [*wanted, *requests(shown("one"), 10, exact=False, count=1)])
    for request in wanted:
        response, score = found[request.trial], scores[request.trial]
        assert response.status in (Status.OK, Status.TRUNCATED)
        assert response.probs is None
        assert isinstance(response.text, str)
        said = re.fullmatch(
            r"Drawn, not read: (.*)% of the probability is on replies that were not followed until they were decided "
            r"\((.*)% is on the options, (.*)% on others\)\.",
            response.error or "",
        )
        assert said
        masses = [float(part) / 100 for part in said.groups()]
        assert masses == pytest.approx(
            [score.undecided, sum(score.probs), 1 - score.undecided - sum(score.probs)], abs=6e-4
        )
        assert (response.prompt_tokens or 0) == 2 * score.prompt_tokens  # both were computed
        assert (response.completion_tokens or 0) >= 1
    assert found[10].error is None
    assert {n: r.text for n, r in answers(unsure, wanted[::-1]).items()} == {n: found[n].text for n in range(4)}


def test_probabilities_of_constrained_requests_are_those_of_constrained_replies(unsure: Any) -> None:
    free = requests(shown("one"), count=5)
    held = [request._replace(trial=request.trial + 5, constrain=True) for request in free]
    found = answers(unsure, [*free, *held])
    assert all(found[request.trial].probs is None for request in free)
    for request in held:
        assert found[request.trial].error is None
        assert sum(found[request.trial].probs or ()) == pytest.approx(1, abs=1e-4)
    assert unsure.capabilities.structured_probabilities


def test_a_hundredth_that_is_not_decided_is_read(unsure: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = requests(shown("one"), count=1)
    ((_, score, _),) = unsure.engine.score(decode_pictures(shown("one")), [wanted[0].question], SAMPLING)
    monkeypatch.setattr(adapter, "MOST_UNSEEN", score.undecided)
    assert answers(unsure, wanted)[0].probs == pytest.approx(score.probs)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("at", [0, 2])
def test_a_question_with_a_pictures_mark_is_an_error_of_its_own(model: Any, exact: bool, at: int) -> None:
    wanted = requests(shown("one"), exact=exact, count=4)
    bad = Question(prompt="Who is <image> the left person?", options=LETTERS)
    wanted[at] = wanted[at]._replace(question=bad)
    found = answers(model, [*wanted, *requests(shown("one"), 10, exact=not exact, count=2)])
    assert found[at].status is Status.ERROR
    assert found[at].error == "The question contains <image>, which is this model's mark for a picture."
    assert {r.error for n, r in found.items() if n != at} == {None}
    alone = answers(model, wanted[1:2])[1]
    assert alone.probs == pytest.approx(found[1].probs, abs=2e-5) if exact else alone.text == found[1].text


@pytest.mark.parametrize("shares", [True, False])
def test_a_question_that_the_processor_rejects_is_an_error_of_its_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch, shares: bool
) -> None:
    model: Any = load(f"hf/{folder}", CPU)
    planted.untried(model.engine, shares=shares)
    kind, calls = type(model.engine.loaded.processor), []
    own = kind.__call__

    def picky(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(kwargs["text"])
        if "lazy" in kwargs["text"][0]:
            raise ValueError("no such word")
        return own(self, *args, **kwargs)

    monkeypatch.setattr(kind, "__call__", picky)
    wanted = requests(shown("one"), count=5)
    wanted = [wanted[1], wanted[0], *wanted[2:]]  # the first one stands for all
    found = answers(model, wanted)
    assert found[1].status is Status.ERROR
    assert found[1].error == "The model's processor rejects the question: ValueError: no such word"
    assert {response.status for n, response in found.items() if n != 1} == {Status.OK}


def test_a_picture_that_the_processor_rejects_is_tried_twice_and_no_more(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def rejects(*args: Any, **kwargs: Any) -> Any:
        calls.append(kwargs)
        raise ValueError("too small")

    processor = model.engine.loaded.processor
    for part in (processor, processor.image_processor):
        monkeypatch.setattr(type(part), "__call__", rejects)
    found = answers(model, requests(shown("one"), count=50))
    assert {response.error for response in found.values()} == {
        "The model's processor rejects the picture: ValueError: too small"
    }
    assert len(calls) == 2


def test_bad_questions_do_not_end_the_run(model: Any) -> None:
    bad = Question(prompt="Who is <image>?", options=LETTERS)
    stream = [r for at in range(22) for r in requests(shown(str(at)), 10 * at, count=2)]
    stream = [r._replace(question=bad) if r.trial % 10 else r for r in stream]
    found = answers(fresh(model), stream)
    assert sum(response.status is Status.OK for response in found.values()) == 22


def test_a_self_check_that_fails_is_no_error_of_a_request(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: Any) -> Any:
        raise Rejected("The model fails: too large")

    monkeypatch.setattr("facevalue.models.hf.check.plain_logits", fails)
    with pytest.raises(ModelError, match=r"Self-check: .*too large"):
        answers(load(f"hf/{folder}", CPU), requests(shown("one")))


def test_no_picture_borrows_from_another(model: Any) -> None:
    """Pictures and questions in any order, one, two, none or a blank at a time, give what each gives alone."""
    blank = png(PIL.Image.new("RGB", (40, 40), "white"))
    stimuli = [shown("one"), shown("two"), shown("none"), shown("blank", blank)]
    stimuli[2] = Stimulus("none", "nothing", {}, lambda: ())
    stimuli.append(shown("both", png(tiny.picture("one")), png(tiny.picture("two"))))
    wanted = [request for at, stimulus in enumerate(stimuli) for request in requests(stimulus, 10 * at)]
    alone = {request.trial: answers(model, [request])[request.trial].probs for request in wanted}
    order = np.random.default_rng(3).permutation(len(wanted)).tolist()
    mixed = {response.trial: response.probs for response in model.respond(wanted[at] for at in order)}
    for trial, probs in alone.items():
        assert mixed[trial] == pytest.approx(probs, abs=2e-5)
    assert len(set(alone.values())) == len(wanted)


def test_each_picture_is_run_once(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    of, rows = Prefix.read_prefixes, []

    def counted(loaded: Any, *inputs: Any) -> Prefix:
        rows.append(len(inputs))
        return of(loaded, *inputs)

    monkeypatch.setattr(Prefix, "read_prefixes", counted)
    answers(model, [r for at, key in enumerate(("one", "two")) for r in requests(shown(key), 10 * at, count=10)])
    assert sum(rows) == 2  # together, or one by one where the second is read while the first is run


def many(taken: list[int], count: int = 40) -> Iterator[Request]:
    """Requests about many stimuli; those that were taken are noted."""
    for at in range(count):
        for request in requests(shown(str(at)), 10 * at, count=2):
            taken.append(at)
            yield request


def test_a_bounded_number_of_stimuli_is_taken_ahead(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "_AHEAD", (2, 4))
    monkeypatch.setattr(base, "_GATHERED", 2)  # requests about one stimulus
    taken: list[int] = []
    ahead = [max(taken) - response.trial // 10 for response in model.respond(many(taken))]
    assert len(ahead) == 80
    assert max(ahead) <= 8, "three that are worked on besides, four that are ready, and the next one's first request"


def test_pictures_are_made_ready_while_the_model_works(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "_AHEAD", (2, 2))
    read, scores, seen, asked = adapter.decode_pictures, model.engine.scores, list[Any](), list[Any]()

    def decode(stimulus: Stimulus) -> Any:
        seen.append(threading.current_thread())
        return read(stimulus)

    def waits(together: Any) -> Any:
        asked.extend(together)
        deadline = time.monotonic() + 20
        while len(seen) < min(8, len(asked) + 1):
            assert time.monotonic() < deadline, "the next picture is made ready before this call has done anything"
            time.sleep(0.001)
        yield from scores(together)

    monkeypatch.setattr(adapter, "decode_pictures", decode)
    monkeypatch.setattr(model.engine, "scores", waits)
    assert len(list(model.respond(many([], 8)))) == 16
    assert len(seen) == len(asked) == 8
    assert threading.main_thread() not in seen


@pytest.mark.parametrize("how", ["interrupted", "given up"])
def test_no_thread_is_left_behind(model: Any, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    before = threading.active_count()
    responses = model.respond(many([]))
    if how == "given up":
        next(responses)
        responses.close()
    else:

        def interrupted(*_: Any) -> Any:
            raise KeyboardInterrupt

        monkeypatch.setattr("facevalue.models.hf.engine.score_pack", interrupted)
        with pytest.raises(KeyboardInterrupt):
            list(responses)
    assert threading.active_count() == before
    monkeypatch.undo()
    assert answers(model, requests(shown("one")))[0].status is Status.OK


def test_pictures_that_cannot_be_read_are_errors_of_their_own(model: Any) -> None:
    broken = shown("broken", Image(png(tiny.picture("one")).data[:80], "image/png"))
    text = shown("text", Image(b"<svg/>", "image/png"))
    tall = shown("tall", png(PIL.Image.new("L", (1, 9000))))

    def missing() -> tuple[Image, ...]:
        raise DataError("face.png is not there")

    gone = Stimulus("gone", "gone", {}, missing)
    wanted = [r for at, one in enumerate((broken, text, gone, shown("one"))) for r in requests(one, 10 * at)]
    found = answers(model, wanted)
    for trial, says in ((0, "image 1"), (11, "not a PNG"), (22, "face.png is not there")):
        assert found[trial].status is Status.ERROR
        assert says in (found[trial].error or "")
        assert found[trial].probs is None
    assert found[30].status is Status.OK
    assert answers(model, requests(tall))[0].status in (Status.OK, Status.ERROR)  # never an exception


def test_what_a_processor_makes_of_a_picture_is_an_error_with_its_reason(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rejects(*args: Any, **kwargs: Any) -> Any:
        raise ValueError("height and width must be larger than factor")

    processor = model.engine.loaded.processor
    for part in (processor, processor.image_processor):
        monkeypatch.setattr(type(part), "__call__", rejects)
    found = answers(model, requests(shown("one")))
    assert {response.status for response in found.values()} == {Status.ERROR}
    assert "larger than factor" in (found[0].error or "")


@pytest.mark.parametrize("exact", [True, False])
def test_what_a_model_makes_of_a_request_is_an_error_with_its_reason(
    model: Any, monkeypatch: pytest.MonkeyPatch, exact: bool
) -> None:
    def fails(*args: Any, **kwargs: Any) -> Any:
        raise IndexError("index 7 is out of bounds")

    with monkeypatch.context() as patch:
        patch.setattr(model.engine.loaded.model, "forward", fails)
        found = answers(model, requests(shown("one"), exact=exact))
    assert {response.status for response in found.values()} == {Status.ERROR}
    assert found[0].error == "The model fails: IndexError: index 7 is out of bounds"
    assert answers(model, requests(shown("one")))[0].status is Status.OK


@pytest.mark.parametrize("error", [ValueError, TypeError, KeyError, RuntimeError])
@pytest.mark.parametrize("place", ["prompts.frame_pictures", "engine.score_pack", "adapter.decode_pictures"])
def test_a_fault_of_our_own_is_no_error_of_a_request(
    model: Any, monkeypatch: pytest.MonkeyPatch, place: str, error: type[Exception]
) -> None:
    def fails(*args: Any) -> Any:
        raise error("a fault of ours")

    monkeypatch.setattr(f"facevalue.models.hf.{place}", fails)
    with pytest.raises(error, match="a fault of ours"):
        answers(model, requests(shown("one")))


@pytest.mark.parametrize("exact", [True, False])
def test_a_gpu_that_fails_ends_the_run_with_its_reason_and_is_no_reason_to_ask_otherwise(
    folder: Path, monkeypatch: pytest.MonkeyPatch, exact: bool
) -> None:
    def lost(*_: Any, **__: Any) -> Any:
        raise RuntimeError("CUDA error: device-side assert triggered\nSearch for `cudaErrorAssert' in ...")

    model: Any = load(f"hf/{folder}", CPU)
    monkeypatch.setattr(type(model.engine.loaded.model), "forward", lost)
    with pytest.raises(ModelError, match=r"^The GPU failed: CUDA error: device-side assert triggered\. Nothing more"):
        answers(model, requests(shown("one"), exact=exact))


def test_twenty_stimuli_without_any_answer_end_the_run(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def rejects(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("shapes that do not fit")

    monkeypatch.setattr(model.engine.loaded.model, "forward", rejects)
    stream = (request for at in range(40) for request in requests(shown(str(at)), 10 * at, count=2))
    seen = []
    with pytest.raises(ModelError, match=r"20 stimuli in a row.*shapes that do not fit"):
        seen.extend(fresh(model).respond(stream))
    assert 38 <= len(seen) <= 40


def fresh(model: Any) -> Any:
    """The same model without what it has seen."""
    model._failures = 0
    return model


def test_a_context_that_does_not_fit_is_an_error(model: Any) -> None:
    long = Question(prompt="person " * 1500, options=LETTERS)
    near = Question(prompt="Who? ", options=LETTERS)
    stimulus = shown("one")
    wanted = [
        Request(0, 0, 1, stimulus, long, Sampling(), True),
        Request(1, 0, 1, stimulus, long, Sampling(), False),
        Request(2, 0, 1, stimulus, near, Sampling(1.0, 1.0, 1020), False),
        Request(3, 0, 1, stimulus, near, Sampling(), True),
    ]
    found = answers(model, wanted)
    for trial in (0, 1, 2):
        assert found[trial].status is Status.ERROR
        assert "context of 1024" in (found[trial].error or "")
        assert found[trial].text is None
    assert found[3].status is Status.OK


def test_seeds_reproduce_and_trials_have_numbers_of_their_own(folder: Path, model: Any) -> None:
    """A study asks everything with seed 1; that must not decide every trial by the same random number."""
    one, two = shown("one"), shown("two")
    wanted = [r for at, stimulus in enumerate((one, two)) for r in requests(stimulus, 10 * at, exact=False)]
    texts = {trial: response.text for trial, response in answers(model, wanted).items()}
    again = load(f"hf/{folder}", CPU)
    assert {trial: response.text for trial, response in answers(again, wanted[::-1]).items()} == texts
    seeds = {adapter._seed(request) for request in wanted}
    assert len(seeds) == len(wanted)
    assert adapter._seed(wanted[0]) == adapter._seed(wanted[0]._replace(trial=99))
    assert adapter._seed(wanted[0]) != adapter._seed(wanted[0]._replace(seed=2))


def test_constrained_requests_are_answered_by_options(model: Any) -> None:
    pytest.importorskip("llguidance", reason="llguidance is not installed: pip install '.[hf]'")
    wanted = [request._replace(constrain=True) for request in requests(shown("one"), exact=False)]
    assert {response.text for response in answers(model, wanted).values()} <= {"(a)", "(b)"}
    assert model.capabilities.structured


def test_settings_tell_what_changes_the_answers(folder: Path, model: Any, tmp_path: Path) -> None:
    settings = model.settings()
    assert (settings["dtype"], settings["device"], settings["compile"]) == ("float32", "cpu", False)
    assert settings["torch"] == torch.__version__
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert fingerprint(copy) == settings["weights"]
    raw = bytearray((copy / "model.safetensors").read_bytes())
    raw[-1] ^= 1
    (copy / "model.safetensors").write_bytes(raw)
    changed = fingerprint(copy)
    assert changed != settings["weights"]
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"vision_feature_layer": -1}))
    assert fingerprint(copy) not in (changed, settings["weights"])
    assert str(tmp_path) not in json.dumps(dict(settings))


def test_findings_are_what_the_self_check_saw(folder: Path) -> None:
    model = load(f"hf/{folder}", CPU)
    assert isinstance(model, HFModel)
    assert list(model.findings()) == ["one_pass_difference", "shared"]
    answers(model, requests(shown("one")))
    found = model.findings()
    assert str(found["shared"]).startswith("1 picture, a rehearsal: places in the tree ")
    assert "; 1 picture, replies weighed: places in the tree " in str(found["shared"])
    assert "plain" not in found
    assert found["self_checks"] == 1
    assert 0 <= float(found["largest_difference"]) <= float(found["tolerance"]) == 1e-4
    model.close()


@pytest.mark.parametrize(
    ("spec", "options", "says"),
    [
        ("sim/default", ModelOptions(dtype="float32"), "--dtype is for models on this machine"),
        ("http://127.0.0.1:9/v1#x", ModelOptions(device="cpu", compile=True), "--device and --compile are for models"),
        ("openai/x", ModelOptions(threads=2), "--threads is for"),
        ("hf/", ModelOptions(), "write hf/PATH_OR_ID"),
        ("hf/", ModelOptions(threads=2), "'hf/' names no model: write hf/PATH_OR_ID"),
        ("hf", ModelOptions(device="cpu,cpu"), "'hf' names no model: write hf/PATH_OR_ID"),
    ],
)
def test_options_for_other_models_are_refused(spec: str, options: ModelOptions, says: str) -> None:
    with pytest.raises(ModelError, match=says):
        load(spec, options)


def test_unknown_kinds_name_this_one() -> None:
    with pytest.raises(UnknownNameError, match="hf/PATH_OR_ID"):
        load("hg/model")


# Pictures.


def test_transparency_is_shown_on_white_and_pictures_stand_upright() -> None:
    clear = PIL.Image.new("RGBA", (6, 4), (255, 0, 0, 0))
    (seen,) = decode_pictures(shown("clear", png(clear)))
    assert seen.getpixel((0, 0)) == (255, 255, 255)
    grey = PIL.Image.new("L", (6, 4), 80)
    exif = PIL.Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    buffer = io.BytesIO()
    grey.save(buffer, "JPEG", exif=exif)
    (turned,) = decode_pictures(shown("turned", Image(buffer.getvalue(), "image/jpeg")))
    assert (turned.size, turned.mode) == ((4, 6), "RGB")


def test_pictures_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("facevalue.models._pictures.MAX_BYTES", 100)
    with pytest.raises(DataError, match="at most"):
        decode_pictures(shown("one"))
    monkeypatch.undo()
    monkeypatch.setattr("facevalue.stimuli.images.MAX_PIXELS", 1000)
    with pytest.raises(DataError, match="million pixels"):
        decode_pictures(shown("one"))


def test_sessions_of_the_document_run_as_printed(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llguidance", reason="llguidance is not installed: pip install '.[hf]'")
    document = (Path(__file__).parents[3] / "docs/how-to/local-models.md").read_text()
    sessions = "\n".join(re.findall(r"^```pycon\n(.*?)^```$", document, re.MULTILINE | re.DOTALL))
    shutil.copytree(folder, tmp_path / "models" / "llava-1.5-7b-hf")
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(sessions, {}, "local-models.md", None, 0)
    assert len(test.examples) > 12
    said: list[str] = []
    failed, _ = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert not failed, "".join(said)
