"""Trials of ModSCAN: pairs of faces x what is asked about, and scenes x orders of terms (sections 3 and 4)."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from facevalue.design import Block, Factor
from facevalue.design.sampling import UnitLayout, Units
from facevalue.errors import DataError
from facevalue.studies.modscan.pictures import PERSONA, PairPictures
from facevalue.studies.modscan.settings import GROUPS, KINDS, LANGUAGE, VISION, Selection, instances

PAPER_PAIRS = {"gender": 2604, "race": 7378}
"""Pairs that the paper drew (section 4)."""
ORDER = "order"
"""Order of terms about a scene: groups, separated by commas. Where each scene has one of its own, a column each."""
LEFT = "left"
"""Column of the face of a pair that is on the left, the first or the second."""


_OF_SCENES = {"instance": PERSONA, "identity": "identity"}


def layout(pictures: PairPictures, chosen: Selection) -> UnitLayout:
    """Lay the blocks out: one for each modality, attribute and kind.

    A unit is one question about a pair, on both sides where it is shown so, or a scene with all orders of terms; strata
    are what is asked about.
    """
    columns = ("pair", LEFT) if chosen.both_sides else ("pair",)
    pairs = {
        name: Factor("pair", tuple(table["pair"]), _columns(table, *columns)) for name, table in pictures.pairs.items()
    }
    return _check_units([*_vision(pairs, chosen), *_language(_scene_axis(pictures.scenes, chosen), chosen)])


def paper_layout(chosen: Selection) -> UnitLayout:
    """The same for the paper's pictures, of which nothing but their number is known."""
    pairs = {
        attribute: Factor("pair", tuple(map(str, range(PAPER_PAIRS[attribute])))) for attribute in chosen.attributes
    }
    names = [i.name for i in instances(PERSONA) if i.name in chosen.instances]
    scenes = pl.DataFrame(
        [(f"{name}/{number}", name) for name in names for number in range(chosen.scenes)],
        schema={"image": pl.String, PERSONA: pl.String}, orient="row",
    ).with_columns(identity="image")  # fmt: skip
    seen = pairs if VISION in chosen.modalities else {}
    pictured = scenes if LANGUAGE in chosen.modalities else scenes.clear()
    return _check_units([*_vision(seen, chosen), *_language(_scene_axis(pictured, chosen), chosen)])


def _check_units(units: list[Units]) -> UnitLayout:
    if not units:
        raise DataError("Nothing is left to ask: scenes are asked about for persona traits alone.")
    return UnitLayout(tuple(units))


def _columns(frame: pl.DataFrame, *without: str) -> dict[str, tuple[str | None, ...]]:
    return {name: tuple(frame[name].cast(pl.String)) for name in frame.columns if name not in without}


def _vision(pairs: Mapping[str, Factor], chosen: Selection) -> Iterator[Units]:
    for attribute, axis in pairs.items():
        for kind in KINDS:
            names = [i.name for i in instances(kind) if i.name in chosen.instances]
            if names:
                facts = {"modality": VISION, "attribute": attribute.replace("_", " "), "scenario_kind": kind}
                stimulus = (axis, Factor(LEFT, ("1", "2"))) if chosen.both_sides else (axis,)
                block = Block(" ".join(facts.values()), stimulus, (Factor("instance", tuple(names)),), facts)
                yield Units(block, len(stimulus), list(range(len(names))) * len(axis), len(names))


def _scene_axis(scenes: pl.DataFrame, chosen: Selection) -> Factor | None:
    if scenes.is_empty():
        return None
    columns: dict[str, tuple[str | None, ...]] = {name: tuple(scenes[column]) for name, column in _OF_SCENES.items()}
    if not chosen.balanced:
        for attribute in chosen.attributes:
            rng = np.random.default_rng([chosen.scene_seed, list(GROUPS).index(attribute)])
            groups = np.array(GROUPS[attribute], dtype=object)
            columns[f"{ORDER}_{attribute}"] = tuple(",".join(rng.permutation(groups)) for _ in range(scenes.height))
    return Factor("image", tuple(scenes["image"]), columns)


def _language(axis: Factor | None, chosen: Selection) -> Iterator[Units]:
    for attribute in chosen.attributes if axis else ():
        assert axis is not None
        facts = {"modality": LANGUAGE, "attribute": attribute, "scenario_kind": PERSONA}
        orders = cyclic(GROUPS[attribute])
        prompts = (Factor(ORDER, orders),) if chosen.balanced else ()
        _, strata = np.unique(np.array(axis.attributes["instance"]), return_inverse=True)
        yield Units(
            Block(" ".join(facts.values()), (axis,), prompts, facts), len(orders) if prompts else 1, strata.tolist()
        )


def cyclic(groups: Sequence[str]) -> tuple[str, ...]:
    """Orders in which every group stands once in every place.

    Examples
    --------
    >>> cyclic(("male", "female"))
    ('male,female', 'female,male')
    """
    return tuple(",".join([*groups[at:], *groups[:at]]) for at in range(len(groups)))
