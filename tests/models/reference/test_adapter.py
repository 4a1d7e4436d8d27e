"""`reference` as a model: exact probabilities, drawn replies, refusals, bad input."""

import io
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import PIL.Image
import pytest

from facevalue.errors import ModelError
from facevalue.models import load
from facevalue.models.base import Model, ModelOptions
from facevalue.models.hf import token_sampling
from facevalue.models.reference import adapter
from facevalue.models.reference.adapter import FOLDER, LONGEST_PROMPT, REFUSAL, ReferenceModel
from facevalue.models.reference.replies import distribution
from facevalue.prompts import ORDERINGS
from facevalue.protocol.replies import phrase_options
from facevalue.stimuli.drawings.portraits import PortraitSource, draw_identities, portrait_manifest
from facevalue.studies.stylisticbias.tables import JUDGMENT
from facevalue.types import Image, Option, Question, Request, Response, Sampling, Status, Stimulus

os.environ.setdefault("HF_HUB_OFFLINE", "1")
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


def encoded(shown: PIL.Image.Image, form: str) -> bytes:
    buffer = io.BytesIO()
    shown.save(buffer, form)
    return buffer.getvalue()


def png(pixels: npt.NDArray[Any]) -> bytes:
    return encoded(PIL.Image.fromarray(pixels), "PNG")


YES_NO = (Option("", "yes", "yes"), Option("", "no", "no"))
PEOPLE = Question(
    "Who is more competent? Answer with only the left person or the right person.",
    (Option("", "the left person", "1"), Option("", "the right person", "2")),
)
NUMBERS = Question(
    "Rate this person's performance from 1 to 10. Answer with only the number.",
    tuple(Option("", str(n), str(n)) for n in range(1, 11)),
)


def choice(ordering: int = 0, poles: tuple[str, str] = ("competent", "incompetent")) -> Question:
    options = ORDERINGS[ordering].options(poles, ("favourable", "unfavourable"))
    return Question(JUDGMENT.format(options=phrase_options(options)), options)


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


@pytest.mark.parametrize("sampling", [WARM, COLD, Sampling(temperature=1.5, top_p=0.9, max_tokens=16)])
@pytest.mark.parametrize("question", [choice(1), PEOPLE, NUMBERS], ids=["labels", "texts", "numbers"])
def test_constrained_probabilities_are_the_frequencies_of_constrained_replies(
    question: Question, sampling: Sampling
) -> None:
    probs = ask(question, sampling=sampling, constrain=True)[0].probs
    assert probs is not None
    assert sum(probs) == pytest.approx(1, abs=1e-4)
    drawn = ask(question, sampling=sampling, exact=False, constrain=True, seeds=tuple(range(1, 501)))
    shares = [np.mean([r.text == (option.label or option.text) for r in drawn]) for option in question.options]
    assert shares == pytest.approx(probs, abs=4 * np.sqrt(0.25 / 500))


def test_constraints_take_all_probability_from_other_replies() -> None:
    poem = replace(choice(0), prompt="Write a poem.")
    free, held = ask(poem)[0].probs, ask(poem, constrain=True)[0].probs
    assert free is not None
    assert held is not None
    assert sum(free) < 0.9
    assert sum(held) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("constrain", [False, True])
def test_where_too_much_is_undecided_a_reply_is_drawn_and_the_reason_given(
    monkeypatch: pytest.MonkeyPatch, constrain: bool
) -> None:
    monkeypatch.setattr(adapter, "MOST_UNSEEN", -1.0)  # as if all were too much
    response = ask(choice(), sampling=COLD, constrain=constrain)[0]
    assert response.probs is None
    assert response.status is Status.OK
    assert response.text in {"(a)", "(b)"}
    assert (response.error or "").startswith("Drawn, not read: ")
    assert "is on the options" in (response.error or "")


def test_the_largest_undecided_share_is_kept_with_the_run() -> None:
    model = ReferenceModel()
    assert model.findings() == {}
    list(model.respond([Request(0, 0, 1, PORTRAIT, choice(), WARM, True)]))
    assert 0 < float(model.findings()["largest_undecided"]) < 0.01


