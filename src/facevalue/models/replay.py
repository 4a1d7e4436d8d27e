"""`replay/PATH`: a model that answers from recorded responses, so that anyone's answers go through the same audit.

What is recorded is either a run folder or a table (see docs/how-to/replay.md). A request without exactly one recorded
answer fails (`Status.ERROR`); nothing is made up, and nothing that was recorded for one request is given to another.
"""

import logging
import sqlite3
import sys
from array import array
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import islice
from pathlib import Path

import numpy as np

from facevalue.errors import DataError, ModelError, UnknownNameError
from facevalue.hashing import combined_hash, conditions_hash, question_hash, stimulus_hash
from facevalue.models._recorded_answers import ROWS, Recording, digest, recording
from facevalue.models.base import Capabilities
from facevalue.types import Question, Request, Response, Sampling, Status

# Hashes of single requests, as a run stores them with its answers.


_KEPT = 65_536  # questions whose hashes are remembered


class RequestHashes:
    """Hashes requests as one run did.

    A question may have a sampling of its own and several draws. The stored hash then holds the study's sampling and
    seed besides, which a request doesn't tell and the run does.

    `sampling`, `seeds`: of the run's study. `asked_of`: hash of the model that the run asked.
    """

    def __init__(self, sampling: Sampling, seeds: tuple[int, ...], asked_of: int = 0) -> None:
        self._asked_of = asked_of
        self._sampling = sampling
        self._seeds = seeds
        self._known: OrderedDict[int, tuple[Question, int]] = OrderedDict()

    def hash_requests(self, requests: Sequence[Request]) -> list[int]:
        """Hashes as signed integers."""
        stimuli = np.array([stimulus_hash(request.stimulus) for request in requests], dtype=np.uint64)
        questions = np.array([self._question(request.question) for request in requests], dtype=np.uint64)
        draw_hashes = np.array([self._hash_conditions(request) for request in requests], dtype=np.uint64)
        hashes: list[int] = combined_hash(stimuli, questions, draw_hashes).view(np.int64).tolist()
        return hashes

    def _hash_conditions(self, request: Request) -> int:
        asked_question = request.question
        sampling = self._sampling if asked_question.sampling is not None else request.sampling
        seed = (
            self._seeds[request.repeat] if asked_question.draw and request.repeat < len(self._seeds) else request.seed
        )
        return conditions_hash(sampling, seed, request.exact, request.constrain, self._asked_of)

    def _question(self, question: Question) -> int:
        known_hash = self._known.get(
            id(question)
        )  # by identity, as hashing a long prompt takes longer than all the rest
        if known_hash is None:
            known_hash = self._known[id(question)] = (question, question_hash(question))
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return known_hash[1]


_BATCH = 512  # requests that are looked up together
_INDEXES = 32  # sets of columns by which one table may be searched
_LOG = logging.getLogger(__name__)

_ABSENT = "not among the recorded answers"
_SEVERAL = "more than one recorded answer fits"
_OTHER = "the recorded answer of that trial is about something else"
_NO_PROBABILITIES = "recorded without option probabilities"
_DRAWN = "This reply was drawn when it was recorded; its probabilities could not be read."
_NO_TEXT = "recorded without a text"
_OPTIONS = "recorded probabilities are of another number of options"

Row = tuple[str, str | None, bytes | None, int]
"""Status, text, probabilities and place of an answer."""


