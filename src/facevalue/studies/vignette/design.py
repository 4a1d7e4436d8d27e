"""Trials of VIGNETTE: picture pairs x prompts x variants of each prompt, as arithmetic (section 3, Table 8)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product, starmap

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Axis, Block, Design, Factor, Pairs, mix
from facevalue.design.sampling import sample_equally
from facevalue.errors import DataError
from facevalue.studies.vignette import tables
from facevalue.studies.vignette.settings import Chosen

IRRELEVANT = 3
"""Ability questions with the role of another kind of time that the released code asks of each picture."""


_FACTS = ("paradigm", "question", "about", "trait", "valence", "pair")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt of a block, and what its level means; see the columns of the same names."""

    name: str
    """Level of the factor `prompt`."""
    paradigm: str
    question: str
    """Question that is asked, within its paradigm."""
    about: str | None = None
    """Of which of the two people or activities it asks, "1" or "2", where it asks about one."""
    trait: str | None = None
    valence: str | None = None
    pair: str | None = None
    """As `trait` and `valence`: of a term (Table 5) or decision."""
    contrast: str = ""
    medium: str = "picture"
    wording: str = "1"
    reference: str = "identity"
    """Levels of the pairs it is asked about (`medium`: of `shown`), and of its variants."""


def prompts(contrast: str, paradigms: Sequence[str] = (), irrelevant: bool = False) -> tuple[Prompt, ...]:
    """Prompts asked of one picture pair (sections 4.1-4.4); with `irrelevant`, the released code's control too.

    Examples
    --------
    >>> [len(prompts(contrast)) for contrast in tables.CONTRASTS]
    [12, 4, 12, 60]
    """
    return tuple(p for p in _prompts(contrast, irrelevant) if not paradigms or p.paradigm in paradigms)


def _prompts(contrast: str, irrelevant: bool) -> Iterator[Prompt]:
    for question in tables.questions(None, contrast):
        if question.paradigm == "stereotype":
            for pair in tables.term_pairs():
                for term, valence in ((pair.high, "high"), (pair.low, "low")):
                    yield Prompt(term, "stereotype", term, None, pair.trait, valence, pair.name)
        elif question.paradigm == "decision":
            for trait in tables.TRAITS:
                yield Prompt(f"decision {trait}", "decision", trait, trait=trait)
        elif question.paradigm == "factuality" or contrast == "identity-activity":  # of each person, or what each does
            for about in ("1", "2"):
                yield Prompt(f"{question.name} {about}", question.paradigm, question.name, about)
        else:
            yield Prompt(question.name, question.paradigm, question.name)
    if irrelevant and contrast == "identity":
        for number in range(1, IRRELEVANT + 1):
            yield Prompt(f"decision irrelevant {number}", "decision", f"irrelevant {number}", trait="ability")


@dataclass(frozen=True)
class Cast:
    """People and activities of one block's pairs: pictures of one gender and dimension."""

    gender: str
    dimension: str
    """As the gender, of all of them."""
    identities: tuple[str, ...]
    """Identities with a picture of every activity."""
    portraits: tuple[str, ...]
    """Identities with a portrait."""
    activities: tuple[str, ...]
    """Activities of their pictures."""
    people: tuple[str, ...] = ()
    """People who model all of them, where there are several: pairs are of two identities of one person."""

    def axes(self, contrast: str, drop: bool) -> tuple[Axis, ...] | None:
        """Axes of the pictures shown in a block of this contrast; None if there is no pair."""
        models = (Factor("person", self.people),) if self.people else ()
        out = sorted(sorted(pair) for pair in tables.overlaps(self.dimension)) if drop else []
        without = tuple((first, second) for first, second in out)
        try:
            people = Factor("identity", self.portraits if contrast == "portrait" else self.identities)
            who: Axis = people if contrast == "activity" else Pairs(people, without=without)
            if contrast == "portrait":
                return *models, who
            doing = Factor("activity", self.activities)
            return *models, who, doing if contrast == "identity" else Pairs(doing, contrast == "identity-activity")
        except DataError:  # a single identity or activity makes no pair, and none no factor
            return None


