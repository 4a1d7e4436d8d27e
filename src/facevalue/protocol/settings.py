"""Settings: what a study lets its user choose, and readers of the choices that check them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from os import PathLike
from pathlib import Path

from facevalue.arguments import split_names
from facevalue.errors import DataError, SettingError, UnknownNameError
from facevalue.stimuli.base import Kind
from facevalue.types import OptionValue, Sampling

Options = Mapping[str, OptionValue]
MOST_SEEDS = 80
ALL = "all"
"""Stands for all names that a list may hold."""
HOTTEST = 2.0
_FACES = re.compile(r"(?:(\d{1,6})M)?,?(?:(\d{1,6})F)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Setting:
    """A choice that a study offers its user.

    Attributes
    ----------
    name:
        As in `Study.options`; on the command line with hyphens.
    help:
        One line for people.
    default:
        Its type is the setting's type.
    choices:
        Allowed values, if they are few.
    needs:
        Settings without any of which it would have no effect: "manifest", or "task=form" for one value of one. A list
        that is empty stands for all values.
    excludes:
        Settings beside which it would have no effect, written alike.
    levels:
        Names that a list may hold, for the shell to complete, or a function that reads them from a table; none where
        they are not known before a study is built.
    published:
        Default of the published study, where a file that is like it states another; else None.
    place:
        File and line where that stands.

    Examples
    --------
    >>> Setting("root", "The folder of the pictures.", "", needs=("manifest",)).default
    ''
    """

    name: str
    help: str
    default: OptionValue
    choices: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    levels: tuple[str, ...] | Callable[[], Iterable[str]] = ()
    published: OptionValue | None = None
    place: str = ""

    @property
    def option(self) -> str:
        """As on the command line."""
        return _option(self.name)


EXCLUDE = "exclude"
EXCLUSION = Setting(
    EXCLUDE,
    "Leave out pictures that failed their checks: the folder that inspect-pictures wrote.",
    "",
    needs=("manifest",),
)
"""Setting of every study that shows a list of the user's own pictures."""


def defaults(settings: Sequence[Setting]) -> dict[str, OptionValue]:
    """The value of each setting that was not given."""
    return {setting.name: setting.default for setting in settings}


def check_together(settings: Sequence[Setting], options: Options) -> None:
    """Refuse settings that would be ignored beside the others.

    Examples
    --------
    >>> root = Setting("root", "The folder of the pictures.", "", needs=("manifest",))
    >>> check_together([root, Setting("manifest", "The list.", "")], {"root": "pictures", "manifest": ""})
    Traceback (most recent call last):
    facevalue.errors.SettingError: --root has no effect without --manifest: give it too, or leave out --root.
    """
    for setting in settings:
        if options[setting.name] == (setting.default if setting.published is None else setting.published):
            continue
        option = setting.option
        for excluded in setting.excludes:
            if _is(options, excluded):
                raise SettingError(f"{option} has no effect beside {_option(excluded)}: leave out one of the two.")
        if setting.needs and not any(_is(options, condition) for condition in setting.needs):
            *rest, last = [_option(condition) for condition in setting.needs]
            needed = f"{', '.join(rest)} or {last}" if rest else last
            raise SettingError(
                f"{option} has no effect without {needed}: give {'one' if rest else 'it'} too, or leave out {option}."
            )


def _is(options: Options, condition: str) -> bool:
    name, _, value = condition.partition("=")
    chosen_value = options[name]
    if not value:
        return bool(chosen_value)
    listed = chosen_value if isinstance(chosen_value, list) else [str(chosen_value)]
    return not listed or fold_name(value) in map(fold_name, listed)


def _option(condition: str) -> str:
    name, _, value = condition.partition("=")
    return f"--{name.replace('_', '-')}{' ' if value else ''}{value}"


def located(
    options: Options, folders: Sequence[str] = (), files: Sequence[str] = (), others: Sequence[str] = ()
) -> dict[str, OptionValue]:
    """The options with all paths spelled out, so that the study can be built again from anywhere.

    `root` is the first folder that is given, or that of the first file, unless it is given itself, as by a stored run.
    """
    out = dict(options)
    places = [Path(str(out[name])) for name in folders if out.get(name)]
    places += [Path(str(out[name])).parent for name in files if out.get(name)]
    if places and out.get("root") == "":
        out["root"] = str(places[0].resolve())
    return out | {name: str(Path(str(out[name])).resolve()) for name in others if out[name]}


def seed_setting(*default: int) -> Setting:
    """The setting `seeds`."""
    return Setting("seeds", "Sampling seeds; each prompt is asked once per seed.", [str(seed) for seed in default])


def temperature_setting(default: float) -> Setting:
    """The setting `temperature`."""
    return Setting("temperature", "Sampling temperature.", default)


def own_files(root: tuple[str, ...], kind: tuple[str, ...]) -> tuple[Setting, Setting]:
    """Settings `root` and `kind` of the user's own pictures, each with the settings without which it has no effect."""
    kinds = tuple(member.value for member in Kind)
    return (
        Setting("root", "The folder that image paths are relative to; that of the file by default.", "", needs=root),
        Setting("kind", "What your own pictures are.", "unstated", kinds, needs=kind),
    )


def names(options: Options, name: str) -> list[str]:
    """A setting that is a list of names."""
    value = options[name]
    return [str(v) for v in value] if isinstance(value, list) else split_names(str(value))


