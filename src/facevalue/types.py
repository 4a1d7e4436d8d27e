"""Core types: what is shown, what is asked, what was said.

Everything here is frozen data. `Request` holds *shared* `Stimulus` and `Question` objects, so that a run
over millions of trials builds a handful of small tuples per trial and nothing else.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

OptionValue = str | int | float | bool | list[str]
"""A user's choice for one setting of a study; what TOML can hold."""
STUDY_TEXT = "study"
"""Option that holds the file of a study of the user's own, in canonical form."""


class Status(StrEnum):
    """Outcome of a request. Anything but `OK` is never an answer.

    Examples
    --------
    >>> Status("refused") is Status.REFUSED
    True
    """

    OK = "ok"
    """The model replied with text, or its option probabilities were read."""
    REFUSED = "refused"
    """The server or model declined by its own signal (a content filter), as opposed to refusing in words."""
    TRUNCATED = "truncated"
    """The reply hit the token limit. The text is kept; a parser may still find an unambiguous answer in it."""
    ERROR = "error"
    """The request failed for good. There is no text; the trial is asked again when the run is resumed."""


@dataclass(frozen=True, slots=True)
class Image:
    """An encoded picture.

    Attributes
    ----------
    data:
        The file's bytes.
    media_type:
        Its MIME type, such as "image/png".

    Examples
    --------
    >>> Image(b"...", "image/png")
    Image(media_type='image/png')
    """

    data: bytes = field(repr=False)
    media_type: str

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Representation for notebooks."""
        return {self.media_type: b64encode(self.data).decode()}


@dataclass(frozen=True, slots=True)
class Stimulus:
    """A stimulus: no, one or several images with known factors.

    Attributes
    ----------
    key:
        Identifies the stimulus within the run; requests about those of a unit take turns.
    digest:
        Hash of the content that will be shown, known without rendering it. Part of the request hash, so
        that a replaced image never inherits old answers.
    factors:
        Factor levels of the stimulus. For simulators and exports; never shown to a model.
    load:
        Returns the encoded images; called only by models that look.
    pictures:
        How many images these are, where that is known without loading, which may mean drawing, them; else None.
    picture_share:
        Returns the share of the height that the picture takes where text is written below it; raises a `DataError`
        where the picture cannot be read. None where the picture is all that is shown.

    Examples
    --------
    >>> blank = Stimulus("0", "blank", {"colour": "white"}, lambda: (Image(b"...", "image/png"),))
    >>> blank.load()
    (Image(media_type='image/png'),)
    """

    key: str
    digest: str
    factors: Mapping[str, str | None]
    load: Callable[[], tuple[Image, ...]]
    pictures: int | None = None
    picture_share: Callable[[], float] | None = None


@dataclass(frozen=True, slots=True)
class Language:
    """Words of the language that a question is asked in, beside those of English.

    Attributes
    ----------
    joint:
        Word between two options: "or".
    refusals:
        Phrases of replies that decline.
    negations:
        Words that deny an option close to them.
    hedges:
        Phrases of replies that leave open which option they mean.
    """

    joint: str = "or"
    refusals: tuple[str, ...] = ()
    negations: tuple[str, ...] = ()
    hedges: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Option:
    """One of the answers that a question allows.

    Attributes
    ----------
    label:
        How the prompt labels it: "(a)". Empty where the option is named by its text alone.
    text:
        Its wording in the prompt: "competent".
    level:
        What it means to the study, whatever its label and place: "favourable".
    nouns:
        Nouns that the prompt puts before a text of one letter, so that "image A" names it (`answers.presented`).
    language:
        Words of the language that it is written in; None for English.

    Examples
    --------
    >>> Option("(a)", "competent", "favourable").level
    'favourable'
    """

    label: str
    text: str
    level: str
    nouns: tuple[str, ...] = ()
    language: Language | None = None

    @property
    def wording(self) -> str:
        """Label and text, as the prompt lists it.

        Examples
        --------
        >>> Option("(a)", "competent", "favourable").wording, Option("", "yes", "yes").wording
        ('(a) competent', 'yes')
        """
        return f"{self.label} {self.text}".strip()


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the model about a stimulus.

    Attributes
    ----------
    prompt:
        The user message, verbatim.
    options:
        The allowed answers in the order in which the prompt shows them; empty for free text.
    system:
        The system message, if the protocol has one.
    factors:
        Levels of the prompt factors (scenario, ordering). For simulators and exports.
    turns:
        The conversation before the prompt, oldest first: (role, text), the role "user" or "assistant". The prompt and
        the picture come after it.
    sampling:
        How its reply is drawn, where that differs from the study's; None if it doesn't.
    draw:
        Which of several replies to one and the same question this is; each draw has a seed of its own.

    Examples
    --------
    >>> options = (Option("(a)", "competent", "favourable"), Option("(b)", "incompetent", "unfavourable"))
    >>> Question("Is this person (a) competent or (b) incompetent?", options).options[0].text
    'competent'
    """

    prompt: str
    options: tuple[Option, ...] = ()
    system: str | None = None
    factors: Mapping[str, str | None] = field(default_factory=dict)
    turns: tuple[tuple[str, str], ...] = ()
    sampling: "Sampling | None" = None
    draw: int = 0


