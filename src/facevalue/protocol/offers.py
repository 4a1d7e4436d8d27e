"""Offers: what a study has beside its trials and measures, imported when it is asked for."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import polars as pl

from facevalue.protocol.printed_plans import PrintedPlan
from facevalue.protocol.word_lists import WordLists
from facevalue.types import OptionValue

if TYPE_CHECKING:
    from facevalue.measures.cluster_bootstrap import Estimates
    from facevalue.protocol.reproduction import Reproduction
    from facevalue.protocol.study import Study

T = TypeVar("T")
Row = tuple[str, ...]


class Later:
    """A module of a package that is imported when one of its functions is called.

    A declaration imports what it offers for type checkers alone, and makes it one of these at run time.
    """

    def __init__(self, package: str, module: str) -> None:
        self._name = f"{package}.{module}"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Stand in for a function."""
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*args: Any, **kwargs: Any) -> Any:
            return getattr(import_module(self._name), name)(*args, **kwargs)

        return call


@dataclass(frozen=True, slots=True)
class Table:
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
    def of(
        cls,
        title: str,
        columns: Sequence[tuple[str, str]],
        rows: Iterable[Mapping[str, Any]],
        caption: str | None = None,
        *,
        boxed: bool = True,
    ) -> "Table":
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

    def __call__(self, items: Iterable[T], what: str, total: int | None = None) -> Iterable[T]:
        """Pass items on."""
        ...


@dataclass(frozen=True, slots=True)
class CalibrationRequest:
    """Which audits of models with known bias are wanted.

    Attributes
    ----------
    sizes, repetitions:
        Sizes of an audit, and audits of each condition.
    model, variant:
        Kind of model, and which one of it.
    track, say:
        Shows progress, and says a line.
    """

    sizes: tuple[int, ...]
    repetitions: int
    model: str
    variant: str
    track: Track
    say: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What audits of models with known bias show.

    Attributes
    ----------
    tables:
        For people.
    frames:
        The numbers, by what follows the name of the file they are written to.
    """

    tables: Sequence[Table]
    frames: Mapping[str, pl.DataFrame]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Audits of models whose bias is known.

    Attributes
    ----------
    sizes:
        Usual sizes of an audit.
    counted:
        What sizes count, in the plural.
    least:
        Smallest size.
    most:
        Kinds of models that can be audited, and the largest size for each.
    audit:
        Does it.
    """

    sizes: tuple[int, ...]
    counted: str
    least: int
    most: Mapping[str, int]
    audit: Callable[[CalibrationRequest], Calibrated]


@dataclass(frozen=True, slots=True)
class Recomputed:
    """What a paper prints, recomputed.

    Attributes
    ----------
    cells:
        Recomputes it, from a folder of released answers where `released`.
    released:
        Whether it takes the answers that the authors released; else what the paper prints is enough.
    checks:
        What else of the authors' it checks if a folder is given, such as "metadata of the sets"; empty if nothing.
    """

    cells: "Callable[[Path | None], Reproduction]"
    released: bool = False
    checks: str = ""


@dataclass(frozen=True, slots=True)
class Rated:
    """What people said of statements.

    Attributes
    ----------
    ratings:
        All of them, to be kept: `rater`, `item`, `rating`, `duration`.
    pairs:
        What was rated, strongest first: `item`, `statement`, the statement's numbers, and `raters`, `mean`, `low`,
        `high`, `flagged`.
    agreement:
        Of the raters.
    raters:
        How many count.
    left_out, under_two_minutes:
        Raters that don't, and those with responses that don't.
    said:
        The same in words.
    """

    ratings: pl.DataFrame
    pairs: pl.DataFrame
    agreement: "Estimates"
    raters: int
    left_out: Sequence[str]
    under_two_minutes: Sequence[str]
    said: Sequence[str]


@dataclass(frozen=True, slots=True)
class Beside:
    """Ratings beside estimates.

    Attributes
    ----------
    rows:
        Estimates to add.
    ratings:
        Those that count.
    said:
        Which do not, in words.
    """

    rows: pl.DataFrame
    ratings: pl.DataFrame
    said: Sequence[str]


