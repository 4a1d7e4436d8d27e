"""Replies of servers of pictures: the picture as it came, what is said of it, or that it was withheld."""

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from facevalue.servers.payload import count, writable
from facevalue.servers.server import Failure
from facevalue.types import Image

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


def cut(raw: bytearray) -> bytes | None:
    """Take the first picture out of a reply before that is decoded, and leave an empty text in its place.

    Returns its base64; None, and the reply as it is, if none is found, or one in which anything is escaped.

    Examples
    --------
    >>> raw = bytearray(b'{"data": [{"b64_json": "iVBORw=="}]}')
    >>> cut(raw), raw
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


def read(payload: Mapping[str, object], picture: bytes | None, prompt: str) -> PictureReply:
    """Read a reply, every field checked before it is believed.

    `picture`: what was `cut` out of it. `prompt`: what was sent.

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
    data = _decoded(encoded)
    echoes = {name: text for name in _ECHOES if isinstance(text := payload.get(name), str) and text}
    usage = payload.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    revised = entry.get("revised_prompt")
    changed = isinstance(revised, str) and bool(revised.strip()) and revised != prompt
    return PictureReply(
        Image(data, _STATED.get(echoes.get("output_format", "").lower()) or _seen(data)),
        (writable(revised) or "")[:_MOST_WORDS] if changed and isinstance(revised, str) else None,
        count(counts.get("input_tokens", counts.get("prompt_tokens"))),
        count(counts.get("output_tokens", counts.get("completion_tokens"))),
        echoes,
    )


def not_as_asked(settings: Mapping[str, object], reply: PictureReply) -> str:
    """Name what a picture is made with instead of what was asked for, as the server says and its bytes show."""
    actual = {**reply.echoes, "output_format": _seen(reply.image.data).rpartition("/")[2]}
    differing = [
        f"{name} {actual[name]} instead of {settings[name]}"
        for name in _ECHOES
        if name in settings and name in actual and settings[name] != "auto" and not _same(actual[name], settings[name])
    ]
    return ", ".join(differing)


def _same(actual: str, expected: object) -> bool:
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


def _decoded(encoded: object) -> bytes:
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


def _seen(data: bytes) -> str:
    """Return what a file seems to be by its first bytes; whoever takes the picture looks at all of them."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for kind, start in _STARTS.items() if data.startswith(start)), "application/octet-stream")
