"""Judgments of texts that no rule sorts, and of lists of words: asked of a judge model, stored beside answers."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self, TypeAlias

import polars as pl

from facevalue.answers import NA, parse
from facevalue.answers.categories import words as split_words
from facevalue.answers.listed_words import Flagged, ListKind, Named, combine_replies, read_named_words
from facevalue.answers.sorting import Judge, Sorting
from facevalue.checked_replies import ReplyCheck
from facevalue.errors import DataError, RunError
from facevalue.models.base import Expecting, Model
from facevalue.parquet import parquet_bytes, read_table
from facevalue.protocol.offers import JudgedWords, WordList
from facevalue.seals import SHARD, check_shard, digest_of
from facevalue.stimuli.pixels import WITHOUT
from facevalue.store.files import make_folder, write_whole
from facevalue.store.journal import JOURNAL, Journal, left_over
from facevalue.store.lease import RunLock
from facevalue.thinking import after_thinking
from facevalue.types import Request, Response, Sampling, Status

# Judgments in a run folder: a judge is asked, and what it says kept in files, whole or absent, named by content.


_ROWS = 500  # judgments of one file: what a power cut may lose
_OF = "judge"


class JudgmentWriter:
    """Stores judgments, some hundred to a file; those on their way are in a journal.

    Leaving the `with` block, by whatever exception, stores the rest.
    """

    def __init__(self, place: Path, schema: pl.Schema) -> None:
        make_folder(place)
        self._place, self._schema = place, schema
        self._rows: list[pl.DataFrame] = []
        self._journal = Journal(place, _OF)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._flush()
        self._journal.close()

    def add(self, *row: object) -> None:
        """Store a judgment, which survives a kill from now on."""
        self._rows.append(pl.DataFrame([row], schema=self._schema, orient="row"))
        self._journal.append(self._rows[-1])
        if len(self._rows) >= _ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            _store(self._place, pl.concat(self._rows))
            self._journal.clear()
            self._rows.clear()


def check_judge(before: str | None, model: Model, place: Path) -> None:
    """Refuse a second judge of a run."""
    if before is not None and before != model.name:
        raise DataError(f"{before} has judged this run; a run has one judge. Name it, or remove {place} first.")


def ask_judge(
    place: Path, schema: pl.Schema, model: Model, requests: Iterator[Request], sampling: Sampling,
    row: Callable[[Response], Iterable[object]],
) -> tuple[int, str | None]:  # fmt: skip
    """Ask a judge, and store a row of what it says to each request, after its name.

    Whatever ends this, what came is stored. Failed requests are not, so that the next call asks them again; returned
    are how many there are, and why one of them failed.
    """
    failed, reason = 0, None
    if isinstance(model, Expecting):
        model.expect(sampling)
    with JudgmentWriter(place, schema) as writer:
        for response in ReplyCheck(model).respond(requests):
            if response.status is Status.ERROR:
                failed, reason = failed + 1, response.error
                continue
            writer.add(model.name, *row(response))
    return failed, reason


def recover(place: Path, schema: pl.Schema) -> None:
    """Store what a killed process left in its journal; only for the process that holds the folder's lock."""
    rows = left_over(place, _OF, schema)
    if rows is not None:
        _store(place, rows)
    with contextlib.suppress(OSError):  # the next journal begins anew in any case
        (place / JOURNAL).unlink(missing_ok=True)


def _store(place: Path, rows: pl.DataFrame) -> None:
    data = parquet_bytes(rows)
    numbers = [int(match[1]) for path in judgment_files(place) if (match := SHARD.fullmatch(path.name))]
    name = f"part-{max(numbers, default=0) + 1:08d}-{digest_of(data)}.parquet"
    write_whole(place / name, data)


