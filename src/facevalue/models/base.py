"""Interface of models: the one through which every model is asked."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from facevalue.arguments import check_fields
from facevalue.errors import ModelError, ModelSpecError
from facevalue.printable import printable, quote
from facevalue.types import Request, Response, Sampling

_GATHERED = 4_096
"""Requests that are taken from a stream before any is answered, at most."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Capabilities of a model, as stated by its adapter or found by a probe.

    Attributes
    ----------
    probabilities:
        "full": the exact probability of every option; "top-k": of the options among the most likely tokens;
        "none": replies only.
    images_per_request:
        How many images one request may show; 0 for a text-only model.
    seeds:
        Whether a reply can be reproduced from `Request.seed`.
    structured:
        Whether replies can be constrained to options. Where that must be found out, False until a request has asked for
        it.
    structured_probabilities:
        Whether the probabilities of a constrained request are those of replies so constrained, rather than of free
        ones.
    sight:
        How it is known whether the model sees the pictures that it is shown: "asked", by questions about pictures made
        on the spot; "recorded", by its answers alone, which were given before; "stated", by itself, as of a simulation
        that sees none or of a network that knows drawings alone.

    Examples
    --------
    >>> Capabilities(images_per_request=2).probabilities
    'none'
    """

    probabilities: Literal["full", "top-k", "none"] = "none"
    images_per_request: int = 1
    seeds: bool = False
    structured: bool = False
    structured_probabilities: bool = False
    sight: Literal["asked", "recorded", "stated"] = "asked"

    def __post_init__(self) -> None:
        check_fields(self)


class Called(Protocol):
    """Something with a name for people."""

    @property
    def name(self) -> str:
        """Name by which the user chose it."""
        ...


class Model(Protocol):
    """A model is an adapter: requests in, responses out, nothing else.

    Requests arrive unit by unit as a lazy stream; within a unit its pictures take turns, question by question
    (`by_stimulus` gathers those about one picture, for a model that computes here). An adapter
    takes as many as it can work on at once and yields each response as soon as it is there, in any order.
    A request that fails for good yields a response with `Status.ERROR`; an exception
    (`facevalue.errors.ModelError`) means that no request can succeed and ends the run, with all that was yielded kept.

    Examples
    --------
    A model that always says the first option:

    >>> from facevalue.types import Response, Status
    >>> class First:
    ...     name = "first"
    ...     capabilities = Capabilities()
    ...
    ...     def settings(self):
    ...         return {"version": 1}
    ...
    ...     def respond(self, requests):
    ...         for request in requests:
    ...             text = request.question.options[0].label
    ...             yield Response(request.trial, request.repeat, Status.OK, text)
    ...
    ...     def close(self):
    ...         pass
    >>> model: Model = First()
    """

    @property
    def name(self) -> str:
        """Name by which the user chose this model; holds no secret."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of the model. The first access may send a probe."""
        ...

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Facts that change what the model says (version, endpoint, file hash), stored with the run. No secret."""
        ...

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Answer each request once, in any order."""
        ...

    def close(self) -> None:
        """Release connections and memory."""
        ...


_MEMBERS = ("name", "capabilities", "settings", "respond", "close")
_LONGEST = 300  # characters of a name


def checked_model(candidate: Any) -> Model:
    """Name what an object lacks to be a model; only its name is looked at, as others may look around to answer.

    Raises
    ------
    ModelError
        What is missing.
    """
    if isinstance(candidate, type):
        raise ModelError(f"{candidate.__name__} is a class: pass an instance, {candidate.__name__}(...).")
    members = {name for kind in type(candidate).__mro__ for name in vars(kind)} | set(
        getattr(candidate, "__dict__", {})
    )
    if missing := [name for name in _MEMBERS if name not in members]:
        raise ModelError(
            f"{type(candidate).__name__} has no {' and no '.join(missing)}: a model has {', '.join(_MEMBERS[:-1])} and "
            "close."
        )
    name = candidate.name
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST or printable(name) != name:
        raise ModelError(f"The name of a model is a text of up to {_LONGEST} printable characters, not {quote(name)}.")
    model: Model = candidate
    return model


def checked_facts(model: Called, origin: str, candidate: object) -> dict[str, str | int | float | bool]:
    """Facts that a model or a generator states about itself, in types that files can hold.

    Raises
    ------
    ModelError
        It is no mapping of names to texts, finite numbers and truth values.
    """
    if not isinstance(candidate, Mapping):
        raise ModelError(f"{origin} of {model.name} are {quote(candidate)}, not facts by name.")
    facts: dict[str, str | int | float | bool] = {}
    for name, fact in candidate.items():
        kind = next((allowed for allowed in (bool, int, float, str) if isinstance(fact, allowed)), None)
        if not isinstance(name, str) or kind is None or (kind is float and not math.isfinite(fact)):
            raise ModelError(
                f"{origin} of {model.name} hold {quote(name)} as {quote(fact)}, not as a text, a number, True or False."
            )
        facts[str(name)] = fact if kind is bool else kind(fact)
    return facts


