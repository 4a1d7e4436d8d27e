"""`facevalue manifest`: a list begun from a folder, and all that is wrong with one, by row."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from facevalue import studies
from facevalue.errors import FaceValueError
from facevalue.runs.checks import check_pictures
from facevalue.runs.own_pictures.manifest_check import check_manifest
from tests.cli.conftest import Command

OWN = """name = "own"
[pictures]
kind = "manifest"
cue = "hat"
base = "none"
[prompt]
text = "Is this {job} kind?"
[answer]
kind = "yes-no"
[[estimand]]
statistic = "shift"
by = ["hat"]
"""


DRAWN = """name = "drawn"
[pictures]
kind = "portraits"
[prompt]
text = "Kind?"
[answer]
kind = "yes-no"
[[estimand]]
statistic = "mean"
"""


def draw(path: Path | str, seed: int | None = None, size: int = 16) -> None:
    """A picture of coloured noise, unlike any other."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    colours = np.random.default_rng(seed if seed is not None else abs(hash(str(path)))).integers(
        0, 256, (size, size, 3)
    )
    kind = {".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP", ".gif": "GIF"}.get(path.suffix.lower(), "PNG")
    Image.fromarray(colours.astype(np.uint8)).save(path, kind)


def faces(folder: Path, people: int = 2) -> None:
    """A folder per person, with a base picture and two variations."""
    for who in range(people):
        for name in ("Base.PNG", "sun glasses.JPG", "face tattoo.webp"):
            draw(folder / f"person {who}" / name)


def test_a_messy_folder_becomes_a_list_that_a_run_takes(facevalue: Command, tmp_path: Path) -> None:
    folder = tmp_path / "my pictures"
    faces(folder)
    draw(folder / "Çağla" / "base.png")
    draw(folder / "Çağla" / "sunglasses.gif")
    (folder / "Thumbs.db").write_bytes(b"x")
    (folder / ".hidden.png").write_bytes(b"x")
    (folder / "IMG.HEIC").write_bytes(b"x")
    (folder / "loop").symlink_to(folder)
    (folder / "link.png").symlink_to(folder / "Çağla" / "base.png")
    done = facevalue("manifest", "init", "my pictures", "--for", "stylisticbias")
    assert done.status == 0
    assert "attribute: eyewear 3, tattoos 2; empty for 3" in done.out
    for said in ("not read (save them as PNG or JPEG): 1, such as IMG.HEIC", "links to folders", "Thumbs.db", "hidden"):
        assert said in done.out
    assert "facevalue manifest check 'my pictures/manifest.csv' --for stylisticbias" in done.out
    rows = (folder / "manifest.csv").read_text(encoding="utf-8").splitlines()
    assert "person 0/sun glasses.JPG,p001,eyewear,sunglasses" in rows
    assert next(row for row in rows if row.startswith("Çağla/base.png")).split(",")[1].startswith("p")
    assert not any("Çağla" in row.split(",", 1)[1] for row in rows)
    done = facevalue("manifest", "check", "my pictures/manifest.csv", "--for", "stylisticbias")
    assert (done.status, "A run takes it" in done.out) == (0, True)


@pytest.mark.parametrize(
    ("names", "study", "row"),
    [
        (["f_1.png", "f_1_sunglasses.png"], "stylisticbias", "f_1_sunglasses.png,p001,eyewear,sunglasses,female"),
        (["f_1.png", "f_1_hair_color_red.png"], "stylisticbias", "f_1_hair_color_red.png,p001,hair_color,red,female"),
        (["base/x.png", "hat/x.png"], "stylisticbias", "hat/x.png,p001,accessories,hat"),
        (["anna_base.png", "anna_wig.png"], "stylisticbias", "anna_wig.png,p001,,wig"),
        (["male/old man_cooking.png"], "vignette", "male/old man_cooking.png,old,cooking,male,age"),
        (
            ["old_cooking vs young_cooking.png"],
            "vignette",
            "old_cooking vs young_cooking.png,old,young,cooking,age,identity",
        ),
        (
            ["Basketball Player/White Male/1.jpg"],
            "visbias",
            "Basketball Player/White Male/1.jpg,basketball player,white,male",
        ),
        (["anna/none.png", "anna/Red Cap.png"], "own.toml", "anna/Red Cap.png,p001,red-cap,"),
        (["anna/none.png", "anna/Red Cap.png"], "own.toml", "anna/none.png,p001,none,"),
        (["-x.png"], "stylisticbias", "./-x.png,p001,,"),
    ],
)
def test_what_names_tell(facevalue: Command, names: list[str], study: str, row: str) -> None:
    Path("own.toml").write_text(OWN)
    for name in names:
        draw(Path("p") / name)
    facevalue("manifest", "init", "p", "--for", study, "--out", "p/list.csv")
    assert row in Path("p/list.csv").read_text().splitlines()


