"""Checks of the instrument: sight of pictures, drift over a run.

Signs that a model sees the pictures that it is shown; where there is none, nothing is equivalent.

A model that is never given the pictures answers about all people alike, and so would look fair. Three signs tell it
from one that sees: right answers to questions about pictures made on the spot, tokens that a picture adds to a prompt,
and answers to one and the same text that depend on which picture stands beside it. Any of them is enough: a fair
model's answers do not depend on the picture, and not every server counts tokens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from facevalue.design import find_changes
from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.definitions import UNANSWERED, Measure
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.estimators import PART_BY_HASH, UnitTable, in_grains, level_ranks
from facevalue.measures.intervals import IntervalKind, name_method, name_unmeasured
from facevalue.measures.proportions import groups, level_codes
from facevalue.measures.uncertainty import Estimates
from facevalue.measures.verdicts import Verdict
from facevalue.store.sight import LEAST_TOKENS

CHANCE_SHARE = 0.25
"""Chance of a right answer by whoever does not see: each question names four answers."""
SIGHT_ALPHA = 0.01
"""Level of each sign: a model that does not see shows one of them no more often."""
SIGHT_QUESTIONS = Measure(
    "sight_questions", "Questions about pictures made on the spot that were answered rightly",
    "right / answered; p = P(X >= right), X binomial with chance 1/4 of each question",
    "share", "question", "FaceValue", limits=(0.0, 1.0),
)  # fmt: skip
SIGHT_TOKENS = Measure(
    "sight_tokens", "Tokens that a picture adds to a prompt",
    "tokens of a prompt with a picture less those of the same text without one, or beside another picture",
    "tokens", "request", "FaceValue",
)  # fmt: skip
SIGHT_DEPENDENCE = Measure(
    name="sight_dependence",
    title="How far answers depend on which picture is shown",
    equation=(
        "(T - mean of T over deals) / Σ r², T = Σ_s (Σ_{i of s} r_i)² / n_s over stimuli s, r an answer less the mean "
        "answer to the same text, seed and time; p by dealing answers to the same text, seed and time anew to pictures"
    ),
    unit="1",
    cluster="picture",
    source="FaceValue",
)
SIGHT_MEASURES = (SIGHT_QUESTIONS, SIGHT_TOKENS, SIGHT_DEPENDENCE)
UNSEEN_PICTURES = (
    "Nothing shows that the model sees the pictures: answers that do not differ then say nothing of how it judges them."
)
TOO_FEW_ANSWERS = "too few answers to the same text beside different pictures"
UNKNOWN_TOKENS = "the tokens of prompts are not known"
_COUNTED = name_method(IntervalKind.NONE, "counted by the model")
_DEALT = name_method(IntervalKind.NONE, "a p-value by deals of the answers")
_EXACT = name_method(IntervalKind.EXACT, "Clopper-Pearson over questions")
_DEALS = 199
_FLAT = 1e-9
_FACTOR = "(factor) "
_LEVELS = 20
"""Levels of a factor at most by which answers are looked at together."""
_LEAST = 20
_MOST = 20_000
"""Answers that are looked at, at least and about at most."""
_STIMULI = 500
"""Stimuli below which answers rather than stimuli are left out."""
_WINDOW = 4
"""Units asked one after the other whose answers are dealt to each other: a model that wavers changes little so soon."""
_SAME = 1e-3
"""Differences of probabilities that rounding makes."""
_WORDS = 16
_SEED = 20261


def sightless(estimates: pl.DataFrame) -> list[str]:
    """Models of a table of estimates of which it was looked at whether they see, and nothing shows that they do."""
    names = [measure.name for measure in SIGHT_MEASURES]
    rows = estimates.filter(pl.col("measure").is_in(names), pl.col("versus").is_null())
    is_sign = (pl.col("measure") == SIGHT_TOKENS.name) & (pl.col("value") >= LEAST_TOKENS)
    is_sign |= pl.col("measure").is_in([SIGHT_QUESTIONS.name, SIGHT_DEPENDENCE.name]) & (pl.col("p") <= SIGHT_ALPHA)
    by_model = rows.group_by("model", maintain_order=True).agg(is_sign.fill_null(value=False).any().alias("shown"))
    return by_model.filter(~pl.col("shown"))["model"].to_list()


def without_equivalence(judged: pl.DataFrame, unseen: pl.Expr | pl.Series) -> pl.DataFrame:
    """Judged rows whose "equivalent" is withdrawn where nothing shows that the model sees.

    `unseen`: which rows are of such a model.
    """
    withdrawn = unseen & (pl.col("verdict") == str(Verdict.EQUIVALENT))
    return judged.with_columns(
        verdict=pl.when(withdrawn).then(pl.lit(str(Verdict.INCONCLUSIVE))).otherwise("verdict"),
        why=pl.when(withdrawn).then(pl.lit(UNSEEN_PICTURES)).otherwise("why"),
    )


class PictureDependence:
    """Answers of one model to the same texts beside different pictures, a part of them where they are many.

    Parameters
    ----------
    followed:
        By name, columns in [0, 1]; null for answers of another kind.
    """

    def __init__(self, followed: Mapping[str, pl.Expr]) -> None:
        self._outcomes = {f"y{number}": outcome for number, outcome in enumerate(followed.values())}
        self._chunks: list[pl.DataFrame] = []
        self._one_of = [1, 1]
        """One in how many stimuli is kept, and one in how many of their trials."""

    def thinned(self, answers: pl.DataFrame) -> pl.DataFrame:
        """Rows of a chunk that are looked at; its column `(stimulus)` says what is shown."""
        while True:
            stimuli, trials = self._one_of
            rows = answers.filter(
                (pl.col("(stimulus)").hash(_SEED) % stimuli == 0) & (pl.col("trial").hash(_SEED) % trials == 0)
            )
            if rows.height <= 2 * _MOST:
                return rows
            self._one_of[rows["(stimulus)"].n_unique() <= _STIMULI] *= 2

    def take(self, answers: pl.DataFrame, factors: Sequence[str] = ()) -> None:
        """Take rows of `thinned`, with what was said to the model, the unit and whether nothing was shown.

        These are `(text)`, `(unit)` and `(bare)`; `said` is what the model said.
        `factors`: columns that say what is shown.
        """
        stated = [name for name in factors if 1 < answers[name].n_unique() <= _LEVELS]
        mass = pl.col("mass").cast(pl.Float64).fill_null(1.0) if "mass" in answers.columns else pl.lit(1.0)
        rows = answers.filter(pl.col("status") != "error").select(
            "(stimulus)", "trial", "repeat", "(text)", "(unit)", "(bare)", "said",
            pl.col("at").cast(pl.Int64).cast(pl.Float64), pl.col("prompt_tokens").cast(pl.Float64),
            pl.when(pl.col("na").is_null()).then(1.0 - mass).otherwise(1.0).alias("missing"),
            *(outcome.cast(pl.Float64).alias(name) for name, outcome in self._outcomes.items()),
            *(pl.col(name).cast(pl.String).alias(_FACTOR + name) for name in stated),
        )  # fmt: skip
        self._chunks.append(rows)
        if sum(chunk.height for chunk in self._chunks) > 2 * _MOST:
            self._chunks = [self.thinned(pl.concat(self._chunks, how="diagonal"))]

    def estimates(self, study: str, model: str, answered: tuple[int, int], tokens: float | None) -> pl.DataFrame:
        """The three signs.

        `answered`: questions about pictures made on the spot that were answered, and of these rightly. `tokens`: what a
        picture adds to a prompt, as seen then.
        """
        table = EstimateTable(study, model)
        rows = self.thinned(pl.concat(self._chunks, how="diagonal")) if self._chunks else pl.DataFrame()
        seen = [n for n in (tokens, _added_tokens(rows)) if n is not None]
        signs = {
            SIGHT_QUESTIONS: _questions(*answered),
            SIGHT_TOKENS: _one_estimate(max(seen), len(seen), _COUNTED) if seen else _no_estimate(UNKNOWN_TOKENS),
            SIGHT_DEPENDENCE: _dependence(rows, list(self._outcomes)),
        }
        for measure, (estimates, p) in signs.items():
            table.add(measure, {}, replace(estimates, p=p))
        return table.frame()


def _questions(answered: int, right: int) -> tuple[Estimates, Array]:
    """Share of right answers, with the interval of Clopper and Pearson (1934) and the exact test against chance."""
    if not answered:
        return _no_estimate("nothing was asked before the run")
    tail = (1 - LEVEL) / 2
    low = float(scipy.special.betaincinv(right, answered - right + 1, tail)) if right else 0.0
    high = float(scipy.special.betaincinv(right + 1, answered - right, 1 - tail)) if right < answered else 1.0
    return _one_estimate(right / answered, answered, _EXACT, (low, high), chance_of(answered, right))


def chance_of(answered: int, right: int) -> float:
    """Chance that somebody who sees nothing answers so many of the questions rightly, or more.

    Examples
    --------
    >>> round(chance_of(10, 7), 4), chance_of(10, 0)
    (0.0035, 1.0)
    """
    return float(scipy.special.betainc(right, answered - right + 1, CHANCE_SHARE)) if right else 1.0


def _added_tokens(rows: pl.DataFrame) -> float | None:
    """Tokens that pictures add to texts of the run, or by which they differ beside one text; None if nobody knows."""
    counted = rows.filter(pl.col("prompt_tokens").is_not_null()) if rows.height else rows
    if not counted.height:
        return None
    tokens, bare = pl.col("prompt_tokens"), pl.col("(bare)")
    texts = counted.group_by("(text)").agg(
        (tokens.filter(~bare).mean() - tokens.filter(bare).mean()).alias("added"),
        (tokens.filter(~bare).max() - tokens.filter(~bare).min()).alias("apart"),
        tokens.filter(~bare).len().alias("n"),
    )
    values = [texts["added"].median(), texts.filter(pl.col("n") > 1)["apart"].median()]
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    return max(numbers, default=None)


def _dependence(rows: pl.DataFrame, outcomes: Sequence[str]) -> tuple[Estimates, Array]:
    """Test by dealing answers anew among those to the same text, seed and time.

    Notes
    -----
    A model that is given no picture answers by text and seed alone. Of its answers to one text and seed, each is then
    as likely to stand beside any of the pictures, whatever these share and whoever is on them, so that the test is
    exact; only answers that came one soon after the other (units next to each other in the order of asking) are dealt
    to each other, as a model may change while the run lasts. Looked at are stimuli, levels of what they are known to
    show and, where questions have several seeds, stimuli by question: whichever is farthest from its deals. Answers
    without any picture are left out: that nothing is shown may be told in words, as a placeholder's absence tells it.
    """
    if rows.height:
        rows = rows.filter(~pl.col("(bare)"))
    if not rows.height:
        return _no_estimate(TOO_FEW_ANSWERS)
    timed = rows.group_by("(unit)").agg(pl.col("at").mean()).sort("at", "(unit)").with_row_index("window")
    by_time = pl.col("window") // _WINDOW if timed["at"].null_count() == 0 else pl.lit(0, pl.UInt32)
    keyed = rows.join(timed.select("(unit)", by_time.alias("window")), on="(unit)", maintain_order="left")
    keyed = keyed.with_columns(
        pl.col("(stimulus)").rank("dense").alias("shown"),
        pl.struct("(text)", "repeat", "window").rank("dense").alias("alike"),
    )
    keyed = keyed.filter(pl.col("shown").n_unique().over("alike") > 1).sort("alike", maintain_order=True)
    if keyed.height < _LEAST:
        return _no_estimate(TOO_FEW_ANSWERS)
    alike = keyed["alike"].rank("dense").to_numpy().astype(np.int64) - 1
    residuals = _residuals(keyed, outcomes, alike)
    stimuli = keyed["shown"].n_unique()
    if not residuals.size:
        return _one_estimate(0.0, keyed.height, _DEALT, p=1.0, clusters=stimuli)
    groupings = [["shown"], *([name] for name in keyed.columns if name.startswith(_FACTOR))]
    if keyed["repeat"].n_unique() > 1:
        groupings.append(["shown", "(text)"])
    codes = [_codes(keyed, grouping) for grouping in groupings]
    value, p = _deals(residuals, alike, [code for code in codes if code.max() > 0])
    return _one_estimate(value, keyed.height, _DEALT, p=p, clusters=stimuli)


def _codes(rows: pl.DataFrame, names: Sequence[str]) -> np.ndarray:
    return rows.select(pl.struct(names).rank("dense").alias("code"))["code"].to_numpy().astype(np.int64) - 1


def _residuals(rows: pl.DataFrame, outcomes: Sequence[str], alike: np.ndarray) -> Array:
    """Answers less the mean answer to the same text, a column each, of one spread; none where all are the same."""
    columns = [rows[name] for name in (*outcomes, "missing")]
    if all(column.null_count() > rows.height / 2 for column in columns[:-1]):  # texts that nobody has scored
        columns += _word_shares(rows["said"])
    out = []
    for column in columns:
        values = column.to_numpy().astype(np.float64)
        valid = np.isfinite(values)
        n = np.bincount(alike, valid)
        means = np.divide(np.bincount(alike, np.where(valid, values, 0.0)), n, out=np.zeros(n.size), where=n > 0)
        residual = np.where(valid, values - means[alike], 0.0)
        if np.abs(residual).max() > _SAME:
            out.append(residual / residual.std())
    return np.stack(out, axis=1) if out else np.empty(0)


def _word_shares(replies: pl.Series) -> list[pl.Series]:
    """Shares of a text's words by their hash."""
    words = replies.fill_null("").str.to_lowercase().str.extract_all(r"\w+").list.head(200)
    codes = words.explode(empty_as_null=True).hash(_SEED) % _WORDS
    lengths = words.list.len().to_numpy()
    row = np.repeat(np.arange(replies.len()), np.maximum(lengths, 1))
    counts = np.zeros((replies.len(), _WORDS))
    np.add.at(counts, (row, codes.to_numpy().astype(np.int64)), 1.0)
    counts /= np.maximum(lengths, 1)[:, None]
    return [pl.Series(column) for column in counts.T]


