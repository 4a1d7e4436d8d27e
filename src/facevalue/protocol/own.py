"""Own studies: TOML files that declare what is shown, asked and taken. Nothing in them is executed."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path, PureWindowsPath
from typing import Any

import tomli_w

from facevalue.errors import DataError, UnknownNameError
from facevalue.given import read_file, to_text, to_toml
from facevalue.places import is_study_file
from facevalue.protocol import settings as given
from facevalue.protocol.acceptance import check_tokens
from facevalue.protocol.asks import Ask
from facevalue.protocol.items import check_items
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.replies import BOTH, ONE, Options, Reply, choice, rating, yes_or_no
from facevalue.protocol.settings import Setting
from facevalue.protocol.side_by_side import Pairs
from facevalue.protocol.slots import OPTIONS
from facevalue.protocol.slots import slots as find_slots
from facevalue.protocol.stimuli import UNITS, Folder, Listed, Portraits, Rows, Stimuli
from facevalue.protocol.takes import Take
from facevalue.protocol.toml_tables import Table, lines_of
from facevalue.protocol.written import CHARACTERS, TAKEN, WORDS, Amount, Field, Fields, Text
from facevalue.stimuli.base import Kind
from facevalue.types import OptionValue

MAX_BYTES = 256 * 1024
"""Largest file of a study."""
MAX_KEPT = 4 * 2**20
"""Longest canonical text that a run keeps of a study: of its file with those that it is like, a value on each line."""
MOST_LIKE = 8
"""Longest chain of files that are like one another."""
KEYS = (
    *("name", "title", "version", "note", "citation", "like", "settings"),
    *("pictures", "prompt", "factor", "item", "answer", "task", "take", "sampling", "titles"),
)
_OUT = (
    "{} names {!r}, which is not below its own folder. If you trust whoever wrote it, say --outside "
    "(in Python outside=True)."
)
Lookup = Callable[[str], Protocol]
"""From the name of a published study to its protocol; raises where there is none."""


def read(path: Path, published: Lookup, *, outside: bool = False) -> Protocol:
    """Read a study's file. `outside`: whether it may name files that do not lie below its own folder."""
    within = None if outside else path.parent
    data = read_file(path, MAX_BYTES, "a study")
    text, name = to_text(data, path.name), path.name
    document = to_toml(data, name)
    lines = lines_of(text)
    like = document.get("like")
    if isinstance(like, str) and is_study_file(like):
        document = _merged(path, document, (path.resolve(),), within)
    elif like is not None:
        return _narrowed(Table(name, lines, (), document), published)
    if "settings" in document:
        top = Table(name, lines, (), document)
        raise top.error("[settings] are those of a published study that a file is like; this one has none.", "settings")
    document.setdefault("name", path.stem)
    return _protocol(Table(name, lines, (), document), path.parent, within)


def parse(text: str, name: str = "the study of the run") -> Protocol:
    """Understand the canonical text of a study, which names no other file."""
    document = to_toml(text.encode(), name, MAX_KEPT)
    if "like" in document:
        raise DataError(f"{name} is like another file; a run keeps whole studies.")
    return _protocol(Table(name, lines_of(text), (), document), Path(), None)


def _merged(path: Path, document: Mapping[str, Any], seen: tuple[Path, ...], within: Path | None) -> dict[str, Any]:
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
        chain = " is like ".join(one.name for one in (*seen, base_file.resolve()))
        raise DataError(f"{chain}: a study cannot be like itself.")
    if len(seen) >= MOST_LIKE:
        raise DataError(f"{path.name}: more than {MOST_LIKE} files are like one another.")
    base = to_toml(read_file(base_file, MAX_BYTES, "a study"), base_file.name)
    merged = _merged(base_file, base, (*seen, base_file.resolve()), within)
    pictures = merged.get("pictures")
    for key in ("manifest", "path"):  # paths are relative to the file that they stand in
        if isinstance(pictures, dict) and isinstance(pictures.get(key), str):
            merged["pictures"] = {**pictures, key: os.path.relpath(base_file.parent / pictures[key], path.parent)}
    return _over(merged, overrides)


def leads_out(name: str, folder: Path, within: Path | None) -> bool:
    """Whether a name that stands in a file of this folder leads out of another, also over links; never out of None."""
    if within is None:
        return False
    if name.startswith("~") or "\\" in name or PureWindowsPath(name).drive or "://" in name or name.startswith("file:"):
        return True
    try:
        return not (folder / name).resolve().is_relative_to(within.resolve())
    except (OSError, ValueError, RuntimeError):
        return True


