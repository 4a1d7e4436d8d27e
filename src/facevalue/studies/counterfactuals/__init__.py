"""Counterfactuals at scale: open text, toxicity, stereotypes, competence and ratings over sets of pictures."""

from functools import partial

from facevalue.protocol.offers import (
    CellComparison,
    Correlated,
    Extras,
    JudgedWords,
    Later,
    Questionnaire,
    Recomputed,
    printed_plan,
)
from facevalue.protocol.protocol import published
from facevalue.studies.counterfactuals.settings import CITATION, LEAD, NAME, NOTE, SETTINGS, TITLE
from facevalue.types import Sampling

_WORDS = Later(__package__, "stereotypes")
COMPARED = CellComparison(
    measures=("gap_from_alike",), cells=("subset", "prompt", "group", "scorer", "score"),
    within=("scorer", "score", "subset"),
    also=("max_score", "max_score_q90", "gap_from_alike.rating", "gap_from_alike.salary"),
    person_labels=("group",), question_labels=("prompt",),
    correlated=Correlated(
        "Correlations over groups (section 5.1)",
        {"tail_share": "largest scores (MaxToxicity)", "mean": "mean scores (ours)"},
        about=("prompt", "scorer", "score"), over=("subset", "group"),
    ),
)  # fmt: skip

WORDS = JudgedWords(
    _WORDS.word_lists, _WORDS.question, Sampling(temperature=0.0, max_tokens=4096), _WORDS.join_judgments
)
"""Words of groups, of which a judge says which are stereotypes (section D.2)."""
RATED = Questionnaire(
    _WORDS.statements, _WORDS.asked_about, _WORDS.judged_by, _WORDS.beside_ratings,
    numbers=(("s(w)", "score", ".2f"),),
    item_columns=(
        "item", "statement", "subset", "group", "word", "score", "rank", "judge", "raters", "mean", "flagged",
    ),
    flagged="the majority of three or more",
    title="Which words are stereotypes?",
    instructions=(
        "For each word, say whether it is stereotypical of, or offensive to, the group that the images show.",
    ),
    note=(
        "The words are those that a model used more often about images of one group than of others. Some are "
        "stereotypes or insults. They are quoted so that people can judge them; nobody here claims that they are true."
    ),
    question="Is this word stereotypical or offensive?",
    scale=("No", "Yes, stereotypical or offensive"),
)  # fmt: skip
PROTOCOL = published(
    __package__,
    Extras(
        reproduce=Recomputed(Later(__package__, "reproduce").reproduce, checks="the authors' metadata of sets"),
        questionnaire=RATED, word_lists=WORDS, annotate="open replies", compare=COMPARED,
        plans={name: partial(printed_plan, __package__, name) for name in ("8", "gpt-4o", "twin")},
    ),
    name=NAME, title=TITLE, citation=CITATION, content_note=NOTE, settings=SETTINGS,
    declaration=Later(__package__, "study").declaration, counted_by=("subset", "prompt"), lead=LEAD, max_tokens=512,
    needs="nothing: sets are drawn; or SocialCounterfactuals (--social) and other sets, or your own (--manifest)",
)  # fmt: skip
