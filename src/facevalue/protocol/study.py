"""Study: stimuli x prompts x variants, how replies are understood, which measures are taken."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.annotations.scores import Scores
from facevalue.answers.sorting import Judge, Sorting
from facevalue.design import Design
from facevalue.measures.cells import MissingBy
from facevalue.measures.definitions import Measure, told_apart
from facevalue.prompts.variants import Variant
from facevalue.protocol.offers import Extras
from facevalue.statistics.precision import Precision
from facevalue.stimuli.base import Source
from facevalue.types import OptionValue, Question, Sampling

if TYPE_CHECKING:
    from facevalue.measures.families import Preregistration
    from facevalue.protocol.page import Page


@dataclass(frozen=True, slots=True)
class About:
    """Description of a study for people.

    Attributes
    ----------
    title, citation:
        What it asks; the paper that the protocol is from.
    content_note:
        What readers should be prepared to see; empty if nothing.
    titles:
        Per factor column the wording of its levels, where it isn't the level itself. A level of `variation` may be
        written "attribute/variation".
    subject:
        What is audited, where that is not the model that is asked; empty where it is. Runs are called by it.
    stimulus:
        Noun for what is shown with a question, and its plural.

    Examples
    --------
    >>> About("Who is kind?", titles={"job": {"md": "physician"}}).titles["job"]["md"]
    'physician'
    """

    title: str
    citation: str = ""
    content_note: str = ""
    titles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    subject: str = ""
    stimulus: tuple[str, str] = ("picture", "pictures")


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


def by_reason(left_out: Sequence[LeftOut]) -> list[tuple[str, str]]:
    """Group omissions by their reason: names of what is left out, and the reason.

    Examples
    --------
    >>> by_reason([LeftOut("visbias", "no list"), LeftOut("gras", "no pictures"), LeftOut("modscan", "no list")])
    [('visbias, modscan', 'no list'), ('gras', 'no pictures')]
    """
    names: dict[str, list[str]] = {}
    for omission in left_out:
        names.setdefault(omission.why, []).append(omission.what)
    return [(", ".join(omitted), reason) for reason, omitted in names.items()]


@dataclass(frozen=True, slots=True)
class Planned:
    """Facts of a study that plans state.

    Attributes
    ----------
    protocol:
        The trials of the published protocol, where the pictures at hand show only a part of it.
    left_out:
        What of it is not shown, and why.
    unshown:
        Why nothing of the design can be shown with the pictures at hand, so that it can be planned and not run; empty
        where something can.
    counted_by:
        Prompt columns by which plans count trials, such as "paradigm".
    parts:
        Settings by which the study may be asked in parts, in runs of their own that a report puts together: the first
        says which part a run asks, so that its levels differ from run to run; the others may differ.
    precision:
        What power analysis needs; None if the study says nothing of it.
    unplanned:
        Why it says nothing, as the end of a sentence about it; empty if it needs no reason.

    Examples
    --------
    >>> Planned(left_out=(LeftOut("fashion_style", "no full-body picture"),)).unshown
    ''
    """

    protocol: Design | None = None
    left_out: tuple[LeftOut, ...] = ()
    unshown: str = ""
    counted_by: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    precision: Precision | None = None
    unplanned: str = ""


@dataclass(frozen=True, slots=True)
class Draws:
    """Draws of replies: seeds, sampling, and re-asks.

    Attributes
    ----------
    seeds:
        Sampling seeds of the protocol; each trial is asked once per seed. Repeat k uses seeds[k].
    sampling:
        Temperature, nucleus and longest reply.
    reasks:
        How often a reply without a valid answer is asked again. A re-ask of repeat k is stored as repeat
        k + len(seeds), k + 2 len(seeds), ...; the first valid one counts.
    constrain:
        Whether the protocol constrains replies to the options. Models that can't be held to it answer freely.

    Examples
    --------
    >>> Draws(seeds=(1, 2), sampling=Sampling(temperature=0.2)).reasks
    0
    """

    seeds: tuple[int, ...]
    sampling: Sampling
    reasks: int = 0
    constrain: bool = False


@dataclass(frozen=True, slots=True)
class Scored:
    """Selection of the replies that scorers read, and the use of their scores.

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
        Columns of answers that hold them, or lists of them; `declined` what refusals say, where their scores are of
        use, too.
    fills:
        Least and greatest value of columns of answers that hold the scores themselves, by name.
    """

    read: pl.Expr
    groups: Mapping[str, str]
    carrying: "Callable[[Sequence[Scores]], Study]"
    texts: tuple[str, ...] = ("text",)
    fills: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reading:
    """Ways to read replies other than by the study's own `answer`.

    Attributes
    ----------
    judged:
        From a judge to the same study, whose answers are read with it, where replies hold texts that a judge may sort.
        None where none do.
    sortings:
        What the judge of open texts is asked, whose agreement with people and bias by group words are measured.
    scored:
        Which replies scorers read; None where none do.
    columns:
        Columns of stored responses that `answer` takes besides `trial`.
    read_by:
        Settings of how replies are read: runs of models that answer in different ways may differ in them.
    unread:
        What to look at where most of the first replies have no valid answer; empty if nothing.
    from_place:
        From the folder or URL of a run to the same study whose answers carry what lies beside them there, such as
        which pictures pass their rules. None where nothing does.

    Examples
    --------
    >>> Reading(read_by=("style",)).scored is None
    True
    """

    judged: "Callable[[Judge], Study] | None" = None
    sortings: tuple[Sorting, ...] = ()
    scored: Scored | None = None
    columns: tuple[str, ...] = ("repeat", "status", "text", "probs")
    read_by: tuple[str, ...] = ()
    unread: str = ""
    from_place: "Callable[[Path | str], Study] | None" = None


@dataclass(frozen=True, slots=True)
class Estimated:
    """Measures that are estimated of the answers.

    Attributes
    ----------
    measures:
        Definitions of the measures that `analyse` takes.
    labels:
        What estimates may be broken down by, such as the factors of the design: columns of the table of estimates, in
        this order, after those that every table has (`measures.estimates.TYPED_LABELS`).
    lead:
        Families that the page's answer is about, in order of preference: the first that was tested leads
        (`measures.multitest`). A name stands for all families that begin with it and go on in brackets, too.
    declared:
        Families and margins that the study itself declares, so that they stand before any answer; None if none.

    Examples
    --------
    >>> Estimated((Measure("rate", "Rate", "yes / replies", "share", "face", ""),), labels=("job",)).labels
    ('job',)
    """

    measures: tuple[Measure, ...]
    labels: tuple[str, ...] = ()
    lead: tuple[str, ...] = ()
    declared: "Callable[[], Preregistration] | None" = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "measures", told_apart(self.measures))


@dataclass(frozen=True, slots=True)
class Watched:
    """Quantities that are watched in any study's answers.

    Attributes
    ----------
    missing_by:
        By what missing answers are compared: the groups of people who are shown, and what was asked.
    followed:
        Shares of answers, by name, whose drift over the time of the run is measured: expressions of the columns of
        `answer`, null for answers of another kind.

    Examples
    --------
    >>> list(Watched(followed={"rating": pl.col("rating") / 5}).followed)
    ['rating']
    """

    missing_by: MissingBy = field(default_factory=MissingBy)
    followed: Mapping[str, pl.Expr] = field(default_factory=lambda: {"": pl.col("weight")})


@dataclass(frozen=True, slots=True)
class Changes:
    """In which variants a study is asked besides, how they change what is asked, and over what changes are taken.

    Attributes
    ----------
    variants:
        Variants in which it is asked, those of the study's own and interventions of the user.
    plain:
        The study without them; None where it has none.
    versions:
        The study with the wording of each variant that has one of its own, by name.
    intervened:
        By name of an intervention, the levels of block constants of what alone it is asked of; the others are asked of
        everything.
    led:
        (text before the prompt, question) to the prompt with it, where the study has a wording of its own for it. None
        where the text precedes the prompt.
    sampled:
        What was sampled, where that is not what the columns of the measures' unit say, nor who is on the pictures: an
        expression of trial columns, or one for either side of a pair; null where it is. Names are those of other runs,
        too: changes by interventions, and differences between runs, are taken over it (`sampled_units`).
    alike:
        (model, intervention, answers without it, answers with it) to estimates of how alike the answers are. None where
        that is not measured.

    Examples
    --------
    >>> Changes(intervened={"blank-image": {"shown": ("image",)}}).intervened["blank-image"]["shown"]
    ('image',)
    """

    variants: tuple[Variant, ...] = ()
    plain: "Study | None" = None
    versions: "Mapping[str, Study]" = field(default_factory=dict)
    intervened: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    led: Callable[[str, Question], str] | None = None
    sampled: tuple[pl.Expr, ...] = ()
    alike: Callable[[str, str, Iterator[pl.DataFrame], Iterator[pl.DataFrame]], pl.DataFrame] | None = None


@dataclass(frozen=True)
class Study:
    """Everything a run, a measurement and a report need to know of a study. Does no I/O and calls no model.

    Attributes
    ----------
    name, version:
        Short name, and the version of the declaration: results of different versions are not mixed.
    about:
        What it says of itself to people.
    options:
        The user's choices from which the study was built; with `manifest`, enough to build it again.
    manifest:
        One row per image: `image` (id), `identity`, `set` and factor columns. Stored with each run.
    source:
        Where the pictures come from.
    design:
        Which trials there are.
    planned:
        What plans say of it.
    ask:
        From a trial frame to its questions, one per row. What is worked out of one object is worked out once: questions
        that come again and again are best the same object.
    draws:
        How replies are drawn.
    asked_together:
        Columns of what is shown: stimuli of one level of the first of these that they have are asked close together,
        as they are compared with each other (the base and all variations of a face). Without them each stimulus is
        asked by itself, at a time drawn by seed.
    sample:
        (requests wanted, seed, repeats) to trial numbers in ascending order: as many whole units of the protocol as
        fit.
    answer:
        From the trial frame joined with `repeat`, `status`, `text` and `probs` to the answers: the same rows, with
        `weight` (f64 in [0, 1]; null for N/A), `mass` (f64: expected number of valid answers, 0 or 1 for a sampled
        reply) and `na` (why there is no answer; null if there is one), in place of text and probs.
    reading:
        How replies may be read otherwise.
    analyse:
        From each model's answers, in chunks, to estimates.
    estimates:
        What these are.
    watched:
        By what missing answers are compared, and what is followed over the time of a run.
    changes:
        How interventions change what is asked.
    extras:
        What is offered beside (`Protocol.extras`).
    page:
        Makes what its report shows; every measure by default.

    Examples
    --------
    >>> from facevalue.protocol import Ask, Portraits, Protocol, yes_or_no
    >>> from facevalue.statistics import Estimand, Mean
    >>> ask, people = Ask(("Is this person kind?",), yes_or_no()), Portraits(cues={}, people="8")
    >>> mean = Estimand(Mean())
    >>> study = Protocol(name="kind", title="Who is kind?", stimuli=people, ask=ask, estimands=(mean,)).study()
    >>> study.design.size, study.repeats
    (8, 1)
    """

    name: str
    version: int
    about: About
    options: Mapping[str, OptionValue]
    manifest: pl.DataFrame
    source: Source
    design: Design
    ask: Callable[[pl.DataFrame], list[Question]]
    draws: Draws
    sample: Callable[[int, int, int], npt.NDArray[np.int64]]
    answer: Callable[[pl.DataFrame], pl.DataFrame]
    analyse: Callable[[Mapping[str, Iterator[pl.DataFrame]]], pl.DataFrame]
    estimates: Estimated
    planned: Planned = field(default_factory=Planned)
    asked_together: tuple[str, ...] = ()
    reading: Reading = field(default_factory=Reading)
    watched: Watched = field(default_factory=Watched)
    changes: Changes = field(default_factory=Changes)
    extras: Extras = field(default_factory=Extras)
    page: "Callable[[], Page] | None" = None

    @property
    def repeats(self) -> int:
        """Number of times that each trial is asked, re-asks not counted."""
        return len(self.draws.seeds)
