"""Inspection of a set of pictures: a run like any other, rules, who passes, and runs without those that fail."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import DataError, FaceValueError
from facevalue.inspection.inspector import Inspector
from facevalue.inspection.quantities import QUANTITIES
from facevalue.protocol.picture_checks import ACCEPTED, REASONS, USUAL, PictureRule, read_verdicts
from facevalue.runs.export import export
from facevalue.runs.own_pictures.acceptance import Inspections, apply_rules
from facevalue.runs.own_pictures.inspection import InspectionOutcome, inspect_pictures, rewritten_sources
from facevalue.runs.pictures import NOT_NAMED, load_shown
from facevalue.runs.progress import SilentProgress
from facevalue.runs.stored_run import StoredRun
from facevalue.runs.verify import verify
from facevalue.stimuli.images import ImageFiles
from facevalue.stimuli.portraits import sample_identities
from tests.inspection.plants import lightened, portrait, recompressed
from tests.measure_keys import by_key

LIGHTER = PictureRule("skin_lightness_change", low=-2, high=2)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four people, whose null edit is a recompression and whose glasses lighten the skin of women."""
    folder = tmp_path_factory.mktemp("made")
    rows = []
    for person in sample_identities({"female": 2, "male": 2}, 5):
        source = portrait(person, size=160)
        glasses = portrait(person, ("eyewear", "sunglasses"), 160)
        shown = {"": source, "no change": recompressed(source), "glasses": glasses}
        if person.gender == "female":
            shown["glasses"] = lightened(glasses, 6)
        for cue, picture in shown.items():
            name = f"{person.id}{cue.replace(' ', '-')}"
            picture.save(folder / f"{name}.png")
            rows.append(
                {
                    "image": name,
                    "path": f"{name}.png",
                    "identity": person.id,
                    "gender": person.gender,
                    "cue": cue or None,
                    "source": person.id if cue else None,
                }
            )
    (folder / "broken.png").write_bytes(b"no picture")
    rows.append(
        {"image": "broken", "path": "broken.png", "identity": "z", "gender": "male", "cue": None, "source": None}
    )
    pl.DataFrame(rows).write_parquet(folder / "manifest.parquet")
    return folder


@pytest.fixture(scope="module")
def outcome(made: Path) -> InspectionOutcome:
    return inspect_pictures(made, {}, None, SilentProgress(), rules=(LIGHTER,))


def test_every_picture_is_a_row_with_its_quantities(outcome: InspectionOutcome) -> None:
    assert outcome.inspections is not None
    table = outcome.inspections.table
    assert table.height == 13
    assert outcome.inspections.groups == ("gender",)
    assert set(table.columns) >= {quantity.name for quantity in QUANTITIES}
    assert table.filter(image="broken")["readable"].item() == 0
    assert table["persons"].null_count() == 13
    lighter = table.filter(looked_for="glasses", gender="female")["skin_lightness_change"]
    assert lighter.to_list() == pytest.approx([6, 6], abs=0.6)


def test_what_breaks_a_rule_says_so_and_what_cannot_be_opened_never_passes(outcome: InspectionOutcome) -> None:
    assert outcome.acceptance is not None
    table = outcome.acceptance.table
    failed = dict(table.filter(~pl.col(ACCEPTED)).select("image", REASONS).iter_rows())
    assert failed.pop("broken") == ["it cannot be decoded"]
    assert len(failed) == 2
    assert all(reasons == [LIGHTER.text] for reasons in failed.values())
    shares = {share.group: share for share in outcome.acceptance.shares if share.factor == "gender"}
    assert shares["female"].share == pytest.approx(4 / 6)
    assert shares["female"].people == 2
    assert shares["male"].share == pytest.approx(6 / 7)


def test_an_inspection_is_a_sound_run_that_goes_on_where_it_stopped(made: Path, outcome: InspectionOutcome) -> None:
    run = StoredRun.open(outcome.place)
    assert verify(run).replies == 13
    again = inspect_pictures(made, {}, None, SilentProgress(), rules=())
    assert again.summary.asked == 0
    assert again.acceptance is not None
    assert int(again.acceptance.table[ACCEPTED].sum()) == 12


