"""Addresses of models behind servers, and the keys for them."""

import os
from typing import NamedTuple
from urllib.parse import urlsplit

from facevalue.errors import ModelError


class Target(NamedTuple):
    """Where a model is, and which environment variable holds the key for it."""

    url: str
    model: str
    key: str
    variable: str


def target_of(spec: str) -> Target:
    """Read what the user typed."""
    if spec.startswith("openai/"):
        model, variable = spec.removeprefix("openai/"), "OPENAI_API_KEY"
        url = os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        example = "openai/MODEL"
        shown = "OPENAI_BASE_URL"
    else:
        url, _, model = spec.partition("#")
        variable, example, shown = "FACEVALUE_API_KEY", "http://HOST/v1#MODEL", "The model's address"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        raise ModelError(f"{shown} is not a web address: write {example}, such as http://localhost:8000/v1.")
    if "@" in parts.netloc:
        raise ModelError(f"{shown} holds a user name or password. Put the key into {variable} instead.")
    if parts.query:
        raise ModelError(
            f"{shown} holds a query ('?...'), which could be a secret. Put the key into {variable} instead."
        )
    if not model:
        raise ModelError(f"No model is named: write {example}.")
    key = os.environ.get(variable, "").strip()
    if variable == "OPENAI_API_KEY" and not key:
        raise ModelError(f"{spec!r} needs a key: set the environment variable {variable}.")
    if not (key.isascii() and all(33 <= ord(c) <= 126 for c in key)):
        raise ModelError(f"{variable} holds characters that no key has, such as blanks.")
    return Target(url.rstrip("/"), model, key, variable)
