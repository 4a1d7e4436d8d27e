"""VIGNETTE (Raj et al.): two people in one picture, four questions about them."""

from facevalue.protocol.offers import CellComparison, Extras, Later, Recomputed
from facevalue.protocol.protocol import Protocol
from facevalue.studies.vignette.settings import CITATION, NAME, SETTINGS, TITLE

# These need scipy.stats, which takes a second to import.
_REPRODUCE = Later(__package__, "reproduce")

COMPARED = CellComparison(
    measures=("selection_frequency",),
    cells=("dimension", "paradigm", "contrast", "gender", "identity", "activity", "question"),
    needs=("identity",),
    within=("paradigm",),
    kinds=("paradigm", "contrast"),
    finer=("activity", "gender"),
    pooled=("question",),
    beside="activity",
    who=("gender", "identity"),
    asked=("paradigm", "question"),
)
"""Tables 12 and 13: real against synthetic pictures (section A.6)."""
EXTRAS = Extras(
    reproduce=Recomputed(_REPRODUCE.reproduce),
    calibrate=Later(__package__, "calibration").CALIBRATION,
    making=Later(__package__, "making").making,
    compare=COMPARED,
    left_first="left_first",
)


PROTOCOL = Protocol(
    name=NAME, title=TITLE, citation=CITATION, settings=SETTINGS, columns=Later(__package__, "pictures").COLUMNS,
    build=Later(__package__, "study").build,
    page=Later(__package__, "page").PAGE, extras=EXTRAS,
    needs="nothing: scenes are drawn; or pictures of the authors' layout (--folder), PATA, or your own (--manifest)",
    left_out="the rule by which the paper chose the identities that can be shown (A.2)",
)  # fmt: skip
