"""Calls of Inspect's providers: a client is made, asked once without Inspect's retries and cache, and closed."""

import asyncio
import logging
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import Context
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from inspect_ai._util.background import set_background_task_group
from inspect_ai._util.entrypoints import ensure_entry_points
from inspect_ai._util.error import PrerequisiteError
from inspect_ai._util.registry import RegistryInfo, registry_find, registry_unqualified_name
from inspect_ai.event import ModelEvent
from inspect_ai.log import transcript
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    Content,
    ContentImage,
    ContentText,
    GenerateConfig,
    Model,
    ModelAPI,
    ModelOutput,
    get_model,
)
from inspect_ai.model._model_data.model_data import read_model_info
from inspect_ai.model._providers.util.batch_log import set_batch_log_callback
from tenacity import RetryError

from facevalue.errors import ModelError, ModelSpecError, UnknownNameError
from facevalue.models._chat import LIMIT, SPELLINGS
from facevalue.models.inspect.providers import ELSEWHERE, PROVIDERS
from facevalue.printable import first_line, printable, without_key
from facevalue.servers.server import MAX_ERROR, Failure
from facevalue.types import Question

# Failures of Inspect's providers in our words: typed, on one line, without keys.


_LOG = logging.getLogger(__name__)
_TRANSIENT = frozenset({408, 409, 425, 429})
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
"""Names of variables that hold what no text may show."""


def failure_of(error: BaseException, api: ModelAPI) -> Failure:
    """Describe in our words what a provider's package raised."""
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
        clean_message(f"HTTP {status}: {text}" if status else text, api),
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
    """Message of a server, from any of the shapes in which packages keep it."""
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


def clean_message(text: str, api: ModelAPI | None) -> str:
    """Take keys out of a text, those of the environment too, then control characters, and clip it."""
    keys = {value for variable, value in os.environ.items() if _SECRET.search(variable) and len(value) >= 8}
    if api is not None and isinstance(api.api_key, str):
        keys.add(api.api_key)
    for key in sorted(keys, key=len, reverse=True):
        text = without_key(text, key)
    text = printable(" ".join(text.split()))
    return text if len(text) <= MAX_ERROR else text[: MAX_ERROR - 1] + "…"


def missing_package(spec: str, message: str) -> str:
    """Say what a provider lacks, by Inspect's message: a package, with the command that installs it, or a key."""
    text = plain_message(message)
    if packages := re.search(r"pip install (--upgrade )?(.+)$", text):
        lack = "a newer version of a package" if packages[1] else f"the package {packages[2]}, which is not installed"
        return f"{spec!r} needs {lack}: pip install {packages[1] or ''}{packages[2]}."
    return f"{spec!r} cannot be used: {clean_message(text, None)}"


def plain_message(message: str) -> str:
    """Inspect's message on one line, without the marks of its colours."""
    return re.sub(r"^ERROR:\s*", "", " ".join(re.sub(r"\[/?[a-z_ ]+\]", "", message).split()))


# Questions as Inspect's messages, for its providers as for its tasks.


def messages(pictures: Sequence[str], question: Question) -> list[ChatMessage]:
    """Return the messages of one request: the system message and earlier turns if any, the pictures, then the text."""
    out: list[ChatMessage] = []
    if question.system is not None:
        out.append(ChatMessageSystem(content=question.system))
    for role, text in question.turns:
        out.append(ChatMessageUser(content=text) if role == "user" else ChatMessageAssistant(content=text))
    content: list[Content] = [ContentImage(image=url) for url in pictures]
    content.append(ContentText(text=question.prompt))
    out.append(ChatMessageUser(content=content if pictures else question.prompt))
    return out


_MOST_LEVELS = 4
_SPOKEN = ("messages", "input", "contents", "system", "instructions")


@dataclass(frozen=True, slots=True)
class Client:
    """A provider's client in one event loop, and what Inspect runs in its background."""

    model: Model
    background: "BackgroundTasks"