def test_what_could_not_be_told_is_said(facevalue: Command) -> None:
    draw("p/anna_base.png")
    draw("p/anna_wig.png")
    done = facevalue("manifest", "init", "p", "--for", "stylisticbias")
    assert "attribute: could not be guessed; fill it in" in done.out
    assert "Unknown to the study, so taken as cues of your own: wig. Fill in their attribute" in done.out


def test_a_list_is_never_overwritten_unasked(facevalue: Command) -> None:
    draw("p/a.png")
    assert facevalue("manifest", "init", "p").status == 0
    Path("p/manifest.csv").write_text("mine")
    done = facevalue("manifest", "init", "p")
    assert (done.status, "--overwrite" in done.err) == (1, True)
    assert Path("p/manifest.csv").read_text() == "mine"
    assert facevalue("manifest", "init", "p", "--overwrite").status == 0


def test_a_list_elsewhere_has_paths_that_are_found(facevalue: Command) -> None:
    faces(Path("a/p"))
    assert facevalue("manifest", "init", "a/p", "--out", "list.csv").status == 0
    assert facevalue("manifest", "check", "list.csv").status == 0
    Path("b").mkdir()
    done = facevalue("manifest", "init", "a/p", "--out", "b/list.csv")
    assert "facevalue manifest check b/list.csv --root a/p" in done.out
    assert facevalue("manifest", "check", "b/list.csv", "--root", "a/p").status == 0


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("init", "nowhere"), 1, "There is no folder nowhere"),
        (("init", "empty"), 1, "holds no picture"),
        (("init", "p", "--out", "x.parquet"), 2, "does not end in .csv"),
        (("init", "p", "--for", "stylistcbias"), 2, "Did you mean 'stylisticbias'"),
        (("check", "nowhere.csv"), 1, "There is no file nowhere.csv"),
        (("check", "p/a.png"), 1, "a manifest is a .csv"),
        (
            ("check", "p/a.png", "--for", "drawn.toml"),
            2,
            "takes no manifest; stylisticbias, vignette, visbias, modscan, counterfactuals, ",
        ),
    ],
)
def test_wrong_usage_is_one_sentence(facevalue: Command, arguments: tuple[str, ...], status: int, says: str) -> None:
    draw("p/a.png")
    Path("empty").mkdir()
    Path("drawn.toml").write_text(DRAWN)
    done = facevalue("manifest", *arguments)
    assert done.status == status
    assert says in done.out + done.err
    assert "Traceback" not in done.err


def test_all_bad_rows_are_named_at_once(facevalue: Command) -> None:
    faces(Path("p"))
    whole = Path("p/person 0/sun glasses.JPG").read_bytes()
    Path("p/cut.jpg").write_bytes(whole[:-10])  # within the pixels, whatever the size of the header
    Path("p/no.png").write_bytes(b"no picture")
    header = bytearray(Path("p/person 0/Base.PNG").read_bytes())
    header[16:24] = (20_000).to_bytes(4, "big") * 2
    Path("p/bomb.png").write_bytes(bytes(header))
    listed = [
        "cut.jpg,a,,",
        "no.png,b,,",
        "bomb.png,c,,",
        "gone.png,d,,",
        *(f"gone{i}.png,e{i},x,y" for i in range(30)),
    ]
    Path("p/m.csv").write_text("path,identity,attribute,variation\n" + "\n".join(listed) + "\n")
    done = facevalue("manifest", "check", "p/m.csv")
    assert done.status == 1
    for said in (
        "breaks off",
        "row 1  cut.jpg",
        "row 2  no.png",
        "row 3  bomb.png",
        "missing or not readable (31 rows)",
    ):
        assert said in done.out
    assert "and 11 more" in done.out
    for command in (("plan", "stylisticbias"), ("run", "stylisticbias", "--model", "sim/null", "--out", "r")):
        Path("p/m.csv").write_text("path,identity,attribute,variation\ncut.jpg,a,,\nno.png,a,x,y\n")
        done = facevalue(*command, "--manifest", "p/m.csv")
        assert (done.status, "2 images cannot be shown: " in done.err) == (1, True), done.err
        assert "cut.jpg: breaks off" in done.err
        assert "no.png: not a PNG" in done.err