@dataclass(frozen=True, slots=True)
class Questionnaire:
    """Statements that people rate.

    Attributes
    ----------
    about:
        What answers are needed: "forms".
    statements:
        From answers in chunks, and the study's options, to what may be asked about.
    export:
        (statements, path, least divergence, most statements) to what is to be said; writes the questionnaire.
    read:
        (statements, raters' files) to what they say.
    beside:
        (estimates of a model, ratings that lie in its run's folder, that folder) to what stands beside the estimates.
    """

    about: str
    statements: Callable[[Iterable[pl.DataFrame], Mapping[str, OptionValue]], pl.DataFrame]
    export: Callable[[pl.DataFrame, Path, float | None, int | None], list[str]]
    read: Callable[[pl.DataFrame, Sequence[Path]], Rated]
    beside: Callable[[pl.DataFrame, pl.DataFrame, Path], Beside]


@dataclass(frozen=True, slots=True)
class Demo:
    """A whole audit that is shown to newcomers, of a model whose bias is known.

    Attributes
    ----------
    model, options:
        Who is asked what.
    measure, labels:
        The estimates that are shown, and the labels they are named by.
    heading, plural:
        What these name, above a table and in a sentence: "visual cue", "cues".
    said:
        From the study to what is asked, for people.
    planted:
        From the study to `labels`, their `title` for people, and `planted`.
    """

    model: str
    options: Mapping[str, OptionValue]
    measure: str
    labels: tuple[str, ...]
    heading: str
    plural: str
    said: "Callable[[Study], str]"
    planted: "Callable[[Study], pl.DataFrame]"


@dataclass(frozen=True, slots=True)
class Compared:
    """How two runs are compared cell by cell.

    Attributes
    ----------
    measure:
        What is compared. Where it is empty, or a run lacks it: the signed measure of the family that leads the page.
    cells:
        Labels that name a cell; all that the measure has where it is empty.
    needs:
        Labels that a cell must have.
    families:
        Families of tests that cells are of; any where it is empty.
    deepest:
        Whether only what is broken down by as many labels as anything is a cell.
    within:
        Labels whose levels are summarised, and corrected for several tests, each by itself.
    kinds, finer, pooled:
        Of cells that agree in `kinds` the finest that both runs have are compared: broken down by each of `finer` if
        they can be, over all levels of each of `pooled` if they can be.
    unit:
        Labels that name whom cells are about: cells of one belong together in intervals. Each cell by itself where it
        is empty.
    beside:
        A label whose levels are summarised beside the whole, and stand side by side if they are few; none if empty.
    who, asked:
        Labels that a table of cells names them by: whom they are about, and what was asked. All but `within`, and
        `within`, where these are empty.
    """

    measure: str = ""
    cells: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    deepest: bool = False
    within: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    finer: tuple[str, ...] = ()
    pooled: tuple[str, ...] = ()
    unit: tuple[str, ...] = ()
    beside: str = ""
    who: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Extras:
    """What a study offers. What it lacks is None, and the commands say which studies have it.

    Attributes
    ----------
    reproduce:
        What its paper prints, recomputed.
    calibrate:
        Audits of models whose bias is known.
    image_prompts:
        What an image generator would be asked for its pictures; True for portraits alone.
    questionnaire:
        Statements that people rate.
    judge:
        Which replies hold texts that a judge may sort, such as "forms" (`Study.judged`); empty if none.
    word_lists:
        Lists of words that a judge may look through.
    annotate:
        Which replies hold texts that scorers read, such as "open replies" (`Study.scored`); empty if none.
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
    calibrate: Calibration | None = None
    image_prompts: Callable[[bool], pl.DataFrame] | None = None
    questionnaire: Questionnaire | None = None
    judge: str = ""
    word_lists: WordLists | None = None
    annotate: str = ""
    demo: Demo | None = None
    compare: Compared = field(default_factory=Compared)
    plans: Mapping[str, Callable[[], PrintedPlan]] = field(default_factory=dict)
    left_first: str = ""

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands beyond those that every study has."""
        offers = {
            "calibrate": self.calibrate,
            "reproduce": self.reproduce,
            "prompts": self.image_prompts,
            "questionnaire": self.questionnaire,
            "judge": self.judge or self.word_lists,
            "annotate": self.annotate,
            "demo": self.demo,
        }
        return tuple(name for name, offer in offers.items() if offer)
