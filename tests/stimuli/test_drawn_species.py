"""Drawn fictional beings, and anyone's manifest of species."""

from itertools import combinations
from pathlib import Path

import numpy as np
import PIL.Image
import polars as pl
import pytest

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.drawings.species import SPECIES, species_manifest, species_source, species_svg
from facevalue.stimuli.images import FileSource
from facevalue.stimuli.manifest import read_manifest
from tests.drawn import pixels


def test_every_species_of_the_paper_is_drawn() -> None:
    assert list(SPECIES) == ["orc", "murloc", "goblin", "dwarf", "elf"]  # section 4.1


def test_the_manifest_lists_each_drawing_once() -> None:
    frame = species_manifest()
    assert frame.columns == ["image", "identity", "set", "species", "presentation"]
    assert frame.height == frame["image"].n_unique() == 40
    assert frame.group_by("species").len().sort("species")["len"].to_list() == [8] * 5
    assert frame.filter(pl.col("presentation").is_null())["species"].unique().to_list() == ["murloc"]


def test_all_beings_can_be_told_apart_and_fill_the_picture() -> None:
    shown = [pixels(species_source().svg(image), 128).astype(int) for image in species_manifest()["image"]]
    for one, other in combinations(shown, 2):
        assert (np.abs(one - other).max(axis=2) > 8).mean() > 0.005
    assert all(0.15 < (one.min(axis=2) < 250).mean() < 0.9 for one in shown)
    assert all((one[0, 0] == 255).all() for one in shown)


def test_the_source_shows_them() -> None:
    source = species_source()
    source.check({"image": ["elf/woman/1", "murloc/3"]})
    shown = source.stimulus(1, {"image": "elf/woman/1", "species": "elf"})
    assert shown.load()[0].media_type == "image/png"
    assert shown.factors["species"] == "elf"
    with pytest.raises(UnknownNameError, match="Did you mean 'elf/man/1'"):
        source.check({"image": ["elf/men/1"]})


def test_what_is_not_drawn_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="drawn species"):
        species_svg("robot", "man", 0)
    with pytest.raises(UnknownNameError, match="presentation of murloc"):
        species_svg("murloc", "man", 0)


def test_anyones_pictures_of_species_can_be_shown(tmp_path: Path) -> None:
    for name in ("orc", "dwarf"):
        PIL.Image.new("RGB", (20, 20)).save(tmp_path / f"{name}.png")
    (tmp_path / "beings.csv").write_text("image,species\norc.png,orc\ndwarf.png,dwarf\n")
    frame = read_manifest(tmp_path / "beings.csv", required=("species",))
    FileSource(frame, tmp_path).check({"image": frame["image"].to_list()})
    (tmp_path / "beings.csv").write_text("image,kind\norc.png,orc\n")
    with pytest.raises(DataError, match="your list needs a column 'species'"):
        read_manifest(tmp_path / "beings.csv", required=("species",))
