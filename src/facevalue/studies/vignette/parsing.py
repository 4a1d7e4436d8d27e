"""What replies mean: which option was chosen, and what that says of the identities."""

import re

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.answers import NA, NA_DTYPE, from_probs, parse
from facevalue.studies.vignette.options import BOTH, NONE, Form, Offered
from facevalue.types import Option, Status

LEAST_MASS = 0.01
"""Probability that must be on the options together. Prompts count by this mass, so that little is needed of it."""
_LEFT, _RIGHT = re.compile(r"\bleft\b", re.IGNORECASE), re.compile(r"\bright\b", re.IGNORECASE)
_NOBODY = re.compile(r"\b(?:none|neither|nobody|no one)\b", re.IGNORECASE)


def answer(frame: pl.DataFrame, offered: Offered) -> pl.DataFrame:
    """Read the replies of a trial frame.

    Parameters
    ----------
    frame:
        Trial columns with `repeat`, `status`, `text` and `probs`.
    offered:
        The options of its rows.

    Returns
    -------
    The rows with, in place of text and probs: `weight` (f64; of option 1, or of the right answer), `mass`, `na`,
    `other` (f64; of option 2 where two are chosen between), `swapped` (f64; of the question who alone), `both`, `none`
    (f64; where they were offered), `wrong_1`, `wrong_2` (f64; of wrong activities, the third is the rest),
    `listed_first` (whether option 1, or the right answer, was listed before option 2, or before all wrong answers) and
    `left_first` (whether identity 1 or activity 1 is the left half).

    An answer "both" or "none" is valid where it was offered, and chooses neither of the two.
    """
    weights, mass, na = _sampled(frame, offered)
    read = frame["probs"].is_not_null().to_numpy()
    if read.any():
        exact, sums, reasons = _exact(frame, offered)
        weights = np.where(read[:, None], exact, weights)
        mass = np.where(read, sums, mass)
        na = pl.select(pl.when(pl.Series(read)).then(reasons).otherwise(na)).to_series()
    who, doing = offered.form == Form.WHO, offered.form == Form.DOING
    four = who | (offered.form == Form.FOUR)
    columns = {
        "weight": weights[:, 0],
        "other": np.where(who | doing, np.nan, weights[:, 1]),
        "swapped": np.where(who, weights[:, 1], np.nan),
        "both": np.where(four, weights[:, 2], np.nan),
        "none": np.where(four, weights[:, 3], np.nan),
        "wrong_1": np.where(doing, weights[:, 1], np.nan),
        "wrong_2": np.where(doing, weights[:, 2], np.nan),
    }
    place = offered.place
    first = np.where(who | doing, place[:, 0] == 0, place[:, 0] < place[:, 1])
    return frame.drop("text", "probs").with_columns(
        *(pl.Series(name, values).fill_nan(None) for name, values in columns.items()),
        pl.Series("mass", mass),
        na.alias("na"),
        pl.Series("listed_first", first),
        pl.Series("left_first", offered.left_first),
    )


def _sampled(
    frame: pl.DataFrame, offered: Offered
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], pl.Series]:
    """One-hot weights of the roles; NaN where there is no valid answer."""
    role, reason = _roles(frame, offered)
    valid = role >= 0
    weights = np.full((frame.height, 4), np.nan)
    weights[valid] = 0.0
    weights[np.flatnonzero(valid), role[valid]] = 1.0
    return weights, valid.astype(np.float64), reason


def _roles(frame: pl.DataFrame, offered: Offered) -> tuple[npt.NDArray[np.int64], pl.Series]:
    """Which role each reply names, -1 for none, and why there is none.

    Most replies are an option and nothing else, as the protocol constrains them: those are compared as columns. What is
    left is parsed once for each distinct reply to the same list.
    """
    said = frame["text"].cast(pl.String)
    failed = frame["status"].cast(pl.String).is_in([Status.REFUSED.value, Status.ERROR.value]) | said.is_null()
    plain = said.str.to_lowercase().str.strip_chars(" \t\r\n.\"'*`")
    role = np.full(frame.height, -1, dtype=np.int64)
    for code in range(4):
        same = (plain == offered.texts[f"role_{code}"].str.to_lowercase()).fill_null(value=False)
        role[(same & ~failed).to_numpy()] = code
    reasons = np.full(frame.height, None, dtype=object)
    refused = (frame["status"].cast(pl.String) == Status.REFUSED.value).to_numpy()
    reasons[failed.to_numpy()] = NA.ERROR.value
    reasons[refused] = NA.REFUSED.value
    rest = np.flatnonzero((role < 0) & ~failed.to_numpy())
    if rest.size:
        parsed = _parsed(frame[rest], offered, rest)
        role[rest], reasons[rest] = parsed
    return role, pl.Series("na", reasons.tolist(), dtype=NA_DTYPE)


def _parsed(
    frame: pl.DataFrame, offered: Offered, rows: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.object_]]:
    place = offered.place[rows]
    status = frame["status"].cast(pl.String).to_list()
    known: dict[tuple[object, ...], tuple[int, str | None]] = {}
    role = np.full(rows.size, -1, dtype=np.int64)
    reasons = np.full(rows.size, None, dtype=object)
    listed = zip(offered.texts[rows].iter_rows(), place.tolist(), offered.form[rows].tolist(), strict=True)
    for i, (said, state, (texts, order, form)) in enumerate(zip(frame["text"], status, listed, strict=True)):
        key = (said, state, texts, form)
        if key not in known:
            shown = [text for _, text in sorted((p, t) for p, t in zip(order, texts, strict=True) if p >= 0)]
            known[key] = _one(str(said), state, shown, texts, Form(form))
        role[i], reasons[i] = known[key]
    return role, reasons


def _one(
    said: str, status: str | None, shown: list[str], texts: tuple[str | None, ...], form: Form
) -> tuple[int, str | None]:
    """Parse one reply: its role, or the reason why there is none."""
    # Sorted, as the parser is built anew for each list of options in each order.
    four = form in (Form.WHO, Form.FOUR)
    people = sorted(text for text in shown if not four or text.lower() not in (BOTH, NONE))
    found = parse(said, tuple(Option("", text, text) for text in people), truncated=status == Status.TRUNCATED.value)
    if found.choice is not None:
        return texts.index(people[found.choice]), None
    reason = found.reason
    if four and reason == NA.BOTH:
        return 2, None
    if four and reason == NA.NEITHER and _NOBODY.search(said[:200]):
        return 3, None
    if reason == NA.NEITHER and "the left person" in shown and bool(_LEFT.search(said)) != bool(_RIGHT.search(said)):
        return texts.index("the left person" if _LEFT.search(said) else "the right person"), None
    return -1, None if reason is None else reason.value


def _exact(frame: pl.DataFrame, offered: Offered) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], pl.Series]:
    """Weights of the roles from the probabilities of the options in the order listed."""
    read = from_probs(frame, "probs", minimum=LEAST_MASS)
    listed = read.select(pl.col("weights").list.get(i, null_on_oob=True).alias(str(i)) for i in range(4))
    values = listed.to_numpy().astype(np.float64)
    at = np.where(offered.place < 0, 0, offered.place).astype(np.int64)
    weights = np.where(offered.place < 0, np.nan, np.take_along_axis(values, at, axis=1))
    mass = read.select(pl.when(pl.col("na").is_null()).then(pl.col("mass")).otherwise(0.0)).to_series()
    return weights, mass.to_numpy(), read["na"]
