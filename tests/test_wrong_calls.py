"""Every public function, called with what is wrong for each of its parameters: one sentence, and nothing else."""

import inspect
import math
import os
import pickle
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import facevalue as fv
from facevalue import errors

HALF = "a\ud83d"
NUL = "a\0b"
ODD: tuple[Any, ...] = (
    7, -1, 2**70, 1.5, math.nan, math.inf, True, None, "", " ", "nothing of the kind", NUL, HALF, "x" * 10_000,
    b"bytes", [], [7], [None], {}, {"a": 1}, {1, 2}, (), object(), int, len, lambda: None, np.array([1, 2]), 10**400,
    3j, Path("nowhere"), Path("x" * 5000),
)  # fmt: skip


def _is_name(value: Any) -> bool:
    """Whether a file could be called so."""
    return isinstance(value, str | Path) and 0 < len(str(value)) < 200 and value not in (NUL, HALF)


WHOLE = {"sample", "seed", "trial", "limit", "image_tokens", "concurrency", "retries", "threads", "max_tokens",
         "reasoning_tokens"}  # fmt: skip
AMOUNTS = {"timeout", "rpm", "tpm", "price_in", "price_out", "margin"}
FINE: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(WHOLE, lambda v: type(v) is int and v == 7),
    **dict.fromkeys(AMOUNTS, lambda v: type(v) in (int, float) and v in (7, 1.5)),
    **dict.fromkeys(("folder", "path"), _is_name),
    **dict.fromkeys(("spec", "model"), lambda v: callable(v) and not isinstance(v, type)),
    **dict.fromkeys(("exact", "compile", "sight_check"), lambda v: v is True),
    "progress": lambda v: isinstance(v, bool),
    "name": lambda v: isinstance(v, str) and _is_name(v) and v != " ",
    "interventions": lambda v: v in ([], ()),
    "others": lambda v: v in ([], ()),
    "margins": lambda v: v == {},
    "model_args": lambda v: v == {},
    "refusal_words": lambda v: v in ([], ()),
}


def _is_fine(name: str, value: Any) -> bool:
    """Whether a value is right for a parameter, and not to be tried."""
    if isinstance(value, np.ndarray | complex):
        return False
    try:
        return name in FINE and bool(FINE[name](value))
    except (TypeError, ValueError):
        return False


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[fv.Study, fv.Run]]:
    place = tmp_path_factory.mktemp("wrong")
    before = Path.cwd()
    os.chdir(place)
    study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear", seeds=1)
    yield study, fv.run(study, "sim/default", "fine", exact=True, progress=False)
    os.chdir(before)


