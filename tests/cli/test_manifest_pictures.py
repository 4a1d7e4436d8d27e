"""What `facevalue manifest check` says of pictures themselves."""

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
    assert "turned by its EXIF, which models may or may not heed: save it upright" in said
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
    done = facevalue("manifest", "check", "m.csv")
    assert done.status == 1
    assert f"row 1  {bad}" in done.out
    assert "turned by its EXIF" in done.out
    assert "Traceback" not in done.err
