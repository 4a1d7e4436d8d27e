"""What others made of a trial: verdicts of judges and people, checks of pictures, maps of attention."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image

import facevalue as fv
from facevalue.annotations.review_answers import seal_of
from facevalue.errors import DataError
from facevalue.protocol.picture_checks import SEAL, TABLE, sealed_verdicts
from facevalue.runs.attention_maps import FOLDER, write_map
from facevalue.runs.reviews.packets import ReviewSettings, collect, packet_for, write_review
from facevalue.runs.stored_run import StoredRun
from facevalue.view import export
from facevalue.view.answer_index import index_of
from facevalue.view.documents import document, plain
from facevalue.view.export import export_folder
from facevalue.view.open_runs import OpenedRuns
from facevalue.view.pictures import picture_bytes
from facevalue.view.trial import sorted_texts


def trial(run: StoredRun, number: int) -> Any:
    return plain(document(OpenedRuns([run]), "trial", [("trial", str(number))]))


@pytest.fixture
def run(small_run: Path, tmp_path: Path) -> StoredRun:
    """A run of its own, beside which something can be put."""
    return StoredRun.open(Path(shutil.copytree(small_run, tmp_path / "run")))


def test_a_judges_verdicts_stand_with_the_texts_of_the_trial(golden: Path) -> None:
    judged = trial(StoredRun.open(golden / "visbias"), 1275)["judged"]
    assert judged == [{"by": "sim/default, sexual orientation", "text": "“to be filled in later”: Heterosexual"}]


def test_a_form_says_what_was_read_of_each_field(golden: Path) -> None:
    (reply,) = trial(StoredRun.open(golden / "visbias"), 1275)["replies"]
    fields = dict(field.split(": ", 1) for field in reply["answer"].split("; "))
    assert fields["gender"] == "Female"
    assert fields["religion"] == "None (Atheism)"
    assert "occupation" not in fields, "it was filled in before"


def test_exports_hold_each_verdict_with_its_trial(golden: Path, tmp_path: Path) -> None:
    run = StoredRun.open(golden / "visbias")
    runs = OpenedRuns([run])
    state = runs.state_of_run("0")
    index = index_of(state)
    texts = sorted_texts(state, index, np.arange(index.trial.size))
    judged = {number: plain(verdicts) for number, verdicts in texts.items() if verdicts}
    assert len(judged) == 30
    for number in index.trial[-120::7].tolist():
        assert plain(sorted_texts(state, index, index.places_of_trial(number)).get(number, ())) == judged.get(
            number, []
        )
    (row,) = export._rows(state, index, index.places_of_trial(1275), export._Pictures(runs, tmp_path, public=False))
    assert json.loads(row["judged"]) == judged[1275] == trial(run, 1275)["judged"]


def test_what_people_read_in_a_reply_stands_beside_it(run: StoredRun, tmp_path: Path) -> None:
    packet, key, _ = packet_for(run, ReviewSettings(sample=10), lambda: pytest.fail("no findings are asked about"))
    write_review(run, packet, key, tmp_path / "packets", 2)
    files = []
    for rater in ("r1", "r2"):
        answers = dict.fromkeys(packet.choices(), 1)
        saved = {"format": "facevalue-review", "version": 1, "packet": packet.name, "rater": rater, "seconds": 60}
        saved |= {"answers": answers, "seal": seal_of(packet.name, rater, 60, answers)}
        files.append(tmp_path / f"{rater}.json")
        files[-1].write_text(json.dumps(saved))
    collect(run, files)
    item = key.items.drop_nulls("trial").row(0, named=True)
    (judged,) = [row for row in trial(run, item["trial"])["judged"] if f"(reply {item['repeat']})" in row["text"]]
    assert judged["by"] == "people, what the reply says"
    assert judged["text"].startswith(f"{item['choices'][0]} (2 of 2)")


def checked(folder: Path, accepted: bool, reasons: str, image: str) -> None:
    folder.mkdir(exist_ok=True)
    pl.DataFrame({"image": [image], "accepted": [accepted], "reasons": [reasons]}).write_parquet(folder / TABLE)
    (folder / SEAL).write_bytes(sealed_verdicts((folder / TABLE).read_bytes(), ""))


def test_checks_of_the_pictures_say_which_fail_and_why(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    for number, name in enumerate(("ann.png", "ann-cap.png")):
        Image.new("RGB", (64, 64), (90, 60 * number, 30)).save(own / name)
    rows = "path,identity,attribute,variation\nann.png,ann,,\nann-cap.png,ann,headwear,cap\n"
    (own / "list.csv").write_text(rows)
    study = fv.study("stylisticbias", manifest=own / "list.csv", scenario="polite", seeds="1")
    fv.run(study, "sim/default", tmp_path / "run", progress=False)
    image = str(StoredRun.open(tmp_path / "run").study.design.trials([0])["image"][0])
    checked(own / "checks", True, "", image)
    assert trial(StoredRun.open(tmp_path / "run", pictures=own), 0)["checks"] == [f"{image}: passes its checks"]
    assert trial(StoredRun.open(tmp_path / "run"), 0)["checks"] == [], "places that a run folder names are not read"
    checked(own / "checks", False, "blankness at most 0.98", image)
    says = trial(StoredRun.open(tmp_path / "run", pictures=own), 0)["checks"]
    assert says == [f"{image}: fails its checks: blankness at most 0.98"]


def test_maps_of_attention_are_pictures_of_the_trial_and_of_exports(run: StoredRun, tmp_path: Path) -> None:
    folder = run.folder / FOLDER
    folder.mkdir()
    for name in ("relevancy-2", "attention", "heads"):
        write_map(folder / f"trial-1-{name}.png", Image.new("RGB", (40, 30), "#a40"), "hf/a-model")
    (folder / "trial-1-relevancy-3.png").write_bytes(b"no picture")
    (folder / "trial-1-other.png").write_bytes(b"no map")
    asked = trial(run, 1)
    maps, second = asked["attention"], asked["options"][1]
    assert [of["caption"] for of in maps] == [
        "Mean attention of the answer (hf/a-model)", "Attention by head (hf/a-model)",
        f"Relevancy for {second} (hf/a-model)", "Relevancy for option 3",
    ]  # fmt: skip
    assert trial(run, 0)["attention"] == []
    runs = OpenedRuns([run])
    assert picture_bytes(runs.state_of_run("0"), maps[2]["src"].rpartition("/")[2])[8:12] == b"WEBP"
    with pytest.raises(DataError, match="can be shown"):
        picture_bytes(runs.state_of_run("0"), maps[3]["src"].rpartition("/")[2])
    html = export_folder(runs, tmp_path / "out").page.read_text(encoding="utf-8")
    assert html.count('\\"attention\\"') == 0
    assert html.count("Attention by head") == 1
    assert (tmp_path / "out" / "picture/0/attention-1-0.webp").exists()
