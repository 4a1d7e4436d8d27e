"""`diffusers/FOLDER_OR_ID`: pictures made or changed on this machine, by any pipeline that diffusers loads."""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from itertools import chain, islice
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from facevalue.errors import DataError, ModelError, ModelSpecError
from facevalue.generators.base import GeneratedPicture, GeneratorCapabilities, GeneratorOptions, PictureRequest
from facevalue.generators.diffusers.calls import (
    LENGTH,
    asked_size,
    check_settings,
    fixed_arguments,
    parameters,
    request_arguments,
    rewrites,
    stated_facts,
    traits,
)
from facevalue.generators.diffusers.loading import load_pipelines, out_of_memory, quiet
from facevalue.generators.diffusers.readers import CutPromptError, PromptReaders
from facevalue.models._pictures import picture
from facevalue.models.hf.adapter import fingerprint
from facevalue.printable import first_line
from facevalue.types import Image, Status

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

_FILES = "**/*.json", "**/*.jinja", "**/*.txt", "**/*.model", "**/*.safetensors"
"""Files of a pipeline's folder by which it is known."""
_MOST_FAILURES = 20
"""So many pictures in a row that failed end the run."""
_COMPRESSION = 1
"""Of PNG: pictures are kept without loss, and more than the fastest costs more than it saves."""


