"""Pictures of one set that are the same: an editor that returns its source makes no silent study of nothing."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import facevalue as fv
from facevalue.report.collect import gather
from facevalue.report.sections.checks import CardStatus, same_pictures
from facevalue.runs.joined_runs import estimate
from facevalue.runs.pictures import same_made, same_shown
from facevalue.runs.stored_run import StoredRun
from facevalue.studies import file_text
from tests.stimuli.test_lookalikes import scene

HOW: dict[str, Any] = {
    "copy": {},
    "another quality": {"quality": 92},
    "another size": {"size": (90, 90)},
}


def listed(folder: Path, same: int, how: str = "copy", people: int = 6) -> Path:
    """People with and without sunglasses, of whom some are shown as they were."""
    rows = ["path,identity,attribute,variation,gender"]
    for person in range(people):
        base = scene(person)
        kind = "jpg" if how == "another quality" else "png"
        worn = base.resize(HOW[how]["size"]) if how == "another size" else base.copy()
        if person >= same:
            worn.paste((9, 9, 9), (40, 40, 80, 55))
        base.save(folder / f"{person}.png")
        worn.save(folder / f"{person}-worn.{kind}", quality=92)
        gender = "female" if person % 2 else "male"
        rows += [f"{person}.png,p{person},,,{gender}", f"{person}-worn.{kind},p{person},eyewear,sunglasses,{gender}"]
    (folder / "m.csv").write_text("\n".join(rows) + "\n")
    return folder / "m.csv"


def asked(manifest: Path) -> fv.Study:
    return fv.study("stylisticbias", manifest=manifest, scenario="wealthy", kind="photographs", seeds=["1"])


@pytest.mark.parametrize("how", HOW)
def test_a_cue_that_changed_nothing_is_found_whatever_wrote_the_file(tmp_path: Path, how: str) -> None:
    same = same_shown(asked(listed(tmp_path, 2, how)).compiled)
    assert [image.partition(".")[0] for image in same.images] == ["0-worn", "1-worn"]
    assert same.compared == 12
    assert same.sentence.startswith("2 of 12 pictures are the same as another of their")


def test_pictures_that_differ_by_a_cue_are_no_failed_edits(tmp_path: Path) -> None:
    same = same_shown(asked(listed(tmp_path, 0)).compiled)
    assert (same.pairs, same.sentence, same.compared) == ((), "", 12)


@pytest.mark.parametrize(("same", "status"), [(6, CardStatus.PROBLEM), (1, CardStatus.CAUTION), (0, None)])
def test_a_run_says_it_and_its_page_too(tmp_path: Path, same: int, status: CardStatus | None) -> None:
    run = fv.run(asked(listed(tmp_path, same)), "sim/null", tmp_path / "run", progress=False)
    assert run.summary is not None
    assert sum("the same as another of" in warning for warning in run.summary.warnings) == (same > 0)
    stored = [StoredRun.open(tmp_path / "run")]
    data = gather(stored, *estimate(stored), with_answers=False)
    assert [card.status for card in same_pictures(data.runs)] == ([] if status is None else [status])


def test_edits_of_a_making_are_compared_with_their_source_and_each_other(tmp_path: Path) -> None:
    scene(1).save(tmp_path / "a.png")
    scene(2).save(tmp_path / "b.png")
    rows = {
        "image": ["f1", "f1/cap", "f1/hat", "f1/null", "f2", "f2/cap"],
        "path": ["a.png", "a.png", "b.png", "a.png", "b.png", "b.png"],
        "source": [None, "f1", "f1", "f1", None, "f2"],
        "cue": [None, "cap", "hat", "no change", None, "cap"],
    }
    for place in (tmp_path, "s3://bucket/made"):
        same = same_made(pl.DataFrame(rows), place)
        assert same.pairs == (("f1/cap", "f1"), ("f2/cap", "f2"))
        assert same.compared == 5


def test_an_edit_that_has_the_very_file_of_its_source_is_found_alone_and_beside_it(tmp_path: Path) -> None:
    """Files of a making are named by what they hold."""
    rows, pairs = ["image,path,identity,attribute,variation,gender"], ["image,path,set,hat"]
    for person in range(3):
        base = scene(person)
        base.save(tmp_path / f"{person}.png")
        base.rotate(90).save(tmp_path / f"{person}-worn.png")
        worn = f"{person}.png" if person < 2 else f"{person}-worn.png"
        rows += [f"{person},{person}.png,p{person},,,male", f"{person}/worn,{worn},p{person},eyewear,sunglasses,male"]
        pairs += [f"{person},{person}.png,p{person},none", f"{person}/worn,{worn},p{person},cap"]
    for name, lines in (("m.csv", rows), ("pairs.csv", pairs)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    (tmp_path / "mine.toml").write_text(file_text("forced-choice"))
    alone, beside = asked(tmp_path / "m.csv"), fv.study(tmp_path / "mine.toml", manifest=tmp_path / "pairs.csv")
    for study in (alone, beside):
        same = same_shown(study.compiled)
        assert [image.partition(" ")[0] for image in same.images] == ["0/worn", "1/worn"]
        assert same.compared == 6
