"""Audits of the reference model, which was trained on planted effects, of people drawn from a known population.

    make calibration-reference [REPETITIONS=200] [MODEL=reference/bias-0]

Three values of each effect stand side by side: what was planted, what the model has learned of it (its exact
probabilities for every person of the population), and what an audit estimates from a sample of people and of replies.
An audit can find only what has been learned, so that is what its intervals must cover.
"""

import argparse
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import count, islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue import __version__, studies
from facevalue.calibration.families import ALPHA
from facevalue.errors import ModelError
from facevalue.measures.cells import Slicing
from facevalue.measures.cluster_bootstrap import cell_means, cluster_means
from facevalue.measures.multitest import LEAD_SHARE, adjust_p
from facevalue.measures.shift import ShiftCells, shift_cells
from facevalue.models.base import Model
from facevalue.models.reference import adapter
from facevalue.models.reference.truth import PlantedEffects
from facevalue.places import cache_folder
from facevalue.protocol.asks import Ask
from facevalue.protocol.settings import face_counts
from facevalue.protocol.study import Study
from facevalue.runs import Progress, RichProgress, RunSettings, run
from facevalue.runs.stored_run import StoredRun, answers
from facevalue.statistics.answer_arrays import AnswerArrays, Axes, collect
from facevalue.statistics.sets import Sets
from facevalue.statistics.shifts import SEED as SHIFT_SEED
from facevalue.stimuli.drawings.portraits import default_cache, draw_all
from facevalue.studies.stylisticbias.calibration import planted_in, scenario_names
from facevalue.studies.stylisticbias.pictures import FacePictures
from facevalue.studies.stylisticbias.study import DECLARATION, SCORE
from facevalue.studies.stylisticbias.tables import whitelist
from facevalue.terminal import terminal
from facevalue.types import OptionValue

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
SEED = 7301
"""Of all audits: which people are drawn, and what the model replies."""
# The first faces of the study's own `faces_seed`, which the model was never trained on. Of fewer, what is learned
# wrongly about some does not cancel: an audit of sixty found where nothing is planted what was true of these sixty.
# Fashion is compared as in the paper: the model has learned from no picture in full body and plain clothes.
EVERYONE: dict[str, OptionValue] = {"faces": "100M,100F", "seeds": ["1"], "fashion_base": "portrait"}
"""Settings of the study of everyone from whom audits draw people."""
EXACT = 1e-12
"""A planted shift this small is none."""
NONE = pl.col("planted").abs() < EXACT
PROMISED = {"correlation": (0.97, 1.0), "slope of learned on planted": (0.9, 1.1)}
_COVERS = (pl.col("low") <= pl.col("true")) & (pl.col("true") <= pl.col("high"))
_FINDINGS = pl.col("found")
_WRONG = pl.col("value").sign() != pl.col("true").sign()


