"""Counts of one session of a run; in object storage also of units and nodes, and what models found out."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from facevalue.models.cached import COUNTS
from facevalue.runs.units import Fact, Receipt
from facevalue.runs.unparsed import UnparsedReplies
from facevalue.store.remote import UnitFacts

_NODES = 3  # whose failures are shown on the way; `facevalue status` shows all


@dataclass(slots=True)
class SessionCounts:
    """Answers of one session, failures among them by their reason, and tokens."""

    stored: int = 0
    errors: int = 0
    refused: int = 0
    na: int = 0
    reasked: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    unparsed: UnparsedReplies = field(default_factory=UnparsedReplies)
    """Which replies could not be read."""

    @property
    def answered(self) -> int:
        """Requests that were answered: what is paid for where each has a price."""
        return self.stored - self.errors - self.refused


@dataclass(slots=True)
class RunTally(SessionCounts):
    """Counts of one session in object storage."""

    units: int = 0
    by_node: Counter[str] = field(default_factory=Counter)
    lost_on: Counter[str] = field(default_factory=Counter)
    findings: dict[str, Fact] = field(default_factory=dict)

    def add(self, facts: UnitFacts, receipt: Receipt) -> None:
        """Add a unit that was stored in this session."""
        self.units += 1
        self.stored += facts.rows
        self.errors += facts.errors
        self.refused += facts.refused
        self.na += facts.na
        self.unparsed += receipt.unparsed
        self.reasked += facts.rows if facts.again else 0
        self.prompt_tokens += facts.prompt_tokens
        self.completion_tokens += facts.completion_tokens
        if facts.errors:
            self.failures[receipt.failure] += facts.errors
            self.by_node[receipt.node] += facts.errors

    def learn(self, findings: Mapping[str, Fact]) -> None:
        """Add what a worker's model found out."""
        self.findings.update(_together(self.findings, findings))

    def where(self, alive: Mapping[str, int]) -> str:
        """Say in a few words how many units are stored, and how many workers and failures each node has."""
        workers = sum(alive.values())
        phrases = [f"{self.units:,} units", f"{workers:,} worker{'s' if workers != 1 else ''}"]
        if len(alive) > 1:
            phrases[1] += f" on {len(alive):,} nodes"
        phrases += [f"{count:,} failed on {node}" for node, count in self.by_node.most_common(_NODES)]
        phrases += [f"{count:,} lost on {node}" for node, count in self.lost_on.most_common(_NODES)]
        return ", ".join(phrases)


def _together(before: Mapping[str, Fact], now: Mapping[str, Fact]) -> Iterator[tuple[str, Fact]]:
    """What models found out, of all workers: names of servers are listed, counts added, and else the last one stays."""
    for name, value in now.items():
        previous = before.get(name)
        if name == "served_by" and isinstance(previous, str):
            yield name, "; ".join(dict.fromkeys([*previous.split("; "), *str(value).split("; ")]))
        elif name in COUNTS and isinstance(previous, int) and isinstance(value, int):
            yield name, previous + value
        else:
            yield name, value