def test_bad_rows_of_a_study_are_named_at_once(facevalue: Command) -> None:
    rows = [
        "a1.png,a,hat,cap",
        "b0.png,b,,",
        "b1.png,b,,",
        "c0.png,c,,",
        "c1.png,c,hat,",
        "../d.png,d,,",
        "/e.png,e,,",
        "f.svg,,,",
    ]
    Path("m.csv").write_text("path,identity,attribute,variation\n" + "\n".join(rows) + "\n")
    done = facevalue("manifest", "check", "m.csv", "--for", "stylisticbias")
    for said in ("leaves the folder", "row 6  ../d.png", "an absolute path", "does not end in", "'identity' is empty"):
        assert said in done.out
    Path("m.csv").write_text("path,identity,attribute,variation\n" + "\n".join(rows[:5]) + "\n")
    done = facevalue("manifest", "check", "m.csv", "--for", "stylisticbias")
    for said in (
        "the identity has more than one base picture (2 rows)",
        "the identity has no base picture (1 row)",
        "not both",
        "missing or not readable (5 rows)",
    ):
        assert said in done.out
    done = facevalue("plan", "stylisticbias", "--manifest", "m.csv")
    assert "more than one base picture: row 2 (b), row 3 (b); the identity has no base picture: row 1 (a)" in done.err


@pytest.mark.parametrize(
    ("study", "header", "says"),
    [
        ("stylisticbias", "path,identity,atribute,variation", "a column 'attribute' (what was changed"),
        ("stylisticbias", "path,identity,atribute,variation", "is 'atribute' meant?"),
        ("vignette", "path,identty", "is 'identty' meant?"),
        ("own.toml", "path,identity,hats", "your list needs a column 'job' (fills the slot of the prompt)"),
        ("own.toml", "path,identity,hats", "is 'hats' meant?"),
        ("visbias", "file,gender", "needs a column 'image' or 'path'"),
    ],
)
def test_missing_columns_are_named_with_the_nearest_one(facevalue: Command, study: str, header: str, says: str) -> None:
    Path("own.toml").write_text(OWN)
    Path("m.csv").write_text(f"{header}\n{','.join(['x.png'] * len(header.split(',')))}\n")
    done = facevalue("manifest", "check", "m.csv", "--for", study)
    assert (done.status, says in done.out) == (1, True)


def test_what_a_run_takes_and_should_not_is_a_warning(facevalue: Command) -> None:
    for name in "abcd":
        draw(f"{name}.png", seed=1 if name in "ab" else ord(name))
    shutil.copy("d.png", "e.png")
    rows = (
        "path,identity,gendr,race",
        "a.png,x,Male,asian",
        "b.png,y,male ,black",
        "c.png,y,female,",
        "d.png,z,,",
        "e.png,z,,",
    )
    Path("m.csv").write_text("\n".join(rows))
    done = facevalue("manifest", "check", "m.csv", "--for", "visbias")
    assert done.status == 0, done.out
    assert "the column 'gendr' is read as a factor of its own; is 'gender' meant?" in done.out
    assert "'gendr' has 'Male' and 'male', which count as different" in done.out
    assert "the same picture under two identities (2 rows)" in done.out
    assert "the same picture several times (2 rows)" in done.out


def test_spreadsheets_of_all_sorts_are_read(facevalue: Command) -> None:
    draw("é.png")
    Path("m.csv").write_bytes("\ufeffpath;gender\r\né.png;male\r\n".encode())
    assert facevalue("manifest", "check", "m.csv").status == 0
    Path("m.csv").write_bytes("path;gender\r\né.png;male\r\n".encode("latin-1"))
    done = facevalue("manifest", "check", "m.csv")
    assert (done.status, "line 2 is not UTF-8" in done.out) == (1, True)


