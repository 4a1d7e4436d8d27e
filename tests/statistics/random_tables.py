"""Random tables of answers, and plain recomputations of what statistics say of them: a few lines each, by definition.

Nothing here but the classes of statistics is the package's.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import scipy
from hypothesis import strategies as st
from statsmodels.stats.oneway import anova_oneway

from facevalue.statistics import (
    Correlation,
    Estimand,
    Flip,
    Gap,
    GapSize,
    LargestGap,
    Lean,
    Mean,
    Range,
    Shift,
    Spread,
    Statistic,
    Tally,
    Unsigned,
)

SCALES = ((0.0, 1.0), (1.0, 5.0), (-2.0, 2.0))
OF_UNITS, OF_PICTURES, OF_PROMPTS = ("gender", "age"), ("hat", "worn", "place"), ("job", "field", "wording")
VERSUS = ("", "(others)", "(mean)", "(each other)", "(alike)", "level")
ALL_MODELS = "(all models)"


class Plain(NamedTuple):
    """What a plain recomputation gives; None where there is nothing."""

    value: float | None
    n: int
    clusters: int


Expected = dict[tuple[str, ...], Plain]
"""By levels of the labels, in the order of `Case.labels`."""


@dataclass
class Table:
    """A random table of answers.

    Attributes
    ----------
    answers:
        A row for each answer.
    scale:
        Lowest and highest score.
    estimands:
        What is estimated, each by a measure of its own name: m0, m1, ...
    cue:
        Factor in which pictures differ from their base, whose level is "none"; empty where they have no base.
    questions:
        Factors that tell questions apart besides those of the estimands.
    """

    answers: pl.DataFrame
    scale: tuple[float, float]
    estimands: list[Estimand]
    cue: str = ""
    questions: tuple[str, ...] = ()

    @property
    def base(self) -> str:
        return "none" if self.cue else ""


def drawn_answers(
    rng: np.random.Generator, units: int, scale: tuple[float, float], *, binary: bool, repeats: int, lost: float,
    asked: float, masses: bool, reasons: bool, models: int, cue: bool,
) -> pl.DataFrame:  # fmt: skip
    """Answers about pictures of units, of which some are not asked, some more often, and some are missing."""
    rows, low, high = [], *scale
    hats = ("none", "cap", "veil")[: rng.integers(2, 4)]
    for unit in range(units):
        about = {"unit": f"u{unit}", "gender": "fm"[rng.integers(2)], "age": ["old", "teen", "young"][rng.integers(3)]}
        about["years"] = {"old": "70", "teen": "15", "young": "30"}[about["age"]]
        pictures = [(hat, place) for hat in hats for place in ("home", "shop") if rng.random() < 0.7]
        if cue:  # each unit has one base at most
            bases = [picture for picture in pictures if picture[0] == "none"]
            pictures = [picture for picture in pictures if picture not in bases[1:]]
        for hat, place in pictures:
            picture = {
                "picture": f"{rng.integers(10**9)}",
                "hat": hat,
                "place": place,
                "worn": "bare" if hat == "none" else "on",
            }
            for job in ("cook", "judge", "nurse"):
                for wording in "ab":
                    for model in range(models):
                        if rng.random() > asked:
                            continue
                        for _ in range(rng.integers(1, repeats + 1)):
                            score = float(rng.integers(2)) if binary else float(rng.integers(0, 9) / 8)
                            rows.append({
                                **about, **picture, "job": job, "field": "law" if job == "judge" else "care",
                                "pay": {"cook": "1.5", "judge": "9", "nurse": "2"}[job],
                                "wording": wording, "model": f"model {model}", "score": low + (high - low) * score,
                            })  # fmt: skip
    if not rows:
        return pl.DataFrame()
    table = pl.DataFrame(rows)
    is_lost = pl.Series(rng.random(table.height) < lost)
    table = table.with_columns(score=pl.when(~is_lost).then("score"))
    if reasons:
        names = pl.Series(["refused", "error", "neither", "empty", None])
        reason = names.gather(rng.integers(5, size=table.height))
        table = table.with_columns(missing=pl.when(is_lost).then(reason))
    if masses:
        mass = pl.Series(rng.choice([0.25, 0.7, 1.0, 1e-6, np.nan], table.height))
        table = table.with_columns(mass=mass.fill_nan(None))
    return table if models > 1 else table.drop("model")


def drawn_estimand(rng: np.random.Generator, number: int, cue: str) -> Estimand:
    """Any statistic of any factors; what cannot be estimated of them is among these."""

    def one(*names: Sequence[str]) -> str:
        return str(rng.choice([name for group in names for name in group]))

    pictures = [name for name in OF_PICTURES if name != cue or rng.random() < 0.2]
    kinds: list[Callable[[], Statistic]] = [
        Mean, Lean, *[lambda: drawn_gap(rng, one(OF_UNITS, OF_PICTURES, OF_PROMPTS))] * 3,
        *[lambda: Spread(factor=one(OF_UNITS, pictures))] * 2, lambda: drawn_tally(rng, one(OF_UNITS, [cue or "age"])),
        *[lambda: Range(factor=one(OF_PICTURES))] * (1 + bool(cue)),
        *[Flip, lambda: Shift(size=bool(rng.integers(2)))] * (2 * bool(cue)),
        *[lambda: drawn_sizes(rng, cue)] * 2, *[lambda: drawn_correlation(rng, cue)] * 2,
    ]  # fmt: skip
    statistic = kinds[rng.integers(len(kinds))]()
    free = [name for name in (*OF_UNITS, *OF_PICTURES, *OF_PROMPTS) if name not in statistic.factors]
    by = tuple(str(name) for name in rng.permutation(free)[: rng.choice([0, 1, 1, 2])])
    if isinstance(statistic, Spread) and statistic.factor in OF_UNITS:
        by = OF_PROMPTS if rng.integers(2) else ()
    if isinstance(statistic, Tally):
        by = tuple(name for name in by if name in OF_PROMPTS)
    if isinstance(statistic, Range):
        by = (*(name for name in by if name in OF_PROMPTS), *({"hat", "place"} - {statistic.factor}))
    only = {by[0]: LEVELS[by[0]][:1]} if by and rng.random() < 0.15 and not isinstance(statistic, Unsigned) else {}
    return Estimand(statistic, by=by, only=only, measure=f"m{number}", tested=bool(rng.random() < 0.8))


LEVELS = {
    "gender": ("f", "m"), "age": ("old", "teen", "young"), "hat": ("cap", "none", "veil"), "worn": ("bare", "on"),
    "place": ("home", "shop"), "job": ("cook", "judge", "nurse"), "field": ("care", "law"), "wording": ("a", "b"),
}  # fmt: skip


TWO_LEVELS = ("gender", "place", "worn", "field", "wording")


def drawn_sizes(rng: np.random.Generator, cue: str) -> GapSize:
    factor = str(rng.choice([*TWO_LEVELS, cue or "hat"]))
    over = tuple(str(name) for name in rng.permutation([*OF_UNITS, *OF_PICTURES, *OF_PROMPTS]) if name != factor)
    if rng.integers(2):
        return LargestGap(factor=factor, over=over[:1])
    return GapSize(factor=factor, over=over[: rng.integers(1, 3)], accuracy="score" if rng.random() < 0.4 else "")


def drawn_correlation(rng: np.random.Generator, cue: str) -> Correlation:
    first, column = (("job", "pay"), ("age", "years"))[rng.integers(2)]
    factor = str(rng.choice([*TWO_LEVELS, cue or "hat", "", ""]))
    other = str(rng.choice([name for name in (*OF_UNITS, *OF_PICTURES, *OF_PROMPTS) if name not in (factor, first)]))
    versus = LEVELS[factor][0] if factor in TWO_LEVELS and rng.integers(2) else ""
    return Correlation(over=(first, other), column=column, factor=factor, versus=versus)


def drawn_tally(rng: np.random.Generator, factor: str) -> Tally:
    return Tally(factor=factor, any_of=("wording",) if rng.integers(2) and factor != "wording" else ())


def drawn_gap(rng: np.random.Generator, factor: str) -> Gap:
    versus = str(rng.choice(VERSUS))
    if versus == "level":
        versus = str(rng.choice(LEVELS[factor]))
    if not versus and rng.integers(2):
        return Gap(factor=factor, ends=tuple(map(str, rng.permutation(LEVELS[factor]))))
    return Gap(factor=factor, versus=versus, of_shifts=bool(rng.random() < 0.3 and versus != "(alike)"))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Random tables with estimands that may or may not be of them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale, binary, cue = draw(st.sampled_from(SCALES)), draw(st.booleans()), draw(st.booleans())
    answers = drawn_answers(
        rng, draw(st.integers(1, 9)), scale, binary=binary, repeats=draw(st.sampled_from((1, 1, 3))),
        lost=draw(st.sampled_from((0.0, 0.1, 0.6))), asked=draw(st.sampled_from((1.0, 0.8, 0.2))),
        masses=draw(st.booleans()), reasons=draw(st.booleans()), models=draw(st.sampled_from((1, 1, 1, 2, 3))), cue=cue,
    )  # fmt: skip
    estimands = [drawn_estimand(rng, number, "hat" if cue else "") for number in range(draw(st.integers(1, 6)))]
    questions = tuple(name for name in OF_PROMPTS if rng.integers(2))
    return Table(answers, scale, estimands, "hat" if cue else "", questions)


@dataclass
class Recomputation:
    """What a table says of one model, recomputed over all of its rows at once."""

    table: Table
    model: str

    def __post_init__(self) -> None:
        answers, estimands = self.table.answers, self.table.estimands
        named = {name for estimand in estimands for name in estimand.factors} | {*self.table.questions, self.table.cue}
        self.named = sorted(named - {""})
        self.everything = answers
        varying = answers.group_by("picture").agg(pl.col(self.named).n_unique()) if self.named else pl.DataFrame()
        self.prompt = [name for name in self.named if varying[name].max() > 1]  # type: ignore[operator]
        if self.model == ALL_MODELS:
            known = [cells for cells in map(self.cells_of, models_of(answers)) if self.is_known(cells)]
            keys = ["picture", "unit", *self.named]
            together = pl.concat(known).drop_nulls("m").group_by(keys).agg(m=pl.col("m").mean(), times=pl.len())
            asked = pl.concat(known).group_by(keys).agg(times=pl.len()).filter(times=len(known))
            self.cells = asked.drop("times").join(
                together.filter(times=len(known)).drop("times"), on=keys, how="left"
            ).with_columns(w=pl.lit(None, pl.Float64), replies=pl.lit(None, pl.UInt32))  # fmt: skip
        else:
            self.cells = self.cells_of(self.model)

    def cells_of(self, model: str) -> pl.DataFrame:
        """Mean score, mass and number of the answers to each question about each picture; null without a valid one."""
        answers = self.everything.filter(pl.col("model") == model) if model else self.everything
        mass = pl.col("mass").fill_null(1.0) if "mass" in answers.columns else pl.lit(1.0)
        weights = answers.with_columns(w=pl.when(pl.col("score").is_not_null()).then(mass).otherwise(0.0))
        cells = weights.group_by("picture", "unit", *self.named).agg(
            pl.col("w").sum(), s=(pl.col("w") * pl.col("score")).sum(), replies=pl.len()
        )
        mean = pl.when(pl.col("w") > 0).then(pl.col("s") / pl.col("w"))
        return cells.select("picture", "unit", *self.named, "w", "replies", m=mean)

    def is_known(self, cells: pl.DataFrame) -> bool:
        """Whether there is any score, or any shift where pictures have a base."""
        return bool((self.shifts_in(cells) if self.table.cue else cells)["m"].count())

    def shifts_in(self, cells: pl.DataFrame) -> pl.DataFrame:
        """Each picture's score less that of its unit's base to the same question."""
        is_base, keys = pl.col(self.table.cue) == "none", ["unit", *self.prompt]
        bases = cells.filter(is_base).select(*keys, base="m", base_w="w")
        joined = cells.filter(~is_base).join(bases, on=keys, how="left")
        return joined.with_columns(m=pl.col("m") - pl.col("base"), after="m")

    def about(self, estimand: Estimand) -> pl.DataFrame:
        """Scores that an estimand is of: those of bases, if there are any, unless it names the cue."""
        if self.table.cue and self.table.cue not in estimand.factors:
            return self.cells.filter(pl.col(self.table.cue) == "none")
        return self.cells

    def levels(self, name: str) -> list[str]:
        return sorted(self.everything[name].unique())

    def within_units(self, name: str) -> bool:
        """Whether units have several levels of a factor, or it is one of the questions."""
        return name in self.prompt or bool(
            (self.everything.group_by("unit").agg(pl.col(name).n_unique())[name] > 1).any()
        )

    def expected(self, estimand: Estimand) -> dict[str, Expected]:
        """What is expected, by measure."""
        name, statistic = estimand.measure, estimand.statistic
        match statistic:
            case Mean():
                return {name: self.means(self.about(estimand), estimand)}
            case Lean():
                return {
                    name: self.means(
                        self.about(estimand).with_columns(pl.col("m") - sum(self.table.scale) / 2), estimand
                    )
                }
            case Shift():
                return self.shifts(estimand)
            case Gap():
                return {name: dict(self.gaps(estimand))}
            case Spread():
                return {name: self.spreads(estimand)}
            case Tally():
                return {name: self.tallies(estimand)}
            case Range():
                return self.ranges(estimand)
            case Flip():
                return self.flips(estimand)
            case GapSize():
                return self.sizes(estimand)
            case Correlation():
                return {name: self.correlations(estimand)}
        raise NotImplementedError(statistic)

    def means(self, rows: pl.DataFrame, estimand: Estimand, column: str = "m") -> Expected:
        """Mean over pictures and questions."""
        rows = rows.drop_nulls(column)
        return {
            key: Plain(mean(part[column]), part.height, part["unit"].n_unique())
            for key, part in parts(rows, estimand.by)
        }

    def shifts(self, estimand: Estimand) -> dict[str, Expected]:
        """Mean shifts, their sizes, and these less what chance adds."""
        rows = self.shifts_in(self.cells).drop_nulls("m")
        out = {estimand.measure: self.means(rows, estimand)}
        if not estimand.statistic.size:  # type: ignore[attr-defined]
            return out
        sizes, corrected = Expected(), Expected()
        for key, part in parts(rows, estimand.by):
            value = mean(part["m"])
            assert value is not None
            units = part.group_by("unit").agg(s=(pl.col("m") - value).sum())["s"].to_numpy()
            se2 = units.size / (units.size - 1) * (units**2).sum() / part.height**2 if units.size > 1 else np.nan
            sizes[key] = Plain(abs(value), part.height, units.size)
            less = None if units.size < 2 else max(value**2 - se2, 0.0) ** 0.5
            corrected[key] = Plain(less, part.height, units.size)
        return out | {f"abs_{estimand.measure}": sizes, f"abs_{estimand.measure}_corrected": corrected}

    def gaps(self, estimand: Estimand) -> Iterator[tuple[tuple[str, ...], Plain]]:
        """Levels beside each other: within units where any has several levels, else between units."""
        gap, factor = estimand.statistic, estimand.compared_factor
        assert isinstance(gap, Gap)
        rows = (self.shifts_in(self.cells) if gap.of_shifts else self.about(estimand)).drop_nulls("m")
        for key, part in parts(rows, estimand.by):
            of_unit = part.group_by("unit", factor).agg(pl.col("m").mean())
            for level, rival in contrasts(gap, self.levels(factor)):
                label, is_level = (*key, level, rival), pl.col(factor) == level
                is_rival = pl.col(factor) == rival if rival in self.levels(factor) else ~is_level
                if rival == "(mean)":
                    apart = of_unit.with_columns(
                        pl.col("m") - pl.col("m").mean().over("unit"), pl.len().over("unit").alias("many")
                    )
                    apart = apart.filter(is_level, pl.col("many") > 1)
                elif self.within_units(factor):
                    first, second = (
                        part.filter(side).group_by("unit").agg(pl.col("m").mean()) for side in (is_level, is_rival)
                    )
                    apart = first.join(second, on="unit", suffix=" of the rival").with_columns(
                        pl.col("m") - pl.col("m of the rival")
                    )
                else:
                    first, second = part.filter(is_level), part.filter(is_rival)
                    values = mean(first["m"]), mean(second["m"])
                    value = None if None in values else values[0] - values[1]  # type: ignore[operator]
                    both = pl.concat([first, second])
                    yield label, Plain(value, both.height, both["unit"].n_unique())
                    continue
                yield label, Plain(mean(apart["m"]), apart.height, apart.height)

    def effects(self, estimand: Estimand) -> Iterator[tuple[tuple[str, ...], dict[str, float], int, int]]:
        """By cell: levels' effects by least squares of score = unit + level, and numbers of scores and units."""
        factor = estimand.compared_factor
        for key, part in parts(self.about(estimand).drop_nulls("m"), estimand.by):
            of_unit = part.group_by("unit", factor).agg(pl.col("m").mean()).filter(pl.len().over("unit") > 1)
            levels, units = (sorted(of_unit[name].unique()) for name in (factor, "unit"))
            design = np.array([
                [*(float(x == unit) for x in units), *(float(x == level) for x in levels)]
                for level, unit in of_unit.select(factor, "unit").iter_rows()
            ])  # fmt: skip
            effects: dict[str, float] = {}
            if len(levels) > 1 and np.linalg.matrix_rank(design) == len(levels) + len(units) - 1:
                solved = np.linalg.lstsq(design, of_unit["m"].to_numpy(), rcond=None)[0][len(units) :]
                effects = dict(zip(levels, (solved - solved.mean()).tolist(), strict=True))
            yield key, effects, of_unit.height, len(units)

    def spreads(self, estimand: Estimand) -> Expected:
        """Standard deviation of what groups or levels have."""
        factor, out = estimand.compared_factor, Expected()
        if self.within_units(factor):
            for key, effects, n, units in self.effects(estimand):
                out[*key, factor] = Plain(float(np.std([*effects.values()], ddof=1)) if effects else None, n, units)
            return out
        rows = self.about(estimand).drop_nulls("m")
        of_unit = rows.group_by("unit", factor, *self.prompt).agg(pl.col("m").mean())
        spread = (
            of_unit.group_by(*self.prompt, factor)
            .agg(pl.col("m").mean())
            .group_by(self.prompt or pl.lit(0))
            .agg(pl.col("m").std())
        )
        if estimand.by:
            values = {row[: len(self.prompt)]: row[-1] for row in spread.select(*self.prompt, "m").iter_rows()}
            places = [self.prompt.index(name) for name in estimand.by]
            for key, part in parts(of_unit, self.prompt):
                out[*(key[place] for place in places), factor] = Plain(values[key], part.height, part.height)
        else:
            out[(factor,)] = Plain(mean(spread["m"].drop_nulls()), of_unit.height, of_unit["unit"].n_unique())
        return out

    def tallies(self, estimand: Estimand) -> Expected:
        """Share of the questions that were asked with p < .05, by Welch's test or that of pairs."""
        tally, factor, out = estimand.statistic, estimand.compared_factor, Expected()
        assert isinstance(tally, Tally)
        question = [name for name in self.prompt if name not in tally.any_of]
        is_of_cue = factor == self.table.cue
        rows = self.shifts_in(self.cells) if is_of_cue else self.about(estimand)
        of_unit = rows.group_by("unit", factor, *self.prompt).agg(pl.col("m").mean())
        asked = self.everything.select(question).unique() if question else pl.DataFrame({"one": [0]})
        for key, wanted in parts(asked, estimand.by):
            hits, seen = [], set[str]()
            for labels in wanted.iter_rows():
                is_of_question = [pl.col(name) == level for name, level in zip(question, labels, strict=False)]
                same = of_unit.filter(pl.lit(value=True), *is_of_question).drop_nulls("m")
                seen |= set(same["unit"])
                ps = [self.p_of(part, factor, is_of_cue) for _, part in parts(same, list(tally.any_of))]
                tested = [p for p in ps if p is not None]
                hits.append(None if not tested else float(min(tested) < 0.05))
            value = None if all(hit is None for hit in hits) else sum(filter(None, hits)) / len(hits)
            out[*key, factor] = Plain(value, len(hits), len(seen))
        return out

    def p_of(self, part: pl.DataFrame, factor: str, is_of_cue: bool) -> float | None:
        """P of one question; None where it cannot be tested."""
        if is_of_cue:
            shifts = part["m"].to_numpy()
            if shifts.size < 2:
                return None
            if np.ptp(shifts) < 1e-9:
                return 2.0 ** (1 - shifts.size) if abs(shifts.mean()) > 1e-9 else 1.0
            return float(scipy.stats.ttest_1samp(shifts, 0.0).pvalue)
        groups = [of_group["m"].to_numpy() for _, of_group in parts(part, [factor]) if of_group.height > 1]
        if len(groups) < 2 or any(np.ptp(group) < 1e-9 for group in groups):
            return None
        return float(anova_oneway(groups, use_var="unequal").pvalue)

    def ranges(self, estimand: Estimand) -> dict[str, Expected]:
        """Mean range, and the one that one in ten exceeds, where each question about a picture has one answer."""
        factor, means, tails = estimand.compared_factor, Expected(), Expected()
        of_pictures = [name for name in estimand.by if name not in self.prompt]
        manifest = self.everything
        if self.table.cue and self.table.cue not in estimand.factors:
            manifest = manifest.filter(pl.col(self.table.cue) == "none")
        size = {key: part[factor].n_unique() for key, part in parts(manifest, of_pictures)}
        for key, part in parts(self.about(estimand), estimand.by):
            many = size[tuple(key[estimand.by.index(name)] for name in of_pictures)]
            if many < 2:
                continue
            of_set = part.drop_nulls("m").group_by("unit", *of_pictures, *self.prompt).agg(
                r=pl.col("m").max() - pl.col("m").min(), levels=pl.col(factor).n_unique()
            ).filter(levels=many)  # fmt: skip
            values = of_set["r"].to_numpy()
            n, units = values.size, of_set["unit"].n_unique()
            means[*key, factor] = Plain(mean(of_set["r"]), n, units)
            tails[*key, factor] = Plain(float(np.quantile(values, 0.9)) if n else None, n, units)
        return {estimand.measure: means, f"{estimand.measure}_q90": tails}

    def cells_over(self, estimand: Estimand, factor: str, versus: str = "") -> dict[tuple[str, ...], tuple[float, int]]:
        """Gap or mean, and n, of each cell of a statistic over cells that has any."""
        statistic = estimand.statistic
        assert isinstance(statistic, GapSize | Correlation)
        by = (*estimand.by, *statistic.over)
        named = Estimand(Mean(), by=by)
        if factor and factor == self.table.cue:
            found = self.means(self.shifts_in(self.cells), named)
        elif not factor:
            found = self.means(self.about(named), named)
        else:
            gaps = self.gaps(Estimand(Gap(factor=factor, versus=versus), by=by))
            found = {key[:-2]: plain for key, plain in gaps}
        return {key: (plain.value, plain.n) for key, plain in found.items() if plain.value is not None}

    def units_in(self, estimand: Estimand, factor: str, keys: list[tuple[str, ...]]) -> int:
        """Units with answers in any of these cells, where they have what is compared."""
        statistic = estimand.statistic
        assert isinstance(statistic, GapSize | Correlation)
        by, rows = (*estimand.by, *statistic.over), self.about(estimand).drop_nulls("m")
        if factor and factor == self.table.cue:
            rows = self.shifts_in(self.cells).drop_nulls("m")
        units: set[str] = set()
        for key, part in parts(rows, by):
            if key in keys:
                is_within = factor and factor != self.table.cue and self.within_units(factor)
                both = part.filter(pl.col(factor).n_unique().over("unit") > 1) if is_within else part
                units |= {*both["unit"]}
        return len(units)

    def sizes(self, estimand: Estimand) -> dict[str, Expected]:
        """Mean or largest size of the gaps of cells, and the mean of accuracy times one less the size."""
        statistic, many = estimand.statistic, len(estimand.by)
        assert isinstance(statistic, GapSize)
        gaps = self.cells_over(estimand, statistic.factor)
        out, products = Expected(), Expected()
        for key in {key[:many] for key in gaps}:
            cells = {cell: found for cell, found in gaps.items() if cell[:many] == key}
            sizes = [abs(gap) for gap, _ in cells.values()]
            value = max(sizes) if isinstance(statistic, LargestGap) else float(np.mean(sizes))
            units = self.units_in(estimand, statistic.factor, list(cells))
            out[*key, statistic.factor] = Plain(value, sum(n for _, n in cells.values()), units)
            if statistic.accuracy:
                right = self.cells_over(estimand, "")
                shares = [(right[cell], abs(gap)) for cell, (gap, _) in cells.items() if cell in right]
                of_cells = pl.Series([share * (1 - size) for (share, _), size in shares], dtype=pl.Float64)
                products[*key, statistic.factor] = Plain(mean(of_cells), sum(n for (_, n), _ in shares), -1)
        return {estimand.measure: out, **({f"{estimand.measure}_accuracy": products} if statistic.accuracy else {})}

    def correlations(self, estimand: Estimand) -> Expected:
        """Pearson's r of gaps, or means, and what the first factor of the cells has in the column."""
        statistic, many, out = estimand.statistic, len(estimand.by), Expected()
        assert isinstance(statistic, Correlation)
        numbers = dict(self.everything.select(statistic.over[0], statistic.column).unique().iter_rows())
        values = self.cells_over(estimand, statistic.factor, statistic.versus)
        for key in {key[:many] for key in values}:
            cells = {cell: value for cell, (value, _) in values.items() if cell[:many] == key}
            x, y = [float(numbers[cell[many]]) for cell in cells], [*cells.values()]
            is_flat = min(np.ptp(x), np.ptp(y)) < 1e-12
            r = None if len(x) < 4 or is_flat else float(np.corrcoef(x, y)[0, 1])
            out[key] = Plain(r, len(x), self.units_in(estimand, statistic.factor, list(cells)))
        return out

    def flips(self, estimand: Estimand) -> dict[str, Expected]:
        """Flips beyond those of one picture asked twice, their rate, and that of one picture."""
        rows = self.shifts_in(self.cells).drop_nulls("m")
        p, q, n, m = (pl.col(name) for name in ("base", "after", "base_w", "w"))

        def twice(share: pl.Expr, mass: pl.Expr) -> pl.Expr:
            return pl.when(mass > 1).then(2 * share * (1 - share) * mass / (mass - 1))

        rate, floor = p * (1 - q) + q * (1 - p), (twice(p, n) + twice(q, m)) / 2
        rows = rows.with_columns(rate=rate, floor=floor, beyond=rate - floor)
        name = estimand.measure
        return {name: self.means(rows, estimand, "beyond"), f"{name}_rate": self.means(rows, estimand, "rate"),
                f"{name}_floor": self.means(rows, estimand, "floor")}  # fmt: skip


