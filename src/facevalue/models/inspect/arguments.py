"""Arguments of Inspect's providers, as `-M` of Inspect takes them: read, and refused where they hold a key."""

import json
import re
from collections.abc import Sequence
from typing import Any

from facevalue.errors import DataError, ModelSpecError
from facevalue.given import to_json
from facevalue.redaction import without_secrets

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}")
_LONGEST = 4096  # characters of a value
_OF_INSPECT = frozenset({"model", "model_name", "role", "required", "default", "config", "memoize"})
"""What Inspect takes by these names is no argument of a provider."""


def provider_arguments(texts: Sequence[str]) -> dict[str, Any]:
    """Understand NAME=VALUE, where VALUE is JSON or else a text.

    Raises
    ------
    ModelSpecError
        A text that is none, a name that is given twice or is none of a provider's, or a key: what a run keeps of its
        model holds no secret.

    Examples
    --------
    >>> provider_arguments(["region=eu-west-1", "responses_api=false", 'headers={"team": "a"}'])
    {'region': 'eu-west-1', 'responses_api': False, 'headers': {'team': 'a'}}
    """
    arguments: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not _NAME.fullmatch(name) or len(value) > _LONGEST or not value.isprintable():
            raise ModelSpecError(f"--model-arg {name[:80]!r}: write NAME=VALUE, such as region=eu-west-1.")
        if name in arguments:
            raise ModelSpecError(f"--model-arg {name} is given twice.")
        if name in _OF_INSPECT:
            raise ModelSpecError(f"--model-arg {name} is no argument of a provider.")
        arguments[name] = _value(value)
        if without_secrets({name: arguments[name]}) != {name: arguments[name]}:
            raise ModelSpecError(
                f"--model-arg {name} holds a key or password by its name, and a run folder holds none: set the "
                "provider's variable instead."
            )
    return arguments


def argument_texts(arguments: dict[str, Any]) -> tuple[str, ...]:
    """The texts from which `provider_arguments` makes these arguments.

    Raises
    ------
    ModelSpecError
        One is nothing that JSON has.
    """
    try:
        return tuple(f"{name}={json.dumps(value, allow_nan=False)}" for name, value in arguments.items())
    except (TypeError, ValueError):
        raise ModelSpecError("model_args are numbers, texts, lists and mappings of these.") from None


def _value(text: str) -> Any:
    try:
        return to_json(text, "a value")
    except DataError:
        return text
