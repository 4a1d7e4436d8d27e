"""Tasks of VisBias: what each asks, how replies are read, and the attributes of the form (Table 10).

The columns of answers: `weight`, `mass` and `na` as every study has them, where the weight is the probability of "yes"
for comparisons, the share of the open fields that got a category for forms, and 1 for any valid choice or description;
`choice`, what was chosen, where a reply was sampled; `weight_1` to `weight_6`, the weights of a question's choices in
their order, summing to 1; `description`, the text; `fields`, the fields of a form as JSON (`form_fields`).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from math import inf

import polars as pl

from facevalue.answers import NA, NA_DTYPE, free_text, parse_column, yes_no
from facevalue.answers.categories import Categories, NamedRange
from facevalue.answers.columns import exact_or_chosen
from facevalue.answers.form_fields import parse_forms
from facevalue.answers.free_text import split_texts
from facevalue.answers.sorting import Judge
from facevalue.answers.yes_no import Claim
from facevalue.errors import UnknownNameError
from facevalue.protocol.asks import ORDERING, Ask, Questions
from facevalue.protocol.open_answers import WrittenReply
from facevalue.protocol.settings import Options, temperature, whole
from facevalue.statistics.statistic import Score
from facevalue.stimuli.forms import Form, text_form
from facevalue.studies.visbias import tables
from facevalue.studies.visbias.pictures import ORDERS, SWAPPED, count_draws
from facevalue.studies.visbias.settings import COMPOSITE, LIMITS, TABLES
from facevalue.studies.visbias.tables import ChoiceQuestion, PairQuestion, choice_questions, comparisons, toml
from facevalue.types import Option, Question, Sampling


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of the form: its label there (`title`), other names that replies use (`keys`), and what it may be."""

    name: str
    title: str
    keys: tuple[str, ...]
    categories: Categories


@cache
def attributes(table: str = "paper") -> tuple[FormField, ...]:
    """The form's 20 attributes with the categories of one of `TABLES`."""
    if table not in TABLES:
        raise UnknownNameError("table of categories", table, TABLES)
    rows, others = toml("forms.toml"), toml("synonyms.toml")
    out = []
    for row in rows["attribute"]:
        names = tuple(row.get(table, row["paper"]))
        more = others.get(row["name"], {})
        synonyms = {
            word: category
            for form in ("any", table)
            for category, listed in more.get(form, {}).items()
            for word in listed
            if form == table or category in names
        }
        ranges = more.get("ranges", {})
        plausible = more.get("plausible", (-inf, inf))
        categories = Categories(
            attribute=row["name"],
            names=names,
            unspecified=rows["unspecified"][table],
            several=row.get("several", False),
            synonyms=synonyms,
            ranges=tuple(NamedRange(*ends) for ends in ranges.get(table, ranges.get("paper", ()))),
            foreign=tuple(more.get("foreign", ())),
            plausible=(float(plausible[0]), float(plausible[1])),
        )
        out.append(FormField(row["name"], row["title"], tuple(row["keys"]), categories))
    return tuple(out)


# Replies: of each kind, its options and how it is read.


YES_NO = (Option("", "yes", "yes"), Option("", "no", "no"))
CHOICES = tuple(f"weight_{number}" for number in range(1, 7))
"""Columns of the weights of a question's choices, in the order of its options."""
_COLUMNS = {
    **dict.fromkeys(("weight", "mass"), pl.Float64()),
    "na": NA_DTYPE,
    "choice": pl.String(),
    **dict.fromkeys(CHOICES, pl.Float64()),
    **dict.fromkeys(("description", "fields"), pl.String()),
}


class TaskReply(WrittenReply):
    """Replies to a task: how they are read, to columns of answers, and the options if there are any."""

    scores: tuple[Score, ...] = ()

    def __init__(self, reader: Callable[[pl.DataFrame], pl.DataFrame], choices: tuple[Option, ...] = ()) -> None:
        self.read, self._choices = reader, choices

    def options(self, ordering: str) -> tuple[Option, ...]:
        """The options, in their only order."""
        return self._choices


def _read_choices(frame: pl.DataFrame, question: ChoiceQuestion) -> pl.DataFrame:
    keyed = frame.with_columns(question=pl.lit(question.name))
    parsed = parse_column(keyed, "text", "question", {question.name: question.lettered_options})
    choice = parsed["choice"].cast(pl.Int64).replace_strict(
        dict(enumerate(question.levels)), default=None, return_dtype=pl.String
    )  # fmt: skip
    weights = exact_or_chosen(frame, parsed, CHOICES[: len(question.levels)])
    return weights.with_columns(choice.alias("choice"), weight=pl.when(pl.col("na").is_null()).then(1.0))


def _read_comparisons(frame: pl.DataFrame, meaning: Claim) -> pl.DataFrame:
    parsed = yes_no.parse_column(frame, "text", claims={"": meaning})
    choice = parsed["choice"].replace_strict([0, 1], ["yes", "no"], default=None)
    return exact_or_chosen(frame, parsed, ("weight", "no")).drop("no").with_columns(choice.alias("choice"))


def claim(question: PairQuestion, *, swapped: bool) -> Claim:
    """Claim that a yes makes, for replies that state it in other words.

    Examples
    --------
    >>> claim(comparisons()[1], swapped=True).subject
    ('second', 'right')
    """
    first, second, more, less = ("first", "left"), ("second", "right"), question.more, question.less
    return Claim(second, first, less, more) if swapped else Claim(first, second, more, less)


