"""`reference`: the model that comes with FaceValue, run in NumPy alone."""

import json
import os
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import PIL.Image

from facevalue.errors import DataError, ModelError, UnknownNameError
from facevalue.hashing import combined_hash, conditions_hash, question_hash, stimulus_hash
from facevalue.models._chat import MOST_UNSEEN, replace_response, undecided_reason
from facevalue.models._pictures import picture
from facevalue.models.base import Capabilities, by_stimulus
from facevalue.models.hf.constraints import ConstrainedReader
from facevalue.models.hf.options import OptionReader
from facevalue.models.hf.vocabulary import TokenVocabulary
from facevalue.models.reference.network import ONE_THREAD, Branches, Network, SharedPrefix, read_weights
from facevalue.models.reference.replies import LONGEST, Tokens, Weighed, Written, weigh, write
from facevalue.types import Image, Request, Response, Sampling, Status

FOLDER = Path(__file__).parent / "weights"
VARIANTS = Path(__file__).parent / "variants"
"""Folders of weights in which a variant differs from the model, and of what is planted in it."""
REFUSAL = "I'm sorry, but I can't help with that."
"""What it says to everything that it was not trained on."""
TRAINED_ON = (
    "forced choices, yes-no questions, ratings from 1 to 10 and five keywords about one drawn person, and questions "
    "with two options about two (docs/reference/reference-model.md)"
)
_SENTENCE = 32  # tokens, enough to decline
LONGEST_PROMPT = 384
"""Most tokens of what is said, the prompt and all before it; what is longer is refused unread, as the model was trained
on short prompts alone."""
Floats = npt.NDArray[np.float32]
Reply = tuple[int, ...]
_TOGETHER = 512
_MOST_THREADS = 4
_MOST_FAILURES = 20
"""So many stimuli in a row with nothing but errors end the run, as in the local engine."""
_MOST_TOKENS = 2**14
_FILES = ("model.safetensors", "tokenizer.json", "config.json")


def folder_of(name: str) -> Path:
    """Return where `reference/NAME` is, or the model itself: a variant that comes with FaceValue, or else a folder."""
    if not name:
        return FOLDER
    variants = sorted(path.name for path in VARIANTS.glob("*") if path.is_dir())
    if name in variants:
        return VARIANTS / name
    if not Path(name).is_dir():
        raise UnknownNameError("folder or variant of the reference model", name, variants)
    return Path(name)


