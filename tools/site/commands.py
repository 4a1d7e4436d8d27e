"""The commands of `facevalue` with all options, and the settings of all studies, as their helps print them."""

import inspect
import re
from collections.abc import Iterator

import click

from facevalue import studies
from facevalue.cli.app import GROUPS, app
from facevalue.cli.params import StudyGroup
from facevalue.protocol.settings import Setting
from facevalue.studies.offers import making_of
from facevalue.studies.registry import PUBLISHED
from tools.site.markdown import plain, table


def page() -> str:
    """All commands in the order of `facevalue --help`, then the settings of studies."""
    context = click.Context(app, info_name="facevalue")
    lines: list[str] = []
    for heading, (_, names) in GROUPS.items():
        lines += [f"## {heading}", ""]
        for name in names:
            command = app.get_command(context, name)
            if command is not None:
                lines += _command(command, context, name)
    return "\n".join([*lines, *_settings()])


def _command(command: click.Command, parent: click.Context, name: str, level: int = 3) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent)
    command.format_help_text(context, context.make_formatter())  # makes helps that take imports
    yield from (f"{'#' * level} {context.command_path}", "")
    of_study = isinstance(command, StudyGroup)
    yield from ("```text", " ".join([context.command_path, *command.collect_usage_pieces(context)]), "```", "")
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        if paragraph.startswith("\b"):  # what click prints as it is
            yield from ("```text", *(line.strip() for line in paragraph.splitlines()[1:]), "```", "")
        else:
            yield from (plain(" ".join(paragraph.split())), "")
    if isinstance(command, StudyGroup):
        common = command.get_command(context, next(iter(PUBLISHED)))
        own = set(getattr(common, "names", ()))
        yield from _options([param for param in common.params if param.name not in own], context)
        kind = "what it can have made" if name == "make" else "the study"
        yield from (f"Beside these, [the settings](#settings-of-the-studies) of {kind}.", "")
    else:
        yield from _options(command.params, context)
    if isinstance(command, click.Group) and not of_study:
        for inner in command.list_commands(context):
            below = command.get_command(context, inner)
            if below is not None:
                yield from _command(below, context, inner, level + 1)


def _options(params: list[click.Parameter], context: click.Context) -> Iterator[str]:
    records = [record for param in params if (record := param.get_help_record(context))]
    rows = [(f"`{options}`", plain(re.sub(r"\s+(\[[^\]]*\])$", r" \1", text))) for options, text in records]
    if rows:
        yield from table(("option", "meaning"), rows)


def _settings() -> Iterator[str]:
    yield from ("## Settings of the studies", "")
    yield "What each study lets you choose, and what its `make` has made. In Python they are arguments of `fv.study`,"
    yield from ("with underscores.", "")
    for name in studies.names():
        yield from (f"### {name}", "")
        study = studies.protocol(name)
        yield from _rows(study.settings)
        if study.extras.making is not None:
            yield from (f"Of `facevalue make {name}`:", "")
            yield from _rows(making_of(study).settings)


def _rows(settings: tuple[Setting, ...]) -> Iterator[str]:
    if not settings:
        yield from ("It has none of its own.", "")
        return
    rows = []
    for setting in settings:
        default = ", ".join(setting.default) if isinstance(setting.default, list) else str(setting.default)
        allowed = f" One of: {', '.join(f'`{choice}`' for choice in setting.choices)}." if setting.choices else ""
        rows.append(
            (f"`--{setting.name.replace('_', '-')}`", plain(setting.help) + allowed, default and f"`{default}`")
        )
    yield from table(("setting", "meaning", "default"), rows)
