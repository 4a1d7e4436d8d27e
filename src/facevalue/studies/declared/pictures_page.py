"""The page of pictures that were inspected: how many pass, which groups fail more, why, and what to do."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from facevalue.protocol.checked_pictures import PictureVerdicts
from facevalue.protocol.look import Look, Of
from facevalue.protocol.page import Described, Findings, Page
from facevalue.protocol.picture_rules import reason_in_words
from facevalue.statistics.breakdown import CONTRAST
from facevalue.statistics.rivals import OTHERS

_NAMED = 3
_FEW = 0.5
"""Share of pictures that pass below which a rule or the generator is to be looked at first."""


def page_of_checks(page: Page, verdicts: PictureVerdicts | None) -> Page:
    """The usual page of these takes; where rules were applied, it opens with what they leave."""
    if verdicts is None:
        return replace(page, opening=_no_rules)
    lead = tuple(lead for lead in page.lead if isinstance(lead, Findings))
    overall = Described(of=Of("mean.passes"), text="of the pictures pass their rules", row="{value}")
    return replace(
        page,
        lead=lead or (overall,),
        opening=partial(_opening, verdicts),
        steps=partial(_steps, verdicts, tuple(of for findings in lead for of in findings.of)),
    )


def _no_rules(_: Look) -> Sequence[str]:
    return ("No rules were applied to these pictures yet, or not to all: facevalue inspect-pictures does that.",)


def _opening(verdicts: PictureVerdicts, look: Look) -> Sequence[str]:
    """How many pass, and why others do not."""
    judged = verdicts.table[PictureVerdicts.PASSES].drop_nulls()
    passed = int(judged.sum())
    share = look.one("mean", score="passes")
    interval = f" ({look.value(share)} {look.interval(share)})" if share is not None else ""
    sentences = [f"{passed:,} of {len(judged):,} pictures pass{interval}."]
    counts = [(reason, int(verdicts.table[reason].sum())) for reason in verdicts.reasons[:_NAMED]]
    if counts:
        reasons = "; ".join(f"{reason_in_words(reason)} ({count:,} do not)" for reason, count in counts)
        more = len(verdicts.reasons) - len(counts)
        others = f"; and {more} more reason{'s' if more > 1 else ''}" if more else ""
        sentences.append(f"What others fail: {reasons}{others}.")
    return sentences


def _steps(verdicts: PictureVerdicts, gaps: Sequence[Of], look: Look) -> Sequence[str]:
    """Leave out what fails; make more for those who pass less; look at rules that most pictures fail."""
    judged = verdicts.table[PictureVerdicts.PASSES].drop_nulls()
    if not verdicts.reasons:
        return ("Every picture passes: go on with all of them.",)
    steps = ["Leave out what fails: facevalue run STUDY --manifest LIST --exclude CHECKS."]
    if judged.sum() < _FEW * len(judged):
        steps.insert(0, "More than half fail: look at some of them, then change the rule, or the generator or editor.")
    if behind := _behind(gaps, look):
        steps.append(
            f"What is left is not balanced: have more made of those who pass less ({', '.join(behind[:_NAMED])}), "
            "by make --draws or a new seed, until groups pass alike."
        )
    return steps


def _behind(gaps: Sequence[Of], look: Look) -> list[str]:
    """Groups of which fewer pictures pass, as far as that was found."""
    names: dict[str, None] = {}
    for of in gaps:
        factor = of.by[-2]
        for e in look.rows(of):
            if look.found(e) and e.value is not None:
                level = e.labels[factor] if e.value < 0 else e.labels[CONTRAST]
                if level != OTHERS:
                    names[look.title(factor, level)] = None
    return list(names)
