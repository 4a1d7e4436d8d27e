"""What the pages on one's own pictures show is run: folders are drawn, files written, commands asked, lines found."""

import re
import shlex
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import pytest

from facevalue import studies
from facevalue.models.registry import load
from facevalue.models.sim import PRESETS
from facevalue.runs.stored_run import ReplyTally, StoredRun, answers
from facevalue.stimuli.drawings.portraits import default_cache
from facevalue.stimuli.manifest_rows import FORM
from tests.cli.answering import answer
from tests.cli.conftest import Command
from tests.cli.test_manifest import draw
from tests.models.misbehaving import Misbehaving

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (
    *sorted(page.relative_to(DOCS).as_posix() for page in DOCS.glob("tutorials/own-pictures-*.md")),
    "reference/manifests.md",
    "how-to/preregistration.md",
    "tutorials/made-pictures.md",
    "tutorials/first-audit.md",
    "tutorials/own-study.md",
    "tutorials/ci-gate.md",
    "tutorials/cluster.md",
)
LONG = ("tutorials/made-pictures.md", "tutorials/first-audit.md", "tutorials/ci-gate.md", "tutorials/cluster.md")
CLUSTER = " --cluster local"
"""Option without which a page is followed where there is no Ray: all that it says must hold as well."""
BLOCK = re.compile(r"```(\w+)(?: ([\w./-]+))?\n(.*?)```", re.DOTALL)


pytestmark = pytest.mark.all_groups


def spelled_out(text: str) -> list[str]:
    """What braces stand for, as in a shell."""
    found = re.search(r"\{([^{}]*)\}", text)
    if found is None:
        return [text]
    return [
        path for one in found[1].split(",") for path in spelled_out(text[: found.start()] + one + text[found.end() :])
    ]


def follow(page: str, facevalue: Command, *, strict: bool = True) -> int:
    """Do what a page shows; how many commands were asked. `strict`: what they say is what the page says."""
    asked = 0
    for kind, name, text in BLOCK.findall(page):
        if name == "files":
            for path in (path for line in text.split() for path in spelled_out(line)):
                draw(path)
        elif name and Path(name).exists():
            lines = Path(name).read_text(encoding="utf-8").splitlines()
            assert set(text.splitlines()) <= set(lines)
        elif name:
            Path(name).write_text(text, encoding="utf-8")
        elif kind == "console" and asked == 0 and "#" in text:
            continue  # an overview of what follows
        elif kind == "console":
            said = ""
            for line in text.replace("\\\n", " ").splitlines():
                if line.startswith("$ facevalue "):
                    runs = [str(folder) for folder in Path().glob("runs/*")]  # of whatever model
                    command = line.replace("$PWD", str(Path.cwd())).removesuffix(" ; echo $?")
                    done = facevalue(*shlex.split(re.sub(r"runs/\S+", runs[0], command) if runs else command)[2:])
                    said = " ".join((done.out + done.err).split())
                    assert done.status == 0 or " ; echo" in line, done.err
                    said += f" {done.status}" if " ; echo" in line else ""
                    asked += 1
                elif strict:
                    assert " ".join(line.split()) in said, line
    return asked


@pytest.mark.parametrize("name", [pytest.param(page, marks=pytest.mark.slow if page in LONG else ()) for page in PAGES])
def test_a_page_can_be_followed_from_its_first_line_to_its_last(
    name: str, facevalue: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    page = (DOCS / name).read_text(encoding="utf-8")
    assert follow(page if find_spec("ray") else page.replace(CLUSTER, ""), facevalue) >= 2


@pytest.mark.parametrize("name", [name for name in PAGES if "own-pictures-" in name])
def test_a_server_that_answers_as_it_is_asked_is_audited_as_the_page_says(
    name: str, facevalue: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the folder to the report, with pictures sent and replies read in the study's own format."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    page = (DOCS / name).read_text(encoding="utf-8")
    with Misbehaving().served() as server:
        server.otherwise = answer
        asked = follow(page.replace("sim/strong", server.spec), facevalue, strict=False)
    assert asked >= 5
    (run,) = (StoredRun.open(folder) for folder in Path("runs").iterdir())
    tally = ReplyTally()
    assert sum(chunk.height for chunk in answers(run, tally)) == tally.asked
    assert tally.valid > 0.95 * tally.asked > 0
    assert (run.folder / "report.html").exists()


def test_the_python_of_the_page_on_manifests_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (DOCS / "reference/manifests.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for kind, name, text in BLOCK.findall(page):
        if name == "files":
            for path in spelled_out(text.strip()):
                draw(path)
        elif name:
            Path(name).write_text(text, encoding="utf-8")
        elif kind == "python" and "audit" in text:
            compiled = compile(text, "manifests.md", "exec")
            exec(compiled, {})
    assert Path("audit/faces.parquet").exists()


def test_each_column_that_a_study_reads_is_explained() -> None:
    page = (DOCS / "reference/manifests.md").read_text(encoding="utf-8")
    table = page.split("## Columns by study")[1].split("\n## ")[0]
    for name, study in studies.STUDIES.items():
        if (columns := study.columns()) and not study.text:
            of = table.split(f"| `{name}` |")[1].split("\n| `")[0]
            for column in columns:
                assert f"`{column.name}`" in of
                row = next(line for line in of.splitlines() if f"`{column.name}`" in line)
                assert ("**needed**" in row) is column.needed
                assert not column.filled or column.name in FORM


def test_each_column_that_a_declared_study_reads_stands_on_its_page() -> None:
    for name, study in studies.STUDIES.items():
        if study.text:
            stem = {"editor": "editor-audit"}.get(name, name.removesuffix("-open").removesuffix("-pairs"))
            page = DOCS / f"papers/{stem}.md"
            text = page.read_text(encoding="utf-8")
            assert not [column.name for column in study.columns() if column.name not in text], name


def test_each_simulated_model_is_documented_with_what_is_planted() -> None:
    page = (DOCS / "reference/simulated-models.md").read_text(encoding="utf-8")
    head, *rows = [
        [cell.strip(" `") for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| ")
    ]
    named = {row[0]: row for row in rows if row[0].startswith("sim/")}
    assert {name.removeprefix("sim/") for name in named} == set(PRESETS)
    for name, row in named.items():
        planted = asdict(PRESETS[name.removeprefix("sim/")])
        assert load(name).name == name
        assert [float(cell) for cell in row[2:]] == [planted[key] for key in head[2:]]
    explained = " ".join(row[0] for row in rows if not row[0].startswith("sim/"))
    for parameter, value in asdict(PRESETS["default"]).items():
        assert parameter in explained
        if parameter not in head and parameter != "seed":
            assert f"{parameter}`" in page
            assert f": {value}" in next(line for line in page.splitlines() if line.startswith(f"| `{parameter}`"))
    assert load("sim/strong@7").settings()["seed"] == 7


def test_the_cache_is_where_its_page_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = re.findall(r"^\| `?([\w ]+)`? \| (.+) \|$", (DOCS / "how-to/cache.md").read_text(), re.MULTILINE)
    assert [row[0] for row in rows[1:]] == ["FACEVALUE_CACHE", "XDG_CACHE_HOME", "neither"]
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("FACEVALUE_CACHE", str(tmp_path / "own"))
    assert default_cache() == tmp_path / "own/facevalue/portraits"
    monkeypatch.delenv("FACEVALUE_CACHE")
    assert default_cache() == tmp_path / "xdg/facevalue/portraits"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_cache() == tmp_path / "home/.cache/facevalue/portraits"
