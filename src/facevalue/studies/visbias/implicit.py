"""Implicit against explicit (section 4.3): what forms say of a group beside what choices say of it.

Of the four questions, the paper compares the answers to each with what forms have in the field of that name, among
people of one gender or race. How the two lists of categories are matched is not stated. Here those count that both
have: political leaning as it is; religion without the three that only forms have; education with all below a bachelor's
as secondary school, but without "Associate". The two scales of income share no bound, so income is not measurable.
"""

from collections.abc import Mapping

import numpy as np
import polars as pl

from facevalue.measures.estimates import EstimateTable
from facevalue.measures.shared_divergence import Votes, divergences
from facevalue.measures.table_entries import enter, not_measurable
from facevalue.studies.visbias import measures as m
from facevalue.studies.visbias.aggregate import SEED, Aggregate
from facevalue.studies.visbias.tables import choice_questions

NO_COMMON_BOUND = "the income ranges of the form and of the question share no bound"
FIELDS = {"education": "education level", "politics": "political spectrum", "religion": "religion"}
"""The field of the form that each question is compared with."""
_BELOW_BACHELOR = ("No Education", "Elementary School", "Middle School", "High School")
_POLITICS = ("Left Communitarian", "Right Communitarian", "Left Liberal", "Right Liberal")
LEVELS: Mapping[str, Mapping[str, str]] = {
    "education": {
        **dict.fromkeys(_BELOW_BACHELOR, "secondary school"),
        **{name: name.lower() for name in ("Bachelor", "Master", "Doctorate")},
    },
    "politics": {name: name.lower() for name in _POLITICS},
    "religion": {name: name.lower() for name in ("Islam", "Christianity", "Hinduism", "Buddhism")},
}
"""What categories of the form mean among the options of the question."""
GROUPS: Mapping[str, Mapping[str, str]] = {
    "gender": {"Female": "female", "Male": "male"},
    "race": {
        **{name: name.lower() for name in ("White", "Black", "Asian")},
        **{"Latino": "hispanic", "ME": "middle eastern", "Middle-Eastern": "middle eastern"},
    },
}
"""Groups that both tasks have, by the form's names."""


def add_agreement(table: EstimateTable, gathered: Aggregate) -> None:
    """Add the divergence between what forms and choices say, by question, and for each gender and race."""
    fields, rows = gathered.part("forms"), gathered.part("choices")
    if fields.is_empty() or rows.is_empty():
        return
    fields = first_replies(fields.filter(pl.col("task") == fields["task"][0]))
    there = set(rows["question"])
    for dimension in (name for name in GROUPS if name in rows.columns):
        for question in (q for q in choice_questions() if q.name in there):
            label = {"task": "mcq", "dimension": dimension, "question": question.name}
            if question.name not in FIELDS:
                not_measurable(table, m.AGREEMENT, label, NO_COMMON_BOUND)
                continue
            names = sorted(set(GROUPS[dimension].values()))
            said = [_votes(fields, rows, dimension, name, question.name, question.levels) for name in names]
            known = [name for name, votes in zip(names, said, strict=True) if votes.measurable]
            if not known:
                not_measurable(table, m.AGREEMENT, label, "no group has both forms and choices")
                continue
            found, tests = divergences([votes for votes in said if votes.measurable], SEED)
            groups = [*known, *([None] if len(known) > 1 else [])]  # and their mean, as the paper gives it
            family = f"forms and choices by {dimension}, {question.name}"
            tested = {"floor": tests.floor, "q": tests.q, "p_least": tests.p_least, "family": family}
            enter(table, m.AGREEMENT, {**label, "group": groups}, found, **tested)


def first_replies(fields: pl.DataFrame) -> pl.DataFrame:
    """Of each form the reply to the first seed: replies to one form under several seeds are not several forms."""
    return fields.filter(pl.col("repeat") == pl.col("repeat").min().over("form"))


def _votes(
    fields: pl.DataFrame, rows: pl.DataFrame, dimension: str, group: str, question: str, levels: tuple[str, ...]
) -> Votes:
    own = [name for name, level in GROUPS[dimension].items() if level == group]
    has = pl.col("categories").list.set_intersection(own).list.len() > 0
    members = fields.filter((pl.col("attribute") == dimension) & has)["form"].to_list()
    about = (pl.col("attribute") == FIELDS[question]) & ~pl.col("prefilled") & pl.col("form").is_in(members)
    said = fields.filter(about).select(said="categories").explode("said")["said"]
    known = LEVELS[question]
    told = [levels.index(known[name]) for name in said.filter(said.is_in(list(known)))]
    votes = np.zeros((len(told), len(levels)))
    votes[np.arange(len(told)), told] = 1.0
    mine = rows.filter((pl.col("question") == question) & (pl.col(dimension) == group)).drop_nulls("selected")
    listed = mine.select("image", *(pl.col("selected").list.get(at).alias(str(at)) for at in range(len(levels))))
    images = listed.group_by("image", maintain_order=True).agg(pl.exclude("image").sum()).drop("image")
    return Votes(votes, images.to_numpy().astype(np.float64))
