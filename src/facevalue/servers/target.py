"""Addresses of models behind servers, and the keys for them."""

import os
from typing import NamedTuple

from facevalue.addresses import split_address
from facevalue.errors import ModelSpecError


class Target(NamedTuple):
    """Where a model is, and which environment variable holds the key for it."""

    url: str
    model: str
    variable: str


def target_of(spec: str) -> Target:
    """Read what the user typed."""
    if spec.startswith("openai/"):
        model, variable = spec.removeprefix("openai/"), "OPENAI_API_KEY"
        url = os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        example = "openai/MODEL"
        name_shown = "OPENAI_BASE_URL"
    else:
        url, _, model = spec.partition("#")
        variable, example, name_shown = "FACEVALUE_API_KEY", "http://HOST/v1#MODEL", "The model's address"
    try:
        address = split_address(url)
    except ValueError as error:
        hint = (
            f"Put the key into {variable} instead."
            if "password" in str(error)
            else "Write one such as http://localhost:8000/v1."
        )
        raise ModelSpecError(f"{name_shown} {error}. {hint}") from None
    if address.query or address.fragment:
        raise ModelSpecError(
            f"{name_shown} holds a query ('?...'), which could be a secret. Put the key into {variable} instead."
        )
    if not model:
        raise ModelSpecError(f"No model is named: write {example}.")
    if not model.isprintable():
        raise ModelSpecError(f"The model's name holds control characters: write {example}.")
    key = os.environ.get(variable, "").strip()
    if variable == "OPENAI_API_KEY" and not key:
        raise ModelSpecError(f"{spec!r} needs a key: set the environment variable {variable}.")
    if not (key.isascii() and all(33 <= ord(c) <= 126 for c in key)):
        raise ModelSpecError(f"{variable} holds characters that no key has, such as blanks.")
    return Target(url.rstrip("/"), model, variable)
