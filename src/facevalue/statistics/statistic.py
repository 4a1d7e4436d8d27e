"""Statistic: what is computed of scores, and everything that is said of it. A new one is a subclass in one module.

A subclass says what it is of (its fields), its name and definition, how it is estimated, with which interval, test,
noise floor and bounds for missing answers, how it is planned for, and how its findings read. `Estimand` puts it
together with what it is broken down by and the family in which it is tested.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.definitions import Measure
from facevalue.plugins import STATISTICS, plugins
from facevalue.statistics.breakdown import CONTRAST, DIMENSION, Breakdown

if TYPE_CHECKING:
    from facevalue.design import Design
    from facevalue.measures.estimates import EstimateTable
    from facevalue.statistics.estimand import Estimand
    from facevalue.statistics.power import PlannedTask
    from facevalue.statistics.precision import Precision
    from facevalue.statistics.scores import ModelScores, SumScores

OURS = "FaceValue"
Definitions = Mapping[str, tuple[str, str]]
"""Title and equation by name of the quantity."""
Forms = tuple[str, str]
"""Forms of what is said of an upward and of a downward difference."""
MOST_LEVELS, MOST_GROUPS = 1_000, 100
"""Levels of a factor by which answers are broken down, and groups whose spread is estimated: of more the memory and the
page would grow beyond what anybody can read."""
_TYPES: dict[Any, str] = {str: "a text", bool: "True or False"}
"""Description of a parameter of a statistic, by its type."""
SUM_OF_SCORES = "sum of the scores of all answers / number of answers that are not left out"
"""Mean of a score that leaves answers out: a ratio of sums over units."""


@dataclass(frozen=True)
class Score:
    """A number that each valid answer has, or a list of texts."""

    name: str  # column of the answers
    title: str
    unit: str
    # Smallest and largest possible value; infinite where there is none
    low: float = -inf
    high: float = inf
    label: str = ""  # of its estimates in the column `score`, where a study has several scores
    compared: bool = False  # whether it is no number but a list of texts, compared with another one
    leaves_out: bool = False  # whether some valid answers have none, and are left out of it
    # What is said of a higher and of a lower score, `{size}` being by how much, and what differs then; of the name by
    # default
    moved: tuple[str, str] = ("", "")
    quantity: str = ""
    favours: bool = False  # whether a higher score is that of the option that is declared to be favourable
    # Further labels of its estimates, such as who gives it
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def is_share(self) -> bool:
        """True if its mean is a share: it is from 0 to 1."""
        return (self.low, self.high) == (0.0, 1.0)

    @property
    def span(self) -> float | None:
        """Largest possible difference; None where there is no such."""
        return self.high - self.low if isfinite(self.high - self.low) else None

    @property
    def middle(self) -> float:
        """Middle of the scale."""
        return (self.low + self.high) / 2

    @property
    def words(self) -> str:
        """Name of the quantity that differs, for people."""
        return self.quantity or self.name.replace("_", " ")


class PairNames(NamedTuple):
    """Names of the two pictures of a pair: what stands beside the base, and the base; empty where there are none."""

    counterpart: str = ""
    base: str = ""


NO_NAMES = PairNames()


@dataclass(frozen=True, kw_only=True)
class Statistic:
    """A statistic of scores.

    Class attributes
    ----------------
    kind:
        Its name in files and, unless an estimand has a name of its own, of its measure.
    title, lead:
        Title and first sentence of its section on pages.
    definitions:
        Title of its measure, in which `{}` stands for the score, and equation, of each quantity that it may be.
    facet_title:
        Title of what it finds about groups, in which `{}` stands for the score; empty where it is about no group.
    effect:
        What is found or missed ("shift").
    plural:
        What several of them are called, where it is not `kind` with an s.
    phrase_form:
        What differs or not, as in "no difference was found in PHRASE", in which `{}` stands for the score.
    told_in:
        Unit in which sizes are told, and how many of it one of the measure is; empty for that of the score.
    reach:
        Largest possible value, as a share of the scale.
    of_whole:
        Whether it is a share of a whole, whatever the scale.
    says_difference:
        Whether it says that things differ, so that it is tested; a level never does.
    has_direction:
        Whether it has a direction; one without is never below zero, and stands beside a noise floor.
    is_effect:
        Whether it says in which direction people are judged differently, so that runs are compared by it.
    is_between_groups:
        Whether it is over all levels of its factor at once.
    is_level:
        Whether it is a level of the scores, of which no effect is detected.
    from_base:
        Whether it compares each picture with the base of its unit.
    of_pairs, of_lists:
        Whether it is of pairs of pictures side by side, and of lists of texts rather than numbers.
    paired:
        Whether it compares stimuli of the same unit.
    unbounded:
        Why missing answers could have made anything of it; empty where it has bounds.
    companion_titles:
        Titles of the tables of the measures that stand beside its own.

    Examples
    --------
    >>> from facevalue.statistics import contrasts
    >>> contrasts.Gap(factor="gender").phrase("ratings")
    'ratings'
    """

    kind: ClassVar[str] = ""
    title: ClassVar[str] = ""
    lead: ClassVar[str] = ""
    definitions: ClassVar[Definitions] = {}
    facet_title: ClassVar[str] = ""
    effect: ClassVar[str] = "difference"
    plural: ClassVar[str] = ""
    phrase_form: ClassVar[str] = "{}"
    told_in: ClassVar[tuple[str, float]] = "", 1.0
    reach: ClassVar[float] = 1.0
    of_whole: ClassVar[bool] = False
    says_difference: ClassVar[bool] = True
    has_direction: ClassVar[bool] = True
    is_effect: ClassVar[bool] = False
    is_between_groups: ClassVar[bool] = False
    is_level: ClassVar[bool] = False
    from_base: ClassVar[bool] = False
    of_pairs: ClassVar[bool] = False
    of_lists: ClassVar[bool] = False
    paired: ClassVar[bool] = False
    unbounded: ClassVar[str] = ""
    companion_titles: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for parameter in fields(self):
            value = getattr(self, parameter.name)
            if parameter.type == tuple[str, ...]:
                object.__setattr__(self, parameter.name, check_names(value, parameter.name))
            elif parameter.type in _TYPES and not isinstance(value, parameter.type):  # type: ignore[arg-type]
                raise DataError(f"`{parameter.name}` of a {self.kind} is {_TYPES[parameter.type]}, not {value!r}.")

    # What it is of.

    @property
    def factors(self) -> tuple[str, ...]:
        """Factors that it is of, besides those that an estimand is broken down by."""
        factor = getattr(self, "factor", "")
        return (factor,) if factor else ()

    @property
    def scores_beside(self) -> tuple[str, ...]:
        """Names of other scores of the same answers that it takes."""
        return ()

    @property
    def collector(self) -> Any:
        """Maker of a collection of what it needs of answers beside scores, such as words of texts; None: nothing.

        Its `start(breakdown, axes)` gives the collection, whose `add(rows)` takes a chunk of answers in. Equal ones
        are collected once.
        """
        return None

    @property
    def further_labels(self) -> tuple[str, ...]:
        """Labels of its estimates that are no factors of pictures or prompts."""
        return ()

    @property
    def compares(self) -> bool:
        """True if it compares levels of its factor with each other, in one direction."""
        return False

    @property
    def corrects_itself(self) -> bool:
        """True if its test corrects for the number of its estimates, so that no declared family can."""
        return False

    def contrasts(self, breakdown: Breakdown) -> list[tuple[str, str]]:
        """Levels that are compared, each with the one that it is compared with."""
        return []

    def check(self, by: Sequence[str], breakdown: Breakdown) -> None:
        """Refuse what there isn't among the pictures and questions of a study.

        Raises
        ------
        DataError, UnknownNameError
            The study has no such thing to estimate.
        """

    def check_score(self, score: Score, *, sides: bool) -> None:
        """Refuse a score that it can't be of; `sides`: whether pairs are shown side by side.

        Raises
        ------
        DataError
            It can't be of such scores.
        """
        self._refuse_left_out(score)

    def _refuse_left_out(self, score: Score, described: str = "") -> None:
        if score.leaves_out:
            raise DataError(
                f"The score {score.name!r} leaves answers out, so that it has means, leans and gaps of one group "
                f"versus another or all others, and no {described or self.kind}: name others with `scores`."
            )

    def needs_levels(self, breakdown: Breakdown) -> bool:
        """Return whether its factor must have two levels or more."""
        return True

    def is_between_units(self, breakdown: Breakdown) -> bool:
        """Return whether it compares units with other units."""
        return False

    def is_within_units(self, breakdown: Breakdown) -> bool:
        """Return whether it compares pictures or questions of the same units."""
        return self.paired

    # What its measures are.

    def quantity(self, breakdown: Breakdown) -> str:
        """Name of what is measured, of which one kind may have several."""
        return self.kind

    def companions(self, name: str) -> tuple[str, ...]:
        """Names of the measures that stand beside that of this name."""
        return ()

    def names_by_size(self, name: str) -> tuple[str, ...]:
        """Names of those of its measures that depend on how many units or replies there are."""
        return ()

    def untested_measures(self, name: str, *, tested: bool) -> tuple[str, ...]:
        """Names of what it measures and does not test."""
        return (*(() if tested else (name,)), *self.companions(name))

    def limits(self, score: Score, breakdown: Breakdown) -> tuple[float, float]:
        """Smallest and largest possible value."""
        reach = 1.0 if self.of_whole else self.reach * (score.span or inf)
        return (-reach if self.has_direction else 0.0), reach

    def definition(self, breakdown: Breakdown, score: Score) -> tuple[str, str]:
        """Title of its measure, in which `{}` stands for the score, and its equation."""
        return self.definitions[self.quantity(breakdown)]

    def is_paired(self, breakdown: Breakdown) -> bool:
        """Return whether it compares stimuli of the same unit."""
        return self.paired

    def measure(self, name: str, breakdown: Breakdown, score: Score) -> Measure:
        """Definition of its measure."""
        title, equation = self.definition(breakdown, score)
        unit = "share" if self.of_whole else score.unit
        return Measure(
            name, title.format(phrase_of(score, title)), equation, unit, breakdown.sets.unit, OURS,
            signed=self.has_direction, paired=self.is_paired(breakdown), comparison=self.says_difference,
            limits=self.limits(score, breakdown), unbounded=self.unbounded, score=score.label,
        )  # fmt: skip

    def measures(self, name: str, breakdown: Breakdown, score: Score) -> dict[str, Measure]:
        """Definitions of its measure and of those that stand beside it, by name."""
        return {name: self.measure(name, breakdown, score)}

    # How it is estimated, planned and calibrated.

    def estimate(self, table: "EstimateTable", estimand: "Estimand", model: "ModelScores") -> None:
        """Add its estimates of one model's scores to a table: value, interval, test, floor and bounds."""
        raise NotImplementedError

    def estimate_sums(self, table: "EstimateTable", estimand: "Estimand", scores: "SumScores") -> None:
        """Add its estimates of one model's sums by unit; statistics of shares alone have any."""
        raise NotImplementedError

    def compare_models(self, table: "EstimateTable", estimand: "Estimand", models: "Mapping[str, ModelScores]") -> None:
        """Add its estimates of several models beside each other; besides those of their mean scores it has none."""

    def precision(
        self, estimand: "Estimand", task: "PlannedTask", score: Score, design: "Design"
    ) -> "Precision | None":
        """Description for a planner of what it can detect; None where nothing can be said beforehand."""
        from facevalue.statistics.power import precision_of_difference  # noqa: PLC0415 - only plans need it

        return precision_of_difference(estimand, task, score, design)

    def plan_sentence(self, breakdown: Breakdown) -> str:
        """Sentence for a planner on what it can detect, where the number of units does not decide; else empty."""
        return ""

    def rival(self, estimand: "Estimand", answers: pl.DataFrame, breakdown: Breakdown, score: Score) -> pl.DataFrame:
        """Rows of the simplest test of the same question, which a calibration sets beside its own.

        `answers`: of one task, levels as texts. Returns a row per number, with the columns `unit`, `value` (zero on
        average without an effect), and what the estimates are of; with `side` where two groups of units are compared.
        """
        raise NotImplementedError

    # How it reads.

    def quantity_words(self, measure: str, score: Score) -> str:
        """Name of the quantity that differs, for people; `measure`: the name that an estimand gave it, if any."""
        return score.words

    def facet_words(self, words: str) -> str:
        """Name of the quantity that differs between groups, in the title of findings about them."""
        return words

    def has_single_rival(self, breakdown: Breakdown) -> bool:
        """Return whether each level is compared with one other level."""
        return False

    def phrase(self, words: str) -> str:
        """Name of the quantity that differs or not; `words`: the score's."""
        return self.phrase_form.format(words)

    def subject(self, by: Sequence[str], sides: PairNames) -> str:
        """Form of who or what a difference is of."""
        return form_of(by) or "Overall"

    def direction_forms(self, by: Sequence[str], up: str, down: str, sides: PairNames, quantity: str) -> Forms:
        """Forms of what is said of an upward and of a downward difference; `up`, `down`: those of the score."""
        return up, down

    def noun(self, by: Sequence[str]) -> tuple[str, str]:
        """Name of a comparison, in the singular and the plural."""
        names = self.factors[:1] or by
        if not names:
            return "comparison", "comparisons"
        noun, name = "group" if self.factors else "comparison", " and ".join(names).replace("_", " ")
        return f"{noun} by {name}", f"{noun}s by {name}"

    def row(self, by: Sequence[str], sides: PairNames) -> str:
        """Form of a row; empty for all its factors."""
        return "" if by or self.factors else "Overall"

    def labels(self, by: Sequence[str]) -> tuple[str, ...]:
        """Labels that its estimates have a level of."""
        return tuple(by)

    def label_form(self, by: Sequence[str]) -> str:
        """Form of the text of a row of its table."""
        return ", ".join(f"{{{name}}}" for name in self.labels(by)) or "Over everything"

    def declared_levels(self, breakdown: Breakdown) -> dict[str, tuple[str, ...]]:
        """Levels of labels that a family declared before a run has, besides those of `by`."""
        return {}


