"""Pages of the documentation site that are made from the code: everything is on them."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import click

import facevalue as fv
from facevalue import studies
from facevalue.cli.app import GROUPS, app
from facevalue.studies.registry import PUBLISHED
from tools.site import (
    benchmark_chart,
    calibration_charts,
    charts,
    commands,
    glossary,
    markdown,
    measures,
    python_api,
)

DOCS = Path(__file__).parents[2] / "docs"


def test_texts_of_a_terminal_become_markdown() -> None:
    assert doctest.testmod(markdown).failed == 0


def test_every_command_stands_there_with_every_option() -> None:
    page = commands.page()
    context = click.Context(app, info_name="facevalue")
    for _, names in GROUPS.values():
        for name in names:
            command = app.get_command(context, name)
            assert command is not None
            part = page.split(f"### facevalue {name}\n")[1].split("\n### ")[0]
            options = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
            assert not [option.opts[0] for option in options if f"{option.opts[0]}" not in part]
    assert "#### facevalue manifest check" in page
    assert "`--exact`" in page.split("### facevalue run\n")[1].split("\n### ")[0]


def test_every_setting_of_every_study_stands_there() -> None:
    settings = commands.page().split("## Settings of the studies")[1]
    for name in studies.names():
        part = settings.split(f"### {name}\n")[1].split("\n### ")[0]
        wanted = [f"`--{setting.name.replace('_', '-')}`" for setting in studies.protocol(name).settings]
        assert not [option for option in wanted if option not in part]


def test_every_measure_stands_there_with_its_equation() -> None:
    page = measures.page()
    for name in PUBLISHED:
        for measure in fv.study(name).measures.iter_rows(named=True):
            key = ".".join(filter(None, (measure["name"], measure["score"])))
            assert f"### {markdown.plain(key)}\n" in page
            assert measure["equation"] in page
            assert markdown.plain(measure["source"]) in page


def test_every_public_name_stands_there() -> None:
    made = set(re.findall(r"auto\w+:: facevalue\.([\w.]+)", python_api.page()))
    assert {name for name in fv.__all__ if name not in ("errors", "protocol")} <= {
        name.removeprefix("protocol.") for name in made
    }
    assert {f"protocol.{name}" for name in fv.protocol.__all__} <= made
    assert "errors.FaceValueError" in made


def test_words_of_reports_stand_there() -> None:
    assert "| Noise floor | " in glossary.page()


def test_what_is_made_is_named_by_a_page() -> None:
    named = {name for page in DOCS.rglob("*.md") for name in re.findall(r"```\{generated\} (\S+)", page.read_text())}
    assert named >= {"commands", "measures", "python_api", "glossary", "gallery", "calibration_charts.level"}
    for name in named:
        module, _, function = name.partition(".")
        assert callable(getattr(import_module(f"tools.site.{module}"), function or "page"))


def test_charts_have_a_row_for_each_value_of_the_tables() -> None:
    for of_studies in (calibration_charts.level, calibration_charts.alike):
        assert set(re.findall(r"<title>([a-z-]+), \d+: ", of_studies())) == {
            *PUBLISHED,
            "hiring-screen",
            "caption-assistant",
        }
    level = calibration_charts.level()
    assert level.count('class="value"') == level.count('class="interval"') == 21
    assert calibration_charts.coverage().count('class="value"') == 42
    assert calibration_charts.power().count('class="beside"') == calibration_charts.power().count('class="value"') > 14
    assert "40% withheld by group" in calibration_charts.hard()
    assert 'class="promised"' in calibration_charts.detectable()
    assert "gate: " in benchmark_chart.page()


def test_what_lies_beyond_an_axis_lies_at_its_end() -> None:
    axis = charts.Axis((1, 10, 100), (1, 10), logarithmic=True)
    assert axis.x(0) == axis.x(1) == charts.LABELS
    assert axis.x(10) == charts.LABELS + charts.PLOT / 2
    assert axis.x(1000) == charts.LABELS + charts.PLOT
    drawn = charts.chart("<b>", [charts.Row("a & b", 0.5, 0.2, 0.7)], charts.Axis((0, 1), (0, 0.1)))
    assert "&lt;b&gt;" in drawn
    assert "a &amp; b: 0.500 [0.200, 0.700]" in drawn


def test_long_labels_and_numbers_are_within_the_picture() -> None:
    long = charts.Row(
        "a label of a benchmark that is longer than what is usual", 2, 2, 2, text="304.7 pictures/s (>= 300) " * 2
    )
    drawn = charts.chart("Times", [long], charts.Axis((1, 10), (1, 10)))
    left, _, width, _ = (float(number) for number in re.search(r'viewBox="([^"]+)"', drawn)[1].split())  # type: ignore[index]
    assert left <= charts.LABELS - 10 - 6 * len(long.label)
    assert left + width >= charts.LABELS + charts.PLOT + 8 + 6 * len(long.text)
    assert "line: interval" not in drawn
