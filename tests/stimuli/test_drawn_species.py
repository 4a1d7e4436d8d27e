"""Drawn fictional beings, and anyone's manifest of species."""

from itertools import combinations
from pathlib import Path

import numpy as np
import PIL.Image
import polars as pl
import pytest

from facevalue.errors import UnknownNameError
from facevalue.stimuli.drawn_species import LEFT_OUT, SPECIES, species_manifest, species_source, species_svg
from facevalue.stimuli.images import FileSource
from facevalue.stimuli.manifest import read_manifest
from facevalue.stimuli.portraits.raster import pixels
from facevalue.studies.visbias import tables


def test_every_species_of_the_paper_is_drawn_or_left_out_with_a_reason() -> None:
    assert {level.name for level in tables.species()} <= {*SPECIES, *LEFT_OUT}
    assert not {*SPECIES} & {*LEFT_OUT}
    assert all(reason[0].isupper() and reason.endswith(".") for reason in LEFT_OUT.values())


def test_the_manifest_lists_each_drawing_once() -> None:
    frame = species_manifest()
    assert frame.columns == ["image", "identity", "set", "species", "presentation"]
    assert frame.height == frame["image"].n_unique() == 24
    assert frame.group_by("species").len().sort("species")["len"].to_list() == [1, 3, 3, 3, 3, 3, 1, 1, 3, 3]
    assert frame.filter(pl.col("presentation").is_null())["species"].to_list() == ["alien", "robot", "troll"]


def test_all_beings_can_be_told_apart_and_fill_the_picture() -> None:
    shown = [pixels(species_source().svg(image), 128).astype(int) for image in species_manifest()["image"]]
    for one, other in combinations(shown, 2):
        assert (np.abs(one - other).max(axis=2) > 8).mean() > 0.005
    assert all(0.15 < (one.min(axis=2) < 250).mean() < 0.9 for one in shown)
    assert all((one[0, 0] == 255).all() for one in shown)


def test_the_source_shows_them() -> None:
    source = species_source()
    source.check({"image": ["elf/woman", "robot"]})
    shown = source.stimulus(1, {"image": "elf/woman", "species": "elf"})
    assert shown.load()[0].media_type == "image/png"
    assert shown.factors["species"] == "elf"
    with pytest.raises(UnknownNameError, match="Did you mean 'elf/man'"):
        source.check({"image": ["elf/men"]})


def test_what_is_not_drawn_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="drawn species"):
        species_svg("orc", "man")
    with pytest.raises(UnknownNameError, match="presentation of robot"):
        species_svg("robot", "man")


def test_anyones_pictures_of_species_can_be_shown(tmp_path: Path) -> None:
    for name in ("orc", "dwarf"):
        PIL.Image.new("RGB", (20, 20)).save(tmp_path / f"{name}.png")
    (tmp_path / "beings.csv").write_text("image,species\norc.png,orc\ndwarf.png,dwarf\n")
    frame = read_manifest(tmp_path / "beings.csv", required=("species",))
    FileSource(frame, tmp_path).check({"image": frame["image"].to_list()})
    (tmp_path / "beings.csv").write_text("image,kind\norc.png,orc\n")
    with pytest.raises(UnknownNameError, match="species"):
        read_manifest(tmp_path / "beings.csv", required=("species",))
