"""`hf/PATH_OR_ID`: a model on this machine, asked through transformers."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from importlib.metadata import version
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from facevalue.errors import DataError, ModelError
from facevalue.hashing import combined_hash, conditions_hash, question_hash, stimulus_hash
from facevalue.models._chat import MOST_UNSEEN, replace_response, undecided_reason
from facevalue.models._pictures import picture
from facevalue.models.base import Capabilities, ModelOptions, by_stimulus
from facevalue.models.hf.calls import is_device_failure
from facevalue.models.hf.engine import DrawnReply, Engine, Failed, PreparedPrompts, Wish
from facevalue.models.hf.framing import cuts
from facevalue.models.hf.loading import DATE, DATED, TEXTS_ALONE
from facevalue.models.hf.open_replies import OpenReplies
from facevalue.models.hf.processors import first_line
from facevalue.models.hf.reference_pass import stepwise
from facevalue.models.hf.scoring import OptionScore, ScoreJob
from facevalue.types import Request, Response, Status, Stimulus

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

MOST_TOGETHER = 1024
"""Requests about one stimulus that are taken from the stream at once."""
_AHEAD = 2, 32
"""So many stimuli are made ready ahead of the model at first, and at most: twice those that it takes together."""
_MOST_FAILURES = 20
"""So many stimuli in a row with nothing but errors end the run."""
_MOST_IMAGES = 8
_PIECES, _PIECE = 64, 2**16  # bytes
CAPABILITIES = Capabilities(
    probabilities="full",
    images_per_request=_MOST_IMAGES,
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
            self._path, dtype=options.dtype, device=options.device, threads=options.threads, compile=options.compile
        )
        self.capabilities = CAPABILITIES if self.engine.loaded.sees else replace(CAPABILITIES, images_per_request=0)
        self.engine.rehearse()
        self.notes = (*self.engine.loaded.notes, *stepwise(self.engine.loaded), *self.engine.trials.notes)
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
            if DATED in loaded.notes:
                self._settings["date"] = f"{DATE:%Y-%m-%d}"
            if TEXTS_ALONE in loaded.notes:
                self._settings["prompt"] = "texts alone, without a chat template"
        return self._settings

    def findings(self) -> Mapping[str, str | int | float | bool]:
        """Findings of the trials of each way of reading, and of the self-check, so far."""
        check = self.engine.check
        tried = self.engine.loaded.differences
        findings: dict[str, str | int | float | bool] = {way: by for way, by in tried.items() if isfinite(by)}
        if check.checks or check.difference:
            findings |= {
                "self_checks": check.checks,
                "largest_difference": check.difference,
                "largest_log_difference": check.log_difference,
                "tolerance": check.tolerance,
            }
        verdicts = self.engine.trials.verdicts | self.engine.opening.trials.verdicts
        for way, kinds in (
            ("shared", [kind for kind in verdicts if not verdicts[kind].failed]),
            ("plain", [kind for kind in verdicts if verdicts[kind].failed]),
        ):
            if kinds:
                findings[way] = "; ".join(f"{kind}: {verdicts[kind]}" for kind in kinds)
        if self.engine.undecided:
            findings["largest_undecided"] = self.engine.undecided
        if self.engine.unspoken:
            findings["largest_unspoken"] = self.engine.unspoken
        return findings

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Answer the stimuli that the model takes together, each request as soon as it is done, then the next ones.

        Open replies go on from one lot of stimuli to the next. While the model works, the next pictures are made ready
        in a thread, a bounded number of them. A `ModelError` says that the GPU failed.
        """
        batches = by_stimulus(requests, MOST_TOGETHER)
        ahead: deque[Future[_Ready]] = deque()
        lookahead = _AHEAD[0]
        with closing(OpenReplies[_Ready](self.engine.opening)) as session, ThreadPoolExecutor(1, "pictures") as worker:

            def fill() -> None:
                for batch in islice(batches, lookahead - len(ahead)):
                    ahead.append(worker.submit(self._ready, batch))

            try:
                fill()
                while ahead:
                    together = [ahead.popleft().result()]
                    fill()
                    while ahead and not self._full(together):
                        together.append(ahead.popleft().result())
                        lookahead = min(max(2 * len(together), lookahead), _AHEAD[1])
                        fill()
                    for ready, response in self._answer_batch(together, session):
                        yield from self._settle(ready, response)
                    yield from self._answer_open(session, to_the_end=False)
                yield from self._answer_open(session, to_the_end=True)
            except RuntimeError as error:
                if is_device_failure(error):
                    raise ModelError(
                        f"The GPU failed: {first_line(error)}. Nothing more can be asked of it."
                    ) from error
                raise
            finally:  # also where nobody wants the rest
                worker.shutdown(cancel_futures=True)

    def close(self) -> None:
        """Release the model."""
        del self.engine

    def _ready(self, batch: list[Request]) -> "_Ready":
        """Make requests about one stimulus ready, without the model."""
        ready = _Ready(batch)
        try:
            ready.pictures = decode_pictures(batch[0].stimulus)
        except (DataError, OSError) as error:
            ready.reason = f"Stimulus {batch[0].stimulus.key!r} cannot be shown: {error}"
            return ready
        exact = [batch[number] for number in ready.exact]
        try:
            if exact:
                questions, samplings = [r.question for r in exact], [r.sampling for r in exact]
                held = [request.constrain for request in exact]
                ready.scores = self.engine.to_score(ready.pictures, questions, samplings, held)
            if len(exact) < len(batch):
                ready.replies = self._to_reply(ready, [n for n, request in enumerate(batch) if not request.exact])
        except DataError as error:
            ready.reason = str(error)
        return ready

    def _to_reply(self, ready: "_Ready", numbers: list[int]) -> PreparedPrompts[Wish]:
        """Have replies to some of the requests drawn."""
        ready.drawn = numbers
        requests_asked = [ready.batch[number] for number in numbers]
        wishes = [Wish(r.question, r.sampling, _seed(r), r.constrain) for r in requests_asked]
        return self.engine.to_reply(ready.pictures, wishes)

    def _full(self, together: "list[_Ready]") -> bool:
        """Return whether that is as much as goes through the model at once."""
        tokens = sum(work.tokens for ready in together for work in (ready.scores, ready.replies) if work)
        return tokens >= self.engine.room.tokens() or len(together) >= _AHEAD[1]

    def _settle(self, ready: "_Ready", response: Response) -> Iterator[Response]:
        """Yield a response, an error when all about its stimulus is answered.

        Stimuli without any answer in a row are counted, and may end the run.
        """
        ready.left -= 1
        if response.status is Status.ERROR:
            ready.errors.append(response)
        else:
            yield response
        if ready.left:
            return
        yield from ready.errors
        if len(ready.errors) < len(ready.batch):
            self._failing.clear()
        else:
            self._failing.add(ready.batch[0].stimulus.key)
        if len(self._failing) >= _MOST_FAILURES:
            reason = ready.errors[-1].error
            raise ModelError(f"{_MOST_FAILURES} stimuli in a row failed with {self.name}; the last: {reason}")

    def _answer_batch(
        self, together: "list[_Ready]", session: "OpenReplies[_Ready]"
    ) -> Iterator[tuple["_Ready", Response]]:
        """Answer requests but for those that the session takes; with each response its stimulus."""
        for ready in together:
            if ready.reason is not None:
                yield from ((ready, _response(request, Failed(ready.reason), 0.0)) for request in ready.batch)
        sound = [ready for ready in together if ready.reason is None]
        weighed = [(ready, ready.scores) for ready in sound if ready.scores]
        for (place, number), score, seconds in self.engine.scores([scores for _, scores in weighed]):
            ready, _ = weighed[place]
            request = ready.exact[number]
            response = _response(ready.batch[request], score, seconds)
            if isinstance(score, OptionScore) and score.undecided > MOST_UNSEEN:
                ready.before[request] = response, undecided_reason(sum(score.probs), score.undecided)
            else:
                yield ready, response
        for ready in sound:
            if ready.before:
                ready.replies = self._to_reply(ready, [*ready.drawn, *ready.before])
        sessions = [(ready, session.add(ready, ready.replies)) for ready in sound if ready.replies]
        for (place, number), reply, seconds in self.engine.replies_in_packs([replies for _, replies in sessions]):
            ready, _ = sessions[place]
            yield ready, _drawn_response(ready, number, reply, seconds)

    def _answer_open(self, session: "OpenReplies[_Ready]", *, to_the_end: bool) -> Iterator[Response]:
        """Answer requests that the session has taken."""
        for ready, number, reply, seconds in session.replies(to_the_end=to_the_end):
            yield from self._settle(ready, _drawn_response(ready, number, reply, seconds))


