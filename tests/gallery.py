"""Pages of every kind of run, looked at in Chromium: `make gallery` writes `build/gallery/index.html`.

`python -m tests.gallery FOLDER NAME...` makes some of them.

Each page at 1,280 and 500 pixels, light and dark, and as it is printed, with what axe finds. Whoever changes how pages
look goes through all of them.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from html import escape
from pathlib import Path

import facevalue as fv
from tests.browser import Browser, chromium
from tests.golden.cases import TABLES, TEMPLATES, unpacked
from tests.studies.place_sets import place_sets
from tests.studies.test_bbq_v import rows, written_rows
from tests.studies.test_blinded import written_applicants
from tests.studies.test_declared_papers import PICTURES
from tests.studies.test_gras import written_faces

LOOKS = (("1280", 1280, False), ("1280-dark", 1280, True), ("500", 500, False), ("500-dark", 500, True))
PLACES = ("Asia", "Europe", "Africa", "North America")
ANSWERS = {"one-answer": 1, "three-answers": 3, "all-refused": 0}
"""Runs in which so many replies are answers, and all others are refusals."""


def ask(*args: str, folder: Path) -> None:
    """Run a command there, whatever its status: where every reply is a refusal, it says so."""
    subprocess.run([sys.executable, "-m", "facevalue", *args], cwd=folder, check=False)


def listed(make: Callable[[Path], list[str]]) -> Callable[[Path], Path]:
    """Make pictures and the list of them."""

    def write(folder: Path) -> Path:
        path = folder / "list.csv"
        path.write_text("\n".join(make(folder)))
        return path

    return write


PAPERS: dict[str, Callable[[Path], Path]] = {
    **{name: listed(make) for name, make in PICTURES.items()},
    "cultural-counterfactuals": lambda f: place_sets(f, PLACES, 8, "gender", lambda n: "fm"[n % 2]),
    "cross-cultural-values": lambda f: place_sets(f, PLACES, 6, "aspect", lambda _: "religious"),
    "gras": written_faces,
    "blinded": written_applicants,
    "bbq-v": lambda f: written_rows(rows(24), f),
}
"""Declared papers that can ask about small pictures, and what makes these."""
MODELS = ("hiring-screen", "sim/strong", "sim/null")
"""A stored run, and the models whose runs stand beside it."""
EDITOR = {"editor-audit": "made/audit", "making": "made/making"}
"""Runs of an editor with a side effect that was planted: its audit, and the making of the pictures."""
NAMES = (*TABLES, *ANSWERS, "three-models", *PAPERS, *EDITOR)


def made_pictures(name: str, folder: Path) -> Path:
    """The list of a paper's pictures, made there."""
    folder.mkdir(exist_ok=True)
    return PAPERS[name](folder)


def runs_of(name: str, folder: Path) -> tuple[str, ...]:
    """The runs of a page, made where they are not stored."""
    if name in TABLES:
        return TABLES[name]
    if name in EDITOR:
        if not (folder / "made").exists():
            few = ("--race", "White,Black,Indian", "--edit", "cap,gray", "--sample", "60")
            planted = ("--generator", "drawn", "--editor", "sim/lighten=6:gender+refuse=0.2:race")
            ask("make", "editor", *few, *planted, "--out", "made", folder=folder)
        if name == "editor-audit":
            inspected = ("--manifest", "made/manifest.parquet", "--model", "inspect/default", "--name", "lighten")
            ask("run", "editor", *inspected, "--out", EDITOR[name], folder=folder)
        return (EDITOR[name],)
    if name in ANSWERS:
        left = iter(range(ANSWERS[name]))
        study = fv.study("beauty", manifest=made_pictures("beauty", folder / "faces"), kind="illustrated")
        fv.run(study, lambda _: "(a)" if next(left, None) is not None else "I can't help with that.", folder / name)
    elif name in PAPERS:
        study = fv.study(name, manifest=made_pictures(name, folder / f"{name}-pictures"), kind="illustrated")
        fv.run(study, "sim/strong", folder / name)
    else:
        first, *models = MODELS
        for place, model in enumerate(models):
            ask("run", f"{first}.toml", "--model", model, "--out", f"{first}-{place}", folder=folder)
        return (first, *(f"{first}-{place}" for place in range(len(models))))
    return (name,)


def looked_at(browser: Browser, page: Path) -> list[str]:
    """Take the pictures of a page; return what is wrong with it."""
    wrong = []
    for look, width, dark in LOOKS:
        browser.open(page, width=width, dark=dark)
        browser.screenshot(page.with_name(f"{page.stem}-{look}.png"))
        browser.run("for (const part of document.querySelectorAll('details')) part.open = true")
        if (wide := browser.run("document.documentElement.scrollWidth")) > width:
            wrong.append(f"{look}: {wide} pixels wide")
        wrong += [f"{look}: {violation}" for violation in (browser.axe() if look != "500-dark" else ())]
        if not dark:
            browser.screenshot(page.with_name(f"{page.stem}-{look}-open.png"))
    browser.open(page, width=794)
    page.with_suffix(".pdf").write_bytes(browser.printed())
    return wrong


def entry(page: Path, wrong: list[str]) -> str:
    """A page's row of the index."""
    pictures = "".join(
        f'<a href="{page.stem}-{look}.png"><img src="{page.stem}-{look}.png" alt="{look}" loading="lazy"></a>'
        for look in (*(look for look, _, _ in LOOKS), "1280-open", "500-open")
    )
    pictures += f'<embed src="{page.stem}.pdf" type="application/pdf">'
    found = "".join(f"<li>{escape(text)}</li>" for text in wrong)
    head = f'<h2><a href="{page.name}">{page.stem}</a> <a href="{page.stem}.pdf">PDF</a></h2>'
    return f"{head}<ul>{found}</ul><div>{pictures}</div>"


def main() -> int:
    """Make the gallery anew; exit status 1 if anything is wrong on any page."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery").resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    rows, count = [], 0
    with tempfile.TemporaryDirectory() as place, chromium(Path(place) / "profile") as browser:
        folder = unpacked(Path(place))
        ask("new", f"{TEMPLATES[0]}.toml", folder=folder)
        for name in sys.argv[2:] or NAMES:
            page = out / f"{name}.html"
            ask("report", *runs_of(name, folder), "--out", str(page), folder=folder)
            wrong = looked_at(browser, page)
            rows.append(entry(page, wrong))
            count += len(wrong)
            print(name, *(wrong or ["nothing found"]), sep="\n  ", flush=True)
    style = "body { font: 15px system-ui; margin: 24px } img, embed { height: 420px; border: 1px solid #ccc }"
    (out / "index.html").write_text(f"<!doctype html><title>Gallery</title><style>{style}</style>{''.join(rows)}")
    print(f"{out / 'index.html'}: {len(rows)} pages, {count} found wrong")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
