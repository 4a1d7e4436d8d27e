"""Own studies: TOML files that declare what is shown, asked and estimated. Nothing in them is executed."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import or_
from pathlib import Path, PureWindowsPath
from typing import Any

import tomli_w

from facevalue.errors import DataError, UnknownNameError
from facevalue.places import is_study_file
from facevalue.printable import drawing_command
from facevalue.prompts.phrases import OPTIONS
from facevalue.prompts.phrases import slots as find_slots
from facevalue.protocol import settings as given
from facevalue.protocol.acceptance import check_tokens
from facevalue.protocol.asks import MOST_DRAWS, Ask
from facevalue.protocol.making import Making
from facevalue.protocol.offers import Extras
from facevalue.protocol.own_pictures import making_of, stimuli_of
from facevalue.protocol.own_replies import reply_of
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.replies import Options, Reply
from facevalue.protocol.settings import Setting
from facevalue.protocol.stimuli import Listed
from facevalue.protocol.toml_tables import TomlTable, declared_variants, lines_of, with_texts
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.statistic import parameters_of, registered_statistics, statistic_class, statistic_of
from facevalue.store.files import LISTS, ROOTS
from facevalue.types import OptionValue
from facevalue.untrusted_files import read_file, to_text, to_toml

MAX_BYTES = 256 * 1024
"""Largest file of a study."""
MAX_KEPT = 4 * 2**20
"""Longest canonical text that a run keeps of a study: of its file with those that it is like, a value on each line."""
_LISTED = ("needs", "left_out")
"""Keys for `facevalue studies` alone: a run goes on whatever they say."""
_LONGEST_TITLE = 120  # characters of a wording that stands for a level on the page
MOST_LIKE = 8
"""Longest chain of files that are like one another."""
KEYS = (
    *("name", "title", "version", "note", "citation", "needs", "left_out", "like", "settings"),
    *("pictures", "prompt", "factor", "item", "answer", "task", "estimand", "variant", "sampling", "titles", "make"),
)
_OUT = (
    "{} names {!r}, which is not below its own folder. If you trust whoever wrote it, say --outside "
    "(in Python outside=True)."
)
_PATHS = (*ROOTS, *LISTS)
"""Settings that say where pictures lie."""
Lookup = Callable[[str], Protocol]
"""From the name of a published study to its protocol; raises where there is none."""


def read(path: Path, published: Lookup, *, outside: bool = False) -> Protocol:
    """Read a study's file. `outside`: whether it may name files that do not lie below its own folder."""
    within = None if outside else path.parent
    data = read_file(path, MAX_BYTES, "a study")
    text, name = to_text(data, path.name), path.name
    lines = lines_of(text)
    document = _with_texts(TomlTable(name, lines, (), to_toml(data, name)), path.parent, within)
    like = document.get("like")
    if isinstance(like, str) and is_study_file(like):
        document = _merge_documents(path, document, (path.resolve(),), within)
    elif like is not None:
        return _narrow_protocol(TomlTable(name, lines, (), document), published, path.parent, within)
    if "settings" in document:
        top = TomlTable(name, lines, (), document)
        raise top.error("[settings] are those of a published study that a file is like; this one has none.", "settings")
    document.setdefault("name", path.stem)
    protocol = _protocol(TomlTable(name, lines, (), document), path.parent, within)
    if protocol.extras.making is None or not isinstance(protocol.stimuli, Listed):
        return protocol
    return replace(protocol, stimuli=replace(protocol.stimuli, made_by=drawing_command(path)))


def parse(text: str, name: str = "the study of the run") -> Protocol:
    """Understand the canonical text of a study, which names no other file.

    `name`: what errors call it; they name no place where it is empty, as of a file that no user has seen.
    """
    document = to_toml(text.encode(), name, MAX_KEPT)
    if "like" in document:
        raise DataError(f"{name} is like another file; a run keeps whole studies.")
    return _protocol(TomlTable(name, lines_of(text), (), document), Path(), None)


def _merge_documents(
    path: Path, document: Mapping[str, Any], seen: tuple[Path, ...], within: Path | None
) -> dict[str, Any]:
    """A file's document over that of the file it is like."""
    overrides = {key: value for key, value in document.items() if key != "like"}
    like = document.get("like")
    if not isinstance(like, str):
        return overrides
    if not is_study_file(like):
        raise DataError(f"{path.name} is like {like!r}, and another file is like it: be like {like!r} at once.")
    base_file = path.parent / like
    if leads_out(like, path.parent, within):
        raise DataError(_OUT.format(path.name, like))
    if base_file.resolve() in seen:
        chain = " is like ".join(file.name for file in (*seen, base_file.resolve()))
        raise DataError(f"{chain}: a study cannot be like itself.")
    if len(seen) >= MOST_LIKE:
        raise DataError(f"{path.name}: more than {MOST_LIKE} files are like one another.")
    data = read_file(base_file, MAX_BYTES, "a study")
    lines = lines_of(to_text(data, base_file.name))
    base_table = TomlTable(base_file.name, lines, (), to_toml(data, base_file.name))
    base = _with_texts(base_table, base_file.parent, within)
    merged = _merge_documents(base_file, base, (*seen, base_file.resolve()), within)
    pictures = merged.get("pictures")
    for key in ("manifest", "path"):  # paths are relative to the file that they stand in
        if isinstance(pictures, dict) and isinstance(pictures.get(key), str):
            merged["pictures"] = {**pictures, key: os.path.relpath(base_file.parent / pictures[key], path.parent)}
    return _over(merged, overrides)