IMAGE_TOKENS = 576
"""Tokens of one picture where the user states no number: LLaVA-1.5's 24 x 24 patches. Other models take 85 to 3,000."""
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
"""What servers take for `reasoning_effort`; each takes some of them."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Options for reaching a server, or loading a local model.

    Attributes
    ----------
    concurrency:
        Maximum number of requests in flight.
    timeout:
        Seconds until a request times out.
    retries:
        Maximum number of retries of a failed request.
    rpm, tpm:
        Budget of requests and tokens a minute; None for no budget.
    dtype:
        Number format of a model on this machine: "float32", "bfloat16" or "float16"; None for what suits its device.
    device:
        Where it computes: "cpu", "cuda", "cuda:1", or "auto" to spread its layers; "cuda:0,cuda:1" for a model on each;
        None for a GPU if there is one.
    threads:
        Its CPU threads; None for as many as torch takes.
    compile:
        Whether its forward pass is compiled first.
    tensor_parallel:
        GPUs that share a model in vLLM; None for one.
    max_tokens:
        Longest reply of a server's model, what it thinks not counted; None for the study's own limit.
    reasoning_effort:
        How much such a model is to think; None to leave it to the model.
    reasoning_tokens:
        Tokens that it may spend thinking, besides those of its reply.
    batch:
        Requests that are sent together to a provider's interface for batches, which answers later for less; None to
        send each by itself.
    model_args:
        Arguments of one of Inspect's providers, each NAME=VALUE.
    refusal_words:
        The user's own words for a refusal: a reply or an error that holds one is a refusal.
    """

    concurrency: int = 16
    timeout: float = 120.0
    retries: int = 5
    rpm: float | None = None
    tpm: float | None = None
    dtype: str | None = None
    device: str | None = None
    threads: int | None = None
    compile: bool = False
    tensor_parallel: int | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    reasoning_tokens: int | None = None
    batch: int | None = None
    model_args: tuple[str, ...] = ()
    refusal_words: tuple[str, ...] = ()


@runtime_checkable
class Probing(Protocol):
    """A model that finds out by asking whether its replies can be constrained to options."""

    def structured(self) -> bool:
        """Return whether replies can be constrained; may send a request."""
        ...


@runtime_checkable
class Expecting(Protocol):
    """A model that finds out what it can do by asking as the run will."""

    def expect(self, sampling: Sampling) -> None:
        """Say how the run's replies are drawn, before `capabilities` and `settings` are looked at."""
        ...


@runtime_checkable
class Selective(Protocol):
    """A model that answers some kinds of questions alone."""

    def unfit(self, requests: Sequence[Request]) -> str:
        """Reason why it can answer none of these, and what it can answer; empty if it answers any."""
        ...


@runtime_checkable
class Sharing(Protocol):
    """A model with a budget of requests and tokens a minute that may be spent by several at once."""

    def share(self, fraction: float) -> None:
        """Spend only this part of it from now on."""
        ...


@runtime_checkable
class Finding(Protocol):
    """A model that finds out about itself while it answers."""

    def findings(self) -> Mapping[str, str | int | float | bool]:
        """Findings of the model about itself, stored with the session. No secret."""
        ...


@runtime_checkable
class Holding(Protocol):
    """A model that holds requests back until others are answered."""

    def halt(self) -> None:
        """Begin none of those that wait."""
        ...


@runtime_checkable
class Noting(Protocol):
    """A model that has something to say before it is asked."""

    notes: tuple[str, ...]


def by_stimulus(requests: Iterable[Request], lot_size: int) -> Iterator[list[Request]]:
    """Gather requests about one stimulus, so many of them at most, from a stream in which those of a unit take turns.

    What a model that computes here has worked out for a picture then serves all questions about it. A unit ends where a
    new stimulus comes after another one has come again, or where `_GATHERED` requests wait.
    """
    gathering: dict[tuple[str, str], list[Request]] = {}
    count, last, again = 0, None, False
    for request in requests:
        stimulus = (request.stimulus.key, request.stimulus.digest)
        if count == _GATHERED or (again and stimulus not in gathering):
            yield from _lots(gathering, lot_size)
            gathering, count, last, again = {}, 0, None, False
        again |= stimulus in gathering and stimulus != last
        gathering.setdefault(stimulus, []).append(request)
        count, last = count + 1, stimulus
    yield from _lots(gathering, lot_size)


def _lots(held: Mapping[tuple[str, str], list[Request]], lot_size: int) -> Iterator[list[Request]]:
    for requests in held.values():
        yield from (requests[start : start + lot_size] for start in range(0, len(requests), lot_size))


def argument_texts(arguments: dict[str, Any]) -> tuple[str, ...]:
    """Arguments of a provider as the texts of `ModelOptions.model_args`.

    Raises
    ------
    ModelSpecError
        One is nothing that JSON has.
    """
    try:
        return tuple(f"{name}={json.dumps(value, allow_nan=False)}" for name, value in arguments.items())
    except (TypeError, ValueError):
        raise ModelSpecError("model_args are numbers, texts, lists and mappings of these.") from None
