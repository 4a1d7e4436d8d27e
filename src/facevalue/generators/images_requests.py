"""Requests to servers of pictures: JSON where one is made from a text, a form where one is changed.

Such servers (vLLM-Omni, SGLang) drop parameters that they do not know without a word. So the document is asked for
first, and what is not in it is refused here.
"""

import re
import secrets
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import polars as pl

from facevalue.errors import ModelSpecError
from facevalue.generators.base import GeneratorOptions, PictureRequest
from facevalue.servers.connections import JSON
from facevalue.servers.replies import as_json, count, unknown_parameter, writable
from facevalue.servers.server import Failure
from facevalue.types import Image

# Replies of servers of pictures: the picture as it came, what is said of it, or that it was withheld.


_MOST_WORDS = 32_000
"""Characters of a revised prompt that are kept: no server takes longer ones."""

_ECHOES = ("size", "quality", "background", "output_format")
"""What servers say of the picture that they made."""

_STARTS = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff", "image/gif": b"GIF8"}
_STATED = {"png": "image/png", "jpeg": "image/jpeg", "jpg": "image/jpeg", "webp": "image/webp"}
"""First bytes of files, and what servers call their formats."""
_KEY = b'"b64_json"'


class UnwantedReplyError(Exception):
    """A reply that is whole, would be no other if it was asked for again, and holds no picture that can be taken."""


class PictureReply(NamedTuple):
    """A picture and what the server says of it.

    `revised_prompt`: the text that it was made from, where it is another than was sent. `prompt_tokens`,
    `completion_tokens`: as the server counts them. `echoes`: what else it says of the picture, by name.
    """

    image: Image
    revised_prompt: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    echoes: Mapping[str, str]


def cut_picture(raw: bytearray) -> bytes | None:
    """Take the first picture out of a reply before that is decoded, and leave an empty text in its place.

    Returns its base64; None, and the reply as it is, if none is found, or one in which anything is escaped.

    Examples
    --------
    >>> raw = bytearray(b'{"data": [{"b64_json": "iVBORw=="}]}')
    >>> cut_picture(raw), raw
    (b'iVBORw==', bytearray(b'{"data": [{"b64_json": ""}]}'))
    """
    place = raw.find(_KEY) + len(_KEY)
    start = raw.find(b'"', place) + 1
    end = raw.find(b'"', start)
    is_text = place >= len(_KEY) and 0 < start <= end and raw[place : start - 1].strip() == b":"
    if not is_text or raw.find(b"\\", start, end) >= 0:
        return None
    with memoryview(raw) as view:
        picture = bytes(view[start:end])
    del raw[start:end]
    return picture


def read_reply(payload: Mapping[str, object], picture: bytes | None, prompt: str) -> PictureReply:
    """Read a reply, every field checked before it is believed.

    `picture`: what was `cut_picture` out of it. `prompt`: what was sent.

    Raises
    ------
    ValueError
        It holds no picture; asked again, it might.
    UnwantedReplyError
        It holds several, or says where one lies.
    Failure
        It holds the server's reason why there is none.
    """
    entries = payload.get("data")
    if not isinstance(entries, list) or not entries or not isinstance(entry := entries[0], dict):
        _raise_reason(payload)
        raise ValueError("no data")
    if len(entries) > 1:
        raise UnwantedReplyError(
            f"{len(entries)} pictures came where one was asked for: which one counts is not known."
        )
    encoded, address = picture or entry.get("b64_json"), entry.get("url")
    if not encoded and isinstance(address, str) and address.startswith("data:"):
        encoded = address
    if not encoded:
        _raise_reason(entry)
        if address:
            raise UnwantedReplyError(
                "The reply says where the picture lies (a URL) instead of holding it (b64_json); "
                "no address that a server names is fetched."
            )
        raise ValueError("no picture")
    data = _decode_base64(encoded)
    echoes = {name: text for name in _ECHOES if isinstance(text := payload.get(name), str) and text}
    usage = payload.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    revised = entry.get("revised_prompt")
    changed = isinstance(revised, str) and bool(revised.strip()) and revised != prompt
    return PictureReply(
        Image(data, _STATED.get(echoes.get("output_format", "").lower()) or _guess_media_type(data)),
        (writable(revised) or "")[:_MOST_WORDS] if changed and isinstance(revised, str) else None,
        count(counts.get("input_tokens", counts.get("prompt_tokens"))),
        count(counts.get("output_tokens", counts.get("completion_tokens"))),
        echoes,
    )


