"""Scoring of texts: each distinct one once, stored as it goes, and never again."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from facevalue.annotations import scores as stored
from facevalue.annotations.scorers import Scorer, Scoring
from facevalue.annotations.scores import ANNOTATIONS, HEADER, Hashes, Scores, present
from facevalue.errors import DataError, FaceValueError, ReplyError
from facevalue.printable import first_line, printable, quote
from facevalue.store.journal import JOURNAL, Journal, left_over
from facevalue.store.lease import RunLock

# Check of scores as they come: what a scorer gives that is no score is an error of its text, and of no other.


_AT_ONCE, _LATER = 20, 100
"""So many texts in a row without scores that can count end the scoring: before one that has some, and after."""
_REASON = 2_000  # characters that are kept


class CheckedScorer:
    """Asks a scorer, and lets one number or none through for each text and label.

    Where nobody can say which score is whose, as there are too many or too few, or the scorer raises, the texts are
    scored in halves, down to the one that it is about.
    """

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._in_a_row, self._limit = 0, _AT_ONCE

    def score(self, texts: Sequence[str]) -> Scoring:
        """Scores of texts; those that cannot count are left for later, each with the reason.

        Raises
        ------
        DataError
            Of many texts in a row none has a score that can count; the message quotes the last.
        FaceValueError
            The scorer's own, by which it says that it can score nothing.
        """
        try:
            return self._score_checked(texts)
        except ReplyError as error:
            if len(texts) > 1:
                middle = len(texts) // 2
                return _join_scorings(self.score(texts[:middle]), self.score(texts[middle:]), middle)
            reason = f"{error}, for {quote(texts[0])}"
            self._refuse(reason)
            return Scoring({label: [None] for label in self._scorer.labels}, unasked={0: reason})

    def _score_checked(self, texts: Sequence[str]) -> Scoring:
        scorer, size = self._scorer, len(texts)
        try:
            scoring: Any = scorer.score(texts)
            if not isinstance(scoring, Scoring):
                raise ReplyError(f"{scorer.name} gave {quote(scoring)}, not a Scoring")
            columns = {label: self._column(scoring.scores, label, size) for label in scorer.labels}
            reasons, unasked = (_by_place(faults, size) for faults in (scoring.reasons, scoring.unasked))
            cut = [int(at) for at in scoring.cut]
        except FaceValueError:
            raise
        except (Exception, SystemExit) as error:  # whatever a stranger's code raises
            raise ReplyError(f"{scorer.name} raised {first_line(error)}") from error
        scores: dict[str, list[float | None]] = {label: [None] * size for label in columns}
        for at in range(size):
            for label, values in columns.items():
                try:
                    scores[label][at] = _score(values[at])
                except ReplyError as error:
                    unasked[at] = f"{scorer.name} gave {error} as a score of {label!r}, for {quote(texts[at])}"
                    self._refuse(unasked[at])
                    break
            else:
                if at not in unasked:
                    self._in_a_row, self._limit = 0, _LATER
        return Scoring(scores, reasons, cut, unasked)

    def _column(self, scores: Any, label: str, size: int) -> list[Any]:
        """Values that the scorer gives for a label, one per text."""
        name = self._scorer.name
        if not isinstance(scores, Mapping) or label not in scores:
            raise ReplyError(f"{name} gave no scores for {label!r}")
        values = scores[label]
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
            raise ReplyError(f"{name} gave {quote(values)} as scores of {label!r}")
        column = list(islice(values, size + 1))
        if len(column) != size:
            many = f"more than {size:,}" if len(column) > size else f"{len(column):,}"
            raise ReplyError(f"{name} gave {many} scores of {label!r} for {size:,} {'text' if size == 1 else 'texts'}")
        return column

    def _refuse(self, reason: str) -> None:
        self._in_a_row += 1
        if self._in_a_row >= self._limit:
            raise DataError(
                f"No score of {self._in_a_row} texts in a row can count. The last: {reason}. What was stored before is "
                "kept."
            )


def _score(value: Any) -> float | None:
    """A number, or None where there is none; NaN and infinity are none."""
    if value is None or type(value) is float:
        return value if value is not None and math.isfinite(value) else None
    try:
        if isinstance(value, str | bytes | bool):
            raise TypeError
        number = float(value)
        return number if math.isfinite(number) else None
    except Exception:  # whatever a stranger's object raises
        raise ReplyError(quote(value)) from None


def _by_place(reasons: Mapping[int, object], size: int) -> dict[int, str]:
    return {at: printable(f"{reasons[at]}"[:_REASON]) for at in range(size) if at in reasons}


def _join_scorings(first: Scoring, second: Scoring, size: int) -> Scoring:
    """Scorings of texts and of those after them; the first are so many."""
    return Scoring(
        {label: [*scores, *second.scores[label]] for label, scores in first.scores.items()},
        {**first.reasons, **{size + at: reason for at, reason in second.reasons.items()}},
        [*first.cut, *(size + at for at in second.cut)],
        {**first.unasked, **{size + at: reason for at, reason in second.unasked.items()}},
    )


_ROWS, _EVERY = 100_000, 1.0  # a file is written after so many texts, or seconds: what a power cut may lose
_FILES = 64  # small files that are put together into one


@dataclass(slots=True)
class ScoringOutcome:
    """Outcome of scoring.

    Attributes
    ----------
    texts:
        Distinct texts.
    before:
        Of these, how many had been scored before, or had failed.
    done:
        Scored now; those that failed or were cut are among them.
    failed, cut:
        How many of these lack a score, and how many were scored in pieces or in part.
    unasked:
        Texts that could not be scored now; nothing is stored of them.
    why:
        Of one of these, the reason.
    """

    texts: int = 0
    before: int = 0
    done: int = 0
    failed: int = 0
    cut: int = 0
    unasked: int = 0
    why: str = ""


def score_texts(
    folder: Path,
    scorer: Scorer,
    texts: Callable[[], Iterable[pl.Series]],
    name: str = "",
    passed: Callable[[ScoringOutcome], object] | None = None,
) -> ScoringOutcome:
    """Score texts of a run folder that have no scores yet.

    Parameters
    ----------
    folder:
        Of the run.
    scorer:
        Who scores.
    texts:
        Gives the texts in pieces, any of them any number of times; called twice.
    name:
        What the scores are called, the scorer's own name for them by default.
    passed:
        Is told how far it is, at the beginning and after each call of the scorer.

    Raises
    ------
    DataError
        Another scorer's scores are called so, or of many texts in a row none gets a score that can count.
    """
    place = folder / ANNOTATIONS / (name or scorer.called)
    scores = Scores(place.name, scorer.name, scorer.version, scorer.digest, scorer.labels, place)
    with RunLock(place):
        stored_hashes = _begin_scores(scores)
        hashes_of_pieces = [np.unique(present(piece.drop_nulls()).to_numpy()) for piece in texts()]
        all_hashes = np.unique(np.concatenate([*hashes_of_pieces, np.empty(0, np.uint64)]))
        new = all_hashes[~np.isin(all_hashes, stored_hashes)]
        now = ScoringOutcome(len(all_hashes), len(all_hashes) - len(new))
        tell = passed or (lambda _: None)
        tell(now)
        writer, checked = _Writer(scores), CheckedScorer(scorer)
        try:
            for hashes, some in _batches(texts(), new, scorer.at_once):
                scoring = checked.score(some)
                table = _rows(scores, hashes, scoring)
                writer.add(table)
                now.done += table.height
                now.failed += table.height - table["reason"].null_count()
                now.cut += int(table["cut"].sum())
                now.unasked += len(scoring.unasked)
                now.why = next(iter(scoring.unasked.values()), now.why)
                tell(now)
        finally:
            writer.close()
    return now


def _begin_scores(scores: Scores) -> Hashes:
    """Hashes of the texts that have been scored; the header is written where there is none."""
    if not (scores.folder / HEADER).exists():
        stored.begin(scores)
        return np.empty(0, np.uint64)
    _recover(scores)
    (before,) = (candidate for candidate in stored.read(scores.folder.parents[1]) if candidate.name == scores.name)
    if before.by != scores.by:
        raise DataError(
            f"The scores called {scores.name!r} are of {before.scorer} (version {before.version}, digest "
            f"{before.digest[:12]}, labels {', '.join(before.labels)}), not of this {scores.scorer} (version "
            f"{scores.version}, digest {scores.digest[:12]}, labels {', '.join(scores.labels)}). "
            "Give these another --name."
        )
    return before.hashes


def _rows(scores: Scores, hashes: pl.Series, scoring: Scoring) -> pl.DataFrame:
    """Rows to be stored of texts that could be scored now: scores, or why there is none."""
    columns = [pl.Series(label, scoring.scores[label], dtype=pl.Float64) for label in scores.labels]
    lacking = pl.concat_str(
        (pl.when(pl.col(label).is_null()).then(pl.lit(label)) for label in scores.labels), separator=", ",
        ignore_nulls=True,
    )  # fmt: skip
    reasons = pl.Series([scoring.reasons.get(at) for at in range(len(hashes))], dtype=pl.String)
    reason = pl.DataFrame(columns).select(
        pl.coalesce(reasons, pl.when(lacking != "").then(pl.lit("no score of ") + lacking)).alias("reason")
    )
    places = np.arange(len(hashes))
    cut = np.isin(places, list(scoring.cut))
    rows = dict(zip(scores.schema.names(), [hashes, *columns, reason["reason"], cut], strict=True))
    return pl.DataFrame(rows, schema=scores.schema).filter(~np.isin(places, list(scoring.unasked)))


def _recover(scores: Scores) -> None:
    """Store what a killed process left in its journal; what it had put into a file already is read once."""
    rows = left_over(scores.folder, stored.seal(scores.folder), scores.schema)
    if rows is not None:
        stored.add(scores, rows)
        (scores.folder / JOURNAL).unlink(missing_ok=True)


def _batches(pieces: Iterable[pl.Series], new: Hashes, size: int) -> Iterator[tuple[pl.Series, list[str]]]:
    """Texts whose hashes are new, each once, so many at a time."""
    waiting = np.ones(len(new), dtype=np.bool_)
    for piece in pieces:
        texts = piece.drop_nulls()
        hashes = present(texts)
        table = pl.DataFrame({"text": texts, "hash": hashes}).unique("hash", keep="first", maintain_order=True)
        at = np.searchsorted(new, table["hash"].to_numpy())
        is_new = np.append(new, 0)[at] == table["hash"].to_numpy()
        is_new[is_new] = waiting[at[is_new]]
        waiting[at[is_new]] = False
        for batch in table.filter(pl.Series(is_new)).iter_slices(size):
            yield batch["hash"], batch["text"].to_list()


class _Writer:
    """Stores scores as they come; many small files become one."""

    def __init__(self, scores: Scores) -> None:
        self._own = scores
        self._tables: list[pl.DataFrame] = []
        self._small: list[tuple[Path, pl.DataFrame]] = []
        self._since = time.monotonic()
        self._journal = Journal(scores.folder, stored.seal(scores.folder))

    def add(self, table: pl.DataFrame) -> None:
        self._tables.append(table)
        self._journal.append(table)
        if sum(table.height for table in self._tables) >= _ROWS or time.monotonic() - self._since >= _EVERY:
            self.flush()

    def flush(self) -> None:
        if any(table.height for table in self._tables):
            table = pl.concat(self._tables)
            path = stored.add(self._own, table)
            if table.height < _ROWS:
                self._small.append((path, table))
        if len(self._small) >= _FILES:
            stored.add(self._own, pl.concat([table for _, table in self._small]))
            for path, _ in self._small:  # a kill before this leaves rows twice, which are read once
                path.unlink()
            self._small.clear()
        self._tables.clear()
        self._journal.clear()
        self._since = time.monotonic()

    def close(self) -> None:
        self.flush()
        self._journal.close()
