"""Pictures behind replies: only those that were shown, only from folders that the user named."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from facevalue import studies
from facevalue.errors import RunError
from facevalue.models import load
from facevalue.protocol.study import Study
from facevalue.runs import RunSettings, run
from facevalue.runs.pictures import CHANGED, GONE, NOT_NAMED, load_shown
from facevalue.runs.stored_run import StoredRun, answers


def paint(path: Path, seed: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.random.default_rng(seed).integers(0, 255, (16, 16, 3), dtype=np.uint8)).save(path)


def own(place: Path, pictures: int = 40) -> Study:
    """A study of pictures of one's own: base and one variation of each identity."""
    rows = ["path,identity,attribute,variation"]
    for i in range(pictures // 2):
        for name, cue in (("base", ","), ("hat", "badge,blue")):
            paint(place / "faces" / f"{i}-{name}.png", 1000 * i + len(name))
            rows.append(f"faces/{i}-{name}.png,{i},{cue}")
    (place / "list.csv").write_text("\n".join(rows) + "\n")
    return again(place)


def again(place: Path) -> Study:
    """The study of what is there now."""
    return studies.build(
        "stylisticbias", {"manifest": str(place / "list.csv"), "scenario": ["wealthy"], "seeds": ["1"]}
    )


@pytest.fixture
def place(tmp_path: Path) -> Path:
    run(own(tmp_path), load("sim/default"), tmp_path / "run", RunSettings())
    return tmp_path


def test_a_run_folder_s_own_word_for_where_pictures_lie_is_not_taken(place: Path) -> None:
    """The folder may come from a stranger, and name any file of this machine."""
    opened = StoredRun.open(place / "run")
    assert load_shown(opened, 0) == ((), NOT_NAMED)
    assert pl.concat(answers(opened)).height == 160


def test_pictures_of_a_folder_that_was_named_are_shown(place: Path) -> None:
    opened = StoredRun.open(place / "run", pictures=place)
    look = load_shown(opened, 0)
    assert not look.why
    assert look.images[0].data == (place / "faces" / "0-base.png").read_bytes()


def test_pictures_within_the_run_folder_need_no_name_but_links_out_of_it_are_not_followed(place: Path) -> None:
    inside = place / "run" / "pictures"
    inside.mkdir()
    (inside / "faces").symlink_to(place / "faces")
    assert load_shown(StoredRun.open(place / "run"), 0).images == ()
    (inside / "faces").unlink()
    (place / "faces").rename(inside / "faces")
    assert load_shown(StoredRun.open(place / "run"), 0).images


def test_a_picture_that_was_replaced_or_is_gone_is_not_shown_beside_old_replies(place: Path) -> None:
    opened = StoredRun.open(place / "run", pictures=place)
    paint(place / "faces" / "0-base.png", 99)
    assert load_shown(opened, 0) == ((), CHANGED)
    (place / "faces" / "0-base.png").unlink()
    assert load_shown(opened, 0) == ((), GONE)


@pytest.mark.parametrize("which", [0, 7, 19])
def test_one_replaced_picture_of_many_is_seen_on_resume(place: Path, which: int) -> None:
    paint(place / "faces" / f"{which}-hat.png", 4321)
    study = again(place)
    with pytest.raises(RunError, match="has changed since"):
        run(study, load("sim/default"), place / "run", RunSettings())