def test_what_spreadsheets_put_before_and_into_a_file(facevalue: Command) -> None:
    draw("a.png")
    Path("m.csv").write_text("sep=;\npath;gender\na.png;male\n")
    assert "1 picture; factors: gender" in facevalue("manifest", "check", "m.csv").out
    Path("m.csv").write_bytes("path;gender\na.png;male\n".encode("utf-16"))
    assert "is UTF-16. Save the file as UTF-8" in facevalue("manifest", "check", "m.csv").out


def test_a_list_without_anything_to_compare_is_refused(facevalue: Command) -> None:
    draw("a.png")
    draw("b.png")
    Path("m.csv").write_text("path\na.png\nb.png\n")
    done = facevalue("manifest", "check", "m.csv", "--for", "visbias")
    assert (done.status, "your list needs a column 'race' (or 'gender', or 'skin_tone'" in done.out) == (1, True)
    assert "The study knows occupation, race, gender, skin_tone" in done.out


@pytest.mark.parametrize(("count", "says"), [(1, "has one picture of an activity"), (3, "has several pictures of an")])
def test_a_plan_says_how_many_pictures_each_identity_has(facevalue: Command, count: int, says: str) -> None:
    for number in range(count):
        for who in ("old", "young"):
            draw(f"p/male/{who}_cooking_{number}.png")
    assert facevalue("manifest", "init", "p", "--for", "vignette").status == 0
    plan = ("plan", "vignette", "--manifest", "p/manifest.csv", "--paradigm", "decision", "--detect", "0.1")
    assert says in " ".join(facevalue(*plan).out.split())


def test_pictures_that_the_usual_settings_leave_out_are_no_reason_to_refuse(facevalue: Command) -> None:
    for name in ("a0.png", "a1.png"):
        draw(name)
    rows = ["a0.png,a,,,male", "a1.png,a,eyewear,sunglasses,male", "gone.png,a,makeup,heavy,male"]
    Path("m.csv").write_text("path,identity,attribute,variation,gender\n" + "\n".join(rows) + "\n")
    done = facevalue("manifest", "check", "m.csv", "--for", "stylisticbias")
    assert done.status == 0, done.out
    assert "not shown with the usual settings, and cannot be: missing" in done.out


CELLS = st.sampled_from(
    ["", "a", "A", "b", "x.png", "y.png", "gone.png", "cut.jpg", "../z.png", "hat", "cap", "male", "old"]
)
HEADERS = {
    "stylisticbias": ["path", "identity", "attribute", "variation"],
    "visbias": ["path", "identity", "gender", "occupation"],
    "vignette": ["path", "identity", "gender", "activity"],
    "own.toml": ["path", "identity", "hat", "job"],
}


@pytest.mark.parametrize("name", HEADERS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_what_check_passes_plan_and_run_take_and_the_other_way_round(
    name: str, tmp_path: Path, data: st.DataObject
) -> None:
    (tmp_path / "own.toml").write_text(OWN)
    if not (tmp_path / "x.png").exists():
        draw(tmp_path / "x.png", 1)
        draw(tmp_path / "y.png", 2)
        draw(tmp_path / "cut.jpg", 3)
        os.truncate(tmp_path / "cut.jpg", 500)
    paths = data.draw(st.lists(st.sampled_from(["x.png", "y.png", "gone.png", "cut.jpg"]), min_size=1, max_size=4))
    header = HEADERS[name] if data.draw(st.booleans()) else HEADERS[name][:-1]
    rows = [[path, *(data.draw(CELLS) for _ in header[1:])] for path in paths]
    file = tmp_path / "m.csv"
    file.write_text("\n".join(",".join(row) for row in [header, *rows]) + "\n")
    protocol = studies.protocol(str(tmp_path / name) if name.endswith(".toml") else name)
    passes = not check_manifest(file, protocol).faults
    try:
        study = protocol.study({"manifest": str(file)})
        study.source.check(study.design.trials(range(study.design.size)).to_dict(as_series=False))
        check_pictures(study)
        taken = True
    except FaceValueError:
        taken = False
    assert passes == taken
