"""Calibration on the reference model: audits of people drawn from a known population.

Three values of each effect stand side by side: what was planted, what the model has learned of it (its exact
probabilities for every person of the population), and what an audit estimates from a sample of people and of replies.
An audit can find only what has been learned, so that is what its intervals must cover.
"""

import io
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
from facevalue.errors import ModelError
from facevalue.hashing import combined_hash, conditions_hash, question_hash, stimulus_hash
from facevalue.measures import adjustment, cluster_bootstrap, shift
from facevalue.measures.page_error import LEAD_SHARE
from facevalue.measures.slicing import Slicing
from facevalue.models.base import Model
from facevalue.models.reference.truth import LETTER, POSITION, SCENARIOS, TRAITS, PlantedTruth, people
from facevalue.prompts import ORDERINGS
from facevalue.protocol.settings import defaults, face_counts
from facevalue.protocol.shifts import SEED as SHIFT_SEED
from facevalue.protocol.study import Study
from facevalue.stimuli.drawn import CONTROL, default_cache
from facevalue.store.files import make_folder, write_whole
from facevalue.studies.stylisticbias.aggregate import Faces
from facevalue.studies.stylisticbias.paper_statistics import ALPHA
from facevalue.studies.stylisticbias.settings import SETTINGS
from facevalue.studies.stylisticbias.study import LEVELS, build
from facevalue.studies.stylisticbias.tables import attribute_titles, grid, whitelist
from facevalue.types import OptionValue, Request, Stimulus

Array = npt.NDArray[np.float64]
FACES = "100M,100F"
"""Who is asked about: the first faces of the study's own `faces_seed`, which the model was never trained on.

Audits draw from them. What is learned wrongly about some of them does not cancel in so many; with sixty, an audit of
sixty found where nothing is planted what was true of these sixty and not of people at large.
"""
PUBLISHED = PlantedTruth()
"""What is planted in the model that comes with FaceValue."""
CUE = ("attribute", "variation")
VARIATIONS = [(v.attribute, v.name) for v in whitelist(None)]
"""The 34 variations that the paper keeps."""
SEED = 7301
"""Of all audits: which people are drawn, and what the model replies."""
"""Least and most, and in words."""


def audited_study(**options: OptionValue) -> Study:
    """StylisticBias as the model is asked it, with fashion compared as in the paper.

    The model has learned from no picture in full body and plain clothes, and none is planted to have an effect.
    """
    return build({**defaults(SETTINGS), "faces": FACES, "seeds": ["1"], "fashion_base": "portrait", **options})


def default_folder() -> Path:
    """Where what a model says is kept between runs: beside the portraits."""
    return default_cache().parent / "calibration"