class PaperStatistic(Statistic):
    """A statistic of one paper alone, whose measures are defined beside the paper's others (`published`)."""

    published: ClassVar[tuple[Measure, ...]] = ()
    says_difference = False

    @property
    def paper_measures(self) -> tuple[Measure, ...]:
        """Definitions of its measures."""
        return self.published

    def measures(self, name: str, breakdown: Breakdown, score: Score) -> dict[str, Measure]:
        """Definitions of its measures, by key."""
        return {measure.key: measure for measure in self.paper_measures}

    def companions(self, name: str) -> tuple[str, ...]:
        """Names of its other measures."""
        return tuple(dict.fromkeys(measure.name for measure in self.paper_measures if measure.name != name))

    def estimate(self, table: "EstimateTable", estimand: "Estimand", model: "ModelScores") -> None:
        """Add nothing of one model, where it is of several."""


@dataclass(frozen=True, kw_only=True)
class Unsigned(Statistic):
    """A statistic of a factor without a direction: never below zero, beside a noise floor, over all levels at once."""

    factor: str

    difference: ClassVar[str] = "groups differ by {size} in "
    has_direction = False
    is_between_groups = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_factor(self, self.factor)

    def labels(self, by: Sequence[str]) -> tuple[str, ...]:
        """Labels that its estimates have a level of: the factor is the dimension."""
        return (*by, DIMENSION)

    def noun(self, by: Sequence[str]) -> tuple[str, str]:
        """Name of a comparison, in the singular and the plural."""
        return "factor", "factors"

    def subject(self, by: Sequence[str], sides: PairNames) -> str:
        """Form of what differs."""
        return f"{{{DIMENSION}}}"

    def direction_forms(self, by: Sequence[str], up: str, down: str, sides: PairNames, quantity: str) -> Forms:
        """Form of what is said of a difference, which has no direction."""
        return (f"{self.difference}{quantity}{within_form(by)}",) * 2

    def declared_levels(self, breakdown: Breakdown) -> dict[str, tuple[str, ...]]:
        """The factor, as the dimension."""
        return {DIMENSION: (self.factor,)}


