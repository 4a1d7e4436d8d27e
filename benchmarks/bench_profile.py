"""How long profile, reports and pack of five studies with over five million answers take, estimates kept and not.

Run with `python -m benchmarks.bench_profile [FACES [FOLDER]]`: 274M,226F faces for StylisticBias make 5 million
answers. All runs are by a simulated respondent, in FOLDER, where runs that are there are not asked again, or in one
that is removed in the end; each case is a fresh process on two cores.
"""

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from time import process_time

from benchmarks._harness import Result, at_most, finish, fresh, peak_mb
from facevalue.types import OptionValue

STUDIES: Mapping[str, Mapping[str, OptionValue]] = {
    "vignette": {"dimension": "age,gender", "people": 2},
    "visbias": {"forms": 20, "descriptions": 4, "pairs": 200},
    "modscan": {"instances": "nurse,pilot,cook,poor,slob"},
    "counterfactuals": {"sets": 20},
}
"""Studies beside StylisticBias, and their settings."""


def simulate(folder: str, faces: str) -> float:
    """Answers of all five runs."""
    from facevalue import studies
    from facevalue.models import load
    from facevalue.runs import RunSettings, run

    answers = 0
    for name, options in {"stylisticbias": {"faces": faces}, **STUDIES}.items():
        study = studies.build(name, options)
        summary = run(study, load("sim/default"), Path(folder) / name, RunSettings(check=False))
        assert summary.complete, f"{name} was interrupted"
        answers += summary.requests
    return float(answers)


def forget(folder: str) -> None:
    """Remove estimates that are kept."""
    from facevalue.store.files import ESTIMATES

    for name in ("stylisticbias", *STUDIES):
        (Path(folder) / name / ESTIMATES).unlink(missing_ok=True)


def profile(folder: str) -> list[float]:
    """Processor seconds and peak memory in MB of a profile and its page."""
    from facevalue.report.profile import profile_of
    from facevalue.report.profile.page import render
    from facevalue.runs.stored_run import StoredRun

    begun = process_time()
    made = profile_of([StoredRun.open(Path(folder) / name) for name in ("stylisticbias", *STUDIES)])
    assert len(render(made)) > 10_000
    return [process_time() - begun, peak_mb()]


def reports(folder: str) -> list[float]:
    """Processor seconds and peak memory in MB of the reports of all runs."""
    from facevalue.report.collect import gather_report
    from facevalue.report.html import render
    from facevalue.runs.stored_run import StoredRun

    begun = process_time()
    for name in ("stylisticbias", *STUDIES):
        assert len(render(gather_report([StoredRun.open(Path(folder) / name)]).data)) > 10_000
    return [process_time() - begun, peak_mb()]


def packed(folder: str) -> list[float]:
    """Processor seconds and peak memory in MB of a pack of all runs."""
    from facevalue.packing.contents import pack

    begun = process_time()
    with tempfile.TemporaryDirectory() as aside:
        assert pack([Path(folder) / name for name in ("stylisticbias", *STUDIES)], Path(aside, "pack")).files > 20
    return [process_time() - begun, peak_mb()]


def main() -> None:
    """Run all cases."""
    faces = sys.argv[1] if len(sys.argv) > 1 else "274M,226F"
    with tempfile.TemporaryDirectory() as aside:
        folder = sys.argv[2] if len(sys.argv) > 2 else aside
        answers = fresh(simulate, folder, faces, cores=2)
        forget(folder)
        first, again, pages, pack = (fresh(case, folder, cores=2) for case in (profile, profile, reports, packed))
    finish(
        "profile",
        "Profile, reports and pack of five studies (simulated), two cores, processor time",
        [
            Result("answers", answers, "answers"),
            at_most("estimates taken and kept, profile, page", first[0], "s", 90),
            at_most("peak memory", first[1], "MB", 2000),
            at_most("estimates read, profile, page", again[0], "s", 30),
            at_most("peak memory, estimates read", again[1], "MB", 1000),
            at_most("reports of all studies, estimates read", pages[0], "s", 90),
            at_most("peak memory, reports", pages[1], "MB", 2000),
            at_most("pack, estimates read", pack[0], "s", 30),
            at_most("peak memory, pack", pack[1], "MB", 2000),
        ],
    )


if __name__ == "__main__":
    main()
