"""Folders of pictures to replay, and ids that want to lead out of them."""

import os
from pathlib import Path

import pytest

from facevalue.generators.base import GeneratorOptions, PictureRequest
from facevalue.generators.replay import ReplayedPictures
from facevalue.types import Status
from tests.generators.pictures import png


@pytest.mark.parametrize(
    "name", ["../out", "/etc/passwd", "link", "a/../../out", "x" * 300, "nul\0", "\udcff", "pipe", "f"]
)
def test_an_id_that_names_no_picture_of_the_folder_is_an_error_of_this_one(tmp_path: Path, name: str) -> None:
    (tmp_path / "out.png").write_bytes(png("out").data)
    folder = tmp_path / "folder"
    (folder / "f.png").mkdir(parents=True)
    (folder / "link.png").symlink_to(tmp_path / "out.png")
    os.mkfifo(folder / "pipe.png")
    (folder / "kept.png").write_bytes(png("kept").data)
    generator = ReplayedPictures(f"replay/{folder}", GeneratorOptions())
    requests = [PictureRequest(number, "", 1, None, {"image": image}) for number, image in enumerate((name, "kept"))]
    lost, kept = generator.generate(requests)
    assert (lost.status, lost.image, kept.image) == (Status.ERROR, None, png("kept"))
    assert lost.error
