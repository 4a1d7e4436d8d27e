"""Basis of judgment in plain language: families, level, margins, pre-registration and the four verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl
from markupsafe import Markup

from facevalue.measures.caveats import counted_caveats
from facevalue.measures.definitions import Measure, definition_of
from facevalue.measures.families import ALPHA, Family
from facevalue.measures.multitest import LEAD_SHARE
from facevalue.measures.verdicts import Verdict
from facevalue.protocol.lookup import Estimate, EstimateIndex
from facevalue.report.blocks.intervals import verdict_icon
from facevalue.report.data import ReportData, RunFacts
from facevalue.report.formatting import number, when_declared
from facevalue.report.sections.headline import MEANINGS

_MOST_NAMES = 12
_METHODS = {"holm": "Holm", "bh": "Benjamini-Hochberg", "by": "Benjamini-Yekutieli"}


TOO_LATE = (
    "The answers were recorded before and replayed: what was declared for this run was declared when they were there, "
    "so its families are exploratory and its margins chosen afterwards."
)
INTERVALS = (
    "Other people and pictures of the kind that was shown. They don't speak of other prompts: a study's prompts are "
    "the study, and the same question in other words may get another answer."
)


@dataclass(frozen=True, slots=True)
class HowJudged:
    """Basis of the verdicts: all there is to know about how they were reached."""

    verdicts: list[tuple[Markup, str, str]]
    """Sign, word and meaning of each verdict."""
    facts: list[tuple[str, list[str]]]
    """Name and paragraphs of each fact."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A family that was declared before the run, and what came of it."""

    name: str
    model: str
    tests: int
    caveats: tuple[str, ...]
    """Caveat of each difference that was found; empty for none."""

    @property
    def outcome(self) -> str:
        """Number of tests in which a difference was found, in words."""
        tests = "1 test" if self.tests == 1 else f"{self.tests:,} tests"
        return f"a difference found in {len(self.caveats)} of {tests}{counted_caveats(self.caveats)}"


def how_judged(data: ReportData, numbers: EstimateIndex) -> HowJudged | None:
    """Basis of the verdicts; None for estimates without verdicts."""
    if not numbers.judged:
        return None
    facts = [
        ("Declared before the run", _confirmatory(data.runs, numbers)),
        ("Looked at besides", _exploratory(numbers)),
        ("Margins", margins(numbers, {m.key: m for m in data.study.measures})),
        ("Level", [_level(data.runs)]),
        ("Pre-registration", _describe_registration(data.runs, numbers)),
        ("The page as a whole", _page(numbers)),
        ("What intervals speak of", [INTERVALS]),
    ]
    return HowJudged([(verdict_icon(v), v.value, MEANINGS[v]) for v in Verdict], facts)


def declared_families(numbers: EstimateIndex) -> list[Declared]:
    """Families declared before the run, by model, in the order of the table."""
    rows: dict[tuple[str, str], list[Estimate]] = {}
    for e in numbers.filter_estimates((pl.col("kind") == "confirmatory") & pl.col("family").is_not_null()):
        rows.setdefault((e.family or "", e.model), []).append(e)
    return [
        Declared(name, model, len(estimates), tuple(e.caveat for e in estimates if e.verdict == Verdict.DIFFERENCE))
        for (name, model), estimates in rows.items()
    ]


def margins(numbers: EstimateIndex, definitions: Mapping[str, Measure]) -> list[str]:
    """The margin of each measure that has one."""
    lines = margin_lines(numbers, definitions)
    if not lines:
        return [
            "No margin was named. Nothing can be called equivalent to no change: where no difference was found, the "
            "verdict is inconclusive."
        ]
    out = [*lines]
    out.append(
        "A margin is the largest difference that would not matter. Equivalence is tested for each comparison on its "
        "own by two one-sided tests, not adjusted for the number of comparisons. At a level of .05 it holds where the "
        "90% interval lies inside the margin, so the 95% interval that is drawn may reach a little past it."
    )
    if numbers.frame["declared"].eq(other=False).any():
        out.append("A margin chosen after the run can be fitted to the answers: take its verdicts as exploratory.")
    return out


def margin_lines(numbers: EstimateIndex, definitions: Mapping[str, Measure]) -> list[str]:
    """Margins of what was measured: those of one kind of measure, of several scores, in one sentence."""
    estimates = numbers.filter_estimates(pl.col("margin").is_not_null() & pl.col("value").is_not_null())
    titles: dict[str, Estimate] = {}
    for e in estimates:  # of a measure and of changes in it there is one margin
        definition = definition_of(definitions, e.measure, e["score"])
        titles.setdefault(definition.title if definition else e.measure, e)
    kinds: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for title, e in titles.items():
        kind, _, score = _lower(title).partition(": ")
        kinds.setdefault((kind, when_declared(e.declared)), []).append((score, number(e.margin, e.written_unit)))
    return [_margins_of(kind, when, margins) for (kind, when), margins in kinds.items()]


