"""Plans: what a run takes in stimuli, trials, tokens and cost, and how many units detect an effect."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from facevalue.design import Block
from facevalue.errors import DataError
from facevalue.models.base import IMAGE_TOKENS
from facevalue.printable import html_table
from facevalue.protocol.conditions import FACTOR
from facevalue.protocol.study import LeftOut, Study
from facevalue.runs.stored_run import StoredRun, answers
from facevalue.statistics.precision import Precision, Respondents, UnitSpread
from facevalue.stimuli.pairs import TEXT

_CHARACTERS_PER_TOKEN = 4.0  # English text under the usual BPE vocabularies: 4 to 4.5
_OVERHEAD = 12  # chat template
_REPLY = 4  # "(a)" and the end of the turn


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """One block's share of the plan."""

    name: str
    factors: dict[str, str]
    """The block and the factor levels that hold in it."""
    stimuli: int
    trials: int
    """Number of pictures, and how many requests about them, seeds included."""
    counted: dict[str, dict[str, int]]
    """Trials by the prompt columns that the study counts by ("paradigm" -> "decision" -> trials)."""


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """Requests, tokens and cost of a study.

    Attributes
    ----------
    study:
        Its name.
    blocks, baseline, added:
        Blocks of the protocol that are judged, those that only serve as their reference, and references that the
        published protocol doesn't have.
    available:
        Part of the blocks that the pictures at hand can show; None where that is all.
    left_out:
        What is not shown, and why.
    asked:
        Requests of the sample; all of them without one.
    pictures:
        Pictures, or other stimuli, in the sample; what is asked without a picture is none.
    prompt_tokens, completion_tokens:
        Estimates for the sample.
    cost:
        In the currency of the prices; None if none were given.
    nouns:
        Noun for what is shown, and its plural.
    """

    study: str
    blocks: tuple[BlockPlan, ...]
    baseline: tuple[BlockPlan, ...]
    asked: int
    pictures: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    available: tuple[BlockPlan, ...] | None = None
    left_out: tuple[LeftOut, ...] = ()
    added: tuple[BlockPlan, ...] = ()
    nouns: tuple[str, str] = ("picture", "pictures")

    @property
    def stimuli(self) -> int:
        """Stimuli that are judged, the baseline not counted."""
        return sum(block.stimuli for block in self.blocks)

    @property
    def trials(self) -> int:
        """Requests about them, seeds included."""
        return sum(block.trials for block in self.blocks)

    @property
    def trial_counts(self) -> dict[str, dict[str, int]]:
        """Trials by the prompt columns that the study counts by, over all blocks that are judged."""
        return _sum_counts([block.counted for block in self.blocks])

    def __repr__(self) -> str:
        facts = {"requests": self.asked, self.nouns[1].replace(" ", "_"): self.pictures}
        facts |= {"prompt_tokens": self.prompt_tokens, "completion_tokens": self.completion_tokens}
        cost = "" if self.cost is None else f", cost={self.cost:,.2f}"
        return f"Plan({self.study!r}, {', '.join(f'{name}={count:,}' for name, count in facts.items())}{cost})"

    def _repr_html_(self) -> str:
        facts = {
            "study": self.study, "requests": f"{self.asked:,}", self.nouns[1]: f"{self.pictures:,}",
            "tokens of prompts": f"{self.prompt_tokens:,}", "tokens of replies": f"{self.completion_tokens:,}",
        }  # fmt: skip
        facts |= {} if self.cost is None else {"cost": f"{self.cost:,.2f}"}
        return html_table(facts | {f"left out: {left.what}": left.why for left in self.left_out})


