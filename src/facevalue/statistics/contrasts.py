"""Contrasts: shifts from a base, gaps between levels of a factor, and preferences for one of two pictures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.cluster_bootstrap import standard_error, wilcoxon_p
from facevalue.measures.definitions import Measure
from facevalue.measures.group_means import ratio_differences, unit_ratios
from facevalue.measures.majority import from_majority
from facevalue.measures.missing_data_bounds import Replies, phi_bounds, size_bounds
from facevalue.measures.shift import corrected_magnitude, shift_floor, shift_magnitude
from facevalue.measures.uncertainty import Bounds, Estimates
from facevalue.statistics.breakdown import CONTRAST, Breakdown, Codes
from facevalue.statistics.rivals import (
    ALIKE,
    EACH_OTHER,
    LEVELS_MEAN,
    OTHERS,
    UNIT,
    VALUE,
    answers_about,
    gap_rows,
    shifts_of,
    unit_means,
)
from facevalue.statistics.sets import BESIDE
from facevalue.statistics.shifts import (
    SEED,
    bound_difference,
    bound_difference_from_mean,
    estimate_difference,
    estimate_difference_from_mean,
)
from facevalue.statistics.statistic import (
    SUM_OF_SCORES,
    Definitions,
    Forms,
    PairNames,
    Score,
    Statistic,
    companion_measures,
    contrast_form,
    form_of,
    register,
    require_factor,
    within_form,
)

if TYPE_CHECKING:
    from facevalue.measures.estimates import EstimateTable
    from facevalue.statistics.estimand import Estimand
    from facevalue.statistics.scores import ModelScores, SumScores

NO_SINGLE_LEVEL = (OTHERS, LEVELS_MEAN, ALIKE)
"""References that a level may be compared with and that are no single level."""


def size_names(name: str) -> tuple[str, str]:
    """Names of the measures of a shift's size, and of that without what chance adds."""
    return f"abs_{name}", f"abs_{name}_corrected"


def require_cue(kind: str, breakdown: Breakdown) -> None:
    """Refuse a statistic that compares with a base where pictures have none."""
    if not breakdown.sets.cue:
        raise DataError(f"A {kind} needs a base: say what differs, and which level is the base.")