def test_pictures_of_one_kind_alone_are_inspected_too(made: Path, tmp_path: Path) -> None:
    table = pl.read_parquet(made / "manifest.parquet").filter(pl.col("source").is_null()).head(2)
    table.drop("cue", "source").with_columns(gender=pl.lit("female")).write_parquet(made / "few.parquet")
    outcome = inspect_pictures(made / "few.parquet", {}, tmp_path / "few", SilentProgress())
    assert outcome.acceptance is not None
    assert outcome.acceptance.table[ACCEPTED].all()


def test_a_list_far_from_its_pictures_says_what_names_their_folder(made: Path, tmp_path: Path) -> None:
    (tmp_path / "list.parquet").write_bytes((made / "manifest.parquet").read_bytes())
    with pytest.raises(DataError, match="--root says which folder"):
        inspect_pictures(tmp_path / "list.parquet", {}, None, SilentProgress())
    outcome = inspect_pictures(tmp_path / "list.parquet", {}, tmp_path / "c", SilentProgress(), root=str(made))
    assert load_shown(StoredRun.open(outcome.place), 0).why == NOT_NAMED
    assert len(load_shown(StoredRun.open(outcome.place, pictures=made), 0).images) == 1


def test_an_edit_that_is_a_copy_of_its_source_fails_and_a_null_edit_may_be_one(outcome: InspectionOutcome) -> None:
    assert outcome.inspections is not None
    table = outcome.inspections.table
    copies = replace(outcome.inspections, table=table.with_columns(
        greatest_change=pl.when(looked_for="glasses").then(0.4).when(looked_for="no change").then(0.0)
    ))  # fmt: skip
    failed = dict(apply_rules(copies, USUAL).table.filter(~pl.col(ACCEPTED)).select("image", REASONS).iter_rows())
    assert {tuple(why) for image, why in failed.items() if image != "broken"} == {("greatest_change at least 2",)}
    assert sum("glasses" in image for image in failed) == 4
    assert apply_rules(outcome.inspections, USUAL).table.filter(ACCEPTED).height == 12
    alone = replace(outcome.inspections, table=table.filter(pl.col("other_path").is_null()))
    assert apply_rules(alone, USUAL).table.filter(ACCEPTED).height == 4


def test_edits_of_a_source_that_fails_fail_with_it(outcome: InspectionOutcome) -> None:
    assert outcome.inspections is not None
    table = outcome.inspections.table
    worse = Inspections(
        table.with_columns(pl.when(image=table["image"][0]).then(1.0).otherwise("blankness").alias("blankness")),
        (), "identity", (),
    )  # fmt: skip
    verdicts = apply_rules(worse, (PictureRule("blankness", high=0.98),)).table
    of_person = verdicts.filter(pl.col("image").str.starts_with(table["image"][0]))
    assert not of_person[ACCEPTED].any()
    assert of_person[REASONS].to_list()[1:] == [["its source fails"]] * 2


def test_a_rule_about_what_nothing_was_computed_of_says_what_to_give(outcome: InspectionOutcome) -> None:
    assert outcome.inspections is not None
    with pytest.raises(DataError, match="--with-model objects="):
        apply_rules(outcome.inspections, (PictureRule("persons", high=1),))
    with pytest.raises(DataError, match="4 null edits of the 20"):
        apply_rules(outcome.inspections, (PictureRule("structure", calibrated="at_least"),))


def simulated(people: int, seed: int = 1) -> Inspections:
    """Identity distances of one cue, farther for one group, and of other people."""
    rng = np.random.default_rng(seed)
    rows = [
        {"image": f"{person}{cue}", "path": f"{person}{cue}", "other_path": f"{person}s", "identity": str(person),
         "gender": gender, "looked_for": cue, "readable": 1.0,
         "identity_distance": rng.normal(0.3 + 0.2 * (cue == "hat"), 0.02),
         "other_distance": rng.normal(0.6 + 0.2 * (gender == "male"), 0.02), "structure": rng.normal(0.9, 0.01)}
        for person in range(people) for gender in (("female", "male")[person % 2],) for cue in ("no change", "hat")
    ]  # fmt: skip
    return Inspections(pl.DataFrame(rows), ("gender",), "identity", ("identity",))


def test_limits_are_of_a_cue_and_group_where_there_are_enough_pairs() -> None:
    limits = apply_rules(simulated(200), (PictureRule("identity_distance", calibrated="at_most"),)).limits
    assert {(limit.cue, limit.group) for limit in limits} == {
        (cue, gender) for cue in ("hat", "no change") for gender in ("female", "male")
    }
    assert {limit.of for limit in limits} == {"cue and group"}
    for limit in limits:
        assert (limit.pairs, limit.people) == (100, 100)
        assert limit.value == pytest.approx(0.6 + 0.2 * (limit.group == "male") - 1.64 * 0.02, abs=0.015)


