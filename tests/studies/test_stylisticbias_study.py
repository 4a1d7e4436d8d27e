"""StylisticBias as a declaration: which trials, which questions, which samples, what replies mean."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from facevalue.errors import DataError, FaceValueError
from facevalue.protocol.settings import face_counts
from facevalue.protocol.study import Study
from facevalue.runs.plan import plan
from facevalue.stimuli.drawings.portraits import PortraitSource
from facevalue.stimuli.portraits import png, svg
from facevalue.studies.stylisticbias.statistics import FramingShift
from facevalue.studies.stylisticbias.tables import grid, whitelist
from tests.studies.preference_scores import estimates_of, estimator, sets_of

Make = Callable[..., Study]


def test_the_papers_counts(make: Make) -> None:
    made = plan(make(faces="274M,226F"))
    assert (made.stimuli, made.trials) == (15_726, 4_717_800)
    assert sum(b.stimuli for b in made.baseline) == 500
    assert {b.name: b.stimuli for b in made.added} == {"male second bases": 274, "female second bases": 226}
    assert 6 * made.trials == 28_306_800
    assert sum(b.trials for b in made.baseline) == sum(b.trials for b in made.added) == 500 * 300
    published = plan(make(faces="274M,226F", fashion_base="portrait"))
    assert (published.stimuli, published.asked, published.added) == (15_726, 16_226 * 300, ())


def test_blocks_count_images_by_gender_and_attribute(make: Make) -> None:
    blocks = {b.name: b for b in plan(make(faces="3M,2F")).blocks}
    assert blocks["male fashion_style"].stimuli == 27
    assert blocks["female makeup"].factors == {"gender": "female", "attribute": "makeup"}
    assert "male makeup" not in blocks


def test_prompts_name_both_options_in_each_of_four_orderings(make: Make) -> None:
    study = make(faces="1", scenario=["wealthy"])
    prompts = [q.prompt for q in study.ask(study.design.trials(np.arange(4)))]
    assert [p[p.index("picture ") + 8 : p.index("?")] for p in prompts] == [
        "(a) wealthy or (b) poor",
        "(b) poor or (a) wealthy",
        "(a) poor or (b) wealthy",
        "(b) wealthy or (a) poor",
    ]


def test_released_prompts_quote_the_options_and_ask_again(make: Make) -> None:
    study = make(faces="1", scenario=["wealthy"], prompts="released")
    assert "(b) 'poor' or (a) 'wealthy'" in study.ask(study.design.trials([1]))[0].prompt
    assert study.draws.reasks == 2


def test_equal_questions_are_one_object(make: Make) -> None:
    study = make(faces="2")
    questions = study.ask(study.design.trials(np.arange(200)))
    assert questions[0] is questions[100]


def answered(study: Study, number: int, text: str | None = None, probs: list[float] | None = None) -> dict[str, object]:
    frame = study.design.trials([number]).with_columns(
        pl.Series("repeat", [0], dtype=pl.UInt8),
        pl.Series("status", ["ok"]),
        pl.Series("text", [text], dtype=pl.String),
        pl.Series("probs", [probs], dtype=pl.List(pl.Float32)),
    )
    return study.answer(frame).row(0, named=True)


def test_the_favourable_pole_counts_whatever_its_letter_and_place(make: Make) -> None:
    study = make(faces="1", scenario=["wealthy"])
    assert [answered(study, n, "(a)")["preference"] for n in range(4)] == [1.0, 1.0, 0.0, 0.0]
    assert [answered(study, n, "wealthy")["preference"] for n in range(4)] == [1.0, 1.0, 1.0, 1.0]
    assert [answered(study, n, "Poor.")["preference"] for n in range(4)] == [0.0, 0.0, 0.0, 0.0]


def test_no_valid_answer_has_no_weight_but_a_reason(make: Make) -> None:
    study = make(faces="1", scenario=["wealthy"])
    said = answered(study, 0, "I'm sorry, but I can't judge people by their looks.")
    assert said["preference"] is None
    assert said["na"] == "refused"


def test_probabilities_are_weights_of_the_favourable_pole(make: Make) -> None:
    study = make(faces="1", scenario=["wealthy"])
    weights = [answered(study, n, probs=[0.6, 0.2])["preference"] for n in range(4)]
    assert weights == pytest.approx([0.75, 0.25, 0.25, 0.75], abs=1e-6)
    assert answered(study, 0, probs=[0.6, 0.2])["mass"] == pytest.approx(0.8, abs=1e-6)
    assert answered(study, 0, probs=[0.001, 0.002])["preference"] is None


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_sample_holds_whole_units_with_their_base(make: Make, repeats: int) -> None:
    study = make(faces="6M,6F")
    numbers = study.sample(20_000, 3, repeats)
    assert numbers.size * repeats <= 20_000
    assert np.array_equal(numbers, np.unique(numbers))
    frame = study.design.trials(numbers)
    units = frame.group_by("identity", "scenario").agg(
        pl.len(), pl.col("attribute").is_null().sum().alias("base"), pl.col("gender").first()
    )
    size = pl.when(pl.col("gender") == "male").then(4 * 33).otherwise(4 * 34)
    assert units.select((pl.col("len") == size).all()).item()
    assert (units["base"] == 4).all()
    assert frame["identity"].n_unique() == 12


def test_samples_are_reproducible_and_differ_by_seed(make: Make) -> None:
    study = make(faces="6M,6F")
    assert np.array_equal(study.sample(5000, 1, 1), study.sample(5000, 1, 1))
    assert not np.array_equal(study.sample(5000, 1, 1), study.sample(5000, 2, 1))


def test_a_sample_of_everything_is_everything(make: Make) -> None:
    study = make(faces="2", scenario=["wealthy", "polite"], seeds=["1"])
    assert np.array_equal(study.sample(10**9, 0, 1), np.arange(study.design.size))


def test_a_sample_too_small_for_one_unit_says_what_one_takes(make: Make) -> None:
    with pytest.raises(DataError, match="takes 396"):
        make(faces="2").sample(100, 0, 3)


def test_equal_settings_build_the_same_study(make: Make) -> None:
    one, two = make(faces="5M,4F"), make(faces="5M,4F")
    assert one.manifest.equals(two.manifest)
    assert one.design.trials([77]).equals(two.design.trials([77]))


@pytest.mark.parametrize(
    ("text", "counts"), [("60", {"male": 30, "female": 30}), ("3m", {"male": 3}), ("2F", {"female": 2})]
)
def test_numbers_of_faces_are_read(text: str, counts: dict[str, int]) -> None:
    assert face_counts(text) == counts


@pytest.mark.parametrize("text", ["", "0", "many", "-3", "3X", "274M;226F", "9" * 30])
def test_numbers_of_faces_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(DataError):
        face_counts(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scenario": ["welthy"]}, "wealthy"),
        ({"attributes": ["eyeware"]}, "eyewear"),
        ({"variations": ["sunglass"]}, "sunglasses"),
        ({"variations": ["scars"]}, "--grid all"),
        ({"seeds": ["one"]}, "whole numbers"),
        ({"seeds": ["1", "1"]}, "different"),
        ({"facs": "3"}, "faces"),
        ({"manifest": "a.csv", "folders": "b"}, "--folders has no effect beside --manifest"),
    ],
)
def test_wrong_settings_are_named_with_the_nearest_choice(make: Make, options: dict[str, object], message: str) -> None:
    with pytest.raises(FaceValueError, match=message):
        make(**options)


def manifest(folder: Path, rows: list[str], header: str = "image,identity,attribute,variation,style") -> str:
    Image.new("RGB", (8, 8), "teal").save(folder / "square.png")
    for row in rows:
        name = folder / row.split(",")[0]
        if not name.exists() and name.suffix == ".png":
            Image.new("RGB", (8, 8), "navy").save(name)
    path = folder / "images.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return str(path)


def test_anyones_images_are_judged_with_whatever_identity_factors_they_have(make: Make, tmp_path: Path) -> None:
    rows = ["a0.png,a,,,round", "a1.png,a,hat,top-hat,round", "b0.png,b,,,square", "b1.png,b,hat,top-hat,square"]
    study = make(manifest=manifest(tmp_path, rows), kind="synthetic")
    made = plan(study)
    assert (made.stimuli, made.baseline[0].stimuli) == (2, 2)
    frame = study.design.trials([0, study.design.size - 1])
    assert frame["style"].to_list() == ["round", "square"]
    stimulus = study.source.stimulus(0, frame.row(0, named=True))
    assert stimulus.load()[0].media_type == "image/png"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["a1.png,a,hat,top-hat,x"], "the identity has no base picture: row 1"),
        (["a0.png,a,,,x", "a2.png,a,,,x", "a1.png,a,hat,top-hat,x"], "more than one base"),
        (["a0.png,a,,,x"], "no variation"),
        (["a0.png,a,,,x", "a1.png,a,hat,,x"], "but not both"),
        (["a0.png,a,,,x", "a0.png,a,hat,top-hat,x"], "a0.png"),
        ([], "no rows|empty|no image"),
    ],
)
def test_manifests_that_make_no_study_say_why(make: Make, tmp_path: Path, rows: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        make(manifest=manifest(tmp_path, rows))


def test_a_manifest_without_the_needed_columns_names_those_it_has(make: Make, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"your list needs a column 'variation' .*; is 'variations' meant"):
        make(manifest=manifest(tmp_path, ["a0.png,a,,,x"], "image,identity,attribute,variations,style"))


def authors_folder(root: Path, faces: dict[str, int]) -> Path:
    """Write every picture that the authors publish of so many faces, spelled as in the paper."""
    picture = io.BytesIO()
    Image.new("RGB", (2, 2), "teal").save(picture, "PNG")
    for gender, count in faces.items():
        for number in range(count):
            person = {"age": "elderly", "gender": gender, "ethnicity": "Latino", "body": "thin"}
            listed = [None, *(v for v in grid() if gender in v.fate)]
            for v in listed:
                stem = f"{gender}{number}" if v is None else f"{gender}{number}_{v.attribute}_{v.name}"
                traits = person if v is None else {**person, "variation": {v.attribute: v.title}}
                (root / f"{stem}.png").write_bytes(picture.getvalue())
                (root / f"{stem}_metadata.json").write_text(json.dumps({"characteristics": traits}))
    return root


def test_the_authors_folders_are_judged_in_the_grid_that_the_paper_keeps(make: Make, tmp_path: Path) -> None:
    folder = str(authors_folder(tmp_path, {"male": 2, "female": 2}))
    kept, whole = make(folders=folder), make(folders=folder, grid="all")
    assert (plan(kept).stimuli, plan(whole).stimuli) == (2 * 31 + 2 * 32, 2 * 50 + 2 * 51)
    pairs = kept.manifest.filter(pl.col("gender") == "male").select("attribute", "variation").drop_nulls().unique()
    assert set(pairs.iter_rows()) == {(v.attribute, v.name) for v in whitelist("male")}
    said = {(one.what, one.why) for one in plan(kept).left_out}
    assert ("lip_makeup: bold, neutral: 4 images", "Dropped by the paper's plausibility pass (Table 10). "
            "--grid all judges them.") in said  # fmt: skip
    assert sum(int(what.rsplit(": ", 1)[1].split(" ")[0]) for what, _ in said) == 202 - 126
    assert plan(whole).left_out == ()
    with pytest.raises(DataError, match="--grid all"):
        make(folders=folder, variations=["scars"])


@pytest.mark.parametrize(
    ("gender", "attribute", "variation", "judged"),
    [
        ("male", "hair_style", "braid", False),
        ("", "Hair style", "Buzz cut", False),
        ("Woman", "lip_makeup_female", "neutral lipstick", False),
        ("female", "lip makeup", "Red lipstick", True),
        ("M", "makeup", "light", False),
        ("nonbinary", "makeup", "light", True),
        ("male", "hair_style", "perm", True),
        ("male", "pose", "turned", True),
    ],
)
def test_a_manifest_is_judged_in_the_papers_grid_and_in_its_own(
    make: Make, tmp_path: Path, gender: str, attribute: str, variation: str, judged: bool
) -> None:
    rows = [f"a0.png,a,,,{gender}", f"a1.png,a,{attribute},{variation},", "a2.png,a,eyewear,sunglasses,"]
    path = manifest(tmp_path, rows, "image,identity,attribute,variation,gender")
    found = plan(make(manifest=path))
    assert found.stimuli == 1 + judged
    assert len(found.left_out) == (not judged)
    assert plan(make(manifest=path, grid="all")).stimuli == 2


def test_a_manifest_of_the_papers_500_faces_takes_what_the_paper_took(make: Make, tmp_path: Path) -> None:
    rows = ["image,identity,attribute,variation,gender"]
    for who in (*(f"m{i}" for i in range(274)), *(f"f{i}" for i in range(226))):
        gender = "male" if who[0] == "m" else "female"
        rows += [f"{who}.png,{who},,,{gender}"]
        rows += [f"{who}-{v.attribute}-{v.name}.png,{who},{v.attribute},{v.title},{gender}" for v in grid()
                 if gender in v.fate]  # fmt: skip
    path = tmp_path / "images.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    found = plan(make(manifest=str(path)))
    assert (found.stimuli, found.trials) == (15_726, 4_717_800)
    assert plan(make(manifest=str(path), grid="all")).stimuli == 25_226


def test_fashion_is_compared_with_the_same_person_full_body_in_plain_clothes(make: Make) -> None:
    study = make(faces="1M,1F", attributes=["fashion_style", "eyewear"])
    faces = sets_of(study.manifest)
    shown = study.manifest[faces.variation_rows]
    bases = study.manifest[faces.base_of]
    assert bases["identity"].to_list() == shown["identity"].to_list()
    control = (bases["attribute"] == "framing").fill_null(value=False)
    assert (control == (shown["attribute"] == "fashion_style")).all()
    row = study.manifest.filter(pl.col("attribute") == "framing").row(0, named=True)
    who = PortraitSource(study.manifest).identity(row)
    drawn = study.source.stimulus(0, row).load()[0].data
    assert drawn == png(svg(who, None, "full-body"), 512) != png(svg(who, None), 512)
    only_glasses, as_published = make(faces="2", attributes=["eyewear"]), make(faces="2", fashion_base="portrait")
    for other in (only_glasses, as_published):
        assert not (other.manifest["attribute"] == "framing").any()


def test_a_manifest_may_have_its_own_full_body_base(make: Make, tmp_path: Path) -> None:
    rows = ["a0.png,a,,,x", "af.png,a,framing,full-body,x", "a1.png,a,Fashion,Formal,x", "a2.png,a,hat,top-hat,x",
            "b0.png,b,,,y", "bf.png,b,framing,full-body,y", "b1.png,b,Fashion,Formal,y"]  # fmt: skip
    faces = sets_of(make(manifest=manifest(tmp_path, rows)).manifest)
    compared = faces.manifest["image"][faces.base_of].to_list()
    assert dict(zip(faces.manifest["image"][faces.variation_rows], compared, strict=True)) == {
        "a1.png": "af.png", "a2.png": "a0.png", "b1.png": "bf.png",
    }  # fmt: skip
    with pytest.raises(DataError, match="fashion-base portrait"):
        make(manifest=manifest(tmp_path, [row for row in rows if row[:2] != "bf"]))
    without = make(manifest=manifest(tmp_path, [row for row in rows if row[:2] != "bf"]), fashion_base="portrait")
    assert plan(without).stimuli == 3


def test_framing_has_an_estimate_of_its_own_and_no_part_in_the_shift_of_fashion(make: Make) -> None:
    study = make(faces="4M,4F", attributes=["fashion_style", "eyewear"], scenario=["wealthy", "polite"])
    rng = np.random.default_rng(3)
    phi = rng.uniform(0.2, 0.3, size=(study.manifest.height, 2))
    full = study.manifest["attribute"].is_in(["framing", "fashion_style"]).fill_null(value=False).to_numpy()
    formal = (study.manifest["variation"] == "formal").fill_null(value=False).to_numpy()
    phi[full] += 0.3  # what the view alone does
    phi[formal] += 0.2
    faces = sets_of(study.manifest)
    model = estimator(faces, phi, ["wealthy", "polite"])
    own = model.values.delta[study.manifest["variation"][faces.variation_rows].to_numpy() == "formal"]
    assert own.mean() == pytest.approx(0.2, abs=0.03)
    (found,) = estimates_of(model, FramingShift).to_dicts()
    assert found["measure"] == "framing_shift"
    assert found["low"] < 0.3 < found["high"]
    assert (found["n"], found["clusters"], found["family"]) == (16, 8, "framing")
