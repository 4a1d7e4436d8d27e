"""Counterfactual sets as a protocol: how its study is built, its page, and what it offers beside."""

from typing import TYPE_CHECKING

from facevalue.protocol.offers import Compared, Extras, Later, Recomputed
from facevalue.protocol.protocol import Protocol
from facevalue.studies.counterfactuals.pictures import COLUMNS
from facevalue.studies.counterfactuals.printed import PLANS
from facevalue.studies.counterfactuals.settings import SETTINGS
from facevalue.studies.counterfactuals.study import NAME, TITLE, build

if TYPE_CHECKING:
    from facevalue.protocol.page import Page
    from facevalue.studies.counterfactuals import reproduce
else:  # they need scipy.stats, which takes a second to import
    reproduce = Later(__package__, "reproduce")

COMPARED = Compared(
    measure="score_gap",
    cells=("subset", "prompt", "group", "scorer", "score"),
    within=("scorer", "score", "subset"),
    unit=("subset", "group"),
    who=("group",),
    asked=("prompt",),
)


def _page() -> "Page":
    from facevalue.studies.counterfactuals.page import PAGE  # noqa: PLC0415 - scipy.stats takes a second to import

    return PAGE


EXTRAS = Extras(reproduce=Recomputed(reproduce.reproduce), annotate="open replies", plans=PLANS, compare=COMPARED)
PROTOCOL = Protocol(name=NAME, title=TITLE, settings=SETTINGS, columns=COLUMNS, build=build, page=_page, extras=EXTRAS)
