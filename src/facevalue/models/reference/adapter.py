"""`reference`: the model that comes with FaceValue, run in NumPy alone."""

import io
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import groupby, islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import PIL.Image
import PIL.ImageOps

from facevalue.errors import DataError, ModelError
from facevalue.hashing import combined_hash, conditions_hash, question_hash, stimulus_hash
from facevalue.models.base import Capabilities
from facevalue.models.hf.options import OptionReader
from facevalue.models.hf.vocabulary import Vocabulary
from facevalue.models.reference.network import Network, Prefix, read_weights
from facevalue.models.reference.replies import Following, Reply, Weighed, Written, ways, weigh, write
from facevalue.models.reference.tokens import Tokens
from facevalue.stimuli.images import FORMATS, MAX_BYTES, read_header
from facevalue.types import Image, Option, Request, Response, Status

FOLDER = Path(__file__).parent / "weights"
REFUSAL = "I'm sorry, but I can't help with that."
"""What it says to everything that it was not trained on."""
LONGEST_PROMPT = 384
"""Most tokens of a prompt; all longer ones are refused unread, as the model was trained on short ones alone."""
_NEIGHBOURS = 1024
_FILES = ("model.safetensors", "tokenizer.json", "config.json")


class ReferenceModel:
    """The reference model.

    Parameters
    ----------
    name:
        What the user typed: "reference".
    folder:
        Where its weights, configuration and tokenizer are.

    Raises
    ------
    ModelError
        A file is missing or damaged.
    """

    def __init__(self, name: str = "reference", folder: Path = FOLDER) -> None:
        missing = [file for file in _FILES if not (folder / file).is_file()]
        if missing:
            raise ModelError(f"The reference model lacks {', '.join(missing)}: install FaceValue again.")
        self.name = name
        self._folder = folder
        self._network = Network(read_weights(folder / _FILES[0]), json.loads((folder / _FILES[2]).read_text()))
        self._tokens = Tokens(folder / _FILES[1])
        self._end = self._tokens.id("<end>")
        size = len(self._network.embeddings)
        pieces = [self._tokens.piece(token) for token in range(size)]
        self._vocabulary = Vocabulary(pieces, [self._end])
        self._reader = lru_cache(maxsize=4096)(lambda options: OptionReader(options, self._vocabulary))
        self._prompt = lru_cache(maxsize=65_536)(self._asked)
        self.capabilities = Capabilities(
            probabilities="full", images_per_request=1, system_prompt=True, seeds=True, structured=True
        )

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """A hash by which weights, tokenizer and configuration are known."""
        state = blake2b(digest_size=16)
        for file in _FILES:
            state.update((self._folder / file).read_bytes())
        return {"weights": state.hexdigest(), "runtime": "numpy"}

    def close(self) -> None:
        """Nothing to release."""

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Answer one stimulus after the other."""
        for _, run in groupby(requests, key=lambda request: (request.stimulus.key, request.stimulus.digest)):
            while batch := list(islice(run, _NEIGHBOURS)):
                try:
                    yield from self._answer(batch)
                except (DataError, OSError) as error:
                    reason = f"Stimulus {batch[0].stimulus.key!r} cannot be shown: {error}"
                    yield from (Response(r.trial, r.repeat, Status.ERROR, error=reason) for r in batch)

    def _answer(self, batch: Sequence[Request]) -> list[Response]:
        """Answer requests about one stimulus."""
        started = time.perf_counter()
        pictures = [self._network.look(self._pixels(image)) for image in batch[0].stimulus.load()]
        if not pictures:
            return [_refused(request) for request in batch]
        out: list[Response] = []
        groups: dict[tuple[str | None, tuple[tuple[str, str], ...]], list[Request]] = {}
        for request in batch:
            groups.setdefault((request.question.system, request.question.turns), []).append(request)
        for (system, turns), group in groups.items():
            prefix = self._begun(system, turns, pictures)
            out += self._replies(prefix, group)
        took = 1000 * (time.perf_counter() - started) / len(out)
        return [response._replace(latency_ms=took) for response in out]

    def _begun(
        self, system: str | None, turns: Sequence[tuple[str, str]], pictures: Sequence[npt.NDArray[np.float32]]
    ) -> Prefix:
        """Run everything before the prompt."""
        said = [("system", system)] if system else []
        ids: list[int] = []
        for role, text in (*said, *turns):
            ids += [self._tokens.id(f"<{role}>"), *self._tokens.plain(text or ""), self._end]
        ids.append(self._tokens.id("<user>"))
        return self._network.run(np.concatenate([self._network.embeddings[ids], *pictures]))

    def _replies(self, prefix: Prefix, group: Sequence[Request]) -> list[Response]:
        following = Following(self._network, prefix)
        short = [r for r in group if len(self._prompt(r.question.prompt)) <= LONGEST_PROMPT]
        out = [_refused(r) for r in group if len(self._prompt(r.question.prompt)) > LONGEST_PROMPT]
        asked = [(r, Weighed(self._prompt(r.question.prompt), self._reader(r.question.options), r.sampling))
                 for r in short if r.exact]  # fmt: skip
        for guess, part in self._guessed(asked):
            weigh(following, part, self._vocabulary, guess)
        for request, weighed in asked:
            probs = weighed.probs / max(1.0, float(weighed.probs.sum()))
            tokens = prefix.length + len(weighed.prompt)
            out.append(Response(request.trial, request.repeat, Status.OK, None, tuple(probs.tolist()), tokens, 0))
        drawn = [(r, self._written(r)) for r in short if not r.exact]
        write(following, [one for _, one in drawn], self._end)
        for request, one in drawn:
            text = b"".join(self._vocabulary.pieces[token] or b"" for token in one.reply).decode(errors="replace")
            status = Status.OK if one.ended else Status.TRUNCATED
            tokens = prefix.length + len(one.prompt)
            out.append(Response(request.trial, request.repeat, status, text, None, tokens, len(one.reply)))
        return out

    def _guessed(self, asked: Sequence[tuple[Request, Weighed]]) -> Iterator[tuple[list[Reply], list[Weighed]]]:
        """Group questions by their options' labels, with the beginnings of replies that those surely need."""
        groups: dict[tuple[str, ...], list[tuple[Request, Weighed]]] = {}
        for request, weighed in asked:
            labels = tuple(sorted(option.label for option in request.question.options))
            groups.setdefault(labels, []).append((request, weighed))
        for labels, members in groups.items():
            options = members[0][0].question.options if all(labels) else ()
            replies = {way[:1] for way in self._ways(options) if len(way) > 1}
            yield sorted(replies), [weighed for _, weighed in members]

    def _ways(self, options: Sequence[Option]) -> list[Reply]:
        return ways(options, self._tokens.plain)

    def _written(self, request: Request) -> Written:
        question = request.question
        held = self._ways(question.options) if request.constrain and question.options else None
        uniforms = np.random.Generator(np.random.Philox(key=_seed(request))).random(request.sampling.max_tokens)
        return Written(self._prompt(question.prompt), request.sampling, uniforms, held)

    def _asked(self, prompt: str) -> tuple[int, ...]:
        return (*self._tokens.plain(prompt), self._end, self._tokens.id("<assistant>"))

    def _pixels(self, image: Image) -> npt.NDArray[np.uint8]:
        """Decode a picture and reduce it to what the model sees, as its processor does."""
        picture = _decoded(image)
        side = self._network.side
        return np.asarray(picture.resize((side, side), PIL.Image.Resampling.BICUBIC))