def not_as_asked(settings: Mapping[str, object], reply: PictureReply) -> str:
    """Name what a picture is made with instead of what was asked for, as the server says and its bytes show."""
    actual = {**reply.echoes, "output_format": _guess_media_type(reply.image.data).rpartition("/")[2]}
    differing = [
        f"{name} {actual[name]} instead of {settings[name]}"
        for name in _ECHOES
        if name in settings
        and name in actual
        and settings[name] != "auto"
        and not _is_same_format(actual[name], settings[name])
    ]
    return ", ".join(differing)


def _is_same_format(actual: str, expected: object) -> bool:
    return actual.lower().replace("jpg", "jpeg") == str(expected).lower().replace("jpg", "jpeg")


def _raise_reason(holder: Mapping[str, object]) -> None:
    """Raise what a server says in place of a picture with a status of success."""
    error = holder.get("error")
    if not error:
        return
    text, code = (error.get("message"), error.get("code")) if isinstance(error, dict) else (error, None)
    raise Failure(
        f"The server says {text if isinstance(text, str) else error}",
        status=200,
        code=code if isinstance(code, str) else None,
        payload=error,
    )


def _decode_base64(encoded: object) -> bytes:
    """Return the file that base64 stands for, in bytes or text, of a data URI or alone, perhaps in lines."""
    text = encoded.encode("ascii", "replace") if isinstance(encoded, str) else encoded
    if not isinstance(text, bytes):
        raise ValueError("b64_json is no text")
    if text.startswith(b"data:"):
        text = text.partition(b",")[2]
    data = _bytes_of(text)
    if data is None:
        data = _bytes_of(text.translate(None, b" \t\r\n"))
    if not data:
        raise ValueError("b64_json is no base64" if data is None else "an empty picture")
    return data


def _bytes_of(text: bytes) -> bytes | None:
    try:
        decoded: bytes = pl.Series([text]).bin.decode("base64", strict=True)[0]  # four times as fast as binascii
    except pl.exceptions.ComputeError:
        return None
    return decoded


def _guess_media_type(data: bytes) -> str:
    """Return what a file seems to be by its first bytes; whoever takes the picture looks at all of them."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for kind, start in _STARTS.items() if data.startswith(start)), "application/octet-stream")


GENERATIONS, EDITS = "/images/generations", "/images/edits"
"""Where a picture is made from a text, and where one is changed as a text says."""
PATHS = (GENERATIONS, EDITS)

SEED, INLINE = "seed", "response_format"
OPTIONAL = (SEED, INLINE)
"""Parameters of ours that some servers refuse whatever their value."""

_OF_ONE_PATH = {"input_fidelity": EDITS, "moderation": GENERATIONS}
"""Parameters of OpenAI's that only one of its paths takes."""

