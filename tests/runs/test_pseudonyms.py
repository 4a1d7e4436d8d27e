"""Names of persons and files, in what anybody may read."""

import json
import re
from pathlib import Path

import PIL.Image
import polars as pl
import pytest

import facevalue as fv
from facevalue.packing.contents import pack
from facevalue.runs.pseudonyms import LEFT_OUT, Pseudonyms
from facevalue.types import Question
from facevalue.view.export import export_folder
from facevalue.view.open_runs import OpenedRuns

NAMES = ("Ada Lovelace", "Grace Hopper", "Alan Turing", "Edsger Dijkstra", "Barbara Liskov", "Donald Knuth")
STUDY = """
name = "invited"

[pictures]
kind = "manifest"
manifest = "list.csv"
unit = "identity"

[prompt]
text = "Would you invite this person? {options}"

[answer]
kind = "yes-no"
favourable = "yes"

[[estimand]]
statistic = "gap"
factor = "gender"
"""
REPLIES = ("Yes.", "Yes, invite Mr Turing.", "no", "Yes: GRACE HOPPER!", "No, not Barbara_Liskov (2).png.")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> fv.Run:
    place = tmp_path_factory.mktemp("named")
    rows = []
    for number, name in enumerate(NAMES):
        for at in (1, 2):
            file = f"{name} ({at}).png"
            PIL.Image.new("RGB", (40 + number, 40 + at), (40 * number, 90, 30 * at)).save(place / file)
            rows.append({"path": file, "identity": name, "gender": ("female", "male")[number % 2]})
    pl.DataFrame(rows).write_csv(place / "list.csv")
    (place / "invited.toml").write_text(STUDY)
    replies = iter(range(100))

    def say(question: Question) -> str:
        number = next(replies)
        return ("Yes.", "Yes, invite Mr Turing.", "no", "Yes: GRACE HOPPER!", "No, not Barbara_Liskov (2).png.")[
            number % 5
        ]

    study = fv.study(str(place / "invited.toml"), manifest=str(place / "list.csv"))
    return fv.run(study, say, place / "run", progress=False)


def named(text: str) -> set[str]:
    """Names, and parts of names, that a text holds."""
    words = set(re.findall(r"[^\W\d_]+", text.casefold()))
    return {part for name in NAMES for part in name.casefold().split() if part in words}


def test_what_a_study_declares_is_no_name(run: fv.Run) -> None:
    names = Pseudonyms.of_run(run.stored)
    assert names.text("female, yes or no") == "female, yes or no"
    assert names.text("Ada Lovelace (1).png + Alan Turing (2).png") == "picture-001 + picture-006"
    assert names.document({"reply": "It is ada-lovelace.", "gender": "female"}) == {
        "reply": LEFT_OUT, "gender": "female",
    }  # fmt: skip


@pytest.mark.parametrize("public", [True, False])
def test_the_exported_viewer_names_nobody_where_everybody_may_read_it(
    public: bool, run: fv.Run, tmp_path: Path
) -> None:
    done = export_folder(OpenedRuns([run.stored]), tmp_path / "out", public=public)
    text = "".join(path.read_text() for path in (tmp_path / "out").rglob("*.html"))
    text += "".join(path.read_text() for path in (tmp_path / "out").rglob("*.json"))
    assert bool(named(text)) is not public
    if public:
        assert "replies that name one left out" in done.note
        assert "p001" in text
        assert LEFT_OUT in text


def test_a_pack_names_nobody(run: fv.Run, tmp_path: Path) -> None:
    pack([run.stored.folder], tmp_path / "pack")
    for path in (tmp_path / "pack").rglob("*"):
        if path.suffix in (".html", ".json", ".csv", ".md", ".yaml", ".toml"):
            assert not named(path.read_text()), path.name
    (listed,) = (tmp_path / "pack").rglob("*.parquet")
    frame = pl.read_parquet(listed)
    assert not named(json.dumps(frame.to_dicts()))
    assert frame["identity"].n_unique() == len(NAMES)
    assert frame["path"][0] == "picture-001.png"
    assert set(frame["gender"]) == {"female", "male"}
