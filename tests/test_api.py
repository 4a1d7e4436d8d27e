"""What `import facevalue as fv` offers: small audits from end to end, and what is said of mistakes."""

import io
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import PIL.Image
import polars as pl
import pytest

import facevalue as fv
from facevalue.protocol.settings import Setting, to_setting_type
from facevalue.runs import rich_progress
from facevalue.runs.progress import SilentProgress, Snapshot
from tests.runs.tiny import TinyModel, mixed, say, tiny_study

ROOT = Path(__file__).parents[1]
SMALL: dict[str, Any] = {"faces": "1M,1F", "attributes": "eyewear"}


class First:
    """Says the first option of everything, and may look first."""

    name = "first"
    capabilities = fv.Capabilities(sight="stated", images_per_request=2)

    def __init__(self, look: bool = False) -> None:
        self.look, self.asked, self.closed, self.sizes = look, 0, 0, set[tuple[int, int]]()

    def settings(self) -> dict[str, str | int | float | bool]:
        return {"look": self.look}

    def respond(self, requests: Iterable[fv.Request]) -> Iterator[fv.Response]:
        for request in requests:
            self.asked += 1
            if self.look:
                (image,) = request.stimulus.load()
                self.sizes.add(PIL.Image.open(io.BytesIO(image.data)).size)
            yield fv.Response(request.trial, request.repeat, fv.Status.OK, request.question.options[0].label)

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> fv.Run:
    """A whole run of a simulated model."""
    folder = tmp_path_factory.mktemp("api") / "first"
    return fv.run(fv.study("stylisticbias", **SMALL), "sim/default", folder, exact=True, progress=False)