def read_rows(place: Path, schema: pl.Schema) -> pl.DataFrame | None:
    """Stored rows, with those that a killed process left in its journal, each once; None if there are none."""
    waiting = left_over(place, _OF, schema)
    frames = [] if waiting is None else [waiting]
    for path in judgment_files(place):
        try:
            check_shard(path)
            frames.append(read_table(path, schema.names()).cast(schema))
        except (OSError, DataError, pl.exceptions.PolarsError) as error:
            raise RunError(f"{path} cannot be read: {error}. Without it, what it holds is judged again.") from error
    return pl.concat(frames).unique(maintain_order=True) if frames else None


def judgment_files(place: Path) -> list[Path]:
    """Files of stored judgments."""
    return sorted(path for path in place.iterdir() if SHARD.fullmatch(path.name)) if place.is_dir() else []


FOLDER = Path("annotations", "judge")
"""Where judgments lie in a run folder."""

SCHEMA = pl.Schema(dict.fromkeys(("judge", "attribute", "text", "verdict", "category", "reply"), pl.String))
_SAMPLING = Sampling(temperature=0.0, max_tokens=64)
_SEED, _AGAIN = 1, 2
_REPLY = 500  # characters of a reply that are kept


class ReplyKind(StrEnum):
    """Kind of a judge's reply to a question."""

    CATEGORY = "category"
    """It named one of the categories."""
    DECLINED = "declined"
    """It said that there is none, or would not say."""
    INVENTED = "invented"
    """It named something that is no category, which is never used."""


AGAIN = " (again)"
"""What follows the name of a sorting where a text is judged a second time."""


class Doubt(NamedTuple):
    """A text that no rule settles: the judge is asked about it once, however many replies hold it.

    `again`: asked a second time, to see whether the judge says the same.
    """

    sorting: Sorting
    text: str
    again: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """Key of its judgment: the question asked, and the text."""
        return f"{self.sorting.name}{AGAIN}" if self.again else self.sorting.name, self.text


class Judgment(NamedTuple):
    """Judgment of a text: verdict, the category if one was named, and the reply, verbatim up to 500 characters."""

    verdict: ReplyKind
    category: str | None
    reply: str


@dataclass
class Doubts:
    """A judge that settles nothing and remembers what it was asked."""

    texts: dict[Doubt, None] = field(default_factory=dict)

    def judge(self, sorting: Sorting, text: str) -> None:
        """Remember a question."""
        self.texts[Doubt(sorting, text)] = None


@dataclass(frozen=True, slots=True)
class Judgments:
    """The judgments of a run.

    Attributes
    ----------
    name:
        The judge: what the user typed to get this model.
    judgments:
        Judgments by the name of the sorting and text.
    """

    name: str
    judgments: Mapping[tuple[str, str], Judgment]

    def judge(self, sorting: Sorting, text: str) -> str | None:
        """Say what was judged; see `answers.sorting.Judge`."""
        judgment = self.judgments.get((sorting.name, text))
        if judgment is None:
            return None
        if judgment.verdict is ReplyKind.INVENTED:
            return judgment.reply
        return judgment.category or ""


@dataclass(slots=True)
class JudgingOutcome:
    """Outcome of asking the judge.

    Attributes
    ----------
    before:
        Doubts that had been judged before.
    verdicts:
        Judgments of all doubts now, by verdict.
    failed:
        Requests that failed; nothing is stored of them.
    reason:
        Of one of these, the reason.
    """

    before: int
    verdicts: dict[ReplyKind, int]
    failed: int = 0
    reason: str | None = None


def read_judgments(folder: Path) -> Judgments | None:
    """Read what is stored in a run folder; None if nothing is."""
    rows = read_rows(folder / FOLDER, SCHEMA)
    if rows is None:
        return None
    names = rows["judge"].unique().to_list()
    if len(names) != 1 or not rows["verdict"].is_in([v.value for v in ReplyKind]).all():
        raise RunError(f"{folder / FOLDER} holds no judgments of one judge. Remove it and judge again.")
    judgments = {
        (name, text): Judgment(ReplyKind(verdict), category, reply)
        for _, name, text, verdict, category, reply in rows.iter_rows()
    }
    return Judgments(str(names[0]), judgments)


