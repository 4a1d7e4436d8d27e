"""Prompts and parsing of replies, task by task, and the attributes of the form (Table 10).

The columns of answers: `weight`, `mass` and `na` as every study has them, where the weight is the probability of "yes"
for comparisons, the share of the open fields that got a category for forms, and 1 for any valid choice or description;
`choice`, what was chosen, where a reply was sampled; `weight_1` to `weight_6`, the weights of a question's choices in
their order, summing to 1; `description`, the text; `fields`, the fields of a form as JSON (`form_fields`).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
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
from facevalue.protocol.settings import Options
from facevalue.stimuli.forms import Form, text_form
from facevalue.studies.visbias import tables
from facevalue.studies.visbias.pictures import ORDERS, SWAPPED
from facevalue.studies.visbias.settings import COMPOSITE, TABLES
from facevalue.studies.visbias.tables import PairQuestion, choice_questions, comparisons, toml
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


# Prompts: the questions of each task, one object for each.


YES_NO = (Option("", "yes", "yes"), Option("", "no", "no"))
SIDES = "The picture shows two images side by side: the first on the left, the second on the right."
"""Said before a comparison of two images in one picture; ours."""
FACTORS = ("task", "prompt", "question", "order", "draw")
"""Factors of the design that each question states under their own names, null where it has none."""
_PROMPT_COLUMNS = (*FACTORS, "form")


class PromptBuilder:
    """Asks the questions of trials; `sampling` says how replies are drawn of tasks that differ from the study's.

    Their factors are those of the design, and for simulators `scenario`, which of two people is `asked_about`, and a
    form's `form_fields`.
    """

    def __init__(
        self,
        options: Options,
        sampling: Mapping[str, Sampling],
        forms: Sequence[Form],
        attributes: Sequence[FormField],
    ) -> None:
        self._composite = options["images"] == COMPOSITE
        self._prompts = str(options["prompts"])
        self._sampling = dict(sampling)
        self._forms = forms
        self._fields = json.dumps({a.title: a.categories.names for a in attributes})
        self._choices = {question.name: question for question in tables.choice_questions(self._prompts)}
        self._comparisons = {question.name: question for question in tables.comparisons(self._prompts)}
        self._question = lru_cache(maxsize=65_536)(self._make_question)

    def questions(self, frame: pl.DataFrame) -> list[Question]:
        """The question of each row of a trial frame; equal ones are one object."""
        have = [c for c in _PROMPT_COLUMNS if c in frame.columns]
        form_key = pl.when(pl.col("task").cast(pl.String) == "text-form").then(pl.col("form").cast(pl.String))
        rows = frame.select(form_key.alias(c) if c == "form" else pl.col(c).cast(pl.String) for c in have).iter_rows()
        return [self._question(tuple(zip(have, row, strict=True))) for row in rows]

    def _make_question(self, levels: tuple[tuple[str, str | None], ...]) -> Question:
        facts = dict(levels)
        task, name = facts["task"] or "", facts.get("question") or ""
        factors: dict[str, str | None] = {name: facts.get(name) for name in FACTORS}
        if task == "mcq":
            question = self._choices[name]
            return self._to_question(question.prompt, question.lettered_options, factors | {"scenario": name})
        if task == "yesno":
            comparison = self._comparisons[name]
            text, about = (comparison.swapped, "2") if facts["order"] == SWAPPED else (comparison.plain, "1")
            prompt = comparison.form.format(question=text)
            prompt = f"{SIDES} {prompt}" if self._composite else prompt
            return self._to_question(prompt, YES_NO, factors | {"scenario": name, "asked_about": about})
        if task == "description":
            draw = int(facts["draw"] or 0)
            return self._to_question(tables.prompt(task, self._prompts), (), factors | {"scenario": task}, draw)
        count = len(self._forms[0].order)
        prompt = tables.prompt("form", self._prompts, count)
        if task == "text-form":  # written out (section 4.2); how the two are put together is ours
            prompt = f"{prompt}\n\n{text_form(self._forms[int(facts['form'] or 0)])}"
        return self._to_question(prompt, (), factors | {"scenario": "form", "form_fields": self._fields})

    def _to_question(
        self, prompt: str, options: tuple[Option, ...], factors: Mapping[str, str | None], draw: int = 0
    ) -> Question:
        return Question(prompt, options, None, factors, (), self._sampling.get(str(factors["task"])), draw)


CHOICES = tuple(f"weight_{number}" for number in range(1, 7))
"""Columns of the weights of a question's choices, in the order of its options."""
_COLUMNS = {
    **dict.fromkeys(("weight", "mass"), pl.Float64()),
    "na": NA_DTYPE,
    "choice": pl.String(),
    **dict.fromkeys(CHOICES, pl.Float64()),
    **dict.fromkeys(("description", "fields"), pl.String()),
}
_PLACE = "row"