@dataclass(frozen=True)
class Population:
    """People, what was planted about them, and how likely a model's replies about them are."""

    faces: Faces
    """Their pictures, a base and all variations of each."""
    scenarios: list[str]
    """What is asked about each picture."""
    favourable: Array
    valid: Array
    """Chance that a reply is the favourable pole, and that it is either pole; shape (pictures, scenarios,
    orderings)."""
    planted: Array
    """Preference score that is planted, shape (pictures, scenarios)."""

    @cached_property
    def learned(self) -> Array:
        """Preference score that the model has learned, exactly; shape (pictures, scenarios).

        As the study counts probabilities: replies that are no valid answer are left out, so that each ordering weighs
        by its chance of a valid one. NaN where there is none.
        """
        total = self.valid.sum(axis=2)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(total > 0, self.favourable.sum(axis=2) / total, np.nan)

    @cached_property
    def members(self) -> dict[str, npt.NDArray[np.int64]]:
        """The people of each gender, by their number."""
        gender = self.faces.manifest["gender"].to_numpy()[self.faces.base]
        return {str(name): np.flatnonzero(gender == name) for name in dict.fromkeys(gender.tolist())}

    @cached_property
    def pictures(self) -> list[npt.NDArray[np.int64]]:
        """Each person's pictures, the base first."""
        varied, who = self.faces.varied, self.faces.identity[self.faces.varied]
        return [np.concatenate([[base], varied[who == number]]) for number, base in enumerate(self.faces.base)]

    @cached_property
    def varied(self) -> npt.NDArray[np.int64]:
        """Which of `VARIATIONS` each picture shows; -1 for a base."""
        pairs = self.faces.manifest.select("attribute", "variation").iter_rows()
        return np.array([-1 if kind is None else VARIATIONS.index((kind, value)) for kind, value in pairs])

    def shifts(self, phi: Array) -> Array:
        """Prediction shift of each picture, shape (pictures, scenarios); zero for a base."""
        return phi - phi[self.faces.base[self.faces.identity]]

    def effects(self, phi: Array) -> Array:
        """Mean shift by variation and scenario over all of these people, shape (variations, scenarios)."""
        delta = self.shifts(phi)
        return np.array([np.nanmean(delta[self.varied == number], axis=0) for number in range(len(VARIATIONS))])

    def sbs(self, phi: Array, counts: dict[str, int]) -> Array:
        """SBS of each variation to be expected of so many people of each gender, drawn at random from these.

        NaN for a variation that none of them has.
        """
        rows = Slicing(self.varied, {"variation": [name for _, name in VARIATIONS]})
        whole, people = Slicing.whole(phi.shape[1]), len(self.faces.identities)
        cells = shift.cells(self.shifts(phi), self.faces.identity, rows, whole, people)
        weights = np.zeros(people)
        for gender, number in counts.items():
            weights[self.members[gender]] = number / len(self.members[gender])
        return cluster_bootstrap.ratio(weights @ cells.sums, weights @ cells.counts)


