"""Data statements: Croissant documents that its own library validates, and by which the pictures are read again."""

import hashlib
import io
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import PIL.Image
import polars as pl
import pytest

from facevalue.runs.makings.data_statement import (
    MOST_LEVELS,
    PICTURES,
    ROWS,
    ListFile,
    Provenance,
    Rights,
    data_statement,
)

mlcroissant = pytest.importorskip("mlcroissant")
NOTE = "Content note: the set is for questions that quote stereotypes."
RIGHTS = Rights(
    licence="https://creativecommons.org/publicdomain/zero/1.0/", creator="The makers", url="https://example.org/set",
    cite_as="@misc{set}", published=date(2026, 11, 26),
)  # fmt: skip


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whoever asks the network fails."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a data statement is read without a network")

    monkeypatch.setattr("socket.socket.connect", refuse)


def plan() -> pl.DataFrame:
    """Four faces with an edit each."""
    faces = [f"f{number}" for number in range(4)]
    rows = {
        "image": [*faces, *(f"{face}/cap" for face in faces)],
        "source": [None] * 4 + faces,
        "prompt": ["A person."] * 4 + ["Add a cap, “red”."] * 4,
        "picture_seed": list(range(8)),
        "identity": faces * 2,
        "gender": ["female", "female", "male", "male"] * 2,
        "cue": [None] * 4 + ["cap"] * 4,
        "age group": ["old", "young"] * 4,
    }
    return pl.DataFrame(rows)


def provenance(**changes: Any) -> Provenance:
    status = ["ok"] * 5 + ["refused", "ok", "error"]
    facts: dict[str, Any] = {
        "title": "StylisticBias", "about": "Faces and edits of them.", "unit": "identity", "groups": ("gender",),
        "outcomes": plan().with_columns(pl.Series("status", status)), "generator": "drawn", "editor": "openai/edit-1",
        "settings": {"size": "512x512"}, "content_note": NOTE, "began": datetime(2026, 11, 26, 5, tzinfo=UTC),
        "ended": datetime(2026, 11, 26, 6, tzinfo=UTC),
    }  # fmt: skip
    return Provenance(**{**facts, **changes})


def listed(folder: Path, colours: int = 6, ending: str = "png") -> tuple[pl.DataFrame, ListFile]:
    """Pictures that were made, in their files, and their list."""
    rows = plan().filter(~pl.col("image").is_in(["f1/cap", "f3/cap"]))
    paths = []
    for number in range(rows.height):
        data = io.BytesIO()
        PIL.Image.new("RGB", (8, 8), (number % colours * 40, 0, 0)).save(data, "JPEG" if ending == "jpg" else ending)
        digest = hashlib.sha256(data.getvalue()).hexdigest()
        path = folder / "pictures" / digest[:2] / f"{digest}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.getvalue())
        paths.append(path.relative_to(folder).as_posix())
    table = rows.insert_column(1, pl.Series("path", paths))
    table.write_parquet(folder / "manifest.parquet")
    content = (folder / "manifest.parquet").read_bytes()
    return table, ListFile(name="manifest.parquet", sha256=hashlib.sha256(content).hexdigest(), size=len(content))


def stored(folder: Path, document: dict[str, Any]) -> Any:
    """The document as its library reads it from a file."""
    path = folder / "croissant.json"
    path.write_text(json.dumps(document, allow_nan=False), encoding="utf-8")
    return mlcroissant.Dataset(str(path))


def texts(records: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {key: value.decode() if isinstance(value, bytes) else value for key, value in row.items()} for row in records
    ]


def test_a_set_with_stated_rights_is_valid_without_a_warning(tmp_path: Path) -> None:
    table, file = listed(tmp_path)
    data = stored(tmp_path, data_statement(table, file, "made", provenance(), RIGHTS))
    assert not data.metadata.ctx.issues.errors
    assert not data.metadata.ctx.issues.warnings
    assert data.metadata.ctx.conforms_to.value == "http://mlcommons.org/croissant/1.1"
    assert data.metadata.license == [RIGHTS.licence]
    assert data.metadata.description.startswith(NOTE)


def test_rows_and_pictures_are_read_back(tmp_path: Path) -> None:
    table, file = listed(tmp_path, colours=4)  # two pictures are the same file
    data = stored(tmp_path, data_statement(table, file, "made", provenance()))
    rows = texts(data.records(ROWS))
    names = {f"{ROWS}/{column.replace(' ', '%20')}": column for column in table.columns}
    assert [{names[key]: value for key, value in row.items()} for row in rows] == table.to_dicts()
    pictures = texts(data.records(PICTURES))
    assert sorted(row[f"{PICTURES}/image"] for row in pictures) == sorted(table["image"])
    shown = {row[f"{PICTURES}/image"]: row[f"{PICTURES}/content"].getpixel((0, 0)) for row in pictures}
    assert shown["f0"] == shown["f0/cap"] == (0, 0, 0)
    assert shown["f2"] == (80, 0, 0)


@pytest.mark.parametrize("ending", ["jpg", "webp"])
def test_pictures_of_other_formats_are_read_back(tmp_path: Path, ending: str) -> None:
    table, file = listed(tmp_path, ending=ending)
    document = data_statement(table, file, "made", provenance())
    assert document["distribution"][1]["includes"] == [f"pictures/*/*.{ending}"]
    if ending == "jpg":  # its library reads no WebP
        assert len(list(stored(tmp_path, document).records(PICTURES))) == table.height