def models_of(answers: pl.DataFrame) -> list[str]:
    return sorted(answers["model"].unique()) if "model" in answers.columns else [""]


def mean(values: pl.Series) -> float | None:
    return float(values.to_numpy().mean()) if values.len() else None


def parts(rows: pl.DataFrame, by: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], pl.DataFrame]]:
    """Rows by levels; all of them where nothing is named."""
    if by:
        yield from rows.group_by(*by)
    elif rows.height:
        yield (), rows


def contrasts(gap: Gap, levels: list[str]) -> list[tuple[str, str]]:
    """Levels that are compared, as the docstring of `versus` and `ends` has it."""
    if gap.ends:
        shown = [level for level in gap.ends if level in levels]
        return [(shown[-1], shown[0])]
    if gap.versus == "(each other)":
        return [(second, first) for first, second in combinations(levels, 2)]
    if gap.versus:
        return [(level, gap.versus) for level in levels if level != gap.versus]
    return [(levels[1], levels[0])] if len(levels) == 2 else [(level, "(others)") for level in levels]


def one_answer_each(table: Table) -> bool:
    """Whether no question was asked twice about a picture, as far as the table tells them apart."""
    recomputed = Recomputation(table, models_of(table.answers)[0])
    keys = ["picture", *recomputed.named, *(["model"] if "model" in table.answers.columns else [])]
    return not bool(table.answers.select(keys).is_duplicated().any())