@dataclass(slots=True)
class _Ready:
    """Requests about one stimulus, ready for the model, or why they cannot be asked.

    `exact` and `drawn` are the numbers of those whose options are weighed, and of those whose replies are drawn;
    `before` has what was weighed of those that are drawn because too much was not followed, and why. `left` are not
    answered yet; `errors` are kept until none is.
    """

    batch: list[Request]
    pictures: "list[Picture]" = field(default_factory=list)
    scores: PreparedPrompts[ScoreJob] | None = None
    exact: list[int] = field(init=False)
    replies: PreparedPrompts[Wish] | None = None
    drawn: list[int] = field(default_factory=list)
    reason: str | None = None
    before: dict[int, tuple[Response, str]] = field(default_factory=dict)
    errors: list[Response] = field(default_factory=list)
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.left = len(self.batch)
        self.exact = [number for number, request in enumerate(self.batch) if request.exact]


def _response(request: Request, result: OptionScore | DrawnReply | Failed, seconds: float) -> Response:
    trial, repeat, took = request.trial, request.repeat, 1000 * seconds
    if isinstance(result, Failed):
        return Response(trial, repeat, Status.ERROR, error=result.reason)
    if isinstance(result, OptionScore):
        return Response(trial, repeat, Status.OK, None, result.probs, result.prompt_tokens, 0, took)
    status = Status.OK if result.ended else Status.TRUNCATED
    return Response(trial, repeat, status, result.text, None, result.prompt_tokens, result.completion_tokens, took)


