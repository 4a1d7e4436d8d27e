"""What a profile finds where nothing is planted, and of what is planted, in all five studies: planted answers.

    make calibration-profile [REPETITIONS=100] [PROCESSES=1] [MINUTES=7]

Each audit asks five studies in the smallest size that their calibration declares. Answers are planted as in
`docs/explanation/calibration.md`: nothing, or effects of four in ten levels. What should be found is a noise-free audit
of four times as many people. Audits are kept in build/profile, so that the script goes on where it was stopped.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks import _kept
from facevalue.calibration.audits import MODEL, Audits
from facevalue.calibration.families import clopper_pearson
from facevalue.calibration.planted_answers import PlantedCondition
from facevalue.calibration.repetitions import audits_of
from facevalue.csv_text import csv_bytes
from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import label_columns
from facevalue.measures.judgment import judge
from facevalue.protocol.study import Study
from facevalue.report.profile.cells import Outcome, ProfileCell
from facevalue.report.profile.profile import Profile, judged_profile

STUDIES = ("stylisticbias", "vignette", "visbias", "modscan", "counterfactuals")
NOTHING, EFFECTS = PlantedCondition("nothing"), PlantedCondition("effects", effect=1.5)
TABLE = 20_261
FOLDER = Path("build/profile")
LARGE = 4


@dataclass(frozen=True)
class PlantedStudy:
    """Estimates of planted answers to a study, as a page judges them."""

    audits: Audits
    estimates: pl.DataFrame

    @property
    def study(self) -> Study:
        """The study."""
        return self.audits.study

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Definitions."""
        return self.study.estimates.measures

    @property
    def models(self) -> tuple[str, ...]:
        """Who was asked: nobody."""
        return (MODEL,)

    @property
    def unmeasured_models(self) -> tuple[str, ...]:
        """All answers are planted."""
        return ()

    @property
    def unanswered_models(self) -> dict[str, str]:
        """All answers are planted."""
        return {}

    def stack_estimates(self) -> pl.DataFrame:
        """The estimates."""
        return self.estimates

    def judge_estimates(self, shares: pl.DataFrame) -> pl.DataFrame:
        """The same at the level of an audit."""
        declare = self.study.estimates.declared
        return judge(self.estimates, self.measures, None if declare is None else declare(), shares=shares)


class Makers:
    """Audits of each study in the smallest size, and what they should find."""

    def __init__(self, studies: Sequence[str]) -> None:
        self.studies = tuple(studies)

    @cached_property
    def audits(self) -> list[Audits]:
        """Of each study."""
        return [audits_of(name, 1) for name in self.studies]

    def profile(self, condition: PlantedCondition, seed: int) -> Profile:
        """One audit of all studies."""
        return judged_profile([self._planted(audits, condition, seed) for audits in self.audits], {})

    def _planted(self, audits: Audits, condition: PlantedCondition, seed: int) -> PlantedStudy:
        study = audits.study
        declare = study.estimates.declared
        estimates = study.analyse({MODEL: iter([audits.answers(condition, TABLE, seed)])})
        declared = None if declare is None else declare()
        judged = judge(estimates, study.estimates.measures, declared, lead=study.estimates.lead)
        return PlantedStudy(audits, judged)

    def signs(self, condition: PlantedCondition) -> dict[tuple[str, str, str], tuple[float, bool]]:
        """True value of each comparison, by study, measure and labels, and whether its interval leaves zero out."""
        out = {}
        for name in self.studies:
            truth = audits_of(name, LARGE).truth(condition, TABLE)
            labels = label_columns(truth.drop("true", "true_low", "true_high"))
            for row in truth.iter_rows(named=True):
                levels = {label: row[label] for label in labels if row[label] is not None}
                value, low, high = row["true"], row["true_low"], row["true_high"]
                if value is not None:
                    clear = low is not None and high is not None and (low > 0 or high < 0)
                    out[name, row["measure"], str(sorted(levels.items()))] = value, clear
        return out