def whole(options: Options, name: str, low: int, high: float = inf) -> int:
    """A setting that is a whole number of at least `low` and at most `high`."""
    value = options[name]
    if isinstance(value, (bool, list)) or not str(value).isdigit() or int(value) < low:
        raise DataError(f"The setting {name} is a whole number from {low}, not {value!r}.")
    if int(value) > high:
        raise DataError(f"The setting {name} is at most {high:,}, not {int(value):,}.")
    return int(value)


def number(options: Options, name: str) -> float:
    """A setting that is a number."""
    value = options[name]
    if isinstance(value, (list, str)):
        raise DataError(f"The setting {name} is a number, not {value!r}.")
    return float(value)


def seeds(options: Options) -> tuple[int, ...]:
    """The sampling seeds."""
    seeds_given = names(options, "seeds")
    distinct = len(set(seeds_given)) == len(seeds_given)
    if (
        not seeds_given
        or not all(seed.isdigit() for seed in seeds_given)
        or not distinct
        or len(seeds_given) > MOST_SEEDS
    ):
        raise DataError(f"Seeds are 1 to {MOST_SEEDS} different whole numbers, such as 1,2,3.")
    return tuple(int(seed) for seed in seeds_given)


def temperature(options: Options, name: str = "temperature") -> float:
    """A sampling temperature; 0 is greedy."""
    value = options[name]
    if isinstance(value, (list, str)) or not 0 <= value <= HOTTEST:
        raise SettingError(f"The {name.replace('_', ' ')} is {value}: it must be between 0 (greedy) and {HOTTEST:g}.")
    return float(value)


def sampling(options: Options) -> Sampling:
    """Sampling of replies, by the settings `temperature`, `top_p` and `max_tokens`."""
    nucleus = number(options, "top_p")
    if not 0 < nucleus <= 1:
        raise DataError(f"The setting top_p is a share above 0 and up to 1, not {nucleus:g}.")
    return Sampling(temperature(options), nucleus, whole(options, "max_tokens", 1))


def chosen(kind: str, names_wanted: Iterable[str], allowed: Sequence[str]) -> tuple[str, ...]:
    """Find names whatever their case and whether hyphens, underscores or spaces stand between words; "all" is each.

    Examples
    --------
    >>> chosen("dimension", ["Physical-Traits"], ["age", "physical traits"])
    ('physical traits',)
    """
    names_wanted = list(names_wanted)
    if not allowed:
        return tuple(names_wanted)
    places = {fold_name(name): name for name in allowed}
    if [fold_name(name) for name in names_wanted] == [ALL] and ALL not in places:
        return tuple(allowed)
    for name in names_wanted:
        if fold_name(name) not in places:
            raise UnknownNameError(kind, name, allowed)
    positions = {places[fold_name(name)] for name in names_wanted}
    return tuple(name for name in allowed if name in positions)


def fold_name(name: str) -> str:
    """A name without its case and separators."""
    return " ".join(name.lower().replace("-", " ").replace("_", " ").replace("/", " ").split())


def to_setting_type(setting: Setting, value: object) -> OptionValue:
    """A value given in Python as the setting's type: numbers may stand for text, a text with commas for a list.

    Examples
    --------
    >>> to_setting_type(Setting("seeds", "Sampling seeds.", ["1"]), [1, 2])
    ['1', '2']
    >>> to_setting_type(Setting("race", "Only these.", []), "a,b")
    ['a', 'b']
    """
    default = setting.default
    if setting.choices and value not in setting.choices:
        raise UnknownNameError(setting.name, str(value), setting.choices)
    if isinstance(default, list):
        if isinstance(value, str) or not isinstance(value, Iterable):
            return split_names(str(value), setting.levels)
        return [str(text).strip() for text in value if str(text).strip()]
    if isinstance(default, bool) is isinstance(value, bool):
        if isinstance(default, str) and isinstance(value, str | int | float | PathLike):
            return str(value)
        if isinstance(value, int) and isinstance(default, int | float):
            return value if isinstance(default, int) else float(value)
        if isinstance(value, float) and isinstance(default, float):
            return value
    kind = {str: "a text", bool: "True or False", int: "a whole number", float: "a number"}[type(default)]
    raise DataError(f"The setting {setting.name} is {kind}, not {value!r}.")


def face_counts(text: str) -> dict[str, int]:
    """Read how many faces of each gender are wanted.

    Examples
    --------
    >>> face_counts("274M,226F"), face_counts("5")
    ({'male': 274, 'female': 226}, {'male': 3, 'female': 2})
    """
    text = text.replace(" ", "")
    if any(len(digits) > 6 for digits in re.findall(r"\d+", text)):
        raise DataError(f"{text[:40]} is too many faces: at most 999,999 are drawn, such as 60, or 274M,226F.")
    if text.isdigit():
        counts = {"male": (int(text) + 1) // 2, "female": int(text) // 2}
    else:
        match = _FACES.fullmatch(text)
        if not match:
            raise DataError(f"Cannot read the number of faces {text!r}: write 60, or 274M,226F.")
        counts = {"male": int(match[1] or 0), "female": int(match[2] or 0)}
    if not sum(counts.values()):
        raise DataError("No faces asked for: nothing to judge.")
    return {gender: count for gender, count in counts.items() if count}
