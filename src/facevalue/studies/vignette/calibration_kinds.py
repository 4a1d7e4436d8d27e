"""Calibration in hard cases: generated audits with difficult pictures, people, answers and designs.

Answers are drawn directly, without a model and its replies, so that what is planted can be of any kind: pictures and
people that are liked or not whoever is beside them, answers that are rare, missing or few. They go through the
estimators, tests and verdicts of any audit.
"""

from dataclasses import dataclass
from functools import partial
from itertools import combinations, count
from zlib import crc32

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.estimates import EstimateTable
from facevalue.measures.judgment import judge
from facevalue.measures.verdicts import Verdict
from facevalue.protocol import calibration as c
from facevalue.protocol.offers import Calibrated, CalibrationRequest, Table
from facevalue.studies.vignette import calibration
from facevalue.studies.vignette.aggregate import collect
from facevalue.studies.vignette.analysis import estimate
from facevalue.studies.vignette.calibration import ALPHA, GAP, PAIRCOMP, SELECTION, WRONG, beside, true_values
from facevalue.studies.vignette.measures import LABELS, MEASURES

LEAD = ("identities, decision",)
QUESTIONS = ("ability", "sociability", "morality")
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(40)


@dataclass(frozen=True, slots=True)
class Kind:
    """What is planted. Standard deviations are on the logit scale."""

    name: str
    """For people."""
    identities: int = 6
    activities: int = 10
    genders: int = 1
    people: int = 0
    """Of the design; with people, each stands for all identities in all activities."""
    pictures: float = 0.5
    persons: float = 0.0
    pairs: float = 0.3
    """SD of pictures, of people as an identity, and of pairs."""
    effects: tuple[float, ...] = ()
    """What each identity is preferred by; none if empty."""
    sample: float = 1.0
    """Share of the questions that are asked."""
    missing: float = 0.0
    """Share of answers that are missing, from none to this much by identity."""

    @property
    def preferred(self) -> c.Array:
        """What each identity is preferred by."""
        return np.array(self.effects) if self.effects else np.zeros(self.identities)

    @property
    def names(self) -> list[str]:
        """The identities."""
        return [f"identity {number}" for number in range(self.identities)]


KINDS = (
    Kind("pictures differ little", pictures=0.3),
    Kind("pictures differ", pictures=0.5),
    Kind("pictures differ much", pictures=1.0),
    Kind("four people, who differ", people=4, activities=4, persons=0.5, pictures=0.3),
    Kind("four men and four women", people=4, activities=3, genders=2, persons=0.5, pictures=0.3),
    Kind("men and women", genders=2),
    Kind("a sample of the questions", sample=0.2, activities=16),
    Kind("answers missing by identity", missing=0.4),
    Kind("three pictures of each", activities=3),
    Kind("two identities", identities=2, activities=12),
    Kind("rare and near-certain choices", effects=(-4.0, -3.0, 0.0, 0.0, 3.0, 4.0)),
    Kind("effects", effects=(-0.5, -0.3, 0.0, 0.0, 0.3, 0.5), activities=20),
    Kind("a lone effect", effects=(1.0, 0.0, 0.0, 0.0, 0.0, 0.0), activities=20),
)


NOTHING = pl.col("nothing")
_WHOLE = pl.col("question").is_null() & pl.col("gender").is_null()


def _false_alarms(measure: str) -> c.Statistic:
    return c.share(pl.col("p") < ALPHA, among=NOTHING & _WHOLE & (pl.col("measure") == measure))


STATISTICS: dict[str, c.Statistic] = {
    "measurable": c.share(pl.col("low").is_not_null(), among=_WHOLE & GAP),
    **{measure: _false_alarms(measure) for measure in ("selection_gap", "paircomp", "log_odds", "spread")},
    "page": c.false_discovery_rate(WRONG | NOTHING, among=NOTHING | (_WHOLE & GAP)),
    "covers_gap": c.share(c.COVERS, among=_WHOLE & GAP),
    "covers_paircomp": c.share(c.COVERS, among=_WHOLE & PAIRCOMP),
    "covers_spread": c.share(c.COVERS, among=_WHOLE & (pl.col("measure") == "spread")),
    "found": c.share(c.FOUND, among=_WHOLE & GAP & pl.col("planted")),
}
"""What sums up all audits: by measure the share of p below .05 where nothing is planted; "page": of audits with any
difference found there, else mean share of the identities found that are on the wrong side."""


def answers(kind: Kind, seed: int) -> pl.DataFrame:
    """One audit's answers, in the columns of VIGNETTE's."""
    rng = np.random.default_rng((crc32(kind.name.encode()), seed))  # no two kinds of the same numbers
    return pl.concat([_of_gender(kind, gender, rng) for gender in ("male", "female")[: kind.genders]])