@register
@dataclass(frozen=True, kw_only=True)
class Shift(Statistic):
    """Difference of each picture's score from that of its base, within its unit.

    Attributes
    ----------
    size:
        Whether the size of a shift stands beside it, without its sign, and again without what chance adds.
    rank_test:
        Whether Wilcoxon's signed-rank test stands beside its own, as papers print it.
    """

    size: bool = False
    rank_test: bool = False

    kind = "shift"
    title = "Shifts from the base"
    lead = "How far each picture moves the answer from that to its base, within its unit."
    definitions: ClassVar[Definitions] = {
        "shift": ("Shift from the base: {}", "score(picture) - score(base), mean over pictures and questions")
    }
    facet_title = "Shifts of {}"
    effect = "shift"
    is_effect = True
    paired = True
    from_base = True

    def check(self, by: Sequence[str], breakdown: Breakdown) -> None:
        """Refuse shifts without a base."""
        require_cue(self.kind, breakdown)

    def check_score(self, score: Score, *, sides: bool) -> None:
        """Refuse pairs side by side, which have a preference."""
        self._refuse_left_out(score)
        if sides:
            raise DataError("A preference is one of pairs side by side, and a shift one of single pictures.")

    def companions(self, name: str) -> tuple[str, ...]:
        """Names of the measures of its size."""
        return size_names(name) if self.size else ()

    def untested_measures(self, name: str, *, tested: bool) -> tuple[str, ...]:
        """Names of what is not tested; its size is left out, which chance makes larger."""
        return () if tested else (name,)

    def measures(self, name: str, breakdown: Breakdown, score: Score) -> dict[str, Measure]:
        """Definitions of the shift and its sizes."""
        out = super().measures(name, breakdown, score)
        if self.size:
            plain, corrected = size_names(name)
            texts = {
                plain: (f"Size of {name}", f"|{name}| at the level reported"),
                corrected: (f"Size of {name} without the part that chance adds", f"sqrt(max(0, {name}² - se²))"),
            }
            limits = (0.0, out[name].limits[1])
            out |= companion_measures(out[name], texts, signed=False, comparison=False, limits=limits)
        return out

    def estimate(self, table: "EstimateTable", estimand: "Estimand", model: "ModelScores") -> None:
        """Add the shifts of cells, and their sizes."""
        rows, columns = model.cut(estimand.by)
        cells = model.values.cells(rows, columns)
        signed = model.values.estimates(cells, rows, columns)
        bounds = None
        if model.totals is not None:
            bounds = model.values.bounds(model.totals, rows, columns, model.poles)
        keep = (cells.shown > 0) & estimand.holds(cells.labels, cells.shown.size)
        ranked = wilcoxon_p(cells.sums, cells.counts) if self.rank_test else None
        model.enter(table, estimand, cells.labels, replace(signed, bounds=bounds, p_paper=ranked), keep)
        if self.size:
            labels = model.breakdown.make_labels(cells.labels)
            plain, corrected = (model.measures[name] for name in size_names(model.name_of(estimand)))
            size, ends = shift_magnitude(signed), None if bounds is None else size_bounds(bounds)
            table.add(plain, labels, replace(size, p=signed.p, floor=shift_floor(signed), bounds=ends), keep=keep)
            without_noise = corrected_magnitude(size, standard_error(cells.sums, cells.counts))
            table.add(corrected, labels, without_noise, keep=keep)

    def rival(self, estimand: "Estimand", answers: pl.DataFrame, breakdown: Breakdown, score: Score) -> pl.DataFrame:
        """Each picture less its base."""
        return shifts_of(unit_means(answers, breakdown, score), breakdown).select(*estimand.by, UNIT, VALUE)

    def direction_forms(self, by: Sequence[str], up: str, down: str, sides: PairNames, quantity: str) -> Forms:
        """Forms of a shift from the base, which is named where there is one."""
        return (f"{up} than {sides.base}", f"{down} than {sides.base}") if sides.base else (up, down)


