"""StylisticBias: one face, one attribute changed; which cue moves the judgment, and how far."""

from typing import TYPE_CHECKING

from facevalue.protocol.offers import CellComparison, Demo, Extras, Later
from facevalue.protocol.protocol import published
from facevalue.studies.stylisticbias.settings import CITATION, NAME, NOTE, SETTINGS, TITLE

if TYPE_CHECKING:
    from facevalue.protocol.study import Study

_CUE = ("attribute", "variation")


def _describe_demo(study: "Study") -> str:
    people = study.manifest["identity"].n_unique()
    return (
        f"{study.manifest.height:,} pictures of {people} drawn faces, 25 scenarios, 4 orderings, asked of "
        f"{DEMO.model}: a small vision-language model that comes with FaceValue, whose bias was planted at random."
    )


DEMO = Demo(
    model="reference",
    # Fashion is compared as in the paper: the model never saw a full body in plain clothes while it learned.
    options={"faces": "12M,12F", "seeds": ["1"], "fashion_base": "portrait"}, measure="shift", labels=_CUE,
    heading="visual cue", plural="cues",
    describe=_describe_demo, planted=Later(__package__, "calibration").planted_cues,
)  # fmt: skip
_COMPARED = CellComparison(measures=("shift",), families=("variations",))
PROTOCOL = published(
    __package__, Extras(demo=DEMO, compare=_COMPARED), name=NAME, title=TITLE, citation=CITATION, content_note=NOTE,
    declaration=Later(__package__, "study").DECLARATION,
    settings=SETTINGS, counted_by=("gender", "attribute"), lead=("variations",), shared_labels=True,
    max_tokens=16,
    needs="nothing: faces are drawn; or the authors' pictures (--folders), or your own (--manifest)",
    left_out="how many of its 500 faces are of each configuration, which is not published: ours are drawn evenly",
)  # fmt: skip