class ReplayModel:
    """Answers from a run folder, or from a table of answers.

    Answers are kept in a temporary database on the disk, which goes with the model: memory does not grow with their
    number.

    `path`: a run folder; or a .csv, .jsonl or .parquet file with `text` or `probs`, and either `trial` or the study's
    factors. docs/how-to/replay.md says which answer goes to which request.

    Attributes
    ----------
    misses:
        Requests that had no recorded answer, by reason.

    Raises
    ------
    DataError
        There is nothing at the path, it is damaged, lacks a needed column, or holds two answers for one trial and
        repeat.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._source = recording(self._path)
        self.name = f"replay/{self._path.resolve().name}"
        self.misses: Counter[str] = Counter()
        self._answers = _Answers(self._source)
        answers = self._answers
        content = answers.content if self._path.is_dir() else digest(self._path)
        self._settings = {**self._source.facts, "content": content, "answers": answers.count}
        self._hashes = RequestHashes(self._source.sampling, self._source.seeds, self._source.asked_of)
        # Pictures are not looked at, so that any number of them is fine.
        self.capabilities = Capabilities(
            probabilities="full" if answers.exact else "none",
            images_per_request=sys.maxsize,
            seeds=True,
            structured=self._source.facts.get("structured") is True,
            sight="recorded" if self._source.looks else "stated",
        )

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Hash of the content and number of answers; of a run folder, also who answered."""
        return dict(self._settings)

    def close(self) -> None:
        """Remove the temporary database."""
        self._answers.close()

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Look up each request.

        How many had no recorded answer, and why, is logged at the end.
        """
        stream, count_asked = iter(requests), 0
        before = Counter(self.misses)
        self._answers.begin()
        first: dict[str, str] = {}
        while batch := list(islice(stream, _BATCH)):
            rows_found = self._by_request(batch) if self._source.by == "request" else map(self._by_table, batch)
            for request, rows in zip(batch, rows_found, strict=True):
                answer = _response(request, rows, self._source.by == "request") if not isinstance(rows, str) else rows
                if isinstance(answer, str):
                    self.misses[answer] += 1
                    first.setdefault(answer, f"trial {request.trial}, repeat {request.repeat}")
                    answer = Response(request.trial, request.repeat, Status.ERROR, error=f"{self.name}: {answer}.")
                yield answer
            count_asked += len(batch)
        missed = self.misses - before
        if not missed:
            return
        reasons = "; ".join(f"{count:,} {reason} (such as {first[reason]})" for reason, count in missed.most_common())
        message = f"{missed.total():,} of {count_asked:,} requests had no recorded answer in {self.name}: {reasons}."
        if missed.total() == count_asked:
            raise ModelError(f"{message} The answers were recorded for another study, or under other settings.")
        _LOG.warning("%s%s", message, self._describe_unused(request))

    def _describe_unused(self, request: Request) -> str:
        """Sentence on the columns that were not compared, which is why several answers may fit."""
        unused = [name for name in self._source.columns if name not in _factors(request)]
        if self._source.by != "factors" or not unused:
            return ""
        return f" Columns that are no factors of the study were not looked at: {', '.join(unused)}."

    def _check_single_use(self, request: Request, row: Row) -> None:
        """Give an answer out to one thing that is asked, however many trials ask it.

        A table that lacks a factor would otherwise have one answer stored for all of that factor's levels.
        """
        (request_hash,) = self._hashes.hash_requests([request])
        trial, match = self._answers.first_use(row, request.trial, request_hash)
        if match == request_hash:
            return
        lacking = [name for name in _factors(request) if name not in self._source.columns]
        raise DataError(
            f"{self._path.name} has one answer that fits several requests, such as trial {trial} and trial "
            f"{request.trial}: it lacks a column that tells them apart. Add what was recorded of "
            f"{', '.join(lacking) or 'the trial'}, or leave out of the study what the table is not about."
        )

    def _by_request(self, batch: Sequence[Request]) -> Iterator[Sequence[Row] | str]:
        for request, request_hash in zip(batch, self._hashes.hash_requests(batch), strict=True):
            key = (request_hash, request.trial, request.repeat)
            rows = self._answers.matching_answers("request = ? AND trial = ? AND repeat = ?", key)
            if not rows:
                rows = self._answers.matching_answers("request = ?", (request_hash,))
                if len({row[:3] for row in rows}) == 1:  # asked in several trials: any of equal answers will do
                    rows = rows[:1]
            yield rows

    def _by_table(self, request: Request) -> Sequence[Row] | str:
        factors = _factors(request)
        names = {place: name for place, name in enumerate(self._source.columns) if name in factors}
        if self._source.by == "factors":
            if not names:
                name = next(iter(self._source.columns))
                raise UnknownNameError(f"factor in {self._path.name} (of the study's):", name, factors)
            self._answers.index(tuple(names))
            rows = self._answers.answers_of_levels(
                {place: factors[name] for place, name in names.items()}, request.repeat
            )
            if len(rows) == 1:
                self._check_single_use(request, rows[0])
            return rows
        rows = self._answers.matching_answers("trial = ? AND repeat = ?", (request.trial, request.repeat))
        if rows and names:
            levels = self._answers.levels(rows[0], tuple(names))
            if any(level not in factors[name] for name, level in zip(names.values(), levels, strict=True)):
                return _OTHER
        return rows


def _factors(request: Request) -> Mapping[str, tuple[str | None, ...]]:
    """Levels of a request, by factor; what is shown is named as the design names it, whatever the question calls so.

    A column `prompt` may have the prompt's wording, as exported tables do, where the design has a name for it.
    """
    levels = {**request.question.factors, **request.stimulus.factors}
    out: dict[str, tuple[str | None, ...]] = {name: (level,) for name, level in levels.items()}
    out["prompt"] = (*out.get("prompt", ()), request.question.prompt)
    return out


def _response(request: Request, rows: Sequence[Row], by_request: bool) -> Response | str:
    """The one recorded answer as a response, or why there is none; of exact requests themselves some may be drawn."""
    if len(rows) != 1:
        return _SEVERAL if rows else _ABSENT
    status_text, text, packed, *_ = rows[0]
    status = Status(status_text)
    if status is Status.REFUSED:
        return Response(request.trial, request.repeat, status, text, error=None if text else "recorded as refused")
    if not request.exact:
        return _NO_TEXT if text is None else Response(request.trial, request.repeat, status, text)
    if packed is None and by_request and text is not None:
        return Response(request.trial, request.repeat, status, text, error=_DRAWN)
    if packed is None:
        return _NO_PROBABILITIES
    probs = tuple(array("d", packed))
    if len(probs) != len(request.question.options):
        return _OPTIONS
    return Response(request.trial, request.repeat, status, text, probs)


class _Answers:
    """Recorded answers in a temporary database that SQLite removes by itself.

    Names of columns never become part of a command: they are c0, c1, ... there.
    """

    def __init__(self, source: Recording) -> None:
        self.count = 0
        self.exact = False
        """Whether answers come with probabilities: those of a run any, those of a table all but refusals."""
        self._sum = 0
        self._indexed: set[tuple[int, ...]] = set()
        self._base = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._base.execute("PRAGMA synchronous = OFF")
        columns = [f"c{place} TEXT" for place in range(len(source.columns))]
        head = ["request INTEGER", "trial INTEGER", "repeat INTEGER", "status TEXT", "text TEXT", "probs BLOB"]
        self._base.execute(f"CREATE TABLE answers ({', '.join(['id INTEGER PRIMARY KEY', *head, *columns])})")
        self._base.execute("CREATE TABLE given (id INTEGER PRIMARY KEY, trial INTEGER, asked INTEGER)")
        try:
            self._fill(source, len(head) + len(columns))
        except BaseException:
            self.close()
            raise

    @property
    def content(self) -> str:
        """Hash of all answers, whatever their order."""
        return f"{self._sum:064x}"

    def close(self) -> None:
        self._base.close()

    def matching_answers(self, condition: str, values: Sequence[object]) -> list[Row]:
        """Up to a few answers that meet a condition."""
        query = "SELECT status, text, probs, id FROM answers WHERE"
        return self._base.execute(f"{query} {condition} LIMIT 256", values).fetchall()

    def answers_of_levels(self, levels: Mapping[int, Sequence[str | None]], repeat: int) -> list[Row]:
        """Up to a few answers of a repeat that have one of these levels in each of these columns."""
        same: list[str] = []
        values: list[str | None] = []
        for place, allowed in levels.items():
            same.append(f"c{place} IN ({', '.join('?' * len(allowed))})" if len(allowed) > 1 else f"c{place} IS ?")
            values += allowed
        return self.matching_answers(" AND ".join([*same, "repeat = ?"]), (*values, repeat))

    def begin(self) -> None:
        """Forget what was given out."""
        self._base.execute("DELETE FROM given")

    def first_use(self, row: Row, trial: int, request_hash: int) -> tuple[int, int]:
        """The first trial that an answer was given to, and the hash of what it asks; this one if it is the first."""
        self._base.execute("INSERT OR IGNORE INTO given VALUES (?, ?, ?)", (row[-1], trial, request_hash))
        first: tuple[int, int] = self._base.execute(
            "SELECT trial, asked FROM given WHERE id = ?", (row[-1],)
        ).fetchone()
        return first

    def levels(self, row: Row, columns: Sequence[int]) -> tuple[str | None, ...]:
        """Levels of an answer in some columns."""
        names = ", ".join(f"c{place}" for place in columns)
        selected = self._base.execute(f"SELECT {names} FROM answers WHERE id = ?", (row[-1],))  # noqa: S608
        return tuple(selected.fetchone())

    def index(self, columns: Sequence[int]) -> None:
        """Make answers quick to find by some columns."""
        key = tuple(columns)
        if key in self._indexed:
            return
        if len(self._indexed) < _INDEXES:
            names = ", ".join(f"c{place}" for place in key)
            self._base.execute(f"CREATE INDEX by_{len(self._indexed)} ON answers ({names}, repeat)")
        self._indexed.add(key)

    def _fill(self, source: Recording, width: int) -> None:
        key_columns = "trial, repeat" if source.by != "factors" else ""
        if source.by == "request":  # of a request stored twice the first counts
            self._base.execute("CREATE UNIQUE INDEX once ON answers (trial, repeat)")
        insert = f"INSERT OR IGNORE INTO answers VALUES (NULL{', ?' * width})"  # noqa: S608
        self._base.execute("BEGIN")
        self._base.executemany(insert, self._rows(source))
        self._base.execute("COMMIT")
        if source.by == "request":
            self._base.execute("CREATE INDEX by_request ON answers (request)")
        elif source.by == "trial":
            self._base.execute("CREATE INDEX by_trial ON answers (trial, repeat)")
            twice = f"SELECT {key_columns} FROM answers GROUP BY {key_columns} HAVING COUNT(*) > 1 LIMIT 1"  # noqa: S608
            if twin := self._base.execute(twice).fetchone():
                raise DataError(
                    f"{source.path.name} holds two answers for trial {twin[0]}, repeat {twin[1]}. "
                    "Number them in a column `repeat`, or keep one."
                )
        counts = (
            "SELECT COUNT(*), COUNT(probs), COUNT(*) FILTER (WHERE status = 'refused' AND probs IS NULL) FROM answers"
        )
        self.count, with_probs, refused = self._base.execute(counts).fetchone()
        if not self.count:
            raise DataError(f"{source.path.name} holds no answer.")
        # In an exact run some replies may be drawn, not read; a table with gaps is one that lacks something.
        self.exact = with_probs > 0 if source.by == "request" else 0 < with_probs == self.count - refused

    def _rows(self, source: Recording) -> Iterator[tuple[object, ...]]:
        for number, answer in enumerate(source.read()):
            if number >= ROWS:
                raise DataError(f"{source.path.name} holds more than {ROWS:,} answers.")
            packed = None if answer.probs is None else array("d", answer.probs).tobytes()
            signed = None
            if answer.request is not None:
                signed = answer.request - 2**64 if answer.request >= 2**63 else answer.request
                fields = (str(answer.trial), str(answer.repeat), str(signed), answer.status, answer.text, packed)
                self._sum = (self._sum + _digest(fields)) % 2**256
            yield (signed, answer.trial, answer.repeat, str(answer.status), answer.text, packed, *answer.levels)


def _digest(values: Sequence[str | bytes | None]) -> int:
    state = blake2b(digest_size=32)
    for fragment in values:
        data = b"" if fragment is None else fragment.encode() if isinstance(fragment, str) else fragment
        state.update(b"-" if fragment is None else len(data).to_bytes(8, "little"))
        state.update(data)
    return int.from_bytes(state.digest(), "little")