@dataclass(frozen=True, kw_only=True)
class _BetweenLevels(Statistic):
    """Levels of a factor compared with each other, in one direction.

    Attributes
    ----------
    factor:
        The factor whose levels are compared.
    versus:
        Level that all others are compared with, or "(others)": each level with the rest; "(mean)": with the mean of the
        unit's levels; "(each other)": all pairs; "(alike)": with the majority of the unit's levels that is alike,
        whichever these are. By default two levels are compared with each other, and each of more with the rest.
    ends:
        All levels of the factor in their order: of those shown, the last alone is compared with the first.
    """

    factor: str = ""
    versus: str = ""
    ends: tuple[str, ...] = ()

    @property
    def compares(self) -> bool:
        """True if it compares levels of its factor."""
        return bool(self.factor)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.versus or self.ends) and not self.compares:
            raise DataError(f"A {self.kind} is not versus a level: only a gap is.")
        if self.ends and (self.versus or len(set(self.ends)) < len(self.ends)):
            raise DataError("`ends` names all levels of a factor in their order, each once, and stands for `versus`.")

    def contrasts(self, breakdown: Breakdown) -> list[tuple[str, str]]:
        """Levels that are compared, each with the one that it is compared with."""
        levels = breakdown.levels(self.factor)
        if self.ends:
            ordered = [level for level in self.ends if level in levels]
            return [(ordered[-1], ordered[0])]
        if self.versus == EACH_OTHER:
            return [(level, rival) for rival, level in combinations(levels, 2)]
        if self.versus:
            return [(level, self.versus) for level in levels if level != self.versus]
        return [(levels[1], levels[0])] if len(levels) == 2 else [(level, OTHERS) for level in levels]

    def check_levels(self, breakdown: Breakdown, alone: str) -> None:
        """Refuse levels that the factor has not, and what compares within units where `alone` says there is one."""
        levels = [*breakdown.levels(self.factor), OTHERS, LEVELS_MEAN, EACH_OTHER, ALIKE] if self.versus else []
        if self.versus and self.versus not in levels:
            raise UnknownNameError(f"level of {self.factor}", self.versus, levels)
        if self.versus in (LEVELS_MEAN, ALIKE) and alone:
            lack = "there is no mean of its levels" if self.versus == LEVELS_MEAN else "it has none that are alike"
            raise DataError(f"{alone}, so that {lack}: compare with {OTHERS}.")
        for level in breakdown.levels(self.factor) if self.ends else ():
            if level not in self.ends:
                raise DataError(f"`ends` names all levels of {self.factor} in their order, and lacks {level!r}.")

    def has_single_rival(self, breakdown: Breakdown) -> bool:
        """Return whether each level is compared with one other level."""
        several = self.versus in NO_SINGLE_LEVEL or (not self.versus and len(breakdown.levels(self.factor)) > 2)
        return bool(self.ends) or not several

    def row(self, by: Sequence[str], sides: PairNames) -> str:
        """Form of a row: the level beside the one that it is compared with."""
        if not self.factor:
            return "" if by else "Overall"
        against = "" if self.versus in NO_SINGLE_LEVEL else f" beside {contrast_form(self.factor)}"
        return f"{{{self.factor}}}{against}{''.join(f', {{{name}}}' for name in by)}"

    def labels(self, by: Sequence[str]) -> tuple[str, ...]:
        """Labels of its estimates: the level, and the one that it is compared with."""
        return (*by, self.factor, CONTRAST) if self.factor else tuple(by)

    def compared_form(self, by: Sequence[str], word: str) -> str:
        """Form of a row of its table."""
        prefix = "".join(f"{{{name}}}, " for name in by)
        return f"{prefix}{{{self.factor}}} {word} {contrast_form(self.factor)}"

    def declared_levels(self, breakdown: Breakdown) -> dict[str, tuple[str, ...]]:
        """All levels of the factor, beside those that they are compared with."""
        if not self.factor:
            return {}
        others = dict.fromkeys(rival for _, rival in self.contrasts(breakdown))
        return {self.factor: ("*",), CONTRAST: tuple(others)}


