"""Trials of VisBias: images, pairs of them and forms, each with its prompts (sections 2 and 3)."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Block, Factor
from facevalue.design.sampling import UnitLayout, Units, draw_pairs
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


def layout(
    frames: Sequence[tuple[str, pl.DataFrame]], groups: Sequence[str], forms: Sequence[str], chosen: Selection
) -> UnitLayout:
    """Lay the tasks out: a block each, those of fictional species apart.

    Units are an image with its questions, a pair both ways round, a form; their strata are groups, occupations apart.
    """
    questions = [question.name for question in comparisons() if question.name in chosen.questions]
    units: list[Units] = []
    for kind, frame in frames:
        for task in chosen.tasks:
            if task == "mcq":
                prompts = _prompts([f"mcq {name}" for name in chosen.questions], chosen.questions)
                units.append(_images(task, kind, frame, groups, (prompts,)))
            elif task == "yesno" and questions:
                units.append(_pairs(kind, frame, groups, chosen, questions))
            elif task == "description" and kind == PEOPLE:
                draws = Factor("draw", tuple(str(draw) for draw in range(chosen.draws)))
                units.append(_images(task, kind, frame, groups, (_prompts((task,)), draws)))
    units += _forms(chosen.tasks, forms)
    if not units:
        raise DataError("Nothing is left to ask: the tasks that were chosen do not ask these questions.")
    return UnitLayout(tuple(units))


def _forms(tasks: Sequence[str], forms: Sequence[str]) -> Iterator[Units]:
    for task in tasks:
        if task in ("form", "text-form"):
            constants = {"task": task, **({"shown": "text"} if task == "text-form" else {})}
            axis = Factor("form", tuple(str(number) for number in range(len(forms))), {"filled": tuple(forms)})
            yield Units(Block(task, (axis,), (_prompts((task,)),), constants), 1, [0] * len(forms))


def _name(task: str, people: str) -> str:
    return task if people == PEOPLE else f"{task} {people}"


def _prompts(names: Sequence[str], questions: Sequence[str] | None = None) -> Factor:
    """The prompt axis: names that tell prompts of different tasks apart, and the question that each asks."""
    return Factor("prompt", tuple(names), {"question": tuple(questions or [None] * len(names))})


def _images(task: str, people: str, frame: pl.DataFrame, groups: Sequence[str], prompts: tuple[Factor, ...]) -> Units:
    levels = {c: tuple(frame[c].cast(pl.String)) for c in _kept_columns(frame, groups)}
    images = Factor("image", tuple(frame["image"]), levels)
    strata = _codes(frame, (*groups, *TOGETHER)).tolist()
    return Units(Block(_name(task, people), (images,), prompts, {"task": task}), len(prompts[-1]), strata)


def _kept_columns(frame: pl.DataFrame, groups: Sequence[str]) -> list[str]:
    return [c for c in dict.fromkeys((*KEPT, *groups)) if c in frame.columns]


def _pairs(kind: str, frame: pl.DataFrame, groups: Sequence[str], chosen: Selection, questions: Sequence[str]) -> Units:
    listed = drawn_pairs(frame, chosen.pairs, chosen.pair_seed, groups)
    attributes: dict[str, tuple[str | None, ...]] = {"within": tuple(listed["within"])}
    for side in ("1", "2"):
        people = listed.select(image=f"image_{side}").join(frame, on="image", how="left", maintain_order="left")
        attributes[f"image_{side}"] = tuple(people["image"])
        attributes |= {f"{c}_{side}": tuple(people[c].cast(pl.String)) for c in _kept_columns(frame, groups)}
    axes = (Factor("pair", tuple(listed["pair"]), attributes), Factor("order", ORDERS))
    prompts = _prompts([f"yesno {name}" for name in questions], questions)
    strata = listed["within"].fill_null("").rank("dense").cast(pl.Int64).to_list()
    return Units(Block(_name("yesno", kind), axes, (prompts,), {"task": "yesno"}), len(ORDERS) * len(prompts), strata)


def drawn_pairs(frame: pl.DataFrame, count: int, seed: int, groups: Sequence[str]) -> pl.DataFrame:
    """Draw pairs of two images of different groups: people of one occupation, or beings of two species.

    "We randomly select ten pairs of individuals within each occupation" (section 3.2); the released code first draws
    two different groups of race and gender. Species are the groups of the negative control (section 4.1), and it has as
    many pairs of each as there are of an occupation.

    Returns columns `pair` (unique name), `image_1`, `image_2` and `within`, the occupation (null where all belong
    together). There are `count` pairs of each occupation; for beings, times the species; all where that is fewer.

    Examples
    --------
    >>> images = pl.DataFrame({"image": ["a", "b", "c"], "gender": ["f", "m", "f"], "occupation": ["cook"] * 3})
    >>> sorted(sorted(pair) for pair in drawn_pairs(images, 10, 1, ["gender"]).select("image_1", "image_2").rows())
    [['a', 'b'], ['b', 'c']]
    """
    beings = SPECIES in frame.columns and frame[SPECIES].null_count() < frame.height
    column = None if beings or "occupation" not in frame.columns or not frame["occupation"].count() else "occupation"
    within = frame[column].cast(pl.String) if column else pl.Series([None] * frame.height, dtype=pl.String)
    group = _codes(frame, (SPECIES,) if beings else groups)
    rows: list[tuple[str, str, str | None]] = []
    for at, level in enumerate(within.unique(maintain_order=True).to_list()):
        in_level = within.eq_missing(pl.Series([level], dtype=pl.String))
        pairs_wanted = count * (frame[SPECIES].n_unique() if beings else 1)
        images, kinds = frame["image"].filter(in_level), group[in_level.to_numpy()]
        places = draw_pairs(kinds, pairs_wanted, (seed, at), any_two=len(set(group.tolist())) < 2)
        rows += [(images[i], images[j], level) for i, j in zip(*(d.tolist() for d in places), strict=True)]
    if not rows:
        kind = f" of one {column}" if column else ""
        raise DataError(f"There are no two images{kind} to compare: leave out the task yesno, or show more.")
    out = pl.DataFrame(rows, schema=dict.fromkeys(("image_1", "image_2", "within"), pl.String), orient="row")
    return out.select(pl.concat_str("image_1", "image_2", separator=" + ").alias("pair"), pl.all())


def _codes(frame: pl.DataFrame, factors: Sequence[str]) -> npt.NDArray[np.int64]:
    """The same number for images with the same levels of these factors."""
    by = [c for c in dict.fromkeys(factors) if c in frame.columns]
    if not by:
        return np.zeros(frame.height, dtype=np.int64)
    key = frame.select(pl.concat_str([pl.col(c).cast(pl.String).fill_null("") for c in by], separator="\x1f"))
    return key.to_series().rank("dense").cast(pl.Int64).to_numpy()
