"""Drawn counterfactual sets: ten members each, alike in all but what they differ in."""

import io

import numpy as np
import numpy.typing as npt
import PIL.Image
import polars as pl
import pytest

from facevalue.errors import DataError
from facevalue.stimuli.drawings.workers import MOST, drawn_sets, portrait_sets, worker_sets


def pixels(frame: pl.DataFrame) -> dict[str, npt.NDArray[np.uint8]]:
    source = drawn_sets(frame)
    out = {}
    for image in frame["image"]:
        (shown,) = source.stimulus(0, {"image": image}).load()
        with PIL.Image.open(io.BytesIO(shown.data)) as opened:
            out[image] = np.asarray(opened.convert("RGB"))
    return out


def test_a_set_of_workers_is_two_genders_in_five_tones_before_one_backdrop() -> None:
    frame = worker_sets(40, seed=1)
    sizes = frame.group_by("set").agg(pl.len(), pl.struct("gender", "skin_tone").n_unique().alias("groups"))
    assert set(sizes.select("len", "groups").iter_rows()) == {(10, 10)}
    shown = pixels(frame[:10])
    top = {image[:40].tobytes() for image in shown.values()}
    assert len(top) == 1  # above any head
    assert len({image.tobytes() for image in shown.values()}) == 10


def test_between_two_tones_of_a_worker_nothing_but_skin_differs() -> None:
    frame = worker_sets(1, seed=1).filter(pl.col("gender") == "female")
    light, *others = pixels(frame).values()
    for other in others:
        changed = (light != other).any(axis=2)
        assert 0 < changed.mean() < 0.35


def test_a_set_of_portraits_is_two_genders_of_five_looks_in_one_skin_tone() -> None:
    frame = portrait_sets(3, seed=1)
    assert frame.group_by("set").agg(pl.struct("gender", "physical").n_unique())["gender"].to_list() == [10] * 3
    assert len({image.tobytes() for image in pixels(frame[:10]).values()}) == 10


def test_a_longer_list_begins_with_the_shorter_one_and_another_seed_draws_others() -> None:
    assert worker_sets(40, 1)[:100].equals(worker_sets(10, 1))
    assert portrait_sets(40, 1)[:100].equals(portrait_sets(10, 1))
    assert not worker_sets(10, 2).equals(worker_sets(10, 1))
    one, other = (drawn_sets(portrait_sets(1, seed)) for seed in (1, 2))
    assert one.svg("portraits/1/1/male/old") != other.svg("portraits/2/1/male/old")


def test_no_set_of_workers_is_there_twice() -> None:
    frame = worker_sets(MOST, seed=3)
    assert frame["image"].n_unique() == frame.height == 10 * MOST
    with pytest.raises(DataError, match=f"{MOST} drawn sets of workers at most"):
        worker_sets(MOST + 1, seed=3)


@pytest.mark.parametrize(
    "image",
    [
        "workers/cook/kitchen/male/purple", "workers/spy/kitchen/male/dark", "workers/cook/moon/male/dark",
        "workers/cook", "portraits/1/1/male/tall", "portraits/1/1/nobody/old", "../../etc/passwd", "",
    ],
)  # fmt: skip
def test_a_name_of_no_drawing_is_refused(image: str) -> None:
    source = drawn_sets(pl.DataFrame({"image": [image]}))
    with pytest.raises(DataError):
        source.stimulus(0, {"image": image}).load()