@dataclass(frozen=True)
class Population:
    """People, what was planted about them, and how likely a model's replies about them are."""

    sets: Sets
    """Their pictures, a base and all variations of each."""
    changes: list[tuple[str, ...]]
    """What a cue may be, in the order of estimates."""
    items: list[str]
    """What is asked about each picture."""
    answers: AnswerArrays
    """Exact probabilities; shape (pictures, items, orderings)."""
    planted: Array
    """Score that is planted, shape (pictures, items)."""

    @property
    def learned(self) -> Array:
        """Score that the model has learned, exactly, shape (pictures, items); NaN without any valid reply.

        As the study counts probabilities: replies that are no valid answer are left out, so that each ordering weighs
        by its chance of a valid one.
        """
        return self.answers.phi

    @cached_property
    def cues(self) -> Slicing:
        """Partition of the pictures by what is changed in them; a base is in no cell."""
        codes = [
            self.changes.index(levels) if all(levels) else -1 for levels in self.sets.manifest[self.sets.cue].rows()
        ]
        labels = zip(self.sets.cue, zip(*self.changes, strict=True), strict=True)
        return Slicing(np.array(codes), {name: list(levels) for name, levels in labels})

    @cached_property
    def members(self) -> dict[str, Codes]:
        """The people of each gender, by their number."""
        gender = self.sets.manifest["gender"].to_numpy()[self.sets.base]
        return {str(name): np.flatnonzero(gender == name) for name in dict.fromkeys(gender.tolist())}

    @cached_property
    def pictures(self) -> list[Codes]:
        """Each person's pictures, the base first."""
        varied, identity = self.sets.variation_rows, self.sets.identity[self.sets.variation_rows]
        return [np.concatenate([[base], varied[identity == number]]) for number, base in enumerate(self.sets.base)]

    def shifts(self, scores: Array) -> Array:
        """Shift of each picture from its base, shape (pictures, items); zero for a base."""
        return np.asarray(scores - scores[self.sets.base[self.sets.identity]])

    def cells(self, delta: Array, pictures: Codes, person: Codes, people: int) -> ShiftCells:
        """Shifts of pictures added up by person and cue."""
        codes = Slicing(self.cues.codes[pictures], self.cues.labels)
        return shift_cells(delta, person, codes, Slicing.whole(delta.shape[1]), people)

    def expected(self, scores: Array, counts: dict[str, int]) -> Array:
        """Mean shift of each cue to be expected of so many people of each gender, drawn at random from these.

        NaN for a cue that none of them has.
        """
        people = len(self.sets.identities)
        cells = self.cells(self.shifts(scores), np.arange(len(scores)), self.sets.identity, people)
        weights = np.zeros(people)
        for gender, number in counts.items():
            weights[self.members[gender]] = number / len(self.members[gender])
        return cell_means(weights @ cells.sums, weights @ cells.counts)

    def effects(self) -> pl.DataFrame:
        """Planted and learned mean shifts over all of these people, by cue and item."""
        labels = self.cues.crossed(Slicing(np.arange(len(self.items)), {"scenario": list(self.items)}))
        means = {
            name: [np.nanmean(delta[self.cues.codes == code], axis=0) for code in range(len(self.cues))]
            for name, delta in (("planted", self.shifts(self.planted)), ("learned", self.shifts(self.learned)))
        }
        return pl.DataFrame(labels).with_columns(
            pl.Series(name, np.concatenate(by_cue)) for name, by_cue in means.items()
        )

    def replies(self, pictures: Codes, rng: np.random.Generator) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Draw replies: which are the favourable pole, and which valid; shape (pictures, items, orderings)."""
        valid = self.answers.mass[pictures].astype(np.float64)
        favourable = np.nan_to_num(self.answers.weights[pictures].astype(np.float64)) * valid
        chance = rng.random(valid.shape)
        return chance < favourable, chance < valid

    def audits(self, size: int) -> Iterator[pl.DataFrame]:
        """Audits of so many people drawn with replacement, by one reply to each question.

        Drawn so, people are independent, and what is learned of the population is exactly what is to be estimated. Who
        is drawn twice replies anew and counts twice, as another person with the same probabilities would. A row per
        cue: `planted`, `true` (learned), the estimate as the report makes and tests it, and whether it is a finding.
        """
        counts = face_counts(str(size))
        planted, learned = (self.expected(scores, counts) for scores in (self.planted, self.learned))
        for draw in count():
            rng = np.random.default_rng([SEED, size, draw])
            people = np.concatenate([rng.choice(self.members[gender], number) for gender, number in counts.items()])
            sets = [self.pictures[person] for person in people]
            pictures, person = np.concatenate(sets), np.repeat(np.arange(size), [rows.size for rows in sets])
            favourable, valid = self.replies(pictures, rng)
            with np.errstate(invalid="ignore", divide="ignore"):
                scores = favourable.sum(axis=2) / valid.sum(axis=2)  # without a valid answer NaN, which does not count
            base = np.flatnonzero(self.cues.codes[pictures] < 0)
            cells = self.cells(scores - scores[base[person]], pictures, person, size)
            estimates = cluster_means(cells.sums, cells.counts, SHIFT_SEED, largest=1.0)
            assert estimates.p is not None
            q = adjust_p(estimates.p, "bh")
            yield pl.DataFrame(dict(self.cues.labels)).with_columns(
                planted=planted, true=learned, value=estimates.value, low=estimates.low, high=estimates.high,
                q=q, found=np.nan_to_num(q, nan=1.0) < LEAD_SHARE * ALPHA,
            )  # fmt: skip


def population(
    settings: dict[str, OptionValue], model: Model, effects: PlantedEffects, progress: Progress
) -> Population:
    """Read what a model says of everyone in an exact run that is kept; one that is complete is not asked again.

    Raises
    ------
    ModelError
        The model cannot answer.
    KeyboardInterrupt
        The run was interrupted; what was read is kept.
    """
    study = studies.build("stylisticbias", settings)
    facts = json.dumps([__version__, model.name, dict(model.settings()), dict(study.options)], sort_keys=True)
    folder = default_folder() / f"{study.name}-{blake2b(facts.encode(), digest_size=12).hexdigest()}"
    if not folder.exists():
        progress.note(
            f"Reading the probabilities of {study.design.size:,} judgments of {study.manifest.height:,} pictures. They "
            "are kept, so that this is done once."
        )
        for _ in draw_all(study.manifest, default_cache()):
            pass
    summary = run(study, model, folder, RunSettings(exact=True, check=False), progress)
    if summary.interrupted:
        raise KeyboardInterrupt
    if summary.errors or not summary.complete:
        raise ModelError(summary.failure or f"{model.name} left questions without an answer.")
    faces, items = FacePictures().sets(study.manifest), scenario_names(study)
    gathered = gather(study, answers(StoredRun.open(folder)))
    changes: list[tuple[str, ...]] = [(variation.attribute, variation.name) for variation in whitelist(None)]
    return Population(faces, changes, items, gathered, planted_in(study, effects))


def gather(study: Study, chunks: Iterable[pl.DataFrame]) -> AnswerArrays:
    """Answers as arrays of shape (pictures, scenarios, orderings x seeds)."""
    ask: Ask = DECLARATION["ask"].narrow({"scenario": scenario_names(study)})
    many = len(ask.question_factors[0])
    axes = Axes(study.manifest["image"].to_list(), ask.question_codes, list(ask.reply.orderings), study.repeats, many)
    return collect(chunks, axes, [SCORE.name])[SCORE.name]


def default_folder() -> Path:
    """Where what a model says is kept between calibrations: beside the portraits."""
    return cache_folder() / "calibration"


def summed_up(audits: Iterable[pl.DataFrame]) -> dict[str, float | None]:
    """Statistics of audits: recovery, coverage and findings.

    Not all that is flagged where nothing is planted is an error, as the learned effect is small there, but not zero;
    what is found on the other side of zero than the learned SBS is (`wrong_sign`).
    """
    rows = pl.concat(audit.with_columns(audit=pl.lit(number)) for number, audit in enumerate(audits))
    false = rows.group_by("audit").agg(rate=NONE.filter(_FINDINGS).mean().fill_null(0.0), any=(NONE & _FINDINGS).any())
    shares = rows.select(
        correlation=pl.corr("true", "value"), slope=pl.cov("true", "value") / pl.col("true").var(),
        coverage=_COVERS.mean(), coverage_none=_COVERS.filter(NONE).mean(),
    )  # fmt: skip
    findings = rows.select(
        power=_FINDINGS.filter(~NONE).mean(), flagged_none=_FINDINGS.filter(NONE).mean(),
        wrong_sign=_WRONG.filter(_FINDINGS).mean().fill_null(0.0),
    )  # fmt: skip
    discoveries = false.select(false_discovery_rate=pl.col("rate").mean(), audits_with_false=pl.col("any").mean())
    return pl.concat([shares, discoveries, findings], how="horizontal").row(0, named=True)


def learning(effects: pl.DataFrame) -> dict[str, float | None]:
    """How well the model has learned what is planted, over all variations and scenarios; None where nothing is."""
    planted, learned = (effects[name].to_numpy() for name in ("planted", "learned"))
    largest = effects.select(pl.col("planted").abs().max().over("attribute", "variation") < EXACT).to_series()
    nothing, some = learned[largest.to_numpy()], np.ptp(planted) > EXACT
    return {
        "correlation": float(np.corrcoef(planted, learned)[0, 1]) if some else None,
        "slope of learned on planted": float(np.polyfit(planted, learned, 1)[0]) if some else None,
        "mean error": float(np.abs(learned - planted).mean()),
        "where nothing is planted: SD of learned": float(nothing.std()),
        "where nothing is planted: largest learned": float(np.abs(nothing).max()),
    }


def main() -> None:
    """Audit the reference model, or a variant of it, by numbers of faces; print and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="reference", help="reference, or reference/VARIANT: a name or a folder")
    parser.add_argument("--faces", type=int, nargs="+", default=[20, 60])
    parser.add_argument("--audits", type=int, default=200, help="of each number of faces")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    folder = adapter.folder_of(args.model.partition("/")[2])
    model = adapter.ReferenceModel(args.model, folder)
    truth = PlantedEffects.read(folder / "truth.parquet")
    people = population(EVERYONE, model, truth, RichProgress(terminal(stderr=True)))
    rows = [
        {"condition": "reference", "faces": size, "repetitions": args.audits}
        | summed_up(islice(people.audits(size), args.audits))
        for size in args.faces
    ]  # fmt: skip
    effects, table = people.effects(), pl.DataFrame(rows, infer_schema_length=None)
    for name, value in learning(effects).items():
        low, high = PROMISED.get(name, (-np.inf, np.inf))
        print(name, "-" if value is None else f"{value:.3f}{'' if low <= value <= high else ': not as promised'}")
    print(table)
    if args.out:
        for path, frame in ((args.out, table), (args.out.with_stem(f"{args.out.stem}-effects"), effects)):
            path.write_text(frame.write_csv(float_precision=4))


if __name__ == "__main__":
    main()
