"""Settings of a run, and its summary."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from facevalue.runs.stopping import StopRule
from facevalue.store.sight import Sight

if TYPE_CHECKING:
    from facevalue.measures.families import Preregistration


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Settings of a run of a study on a model."""

    sample: int | None = None
    """Requests wanted; None for the whole design."""
    seed: int = 0
    """Seed of the sample."""
    exact: bool = False
    """Read the probability of every option once per trial instead of drawing replies; the seeds of the protocol are
    then free, and only repeat 0 is asked."""
    preregistration: "Preregistration | None" = None
    """What is declared before the run; kept in its folder with its hash."""
    check: bool = True
    """Look at every image to be shown before the first request is paid for."""
    price_in: float | None = None
    price_out: float | None = None
    """Price of a million tokens of prompts and of replies, in any currency; None if not known."""
    price_each: float | None = None
    """Price of a request that was answered, such as a picture that was made; None if not known."""
    sight: bool | None = None
    """Whether a model that does not say itself what it sees is first asked about pictures made on the spot; with False
    other signs alone tell whether it sees, and with None that is no question."""
    known_sight: Sight | None = None
    """What the same model answered about them for another run, as of the same audit; None where it was not asked."""
    max_cost: float | None = None
    """What the whole run may cost, its earlier sessions included; needs its prices. None for no limit."""
    max_invalid: float | None = None
    """Largest share of replies without a valid answer, looked at once a few hundred have come; with None a run stops of
    which most replies cannot be read."""
    stop_when: StopRule | None = None
    """Rule by which the run stops once enough is known; its estimates then hold at any time."""
    name: str | None = None
    """What the run is called beside others; the model's name by default. It changes nothing that is asked."""
    unit: int | None = None
    """Requests that are stored together in object storage; None for what suits the size of the run."""
    chunk: int = 4_096
    """Trials decoded at once."""
    flush_rows: int = 32_768
    flush_seconds: float = 5.0
    """A shard is stored once so many responses wait, or the oldest has waited so long."""
    journal_seconds: float = 0.02
    """How long a response may wait to be safe from a killed process; at once if the last came longer ago."""
    grace: float = 10.0
    """Seconds that an interrupted run waits for requests that are on their way, as they are paid for already."""

    @property
    def by_token(self) -> bool:
        """True if a price of tokens is known."""
        return self.price_in is not None or self.price_out is not None

    def cost(self, prompt_tokens: int, completion_tokens: int, answered: int) -> float | None:
        """Price of so many tokens and answered requests; None if no price is known."""
        if not self.by_token and self.price_each is None:
            return None
        tokens = prompt_tokens * (self.price_in or 0.0) + completion_tokens * (self.price_out or 0.0)
        return tokens / 1e6 + answered * (self.price_each or 0.0)


@dataclass(frozen=True, slots=True)
class RunSummary:
    """Summary of a session of a run."""

    requests: int
    """Requests of the whole run, without re-asks."""
    asked: int
    """Responses stored by this session, re-asks included."""
    skipped: int
    """Requests that an earlier session had stored."""
    errors: int
    """Of those asked: failed; the next session asks them again."""
    na: int
    """Of those asked: answered, but without a valid answer."""
    refused: int
    """Of those asked: declined by a signal of the server or model. Part of `na`, where the study says so."""
    reasked: int
    """Of those asked: re-asks of trials without a valid answer."""
    seconds: float
    """From the first request to the last shard."""
    prompt_tokens: int
    completion_tokens: int
    """Of those asked, as far as the model says."""
    cost: float | None
    """What those tokens cost; None if no price was given."""
    complete: bool
    """Whether every request of the run has now been asked; errors may be among them."""
    interrupted: bool
    """Whether Ctrl-C or SIGTERM ended the session; the same command resumes the run."""
    failure: str = ""
    """What most of these failed with; empty if none did."""
    stopped: str = ""
    """Which of the run's limits ended the session; empty if none did."""
    enough: str = ""
    """What was known when the run's own rule ended it; empty if none did. Such a run is complete."""
    warnings: tuple[str, ...] = ()
    """What people should know, such as files set aside."""
    cached: float | None = None
    """Share of the prompt tokens that the server had in its cache; None if it doesn't say."""
