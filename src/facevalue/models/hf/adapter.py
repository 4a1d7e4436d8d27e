"""`hf/PATH_OR_ID`: a model on this machine, asked through transformers."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from facevalue.errors import DataError, ModelError
from facevalue.hashing import combined_hash, conditions_hash, question_hash, stimulus_hash
from facevalue.models._fallback import MOST_UNSEEN, instead, unfollowed
from facevalue.models._pictures import picture
from facevalue.models.base import Capabilities, ModelOptions, neighbours
from facevalue.models.hf.calls import Rejected
from facevalue.models.hf.engine import Engine, Failed, Reply, Wish
from facevalue.models.hf.framing import cuts
from facevalue.models.hf.scoring import Score
from facevalue.types import Request, Response, Status, Stimulus

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

MOST_NEIGHBOURS = 1024
"""Requests about one stimulus that are taken from the stream at once."""
_MOST_FAILURES = 20
"""So many stimuli in a row with nothing but errors end the run."""
_MOST_IMAGES = 8
_PIECES, _PIECE = 64, 2**16  # bytes
CAPABILITIES = Capabilities(
    probabilities="full",
    images_per_request=_MOST_IMAGES,
    system_prompt=True,
    seeds=True,
    structured=True,
    structured_probabilities=True,
)


class HFModel:
    """A model of a folder or of the hub's cache, named "hf/PATH_OR_ID"; options for servers are not looked at."""

    def __init__(self, name: str, options: ModelOptions) -> None:
        self.name = name
        self._path = name.partition("/")[2]
        self._compiled = options.compile
        self.engine = Engine.load(
            self._path,
            dtype=options.dtype,
            device=options.device,
            threads=options.threads,
            compile=options.compile,
        )
        self.capabilities = CAPABILITIES if self.engine.loaded.sees else replace(CAPABILITIES, images_per_request=0)
        self.notes = self.engine.loaded.notes
        self._failing: set[str] = set()
        self._settings: dict[str, str | int | float | bool] | None = None

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Number format, kind of device, versions, a hash of the weights, and what is done to pictures."""
        if self._settings is None:
            loaded = self.engine.loaded
            self._settings = {
                "dtype": loaded.numbers,
                "device": loaded.device.type,
                "compile": self._compiled,
                "weights": fingerprint(_folder(self._path)),
                "torch": version("torch"),
                "transformers": version("transformers"),
            }
            if loaded.sees and cuts(loaded.processor.image_processor):
                self._settings["pictures"] = "padded to a square"
        return self._settings

    def findings(self) -> Mapping[str, str | int | float | bool]:
        """What the self-check has found so far; empty before it has looked."""
        check = self.engine.check
        found: dict[str, str | int | float | bool] = {}
        if check.checks or check.difference:
            found |= {
                "self_checks": check.checks,
                "largest_difference": check.difference,
                "largest_log_difference": check.log_difference,
                "tolerance": check.tolerance,
            }
        if self.engine.undecided:
            found["largest_undecided"] = self.engine.undecided
        if self.engine.unspoken:
            found["largest_unspoken"] = self.engine.unspoken
        return found

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Answer one stimulus after the other, each request of it as soon as it is done."""
        for batch in neighbours(requests, MOST_NEIGHBOURS):
            reason, answered = None, False
            for response in self._answer(batch):
                reason, answered = response.error or reason, answered or response.status is not Status.ERROR
                yield response
            if answered:
                self._failing.clear()
            else:
                self._failing.add(batch[0].stimulus.key)
            if len(self._failing) >= _MOST_FAILURES:
                raise ModelError(f"{_MOST_FAILURES} stimuli in a row failed with {self.name}; the last: {reason}")

    def close(self) -> None:
        """Let go of the model."""
        del self.engine

    def _answer(self, batch: list[Request]) -> Iterator[Response]:
        """Answer requests about one stimulus."""
        stimulus, waiting = batch[0].stimulus, dict(enumerate(batch))
        try:
            pictures = decoded(stimulus)
        except (DataError, OSError) as error:
            reason = f"Stimulus {stimulus.key!r} cannot be shown: {error}"
        else:
            try:
                for number, response in self._made(pictures, batch):
                    del waiting[number]
                    yield response
                return
            except (DataError, Rejected) as error:
                reason = str(error)
        for request in waiting.values():
            yield _response(request, Failed(reason), 0.0)

    def _made(self, pictures: "list[Picture]", batch: list[Request]) -> Iterator[tuple[int, Response]]:
        read: dict[int, tuple[Response, str]] = {}
        exact = [number for number, request in enumerate(batch) if request.exact]
        free = [number for number, request in enumerate(batch) if not request.exact]
        questions, samplings = [batch[n].question for n in exact], [batch[n].sampling for n in exact]
        held = [batch[n].constrain for n in exact]
        for at, score, seconds in self.engine.score(pictures, questions, samplings, held):
            response = _response(batch[exact[at]], score, seconds)
            if isinstance(score, Score) and score.undecided > MOST_UNSEEN:
                read[exact[at]] = response, unfollowed(sum(score.probs), score.undecided)
            else:
                yield exact[at], response
        drawn = [*free, *read]
        wishes = [Wish(r.question, r.sampling, _seed(r), r.constrain) for r in (batch[n] for n in drawn)]
        for at, reply, seconds in self.engine.generate(pictures, wishes):
            number = drawn[at]
            response = _response(batch[number], reply, seconds)
            if number in read:
                before, reason = read[number]
                response = instead(reason, before, response)
            yield number, response


