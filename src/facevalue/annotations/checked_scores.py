"""Check of scores as they come: what a scorer gives that is no score is an error of its text, and of no other."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from facevalue.annotations.scorers import Scorer, Scoring
from facevalue.errors import DataError, FaceValueError, ReplyError
from facevalue.printable import first_line, printable, quoted

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
            return self._checked(texts)
        except ReplyError as error:
            if len(texts) > 1:
                middle = len(texts) // 2
                return _joined(self.score(texts[:middle]), self.score(texts[middle:]), middle)
            reason = f"{error}, for {quoted(texts[0])}"
            self._refuse(reason)
            return Scoring({label: [None] for label in self._scorer.labels}, unasked={0: reason})

    def _checked(self, texts: Sequence[str]) -> Scoring:
        scorer, size = self._scorer, len(texts)
        try:
            scoring: Any = scorer.score(texts)
            if not isinstance(scoring, Scoring):
                raise ReplyError(f"{scorer.name} gave {quoted(scoring)}, not a Scoring")
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
                    unasked[at] = f"{scorer.name} gave {error} as a score of {label!r}, for {quoted(texts[at])}"
                    self._refuse(unasked[at])
                    break
            else:
                if at not in unasked:
                    self._in_a_row, self._limit = 0, _LATER
        return Scoring(scores, reasons, cut, unasked)

    def _column(self, scores: Any, label: str, size: int) -> list[Any]:
        """What the scorer gives for a label: of each text something."""
        name = self._scorer.name
        if not isinstance(scores, Mapping) or label not in scores:
            raise ReplyError(f"{name} gave no scores for {label!r}")
        values = scores[label]
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
            raise ReplyError(f"{name} gave {quoted(values)} as scores of {label!r}")
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
        raise ReplyError(quoted(value)) from None


def _by_place(reasons: Mapping[int, object], size: int) -> dict[int, str]:
    return {at: printable(f"{reasons[at]}"[:_REASON]) for at in range(size) if at in reasons}


def _joined(first: Scoring, second: Scoring, size: int) -> Scoring:
    """Scorings of texts and of those after them; the first are so many."""
    return Scoring(
        {label: [*scores, *second.scores[label]] for label, scores in first.scores.items()},
        {**first.reasons, **{size + at: reason for at, reason in second.reasons.items()}},
        [*first.cut, *(size + at for at in second.cut)],
        {**first.unasked, **{size + at: reason for at, reason in second.unasked.items()}},
    )