def plan(
    study: Study,
    *,
    sample: int | None = None,
    seed: int = 0,
    exact: bool = False,
    image_tokens: int = IMAGE_TOKENS,
    price_in: float | None = None,
    price_out: float | None = None,
) -> Plan:
    """Count the requests, tokens and cost of a run."""
    design, repeats = study.design, 1 if exact else study.repeats
    seen = _with_picture(study)
    protocol_design = study.planned.protocol or design
    blocks = [(block, _block(block, repeats, study.planned.counted_by)) for block in protocol_design.blocks]
    design_blocks = (
        None
        if study.planned.protocol is None
        else tuple(_block(b, repeats, study.planned.counted_by) for b in design.blocks)
    )
    if study.planned.unshown:
        design_blocks, sample = (), None
        requests, stimuli, by_block = 0, 0, np.zeros(len(design.blocks), dtype=np.int64)
    elif sample is None:
        requests, stimuli = design.size * repeats, count_pictures(study)
        by_block = np.diff(design.offsets)
    else:
        numbers = study.sample(sample, seed, repeats)
        requests, stimuli = numbers.size * repeats, count_pictures(study, numbers)
        by_block = np.diff(np.searchsorted(np.sort(numbers), design.offsets))
    probe = np.unique(np.linspace(0, design.size - 1, 64).astype(np.int64))
    questions = study.ask(design.trials(probe))
    length = np.mean([len(q.prompt) + len(q.system or "") + sum(len(text) for _, text in q.turns) for q in questions])
    pictures = int(by_block[seen].sum()) * repeats
    prompt = round(requests * (length / _CHARACTERS_PER_TOKEN + _OVERHEAD) + pictures * image_tokens)
    limits = [(q.sampling or study.draws.sampling).max_tokens for q in questions]
    # Free texts are long: half of what they may take at most.
    replies = [min(_REPLY, limit) if q.options else limit / 2 for q, limit in zip(questions, limits, strict=True)]
    completion = round(requests * float(np.mean(replies)))
    cost = None
    if price_in is not None or price_out is not None:
        cost = (prompt * (price_in or 0.0) + completion * (price_out or 0.0)) / 1e6
    return Plan(
        study.name,
        tuple(p for block, p in blocks if not block.baseline and not block.added),
        tuple(p for block, p in blocks if block.baseline),
        requests,
        stimuli,
        prompt,
        completion,
        cost,
        design_blocks,
        study.planned.left_out,
        tuple(p for block, p in blocks if block.added),
        study.about.stimulus,
    )


def count_pictures(study: Study, numbers: npt.NDArray[np.int64] | None = None) -> int:
    """Count what is shown: pictures by their name where blocks of the design share them, else stimuli.

    `numbers`: trials that are asked; all by default. What is asked without a picture is none.
    """
    design, seen = study.design, _with_picture(study)
    columns = [block.stimulus[0].columns()[0] for block in design.blocks if len(block.stimulus) == 1]
    is_named = len(columns) == len(design.blocks) and all(column.name == "image" for column in columns)
    if numbers is None and is_named:
        return len({image for column, is_seen in zip(columns, seen, strict=True) if is_seen for image in column.values})
    if numbers is None:
        return int(np.diff(design.stimulus_offsets)[seen].sum())
    numbers = numbers[seen[np.searchsorted(design.offsets, numbers, side="right") - 1]]
    if is_named:
        return design.trials(numbers, ["image"])["image"].n_unique() if numbers.size else 0
    return int(np.unique(design.stimulus_numbers(numbers)).size)


def _with_picture(study: Study) -> npt.NDArray[np.bool_]:
    """Mask of the design's blocks that show something: not those asked as text, nor those without their picture."""
    taken = {variant.name for variant in study.changes.variants if variant.picture == "none"}
    facts = [block.constants for block in study.design.blocks]
    return np.array(
        [
            facts_of_prompt.get("shown") != TEXT and facts_of_prompt.get(FACTOR) not in taken
            for facts_of_prompt in facts
        ],
        dtype=np.bool_,
    )


def _block(block: Block, repeats: int, counted_by: tuple[str, ...]) -> BlockPlan:
    counted = {name: counts for name in counted_by if (counts := _count_trials(block, name, repeats))}
    return BlockPlan(block.name, dict(block.constants), block.stimuli, len(block) * repeats, counted)


def _count_trials(block: Block, name: str, repeats: int) -> dict[str, int]:
    """Trials of a block by the levels of one prompt column."""
    for axis in block.prompt:
        for column in axis.columns():
            if column.name == name:
                per_value = len(block) // len(axis) * repeats
                return {level: n * per_value for level, n in Counter(column.values).items() if level is not None}
    return {}