class Readings:
    """A model's exact probabilities of every picture and question, read person by person and kept.

    A file of what was read is named by a hash of the model, of all that was asked, and of its own bytes. One that is
    damaged doesn't fit its name, and is read anew.
    """

    def __init__(self, study: Study, model: Model, folder: Path, truth: PlantedTruth = PUBLISHED) -> None:
        self._study, self._model, self._folder, self._truth = study, model, folder, truth
        self._faces = Faces(study.manifest)
        prompt = study.design.blocks[0].prompt
        self.scenarios = [str(name) for name in prompt[0].columns()[0].values]
        asked = [(scenario, ordering.name) for scenario in self.scenarios for ordering in ORDERINGS]
        self._questions = study.ask(pl.DataFrame(asked, schema=["scenario", "ordering"], orient="row"))
        self._place = [[o.level for o in q.options].index(LEVELS[0]) for q in self._questions]
        self._rows = [np.flatnonzero(self._faces.identity == who) for who in range(len(self))]
        self._asks = json.dumps([__version__, model.name, dict(model.settings())], sort_keys=True).encode()
        self._names = [self._name(rows) for rows in self._rows]
        self._read = {who: found for who in range(len(self)) if (found := self._kept(who)) is not None}

    def __len__(self) -> int:
        return len(self._faces.identities)

    @property
    def questions(self) -> int:
        """How many questions there are about each picture."""
        return len(self._questions)

    @property
    def unread(self) -> pl.DataFrame:
        """The pictures that the model has yet to be asked about, as rows of the manifest."""
        rows = [self._rows[who] for who in range(len(self)) if who not in self._read]
        return self._study.manifest[np.sort(np.concatenate(rows))] if rows else self._study.manifest.clear()

    def read(self) -> Iterator[int]:
        """Ask what is not kept yet."""
        for who in range(len(self)):
            if who in self._read:
                continue
            read = self._asked(self._rows[who])
            buffer = io.BytesIO()
            pl.DataFrame(read, schema=list(LEVELS), orient="row").write_parquet(buffer)
            data = buffer.getvalue()
            make_folder(self._folder)
            write_whole(self._folder / f"{self._names[who]}-{_digest(data)}.parquet", data)
            self._read[who] = read
            yield len(read)

    def population(self) -> Population:
        """Everything that was read, beside what is planted."""
        manifest, sampling = self._study.manifest, self._study.draws.sampling
        shape = (manifest.height, len(self.scenarios), len(ORDERINGS))
        both = np.empty((*shape, 2))
        for who, rows in enumerate(self._rows):
            both[rows] = self._read[who].reshape(len(rows), *shape[1:], 2)
        planted = planted_scores(manifest, self.scenarios, sampling.temperature, self._truth)
        return Population(self._faces, self.scenarios, both[..., 0], both.sum(axis=-1), planted)

    def _stimuli(self, rows: npt.NDArray[np.int64]) -> list[Stimulus]:
        return [
            self._study.source.stimulus(int(number), levels)
            for number, levels in zip(rows, self._study.manifest[rows].to_dicts(), strict=True)
        ]

    def _asked(self, rows: npt.NDArray[np.int64]) -> Array:
        """Probabilities of either pole, shape (pictures x scenarios x orderings, 2)."""
        width = len(self._questions)
        requests = (
            Request(at * width + number, 0, 1, stimulus, question, self._study.draws.sampling, True)
            for at, stimulus in enumerate(self._stimuli(rows))
            for number, question in enumerate(self._questions)
        )
        out = np.full((len(rows) * width, 2), np.nan)
        for response in self._model.respond(requests):
            if response.probs is None:
                raise ModelError(response.error or f"{self._model.name} gave no probabilities.")
            place = self._place[response.trial % width]
            out[response.trial] = response.probs[place], response.probs[1 - place]
        if np.isnan(out).any():
            raise ModelError(f"{self._model.name} left questions without an answer.")
        return out

    def _name(self, rows: npt.NDArray[np.int64]) -> str:
        """Hash of the model and of everything that it is asked about one person."""
        stimuli = np.array([stimulus_hash(stimulus) for stimulus in self._stimuli(rows)], dtype=np.uint64)
        questions = np.array([question_hash(question) for question in self._questions], dtype=np.uint64)
        conditions = np.array([conditions_hash(self._study.draws.sampling, 1, True)], dtype=np.uint64)
        hashes = combined_hash(stimuli[:, None], questions, conditions)
        return _digest(self._asks + hashes.tobytes())

    def _kept(self, who: int) -> Array | None:
        for path in sorted(self._folder.glob(f"{self._names[who]}-*.parquet")):
            try:
                data = path.read_bytes()
            except OSError:
                continue
            if path.stem.endswith(f"-{_digest(data)}"):
                return pl.read_parquet(io.BytesIO(data)).to_numpy()
        return None


def planted_scores(
    manifest: pl.DataFrame, names: list[str], temperature: float, truth: PlantedTruth = PUBLISHED
) -> Array:
    """Preference score that is planted in pictures, at a sampling temperature; shape (pictures, scenarios).

    Equation
    --------
    Mean over the four orderings of 1 / (1 + exp(-z / T)), with z the favourable pole's planted logit in that ordering
    (`facevalue.models.reference.truth`).
    """
    standing = truth.standing(people(manifest))[:, [TRAITS.index(name) for name in names]]
    out = np.zeros_like(standing)
    for ordering in ORDERINGS:
        shown = ordering.options(("", ""), LEVELS)
        place = [option.level for option in shown].index(LEVELS[0])
        first, lettered = 1 if place == 0 else -1, 1 if shown[place].label == "(a)" else -1
        out += 1 / (1 + np.exp(-(standing + first * POSITION + lettered * LETTER) / temperature))
    return out / len(ORDERINGS)