def _over(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(base)
    for key, value in own.items():
        before = out.get(key)
        out[key] = _over(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return out


def _narrowed(top: Table, published: Lookup) -> Protocol:
    """A published protocol with other defaults."""
    with top.at("like"):
        base = published(top.text("like"))
    top.known("like", "title", "name", "settings")
    table = top.table("settings", needed=False)
    settings = {setting.name: setting for setting in base.settings}
    stated = {}
    for key in table:
        with table.at(key):
            if key not in settings:
                raise UnknownNameError(f"setting of {base.name}", key, settings)
        default = _default(table, settings[key])
        with table.at(key):
            _check_drawing(key, default)
        stated[key] = replace(settings[key], default=default, published=settings[key].default, place=table.where(key))
    return replace(base, title=top.text("title", base.title), settings=tuple((settings | stated).values()))


def _default(table: Table, setting: Setting) -> OptionValue:
    key, now = setting.name, setting.default
    if isinstance(now, list):
        return [str(one) for one in (table.wholes(key, ()) if key == "seeds" else table.names(key))]
    if isinstance(now, bool):
        return table.flag(key, now)
    if isinstance(now, int):
        return table.whole(key)
    if isinstance(now, float):
        return table.number(key)
    text = table.text(key)
    if setting.choices and text not in setting.choices:
        with table.at(key):
            raise UnknownNameError(key, text, setting.choices)
    return text


def _check_drawing(name: str, value: OptionValue) -> None:
    """Refuse how replies are drawn where its line is known: a study's settings are read when that is not."""
    if name == "seeds":
        given.seeds({name: value})
    elif name.endswith("temperature"):
        given.temperature({name: value}, name)


def _protocol(top: Table, folder: Path, within: Path | None) -> Protocol:
    top.known(*KEYS)
    name = top.text("name")
    if not name or len(name) > 60 or not all(c.isascii() and (c.isalnum() or c in "-_") for c in name):
        raise top.error(f"The name {name!r} is not made of letters, digits, hyphens and underscores.", "name")
    stimuli = _stimuli(top.table("pictures"), folder, within)
    slots, items = _slots(top.table("factor", needed=False)), _items(top.tables("item"))
    ask, tasks = (None, _tasks(top, slots, items)) if "task" in top else (_ask(top, slots, items), {})
    replies = [question.reply for question in (tasks.values() if ask is None else [ask])]
    seeds, temperature, max_tokens = _sampling(top.table("sampling", needed=False), replies)
    takes = tuple(_take(one) for one in top.tables("take"))
    titles = top.table("titles", needed=False)
    canonical = tomli_w.dumps(top.document())
    if len(canonical.encode()) > MAX_KEPT:
        raise top.error(f"The study is longer than {MAX_KEPT // 2**20} MiB once files that it is like are put in.")
    with top.at("take"):
        return Protocol(
            name=name,
            title=top.text("title", name),
            version=top.whole("version", 1, least=1),
            citation=top.text("citation", ""),
            content_note=top.text("note", ""),
            stimuli=stimuli,
            ask=ask,
            tasks=tasks,
            takes=takes,
            seeds=seeds,
            temperature=temperature,
            max_tokens=max_tokens,
            titles=slots | _task_slots(tasks) | {key: titles.texts(key) for key in titles},
            text=canonical,
        )


def _ask(table: Table, slots: Mapping[str, Mapping[str, str]], items: Sequence[Mapping[str, str]]) -> Ask:
    """A question: its prompt and kind of answer, from the table that holds both."""
    prompt, answer = table.table("prompt"), table.table("answer")
    prompt.known("text", "paraphrases", "system")
    prompts = (prompt.text("text"), *prompt.names("paraphrases", ()))
    with answer.at():
        reply = _reply(answer, all(OPTIONS in text for text in prompts))
    with prompt.at("text"):
        return Ask(prompts, reply, slots, prompt.text("system", ""), items, prompt.where("text"))


def _tasks(top: Table, slots: Mapping[str, Mapping[str, str]], items: Sequence[Mapping[str, str]]) -> dict[str, Ask]:
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
        task.known("prompt", "answer", "factor", "item")
        items_of: Sequence[Mapping[str, str]] = _items(task.tables("item"))
        used = _named_slots(task)
        slots_of = {key: levels for key, levels in slots.items() if key in used}
        slots_of |= _slots(task.table("factor", needed=False))
        if not items_of and items and used & set(items[0]):
            items_of = items
            unfilled.discard("item")
        unfilled -= set(slots_of)
        tasks[name] = _ask(task, slots_of, items_of)
    if unfilled:
        key = sorted(unfilled)[0]
        raise top.error(
            "No task has a slot for a column of the items." if key == "item" else
            f"No task has a slot {{{key}}} for the factor {key!r}.", key if key == "item" else "factor"
        )  # fmt: skip
    return tasks


def _named_slots(task: Table) -> set[str]:
    """Slots of a task's prompts and options."""
    prompt, answer = task.table("prompt"), task.table("answer")
    options = answer.texts("options").values() if "options" in answer else ()
    texts = (prompt.text("text"), *prompt.names("paraphrases", ()), *options)
    return {name for text in texts for name in find_slots(text)}


def _task_slots(tasks: Mapping[str, Ask]) -> dict[str, Mapping[str, str]]:
    return {name: levels for ask in tasks.values() for name, levels in ask.slots.items()}


def _sampling(table: Table, replies: Sequence[Reply]) -> tuple[tuple[int, ...], float, int]:
    """Seeds, temperature and the longest reply in tokens."""
    table.known("seeds", "temperature", "max_tokens")
    seeds, temperature = table.wholes("seeds", (1,)), table.number("temperature", 1.0)
    for name, value in (("seeds", [str(seed) for seed in seeds]), ("temperature", temperature)):
        with table.at(name):
            _check_drawing(name, value)
    longest = table.whole("max_tokens", 16 if all(isinstance(reply, Options) for reply in replies) else 512)
    with table.at("max_tokens"):
        check_tokens(longest)
    return seeds, temperature, longest


def _stimuli(table: Table, folder: Path, within: Path | None) -> Stimuli:
    kinds = ("portraits", "manifest", "folder", "pairs", "none")
    kind = table.text("kind")
    with table.at("kind"):
        if kind not in kinds:
            raise UnknownNameError("kind of pictures", kind, kinds)
    with table.at():
        if kind == "portraits":
            table.known("kind", "people", "cues")
            with table.at("people"):
                Portraits({}, table.text("people", "20"))
            cues = table.table("cues", needed=False)
            for name in cues:
                with cues.at(name):  # so that what is wrong with a cue has its line
                    Portraits({name: cues.names(name)})
            return Portraits({name: cues.names(name) for name in cues}, table.text("people", "20"))
        unit = table.text("unit", "identity" if kind in ("manifest", "none") else "set")
        if unit not in UNITS:
            raise UnknownNameError("unit", unit, UNITS)
        cue, base = table.text("cue", ""), table.text("base", "")
        if kind == "none":
            table.known("kind", "unit", "cue", "base", "rows")
            rows = [{name: row.text(name) for name in row} for row in table.tables("rows")]
            return Rows(rows, UNITS[unit], cue, base)
        of = table.text("of", Kind.UNSTATED.value)
        if of not in [one.value for one in Kind]:
            raise UnknownNameError("what pictures are", of, [one.value for one in Kind])
        if kind == "folder":
            table.known("kind", "path", "cue", "base", "of")
            if not cue:
                raise table.error("'cue' is missing: what the pictures of a set differ in, such as \"hat\".")
            return Folder(UNITS["set"], cue, base, kind=of, path=_placed(table, "path", folder, within))
        table.known("kind", "unit", "cue", "base", "of", "manifest")
        stimuli = Pairs if kind == "pairs" else Listed
        return stimuli(UNITS[unit], cue, base, _placed(table, "manifest", folder, within), of)


def _placed(table: Table, key: str, folder: Path, within: Path | None) -> str:
    name = table.text(key, "")
    if name and leads_out(name, folder, within):
        raise table.error(_OUT.format("The study", name), key)
    return str(folder / name) if name else ""


def _slots(table: Table) -> dict[str, dict[str, str]]:
    out = {}
    for name in table:
        factor = table.table(name)
        factor.known("levels")
        out[name] = factor.texts("levels")
    return out


def _items(tables: Sequence[Table]) -> list[dict[str, str]]:
    items = [{column: table.text(column) for column in table} for table in tables]
    check_items(items, lambda number: tables[number].at())
    return items


def _reply(table: Table, slot: bool) -> Reply:
    """The kind of answer; options are shown both ways round by default where the prompt has a slot for them."""
    kinds: dict[str, Callable[[Table, bool], Reply]] = {
        "choice": _choice, "yes-no": _yes_no, "rating": _rating, "number": _number, "json": _json, "text": _text,
    }  # fmt: skip
    kind = table.text("kind")
    if kind not in kinds:
        with table.at("kind"):
            raise UnknownNameError("kind of answer", kind, kinds)
    return kinds[kind](table, slot)


def _choice(table: Table, slot: bool) -> Reply:
    table.known("kind", "options", "favourable", "scores", "orderings", "letters")
    options = table.texts("options")
    twice = [name for name, text in options.items() if list(options.values()).count(text) > 1]
    if twice:
        raise table.error(f"The options {twice[0]!r} and {twice[1]!r} have one wording.", "options")
    if ("favourable" in table) == ("scores" in table):
        raise table.error("A choice has either one option that is favourable, or the scores of all.")
    order = table.text("orderings", (BOTH if len(options) == 2 else "rotations") if slot else ONE)
    favourable = table.text("favourable") if "favourable" in table else _scores(table)
    with table.at("favourable" if isinstance(favourable, str) else "scores"):
        reply = choice(options, favourable, order, letters=table.flag("letters", slot))
    return replace(reply, where=table.where("options"))


def _scores(table: Table) -> Mapping[str, float] | Mapping[str, Mapping[str, float]]:
    """What each option counts, or that by the name of a score."""
    scores = table.table("scores")
    if not any(isinstance(value, dict) for value in table.document()["scores"].values()):
        return table.numbers("scores")
    return {name: scores.numbers(name) for name in scores}


def _yes_no(table: Table, slot: bool) -> Reply:
    table.known("kind", "favourable", "orderings", "yes", "no")
    with table.at("favourable"):
        favourable = table.text("favourable", "yes").lower()
        order = table.text("orderings", BOTH if slot else ONE)
        return yes_or_no(favourable, order, table.text("yes", "Yes"), table.text("no", "No"))


def _rating(table: Table, _slot: bool) -> Reply:
    table.known("kind", "low", "high")
    return rating(table.whole("low", 1), table.whole("high", 5))


def _number(table: Table, _slot: bool) -> Reply:
    table.known("kind", "unit", "low", "high")
    return Amount(table.text("unit", "1"), table.number("low", -inf), table.number("high", inf))


def _json(table: Table, _slot: bool) -> Reply:
    table.known("kind", "fields")
    fields = table.table("fields")
    out = {}
    for name in fields:
        field = fields.table(name)
        field.known("unit", "low", "high", "options", "favourable", "scores")
        if "options" not in field:
            out[name] = Field(field.text("unit", "1"), field.number("low", -inf), field.number("high", inf))
            continue
        favourable = field.text("favourable") if "favourable" in field else field.numbers("scores")
        with field.at("favourable"):
            options = choice(field.texts("options"), favourable)
        if options.keys:
            raise field.error("The options of a field are the same in all items: no column can name one.", "favourable")
        scale = options.scales[0]
        texts = {options.texts[key]: value for key, value in scale.values.items()}
        out[name] = Field(scale.score.unit, scale.score.low, scale.score.high, texts)
    return Fields(out)


def _text(table: Table, _slot: bool) -> Reply:
    table.known("kind", "take", "words")
    taken = table.names("take", (CHARACTERS, WORDS))
    for name in taken:
        with table.at("take"):
            if name not in TAKEN:
                raise UnknownNameError("what is taken of a text", name, TAKEN)
    lists = table.table("words", needed=False)
    words = {name: tuple(word.lower() for word in lists.names(name)) for name in lists}
    for name, entries in words.items():
        if name in TAKEN or name == "tokens":
            raise lists.error(f"No list of words can be called {name!r}.", name)
        if any(len(word.split()) != 1 for word in entries):
            raise lists.error(f"The list {name!r} holds more than single words.", name)
    return Text(taken, words)


def _take(table: Table) -> Take:
    table.known(
        *("measure", "by", "of", "versus", "ends", "on", "scores", "family"),
        *("confirmatory", "method", "margin", "tested", "name", "size", "rank_test", "welch"),
    )
    with table.at():
        return Take(
            table.text("measure"), table.names("by", ()), table.text("of", ""), table.text("versus", ""),
            table.text("on", "score"), table.names("scores", ()), table.text("family", ""),
            table.flag("confirmatory", False), table.text("method", "holm"),
            table.number("margin") if "margin" in table else None, table.names("ends", ()),
            table.flag("tested", True), table.text("name", ""), table.flag("size", False),
            table.flag("rank_test", False), table.flag("welch", False), table.where(),
        )  # fmt: skip