def check_names(names: object, what: str) -> tuple[str, ...]:
    """Names in a list or tuple; a text is one name.

    Raises
    ------
    DataError
        There is anything but texts.

    Examples
    --------
    >>> check_names("job", "by"), check_names(["job", "age"], "by")
    (('job',), ('job', 'age'))
    """
    names = (names,) if isinstance(names, str) else names
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise DataError(f"`{what}` has names in a list, such as ['job'], not {names!r}.")
    return tuple(names)


def require_factor(statistic: Statistic, factor: str) -> None:
    """Refuse a statistic without the factor that it is of."""
    if not factor:
        raise DataError(f"A {statistic.kind} needs a factor of its own: name it with `factor`.")


def phrase_of(score: Score, title: str) -> str:
    """Title of a score as part of another, or alone."""
    return score.title[:1].lower() + score.title[1:] if title != "{}" else score.title


def form_of(names: Sequence[str]) -> str:
    """Form of the levels of several labels."""
    return ", ".join(f"{{{name}}}" for name in names)


def within_form(by: Sequence[str]) -> str:
    """Form of the levels within which things are compared, in brackets; empty where there are none."""
    return f" ({form_of(by)})" if by else ""


def companion_measures(measure: Measure, texts: Mapping[str, tuple[str, str]], **facts: Any) -> dict[str, Measure]:
    """Definitions of measures that stand beside another, from title and equation by name."""
    return {
        name: replace(measure, name=name, title=title, equation=equation, **facts)
        for name, (title, equation) in texts.items()
    }