def _drawn_response(ready: _Ready, number: int, reply: DrawnReply | Failed, seconds: float) -> Response:
    """Return the response to one of the requests whose replies are drawn."""
    request = ready.drawn[number]
    response = _response(ready.batch[request], reply, seconds)
    if request in ready.before:
        before, reason = ready.before[request]
        response = replace_response(reason, before, response)
    return response


def _seed(request: Request) -> int:
    """Mix a request's seed with all that it shows and says.

    A study gives each of its trials the same few seeds; were they taken as they are, the same random numbers would
    decide every trial, and all trials would err to the same side.
    """
    stimuli = np.array([stimulus_hash(request.stimulus)], dtype=np.uint64)
    questions = np.array([question_hash(request.question)], dtype=np.uint64)
    conditions = conditions_hash(request.sampling, request.seed, request.exact, request.constrain)
    return int(combined_hash(stimuli, questions, np.array([conditions], dtype=np.uint64))[0])


def decode_pictures(stimulus: Stimulus) -> "list[Picture]":
    """Decode a stimulus: upright as its EXIF says, the first picture of several in a file, transparency on white."""
    return [picture(image, f"image {number}") for number, image in enumerate(stimulus.load(), 1)]


def _folder(path: str) -> Path:
    """Folder of a model's files: the one named, or its place in the hub's cache."""
    from transformers.utils import cached_file  # noqa: PLC0415

    folder = Path(path).expanduser()
    if folder.is_dir():
        return folder
    return Path(str(cached_file(path, "config.json", local_files_only=True))).parent


def fingerprint(folder: Path, kinds: Sequence[str] = ("*.json", "*.jinja", "*.safetensors")) -> str:
    """Return a hash by which a model is known: of its settings, its tokenizer and a sample of its weights.

    Weights are many gigabytes; of each file the size and the beginning (which names every tensor and its place) are
    hashed, and as many pieces spread evenly over it. `kinds`: patterns of the files that count.
    """
    state = blake2b(digest_size=16)
    for path in sorted({path for kind in kinds for path in folder.glob(kind)}):
        size = path.stat().st_size
        state.update(f"{path.relative_to(folder).as_posix()} {size} ".encode())
        with path.open("rb") as file:
            if path.suffix != ".safetensors" or size <= _PIECES * _PIECE:
                for block in iter(lambda: file.read(_PIECE), b""):
                    state.update(block)
                continue
            for piece in range(_PIECES):
                file.seek(piece * (size - _PIECE) // (_PIECES - 1))
                state.update(file.read(_PIECE))
    return state.hexdigest()
