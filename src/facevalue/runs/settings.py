"""Settings of a run, its summary, the rule by which it stops, and facts as its files state them."""

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from facevalue.errors import SettingError
from facevalue.hashing import model_hash
from facevalue.models.base import Model, Probing, checked_facts
from facevalue.parquet import parquet_bytes
from facevalue.protocol.study import Study
from facevalue.store.manifest import Counts, RunManifest, Session
from facevalue.store.sight import Sight

if TYPE_CHECKING:
    import polars as pl

    from facevalue.measures.families import Preregistration
    from facevalue.runs.stored_run import StoredRun

DECIDED = "decided"
_FIRST = 0.04
"""Share of a run's requests at which it is first looked at."""
_GROWTH = 1.3
"""How many times as many requests each later look waits for: a dozen looks, which cost four measurements together."""
_FORMS = (
    f'"{DECIDED}" (every comparison that leads is found or ruled out) or "width<0.02" (their intervals are narrower)'
)


@dataclass(frozen=True, slots=True)
class StopRule:
    """Rule by which a run stops: once all comparisons that lead its page are decided, or their intervals are narrow.

    Examples
    --------
    >>> StopRule.from_text("width < 0.02")
    StopRule(width=0.02)
    >>> StopRule.from_text("decided").text
    'decided'
    """

    width: float | None = None
    """Width that every interval of the page must fall below, in its measure's unit; None to wait for verdicts."""

    @classmethod
    def from_text(cls, text: str) -> "StopRule":
        """Read a rule.

        Raises
        ------
        SettingError
            Anything but `decided` and `width<NUMBER`.
        """
        if text.strip() == DECIDED:
            return cls()
        if match := re.fullmatch(r"\s*width\s*<\s*([0-9.eE+-]+)\s*", text):
            try:
                width = float(match[1])
            except ValueError:
                width = math.nan
            if 0 < width < math.inf:
                return cls(width)
        raise SettingError(f"--stop-when is {_FORMS}, not {text!r}.")

    @property
    def text(self) -> str:
        """The rule as it is written down."""
        return DECIDED if self.width is None else f"width<{self.width:g}"

    def enough(self, judged: "pl.DataFrame") -> str:
        """Sentence on what is known, if it is enough; else empty.

        `judged`: the comparisons that lead, with verdicts and intervals that hold at all looks together.
        """
        import polars as pl  # noqa: PLC0415 - the command line reads rules, and needs no table

        from facevalue.measures.caveats import caveat_of, counted_caveats  # noqa: PLC0415
        from facevalue.measures.verdicts import Verdict  # noqa: PLC0415

        if not judged.height:
            return ""
        if self.width is not None:
            widest = judged.select((pl.col("page_high") - pl.col("page_low")).fill_null(math.inf).max()).item()
            return f"no interval is wider than {widest:.3g}" if widest < self.width else ""
        differing, alike = (
            [caveat_of(reason) for reason in judged.filter(pl.col("verdict") == str(verdict))["why"]]
            for verdict in (Verdict.DIFFERENCE, Verdict.EQUIVALENT)
        )
        if len(differing) + len(alike) < judged.height:
            return ""
        unless = counted_caveats(differing), counted_caveats(alike)
        if judged.height == 1:
            return f"the one comparison is decided ({'a difference' if differing else 'equivalent'}{''.join(unless)})"
        counts = f"{len(differing):,} differ{unless[0]}, {len(alike):,} are equivalent{unless[1]}"
        return f"all {judged.height:,} comparisons are decided ({counts})"


class Looks:
    """Looks at a run while it is asked: when each is due, and whether the run stops at it.

    They are due at fixed numbers of requests, so that a run that was killed stops where it would have stopped.

    Examples
    --------
    >>> looks = Looks(StopRule(), 100_000)
    >>> looks.due(3_999), looks.due(4_000), looks.due(4_001), looks.due(5_200)
    (False, True, False, True)
    """

    def __init__(self, rule: StopRule | None, requests: int) -> None:
        self._rule, self._requests = rule, requests
        self._next = requests * _FIRST if rule else math.inf

    def due(self, answered: int) -> bool:
        """Return whether a look is due once so many requests are answered; each is due once, and none at the end."""
        if answered < self._next or answered >= self._requests:
            return False
        while self._next <= answered:
            self._next *= _GROWTH
        return True

    def enough(self, run: "StoredRun") -> str:
        """Reason why the run stops now, for people; empty if it goes on."""
        assert self._rule is not None
        evidence = self._rule.enough(leading(run))
        return f"Enough is known: {evidence}." if evidence else ""