@dataclass(frozen=True, slots=True)
class Sampling:
    """Settings by which a reply is drawn.

    Attributes
    ----------
    temperature:
        Softmax temperature, >= 0; 0 is greedy.
    top_p:
        Nucleus mass in (0, 1].
    max_tokens:
        Longest reply in tokens.

    Examples
    --------
    >>> Sampling(temperature=0.0).max_tokens
    16
    """

    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 16


NOT_SENT = "not sent, as the model refuses it"
"""What stands for the value of a setting that was left out of each request."""


def sampling_sent(sampling: Sampling, left_out: object = "") -> dict[str, float | str]:
    """Sampling settings that were in fact sent: each with its value, or a note that it was not sent.

    `left_out`: names of what was not sent, as a model's settings have them.

    Examples
    --------
    >>> sampling_sent(Sampling(0.2), "seed, temperature")["temperature"]
    'not sent, as the model refuses it'
    >>> sampling_sent(Sampling(0.2))["temperature"]
    0.2
    """
    names = str(left_out or "").split(", ")
    values = {"temperature": sampling.temperature, "top_p": sampling.top_p, "max_tokens": sampling.max_tokens}
    return {name: NOT_SENT if name in names else value for name, value in values.items()}


class Request(NamedTuple):
    """One request of a study: a trial and which repeat of it.

    Attributes
    ----------
    trial:
        Trial number in the study's design.
    repeat:
        Which repeat of the trial, from 0. A protocol's seeds are repeats.
    seed:
        Seed to sample this reply with, where the model takes one.
    stimulus, question, sampling:
        What is shown, what is said, how the reply is drawn.
    exact:
        Whether the probability of every option is wanted instead of a sampled reply.
    constrain:
        Whether the reply must be one of the question's options, where the model can be held to that. Probabilities
        (`exact`) of models on this machine (`hf/...`) are then those of replies so held, and sum to 1. Servers and
        vLLM can't read those: theirs are of free replies, whatever it says.

    Examples
    --------
    >>> stimulus = Stimulus("0", "nothing", {}, lambda: ())
    >>> request = Request(7, 0, 1, stimulus, Question("Who?"), Sampling(), exact=False)
    >>> request.question.prompt
    'Who?'
    """

    trial: int
    repeat: int
    seed: int
    stimulus: Stimulus
    question: Question
    sampling: Sampling
    exact: bool
    constrain: bool = False


class Response(NamedTuple):
    """Reply of the model to one request, verbatim.

    Attributes
    ----------
    trial, repeat:
        The request this answers.
    status:
        What became of it.
    text:
        The reply, verbatim; None if there is none.
    probs:
        Probability that the reply, drawn as the request's sampling says, is each option, in the order of
        `Question.options`. Sums to less than 1 by the share of replies that are no option. None if not read.
    prompt_tokens, completion_tokens:
        As the model counts them; None if it doesn't say.
    latency_ms:
        Milliseconds from sending to the whole reply, retries not counted.
    error:
        For people: why there is no answer, or why an exact request was answered by a drawn reply; None otherwise.

    Examples
    --------
    >>> Response(trial=7, repeat=0, status=Status.OK, text="(a)").text
    '(a)'
    """

    trial: int
    repeat: int
    status: Status
    text: str | None = None
    probs: tuple[float, ...] | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_ms: float = 0.0
    error: str | None = None
