"""Which trials VisBias has: images, pairs of them and forms, each with its prompts (sections 2 and 3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Block, Design, Factor, mix
from facevalue.design.permutation import Permutation
from facevalue.errors import DataError
from facevalue.studies.visbias.settings import Selection
from facevalue.studies.visbias.tables import comparisons

PLAIN, SWAPPED = "plain", "swapped"
ORDERS = (PLAIN, SWAPPED)
"""A pair as it stands with the plain question; its images swapped with the wording turned round: its negation."""
PEOPLE, SPECIES = "people", "species"
KEPT = ("set", "race", "skin_tone", "gender", "species", "occupation")
"""Columns of a manifest that come along with each image, besides the groups that the user names."""
TOGETHER = ("occupation", "species")
"""Factors that samples tell apart besides the groups."""
_CHUNK = 4096

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """The design, and what belongs together in a sample.

    Attributes
    ----------
    design:
        One block per task, those of fictional species apart.
    units:
        For each block the trials of one unit: an image with its questions, a pair both ways round, a form.
    strata:
        For each block the stratum of each of its units; samples take as many of each as of any other.
    """

    design: Design
    units: tuple[int, ...]
    strata: tuple[tuple[int, ...], ...]

    def sample(self, size: int, seed: int, repeats: int) -> Numbers:
        """Draw whole units, of each task in proportion to its trials and spread evenly over the groups.

        Parameters
        ----------
        size:
            Requests wanted.
        seed:
            Which sample.
        repeats:
            Requests per trial.

        Raises
        ------
        DataError
            The design is smaller, or the sample too small for one unit.
        """
        total = self.design.size * repeats
        if size > total:
            raise DataError(f"A sample of {size:,} cannot be drawn: the design has {total:,} requests.")
        out: list[Numbers] = []
        for at, (unit, strata) in enumerate(zip(self.units, self.strata, strict=True)):
            count = size * len(self.design.blocks[at]) // total // unit
            if count:
                chosen = _spread(np.array(strata, dtype=np.int64), (seed, at))[:count]
                first = chosen * unit + int(self.design.offsets[at])
                out.append((first[:, None] + np.arange(unit)).ravel())
        if not out:
            least = min(self.units) * repeats
            raise DataError(f"A sample of {size:,} is too small for these tasks: a unit takes {least:,} requests.")
        return np.sort(np.concatenate(out))


def layout(
    frames: Sequence[tuple[str, pl.DataFrame]], groups: Sequence[str], forms: Sequence[str], chosen: Selection
) -> Layout:
    """Lay the tasks out.

    Parameters
    ----------
    frames:
        Images of people, and of species where they are asked about.
    groups:
        Factors that are compared.
    forms:
        What is filled in, one text per form.
    chosen:
        What is asked.

    Raises
    ------
    DataError
        Nothing is left to ask, or there are no two images to compare.
    """
    blocks: list[tuple[Block, int, tuple[int, ...]]] = []
    for who, frame in frames:
        for task in chosen.tasks:
            if task == "mcq":
                blocks.append(_questions(who, frame, groups, chosen))
            elif task == "yesno" and _comparable(chosen):
                blocks.append(_pairs(who, frame, groups, chosen))
            elif task == "description" and who == PEOPLE:
                blocks.append(_descriptions(who, frame, groups, chosen))
    for task in chosen.tasks:
        if task in ("form", "text-form"):
            constants = {"task": task, **({"shown": "text"} if task == "text-form" else {})}
            axis = Factor("form", tuple(str(number) for number in range(len(forms))), {"filled": tuple(forms)})
            blocks.append((Block(task, (axis,), (_prompts((task,)),), constants), 1, tuple([0] * len(forms))))
    if not blocks:
        raise DataError("Nothing is left to ask: the tasks that were chosen do not ask these questions.")
    return Layout(
        Design(tuple(b for b, _, _ in blocks)), tuple(u for _, u, _ in blocks), tuple(s for _, _, s in blocks)
    )


def _comparable(chosen: Selection) -> bool:
    return any(question.name in chosen.questions for question in comparisons())


def _name(task: str, who: str) -> str:
    return task if who == PEOPLE else f"{task} {who}"


def _prompts(names: Sequence[str], questions: Sequence[str] | None = None) -> Factor:
    """The prompt axis: names that tell prompts of different tasks apart, and the question that each asks."""
    return Factor("prompt", tuple(names), {"question": tuple(questions or [None] * len(names))})


def _images(frame: pl.DataFrame, groups: Sequence[str]) -> Factor:
    kept = [c for c in dict.fromkeys((*KEPT, *groups)) if c in frame.columns]
    return Factor("image", tuple(frame["image"]), {c: tuple(frame[c].cast(pl.String)) for c in kept})


def _questions(
    who: str, frame: pl.DataFrame, groups: Sequence[str], chosen: Selection
) -> tuple[Block, int, tuple[int, ...]]:
    prompts = _prompts([f"mcq {name}" for name in chosen.questions], chosen.questions)
    block = Block(_name("mcq", who), (_images(frame, groups),), (prompts,), {"task": "mcq"})
    return block, len(prompts), _strata(frame, groups)


def _descriptions(
    who: str, frame: pl.DataFrame, groups: Sequence[str], chosen: Selection
) -> tuple[Block, int, tuple[int, ...]]:
    draws = Factor("draw", tuple(str(draw) for draw in range(chosen.draws)))
    block = Block(
        _name("description", who),
        (_images(frame, groups),),
        (_prompts(("description",)), draws),
        {"task": "description"},
    )
    return block, len(draws), _strata(frame, groups)


def _pairs(
    who: str, frame: pl.DataFrame, groups: Sequence[str], chosen: Selection
) -> tuple[Block, int, tuple[int, ...]]:
    listed = drawn_pairs(frame, chosen.pairs, chosen.pair_seed, groups)
    asked = [question.name for question in comparisons() if question.name in chosen.questions]
    kept = [c for c in dict.fromkeys((*KEPT, *groups)) if c in frame.columns]
    attributes: dict[str, tuple[str | None, ...]] = {"within": tuple(listed["within"])}
    for part in ("1", "2"):
        people = listed.select(image=f"image_{part}").join(frame, on="image", how="left", maintain_order="left")
        attributes[f"image_{part}"] = tuple(people["image"])
        attributes |= {f"{c}_{part}": tuple(people[c].cast(pl.String)) for c in kept}
    axes = (Factor("pair", tuple(listed["pair"]), attributes), Factor("order", ORDERS))
    prompts = _prompts([f"yesno {name}" for name in asked], asked)
    codes = listed["within"].fill_null("").rank("dense").cast(pl.Int64).to_list()
    block = Block(_name("yesno", who), axes, (prompts,), {"task": "yesno"})
    return block, len(ORDERS) * len(prompts), tuple(codes)


def drawn_pairs(frame: pl.DataFrame, count: int, seed: int, groups: Sequence[str]) -> pl.DataFrame:
    """Draw pairs of two images of different groups: people of one occupation, or beings of two species.

    "We randomly select ten pairs of individuals within each occupation" (section 3.2); the released code first draws
    two different groups of race and gender. Species are the groups of the negative control (section 4.1), and it has as
    many pairs of each as there are of an occupation.

    Parameters
    ----------
    frame:
        Images of people, or of beings. Without occupations, all people belong together.
    count:
        Pairs of each occupation; for beings, times the species. All there are where that is fewer.
    seed:
        Which pairs, and which image of each comes first.
    groups:
        Factors whose levels, taken together, make the groups. Where all images are in one group, any two are a pair.

    Returns
    -------
    Columns `pair` (unique name), `image_1`, `image_2` and `within`, the occupation (null where all belong together).

    Raises
    ------
    DataError
        There are no two such images.

    Examples
    --------
    >>> images = pl.DataFrame({"image": ["a", "b", "c"], "gender": ["f", "m", "f"], "occupation": ["cook"] * 3})
    >>> sorted(sorted(pair) for pair in drawn_pairs(images, 10, 1, ["gender"]).select("image_1", "image_2").rows())
    [['a', 'b'], ['b', 'c']]
    """
    beings = SPECIES in frame.columns and frame[SPECIES].null_count() < frame.height
    column = None if beings else next((c for c in TOGETHER[:1] if c in frame.columns and frame[c].count()), None)
    within = frame[column].cast(pl.String) if column else pl.Series([None] * frame.height, dtype=pl.String)
    group = _codes(frame, (SPECIES,) if beings else groups)
    rows: list[tuple[str, str, str | None]] = []
    for at, level in enumerate(within.unique(maintain_order=True).to_list()):
        own = within.eq_missing(pl.Series([level], dtype=pl.String))
        wanted = count * (frame[SPECIES].n_unique() if beings else 1)
        images = frame["image"].filter(own).to_list()
        first, second, turned = _drawn(group[own.to_numpy()], wanted, (seed, at), any_two=len(set(group.tolist())) < 2)
        for one, other, turn in zip(first.tolist(), second.tolist(), turned.tolist(), strict=True):
            a, b = (images[other], images[one]) if turn else (images[one], images[other])
            rows.append((a, b, level))
    if not rows:
        kind = f" of one {column}" if column else ""
        raise DataError(f"There are no two images{kind} to compare: leave out the task yesno, or show more.")
    out = pl.DataFrame(rows, schema=dict.fromkeys(("image_1", "image_2", "within"), pl.String), orient="row")
    return out.select(pl.concat_str("image_1", "image_2", separator=" + ").alias("pair"), pl.all())


def _drawn(group: Numbers, count: int, seed: tuple[int, int], *, any_two: bool) -> tuple[Numbers, Numbers, Numbers]:
    """Places of the two images of each pair, and whether the second comes first."""
    size = len(group)
    whole = size * (size - 1) // 2
    if not whole:
        none = np.empty(0, dtype=np.int64)
        return none, none, none
    starts = np.cumsum([0, *(size - 1 - i for i in range(size - 1))])
    shuffled = Permutation(whole, seed)
    kept: list[Numbers] = []
    for begin in range(0, whole, _CHUNK):
        ranks = shuffled(np.arange(begin, min(begin + _CHUNK, whole)))
        first = np.searchsorted(starts, ranks, side="right") - 1
        second = ranks - starts[first] + first + 1
        fit = np.full(len(ranks), any_two) | (group[first] != group[second])
        kept.append(np.stack((ranks, first, second))[:, fit])
        if sum(part.shape[1] for part in kept) >= count:
            break
    ranks, first, second = np.concatenate(kept, axis=1)[:, :count]
    with np.errstate(over="ignore"):
        turned = mix(ranks.astype(np.uint64) + np.uint64(seed[0] + 1) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(63)
    return first, second, turned.astype(np.int64)


def _strata(frame: pl.DataFrame, groups: Sequence[str]) -> tuple[int, ...]:
    """The group of each image, occupations told apart."""
    return tuple(_codes(frame, (*groups, *TOGETHER)).tolist())


def _codes(frame: pl.DataFrame, factors: Sequence[str]) -> Numbers:
    """The same number for images with the same levels of these factors."""
    by = [c for c in dict.fromkeys(factors) if c in frame.columns]
    if not by:
        return np.zeros(frame.height, dtype=np.int64)
    key = frame.select(pl.concat_str([pl.col(c).cast(pl.String).fill_null("") for c in by], separator="\x1f"))
    return key.to_series().rank("dense").cast(pl.Int64).to_numpy()


def _spread(strata: Numbers, seed: tuple[int, int]) -> Numbers:
    """Units in a random order in which strata take turns."""
    if not strata.size:
        return strata
    order = Permutation(strata.size, seed)(np.arange(strata.size))
    shuffled = strata[order]
    by = np.argsort(shuffled, kind="stable")
    bounds = np.flatnonzero(np.diff(shuffled[by], prepend=shuffled[by][0] - 1))
    turn = np.empty(strata.size, dtype=np.int64)
    for start, stop in pairwise([*bounds.tolist(), strata.size]):
        turn[by[start:stop]] = np.arange(stop - start)
    return order[np.argsort(turn, kind="stable")]
