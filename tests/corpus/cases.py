"""Run folders of released versions: `python -m tests.corpus.cases` makes those of this version.

Folders are made once, by the version that they are named after, with the estimates that it took, and stay as they are:
each later version must read them, and estimate the same.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import facevalue as fv
from tests.reviews import filled

CORPUS = Path(__file__).parent
STUDY = "hiring-screen.toml"
MODEL = ("--model", "sim/default")
RUNS: dict[str, tuple[str, ...]] = {
    "stylisticbias": (
        *("stylisticbias", "--faces", "4", "--scenarios", "polite", "--attributes", "eyewear,hair_color"),
        *("--seeds", "1", "--sample", "30", "--preregister", "plan.toml"),
    ),
    "stylisticbias-exact": (
        *("stylisticbias", "--faces", "2", "--scenarios", "polite", "--attributes", "eyewear", "--exact"),
        *("--with", "debiasing", "--with", "blank-image"),
    ),
    "vignette": (
        *("vignette", "--dimension", "age", "--gender", "male", "--activity", "cooking"),
        *("--paradigm", "decision", "--people", "1"),
    ),
    "visbias": (
        *("visbias", "--task", "mcq,description,form", "--question", "income", "--forms", "1"),
        *("--descriptions", "1"),
    ),
    "modscan": ("modscan", "--instances", "nurse,pilot,cook", "--modality", "vision", "--sample", "60"),
    "counterfactuals": ("counterfactuals", "--sets", "2", "--prompt", "all", "--sample", "60"),
    "own-study": (STUDY, "--sample", "60"),
}
"""What is run."""
AFTER: dict[str, tuple[tuple[str, ...], ...]] = {
    "visbias": (("judge", *MODEL),),
    "counterfactuals": (("annotate", "--scorer", "lexical"),),
}
"""What is done with a run before it is measured."""
PLAN = """
[margin]
sbs = 0.02

[[family]]
name = "glasses"
measure = "sbs"

[family.where]
attribute = ["eyewear"]
"""
AUDIT = f"""
model = "sim/default"
studies = ["stylisticbias", "{STUDY}"]

[settings.stylisticbias]
faces = "2"
scenarios = "polite"
attributes = "eyewear"
seeds = "1"
"""
AUDITED = ("audit", "--config", "audit.toml", "--out", "audit")
MADE = (
    *("make", "editor", "--generator", "drawn", "--race", "Black", "--gender", "female", "--age", "young"),
    *("--edit", "cap", "--sets", "1", "--out", "made"),
)


def facevalue(*words: str, folder: Path) -> None:
    """Run a command there."""
    subprocess.run([sys.executable, "-m", "facevalue", *words], cwd=folder, check=True)


def make(folder: Path) -> None:
    """Make a folder of every kind that this version writes."""
    facevalue("new", STUDY, folder=folder)
    (folder / "plan.toml").write_text(PLAN)
    (folder / "audit.toml").write_text(AUDIT)
    for name, words in RUNS.items():
        facevalue("run", *words, *MODEL, "--out", name, folder=folder)
        for command, *options in AFTER.get(name, ()):
            facevalue(command, name, *options, folder=folder)
    facevalue(*AUDITED, folder=folder)
    facevalue(*MADE, folder=folder)
    facevalue("inspect-pictures", "made", folder=folder)
    review = ("--task", "parse", "--sample", "6", "--raters", "2", "--form", "csv", "--out", "packets")
    facevalue("review", "visbias", *review, folder=folder)
    sheets = sorted((folder / "packets").glob("rater-*.csv"))
    answers = [filled(sheet, f"{sheet.stem}-answers", lambda row: row["answers"].split("; ")[0]) for sheet in sheets]
    facevalue("review", "visbias", *(word for path in answers for word in ("--collect", str(path))), folder=folder)
    for name in RUNS:
        facevalue("measure", name, folder=folder)


def main() -> None:
    """Make the folders of this version, and pack them."""
    archive = CORPUS / f"{fv.__version__}.tar.xz"
    if archive.exists():
        raise SystemExit(
            f"{archive} stays as it is. Only before {fv.__version__} is released may it be removed, and made anew."
        )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make(folder)
        for page in [*folder.rglob("report.html"), *folder.rglob(".lock")]:
            page.unlink()
        shutil.rmtree(folder / "packets")
        shutil.make_archive(str(CORPUS / fv.__version__), "xztar", folder)


if __name__ == "__main__":
    main()
