"""Servers of pictures in three shapes: what is sent, what is taken of a reply, what is refused and by whom."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from facevalue.errors import ModelError, ModelSpecError
from facevalue.generators.base import GeneratedPicture, GeneratorOptions, PictureGenerator, PictureRequest
from facevalue.generators.images_api import NOT_AS_ASKED, ImagesServer
from facevalue.servers.server import Waits
from facevalue.types import Image, Status
from tests.generators.images_server import (
    PicturesServer,
    base64_of,
    document,
    environment,
    fastapi,
    no_wait,
    omni,
    picture,
    reply,
    server,
)
from tests.models.misbehaving import Behaviour, Exchange

__all__ = ["environment", "omni", "server"]

KEY = "sk-Very/Secret+Key_0123456789"
SOURCE = Image(picture("source", "JPEG"), "image/jpeg")
PROMPT = 'An old man\nsays "caf\u00e9".'

Make = Callable[..., ImagesServer]


@pytest.fixture
def openai() -> Iterator[PicturesServer]:
    with PicturesServer("openai").served() as served:
        yield served  # type: ignore[misc]


def make(spec: str, **options: Any) -> ImagesServer:
    options = {"concurrency": 1, "timeout": 20.0, "retries": 2} | options
    return ImagesServer(spec, GeneratorOptions(**options), waits=Waits(sleep=no_wait))


def wanted(number: int = 0, source: Image | None = None, prompt: str = PROMPT) -> PictureRequest:
    return PictureRequest(number, prompt, 40 + number, source, {"group": "never sent"})


def one(generator: ImagesServer, request: PictureRequest | None = None) -> GeneratedPicture:
    (made,) = generator.generate([request or wanted()])
    return made


# What is sent, in each shape


def test_a_picture_is_made_from_its_text_alone(server: PicturesServer) -> None:
    made = one(make(server.spec, settings={"output_format": "png"}))
    body = server.asked[-1].body
    assert (made.status, made.error, made.revised_prompt) == (Status.OK, None, None)
    assert server.asked[-1].handler.path == "/v1/images/generations"
    assert {name: body[name] for name in ("prompt", "model", "output_format")} == {
        "prompt": PROMPT,
        "model": "painter",
        "output_format": "png",
    }
    seeded = server.shape != "openai"
    assert (body.get("seed"), made.seed) == ((40, 40) if seeded else (None, None))
    assert body.get("response_format") == ("b64_json" if seeded else None)
    assert made.image == Image(picture(f"{PROMPT} {40 if seeded else None}"), "image/png")
    assert "never sent" not in str(server.bodies)
    assert made.latency_ms > 0


def test_a_picture_is_changed_by_a_form_with_the_file_as_it_is(server: PicturesServer) -> None:
    made = one(make(server.spec, settings={"output_format": "webp"}), wanted(source=SOURCE))
    body = server.asked[-1].body
    assert (made.status, made.error) == (Status.OK, None)
    assert server.asked[-1].handler.path == "/v1/images/edits"
    assert (body["image"], body["image type"], body["image name"]) == (SOURCE.data, "image/jpeg", "image.jpeg")
    assert (body["prompt"], body["model"], body["output_format"]) == (PROMPT, "painter", "webp")
    assert body.get("seed") == (None if server.shape == "openai" else "40")
    assert made.image is not None
    assert made.image.media_type == "image/webp"


def test_it_is_a_generator_and_says_what_it_is(server: PicturesServer) -> None:
    generator: PictureGenerator = make(server.spec, size=(24, 16), settings={})
    assert generator.name == server.spec
    assert generator.settings() == {
        "api": "openai-images", "endpoint": server.url, "model": "painter", "size": "24x16"
    }  # fmt: skip
    capabilities = generator.capabilities
    assert (capabilities.generates, capabilities.edits, capabilities.seeds) == (True, True, True)
    assert server.asked == []
    generator.close()


def test_settings_are_sent_as_they_are_and_truth_values_as_forms_have_them(openai: PicturesServer) -> None:
    openai.otherwise = lambda exchange: openai.send(exchange, picture("any"))
    settings = {"quality": "low", "guidance_scale": 7.0, "steps": 20, "cache": True}
    list(make(openai.spec, settings=settings).generate([wanted(0), wanted(1, SOURCE)]))
    made, changed = openai.bodies
    assert {name: made[name] for name in settings} == settings
    assert {name: changed[name] for name in settings} == {
        "quality": "low", "guidance_scale": "7.0", "steps": "20", "cache": "true"
    }  # fmt: skip


def test_what_one_path_alone_takes_is_sent_there_alone(openai: PicturesServer, omni: PicturesServer) -> None:
    both = [wanted(0), wanted(1, SOURCE)]
    list(make(openai.spec, settings={"input_fidelity": "high", "moderation": "low"}).generate(both))
    made, changed = (next(b for b in reversed(openai.bodies) if ("image" in b) == is_edit) for is_edit in (False, True))
    assert ("input_fidelity" in made, made["moderation"]) == (False, "low")
    assert ("moderation" in changed, changed["input_fidelity"]) == (False, "high")
    list(make(omni.spec, settings={"strength": 0.5}).generate(both))
    assert ["strength" in body for body in omni.bodies] == [False, True]


def test_a_prompt_cannot_leave_its_field(openai: PicturesServer) -> None:
    prompt = 'x"\r\n--\r\nContent-Disposition: form-data; name="model"\r\n\r\nother\r\n'
    assert one(make(openai.spec), wanted(source=SOURCE, prompt=prompt)).status is Status.OK
    assert (openai.bodies[-1]["prompt"], openai.bodies[-1]["model"]) == (prompt, "painter")


# What the server takes, and what becomes of the rest


def test_what_a_server_refuses_of_ours_is_left_out_once_it_is_seen_to_work(openai: PicturesServer) -> None:
    generator = make(openai.spec)
    assert {made.seed for made in generator.generate(wanted(number) for number in range(4))} == {None}
    assert len(openai.asked) == 2 + 4
    untried = generator.capabilities.seeds
    one(generator, wanted(9, SOURCE))
    assert (untried, generator.capabilities.seeds) == (True, False)
    assert "takes no seed" in generator.notes[0]


def test_openai_itself_is_known_and_asked_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    generator = make("openai/gpt-image-2", settings={"quality": "high"})
    assert (generator.capabilities.seeds, generator.capabilities.edits) == (False, True)
    assert KEY not in repr(generator) + str(generator.settings())


def test_a_setting_that_would_be_dropped_without_a_word_is_refused_first(omni: PicturesServer) -> None:
    with pytest.raises(ModelSpecError, match=r"Unknown setting of http.*'num_steps'\. Did you mean 'num_inf") as caught:
        make(omni.spec, settings={"num_steps": 5}).capabilities  # noqa: B018
    assert ", prompt," not in str(caught.value)
    with pytest.raises(ModelSpecError, match="num_steps"):
        one(make(omni.spec, settings={"num_steps": 5}))
    assert omni.asked == []


def test_a_refused_check_is_not_forgotten(omni: PicturesServer) -> None:
    generator = make(omni.spec, settings={"num_steps": 5})
    for _ in range(2):
        with pytest.raises(ModelSpecError, match="num_steps"):
            one(generator)


def test_a_server_with_another_model_is_refused_as_it_would_draw_with_that(omni: PicturesServer) -> None:
    with pytest.raises(ModelError, match=r"Unknown model at .*'painte'. Did you mean 'painter'"):
        one(make(f"{omni.url}#painte"))
    assert omni.asked == []


def test_a_server_of_edits_alone_makes_none(omni: PicturesServer, monkeypatch: pytest.MonkeyPatch) -> None:
    edits = document()
    del edits["paths"]["/v1/images/generations"]
    monkeypatch.setattr(omni, "get", lambda exchange: exchange.json(200, edits))
    capabilities = make(omni.spec).capabilities
    assert (capabilities.generates, capabilities.edits) == (False, True)


@pytest.mark.parametrize(
    "shown",
    [
        {}, {"paths": 3}, {"paths": {"/v1/images/generations": None}}, {"paths": {"/v1/images/edits": {"post": []}}},
        {"paths": {"/v1/images/edits": {"post": {"requestBody": {"content": {"application/json": {"schema": 1}}}}}}},
        {"paths": {"/v1/images/generations": {"post": {"requestBody": {"content": {"application/json": {"schema": {
            "$ref": "#/components/schemas/none"}}}}}}}},
        document() | {"components": {"schemas": {"generations": {"properties": {"a": 1}, "additionalProperties": 1}}}},
    ],
)  # fmt: skip
def test_a_document_that_says_nothing_refuses_nothing(
    omni: PicturesServer, shown: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(omni, "get", lambda exchange: exchange.json(200, shown))
    generator = make(omni.spec, settings={"num_steps": 5})
    assert generator.capabilities.seeds
    assert one(generator, wanted(source=SOURCE)).seed == 40


def test_a_setting_that_a_server_refuses_ends_the_run_with_its_words(
    openai: PicturesServer, omni: PicturesServer
) -> None:
    with pytest.raises(
        ModelError, match=r"not take the setting 'steps' as it is. HTTP 400: Unknown parameter: 'steps'"
    ):
        one(make(openai.spec, settings={"steps": 5}))
    with pytest.raises(
        ModelError, match=r"'num_inference_steps' as it is. HTTP 422: num_inference_steps: Input should be"
    ):
        one(make(omni.spec, settings={"num_inference_steps": 500}))


def test_what_was_not_kept_is_told(openai: PicturesServer) -> None:
    file = picture("any", "JPEG")
    openai.otherwise = lambda exchange: openai.send(exchange, file, quality="low", output_format="png")
    generator = make(openai.spec, settings={"quality": "high", "output_format": "png", "size": "auto"})
    made = one(generator)
    told = "quality low instead of high, output_format jpeg instead of png"
    assert made.image == Image(file, "image/png")  # as it says; its bytes say otherwise
    assert made.facts[NOT_AS_ASKED] == told
    assert (made.facts["size"], made.facts["quality"]) == ("24x16", "low")
    assert generator.findings() == {NOT_AS_ASKED: told}
    assert make(openai.spec).findings() == {}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"settings": {"mask": "m.png"}}, "'mask' cannot be set: FaceValue offers no masks"),
        ({"settings": {"n": 4}}, "'n' cannot be set: FaceValue asks for one picture"),
        ({"settings": {"seed": 4}}, "'seed' cannot be set: each picture has a seed of its own"),
        ({"settings": {"prompt": "a"}}, "'prompt' cannot be set: it is the study's"),
        ({"settings": {"url": "http://a"}}, "'url' cannot be set"),
        ({"settings": {"stream": True}}, "'stream' cannot be set"),
        ({"settings": {"response_format": "url"}}, "'response_format' cannot be set"),
        ({"settings": {"a\r\nb": 1}}, "is no name of a setting"),
        ({"settings": {'a"; filename="b': 1}}, "is no name of a setting"),
        ({"settings": {"size": "auto"}, "size": (8, 8)}, "The size is named twice"),
        ({"device": "cuda"}, "device is for pipelines on this machine"),
        ({"dtype": "float16", "batch": 4}, "dtype and batch are for pipelines on this machine"),
    ],
)
def test_what_cannot_be_set_is_one_sentence(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ModelSpecError) as caught:
        make("http://127.0.0.1:9/v1#painter", **options)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spec", ["http://127.0.0.1:9/v1", "http://me:secret@127.0.0.1/v1#m", "openai/gpt-image-2"])
def test_an_address_that_is_none_and_a_key_that_is_missing(spec: str) -> None:
    with pytest.raises(ModelSpecError) as caught:
        make(spec)
    assert "secret" not in str(caught.value)


# What is taken of a reply


def test_tokens_and_what_the_server_made_of_the_prompt(openai: PicturesServer) -> None:
    entry = {"b64_json": base64_of(picture("any")), "revised_prompt": "A smiling old man."}
    openai.otherwise = reply(entry, usage={"input_tokens": 11, "output_tokens": 4160})
    made = one(make(openai.spec))
    assert (made.prompt_tokens, made.completion_tokens) == (11, 4160)
    assert made.revised_prompt == "A smiling old man."


@pytest.mark.parametrize("revised", [None, "", " ", 7, PROMPT])
def test_a_prompt_that_is_as_sent_is_no_revised_one(openai: PicturesServer, revised: object) -> None:
    openai.otherwise = reply({"b64_json": base64_of(picture("any")), "revised_prompt": revised}, usage=[1])
    made = one(make(openai.spec))
    assert (made.status, made.revised_prompt, made.prompt_tokens) == (Status.OK, None, None)


ENCODED = base64_of(picture("any"))


@pytest.mark.parametrize(
    "entry",
    [
        {"b64_json": ENCODED},
        {"b64_json": "\n".join(ENCODED[start : start + 76] for start in range(0, len(ENCODED), 76))},
        {"b64_json": f"data:image/png;base64,{ENCODED}"},
        {"url": f"data:image/png;base64,{ENCODED}"},
        {"b64_json": None, "url": f"data:image/png;base64,{ENCODED}"},
    ],
)
def test_inline_data_are_taken_in_each_way_of_writing_them(openai: PicturesServer, entry: object) -> None:
    openai.otherwise = reply(entry)
    assert one(make(openai.spec)).image == Image(picture("any"), "image/png")


def test_slashes_may_be_escaped(openai: PicturesServer) -> None:
    data = b"\xff\xff\xff" * 30
    body = f'{{"data": [{{"b64_json" : "{base64_of(data)}"}}]}}'.replace("/", r"\/")
    openai.otherwise = lambda exchange: exchange.raw(200, body.encode())
    assert one(make(openai.spec)).image == Image(data, "application/octet-stream")


def test_bytes_are_passed_on_whatever_they_are(openai: PicturesServer) -> None:
    openai.otherwise = reply({"b64_json": base64_of(b"<svg onload='...'/>")})
    assert one(make(openai.spec)).image == Image(b"<svg onload='...'/>", "application/octet-stream")


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ([], "The reply is no picture: no data."),
        ([3], "The reply is no picture: no data."),
        ([{}], "The reply is no picture: no picture."),
        ([{"b64_json": ""}], "The reply is no picture: no picture."),
        ([{"b64_json": "%%%%"}], "The reply is no picture: b64_json is no base64."),
        ([{"b64_json": "iVBORw0KGgo"}], "The reply is no picture: b64_json is no base64."),
        ([{"b64_json": "caf\u00e9"}], "The reply is no picture: b64_json is no base64."),
        ([{"b64_json": [1]}], "The reply is no picture: b64_json is no text."),
        ([{"b64_json": "\n"}], "The reply is no picture: an empty picture."),
    ],
)
def test_a_reply_without_a_picture_is_asked_for_again_and_else_an_error(
    openai: PicturesServer, entries: list[object], problem: str
) -> None:
    openai.otherwise = reply(*entries)
    made = one(make(openai.spec, retries=1))
    assert made.retries == 1
    assert (made.status, made.image, made.error) == (Status.ERROR, None, problem)
    assert len(openai.asked) == 2
    openai.script = [reply(*entries)]
    openai.otherwise = openai.draw
    assert one(make(openai.spec)).status is Status.OK


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ([{"url": "http://169.254.169.254/latest"}], "says where the picture lies (a URL) instead of holding it"),
        ([{"url": "/v1/images/7/content"}], "says where the picture lies (a URL)"),
        ([{"url": "file:///etc/passwd"}], "says where the picture lies (a URL)"),
        ([{"b64_json": ENCODED}] * 3, "3 pictures came where one was asked for"),
    ],
)
def test_a_reply_that_would_be_no_other_ends_the_run_before_more_are_paid(
    openai: PicturesServer, entries: list[object], problem: str
) -> None:
    openai.otherwise = reply(*entries)
    with pytest.raises(ModelError) as caught:
        one(make(openai.spec))
    assert problem in str(caught.value)
    assert len(openai.asked) == 1
    openai.script = [reply({"b64_json": ENCODED}), reply(*entries), reply({"b64_json": ENCODED})]
    first, second, third = make(openai.spec).generate(wanted(number) for number in range(3))
    assert [first.status, second.status, third.status] == [Status.OK, Status.ERROR, Status.OK]
    assert problem in str(second.error)


# Withheld


def blocked(code: str | None, message: str, status: int = 400) -> Behaviour:
    return lambda exchange: exchange.json(status, {"error": {"message": message, "type": "user_error", "code": code}})


REJECTED = "Your request was rejected by the safety system. safety_violations=[violence]."


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (blocked("moderation_blocked", REJECTED), f"HTTP 400: {REJECTED}"),
        (blocked("content_policy_violation", "No."), "HTTP 400: No."),
        (blocked("contentFilter", "No."), "HTTP 400: No."),
        (blocked(None, "Your request was rejected as a result of our safety system."), "safety system"),
        (blocked(None, "This violates our content policies.", 403), "HTTP 403"),
        (fastapi(400, "Image generation was blocked: NSFW content detected"), "NSFW content detected"),
        (fastapi(422, "The prompt was flagged as unsafe"), "flagged as unsafe"),
        (reply({"error": {"code": "OutputImageSensitiveContentDetected", "message": "No."}}), "The server says No."),
        (lambda exchange: exchange.json(200, {"error": {"code": "content_filter", "message": "No."}}), "says No."),
    ],
)
def test_a_picture_that_is_withheld_is_refused_in_the_servers_words(
    openai: PicturesServer, behaviour: Behaviour, words: str
) -> None:
    openai.otherwise = behaviour
    made = one(make(openai.spec))
    assert (made.status, made.image) == (Status.REFUSED, None)
    assert words in str(made.error)
    assert len(openai.asked) == 1


@pytest.mark.parametrize(
    "behaviour",
    [
        blocked("invalid_value", "Invalid value: 'x'. Supported values of moderation are: 'low' and 'auto'."),
        blocked(None, "The safety checker could not be loaded.", 500),
        blocked("image_too_large", "Image too large."),
        fastapi(400, "Requested image size 9x9 is too small."),
        reply({"error": "Out of memory."}),
    ],
)
def test_what_fails_for_another_reason_is_no_refusal(openai: PicturesServer, behaviour: Behaviour) -> None:
    openai.otherwise = behaviour
    assert one(make(openai.spec)).status is Status.ERROR


def test_moderation_of_one_group_leaves_the_others_and_never_ends_the_run(server: PicturesServer) -> None:
    def moderate(exchange: Exchange) -> None:
        if "woman" in exchange.body["prompt"]:
            blocked("moderation_blocked", REJECTED)(exchange)
        else:
            server.draw(exchange)

    server.otherwise = moderate
    asked = [wanted(n, None if n % 4 < 2 else SOURCE, f"A {'woman' if n % 2 else 'man'} {n}") for n in range(80)]
    made = list(make(server.spec, concurrency=4).generate(asked))
    assert {p.number: p.status for p in made} == {n: Status.REFUSED if n % 2 else Status.OK for n in range(80)}


def test_many_failures_end_the_run(openai: PicturesServer) -> None:
    openai.otherwise = fastapi(400, "Out of memory.")
    with pytest.raises(ModelError, match="20 requests in a row failed for good, the last with: HTTP 400: Out of mem"):
        list(make(openai.spec).generate(wanted(number) for number in range(100)))


# What may pass, and what holds for all


def test_what_the_server_asks_to_wait_is_waited(openai: PicturesServer) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    openai.script = [
        lambda exchange: exchange.error(429, "slow down", {"Retry-After": "7"}),
        lambda exchange: exchange.error(503, "busy", {"retry-after-ms": "250"}),
        lambda exchange: exchange.error(500, "oops"),
    ]
    waits = Waits(sleep=sleep, jitter=lambda low, high: high)
    generator = ImagesServer(openai.spec, GeneratorOptions(retries=3, timeout=20), waits=waits)
    assert one(generator).status is Status.OK
    assert slept == [8.0, 1.25, 4.0]


@pytest.mark.parametrize(
    ("behaviour", "problem"),
    [
        (lambda exchange: exchange.error(429, "slow"), "HTTP 429: slow"),
        (lambda exchange: exchange.error(500, "oops"), "HTTP 500: oops"),
        (fastapi(503, "no stage"), "HTTP 503: no stage"),
        (lambda exchange: exchange.reset(), "The connection broke"),
        (lambda exchange: exchange.raw(200, b"<html>"), "no JSON"),
        (lambda exchange: exchange.raw(200, b'{"data": [{"b64_json": "iVBO'), "no JSON"),
        (lambda exchange: exchange.raw(200, b'{"data": [{"b64_json": "iVBO"}], "x": [' + b"[],[" * 2**18), "no JSON"),
    ],
)
def test_what_may_pass_is_tried_again_and_else_an_error(
    openai: PicturesServer, behaviour: Behaviour, problem: str
) -> None:
    openai.otherwise = behaviour
    made = one(make(openai.spec))
    assert (made.status, len(openai.asked)) == (Status.ERROR, 3)
    assert problem in str(made.error)


@pytest.mark.parametrize(
    ("behaviour", "problem"),
    [
        (blocked("invalid_api_key", "Incorrect key.", 401), "refuses the key in FACEVALUE_API_KEY, or the lack of one"),
        (blocked(None, "Your organization must be verified.", 403), "organization must be verified"),
        (blocked(None, "Not found", 404), "does not offer 'painter' at /images/generations"),
        (fastapi(405, "Method Not Allowed"), "does not offer 'painter'"),
        (
            lambda e: e.raw(307, b"", {"Location": "http://127.0.0.1:1/v1"}),
            "no other address than the one that was nam",
        ),
        (blocked("insufficient_quota", "Quota used up.", 429), "Quota used up"),
        (blocked("billing_hard_limit_reached", "Hard limit.", 400), "Hard limit"),
    ],
)
def test_what_holds_for_all_requests_ends_the_run(openai: PicturesServer, behaviour: Behaviour, problem: str) -> None:
    openai.otherwise = behaviour
    with pytest.raises(ModelError) as caught:
        list(make(openai.spec).generate([wanted(0), wanted(1)]))
    assert problem in str(caught.value)
    assert len(openai.asked) == 1


def test_nothing_answers() -> None:
    with pytest.raises(ModelError, match=r"Nothing answers at http://127\.0\.0\.1:9"):
        one(make("http://127.0.0.1:9/v1#painter"))


def test_the_key_is_sent_and_appears_nowhere(
    server: PicturesServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("FACEVALUE_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    server.script = [blocked(None, f"You sent {KEY}", 500)] * 2
    server.otherwise = blocked(None, f"You sent {KEY}.", 400)
    generator = make(server.spec)
    made = one(generator)
    server.otherwise = reply({"b64_json": ENCODED}, quality=KEY)
    told = one(generator)
    assert server.asked[-1].headers["authorization"] == f"Bearer {KEY}"
    told_of = f"{made} {told} {caplog.text} {generator!r} {generator.settings()} {generator.findings()}"
    assert "[key]" in told_of
    assert KEY not in told_of


def test_requests_are_sent_side_by_side_up_to_the_limit(omni: PicturesServer) -> None:
    generator = make(omni.spec, concurrency=3)
    assert len(list(generator.generate(wanted(number) for number in range(12)))) == 12
    assert omni.most_at_once <= 3
