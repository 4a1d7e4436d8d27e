"""What a process imports before it does anything: helps, plans and gates start at once."""

import subprocess
import sys
from pathlib import Path

import pytest

import facevalue as fv
from facevalue.runs.kept_estimates import take_estimates
from facevalue.runs.stored_run import StoredRun
from facevalue.studies.registry import PUBLISHED
from tests.test_layers import HEAVY

COMPUTES = {"numpy", "polars", "pyarrow", "scipy", "PIL", "rich", "asyncio", "obstore", "jinja2", "altair"}
"""Libraries that take long to import, besides those of engines."""


def imported_by(code: str, folder: Path | None = None) -> set[str]:
    """Every module that a process has imported once it has run the code; what it prints is not looked at."""
    last = "import sys, atexit\natexit.register(lambda: print('\\n' + ' '.join(sys.modules)))\n"
    done = subprocess.run([sys.executable, "-c", last + code], capture_output=True, text=True, check=False, cwd=folder)
    assert "Traceback" not in done.stderr, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def imported_by_command(*words: str, folder: Path | None = None) -> set[str]:
    """Every module that a command imports."""
    return imported_by(
        f"import sys\nsys.argv = {['facevalue', *words]!r}\nfrom facevalue.cli import main\nmain()", folder
    )


def packages(modules: set[str]) -> set[str]:
    """The libraries that modules are of."""
    return {name.partition(".")[0] for name in modules}


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--help",),
        ("--version",),
        ("runn",),
        *((command, "--help") for command in ("audit", "profile", "gate", "pack", "compare", "new", "status")),
        *((command, "--help") for command in ("run", "plan", "make", "reproduce")),  # these list studies
        *((command, study, "--help") for study in PUBLISHED for command in ("plan", "run")),
    ],
    ids=" ".join,
)
def test_help_imports_no_library_that_computes(words: tuple[str, ...]) -> None:
    assert not packages(imported_by_command(*words)) & (HEAVY | COMPUTES)


def test_help_of_a_file_of_ones_own_needs_tables_and_no_statistics(tmp_path: Path) -> None:
    assert imported_by_command("new", "mine.toml", folder=tmp_path)
    modules = imported_by_command("run", "mine.toml", "--help", folder=tmp_path)
    assert "polars" in modules, "its factors are checked"
    assert not modules & {"scipy.special", "scipy.stats", "jinja2", "facevalue.runs.runner"}
    shows = {
        "PIL.Image",
        "facevalue.stimuli.portraits.composition",
        "facevalue.stimuli.noto",
        "facevalue.annotations.sentiment",
    }
    assert not modules & shows, "nothing is drawn, opened or scored"


@pytest.mark.parametrize(
    "module", ["facevalue.cli.actions.planning", "facevalue.cli.actions.running", "facevalue.report.collect"]
)
def test_plans_runs_and_pages_of_kept_estimates_start_without_scipy_stats(module: str) -> None:
    modules = imported_by(f"import {module}")
    assert "scipy.stats" not in modules, "it takes a second: write scipy.stats.t, which imports it when used"
    assert not packages(modules) & (HEAVY | {"statsmodels", "pandas", "matplotlib"})


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run whose estimates are kept, and limits."""
    folder = tmp_path_factory.mktemp("measured")
    study = fv.study("stylisticbias", faces="4", attributes="eyewear", scenario=["wealthy"], seeds=["1"])
    fv.run(study, "sim/default", folder / "run", progress=False)
    take_estimates([StoredRun.open(folder / "run")])
    (folder / "limits.toml").write_text('[[limit]]\nmeasure = "shift"\nby = ["variation"]\nabsolute = 0.9\n')
    return folder


def test_a_gate_on_estimates_that_exist_imports_no_page_no_runner_and_no_distributions(measured: Path) -> None:
    modules = imported_by_command("gate", "run", "--limits", "limits.toml", folder=measured)
    assert "facevalue.limits.gate" in modules
    assert not modules & {"scipy.stats", "facevalue.report.html", "facevalue.report.data", "facevalue.runs.runner"}
    assert not packages(modules) & (HEAVY | {"jinja2", "altair"})


def test_status_computes_no_statistics(measured: Path) -> None:
    modules = imported_by_command("status", "run", folder=measured)
    assert "facevalue.store.manifest" in modules
    assert not packages(modules) & (HEAVY | {"scipy", "jinja2", "altair"})


EXTRAS = HEAVY | {"inspect_ai", "uvicorn", "starlette", "altair", "pytest", "vl_convert"}
"""Libraries that are not there on a machine with nothing but the package."""


def test_the_python_api_and_all_commands_are_imported_without_any_extra() -> None:
    code = f"""
import importlib, pkgutil, sys
sys.modules.update(dict.fromkeys({sorted(EXTRAS)!r}))
import facevalue as fv
for name in fv.__all__:
    getattr(fv, name)
import facevalue.cli.actions as actions
for module in pkgutil.iter_modules(actions.__path__):
    importlib.import_module(f"facevalue.cli.actions.{{module.name}}")
"""
    modules = imported_by(code)
    assert {"facevalue.api.calls", "facevalue.cli.actions.audit"} <= modules
