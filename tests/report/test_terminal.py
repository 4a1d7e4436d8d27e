from rich.console import Console

from facevalue.report import summary
from facevalue.studies.stylisticbias.measures import MEASURES
from tests.report import made


def shown(*args: object, **kwargs: object) -> str:
    console = Console(width=110, record=True, file=None, quiet=False, force_terminal=False)
    with console.capture() as captured:
        console.print(summary(made.estimates(*args, **kwargs), MEASURES))  # type: ignore[arg-type]
    return captured.get()


def test_headline_cues_and_intervals() -> None:
    text = shown()
    assert "4 moved the judgment" in text.replace("\n", " ")
    assert "[−0.181, −0.151]" in text
    assert "●" in text
    assert "< .001" in text


def test_model_names_are_no_markup() -> None:
    assert "[bold red]x[/]" in shown(("[bold red]x[/]",))


def test_not_measurable_is_said() -> None:
    text = shown(cues=dict.fromkeys(made.CUES))
    assert "not measurable" in text
    assert "100.0% of replies have no valid answer" in text
    assert "nan" not in text


def test_empty() -> None:
    console = Console(width=100)
    with console.capture() as captured:
        console.print(summary(made.estimates().clear(), MEASURES))
    assert "not measurable" in captured.get()