def _of_gender(kind: Kind, gender: str, rng: np.random.Generator) -> pl.DataFrame:
    k, done, people = kind.identities, kind.activities, max(kind.people, 1)
    liked = kind.preferred[:, None, None] + rng.normal(0, kind.pictures, (k, done, people))
    liked = liked + rng.normal(0, kind.persons, (k, 1, people))
    first, second = np.array(list(combinations(range(k), 2))).T
    logit = liked[first] - liked[second] + rng.normal(0, kind.pairs, (first.size, done, people))
    chance = 1 / (1 + np.exp(-np.broadcast_to(logit[..., None], (*logit.shape, len(QUESTIONS)))))
    weight = (rng.random(chance.shape) < chance).astype(np.float64)
    gone = kind.missing * (first + second) / (2 * k - 3)
    valid = rng.random(chance.shape) >= gone[:, None, None, None]
    pair, activity, person, question = (x.ravel() for x in np.indices(chance.shape))

    def numbered(prefix: str, codes: npt.NDArray[np.int64], size: int) -> pl.Series:
        return pl.Series([f"{prefix} {i}" for i in range(size)]).gather(codes)

    frame = pl.DataFrame(
        {
            "identity_1": numbered("identity", first[pair], k),
            "identity_2": numbered("identity", second[pair], k),
            "activity": numbered("activity", activity, done),
            "person": numbered("person", person, people),
            "question": pl.Series(QUESTIONS).gather(question),
            "weight": np.where(valid, weight, np.nan).ravel(),
            "mass": valid.ravel().astype(np.float64),
        }
    ).with_columns(
        pl.col("weight").fill_nan(None), gender=pl.lit(gender), dimension=pl.lit("any"), contrast=pl.lit("identity"),
        paradigm=pl.lit("decision"), trait="question",
    )  # fmt: skip
    asked = frame.filter(pl.Series(rng.random(frame.height) < kind.sample))
    return asked if kind.people else asked.drop("person")


def truth(kind: Kind) -> pl.DataFrame:
    """True values of the estimates, over all pictures, people and pairs there might be."""
    scatter = np.sqrt(2 * (kind.pictures**2 + kind.persons**2) + kind.pairs**2)
    apart = kind.preferred[:, None] - kind.preferred[None]
    chosen = (1 / (1 + np.exp(-(apart[..., None] + scatter * _NODES))) * _WEIGHTS).sum(axis=-1) / _WEIGHTS.sum()
    np.fill_diagonal(chosen, np.nan)
    return true_values(kind.names, chosen)


def audit(kind: Kind, seed: int) -> pl.DataFrame:
    """One audit's estimates with their verdicts, beside what is planted."""
    table = EstimateTable("vignette", "generated", LABELS)
    estimate(table, collect([answers(kind, seed)]))
    planted = [name for name, effect in zip(kind.names, kind.preferred, strict=True) if effect]
    return beside(judge(table.frame(), MEASURES, lead=LEAD), truth(kind)).with_columns(
        found=pl.col("verdict").eq_missing(pl.lit(Verdict.DIFFERENCE.value)),
        planted=pl.col("identity").is_in(planted),
        nothing=pl.lit(not kind.effects),
    )


def audited(asked: CalibrationRequest) -> Calibrated:
    """Audit simulated models, and answers of all kinds."""
    cases = c.sized(asked, "activities", c.CONDITIONS, calibration.audits)
    all_audits, first = c.repeated(asked, cases, calibration.STATISTICS)
    kinds = [
        c.Case({"kind": kind.name, "audits": asked.repetitions}, map(partial(audit, kind), count())) for kind in KINDS
    ]
    of_kinds, _ = c.repeated(asked, kinds, STATISTICS, "Auditing, kind by kind")
    gaps = first.filter(GAP).select("identity", "q", "found")
    shown = first.filter(SELECTION).drop("q", "found").join(gaps, on="identity", maintain_order="left")
    closer = Table(
        f"One audit of sim/default with {asked.sizes[0]} activities: selection frequency planted and recovered",
        ("identity", "planted", "recovered", "95% interval", "covers", "q", "finding"),
        [(row["identity"], f"{row['true']:.1f}%", *c.told(row, ".1f", "%")) for row in shown.iter_rows(named=True)],
    )
    summary = Table.of(
        "All audits",
        [
            ("planted", "condition"), ("scenes", "activities"), ("audits", "repetitions"), ("r", "correlation"),
            ("slope", "slope"), ("S covers", "coverage"), ("PairComp covers", "coverage_paircomp"),
            ("FDR", "false_discovery_rate"), ("found", "found"),
        ],
        c.named(all_audits),
        "Nominal coverage .95; false findings at most .05.",
    )  # fmt: skip
    promises = Table.of(
        "Kinds of pictures, people and answers",
        [
            ("planted", "kind"), ("audits", "audits"), ("p < .05", "selection_gap"), ("page", "page"),
            ("S covers", "covers_gap"), ("PairComp covers", "covers_paircomp"), ("found", "found"),
        ],
        of_kinds.iter_rows(named=True),
        "p < .05: of distances from an even choice, promised .05; page: audits with any difference found where nothing "
        "is planted, promised at most .06, else findings on the wrong side; intervals cover: promised .93 to .97.",
    )  # fmt: skip
    return Calibrated([closer, summary, promises], {"-kinds": of_kinds, "": all_audits})
