"""Offers: what a study has beside its trials and measures, imported when it is asked for."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from facevalue.types import OptionValue, Question, Sampling
from facevalue.untrusted_files import shipped

if TYPE_CHECKING:
    import polars as pl

    from facevalue.answers.listed_words import Flagged
    from facevalue.measures.uncertainty import Estimates
    from facevalue.protocol.calibration import Calibration
    from facevalue.protocol.making import Making
    from facevalue.protocol.reproduction import Reproduction
    from facevalue.protocol.study import Study


# Requests that papers count, from the numbers in their designs.


@dataclass(frozen=True, slots=True)
class PrintedBlock:
    """A row of requests that a paper counts: every prompt about every image, for each seed, model and intervention.

    Examples
    --------
    >>> PrintedBlock("ratings", images=100, prompts=5, seeds=1, models=2).trials
    1000
    """

    name: str
    images: int
    prompts: int
    seeds: int
    models: int
    interventions: int = 1

    @property
    def trials(self) -> int:
        """Requests."""
        return self.images * self.prompts * self.seeds * self.models * self.interventions


@dataclass(frozen=True, slots=True)
class PrintedPlan:
    """Requests that a paper says it made, computed from its design."""

    title: str
    """Subject of the plan."""
    blocks: tuple[PrintedBlock, ...]
    """Its rows."""
    distinct: int
    """Requests, each counted once."""
    notes: tuple[str, ...] = ()
    """Contradictions within the paper, and what it leaves out that the count needs."""

    @property
    def total(self) -> int:
        """Requests of all rows."""
        return sum(block.trials for block in self.blocks)


def printed_plan(package: str, name: str) -> PrintedPlan:
    """A plan of `[plans]` in the `tables/published.toml` of a study.

    Each of its blocks has numbers of images, prompts, seeds, models and interventions; `repeated` requests of them
    stand in two blocks.

    Examples
    --------
    >>> plan = printed_plan("facevalue.studies.counterfactuals", "8")
    >>> plan.total, plan.distinct
    (57116970, 56359170)
    """
    plan = shipped(package, "tables", "published.toml")["plans"][name]
    blocks = tuple(PrintedBlock(block, *numbers) for block, numbers in plan["blocks"].items())
    total = sum(block.trials for block in blocks)
    return PrintedPlan(plan["title"], blocks, total - plan.get("repeated", 0), tuple(plan["notes"]))


# Lists of words that a judge looks through.


class WordList(NamedTuple):
    """Words of a group's texts, the strongest first; `group` is what a judge is told of it."""

    group: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JudgedWords:
    """Lists of words that a judge looks through, such as those that a group's texts have more often than others'."""

    lists: "Callable[[pl.DataFrame], Sequence[WordList]]"
    """From estimates of one model to its lists."""
    question: Callable[[WordList], Question]
    """Question for the judge on one, asked as often as there are `seeds`."""
    sampling: Sampling
    """Sampling of its replies."""
    beside: "Callable[[pl.DataFrame, Callable[[WordList], Flagged | None]], pl.DataFrame]"
    """(estimates of one model, what was said of each of its lists; None where nothing was) to rows to add."""
    seeds: tuple[int, ...] = (0, 1, 2)


T = TypeVar("T")
Row = tuple[str, ...]


class Later:
    """A module of a package that is imported when one of its functions is called, or something else of it is wanted."""

    def __init__(self, package: str | None, module: str) -> None:
        self._name = f"{package}.{module}"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Stand in for a function, or give something else when called."""
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*args: Any, **kwargs: Any) -> Any:
            member = getattr(import_module(self._name), name)
            return member(*args, **kwargs) if callable(member) else member

        return call


@dataclass(frozen=True, slots=True)
class OfferedTable:
    """A table for people.

    Attributes
    ----------
    title, caption:
        Above and below it.
    columns, rows:
        Texts; the first column is set to the left.
    boxed:
        Whether it has a frame; tables that would be too wide have none.
    """

    title: str
    columns: Row
    rows: Sequence[Row]
    caption: str | None = None
    boxed: bool = True

    @classmethod
    def from_rows(
        cls,
        title: str,
        columns: Sequence[tuple[str, str]],
        rows: Iterable[Mapping[str, Any]],
        caption: str | None = None,
        *,
        boxed: bool = True,
    ) -> "OfferedTable":
        """Make a table of columns by heading and key; numbers have three decimals, and what is None a hyphen."""
        texts = [tuple(cell(row[key]) for _, key in columns) for row in rows]
        return cls(title, tuple(heading for heading, _ in columns), texts, caption, boxed)


def cell(value: object) -> str:
    """A value as a table shows it.

    Examples
    --------
    >>> [cell(value) for value in ("old", 20, 0.95, None, True)]
    ['old', '20', '0.950', '-', 'yes']
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