def test_of_few_pairs_limits_are_of_a_group_or_of_all_and_say_so() -> None:
    (rule,) = (PictureRule("identity_distance", calibrated="at_most"),)
    assert {limit.of for limit in apply_rules(simulated(24), (rule,)).limits} == {"group"}
    assert {limit.of for limit in apply_rules(simulated(12), (rule,)).limits} == {"all"}


def test_pairs_of_few_people_are_said_to_be_of_few() -> None:
    few = simulated(200)
    few = replace(few, table=few.table.with_columns(identity=pl.col("identity").cast(pl.Int64) % 4))
    (rule,) = (PictureRule("identity_distance", calibrated="at_most"),)
    assert {(limit.pairs, limit.people) for limit in apply_rules(few, (rule,)).limits} == {(400, 4)}


def test_what_was_not_inspected_passes_nothing_and_counts_in_no_share() -> None:
    inspections = simulated(10)
    table = inspections.table.with_columns(pl.when(identity="3").then(None).otherwise("readable").alias("readable"))
    outcome = apply_rules(replace(inspections, table=table), (PictureRule("structure", low=0),))
    assert outcome.table.filter(~pl.col(ACCEPTED))[REASONS].to_list() == [["it was not inspected"]] * 2
    assert [(share.accepted, share.pictures, share.people) for share in outcome.shares if not share.factor] == [
        (18, 18, 9)
    ]
    nothing = apply_rules(replace(inspections, table=table.with_columns(readable=pl.lit(None, pl.Float64))), ())
    assert (nothing.shares, nothing.balance) == ((), ())


def test_lookalikes_that_were_not_looked_for_break_no_rule() -> None:
    inspections = simulated(4)
    table = inspections.table.with_columns(lookalikes=pl.lit(None, pl.Float64))
    with pytest.raises(DataError, match="up to 200,000 pictures"):
        apply_rules(replace(inspections, table=table), (PictureRule("lookalikes", high=0),))


def test_null_edits_give_the_limits_of_what_an_edit_should_leave() -> None:
    outcome = apply_rules(simulated(200), (PictureRule("structure", calibrated="at_least"),))
    assert {limit.kind for limit in outcome.limits} == {"null edits"}
    assert outcome.table[ACCEPTED].mean() == pytest.approx(0.95, abs=0.04)


def test_sources_written_anew_give_limits_where_nothing_was_left_unedited(
    made: Path, outcome: InspectionOutcome
) -> None:
    assert outcome.inspections is not None
    table = outcome.inspections.table
    group = pl.Series("group", ["all"] * table.height)
    files = ImageFiles(table, made)
    pairs = rewritten_sources(table, group, files, Inspector("inspect/default"), list)
    assert pairs.height == 4  # the broken one is left out
    assert (pairs["structure"] > 0.9).all()
    assert (pairs["shift"] < 0.3).all()
    many = Inspections(table, (), "identity", ())
    several = apply_rules(many, (PictureRule("structure", calibrated="at_least"),), lambda _: pl.concat([pairs] * 5))
    assert {(limit.kind, limit.of, limit.pairs) for limit in several.limits} == {("sources written anew", "all", 20)}


def test_of_several_attempts_the_first_that_passes_is_kept() -> None:
    rows = [
        {"image": f"s{unit}/{attempt}/{member}", "path": f"{unit}{attempt}{member}", "other_path": None,
         "identity": "x", "set": f"s{unit}/{attempt}", "looked_for": "", "readable": 1.0, "attempt": str(attempt),
         "sharpness": 0.1 if (unit, attempt, member) in {(1, 1, 0), (2, 2, 0), (3, 1, 0), (3, 2, 1)} else 0.9}
        for unit in (1, 2, 3) for attempt in (1, 2) for member in (0, 1)
    ]  # fmt: skip
    table = pl.DataFrame(rows, schema_overrides={"other_path": pl.String})
    outcome = apply_rules(Inspections(table, (), "set", ()), (PictureRule("sharpness", low=0.5),))
    kept = outcome.table.filter(ACCEPTED)["image"].to_list()
    assert kept == ["s1/2/0", "s1/2/1", "s2/1/0", "s2/1/1", "s3/1/1"]
    assert outcome.shares[0].accepted == 8  # of all attempts
    spare = outcome.table.filter(image="s2/2/1")[REASONS].item().to_list()
    assert spare == ["another attempt is kept"]


