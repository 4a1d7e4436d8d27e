"""Session of a run, wherever its answers are stored: its course, counts, limits, and what people are told."""

import contextlib
import gc
import logging
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from facevalue.errors import FaceValueError, RunError
from facevalue.models.cached_tokens import COUNTS, cached_share
from facevalue.protocol.study import Study
from facevalue.runs.pictures import COMPARED, SAME, same_shown
from facevalue.runs.progress import Interrupts, Meter, Progress, Snapshot, silence_told
from facevalue.runs.reply_counts import ENOUGH, LOOKED_AT, MOST, UnparsedReplies
from facevalue.runs.rich_progress import conclusion_line
from facevalue.runs.settings import Looks, RunSettings, RunSummary, other_server, utc_now
from facevalue.runs.sight import said_of
from facevalue.runs.storage.units import Fact, Receipt
from facevalue.store.manifest import Counts, RunManifest, Session, differences
from facevalue.store.remote import UnitFacts
from facevalue.store.sight import Sight
from facevalue.types import Response, Status

if TYPE_CHECKING:
    from facevalue.runs.stored_run import StoredRun


# Limits at which a run stops: its cost, and its share of replies without a valid answer.


class RunLimits:
    """Limits at which a run stops, checked as replies come in."""

    def __init__(self, settings: RunSettings, counts: Counts, unread: str = "", sight: Sight | None = None) -> None:
        self._settings = settings
        self._unread = unread
        sight_tally = sight or Sight()
        self._spent = self._whole = (
            counts.prompt_tokens + sight_tally.prompt_tokens, counts.completion_tokens + sight_tally.completion_tokens,
            counts.ok + counts.truncated,
        )  # fmt: skip
        self._uncounted = self._doubted = self._quoted = False

    def take(self, response: Response) -> None:
        """Count what a response cost."""
        prompt, completion, answered = self._spent
        is_answer = response.status in (Status.OK, Status.TRUNCATED)
        tokens = prompt + (response.prompt_tokens or 0), completion + (response.completion_tokens or 0)
        self._spent = *tokens, answered + is_answer
        self._uncounted |= response.prompt_tokens is None and is_answer

    def take_counts(self, facts: UnitFacts) -> None:
        """Count what a unit cost, and how many replies say nothing of it; what was taken of it is counted anew."""
        prompt, completion, answered = self._whole
        self._spent = self._whole = (
            prompt + facts.prompt_tokens, completion + facts.completion_tokens,
            answered + facts.rows - facts.errors - facts.refused,
        )  # fmt: skip
        self._uncounted |= facts.uncounted > 0

    def limit_reached(self, replies: int, invalid: int, unparsed: UnparsedReplies) -> str:
        """Reason why the run stops, for people; empty if it goes on.

        `unparsed`: the session's replies, and which could not be read: most of them stop it, unless a limit of invalid
        ones was named.
        """
        cost, max_invalid = self._settings.max_cost, self._settings.max_invalid
        if cost is not None and self._uncounted and self._settings.by_token:
            return "The model does not count its tokens, so that no limit of cost can be kept."
        if cost is not None and (spent := self._settings.cost(*self._spent) or 0.0) >= cost:
            return f"The run has cost {spent:,.2f}, its limit is {cost:,.2f}."
        if max_invalid is not None and replies >= LOOKED_AT and invalid / replies > max_invalid:
            return f"{_invalid(replies, invalid)}, more than {max_invalid:.1%}."
        if max_invalid is None and unparsed.replies >= LOOKED_AT and unparsed.too_many:
            return f"{self._unreadable_reason(unparsed)} --max-invalid 1 goes on all the same."
        return ""

    def _unreadable_reason(self, unparsed: UnparsedReplies) -> str:
        return f"{unparsed.sentence} {self._unread}".rstrip()

    def doubt(self, replies: int, invalid: int, unparsed: UnparsedReplies) -> str:
        """Warning, given once, that most of the first replies cannot be read, or have no valid answer."""
        if not self._quoted and unparsed.replies >= ENOUGH and unparsed.too_many:
            self._quoted = True
            stops = f" The run stops after {LOOKED_AT} replies if that goes on; with --max-invalid 1 it does not."
            return f"{self._unreadable_reason(unparsed)}{stops if self._settings.max_invalid is None else ''}"
        if self._doubted or replies < LOOKED_AT or invalid / replies <= MOST:
            return ""
        self._doubted = True
        message = f"{_invalid(replies, invalid)}. Ctrl-C stops; `facevalue export` shows them."
        return f"{message} {self._unread}".rstrip()


