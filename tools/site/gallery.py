"""The gallery: reports of small audits of drawn people, made as the site is built, with the commands that make them."""

import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXTRA = ROOT / "build" / "docs-extra"
"""What is copied into the site as it is."""
REPORTS = EXTRA / "gallery"
SMALL = "stylisticbias --faces 12 --attributes eyewear,accessories --scenario competent,wealthy"


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A page, what is to be seen on it, and the commands that make it; the last one writes it with `--out`."""

    name: str
    title: str
    text: str
    commands: tuple[str, ...]


EXHIBITS = (
    Exhibit(
        "stylisticbias", "One face, one attribute changed",
        "StylisticBias of a simulated model with strong planted bias. Begin with the sentence on top.",
        (f"run {SMALL} --model sim/strong --out strong", "report strong"),
    ),
    Exhibit(
        "nothing-planted", "The same, nothing planted",
        "A model without any preference: nothing is found, and the page says what could have been missed.",
        (f"run {SMALL} --model sim/null --out null", "report null"),
    ),
    Exhibit(
        "two-models", "Two models",
        "The two runs on one page: who differs in what, judged together.",
        ("report strong null",),
    ),
    Exhibit(
        "compared", "Two models, cell by cell",
        "What differs between them on the same pictures, and which answers flipped.",
        ("compare strong null",),
    ),
    Exhibit(
        "vignette", "Two people in one picture",
        "VIGNETTE: who is chosen, who is stereotyped, and whether what is seen is described rightly.",
        (
            "run vignette --dimension age --activity cooking --paradigm decision,factuality --people 2 "
            "--model sim/default --out vignette",
            "report vignette",
        ),
    ),
    Exhibit(
        "modscan", "Which of two faces",
        "ModSCAN: which face is the nurse, with an intervention (a sentence against bias) and without.",
        (
            "run modscan --instances nurse,pilot,cook,poor,slob --with vis-debiasing --model sim/default --out modscan",
            "report modscan",
        ),
    ),
    Exhibit(
        "own-study", "A study of one's own",
        "The hiring screen that `facevalue new` writes.",
        ("new hiring-screen.toml", "run hiring-screen.toml --model sim/strong --out hiring", "report hiring"),
    ),
    Exhibit(
        "profile", "Several studies, one profile",
        "What the studies say of the same groups, side by side and never averaged.",
        ("profile strong vignette modscan",),
    ),
)  # fmt: skip


def page() -> str:
    """Make what is not there, or older than the code, and show it."""
    _make()
    lines = []
    for one in EXHIBITS:
        commands = "\n".join(f"$ facevalue {command}" for command in one.commands)
        address = f"gallery/{one.name}.html"
        lines += [
            f"## {one.title}", "", one.text, "",
            "```{raw} html",
            f'<p><a href="{address}">Open the page</a></p>',
            f'<iframe class="exhibit" src="{address}" title="{one.title}" loading="lazy"></iframe>',
            "```", "",
            "```console", commands, "```", "",
        ]  # fmt: skip
    return "\n".join(lines)


def _make() -> None:
    newest = max(path.stat().st_mtime for path in (ROOT / "src").rglob("*") if path.suffix != ".pyc")
    written = [REPORTS / f"{one.name}.html" for one in EXHIBITS]
    if all(path.exists() and path.stat().st_mtime > newest for path in written):
        return
    folder = ROOT / "build" / "docs-gallery"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    REPORTS.mkdir(parents=True, exist_ok=True)
    for one, path in zip(EXHIBITS, written, strict=True):
        *before, last = one.commands
        for command in (*before, f"{last} --out {shlex.quote(str(path))}"):
            called = [sys.executable, "-m", "facevalue", *shlex.split(command)]
            done = subprocess.run(called, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
            if done.returncode:
                raise RuntimeError(f"facevalue {command}: {done.stderr}")