class BackgroundTasks:
    """Tasks that Inspect starts besides what it is asked, such as those that collect batches.

    Where such a task ends with an error, whoever waits for a batch would wait for ever. So its end is told.
    """

    def __init__(self) -> None:
        self.failure: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing = False

    def start_soon(self, function: Callable[..., Any], *arguments: object) -> None:
        """Start a task; called by Inspect."""

        async def work() -> None:
            try:
                await function(*arguments)
            except asyncio.CancelledError:
                raise
            except BaseException as error:  # an exit would end the loop
                self._tell(error)

        task = asyncio.ensure_future(work())
        self._tasks.add(task)
        task.add_done_callback(self._discard_task)

    async def close(self) -> None:
        """End all of them."""
        self._closing = True
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _discard_task(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled() and not self._closing:
            self._tell(asyncio.CancelledError("it was given up"))

    def _tell(self, error: BaseException) -> None:
        if not self.failure.done():
            self.failure.set_result(error)


def make_client(spec: str, provider: str, name: str, arguments: Mapping[str, Any]) -> Model:
    """Make a client; no request is sent.

    `arguments`: of the provider's own.

    Raises
    ------
    ModelError
        There is no such provider, or its package or a key is missing: what to do.
    """
    if provider not in _offered_providers():
        ensure_entry_points()  # those of other packages
        if provider not in _offered_providers():
            names = {*PROVIDERS, *_offered_providers()} - {*ELSEWHERE}
            raise ModelSpecError(str(UnknownNameError("provider of Inspect", provider, names)))
    hook = sys.excepthook
    try:
        return get_model(f"{provider}/{name}", memoize=False, **arguments)
    except PrerequisiteError as error:
        raise ModelSpecError(missing_package(spec, str(error.message))) from None
    except ImportError as error:
        raise ModelSpecError(f"{spec!r} needs a package that is not installed: {error}.") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # of whatever kind a provider's package raises
        raise ModelSpecError(
            f"{spec!r} cannot be used: {clean_message(str(error) or type(error).__name__, None)}"
        ) from None
    finally:
        sys.excepthook = hook  # Inspect puts its own in place


def _offered_providers() -> set[str]:
    return {registry_unqualified_name(provider) for provider in registry_find(_is_provider)}


def _is_provider(info: RegistryInfo) -> bool:
    return info.type == "modelapi"


@asynccontextmanager
async def client(model: Model) -> AsyncIterator[Client]:
    """Hold a client in an event loop, and close it."""
    background = BackgroundTasks()
    set_batch_log_callback(lambda message: _LOG.info("%s", message))  # it would be printed
    try:
        async with model:
            yield Client(model, background)
    finally:
        set_batch_log_callback(None)
        await background.close()


async def ask(
    reached: Client, conversation: list[ChatMessage], config: GenerateConfig
) -> tuple[ModelOutput, Mapping[str, Any], Mapping[str, Any]]:
    """Ask once; return also what was sent, and what came, where the provider tells.

    It is asked outside of whatever evaluation of Inspect's may surround it, so that none counts, limits or records it.

    Raises
    ------
    Failure, ModelError
        No answer came; or none can come any more.
    """
    sdk = getattr(reached.model.api, "client", None)
    if sdk is not None and hasattr(sdk, "max_retries"):
        sdk.max_retries = 0  # retries of the provider's own package would be in no budget

    async def asking() -> tuple[ModelOutput, Mapping[str, Any], Mapping[str, Any]]:
        set_background_task_group(reached.background)  # type: ignore[arg-type] # of a task group only this is used
        try:
            output = await reached.model.generate(conversation, config=config)
        except (SystemExit, KeyboardInterrupt) as error:  # either would end the loop
            raise RuntimeError(_given_up(error)) from error
        calls = [event.call for event in transcript().events if isinstance(event, ModelEvent)]
        call = calls[-1] if calls else None
        return output, call.request if call else {}, (call.response or {}) if call else {}

    task = asyncio.get_running_loop().create_task(asking(), context=Context())
    task.add_done_callback(lambda task: task.cancelled() or task.exception())  # also where nobody waits any more
    try:
        await asyncio.wait((task, reached.background.failure), return_when=asyncio.FIRST_COMPLETED)
    finally:
        if not task.done():
            task.cancel()
    if not task.done():
        reason = clean_message(str(reached.background.failure.result()), reached.model.api)
        raise ModelError(f"A batch could not be sent: {reason.rstrip('.')}. What was answered is kept.")
    try:
        return task.result()
    except PrerequisiteError as error:
        raise ModelError(clean_message(plain_message(str(error.message)), reached.model.api)) from None
    except Exception as error:
        raise failure_of(error, reached.model.api) from None
    except BaseException as error:  # of the provider alone: our own cancellation ends the wait above
        text = clean_message(_given_up(error), reached.model.api)
        raise Failure(text, transient=isinstance(error, asyncio.CancelledError)) from None


def _given_up(error: BaseException) -> str:
    return f"The provider gave up with {first_line(error)}."


def unsent(request: Mapping[str, Any]) -> tuple[list[str], bool]:
    """Return which parameters of sampling are not in what was sent, and whether a seed is.

    Inspect leaves out what a provider or model does not take, with a warning at most. Of a provider whose requests are
    not known in a shape that is understood nothing is said.

    Examples
    --------
    >>> unsent({"max_tokens": 5, "temperature": 0, "messages": [{"seed": 1}]})
    (['top_p', 'seed'], False)
    >>> unsent({"model": "x"})
    ([], False)
    """
    names = set(_names(request, 0))
    sent = {parameter for parameter, spellings in SPELLINGS.items() if names & {*spellings}}
    missing = [name for name in ("temperature", "top_p", "seed") if name not in sent]
    return (missing if LIMIT in sent else []), "seed" in sent


def _names(value: object, level: int) -> list[str]:
    if not isinstance(value, Mapping) or level > _MOST_LEVELS:
        return []
    out = [str(name) for name, inner in value.items() if inner is not None]
    for name, inner in value.items():
        if name not in _SPOKEN:
            out += _names(inner, level + 1)
    return out
