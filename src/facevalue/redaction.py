"""Redaction: keys are taken out of texts, in whatever way servers, proxies and libraries write them."""

import base64
import re
from functools import lru_cache
from typing import Any

_CODED = 6
"""Fewer characters than these of base64 or hexadecimal could be anything."""
_LONGEST = 12
"""Characters as which one character of a key may be written."""
_READ, _SHORTEST = 2**14, 4
_HEAD = 64
"""A longer key, such as a token of a session, is known by so many characters."""
_SECRET = re.compile(
    r"api[_-]?key|secret|passw|authori[sz]ation|credential|cookie|(^|[_-])(token|key)$|bearer", re.IGNORECASE
)


def names_secret(name: str) -> bool:
    """Return whether a setting of this name holds a secret, which no file may hold and no page show.

    Examples
    --------
    >>> [names_secret(name) for name in ("api_key", "X-Api-Key", "hf_token", "max_tokens", "top_k")]
    [True, True, True, False, False]
    """
    return _SECRET.search(name) is not None


def without_secrets(value: Any) -> Any:
    """Return a value of JSON without what has the name of a secret, and without names and passwords in addresses.

    Examples
    --------
    >>> without_secrets({"headers": {"Authorization": "x", "team": "a"}, "url": "https://ann:pass@host/v1"})
    {'headers': {'team': 'a'}, 'url': 'https://host/v1'}
    """
    if isinstance(value, dict):
        return {name: without_secrets(inner) for name, inner in value.items() if not names_secret(str(name))}
    if isinstance(value, list):
        return [without_secrets(inner) for inner in value]
    return without_password(value) if isinstance(value, str) else value


def without_password(text: str) -> str:
    """Return a text without the name and password that addresses in it hold."""
    return re.sub(r"(?<=://)[^/@\s]+@", "", text)


@lru_cache(16)
def _ways(key: str) -> re.Pattern[str]:
    """A pattern of a key: as it is, with any characters escaped as in JSON, URLs or HTML, in base64 or hexadecimal."""
    letters = []
    for c in key[:_HEAD]:
        code = ord(c)
        escapes = rf"\\{{1,4}}(?:u00|x){code:02x}|%(?:25){{0,3}}{code:02x}|&#0{{0,4}}{code};|&#x0{{0,4}}{code:x};"
        letters.append(rf"(?:\\{{0,4}}{re.escape(c)}|{escapes})")
    coded = {key.encode().hex()}
    for before in range(3):  # what stands before it shifts the letters of base64
        encoded = base64.b64encode(bytes(before) + key.encode()).decode().rstrip("=")
        inner = encoded[-(-before * 8 // 6) : len(encoded) - ((before + len(key)) % 3 != 0)]
        coded |= {inner, inner.replace("+", "-").replace("/", "_")}
    long = sorted(form for form in coded if len(form) >= _CODED)
    rest = r"[^\s\"'<>]*" if len(key) > _HEAD else ""
    return re.compile("|".join(["".join(letters) + rest, *map(re.escape, long)]), re.IGNORECASE)


def without_key(text: str, key: str) -> str:
    r"""Return the first 16,384 characters of a text without a key, however that is written.

    The cut leaves no part of a key behind. What has fewer than four characters is no secret.

    Examples
    --------
    >>> without_key(r"sk-a/b, sk-a%2fb, sk-a\/b, Bearer c2stYS9i", "sk-a/b")
    '[key], [key], [key], Bearer [key]'
    """
    cut = text[:_READ]
    if len(key) < _SHORTEST:
        return cut
    clean = _ways(key).sub("[key]", cut)
    return clean if cut == text else clean[: -_LONGEST * len(key)]