_REGISTERED: dict[str, type[Statistic]] = {}


def register(statistic: type[Statistic]) -> type[Statistic]:
    """Make a statistic known by its kind, so that files can name it."""
    if _REGISTERED.setdefault(statistic.kind, statistic).__qualname__ != statistic.__qualname__:
        raise DataError(f"There is a statistic {statistic.kind!r} already: {_REGISTERED[statistic.kind].__module__}.")
    return statistic


def registered_statistics() -> dict[str, type[Statistic]]:
    """Our statistics by kind, and those of other packages that were asked for."""
    from facevalue.statistics import agreement, cell_gaps, contrasts, levels, ranges, spreads  # noqa: F401, PLC0415 - they register

    return dict(_REGISTERED)


def statistic_class(kind: str) -> type[Statistic]:
    """The statistic of a kind: ours, or one that another package brings (entry points `facevalue.statistics`).

    Raises
    ------
    UnknownNameError
        There is none of this kind.
    PluginError
        Another package's cannot be imported, or is no statistic of this kind.
    """
    registered = registered_statistics()
    if kind in registered:
        return registered[kind]
    installed = plugins(STATISTICS, registered)
    if kind not in installed:
        raise UnknownNameError("statistic", kind, [*registered, *installed])
    statistic = installed[kind].load()
    if not (isinstance(statistic, type) and issubclass(statistic, Statistic) and statistic.kind == kind):
        raise installed[kind].wrong(f"is no subclass of Statistic with kind = {kind!r}")
    return register(statistic)