class DiffusersGenerator:
    """A pipeline of a folder or of the hub's cache, named "diffusers/FOLDER_OR_ID".

    Each picture has a `torch.Generator` of its own on the CPU, seeded with its request's seed. Options for servers are
    not looked at. `notes`: what the user should know, one sentence each.

    Raises
    ------
    DependencyError
        The extra `pictures` is not installed.
    ModelError
        There is no such pipeline, it cannot be loaded, or it makes no pictures from texts.
    SettingError, UnknownNameError
        It does not take a size or setting that is asked for.
    """

    def __init__(self, spec: str, options: GeneratorOptions) -> None:
        self.name = spec
        path = spec.partition("/")[2]
        if not path:
            raise ModelSpecError(f"{spec!r} names no pipeline: write diffusers/FOLDER or diffusers/OWNER/MODEL.")
        if options.batch < 1:
            raise ModelSpecError(f"{options.batch} pictures at once are none: ask for a batch of 1 or more.")
        self._pipelines = load_pipelines(path, dtype=options.dtype, device=options.device)
        self._size, self._batch, self._chosen = options.size, options.batch, dict(options.settings)
        kinds = [type(pipeline) for pipeline in self._pipelines.distinct_pipelines]
        check_settings(kinds, self._chosen)
        self._single = self._one_at_a_time() if self._batch > 1 else {}
        self.notes = (*self._single.values(), *self._checked_size())
        self._unforeseen: tuple[str, ...] = ()
        self.capabilities = GeneratorCapabilities(
            generates=self._pipelines.generate is not None, edits=self._pipelines.edit is not None, seeds=True
        )
        for pipeline in self._pipelines.distinct_pipelines:
            pipeline.set_progress_bar_config(disable=True)
        self._readers = PromptReaders(
            self._pipelines.distinct_pipelines[0], _denoisers(self._pipelines.distinct_pipelines[0])
        )
        self._failures, self._pictures = 0, 0
        self._settings: dict[str, str | int | float | bool] | None = None

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Classes, versions, a hash of the folder's files, device and number format, and every setting of its call."""
        if self._settings is None:
            first = self._pipelines.distinct_pipelines[0]
            facts: dict[str, str | int | float | bool] = {
                "pipeline": type(first).__name__,
                "scheduler": type(first.scheduler).__name__ if hasattr(first, "scheduler") else "",
                "weights": fingerprint(self._pipelines.folder, _FILES),
                "device": self._pipelines.device.partition(":")[0],
                "dtype": self._pipelines.numbers,
                "batch": self._batch,
            }
            facts |= {name: version(name) for name in ("diffusers", "torch", "transformers")}
            if self._size:
                facts["size"] = "{}x{}".format(*self._size)
            facts |= stated_facts(type(first), self._chosen)
            for editor in self._pipelines.distinct_pipelines[1:]:
                facts["editor"] = type(editor).__name__
                edit_facts = stated_facts(type(editor), self._chosen)
                facts |= {f"edit_{name}": value for name, value in edit_facts.items() if facts.get(name) != value}
            self._settings = facts
        return self._settings

    def findings(self) -> Mapping[str, str | int | float | bool]:
        """Pipelines that did not take the batch that was asked for."""
        return {"one_at_a_time": " ".join(self._unforeseen)} if self._unforeseen else {}

    def generate(self, requests: Iterable[PictureRequest]) -> Iterator[GeneratedPicture]:
        """Answer requests in their order, up to `batch` neighbours in one call."""
        for neighbours in _in_batches(requests, self._batch):
            sound = []
            for request in neighbours:
                try:
                    sound.append((request, self._source(request)))
                except (DataError, OSError) as error:
                    yield GeneratedPicture(request.number, Status.ERROR, error=str(error))
            for group in self._groups(sound):
                for result in self._draw_pictures(group):
                    yield result
                    self._count(result)

    def close(self) -> None:
        """Release the pipelines."""
        del self._pipelines, self._readers

    def _one_at_a_time(self) -> dict[bool, str]:
        """Reasons why pictures from texts (False) or edits (True) are made one at a time, where they are."""
        reasons = {}
        for edits, pipeline in ((False, self._pipelines.generate), (True, self._pipelines.edit)):
            kind = type(pipeline)
            if pipeline is not None and rewrites(kind, self._chosen):
                reasons[edits] = f"{kind.__name__} makes one picture at a time: it rewrites their prompts."
            elif pipeline is not None and edits and not traits(kind).aligned:
                reasons[edits] = (
                    f"{kind.__name__} edits one picture at a time: several would be views of one request to it."
                )
        return reasons

    def _checked_size(self) -> tuple[str, ...]:
        """Note where the requested size is not taken; raises an error if no picture can have it."""
        if self._size is None:
            return ()
        first = self._pipelines.distinct_pipelines[0]
        if not any("height" in parameters(type(pipeline)) for pipeline in self._pipelines.distinct_pipelines):
            if self._pipelines.edit is None:
                raise ModelSpecError(f"{type(first).__name__} takes no size.")
            return (f"{type(first).__name__} takes no size: an edit has that of its source.",)
        multiple = int(getattr(first, "vae_scale_factor", 1))
        if any(side < 1 or side % multiple for side in self._size):
            near = "x".join(str(max(round(side / multiple), 1) * multiple) for side in self._size)
            size = "x".join(map(str, self._size))
            raise ModelSpecError(
                f"{size} is no size of {type(first).__name__}: sides are multiples of {multiple}, such as {near}."
            )
        return ()

    def _source(self, request: PictureRequest) -> "Picture | None":
        """Return the picture that is to be changed; a `DataError` where it can't be or there must be one."""
        if request.source is None:
            if self._pipelines.generate is None:
                raise DataError(f"{self.name} only changes pictures: it needs a source picture.")
            return None
        if self._pipelines.edit is None:
            raise DataError(f"{self.name} makes pictures from texts alone, and cannot edit.")
        return picture(request.source, "source picture")

    def _groups(self, sound: "Sequence[_Wish]") -> "Iterator[list[_Wish]]":
        """Part requests into calls: those from texts, and edits of sources of one size; or each alone."""
        group: list[_Wish] = []
        for wish in sound:
            if group and (_size(group[0][1]) != _size(wish[1]) or (wish[1] is not None) in self._single):
                yield group
                group = []
            group.append(wish)
        if group:
            yield group

    def _draw_pictures(self, group: "list[_Wish]") -> Iterator[GeneratedPicture]:
        """Answer the requests of one call; where it fails for several, of a call each."""
        requests = [request for request, _ in group]
        try:
            yield from list(self._call_pipeline(group))  # all of a call, or none
        except CutPromptError as error:
            for place, reason in error.reasons.items():
                message = f"{reason}. Nothing was drawn."
                yield GeneratedPicture(requests[place].number, Status.ERROR, error=message)
            if left := [wish for place, wish in enumerate(group) if place not in error.reasons]:
                yield from self._draw_pictures(left)
        except Exception as error:  # a pipeline raises many kinds
            if out_of_memory(error):
                yield from self._out_of_memory(requests, error)
            elif len(group) == 1:
                yield GeneratedPicture(requests[0].number, Status.ERROR, error=first_line(error))
            else:
                results = [result for wish in group for result in self._draw_pictures([wish])]
                if all(result.status is not Status.ERROR for result in results):
                    edits = group[0][1] is not None
                    name = type(self._pipelines.edit if edits else self._pipelines.generate).__name__
                    self._single[edits] = f"{name} failed with several pictures at once ({first_line(error)})."
                    self._unforeseen += (self._single[edits],)
                yield from results

    def _out_of_memory(self, requests: Sequence[PictureRequest], error: Exception) -> Iterator[GeneratedPicture]:
        import torch  # noqa: PLC0415

        device = self._pipelines.device
        text = f"Not enough memory on {device} for {len(requests)} at once: ask for a smaller size, batch or dtype"
        if not self._pictures:
            raise ModelError(f"{text}.") from error
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        for request in requests:
            yield GeneratedPicture(request.number, Status.ERROR, error=text)

    def _call_pipeline(self, group: "list[_Wish]") -> Iterator[GeneratedPicture]:
        """Call the pipeline once."""
        import torch  # noqa: PLC0415

        requests, sources = [request for request, _ in group], [source for _, source in group if source is not None]
        pipeline = self._pipelines.edit if sources else self._pipelines.generate
        kind, prompts = type(pipeline), [request.prompt for request in requests]
        multiple = 2 * int(getattr(pipeline, "vae_scale_factor", 1))
        size = asked_size(kind, self._size, _size(group[0][1]), multiple)
        fixed = fixed_arguments(kind, self._chosen)
        arguments = request_arguments(kind, fixed, prompts, sources, size)
        generators = [torch.Generator("cpu").manual_seed(request.seed) for request in requests]
        length = fixed.get(LENGTH, parameters(kind)[LENGTH].default) if traits(kind).slices else None
        self._readers.watch(prompts, length)
        start = perf_counter()
        with quiet(), _seed_torch(requests[0].seed, self._pipelines.device), _overflows() as overflows:
            output = pipeline(
                **arguments, generator=generators if len(generators) > 1 else generators[0], output_type="pil"
            )
        self._readers.check()
        milliseconds = 1000 * (perf_counter() - start)
        pictures = _pictures(output, len(requests))
        flags = getattr(output, "nsfw_content_detected", None) or [False] * len(requests)
        for place, (request, image) in enumerate(zip(requests, pictures, strict=True)):
            facts: dict[str, str | int | float | bool] = {"batch": len(requests), "batch_place": place}
            if self._size and image.size != self._size:
                facts["size_asked"] = "{}x{}".format(*self._size)
            elif sources and image.size != sources[place].size:
                facts["size_source"] = "{}x{}".format(*sources[place].size)
            if partly := self._readers.partly(request.prompt):
                facts["read_partly"] = partly
            status, error = _verdict(image, flagged=bool(flags[place]), overflow=bool(overflows))
            yield GeneratedPicture(
                request.number,
                status,
                _encode_image(image) if status is Status.OK else None,
                error,
                self._readers.rewritten_prompt(
                    request.prompt, str(self._chosen.get("negative_prompt", "")), expected=rewrites(kind, self._chosen)
                ),
                request.seed,
                self._readers.tokens(request.prompt),
                latency_ms=milliseconds,
                facts=facts,
            )

    def _count(self, result: GeneratedPicture) -> None:
        """Count pictures, and failures in a row, which may end the run."""
        if result.status is not Status.ERROR:
            self._pictures, self._failures = self._pictures + 1, 0
        else:
            self._failures += 1
        if self._failures >= _MOST_FAILURES:
            raise ModelError(f"{_MOST_FAILURES} pictures in a row failed with {self.name}; the last: {result.error}")