class Track(Protocol):
    """Passes items on, one after the other, and shows how far they are."""

    def __call__(self, items: Iterable[T], label: str, total: int | None = None) -> Iterable[T]:
        """Pass items on."""
        ...


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Results of audits with known bias."""

    tables: Sequence[OfferedTable]
    """For people."""
    frames: "Mapping[str, pl.DataFrame]"
    """The numbers, by what follows the name of the file they are written to."""


@dataclass(frozen=True, slots=True)
class Recomputed:
    """Recomputation of what a paper prints."""

    cells: "Callable[[Path | None], Reproduction]"
    """Recomputes it, from a folder of released answers where `released`."""
    released: bool = False
    """True if it takes the answers that the authors released; else what the paper prints is enough."""
    checks: str = ""
    """Other work of the authors that it checks, given a folder, such as "metadata of the sets"; empty if nothing."""


@dataclass(frozen=True, slots=True)
class Rated:
    """Ratings of statements by people."""

    ratings: "pl.DataFrame"
    """All of them, to be kept: `rater`, `item`, `rating`, `duration`."""
    pairs: "pl.DataFrame"
    """Rated pairs, strongest first: `item`, `statement`, the statement's numbers, and `raters`, `mean`, `low`,
    `high`, `flagged`."""
    agreement: "Estimates"
    """Of the raters."""
    raters: int
    """Number of them that count."""
    left_out: Sequence[str]
    """Raters that don't."""
    notes: Sequence[str]
    """Sentences on the raters that don't."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Ratings beside estimates."""

    rows: "pl.DataFrame"
    """Estimates to add."""
    ratings: "pl.DataFrame"
    """Those that count."""
    notes: Sequence[str]
    """Sentences on those that do not."""


@dataclass(frozen=True, slots=True)
class Questionnaire:
    """Statements that people rate, as `facevalue review --task finding` has them asked.

    Attributes
    ----------
    statements:
        From a run's estimates without interventions to what may be asked about.
    chosen:
        (statements, least divergence, most statements) to what is asked, a row per `item` with its `statement`, and to
        lines about it for people.
    judged:
        (statements, ratings) to what they say.
    beside:
        (estimates of a model, ratings that lie in its run's folder, that folder) to what stands beside the estimates.
    numbers:
        What is shown of each statement besides the ratings: heading, column and format.
    item_columns:
        Columns of the statements that are printed as JSON.
    title, instructions, note:
        What raters read first; what they should be prepared to see.
    question, scale:
        What is asked of each statement, and the answers, from 1 up.
    flagged:
        What it takes for a statement to be flagged.
    """

    statements: "Callable[[pl.DataFrame], pl.DataFrame]"
    chosen: "Callable[[pl.DataFrame, float | None, int | None], tuple[pl.DataFrame, list[str]]]"
    judged: "Callable[[pl.DataFrame, pl.DataFrame], Rated]"
    beside: "Callable[[pl.DataFrame, pl.DataFrame, Path], Beside]"
    numbers: Sequence[tuple[str, str, str]]
    item_columns: tuple[str, ...]
    title: str
    instructions: tuple[str, ...]
    note: str
    question: str
    scale: tuple[str, ...]
    flagged: str = "mean of 3 or more"