def missing_shares(rows: pl.DataFrame) -> dict[tuple[str | None, ...], tuple[float, float]]:
    """Share of the answers that are missing, and how many were asked for, by dimension, group, prompt and reason.

    `rows`: an answer each, with `prompt`, `lost` (how much of it is missing), `why` and, in a row for each dimension
    and in one without any, `dimension`, `group` and `unit`.
    """
    out: dict[tuple[str | None, ...], tuple[float, float]] = {}
    for reason in (None, *{"refused", "error"}.intersection(rows["why"])):
        lost = pl.col("lost") if reason is None else (pl.col("why") == reason).fill_null(value=False).cast(pl.Float64)
        counted = rows.with_columns(lost=lost)
        for prompted in (False, True):
            key = ["dimension", "group", *(["prompt"] if prompted else [])]
            for labels, part in counted.group_by(key):
                prompt = labels[2] if prompted else None
                out[labels[0], labels[1], prompt, reason] = float(part["lost"].to_numpy().mean()), float(part.height)
    return out


def missing_gaps(rows: pl.DataFrame) -> dict[tuple[str | None, ...], float]:
    """Share missing of each group's answers less that of all others, by prompt and within units of several groups.

    `rows`: as in `missing_shares`, all of one dimension; a block is a unit of several groups, or all of one group.
    """
    out: dict[tuple[str | None, ...], float] = {}
    for reason in (None, *{"refused", "error"}.intersection(rows["why"])):
        lost = pl.col("lost") if reason is None else (pl.col("why") == reason).fill_null(value=False).cast(pl.Float64)
        several = pl.col("group").n_unique().over("unit") > 1
        counted = rows.with_columns(lost=lost, block=pl.when(several).then("unit"))
        for group in counted["group"].unique():
            of_block = counted.group_by("prompt", "block").agg(
                a=(pl.col("group") == group).sum(), o=(pl.col("group") != group).sum(),
                m=pl.col("lost").filter(pl.col("group") == group).mean(),
                m_o=pl.col("lost").filter(pl.col("group") != group).mean(),
            ).filter(pl.col("a") > 0, pl.col("o") > 0)  # fmt: skip
            for prompt, part in [(None, of_block), *((key[0], part) for key, part in of_block.group_by("prompt"))]:
                weight = (part["a"] * part["o"] / (part["a"] + part["o"])).to_numpy()
                if weight.size:
                    apart = (part["m"] - part["m_o"]).to_numpy()
                    out[group, prompt, reason] = float((weight * apart).sum() / weight.sum())
    return out
