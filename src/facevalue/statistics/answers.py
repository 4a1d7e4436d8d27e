"""Answers: a table of anybody's answers, one row each, as statistics take it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, prod

import numpy as np
import polars as pl

from facevalue.answers import NA, NA_DTYPE
from facevalue.design import Factor
from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.cells import MISSING_LABELS, Grouped, MissingBy
from facevalue.measures.definitions import POOLED
from facevalue.measures.estimates import FIXED_COLUMNS, TYPED_LABELS
from facevalue.statistics.answer_arrays import AnswerArrays, Axes, collect
from facevalue.statistics.breakdown import CONTRAST, DIMENSION, Breakdown, Codes
from facevalue.statistics.missing_answers import MissingAnswers
from facevalue.statistics.rivals import ALIKE, EACH_OTHER, LEVELS_MEAN, OTHERS
from facevalue.statistics.sets import NO_PICTURE, Sets
from facevalue.statistics.shifts import SEED
from facevalue.statistics.statistic import MOST_LEVELS, Score

PICTURE, UNIT, MODEL, MASS, MISSING = "picture", "unit", "model", "mass", "missing"
COLUMNS = (PICTURE, UNIT, MODEL, MASS, MISSING)
"""Columns of a table of answers that are no factor and no score."""
RESERVED = frozenset(
    (
        *FIXED_COLUMNS,
        *TYPED_LABELS,
        *MISSING_LABELS,
        CONTRAST,
        DIMENSION,
        "na",
        "image",
        "identity",
        "set",
        "seed",
        "path",
    )
)
"""Names that no factor can have: columns of estimates, and of pictures."""
RESERVED_LEVELS = frozenset((OTHERS, LEVELS_MEAN, EACH_OTHER, ALIKE, NO_PICTURE, ""))
"""Levels that no factor can have: what estimates call several levels together, and none."""
MOST_CELLS = 200_000_000
"""Largest number of pictures times questions times answers to each."""
_TEXTS = (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Date, pl.Datetime)
"""Types of columns besides numbers that can be factors."""
_IMAGE, _IDENTITY = "image", "identity"
_REPEAT, _REASON = "(repeat)", "(reason)"


@dataclass(frozen=True)
class Answers:
    """A table of answers, a row for each.

    Attributes
    ----------
    table:
        `picture`: what was shown. `unit`: what was sampled, such as the person in the picture. A column of the score's
        name: its value, null where there is no valid answer. `missing`, if any: why there is none
        (`facevalue.answers.NA`). `mass`, if any: how likely a valid answer was, where probabilities were read. `model`,
        if any: who answered. Columns of the factors, as texts. The order of rows means nothing.
    score:
        The score, with the ends of its scale.
    factors:
        Columns by which answers are broken down, and that tell questions apart. Those that are the same in all answers
        about a picture are the picture's, all others the prompt's. The order of levels is that of an Enum, else
        alphabetical. Other columns of the table are not looked at.
    cue, base:
        The factor in which each unit's pictures differ from its base, and the base's level of it; empty where pictures
        have no base.

    Raises
    ------
    UnknownNameError
        The table lacks a column.
    DataError
        A value beyond the ends of the scale, a picture of two units, a unit with two bases, a name that is taken, or
        too many answers.

    Examples
    --------
    >>> table = pl.DataFrame({"picture": ["a", "b"], "unit": ["ann", "bob"], "hat": ["no", "no"], "kind": [1.0, None]})
    >>> answers = Answers(table, Score("kind", "Kind", "probability", 0.0, 1.0), ("hat",))
    >>> answers.breakdown.sets.identities
    ['ann', 'bob']
    """

    table: pl.DataFrame
    score: Score
    factors: tuple[str, ...] = ()
    cue: str = ""
    base: str = ""

    def __post_init__(self) -> None:
        names = [name for name in (MODEL, MASS, MISSING) if name in self.table.columns]
        needed = dict.fromkeys((PICTURE, UNIT, self.score.name, *self.factors, *filter(None, [self.cue])))
        for name in needed:
            if name not in self.table.columns:
                raise UnknownNameError("column of the answers", name, self.table.columns)
        if self.score.name in COLUMNS:
            raise DataError(f"No score can be called {self.score.name!r}, which is a column of its own. Rename it.")
        for name in (*self.factors, *filter(None, [self.cue])):
            if name == self.score.name:
                raise DataError(f"The column {name!r} is the score, so that it cannot be a factor.")
            if name in RESERVED or name in COLUMNS or name.startswith("(") or name.endswith("_path"):
                raise DataError(
                    f"No factor can be called {name!r}: a column of answers or of estimates has such a name. Rename it."
                )
        if bool(self.cue) != bool(self.base):
            raise DataError("`cue` and `base` go together: the factor of what differs, and the level of the base.")
        table = self.table.select(*needed, *(name for name in names if name not in needed))
        if not table.height:
            raise DataError("The table of answers has no row.")
        object.__setattr__(self, "factors", tuple(sorted({*self.factors, *filter(None, [self.cue])})))
        object.__setattr__(self, "table", self._check_table(table))
        self._check_pictures()

    def _check_table(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table with texts as texts, and scores as numbers of their scale or null."""
        score, low, high = self.score.name, self.score.low, self.score.high
        for name in (PICTURE, UNIT, *self.factors, *([MODEL] if MODEL in table.columns else [])):
            if table[name].null_count():
                raise DataError(f"An answer has no {name!r}: a row of the table has null there.")
            if not (table[name].dtype in _TEXTS or table[name].dtype.is_numeric()):
                raise DataError(f"The column {name!r} holds no texts.")
        if MISSING in table.columns and table[MISSING].dtype not in (pl.String, pl.Null, pl.Categorical, pl.Enum):
            raise DataError(f"The column {MISSING!r} holds no texts.")
        for name in self.factors:
            for level in RESERVED_LEVELS & set(table[name].unique().cast(pl.String)):
                raise DataError(f"No level of {name!r} can be {level!r}: name it otherwise.")
        if not (table[score].dtype.is_numeric() or table[score].dtype in (pl.Boolean, pl.Null)):
            raise DataError(f"The column {score!r} holds no numbers.")
        texts = [pl.col(name).cast(pl.String) for name in (PICTURE, UNIT, MODEL, MISSING) if name in table.columns]
        numbers = [name for name in self.factors if table[name].dtype.is_float()]  # 0 and -0 are one level
        table = table.with_columns(pl.when(pl.col(name) != 0).then(name).otherwise(0.0).alias(name) for name in numbers)
        levels = [pl.col(name).cast(pl.String).cast(pl.Enum(_levels(table[name]))) for name in self.factors]
        table = table.with_columns(*texts, *levels, pl.col(score).cast(pl.Float64).fill_nan(None))
        values = table[score].drop_nulls().to_numpy()
        if values.size and not (low <= values.min() and values.max() <= high and np.isfinite(values).all()):
            stray = next(float(x) for x in values if not (isfinite(x) and low <= x <= high))
            raise DataError(f"A {score!r} is {stray:g}, beyond the scale, which is from {low:g} to {high:g}.")
        if MISSING in table.columns:
            for reason in table[MISSING].drop_nulls().unique().sort():
                if reason not in [reason.value for reason in NA]:
                    raise UnknownNameError("reason of a missing answer", reason, [reason.value for reason in NA])
            if table.filter(pl.col(score).is_not_null() & pl.col(MISSING).is_not_null()).height:
                raise DataError(f"An answer has a {score!r} and a reason why it is missing: it is one or the other.")
        if MASS in table.columns:
            if not (table[MASS].dtype.is_numeric() or table[MASS].dtype == pl.Null):
                raise DataError("The column 'mass' holds no numbers.")
            table = table.with_columns(pl.col(MASS).cast(pl.Float64).fill_nan(None))
            mass = table.filter(pl.col(score).is_not_null())[MASS].drop_nulls()
            if mass.len() and not ((mass > 0) & (mass <= 1)).all():
                raise DataError("The `mass` of a valid answer is above 0 and at most 1.")
        if MODEL in table.columns and POOLED in table[MODEL]:
            raise DataError(f"No model can be called {POOLED!r}, which is all of them together.")
        return table

    def _check_pictures(self) -> None:
        """Refuse pictures of two units, and bases that are not one for each unit."""
        twice = self._pictures.filter(pl.col(PICTURE).is_duplicated())
        if twice.height:
            raise DataError(f"The picture {twice[PICTURE].sort()[0]!r} is of two units.")
        if not self.cue:
            return
        if self.cue not in self._of_pictures:
            raise DataError(f"{self.cue!r} is no factor of the pictures: answers about one picture differ in it.")
        levels = self.table[self.cue].cast(pl.String).unique().sort().to_list()
        if self.base not in levels:
            raise UnknownNameError(f"level of {self.cue}", self.base, levels)
        is_base = pl.col(self.cue).cast(pl.String) == self.base
        bases = self._pictures.filter(is_base)
        if (twice := bases.filter(pl.col(UNIT).is_duplicated())).height:
            unit = twice[UNIT].sort()[0]
            raise DataError(
                f"The unit {unit!r} has two pictures with {self.cue} {self.base!r}: each unit has one base. Leave one "
                "out, or name a finer unit."
            )
        if not self._pictures.filter(~is_base).join(bases, on=UNIT, how="semi").height:
            raise DataError(
                f"No unit has a picture with {self.cue} {self.base!r} and one without: nothing is compared."
            )

    @property
    def scores(self) -> pl.Series:
        """All valid answers' scores."""
        return self.table[self.score.name].drop_nulls()

    @property
    def models(self) -> list[str]:
        """Models that answered; one without a name where the table does not say."""
        return self.table[MODEL].unique().sort().to_list() if MODEL in self.table.columns else [""]

    @cached_property
    def breakdown(self) -> Breakdown:
        """Factors of pictures and of the prompt."""
        cue = (self.cue,) if self.cue else ()
        manifest = self._pictures.sort(UNIT, PICTURE).rename({PICTURE: _IMAGE, UNIT: _IDENTITY})
        is_asked = np.zeros(prod(len(factor) for factor in self._prompt), dtype=np.bool_)
        is_asked[self._items(self.table)] = True
        return Breakdown(Sets(manifest, _IDENTITY, cue, self.base or None), tuple(self._prompt), is_asked=is_asked)

    def arrays(self, model: str) -> AnswerArrays:
        """One model's answers as arrays."""
        score, cells = self.score.name, [PICTURE, *self._prompt_names]
        rows = self._rows(model).sort([*cells, score, _REASON, MASS], nulls_last=True)
        # By chance: numbered by their scores, the first answers of all cells would be their lowest
        order = pl.Series(_REPEAT, np.random.default_rng(SEED).permutation(rows.height))
        rows = rows.with_columns(order).with_columns(pl.col(_REPEAT).rank("ordinal").over(cells) - 1)
        images = self.breakdown.sets.manifest[_IMAGE].to_list()
        size, repeats = prod(len(factor) for factor in self._prompt), int(rows[_REPEAT].max() or 0) + 1  # type: ignore[arg-type]
        if len(images) * size * repeats > MOST_CELLS:
            raise DataError(f"{len(images) * size * repeats:,} answers to hold at once; {MOST_CELLS:,} are the most.")
        items = pl.Series("(item)", self._items(rows))
        rows = rows.select(
            pl.col(PICTURE).cast(pl.Enum(images)).alias(_IMAGE), pl.lit("", pl.Enum([""])).alias("ordering"),
            pl.col(_REPEAT).alias("repeat"), pl.col(MASS), pl.col(_REASON).cast(NA_DTYPE).alias("na"),
            pl.col(score).alias("weight"), items,
        )  # fmt: skip
        axes = Axes(images, lambda chunk: chunk["(item)"].to_numpy(), [""], repeats, size)
        return collect([rows], axes, ["weight"], np.float64)["weight"]

    def missing(self, model: str, study: str) -> pl.DataFrame:
        """Estimates of what a model did not answer, by group and prompt."""
        rows = self._rows(model).with_columns(pl.col(name).cast(pl.String) for name in self.factors)
        rows = rows.rename({_REASON: "na"})
        groups = [Grouped.from_column(name, UNIT) for name in self._of_pictures]
        answers = MissingAnswers(MissingBy(tuple(groups), tuple(self._prompt_names)))
        answers.take(rows, rows[UNIT])
        return answers.estimates(study, model)

    def _rows(self, model: str) -> pl.DataFrame:
        """One model's rows, each with its mass, and why it is missing."""
        rows = self.table.filter(pl.col(MODEL) == model) if MODEL in self.table.columns else self.table
        is_valid = pl.col(self.score.name).is_not_null()
        mass = pl.col(MASS).fill_null(1.0) if MASS in rows.columns else pl.lit(1.0)
        reason = pl.col(MISSING) if MISSING in rows.columns else pl.lit(None, pl.String)
        return rows.with_columns(
            pl.when(is_valid).then(mass).otherwise(0.0).alias(MASS),
            pl.when(~is_valid).then(reason.fill_null(NA.NEITHER.value)).alias(_REASON),
        )

    @cached_property
    def _of_pictures(self) -> list[str]:
        """Factors that are the same in all answers about a picture."""
        if not self.factors:
            return []
        counts = self.table.group_by(PICTURE).agg(pl.col(self.factors).n_unique())
        return [name for name in self.factors if counts[name].max() == 1]

    @property
    def _prompt_names(self) -> list[str]:
        return [name for name in self.factors if name not in self._of_pictures]

    @cached_property
    def _pictures(self) -> pl.DataFrame:
        return self.table.select(*self._of_pictures, UNIT, PICTURE).unique()

    @cached_property
    def _prompt(self) -> list[Factor]:
        factors = [Factor(name, tuple(_levels(self.table[name]))) for name in self._prompt_names]
        for factor in factors:
            if len(factor) > MOST_LEVELS:
                raise DataError(f"{factor.name!r} tells {len(factor):,} questions apart; {MOST_LEVELS:,} are the most.")
        return factors

    def _items(self, rows: pl.DataFrame) -> Codes:
        """Number of the question of each row."""
        sizes = [len(factor) for factor in self._prompt]
        codes = [rows[factor.name].to_physical().to_numpy().astype(np.int64) for factor in self._prompt]
        return np.ravel_multi_index(codes, sizes).astype(np.int64) if sizes else np.zeros(rows.height, dtype=np.int64)


def _levels(column: pl.Series) -> Sequence[str]:
    """Levels that are there, in the order of an Enum or of numbers, else as texts are sorted."""
    present = column.drop_nulls().unique()
    texts = present.sort() if isinstance(column.dtype, pl.Enum) or column.dtype.is_numeric() else None
    return (present.cast(pl.String).sort() if texts is None else texts.cast(pl.String)).to_list()