def _decoded(image: Image) -> PIL.Image.Image:
    if len(image.data) > MAX_BYTES:
        raise DataError(f"{len(image.data) / 1e6:.0f} MB; an image has at most {MAX_BYTES / 1e6:.0f}.")
    read_header(image.data, "the image")
    try:
        with PIL.Image.open(io.BytesIO(image.data), formats=FORMATS) as opened:
            upright = PIL.ImageOps.exif_transpose(opened)
            if not upright.has_transparency_data:
                return upright.convert("RGB")
            paper = PIL.Image.new("RGBA", upright.size, "white")
            return PIL.Image.alpha_composite(paper, upright.convert("RGBA")).convert("RGB")
    except Exception as error:  # Pillow raises many kinds for damaged files
        raise DataError(f"the image is damaged ({type(error).__name__}).") from error


def _refused(request: Request) -> Response:
    """Refuse: what the model does with everything that it was not trained on."""
    if request.exact:
        probs = tuple(0.0 for _ in request.question.options)
        return Response(request.trial, request.repeat, Status.OK, None, probs)
    return Response(request.trial, request.repeat, Status.OK, REFUSAL)


def _seed(request: Request) -> int:
    """Mix a request's seed with all that it shows and says, so that equal seeds don't decide all trials alike."""
    stimuli = np.array([stimulus_hash(request.stimulus)], dtype=np.uint64)
    questions = np.array([question_hash(request.question)], dtype=np.uint64)
    conditions = conditions_hash(request.sampling, request.seed, request.exact, request.constrain)
    return int(combined_hash(stimuli, questions, np.array([conditions], dtype=np.uint64))[0])