def _response(request: Request, made: Score | Reply | Failed, seconds: float) -> Response:
    trial, repeat, took = request.trial, request.repeat, 1000 * seconds
    if isinstance(made, Failed):
        return Response(trial, repeat, Status.ERROR, error=made.reason)
    if isinstance(made, Score):
        return Response(trial, repeat, Status.OK, None, made.probs, made.prompt_tokens, 0, took)
    status = Status.OK if made.ended else Status.TRUNCATED
    return Response(trial, repeat, status, made.text, None, made.prompt_tokens, made.completion_tokens, took)


def _seed(request: Request) -> int:
    """Mix a request's seed with all that it shows and says.

    A study gives each of its trials the same few seeds; were they taken as they are, the same random numbers would
    decide every trial, and all trials would err to the same side.
    """
    stimuli = np.array([stimulus_hash(request.stimulus)], dtype=np.uint64)
    questions = np.array([question_hash(request.question)], dtype=np.uint64)
    conditions = conditions_hash(request.sampling, request.seed, request.exact, request.constrain)
    return int(combined_hash(stimuli, questions, np.array([conditions], dtype=np.uint64))[0])


def decoded(stimulus: Stimulus) -> "list[Picture]":
    """Decode a stimulus: upright as its EXIF says, the first picture of several in a file, transparency on white."""
    return [picture(image, f"image {number}") for number, image in enumerate(stimulus.load(), 1)]


def _folder(path: str) -> Path:
    """Where a model's files are: its folder, or its place in the hub's cache."""
    from transformers.utils import cached_file  # noqa: PLC0415

    folder = Path(path).expanduser()
    if folder.is_dir():
        return folder
    return Path(str(cached_file(path, "config.json", local_files_only=True))).parent


def fingerprint(folder: Path) -> str:
    """Return a hash by which a model is known: of its settings, its tokenizer and a sample of its weights.

    Weights are many gigabytes; of each file the size and the beginning (which names every tensor and its place) are
    hashed, and as many pieces spread evenly over it.
    """
    state = blake2b(digest_size=16)
    for path in sorted((*folder.glob("*.json"), *folder.glob("*.jinja"), *folder.glob("*.safetensors"))):
        size = path.stat().st_size
        state.update(f"{path.name} {size} ".encode())
        with path.open("rb") as file:
            if path.suffix != ".safetensors" or size <= _PIECES * _PIECE:
                for block in iter(lambda: file.read(_PIECE), b""):
                    state.update(block)
                continue
            for piece in range(_PIECES):
                file.seek(piece * (size - _PIECE) // (_PIECES - 1))
                state.update(file.read(_PIECE))
    return state.hexdigest()
