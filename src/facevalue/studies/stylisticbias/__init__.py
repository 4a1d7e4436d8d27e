"""StylisticBias: one face, one attribute changed; which cue moves the judgment, and how far."""

from typing import TYPE_CHECKING

from facevalue.protocol.offers import Demo, Extras, Later, Recomputed
from facevalue.protocol.protocol import Protocol
from facevalue.studies.stylisticbias.settings import CITATION, NAME, SETTINGS, TITLE

if TYPE_CHECKING:
    from facevalue.protocol.study import Study

_CUE = ("attribute", "variation")
# These need scipy.stats, which takes a second to import.
_PLANTED = Later(__package__, "planted")
_REPRODUCE = Later(__package__, "reproduce")


def _said(study: "Study") -> str:
    people = study.manifest["identity"].n_unique()
    return (
        f"{study.manifest.height:,} pictures of {people} drawn faces, 25 scenarios, 4 orderings, asked of "
        f"{DEMO.model}: a small vision-language model that comes with FaceValue, whose bias was planted at random."
    )


DEMO = Demo(
    model="reference",
    # Fashion is compared as in the paper: the model never saw a full body in plain clothes while it learned.
    options={"faces": "12M,12F", "seeds": ["1"], "fashion_base": "portrait"},
    measure="sbs",
    labels=_CUE,
    heading="visual cue",
    plural="cues",
    said=_said,
    planted=_PLANTED.planted_cues,
)
EXTRAS = Extras(
    reproduce=Recomputed(_REPRODUCE.reproduce),
    calibrate=Later(__package__, "calibration").CALIBRATION,
    reference=_PLANTED.REFERENCE,
    making=Later(__package__, "making").making,
    demo=DEMO,
)


PROTOCOL = Protocol(
    name=NAME, title=TITLE, citation=CITATION, settings=SETTINGS, columns=Later(__package__, "pictures").COLUMNS,
    build=Later(__package__, "study").build, page=Later(__package__, "page").PAGE,
    extras=EXTRAS,
    needs="nothing: faces are drawn; or the authors' pictures (--folders), or your own (--manifest)",
    left_out="how many of its 500 faces are of each configuration, which is not published: ours are drawn evenly",
)  # fmt: skip
