"""Calibration on a model that was trained on planted effects: audits of people drawn from a known population.

Three values of each effect stand side by side: what was planted, what the model has learned of it (its exact
probabilities for every person of the population), and what an audit estimates from a sample of people and of replies.
An audit can find only what has been learned, so that is what its intervals must cover.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import count
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue import __version__
from facevalue.calibration.promises import ALPHA
from facevalue.errors import ModelError
from facevalue.measures import adjustment, cluster_bootstrap, shift
from facevalue.measures.page_error import LEAD_SHARE
from facevalue.measures.slicing import Slicing
from facevalue.models.base import Model
from facevalue.models.reference.truth import PlantedEffects
from facevalue.places import cache_folder
from facevalue.protocol.aggregate import Aggregate
from facevalue.protocol.calibration import Reference
from facevalue.protocol.offers import Track
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.sets import Sets
from facevalue.protocol.settings import face_counts
from facevalue.protocol.shifts import SEED as SHIFT_SEED
from facevalue.runs import Progress, RunSettings, run
from facevalue.runs.stored import StoredRun, answers
from facevalue.stimuli.drawn import default_cache, draw_all

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
SEED = 7301
"""Of all audits: which people are drawn, and what the model replies."""


@dataclass(frozen=True)
class Population:
    """People, what was planted about them, and how likely a model's replies about them are."""

    sets: Sets
    """Their pictures, a base and all variations of each."""
    changes: list[tuple[str, ...]]
    """What a cue may be, in the order of estimates."""
    items: list[str]
    """What is asked about each picture."""
    answers: Aggregate
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
        varied, identity = self.sets.varied, self.sets.identity[self.sets.varied]
        return [np.concatenate([[base], varied[identity == number]]) for number, base in enumerate(self.sets.base)]

    def shifts(self, scores: Array) -> Array:
        """Shift of each picture from its base, shape (pictures, items); zero for a base."""
        return np.asarray(scores - scores[self.sets.base[self.sets.identity]])

    def cells(self, delta: Array, pictures: Codes, person: Codes, people: int) -> shift.Cells:
        """Shifts of pictures added up by person and cue."""
        codes = Slicing(self.cues.codes[pictures], self.cues.labels)
        return shift.cells(delta, person, codes, Slicing.whole(delta.shape[1]), people)

    def expected(self, scores: Array, counts: dict[str, int]) -> Array:
        """Mean shift of each cue to be expected of so many people of each gender, drawn at random from these.

        NaN for a cue that none of them has.
        """
        people = len(self.sets.identities)
        cells = self.cells(self.shifts(scores), np.arange(len(scores)), self.sets.identity, people)
        weights = np.zeros(people)
        for gender, number in counts.items():
            weights[self.members[gender]] = number / len(self.members[gender])
        return cluster_bootstrap.ratio(weights @ cells.sums, weights @ cells.counts)

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
            estimates = cluster_bootstrap.means(cells.sums, cells.counts, SHIFT_SEED, largest=1.0)
            assert estimates.p_zero is not None
            q = adjustment.adjust(estimates.p_zero, "bh")
            yield pl.DataFrame(dict(self.cues.labels)).with_columns(
                planted=planted, true=learned, value=estimates.value, low=estimates.low, high=estimates.high,
                q=q, found=np.nan_to_num(q, nan=1.0) < LEAD_SHARE * ALPHA,
            )  # fmt: skip


def population(
    protocol: Protocol, declared: Reference, model: Model, effects: PlantedEffects, track: Track, progress: Progress
) -> Population:
    """Read what a model says of everyone in an exact run that is kept; one that is complete is not asked again.

    Raises
    ------
    ModelError
        The model cannot answer.
    KeyboardInterrupt
        The run was interrupted; what was read is kept.
    """
    study = protocol.study(declared.settings)
    facts = json.dumps([__version__, model.name, dict(model.settings()), dict(study.options)], sort_keys=True)
    folder = default_folder() / f"{study.name}-{blake2b(facts.encode(), digest_size=12).hexdigest()}"
    if not folder.exists():
        progress.note(
            f"Reading the probabilities of {study.design.size:,} judgments of {study.manifest.height:,} pictures. They "
            "are kept, so that this is done once."
        )
        for _ in track(draw_all(study.manifest, default_cache()), "Drawing portraits", study.manifest.height):
            pass
    summary = run(study, model, folder, RunSettings(exact=True, check=False), progress)
    if summary.interrupted:
        raise KeyboardInterrupt
    if summary.errors or not summary.complete:
        raise ModelError(summary.failure or f"{model.name} left questions without an answer.")
    sets, aggregate = declared.gathered(study, answers(StoredRun.open(folder)))
    return Population(sets, declared.changes(), declared.items(study), aggregate, declared.planted(study, effects))


def default_folder() -> Path:
    """Where what a model says is kept between calibrations: beside the portraits."""
    return cache_folder() / "calibration"
