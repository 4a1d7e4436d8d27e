"""Calls of Inspect's providers: a client is made, asked once without Inspect's retries and cache, and closed."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import Context
from dataclasses import dataclass
from typing import Any

from inspect_ai._util.background import set_background_task_group
from inspect_ai._util.entrypoints import ensure_entry_points
from inspect_ai._util.error import PrerequisiteError
from inspect_ai._util.registry import RegistryInfo, registry_find, registry_unqualified_name
from inspect_ai.event import ModelEvent
from inspect_ai.log import transcript
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    Model,
    ModelOutput,
    get_model,
)
from inspect_ai.model._providers.util.batch_log import set_batch_log_callback

from facevalue.errors import ModelError, ModelSpecError, UnknownNameError
from facevalue.models._chat import LIMIT, SPELLINGS
from facevalue.models.inspect.failures import clean, failure_of, plain, prerequisite
from facevalue.models.inspect.providers import ELSEWHERE, PROVIDERS
from facevalue.printable import first_line
from facevalue.servers.server import Failure

_LOG = logging.getLogger(__name__)
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
        task.add_done_callback(self._ended)

    async def close(self) -> None:
        """End all of them."""
        self._closing = True
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled() and not self._closing:
            self._tell(asyncio.CancelledError("it was given up"))

    def _tell(self, error: BaseException) -> None:
        if not self.failure.done():
            self.failure.set_result(error)


def made(spec: str, provider: str, name: str, arguments: Mapping[str, Any]) -> Model:
    """Make a client; no request is sent.

    `arguments`: of the provider's own.

    Raises
    ------
    ModelError
        There is no such provider, or its package or a key is missing: what to do.
    """
    if provider not in _offered():
        ensure_entry_points()  # those of other packages
        if provider not in _offered():
            names = {*PROVIDERS, *_offered()} - {*ELSEWHERE}
            raise ModelSpecError(str(UnknownNameError("provider of Inspect", provider, names)))
    hook = sys.excepthook
    try:
        return get_model(f"{provider}/{name}", memoize=False, **arguments)
    except PrerequisiteError as error:
        raise ModelSpecError(prerequisite(spec, str(error.message))) from None
    except ImportError as error:
        raise ModelSpecError(f"{spec!r} needs a package that is not installed: {error}.") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # of whatever kind a provider's package raises
        raise ModelSpecError(f"{spec!r} cannot be used: {clean(str(error) or type(error).__name__, None)}") from None
    finally:
        sys.excepthook = hook  # Inspect puts its own in place


def _offered() -> set[str]:
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
        reason = clean(str(reached.background.failure.result()), reached.model.api)
        raise ModelError(f"A batch could not be sent: {reason.rstrip('.')}. What was answered is kept.")
    try:
        return task.result()
    except PrerequisiteError as error:
        raise ModelError(clean(plain(str(error.message)), reached.model.api)) from None
    except Exception as error:
        raise failure_of(error, reached.model.api) from None
    except BaseException as error:  # of the provider alone: our own cancellation ends the wait above
        text = clean(_given_up(error), reached.model.api)
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
