"""Parsing of replies, task by task.

The columns of answers: `weight`, `mass` and `na` as every study has them, where the weight is the probability of "yes"
for comparisons, the share of the open fields that got a category for forms, and 1 for any valid choice or description;
`choice`, what was chosen, where a reply was sampled; `weight_1` to `weight_6`, the weights of a question's choices in
their order, summing to 1; `description`, the text; `fields`, the fields of a form as JSON (`form_fields`).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import polars as pl

from facevalue.answers import NA, NA_DTYPE, free_text, parse_column, yes_no
from facevalue.answers.exact import exact_or_chosen
from facevalue.answers.form_fields import parse_forms
from facevalue.answers.several_texts import parted
from facevalue.answers.sorting import Judge
from facevalue.answers.yes_no import Claim
from facevalue.studies.visbias.design import ORDERS, SWAPPED
from facevalue.studies.visbias.form_tables import FormField
from facevalue.studies.visbias.tables import PairQuestion, choice_questions, comparisons

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
    options = {q.name: q.lettered for q in questions}
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
    """What a yes says, for replies that state it in other words.

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
        is_parted = pl.Series([not text or bool(parted(text)) for text in texts["text"]], dtype=pl.Boolean)
        cut = pl.when(is_parted)
        texts = texts.with_columns(
            cut.then("text").alias("text"), cut.then("na").otherwise(pl.lit(NA.NEITHER, NA_DTYPE))
        )
    valid = pl.col("na").is_null()
    return texts.select("na", weight=pl.when(valid).then(1.0), mass=valid.cast(pl.Float64), description="text")
