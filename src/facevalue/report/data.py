"""Data of a report: frozen facts that the command line fills in from a run folder."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import polars as pl

from facevalue.measures.definitions import Measure
from facevalue.measures.families import Family
from facevalue.protocol.offers import Demo
from facevalue.protocol.page import Page
from facevalue.protocol.study import Study
from facevalue.report.formatting import word_pattern
from facevalue.runs.comparisons.model_differences import ModelDifferences
from facevalue.runs.reply_counts import ReplyCounts
from facevalue.runs.reviews.outcomes import ReviewedReading
from facevalue.stimuli.base import Kind
from facevalue.types import Sampling, sampling_sent


@dataclass(frozen=True, slots=True)
class StudyFacts:
    """Declaration of the study."""

    name: str
    version: int
    """Short name of the study and the version of its declaration."""
    title: str
    citation: str
    """Citation of the paper that the protocol is from."""
    content_note: str = ""
    """Note on what readers should be prepared to see; empty if nothing."""
    options: Mapping[str, object] = field(default_factory=dict)
    """The user's choices from which the study was built."""
    measures: tuple[Measure, ...] = ()
    """Definitions of the measures in the estimates."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Parts of the protocol that were not asked, each with the reason."""

    @property
    def audit_of(self) -> str:
        """Head of the page up to the model's name; a title that asks ends as a sentence.

        Examples
        --------
        >>> StudyFacts("a", 1, "VIGNETTE: two people", "").audit_of, StudyFacts("b", 1, "Who is helped?", "").audit_of
        ('VIGNETTE audit of', 'Who is helped? Audit of')
        """
        title = self.title.partition(":")[0]
        return f"{title} {'Audit' if title.endswith('?') else 'audit'} of"


@dataclass(frozen=True, slots=True)
class SelfCheckFacts:
    """Difference of a local model's probabilities from plain forward passes, over all sessions of a run."""

    questions: int
    """Number of questions that were put to the model in both ways."""
    difference: float
    """Largest difference of a probability."""
    tolerance: float
    """Largest difference that rounding explains; a session ends above it."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One model's run."""

    model: str
    """Name as in the estimates' column `model`: the run's own, if it has one, else a short one."""
    asked_model: str = ""
    """Name by which the model was asked, with its address; empty if that is `model`."""
    folder: str = ""
    """Name of the run's folder, no path."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Settings of the model. Values whose name says that they are secret are not shown."""
    sampling: Sampling | None = None
    """How replies were drawn; None if it is not known."""
    seeds: tuple[int, ...] = ()
    """Seeds of sampled replies."""
    exact: bool | None = None
    """True: option probabilities were read; False: replies were sampled; None: not known."""
    drawn: int = 0
    """Replies of an exact run that were drawn all the same, as too little of their probability could be read."""
    planned: int | None = None
    """Requests that the run set out to make, re-asks not counted; None if it is not known."""
    asked: int | None = None
    valid: int | None = None
    refused: int | None = None
    errors: int | None = None
    """Requests with any outcome, with a valid answer, refused, failed; None if not counted."""
    cut: int = 0
    """Replies that were cut off at the token limit before an answer."""
    failure: str = ""
    """Commonest failure of requests, as a quotation; empty if none failed."""
    odd: int = 0
    """Number of failed requests that have a reply, which cannot count."""
    oddity: str = ""
    """Reason why one of these replies cannot count, as a quotation; empty if there is none."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    """Numbers of tokens as the model counts them; None if it doesn't say."""
    cached: float | None = None
    """Share of the prompt tokens that the server had in its cache; None if it doesn't say."""
    started: datetime | None = None
    ended: datetime | None = None
    """When; `ended` is None for a run that has not come to its end."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Versions of everything that took part: package, model, server, renderer."""
    enough: str = ""
    """What was known when the run's own rule ended it, in sentences; empty if it did not."""
    sample: str = ""
    """Sample of trials that was asked, in words; empty if all of them were to be asked."""
    preregistration: str = ""
    """SHA-256 of the file in which families and margins were declared before the run; empty if there was none."""
    families: tuple[Family, ...] = ()
    """Families declared in it."""
    replayed: bool = False
    """Whether the answers had been recorded before the run."""
    same_pictures: int = 0
    """Pictures that are the same as another of their unit, as they were compared before they were asked about."""
    pictures_compared: int = 0
    """Pictures that were compared then, where any are the same."""
    recorded_by: str = ""
    """Tool that asked in place of FaceValue; empty where FaceValue asked."""
    records: tuple[str, ...] = ()
    """Names of the files that the answers came from."""
    served_by: tuple[str, ...] = ()
    """Models that the replies name."""
    mismatched: int = 0
    """Answers by another model or to other seeds that were taken all the same."""
    self_check: SelfCheckFacts | None = None
    """Result of a local model's self-check; None if there was none."""
    reviewed: ReviewedReading | None = None
    """What people said of how replies are read; None where nobody reviewed them."""
    judged_findings: pl.DataFrame | None = field(default=None, compare=False)
    """What people said of findings (`runs.review_outcomes`); None where nobody judged them."""

    @property
    def counts(self) -> ReplyCounts | None:
        """Numbers of its questions and replies; None if they were not counted."""
        if self.valid is None or self.asked is None:
            return None
        failed, refused = self.errors or 0, self.refused or 0
        return ReplyCounts(self.asked, failed, self.valid, refused, self.planned, bool(self.enough))

    @property
    def complete(self) -> bool | None:
        """True if every request that was to be made has a reply; None if it can't be told."""
        if self.enough:
            return not self.errors
        if self.planned is None or self.asked is None:
            return None
        return self.asked - (self.errors or 0) >= self.planned

    @property
    def sent_sampling(self) -> Mapping[str, float | str]:
        """Sampling settings that were in fact sent; empty where they are not known."""
        return {} if self.sampling is None else sampling_sent(self.sampling, self.settings.get("left_out"))