def _deals(residuals: Array, alike: np.ndarray, cells: Sequence[np.ndarray]) -> tuple[float, float]:
    """Share of the variation that lies between stimuli beyond what permutations give, and its p-value.

    Of several statistics the one counts that is farthest from what deals give of it. Their cube roots are near a normal
    distribution (Wilson and Hilferty 1931), so that they are compared by standard deviations.
    """
    rng = np.random.default_rng(_SEED)
    sizes = [np.maximum(np.bincount(code), 1) for code in cells]

    def statistics(values: Array) -> list[float]:
        sums = ([np.bincount(code, column) for column in values.T] for code in cells)
        return [float((np.square(totals) / size).sum()) for totals, size in zip(sums, sizes, strict=True)]

    deals = (residuals[np.argsort(alike + rng.random(alike.size), kind="stable")] for _ in range(_DEALS))
    table = np.array([statistics(residuals), *map(statistics, deals)])
    roots = np.cbrt(table)
    spread = roots.std(axis=0)
    far = np.divide(roots - roots.mean(axis=0), spread, out=np.zeros_like(roots), where=spread > _FLAT).max(axis=1)
    p = float((far >= far[0] - _FLAT).mean())
    return float((table[0, 0] - table[1:, 0].mean()) / np.square(residuals).sum()), p


