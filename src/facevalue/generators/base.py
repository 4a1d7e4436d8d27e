"""Interface of generators: the one through which every picture is made or edited."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from facevalue.errors import ModelSpecError
from facevalue.stimuli.base import Kind
from facevalue.types import Image, Status

NULL_EDIT = "no change"
"""Level of a cue of pictures whose editor was told to change nothing: the base of what its other edits do."""


@dataclass(frozen=True, slots=True)
class GeneratorCapabilities:
    """Capabilities of a generator, as stated by its adapter.

    Attributes
    ----------
    generates:
        Whether it makes a picture from a text alone.
    edits:
        Whether it changes a picture as a text says.
    seeds:
        Whether the seed of a request has a part in the picture; else none is recorded.
    kind:
        What kind of pictures it makes; `UNSTATED` where it does not know, None where an edit stays what its source is.

    Examples
    --------
    >>> GeneratorCapabilities(edits=True).seeds
    False
    """

    generates: bool = True
    edits: bool = False
    seeds: bool = False
    kind: Kind | None = Kind.SYNTHETIC


class PictureRequest(NamedTuple):
    """One picture that is wanted.

    Attributes
    ----------
    number:
        Its trial number.
    prompt:
        What the generator is told, verbatim.
    seed:
        Seed of this picture alone, in [0, 2**31).
    source:
        The picture that is to be changed; None where one is made from the text alone.
    factors:
        What the picture shall show, by factor. For drawn, recorded and simulated generators; never sent to a model.

    Examples
    --------
    >>> PictureRequest(7, "An old man, with his face visible.", 1).source is None
    True
    """

    number: int
    prompt: str
    seed: int
    source: Image | None = None
    factors: Mapping[str, str | None] = {}


class GeneratedPicture(NamedTuple):
    """Result of a request for a picture.

    Attributes
    ----------
    number:
        The request that this answers.
    status:
        `OK` with a picture; `REFUSED` where the generator declined by its own signal, such as a safety filter, a
        moderation or a blackened picture; `ERROR` where the request failed. Never `TRUNCATED`.
    image:
        The file as it came, watermark and metadata included; None unless `OK`.
    error:
        For people: why there is none.
    revised_prompt:
        The text that the picture was made from, where the generator says that it is another than the one sent.
    seed:
        The seed it was made with; None where the generator takes none.
    prompt_tokens, completion_tokens:
        As the generator counts them; None if it does not say.
    latency_ms:
        Milliseconds from sending to the whole picture, retries not counted.
    facts:
        What else there is to record of this one picture, such as the batch it was in.
    retries:
        How often it was asked for again before this came.

    Examples
    --------
    >>> GeneratedPicture(7, Status.REFUSED, error="moderation_blocked").image is None
    True
    """

    number: int
    status: Status
    image: Image | None = None
    error: str | None = None
    revised_prompt: str | None = None
    seed: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_ms: float = 0.0
    facts: Mapping[str, str | int | float | bool] = {}
    retries: int = 0


class PictureGenerator(Protocol):
    """A generator is an adapter: requests in, pictures out, nothing else.

    Requests come as a lazy stream. An adapter takes as many as it can work on at once and yields each picture as soon
    as it is there, in any order. A request that fails for good yields `Status.ERROR`; an exception
    (`facevalue.errors.ModelError`) means that no request can succeed, and ends the run with all that was yielded kept.
    What it yields is checked by whoever asks it (`checked_picture`): an adapter passes bytes on as they came.
    """

    @property
    def name(self) -> str:
        """Name by which the user chose it; holds no secret."""
        ...

    @property
    def capabilities(self) -> GeneratorCapabilities:
        """Capabilities of the generator."""
        ...

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Facts that change its pictures (version, size, steps, file hash), stored with the run. No secret."""
        ...

    def generate(self, requests: Iterable[PictureRequest]) -> Iterator[GeneratedPicture]:
        """Answer each request once, in any order."""
        ...

    def close(self) -> None:
        """Release connections and memory."""
        ...


@dataclass(frozen=True, slots=True)
class GeneratorOptions:
    """Options for reaching a server of pictures, or loading a local pipeline, and for drawing.

    Attributes
    ----------
    concurrency, timeout, retries, rpm:
        As of a model (`facevalue.models.base.ModelOptions`).
    dtype, device:
        As of a model on this machine.
    batch:
        Pictures that a pipeline makes at once.
    size:
        Width and height that are asked for, in pixels; None for the generator's own.
    settings:
        Arguments of the generator's own by name, such as `num_inference_steps` or `quality`. One that it does not take
        is refused, never ignored.

    Examples
    --------
    >>> GeneratorOptions(settings={"num_inference_steps": 20}).batch
    1
    """

    concurrency: int = 16
    timeout: float = 300.0
    retries: int = 5
    rpm: float | None = None
    dtype: str | None = None
    device: str | None = None
    batch: int = 1
    size: tuple[int, int] | None = None
    settings: Mapping[str, str | int | float | bool] = field(default_factory=dict)

    def check_elsewhere(self, spec: str) -> None:
        """Refuse what is for pipelines on this machine alone; `spec` names a generator that is none.

        Raises
        ------
        ModelSpecError
            Names the options.
        """
        local = {"dtype": self.dtype, "device": self.device, "batch": None if self.batch == 1 else self.batch}
        if names := [name for name, value in local.items() if value is not None]:
            verb = "is" if len(names) == 1 else "are"
            raise ModelSpecError(f"{' and '.join(names)} {verb} for pipelines on this machine; {spec} is none.")