@dataclass(frozen=True, slots=True)
class EditorFacts:
    """Editor of the pictures, and the result of its audit.

    Attributes
    ----------
    names:
        Editors that the manifest names.
    sentence:
        The audit's answer; empty without an audit that can be read.
    found:
        Whether it found a difference.
    """

    names: tuple[str, ...]
    sentence: str = ""
    found: bool = False


@dataclass(frozen=True, slots=True)
class DataStatement:
    """Statement on the pictures that were shown."""

    images: int
    identities: int
    """Numbers of pictures and of identities in them."""
    factors: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Per factor the levels and how many identities have them (images, for `attribute` and `variation`)."""
    source: str = ""
    licence: str = ""
    labels: str = ""
    """Where the pictures come from, under which terms, and who says what their levels are; empty if not stated."""
    shown_images: int | None = None
    shown_identities: int | None = None
    """Numbers of both that a sample of the study asks about; None where all is asked, or the design names nobody."""
    stimulus: tuple[str, str] = ("picture", "pictures")
    """Noun for what is counted of a sample, such as pairs of pictures, and its plural."""
    unit: str = ""
    """What is sampled of a list of one's own pictures, and how many there are."""
    question: str = ""
    """Whether a column says who is shown that is not called so; empty where none looks like it."""


@dataclass(frozen=True, slots=True)
class PromptExample:
    """A question, verbatim."""

    title: str
    note: str
    """Title of the question, for people, and its variant."""
    prompt: str
    """The user message."""
    system: str | None = None
    """The system message, if there was one."""