def _one_estimate(
    value: float,
    n: int,
    method: str,
    interval: tuple[float, float] = (np.nan, np.nan),
    p: float = np.nan,
    clusters: int | None = None,
    se: float = np.nan,
) -> tuple[Estimates, Array]:
    low, high = interval
    estimates = Estimates(
        np.array([value]), np.array([low]), np.array([high]), np.array([n]), np.array([clusters or n]),
        np.array([method], dtype=object), np.array([se]),
    )  # fmt: skip
    return estimates, np.array([p])


def _no_estimate(reason: str) -> tuple[Estimates, Array]:
    return _one_estimate(np.nan, 0, name_unmeasured(reason))


DRIFT = Measure(
    "drift", "Drift of the answers while the run lasted",
    "b = Σ_u x_u r_u / Σ_u x_u², x_u and r_u the means over a unit's answers of t - mean of t and y - mean of y, "
    "both within the same question; t in [0, 1] is the share of the run's answers that had come; b is cut at ±1",
    "probability", "unit asked together", "FaceValue", limits=(-1.0, 1.0),
)  # fmt: skip
WAVERING = Measure(
    "wavering", "Wavering of the answers while the run lasted",
    "sqrt(max(0, F - 1) k s² / Σ_u 1): the SD over the run of r_u as fitted by cos(π j t_u), j = 1 to k, without "
    "what chance adds; F tests all of them together, with r_u and t_u as of drift, s² the variance beside the fit",
    "probability", "unit asked together", "FaceValue", limits=(0.0, 1.0),
)  # fmt: skip
DRIFT_MEASURES = (
    DRIFT,
    replace(
        DRIFT, title="Drift of the share of questions without a valid answer while the run lasted", score=UNANSWERED,
        equation="As drift, with y = 1 - mass: the chance that there is no valid answer, failed requests among them",
    ),
    WAVERING,
    replace(
        WAVERING, title="Wavering of the share of replies without a valid answer while the run lasted",
        equation="As wavering, with y = 1 - mass: the chance that a reply is no valid answer", score=UNANSWERED,
    ),
)  # fmt: skip
_LINE = name_method(IntervalKind.T, "least squares over units asked together")
_NONCENTRAL = name_method(IntervalKind.INVERSION, "noncentral F over units asked together")
AT_ONCE, ALIKE_ANSWERS = "all answers came at one time", "no answers to one question differ"
FEW_TOGETHER = "too few units asked together"
UNTIMED = "these answers had been recorded before, and when each was given is not known"
"""Reason why nothing can be said."""
_WAVES, _UNITS_EACH = 6, 4
"""Cosines that answers are fitted by, and units that there are for each at least."""
_DECIMALS = 12  # of a time from 0 to 1: what differs by rounding alone is one time
_UPPER = 0.99
"""Of the interval of a wavering, which is never below zero: below it ends where its test does."""
_SUMS = ("n", "mass", "answer", "time")