@register
@dataclass(frozen=True, kw_only=True)
class Gap(_BetweenLevels):
    """Difference between levels of a factor, of scores or of shifts: between units, or within where units have several.

    Attributes
    ----------
    of_shifts:
        Whether the shifts are compared, and not the scores.
    welch:
        Whether groups of faces are of about one size, so that Welch's test alone judges their gap.
    """

    of_shifts: bool = False
    welch: bool = False

    kind = "gap"
    title = "Differences"
    lead = "How far the answers to one level lie from those to another."
    definitions: ClassVar[Definitions] = {
        "gap": ("Gap between groups: {}", "mean of one group - mean of the other, each over pictures and questions"),
        "paired_gap": ("Difference within units: {}", "mean over units of score(level) - score(other level)"),
        "gap_from_mean": (
            "Difference from the mean of the unit's levels: {}",
            "mean over units of score(level) - mean over the unit's levels of the score of each",
        ),
        "gap_from_alike": (
            "Difference from the unit's levels that are alike: {}",
            "m_g - mean of m over the levels that are alike, by 1 / variance; score(unit, g) = a_unit + m_g",
        ),
        "shift_gap": ("Gap between groups of the shift: {}", "mean shift of one group - mean shift of the other"),
        "paired_shift_gap": (
            "Difference within units of the shift: {}",
            "mean over units of shift(level) - shift(other level)",
        ),
        "shift_gap_from_mean": (
            "Difference of the shift from the mean of the unit's levels: {}",
            "mean over units of shift(level) - mean over the unit's levels of the shift of each",
        ),
    }
    facet_title = "Gaps in {}"
    is_effect = True

    def __post_init__(self) -> None:
        require_factor(self, self.factor)
        super().__post_init__()
        if self.versus == ALIKE and (self.of_shifts or self.welch):
            stray = "of_shifts" if self.of_shifts else "welch"
            raise DataError(f"A gap versus {ALIKE} has no {stray!r}: it is between scores, by a test of its own.")

    @property
    def corrects_itself(self) -> bool:
        """True if q is adjusted over all levels of a cell."""
        return self.versus == ALIKE

    def check(self, by: Sequence[str], breakdown: Breakdown) -> None:
        """Refuse shifts without a base or by what they are of, and levels that the factor has not."""
        if self.of_shifts:
            require_cue("shift", breakdown)
            if self.factor in breakdown.sets.cue:
                raise DataError(f"Shifts are those of {self.factor!r}: break them down by it, or compare scores.")
        alone = "" if breakdown.varies_within_units(self.factor) else f"A unit has one level of {self.factor!r}"
        self.check_levels(breakdown, alone)

    def check_score(self, score: Score, *, sides: bool) -> None:
        """Refuse a score that leaves answers out where units' means are compared."""
        described = "gap on shifts" if self.of_shifts else "gap by Welch's test" if self.welch else (
            f"gap versus {self.versus}" if self.versus in (LEVELS_MEAN, ALIKE) else ""
        )  # fmt: skip
        if described:
            self._refuse_left_out(score, described)

    def is_between_units(self, breakdown: Breakdown) -> bool:
        """Return whether a unit has one level of the factor."""
        return not breakdown.varies_within_units(self.factor)

    def is_within_units(self, breakdown: Breakdown) -> bool:
        """Return whether units have several levels of the factor."""
        return breakdown.varies_within_units(self.factor)

    def quantity(self, breakdown: Breakdown) -> str:
        """Name of the gap: of shifts, between units, or within them."""
        kind = "shift_gap" if self.of_shifts else "gap"
        if not breakdown.varies_within_units(self.factor):
            return kind
        return {LEVELS_MEAN: f"{kind}_from_mean", ALIKE: "gap_from_alike"}.get(self.versus, f"paired_{kind}")

    def limits(self, score: Score, breakdown: Breakdown) -> tuple[float, float]:
        """The scale's span either way, and twice that of shifts."""
        reach = (2 if self.of_shifts else 1) * (score.span or inf)
        return -reach, reach

    def is_paired(self, breakdown: Breakdown) -> bool:
        """Return whether it is within units."""
        return breakdown.varies_within_units(self.factor)

    def definition(self, breakdown: Breakdown, score: Score) -> tuple[str, str]:
        """Title and equation of the kind of gap."""
        title, equation = super().definition(breakdown, score)
        if score.leaves_out and self.quantity(breakdown) in ("gap", "paired_gap"):
            equation = f"{SUM_OF_SCORES}, of one group - of the other"
        return title, equation

    def estimate(self, table: "EstimateTable", estimand: "Estimand", model: "ModelScores") -> None:
        """Add the gaps of all contrasts in all cells."""
        if self.versus == ALIKE:
            self._estimate_from_majority(table, estimand, model)
            return
        at = model.breakdown.sets.variation_rows if self.of_shifts else model.breakdown.stimuli(estimand.factors)
        split = model.split(at, self.factor, estimand.by)
        sums, counts, is_shown = split.sum_levels(model.values.delta if self.of_shifts else model.values.phi[at])
        poles, replies, base = model.poles, None, None
        if model.totals is not None:
            has_requests, of_base = model.totals[2] > 0, model.breakdown.sets.base_of
            counted = has_requests[at]
            if self.of_shifts:
                counted = counted & has_requests[of_base] & (of_base >= 0)[:, None]
            replies = [split.sum_levels(np.where(counted, total[at], 0.0))[0] for total in model.totals]
            if self.of_shifts:
                base = [split.sum_levels(np.where(counted, total[of_base], 0.0))[0] for total in model.totals]
        leaves_out = model.score.leaves_out
        if leaves_out and replies is not None:  # each answer stands for itself, as in a mean
            sums, counts = replies[0], replies[1]
        gaps, keep, bounds = [], [], []
        labels = {name: list[str | None]() for name in (*split.labels, self.factor, CONTRAST)}
        rest, levels = (OTHERS, LEVELS_MEAN), split.levels
        is_within = model.breakdown.varies_within_units(self.factor)
        largest = None if model.score.span is None else self.limits(model.score, model.breakdown)[1]
        for level, rival in self.contrasts(model.breakdown):
            place = [levels.index(level)]
            rivals = [i for i, name in enumerate(levels) if name == rival or (rival in rest and name != level)]
            pair = [(sums[:, side].sum(axis=1), counts[:, side].sum(axis=1)) for side in (rivals, place)]
            if rival == LEVELS_MEAN:
                gaps.append(estimate_difference_from_mean(sums, counts, place[0], largest))
            elif leaves_out:
                gaps.append(ratio_differences(pair[0], pair[1], largest or np.inf))
            else:
                gaps.append(estimate_difference(pair, largest, pooled=not self.welch, within=is_within))
            keep.append(is_shown[place].any(axis=0) & is_shown[rivals].any(axis=0))
            if replies is not None:
                sides = place, rivals
                bounds.append(
                    bound_difference_from_mean(replies, place[0], poles)
                    if rival == LEVELS_MEAN
                    else bound_difference(replies, base, sides, poles, paired=is_within)
                )
            for name, of_cells in split.labels.items():
                labels[name] += of_cells
            labels[self.factor] += [level] * sums.shape[-1]
            labels[CONTRAST] += [rival] * sums.shape[-1]
        all_gaps = replace(Estimates.concatenate(gaps), bounds=Bounds.concatenate(bounds) if bounds else None)
        model.enter(table, estimand, labels, all_gaps, np.concatenate(keep))

    def estimate_sums(self, table: "EstimateTable", estimand: "Estimand", scores: "SumScores") -> None:
        """Add the gaps between all levels of the factor, of scores that have any."""
        labels, gaps = scores.gaps(estimand.by, self.factor)
        scores.enter(table, estimand, labels, gaps)

    def _estimate_from_majority(self, table: "EstimateTable", estimand: "Estimand", model: "ModelScores") -> None:
        """Add each level beside the unit's levels that are alike; q is of all levels of a cell, which is a family."""
        levels, breakdown = model.breakdown.levels(self.factor), model.breakdown
        measure = model.measures[model.name_of(estimand)]
        for cell in model.levels_of_units(estimand):
            limits = model.poles if model.totals is not None else None
            contrast = from_majority(cell.means, SEED, limits, cell.replies)
            cells = {name: [level] * len(levels) for name, level in {**cell.labels, CONTRAST: ALIKE}.items()}
            within = ", ".join(map(str, cell.labels.values()))
            family = f"{estimand.family_name} ({within})" if cell.labels else estimand.family_name
            estimates = contrast.estimates
            if estimand.tested:
                estimates = replace(estimates, q=contrast.q, p_least=np.full(len(levels), contrast.p_least))
            else:
                estimates = estimates.without_tests()
            table.add(
                measure, breakdown.make_labels({**cells, self.factor: levels}),
                replace(estimates, bounds=None if cell.replies is None else contrast.bounds),
                family if estimand.tested else None, keep=cell.is_shown & estimand.holds(cells, len(levels)),
            )  # fmt: skip

    def rival(self, estimand: "Estimand", answers: pl.DataFrame, breakdown: Breakdown, score: Score) -> pl.DataFrame:
        """Levels beside each other, by their units."""
        means = unit_means(answers, breakdown, score)
        rows = shifts_of(means, breakdown) if self.of_shifts else answers_about(means, estimand.factors, breakdown)
        return gap_rows(rows, self.factor, breakdown, self.contrasts(breakdown)[0][1], estimand.by)

    def phrase(self, words: str) -> str:
        """Name of the quantity that differs."""
        return f"shifts of {words}" if self.of_shifts else words

    def facet_words(self, words: str) -> str:
        """Name of the quantity that differs between groups."""
        return self.phrase(words)

    def subject(self, by: Sequence[str], sides: PairNames) -> str:
        """Form of the level."""
        return f"{{{self.factor}}}"

    def direction_forms(self, by: Sequence[str], up: str, down: str, sides: PairNames, quantity: str) -> Forms:
        """Forms of a level that is higher or lower than the other."""
        peer, within = contrast_form(self.factor), within_form(by)
        if self.of_shifts:
            text = f"shift of {quantity} {{size}}"
            return f"{text} higher than that of {peer}{within}", f"{text} lower than that of {peer}{within}"
        return f"{up} than {peer}{within}", f"{down} than {peer}{within}"

    def label_form(self, by: Sequence[str]) -> str:
        """Form of a row of its table."""
        return self.compared_form(by, "less")


