"""Scoring of texts: each distinct one once, stored as it goes, and never again."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from facevalue.annotations import scores as stored
from facevalue.annotations.checked_scores import CheckedScorer
from facevalue.annotations.scorers import Scorer, Scoring
from facevalue.annotations.scores import ANNOTATIONS, HEADER, Hashes, Scores, present
from facevalue.errors import DataError
from facevalue.store.journal import JOURNAL, Journal, left_over
from facevalue.store.lock import RunLock

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
        stored_hashes = _begun(scores)
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


def _begun(scores: Scores) -> Hashes:
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
    """Store what a killed process left in its journal; it may have died once that was in a file."""
    rows = left_over(scores.folder, stored.seal(scores.folder), scores.schema)
    if rows is None:
        return
    (stored_scores,) = (
        candidate for candidate in stored.read(scores.folder.parents[1]) if candidate.name == scores.name
    )
    if (new := rows.filter(~pl.col("text").is_in(pl.Series(stored_scores.hashes).implode()))).height:
        stored.add(scores, new)
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