def _invalid(replies: int, invalid: int) -> str:
    return f"{invalid / replies:.1%} of {replies:,} replies have no valid answer"


# Counts of one session of a run; in object storage also of units and nodes, and what models found out.


_NODES = 3  # whose failures are shown on the way; `facevalue status` shows all


@dataclass(slots=True)
class SessionCounts:
    """Answers of one session, failures among them by their reason, and tokens."""

    stored: int = 0
    errors: int = 0
    refused: int = 0
    na: int = 0
    reasked: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    unparsed: UnparsedReplies = field(default_factory=UnparsedReplies)
    """Which replies could not be read."""

    @property
    def answered_requests(self) -> int:
        """Requests that were answered: what is paid for where each has a price."""
        return self.stored - self.errors - self.refused


@dataclass(slots=True)
class RunTally(SessionCounts):
    """Counts of one session in object storage."""

    units: int = 0
    by_node: Counter[str] = field(default_factory=Counter)
    lost_on: Counter[str] = field(default_factory=Counter)
    findings: dict[str, Fact] = field(default_factory=dict)

    def add(self, facts: UnitFacts, receipt: Receipt) -> None:
        """Add a unit that was stored in this session."""
        self.units += 1
        self.stored += facts.rows
        self.errors += facts.errors
        self.refused += facts.refused
        self.na += facts.na
        self.unparsed += receipt.unparsed
        self.reasked += facts.rows if facts.again else 0
        self.prompt_tokens += facts.prompt_tokens
        self.completion_tokens += facts.completion_tokens
        if facts.errors:
            self.failures[receipt.failure] += facts.errors
            self.by_node[receipt.node] += facts.errors

    def learn(self, findings: Mapping[str, Fact]) -> None:
        """Add what a worker's model found out."""
        self.findings.update(_merge_facts(self.findings, findings))

    def describe_units(self, alive: Mapping[str, int]) -> str:
        """Say in a few words how many units are stored, and how many workers and failures each node has."""
        workers = sum(alive.values())
        phrases = [f"{self.units:,} units", f"{workers:,} worker{'s' if workers != 1 else ''}"]
        if len(alive) > 1:
            phrases[1] += f" on {len(alive):,} nodes"
        phrases += [f"{count:,} failed on {node}" for node, count in self.by_node.most_common(_NODES)]
        phrases += [f"{count:,} lost on {node}" for node, count in self.lost_on.most_common(_NODES)]
        return ", ".join(phrases)


def _merge_facts(before: Mapping[str, Fact], now: Mapping[str, Fact]) -> Iterator[tuple[str, Fact]]:
    """Merge findings of the models of all workers: server names are listed, counts added, else the last one stays."""
    for name, value in now.items():
        previous = before.get(name)
        if name == "served_by" and isinstance(previous, str):
            yield name, "; ".join(dict.fromkeys([*previous.split("; "), *str(value).split("; ")]))
        elif name in COUNTS and isinstance(previous, int) and isinstance(value, int):
            yield name, previous + value
        else:
            yield name, value


_LOG = logging.getLogger(__name__)
_SHOWN = 5  # settings that an error names
_UPDATE = 0.2  # seconds between reports


def check_same_run(stored: RunManifest, asked_for: RunManifest, place: object, kind: str) -> None:
    """Raise `RunError` if what is stored at a place was asked otherwise than it would be now."""
    if changed := differences(stored, asked_for):
        left = len(changed) - _SHOWN
        more = f"; and {left} more" if left > 0 else ""
        settings = f"{'; '.join(changed[:_SHOWN])}{more}"
        raise RunError(f"{place} was begun with other settings: {settings}. Restore them, or name another {kind}.")