def counted(profile: Profile, signs: dict[tuple[str, str, str], tuple[float, bool]]) -> list[dict[str, object]]:
    """Count what a profile finds of each study, and what of it has the sign that is planted."""
    rows: list[dict[str, object]] = []
    for study in profile.studies:
        cells = [cell for cell in profile.cells if cell.study == study.name and not cell.mirrored]
        found = [cell for cell in cells if cell.outcome == Outcome.FOUND]
        signed = [(cell, signs[key]) for cell in cells if cell.sign and (key := _key(cell)) in signs]
        strong = [(cell, true) for cell, (true, clear) in signed if clear and abs(true) >= _seen(cell)]
        rows.append({
            "study": study.name, "found": len(found),
            "page": sum(cell.outcome in (Outcome.FOUND, Outcome.ON_PAGE) for cell in cells),
            "planted": len(strong),
            "same_sign": sum(bool(cell.sign == np.sign(true)) for cell, true in strong),
            "found_planted": sum(cell.outcome == Outcome.FOUND for cell, _ in strong),
            "found_signed": sum(cell.outcome == Outcome.FOUND for cell, _ in signed),
            "found_wrong": sum(
                bool(cell.outcome == Outcome.FOUND and clear and cell.sign != np.sign(true))
                for cell, (true, clear) in signed
            ),
        })  # fmt: skip
    return rows


def _key(cell: ProfileCell) -> tuple[str, str, str]:
    return cell.study, cell.estimate.measure, str(sorted(cell.estimate.labels.items()))


def _seen(cell: ProfileCell) -> float:
    """Size from which this audit sees an effect: what it finds with 80% power at the level of all."""
    return cell.missable if cell.missable is not None else np.inf


@cache
def _makers() -> Makers:
    """Makers of this process."""
    return Makers(STUDIES)


@cache
def _signs() -> dict[tuple[str, str, str], tuple[float, bool]]:
    """What is planted with effects."""
    return _makers().signs(EFFECTS)


def audited(task: tuple[PlantedCondition, int]) -> list[dict[str, object]]:
    """Counts of one audit: of what is planted, and which."""
    condition, seed = task
    return counted(_makers().profile(condition, seed), _signs() if condition.effect else {})


def summary(rows: pl.DataFrame) -> pl.DataFrame:
    """Shares of audits and of planted effects, of each study and of the whole profile."""
    whole = rows.group_by("condition", "audit", maintain_order=True).agg(pl.col(pl.Int64).exclude("audit").sum())
    studies = pl.concat([rows, whole.with_columns(study=pl.lit("all five"))], how="diagonal")
    out = []
    for (condition, study), members in studies.group_by("condition", "study", maintain_order=True):
        audits = members.height
        any_found = int((members["found"] > 0).sum())
        low, high = clopper_pearson(any_found, audits)
        planted, of_sign, findings = (int(members[name].sum()) for name in ("planted", "same_sign", "found_planted"))
        all_of_sign = int((members["same_sign"] == members["planted"]).sum())
        out.append({
            "condition": condition, "study": study, "audits": audits, "any_found": any_found / audits,
            "any_found_low": low, "any_found_high": high, "any_on_pages": int((members["page"] > 0).sum()) / audits,
            "planted_and_seen": planted / audits, "of_planted_sign": of_sign / planted if planted else None,
            "audits_all_of_planted_sign": all_of_sign / audits if planted else None,
            "of_these_found": findings / planted if planted else None,
            "found": int(members["found"].sum()) / audits,
            "found_of_wrong_sign": int(members["found_wrong"].sum()) / audits if planted else None,
        })  # fmt: skip
    return pl.DataFrame(out, infer_schema_length=None).with_columns(pl.selectors.float().round(4))


def main() -> None:
    """Make audits and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", type=int, default=100)
    parser.add_argument("--null", type=int, default=200)
    parser.add_argument("--out", type=Path)
    _kept.add_arguments(parser)
    args = parser.parse_args()
    until, tables = _kept.deadline(args), []
    for condition, audits in ((NOTHING, args.null), (EFFECTS, args.audits)):
        tasks = {
            FOLDER / f"{condition.name}-{condition.effect:g}-{seed}.json": (condition, seed)
            for seed in range(1, audits + 1)
        }
        for file, rows in _kept.kept_audits(audited, tasks, args.processes, until).items():
            tables.append(rows.with_columns(audit=tasks[file][1], condition=pl.lit(condition.name)))
    if not tables:
        return
    table = summary(pl.concat(tables, how="diagonal"))
    print(table)
    if args.out:
        args.out.write_bytes(csv_bytes(table))


if __name__ == "__main__":
    main()
