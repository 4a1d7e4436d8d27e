"""Declaration of StylisticBias: faces, each again with one attribute changed, and a choice of two poles about each."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from facevalue.protocol.asks import Ask
from facevalue.protocol.replies import ALL, Options, Scale
from facevalue.statistics.contrasts import Gap, Shift
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.levels import Mean
from facevalue.statistics.sets import Sets
from facevalue.statistics.spreads import Spread
from facevalue.statistics.statistic import Score
from facevalue.stimuli.portraits import SKIN_TONES
from facevalue.studies.stylisticbias import measures as m
from facevalue.studies.stylisticbias import statistics as paper
from facevalue.studies.stylisticbias import tables
from facevalue.studies.stylisticbias.pictures import FacePictures
from facevalue.studies.stylisticbias.statistics import CUE

SCORE = Score(
    "preference", "Preference score", "probability", 0.0, 1.0, favours=True, quantity="preference scores",
    moved=("preference score {size} higher", "preference score {size} lower"),
)  # fmt: skip
GAPS = "gaps between groups (Tables 4 to 6)"
ORDERS: Mapping[str, tuple[str, ...]] = {
    "age": ("young", "middle-aged", "elderly"),
    "build": ("thin", "normal", "obese"),
    "gender": ("male", "female"),
    "skin_tone": SKIN_TONES,
}
"""Dimensions of which the paper compares the ends: elderly with young, obese with thin, female with male."""


def _ask(quote: str = "") -> Ask:
    """The question of Figure 12 in each scenario of Table 1."""
    poles = {"favourable": f"{quote}{{favourable}}{quote}", "unfavourable": f"{quote}{{unfavourable}}{quote}"}
    reply = Options(poles, (Scale(SCORE, {"favourable": 1.0, "unfavourable": 0.0}),), ALL, letters=True)
    items = [
        {"scenario": s.name, "category": s.category, "favourable": s.favourable, "unfavourable": s.unfavourable}
        for s in tables.scenarios()
    ]
    return Ask((tables.JUDGMENT,), reply, items=items)


_phi = partial(Estimand, Mean(), measure=m.PHI.name)


def _sbs(by: tuple[str, ...], *, size: bool = False, rank_test: bool = False, **facts: Any) -> Estimand:
    return Estimand(Shift(size=size, rank_test=rank_test), by, measure=m.SBS.name, **facts)


def estimands(faces: Sets) -> Iterator[Estimand]:
    """Every table and figure of the paper that is about answers; what leads comes first."""
    for by, family in (
        (CUE, "variations"),
        ((), "overall"),
        (("attribute",), "attributes"),
        (("scenario",), "scenarios"),
        (("category",), "scenario categories"),
        (("attribute", "category"), "attributes x scenario categories"),
        ((*CUE, "scenario"), "variations x scenarios"),
    ):
        yield _sbs(by, family=family, size=True, rank_test=by == CUE)
        if family in ("overall", "variations", "attributes"):
            yield Estimand(paper.CohensD(), by)  # Table 7
    for dimension in faces.dimensions:
        yield _sbs((*CUE, dimension), family="variations x groups (Table 12)", rank_test=True, optional=True)
    for dimension in faces.dimensions:
        for by in ((dimension,), (dimension, "scenario"), ("attribute", dimension)):
            yield _sbs(by, tested=False)
        yield Estimand(paper.GroupAverage(factor=dimension), ("attribute",), optional=True)  # Table 3
        yield Estimand(paper.ReversalDepth(factor=dimension), CUE, optional=True)  # Table 5
    yield Estimand(paper.Concentration(), CUE)  # Figure 2
    yield Estimand(paper.ShiftShares(), CUE)  # Table 7
    for by in ((), ("category",), ("scenario",)):
        yield _phi(by)
    for dimension in faces.dimensions:
        yield _phi((dimension, "scenario"))
        yield Estimand(
            Spread(factor=dimension, rank_test=True), ("scenario",), measure=m.VS.name,
            family=f"scenarios, {dimension} (Table 11)",
        )  # fmt: skip
        yield Estimand(Spread(factor=dimension), measure=m.VS.name, family="dimensions (Table 2)")
        yield Estimand(paper.SpreadWithoutNoise(factor=dimension))
        yield Estimand(paper.SignificantShare(factor=dimension))  # Table 11
    yield Estimand(paper.FramingShift(), family="framing")
    for dimension in faces.dimensions:
        gap = Gap(factor=dimension, of_shifts=True, ends=_ends(dimension, faces), welch=True)
        yield Estimand(gap, CUE, measure=m.GAP.name, family=GAPS, optional=True)
    yield Estimand(paper.MeanSize(), CUE)  # Figures 4 and 5
    yield Estimand(paper.ModelVariance(), ("scenario",))  # Figure 7
    yield Estimand(paper.ModelAgreement(), ("scenario",))  # Figure 8
    yield Estimand(paper.Attenuation(), (*CUE, "scenario"))  # Figures 5 and 8


def _ends(dimension: str, faces: Sets) -> tuple[str, ...]:
    """Levels of a dimension whose order is known; else none, and each level is compared with others."""
    order = ORDERS.get(dimension, ())
    return order if set(faces.manifest[dimension].drop_nulls()) <= set(order) else ()


DECLARATION: Mapping[str, Any] = {
    "stimuli": FacePictures(),
    "ask": _ask(),
    "presets": {"released": {"ask": _ask(quote="'"), "reasks": 2}},
    "estimands_of": estimands,
    "measures": m.MEASURES,
    "titles": {
        "attribute": tables.attribute_titles(),
        "variation": {f"{v.attribute}/{v.name}": v.title for v in tables.grid()},
        "category": tables.categories(),
    },
}
"""Fields of the protocol that help of the study does not need."""