def calls(study: fv.Study, run: fv.Run) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Each public function with arguments that are right."""
    return {
        "study": (fv.study, {"protocol": "vignette"}),
        "model": (fv.model, {"spec": "sim/default"}),
        "run": (fv.run, {"study": study, "model": "sim/default", "folder": "fine", "exact": True, "progress": False}),
        "open_run": (fv.open_run, {"folder": "fine"}),
        "compare": (fv.compare, {"first": run, "second": run}),
        "Run.answers": (run.answers, {}),
        "Run.estimates": (run.estimates, {}),
        "Run.pictures": (run.pictures, {"trial": 0}),
        "Run.report": (run.report, {"path": "page.html"}),
        "Study.plan": (study.plan, {}),
    }


NAMES = (
    "study",
    "model",
    "run",
    "open_run",
    "compare",
    "Run.answers",
    "Run.estimates",
    "Run.pictures",
    "Run.report",
    "Study.plan",
)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_wrong_for_a_parameter_is_one_sentence(name: str, small: tuple[fv.Study, fv.Run]) -> None:
    function, right = calls(*small)[name]
    parameters = [one for one in inspect.signature(function).parameters.values() if one.kind is not one.VAR_KEYWORD]
    tried, taken, other = 0, [], []
    for parameter in parameters:
        for value in ODD:
            if _is_fine(parameter.name, value) or (value is None and parameter.default is None):
                continue
            tried += 1
            try:
                given = {**right, parameter.name: value}
                first = [given.pop(parameter.name)] if parameter.kind is parameter.POSITIONAL_ONLY else []
                function(*first, **given)
            except errors.FaceValueError as error:
                said = str(error)
                if not said or len(said) > 2500 or "\n" in said:
                    other.append((parameter.name, value, said[:200]))
            except BaseException as error:
                other.append((parameter.name, value if len(repr(value)) < 60 else "...", repr(error)[:200]))
            else:
                taken.append((parameter.name, repr(value)[:60]))
    assert tried
    assert not other
    assert not taken


@pytest.mark.parametrize(
    "value", [None, object(), 3j, b"x", [None], {"a": 1}, math.nan, NUL, HALF], ids=lambda value: type(value).__name__
)
@pytest.mark.parametrize("setting", ["faces", "attributes", "seeds", "temperature", "people", "counted"])
def test_a_setting_of_the_wrong_kind_is_one_sentence(setting: str, value: Any) -> None:
    with pytest.raises(errors.FaceValueError):
        fv.study("stylisticbias", **{setting: value})


@pytest.mark.parametrize(
    ("call", "given", "more"),
    [(fv.model, (), {}), (fv.run, ("vignette",), {}), (fv.model, ("sim/default",), {"warmth": 1}),
     (fv.open_run, (1, 2), {})],
)  # fmt: skip
def test_arguments_that_a_function_does_not_have_are_one_sentence(
    call: Callable[..., Any], given: tuple[Any, ...], more: dict[str, Any]
) -> None:
    with pytest.raises(errors.FaceValueError, match=r"It is (model|run|open_run)\("):
        call(*given, **more)


def test_numbers_of_numpy_are_numbers(small: tuple[fv.Study, fv.Run]) -> None:
    numbers: dict[str, Any] = {"sample": np.int64(36), "price_in": np.float32(2.0)}
    assert small[0].plan(**numbers, exact=True).asked == 36


def test_a_function_from_question_to_text_is_a_model(tmp_path: Path) -> None:
    study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear", seeds=1, scenario="wealthy")

    def first(question: fv.Question) -> str:
        return question.options[0].label

    run = fv.run(study, fv.model(first), tmp_path / "run", progress=False)
    assert run.complete
    assert run.model == "function/first"
    assert run.answers()["preference"].mean() == 0.5
    assert fv.run(study, first, tmp_path / "run", progress=False).summary.asked == 0  # type: ignore[union-attr]

    def first(question: fv.Question) -> str:  # type: ignore[no-redef]
        return question.options[-1].label

    with pytest.raises(errors.RunError, match="begun with other settings"):
        fv.run(study, first, tmp_path / "run", progress=False)


def test_a_function_that_answers_oddly_loses_those_questions_alone(tmp_path: Path) -> None:
    study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear", seeds=1, scenario="wealthy")
    answers: Iterator[Any] = iter(["(a)", None, 7, b"(a)", {}])

    def oddly(question: fv.Question) -> Any:
        said = next(answers, "(b)")
        if said == {}:
            raise ZeroDivisionError
        return said

    run = fv.run(study, oddly, tmp_path / "run", progress=False)
    assert run.summary is not None
    assert run.summary.errors == 4
    assert fv.run(study, oddly, tmp_path / "run", progress=False).complete


@pytest.mark.parametrize("kind", [fv.Capabilities, fv.Intervention])
def test_what_is_wrong_for_a_field_is_one_sentence(kind: type) -> None:
    right = {"name": "judge", "before": "Act as a judge."} if kind is fv.Intervention else {}
    for field in inspect.signature(kind).parameters:
        for value in (None, object(), 3j, b"x", [None], {"a": 1}, math.nan, 1.5):
            with pytest.raises(errors.FaceValueError):
                kind(**{**right, field: value})


def test_a_class_is_no_function() -> None:
    classes: tuple[Any, ...] = (int, fv.Question, type)
    for what in classes:
        with pytest.raises(errors.ModelError, match="is a class"):
            fv.model(what)


@pytest.mark.parametrize(
    "error",
    [errors.UnknownNameError("study", "a", ["b"]), errors.DependencyError("p", "x"), errors.RunError("x"),
     errors.ReplyError("x")],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_errors_can_be_pickled(error: errors.FaceValueError) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert str(back) == str(error)


def test_an_error_of_pictures_keeps_what_it_says_of_each() -> None:
    from facevalue.stimuli.manifest_rows import PicturesError

    back = pickle.loads(pickle.dumps(PicturesError({"a": "a is gone.", "b": "b is gone."})))
    assert back.problems == {"a": "a is gone.", "b": "b is gone."}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_of_a_process_that_computed_says_so_instead_of_hanging(small: tuple[fv.Study, fv.Run]) -> None:
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            small[1].answers()
        except errors.RunError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read, "rb") as told:
        assert b"get_context('spawn')" in told.read()