def _sum_counts(blocks: list[dict[str, dict[str, int]]]) -> dict[str, dict[str, int]]:
    out: dict[str, dict[str, int]] = {}
    for block in blocks:
        for name, counts in block.items():
            total = out.setdefault(name, {})
            for level, n in counts.items():
                total[level] = total.get(level, 0) + n
    return out


ALPHA, POWER = 0.05, 0.8


@dataclass(frozen=True, slots=True)
class Reach:
    """Smallest effect that tests detect which rest on one share of the units."""

    tests: int
    """How many these are."""
    clusters: int
    """Units they rest on in the plan."""
    detectable: float | None
    """Smallest effect that they detect there; None if none at all."""
    needed: int | None
    """Units of the study that it takes for them to detect what the user wants; None if nothing was asked."""


@dataclass(frozen=True, slots=True)
class Detection:
    """Effect that a plan can detect, and what it takes to detect the one the user wants."""

    what: str
    """The effect."""
    detectable: float | None
    """Smallest effect that the plan detects with any of its tests; None if some detect nothing."""
    clusters: int
    items: float
    """Units in the plan (faces), and items of each (scenarios)."""
    effect: float | None
    """What the user wants to detect; None if nothing was asked."""
    needed: int | None
    """Units that detect it with any of the tests, with `items` items each."""
    requests: int | None
    """What these take, as the plan's requests per unit are; None where `needed` is."""
    sample: int | None
    """Requests of a sample that detects it with all units of the study and fewer items of each; None if even all items
    don't, or nothing was asked."""
    reaches: tuple[Reach, ...]
    """The same by the share of units that tests rest on, largest share first."""
    level: float
    """Two-sided level of a single test, at which it is surely made: the lead family's share of alpha / tests."""
    tests: int
    """Tests in the family."""
    power: float
    """How often the effect is detected."""
    sd: float
    """Assumed SD between units, where the effect is the one to be detected (or none)."""
    source: str
    """Where it is from."""
    advice: str
    """What the design cannot tell apart, and what it would take; empty if nothing."""
    unplanned: str
    """What else the study measures that this says nothing of; empty if nothing."""


def detection(
    study: Study,
    *,
    requests: int,
    sample: int | None,
    seed: int,
    exact: bool,
    effect: float | None,
    pilot: StoredRun | None,
    compare: bool = False,
) -> Detection:
    """Work out what a plan detects; with `compare`, of the difference between two such runs on the same units.

    A difference is planned for as if the two runs had nothing in common but its units: its variance is that of both.
    Whatever units bring to both runs makes it smaller (`measures.paired_changes`), so that such a plan asks too much
    rather than too little. Its t has no more degrees of freedom than the jackknife has groups, less one.
    """
    from facevalue.measures.paired_changes import JACKKNIFE_GROUPS  # noqa: PLC0415 - slow to import

    plan = planned_precision(study, compare=compare)
    if effect is not None and not 0 < effect <= plan.largest:
        raise DataError(f"A shift to detect is a size: above 0 and at most {plan.largest:g}, not {effect:g}.")
    spread = expected_spread(study, exact=exact, pilot=pilot, compare=compare)
    most_df = JACKKNIFE_GROUPS - 1 if compare else np.inf
    clusters, items = plan.clusters, plan.items
    if sample is not None:
        clusters, items = plan.units(study.sample(sample, seed, 1 if exact else study.repeats))
    if not np.isfinite(spread.sd(items)):
        raise DataError(
            f"The pilot asked too little to say what {items:.3g} {plan.item} for each of the {plan.cluster} give."
        )
    level = single_level(plan)
    reaches = reaches_of(plan, spread, clusters, items, effect, most_df)
    needed = None if effect is None else max(reach.needed or 0 for reach in reaches)
    return Detection(
        what=f"a difference between two runs in {plan.what}" if compare else plan.what,
        detectable=detected_by_all(reaches),
        clusters=clusters,
        items=items,
        effect=effect,
        needed=needed,
        requests=None if needed is None else round((plan.each or requests / clusters) * needed),
        sample=None
        if effect is None
        else _sample(spread, plan, min(plan.shares, default=1.0), level, effect, requests, clusters, items, most_df),
        reaches=reaches,
        level=level,
        tests=plan.tests,
        power=POWER,
        sd=spread.sd(items, effect or 0.0),
        source=spread.source,
        advice="" if plan.advice is None or isinstance(spread, Respondents) else plan.advice(spread),
        unplanned=plan.unplanned,
    )


