"""Plans: what a run takes in stimuli, trials, tokens and cost."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from facevalue.design import Block, Design
from facevalue.models.base import IMAGE_TOKENS
from facevalue.printable import html_table
from facevalue.protocol.conditions import FACTOR
from facevalue.protocol.study import LeftOut, Study
from facevalue.stimuli.pair_source import TEXT

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
        facts = {"requests": self.asked, "pictures": self.pictures}
        facts |= {"prompt_tokens": self.prompt_tokens, "completion_tokens": self.completion_tokens}
        cost = "" if self.cost is None else f", cost={self.cost:,.2f}"
        return f"Plan({self.study!r}, {', '.join(f'{name}={count:,}' for name, count in facts.items())}{cost})"

    def _repr_html_(self) -> str:
        facts = {
            "study": self.study, "requests": f"{self.asked:,}", "pictures": f"{self.pictures:,}",
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
        requests, stimuli = design.size * repeats, _pictures(design, seen)
        by_block = np.diff(design.offsets)
    else:
        numbers = study.sample(sample, seed, repeats)
        requests, stimuli = numbers.size * repeats, _pictures(design, seen, numbers)
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
    )


def _pictures(design: Design, seen: npt.NDArray[np.bool_], numbers: npt.NDArray[np.int64] | None = None) -> int:
    """Count what is shown: pictures by their name where blocks of the design share them, else stimuli.

    `seen`: blocks that show something.
    """
    columns = [block.stimulus[0].columns()[0] for block in design.blocks if len(block.stimulus) == 1]
    if len(columns) < len(design.blocks) or any(column.name != "image" for column in columns):
        return int(design.stimulus_offsets[-1] if numbers is None else np.unique(design.stimulus_numbers(numbers)).size)
    if numbers is None:
        return len({image for column, is_seen in zip(columns, seen, strict=True) if is_seen for image in column.values})
    numbers = numbers[seen[np.searchsorted(design.offsets, numbers, side="right") - 1]]
    return design.trials(numbers, ["image"])["image"].n_unique() if numbers.size else 0


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