class Course:
    """Answers of one model in the course of a run.

    Units are asked in an order drawn by seed, so their times are dealt at random whatever they are and whatever their
    answers share: times are what is randomised, units are what they are dealt to, so units are the clusters.

    Parameters
    ----------
    outcomes:
        By name, columns in [0, 1] whose mean is followed; null for answers of another kind.
    question:
        Columns that say what was asked.
    """

    def __init__(self, outcomes: Mapping[str, pl.Expr], question: Sequence[str]) -> None:
        self._outcomes = {**outcomes, UNANSWERED: 1 - pl.col("mass").fill_null(0.0)}
        self._question = list(question)
        self._cells = UnitTable(["outcome", "question"], _SUMS)

    def take(self, answers: pl.DataFrame, unit: pl.Series, run_number: int = 0) -> None:
        """Take a chunk of answers with the column `at`, and the unit of each, of one of several parts of a run."""
        question = [name for name in self._question if name in answers.columns]
        timed = answers.select(
            *question, unit.alias("(unit)"), pl.col("at").cast(pl.Int64).cast(pl.Float64),
            pl.col("mass").cast(pl.Float64),
            *(outcome.cast(pl.Float64).alias(f"({name})") for name, outcome in self._outcomes.items()),
        )  # fmt: skip
        code = pl.col("(unit)").hash(2 * run_number)
        if self._cells.one_of > 1:
            timed = timed.filter(code % self._cells.one_of == 0)
        questions = timed.select("(unit)", *question)
        start = find_changes(questions)
        rows = questions[start]
        codes = (level_codes(rows[name]) for name in question)
        question_of, first_rows = groups(np.zeros(rows.height, np.int64), *codes)
        cell, first = groups(level_codes(rows["(unit)"]), question_of)
        question_key = pl.struct(
            *(pl.col(name).cast(pl.String) for name in question), pl.lit(run_number).alias("(part)")
        )
        labels = rows[first_rows].select(question=question_key.hash(1).cast(pl.String))
        hashes, at = rows[first].select(code).to_series().to_numpy(), timed["at"].to_numpy()
        cell = np.repeat(cell, np.diff(start, append=timed.height))
        for name in self._outcomes:
            y = timed[f"({name})"].to_numpy()
            m = np.ones(y.size) if name == UNANSWERED else timed["mass"].to_numpy()
            valid = np.isfinite(y) & (m > 0) & np.isfinite(at)
            y, m = np.where(valid, y, 0.0), np.where(valid, m, 0.0)
            columns = (valid, in_grains(m), in_grains(m * y), np.where(valid, at, 0.0))
            sums = np.stack([np.bincount(cell, column) for column in columns])
            some = sums[0] > 0
            of_outcome = labels.with_columns(outcome=pl.lit(name))
            self._cells.add(of_outcome, question_of[first[some]], hashes[some], sums[:, some])

    def estimates(self, study: str, model: str) -> pl.DataFrame:
        """Drift and wavering of each outcome and of missing answers."""
        table = EstimateTable(study, model)
        cells = self._cells.frame()
        for name in self._outcomes:
            of_outcome = cells.filter(pl.col("outcome") == name) if cells.height else cells
            units = _by_unit(of_outcome) if of_outcome.height else UNANSWERED if cells.height else UNTIMED
            labels = {"score": [name]} if name else {}
            for measure, taken in ((DRIFT, _slope), (WAVERING, _waves)):
                estimates, p = _no_estimate(units) if isinstance(units, str) else taken(units)
                if self._cells.one_of > 1 and np.isfinite(estimates.value[0]):
                    estimates.method[0] += f", {PART_BY_HASH}"
                table.add(measure, labels, replace(estimates, p=p))
        return table.frame()