def statistic_of(kind: str, parameters: Mapping[str, Any]) -> Statistic:
    """Make a statistic of a kind.

    Raises
    ------
    UnknownNameError
        No such kind, or no such parameter of any kind.
    DataError
        Other kinds have such a parameter, or its value can't be.

    Examples
    --------
    >>> statistic_of("gap", {"factor": "gender"}).kind
    'gap'
    """
    chosen = statistic_class(kind)
    names = parameters_of(chosen)
    for name in parameters:
        if name not in names:
            holders = [
                holder for holder, statistic in registered_statistics().items() if name in parameters_of(statistic)
            ]
            if not holders:
                raise UnknownNameError(f"key of a {kind}", name, names)
            raise DataError(f"A {kind} has no {name!r}: only a {' or a '.join(holders)} has.")
    needed = [field.name for field in fields(chosen) if field.default is MISSING]
    parameters = {**dict.fromkeys(needed, ""), **parameters}
    return chosen(**parameters)


def parameters_of(statistic: type[Statistic]) -> dict[str, Any]:
    """Names of the parameters of a kind of statistic, and the type of each as it is written."""
    return {field.name: field.type for field in fields(statistic)}


def contrast_form(factor: str) -> str:
    """Form of the level that a level of a factor is compared with."""
    return f"{{{CONTRAST}:{factor}}}"
