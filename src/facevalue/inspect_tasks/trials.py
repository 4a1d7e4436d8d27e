"""Trials of a study as samples of a task, and the request behind each."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from inspect_ai.dataset import Sample
from inspect_ai.model import Content

from facevalue.design import Order
from facevalue.errors import SettingError
from facevalue.models._chat import image_urls
from facevalue.models.inspect.calls import messages
from facevalue.protocol.study import Study
from facevalue.records.base import StudyAsked, content_of
from facevalue.records.inspect_log import CONTENT
from facevalue.runs.imported_runs import study_asked
from facevalue.runs.requests import RequestBuilder, draw_seed, picture_share
from facevalue.store.schema import PICTURE_SHARE
from facevalue.store.writer import to_frame
from facevalue.thinking import remove_thinking
from facevalue.types import Question, Request, Response

MOST = 20_000
"""Most requests of a task: each costs Inspect tens of milliseconds and two kilobytes, and FaceValue a thousandth."""


class _Trial(NamedTuple):
    question: Question
    stimulus: int
    levels: Mapping[str, str | None]


class AskedTrials:
    """Trials of a task, in the order of asking.

    Pictures are made when a sample begins, and not kept.
    """

    def __init__(self, study_asked: StudyAsked, study: Study) -> None:
        self.asked, self.study = study_asked, study
        self.repeats = 1 if study_asked.exact else study.repeats
        if study.draws.reasks:
            raise SettingError(
                f"{study.name} with these settings asks again after a reply without an answer, which no epoch of "
                "Inspect's does: 'facevalue run' asks it."
            )
        chosen = (
            None if study_asked.sample is None else study.sample(study_asked.sample, study_asked.seed, self.repeats)
        )
        count = (study.design.size if chosen is None else chosen.size) * self.repeats
        if count > MOST:
            raise SettingError(
                f"{count:,} requests are more than the {MOST:,} that a task of Inspect's takes here: choose a part "
                f"(-T sample={MOST}), or ask by 'facevalue run', which takes any number."
            )
        self._builder = RequestBuilder(study, study_asked.exact)
        order = Order(study.design, study.asked_together, study_asked.seed, chosen)
        places = np.concatenate([np.empty(0, np.int64), *order.pieces(MOST)]).astype(np.int64)
        self._trials: dict[int, _Trial] = {}
        if places.size:
            numbers = places if chosen is None else chosen[places]
            chunk = self._builder.chunk(numbers, np.ones((numbers.size, 1), dtype=np.bool_))
            for first, stop, stimulus, levels in chunk.shown:
                for row in range(first, stop):
                    self._trials[int(numbers[row])] = _Trial(chunk.questions[row], stimulus, levels)

    def request(self, trial: int, repeat: int) -> Request:
        """The request of a sample.

        Raises
        ------
        SettingError
            The study draws fewer replies to a trial.
        """
        if not 0 <= repeat < self.repeats:
            raise SettingError(
                f"{self.study.name} asks each trial {self.repeats} times here, with seeds of its own: leave out "
                "--epochs, or choose other seeds (-T seeds=1,2,3)."
            )
        question, stimulus, levels = self._trials[trial]
        draws, seed = self.study.draws, self._builder.seeds[repeat]
        return Request(
            trial, repeat, draw_seed(seed, question.draw) if question.draw else seed,
            self.study.source.stimulus(stimulus, levels), question, question.sampling or draws.sampling,
            self.asked.exact, draws.constrain,
        )  # fmt: skip

    def samples(self) -> Iterator[Sample]:
        """One sample per trial: what is said, the trial number as its id, factors as its metadata; no picture yet."""
        for trial, entry in self._trials.items():
            request = self.request(trial, 0)
            factors = {**entry.levels, **entry.question.factors}
            facts = {name: level for name, level in factors.items() if level is not None}
            yield Sample(input=messages((), entry.question), id=trial, metadata={**facts, CONTENT: content_of(request)})

    def read_responses(self, responses: Sequence[Response]) -> pl.DataFrame:
        """Answers as the study understands them, one row each."""
        shares: list[float | None] | None = None
        if PICTURE_SHARE in self.study.reading.columns:
            stimuli = [self.request(response.trial, response.repeat).stimulus for response in responses]
            shares = [
                picture_share(row, stimulus.picture_share) for row, stimulus in zip(responses, stimuli, strict=True)
            ]
        frame = to_frame(responses, np.zeros(len(responses), dtype=np.uint64), None, shares)
        frame = frame.with_columns(remove_thinking(pl.col("text")))
        factors = self.study.design.trials(frame["trial"].to_numpy())
        return self.study.answer(pl.concat([factors, frame.select(self.study.reading.columns)], how="horizontal"))


def content_shown(request: Request) -> str | list[Content]:
    """The last message of a request: its pictures as data URLs, then its prompt; the prompt alone without pictures."""
    return messages(image_urls(request.stimulus.load()), request.question)[-1].content


def trials_of(document: Mapping[str, Any]) -> AskedTrials:
    """The trials of a task, from what its parts hold of it: a scorer may be called long after the task was asked."""
    return _trials(json.dumps(document, sort_keys=True))


@lru_cache(maxsize=8)
def _trials(document: str) -> AskedTrials:
    described = StudyAsked.from_document(json.loads(document), "The task")
    return AskedTrials(described, study_asked(described, "The task", outside=True))
