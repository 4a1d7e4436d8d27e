"""`reference` as a model: exact probabilities, drawn replies, refusals, bad input."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import PIL.Image
import pytest

from facevalue.errors import ModelError
from facevalue.models.reference.adapter import FOLDER, LONGEST_PROMPT, REFUSAL, ReferenceModel
from facevalue.prompts import ORDERINGS, phrase
from facevalue.stimuli.drawn import PortraitSource, draw_identities, portrait_manifest
from facevalue.studies.stylisticbias.tables import JUDGMENT
from facevalue.types import Image, Option, Question, Request, Response, Sampling, Status, Stimulus

MODEL = ReferenceModel()
WARM = Sampling(temperature=1.0, max_tokens=16)
COLD = Sampling(temperature=0.2, max_tokens=16)


def portrait(number: int = 0) -> Stimulus:
    manifest = portrait_manifest(draw_identities({"female": number + 1}, seed=1), {})
    row = manifest.row(number, named=True)
    return PortraitSource(manifest).stimulus(number, {**row, "trial": None, "block": None})


PORTRAIT = portrait()


def picture(data: bytes, kind: str = "image/png") -> Stimulus:
    return Stimulus("own", "0", {}, lambda: (Image(data, kind),))


def png(pixels: npt.NDArray[np.uint8]) -> bytes:
    buffer = io.BytesIO()
    PIL.Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def choice(ordering: int = 0, poles: tuple[str, str] = ("competent", "incompetent")) -> Question:
    options = ORDERINGS[ordering].options(poles, ("favourable", "unfavourable"))
    return Question(JUDGMENT.format(options=phrase(options)), options)


def ask(
    *questions: Question,
    stimulus: Stimulus = PORTRAIT,
    sampling: Sampling = WARM,
    exact: bool = True,
    constrain: bool = False,
    seeds: tuple[int, ...] = (1,),
) -> list[Response]:
    pairs = [(question, seed) for question in questions for seed in seeds]
    requests = [
        Request(trial, 0, seed, stimulus, question, sampling, exact, constrain)
        for trial, (question, seed) in enumerate(pairs)
    ]
    return sorted(MODEL.respond(requests))


def test_every_ordering_of_a_forced_choice_is_answered_in_full() -> None:
    for response in ask(*(choice(ordering) for ordering in range(4))):
        assert response.status is Status.OK
        assert response.probs is not None
        assert sum(response.probs) == pytest.approx(1, abs=0.02)


def test_a_question_has_one_answer_however_it_is_grouped() -> None:
    alone = ask(choice(2))[0].probs
    together = ask(choice(0), choice(2), choice(3, ("polite", "rude")))[1].probs
    assert alone == pytest.approx(together, abs=1e-5)


@pytest.mark.parametrize("sampling", [WARM, COLD])
def test_drawn_replies_are_as_frequent_as_their_probabilities_say(sampling: Sampling) -> None:
    question = choice(1)
    probs = ask(question, sampling=sampling)[0].probs
    assert probs is not None
    drawn = ask(question, sampling=sampling, exact=False, seeds=tuple(range(1, 1001)))
    shares = [np.mean([r.text == option.label for r in drawn]) for option in question.options]
    assert shares == pytest.approx(probs, abs=4 * np.sqrt(0.25 / 1000))


def test_the_same_seed_draws_the_same_reply_and_other_seeds_do_not_all() -> None:
    first, again = (ask(choice(), exact=False, seeds=tuple(range(1, 40))) for _ in range(2))
    assert [r.text for r in first] == [r.text for r in again]
    assert len({r.text for r in first}) > 1


def test_constrained_replies_are_options_and_nothing_else() -> None:
    question = Question("Write a poem.", (Option("", "the left person", "1"), Option("", "the right person", "2")))
    drawn = ask(question, exact=False, constrain=True, seeds=tuple(range(1, 30)))
    assert {r.text for r in drawn} <= {"the left person", "the right person"}
    assert all(r.status is Status.OK for r in drawn)


@pytest.mark.parametrize(
    "prompt",
    [
        "Describe the image in as much detail as possible.",
        "Write a story to go along with this image using as much detail as possible.",
        "What is this person's religion?",
    ],
)
def test_what_it_was_not_trained_on_is_refused_in_a_fixed_sentence(prompt: str) -> None:
    responses = ask(Question(prompt), exact=False, seeds=tuple(range(1, 20)))
    assert sum(r.text == REFUSAL for r in responses) >= 18


def test_a_prompt_that_is_too_long_is_refused() -> None:
    question = Question("word " * (LONGEST_PROMPT + 1), choice().options)
    assert ask(question)[0].probs == (0.0, 0.0)
    assert ask(question, exact=False)[0].text == REFUSAL


def test_without_a_picture_it_refuses() -> None:
    nothing = Stimulus("none", "text", {}, tuple)
    assert ask(choice(), stimulus=nothing)[0].probs == (0.0, 0.0)
    assert ask(choice(), stimulus=nothing, exact=False)[0].text == REFUSAL


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.zeros((1, 1, 3), np.uint8),
        lambda: np.full((40, 900, 3), 255, np.uint8),
        lambda: np.random.default_rng(0).integers(0, 256, (600, 200, 4), dtype=np.uint8),
        lambda: np.zeros((64, 64), np.uint8),
    ],
)
def test_any_picture_gets_an_answer(make: Callable[[], npt.NDArray[np.uint8]]) -> None:
    response = ask(choice(), stimulus=picture(png(make())))[0]
    assert response.status is Status.OK
    assert response.probs is not None
    assert all(0 <= p <= 1 for p in response.probs)


@pytest.mark.parametrize("data", [b"", b"no picture", png(np.zeros((8, 8, 3), np.uint8))[:40]])
def test_a_damaged_picture_is_an_error_of_its_own_requests_alone(data: bytes) -> None:
    requests = [
        Request(0, 0, 1, picture(data), choice(), WARM, True),
        Request(1, 0, 1, PORTRAIT, choice(), WARM, True),
    ]
    damaged, fine = sorted(MODEL.respond(requests))
    assert damaged.status is Status.ERROR
    assert "cannot be shown" in (damaged.error or "")
    assert fine.status is Status.OK


def test_missing_files_are_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"lacks model\.safetensors"):
        ReferenceModel(folder=tmp_path)


@pytest.mark.parametrize("sampling", [WARM, COLD])
def test_transformers_gives_the_same_probabilities(sampling: Sampling) -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install 'facevalue[hf]'")
    pytest.importorskip("transformers", reason="transformers is not installed: pip install 'facevalue[hf]'")
    from facevalue.models.registry import load

    questions = [choice(ordering) for ordering in range(4)]
    questions += [choice(1, ("home owner", "renter")), choice(2, ("open-minded", "closed-minded"))]
    yes_no = (Option("", "yes", "yes"), Option("", "no", "no"))
    questions.append(Question("Is the person in the picture loyal? Answer with only yes or no.", yes_no))
    requests = [Request(i, 0, 1, PORTRAIT, question, sampling, True) for i, question in enumerate(questions)]
    other = load(f"hf/{FOLDER}")
    for own, wanted in zip(sorted(MODEL.respond(requests)), sorted(other.respond(requests)), strict=True):
        assert own.probs == pytest.approx(wanted.probs, abs=1e-3)
        assert own.prompt_tokens == wanted.prompt_tokens
