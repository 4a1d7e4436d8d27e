"""Study: stimuli x prompts x variants, how replies are understood, which measures are taken."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.annotate.scores import Scores
from facevalue.answers.categories import Judge
from facevalue.design import Design
from facevalue.measures.base import Measure
from facevalue.measures.missing_by import MissingBy
from facevalue.protocol.offers import Extras
from facevalue.stimuli.base import Source
from facevalue.types import OptionValue, Question, Sampling

if TYPE_CHECKING:
    from facevalue.measures.preregistration import Preregistration
    from facevalue.protocol.page import Page
    from facevalue.protocol.respondents import Respondents


@dataclass(frozen=True, slots=True)
class Spread:
    """How far what is measured differs between the units that are sampled.

    Attributes
    ----------
    mean:
        SD between clusters (faces) of their mean over `items` items (scenarios).
    within:
        SD between the items of one cluster; NaN if not known.
    items:
        Over how many items the means were taken.
    source:
        Where the numbers are from, for people.
    growth:
        How far clusters differ in an effect itself, as a share of it: what moves most faces far moves some less.

    Examples
    --------
    >>> Spread(mean=0.1, within=0.2, items=10, source="a pilot").at(items=10)
    0.1
    """

    mean: float
    within: float
    items: float
    source: str
    growth: float = 0.0

    def at(self, items: float, effect: float = 0.0) -> float:
        """SD between clusters where each has so many items, drawn without replacement from those there are.

        Parameters
        ----------
        items:
            Items of each cluster.
        effect:
            Their mean.

        Equation
        --------
        sd²(k, d) = sd²(K) + within² (1/k - 1/K) + (growth d)²: the items that are left out add their share of the
        variance between items (Cochran, Sampling Techniques, 1977, section 10.3). NaN where fewer items are planned and
        `within` is not known.
        """
        variance = self.mean**2 + (self.growth * effect) ** 2
        if items < self.items:
            variance += self.within**2 * (1 / items - 1 / self.items)
        return float(np.sqrt(variance))

    def twice(self) -> "Spread":
        """The same for the difference between two runs whose effects on a cluster are unrelated."""
        root = float(np.sqrt(2))
        return replace(self, mean=root * self.mean, within=root * self.within, source=f"two runs as {self.source}")


@dataclass(frozen=True, slots=True)
class Precision:
    """What a planner must know of a study to say what it can detect.

    Attributes
    ----------
    what:
        The effect that is planned for.
    tests:
        Tests in its family.
    clusters, items:
        Units sampled, and items of each, in the whole study.
    cluster, item:
        What these are, in the plural.
    units:
        From trial numbers to clusters, and items of each.
    spread:
        From a pilot's answers and where it is to its spread.
    default:
        What is assumed without a pilot: a spread, or respondents who are simulated in the design of the plan.
    shares:
        Share of the clusters that each test rests on, as not every face can have every cue; empty where all rest on
        all.
    advice:
        From the spread to what the design cannot tell apart and what it would take, for people; None if nothing.
    freedom:
        In how many directions an effect may lie that is tested by the size of its square; None for a shift, which is
        tested by t.
    sure:
        Share of the family's level at which a single effect is sure to be found.
    each:
        Requests of each cluster; None where all requests of the plan are about the clusters.
    largest:
        Largest possible effect.
    compared:
        The same of what two runs are compared by, where that is another effect.

    Examples
    --------
    >>> from facevalue.protocol import Ask, Portraits, Protocol, Take, yes_or_no
    >>> ask, shift = Ask(("Is this person kind?",), yes_or_no()), Take("shift", by=("variation",))
    >>> portraits = Portraits(cues={"eyewear": ("sunglasses",)}, people="8")
    >>> kind = Protocol(name="kind", title="Who is kind?", stimuli=portraits, ask=ask, takes=(shift,))
    >>> kind.study().precision.clusters
    8
    """

    what: str
    tests: int
    clusters: int
    items: float
    cluster: str
    item: str
    units: Callable[[npt.NDArray[np.int64]], tuple[int, float]]
    spread: Callable[[Iterator[pl.DataFrame], str], Spread]
    default: "Spread | Respondents"
    shares: tuple[float, ...] = ()
    advice: Callable[[Spread], str] | None = None
    freedom: int | None = None
    sure: float = 1.0
    each: float | None = None
    largest: float = 1.0
    compared: "Precision | None" = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something of the published protocol that is not shown.

    Attributes
    ----------
    what, why:
        For people.

    Examples
    --------
    >>> LeftOut("fashion_style", "no full-body picture").why
    'no full-body picture'
    """

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Scored:
    """Which replies of a study are texts that scorers read, and how their scores come into it.

    Attributes
    ----------
    read:
        Which rows of the trial frame have such replies.
    groups:
        The words that name each group, for the audit of scorers: {"Black male": "Black man"}.
    carrying:
        From the stored scores of a run to the same study, whose answers have a column `score: NAME/LABEL` for each
        label (`annotate.scores.columns`), and whose analysis measures these.
    texts:
        Columns of answers that hold them; `declined` what refusals say, where their scores are of use, too.
    """

    read: pl.Expr
    groups: Mapping[str, str]
    carrying: "Callable[[Sequence[Scores]], Study]"
    texts: tuple[str, ...] = ("text",)