def fresh(code: str) -> str:
    """What Python prints in a process of its own."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    return done.stdout


# -- laziness and names ------------------------------------------------------------------------------------------------


def test_the_package_imports_nothing_until_it_is_used() -> None:
    loaded = fresh("""
        import sys
        before = set(sys.modules)
        import facevalue
        dir(facevalue)
        print(*sorted(set(sys.modules) - before))
    """).split()
    assert [name for name in loaded if name.split(".")[0] == "facevalue"] == ["facevalue", "facevalue.lazy_names"]
    assert {name.split(".")[0] for name in loaded} - sys.stdlib_module_names == {"facevalue"}
    assert len(loaded) < 40, "about as many as `typing` needs"


def test_every_public_name_is_there_whatever_else_was_imported() -> None:
    assert (
        fresh("""
        import facevalue.cli.app, facevalue.runs.comparisons.models, facevalue as fv
        print([name for name in fv.__all__ if not hasattr(fv, name)], callable(fv.run), callable(fv.model))
    """).split("\n")[0]
        == "[] True True"
    )
    modules = {path.stem for path in (ROOT / "src" / "facevalue").iterdir() if path.stem != "__init__"}
    assert modules & set(fv.__all__) == {"errors", "protocol"}, "a module would hide the function of its name"
    assert set(fv.__all__) <= set(dir(fv))
    with pytest.raises(AttributeError, match="no attribute 'studdy'"):
        fv.studdy  # noqa: B018


def test_everything_public_has_an_example() -> None:
    parts = fv.protocol.__all__
    without = [name for name in parts if ">>>" not in (getattr(fv.protocol, name).__doc__ or "")]
    for name in fv.__all__:
        thing = getattr(fv, name)
        if name in ("errors", "protocol"):
            continue
        if ">>>" not in (thing.__doc__ or ""):
            without.append(name)
        if name in ("Run", "Study"):
            members = [(own, member) for own, member in vars(thing).items() if not own.startswith("_")]
            without += [f"{name}.{own}" for own, member in members if ">>>" not in (member.__doc__ or "")]
    assert without == []


def test_the_page_names_everything_public() -> None:
    page = (ROOT / "docs/reference/python-api.md").read_text()
    members = [f"{kind.__name__}.{name}" for kind in (fv.Run, fv.Study) for name in vars(kind) if name[0] != "_"]
    names = (
        [f"`{name}`" for name in fv.protocol.__all__]
        + [f"fv.{name}" for name in fv.__all__]
        + [f".{member.split('.')[1]}" for member in members]
    )
    assert [name for name in names if name not in page] == []


# -- studies -----------------------------------------------------------------------------------------------------------


def test_a_study_says_what_it_is() -> None:
    study = fv.study("stylisticbias", **SMALL, seeds=[4, 5])
    assert repr(study) == (
        "Study('stylisticbias', trials=600, seeds=2, pictures=6, faces='1M,1F', attributes=['eyewear'], "
        "seeds=['4', '5'])"
    )
    assert study.settings["temperature"] == 0.2
    assert study.pictures.height == 6
    assert study.measures.select("name", "score").is_unique().all()
    plan = study.plan(interventions=["no-image"], price_in=1, price_out=1)
    assert (plan.asked, study.plan().asked) == (2400, 1200)
    assert plan.cost is not None


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"face": "1M"}, "Unknown setting of stylisticbias 'face'. Did you mean 'faces'"),
        ({"grid": "keep"}, "Unknown grid 'keep'. Did you mean 'kept'?"),
        ({"temperature": "hot"}, "The setting temperature is a number, not 'hot'."),
        ({"temperature": True}, "The setting temperature is a number, not True."),
        ({"faces_seed": 1.5}, "The setting faces_seed is a whole number, not 1.5."),
        ({"faces_seed": -3}, "The setting faces_seed is a whole number from 0, not -3."),
        ({"faces": ["1M"]}, "The setting faces is a text, not ['1M']."),
        ({"attributes": ["eyeware"]}, "Unknown attribute 'eyeware'. Did you mean 'eyewear'?"),
    ],
)
def test_a_wrong_setting_is_one_sentence(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(fv.errors.FaceValueError) as error:
        fv.study("stylisticbias", **settings)
    assert says in str(error.value)


def test_settings_may_be_lists_texts_numbers_and_paths(tmp_path: Path) -> None:
    one = fv.study("stylisticbias", faces=4, attributes="eyewear, tattoos", temperature=0)
    two = fv.study("stylisticbias", faces="4", attributes=("eyewear", "tattoos"), temperature=0.0)
    assert one.settings == two.settings
    assert to_setting_type(Setting("root", "Where pictures lie.", ""), tmp_path) == str(tmp_path)


def test_an_unknown_study_or_model_is_said_with_the_nearest() -> None:
    with pytest.raises(fv.errors.UnknownNameError, match="Did you mean 'stylisticbias'"):
        fv.study("stylistic-bias")
    with pytest.raises(fv.errors.UnknownNameError, match=r"Did you mean .*'sim/default'"):
        fv.model("simm/default")
    with pytest.raises(fv.errors.UnknownNameError, match="Unknown intervention 'no-images'"):
        fv.run(fv.study("stylisticbias", **SMALL), "sim/default", interventions=["no-images"])


# -- runs --------------------------------------------------------------------------------------------------------------


def test_an_audit_from_end_to_end(first: fv.Run) -> None:
    assert first.complete
    assert first.summary is not None
    assert first.summary.asked == 600
    answers = first.answers()
    assert answers.height == 600
    assert {"trial", "scenario", "preference", "na", "prompt", "probs"} <= set(answers.columns)
    estimates = first.estimates()
    assert estimates.filter(measure="shift").height
    assert fv.open_run(first.folder).estimates().equals(estimates)
    assert first.report().path.read_text().startswith("<!")
    assert first.report(first.folder / "other.html").path.name == "other.html"
    assert first.verify().replies == 600
    assert first.study.settings["faces"] == "1M,1F"
    assert "sim/default" in repr(first)
    assert "sim/default" in first._repr_html_()
    second = fv.run(fv.study("stylisticbias", **SMALL), "sim/strong", first.folder.parent / "b", exact=True)
    compared, built = fv.compare(first, second), fv.profile(first)
    gate = fv.gate(first, [{"measure": "shift", "absolute": 0.5}])
    for shown in (compared, built, gate):
        assert len(repr(shown)) < 500
    assert compared.answer in repr(compared)
    assert "<iframe srcdoc=" in compared._repr_html_()
    assert "<iframe srcdoc=" in built._repr_html_()
    assert str(gate.outcome) in gate._repr_html_()


def test_answers_come_in_part(first: fv.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from facevalue.runs import stored_run

    whole = first.answers()
    monkeypatch.setattr(stored_run.answers, "__kwdefaults__", {"failed": False, "at_once": 100})
    assert [chunk.height for chunk in first.answer_chunks()] == [100] * 6
    assert first.answers(limit=150).equals(whole.head(150))
    assert first.answers().equals(whole)
    assert first.answers(limit=0).columns == whole.columns


def test_pictures_are_those_that_were_shown(first: fv.Run) -> None:
    (image,) = first.pictures(0)
    assert PIL.Image.open(io.BytesIO(image.data)).format == "PNG"
    assert set(image._repr_mimebundle_()) == {"image/png"}
    assert "data" not in repr(image)


def test_the_same_call_resumes(tmp_path: Path) -> None:
    study, model = fv.study("stylisticbias", **SMALL, seeds="1"), First()
    one = fv.run(study, model, tmp_path / "run", sample=100, progress=False)
    two = fv.run(study, model, tmp_path / "run", sample=100, progress=False)
    assert one.summary is not None
    assert two.summary is not None
    assert (two.summary.asked, two.summary.skipped, model.asked) == (0, one.summary.asked, one.summary.asked)
    assert model.closed == 0, "who makes a model closes it"
    with pytest.raises(fv.errors.RunError, match="begun with other settings"):
        fv.run(study, model, tmp_path / "run", sample=200, progress=False)


def test_an_interrupt_leaves_a_run_that_resumes(tmp_path: Path) -> None:
    import signal

    study, model = fv.study("stylisticbias", **SMALL, seeds="1"), First()
    left = iter(range(50))
    respond = model.respond

    def interrupted(requests: Iterable[fv.Request]) -> Iterator[fv.Response]:
        for response in respond(requests):
            if next(left, None) == 49:
                signal.raise_signal(signal.SIGINT)
            yield response

    model.respond = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt, match="the same call resumes"):
        fv.run(study, model, tmp_path / "run", progress=False)
    assert not fv.open_run(tmp_path / "run").complete
    stored = fv.open_run(tmp_path / "run").answers().height
    again = fv.run(study, model, tmp_path / "run", progress=False)
    assert again.summary is not None
    assert again.summary.skipped == stored > 0
    assert again.complete


def test_a_run_goes_into_a_folder_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = fv.run(
        fv.study("stylisticbias", **SMALL), "sim/default", sample=100, interventions=["cipher"], progress=False
    )
    assert run.folder.as_posix() == "runs/stylisticbias-sim-default+cipher"


def test_two_runs_are_estimated_together_and_compared(first: fv.Run, tmp_path: Path) -> None:
    other = fv.run(first.study, First(), tmp_path / "other", exact=False, progress=False)
    with pytest.raises(fv.errors.FaceValueError):
        fv.compare(first, first.folder)
    sampled = fv.run(first.study, "sim/default", tmp_path / "sampled", progress=False)
    both = sampled.estimates(others=[other])
    assert set(both["model"].drop_nulls()) >= {"sim/default", "first"}
    assert sampled.report(tmp_path / "both.html", others=[other]).path.exists()


def test_preregistered_margins_are_kept(tmp_path: Path) -> None:
    (tmp_path / "declared.toml").write_text("[margin]\nshift = 0.05\n")
    study = fv.study("stylisticbias", **SMALL)
    run = fv.run(
        study, "sim/default", tmp_path / "run", sample=100, preregister=tmp_path / "declared.toml", progress=False
    )
    assert run.stored.read_declaration() is not None


# -- models of one's own -----------------------------------------------------------------------------------------------


def test_a_model_of_ones_own_may_look_at_pictures(tmp_path: Path) -> None:
    model = First(look=True)
    run = fv.run(fv.study("stylisticbias", **SMALL, seeds="1"), model, tmp_path / "run", sample=100, progress=False)
    assert run.model == "first"
    assert len(model.sizes) == 1
    assert run.answers()["na"].is_null().all()


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (object(), "object has no name and no capabilities and no settings and no respond and no close"),
        (First, "First is a class: pass an instance"),
        (lambda: "A", "called with one question, and this one: too many positional arguments"),
    ],
)
def test_what_is_no_model_is_said(model: Any, says: str, tmp_path: Path) -> None:
    with pytest.raises(fv.errors.ModelError, match=says):
        fv.run("stylisticbias", model, tmp_path)


SETTINGS = (fv.protocol.Setting("faces", "How many.", 4), fv.protocol.Setting("kinds", "Which.", ["x", "y"]))

# -- protocols of one's own --------------------------------------------------------------------------------------------


def test_a_protocol_of_ones_own_is_passed_in(tmp_path: Path) -> None:
    declared = fv.Protocol(name="tiny", title="Tiny", settings=SETTINGS, build=lambda options, manifest: tiny_study())
    run = fv.run(declared, TinyModel(mixed), tmp_path / "run", progress=False)
    assert run.study.title == "Tiny"
    assert run.answers().height == 12
    assert fv.open_run(tmp_path / "run", protocol=declared).answers().height == 12
    with pytest.raises(fv.errors.RunError, match="cannot read what the run stores of its study: Unknown study 'tiny'"):
        fv.open_run(tmp_path / "run")
    other = fv.Protocol(name="other", title="Other", settings=SETTINGS, build=lambda options, manifest: tiny_study())
    with pytest.raises(fv.errors.RunError, match="This is a run of tiny, not of other"):
        fv.open_run(tmp_path / "run", protocol=other)


# -- progress ----------------------------------------------------------------------------------------------------------


class Notes(SilentProgress):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


def test_progress_may_be_ones_own_and_large_runs_are_announced(tmp_path: Path) -> None:
    notes = Notes()
    declared = fv.Protocol(
        name="tiny", title="Tiny", settings=SETTINGS, build=lambda options, manifest: tiny_study(40_000)
    )
    model = TinyModel(say("(a)"))
    fv.run(declared, model, tmp_path / "run", progress=notes, sample=10, sight_check=False)
    assert notes.notes == []
    with pytest.raises(fv.errors.ModelError):
        fv.run(declared, _Failing(), tmp_path / "large", progress=notes)
    assert notes.notes[0].startswith("120,000 requests. A pilot is cheaper")


class _Failing(First):
    def respond(self, requests: Iterable[fv.Request]) -> Iterator[fv.Response]:
        raise RuntimeError


def test_notebooks_show_one_line_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, data: dict[str, str], raw: bool) -> None:
            shown[-1] = data["text/plain"]

    def display(data: dict[str, str], raw: bool, display_id: bool = False) -> Handle:
        shown.append(data["text/plain"])
        return Handle()

    class Shell:
        kernel = object()

    import types

    python, module = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    python.get_ipython = Shell  # type: ignore[attr-defined]
    module.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", python)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    progress = rich_progress.progress()
    assert isinstance(progress, rich_progress.NotebookProgress)
    progress.start(0, 100)
    progress.update(Snapshot(50, 100, 5.0, 10.0, 0, 0, None, 50, 0, 0))
    assert shown == ["████████████░░░░░░░░░░░░ 50/100 (50%), 5/s, 10 s to go, N/A 0.0%"]
    progress.note("A note.")
    progress.finish(None)
    assert shown == ["████████████░░░░░░░░░░░░ 50/100 (50%), 5/s, 10 s to go, N/A 0.0%", "A note."]


def test_frames_are_polars(first: fv.Run) -> None:
    assert all(isinstance(frame, pl.DataFrame) for frame in (first.answers(1), first.estimates(), first.study.pictures))


# -- what notebooks show -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["stylisticbias", "vignette", "visbias", "modscan", "counterfactuals"])
def test_a_study_shows_its_pictures_and_first_question(name: str) -> None:
    shown = fv.study(name)._repr_html_()
    assert shown.count("data:image/webp;base64,") >= 2
    assert "<blockquote" in shown
    assert len(shown) < 100_000


def test_what_a_study_says_is_escaped() -> None:
    from facevalue.protocol import Ask, Rows, yes_or_no
    from facevalue.statistics import Estimand, Mean

    rows = Rows([{"identity": "a", "place": "<b>here</b>"}], unit="identity")
    ask = Ask(prompts=("<script>{place}</script>",), reply=yes_or_no())
    study = fv.study(
        fv.Protocol(name="tags", title="<i>Who?</i>", stimuli=rows, ask=ask, estimands=(Estimand(Mean()),))
    )
    shown = study._repr_html_()
    assert not re.search("<(script|i|b)>", shown)
    assert "&lt;script&gt;" in shown


def test_a_plan_shows_what_a_run_takes() -> None:
    shown = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear").plan(exact=True, price_in=2)._repr_html_()
    assert "<th>requests</th><td>600</td>" in shown
    assert "<th>cost</th>" in shown


# -- the notebook ------------------------------------------------------------------------------------------------------


def _words(lines: Iterable[str]) -> list[str | float]:
    """Words and numbers to a thousandth: sums of 32 bits end otherwise where arrays lie otherwise in memory."""
    words = " ".join(lines).split()
    return [round(float(word), 3) if re.fullmatch(r"-?\d+\.\d+", word) else word for word in words]


def test_the_notebook_runs_and_shows_what_it_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tools.notebook import executed

    stored = json.loads((ROOT / "docs/tutorials/audit.ipynb").read_text())
    monkeypatch.chdir(tmp_path)
    for before, now in zip(stored["cells"], executed(stored)["cells"], strict=True):
        kinds = [[sorted(output.get("data", ())) for output in cell.get("outputs", ())] for cell in (before, now)]
        assert kinds[0] == kinds[1], before["id"]
        texts = [
            [_words(output.get("data", {}).get("text/plain", ())) for output in cell.get("outputs", ())]
            for cell in (before, now)
        ]
        assert texts[0] == texts[1], before["id"]
    shown = {cell["id"]: cell["outputs"][-1]["data"] for cell in stored["cells"] if cell.get("outputs")}
    assert len(shown["plot"]["image/png"]) * 3 / 4 < 100_000
    for cell in ("run", "decision"):
        assert "<iframe srcdoc=" in "".join(shown[cell]["text/html"]), "the first screen of the report"
