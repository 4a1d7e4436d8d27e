"""GRAS: a study that is a file; its scores recomputed from p-values as its authors release them."""

import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

import facevalue as fv
from facevalue.errors import DataError
from facevalue.studies import DECLARED, STUDIES, file_text
from facevalue.studies.declared import gras
from tests.cli.conftest import Command, facevalue

__all__ = ["facevalue"]
TRAITS = ("cruel", "rude", "kind")


def written_faces(folder: Path) -> Path:
    """Twenty-four faces of two genders and three groups, and their list."""
    rows = ["path,gender,race"]
    for number in range(24):
        Image.new("RGB", (8, 8), (10 * number, 80, 120)).save(folder / f"{number}.png")
        rows.append(f"{number}.png,{('female', 'male')[number % 2]},{('A', 'B', 'C')[number // 2 % 3]}")
    path = folder / "faces.csv"
    path.write_text("\n".join(rows))
    return path


@pytest.fixture
def faces(tmp_path: Path) -> Path:
    return written_faces(tmp_path)


def _released(folder: Path, hits: int) -> Path:
    """Tables in which so many traits have one wording with a small p, for each model and attribute."""
    out = folder / "evaluation_results"
    out.mkdir()
    p = np.full((100, 5), 0.5)
    p[:hits, 3] = 0.01
    columns = {f"p_value_template_{n}": p[:, n] for n in range(5)}
    table = pl.DataFrame({"trait": [f"t{n}" for n in range(100)], **columns, "other": ["x"] * 100})
    for model in gras.PRINTED:
        for attribute in gras.ATTRIBUTES:
            table.write_csv(out / f"{model}_{attribute}_bias_analysis.csv")
    return out


def test_the_file_asks_a_hundred_traits_in_five_wordings() -> None:
    document = tomllib.loads(file_text("gras"))
    traits = [item["trait"] for item in document["item"]]
    assert len(set(traits)) == len(traits) == 100
    assert [item["valence"] for item in document["item"]].count("negative") == 50
    wordings = [document["prompt"]["text"], *document["prompt"]["paraphrases"]]
    assert len({text.replace("{trait}", "") for text in wordings}) == 5


def test_it_runs_and_its_page_shows_the_null_of_the_score(faces: Path, tmp_path: Path) -> None:
    study = fv.study("gras", manifest=faces, trait=list(TRAITS), kind="illustrated")
    assert study.plan().asked == 24 * len(TRAITS) * 5
    opened = fv.run(study, "sim/strong", tmp_path / "run")
    tallies = opened.estimates().filter(pl.col("measure") == "tally")
    assert set(tallies["dimension"]) == {"gender", "race"}
    assert (tallies["floor"] > 0).any()
    opened.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "GRAS scores" in page
    assert "cruel, dishonest or stupid" in page
    again = fv.open_run(tmp_path / "run")
    assert again.estimates().height == opened.estimates().height


def test_its_commands_say_what_they_need(facevalue: Command, tmp_path: Path) -> None:
    assert "pictures of your own: say which with --manifest" in facevalue("plan", "gras").err
    assert "gras" in facevalue("studies").out
    assert "say where they are, --data DIR" in facevalue("reproduce", "gras").err
    assert facevalue("new", "mine.toml", "--like", "gras").status == 0
    assert (tmp_path / "mine.toml").read_text().count("trait = ") == 100


def test_pictures_without_any_of_its_columns_are_refused(faces: Path, facevalue: Command) -> None:
    faces.write_text(faces.read_text().replace("gender", "sex").replace("race", "origin"))
    refused = facevalue("plan", "gras", "--manifest", "faces.csv")
    assert refused.status == 1
    assert "what is shown has no gender or race" in refused.err
    assert "Name at least one of these in a column of its list." in refused.err
    faces.write_text(faces.read_text().replace("sex", "gender"))
    assert facevalue("plan", "gras", "--manifest", "faces.csv").status == 0


def test_scores_are_the_mean_share_of_traits_with_any_finding(tmp_path: Path) -> None:
    reproduction = gras.reproduce(_released(tmp_path, 98).parent)
    scores = {cell.row: cell for cell in reproduction.cells if cell.table == "score"}
    assert {cell.recomputed for cell in scores.values()} == {98.0}
    assert scores["llava-1.5-7b-hf"].same
    assert not scores["Phi-4-multimodal-instruct"].same
    assert "Without any bias the score is not 0" in reproduction.notices[0]


def test_tables_that_are_not_the_authors_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot be read: No such file"):
        gras.reproduce(tmp_path)
    folder = _released(tmp_path, 5)
    broken = folder / f"{next(iter(gras.PRINTED))}_gender_bias_analysis.csv"
    whole = broken.read_text()
    broken.write_text("\n".join(whole.splitlines()[:50]))
    with pytest.raises(DataError, match="has 49 rows; the paper asks about 100 traits"):
        gras.reproduce(folder)
    broken.write_text(whole.replace("p_value_template_3", "p3"))
    with pytest.raises(DataError, match="cannot be read"):
        gras.reproduce(folder)
    broken.write_text(whole.replace("0.01", "yes"))
    with pytest.raises(DataError, match="cannot be read"):
        gras.reproduce(folder)


def test_studies_that_are_files_hold_their_name_and_paper() -> None:
    for name in DECLARED:
        protocol = STUDIES[name]
        assert protocol.name == name
        assert "arXiv" in protocol.citation or "ACL" in protocol.citation
        assert protocol.text


def test_pictures_of_which_nobody_said_who_is_shown_are_refused_by_what_their_list_lacks(faces: Path) -> None:
    faces.write_text("path\n" + "\n".join(line.partition(",")[0] for line in faces.read_text().splitlines()[1:]))
    with pytest.raises(DataError, match=r"what is shown has no gender or race or .*Name at least one of these"):
        STUDIES["gras"].study({"manifest": str(faces), "kind": "illustrated"})