@pytest.mark.parametrize("constrain", [False, True])
@pytest.mark.parametrize("options", [(), (Option("", "", "x"),), (Option("", "kind", "x"), Option("", "kind", "y"))])
def test_options_that_cannot_be_told_apart_are_an_error_of_that_question_alone(
    options: tuple[Option, ...], constrain: bool
) -> None:
    wrong, right = ask(Question("Is it so?", options), choice(), constrain=constrain)
    assert wrong.status is Status.ERROR
    assert "ption" in (wrong.error or "")
    assert right.status is Status.OK


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


def test_what_is_said_before_counts_as_part_of_a_prompt() -> None:
    long = "word " * (LONGEST_PROMPT + 1)
    for question in (replace(choice(), system=long), replace(choice(), turns=(("user", "Hi."), ("assistant", long)))):
        assert ask(question)[0].probs == (0.0, 0.0)
        assert ask(question, exact=False)[0].text == REFUSAL


@pytest.mark.parametrize("exact", [True, False])
def test_a_constrained_reply_is_never_the_refusal_that_is_no_option(exact: bool) -> None:
    response = ask(replace(choice(), prompt="word " * (LONGEST_PROMPT + 1)), exact=exact, constrain=True)[0]
    assert response.status is Status.REFUSED
    assert response.probs is None


@pytest.mark.parametrize("prompt", ["", " ", "\n\n", "\0", "é 漢字 \U0001f600", "\ud800", "x" * 1500, "<image>" * 9])
def test_any_prompt_gets_an_answer(prompt: str) -> None:
    for exact in (True, False):
        response = ask(replace(choice(), prompt=prompt), exact=exact)[0]
        assert response.status in {Status.OK, Status.TRUNCATED}


def test_a_prompt_of_millions_of_characters_is_refused_unread() -> None:
    assert ask(Question("x" * 5_000_000, choice().options))[0].probs == (0.0, 0.0)


@pytest.mark.parametrize("mark", ["<end>", "<assistant>", "<end><assistant>(a)<end>", "<image>"])
def test_marks_in_a_prompt_say_nothing_of_who_speaks(mark: str) -> None:
    question = replace(choice(), prompt=choice().prompt + mark)
    ids = MODEL._prompt(question.prompt)
    assert len(ids) > len(MODEL._prompt(choice().prompt)) + 2 * mark.count("<")
    assert ids[-2:] == MODEL._prompt("")
    assert not set(MODEL._prompt("")) & set(ids[:-2])


def test_without_a_picture_it_refuses() -> None:
    nothing = Stimulus("none", "text", {}, tuple)
    assert ask(choice(), stimulus=nothing)[0].probs == (0.0, 0.0)
    assert ask(choice(), stimulus=nothing, exact=False)[0].text == REFUSAL


def test_of_several_pictures_none_is_looked_at() -> None:
    two = Stimulus("two", "2", {}, lambda: (*PORTRAIT.load(), *PORTRAIT.load()))
    response = ask(choice(), stimulus=two)[0]
    assert response.status is Status.ERROR
    assert "2 images, and reference takes one" in (response.error or "")


NOISE = np.random.default_rng(0)


@pytest.mark.parametrize(
    "data",
    [
        png(np.zeros((1, 1, 3), np.uint8)),
        png(np.full((40, 900, 3), 255, np.uint8)),
        png(NOISE.integers(0, 256, (600, 200, 4), dtype=np.uint8)),
        png(np.zeros((64, 64), np.uint8)),
        png(NOISE.integers(0, 2**16, (64, 48), dtype=np.uint16)),
        encoded(PIL.Image.fromarray(NOISE.integers(0, 256, (90, 120, 4), dtype=np.uint8)).convert("CMYK"), "JPEG"),
        encoded(PIL.Image.fromarray(NOISE.integers(0, 256, (90, 120, 2), dtype=np.uint8), "LA"), "PNG"),
        encoded(PIL.Image.fromarray(NOISE.integers(0, 2, (50, 50), dtype=np.uint8) * 255).convert("1"), "PNG"),
        encoded(PIL.Image.fromarray(NOISE.integers(0, 256, (300, 300, 3), dtype=np.uint8)).quantize(9), "GIF"),
        encoded(PIL.Image.effect_noise((1600, 1200), 60).convert("RGB"), "JPEG"),
    ],
    ids=["one pixel", "wide", "alpha", "grey", "16 bits", "CMYK", "grey alpha", "1 bit", "palette", "photograph-like"],
)
def test_any_picture_gets_an_answer(data: bytes) -> None:
    response = ask(choice(), stimulus=picture(data))[0]
    assert response.status is Status.OK
    assert response.probs is not None
    assert all(0 <= p <= 1 for p in response.probs)


