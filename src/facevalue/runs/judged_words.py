"""Judgments of lists of words: each list asked of a judge model several times, stored beside the answers."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import polars as pl

from facevalue.answers.listed_words import Flagged, ListKind, Named, combine_replies, read_named_words
from facevalue.errors import RunError
from facevalue.models.base import Model
from facevalue.protocol.offers import JudgedWords, WordList
from facevalue.runs.judged_texts import ask_judge, check_judge, read_rows, recover
from facevalue.stimuli.blank import WITHOUT
from facevalue.store.lease import RunLock
from facevalue.types import Request, Response

FOLDER = Path("annotations", "judged-words")
"""Where judgments lie in a run folder."""
_TEXTS = pl.List(pl.String())
_SCHEMA = pl.Schema({
    "judge": pl.String(), "group": pl.String(), "words": _TEXTS, "repeat": pl.Int64(), "kind": pl.String(),
    "named": _TEXTS, "invented": _TEXTS, "reply": pl.String(),
})  # fmt: skip
_REPLY = 2_000  # characters of a reply that are kept
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
    rows = read_rows(folder / FOLDER, _SCHEMA)
    if rows is None:
        return None
    again = f"Remove {folder / FOLDER} and judge again."
    names = rows["judge"].unique().to_list()
    if len(names) != 1 or sum(rows.drop("reply").null_count().row(0)):
        raise RunError(f"{folder / FOLDER} holds no judgments of one judge. {again}")
    replies: dict[tuple[WordList, int], Named] = {}
    for _, group, words, repeat, kind, named_words, invented, _ in rows.iter_rows():
        if kind not in set(ListKind) or not set(named_words) <= set(words):
            raise RunError(f"{folder / FOLDER} holds what no judge says. {again}")
        replies[WordList(group, tuple(words)), repeat] = Named(ListKind(kind), tuple(named_words), tuple(invented))
    return WordJudgments(str(names[0]), replies)


def ask_words(folder: Path, lists: Sequence[WordList], offer: JudgedWords, model: Model) -> WordsOutcome:
    """Ask a judge about lists that it was not asked about before, and store what it says.

    Whatever ends this, what came is stored. Failed requests are not, so that the next call asks them again.
    """
    with RunLock(folder):
        recover(folder / FOLDER, _SCHEMA)
        before = read_word_judgments(folder)
        check_judge(before.name if before else None, model, folder / FOLDER)
        replies = dict(before.known) if before else {}
        requests = [(words, repeat) for words in lists for repeat in range(len(offer.seeds))]
        unasked = [request for request in requests if request not in replies]
        outcome = WordsOutcome(len(requests) - len(unasked))

        def row(response: Response) -> tuple[object, ...]:
            words, repeat = unasked[response.trial]
            reply = replies[words, repeat] = read_named_words(response.text, words.words, response.status)
            fields = (str(reply.kind), list(reply.words), list(reply.invented), (response.text or "")[:_REPLY])
            return words.group, list(words.words), repeat, *fields

        requested = _requests(unasked, offer)
        outcome.failed, outcome.why = ask_judge(folder / FOLDER, _SCHEMA, model, requested, offer.sampling, row)
        outcome.replies = [replies[request] for request in requests if request in replies]
        outcome.kinds = Counter(reply.kind for reply in outcome.replies)
        return outcome


def _requests(unasked: Sequence[tuple[WordList, int]], offer: JudgedWords) -> Iterator[Request]:
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