@dataclass(frozen=True)
class Study:
    """Everything a run, a measurement and a report need to know of a study. Does no I/O and calls no model.

    Attributes
    ----------
    name, version:
        Short name, and the version of the declaration: results of different versions are not mixed.
    title, citation:
        For people; the paper the protocol is from.
    content_note:
        What readers should be prepared to see; empty if nothing.
    options:
        The user's choices from which the study was built; with `manifest`, enough to build it again.
    manifest:
        One row per image: `image` (id), `identity`, `set` and factor columns. Stored with each run.
    design:
        Which trials there are.
    protocol:
        The trials of the published protocol, where the pictures at hand show only a part of it.
    left_out:
        What of it is not shown, and why.
    unshown:
        Why nothing of the design can be shown with the pictures at hand, so that it can be planned and not run; empty
        where something can.
    counted_by:
        Prompt columns by which plans count trials, such as "paradigm".
    seeds:
        Sampling seeds of the protocol; each trial is asked once per seed. Repeat k uses seeds[k].
    reasks:
        How often a reply without a valid answer is asked again. A re-ask of repeat k is stored as repeat
        k + len(seeds), k + 2 len(seeds), ...; the first valid one counts.
    sampling:
        How replies are drawn.
    source:
        Where the pictures come from.
    ask:
        From a trial frame to its questions, one per row; equal questions are the same object.
    sample:
        (requests wanted, seed, repeats) to trial numbers in ascending order: as many whole units of the protocol as
        fit.
    answer:
        From the trial frame joined with `repeat`, `status`, `text` and `probs` to the answers: the same rows, with
        `weight` (f64 in [0, 1]; null for N/A), `mass` (f64: expected number of valid answers, 0 or 1 for a sampled
        reply) and `na` (why there is no answer; null if there is one), in place of text and probs.
    analyse:
        From each model's answers, in chunks, to estimates.
    measures:
        Definitions of the measures that `analyse` takes.
    labels:
        What estimates may be broken down by, such as the factors of the design: columns of the table of estimates, in
        this order, after those that every table has (`measures.estimates.TYPED`).
    renamed:
        What labels were called in the first version of the table of estimates: by measure ("" stands for all others)
        from that name to the one in `labels`.
    precision:
        What power analysis needs; None if the study says nothing of it.
    titles:
        Per factor column the wording of its levels for people, where it isn't the level itself. A level of `variation`
        may be written "attribute/variation".
    judged:
        From a judge to `answer` with it, where replies hold texts that a judge may sort. None where none do.
    scored:
        Which replies scorers read; None where none do.
    constrain:
        Whether the protocol constrains replies to the options. Models that can't be held to it answer freely.
    lead:
        Families that the page's answer is about, in order of preference: the first that was tested leads
        (`measures.page_error`). A name stands for all families that begin with it and go on in brackets, too.
    parts:
        Settings by which the study may be asked in parts, in runs of their own that a report puts together: the first
        says which part a run asks, so that its levels differ from run to run; the others may differ.
    read_by:
        Settings of how replies are read: runs of models that answer in different ways may differ in them.
    asked_together:
        Columns of what is shown: stimuli of one level of the first of these that they have are asked close together,
        as they are compared with each other (the base and all variations of a face). Without them each stimulus is
        asked by itself, at a time drawn by seed.
    extras:
        What is offered beside (`Protocol.extras`).
    declared:
        Families and margins that the study itself declares, so that they stand before any answer; None if none.
    page:
        Makes what its report shows; every measure by default.
    intervened:
        By name of an intervention, the levels of block constants of what alone it is asked of; the others are asked of
        everything.
    sampled:
        What was sampled, where that is not what the columns of the measures' unit say, nor who is on the pictures: an
        expression of trial columns, or one for either side of a pair; null where it is. Names are those of other runs,
        too: changes by interventions, and differences between runs, are taken over it (`sampled_units`).
    led:
        (text before the prompt, question) to the prompt with it, where the study has a wording of its own for it. None
        where the text precedes the prompt.
    alike:
        (model, intervention, answers without it, answers with it) to estimates of how alike the answers are. None where
        that is not measured.
    unread:
        What to look at where most of the first replies have no valid answer; empty if nothing.
    missing_by:
        By what missing answers are compared: the groups of people who are shown, and what was asked.
    followed:
        Shares of answers, by name, whose drift over the time of the run is measured: expressions of the columns of
        `answer`, null for answers of another kind.

    Examples
    --------
    >>> from facevalue.protocol import Ask, Portraits, Protocol, Take, yes_or_no
    >>> ask, people = Ask(("Is this person kind?",), yes_or_no()), Portraits(cues={}, people="8")
    >>> study = Protocol(name="kind", title="Who is kind?", stimuli=people, ask=ask, takes=(Take("mean"),)).study()
    >>> study.design.size, study.repeats
    (8, 1)
    """

    name: str
    version: int
    title: str
    citation: str
    content_note: str
    options: Mapping[str, OptionValue]
    manifest: pl.DataFrame
    design: Design
    seeds: tuple[int, ...]
    sampling: Sampling
    source: Source
    ask: Callable[[pl.DataFrame], list[Question]]
    sample: Callable[[int, int, int], npt.NDArray[np.int64]]
    answer: Callable[[pl.DataFrame], pl.DataFrame]
    analyse: Callable[[Mapping[str, Iterator[pl.DataFrame]]], pl.DataFrame]
    measures: tuple[Measure, ...]
    precision: Precision | None = None
    titles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    reasks: int = 0
    judged: Callable[[Judge], Callable[[pl.DataFrame], pl.DataFrame]] | None = None
    scored: Scored | None = None
    constrain: bool = False
    asked_together: tuple[str, ...] = ()
    missing_by: MissingBy = field(default_factory=MissingBy)
    followed: Mapping[str, pl.Expr] = field(default_factory=lambda: {"": pl.col("weight")})
    unread: str = ""
    intervened: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    sampled: tuple[pl.Expr, ...] = ()
    led: Callable[[str, Question], str] | None = None
    alike: Callable[[str, str, Iterator[pl.DataFrame], Iterator[pl.DataFrame]], pl.DataFrame] | None = None
    protocol: Design | None = None
    left_out: tuple[LeftOut, ...] = ()
    unshown: str = ""
    counted_by: tuple[str, ...] = ()
    lead: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    read_by: tuple[str, ...] = ()
    extras: Extras = field(default_factory=Extras)
    declared: "Callable[[], Preregistration] | None" = None
    page: "Callable[[], Page] | None" = None
    labels: tuple[str, ...] = ()
    renamed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def repeats(self) -> int:
        """How often each trial is asked, re-asks not counted."""
        return len(self.seeds)
