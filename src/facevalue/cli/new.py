"""`facevalue new`: a commented file to start one's own study from."""

from pathlib import Path

from facevalue.cli.output import Output, WrittenFiles
from facevalue.errors import DataError, SettingError, UnknownNameError
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.settings import Setting
from facevalue.shell_commands import drawing_command, shell_command
from facevalue.store.files import write_whole
from facevalue.studies import DECLARED, EXAMPLES, STUDIES, file_text


def new(file: Path, like: str | None) -> Output[WrittenFiles]:
    """Write a commented study to edit and run; `like` is an example or a published study."""
    like = like or EXAMPLES[0]
    if file.suffix != ".toml":
        raise SettingError(f"{file.name} does not end in .toml, which tells the file of a study from the name of one.")
    if file.exists():
        raise DataError(f"{file} already exists: name another file.")
    if like in (*EXAMPLES, *DECLARED):
        text = file_text(like).replace(f'name = "{like}"', f'name = "{file.stem}"').replace(f"{like}.toml", file.name)
    elif like in STUDIES:
        text = narrowed_protocol(STUDIES[like])
    else:
        raise UnknownNameError("study to start from", like, [*EXAMPLES, *STUDIES])
    write_whole(file, text.encode())
    is_drawn = like in EXAMPLES and "\n[make]\n" in text
    then = drawing_command(file) if is_drawn else shell_command("plan", file)
    next_step = "make its pictures" if is_drawn else "plan it"
    return Output(WrittenFiles((str(file),), then=then), [f"{file}: edit it, then {next_step} with {then}"])


def narrowed_protocol(protocol: Protocol) -> str:
    """A file that narrows a published protocol: its settings, commented out."""
    lines = [f"# {protocol.title}", "", f'like = "{protocol.name}"', "", "[settings]"]
    for setting in protocol.settings:
        lines += [f"# {setting.help}", f"# {setting.name} = {_setting_text(setting)}", ""]
    return "\n".join(lines)


def _setting_text(setting: Setting) -> str:
    value = setting.default
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(member if setting.name == 'seeds' else _quote_text(member) for member in value)}]"
    return _quote_text(value) if isinstance(value, str) else str(value)


def _quote_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