def expected_spread(
    study: Study, *, exact: bool, pilot: StoredRun | None, compare: bool = False
) -> UnitSpread | Respondents:
    """UnitSpread of what a study plans for: that of a pilot, or the stated default."""
    plan = planned_precision(study, compare=compare)
    spread = plan.default if pilot is None else _pilot(plan, study, pilot, compare=compare)
    if exact and plan.of_replies:
        raise DataError(
            f"{study.name} plans for {plan.what}, which stands beside what several replies have: probabilities have "
            "none. Plan it without exact."
        )
    if exact:
        spread = spread.exact()
    if not compare:
        return spread
    if plan.freedom is not None or plan.one_sided or plan.of_question:
        raise DataError(f"What {study.name} plans for has no direction: plan for a single run instead.")
    return spread.twice()


def single_level(plan: Precision) -> float:
    """Two-sided level of a single test, at which it is surely made."""
    from facevalue.measures.multitest import LEAD_SHARE  # noqa: PLC0415 - slow to import

    return ALPHA if plan.of_question else ALPHA * LEAD_SHARE * plan.sure / plan.tests * (2 if plan.one_sided else 1)


def reaches_of(
    plan: Precision, spread: UnitSpread | Respondents, clusters: int, items: float, effect: float | None = None,
    most_df: float = np.inf, *, any_time: bool = False,
) -> tuple[Reach, ...]:  # fmt: skip
    """Effects that so many units with so many items each detect, by the share of units that tests rest on.

    `any_time`: of tests that hold at all looks together, at the last of them.
    """
    shares, level = plan.shares or (1.0,) * plan.tests, single_level(plan)
    return tuple(
        _reach(
            spread, items, clusters, share, shares.count(share), _level_at(level, clusters, share, any_time),
            effect, plan.freedom, plan.largest, most_df,
        )
        for share in sorted(set(shares), reverse=True)
    )  # fmt: skip


def _level_at(level: float, clusters: int, share: float, any_time: bool) -> float:
    """Level of the test of a share of the units; at any time, that of a single look that asks for as much, or 0."""
    if not any_time:
        return level
    from facevalue.measures.family_tests import any_time_critical, single_look_level  # noqa: PLC0415 - slow to import

    units = _sampled_clusters(clusters, share)
    is_reached = np.isfinite(any_time_critical(level, units - 1, units))
    return float(single_look_level(level, units - 1, units)) if is_reached else 0.0


def _sampled_clusters(clusters: int, share: float) -> int:
    return int(np.floor(clusters * share + 1e-9))


def detected_by_all(reaches: Sequence[Reach]) -> float | None:
    """Smallest effect that any of the tests detects; None if some detect nothing."""
    effects = [reach.detectable for reach in reaches if reach.detectable is not None]
    return max(effects) if len(effects) == len(reaches) else None


def _reach(
    spread: UnitSpread | Respondents, items: float, clusters: int, share: float, tests: int, level: float,
    effect: float | None, freedom: int | None = None, largest: float = 1.0, most_df: float = np.inf,
) -> Reach:  # fmt: skip
    """Effect that tests on a share of the units detect, and the number of units needed for the wanted effect.

    Equation
    --------
    The smallest d with k sd(d) = d, k the detectable effect in SD: d² = k² sd²(0) / (1 - k² growth²). Where an effect
    is tested by its square, k = sqrt(lambda / n), with lambda the noncentrality of the chi-squared test. Audits
    of simulated respondents are drawn and judged instead.
    """
    from facevalue.measures.power import clusters_needed, detectable_mean  # noqa: PLC0415 - slow to import

    sampled = _sampled_clusters(clusters, share)
    if not level:
        return Reach(tests, sampled, None, None)
    if isinstance(spread, Respondents):
        return _reach_of_respondents(spread, items, sampled, share, tests, level, effect, largest)
    if freedom is not None:
        return _reach_of_square(spread, items, sampled, share, tests, level, effect, freedom, largest)
    k = float(detectable_mean(1.0, sampled, level, POWER, most_df))
    rest = 1 - (k * spread.growth) ** 2
    reach = k * spread.sd(items) / np.sqrt(rest) if rest > 0 else np.nan
    needed = None
    if effect is not None:
        needed = int(
            np.ceil(float(clusters_needed(spread.sd(items, effect), effect, level, POWER, most_df)) / share - 1e-9)
        )
    return Reach(tests, sampled, float(reach) if reach <= largest else None, needed)


