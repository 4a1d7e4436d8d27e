"""Edits beside their sources: two pictures a trial, and the null edit of each unit as its base."""

import io
from collections.abc import Sequence
from pathlib import Path

import PIL.Image
import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import FaceValueError
from facevalue.generators.base import NULL_EDIT
from facevalue.protocol.own_pictures import KINDS, Edits
from facevalue.types import Image, Request, Response, Status
from tests.protocol.conftest import Reader

STUDY = """
name = "edited"
[pictures]
kind = "edits"
manifest = "list.csv"
[prompt]
text = "Compare. attribute: {cue}"
[answer]
kind = "measurements"
[answer.fields.grey]
unit = "steps"
low = -255
high = 255
[[estimand]]
statistic = "shift"
by = ["cue"]
margin = 1
[[estimand]]
statistic = "gap"
factor = "gender"
of_shifts = true
by = ["cue"]
"""
HEAD = ("image", "path", "source", "identity", "cue", "gender")
Row = tuple[str, ...]


def grey(folder: Path, name: str, shade: int) -> str:
    PIL.Image.new("L", (8, 8), shade).save(folder / f"{name}.png")
    return f"{name}.png"


def rows_of(folder: Path, people: int = 8) -> list[Row]:
    """Sources, null edits that add 2 steps of grey, and hats that add 10 more, 5 more of one gender."""
    rows: list[Row] = []
    for number in range(people):
        gender, shade = ("f", "m")[number % 2], 100 + 3 * number
        name, more = f"p{number}", 12 + number % 3 + (5 if gender == "f" else 0)
        rows += [
            (name, grey(folder, name, shade), "", name, "", gender),
            (f"{name}/null", grey(folder, f"{name}-null", shade + 2), name, name, NULL_EDIT, gender),
            (f"{name}/hat", grey(folder, f"{name}-hat", shade + more), name, name, "hat", gender),
        ]
    return rows


def listed(folder: Path, rows: Sequence[Row], head: Sequence[str] = HEAD) -> Path:
    path = folder / "list.csv"
    path.write_text("\n".join(",".join(row) for row in (head, *rows)))
    return path


class Difference:
    """Says how much lighter the second picture is than the first."""

    name = "difference"
    capabilities = fv.Capabilities(images_per_request=2)

    def settings(self) -> dict[str, str | int | float | bool]:
        return {}

    def respond(self, requests):  # type: ignore[no-untyped-def]
        for request in requests:
            yield self.answer(request)

    def answer(self, request: Request) -> Response:
        first, second = (shade(image) for image in request.stimulus.load())
        return Response(request.trial, request.repeat, Status.OK, f"grey: {second - first}")

    def close(self) -> None:
        pass


def shade(image: Image) -> int:
    return PIL.Image.open(io.BytesIO(image.data)).convert("L").tobytes()[0]


def test_the_source_is_shown_first_and_each_edit_is_compared_with_the_null_edit(read: Reader, tmp_path: Path) -> None:
    listed(tmp_path, rows_of(tmp_path))
    read(STUDY, "edited.toml")
    run = fv.run(tmp_path / "edited.toml", Difference(), tmp_path / "run", progress=False)
    estimates = run.estimates()
    shift = estimates.row(by_predicate=pl.col("measure") == "shift", named=True)
    assert (shift["cue"], shift["unit"], shift["verdict"]) == ("hat", "steps", "difference found")
    assert shift["value"] == pytest.approx(sum(10 + n % 3 + 5 * (1 - n % 2) for n in range(8)) / 8)
    gap = estimates.row(by_predicate=pl.col("measure") == "shift_gap", named=True)
    assert (gap["gender"], gap["contrast"], gap["verdict"]) == ("m", "f", "difference found")
    again = fv.open_run(tmp_path / "run")
    assert again.estimates().equals(estimates)