@dataclass(frozen=True, slots=True)
class _Units:
    """Mean times and answers of units, both less the means of their questions."""

    time: Array
    answer: Array
    clock: Array
    """Mean time from 0 to 1."""
    free: float
    """Degrees of freedom of their mean."""
    n: int
    """Answers."""


def _by_unit(cells: pl.DataFrame) -> _Units | str:
    """Sum up units, all answers of one to a question at their mean time; or say why nothing can be said of them.

    Equation
    --------
    Of the answers i of unit u, weighing m: t_i is the share of all answers that had come; r_u = Σ m (y - ȳ_q) / Σ m,
    x_u = Σ m (t - t̄_q) / Σ m with the means of the question over all units. f: the units, less what the means of
    questions take up (for units that were all asked the same questions, one).
    """
    n, mass = cells["n"].to_numpy(), cells["mass"].to_numpy()
    at = level_ranks(cells["time"] / cells["n"])
    come = np.bincount(at, n)
    if come.size < 2:
        return AT_ONCE
    clock = ((np.cumsum(come) - come / 2) / come.sum())[at]
    unit = level_ranks(cells["unit"])
    question = level_codes(cells["question"])
    share, weight = (mass / _sums(by, mass)[by] for by in (question, unit))

    def centred(values: Array) -> Array:
        """Mean over a unit's answers of what they differ by from the means of their questions."""
        return _sums(unit, weight * (values - _sums(question, share * values)[question]))

    x, r = centred(clock), centred(cells["answer"].to_numpy() / mass)
    free = float((1 - _sums(unit, weight * share)).sum())
    if free < 2 or float(x @ x) < 1e-12:
        return f"{FEW_TOGETHER}: {x.size:,}"
    return _Units(x, r, _sums(unit, weight * clock), free, int(n.sum()))


