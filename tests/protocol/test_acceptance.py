"""What could be asked and not reported is refused before anything is asked: one sentence, with what to do."""

from pathlib import Path

import pytest

from facevalue import studies
from facevalue.errors import DataError, FaceValueError
from facevalue.protocol import Ask, Protocol, Rows, yes_or_no
from facevalue.report import rehearsal
from facevalue.report.rehearsal import rehearse
from facevalue.runs import runner
from facevalue.statistics import Estimand, Shift
from tests.protocol.conftest import MINIMAL, Reader

SPREAD, MEAN, GAP = 'statistic = "spread"\nfactor = "age"', 'statistic = "mean"', 'statistic = "gap"\nfactor = '
SHIFT = '[[estimand]]\nstatistic = "shift"\nby = ["job"]'
ROWS = ", ".join(
    f'{{identity = "{unit}", first = "{first}", city = "c{unit % 3}", age = "a{unit // 3}"}}'
    for unit in range(9) for first in ("Emily", "Lakisha")
)  # fmt: skip
GROUPED = f"{MINIMAL[: MINIMAL.index('rows = [')]}rows = [{ROWS}]\n{MINIMAL[MINIMAL.index('[prompt]') :]}"


def estimands(*of: str) -> str:
    return GROUPED.replace(SHIFT, "\n".join(f"[[estimand]]\n{one}" for one in of))


def refused(text: str, read: Reader) -> str:
    path = read.folder / "small.toml"
    path.write_text(text)
    with pytest.raises(FaceValueError) as caught:
        studies.protocol(str(path)).study()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((SPREAD, f"{SPREAD}\nof_shifts = true"), "A spread has no 'of_shifts': only a gap has."),
        ((f'{MEAN}\nby = ["job", "city"]', f'{MEAN}\nby = ["city", "job"]'), "line 17: Estimands 1 and"),
        (('statistic = "shift"\nfamily = "a"', 'statistic = "shift"\nfamily = "b"'), "leave one of them"),
        ((f'{GAP}"age"', f'{GAP}"age"\nscores = ["share"]'), "leave one of them out"),
        ((f'{GAP}"age"\nby = ["city"]', f'{GAP}"city"\nby = ["age"]'), "by `versus`"),
        (('statistic = "shift"\nfamily = "a"\nconfirmatory = true',
          'statistic = "gap"\nfactor = "job"\nfamily = "a"\nconfirmatory = true'), "give one of them another family"),
        (('statistic = "mean"\nversus = "a1"',), "A mean has no 'versus'"),
    ],
)  # fmt: skip
def test_two_takes_of_the_same_estimates_are_refused(given: tuple[str, ...], says: str, read: Reader) -> None:
    assert says in refused(estimands(*given), read)


def test_gaps_versus_two_levels_are_two_takes(read: Reader) -> None:
    text = estimands(
        'statistic = "gap"\nfactor = "age"\nversus = "a0"', 'statistic = "gap"\nfactor = "age"\nversus = "a1"'
    )
    protocol = read(text)
    rehearse(protocol, protocol.study())


@pytest.mark.parametrize("name", ["wording", "ordering", "options", "stated"])
def test_no_factor_has_a_name_that_stands_for_something_else(name: str, read: Reader) -> None:
    text = GROUPED.replace("{job}", f"{{{name}}}").replace("[factor.job]", f"[factor.{name}]")
    assert f"No factor can be called {name!r}" in refused(text.replace('["job"]', f'["{name}"]'), read)


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("[answer]", "[sampling]\nmax_tokens = 0\n[answer]", "max_tokens is the longest reply, 1 to 1,000,000"),
        ("[answer]", "[settings]\nseeds = [1]\n[answer]", "[settings] are those of a published study"),
        ("{job}?", '{job}?"\nparaphrases = ["Hire {first} of {city}?"]\nsystem = "Go.', "1 has no slot {job}"),
        ('"cook"', '"cook", ' + ", ".join(f'"j{n}"' for n in range(24_000)), "a shift tells 1,000 apart at most"),
        ('"cook"', '"cook", ' + ", ".join(f'"j{n}"' for n in range(32_000)), "larger than 256 KiB"),
    ],
)  # fmt: skip
def test_what_was_taken_in_silence_is_refused(before: str, after: str, says: str, read: Reader) -> None:
    assert says in refused(GROUPED.replace(before, after, 1), read)


def test_a_study_as_long_as_a_file_may_be_is_kept_and_read_again(read: Reader) -> None:
    rows = ", ".join(f'{{identity="{n}",first="{who}",city="{n:020}"}}' for n in range(2000) for who in ("Emily", "Al"))
    text = f"{MINIMAL[: MINIMAL.index('rows = [')]}rows = [{rows}]\n{MINIMAL[MINIMAL.index('[prompt]') :]}"
    assert 180_000 < len(text) < 256 * 1024
    study = read(text).study()
    assert studies.build("small", study.options, study.manifest).design.size == study.design.size


def test_a_study_that_cannot_be_reported_is_not_asked(monkeypatch: pytest.MonkeyPatch, read: Reader) -> None:
    """Whatever the report comes to grief over is said before a request, and nothing is left behind."""
    protocol = read(GROUPED)
    made: list[Path] = []

    def broken(runs: list[object], out: Path) -> None:
        made.append(out)
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("facevalue.report.rehearsal.report", broken)
    with pytest.raises(DataError, match=r"was not asked, as it could not be reported.*ZeroDivisionError: by nothing"):
        rehearse(protocol, protocol.study())
    assert not made[0].parent.exists()


def test_a_large_study_is_rehearsed_with_every_level_of_its_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"identity": f"{n}", "hat": hat, "tone": f"tone {n % 30}"} for n in range(3_000) for hat in ("no", "cap")]
    many = Protocol(
        name="many", title="Many", stimuli=Rows(rows, cue="hat", base="no"),
        estimands=(Estimand(Shift(), by=("tone",)),),
        ask=Ask(("{job}?",), yes_or_no(), {"job": {f"job {n}": f"job {n}" for n in range(500)}}),
    )  # fmt: skip
    sizes = []

    def seen(study: object, *given: object) -> object:
        sizes.append((study.design.size, study.manifest["tone"].n_unique()))  # type: ignore[attr-defined]
        return original(study, *given)  # type: ignore[arg-type]

    original = runner.run
    monkeypatch.setattr(rehearsal, "run", seen)
    study = many.study()
    assert study.design.size == 3_000_000
    rehearse(many, study)
    ((size, tones),) = sizes
    assert size <= rehearsal.MOST
    assert tones == 30