def stored_judge(folder: Path) -> Judge | None:
    """The judge of a run folder, if one was asked."""
    judgments = read_judgments(folder)
    return None if judgments is None else judgments.judge


def ask(folder: Path, doubts: Sequence[Doubt], model: Model) -> JudgingOutcome:
    """Ask a judge what it was not asked before, and store what it says.

    Whatever ends this, what came is stored, in files that are whole or absent. Failed requests are not stored, so that
    the next call asks them again.
    """
    with RunLock(folder):
        recover(folder / FOLDER, SCHEMA)
        before = read_judgments(folder)
        check_judge(before.name if before else None, model, folder / FOLDER)
        judgments = dict(before.judgments) if before else {}
        unasked = [doubt for doubt in sorted(doubts) if doubt.key not in judgments]
        outcome = JudgingOutcome(len(doubts) - len(unasked), {})

        def row(response: Response) -> tuple[object, ...]:
            doubt = unasked[response.trial]
            judgments[doubt.key] = judgment_of(doubt.sorting, response)
            return *doubt.key, *judgments[doubt.key]

        place = folder / FOLDER
        outcome.failed, outcome.reason = ask_judge(place, SCHEMA, model, _requests(unasked), _SAMPLING, row)
        verdicts = [judgments[doubt.key].verdict for doubt in doubts if doubt.key in judgments]
        outcome.verdicts = {verdict: verdicts.count(verdict) for verdict in ReplyKind}
        return outcome


def judgment_of(sorting: Sorting, response: Response) -> Judgment:
    """Read a judge's reply: a category, none, or something that is no category.

    Examples
    --------
    >>> reply, faiths = Response(0, 0, Status.OK, "(b)"), Sorting("religion", ("Islam", "Hinduism"))
    >>> judgment_of(faiths, reply).category
    'Hinduism'
    >>> judgment_of(faiths, reply._replace(text="<think>(a)?</think>(b)")).category
    'Hinduism'
    >>> judgment_of(faiths, reply._replace(text="Paganism")).verdict
    <ReplyKind.INVENTED: 'invented'>
    """
    reply = after_thinking(response.text or "").strip()
    stored_reply = reply[:_REPLY]
    if response.status is Status.REFUSED or not split_words(reply):
        return Judgment(ReplyKind.DECLINED, None, stored_reply)
    names = zip(sorting.categories, sorting.texts, strict=True)
    alone = [name for name, text in names if split_words(reply) in (split_words(name), split_words(text))]
    if len(alone) == 1:  # signs and numbers alone tell some categories apart, which prose is not searched for
        return Judgment(ReplyKind.CATEGORY, alone[0], stored_reply)
    options = sorting.asked("").options
    parsed = parse(reply, options, truncated=response.status is Status.TRUNCATED)
    if parsed.choice is not None and parsed.choice < len(sorting.categories):
        return Judgment(ReplyKind.CATEGORY, sorting.categories[parsed.choice], stored_reply)
    invented = parsed.reason is NA.NEITHER and split_words(reply) != "none"
    return Judgment(ReplyKind.INVENTED if invented else ReplyKind.DECLINED, None, stored_reply)


def _requests(doubts: Sequence[Doubt]) -> Iterator[Request]:
    for at, doubt in enumerate(doubts):
        seed = _AGAIN if doubt.again else _SEED
        yield Request(at, 0, seed, WITHOUT, doubt.sorting.asked(doubt.text), _SAMPLING, exact=False, constrain=True)


WORDS_FOLDER = Path("annotations", "judged-words")
"""Where judgments lie in a run folder."""
_TEXTS = pl.List(pl.String())
_SCHEMA = pl.Schema({
    "judge": pl.String(), "group": pl.String(), "words": _TEXTS, "repeat": pl.Int64(), "kind": pl.String(),
    "named": _TEXTS, "invented": _TEXTS, "reply": pl.String(),
})  # fmt: skip
_LONGEST_WORDS = 2_000  # characters of a reply that are kept
Known: TypeAlias = Mapping[tuple[WordList, int], Named]


