"""Requests that failed: how many, with what, and what to do about it."""

import re
from pathlib import Path

from facevalue.printable import printable
from facevalue.store.reader import commonest_failure

_MOST = 300  # characters of an error that are quoted: run folders may come from strangers


def quote_line(text: str, most: int = _MOST) -> str:
    """An error, or another text of strangers, as a quotation of one line of so many characters."""
    line = " ".join(printable(text[: 4 * most]).split())
    return f"“{line if len(line) <= most and len(text) <= 4 * most else line[: most - 1] + '…'}”"


AGAIN = "`facevalue run` asks them again."
"""What is to be done about requests that failed."""
_REJECTED = re.compile(r"HTTP 4(?!01|02|04|08|13|29)\d\d\b")
"""Errors by which a server may decline to answer: not those of keys, money, addresses, sizes and rates."""
_DECLINED = "If that is how it declines to answer, give words of it with --refusal-words: then they count as refusals."


def failures(failed: int, requests: int, error: str, again: str = AGAIN) -> str:
    """Sentence on the requests that failed: their number, the most frequent error, and what to do about it.

    Examples
    --------
    >>> failures(3, 4, "HTTP 503")
    '3 of 4 requests failed (75.0%), most often with “HTTP 503”. `facevalue run` asks them again.'
    """
    often = f", most often with {quote_line(error)}" if error else ""
    hint = f" {_DECLINED}" if _REJECTED.match(error) else ""
    return f"{failed:,} of {requests:,} requests failed ({failed / requests:.1%}){often}. {again}{hint}"


def failures_of(folder: Path, failed: int, requests: int) -> str:
    """The sentence on failed requests of a run folder."""
    return failures(failed, requests, commonest_failure(folder))