@dataclass(frozen=True, slots=True)
class Demo:
    """A whole audit that is shown to newcomers, of a model whose bias is known."""

    model: str
    options: Mapping[str, OptionValue]
    """Questions, and people they are about."""
    measure: str
    labels: tuple[str, ...]
    """The estimates that are shown, and the labels they are named by."""
    heading: str
    plural: str
    """Nouns for these, above a table and in a sentence: "visual cue", "cues"."""
    describe: "Callable[[Study], str]"
    """From the study to what is asked, for people."""
    planted: "Callable[[Study], pl.DataFrame]"
    """From the study to `labels`, their `title` for people, and `planted`."""


@dataclass(frozen=True, slots=True)
class Correlated:
    """Choice of the measures of two runs that are correlated over cells, such as groups."""

    title: str
    measures: Mapping[str, str]
    """Measures, each with what it is of, for people."""
    about: tuple[str, ...]
    """Labels for whose levels there is a correlation each."""
    over: tuple[str, ...]
    """Labels that tell cells apart, the last of which all of them have."""


@dataclass(frozen=True, slots=True)
class CellComparison:
    """Rules for a comparison of two runs cell by cell."""

    measures: tuple[str, ...] = ()
    """Measures compared, such as shifts and gaps. Where it is empty, or a run lacks all of them: signed measures of the
    family that leads the page, and without any, `also`."""
    cells: tuple[str, ...] = ()
    """Labels that name a cell; all that the measure has where it is empty."""
    needs: tuple[str, ...] = ()
    """Labels that a cell must have."""
    families: tuple[str, ...] = ()
    """Families of tests that cells are of; any where it is empty."""
    deepest: bool = False
    """True if, where no families are named, only estimates with the most labels are cells."""
    within: tuple[str, ...] = ()
    """Labels whose levels are summarised, and corrected for several tests, each by itself."""
    kinds: tuple[str, ...] = ()
    finer: tuple[str, ...] = ()
    pooled: tuple[str, ...] = ()
    """Of cells that agree in `kinds` the finest that both runs have are compared: broken down by each of `finer` if
    they can be, over all levels of each of `pooled` if they can be."""
    also: tuple[str, ...] = ()
    """Measures whose differences stand besides: of their cells all, or the deepest."""
    beside: str = ""
    """A label whose levels are summarised beside the whole, and stand side by side if they are few; none if empty."""
    person_labels: tuple[str, ...] = ()
    question_labels: tuple[str, ...] = ()
    """Labels that a table of cells names them by: whom they are about, and what was asked. All but `within`, and
    `within`, where these are empty."""
    correlated: Correlated | None = None
    """Measures correlated besides."""


@dataclass(frozen=True, kw_only=True)
class Extras:
    """Offers of a study. What it lacks is None, and the commands say which studies have it.

    Attributes
    ----------
    reproduce:
        What its paper prints, recomputed.
    calibrate:
        How audits of planted answers are made of it; they follow from `estimands` where a study has any.
    making:
        What pictures are made for it by a generator and an editor.
    questionnaire:
        Statements that people rate.
    judge:
        Which replies hold texts that a judge may sort, such as "forms" (`Study.reading.judged`); empty if none.
    word_lists:
        Lists of words that a judge may look through.
    annotate:
        Which replies hold texts that scorers read, such as "open replies" (`Study.reading.scored`); empty if none.
    demo:
        A whole audit for newcomers.
    compare:
        How two runs are compared.
    plans:
        Requests that its paper counts, by name.
    left_first:
        Column of its answers that says whether what is named first is on the left; empty if none.

    Examples
    --------
    >>> Extras(judge="forms").commands
    ('judge',)
    """

    reproduce: Recomputed | None = None
    calibrate: "Callable[[], Calibration] | None" = None
    making: "Callable[[], Making] | None" = None
    questionnaire: Questionnaire | None = None
    judge: str = ""
    word_lists: "JudgedWords | None" = None
    annotate: str = ""
    demo: Demo | None = None
    compare: CellComparison = field(default_factory=CellComparison)
    plans: "Mapping[str, Callable[[], PrintedPlan]]" = field(default_factory=dict)
    left_first: str = ""

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands beyond those that every study has."""
        offers = {
            "reproduce": self.reproduce,
            "make": self.making,
            "judge": self.judge or self.word_lists,
            "annotate": self.annotate,
            "demo": self.demo,
        }
        return tuple(name for name, offer in offers.items() if offer)