@dataclass(frozen=True, slots=True)
class Example:
    """One face without and with a cue, and what the model made of it."""

    title: str
    """Title of one line, for people."""
    base_image: bytes | None
    variant_image: bytes | None
    """Encoded pictures; None if there is none to show. Shown small, whatever their size."""
    media_type: str
    """MIME type of the pictures."""
    attribute: str
    variation: str
    scenario: str
    """Levels of the factors of the example."""
    prompt: str
    """Text of the question, verbatim."""
    base_answer: str
    variant_answer: str
    """The replies, verbatim, or the option probabilities in words."""
    base_phi: float | None
    variant_phi: float | None
    """Preference scores of the two pictures in this scenario; None is not measurable."""
    model: str
    """Name of the model that answered."""
    base_title: str = "Base face"
    """Title of what the cue is compared with."""
    base_choice: str = ""
    variant_choice: str = ""
    """The wording of the option that each reply chose; empty if it is not one option."""
    no_picture: str = ""
    """Reason for which a picture is not shown."""


@dataclass(frozen=True, slots=True)
class PairExample:
    """Two people in one picture, what was asked about them, and what the model said."""

    title: str
    finding: str
    """One line for people, and the number that the example stands behind."""
    image: bytes | None
    """The picture that was shown, both people in it; None if there is none to show."""
    prompt: str
    options: tuple[str, ...]
    """Question and options, verbatim."""
    answer: str
    """The reply, verbatim, or the option probabilities in words."""
    choice: str
    """Wording of the option that the reply chose; empty if it is not one option."""
    model: str
    """Name of the model that answered."""
    left: str = ""
    right: str = ""
    """People on the two sides of the picture; empty if there is no picture."""
    no_picture: str = ""
    """Reason for which the picture is not shown."""
    longest: int = 640
    """Longest side of the picture in pixels."""


@dataclass(frozen=True, slots=True)
class Sentence(PairExample):
    """A sentence of a description with a word that marks its group; `answer` is the sentence."""

    dimension: str = ""
    group: str = ""
    word: str = ""
    """Group and word that the sentence is an example of."""

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
class Album:
    """Pictures of one person: who it is, and per picture what it shows and the encoded picture."""

    title: str
    pictures: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class WholeSet:
    """A set of stimuli with every reply: who is shown, the score, the reply, and the encoded picture if any."""

    title: str
    replies: tuple[tuple[str, float, str, bytes | None], ...]
    model: str


AnyExample = Example | PairExample | Album | WholeSet


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """One question as it was asked, and the pictures that it was asked about."""

    prompt: str
    """The user message of a real trial, slots filled in."""
    pictures: tuple[tuple[str, bytes], ...] = ()
    """Captions and small encoded pictures: without and with what was changed, a pair, or some of a set."""
    no_picture: str = ""
    """Reason for which no picture is shown; empty if there are some, or none was shown."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class ReportData:
    """Data of a report. Each is its own: what is made of it is kept as long as it is."""

    study: StudyFacts
    """What was declared."""
    runs: tuple[RunFacts, ...]
    """Facts on each run, one per model, at least one."""
    estimates: pl.DataFrame
    """Estimates as `facevalue measure` wrote them; schema in `facevalue.measures.estimates`."""
    generated: datetime
    """Time at which the report was made."""
    kind: Kind = Kind.UNSTATED
    """Kind of the pictures that were shown."""
    statement: DataStatement | None = None
    """Statement on the pictures that were shown; None if these are not known."""
    question: AskedQuestion | None = None
    """A question as it was asked, with pictures; None if it is not known."""
    prompts: tuple[PromptExample, ...] = ()
    """Questions, verbatim: one scenario in all its orderings, say."""
    examples: tuple[AnyExample, ...] = ()
    """Pictures and replies, the most telling first."""
    titles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Per factor column the wording of its levels for people; what is missing is made from the level's name. A level of
    `variation` may be written "attribute/variation"."""
    facevalue_version: str = ""
    """Version of the package that made the report."""
    page: Page | None = None
    """Page that the report shows; that of the study by default."""
    demo: tuple[Demo, Study] | None = None
    """The demo that this is a run of, and its study; None for every other run."""
    between: ModelDifferences = field(default_factory=ModelDifferences)
    """Differences of the models from the first of them."""
    editor: EditorFacts | None = None
    """Who edited the pictures; None where none is named."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of models for people; a model that is missing here keeps its name."""