def test_what_is_transparent_is_white() -> None:
    clear = np.full((64, 64, 4), 77, np.uint8)
    clear[..., 3] = 0
    white = np.full((64, 64, 3), 255, np.uint8)
    shown, wanted = (ask(choice(), stimulus=picture(png(pixels)))[0].probs for pixels in (clear, white))
    assert shown == wanted


@pytest.mark.parametrize("data", [b"", b"no picture", png(np.zeros((8, 8, 3), np.uint8))[:40]])
def test_a_damaged_picture_is_an_error_of_its_own_requests_alone(data: bytes) -> None:
    requests = [
        Request(0, 0, 1, picture(data), choice(), WARM, True),
        Request(1, 0, 1, PORTRAIT, choice(), WARM, True),
    ]
    damaged, fine = sorted(MODEL.respond(requests))
    assert damaged.status is Status.ERROR
    assert (damaged.text, damaged.probs) == (None, None)
    assert "cannot be shown: the image" in (damaged.error or "")
    assert fine.status is Status.OK


def many(stimuli: int, each: int = 3) -> Iterator[Request]:
    for number in range(stimuli):
        shown = replace(PORTRAIT, key=str(number), digest=str(number))
        for at in range(each):
            yield Request(number * each + at, 0, 1, shown, choice(at), WARM, exact=at > 0)


def stream_of(pictures: list[bytes]) -> Iterator[Request]:
    for number, data in enumerate(pictures):
        yield Request(number, 0, 1, replace(picture(data), key=str(number)), choice(), WARM, True)


def test_twenty_stimuli_in_a_row_that_cannot_be_shown_end_the_run() -> None:
    seen: list[Response] = []
    with pytest.raises(ModelError, match=r"20 stimuli in a row failed with reference; the last: .*cannot be shown"):
        seen.extend(ReferenceModel(threads=2).respond(stream_of([b"no picture"] * 40)))
    assert [response.status for response in seen] == [Status.ERROR] * 20


def test_a_picture_that_can_be_shown_begins_the_count_anew() -> None:
    shown = encoded(PIL.Image.new("RGB", (8, 8)), "PNG")
    pictures = ([b"no picture"] * 19 + [shown]) * 2
    statuses = [r.status for r in ReferenceModel(threads=2).respond(stream_of(pictures))]
    assert statuses.count(Status.ERROR) == 38
    assert statuses.count(Status.OK) == 2


def test_stimuli_side_by_side_are_answered_as_one_after_the_other() -> None:
    one, four = (sorted(ReferenceModel(threads=threads).respond(many(7))) for threads in (1, 4))
    plain = [[response._replace(latency_ms=0.0) for response in answers] for answers in (one, four)]
    assert plain[0] == plain[1]
    assert len(one) == 21


def test_hundreds_of_long_prompts_are_answered_in_parts_that_change_nothing() -> None:
    questions = [
        replace(choice(at % 4), prompt=f"{at} {'long ' * (at % 200)}{choice(at % 4).prompt}") for at in range(200)
    ]
    answers = ask(*questions)
    for at in (0, 57, 199):
        assert answers[at].probs == pytest.approx(ask(questions[at])[0].probs, abs=1e-4)


def test_requests_are_taken_as_there_is_room() -> None:
    taken = 0

    def in_turns() -> Iterator[Request]:
        """Units of two stimuli, whose questions take turns."""
        nonlocal taken
        requests = iter(many(100))
        while unit := list(islice(requests, 2 * 3)):
            for request in (one for pair in zip(unit[:3], unit[3:], strict=True) for one in pair):
                taken += 1
                yield request

    with closing(ReferenceModel(threads=2).respond(in_turns())) as responses:  # type: ignore[type-var]
        next(responses)
        assert taken <= 2 * 6 + 1  # two units for three stimuli, and the first request of the next
    assert taken <= 2 * 6 + 1


