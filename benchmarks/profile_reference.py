"""Planted effects of the reference model in a profile of three studies, with the sign that was planted and learned.

    make calibration-profile [REPETITIONS=100] [PROCESSES=1] [MINUTES=7]

The model was trained on effects that were drawn at random (docs/reference/reference-model.md). Three protocols can see
some of them: StylisticBias those of cues on traits, VIGNETTE those of ages on decisions, ModSCAN those of scenes on the
gender that is named. Each audit draws other faces, and other requests of the two others.

What a profile should show is what the model does. So each sign is compared with that of its exact probabilities in the
whole design (*learned*: all requests of VIGNETTE and ModSCAN, 60 other faces), too.
"""

import argparse
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

import facevalue as fv
from benchmarks import _kept
from facevalue.csv_text import csv_bytes
from facevalue.models.reference.adapter import FOLDER
from facevalue.protocol.facets import DECISION
from facevalue.protocol.study import Study
from facevalue.report.profile.cells import Outcome, ProfileCell
from facevalue.report.profile.profile import profile_of
from facevalue.runs.stored_run import StoredRun
from facevalue.studies.stylisticbias.calibration import planted_cues

Options = Mapping[str, Any]
CUES: Options = {"faces": 12, "attributes": "tattoos,eyewear", "scenario": "competent,intelligent,polite"}
AGES: Options = {
    "dimension": "age", "paradigm": "decision", "activity": "cooking,eating", "people": 4, "prompts": "two-options",
}  # fmt: skip
SCENES: Options = {"modality": "language", "attribute": "gender", "instances": "bookworm,foodie,music lover,neat"}
DRAWN: Mapping[str, Options] = {"vignette": AGES, "modscan": SCENES}
SHARE = 0.6
"""Share of the requests of VIGNETTE and ModSCAN that an audit draws: their pictures are the same in all."""
WHOLE, MANY_FACES = 0, 60
"""The audit of the whole design, and its faces: as many as the model's card measures."""
KEPT = Path("build/profile-reference")
Planted = Mapping[tuple[str, str, str], float]
"""Planted effect by study, group and trait; its sign counts."""


def planted(study: Study) -> Planted:
    """What is planted that the three studies can see."""
    truth = pl.read_parquet(FOLDER / "truth.parquet")
    cues = planted_cues(study).select("title", "planted").iter_rows()
    out = {("stylisticbias", str(title), ""): float(effect) for title, effect in cues}
    decisions = truth.filter(pl.col("factor") == "age", pl.col("trait").str.starts_with(f"{DECISION} "))
    ages = dict(decisions.group_by("level").agg(pl.col("effect").mean()).iter_rows())
    for level, group in (("young", "young"), ("middle-aged", "middle-aged"), ("elderly", "old")):
        rest = [effect for name, effect in ages.items() if name != level]
        out["vignette", group, ""] = ages[level] - sum(rest) / len(rest)
    scenes = truth.filter(pl.col("factor") == "persona", pl.col("trait").is_in(["male", "female"]))
    for (scene,), of_scene in scenes.group_by("level"):
        effects = dict(of_scene.select("trait", "effect").iter_rows())
        out["modscan", "men", str(scene)] = effects["male"] - effects["female"]
    return out


def audit(number: int) -> list[dict[str, object]]:
    """One audit: of each planted effect that it compares, the value in the profile and what is said of it.

    `WHOLE` is the audit that asks for all there is: what the model does.
    """
    faces = {"faces": MANY_FACES} if number == WHOLE else {"faces_seed": 1000 + number}
    chosen: dict[str, Options] = {"stylisticbias": {**CUES, **faces}, **DRAWN}
    runs = []
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        for name, options in chosen.items():
            study = fv.study(name, **options)
            many = round(SHARE * study.trials) if name in DRAWN and number != WHOLE else None
            fv.run(study, "reference", folder / name, exact=True, progress=False, sample=many, seed=number)
            runs.append(StoredRun.open(folder / name))
        profile, effects = profile_of(runs), planted(runs[0].study)
    return [
        _row(cell, effects[key]) for cell in profile.cells
        if not cell.mirrored and (key := (cell.study, cell.group_name.group, cell.trait)) in effects
    ]  # fmt: skip


def _row(cell: ProfileCell, effect: float) -> dict[str, object]:
    return {
        "study": cell.study, "group": cell.group_name.group, "trait": cell.trait, "planted": effect,
        "found": cell.outcome == Outcome.FOUND, "value": cell.estimate.value,
    }  # fmt: skip


def main() -> None:
    """Make audits and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", type=int, default=100)
    parser.add_argument("--out", type=Path)
    _kept.add_arguments(parser)
    args = parser.parse_args()
    tasks = {KEPT / f"{number}.json": number for number in (WHOLE, *range(1, args.audits + 1))}
    tables = _kept.kept_audits(audit, tasks, args.processes, _kept.deadline(args))
    whole = tables.pop(KEPT / f"{WHOLE}.json", None)
    if whole is None or not tables:
        return
    table = summary(pl.concat(tables.values(), how="diagonal_relaxed"), whole)
    print(table)
    if args.out:
        args.out.write_bytes(csv_bytes(table))


def summary(rows: pl.DataFrame, whole: pl.DataFrame) -> pl.DataFrame:
    """Of each planted effect in how many audits it has its sign, is found, and is found with a sign not learned."""
    of_cell = ("study", "group", "trait")
    rows = rows.join(whole.select(*of_cell, learned="value"), on=of_cell, how="left", maintain_order="left")
    signs = {name: pl.col("value").sign() == pl.col(name).sign() for name in ("planted", "learned")}
    return rows.group_by(of_cell, maintain_order=True).agg(
        pl.len().alias("audits"), pl.col("planted", "learned").mean().round(4),
        pl.col("value").mean().round(4).alias("mean_value"),
        *(same.mean().round(4).alias(f"of_{name}_sign") for name, same in signs.items()),
        pl.col("found").mean().round(4),
        (pl.col("found") & ~signs["learned"]).mean().round(4).alias("found_of_unlearned_sign"),
    )  # fmt: skip


if __name__ == "__main__":
    main()