def test_edits_of_an_attempt_go_with_it_where_each_picture_is_a_unit() -> None:
    rows = [
        {"image": f"f1/{attempt}{edit}", "path": f"{attempt}{edit}", "other_path": str(attempt) if edit else None,
         "identity": f"f1/{attempt}{edit}", "set": None, "looked_for": edit, "readable": 1.0, "attempt": str(attempt),
         "sharpness": 0.1 if (attempt, edit) == (1, "/cap") else 0.9}
        for attempt in (1, 2, 3) for edit in ("", "/cap")
    ]  # fmt: skip
    table = pl.DataFrame(rows, schema_overrides={"other_path": pl.String, "set": pl.String})
    outcome = apply_rules(Inspections(table, (), "identity", ()), (PictureRule("sharpness", low=0.5),))
    assert outcome.table.filter(ACCEPTED)["image"].to_list() == ["f1/2", "f1/2/cap"]


def test_an_edit_of_an_edit_fails_with_the_first_source() -> None:
    rows = [("a", "a", None, 0.1), ("b", "b", "a", 0.9), ("c", "c", "b", 0.9), ("d", "d", None, 0.9)]
    table = pl.DataFrame(rows, schema=["image", "path", "other_path", "sharpness"], orient="row").with_columns(
        identity=pl.lit("x"), set=pl.lit(None, pl.String), looked_for=pl.lit(""), readable=pl.lit(1.0)
    )
    outcome = apply_rules(Inspections(table, (), "identity", ()), (PictureRule("sharpness", low=0.5),))
    assert outcome.table.filter(ACCEPTED)["image"].to_list() == ["d"]
    assert outcome.table.filter(image="c")[REASONS].item().to_list() == ["its source fails"]


