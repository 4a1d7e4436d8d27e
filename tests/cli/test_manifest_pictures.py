"""What `facevalue manifest check` says of pictures themselves, and upright copies of those that a camera turned."""

from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

from tests.cli.conftest import Command
from tests.stimuli.test_lookalikes import scene


def saved(name: str, seed: int, size: tuple[int, int] = (120, 120), turn: int = 1, **options: Any) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    exif = PIL.Image.Exif()
    exif[0x0112] = turn
    exif[0x010F] = "a camera"
    scene(seed, size).save(path, exif=exif, **options)


def listed(*rows: str, header: str = "path,identity") -> None:
    Path("m.csv").write_text("\n".join([header, *rows]) + "\n")


def test_turned_moving_printed_and_tiny_pictures_are_named(facevalue: Command) -> None:
    saved("turned.jpg", 1, turn=6)
    scene(2).save("moves.gif", save_all=True, append_images=[scene(3)])
    scene(4).convert("CMYK").save("print.jpg")
    scene(5, (1, 1)).save("dot.png")
    saved("fine.png", 6)
    grey = np.asarray(scene(7).convert("L")).astype(np.uint16) * 257
    PIL.Image.fromarray(grey).save("deep.png")
    clear = scene(8).convert("RGBA")
    clear.putalpha(PIL.Image.linear_gradient("L").resize(clear.size))
    clear.save("clear.png")
    rows = "turned.jpg,a", "moves.gif,b", "print.jpg,c", "dot.png,d", "fine.png,e", "deep.png,f", "clear.png,g"
    listed(*rows)
    done = facevalue("manifest", "check", "m.csv")
    assert done.status == 0
    said = done.out
    assert "turned by its EXIF, which models may or may not heed: --fix writes upright copies" in said
    for what, row in (("EXIF", "1  turned.jpg"), ("animation", "2  moves.gif"), ("CMYK", "3  print.jpg"),
                      ("nothing to judge", "4  dot.png"), ("16 bits a channel", "6  deep.png"),
                      ("transparent in places", "7  clear.png")):  # fmt: skip
        assert f"row {row}" in said.split(what)[1].split("\n")[1]
    assert "fine.png" not in said


def test_a_picture_of_another_size_or_shape_than_its_set_is_named(facevalue: Command) -> None:
    for at, size in enumerate(((120, 120), (120, 120), (130, 120), (480, 480), (120, 60))):
        saved(f"{at}.png", at, size)
    saved("lies.jpg", 9, (60, 120), turn=6)
    listed(*(f"{at}.png,a" for at in range(5)), "lies.jpg,a")
    done = facevalue("manifest", "check", "m.csv")
    part = done.out.split("of another size or shape than most of its identity (3 rows)")[1]
    assert [line.strip() for line in part.strip().splitlines()[:3]] == [
        "row 4  3.png (480 x 480)", "row 5  4.png (120 x 60)", "row 6  lies.jpg (120 x 60)",
    ]  # fmt: skip


def test_copies_and_pictures_that_look_the_same_are_told_apart(facevalue: Command) -> None:
    saved("a.png", 1)
    saved("a2.jpg", 1, quality=90)
    saved("b.png", 1, turn=3)
    Path("c.png").write_bytes(Path("a.png").read_bytes())
    saved("d.png", 2)
    listed("a.png,ann", "a2.jpg,ann", "c.png,cem", "d.png,dua")
    done = facevalue("manifest", "check", "m.csv")
    assert "the same picture under two identities (2 rows)" in done.out
    assert "as good as identical to another picture of its identity: can what differs be seen? (1 row)" in done.out
    assert "row 2  a2.jpg and a.png" in done.out
    assert "as good as identical to a picture of another identity (1 row)" in done.out
    assert "d.png" not in done.out


def test_upright_copies_are_written_beside_and_listed(facevalue: Command) -> None:
    for turn in range(1, 9):
        saved(f"p/{turn} é.jpg", 7, (80, 120), turn=turn, quality=95)
    listed(*(f"p/{turn} é.jpg,i{turn},x" for turn in range(1, 9)), header="path,identity,hat")
    before = {path: path.read_bytes() for path in Path().rglob("*.jpg")}
    done = facevalue("manifest", "check", "m.csv", "--fix")
    assert "7 upright copies in m-upright; the list that names them: m-upright.csv" in done.out
    assert {path: path.read_bytes() for path in before} == before
    lines = Path("m-upright.csv").read_text().splitlines()
    assert lines[:3] == ["path,identity,hat", "p/1 é.jpg,i1,x", "m-upright/p/2 é.jpg,i2,x"]
    with PIL.Image.open("m-upright/p/6 é.jpg") as copy:
        assert (copy.size, len(copy.getexif())) == ((120, 80), 0)
    again = facevalue("manifest", "check", "m-upright.csv", "--fix")
    assert "No picture is turned: nothing to fix." in again.out
    refused = facevalue("manifest", "check", "m.csv", "--fix")
    assert refused.status == 1
    assert "m-upright exists, and nothing is overwritten" in refused.err


def test_upright_copies_of_a_list_without_persons_have_numbers_for_names_and_are_the_next_step(
    facevalue: Command,
) -> None:
    saved("Ada Lovelace (1).jpg", 1, turn=6)
    saved("Ben.png", 2)
    listed("Ada Lovelace (1).jpg,x", "Ben.png,x", header="path,hat")
    done = facevalue("manifest", "check", "m.csv", "--fix")
    assert Path("m-upright.csv").read_text().splitlines() == [
        "path,identity,hat", "m-upright/Ada Lovelace (1).jpg,p001,x", "Ben.png,p002,x",
    ]  # fmt: skip
    assert "Next: facevalue plan STUDY --manifest m-upright.csv" in done.out


def test_a_list_with_a_root_and_names_of_its_own_keeps_them(facevalue: Command) -> None:
    saved("photos/a.jpg", 1, turn=8)
    saved("photos/b.png", 2)
    Path("lists").mkdir()
    Path("lists/m.csv").write_text("image,path,identity\none,a.jpg,x\ntwo,b.png,y\n")
    done = facevalue("manifest", "check", "lists/m.csv", "--root", "photos", "--fix")
    assert "1 upright copy in photos/m-upright" in done.out
    assert Path("lists/m-upright.csv").read_text().splitlines() == [
        "path,id,identity", "m-upright/a.jpg,one,x", "b.png,two,y",
    ]  # fmt: skip
    assert facevalue("manifest", "check", "lists/m-upright.csv", "--root", "photos").status == 0


@pytest.mark.parametrize("bad", ["cut.jpg", "bomb.png", "text.png", "gone.png"])
def test_hostile_pictures_are_named_and_the_others_are_looked_at(facevalue: Command, bad: str) -> None:
    saved("fine.jpg", 1, turn=6)
    if bad == "cut.jpg":
        Path(bad).write_bytes(Path("fine.jpg").read_bytes()[:900])
    elif bad == "bomb.png":
        scene(3).save(bad)
        header = bytearray(Path(bad).read_bytes())
        header[16:24] = (60_000).to_bytes(4, "big") * 2
        Path(bad).write_bytes(header)
    elif bad == "text.png":
        Path(bad).write_text("<script>")
    listed(f"{bad},a", "fine.jpg,b")
    done = facevalue("manifest", "check", "m.csv", "--fix")
    assert done.status == 1
    assert f"row 1  {bad}" in done.out
    assert "1 upright copy" in done.out
    assert "Traceback" not in done.err
