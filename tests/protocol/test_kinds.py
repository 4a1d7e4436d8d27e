"""Kinds of pictures and answers: each goes from a declaration to estimates."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from facevalue.models import load
from facevalue.protocol.protocol import Protocol
from facevalue.runs import RunSettings, run
from facevalue.runs.joined_runs import estimate
from facevalue.runs.stored_run import StoredRun
from tests.measure_keys import by_key
from tests.protocol.conftest import MINIMAL, Reader

LISTED = """
[pictures]
kind = "{kind}"
cue = "hat"
base = "none"
{rest}
[prompt]
text = "How do you see this person?"
[answer]
{answer}
[[estimand]]
statistic = "{measure}"
"""
YES = 'kind = "yes-no"'


def pictures(folder: Path, sets: int = 4) -> None:
    rng = np.random.default_rng(0)
    rows = ["path,set,identity,hat,gender"]
    for number in range(sets):
        for hat in ("none", "cap", "beanie"):
            path = folder / "sets" / f"s{number}" / f"{hat}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rng.integers(0, 255, (64, 48, 3), dtype=np.uint8)).save(path)
            rows.append(f"sets/s{number}/{hat}.png,s{number},s{number},{hat},{'female' if number % 2 else 'male'}")
    (folder / "list.csv").write_text("\n".join(rows))


def measured(protocol: Protocol, folder: Path, *, exact: bool = False, model: str = "sim/strong") -> pl.DataFrame:
    study = protocol.study()
    run(study, load(model), folder, RunSettings(exact=exact))
    opened = StoredRun.open(folder, pictures=Path(str(study.options["root"])) if study.options.get("root") else None)
    found, tallies = estimate([opened])
    assert all(tally.valid for tally in tallies.values())
    return by_key(found)


@pytest.mark.parametrize(
    ("kind", "rest", "measure"),
    [
        ("manifest", 'manifest = "list.csv"\nunit = "set"', "shift"),
        ("manifest", 'manifest = "list.csv"', "shift"),
        ("folder", 'path = "sets"', "shift"),
        ("pairs", 'manifest = "list.csv"', "preference"),
    ],
)
def test_pictures_of_one_s_own(kind: str, rest: str, measure: str, read: Reader) -> None:
    pictures(read.folder)
    text = LISTED.format(kind=kind, rest=rest, answer=YES, measure=f'{measure}"\nby = ["hat"]\nfamily = "hats')
    found = measured(read(text), read.folder / "run")
    rows = found.filter(pl.col("family") == "hats")
    assert sorted(rows["hat"].to_list()) == ["beanie", "cap"]
    assert rows["clusters"].to_list() == [4, 4]
    if kind == "pairs":
        assert found.filter(measure="response_bias.side").height == 1


def test_a_preference_follows_the_picture_and_not_its_side(read: Reader) -> None:
    """A respondent who always prefers the left picture prefers no hat: half of the hats are on the left."""
    pictures(read.folder)
    answer = 'kind = "choice"\noptions = ["left", "right"]\nfavourable = "left"'
    study = read(LISTED.format(kind="pairs", rest='manifest = "list.csv"', answer=answer, measure="preference")).study()
    frame = study.design.trials(np.arange(study.design.size))
    said = frame.with_columns(
        repeat=pl.lit(0, pl.UInt8), status=pl.lit("ok"), text=pl.lit("left"), probs=pl.lit(None, pl.List(pl.Float32))
    )
    answers = study.answer(said)
    assert answers.group_by("hat", "base_side").agg(pl.col("share").mean()).sort("hat", "base_side")[
        "share"
    ].to_list() == [0.0, 1.0, 0.0, 1.0]
    found = by_key(study.analyse({"left": iter([answers])}))
    one = {row["measure"]: row["value"] for row in found.to_dicts() if row["hat"] is None and row["gender"] is None}
    assert one["preference"] == pytest.approx(0.0)
    assert one["response_bias.side"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("answer", "measures"),
    [
        ('kind = "rating"\nlow = 1\nhigh = 7', {"shift"}),
        ('kind = "choice"\noptions = ["a nurse", "a cook", "a judge"]\nfavourable = "a judge"', {"shift"}),
        ('kind = "choice"\noptions = ["no", "maybe", "yes"]\nscores = {no = 0, maybe = 1, yes = 2}', {"shift"}),
        ('kind = "number"\nunit = "USD"\nlow = 0\nhigh = 200000', {"shift"}),
        ('kind = "number"', {"shift"}),
        ('kind = "salary"', {"shift"}),
        ('kind = "json"\n[answer.fields]\nage = {low = 0, high = 100}\nwork = {options = ["judge", "cook"], '
         'favourable = "judge"}', {"shift.age", "shift.work"}),
        ('kind = "text"\n[answer.words]\nwarm = ["warm", "gentle"]', {"shift.characters", "shift.words", "shift.warm"}),
    ],
)  # fmt: skip
def test_kinds_of_answers(answer: str, measures: set[str], read: Reader) -> None:
    found = measured(read.changed('kind = "yes-no"', answer), read.folder / "run")
    rows = found.filter(pl.col("measure").is_in(measures))
    assert set(rows["measure"]) == measures
    assert rows["value"].is_not_null().all()
    assert rows["job"].is_not_null().all()


def test_exact_ratings_are_expected_ratings(read: Reader) -> None:
    rows = (
        f'{{identity = "{i}", first = "{name}", city = "C{i}"}}' for i in range(30) for name in ("Emily", "Lakisha")
    )
    text = MINIMAL.replace('kind = "yes-no"', 'kind = "rating"')
    text = text[: text.index("rows = [")] + f"rows = [{', '.join(rows)}]\n" + text[text.index("[prompt]") :]
    many = text + "[sampling]\nseeds = [" + ", ".join(map(str, range(1, 41))) + "]\n"
    drawn = measured(read(many), read.folder / "drawn", model="sim/default")
    exact = measured(read(text), read.folder / "exact", exact=True, model="sim/default")
    key = pl.col("measure") == "shift"
    apart = (drawn.filter(key)["value"] - exact.filter(key)["value"]).abs().to_list()
    assert max(apart) < 4 * 1.5 * (2 / (30 * 40)) ** 0.5  # four standard errors of 1,200 replies on either side


@pytest.mark.parametrize(
    ("said", "salary"),
    [("$45k", 45_000.0), ("$20 an hour", 40_000.0), ("50,000 to 60,000", 55_000.0), ("$4,000 a month", None),
     ("£30,000", None), ("12", None), ("40000, or 50000", None), ("-40000", None), ("", None), ("a lot", None)],
)  # fmt: skip
def test_salaries_are_read(said: str, salary: float | None, read: Reader) -> None:
    study = read.changed('kind = "yes-no"', 'kind = "salary"').study()
    frame = study.design.trials([0]).with_columns(
        repeat=pl.lit(0, pl.UInt8), status=pl.lit("ok"), text=pl.lit(said), probs=pl.lit(None, pl.List(pl.Float32))
    )
    assert study.answer(frame)["amount"].to_list() == [salary]


@pytest.mark.parametrize(
    ("said", "rating"), [("4", 4.0), ("4/5", 4.0), ("I'd say 4 out of 5.", 4.0), ("4 or 5", None), ("9", None)]
)
def test_ratings_are_read(said: str, rating: float | None, read: Reader) -> None:
    study = read.changed('kind = "yes-no"', 'kind = "rating"').study()
    frame = study.design.trials([0]).with_columns(
        repeat=pl.lit(0, pl.UInt8), status=pl.lit("ok"), text=pl.lit(said), probs=pl.lit(None, pl.List(pl.Float32))
    )
    answers = study.answer(frame)
    assert answers["rating"].to_list() == [rating]
    assert answers["na"].is_null().to_list() == [rating is not None]


def test_a_missing_answer_is_never_zero(read: Reader) -> None:
    found = measured_of_refuser(read)
    assert found.filter(pl.col("measure") == "shift")["value"].null_count() == 2
    assert found.filter(pl.col("measure") == "na_rate")["value"].max() == 1.0


def measured_of_refuser(read: Reader) -> pl.DataFrame:
    study = read(MINIMAL).study()
    run(study, load("sim/refuser"), read.folder / "run", RunSettings())
    return estimate([StoredRun.open(read.folder / "run")])[0]
