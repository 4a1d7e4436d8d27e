"""Requests to servers of pictures: JSON where one is made from a text, a form where one is changed."""

import re
import secrets
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from facevalue.errors import ModelSpecError
from facevalue.generators.base import GeneratorOptions, PictureRequest
from facevalue.servers.connections import JSON
from facevalue.servers.payload import as_json, unknown_parameter
from facevalue.types import Image

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
    """What is sent: to which path, the bytes, and their media type."""

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
    """Whether a parameter can be set: it is neither the study's nor FaceValue's own."""
    return name not in _OURS


def blamed(complaint: str, settings: Iterable[str]) -> str | None:
    """Return the setting that a server refuses by name: unknown to it, or of a value that it does not take.

    Examples
    --------
    >>> blamed("HTTP 422: num_inference_steps: Input should be less than or equal to 200", ["num_inference_steps"])
    'num_inference_steps'
    >>> blamed("HTTP 400: The quality of the image is too low.", ["quality"]) is None
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
