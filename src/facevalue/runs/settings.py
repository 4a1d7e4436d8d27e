"""Settings of a run, and its summary."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from facevalue.measures.preregistration import Preregistration


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How to run a study on a model.

    Attributes
    ----------
    sample:
        Requests wanted; None for the whole design.
    seed:
        Seed of the sample.
    exact:
        Read the probability of every option once per trial instead of drawing replies; the seeds of the protocol are
        then free, and only repeat 0 is asked.
    preregistration:
        What is declared before the run; kept in its folder with its hash.
    check:
        Look at every image to be shown before the first request is paid for.
    price_in, price_out:
        Price of a million tokens of prompts and of replies, in any currency; None if not known.
    max_cost:
        What the whole run may cost, its earlier sessions included; needs both prices. None for no limit.
    max_invalid:
        Largest share of replies without a valid answer, looked at once a few hundred have come; None for no limit.
    name:
        What the run is called beside others; the model's name by default. It changes nothing that is asked.
    chunk:
        Trials decoded at once.
    flush_rows, flush_seconds:
        A shard is stored once so many responses wait, or the oldest has waited so long.
    journal_seconds:
        How long a response may wait to be safe from a killed process; at once if the last came longer ago.
    grace:
        Seconds that an interrupted run waits for requests that are on their way, as they are paid for already.
    """

    sample: int | None = None
    seed: int = 0
    exact: bool = False
    preregistration: "Preregistration | None" = None
    check: bool = True
    price_in: float | None = None
    price_out: float | None = None
    max_cost: float | None = None
    max_invalid: float | None = None
    name: str | None = None
    chunk: int = 2_048
    flush_rows: int = 32_768
    flush_seconds: float = 5.0
    journal_seconds: float = 0.02
    grace: float = 10.0

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Price of so many tokens; None if no price is known."""
        if self.price_in is None and self.price_out is None:
            return None
        return (prompt_tokens * (self.price_in or 0.0) + completion_tokens * (self.price_out or 0.0)) / 1e6


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a session of a run did.

    Attributes
    ----------
    requests:
        Requests of the whole run, without re-asks.
    asked:
        Responses stored by this session, re-asks included.
    skipped:
        Requests that an earlier session had stored.
    errors:
        Of those asked: failed; the next session asks them again.
    failure:
        What most of these failed with; empty if none did.
    na:
        Of those asked: answered, but without a valid answer.
    refused:
        Of those asked: declined by a signal of the server or model. Part of `na`, where the study says so.
    reasked:
        Of those asked: re-asks of trials without a valid answer.
    seconds:
        From the first request to the last shard.
    prompt_tokens, completion_tokens:
        Of those asked, as far as the model says.
    cost:
        What those tokens cost; None if no price was given.
    complete:
        Whether every request of the run has now been asked; errors may be among them.
    interrupted:
        Whether Ctrl-C or SIGTERM ended the session; the same command resumes the run.
    stopped:
        Which of the run's limits ended the session; empty if none did.
    warnings:
        What people should know, such as files set aside.
    """

    requests: int
    asked: int
    skipped: int
    errors: int
    na: int
    refused: int
    reasked: int
    seconds: float
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    complete: bool
    interrupted: bool
    failure: str = ""
    stopped: str = ""
    warnings: tuple[str, ...] = ()
