"""Data of a report: frozen facts that the command line fills in from a run folder."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import polars as pl

from facevalue.measures.base import Measure
from facevalue.measures.multiple_testing import Family
from facevalue.protocol.offers import Demo
from facevalue.protocol.page import Page
from facevalue.protocol.study import Study
from facevalue.report.sentences import word_pattern
from facevalue.stimuli.base import Kind
from facevalue.types import Sampling


@dataclass(frozen=True, slots=True)
class StudyFacts:
    """What was declared.

    Attributes
    ----------
    name, version:
        Short name of the study and the version of its declaration.
    title, citation:
        For people; the paper the protocol is from.
    content_note:
        What readers should be prepared to see; empty if nothing.
    options:
        The user's choices from which the study was built.
    measures:
        Definitions of the measures in the estimates.
    left_out:
        What of the protocol was not asked, and why.
    """

    name: str
    version: int
    title: str
    citation: str
    content_note: str = ""
    options: Mapping[str, object] = field(default_factory=dict)
    measures: tuple[Measure, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SelfCheck:
    """How far a local model's probabilities were from those of plain forward passes, over all sessions of a run.

    Attributes
    ----------
    questions:
        How many were put to it in both ways.
    difference:
        Largest difference of a probability.
    tolerance:
        Largest difference that rounding explains; a session ends above it.
    """

    questions: int
    difference: float
    tolerance: float


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One model's run.

    Attributes
    ----------
    model:
        Name as in the estimates' column `model`: the run's own, if it has one, else a short one.
    asked_model:
        How the model was named to be asked, with its address; empty if `model` is it.
    folder:
        Name of the run's folder, no path.
    settings:
        How the model was reached. Values whose name says that they are secret are not shown.
    sampling:
        How replies were drawn; None if it is not known.
    seeds:
        Sampling seeds.
    exact:
        True: option probabilities were read; False: replies were sampled; None: not known.
    drawn:
        Replies of an exact run that were drawn all the same, as too little of their probability could be read.
    planned:
        Requests that the run set out to make, re-asks not counted; None if it is not known.
    asked, valid, refused, errors:
        Requests with any outcome, with a valid answer, refused, failed; None if not counted.
    failure:
        What most of those that failed failed with, as a quotation; empty if none did.
    prompt_tokens, completion_tokens:
        As the model counts them; None if it doesn't say.
    started, ended:
        When; `ended` is None for a run that has not come to its end.
    versions:
        Of everything that took part: package, model, server, renderer.
    sample:
        How the trials asked were sampled, in words; empty if all of them were to be asked.
    preregistration:
        SHA-256 of the file in which families and margins were declared before the run; empty if there was none.
    families:
        Families declared in it.
    replayed:
        Whether the answers had been recorded before the run.
    self_check:
        What a local model's self-check found; None if there was none.
    """

    model: str
    asked_model: str = ""
    folder: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    sampling: Sampling | None = None
    seeds: tuple[int, ...] = ()
    exact: bool | None = None
    drawn: int = 0
    planned: int | None = None
    asked: int | None = None
    valid: int | None = None
    refused: int | None = None
    errors: int | None = None
    failure: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    started: datetime | None = None
    ended: datetime | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    sample: str = ""
    preregistration: str = ""
    families: tuple[Family, ...] = ()
    replayed: bool = False
    self_check: SelfCheck | None = None

    @property
    def complete(self) -> bool | None:
        """Whether all planned requests have got a reply; None if it can't be told."""
        if self.planned is None or self.asked is None:
            return None
        return self.asked - (self.errors or 0) >= self.planned


@dataclass(frozen=True, slots=True)
class DataStatement:
    """Which pictures were shown.

    Attributes
    ----------
    images, identities:
        How many.
    factors:
        Per factor the levels and how many identities have them (images, for `attribute` and `variation`).
    source, licence, labels:
        Where the pictures come from, under which terms, and who says what their levels are; empty if not stated.
    """

    images: int
    identities: int
    factors: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    source: str = ""
    licence: str = ""
    labels: str = ""