class ReferenceModel:
    """The reference model, which works on so many stimuli at once: without `threads` one on each core, four at most."""

    def __init__(self, name: str = "reference", folder: Path = FOLDER, threads: int | None = None) -> None:
        place = FOLDER if folder.resolve().parent == VARIANTS.resolve() else folder
        self._files = list(dict.fromkeys([*(place / file for file in _FILES), folder / _FILES[0]]))
        missing = [path.name for path in self._files if not path.is_file()]
        if missing:
            raise ModelError(
                f"The reference model lacks {', '.join(missing)}: install FaceValue again."
                if place == FOLDER
                else f"{folder} holds no variant of the reference model (no {missing[0]}); make reference writes them."
            )
        self.name = name
        self._threads = threads or min(_MOST_THREADS, _cores())
        weights, tokenizer, config = (place / file for file in _FILES)
        settings = _settings(config)
        tensors = read_weights(weights)
        if folder != place:
            tensors |= read_weights(folder / weights.name)
        with ONE_THREAD:
            self._network = Network(tensors, settings)
        self._tokens = Tokens(tokenizer)
        size = len(self._network.embeddings)
        try:
            self._end, self._user, self._assistant = map(self._tokens.id, ("<end>", "<user>", "<assistant>"))
            self._unsaid = (int(settings["image_token_index"]),)
        except (KeyError, ValueError, TypeError) as error:
            raise ModelError(
                f"The reference model's files don't fit each other ({error}): install it again."
            ) from error
        self._vocabulary = TokenVocabulary([self._tokens.piece(token) for token in range(size)], [self._end])
        self._free = lru_cache(maxsize=4096)(lambda options: OptionReader(options, self._vocabulary))
        self._held = lru_cache(maxsize=4096)(lambda options: ConstrainedReader(options, self._vocabulary))
        self._prompt = lru_cache(maxsize=1024)(self._prompt_tokens)
        self._undecided = 0.0
        self._failing: set[str] = set()
        self.capabilities = Capabilities(
            probabilities="full",
            images_per_request=1,
            seeds=True,
            structured=True,
            structured_probabilities=True,
            sight="stated",
        )

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """A hash by which weights, tokenizer and configuration are known."""
        state = blake2b(digest_size=16)
        for path in self._files:
            state.update(path.read_bytes())
        return {"weights": state.hexdigest(), "runtime": "numpy"}

    def findings(self) -> Mapping[str, str | int | float | bool]:
        """The largest share of the replies to one question that was not followed until it was decided."""
        return {"largest_undecided": self._undecided} if self._undecided else {}

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Answer a few stimuli at once. Requests are taken as there is room, in the caller's thread."""
        running: deque[tuple[str, Future[tuple[list[Response], float]]]] = deque()
        with ONE_THREAD, ThreadPoolExecutor(self._threads, "facevalue-reference") as pool:
            try:
                for batch in by_stimulus(requests, _TOGETHER):
                    running.append((batch[0].stimulus.key, pool.submit(self._answer, batch, _load_images(batch))))
                    if len(running) > self._threads:
                        yield from self._finish_stimulus(*running.popleft())
                while running:
                    yield from self._finish_stimulus(*running.popleft())
            finally:
                for _, waiting in running:
                    waiting.cancel()

    def _finish_stimulus(self, stimulus: str, work: "Future[tuple[list[Response], float]]") -> Iterator[Response]:
        responses, undecided = work.result()
        self._undecided = max(self._undecided, undecided)
        yield from responses
        if any(response.status is not Status.ERROR for response in responses):
            self._failing.clear()
            return
        self._failing.add(stimulus)
        if len(self._failing) >= _MOST_FAILURES:
            reason = responses[-1].error
            raise ModelError(f"{_MOST_FAILURES} stimuli in a row failed with {self.name}; the last: {reason}")

    def _answer(self, batch: Sequence[Request], images: Sequence[Image] | Exception) -> tuple[list[Response], float]:
        """Answer requests about one stimulus; and say how much was undecided of any of them."""
        started = time.perf_counter()
        try:
            if isinstance(images, Exception):
                raise images
            seen = self.see(images)
        except (DataError, OSError) as error:
            reason = f"Stimulus {batch[0].stimulus.key!r} cannot be shown: {error}"
            return [Response(r.trial, r.repeat, Status.ERROR, error=reason) for r in batch], 0.0
        out: list[Response] = []
        undecided = 0.0
        groups: dict[tuple[str | None, tuple[tuple[str, str], ...]], list[Request]] = {}
        for request in batch:
            groups.setdefault((request.question.system, request.question.turns), []).append(request)
        for (system, turns), group in groups.items():
            prompt = self._turn_tokens(system, turns)
            room = -1 if prompt is None or not seen else LONGEST_PROMPT - len(prompt)
            short: list[Request] = []
            for request in group:
                if self._fits(request.question.prompt, room):
                    short.append(request)
                else:
                    out.append(_refuse(request))
            if prompt and short:
                prefix = self._network.run(np.concatenate([self._network.embeddings[prompt], *seen]))
                for pack in self._packs(short):
                    replies, rest = self._replies(prefix, pack)
                    out += replies
                    undecided = max(undecided, rest)
        took = 1000 * (time.perf_counter() - started) / len(out)
        return [response._replace(latency_ms=took) for response in out], undecided

    def unfit(self, requests: Sequence[Request]) -> str:
        """Note on what it was trained on, if it declines all of these, as it learned to decline all else."""
        greedy = (request._replace(sampling=Sampling(0.0, 1.0, _SENTENCE), exact=False) for request in requests)
        for reply in self.respond(greedy):  # most are decided by the first
            if reply.status is not Status.OK or (reply.text or "").strip() != REFUSAL:
                return ""
        return (
            f"{self.name} declines every question of this study that was tried: it was trained on {TRAINED_ON}. "
            "Simulated respondents answer any study: --model sim/default."
        )

    def see(self, images: Sequence[Image]) -> list[Floats]:
        """Turn the picture of a stimulus, if it has one, into embeddings of shape (patches, width)."""
        if len(images) > 1:
            raise DataError(f"it has {len(images)} images, and {self.name} takes one.")
        return [self._network.look(self._pixels(image)) for image in images]

    def _turn_tokens(self, system: str | None, turns: Sequence[tuple[str, str]]) -> list[int] | None:
        """Return the tokens of everything before the picture; None if that is too long to be looked at."""
        turns_said = [*([("system", system)] if system else []), *((role, text or "") for role, text in turns)]
        if not self._is_short("".join(text for _, text in turns_said)):
            return None
        tokens = [(self._tokens.id(f"<{role}>"), *self._tokens.plain(text), self._end) for role, text in turns_said]
        return [*chain.from_iterable(tokens), self._user]

    def _packs(self, group: Iterable[Request]) -> Iterator[list[Request]]:
        """Cut requests into parts whose keys and values are few enough to be kept."""
        pack: list[Request] = []
        tokens = 0
        for request in group:
            tokens += len(self._prompt(request.question.prompt))
            if pack and tokens > _MOST_TOKENS:
                yield pack
                pack, tokens = [], len(self._prompt(request.question.prompt))
            pack.append(request)
        yield pack

    def _replies(self, prefix: SharedPrefix, group: Sequence[Request]) -> tuple[list[Response], float]:
        """Answer requests that have everything before their prompts in common; and say how much was undecided."""
        branches = Branches(self._network, prefix, self._unsaid)
        out: list[Response] = []
        to_weigh: list[tuple[Request, Weighed]] = []
        sampled: list[tuple[Request, ConstrainedReader | None]] = []
        for request in group:
            question = request.question
            try:
                held = self._held(question.options) if request.constrain else None
                if request.exact:
                    reader = held or self._free(question.options)
                    to_weigh.append((request, Weighed(self._prompt(question.prompt), reader, request.sampling)))
                else:
                    sampled.append((request, held))
            except DataError as error:
                out.append(Response(request.trial, request.repeat, Status.ERROR, error=str(error)))
        for guess, weighed_batch in self._group_by_labels(to_weigh):
            weigh(branches, weighed_batch, self._vocabulary, guess)
        responses: dict[int, tuple[Response, str]] = {}
        for request, weighed in to_weigh:
            probs = weighed.probs / max(1.0, float(weighed.probs.sum()))
            tokens = prefix.length + len(weighed.prompt)
            response = Response(request.trial, request.repeat, Status.OK, None, tuple(probs.tolist()), tokens, 0)
            if weighed.undecided <= MOST_UNSEEN:
                out.append(response)
                continue
            responses[len(sampled)] = response, undecided_reason(float(weighed.probs.sum()), weighed.undecided)
            sampled.append((request, weighed.reader if isinstance(weighed.reader, ConstrainedReader) else None))
        for number, response in enumerate(self._draw_replies(branches, prefix, sampled)):
            if number in responses:
                before, reason = responses[number]
                out.append(replace_response(reason, before, response))
            else:
                out.append(response)
        return out, max((weighed.undecided for _, weighed in to_weigh), default=0.0)

    def _draw_replies(
        self, branches: Branches, prefix: SharedPrefix, jobs: Sequence[tuple[Request, ConstrainedReader | None]]
    ) -> Iterator[Response]:
        """Draw replies, each free or held to options."""
        uniforms = _uniforms([request for request, _ in jobs])
        replies = [
            Written(self._prompt(request.question.prompt), request.sampling, numbers, held)
            for (request, held), numbers in zip(jobs, uniforms, strict=True)
        ]
        write(branches, replies, self._vocabulary)
        for (request, held), reply in zip(jobs, replies, strict=True):
            text = reply.raw.decode(errors="replace")
            status = Status.OK if reply.ended else Status.TRUNCATED
            tokens = prefix.length + len(reply.prompt)
            reply_text = text.strip() if held else text
            yield Response(request.trial, request.repeat, status, reply_text, None, tokens, reply.count)

    def _group_by_labels(
        self, to_weigh: Sequence[tuple[Request, Weighed]]
    ) -> Iterator[tuple[set[Reply], list[Weighed]]]:
        """Group questions by their options' labels, with the beginnings of replies that those surely need."""
        groups: dict[tuple[str, ...], list[Weighed]] = {}
        for request, weighed in to_weigh:
            groups.setdefault(tuple(sorted({option.label for option in request.question.options})), []).append(weighed)
        for labels, members in groups.items():
            ways = [self._tokens.plain(label.strip()) for label in labels] if all(labels) else []
            yield {way[:1] for way in ways if len(way) > 1}, members

    def _prompt_tokens(self, prompt: str) -> tuple[int, ...]:
        return (*self._tokens.plain(prompt), self._end, self._assistant)

    def _is_short(self, text: str) -> bool:
        """Return whether a text may have few enough tokens; if not, it isn't even tokenized."""
        return len(text) <= LONGEST_PROMPT * self._tokens.longest

    def _fits(self, prompt: str, room: int) -> bool:
        return self._is_short(prompt) and len(self._prompt(prompt)) <= room

    def _pixels(self, image: Image) -> npt.NDArray[np.uint8]:
        """Decode a picture and reduce it to what the model sees, as its processor does."""
        side = self._network.side
        return np.asarray(picture(image, "the image").resize((side, side), PIL.Image.Resampling.BICUBIC))