def _reach_of_respondents(
    spread: Respondents, items: float, clusters: int, share: float, tests: int, level: float, effect: float | None,
    largest: float,
) -> Reach:  # fmt: skip
    from facevalue.measures.power import fewest_clusters, smallest_effect  # noqa: PLC0415 - slow to import

    reach = smallest_effect(lambda size: spread.shifts(items, size), clusters, level, largest, POWER)
    needed = None
    if effect is not None:
        needed = int(np.ceil(fewest_clusters(spread.shifts(items, effect), level, POWER, largest) / share - 1e-9))
    return Reach(tests, clusters, reach if np.isfinite(reach) else None, needed)


def _reach_of_square(
    spread: UnitSpread, items: float, sampled: int, share: float, tests: int, level: float, effect: float | None,
    freedom: int, largest: float = 1.0,
) -> Reach:  # fmt: skip
    from scipy import special  # noqa: PLC0415 - slow to import

    size = float(special.chndtrinc(special.chdtri(freedom, level), freedom, 1 - POWER))
    reach = np.sqrt(size / sampled) * spread.sd(items) if sampled > 1 else np.nan
    needed = None if effect is None else int(np.ceil(size * (spread.sd(items, effect) / effect) ** 2 / share - 1e-9))
    return Reach(tests, sampled, float(reach) if reach <= largest else None, needed)


def _sample(
    spread: UnitSpread | Respondents, plan: Precision, share: float, level: float, effect: float, requests: int,
    clusters: int, items: float, most_df: float = np.inf,
) -> int | None:  # fmt: skip
    """Requests with all units of the study, and as few items of each as detect the effect in the rarest test."""
    if plan.items <= 1:
        return None
    from facevalue.measures.power import detects_mean  # noqa: PLC0415 - slow to import

    per_item = requests / (clusters * items)
    rarest = _sampled_clusters(plan.clusters, share)
    for k in range(1, int(plan.items) + 1):
        if isinstance(spread, Respondents):
            enough = detects_mean(spread.shifts(k, effect), rarest, level, POWER, plan.largest)
        elif np.isfinite(spread.sd(k)):
            reach = _reach(
                spread, k, plan.clusters, share, 1, level, None, largest=plan.largest, most_df=most_df
            ).detectable
            enough = reach is not None and reach <= effect
        else:
            continue
        if enough:
            return int(np.ceil(per_item * plan.clusters * k))
    return None


def planned_precision(study: Study, *, compare: bool) -> Precision:
    """Precision that a study plans for, of a single run or of the difference between two."""
    plan = study.planned.precision
    if plan is None:
        reason = study.planned.unplanned
        raise DataError(
            f"{study.name} has no power analysis{f': {reason}' if reason else ' of what these settings ask about'}. "
            "Plan it without detect, pilot or compare."
        )
    return plan.compared or plan if compare else plan


def _pilot(plan: Precision, study: Study, pilot: StoredRun, *, compare: bool) -> UnitSpread:
    if pilot.study.name != study.name or pilot.study.planned.precision is None:
        raise DataError(f"The pilot {pilot.folder} is a run of {pilot.study.name}, not of {study.name}.")
    source = f"pilot {pilot.folder.name}, {pilot.model}"
    spread = planned_precision(pilot.study, compare=compare).spread(answers(pilot), source)
    if not (np.isfinite(spread.mean) and spread.mean > 0):
        raise DataError(
            f"The pilot {pilot.folder} says nothing of the spread between {plan.cluster}: it has fewer than two with "
            "valid answers, or all are the same."
        )
    return spread
