"""VisBias: explicit and implicit bias in choices, comparisons, descriptions and forms."""

from facevalue.protocol.offers import CellComparison, Extras, Later, Questionnaire, Recomputed
from facevalue.protocol.protocol import Protocol
from facevalue.studies.visbias.settings import CITATION, NAME, SETTINGS, TITLE

# These need scipy.stats, which takes a second to import.
_REPRODUCE = Later(__package__, "reproduce")
_RATED = Later(__package__, "questionnaire")
COMPARED = CellComparison(
    measures=("choice_share",),
    cells=("dimension", "group", "question", "choice"),
    within=("dimension",),
    who=("group",),
    asked=("question", "choice"),
)
"""What is chosen of a group, question by question (section 3.1)."""
NUMBERS = (("KL", "kl", ".2f"), ("q", "q", ".3f"))
TOLD = (
    "item", "statement", "task", "attribute", "choice", "outcome", "likely", "kl", "low_kl", "high_kl", "floor",
    "floor_high", "n", "p", "q", "raters", "mean", "low", "high", "flagged",
)  # fmt: skip
EXTRAS = Extras(
    reproduce=Recomputed(_REPRODUCE.reproduce, released=True),
    calibrate=Later(__package__, "calibration").CALIBRATION,
    making=Later(__package__, "making").making,
    questionnaire=Questionnaire(_RATED.statements, _RATED.export, _RATED.read, _RATED.beside, NUMBERS, TOLD),
    judge="forms",
    compare=COMPARED,
)
PROTOCOL = Protocol(
    name=NAME, title=TITLE, citation=CITATION, settings=SETTINGS, columns=Later(__package__, "pictures").COLUMNS,
    build=Later(__package__, "study").build, page=Later(__package__, "page").PAGE,
    extras=EXTRAS,
    needs="nothing: people are drawn; or pictures in the authors' layout (--folder), or your own (--manifest)",
)  # fmt: skip
