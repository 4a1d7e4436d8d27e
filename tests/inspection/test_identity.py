"""Identity by dlib's models: another person is farther away than the same one, and ranks are within a group."""

from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from facevalue.errors import DataError, DependencyError, ModelError
from facevalue.inspection import identity as faces
from facevalue.inspection.identity import IdentityAid, Peers, face_numbers
from facevalue.inspection.inspector import Inspector
from facevalue.inspection.quantities import Expectation
from facevalue.inspection.views import PictureView
from facevalue.stimuli.portraits import sample_identities
from tests.inspection.plants import encoded, portrait, recompressed, shifted, zoomed

pytest.importorskip("dlib")
pytest.importorskip("face_recognition_models")
PEOPLE = sorted(sample_identities({"female": 3, "male": 1}, 5), key=lambda person: person.gender)


@pytest.fixture(scope="module")
def inspector() -> Inspector:
    return Inspector("inspect/identity=dlib")


@cache
def views() -> list[PictureView]:
    return [PictureView.decode_image(encoded(portrait(person)), "it") for person in PEOPLE]


@cache
def table() -> pl.DataFrame:
    """Peers, embedded once: each takes seconds."""
    aid = IdentityAid("dlib")
    sources = views()
    found = [aid.face(view) for view in sources]
    assert all(face is not None for face in found)
    return pl.DataFrame(
        {
            "digest": [view.digest for view in sources],
            "person": [person.id for person in PEOPLE],
            "group": [person.gender for person in PEOPLE],
            "embedding": [face.embedding.tolist() for face in found if face],
            "face": [face_numbers(face) for face in found if face],
            "model": [aid.reader.model] * len(found),
        }
    )


def test_the_same_face_is_near_and_moves_with_the_frame(inspector: Inspector) -> None:
    source = portrait(PEOPLE[0])
    same = inspector.inspect_picture(encoded(recompressed(source)), encoded(source))
    moved = inspector.inspect_picture(encoded(shifted(source, 20)), encoded(source))
    larger = inspector.inspect_picture(encoded(zoomed(source, 26)), encoded(source))
    assert same["faces"] == 1
    assert (same["identity_distance"] or 0) < 0.2
    assert moved["face_shift"] == pytest.approx(100 * 20 / 512, abs=0.7)
    assert larger["face_zoom"] == pytest.approx(10, abs=3)
    assert "identity_rank" not in {name for name, value in same.items() if value is not None}


def test_a_rank_counts_other_people_of_the_group_who_are_nearer(inspector: Inspector, tmp_path: Path) -> None:
    table().write_parquet(tmp_path / "peers.parquet")
    aid = IdentityAid("dlib", Peers.read(tmp_path / "peers.parquet"))
    first, second, third, _ = views()
    same = aid.quantities(
        PictureView.decode_image(encoded(recompressed(portrait(PEOPLE[0]))), "it"), first, Expectation()
    )
    other = aid.quantities(second, first, Expectation())
    another = aid.quantities(third, first, Expectation())
    assert same["identity_rank"] == 0
    assert {other["identity_rank"], another["identity_rank"]} == {
        0.0,
        0.5,
    }  # of two women
    assert (same["identity_distance"] or 0) < min(other["identity_distance"] or 0, another["identity_distance"] or 0)
    alone = aid.quantities(first, views()[3], Expectation())  # the only man has nobody of his group
    assert alone["identity_rank"] is None
    assert aid.settings()["peers"] == 4
    known, anew = aid.face(first), IdentityAid("dlib").face(first)
    assert known is not None
    assert anew is not None
    assert face_numbers(known) == face_numbers(anew)
    with pytest.raises(ModelError, match="embedded by another"):
        IdentityAid("dlib", Peers.from_table(table().with_columns(model=pl.lit("another"))))


def test_where_no_face_is_seen_identity_is_missing(inspector: Inspector) -> None:
    blank = portrait(PEOPLE[0]).point(lambda _: 200)
    numbers = inspector.inspect_picture(encoded(blank), encoded(portrait(PEOPLE[0])))
    assert numbers["faces"] == 0
    assert "identity_distance" not in numbers
    assert "face_size" not in numbers


@pytest.mark.parametrize("change", ["column", "lengths", "empty", "models", "faces", "file"])
def test_a_table_of_peers_that_is_none_is_one_sentence(change: str, tmp_path: Path) -> None:
    peers = pl.DataFrame(
        {"digest": ["a", "b"], "person": ["1", "2"], "group": ["g", "g"], "embedding": [[1.0], [2.0]],
         "face": [[0.0] * 8] * 2, "model": ["m", "m"]}
    )  # fmt: skip
    bad = {
        "column": peers.drop("group"),
        "lengths": peers.with_columns(embedding=pl.Series([[1.0], [1.0, 2.0]])),
        "empty": peers.clear(),
        "models": peers.with_columns(model=pl.Series(["m", "n"])),
        "faces": peers.with_columns(face=pl.Series([[1.0], [2.0]])),
        "file": peers,
    }[change]
    bad.write_parquet(tmp_path / "p.parquet")
    if change == "file":
        (tmp_path / "p.parquet").write_bytes(b"no table")
    with pytest.raises(DataError, match=r"^[^\n]*p\.parquet[^\n]*$"):
        Peers.read(tmp_path / "p.parquet")


def test_a_file_that_is_not_there_and_libraries_that_lack_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelError, match="There is no file"):
        IdentityAid(str(tmp_path / "no.onnx"))
    (tmp_path / "sface.onnx").write_bytes(b"")
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(ModelError, match="pip install onnxruntime"):
        IdentityAid(str(tmp_path / "sface.onnx"))
    monkeypatch.setitem(__import__("sys").modules, "dlib", None)
    with pytest.raises(DependencyError, match=r"pip install '.\[checks\]"):
        IdentityAid("dlib")


def test_a_face_is_laid_with_its_eyes_where_a_template_has_them() -> None:
    class Point:
        def __init__(self, x: float, y: float) -> None:
            self.x, self.y = x, y

    class Landmarks:
        def parts(self) -> list[Point]:
            return [Point(210, 100), Point(190, 100), Point(90, 100), Point(110, 100), Point(150, 160)]

    pixels = np.zeros((300, 300, 3), dtype=np.uint8)
    pixels[95:106, 95:106], pixels[95:106, 195:206] = 255, 128
    face = np.asarray(faces.align_face(pixels, Landmarks()))
    assert face.shape == (112, 112, 3)
    assert face[52, 38, 0] > 200
    assert 90 < face[52, 73, 0] < 160