def test_a_changed_source_is_another_stimulus(tmp_path: Path) -> None:
    path = listed(tmp_path, rows_of(tmp_path, 2))
    options = {"manifest": str(path), "root": "", "kind": "unstated", "cue": "cue"}
    table = Edits().table(options)
    first = Edits().source(table, {**options, "root": str(tmp_path)}).stimulus(0, {"image": "p0/hat"})
    assert (first.pictures, len(first.load())) == (2, 2)
    grey(tmp_path, "p0", 7)
    second = Edits().source(table, {**options, "root": str(tmp_path)}).stimulus(0, {"image": "p0/hat"})
    assert second.digest != first.digest
    assert shade(second.load()[0]) == 7


def test_a_unit_without_a_null_edit_is_left_out_and_said_so(read: Reader, tmp_path: Path) -> None:
    listed(tmp_path, [row for row in rows_of(tmp_path) if row[0] != "p3/null"])
    study = read(STUDY, "edited.toml").study()
    assert study.manifest["identity"].n_unique() == 7
    (omission,) = study.planned.left_out
    assert omission.what == "1 of 8 identity"
    assert "no null edit" in omission.why


def test_another_column_may_say_what_was_edited(read: Reader, tmp_path: Path) -> None:
    listed(tmp_path, rows_of(tmp_path), tuple("variation" if name == "cue" else name for name in HEAD))
    study = read(STUDY, "edited.toml").study({"cue": "variation"})
    assert set(study.manifest["cue"]) == {NULL_EDIT, "hat"}
    with pytest.raises(FaceValueError, match="'cue'"):
        read(STUDY, "edited.toml").study()


def test_the_kind_is_offered() -> None:
    assert "edits" in KINDS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: [row for row in rows if row[4] != NULL_EDIT], r"no cue is 'no change', so there is no null edit"),
        (lambda rows: [(*row[:2], "", *row[3:]) for row in rows], r"no picture has a source"),
        (lambda rows: [(*row[:2], row[2] and "gone", *row[3:]) for row in rows], r"the source is no picture of"),
        (lambda rows: [(*row[:2], row[2] and row[0], *row[3:]) for row in rows], r"a picture is its own source"),
        (lambda rows: [(*row[:4], row[4].replace("hat", ""), row[5]) for row in rows], r"an edited picture has no cue"),
        (lambda rows: [*rows, ("again", *rows[1][1:])], r"the identity has more than one base picture"),
        (lambda rows: [row for row in rows if row[4] != "hat"], r"there are base pictures only"),
        (lambda rows: [*rows[:-1], (rows[-1][0], "gone.png", *rows[-1][2:])], r"gone\.png: missing or not readable"),
    ],
)  # fmt: skip
def test_mistakes_in_a_list_are_one_sentence(change, message: str, read: Reader, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    listed(tmp_path, change(rows_of(tmp_path, 4)))
    read(STUDY, "edited.toml")
    with pytest.raises(FaceValueError, match=message):
        fv.run(tmp_path / "edited.toml", Difference(), tmp_path / "run", progress=False)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('kind = "edits"', 'kind = "edit"', r"Unknown kind of pictures 'edit'. Did you mean 'edits'"),
        ('manifest = "list.csv"', 'list = "list.csv"', r"Unknown key 'list'"),
        ('manifest = "list.csv"', 'manifest = "list.csv"\nbase = "hatless"', r"no cue is 'hatless'"),
        ('manifest = "list.csv"', 'manifest = "list.csv"\ncue = "variation"', r"'variation'"),
        ('manifest = "list.csv"', 'manifest = "list.csv"\nunit = "person"', r"Unknown unit 'person'"),
        ('manifest = "list.csv"', 'manifest = "list.csv"\ncue = 3', r"'cue' is a text in quotes, not 3"),
        ('manifest = "list.csv"', "", r"say which with --manifest"),
    ],
)
def test_mistakes_in_a_file_are_one_sentence(
    before: str, after: str, message: str, read: Reader, tmp_path: Path
) -> None:
    listed(tmp_path, rows_of(tmp_path, 4))
    with pytest.raises(FaceValueError, match=message) as refused:
        read(STUDY.replace(before, after, 1), "edited.toml").study()
    assert "\n" not in str(refused.value)