def answer(
    frame: pl.DataFrame, attributes: Sequence[FormField], judge: Judge | None = None, *, released: bool = False
) -> pl.DataFrame:
    """Read replies: the rows of a trial frame, with the columns that the module names in place of text and probs."""
    labels = {a.name: (a.title, *a.keys) for a in attributes}
    forms = partial(parse_forms, labels=labels, categories={a.name: a.categories for a in attributes}, judge=judge)
    readers: Mapping[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
        "mcq": _choices,
        "yesno": _comparisons,
        "description": partial(_descriptions, released=released),
        "form": forms,
    }
    task = frame["task"].cast(pl.String).replace("text-form", "form")
    placed = frame.with_row_index(_PLACE)
    tables = [
        _complete(parse(rows.drop(_PLACE)).with_columns(rows[_PLACE]))
        for name, parse in readers.items()
        if (rows := placed.filter(task == name)).height
    ]
    answers = pl.concat(tables) if tables else _complete(placed.select(_PLACE))
    joined = placed.drop("text", "probs").join(answers, on=_PLACE, how="left", maintain_order="left")
    return joined.drop(_PLACE)


def _complete(rows: pl.DataFrame) -> pl.DataFrame:
    """All columns, those that the task doesn't have empty."""
    empty = [pl.lit(None, dtype).alias(name) for name, dtype in _COLUMNS.items() if name not in rows.columns]
    numbers = [pl.col(c).cast(pl.Float64) for c in ("weight", "mass", *CHOICES) if c in rows.columns]
    return rows.with_columns(numbers).with_columns(empty).select(_PLACE, *_COLUMNS)


def _choices(frame: pl.DataFrame) -> pl.DataFrame:
    questions = choice_questions()
    question = frame["question"].cast(pl.String)
    options = {q.name: q.lettered_options for q in questions}
    parsed = parse_column(frame.with_columns(question.alias("question")), "text", "question", options)
    names = CHOICES[: max(len(q.levels) for q in questions)]
    chosen = pl.DataFrame(
        [(q.name, at, level) for q in questions for at, level in enumerate(q.levels)],
        schema={"question": pl.String, "code": pl.Int8, "choice": pl.String}, orient="row",
    )  # fmt: skip
    coded = pl.DataFrame({"question": question, "code": parsed["choice"].cast(pl.Int8)})
    named_choices = coded.join(chosen, on=["question", "code"], how="left", maintain_order="left")
    size = question.replace_strict({q.name: len(q.levels) for q in questions}, return_dtype=pl.Int64)
    categories = [pl.when(size > at).then(pl.col(column)).alias(column) for at, column in enumerate(names)]
    valid = pl.when(pl.col("na").is_null()).then(1.0).alias("weight")
    return exact_or_chosen(frame, parsed, names).with_columns(*categories, valid, named_choices["choice"])


def _comparisons(frame: pl.DataFrame) -> pl.DataFrame:
    claims = {f"{q.name} {order}": claim(q, swapped=order == SWAPPED) for q in comparisons() for order in ORDERS}
    question_key = pl.concat_str(pl.col("question", "order").cast(pl.String), separator=" ")
    parsed = yes_no.parse_column(
        frame.with_columns(question_key.alias("asked")), "text", question="asked", claims=claims
    )
    choices = parsed.select(choice=pl.col("choice").replace_strict([0, 1], ["yes", "no"], default=None))
    return exact_or_chosen(frame, parsed, ("weight", "no")).drop("no").with_columns(choices["choice"])


def claim(question: PairQuestion, *, swapped: bool) -> Claim:
    """Claim that a yes makes, for replies that state it in other words.

    Examples
    --------
    >>> claim(comparisons()[1], swapped=True).subject
    ('second', 'right')
    """
    first, second, more, less = ("first", "left"), ("second", "right"), question.more, question.less
    return Claim(second, first, less, more) if swapped else Claim(first, second, more, less)


def _descriptions(frame: pl.DataFrame, *, released: bool) -> pl.DataFrame:
    texts = free_text.parse_column(frame, "text")
    if released:
        is_parted = pl.Series([not text or bool(split_texts(text)) for text in texts["text"]], dtype=pl.Boolean)
        cut = pl.when(is_parted)
        texts = texts.with_columns(
            cut.then("text").alias("text"), cut.then("na").otherwise(pl.lit(NA.NEITHER, NA_DTYPE))
        )
    valid = pl.col("na").is_null()
    return texts.select("na", weight=pl.when(valid).then(1.0), mass=valid.cast(pl.Float64), description="text")