def test_many_pairs_of_a_few_people_give_a_group_no_limit_of_its_own() -> None:
    rows = [
        {"image": f"{gender}{person}-{at}", "path": f"{gender}{person}-{at}", "other_path": f"{gender}{person}",
         "identity": f"{gender}{person}", "set": None, "looked_for": "no change", "gender": gender, "readable": 1.0,
         "structure": 0.9 + 0.01 * at}
        for gender, people in (("female", 2), ("male", 8)) for person in range(people) for at in range(30 // people)
    ]  # fmt: skip
    table = pl.DataFrame(rows, schema_overrides={"set": pl.String})
    outcome = apply_rules(
        Inspections(table, ("gender",), "identity", ()), (PictureRule("structure", calibrated="at_least"),)
    )
    assert {(limit.group, limit.of, limit.people) for limit in outcome.limits} == {
        ("female", "all", 10), ("male", "cue and group", 8),
    }  # fmt: skip


def test_groups_that_pass_unalike_are_found_and_chance_is_not() -> None:
    rng = np.random.default_rng(3)
    found = 0
    for audit in range(60):
        inspections = simulated(60, audit)
        chance = pl.Series("structure", rng.random(inspections.table.height))
        (balance,) = apply_rules(
            Inspections(inspections.table.with_columns(chance), ("gender",), "identity", ()),
            (PictureRule("structure", low=0.3),),
        ).balance
        assert balance.p is not None
        found += balance.p < 0.05
    assert found <= 8
    table = simulated(60).table
    unalike = table.with_columns(pl.when(gender="male").then(0.0).otherwise(1.0).alias("structure"))
    (balance,) = apply_rules(
        Inspections(unalike, ("gender",), "identity", ()), (PictureRule("structure", low=0.5),)
    ).balance
    assert balance.spread == 1
    assert (balance.p or 1) < 0.01


STUDY = """
name = "hired"
[pictures]
kind = "manifest"
unit = "identity"
cue = "cue"
base = "no change"
[prompt]
text = "Would you hire this person? {options}"
[answer]
kind = "yes-no"
[[estimand]]
statistic = "shift"
by = ["cue"]
"""


def test_a_run_leaves_out_what_failed_and_is_resumed(made: Path, outcome: InspectionOutcome, tmp_path: Path) -> None:
    inspect_pictures(made, {}, None, SilentProgress(), rules=(LIGHTER,))
    edits = pl.read_parquet(made / "manifest.parquet").filter(pl.col("source").is_not_null()).drop("source")
    edits.write_parquet(made / "edits.parquet")
    (tmp_path / "hired.toml").write_text(STUDY)
    listed, checks = str(made / "edits.parquet"), str(made / "checks")
    study = fv.study(tmp_path / "hired.toml", manifest=listed, exclude=checks, outside=True)
    run = fv.run(study, "sim/default", tmp_path / "run", progress=False)
    shown = run.answers()["image"].unique().cast(pl.String).to_list()
    verdicts = dict(read_verdicts(made / "checks").select("image", "accepted").iter_rows())
    assert sorted(shown) == sorted(image for image in edits["image"] if verdicts[image])
    assert len(shown) == 6
    assert "exclude" in (tmp_path / "run" / "run.toml").read_text()
    again = fv.run(study, "sim/default", tmp_path / "run", progress=False).summary
    assert again is not None
    assert again.asked == 0
    everything = fv.study(tmp_path / "hired.toml", manifest=listed, outside=True)
    with pytest.raises(FaceValueError, match="exclude"):
        fv.run(everything, "sim/default", tmp_path / "run", progress=False)


def test_replies_that_there_are_answer_a_run_without_what_failed(
    made: Path, outcome: InspectionOutcome, tmp_path: Path
) -> None:
    inspect_pictures(made, {}, None, SilentProgress(), rules=(LIGHTER,))
    edits = pl.read_parquet(made / "manifest.parquet").filter(pl.col("source").is_not_null()).drop("source")
    edits.write_parquet(made / "edits.parquet")
    (tmp_path / "hired.toml").write_text(STUDY)
    listed, checks = str(made / "edits.parquet"), str(made / "checks")
    study = fv.study(tmp_path / "hired.toml", manifest=listed, outside=True)
    everything = fv.run(study, "sim/default", tmp_path / "all", progress=False)
    export(everything.stored, tmp_path / "replies.parquet")
    pl.read_parquet(tmp_path / "replies.parquet").drop("trial").write_parquet(tmp_path / "replies.parquet")
    passing = fv.run(
        fv.study(tmp_path / "hired.toml", manifest=listed, exclude=checks, outside=True),
        f"replay/{tmp_path / 'replies.parquet'}", tmp_path / "passing", progress=False,
    )  # fmt: skip
    assert passing.complete
    columns = (pl.col("image").cast(pl.String), pl.col("ordering").cast(pl.String), "share")
    shared = passing.answers().select(columns)
    same = shared.join(everything.answers().select(columns), on=["image", "ordering"])
    assert same.height == shared.height > 0
    assert (same["share"] == same["share_right"]).all()


def test_checks_that_are_none_or_of_others_are_one_sentence(
    made: Path, outcome: InspectionOutcome, tmp_path: Path
) -> None:
    table = pl.read_parquet(made / "manifest.parquet").filter(pl.col("cue").is_not_null()).drop("source")
    (tmp_path / "hired.toml").write_text(STUDY)
    for manifest, checks, message in (
        (table, tmp_path, "is no folder that facevalue inspect-pictures finished"),
        (table.with_columns(pl.col("image") + "x"), made / "checks", "were not checked, such as"),
    ):
        manifest.write_parquet(made / "list.parquet")
        with pytest.raises(DataError, match=message):
            fv.study(tmp_path / "hired.toml", manifest=str(made / "list.parquet"), exclude=str(checks), outside=True)
    changed = tmp_path / "changed"
    shutil.copytree(made / "checks", changed)
    (changed / "accepted.parquet").write_bytes((made / "list.parquet").read_bytes())
    with pytest.raises(DataError, match="is not what was written"):
        read_verdicts(changed)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"source": "nobody"}, "the source is no picture of the list"),
        ({"source": "a"}, "a picture is its own source"),
    ],
)
def test_a_list_whose_sources_make_no_sense_is_one_sentence(rows: dict[str, str], message: str, tmp_path: Path) -> None:
    pl.DataFrame({"image": ["a"], "path": ["a.png"], **{name: [value] for name, value in rows.items()}}).write_csv(
        tmp_path / "list.csv"
    )
    with pytest.raises(DataError, match=message):
        inspect_pictures(tmp_path / "list.csv", {}, None, SilentProgress())
    with pytest.raises(DataError, match="There is no "):
        inspect_pictures(tmp_path / "nothing", {}, None, SilentProgress())
    with pytest.raises(DataError, match=r"holds no manifest\.parquet"):
        inspect_pictures(tmp_path, {}, None, SilentProgress())