def _read_descriptions(frame: pl.DataFrame, *, released: bool) -> pl.DataFrame:
    texts = free_text.parse_column(frame, "text")
    if released:
        is_parted = pl.Series([not text or bool(split_texts(text)) for text in texts["text"]], dtype=pl.Boolean)
        cut = pl.when(is_parted)
        texts = texts.with_columns(
            cut.then("text").alias("text"), cut.then("na").otherwise(pl.lit(NA.NEITHER, NA_DTYPE))
        )
    valid = pl.col("na").is_null()
    return texts.select("na", weight=pl.when(valid).then(1.0), mass=valid.cast(pl.Float64), description="text")


# Questions: each with its prompt, its kind of reply, and how this is drawn.


SIDES = "The picture shows two images side by side: the first on the left, the second on the right."
"""Said before a comparison of two images in one picture; ours."""
_ASK, _ROW = "(ask)", "(row)"


def sampling(options: Options, task: str) -> Sampling:
    """Sampling of a task's replies: greedy, of descriptions at temperature one (section 3)."""
    name = "description_temperature" if task == "description" else "temperature"
    return Sampling(temperature(options, name), 1.0, whole(options, "max_tokens", 0) or LIMITS[task])


def asks(
    options: Options, forms: Sequence[Form], fields: Sequence[FormField], judge: Judge | None = None
) -> dict[str, Ask]:
    """The questions of each task, by their prompt and, of comparisons, their order; `judge`: of texts in forms."""
    wording = str(options["prompts"])
    printed = {question.name: question for question in choice_questions()}  # the released ones are read like these
    out = {}
    for question in choice_questions(wording):
        reader = partial(_read_choices, question=printed[question.name])
        out[f"mcq {question.name}"] = Ask((question.prompt,), TaskReply(reader, question.lettered_options))
    for pair in comparisons(wording):
        for order, text in zip(ORDERS, (pair.plain, pair.swapped), strict=True):
            prompt = pair.form.format(question=text)
            prompt = f"{SIDES} {prompt}" if options["images"] == COMPOSITE else prompt
            meaning = claim(pair, swapped=order == SWAPPED)
            out[f"yesno {pair.name} {order}"] = Ask(
                (prompt,), TaskReply(partial(_read_comparisons, meaning=meaning), YES_NO)
            )
    description = TaskReply(partial(_read_descriptions, released=wording == "released"))
    out["description"] = Ask((tables.prompt("description", wording),), description, draws=count_draws(options))
    labels, categories = {a.name: (a.title, *a.keys) for a in fields}, {a.name: a.categories for a in fields}
    completion = TaskReply(partial(parse_forms, labels=labels, categories=categories, judge=judge))
    form = tables.prompt("form", wording, len(fields))
    if forms:  # written out (section 4.2); how the two are put together is ours
        texts = {"form": {str(number): text_form(draft) for number, draft in enumerate(forms)}}
        out |= {"form": Ask((form,), completion), "text-form": Ask((f"{form}\n\n{{form}}",), completion, texts)}
    usual = sampling(options, "mcq")
    samplings = {name: sampling(options, name.split()[0]) for name in out}
    return {
        name: replace(ask, sampling=None if samplings[name] == usual else samplings[name]) for name, ask in out.items()
    }


def ask_questions(frame: pl.DataFrame, questions: Mapping[str, Questions]) -> list[Question]:
    """The question of each row of a trial frame; equal ones are one object."""
    out: dict[int, Question] = {}
    for name, rows in _by_ask(frame).items():
        out |= zip(rows[_ROW].to_list(), questions[name](rows), strict=True)
    return [out[row] for row in range(frame.height)]


def word_questions(by_prompt: Mapping[str, Ask], fields: Sequence[FormField]) -> dict[str, Questions]:
    """Questions of trials, by their `asks`.

    Their factors are those of the design, null where it has none, and for simulators `scenario`, which of two people is
    `asked_about`, and a form's `form_fields`.
    """
    options = json.dumps({field.title: field.categories.names for field in fields})
    out = {}
    for name, ask in by_prompt.items():
        task, *about = name.split()
        question, order = (*about, None, None)[:2]
        facts = {"task": task, "prompt": " ".join([task, *about[:1]]), "question": question, "order": order}
        facts["scenario"] = question or task.removeprefix("text-")
        if ask.replies == 1:
            facts["draw"] = "0" if task == "description" else None
        if order:
            facts["asked_about"] = "2" if order == SWAPPED else "1"
        if facts["scenario"] == "form":
            facts["form_fields"] = options
        out[name] = Questions(ask, (), facts)
    return out


def answer(frame: pl.DataFrame, by_prompt: Mapping[str, Ask]) -> pl.DataFrame:
    """Read replies: the rows of a trial frame, with the columns that the module names in place of text and probs."""
    answers = [
        pl.concat([rows.drop("text", "probs", _ASK, ORDERING), by_prompt[name].reply.read(rows)], how="horizontal")
        for name, rows in _by_ask(frame).items()
    ] or [frame.drop("text", "probs").with_row_index(_ROW)]
    rows = pl.concat(answers, how="diagonal_relaxed").sort(_ROW).drop(_ROW)
    empty = [pl.lit(None, dtype).alias(name) for name, dtype in _COLUMNS.items() if name not in rows.columns]
    return rows.with_columns(empty).with_columns(pl.col(name).cast(dtype) for name, dtype in _COLUMNS.items()).select(
        *(name for name in frame.columns if name not in ("text", "probs")), *_COLUMNS
    )  # fmt: skip


def _by_ask(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Rows of a trial frame by what they ask."""
    about = [pl.col(name).cast(pl.String) for name in ("prompt", "order") if name in frame.columns]
    keyed = frame.with_columns(
        pl.concat_str(about, separator=" ", ignore_nulls=True).alias(_ASK), pl.lit("1").alias(ORDERING)
    ).with_row_index(_ROW)
    return {str(name): rows for (name,), rows in keyed.partition_by(_ASK, as_dict=True, maintain_order=True).items()}
