"""Kinds of answers as a study's file states them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf

from facevalue.answers.sorting import MOST_CATEGORIES, TEXT_SLOT, Sorting
from facevalue.answers.yes_no import YesNoWords
from facevalue.errors import UnknownNameError
from facevalue.protocol.open_answers import CHARACTERS, TAKEN, WORDS, Amount, Field, Fields, Salary, Text
from facevalue.protocol.outside_scores import Outside, ScoredText
from facevalue.protocol.replies import BOTH, ONE, Options, Reply, choice, rating, yes_or_no
from facevalue.protocol.structured_replies import MOST_LENGTH, Measurements, NamedList, RatedScales
from facevalue.protocol.toml_tables import TomlTable
from facevalue.types import Language

# Scores of texts by a judge and by scorers as a study's file states them.


_NAME = re.compile("[a-z][a-z0-9_]{0,39}")


def outside_scores(table: TomlTable) -> Outside:
    """Scores of a text by a judge (`judged`) and by scorers (`scored`), each a table by name."""
    judged, scored = (table.table(key, needed=False) for key in ("judged", "scored"))
    sortings = tuple(_sorting(_score_table(judged, name), name) for name in judged)
    numbers = tuple(_read_score(_score_table(scored, name), name) for name in scored)
    with table.place_errors():
        return Outside(sortings, numbers)


def _score_table(tables: TomlTable, name: str) -> TomlTable:
    table = tables.table(name)
    if not _NAME.fullmatch(name):
        raise table.error(f"The score {name!r} is not made of small letters, digits and underscores.", *[*table][:1])
    return table


def _sorting(table: TomlTable, name: str) -> Sorting:
    table.check_keys("question", "categories", "instruction", "template")
    categories = table.texts("categories")
    for category in categories:
        if not _NAME.fullmatch(f"c{category}"):
            raise table.error(
                f"The category {category!r} is not made of small letters, digits and underscores: name it so, and give "
                'it a wording, as in {care = "Care or harm"}.', "categories",
            )  # fmt: skip
    if not 2 <= len(categories) <= MOST_CATEGORIES:
        raise table.error(f"A judge sorts into 2 to {MOST_CATEGORIES} categories, not {len(categories)}.", "categories")
    instruction = table.text("instruction", "").strip()
    with table.place_errors("categories"):
        sorting = Sorting(
            name, tuple(categories), tuple(categories.values()),
            heading=f"{instruction}\n\nThe text:" if instruction else "A text:", question=table.text("question"),
            template=table.text("template", TEXT_SLOT),
        )  # fmt: skip
    with table.place_errors("template"):  # so that what is wrong with it has its line
        Outside((sorting,))
    return sorting


def _read_score(table: TomlTable, name: str) -> ScoredText:
    table.check_keys("label", "low", "high")
    with table.place_errors():
        return ScoredText(name, table.text("label", name), table.number("low", 0.0), table.number("high", 1.0))


LEFT_OUT = "left out"
"""Value of an option that a score leaves out."""


def reply_of(table: TomlTable, slot: bool) -> Reply:
    """The kind of answer; options are shown both ways round by default where the prompt has a slot for them."""
    kinds: dict[str, Callable[[TomlTable, bool], Reply]] = {
        "choice": _choice, "yes-no": _yes_no, "rating": _rating, "number": _number, "json": _json, "text": _text,
        "ratings": _ratings, "list": _list, "salary": _salary, "measurements": _measurements,
    }  # fmt: skip
    kind = table.text("kind")
    if kind not in kinds:
        with table.place_errors("kind"):
            raise UnknownNameError("kind of answer", kind, kinds)
    reply = kinds[kind](table, slot)
    return _add_languages(table, reply) if isinstance(reply, Options) and "languages" in table else reply


_LANGUAGE_KEYS = ("language", "languages")
"""Keys of answers whose words differ by language."""


def _add_languages(table: TomlTable, reply: Options) -> Options:
    """The kind of answer with the words of each language."""
    tables, languages = table.table("languages"), {}
    for name in tables:
        words = tables.table(name)
        words.check_keys("or", "not", "refusals", "hedges", *(() if reply.parser == "rating" else ("options",)))
        texts = words.texts("options") if "options" in words else {}
        for option in texts:
            with words.place_errors("options"):
                if option not in reply.texts:
                    raise UnknownNameError("option", option, reply.texts)
        phrases = {key: words.names(key, ()) for key in ("refusals", "hedges")}
        for (key, texts_of), verb in zip(phrases.items(), ("decline", "hedge"), strict=True):
            if empty := next((text for text in texts_of if not any(map(str.isalnum, text))), ""):
                raise words.error(f"{empty!r} has no letter: replies that {verb} are found by such words.", key)
        language = Language(words.text("or", "or"), phrases["refusals"], words.names("not", ()), phrases["hedges"])
        languages[name] = replace(reply, texts={**reply.texts, **texts}, language=language)
    return replace(reply, by_language=table.text("language"), languages=languages)


def _choice(table: TomlTable, slot: bool) -> Reply:
    table.check_keys("kind", "options", "favourable", "scores", "orderings", "letters", *_LANGUAGE_KEYS)
    options = table.texts("options")
    twice = [name for name, text in options.items() if list(options.values()).count(text) > 1]
    if twice:
        raise table.error(f"The options {twice[0]!r} and {twice[1]!r} have one wording.", "options")
    if ("favourable" in table) == ("scores" in table):
        raise table.error("A choice has either one option that is favourable, or the scores of all.")
    order = table.text("orderings", (BOTH if len(options) == 2 else "rotations") if slot else ONE)
    favourable = table.text("favourable") if "favourable" in table else _scores(table)
    with table.place_errors("favourable" if isinstance(favourable, str) else "scores"):
        reply = choice(options, favourable, order, letters=table.flag("letters", slot))
    return replace(reply, where=table.key_place("options"))


def _scores(table: TomlTable) -> Mapping[str, float | None] | Mapping[str, Mapping[str, float | None]]:
    """Value of each option, or of each option by the name of a score."""
    scores = table.table("scores")
    if not any(isinstance(value, dict) for value in scores.document().values()):
        return _read_option_values(scores)
    return {name: _read_option_values(scores.table(name)) for name in scores}


def _read_option_values(table: TomlTable) -> dict[str, float | None]:
    """Value of each option; None for one that is left out."""
    for name, value in table.document().items():
        if isinstance(value, str) and value != LEFT_OUT:
            raise table.error(f'{name!r} is a number or "{LEFT_OUT}", not {value!r}.', name)
    return {name: None if value == LEFT_OUT else table.number(name) for name, value in table.document().items()}


def _yes_no(table: TomlTable, slot: bool) -> Reply:
    table.check_keys("kind", "favourable", "orderings", "yes", "no", *_LANGUAGE_KEYS)
    words = table.text("yes", "Yes"), table.text("no", "No")
    with table.place_errors("yes" if "yes" in table else "no"):
        YesNoWords(*words)
    with table.place_errors("favourable"):
        favourable = table.text("favourable", "yes").lower()
        return yes_or_no(favourable, table.text("orderings", BOTH if slot else ONE), *words)


def _rating(table: TomlTable, _slot: bool) -> Reply:
    table.check_keys("kind", "low", "high", *_LANGUAGE_KEYS)
    return rating(table.whole_number("low", 1), table.whole_number("high", 5))


def _number(table: TomlTable, _slot: bool) -> Reply:
    table.check_keys("kind", "unit", "low", "high")
    return Amount(table.text("unit", "1"), table.number("low", -inf), table.number("high", inf))


def _salary(table: TomlTable, _slot: bool) -> Reply:
    table.check_keys("kind")
    return Salary()


def _json(table: TomlTable, _slot: bool) -> Reply:
    return Fields(_fields(table))


def _measurements(table: TomlTable, _slot: bool) -> Reply:
    fields = _fields(table)
    for name, field in fields.items():
        if field.values:
            raise table.table("fields").error("A measurement is a number, and has no options.", name)
    return Measurements(fields)


def _fields(table: TomlTable) -> dict[str, Field]:
    table.check_keys("kind", "fields")
    fields = table.table("fields")
    out: dict[str, Field] = {}
    for name in fields:
        field = fields.table(name)
        field.check_keys("unit", "low", "high", "options", "favourable", "scores", "title", "higher", "lower")
        with field.place_errors("higher" if "higher" in field else "lower"):
            worded = Field(title=field.text("title", ""), moved=(field.text("higher", ""), field.text("lower", "")))
        if "options" not in field:
            low, high = field.number("low", -inf), field.number("high", inf)
            out[name] = replace(worded, unit=field.text("unit", "1"), low=low, high=high)
            continue
        favourable = field.text("favourable") if "favourable" in field else field.numbers("scores")
        with field.place_errors("favourable"):
            options = choice(field.texts("options"), favourable)
        if options.keys:
            raise field.error("The options of a field are the same in all items: no column can name one.", "favourable")
        scale = options.scales[0]
        texts = {options.texts[key]: value for key, value in scale.values.items() if value is not None}
        out[name] = replace(worded, unit=scale.score.unit, low=scale.score.low, high=scale.score.high, values=texts)
    return out


def _ratings(table: TomlTable, _slot: bool) -> Reply:
    table.check_keys("kind", "scales", "low", "high", "means")
    means = table.table("means", needed=False)
    scales = _score_names(table, "scales")
    low, high = table.number("low", 1), table.number("high", 5)
    with table.place_errors("scales"):  # so that what is wrong with a key has its line
        RatedScales(scales)
    with table.place_errors("low" if "low" in table else "high"):
        RatedScales(scales, low, high)
    with table.place_errors("means"):
        return RatedScales(scales, low, high, {name: means.names(name) for name in means})


def _list(table: TomlTable, _slot: bool) -> Reply:
    table.check_keys("kind", "options", "least", "most", "judged", "scored")
    options = _score_names(table, "options") if "options" in table else {}
    with table.place_errors("options"):  # so that what is wrong with a key has its line
        NamedList(options)
    with table.place_errors("least" if "least" in table else "most"):
        return NamedList(
            options, table.whole_number("least", 0), table.whole_number("most", MOST_LENGTH), outside_scores(table)
        )  # fmt: skip


def _score_names(table: TomlTable, key: str) -> dict[str, str]:
    """Wordings by the name of their score: that of a table, or a wording in small letters and underscores."""
    if isinstance(table.document().get(key), dict):
        return table.texts(key)
    out: dict[str, str] = {}
    for wording in table.names(key):
        name = re.sub("[^a-z0-9]+", "_", wording.lower()).strip("_")
        if not name or name in out:
            alike = f"{out[name]!r} and {wording!r} would both be the score {name!r}" if name else (
                f"{wording!r} has no letter from a to z for the name of its score"
            )  # fmt: skip
            raise table.error(f"{alike}: write {key} as a table, with a name for each.", key)
        out[name] = wording
    return out


def _text(table: TomlTable, _slot: bool) -> Reply:
    table.check_keys("kind", "take", "words", "judged", "scored")
    outside = outside_scores(table)
    taken = table.names("take", () if outside else (CHARACTERS, WORDS))
    for name in taken:
        with table.place_errors("take"):
            if name not in TAKEN:
                raise UnknownNameError("what is taken of a text", name, TAKEN)
    lists = table.table("words", needed=False)
    words = {name: tuple(word.lower() for word in lists.names(name)) for name in lists}
    for name, entries in words.items():
        if name in TAKEN or name == "tokens":
            raise lists.error(f"No list of words can be called {name!r}.", name)
        if any(len(word.split()) != 1 for word in entries):
            raise lists.error(f"The list {name!r} holds more than single words.", name)
    with table.place_errors():
        return Text(taken, words, outside)
