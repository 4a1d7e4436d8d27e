"""The stream of requests of a run: lazy, a few thousand trials at a time, whatever the size of the study."""

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from facevalue.hashing import Hashes
from facevalue.run.asking import Asking, Chunk, draw_seed
from facevalue.run.ledger import Ledger
from facevalue.run.numbers import Index
from facevalue.run.reasks import without_answer
from facevalue.studies.base import Study
from facevalue.types import Request

_REREAD = 32_768  # trials whose stored replies are looked at together; each look opens the shards anew


class Feed:
    """Requests that are still to be made, and what is known of those on their way.

    A model may take requests in one thread while responses are stored in another; the table of open requests between
    the two is all they share.

    Attributes
    ----------
    planned:
        Requests of this session so far known of; grows as re-asks turn out to be needed.
    failure:
        What ended the stream too early, such as a missing image; raised by the runner, whatever the model makes of it.
    stop:
        Set to end the stream.
    """

    def __init__(self, study: Study, folder: Path, ledger: Ledger, asking: Asking, chunk: int) -> None:
        self._study = study
        self._folder = folder
        self._ledger = ledger
        self._asking = asking
        self._step = chunk
        self._open: list[Chunk] = []
        self._lock = threading.Lock()
        self.planned = ledger.requests - ledger.stored()
        self.failure: Exception | None = None
        self.stop = False

    def requests(self, again: int) -> Iterator[Request]:
        """Requests of one round: 0 is the protocol's own, later ones ask again where there was no valid answer."""
        try:
            for chunk in self._chunks(again):
                with self._lock:
                    self._open.append(chunk)
                for request in self._of(chunk):
                    if self.stop:
                        return
                    yield request
        except Exception as error:
            self.failure = error

    def asked(self, trials: Index, repeats: Index) -> tuple[Hashes, npt.NDArray[np.bool_]]:
        """Hashes of requests that were answered just now, and whether each was open; they no longer are."""
        hashes = np.zeros(trials.size, dtype=np.uint64)
        known = np.zeros(trials.size, dtype=np.bool_)
        with self._lock:
            for chunk in self._open:
                row = np.minimum(np.searchsorted(chunk.trials, trials), chunk.trials.size - 1)
                inside = (repeats >= 0) & (repeats < chunk.wanted.shape[1])
                mine = (chunk.trials[row] == trials) & inside & ~known
                mine[mine] = chunk.wanted[row[mine], repeats[mine]]
                if not mine.any():
                    continue
                at, again = row[mine], repeats[mine]
                hashes[mine] = self._asking.request_hashes(chunk.stimulus_hashes[at], chunk.question_hashes[at], again)
                chunk.wanted[at, again] = False
                known |= mine
            self._open = [chunk for chunk in self._open if chunk.wanted.any()]
        return hashes, known

    def _of(self, chunk: Chunk) -> Iterator[Request]:
        sampling, exact, constrain = self._study.sampling, self._asking.exact, self._study.constrain
        seeds, questions, trials = self._asking.seeds, chunk.questions, chunk.trials.tolist()
        wanted = [np.flatnonzero(row).tolist() for row in chunk.wanted] if len(seeds) > 1 else [[0]] * len(trials)
        for first, stop, stimulus in self._asking.stimuli(chunk):
            for row in range(first, stop):
                trial, question = trials[row], questions[row]
                how = question.sampling or sampling
                for repeat in wanted[row]:
                    seed = draw_seed(seeds[repeat], question.draw) if question.draw else seeds[repeat]
                    yield Request(trial, repeat, seed, stimulus, question, how, exact, constrain)

    def _chunks(self, again: int) -> Iterator[Chunk]:
        ledger, numbers = self._ledger, self._ledger.numbers
        step = self._step if again == 0 else max(self._step, _REREAD)
        for start in range(0, numbers.size, step):
            if self.stop:
                return
            trials = numbers.at(start, start + step)
            if again == 0:
                wanted = np.zeros((trials.size, ledger.width), dtype=np.bool_)
                wanted[:, : ledger.repeats] = ledger.open(start, start + step)
            else:
                wanted = self._unanswered(trials, start, again)
            rows = np.flatnonzero(wanted.any(axis=1))
            if rows.size:
                yield self._asking.chunk(trials[rows], wanted[rows])

    def _unanswered(self, trials: Index, start: int, again: int) -> npt.NDArray[np.bool_]:
        """Which trials of a range are to be asked again, as the stored replies of the round before say."""
        ledger, numbers = self._ledger, self._ledger.numbers
        wanted = np.zeros((trials.size, ledger.width), dtype=np.bool_)
        before = range((again - 1) * ledger.repeats, again * ledger.repeats)
        found, repeats = without_answer(self._study, self._folder, trials, before)
        positions, _ = numbers.positions(found)
        repeats = repeats + ledger.repeats
        still = ledger.open_at(positions, repeats)
        wanted[positions[still] - start, repeats[still]] = True
        self.planned += int(still.sum())
        return wanted
