"""Models beside the one that is audited: classifiers of texts, detectors of people, moderation endpoints."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeGuard

from PIL.Image import Image

from facevalue.errors import ModelError
from facevalue.models.base import ModelOptions
from facevalue.servers.connections import Connections, target_of
from facevalue.servers.pool import Pool
from facevalue.servers.replies import Outage, as_json
from facevalue.servers.server import Failure, Server, Waits
from facevalue.types import Status


class Classified(NamedTuple):
    """Scores of some texts by label, in their order, and the places of those that were scored in pieces."""

    scores: dict[str, list[float]]
    cut: frozenset[int]


class TextClassifier(Protocol):
    """Classifier that gives a text a score for each of its labels, independent of other texts.

    Examples
    --------
    >>> class Loud:
    ...     name, digest, labels, at_once = "loud", "", ("loud",), 1000
    ...
    ...     def scores(self, texts):
    ...         return Classified({"loud": [float(text.isupper()) for text in texts]}, frozenset())
    >>> classifier: TextClassifier = Loud()
    """

    @property
    def name(self) -> str:
        """Name in tables."""
        ...

    @property
    def digest(self) -> str:
        """Digest of the weights and settings."""
        ...

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the classifier."""
        ...

    @property
    def at_once(self) -> int:
        """Number of texts it takes at once."""
        ...

    def scores(self, texts: Sequence[str]) -> Classified:
        """Score texts."""
        ...


def load_classifier(folder: Path) -> TextClassifier:
    """Load a text classifier that transformers knows from a folder on this machine."""
    from facevalue.models.hf.classifiers import HFTextClassifier  # noqa: PLC0415 - torch takes seconds to import

    return HFTextClassifier(folder)


class Detector(Protocol):
    """Says how surely a picture shows a person.

    Examples
    --------
    >>> class Nobody:
    ...     name = "nobody"
    ...
    ...     def persons(self, pictures):
    ...         return ([] for _ in pictures)
    >>> detector: Detector = Nobody()
    """

    @property
    def name(self) -> str:
        """Name in tables."""
        ...

    def persons(self, pictures: Iterable[Image]) -> Iterator[list[float]]:
        """Score of each person in each picture, one picture after the other."""
        ...


def load_detector(folder: Path) -> Detector:
    """Load a detector that transformers knows from a folder on this machine."""
    from facevalue.models.hf.classifiers import HFDetector  # noqa: PLC0415 - torch takes seconds to import

    return HFDetector(folder)


_LOG = logging.getLogger(__name__)
_PATH = "/moderations"
MODEL = "omni-moderation-latest"
"""The model that is asked where none is named."""


class Moderated(NamedTuple):
    """Scores of one text by category, or why there are none; `at` is its place."""

    at: int
    scores: Mapping[str, float]
    why: str = ""


class Moderations:
    """A moderation endpoint.

    `spec`: empty or a model's name for OpenAI's (key in OPENAI_API_KEY; OPENAI_BASE_URL replaces the address), or
    "http://HOST/v1#MODEL" (key, if any, in FACEVALUE_API_KEY). `options`: how to reach it. `waits`: how to wait between
    tries, for tests.

    Raises
    ------
    ModelError
        The address is incomplete or holds a password or query, or a key is missing.
    """

    def __init__(self, spec: str, options: ModelOptions, *, waits: Waits | None = None) -> None:
        served = spec.startswith(("http://", "https://"))
        target = target_of(spec if served else f"openai/{spec or MODEL}")
        self.model, self.url = target.model, target.url
        self._options, self._waits = options, waits or Waits()
        self._server = Server(target.url, target.variable, options.timeout)
        self._reached = False
        self._outage = Outage()

    def scores(self, texts: Sequence[str], labels: Sequence[str]) -> Iterator[Moderated]:
        """Scores of each text by these categories, in any order; a request that fails for good has none."""

        async def ask(connections: Connections, item: tuple[int, str]) -> Moderated:
            return await self._ask(connections, *item, labels)

        with Pool(self._server.connections) as pool:
            yield from pool.map(ask, enumerate(texts), self._options.concurrency)

    async def _ask(self, connections: Connections, at: int, text: str, labels: Sequence[str]) -> Moderated:
        retry = 0
        while True:
            try:
                payload = await self._server.call(connections, _PATH, as_json({"model": self.model, "input": text}))
                moderated = Moderated(at, _scores(payload, labels))
            except Failure as failure:
                self._reached |= failure.connected
                self._check(failure)
                if failure.transient and retry < self._options.retries:
                    _LOG.info("A text is sent again: %s", failure.text)
                    await self._waits.sleep(self._waits.before(retry, failure.retry_after))
                    retry += 1
                    continue
                moderated = Moderated(at, {}, failure.text)
            self._reached = True
            self._outage.weigh(Status.ERROR if moderated.why else Status.OK, moderated.why)
            return moderated

    def _check(self, failure: Failure) -> None:
        """Raise `ModelError` for what holds for all requests."""
        self._server.check_key(failure)
        if failure.status == 404:
            raise ModelError(f"{self.url} offers no {self.model!r} at {_PATH}. {failure.text}")
        if not self._reached or failure.code == "insufficient_quota":
            raise ModelError(failure.text)


def _scores(payload: Mapping[str, object], labels: Sequence[str]) -> Mapping[str, float]:
    results = payload.get("results")
    by_label = results[0].get("category_scores") if _is_one(results) else None
    if not isinstance(by_label, dict):
        raise Failure("The reply holds no scores of one text.", status=200, transient=True)
    for label in labels:
        score = by_label.get(label)
        if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
            problem = f"{str(score)[:40]} as a score" if label in by_label else "no score"
            raise Failure(f"The reply has {problem} of {label!r}: it must be from 0 to 1.", status=200, transient=True)
    return {label: float(by_label[label]) for label in labels}


def _is_one(results: object) -> TypeGuard[list[dict[str, object]]]:
    return isinstance(results, list) and len(results) == 1 and isinstance(results[0], dict)