@register
class Preference(_BetweenLevels):
    """Preference, in answers about pairs, for one picture: that beside the base, or that with a level of a factor."""

    kind = "preference"
    title = "Preferences"
    lead = (
        "How far the answers lean to one picture of a pair: to that beside the base, or to that with the level named "
        "first."
    )
    definitions: ClassVar[Definitions] = {
        "preference": (
            "Preference over the base picture: {}",
            "mean score - middle of the scale, over pairs",
        ),
        "preference_between": (
            "Preference for one of two pictures: {}",
            "mean over pairs of score(picture of the level, beside one of the other level) - middle of the scale",
        ),
    }
    facet_title = "Preferences, by {}"
    effect = "preference"
    phrase_form = "preferences"
    reach = 0.5
    is_effect = True
    of_pairs = True

    def check(self, by: Sequence[str], breakdown: Breakdown) -> None:
        """Refuse what pairs don't differ in, and breakdowns by what they do."""
        if bool(self.factor) != breakdown.any_two:
            lack = "of any two pictures needs `factor`" if breakdown.any_two else (
                "for the picture beside the base has no `factor`"
            )  # fmt: skip
            raise DataError(f"A preference {lack}: the factor whose levels stand beside each other.")
        if self.factor and self.factor not in breakdown.sets.of_both:
            raise DataError(f"The pictures of a pair do not differ in {self.factor!r}: there is nothing to prefer.")
        if self.factor and (differ := breakdown.sets.of_pairs & {*by}):
            raise DataError(
                f"A preference is of two pictures, which differ in {min(differ)!r}: break it down by what both show."
            )
        if self.factor:
            self.check_levels(breakdown, "A preference is for one of two pictures")

    def check_score(self, score: Score, *, sides: bool) -> None:
        """Refuse single pictures, which have a shift."""
        self._refuse_left_out(score)
        if not sides:
            raise DataError("A preference is one of pairs side by side, and a shift one of single pictures.")

    def quantity(self, breakdown: Breakdown) -> str:
        """Name of the preference: for the picture beside the base, or between any two."""
        return "preference_between" if self.factor else self.kind

    def pairs(self, breakdown: Breakdown) -> Iterator[tuple[dict[str, str], Codes, npt.NDArray[np.bool_]]]:
        """For each estimate its labels, its pairs, and whether the score of each speaks against the level.

        Beside a base there is one, of all pairs as they are. Of any two pictures, one for each contrast of levels.
        """
        table = breakdown.sets.manifest
        if not self.factor:
            yield {}, np.arange(table.height), np.zeros((table.height, 1), dtype=np.bool_)
            return
        levels = table.select(picture=self.factor, beside=f"{BESIDE}{self.factor}")
        for level, contrast in self.contrasts(breakdown):

            def is_between(first: str, second: str, level: str = level, contrast: str = contrast) -> pl.Expr:
                rival = pl.col(second) != level if contrast == OTHERS else pl.col(second) == contrast
                return ((pl.col(first) == level) & rival).fill_null(value=False)

            either = levels.select(
                is_between("picture", "beside").alias("for"), is_between("beside", "picture").alias("against")
            )
            at = np.flatnonzero((either["for"] | either["against"]).to_numpy())
            yield {self.factor: level, CONTRAST: contrast}, at, either["against"].to_numpy()[at, None]

    def estimate(self, table: "EstimateTable", estimand: "Estimand", model: "ModelScores") -> None:
        """Add the preferences of all contrasts in all cells."""
        score, breakdown = model.score, model.breakdown
        columns, both_ends = breakdown.columns(estimand.by), score.low + score.high
        largest = None if score.span is None else score.span / 2
        for labels, at, is_turned in self.pairs(breakdown):
            rows = breakdown.rows(at, estimand.by)
            phi = model.values.phi[at]
            cells = model.cells(np.where(is_turned, both_ends - phi, phi) - both_ends / 2, at, rows, columns)
            means = unit_ratios(cells.sums, cells.counts, SEED, largest=largest)
            bounds = None
            if model.totals is not None:
                total, valid, requested = (of_pair[at] for of_pair in model.totals)
                turned = np.where(is_turned, both_ends * valid - total, total)
                replies = Replies(*(model.cells(x, at, rows, columns).sums for x in (turned, valid, requested)))
                bounds = phi_bounds(replies, model.poles).subtract(both_ends / 2)
            labelled = {**cells.labels, **{name: [level] * means.value.size for name, level in labels.items()}}
            model.enter(table, estimand, labelled, replace(means, bounds=bounds), cells.shown > 0)

    def rival(self, estimand: "Estimand", answers: pl.DataFrame, breakdown: Breakdown, score: Score) -> pl.DataFrame:
        """Each pair's lean to the picture."""
        means = unit_means(answers, breakdown, score)
        images, tables = breakdown.sets.manifest["image"], []
        for labels, at, is_turned in self.pairs(breakdown):
            signs = pl.DataFrame({"image": images[at], "(sign)": np.where(is_turned[:, 0], -1.0, 1.0)})
            lean = (pl.col(VALUE) - score.middle) * pl.col("(sign)")
            columns = [pl.lit(level).alias(name) for name, level in labels.items()]
            tables.append(means.join(signs, on="image").select(*estimand.by, UNIT, lean.alias(VALUE), *columns))
        return pl.concat(tables)

    def subject(self, by: Sequence[str], sides: PairNames) -> str:
        """Form of the picture that is preferred."""
        return f"{{{self.factor}}}" if self.factor else form_of(by) or sides.counterpart or "What was changed"

    def direction_forms(self, by: Sequence[str], up: str, down: str, sides: PairNames, quantity: str) -> Forms:
        """Forms of a preference for or against."""
        peer = contrast_form(self.factor) if self.factor else sides.base or "the base"
        if self.factor:
            within = within_form(by)
            return f"preferred to {peer} by {{size}}{within}", f"passed over for {peer} by {{size}}{within}"
        return f"preferred to {peer} by {{size}}", f"passed over for {peer} by {{size}}"

    def row(self, by: Sequence[str], sides: PairNames) -> str:
        """Form of a row: what is beside the base, where both have names."""
        if not self.factor and sides.counterpart and sides.base:
            return f"{form_of(by) or sides.counterpart} beside {sides.base}"
        return super().row(by, sides)

    def label_form(self, by: Sequence[str]) -> str:
        """Form of a row of its table."""
        return self.compared_form(by, "beside") if self.factor else super().label_form(by)
