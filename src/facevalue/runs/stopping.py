"""Stopping of a run once enough is known: the rule, and the looks at which it is asked."""

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from facevalue.errors import SettingError

if TYPE_CHECKING:
    import polars as pl

    from facevalue.protocol.study import Study
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
