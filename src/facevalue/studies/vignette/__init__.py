"""VIGNETTE (Raj et al.): two people in one picture, four questions about them."""

from facevalue.protocol.offers import CellComparison, Extras
from facevalue.protocol.protocol import published
from facevalue.studies.vignette.settings import CITATION, NAME, SETTINGS, TITLE

COMPARED = CellComparison(
    measures=("selection_frequency",),
    cells=("dimension", "paradigm", "contrast", "gender", "identity", "activity", "question"),
    needs=("identity",),
    within=("paradigm",),
    kinds=("paradigm", "contrast"),
    finer=("activity", "gender"),
    pooled=("question",),
    beside="activity",
    person_labels=("gender", "identity"),
    question_labels=("paradigm", "question"),
)
"""Tables 12 and 13: real against synthetic pictures (section A.6)."""
PROTOCOL = published(
    __package__, Extras(compare=COMPARED, left_first="left_first"), name=NAME, title=TITLE, citation=CITATION,
    settings=SETTINGS,
    needs="nothing: scenes are drawn; or pictures of the authors' layout (--folder), PATA, or your own (--manifest)",
    left_out="the rule by which the paper chose the identities that can be shown (A.2)",
)  # fmt: skip