def can_stop(study: "Study") -> bool:
    """Return whether a study is measured while it is asked: not before others have scored or sorted its texts."""
    return not (study.reading.scored or study.reading.sortings)


def requests_saved(run: "StoredRun") -> int:
    """Requests of a run that were not asked, as enough was known without them; 0 where no rule ended it."""
    if not run.facts.enough:
        return 0
    from facevalue.store.reader import count_replied  # noqa: PLC0415

    return max(run.facts.counts.requests - count_replied(run.folder, run.facts.repeats), 0)


def check_rule(study: "Study", rule: StopRule | None) -> None:
    """Refuse a rule for a study of which nothing is measured before others have scored or sorted its texts."""
    if rule is not None and not can_stop(study):
        raise SettingError(
            f"--stop-when looks at {study.name} while it is asked, and its texts are scored or sorted afterwards: "
            "leave it out."
        )


def leading(run: "StoredRun") -> "pl.DataFrame":
    """Comparisons that lead a run's page, as they are judged at any time; without rows if none can be tested."""
    import polars as pl  # noqa: PLC0415

    from facevalue.measures.multitest import leads_page  # noqa: PLC0415
    from facevalue.runs.joined_runs import estimate  # noqa: PLC0415

    comparisons = estimate([run])[0].filter(pl.col("family").is_not_null() & pl.col("verdict").is_not_null())
    lead, tested = run.study.estimates.lead, comparisons.filter(pl.col("p").is_not_null())
    out = comparisons.filter(leads_page(comparisons, lead, tested))
    return out if lead or out.height else comparisons  # a study without a lead is about all of them


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


def asked_run(
    study: Study, model: str, facts: Mapping[str, str | int | float | bool], settings: RunSettings
) -> RunManifest:
    """A run before its first request; it has no id yet."""
    return RunManifest(
        study=study.name,
        study_version=study.version,
        options=study.options,
        trials=study.design.size,
        seeds=study.draws.seeds,
        reasks=study.draws.reasks,
        sampling=study.draws.sampling,
        model=model,
        model_settings=facts,
        exact=settings.exact,
        sample=settings.sample,
        seed=settings.seed,
        start=utc_now(),
        end=None,
        counts=Counts(),
        sessions=(),
        preregistration=settings.preregistration.sha256 if settings.preregistration else None,
        asked_of=model_hash(model, facts),
        name=settings.name or study.about.subject,
        stop_when=settings.stop_when.text if settings.stop_when else "",
    )


def facts_of_model(study: Study, model: Model, exact: bool) -> dict[str, str | int | float | bool]:
    """Settings of a model that change its replies; where replies are to be constrained, also whether they are.

    Most models read probabilities from free replies whatever a study wants; nothing is recorded of those.
    """
    facts = checked_facts(model, "The settings", model.settings())
    if study.draws.constrain and (not exact or model.capabilities.structured_probabilities):
        facts["structured"] = model.structured() if isinstance(model, Probing) else model.capabilities.structured
    return facts


def table_of(study: Study) -> bytes:
    """The study's table of pictures as a file."""
    return parquet_bytes(study.manifest)


def table_digest(study: Study) -> str:
    """SHA-256 of the study's table of pictures, as a run's manifest states it (`stimuli`)."""
    return hashlib.sha256(table_of(study)).hexdigest()


def other_server(sessions: Iterable[Session]) -> str | None:
    """Say if replies named more than one model or build, in these sessions."""
    servers = [str(session.findings["served_by"]) for session in sessions if "served_by" in session.findings]
    names = list(dict.fromkeys(name for text in servers for name in text.split("; ")))
    if len(names) < 2:
        return None
    return (
        f"The server named {len(names)} models or builds in its replies: {'; '.join(names)}. What it served changed "
        "during the run, so that its answers may not be those of one model."
    )


def utc_now() -> datetime:
    """Now, in UTC, to the second."""
    return datetime.now(UTC).replace(microsecond=0)