def planted_cues(study: Study) -> pl.DataFrame:
    """What each cue moves the preference score by, as planted: attribute, variation, title, planted."""
    phi = planted_scores(study.manifest, list(SCENARIOS), study.draws.sampling.temperature).mean(axis=1)
    frame = study.manifest.select("identity", *CUE).with_columns(phi=pl.Series(phi))
    base = frame.filter(pl.col("attribute").is_null()).select("identity", base="phi")
    changed = frame.filter(pl.col("attribute") != CONTROL[0]).join(base, on="identity")
    means = changed.group_by(CUE).agg(planted=(pl.col("phi") - pl.col("base")).mean())
    attributes, names = attribute_titles(), {(v.attribute, v.name): v.title for v in grid()}
    titles = [f"{names[cue].lower()} ({attributes[cue[0]].lower()})" for cue in means.select(CUE).iter_rows()]
    return means.with_columns(title=pl.Series(titles))


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=12).hexdigest()


def learning(population: Population) -> pl.DataFrame:
    """Planted and learned mean shifts of the preference score over the whole population, by variation and scenario."""
    rows = [(*change, name) for change in VARIATIONS for name in population.scenarios]
    return pl.DataFrame(rows, schema=["attribute", "variation", "scenario"], orient="row").with_columns(
        planted=population.effects(population.planted).ravel(), learned=population.effects(population.learned).ravel()
    )


def replies(
    population: Population, pictures: npt.NDArray[np.int64], rng: np.random.Generator
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Draw replies: which are the favourable pole, and which valid; shape (pictures, scenarios, orderings)."""
    drawn = rng.random((len(pictures), *population.valid.shape[1:]))
    return drawn < population.favourable[pictures], drawn < population.valid[pictures]


def audited(
    delta: Array, cluster: npt.NDArray[np.int64], code: npt.NDArray[np.int64], planted: Array, true: Array
) -> pl.DataFrame:
    """SBS of each variation as the report estimates and tests it, beside what is planted and what there is to find."""
    rows = Slicing(code, {"variation": [name for _, name in VARIATIONS]})
    cells = shift.cells(delta, cluster, rows, Slicing.whole(delta.shape[1]), int(cluster.max()) + 1)
    estimates = cluster_bootstrap.means(cells.sums, cells.counts, SHIFT_SEED, largest=1.0)
    assert estimates.p_zero is not None
    q = adjustment.adjust(estimates.p_zero, "bh")
    return pl.DataFrame(VARIATIONS, schema=["attribute", "variation"], orient="row").with_columns(
        planted=planted, true=true, value=estimates.value, low=estimates.low, high=estimates.high,
        q=q, found=np.nan_to_num(q, nan=1.0) < LEAD_SHARE * ALPHA,
    )  # fmt: skip


def audits(population: Population, faces: int) -> Iterator[pl.DataFrame]:
    """Audits of the model: on people drawn from the population with replacement, by one reply to each question.

    Drawn so, people are independent, and the learned SBS of the population is exactly what is to be estimated. Who is
    drawn twice replies anew and counts twice, as another person with the same probabilities would.
    """
    counts = face_counts(str(faces))
    planted, learned = (population.sbs(scores, counts) for scores in (population.planted, population.learned))
    for draw in count():
        rng = np.random.default_rng([SEED, faces, draw])
        who = np.concatenate([rng.choice(population.members[gender], number) for gender, number in counts.items()])
        sets = [population.pictures[person] for person in who]
        pictures, cluster = np.concatenate(sets), np.repeat(np.arange(faces), [len(own) for own in sets])
        said, valid = replies(population, pictures, rng)
        with np.errstate(invalid="ignore", divide="ignore"):
            phi = said.sum(axis=2) / valid.sum(axis=2)  # no valid answer at all: NaN, which no estimator counts
        variation = population.varied[pictures]
        varied = variation >= 0
        delta = (phi - phi[~varied][cluster])[varied]
        yield audited(delta, cluster[varied], variation[varied], planted, learned)