@dataclass(frozen=True, slots=True)
class WordJudgments:
    """Judgments of lists of words by a run's judge, by list and repeat. A changed list is another one."""

    name: str
    known: Known

    def combine_replies_to(self, words: WordList) -> Flagged | None:
        """Combine the judgments of a list; None if it was not asked about, or no reply is a list."""
        replies = [reply for (word_list, _), reply in self.known.items() if word_list == words]
        return combine_replies(words.words, replies)


@dataclass(slots=True)
class WordsOutcome:
    """Outcome of asking about words: replies before, replies for all lists now, and requests that failed."""

    before: int
    replies: Sequence[Named] = ()
    failed: int = 0
    why: str | None = None
    kinds: Counter[ListKind] = field(default_factory=Counter)


def read_word_judgments(folder: Path) -> WordJudgments | None:
    """Read what is stored in a run folder; None if nothing is."""
    rows = read_rows(folder / WORDS_FOLDER, _SCHEMA)
    if rows is None:
        return None
    again = f"Remove {folder / WORDS_FOLDER} and judge again."
    names = rows["judge"].unique().to_list()
    if len(names) != 1 or sum(rows.drop("reply").null_count().row(0)):
        raise RunError(f"{folder / WORDS_FOLDER} holds no judgments of one judge. {again}")
    replies: dict[tuple[WordList, int], Named] = {}
    for _, group, words, repeat, kind, named_words, invented, _ in rows.iter_rows():
        if kind not in set(ListKind) or not set(named_words) <= set(words):
            raise RunError(f"{folder / WORDS_FOLDER} holds what no judge says. {again}")
        replies[WordList(group, tuple(words)), repeat] = Named(ListKind(kind), tuple(named_words), tuple(invented))
    return WordJudgments(str(names[0]), replies)


def ask_words(folder: Path, lists: Sequence[WordList], offer: JudgedWords, model: Model) -> WordsOutcome:
    """Ask a judge about lists that it was not asked about before, and store what it says.

    Whatever ends this, what came is stored. Failed requests are not, so that the next call asks them again.
    """
    with RunLock(folder):
        recover(folder / WORDS_FOLDER, _SCHEMA)
        before = read_word_judgments(folder)
        check_judge(before.name if before else None, model, folder / WORDS_FOLDER)
        replies = dict(before.known) if before else {}
        requests = [(words, repeat) for words in lists for repeat in range(len(offer.seeds))]
        unasked = [request for request in requests if request not in replies]
        outcome = WordsOutcome(len(requests) - len(unasked))

        def row(response: Response) -> tuple[object, ...]:
            words, repeat = unasked[response.trial]
            reply = replies[words, repeat] = read_named_words(response.text, words.words, response.status)
            fields = (str(reply.kind), list(reply.words), list(reply.invented), (response.text or "")[:_LONGEST_WORDS])
            return words.group, list(words.words), repeat, *fields

        requested = _word_requests(unasked, offer)
        outcome.failed, outcome.why = ask_judge(folder / WORDS_FOLDER, _SCHEMA, model, requested, offer.sampling, row)
        outcome.replies = [replies[request] for request in requests if request in replies]
        outcome.kinds = Counter(reply.kind for reply in outcome.replies)
        return outcome


def _word_requests(unasked: Sequence[tuple[WordList, int]], offer: JudgedWords) -> Iterator[Request]:
    for at, (words, repeat) in enumerate(unasked):
        yield Request(
            at, repeat, offer.seeds[repeat], WITHOUT, offer.question(words), offer.sampling, exact=False
        )  # fmt: skip


def judged_by(folders: Sequence[Path]) -> Callable[[WordList], Flagged | None]:
    """Function that returns the judgment of a list from these run folders, whichever holds it."""
    stored = [judgments for folder in folders if (judgments := read_word_judgments(folder)) is not None]
    return lambda words: next(
        (flagged for judgments in stored if (flagged := judgments.combine_replies_to(words)) is not None), None
    )
