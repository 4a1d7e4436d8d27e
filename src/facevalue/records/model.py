"""Model of a record: answers that somebody else asked for, given to the runner one by one."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from facevalue.errors import DataError, ModelError
from facevalue.models._chat import ServerReply, exact, refused_by_words, response_of
from facevalue.models.base import Capabilities
from facevalue.models.inspect.providers import AskedModel, is_asked_for
from facevalue.records.base import Fact, Key, Record, RecordedReply, asker_of, content_of
from facevalue.servers.replies import holds_words
from facevalue.types import Request, Response, Status

_MOST_NAMES = 20
MISMATCHED = "mismatched"
"""What `findings` calls the number of answers by another model or to other seeds that were taken all the same."""
_WRONG = "the recorded answer is about something else"


class RecordModel:
    """Answers from one or several records of one model.

    A request without an answer of its own fails (`Status.ERROR`): it is a missing answer until a fuller record fills
    it. Of several answers to a request the first counts that is one.

    `records`: what to answer from. `facts`: settings that change what the model says. `refusal_words`: the user's own
    words for a refusal. `asked_of`: the run's, a `model_hash`. `mismatched`: whether answers by another model or to
    other seeds are taken.

    Raises
    ------
    DataError
        The records hold no answer, or are by several models.
    """

    def __init__(
        self,
        records: Sequence[Record],
        facts: Mapping[str, Fact],
        refusal_words: Sequence[str] = (),
        *,
        asked_of: int = 0,
        mismatched: bool = False,
    ) -> None:
        first = records[0]
        if unlike := next((record for record in records if record.model != first.model), None):
            raise DataError(
                f"{first.path.name} holds answers by {first.model}, {unlike.path.name} by {unlike.model}: import each "
                "into a run folder of its own."
            )
        self.name = first.model
        self.capabilities = Capabilities(
            probabilities="top-k", images_per_request=sys.maxsize, seeds=True, structured=False, sight="recorded"
        )
        self._records, self._facts, self._words = records, dict(facts), tuple(refusal_words)
        self._places: dict[Key, list[int]] = {}
        for number, record in enumerate(records):
            for key in record.places:
                self._places.setdefault(key, []).append(number)
        if not self._places:
            raise DataError(f"{first.path.name} holds no answer.")
        self._served: dict[str, None] = {}
        self._used: set[Key] = set()
        self._contradicted = self._others = 0
        self._asked_of, self._mismatched = asked_of, mismatched
        self._asked = AskedModel(self.name, deployed=True)

    def settings(self) -> Mapping[str, Fact]:
        """Settings of the records: who wrote them, and what changes the answers."""
        return dict(self._facts)

    def findings(self) -> Mapping[str, Fact]:
        """Findings that the records state, and the models that the replies name."""
        facts: dict[str, Fact] = {}
        for record in self._records:
            for name, fact in record.findings.items():
                before = facts.get(name)
                facts[name] = fact if before in (None, fact) else f"{before}; {fact}"
        facts |= {"served_by": "; ".join(self._served)} if self._served else {}
        return facts | ({MISMATCHED: self._others} if self._others else {})

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def warnings(self, *, resumed: bool = False) -> list[str]:
        """Warnings about records that were not taken or are odd; `resumed`: whether answers were stored before."""
        out = []
        if (left := len(self._places) - len(self._used)) and not resumed:
            out.append(f"{left:,} recorded answers are to nothing that the study asks here: left out.")
        if self._others:
            out.append(
                f"{self._others:,} answers are by another model than this run's, or to other seeds: taken all the same."
            )
        if self._contradicted:
            out.append(
                f"{self._contradicted:,} requests have another answer in a later file: that of the first file counts."
            )
        return out

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Look up each request.

        Raises
        ------
        ModelError
            Every answer is about something else: the records are of another study, or of other pictures.
        """
        wrong = good = 0
        for request in requests:
            response = self._response(request)
            wrong, good = wrong + (response.error == _WRONG), good + (response.status is not Status.ERROR)
            if wrong >= _MOST_NAMES and not good:
                raise ModelError(
                    f"{self._records[0].path.name}: the first {wrong} answers are to other prompts or pictures than "
                    "the study now shows. Restore these, or import with the version of FaceValue that asked."
                )
            yield response

    def _response(self, request: Request) -> Response:
        key: Key = (request.trial, request.repeat)
        reason = "no answer is recorded"
        chosen: RecordedReply | None = None
        for number in self._places.get(key, ()):
            self._used.add(key)
            recorded = self._find_recorded(number, request)
            if isinstance(recorded, str) and holds_words(recorded, self._words):
                recorded = RecordedReply(ServerReply(Status.REFUSED, None, None, None, None, recorded))
            if isinstance(recorded, str):
                reason = recorded
            elif chosen is None:
                chosen = recorded
            elif (recorded.reply.status, recorded.reply.text) != (chosen.reply.status, chosen.reply.text):
                self._contradicted += 1
                break
        if chosen is None:
            return Response(request.trial, request.repeat, Status.ERROR, error=reason)
        if chosen.reply.served_by and len(self._served) < _MOST_NAMES:
            self._served.setdefault(chosen.reply.served_by)
        return response_to(request, replace(chosen, reply=refused_by_words(chosen.reply, self._words)))

    def _find_recorded(self, number: int, request: Request) -> RecordedReply | str:
        """The answer in one of the records; or why it has none."""
        record = self._records[number]
        try:
            recorded = record.reply(record.places[request.trial, request.repeat])
        except DataError as error:
            return str(error)
        if isinstance(recorded, str):
            return recorded
        if not _is_about(recorded, request):
            return _WRONG
        if self._is_log():
            return recorded
        served = recorded.reply.served_by.partition(", ")[0]
        if other := self._asked.describe_other(served):
            return other
        self._check_asker(recorded, request, served, record)
        return recorded

    def _check_asker(self, recorded: RecordedReply, request: Request, served: str, record: Record) -> None:
        """Refuse an answer by another model, or to another seed, unless such are taken."""
        unlike = ""
        if recorded.asker is not None and recorded.asker != asker_of(request, self._asked_of):
            unlike = f"was asked of another model, or with another seed, than this run's ({self.name})"
        elif served and not is_asked_for(served, [self.name]):
            unlike = f"is by {served}, and this run is of {self.name}"
        if unlike and not self._mismatched:
            raise ModelError(
                f"{record.path.name}: the answer to trial {request.trial}, repeat {request.repeat} {unlike}. Import it "
                "into the folder whose requests were answered, or take it all the same: --allow-mismatch."
            )
        self._others += bool(unlike)

    def _is_log(self) -> bool:
        """Return whether the records name the model that was asked, so that each answer was compared with it."""
        return self._records[0].study_asked is not None


def _is_about(recorded: RecordedReply, request: Request) -> bool:
    if recorded.prompt is not None and recorded.prompt != request.question.prompt:
        return False
    return recorded.content is None or recorded.content == content_of(request)


def response_to(request: Request, recorded: RecordedReply) -> Response:
    """An answer as the response to a request, with the probabilities of its options where these are wanted."""
    response = response_of(request, recorded.reply, recorded.latency_ms)
    if not request.exact or response.status is Status.REFUSED:
        return response
    if recorded.drawn_because:
        return response._replace(error=recorded.drawn_because)
    if recorded.probs is not None:
        return response._replace(text=None, probs=recorded.probs)
    weighed = exact(request, recorded.reply, response)
    if isinstance(weighed, Response):
        return weighed
    return response._replace(status=Status.ERROR, error=weighed)