def test_a_list_that_was_changed_is_refused_by_its_digest(tmp_path: Path) -> None:
    table, file = listed(tmp_path)
    data = stored(tmp_path, data_statement(table, file, "made", provenance()))
    table.head(2).write_parquet(tmp_path / "manifest.parquet")
    with pytest.raises(Exception, match=r"Download\(manifest\.parquet\)"):
        list(data.records(ROWS))


def test_it_says_how_they_were_made_and_who_is_missing(tmp_path: Path) -> None:
    table, file = listed(tmp_path)
    metadata = stored(tmp_path, data_statement(table, file, "made", provenance())).metadata
    assert metadata.data_collection == (
        "4 pictures asked of drawn from a text each. 4 pictures asked of openai/edit-1 as an edit of another one. What "
        "was asked, verbatim, is in the column prompt. The picture that was edited is in the column source. The seed "
        "that was sent is in the column picture_seed. Settings: size: 512x512."
    )
    assert metadata.data_collection_missing_data == "2 of 8 are missing: 1 refused by the generator, 1 failed."
    assert "Pictures by gender: female 3, male 3." in metadata.data_biases
    refused = next(text for text in metadata.data_biases if text.startswith("Refused by gender"))
    assert "female 25.0% (" in refused
    assert "male 0.0% (" in refused
    assert any("2602.16149" in text for text in metadata.data_biases)
    assert metadata.personal_sensitive_information[0] == "Gender, as asked for and as it may be perceived."
    assert metadata.data_social_impact == NOTE
    assert [time.hour for time in metadata.data_collection_timeframe] == [5, 6]


def test_nothing_is_stated_that_nobody_stated(tmp_path: Path) -> None:
    table, file = listed(tmp_path)
    document = data_statement(table, file, "made", provenance(content_note="", settings={}, began=None, ended=None))
    assert not {"license", "creator", "url", "citeAs", "datePublished", "rai:dataSocialImpact"} & set(document)
    warnings = stored(tmp_path, document).metadata.ctx.issues.warnings
    assert {text.split('"')[1].rpartition("/")[2] for text in warnings} == {"citeAs", "datePublished", "license"}
    named = data_statement(table, file, "made", provenance(), Rights(licence="All rights reserved"))
    assert named["license"] == {"@type": "sc:CreativeWork", "name": "All rights reserved"}


def test_drawings_are_called_drawings(tmp_path: Path) -> None:
    table, file = listed(tmp_path)
    document = data_statement(table, file, "made", provenance(drawings=True, editor="drawn"))
    assert "no photographs" in document["description"]
    assert not any("2602.16149" in text for text in document["rai:dataBiases"])


def test_pictures_that_were_given_may_show_somebody(tmp_path: Path) -> None:
    table, file = listed(tmp_path)
    given_sources = provenance().outcomes.with_columns(prompt=pl.when(pl.col("source").is_not_null()).then("prompt"))
    document = data_statement(table, file, "made", provenance(outcomes=given_sources))
    assert "Pictures that existed may show real people." in document["rai:personalSensitiveInformation"]
    assert "4 pictures that existed, taken as they are." in document["rai:dataCollection"]
    refused = next(text for text in document["rai:dataBiases"] if text.startswith("Refused by gender"))
    assert refused.startswith(
        "Refused by gender: female 50.0% ("
    )  # of what was asked for: nobody refuses what is there


def test_a_list_of_ones_own_is_described_by_what_it_shows(tmp_path: Path) -> None:
    (tmp_path / "faces").mkdir()
    for name in ("ann", "bo [1]"):
        PIL.Image.new("RGB", (8, 8)).save(tmp_path / "faces" / f"{name}.png")
    table = pl.DataFrame(
        {"path": ["faces/ann.png", "faces/bo [1].png"], "identity": ["ann", "bo"], "gender": ["f", "f"]}
    )
    table.write_csv(tmp_path / "list.csv")
    content = (tmp_path / "list.csv").read_bytes()
    file = ListFile(name="list.csv", sha256=hashlib.sha256(content).hexdigest(), size=len(content))
    document = data_statement(table, file, "own faces")
    assert document["rai:dataBiases"] == ["Pictures by gender: f 2."]
    assert "rai:dataCollection" not in document
    data = stored(tmp_path, document)
    assert not data.metadata.ctx.issues.errors
    assert len(list(data.records(PICTURES))) == 2


def test_many_levels_and_long_settings_are_cut() -> None:
    wide = pl.DataFrame({"path": [f"{n}.png" for n in range(60)], "identity": [f"i{n // 2}" for n in range(60)]})
    wide = wide.with_columns(level=pl.col("identity"), source=pl.lit(None, pl.String), prompt=pl.lit("x"))
    facts = provenance(
        outcomes=wide.with_columns(status=pl.lit("refused")), groups=("level",), settings={"token": "x" * 9_000}
    )
    document = data_statement(wide, ListFile(name="list.csv", sha256="0" * 64, size=1), "wide", facts)
    assert f"and {30 - MOST_LEVELS} more levels" in document["rai:dataBiases"][0]
    assert len(document["rai:dataCollection"]) < 1_000


def test_shards_and_many_folders() -> None:
    file = ListFile(name="list.csv", sha256="0" * 64, size=1)
    shards = pl.DataFrame({"path": ["data/train.parquet#1", "data/train.parquet#2"]})
    assert [entry["@id"] for entry in data_statement(shards, file, "shards")["distribution"]] == ["list.csv"]
    folders = pl.DataFrame({"path": [f"person-{n}/face.PNG" for n in range(200)]})
    files = data_statement(folders, file, "folders")["distribution"][1]
    assert files["includes"] == ["*.PNG"]
    assert files["encodingFormat"] == ["image/png"]