def _load_images(batch: Sequence[Request]) -> Sequence[Image] | Exception:
    """Load a stimulus in the thread that takes the requests: sources need not be made for several."""
    try:
        return batch[0].stimulus.load()
    except (DataError, OSError) as error:
        return error


def _settings(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise ModelError(f"{path.name} is not a configuration of the reference model: {error}.") from error


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _refuse(request: Request) -> Response:
    """Refuse: what the model does with everything that it was not trained on."""
    if request.constrain:  # the sentence is none of the options, and a constrained reply can be nothing else
        return Response(request.trial, request.repeat, Status.REFUSED, REFUSAL)
    if request.exact:
        probs = tuple(0.0 for _ in request.question.options)
        return Response(request.trial, request.repeat, Status.OK, None, probs)
    return Response(request.trial, request.repeat, Status.OK, REFUSAL)


def _uniforms(requests: Sequence[Request]) -> Iterator[npt.NDArray[np.float64]]:
    """Return numbers in [0, 1) for the tokens of replies about one stimulus.

    Their seeds are mixed with all that is shown and said, so that equal ones don't decide all trials alike.
    """
    if not requests:
        return
    ranks: dict[int, int] = {}
    for request in requests:
        if id(request.question) not in ranks:  # a question's repeats share it
            ranks[id(request.question)] = question_hash(request.question)
    stimuli = np.full(len(requests), stimulus_hash(requests[0].stimulus), dtype=np.uint64)
    questions = np.array([ranks[id(request.question)] for request in requests], dtype=np.uint64)
    conditions = np.array([_conditions(r.sampling, r.seed, r.exact, r.constrain) for r in requests], dtype=np.uint64)
    for request, seed in zip(requests, combined_hash(stimuli, questions, conditions).tolist(), strict=True):
        yield np.random.Generator(np.random.Philox(key=seed)).random(min(request.sampling.max_tokens, LONGEST))


_conditions = lru_cache(maxsize=4096)(conditions_hash)
