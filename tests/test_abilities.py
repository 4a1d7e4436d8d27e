"""Everything that a user can say or see by name: what disappears is seen here, and taken off the list on purpose.

`python -m tests.test_abilities` writes the list (`tests/data/abilities.txt`).
"""

import ast
import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import click

import facevalue as fv
from facevalue import errors, statistics, studies
from facevalue.cli.app import app
from facevalue.statistics.statistic import parameters_of, registered_statistics
from facevalue.studies.registry import STUDIES

LIST = Path(__file__).parent / "data" / "abilities.txt"
PACKAGE = Path(fv.__file__).parent


def command_abilities(command: click.Command, context: click.Context) -> Iterator[str]:
    """Commands and their options; settings of studies are options of `run STUDY`."""
    for parameter in command.params:
        names = parameter.opts if isinstance(parameter, click.Option) else [str(parameter.name).upper()]
        yield from (f"option  {context.command_path} {name}" for name in [*names, *parameter.secondary_opts])
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            path = click.Context(below, info_name=name, parent=context)
            yield f"command {path.command_path}"
            yield from command_abilities(below, path)


def api_abilities() -> Iterator[str]:
    """Public names of the Python interface, parameters of functions, public members of classes."""
    for home in (fv, fv.protocol, statistics):
        for name in home.__all__:
            thing, full = getattr(home, name), f"{home.__name__}.{name}"
            yield f"name    {full}"
            if inspect.isfunction(thing):
                yield from (f"name    {full}({parameter})" for parameter in inspect.signature(thing).parameters)
            elif inspect.isclass(thing):
                yield from (f"name    {full}.{member}" for member in vars(thing) if not member.startswith("_"))


def key_abilities() -> Iterator[str]:
    """Keys of TOML files: what readers of tables check, and the parameters of statistics."""
    for kind, statistic in registered_statistics().items():
        yield f"statistic {kind}"
        yield from (f"key     {key}" for key in parameters_of(statistic))
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text()
        if ".check_keys(" not in text or "TomlTable" not in text:
            continue
        home = importlib.import_module(".".join(("facevalue", *path.relative_to(PACKAGE).with_suffix("").parts)))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "check_keys":
                yield from (f"key     {key}" for argument in node.args for key in _keys(argument, home))


def _keys(argument: ast.expr, home: ModuleType) -> list[str]:
    """Values of an argument: a text, or names of the module that are spread."""
    if isinstance(argument, ast.Constant):
        return [str(argument.value)]
    values = [getattr(home, node.id, None) for node in ast.walk(argument) if isinstance(node, ast.Name)]
    spread = [[value] if isinstance(value, str) else value for value in values]
    return [str(key) for keys in spread if isinstance(keys, list | tuple | dict) for key in keys]


def measure_abilities() -> Iterator[str]:
    """Measures of the studies that come with the package."""
    for name in STUDIES:
        yield f"study   {name}"
        with suppress(errors.FaceValueError):  # studies of pictures that are not here
            yield from (f"measure {name} {measure.name}" for measure in studies.build(name, {}).estimates.measures)


def abilities() -> list[str]:
    """Every one of them, in order."""
    found = {*command_abilities(app, click.Context(app, info_name="facevalue")), *api_abilities(), *key_abilities()}
    return sorted({*found, *measure_abilities()})


def test_nothing_that_a_user_can_name_is_gone_or_new_without_notice() -> None:
    command = [sys.executable, "-m", "tests.test_abilities", "-"]  # other tests load options that are loaded when asked
    made = subprocess.run(command, cwd=LIST.parents[2], capture_output=True, text=True, check=True)
    listed, present = LIST.read_text().splitlines(), made.stdout.splitlines()
    gone, new = sorted({*listed} - {*present}), sorted({*present} - {*listed})
    assert not gone, f"Gone: {gone}. If that is meant: python -m tests.test_abilities, and a line in CHANGELOG.md."
    assert not new, f"New: {new}. python -m tests.test_abilities writes the list."


if __name__ == "__main__":
    lines = "".join(f"{ability}\n" for ability in abilities())
    if sys.argv[1:]:
        sys.stdout.write(lines)
    else:
        LIST.write_text(lines)