def _sums(by: npt.NDArray[np.int64], values: Array) -> Array:
    return np.bincount(by, values).astype(np.float64, copy=False)


def _slope(units: _Units) -> tuple[Estimates, np.ndarray]:
    """Regress answers on time.

    Equation
    --------
    b = Σ x r / Σ x², se² = Σ (r - b x)² / ((f - 1) Σ x²), and t with f - 1 degrees of freedom.

    Notes
    -----
    Least squares need no more than that times are dealt to units at random (Freedman 2008, "On regression adjustments
    to experimental data": with one regressor that is dealt evenly, the usual standard error holds).
    """
    x, r, free = units.time, units.answer, units.free - 1
    total = float(x @ x)
    value = float(x @ r) / total
    squares = float(((r - value * x) ** 2).sum())
    if squares < 1e-24 * x.size:
        return _no_estimate(ALIKE_ANSWERS)
    se = float(np.sqrt(squares / free / total))
    reach = float(scipy.special.stdtrit(free, 0.5 + LEVEL / 2)) * se
    p = float(2 * scipy.special.stdtr(free, -abs(value) / se))
    value, low, high = min(max(value, -1.0), 1.0), value - reach, value + reach  # few answers may lead beyond
    return _one_estimate(value, units.n, _LINE, (low, high), p, x.size, se)