@dataclass(frozen=True, slots=True)
class PromptExample:
    """A question, verbatim.

    Attributes
    ----------
    title, note:
        What is asked, for people, and in which variant.
    prompt:
        The user message.
    system:
        The system message, if there was one.
    """

    title: str
    note: str
    prompt: str
    system: str | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """One face without and with a cue, and what the model made of it.

    Attributes
    ----------
    title:
        One line for people.
    base_image, variant_image:
        Encoded pictures; None if there is none to show. Shown small, whatever their size.
    media_type:
        Their MIME type.
    attribute, variation, scenario:
        Factor levels.
    prompt:
        What was asked, verbatim.
    base_answer, variant_answer:
        The replies, verbatim, or the option probabilities in words.
    base_phi, variant_phi:
        Preference scores of the two pictures in this scenario; None is not measurable.
    model:
        Who answered.
    base_choice, variant_choice:
        The wording of the option that each reply chose; empty if it is not one option.
    no_picture:
        Why a picture is not shown.
    base_title:
        What the cue is compared with.
    """

    title: str
    base_image: bytes | None
    variant_image: bytes | None
    media_type: str
    attribute: str
    variation: str
    scenario: str
    prompt: str
    base_answer: str
    variant_answer: str
    base_phi: float | None
    variant_phi: float | None
    model: str
    base_title: str = "Base face"
    base_choice: str = ""
    variant_choice: str = ""
    no_picture: str = ""


@dataclass(frozen=True, slots=True)
class PairExample:
    """Two people in one picture, what was asked about them, and what the model said.

    Attributes
    ----------
    title, finding:
        One line for people, and the number that the example stands behind.
    image:
        The picture that was shown, both people in it; None if there is none to show.
    prompt, options:
        What was asked and allowed as an answer, verbatim.
    answer:
        The reply, verbatim, or the option probabilities in words.
    choice:
        Wording of the option that the reply chose; empty if it is not one option.
    model:
        Who answered.
    left, right:
        Who is on which side of the picture; empty if there is no picture.
    no_picture:
        Why the picture is not shown.
    longest:
        Longest side of the picture in pixels.
    """

    title: str
    finding: str
    image: bytes | None
    prompt: str
    options: tuple[str, ...]
    answer: str
    choice: str
    model: str
    left: str = ""
    right: str = ""
    no_picture: str = ""
    longest: int = 640


@dataclass(frozen=True, slots=True)
class Sentence(PairExample):
    """A sentence of a description with a word that marks its group; `answer` is the sentence.

    Attributes
    ----------
    dimension, group, word:
        Whose word.
    """

    dimension: str = ""
    group: str = ""
    word: str = ""

    @property
    def parts(self) -> list[tuple[str, bool]]:
        """The sentence in parts, each with whether it is the word.

        Examples
        --------
        >>> Sentence("", "", None, "", (), "A red hat, red.", "", "", word="red").parts
        [('A ', False), ('red', True), (' hat, ', False), ('red', True), ('.', False)]
        """
        pieces = word_pattern(self.word).split(self.answer)
        return [(piece, place % 2 == 1) for place, piece in enumerate(pieces) if piece]


@dataclass(frozen=True, slots=True)
class Gallery:
    """Pictures of one person: who it is, and per picture what it shows and the encoded picture."""

    title: str
    pictures: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class WholeSet:
    """A set of stimuli with every reply: who is shown, the score, the reply, and the encoded picture if any."""

    title: str
    replies: tuple[tuple[str, float, str, bytes | None], ...]
    model: str


AnyExample = Example | PairExample | Gallery | WholeSet


@dataclass(frozen=True, slots=True)
class ReportData:
    """Everything a report shows.

    Attributes
    ----------
    study:
        What was declared.
    runs:
        One per model, at least one.
    estimates:
        As `facevalue measure` wrote them; schema in `facevalue.measures.estimates`.
    generated:
        When the report was made.
    kind:
        What kind of pictures was shown.
    statement:
        Which pictures were shown; None if it is not known.
    prompts:
        Questions, verbatim: one scenario in all its orderings, say.
    examples:
        Pictures and replies, the most telling first.
    titles:
        Per factor column the wording of its levels for people; what is missing is made from the level's name. A level
        of `variation` may be written "attribute/variation".
    facevalue_version:
        Of the package that made the report.
    page:
        What the report shows; that of the study by default.
    demo:
        The demo that this is a run of, and its study; None for every other run.
    """

    study: StudyFacts
    runs: tuple[RunFacts, ...]
    estimates: pl.DataFrame
    generated: datetime
    kind: Kind = Kind.UNSTATED
    statement: DataStatement | None = None
    prompts: tuple[PromptExample, ...] = ()
    examples: tuple[AnyExample, ...] = ()
    titles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    facevalue_version: str = ""
    page: Page | None = None
    demo: tuple[Demo, Study] | None = None
