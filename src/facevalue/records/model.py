"""Model of a record: answers that somebody else asked for, given to the runner one by one."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from facevalue.errors import DataError, ModelError
from facevalue.models._fallback import exact, response_of
from facevalue.models.base import Capabilities
from facevalue.models.inspect.providers import AskedModel, is_asked_for
from facevalue.records.base import Fact, Key, Record, RecordedReply, content_of
from facevalue.types import Request, Response, Status

_MOST_NAMES = 20
_WRONG = "the recorded answer is about something else"


class RecordModel:
    """Answers from one or several records of one model.

    A request without an answer of its own fails (`Status.ERROR`): it counts in no measure, and a fuller record may fill
    it later. Of several answers to a request the first counts that is one.

    `records`: what to answer from. `facts`: settings that change what the model says.

    Raises
    ------
    DataError
        The records hold no answer, or are by several models.
    """

    def __init__(self, records: Sequence[Record], facts: Mapping[str, Fact]) -> None:
        first = records[0]
        if unlike := next((record for record in records if record.model != first.model), None):
            raise DataError(
                f"{first.path.name} holds answers by {first.model}, {unlike.path.name} by {unlike.model}: import each "
                "into a run folder of its own."
            )
        self.name = first.model
        self.capabilities = Capabilities(
            probabilities="top-k", images_per_request=sys.maxsize, seeds=True, structured=False
        )
        self._records, self._facts = records, dict(facts)
        self._places: dict[Key, list[int]] = {}
        for number, record in enumerate(records):
            for key in record.places:
                self._places.setdefault(key, []).append(number)
        if not self._places:
            raise DataError(f"{first.path.name} holds no answer.")
        self._served: dict[str, None] = {}
        self._used: set[Key] = set()
        self._contradicted = 0
        self._asked = AskedModel(self.name, deployed=True)

    def settings(self) -> Mapping[str, Fact]:
        """Who wrote the answers down, and what changes them."""
        return dict(self._facts)

    def findings(self) -> Mapping[str, Fact]:
        """What the records say of themselves, and which models the replies name."""
        facts: dict[str, Fact] = {}
        for record in self._records:
            for name, fact in record.findings.items():
                before = facts.get(name)
                facts[name] = fact if before in (None, fact) else f"{before}; {fact}"
        return facts | ({"served_by": "; ".join(self._served)} if self._served else {})

    def close(self) -> None:
        """Nothing to release."""

    def warnings(self, *, resumed: bool = False) -> list[str]:
        """What of the records was not taken, or is odd, as sentences; `resumed`: whether answers were stored before."""
        out = []
        if (left := len(self._places) - len(self._used)) and not resumed:
            out.append(f"{left:,} recorded answers are to nothing that the study asks here: left out.")
        if self._contradicted:
            out.append(
                f"{self._contradicted:,} requests have another answer in a later file: that of the first file counts."
            )
        names = [name.partition(", ")[0] for name in self._served]
        if other := [name for name in names if not self._is_log() and not is_asked_for(name, [self.name])]:
            out.append(f"The replies are of {other[0]}, and the run is of {self.name}: is this the same model?")
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
            recorded = self._recorded(number, request)
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
        return response_to(request, chosen)

    def _recorded(self, number: int, request: Request) -> RecordedReply | str:
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
        other = "" if self._is_log() else self._asked.other(recorded.reply.served_by.partition(", ")[0])
        return other or recorded

    def _is_log(self) -> bool:
        """Whether the records say themselves who was asked, so that each answer was compared with that already."""
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
