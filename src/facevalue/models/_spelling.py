r"""Text spelt by the tokens of a reply, where a token may hold a part of a character.

Servers show such a token in different ways: by its bytes beside the text; as "bytes:\xe2\x80" (OpenAI); as U+FFFD; or
as nothing at all, and the whole character with the token that completes it (vLLM). Some leave out blanks before words,
too (vLLM, of some SentencePiece tokenizers). What can't be told is not guessed.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

HALF = "\N{REPLACEMENT CHARACTER}"
"""Stands for a part of a character that is not known."""

_NUMBERED = re.compile(r"token_id:\d+")
_ESCAPED = re.compile(r"bytes:(.*\\x[0-9a-fA-F]{2}.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\x([0-9a-fA-F]{2})")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_BROKEN = re.compile(r"[\ud800-\udfff\ufffd]+")
BYTES = "".join(map(chr, range(0xDC80, 0xDD00)))
"""Bytes that are no whole character, as `surrogateescape` has them."""
_UNSPOKEN = re.compile(r"[\s\ud800-\udfff\ufffd]+")
"""What one side may lack: bytes that are no character, and blanks."""


class Position(NamedTuple):
    """One token of a reply."""

    token: str
    """The token that the reply took. Bytes that are no whole character are surrogates, as `surrogateescape` has it."""
    logprob: float
    """Its natural-log probability."""
    top: tuple[tuple[str, float], ...]
    """The most likely tokens here with their log-probabilities, in any order."""


class Spelling(NamedTuple):
    """The tokens of a reply, known to be those of its text."""

    positions: Sequence[Position]
    """Tokens with the blanks that they have in the text. `HALF` stands for what is not known. An empty one is a part of
    a character that the next ones complete, or, as the last or an alternative, the end of the reply."""
    blanks: bool
    """Whether alternatives show the blanks before them."""


def token_text(token: str, raw: object) -> str:
    r"""Return the text of a token as far as it is known; bytes that are no whole character as surrogates.

    `token`: as the server shows it. `raw`: its bytes, if the server lists them.

    Examples
    --------
    >>> token_text("bytes:\\xe2\\x80", None) == token_text("", [226, 128]) == "\udce2\udc80"
    True
    """
    if _NUMBERED.fullmatch(token):
        raise ValueError("tokens are shown by their numbers alone")
    token = _SURROGATES.sub(HALF, token)
    if token and HALF not in token and not token.startswith("bytes:"):
        return token
    if isinstance(raw, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in raw):
        return bytes(raw).decode("utf-8", "surrogateescape")
    if escaped := _ESCAPED.fullmatch(token):
        return join_texts(
            _ESCAPE.sub(lambda byte: bytes([int(byte[1], 16)]).decode("ascii", "surrogateescape"), escaped[1])
        )
    return token


def join_texts(*texts: str) -> str:
    r"""Put texts together, and with them characters that were split.

    Examples
    --------
    >>> join_texts("\udce2\udc80", "\udc99s")
    '’s'
    """
    text = "".join(texts)
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def ends_within_character(text: str) -> bool:
    """Return whether the text ends within a character."""
    return text[-1:] in BYTES and bool(text)


def spelling(positions: Sequence[Position], text: str, *, ended: bool) -> Spelling | None:
    """Match the tokens of a reply with its text.

    They must spell it from beginning to end, but for blanks, bytes that are no character, and one token that stands for
    the end. From an unknown part of a character on nothing is compared, and nothing will be read.

    `positions`: the tokens. `text`: what the reply says. `ended`: whether it ended by itself.

    Returns None if they are not those of the text, but of hidden reasoning, for example.
    """
    tokens = [position.token for position in positions]
    complete = next((i for i, token in enumerate(tokens) if HALF in token), len(tokens))
    decoded, sought = join_texts(*tokens[:complete]), text.strip()
    closed = False
    if complete < len(tokens):
        if not _remove_unspoken(sought).startswith(_remove_unspoken(decoded)):
            return None
        sought = sought[: _reach(sought, len(_remove_unspoken(decoded)))]
    elif _remove_unspoken(decoded) != _remove_unspoken(sought):
        decoded = join_texts(*tokens[:-1])
        closed = True  # the last token stands for the end
        if _remove_unspoken(decoded) != _remove_unspoken(sought):
            return None
    blanks = _remove_broken(decoded).strip() == _remove_broken(sought).strip()
    if not blanks:
        tokens[:complete] = _add_blanks(tokens[:complete], sought)
    end = "" if ended and not closed else HALF  # where the end has a text or none came, nothing stands for a part
    opening = HALF if HALF in text else ""  # some part was never completed
    tokens = [*(token or opening for token in tokens[:-1]), tokens[-1] or end]
    spelt = []
    for position, token in zip(positions, tokens, strict=True):
        own_position = own_place(position)
        top = [(piece or end, log) for piece, log in position.top]
        if own_position is not None:
            top[own_position] = token, position.top[own_position][1]
        spelt.append(Position(token, position.logprob, tuple(top)))
    return Spelling(spelt, blanks)


def own_place(position: Position) -> int | None:
    """Return which of the alternatives is the token that the reply took; None if it is not among them."""
    same = [place for place, (token, _) in enumerate(position.top) if token == position.token]
    return min(same, key=lambda place: abs(position.top[place][1] - position.logprob), default=None)


def _remove_unspoken(text: str) -> str:
    return _UNSPOKEN.sub("", text)


def _remove_broken(text: str) -> str:
    return _BROKEN.sub("", text)


def _reach(text: str, spoken: int) -> int:
    """Return where in a text so many characters were spoken."""
    at = 0
    while spoken and at < len(text):
        spoken -= not _UNSPOKEN.match(text[at])
        at += 1
    return at


def _add_blanks(tokens: Sequence[str], text: str) -> list[str]:
    """Return tokens with the blanks that stand before them in the text."""
    spaced = []
    for token in tokens:
        blank = token.isspace() and not text[: len(token)].strip()
        end = len(token) if blank else _reach(text, len(_remove_unspoken(token)))
        spaced.append(text[:end] or token)
        text = text[end:]
    return spaced