_Wish = tuple[PictureRequest, "Picture | None"]
"""A request with its source picture, decoded."""


def _in_batches(requests: Iterable[PictureRequest], count: int) -> Iterator[list[PictureRequest]]:
    """Take neighbours from a stream, no more of it than is worked on."""
    stream = iter(requests)
    for first in stream:
        yield list(chain([first], islice(stream, count - 1)))


def _size(source: "Picture | None") -> tuple[int, int] | None:
    return None if source is None else source.size


def _denoisers(pipeline: Any) -> list[Any]:
    """Return the networks that draw: diffusers' own, but for those between pictures and latents."""
    from diffusers import ModelMixin  # noqa: PLC0415

    return [
        model
        for model in pipeline.components.values()
        if isinstance(model, ModelMixin) and not hasattr(model, "decode")
    ]


@contextmanager
def _seed_torch(seed: int, device: str) -> Iterator[None]:
    """Seed torch's own random numbers, which some pipelines take besides their generators', for the time of a call."""
    import torch  # noqa: PLC0415

    devices = range(torch.cuda.device_count()) if device.startswith(("cuda", "auto")) else ()
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        yield


@contextmanager
def _overflows() -> Iterator[list[str]]:
    """Note numbers that became whole ones though they were none (NaN), as where half precision overflowed."""
    notes: list[str] = []
    with np.errstate(invalid="call", call=lambda kind, _: notes.append(kind)):
        yield notes


def _pictures(output: Any, count: int) -> "list[Picture]":
    """Return the pictures that a pipeline gave: one for each request."""
    from PIL.Image import Image as Picture  # noqa: PLC0415

    images = getattr(output, "images", None)
    if not isinstance(images, list) or len(images) != count or not all(isinstance(image, Picture) for image in images):
        raise ValueError(f"the pipeline did not give one picture for each of {count} prompts")
    return [image if image.mode in ("RGB", "RGBA") else image.convert("RGB") for image in images]


def _verdict(image: "Picture", *, flagged: bool, overflow: bool) -> tuple[Status, str | None]:
    """Tell a picture from one that a safety checker blackened, and from numbers that overflowed to black."""
    if flagged:
        return Status.REFUSED, "The pipeline's safety checker withheld the picture (nsfw_content_detected)."
    if image.convert("RGB").getbbox() is not None:  # something is not black
        return Status.OK, None
    if overflow:
        return Status.ERROR, "Its numbers overflowed, and the picture came out black: try dtype bfloat16 or float32."
    return Status.REFUSED, "The picture came out black, as pipelines leave what they withhold."


def _encode_image(image: "Picture") -> Image:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=_COMPRESSION)
    return Image(buffer.getvalue(), "image/png")
