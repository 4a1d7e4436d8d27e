"""Failures of Inspect's providers in our words: typed, on one line, without keys."""

import logging
import os
import re
from difflib import get_close_matches
from typing import Any

from inspect_ai.model import ModelAPI
from inspect_ai.model._model_data.model_data import read_model_info
from tenacity import RetryError

from facevalue.printable import printable
from facevalue.redaction import without_key
from facevalue.servers.server import MAX_ERROR, Failure

_LOG = logging.getLogger(__name__)
_TRANSIENT = frozenset({408, 409, 425, 429})
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
"""Names of variables that hold what no text may show."""


def failure_of(error: BaseException, api: ModelAPI) -> Failure:
    """Say in our words what a provider's package raised."""
    is_retried = isinstance(error, RetryError)  # what Inspect would have tried again
    if isinstance(error, RetryError):
        error = error.last_attempt.exception() or error
    cause = error.__cause__ or error if hasattr(error, "provider_message") else error
    kinds = [kind.__name__ for kind in type(cause).__mro__]
    status = next((s for s in (_status(cause), _status(error)) if s is not None), None)
    decision: Any = None
    if isinstance(cause, Exception):
        try:
            decision = api.should_retry(cause)
            if status is None and api.is_auth_failure(cause):
                status = 401
        except Exception:  # a provider's judgement of an error that is not its own
            _LOG.debug("A provider could not judge an error", exc_info=True)
    code = getattr(cause, "code", None)
    text = _message(cause)
    waits = getattr(decision, "retry_after", None)
    return Failure(
        clean(f"HTTP {status}: {text}" if status else text, api),
        status=status,
        code=code if isinstance(code, str) else None,
        payload={"type": kinds, "code": code, "message": text, "body": getattr(cause, "body", None)},
        transient=is_retried or bool(decision) or (status is not None and (status in _TRANSIENT or status >= 500)),
        retry_after=float(waits) if isinstance(waits, int | float) else None,
        connected=status is not None or "Timeout" in "".join(kinds) or not any("Connect" in kind for kind in kinds),
    )


def _status(error: BaseException) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) and not isinstance(status, bool) and 100 <= status < 600 else None


def _message(error: BaseException) -> str:
    """What a server said, out of the shapes in which packages keep it."""
    body = getattr(error, "body", None)
    for value in (body.get("error"), body) if isinstance(body, dict) else ():
        if isinstance(value, dict) and isinstance(value.get("message"), str):
            return str(value["message"])
    return str(getattr(error, "provider_message", None) or error).strip() or type(error).__name__


def near_names(provider: str, name: str) -> str:
    """Names of the provider's that are like this one, as Inspect's list has them; empty if none is."""
    names = {key.partition("/")[2] for key in read_model_info() if key.startswith(f"{provider}/")} - {name}
    near = get_close_matches(name, names, n=2, cutoff=0.6)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def clean(text: str, api: ModelAPI | None) -> str:
    """Take keys out of a text, those of the environment too, then control characters, and clip it."""
    keys = {value for variable, value in os.environ.items() if _SECRET.search(variable) and len(value) >= 8}
    if api is not None and isinstance(api.api_key, str):
        keys.add(api.api_key)
    for key in sorted(keys, key=len, reverse=True):
        text = without_key(text, key)
    text = printable(" ".join(text.split()))
    return text if len(text) <= MAX_ERROR else text[: MAX_ERROR - 1] + "…"


def prerequisite(spec: str, message: str) -> str:
    """Say what a provider lacks, by Inspect's message: a package, with the command that installs it, or a key."""
    text = plain(message)
    if packages := re.search(r"pip install (--upgrade )?(.+)$", text):
        lack = "a newer version of a package" if packages[1] else f"the package {packages[2]}, which is not installed"
        return f"{spec!r} needs {lack}: pip install {packages[1] or ''}{packages[2]}."
    return f"{spec!r} cannot be used: {clean(text, None)}"


def plain(message: str) -> str:
    """Inspect's message on one line, without the marks of its colours."""
    return re.sub(r"^ERROR:\s*", "", " ".join(re.sub(r"\[/?[a-z_ ]+\]", "", message).split()))