@contextlib.contextmanager
def _set_apart() -> Iterator[None]:
    """Keep whatever is in memory now out of the search for objects that nobody needs, which a run makes often."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


class RunSession(ABC):
    """One session of a run, from the first request to the last answer stored.

    A subclass asks and stores; this class decides when to stop, keeps the run's manifest true whatever ends the session
    and reports.

    Parameters
    ----------
    study, settings, progress:
        What is asked and how; what is told on the way.
    model:
        The model's name.
    before:
        The run as earlier sessions left it.
    counts:
        Requests that these answered, and their tokens.
    skipped:
        Requests of the first round that need not be asked again.
    tally:
        Counts of this session, all zero.
    """

    def __init__(
        self,
        study: Study,
        settings: RunSettings,
        progress: Progress,
        model: str,
        before: RunManifest,
        counts: Counts,
        skipped: int,
        tally: SessionCounts,
    ) -> None:
        self.warnings: list[str] = []
        self._study, self._settings, self._progress = study, settings, progress
        self._model_name, self._before, self._skipped, self._tally = model, before, skipped, tally
        self._requests = counts.requests
        self._limits = RunLimits(settings, counts, study.reading.unread, before.sight)
        self._meter = Meter()
        self._came = 0
        self._reported = 0.0
        self._watched = -1
        self._stopped = ""  # by which limit
        self._enough = before.enough
        self._known_after = 0  # requests, in this session
        self._looks = Looks(settings.stop_when, counts.requests)
        self._stopping = self._interrupted = False
        self._compared: dict[str, Fact] = {}
        self.looked = Sight()
        """What this session found out about the model's sight before its first question."""

    @property
    @abstractmethod
    def _planned_requests(self) -> int:
        """Requests of this session as far as they are known."""

    @abstractmethod
    def _ask(self, signals: Interrupts) -> None:
        """Ask everything that is open."""

    @abstractmethod
    def _halt(self) -> None:
        """Begin no further request."""

    @abstractmethod
    def _save(self, run: RunManifest) -> None:
        """Store the run's manifest with the names of what is stored."""

    @abstractmethod
    def _counts(self) -> Counts:
        """Requests of the run by status."""

    @abstractmethod
    def _count_answered(self) -> int:
        """Requests with a stored answer of whatever kind, re-asks left out."""

    @abstractmethod
    def _findings(self) -> Mapping[str, Fact]:
        """Facts that the model found out about itself."""

    @abstractmethod
    def _count_unanswered(self) -> int:
        """Requests of the run to which no response came, not even an error."""

    @abstractmethod
    def _drawn_warning(self) -> str:
        """Warning of replies that were drawn where probabilities should have been read; empty if none was."""

    def _incomplete(self, silent: int) -> str:
        """Warning of requests without a response; empty if there is nothing to say."""
        if silent <= 0 or self._interrupted:
            return ""
        return f"{self._model_name} gave no response to {silent:,} requests; the same command asks them again."

    def _compare_pictures(self) -> None:
        """Say which pictures are the same as another of their unit, before they are asked about."""
        if not (self._settings.check and self._planned_requests):
            return
        same = same_shown(self._study)
        if same.pairs:
            self._compared = {SAME: len(same.images), COMPARED: same.compared}
            self._warn(same.sentence)

    def _whereabouts(self) -> str:
        """Place of the work by node, for people."""
        return ""

    def run(self, notes: Iterable[str], versions: Mapping[str, str], signals: Interrupts) -> RunSummary:
        """Ask everything that is open; the run is in order whatever ends this.

        Parameters
        ----------
        notes:
            What people should know of the model.
        versions:
            Versions of whatever could matter to a result.
        signals:
            Handling of Ctrl-C and SIGTERM.
        """
        began, before = time.monotonic(), self._before
        self._session = Session(utc_now(), None, 0, versions)
        end = None if self._planned_requests and not self._enough else before.end
        self._save(replace(before, end=end, counts=self._counts(), sessions=(*before.sessions, self._session)))
        self._progress.start(self._skipped, self._total)
        for note in (*notes, *said_of(self.looked)):
            self._note(note)
        self._compare_pictures()
        try:
            with silence_told(self._progress, still=lambda: not self._came), _set_apart():
                self._ask(signals)
        except KeyboardInterrupt:
            self._interrupted = True
        except BaseException:
            signals.over()
            with contextlib.suppress(FaceValueError):  # what ended the run says more, and is on its way already
                self._close(complete=False)
            self._show(time.monotonic())
            self._progress.finish(None)
            raise
        signals.over()
        unanswered = 0 if self._enough else self._count_unanswered()
        silent = 0 if self._stopping else unanswered
        self._session = replace(self._session, findings={**self._findings(), **self._compared})
        servers = other_server((*before.sessions, self._session)) or ""
        cut = "" if self._stopping else self._tally.unparsed.cut_sentence
        for warning in filter(None, (self._incomplete(silent), self._drawn_warning(), cut, servers)):
            self._warn(warning)
        complete = not (unanswered > 0 or self._interrupted)  # a limit that the last reply reaches stops nothing
        self._close(complete)
        summary = self._summary(time.monotonic() - began, complete)
        _LOG.info("%s", conclusion_line(summary))
        self._progress.finish(summary)
        return summary

    def _watch(self) -> None:
        """End the session where a limit is reached."""
        if self._watched == self._tally.stored and self._settings.max_cost is None:
            return  # nothing was stored since it was last looked at
        self._watched = self._tally.stored
        replies, invalid = self._tally.stored - self._tally.errors, self._tally.na
        if (reason := self._limits.limit_reached(replies, invalid, self._tally.unparsed)) and not self._stopping:
            self._stopped = reason
            self._end(f"{reason} Stopping; what is on its way is stored.")
        elif not self._stopping and (doubt := self._limits.doubt(replies, invalid, self._tally.unparsed)):
            self._note(doubt)

    def _look_due(self, answered: int) -> bool:
        """Return whether it is time to check that enough is known."""
        return not (self._stopping or self._enough) and self._looks.due(answered)

    def _look(self, run: "StoredRun") -> None:
        """See whether the run's rule says that enough is known; the caller then asks nothing new."""
        if reason := self._looks.enough(run):
            self._known_after = self._count_answered()
            self._enough = f"{reason} That was known after {self._known_after:,} of {self._requests:,} requests."
            self._note("Enough is known: what is on its way is stored.")

    def _count_rest(self) -> None:
        """Say how many requests were answered in the end, where some were on their way when enough was known."""
        if self._known_after and (answered := self._count_answered()) != self._known_after:
            self._enough = f"{self._enough[:-1]}, and {answered:,} were answered in the end."
        self._known_after = 0

    def _interrupt(self) -> None:
        self._interrupted = True
        self._end(
            f"Stopping: waiting up to {self._settings.grace:g} s for requests on their way. "
            "Interrupt again to stop at once."
        )

    def _end(self, reason: str) -> None:
        self._stopping = True
        self._halt()
        self._note(reason)

    def _warn(self, message: str) -> None:
        self.warnings.append(message)
        self._note(message)

    def _note(self, message: str) -> None:
        _LOG.info("%s", message)
        self._progress.note(message)

    @property
    def _total(self) -> int:
        return self._skipped + (self._came if self._enough else max(self._planned_requests, self._came))

    def _report(self) -> None:
        """Show how far the session is, a few times a second."""
        if (now := time.monotonic()) - self._reported > _UPDATE:
            self._show(now)

    def _show(self, now: float) -> None:
        self._reported = now
        tally, rate, total = self._tally, self._meter.rate(self._came, now), self._total
        answered = self._skipped + self._came
        self._progress.update(
            Snapshot(
                done=answered,
                total=total,
                rate=rate,
                eta=(total - answered) / rate if rate > 0 else None,
                prompt_tokens=tally.prompt_tokens + self.looked.prompt_tokens,
                completion_tokens=tally.completion_tokens + self.looked.completion_tokens,
                cost=self._cost(),
                stored=tally.stored,
                na=tally.na,
                errors=tally.errors,
                where=self._whereabouts(),
            )
        )

    def _cost(self) -> float | None:
        """Price of what this session asked; None if no price is known."""
        tally, sight = self._tally, self.looked
        prompt = tally.prompt_tokens + sight.prompt_tokens
        return self._settings.cost(prompt, tally.completion_tokens + sight.completion_tokens, tally.answered_requests)

    def _close(self, complete: bool) -> None:
        """Write down how the session ended; a complete run of which nothing was open stays as it was."""
        self._count_rest()
        before, stored = self._before, self._tally.stored
        if complete and not stored and before.end is not None:
            self._save(replace(before, enough=self._enough))
            return
        findings = self._session.findings or {**self._findings(), **self._compared}
        session = replace(self._session, end=utc_now(), asked=stored, findings=findings)
        end = utc_now() if complete else None
        self._save(
            replace(before, end=end, counts=self._counts(), sessions=(*before.sessions, session), enough=self._enough)
        )

    def _summary(self, seconds: float, complete: bool) -> RunSummary:
        tally = self._tally
        return RunSummary(
            requests=self._requests,
            asked=tally.stored,
            skipped=self._skipped,
            errors=tally.errors,
            na=tally.na,
            refused=tally.refused,
            reasked=tally.reasked,
            seconds=seconds,
            prompt_tokens=tally.prompt_tokens + self.looked.prompt_tokens,
            completion_tokens=tally.completion_tokens + self.looked.completion_tokens,
            cost=self._cost(),
            complete=complete,
            interrupted=self._interrupted,
            stopped=self._stopped,
            enough=self._enough,
            failure=tally.failures.most_common(1)[0][0] if tally.failures else "",
            warnings=tuple(self.warnings),
            cached=cached_share([self._session.findings]),
        )