def _margins_of(kind: str, when: str, margins: Sequence[tuple[str, str]]) -> str:
    if len(margins) == 1:
        ((score, size),) = margins
        return f"Margin of {': '.join(filter(None, (kind, score)))}: {size} either way, {when}."
    listed = "; ".join(f"{_lower(score)} {size}" for score, size in margins)
    return f"Margins of {kind}, either way, {when}: {listed}."


def _lower(title: str) -> str:
    return title if title[:2].isupper() else title[:1].lower() + title[1:]


def _confirmatory(runs: Sequence[RunFacts], numbers: EstimateIndex) -> list[str]:
    rules: dict[str, Family] = {family.name: family for run in runs for family in run.families}
    out = []
    for family in declared_families(numbers):
        rule = rules.get(family.name)
        method = _METHODS[rule.method] if rule else "Holm"
        level = f", level {rule.alpha:g}" if rule else ""
        whose = f", {family.model}" if len(numbers.models) > 1 else ""
        out.append(f"{family.name} ({method}{level}{whose}): {family.outcome}.")
    if not out:
        return ["No family of tests: everything below is exploratory, and wants confirming in a run of its own."]
    out.append(
        "Confirmatory families lead the page: the chance of even one false finding in all of them together is at most "
        "the page's level."
    )
    return out


def _exploratory(numbers: EstimateIndex) -> list[str]:
    besides = pl.col("kind").ne_missing("confirmatory") & (pl.col("family") != "")
    names = numbers.frame.filter(besides)["family"].unique(maintain_order=True).to_list()
    if not names:
        return ["Nothing."]
    return [
        _list_families(names),
        "Exploratory families, by Benjamini-Hochberg: of the differences found in a family, at most about one in "
        "twenty is expected to be false. They say where to look next.",
    ]


def _page(numbers: EstimateIndex) -> list[str]:
    """Say how many families there are, and how they are held to one level together."""
    tested = numbers.frame.filter(pl.col("q_page").is_not_null())
    families = tested.select("model", "measure", "score", "family").unique().height
    share = f"{LEAD_SHARE:.0%}"
    several = [
        f"{families} families of tests. Each alone would find something by chance in one audit of twenty; so they are "
        f"held to {ALPHA:g} together, for each model and intervention. The family that the answer above speaks of "
        f"leads and is tested at {share} of the level; the others stand below it (Holm over families), with the rest, "
        "and with all of it once the lead has a finding."
    ]
    single = [f"1 family of tests, held to {ALPHA:g} for each model and intervention."]
    return [
        *(several if families > 1 else single[:families]),
        "A verdict, its intervals and what could have been found rest on one test of the number shown. The interval of "
        "95% speaks of its row alone; the one at the page's level leaves out zero exactly where a difference is found, "
        "once the row is corrected for all others. The protocol's "
        "own test, as published, stands beside it and decides nothing.",
    ]


def _list_families(names: Sequence[str]) -> str:
    """Names of families; only a few of very many."""
    if len(names) <= _MOST_NAMES:
        return "; ".join(names) + "."
    return f"{len(names)} families, such as {'; '.join(names[:3])}. The table of estimates has that of every number."


def _level(runs: Sequence[RunFacts]) -> str:
    levels = sorted({family.alpha for run in runs for family in run.families} - {ALPHA})
    sentence = f" Declared families have their own: {', '.join(f'{a:g}' for a in levels)}." if levels else ""
    return f"{ALPHA:g}.{sentence} Smallest detectable effects are for 80% power at the level of a test's family."


def _describe_registration(runs: Sequence[RunFacts], numbers: EstimateIndex) -> list[str]:
    hashes = {run.model: run.preregistration for run in runs}
    if not any(hashes.values()):
        declared = numbers.frame["declared"].any() or bool((numbers.frame["kind"] == "confirmatory").any())
        return ["No file of its own: the study declares its families and margins." if declared
                else "No file: nothing was declared before the run."]  # fmt: skip
    late = [TOO_LATE for run in runs if run.preregistration and run.replayed][:1]
    if len(set(hashes.values())) == 1:
        text = f"SHA-256 {next(iter(hashes.values()))}. Whoever has the file can check that it is the one declared."
        return [text, *late]
    out = [f"{model}: {'SHA-256 ' + digest if digest else 'none'}." for model, digest in hashes.items()]
    first = next(iter(hashes))
    out.append(
        f"The runs differ: families and margins are those declared for {first}, and hold as declared for it only."
    )
    return [*out, *late]