_ONE_PICTURE = "FaceValue asks for one picture at a time, as data within the reply"
_NO_MASK = "FaceValue offers no masks: what an edit changes besides is what is measured"
_OURS = {
    **dict.fromkeys(("prompt", "image", "image[]"), "it is the study's"),
    "model": "it is named with the server: http://HOST/v1#MODEL",
    SEED: "each picture has a seed of its own",
    **dict.fromkeys(("n", "layers", "stream", "partial_images", INLINE, "url", "url[]"), _ONE_PICTURE),
    **dict.fromkeys(("mask", "mask_image", "reference_image"), _NO_MASK),
}
"""Parameters that are no settings, and why."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", re.ASCII)

Scalar = str | int | float | bool


class SentRequest(NamedTuple):
    """Request as it is sent: its path, the bytes, and their media type."""

    path: str
    data: bytes
    media_type: str


def checked_settings(spec: str, options: GeneratorOptions) -> dict[str, Scalar]:
    """Return what is asked of each picture besides its text, size included.

    Raises
    ------
    ModelSpecError
        A setting is the study's or FaceValue's own, the size is named twice, or an option is for pipelines of this
        machine.
    """
    options.check_elsewhere(spec)
    for name in options.settings:
        if name in _OURS:
            raise ModelSpecError(f"{name!r} cannot be set: {_OURS[name]}.")
        if not _NAME.fullmatch(name):
            raise ModelSpecError(f"{name!r} is no name of a setting: letters, digits and underscores.")
    settings = dict(options.settings)
    if options.size is not None:
        if "size" in settings:
            raise ModelSpecError("The size is named twice: as the size and as a setting.")
        settings["size"] = "{}x{}".format(*options.size)
    return settings


def is_setting(name: str) -> bool:
    """Return whether the user can set a parameter: it is neither the study's nor FaceValue's own."""
    return name not in _OURS


def refused_setting(complaint: str, settings: Iterable[str]) -> str | None:
    """Return the setting that a server refuses by name: unknown to it, or of a value that it does not take.

    Examples
    --------
    >>> refused_setting("HTTP 422: num_inference_steps: Input should be less than 200", ["num_inference_steps"])
    'num_inference_steps'
    >>> refused_setting("HTTP 400: The quality of the image is too low.", ["quality"]) is None
    True
    """
    names = list(settings)
    mentions = (name for name in names if re.search(rf"(?<![\w.]){name}: |'{name}'", complaint))
    return unknown_parameter(complaint, names) or next(mentions, None)


def path_of(request: PictureRequest) -> str:
    """Return where a request is sent."""
    return GENERATIONS if request.source is None else EDITS


def settings_of(path: str, settings: Mapping[str, Scalar], names: Collection[str] | None) -> dict[str, Scalar]:
    """Return the settings that are sent to a path.

    `names`: the parameters that it takes; None if they are not known.
    """
    if names is not None:
        return {name: value for name, value in settings.items() if name in names}
    return {name: value for name, value in settings.items() if _OF_ONE_PATH.get(name, path) == path}


def body(model: str, request: PictureRequest, settings: Mapping[str, Scalar], left_out: Collection[str]) -> SentRequest:
    """Return one request.

    `settings`: those of its path (`settings_of`). `left_out`: the parameters of `OPTIONAL` that are not sent.
    """
    ours: dict[str, Scalar] = {"model": model, "prompt": request.prompt, INLINE: "b64_json", SEED: request.seed}
    fields = {name: value for name, value in ours.items() if name not in left_out} | dict(settings)
    path = path_of(request)
    return (
        SentRequest(path, as_json(fields), JSON)
        if request.source is None
        else SentRequest(path, *_form(fields, request.source))
    )


def _form(fields: Mapping[str, Scalar], picture: Image) -> tuple[bytes, str]:
    """Return a form with one file (RFC 7578), and its media type with a boundary that nobody can guess."""
    boundary = secrets.token_hex(24)
    disposition = f'--{boundary}\r\nContent-Disposition: form-data; name="%s"'
    pieces = [f"{disposition % name}\r\n\r\n{_text(value)}\r\n".encode() for name, value in fields.items()]
    ending = picture.media_type.rpartition("/")[2]
    head = f'{disposition % "image"}; filename="image.{ending}"\r\nContent-Type: {picture.media_type}\r\n\r\n'
    tail = f"\r\n--{boundary}--\r\n"
    return b"".join((*pieces, head.encode(), picture.data, tail.encode())), f"multipart/form-data; boundary={boundary}"


def _text(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# What a server of pictures says that it takes: the OpenAPI document of those built on FastAPI.


DOCUMENT = "/openapi.json"
_MEDIA = ("application/json", "multipart/form-data", "application/x-www-form-urlencoded")
_REFERENCE = "#/components/schemas/"


class Taken(NamedTuple):
    """Parameters that one path takes.

    `offered`: whether there is such a path. `names`: its parameters; None where any may be sent, or it is not known.
    """

    offered: bool = True
    names: frozenset[str] | None = None


def accepted_fields(document: Mapping[str, object]) -> dict[str, Taken]:
    """Return what each path of `PATHS` takes by a server's OpenAPI document; empty if it knows none of them.

    Examples
    --------
    >>> body = {"content": {"application/json": {"schema": {"properties": {"prompt": {}, "seed": {}}}}}}
    >>> by_path = accepted_fields({"paths": {"/v1/images/generations": {"post": {"requestBody": body}}}})
    >>> sorted(by_path["/images/generations"].names), by_path["/images/edits"].offered
    (['prompt', 'seed'], False)
    """
    paths = _mapping(document.get("paths"))
    operations = {path: next((paths[name] for name in paths if name.endswith(path)), None) for path in PATHS}
    if not any(operations.values()):
        return {}
    return {
        path: Taken(operation is not None, _names(document, _mapping(_mapping(operation).get("post"))))
        for path, operation in operations.items()
    }


def _names(document: Mapping[str, object], operation: Mapping[str, object]) -> frozenset[str] | None:
    content = _mapping(_mapping(operation.get("requestBody")).get("content"))
    media = next((_mapping(content[kind]) for kind in _MEDIA if kind in content), {})
    schema = _resolve_schema(document, _mapping(media.get("schema")))
    properties = _mapping(schema.get("properties"))
    anything = schema.get("additionalProperties", False) is not False
    return None if anything or not properties else frozenset(properties)


def _resolve_schema(document: Mapping[str, object], schema: Mapping[str, object]) -> Mapping[str, object]:
    """Return the schema that a body refers to, alone or as the only one of several that all hold."""
    every = schema.get("allOf")
    if isinstance(every, list) and len(every) == 1:
        schema = _mapping(every[0])
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return schema
    schemas = _mapping(_mapping(document.get("components")).get("schemas"))
    return _mapping(schemas.get(reference.removeprefix(_REFERENCE)))


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