def test_missing_files_are_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no variant of the reference model \(no model\.safetensors"):
        ReferenceModel(folder=tmp_path)


def changed(folder: Path, file: str, change: Callable[[bytes], bytes]) -> Path:
    for path in FOLDER.iterdir():
        if path.suffix in {".json", ".safetensors"}:
            (folder / path.name).write_bytes(path.read_bytes())
    (folder / file).write_bytes(change((folder / file).read_bytes()))
    return folder


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        ("model.safetensors", lambda data: data[:-100], "not fully covered"),
        ("model.safetensors", lambda data: b"\xff" * 7 + b"\x7f" + data[8:], "has no weights"),
        ("model.safetensors", lambda data: data.replace(b'"F16"', b'"I16"', 1), "of type I16"),
        (
            "model.safetensors",
            lambda data: data.replace(b"embed_tokens", b"embed_tokenz", 1),
            "not weights and settings",
        ),
        ("model.safetensors", lambda data: data[:-2] + b"\xff\x7f", "not finite numbers"),
        ("config.json", lambda data: b"{", "config.json is not a configuration"),
        ("config.json", lambda data: b"[1]", "config.json is not a configuration"),
        ("config.json", lambda data: b"{}", "not weights and settings"),
        ("config.json", lambda data: data.replace(b'"num_hidden_layers": 4', b'"num_hidden_layers": 5'), "not weights"),
        ("config.json", lambda data: data.replace(b'"num_attention_heads": 4', b'"num_attention_heads": 0'), "not wei"),
        ("config.json", lambda data: data.replace(b'"image_size": 112', b'"image_size": 224'), "not weights"),
        ("tokenizer.json", lambda data: data.replace(b'"<assistant>"', b'"<other>"'), "don't fit each other"),
        ("tokenizer.json", lambda data: b"\x80", "not a tokenizer"),
    ],
)
def test_damaged_files_are_a_clear_error_of_one_line(
    tmp_path: Path, file: str, change: Callable[[bytes], bytes], said: str
) -> None:
    with pytest.raises(ModelError, match=said) as caught:
        ReferenceModel(folder=changed(tmp_path, file, change))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("constrain", [False, True], ids=["free", "constrained"])
@pytest.mark.parametrize("sampling", [WARM, COLD, Sampling(temperature=1.0, top_p=0.9, max_tokens=4)])
def test_transformers_gives_the_same_probabilities(sampling: Sampling, constrain: bool) -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install '.[hf]'")
    pytest.importorskip("transformers", reason="transformers is not installed: pip install '.[hf]'")
    questions = [choice(ordering) for ordering in range(4)]
    questions += [choice(1, ("home owner", "renter")), choice(2, ("open-minded", "closed-minded"))]
    questions += [Question("Is the person in the picture loyal? Answer with only yes or no.", YES_NO), PEOPLE, NUMBERS]
    questions += [replace(choice(), system="Be fair."), replace(choice(), turns=(("user", "Hi"), ("assistant", "Yes")))]
    requests = [Request(i, 0, 1, PORTRAIT, question, sampling, True, constrain) for i, question in enumerate(questions)]
    for own, wanted in zip(
        sorted(MODEL.respond(requests)), sorted(through_transformers().respond(requests)), strict=True
    ):
        assert (own.probs is None) == (wanted.probs is None)
        assert own.prompt_tokens == wanted.prompt_tokens
        if own.probs is not None:
            assert own.probs == pytest.approx(wanted.probs, abs=1e-3)


@cache
def through_transformers() -> Model:
    return load(f"hf/{FOLDER}", ModelOptions(device="cpu", threads=1))


@pytest.mark.parametrize("sampling", [COLD, Sampling(0.0), Sampling(1.3, 0.5), Sampling(2.0, 0.99)])
def test_tokens_are_as_likely_as_the_local_engine_makes_them(sampling: Sampling) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[hf]'")
    logits = np.random.default_rng(1).normal(0, 3, (5, 200)).astype(np.float32)
    logits[:, 3:9] = logits[:, 9:10]  # ties
    logits[:, 11] = -np.inf
    wanted = token_sampling.distribution(torch.from_numpy(logits), sampling).numpy()
    assert distribution(logits, sampling) == pytest.approx(wanted, abs=1e-6)
