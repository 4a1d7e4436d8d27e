"""Answers gathered into arrays: stimuli x items x prompts, once per model."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.answers import NA, NA_DTYPE
from facevalue.measures.estimators import number_levels

Codes = npt.NDArray[np.int64]
Values = npt.NDArray[np.floating[Any]]
NOT_ASKED = 255
_REASONS = {reason: code + 1 for code, reason in enumerate(NA)}


def counted_column(score: str) -> str:
    """Column of answers that says how much of each counts on a score that leaves some out."""
    return f"(counted) {score}"


@dataclass(frozen=True)
class AnswerArrays:
    """One model's answers as one score."""

    # Shape (stimuli, items, prompts): the score of the valid answers (for two poles the weight of the favourable one,
    # in [0, 1]); NaN where there are none. Prompts are orderings x repeats, orderings outermost.
    weights: Values
    # Same shape: expected number of valid answers, 0 or 1 for a sampled reply, the probability of a valid answer where
    # probabilities were read; NaN where nothing was asked
    mass: Values
    reasons: npt.NDArray[np.uint8]  # same shape: 0 valid, `NOT_ASKED`, else why there is no answer (see `reason_code`)
    repeats: int = 1
    texts: tuple[str, ...] = ()  # of scores that are lists: what the numbers in `weights` stand for
    # Same shape: mass of valid answers that the score leaves out, which `mass` does not hold; None where it takes all
    left_out: Values | None = None

    @cached_property
    def _left_out_mass(self) -> npt.NDArray[np.float64] | float:
        """Mass of valid answers that the score leaves out, by stimulus and item."""
        return 0.0 if self.left_out is None else np.nansum(self.left_out, axis=2, dtype=np.float64)

    @cached_property
    def phi(self) -> npt.NDArray[np.float64]:
        """Mean score phi_i(x), shape (stimuli, items); NaN without any valid answer.

        The mean over valid answers (StylisticBias, section 4.4). Probabilities count as the valid answers to be
        expected of them, so that exact and sampled runs of a model agree.
        """
        seen = np.isfinite(self.weights)
        mass = np.where(seen, self.mass, 0)
        total = np.where(seen, self.weights * mass, 0).sum(axis=2, dtype=np.float64)
        n = mass.sum(axis=2, dtype=np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(n > 0, total / n, np.nan)

    @cached_property
    def totals(self) -> tuple[npt.NDArray[np.float64], ...]:
        """Sum of scores, mass of valid answers and number asked, each of shape (stimuli, items).

        Answers that the score leaves out are neither among the valid nor among those asked for: a missing one could
        have counted.
        """
        is_asked = self.reasons != NOT_ASKED
        valid = np.where(is_asked, self.mass, 0).astype(np.float64)
        weight = np.where(np.isfinite(self.weights), self.weights * valid, 0.0)
        n, size = valid.sum(axis=2), is_asked.sum(axis=2).astype(np.float64)
        return weight.sum(axis=2), n, size if self.left_out is None else np.maximum(size - self._left_out_mass, n)

    def by_prompt(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values of this shape, with orderings and repeats apart: (stimuli, items, orderings, repeats)."""
        return values.reshape(*values.shape[:2], -1, self.repeats)

    @cached_property
    def na_rate(self) -> npt.NDArray[np.float64]:
        """Expected share of a stimulus-item pair's replies without a valid answer; NaN if not asked."""
        is_asked = self.reasons != NOT_ASKED
        valid = np.where(is_asked, self.mass, 0).sum(axis=2, dtype=np.float64) + self._left_out_mass
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(is_asked.any(axis=2), 1 - valid / is_asked.sum(axis=2), np.nan)

    @cached_property
    def refusal_rate(self) -> npt.NDArray[np.float64]:
        """Share of a stimulus-item pair's replies that refuse; NaN if not asked, or if probabilities were read.

        Probabilities of the options don't say what the rest of the replies would be.
        """
        is_asked = self.reasons != NOT_ASKED
        refused = (self.reasons == reason_code(NA.REFUSED)).sum(axis=2)
        partial = (is_asked & (self.mass > 0) & (self.mass < 1)).any()
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(is_asked.any(axis=2) & ~partial, refused / is_asked.sum(axis=2), np.nan)


def reason_code(reason: NA) -> int:
    """Code of a reason in `AnswerArrays.reasons`."""
    return _REASONS[reason]


@dataclass(frozen=True)
class Axes:
    """Axes of the arrays."""

    images: Sequence[str]
    items: Callable[[pl.DataFrame], Codes]  # from answers to the item that each is about
    orderings: Sequence[str]  # levels of `ordering`, in the order of the arrays
    repeats: int  # replies per prompt: seeds, each with all draws
    size: int
    draws: int = 1  # replies to one question with one seed, told apart by the column `draw`


class Gathering:
    """Scatters answers into arrays, chunk by chunk."""

    def __init__(
        self, axes: Axes, columns: Sequence[str] = ("weight",), dtype: type[np.floating[Any]] = np.float32
    ) -> None:
        shape = (len(axes.images), axes.size, len(axes.orderings) * axes.repeats)
        self._axes = axes
        self._texts: dict[str, dict[str, int]] = {}
        arrays: dict[str, Values] = {name: np.full(shape, np.nan, dtype=dtype) for name in columns}
        self._fractions = {
            name: arrays.pop(fraction) for name in columns if (fraction := counted_column(name)) in columns
        }
        self._weights = arrays
        self._mass: Values = np.full(shape, np.nan, dtype=dtype)
        self._reasons = np.full(shape, NOT_ASKED, dtype=np.uint8)

    def add(self, chunk: pl.DataFrame) -> None:
        """Add a chunk of answers."""
        axes = self._axes
        image, item = number_levels(chunk["image"], axes.images), axes.items(chunk)
        ordering = number_levels(chunk["ordering"], axes.orderings)
        repeat = chunk["repeat"].to_numpy().astype(np.int64)
        if axes.draws > 1:
            repeat += chunk["draw"].cast(pl.String).cast(pl.Int64).to_numpy() * (axes.repeats // axes.draws)
        prompt = ordering * axes.repeats + repeat
        for name, weights in self._weights.items():
            column = self._number_texts(name, chunk[name]) if chunk[name].dtype == pl.String else chunk[name]
            weights[image, item, prompt] = column.to_numpy()
        for name, fraction in self._fractions.items():
            fraction[image, item, prompt] = chunk[counted_column(name)].to_numpy()
        self._mass[image, item, prompt] = chunk["mass"].to_numpy()
        reason = chunk["na"].cast(NA_DTYPE).to_physical().cast(pl.UInt8) + 1
        self._reasons[image, item, prompt] = reason.fill_null(0).to_numpy()

    def aggregates(self) -> dict[str, AnswerArrays]:
        """All answers so far, by score."""
        kind, repeats = AnswerArrays if len(self._weights) == 1 else _partly, self._axes.repeats
        out = {}
        for name, weights in self._weights.items():
            fraction = self._fractions.get(name)
            if fraction is None:
                out[name] = kind(weights, self._mass, self._reasons, repeats)
            else:
                counted = np.where(np.isfinite(fraction), self._mass * fraction, 0)
                out[name] = AnswerArrays(weights, counted, self._reasons, repeats, left_out=self._mass - counted)
        return out | {name: replace(out[name], texts=tuple(codes)) for name, codes in self._texts.items()}

    def _number_texts(self, name: str, texts: pl.Series) -> pl.Series:
        """Number of each text, in the order in which they came; null for none."""
        codes = self._texts.setdefault(name, {})
        for text in texts.drop_nulls().unique():
            codes.setdefault(text, len(codes))
        return texts.replace_strict(codes, return_dtype=pl.Float64) if codes else texts.cast(pl.Float64)


def collect(
    chunks: Iterable[pl.DataFrame],
    axes: Axes,
    columns: Sequence[str] = ("weight",),
    dtype: type[np.floating[Any]] = np.float32,
) -> dict[str, AnswerArrays]:
    """Scatter all answers into arrays."""
    gathering = Gathering(axes, columns, dtype)
    for chunk in chunks:
        gathering.add(chunk)
    return gathering.aggregates()


def _partly(weights: Values, mass: Values, reasons: npt.NDArray[np.uint8], repeats: int) -> AnswerArrays:
    """One of several scores of the same answers: an answer that has others alone is none here."""
    lacks = np.isnan(weights) & (reasons == 0)
    return AnswerArrays(weights, np.where(lacks, 0, mass), np.where(lacks, _REASONS[NA.NEITHER], reasons), repeats)


def balanced_means(weights: Values, group: Codes) -> npt.NDArray[np.float64]:
    """Mean over prompts, every group of prompts counting alike; shape (stimuli, items).

    Where prompts are grouped by the option that stands in a place, preference for an option cancels in the weight of
    that place, and preference for the place does not.
    """
    means = []
    for number in range(int(group.max()) + 1):
        prompts = weights[:, :, group == number].astype(np.float64)
        seen = np.isfinite(prompts)
        with np.errstate(invalid="ignore", divide="ignore"):
            means.append(np.where(seen, prompts, 0).sum(axis=2) / seen.sum(axis=2))
    return np.asarray(sum(means) / len(means))
