"""The audit of editors: what its estimands find, two editors compared, and the page of a model on such pictures."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import facevalue as fv
from facevalue.generators.base import NULL_EDIT, PictureRequest
from facevalue.generators.planted_editors import PlantedEditor
from facevalue.inspection.quantities import BY_NAME
from facevalue.measures.definitions import rows_of
from facevalue.protocol.structured_replies import Measurements
from facevalue.report.collect import editor_facts
from facevalue.report.data import EditorFacts
from facevalue.stimuli.drawings.portraits import draw_identities
from facevalue.stimuli.portraits.composition import svg
from facevalue.stimuli.portraits.shapes import png
from facevalue.studies.registry import find_protocol
from facevalue.types import Image, Request, Response, Status
from tests.cli.conftest import Command, facevalue
from tests.measure_keys import by_key
from tests.protocol.test_edited_pictures import grey

__all__ = ["facevalue"]
FACES = 40
INVITE = """
name = "invite"
[pictures]
kind = "manifest"
manifest = "pictures.csv"
cue = "cue"
of = "illustrated"
[prompt]
text = "Would you invite this person? {options}"
[answer]
kind = "yes-no"
[[estimand]]
statistic = "shift"
by = ["cue"]
"""


def made(folder: Path, editor: str = "sim/lighten=6:gender") -> Path:
    """Forty faces, a grey square each, with a null edit and a hat."""
    folder.mkdir(exist_ok=True)
    rows = []
    for number in range(FACES):
        who = {"identity": f"p{number}", "gender": ("female", "male")[number % 2]}
        for cue in (None, NULL_EDIT, "hat"):
            name = f"p{number}-{cue}"
            rows.append({"image": name, "path": grey(folder, name, 40 + number), **who, "cue": cue,
                         "source": cue and f"p{number}-None", "editor": cue and editor,
                         "picture_seed": number})  # fmt: skip
    pl.DataFrame(rows).write_parquet(folder / "manifest.parquet")
    pl.DataFrame(rows).drop("source", "editor").write_csv(folder / "pictures.csv")
    return folder / "manifest.parquet"


class Planted:
    """Stands for an inspector: what it measures is drawn around what is planted."""

    name = "inspect/stand-in"
    capabilities = fv.Capabilities(images_per_request=2)

    def __init__(self, lighter: float = 6.0, *, erased_for_men: bool = False) -> None:
        self.lighter, self.erased_for_men = lighter, erased_for_men

    def settings(self) -> Mapping[str, str | int | float | bool]:
        return {}

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        for request in requests:
            rng = np.random.default_rng(request.trial)
            levels = request.stimulus.factors
            lighter = self.lighter if (levels["cue"], levels["gender"]) == ("hat", "female") else 0.0
            lines = {"skin_lightness_change": lighter + rng.normal(0, 0.7), "zoom": rng.normal(0, 0.5)}
            lines |= {"shift": abs(rng.normal(0, 0.5)), "structure": 0.99 + rng.normal(0, 0.002)}
            if self.erased_for_men and levels["cue"] == "hat":
                lines["realised"] = (0.7 if levels["gender"] == "female" else 0.1) + rng.normal(0, 0.05)
            text = "\n".join(f"{name}: {value:.3f}" for name, value in lines.items())
            yield Response(request.trial, request.repeat, Status.OK, text)

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> fv.Run:
    folder = tmp_path_factory.mktemp("made")
    study = fv.study("editor", manifest=made(folder), kind="illustrated")
    return fv.run(study, Planted(), folder / "audit", name="editor one", progress=False)


def test_every_field_is_a_quantity_of_the_inspector_within_its_bounds() -> None:
    ask = find_protocol("editor").ask
    assert ask is not None
    assert isinstance(ask.reply, Measurements)
    for name, field in ask.reply.fields.items():
        quantity = BY_NAME[name]
        assert (field.low, field.high) == (quantity.least, quantity.greatest)
        assert quantity.source
        assert quantity.unit == field.unit or (quantity.unit == "1" and field.unit in ("share", "probability"))


def test_what_is_planted_is_found_and_nothing_else(audit: fv.Run) -> None:
    rows = audit.estimates()
    found = rows.filter(verdict="difference found")
    assert set(by_key(found)["measure"]) == {"shift.skin_lightness_change", "shift_gap.skin_lightness_change"}
    gap = found.row(by_predicate=rows_of(["shift_gap.skin_lightness_change"]), named=True)
    assert abs(gap["value"]) == pytest.approx(6, abs=0.6)
    assert gap["unit"] == "L*"
    unseen = rows.filter(measure="shift", score="identity_distance")
    assert unseen["value"].null_count() == unseen.height > 0


def test_the_first_screen_says_it_in_words(audit: fv.Run) -> None:
    text = Path(audit.report()).read_text()
    assert re.search(r"Hat: skin [23]\.\d L\* lighter", text)
    assert re.search(r"Male: shift of lightness of skin [56]\.\d L\* lower than that of Female \(Hat", text)


def test_the_terminal_lists_the_clearest_of_what_was_found_and_each_kind_under_its_own_name(
    audit: fv.Run, facevalue: Command
) -> None:
    printed = " ".join(facevalue("measure", str(audit.folder)).out.split())
    assert printed.count("Clearest: ") == printed.count("● difference found")
    assert " kinds, of which none is found, are on the page." in printed
    assert printed.count("Margins of ") == 1
    answer = json.loads(facevalue("measure", str(audit.folder), "--json").out)["answer"]
    kinds = [kind["compared"] for kind in answer["compared"]]
    assert len(kinds) == len(set(kinds)) > 6


def test_an_edit_that_is_not_made_for_some_is_found(tmp_path: Path) -> None:
    study = fv.study("editor", manifest=made(tmp_path), kind="illustrated")
    rows = fv.run(study, Planted(0.0, erased_for_men=True), tmp_path / "audit", progress=False).estimates()
    found = rows.filter(verdict="difference found")
    assert set(by_key(found)["measure"]) == {"gap.realised"}
    assert abs(found["value"][0]) == pytest.approx(0.6, abs=0.06)
    assert "shift.realised" not in by_key(rows)["measure"]


@pytest.mark.all_groups
def test_two_editors_are_compared(audit: fv.Run, tmp_path: Path, facevalue: Command) -> None:
    study = fv.study("editor", manifest=made(tmp_path / "two"), kind="illustrated")
    assert fv.run(study, Planted(2.0), tmp_path / "two" / "audit", progress=False).model == "sim/lighten=6:gender"
    fv.run(study, Planted(2.0), tmp_path / "two" / "audit", name="editor two", progress=False)
    out = " ".join(facevalue("compare", str(audit.folder), str(tmp_path / "two" / "audit")).out.split())
    assert "editor two differs from editor one" in out
    line = out[out.index("mean skin_lightness_change, hat") :][:100]
    assert "hat −2." in line
    assert "L* difference" in line


def test_the_page_of_a_model_says_what_its_editor_changed(audit: fv.Run, tmp_path: Path) -> None:
    folder = Path(audit.folder).parent
    (folder / "invite.toml").write_text(INVITE)
    run = fv.run(folder / "invite.toml", "sim/null", tmp_path / "run", progress=False)
    assert not run.estimates().filter(verdict="difference found", measure="shift").height
    run.report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "Editor of the pictures" in text
    assert "sim/lighten=6:gender" in text
    assert re.search(r"Its audit: [^<]*Hat: skin \d\.\d L\* lighter", text)


def passed_through(folder: Path, spec: str) -> Path:
    """Drawn faces, and each after an editor, listed as if that had added sunglasses."""
    folder.mkdir()
    rows, editor = [], PlantedEditor(spec)
    for seed, person in enumerate(draw_identities({"female": 10, "male": 10}, 5)):
        source = Image(png(svg(person), 256), "image/png")
        cue = NULL_EDIT if spec == "sim/null" else "sunglasses"
        (picture,) = editor.generate([PictureRequest(0, "Change it.", seed, source, {"cue": cue})])
        assert picture.image is not None
        (folder / f"{person.id}.png").write_bytes(source.data)
        (folder / f"{person.id}.jpg").write_bytes(picture.image.data)
        rows += [{"path": f"{person.id}.png", "identity": person.id, "attribute": None, "variation": None},
                 {"path": f"{person.id}.jpg", "identity": person.id, "attribute": "eyewear",
                  "variation": "sunglasses"}]  # fmt: skip
    pl.DataFrame(rows).write_csv(folder / "list.csv")
    return folder / "list.csv"


def test_a_model_finds_nothing_in_null_edits_and_takes_a_side_effect_for_the_cue(tmp_path: Path) -> None:
    shifts = {}
    for name, spec in (("null", "sim/null"), ("lighter", "sim/lighten=15")):
        pictures = passed_through(tmp_path / name, spec)
        study = fv.study("stylisticbias", manifest=pictures, kind="illustrated", scenario=["trustworthy", "competent"])
        rows = fv.run(study, "reference", tmp_path / f"{name}-run", exact=True, progress=False).estimates()
        rows = rows.filter(measure="shift")
        shifts[name] = set(rows["verdict"]), rows["value"][0]
    verdicts, shift = shifts["null"]
    assert "difference found" not in verdicts
    assert abs(shift) < 0.03
    verdicts, shift = shifts["lighter"]
    assert "difference found" in verdicts
    assert shift > 0.08


def test_what_is_made_for_the_audit_has_a_null_edit_of_each_face() -> None:
    making = find_protocol("editor").extras.making
    assert making is not None
    offered = making()
    table = offered.plan({setting.name: setting.default for setting in offered.settings}).table
    faces = table.filter(pl.col("source").is_null())
    assert (faces.height, table.height) == (126, 882)
    assert table.filter(cue=NULL_EDIT)["source"].sort().equals(faces["image"].sort())


def test_an_editor_that_nobody_audited_is_a_caution(tmp_path: Path) -> None:
    made(tmp_path / "made", "<b>E</b>")
    (tmp_path / "made" / "invite.toml").write_text(INVITE)
    run = fv.run(tmp_path / "made" / "invite.toml", "sim/null", tmp_path / "run", progress=False)
    run.report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "&lt;b&gt;E&lt;/b&gt;, not audited" in text
    assert "<b>E</b>" not in text


def test_a_folder_called_audit_that_is_none_is_no_audit(tmp_path: Path) -> None:
    made(tmp_path / "made")
    (tmp_path / "made" / "audit").mkdir()
    (tmp_path / "made" / "audit" / "run.toml").write_text("nonsense = [")
    (tmp_path / "made" / "invite.toml").write_text(INVITE)
    run = fv.run(tmp_path / "made" / "invite.toml", "sim/null", tmp_path / "run", progress=False)
    assert editor_facts(run.stored.study) == EditorFacts(("sim/lighten=6:gender",))