def test_pictures_in_object_storage_are_inspected_and_left_out_where_they_lie(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACEVALUE_CACHE", str(tmp_path / "cache"))
    place = tmp_path / "store"
    shutil.copytree(made, place, ignore=shutil.ignore_patterns("checks*"))
    (place / "rules.toml").write_text('[[rule]]\nquantity = "skin_lightness_change"\nat_least = -2\nat_most = 2\n')
    inspected = fv.inspect_pictures(place.as_uri(), rules=place / "rules.toml", progress=False)
    assert inspected.place == f"{place.as_uri()}/checks"
    assert (inspected.accepted_pictures.height, inspected.pictures.height) == (10, 13)
    assert (place / "checks" / "accepted.toml").is_file()
    assert inspected.run.study.name == "pictures"
    again = fv.inspect_pictures(f"{place.as_uri()}/manifest.parquet", progress=False)
    assert again.run.summary is not None
    assert (again.run.summary.asked, again.accepted_pictures.height) == (0, 12)
    listed = pl.read_parquet(place / "manifest.parquet").filter(pl.col("source").is_not_null()).drop("source")
    listed.write_parquet(place / "edits.parquet")
    (tmp_path / "hired.toml").write_text(STUDY)
    fv.inspect_pictures(place.as_uri(), rules=place / "rules.toml", progress=False)
    study = fv.study(
        tmp_path / "hired.toml", manifest=f"{place.as_uri()}/edits.parquet", exclude=str(again.place), outside=True
    )
    run = fv.run(study, "sim/default", tmp_path / "run", progress=False)
    assert run.answers()["image"].n_unique() == 6


def test_a_picture_that_is_called_by_its_digest_is_compared_with_it(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACEVALUE_CACHE", str(tmp_path / "cache"))
    place = tmp_path / "store"
    place.mkdir()
    for name in ("b", "ab" * 32):
        (place / f"{name}.png").write_bytes(next(made.glob("[!b]*.png")).read_bytes())
    (place / "list.csv").write_text(f"image,path\na,{'ab' * 32}.png\nb,b.png\n")
    outcome = inspect_pictures(f"{place.as_uri()}/list.csv", {}, tmp_path / "checks", SilentProgress())
    assert outcome.summary.errors == 1
    with pytest.raises(DataError, match=r"holds no manifest\.parquet"):
        fv.inspect_pictures(place.as_uri(), progress=False)


@pytest.mark.slow
def test_the_page_of_checks_opens_with_how_many_pass_and_why_others_do_not(made: Path, tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text('[[rule]]\nquantity = "skin_lightness_change"\nat_least = -2\nat_most = 2\n')
    checks = fv.inspect_pictures(made, tmp_path / "checks", rules=tmp_path / "rules.toml", progress=False)
    whole = checks.run.estimates().filter(pl.col("gender").is_null(), pl.col("looked_for").is_null())
    assert whole.filter(measure="mean", score="passes")["value"].item() == pytest.approx(10 / 13)
    assert {"gap.passes", "mean.fails_1", "mean.fails_2"} <= {*by_key(checks.run.estimates())["measure"]}
    assert not {"mean.width", "mean.readable", "mean.size_change"} & {*by_key(checks.run.estimates())["measure"]}
    page = checks.run.report().answer
    assert "10 of 13 pictures pass (76.9%" in page
    assert "skin, change of lightness: at least -2 and at most 2 L* (2 do not); it cannot be decoded (1 do not)" in page
    assert "Leave out what fails" in Path(checks.run.report()).read_text()
    again = fv.inspect_pictures(made, tmp_path / "checks", progress=False)
    assert "12 of 13 pictures pass" in again.run.report().answer


def test_a_page_of_checks_without_rules_says_how_they_are_applied(made: Path, tmp_path: Path) -> None:
    inspect_pictures(made, {}, tmp_path / "checks", SilentProgress())
    (tmp_path / "checks" / "accepted.toml").unlink()
    run = fv.open_run(tmp_path / "checks")
    assert "mean.passes" not in by_key(run.estimates())["measure"].to_list()
    assert "No rules were applied to these pictures yet" in run.report().answer