def _with_texts(top: TomlTable, folder: Path, within: Path | None) -> dict[str, Any]:
    """A file's document with the texts of the files that it names, none of which leads out of the study's folder."""

    def check(path: Path) -> None:
        if leads_out(os.path.relpath(path, folder), folder, within):
            raise DataError(_OUT.format("The study", path.name))

    return with_texts(top, folder, check)


def leads_out(name: str, folder: Path, within: Path | None) -> bool:
    """Return whether a name in a file of this folder leads out of another, also over links; never out of None."""
    if within is None:
        return False
    if name.startswith("~") or "\\" in name or PureWindowsPath(name).drive or "://" in name or name.startswith("file:"):
        return True
    try:
        return not (folder / name).resolve().is_relative_to(within.resolve())
    except (OSError, ValueError, RuntimeError):
        return True


def _over(base: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(base)
    for key, value in overrides.items():
        before = out.get(key)
        out[key] = _over(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return out


def _narrow_protocol(top: TomlTable, published: Lookup, folder: Path, within: Path | None) -> Protocol:
    """A published protocol with other defaults; where pictures lie is said from the folder of the file."""
    with top.place_errors("like"):
        base = published(top.text("like"))
    top.check_keys("like", "title", "name", "settings")
    table = top.table("settings", needed=False)
    settings = {setting.name: setting for setting in base.settings}
    stated = {}
    for key in table:
        with table.place_errors(key):
            if key not in settings:
                raise UnknownNameError(f"setting of {base.name}", key, settings)
        default = _path_in_folder(table, key, folder, within) if key in _PATHS else _default(table, settings[key])
        with table.place_errors(key):
            _check_drawing(key, default)
        stated[key] = replace(
            settings[key], default=default, published=settings[key].default, place=table.key_place(key)
        )
    extras = base.extras
    if extras.making is not None:
        extras = replace(extras, making=partial(_narrowed_making, extras.making, stated))
    title = top.text("title", base.title)
    return replace(base, title=title, settings=tuple((settings | stated).values()), extras=extras)


def _narrowed_making(make: Callable[[], Making], stated: Mapping[str, Setting]) -> Making:
    """Making of a published study, with a file's defaults of the settings that narrow what is shown, too."""
    making = make()
    narrowing = {name: setting for name, setting in stated.items()
                 if name not in _PATHS and isinstance(setting.default, list | str)}  # fmt: skip
    settings = (
        replace(setting, default=stated[setting.name].default) if setting.name in narrowing else setting
        for setting in making.settings
    )
    return replace(making, settings=tuple(settings))


def _default(table: TomlTable, setting: Setting) -> OptionValue:
    key, now = setting.name, setting.default
    if isinstance(now, list):
        return [str(item) for item in (table.wholes(key, ()) if key == "seeds" else table.names(key))]
    if isinstance(now, bool):
        return table.flag(key, now)
    if isinstance(now, int):
        return table.whole_number(key)
    if isinstance(now, float):
        return table.number(key)
    text = table.text(key)
    if setting.choices and text not in setting.choices:
        with table.place_errors(key):
            raise UnknownNameError(key, text, setting.choices)
    return text


def _check_drawing(name: str, value: OptionValue) -> None:
    """Refuse how replies are drawn where its line is known: a study's settings are read when that is not."""
    if name == "seeds":
        given.seeds({name: value})
    elif name.endswith("temperature"):
        given.temperature({name: value}, name)


def _protocol(top: TomlTable, folder: Path, within: Path | None) -> Protocol:
    top.check_keys(*KEYS)
    name = top.text("name")
    if not name or len(name) > 60 or not all(c.isascii() and (c.isalnum() or c in "-_") for c in name):
        raise top.error(f"The name {name!r} is not made of letters, digits, hyphens and underscores.", "name")
    placed = lambda table, key: _path_in_folder(table, key, folder, within)  # noqa: E731
    stimuli = stimuli_of(top.table("pictures"), placed)
    extras = Extras(making=making_of(top.table("make"), stimuli, placed).making) if "make" in top else Extras()
    slots, items = _slots(top.table("factor", needed=False)), top.tables("item")
    places = _slot_places(top.table("factor", needed=False))
    ask, tasks = (None, _tasks(top, slots, items)) if "task" in top else (_ask(top, slots, items, places), {})
    replies = [question.reply for question in (tasks.values() if ask is None else [ask])]
    seeds, temperature, max_tokens = _sampling(top.table("sampling", needed=False), replies)
    estimands = tuple(estimand for table in top.tables("estimand") for estimand in _estimands(table))
    titles = top.table("titles", needed=False)
    canonical = tomli_w.dumps({key: value for key, value in top.document().items() if key not in _LISTED})
    if len(canonical.encode()) > MAX_KEPT:
        raise top.error(f"The study is longer than {MAX_KEPT // 2**20} MiB once files that it is like are put in.")
    with top.place_errors("estimand"):
        return Protocol(
            name=name,
            title=top.text("title", name),
            version=top.whole_number("version", 1, low=1),
            citation=top.text("citation", ""),
            content_note=top.text("note", ""),
            needs=top.text("needs", ""),
            left_out=top.text("left_out", ""),
            stimuli=stimuli,
            ask=ask,
            tasks=tasks,
            estimands=estimands,
            variants=declared_variants(top.table("variant", needed=False)),
            seeds=seeds,
            temperature=temperature,
            max_tokens=max_tokens,
            titles=_slot_titles(slots | _task_slots(tasks)) | {key: titles.texts(key) for key in titles},
            text=canonical,
            extras=extras,
        )


def _ask(
    table: TomlTable,
    slots: Mapping[str, Mapping[str, str]],
    items: Sequence[TomlTable],
    slot_places: Mapping[str, str],
) -> Ask:
    """A question: its prompt and kind of answer, from the table that holds both."""
    prompt, answer = table.table("prompt"), table.table("answer")
    prompt.check_keys("text", "paraphrases", "system")
    prompts = (prompt.text("text"), *prompt.names("paraphrases", ()))
    with answer.place_errors():
        reply = reply_of(answer, all(OPTIONS in text for text in prompts))
    with prompt.place_errors("text"):
        texts = [{column: item.text(column) for column in item} for item in items]
        places = [item.key_place() for item in items]
        judged = answer.table("judged", needed=False)
        templates = (judged.table(name) for name in judged)
        of_judges = {slot: t.key_place("template") for t in templates for slot in find_slots(t.text("template", ""))}
        return Ask(
            prompts, reply, slots, prompt.text("system", ""), texts, where=prompt.key_place("text"), places=places,
            slot_places=of_judges | {**slot_places},
        )  # fmt: skip


def _tasks(top: TomlTable, slots: Mapping[str, Mapping[str, str]], items: Sequence[TomlTable]) -> dict[str, Ask]:
    """Questions by task; factors and items of the study hold where a task has slots for them."""
    for key in ("prompt", "answer"):
        if key in top:
            raise top.error(f"[{key}] is that of one question; the study has tasks: write [task.NAME.{key}].", key)
    tasks, unfilled = {}, {*slots, *(["item"] if items else [])}
    table = top.table("task")
    for name in table:
        task = table.table(name)
        if not re.fullmatch("[a-z][a-z0-9_]{0,39}", name):
            raise task.error(
                f"The task {name!r} is not made of small letters, digits and underscores.", next(iter(task), "")
            )
        task.check_keys("prompt", "answer", "factor", "item", "pictures", "from_pictures", "draws")
        items_of = task.tables("item")
        used = _named_slots(task)
        slots_of = {key: levels for key, levels in slots.items() if key in used}
        slots_of |= _slots(task.table("factor", needed=False))
        if not items_of and items and used & {column for item in items for column in item}:
            items_of = [*items]
            unfilled.discard("item")
        unfilled -= set(slots_of)
        places = (_slot_places(one.table("factor", needed=False)) for one in (top, task))
        pictures, draws = task.table("pictures", needed=False), task.whole_number("draws", 1, low=1)
        own_levels = task.table("from_pictures", needed=False)
        columns = {factor: own_levels.text(factor) for factor in own_levels}
        if draws > MOST_DRAWS:
            raise task.error(f"{draws:,} replies to each question are too many: {MOST_DRAWS} are the most.", "draws")
        ask = _ask(task, slots_of, items_of, reduce(or_, places))
        tasks[name] = replace(
            ask, draws=draws,
            pictures={column: pictures.names(column) for column in pictures}, from_pictures=columns,
            slot_places={
                **ask.slot_places, **{column: pictures.key_place(column) for column in pictures},
                **{column: own_levels.key_place(factor) for factor, column in columns.items()},
            },
        )  # fmt: skip
    if unfilled:
        key = sorted(unfilled)[0]
        raise top.error(
            "No task has a slot for a column of the items." if key == "item" else
            f"No task has a slot {{{key}}} for the factor {key!r}.", key if key == "item" else "factor"
        )  # fmt: skip
    return tasks


def _named_slots(task: TomlTable) -> set[str]:
    """Slots of a task's prompts and options."""
    prompt, answer = task.table("prompt"), task.table("answer")
    languages = answer.table("languages", needed=False)
    tables = [table for table in (answer, *map(languages.table, languages)) if "options" in table]
    options = (text for table in tables for text in table.texts("options").values())
    texts = (prompt.text("text"), *prompt.names("paraphrases", ()), *options)
    return {name for text in texts for name in find_slots(text)}


def _task_slots(tasks: Mapping[str, Ask]) -> dict[str, Mapping[str, str]]:
    return {name: levels for ask in tasks.values() for name, levels in ask.slots.items()}


def _slot_titles(slots: Mapping[str, Mapping[str, str]]) -> dict[str, Mapping[str, str]]:
    """Wordings of levels for people: what fills the slot, or the level's name where that is a long text."""
    return {
        name: {level: level if len(text) > _LONGEST_TITLE or "\n" in text else text for level, text in levels.items()}
        for name, levels in slots.items()
    }


def _sampling(table: TomlTable, replies: Sequence[Reply]) -> tuple[tuple[int, ...], float, int]:
    """Seeds, temperature and the longest reply in tokens."""
    table.check_keys("seeds", "temperature", "max_tokens")
    seeds, temperature = table.wholes("seeds", (1,)), table.number("temperature", 1.0)
    for name, value in (("seeds", [str(seed) for seed in seeds]), ("temperature", temperature)):
        with table.place_errors(name):
            _check_drawing(name, value)
    longest = table.whole_number("max_tokens", 16 if all(isinstance(reply, Options) for reply in replies) else 512)
    with table.place_errors("max_tokens"):
        check_tokens(longest)
    return seeds, temperature, longest


def _path_in_folder(table: TomlTable, key: str, folder: Path, within: Path | None) -> str:
    name = table.text(key, "")
    if name and leads_out(name, folder, within):
        raise table.error(_OUT.format("The study", name), key)
    return str(folder / name) if name else ""


def _slots(table: TomlTable) -> dict[str, dict[str, str]]:
    out = {}
    for name in table:
        factor = table.table(name)
        factor.check_keys("levels")
        out[name] = factor.texts("levels")
    return out


def _slot_places(table: TomlTable) -> dict[str, str]:
    return {name: table.key_place(name) for name in table}


def _estimands(table: TomlTable) -> list[Estimand]:
    """An estimand for each grouping set of a table: `by = ["a", "b"]` is one, `by = [["a"], ["a", "b"]]` are two."""
    statistics = registered_statistics()
    if "statistic" not in table:
        raise table.error(f"'statistic' is missing: one of {', '.join(statistics)}.")
    kind = table.text("statistic")
    with table.place_errors("statistic"):
        forms = parameters_of(statistic_class(kind))
    strays = {
        name: ""
        for other in statistics.values()
        for name in parameters_of(other)
        if name in table and name not in forms
    }
    table.check_keys("statistic", "by", *_COMMON, *forms, *strays)
    with table.place_errors():
        parameters = {name: _READERS[form](table, name) for name, form in forms.items() if name in table}
        statistic = statistic_of(kind, parameters | strays)
        common = {key: read(table, key) for key, read in _COMMON.items() if key in table}
        grouping_sets = table.name_sets("by") if "by" in table else [()]
        if len({*grouping_sets}) < len(grouping_sets):
            raise table.error("'by' names a grouping set twice.", "by")
        return [Estimand(statistic, by=by, **common, place=table.key_place()) for by in grouping_sets]


def _levels(table: TomlTable, key: str) -> dict[str, tuple[str, ...]]:
    only = table.table(key)
    return {name: only.names(name) for name in only}


def _flag(table: TomlTable, key: str) -> bool:
    return table.flag(key, default=False)


_COMMON: dict[str, Callable[[TomlTable, str], Any]] = {
    "scores": TomlTable.names, "family": TomlTable.text, "confirmatory": _flag,
    "correction": TomlTable.text, "margin": TomlTable.number, "tested": _flag, "measure": TomlTable.text,
    "optional": _flag, "only": _levels,
}  # fmt: skip
"""Keys of every estimand besides `by`, and how each is read."""
_READERS: dict[Any, Callable[[TomlTable, str], Any]] = {
    str: TomlTable.text, bool: _flag, tuple[str, ...]: TomlTable.names, float: TomlTable.number,
}  # fmt: skip
"""Readers of parameters of statistics, by their type."""