def _waves(units: _Units) -> tuple[Estimates, np.ndarray]:
    """Fit answers by slow waves of time.

    Equation
    --------
    F = Σ fit² / k / s², s² = Σ (r - fit)² / (f - k), k = min(6, f / 4); the interval holds the sizes w with
    F ~ F'(k, f - k; Σ_u w² / s²) above its 5th percentile from below and its 1st from above.

    Notes
    -----
    Cosines of half a wave to three waves: any slow change of a model, a straight line among them. Times are dealt to
    units at random, so that F holds its level whatever units are.
    """
    many = min(_WAVES, int(units.free) // _UNITS_EACH)
    if many < 2:
        return _no_estimate(f"{FEW_TOGETHER}: {units.clock.size:,}")
    size = units.clock.size
    places = pl.Series(units.clock.round(_DECIMALS)).rank().to_numpy() / size
    waves = np.cos(np.pi * np.arange(1, many + 1) * (places[:, None] - 0.5 / size))
    waves, r = waves - waves.mean(axis=0), units.answer - units.answer.mean()
    fit = waves @ np.linalg.lstsq(waves, r, rcond=None)[0]
    free = units.free - many
    rest = float(((r - fit) ** 2).sum()) / free
    if rest < 1e-24:
        return _no_estimate(ALIKE_ANSWERS)
    f = float(fit @ fit) / many / rest
    p = float(scipy.special.fdtrc(many, free, f))
    low, high = (
        0.0 if scipy.special.fdtr(many, free, f) <= share else float(scipy.special.ncfdtrinc(many, free, share, f))
        for share in (LEVEL, 1 - _UPPER)
    )
    value = max(f - 1, 0.0) * many
    value, low, high = (min(float(np.sqrt(x * rest / size)), 1.0) for x in (value, low, max(high, value)))
    return _one_estimate(value, units.n, _NONCENTRAL, (low, high), p, size)
