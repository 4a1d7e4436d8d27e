"""Stream of requests: lazy, a few thousand trials at a time for a study of any size."""

import threading
from collections import ChainMap
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from facevalue.design import Order
from facevalue.hashing import Hashes
from facevalue.protocol.study import Study
from facevalue.runs.completion import Completion
from facevalue.runs.requests import Chunk, Index, RequestBuilder, draw_seed, picture_share
from facevalue.store.schema import PICTURE_SHARE
from facevalue.types import Request, Response


class OpenRequests:
    """Requests on their way.

    A model may take requests in one thread while responses are stored in another; the table of open requests between
    the two is all they share.

    Attributes
    ----------
    failure:
        What ended the stream too early, such as a missing image; raised by the runner, whatever the model makes of it.
    stop:
        Set to end the stream.
    """

    def __init__(self, study: Study, asking: RequestBuilder) -> None:
        self._study = study
        self._asking = asking
        self._open: list[Chunk] = []
        self._lock = threading.Lock()
        self.failure: Exception | None = None
        self.stop = False

    def requests_of_chunks(self, chunks: Iterable[Chunk]) -> Iterator[Request]:
        """Requests of chunks."""
        try:
            for chunk in chunks:
                with self._lock:
                    self._open.append(chunk)
                for request in self._requests_of_chunk(chunk):
                    if self.stop:
                        return
                    yield request
        except Exception as error:
            self.failure = error

    def close_requests(self, trials: Index, repeats: Index) -> Hashes:
        """Hashes of open requests that were answered just now; they no longer are open."""
        hashes = np.zeros(trials.size, dtype=np.uint64)
        left = np.ones(trials.size, dtype=np.bool_)
        with self._lock:
            for chunk in self._open:
                row, asked_here = chunk.rows(trials)
                asked_here &= left
                asked_here[asked_here] = chunk.wanted[row[asked_here], repeats[asked_here]]
                if not asked_here.any():
                    continue
                at, again = row[asked_here], repeats[asked_here]
                hashes[asked_here] = self._asking.request_hashes(
                    chunk.stimulus_hashes[at], chunk.question_hashes[at], again
                )
                chunk.wanted[at, again] = False
                left &= ~asked_here
            self._open = [chunk for chunk in self._open if chunk.wanted.any()]
        return hashes

    def picture_shares(self, rows: Sequence[Response]) -> list[float | None] | None:
        """Shares of the height that pictures took above a text, of responses to open requests.

        None for a study that reads no places on pictures.
        """
        if PICTURE_SHARE not in self._study.reading.columns:
            return None
        with self._lock:
            of_chunks = [chunk.picture_shares for chunk in self._open if chunk.picture_shares]
        shares = ChainMap(*of_chunks)
        return [picture_share(row, shares.get(row.trial)) for row in rows]

    def _requests_of_chunk(self, chunk: Chunk) -> Iterator[Request]:
        sampling, exact, constrain = self._study.draws.sampling, self._asking.exact, self._study.draws.constrain
        seeds, questions, trials = self._asking.seeds, chunk.questions, chunk.trials.tolist()
        repeats = [np.flatnonzero(row).tolist() for row in chunk.wanted] if len(seeds) > 1 else [[0]] * len(trials)
        for first, stop, stimulus in self._asking.stimuli(chunk):
            for row in range(first, stop):
                trial, question = trials[row], questions[row]
                settings = question.sampling or sampling
                for repeat in repeats[row]:
                    seed = draw_seed(seeds[repeat], question.draw) if question.draw else seeds[repeat]
                    yield Request(trial, repeat, seed, stimulus, question, settings, exact, constrain)


class RequestStream(OpenRequests):
    """Requests of a run that are still to be made.

    Attributes
    ----------
    planned:
        Requests of this session so far known of; grows as re-asks turn out to be needed.
    only_failed:
        Set to ask of the first round what failed alone, once a run knows enough.
    """

    def __init__(self, study: Study, completion: Completion, asking: RequestBuilder, order: Order, chunk: int) -> None:
        super().__init__(study, asking)
        self._completion = completion
        self._order = order
        self._step = chunk
        self.planned = completion.requests - completion.count_stored()
        self.only_failed = False

    def requests(self, again: int) -> Iterator[Request]:
        """Requests of one round: 0 is the protocol's own, later ones ask again where there was no valid answer."""
        return self.requests_of_chunks(self._chunks(again))

    def _chunks(self, again: int) -> Iterator[Chunk]:
        completion = self._completion
        for positions in self._order.pieces(self._step):
            if self.stop:
                return
            missing = completion.open_requests(positions, again, only_failed=self.only_failed)
            rows = np.flatnonzero(missing.any(axis=1))
            if again:
                self.planned += int(missing.sum())
            if rows.size:
                yield self._asking.chunk(completion.numbers.take(positions[rows]), missing[rows])