@dataclass(frozen=True)
class Layout:
    """The design, and how its variants hang together."""

    design: Design
    """Blocks with pictures, then the same pairs without them where text is asked for."""
    twins: tuple[int, ...]
    """For each block the block that shows the same pairs; itself where it shows pictures."""

    @cached_property
    def variants(self) -> npt.NDArray[np.int64]:
        """Trials of each block that differ only in wording and reference."""
        return np.array([block.prompts // len(block.prompt[0]) for block in self.design.blocks], dtype=np.int64)

    @cached_property
    def _numbered_prompts(self) -> tuple[dict[Prompt, int], npt.NDArray[np.int64]]:
        """Numbers of all prompts in all variants; and that of each prompt of each block, one block after another."""
        places: dict[Prompt, int] = {}
        numbers: list[int] = []
        for block in self.design.blocks:
            axis, *axes = block.prompt
            levels = axis.choices()
            rows = zip(*(levels[name] for name in ("prompt", *_FACTS)), strict=True)
            of = {axis.name: axis.choices()[axis.name] for axis in axes}
            facts = block.constants["contrast"], block.constants.get("shown", "picture")
            variants = product(rows, of.get("wording", ("1",)), of.get("reference", ("identity",)))
            prompts = starmap(Prompt, ((*row, *facts, *variant) for row, *variant in variants))
            numbers += [places.setdefault(prompt, len(places)) for prompt in prompts]
        return places, np.array(numbers, dtype=np.int64)

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """All prompts in all variants, each once."""
        return tuple(self._numbered_prompts[0])

    def locate(self, numbers: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The block of each trial, and its prompt as a place among `prompts`."""
        design = self.design
        counts = np.array([block.prompts for block in design.blocks])
        block = np.searchsorted(design.offsets, numbers, side="right") - 1
        prompt = (numbers - design.offsets[block]) % counts[block]
        return block, self._numbered_prompts[1][(np.cumsum(counts) - counts)[block] + prompt]

    def pair_numbers(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The number of each trial's pair, the same with and without its picture."""
        design = self.design
        block = np.searchsorted(design.offsets, numbers, side="right") - 1
        shift = design.stimulus_offsets[:-1] - design.stimulus_offsets[list(self.twins)]
        return design.stimulus_numbers(numbers) - shift[block]

    def sample(self, size: int, seed: int, repeats: int) -> npt.NDArray[np.int64]:
        """Draw prompts of pairs, each with all its variants, as many of each block and paradigm as of any other.

        In proportion to their size, nine in ten prompts would be about pairs that differ in identity and activity, and
        one in a thousand a decision. Estimates are taken within a paradigm and dimension, so each gets an equal share,
        as far as it has so many.
        """
        return sample_equally(self.design, self._groups(), self.variants, size, seed, repeats)

    def _groups(self) -> list[list[tuple[int, npt.NDArray[np.int64]]]]:
        """Prompts of one paradigm about the pairs of one block, with pictures and, where asked for, without."""
        groups: dict[tuple[int, str | None], list[tuple[int, npt.NDArray[np.int64]]]] = {}
        for i, twin in enumerate(self.twins):
            paradigm = paradigms(self.design.blocks[i])
            for name in dict.fromkeys(paradigm):
                codes = np.array([code for code, value in enumerate(paradigm) if value == name], dtype=np.int64)
                groups.setdefault((twin, name), []).append((i, codes))
        return list(groups.values())


def product_layout(casts: Sequence[Cast], chosen: Chosen, drop: bool, released: bool) -> Layout:
    """Cross everyone with everything: the paper's design, each block a product (Table 8)."""
    blocks = []
    for cast in casts:
        for contrast in chosen["contrast"] or tables.CONTRASTS:
            axes = cast.axes(contrast, drop)
            if axes is not None:
                names = {"gender": cast.gender, "dimension": cast.dimension, "contrast": contrast}
                blocks.append((axes, names))
    return _layout(blocks, chosen, released)


def listed_layout(pairs: pl.DataFrame, chosen: Chosen, released: bool) -> Layout:
    """Take the pairs of a list: one block per gender, dimension and contrast.

    It has the columns `pair` (unique id), gender, dimension, contrast, and what is shown; null where there is none.
    """
    blocks = []
    for key, rows in pairs.group_by("gender", "dimension", "contrast", maintain_order=True):
        columns = [c for c in rows.columns if c not in ("pair", "gender", "dimension", "contrast", "path")]
        levels = {c: tuple(rows[c].cast(pl.String)) for c in columns if rows[c].null_count() < rows.height}
        constants = dict(zip(("gender", "dimension", "contrast"), map(str, key), strict=True))
        axis: Axis = Factor("pair_of_pictures", tuple(rows["pair"]), levels)
        blocks.append(((axis,), constants))
    return _layout(blocks, chosen, released)


def _layout(pictures: Sequence[tuple[tuple[Axis, ...], dict[str, str]]], chosen: Chosen, released: bool) -> Layout:
    blocks: list[Block] = []
    twins: list[int] = []
    first: dict[int, int] = {}
    for medium in chosen["shown"]:
        for i, (axes, constants) in enumerate(pictures):
            contrast = constants["contrast"]
            prompts_asked = prompts(contrast, chosen["paradigm"], released)
            if medium == "text":  # there is nothing to recognise; the authors' code asks for decisions alone
                put = ("decision",) if released else tables.PARADIGMS[1:]
                prompts_asked = tuple(p for p in prompts_asked if p.paradigm in put)
            if not prompts_asked:
                continue
            facts = {**constants, **({} if chosen["shown"] == ("picture",) else {"shown": medium})}
            name = " ".join([*constants.values(), *(["text"] if medium == "text" else [])])
            twins.append(first.setdefault(i, len(blocks)))
            blocks.append(Block(name, axes, _prompt_axes(prompts_asked, chosen, contrast, medium), facts))
    if not blocks:
        raise DataError(_why_nothing(pictures, chosen))
    return Layout(Design(tuple(blocks)), tuple(twins))


def _why_nothing(pictures: Sequence[tuple[tuple[Axis, ...], dict[str, str]]], chosen: Chosen) -> str:
    if not pictures:
        return (
            "Nothing is left to show: of the identities and activities chosen no picture pair can be made. Pairs are "
            "made of two identities within one dimension."
        )
    contrasts = ", ".join(dict.fromkeys(constants["contrast"] for _, constants in pictures))
    paradigms = ", ".join(chosen["paradigm"])
    if chosen["shown"] == ("text",) and chosen["paradigm"] == ("factuality",):
        return "Nothing is left to ask: without a picture there is nothing to recognise (factuality, shown as text)."
    return f"Nothing is left to ask: pairs that contrast {contrasts} are not asked about {paradigms}."


def _prompt_axes(prompts_asked: Sequence[Prompt], chosen: Chosen, contrast: str, medium: str) -> tuple[Axis, ...]:
    attributes = {c: tuple(getattr(p, c) for p in prompts_asked) for c in _FACTS}
    axes: list[Axis] = [Factor("prompt", tuple(p.name for p in prompts_asked), attributes)]
    if chosen["wording"] != ("1",):
        axes.append(Factor("wording", chosen["wording"]))
    if chosen["reference"] != ("identity",) and medium == "picture" and contrast != "activity":
        axes.append(Factor("reference", chosen["reference"]))
    return tuple(axes)


def paradigms(block: Block) -> tuple[str | None, ...]:
    """The paradigm of each prompt of a block."""
    return block.prompt[0].choices()["paradigm"]


def keys(numbers: npt.NDArray[np.int64], prompt: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.uint64]:
    """Random words, one per pair and prompt: what is shuffled for one is shuffled alike for all its variants."""
    with np.errstate(over="ignore"):
        pair = mix(numbers.astype(np.uint64) + np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15))
        return mix(pair ^ mix(prompt.astype(np.uint64) + np.uint64(1)))
