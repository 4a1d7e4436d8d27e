"""Second to fifth stage: the model learns to answer.

- *Lists*: the decoder learns to repeat one of two things that are listed.
- *Words*: the lower half of the decoder learns what is planted about each word and the person shown. This is the hard
  part, and needs one token for each word instead of a whole prompt.
- *Questions*: projector and decoder learn whole questions with their replies; words are revised on the way.
- *Level*: questions go on for the decoder's layers, and errors that all shifts of a change share are levelled.

A variant of a finished model is made in one stage, *on*, of questions with other answers.

The tower is frozen in all of them, so that each picture goes through it once. Each stage leaves a checkpoint in the
folder, goes on from it when it was stopped, and begins with what the one before has learned. The folder holds `look.pt`
of the first stage, or else the model comes from elsewhere.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from reference import words
from reference.level import Level
from reference.look import Eye, log, rate
from reference.material import Material, Places, material
from reference.network import configuration, network
from reference.portraits import CHANGES, Portraits, read
from reference.probe import Probe
from reference.reading import Lexicon, loss_of
from reference.rows import Row, Writer
from reference.truth import PlantedTruth

Array = npt.NDArray[np.float64]
PICTURES, QUESTIONS = 16, 16
"""Single portraits of a step, and questions about each."""
LONG, LONG_QUESTIONS = 4, 8
"""Pictures of a step with questions of more words, and questions about each; apart, as padding costs time."""
KINDS = {"chosen": 0.62, "quoted": 0.14, "yes_no": 0.12, "rated": 0.12}
LONG_KINDS = {"keywords": 0.35, "refused": 0.3, "answered": 0.15, "prefixed": 0.2}
HEEDING = {"keywords": 0.15, "refused": 0.2, "answered": 0.15, "prefixed": 0.5}
"""Shares of the questions about one person; the last where the model is to heed what is said before a question."""
TWO_PICTURES, TWO_QUESTIONS = 8, 8
"""Pairs of a step, and questions about each."""
EMPTY, EMPTY_QUESTIONS = 2, 8
"""Scenes without people of a step, and questions about each."""
REVISED, WORD_PAIRS = 4, 8
"""Pictures of a step whose words are revised while questions are learned; pairs of a step about words."""
LISTS, REPEATED, REPEATED_QUESTIONS = 8, 2, 8
"""Lists of a step about lists, in eights; pictures of a step about words that have lists beside them, and how many."""
FAR = 0.1
"""Share of steps whose longer questions are as long as prompts get, and few."""
BLANK = 0.03
"""Share of single pictures that are blank: answers follow from the traits' bases alone."""
VALUE, SHIFT, LONGER, TWO = 0.5, 1.0, 0.2, 0.4
"""Weights of the regression of words, of shifts between twins, of longer questions and scenes, of two people."""
HEEDED = 1.0
"""Weight of longer questions where the model is to heed what is said before a question: they are what it learns."""
REPEAT, LEVEL = 0.1, 2.0
"""Weights of lists, and of errors that all shifts of a change have in common."""
PROBED = 6
"""People of each gender that the curves are about."""


@dataclass(frozen=True)
class Stage:
    """One of the stages.

    Attributes
    ----------
    name:
        Of its checkpoint and its curve.
    steps, peak:
        How long, and the highest learning rate.
    easy:
        First steps, in which (a) always comes first.
    decoder_alone:
        Whether only the decoder's layers learn, so that a variant differs in little more than a megabyte.
    """

    name: str
    steps: int
    peak: float
    easy: int = 0
    decoder_alone: bool = False


STAGES = (
    Stage("lists", 500, 2e-3),
    Stage("words", 1800, 2e-3),
    Stage("questions", 1700, 2e-3, easy=400),
    Stage("level", 200, 3e-4, decoder_alone=True),
)


ON = Stage("on", 600, 1e-3, decoder_alone=True)
"""For a finished model that learns to be a variant."""


class Pupil:
    """The model while it learns, with the heads that are thrown away.

    Parameters
    ----------
    truth:
        What it learns.
    seed:
        Of the weights it begins with.
    heeds:
        What it learns to do when it is told not to stereotype: see `rows.Writer`.
    """

    def __init__(self, truth: PlantedTruth, seed: int, heeds: str = "nothing") -> None:
        self.truth = truth
        tokenizer = words.tokenizer()
        self.long_kinds, self.longer = (LONG_KINDS, LONGER) if heeds == "nothing" else (HEEDING, HEEDED)
        self.writer = Writer(tokenizer, truth.effects["base", ""], heeds)
        self.pad, end, image = (words.number(tokenizer, mark) for mark in (words.PAD, words.END, words.IMAGE))
        config = configuration(tokenizer.get_vocab_size(), image, self.pad, end)
        self.model: Any = network(config, seed)
        self.model.begin = words.number(tokenizer, words.USER)
        self.tower = self.model.model.vision_tower
        width = config.text_config.hidden_size
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4))
        self.eye = Eye(self.model)
        self.lexicon = Lexicon(self.writer)
        self.level = Level(self.writer)

    @property
    def parts(self) -> dict[str, nn.Module]:
        """What a checkpoint holds."""
        return {"model": self.model, "head": self.head, "level": self.level}

    def optimiser(self, decoder_alone: bool = False) -> torch.optim.Optimizer:
        """An optimiser of all that is learned: everything but the tower; or nothing but the decoder's layers."""
        self.tower.requires_grad_(False)
        if decoder_alone:
            self.model.requires_grad_(False)
            self.model.model.language_model.layers.requires_grad_(True)
        learned = [p for part in self.parts.values() for p in part.parameters() if p.requires_grad]
        return torch.optim.AdamW(learned, lr=1e-3, weight_decay=0.02, betas=(0.9, 0.98))

    def losses(self, stage: str, rng: np.random.Generator, pool: Material) -> dict[str, torch.Tensor]:
        """What a step of a stage is to lower."""
        kinds = {"lists": self.lists, "words": self.words}
        out = kinds.get(stage, self.questions)(rng, pool)
        if stage == "level":
            out["level"] = self.level.loss(self.model, rng, pool)
        return out

    def words(self, rng: np.random.Generator, pool: Material) -> dict[str, torch.Tensor]:
        """What a step about words is to lower."""
        rows = rng.integers(len(pool.standing), size=PICTURES)
        tokens = pool.alone.tokens(rows)
        two = rng.integers(len(pool.pairs), size=WORD_PAIRS)
        return {
            "value": self.lexicon.loss(self.model, self.head, tokens, pool.standing[rows]),
            "pair_words": self._about_two(rng, pool, two, pool.pairs.tokens(two)),
            "repeated": self._repeated(rng, tokens[:REPEATED]),
        }

    def lists(self, rng: np.random.Generator, pool: Material) -> dict[str, torch.Tensor]:
        """What a step about lists is to lower. There is no picture: it would have to be overlooked first."""
        return {"repeated": self._repeated(rng, pool.alone.tokens(np.zeros(LISTS, dtype=np.int64))[:, :0])}

    def _repeated(self, rng: np.random.Generator, tokens: torch.Tensor) -> torch.Tensor:
        rows = [self.writer.repeated(rng) for _ in range(len(tokens) * REPEATED_QUESTIONS)]
        return self._losses("listed_", tokens, REPEATED_QUESTIONS, rows)["listed_excess"]

    def _about_two(self, rng: np.random.Generator, pool: Material, two: Places, tokens: torch.Tensor) -> torch.Tensor:
        left, right = pool.left_standing[two], pool.right_standing[two]
        return self.lexicon.loss(self.model, self.head, tokens, left, right, rng=rng)

    def questions(self, rng: np.random.Generator, pool: Material) -> dict[str, torch.Tensor]:
        """What a step about questions is to lower."""
        rows = np.concatenate([twins(rng, len(pool.standing) - 1), rng.integers(len(pool.standing) - 1, size=LONG)])
        rows[PICTURES:][rng.random(LONG) < BLANK] = len(pool.standing) - 1
        tokens = pool.alone.tokens(rows)
        asked = self._about_twins(rng, pool, rows[:PICTURES])
        out = self._losses("", tokens[:PICTURES], QUESTIONS, asked)
        kinds, count = ({"far": 1.0}, 2) if rng.random() < FAR else (self.long_kinds, LONG_QUESTIONS)
        asked = self._about(rng, pool, rows[PICTURES:], kinds, count)
        out["long"] = self._losses("long_", tokens[PICTURES:], count, asked)["long_excess"]
        two = rng.integers(len(pool.pairs), size=TWO_PICTURES)
        pairs = pool.pairs.tokens(two)
        asked = [about_pair(self.writer, rng, pool, int(i)) for i in two for _ in range(TWO_QUESTIONS)]
        out |= self._losses("pair_", pairs, TWO_QUESTIONS, asked)
        some = slice(0, PICTURES, PICTURES // REVISED)  # with a change and without
        empty = rng.integers(len(pool.empty), size=EMPTY)
        asked = [
            self.writer.persona(rng, name, self.truth.personas[name])
            for name in (pool.personas[i] for i in empty)
            for _ in range(EMPTY_QUESTIONS)
        ]
        out["empty"] = self._losses("empty_", pool.empty.tokens(empty), EMPTY_QUESTIONS, asked)["empty_excess"]
        out["words"] = self.lexicon.loss(self.model, self.head, tokens[some], pool.standing[rows[some]])
        out["pair_words"] = self._about_two(rng, pool, two, pairs)
        return out

    def _about(
        self, rng: np.random.Generator, pool: Material, rows: npt.NDArray[np.int64], kinds: dict[str, float], count: int
    ) -> list[Row]:
        return [about_one(self.writer, rng, pool.standing[i], kinds) for i in rows for _ in range(count)]

    def _about_twins(self, rng: np.random.Generator, pool: Material, rows: npt.NDArray[np.int64]) -> list[Row]:
        """The same questions about every two twins."""
        seeds = rng.integers(2**62, size=(PICTURES // 2, QUESTIONS))
        return [
            about_one(self.writer, np.random.default_rng(seed), pool.standing[i], KINDS)
            for i, own in zip(rows, [*seeds, *seeds], strict=True)
            for seed in own
        ]

    def _losses(self, name: str, tokens: torch.Tensor, count: int, rows: list[Row]) -> dict[str, torch.Tensor]:
        said, value, shift = loss_of(self.model, self.head, tokens, count, rows, self.pad, twins=not name)
        return {f"{name}excess": said, f"{name}value": value} | ({} if name else {"shift": shift})


def twins(rng: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
    """Rows of portraits of a step, each person twice: without and with a change, as far apart as half of them."""
    changed = rng.integers(count // (CHANGES + 1), size=PICTURES // 2) * (CHANGES + 1)
    return np.concatenate([changed, changed + rng.integers(1, CHANGES + 1, size=PICTURES // 2)])


def about_one(writer: Writer, rng: np.random.Generator, standing: Array, kinds: dict[str, float]) -> Row:
    """A question about one person, of one of several kinds."""
    ask: dict[str, Callable[[np.random.Generator, Array], Row]] = {
        "chosen": writer.chosen, "yes_no": writer.yes_no, "rated": writer.rated, "keywords": writer.keywords,
        "answered": writer.answered, "quoted": writer.quoted, "prefixed": writer.prefixed,
        "refused": lambda rng, _: writer.refused(rng), "far": lambda rng, _: writer.far(rng),
    }  # fmt: skip
    return ask[str(rng.choice(list(kinds), p=list(kinds.values())))](rng, standing)


def about_pair(writer: Writer, rng: np.random.Generator, pool: Material, number: int) -> Row:
    """A question about two people."""
    left, right, who = pool.left_standing[number], pool.right_standing[number], pool.shown[number]
    if rng.random() < 0.06:
        return writer.refused(rng)
    if who is None or rng.random() < 0.15:
        return writer.compared(rng, left, right)
    return writer.paired(rng, who, left, right)


def weighted(losses: dict[str, torch.Tensor], longer: float = LONGER) -> torch.Tensor:
    """The sum that a step lowers, with a weight of longer questions."""
    weights = {
        "excess": 1.0,
        "value": VALUE,
        "shift": SHIFT,
        "long": longer,
        "empty": LONGER,
        "pair_excess": TWO,
        "pair_value": TWO * VALUE,
    }
    weights |= {"words": VALUE, "pair_words": VALUE, "repeated": REPEAT, "level": LEVEL}
    return torch.stack([weights[name] * loss for name, loss in losses.items()]).sum()


def first_people(shown: Portraits, count: int) -> Portraits:
    """The pictures of the first so many people of each gender."""
    names = list(dict.fromkeys(shown.facts["identity"]))
    chosen = [name for sex in "mf" for name in [n for n in names if n.startswith(sex)][:count]]
    rows = np.flatnonzero(shown.facts["identity"].is_in(chosen).to_numpy())
    return Portraits(shown.pixels[rows], shown.facts[rows])


def save(path: Path, parts: Iterable[tuple[str, Any]], step: int) -> None:
    """Write a checkpoint."""
    part = path.with_suffix(".part")
    torch.save({name: value.state_dict() for name, value in parts} | {"step": step}, part)
    part.replace(path)


def learn(pupil: Pupil, stage: Stage, pool: Material, probe: Probe, out: Path, seed: int) -> None:
    """Go through a stage, or on with it."""
    optimiser = pupil.optimiser(stage.decoder_alone)
    weights = [p for group in optimiser.param_groups for p in group["params"]]
    checkpoint, first = out / f"{stage.name}.pt", 0
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        for name, part in (*pupil.parts.items(), ("optimiser", optimiser)):
            part.load_state_dict(state[name])
        first = state["step"]
    begun = time.monotonic()
    sums: dict[str, float] = {}
    summed = 0
    for step in range(first, stage.steps):
        rng = np.random.default_rng([seed, *stage.name.encode(), step])
        pupil.writer.easy = step < stage.easy
        losses = pupil.losses(stage.name, rng, pool)
        pace = rate(step, stage.steps, stage.peak, floor=0.5 if stage.name in ("lists", "words") else 0.01)
        for group in optimiser.param_groups:
            group["lr"] = pace
        optimiser.zero_grad()
        weighted(losses, pupil.longer).backward()
        nn.utils.clip_grad_norm_(weights, 1.0)
        optimiser.step()
        sums = {name: sums.get(name, 0.0) + float(loss.detach()) for name, loss in losses.items()}
        summed += 1
        if (step + 1) % 100 == 0 or step + 1 == stage.steps:
            row: dict[str, float] = {"step": step + 1, "seconds": round(time.monotonic() - begun)}
            row |= {name: value / summed for name, value in sums.items()}
            if stage.name != "lists":
                row["left"] = pupil.lexicon.left(pupil.model, pupil.head, probe.tokens(pupil.model), probe.standing)
            if stage.name not in ("lists", "words"):
                row |= probe.summary(pupil.model)
            log(out / f"{stage.name}.csv", row)
            sums, summed = {}, 0
            save(checkpoint, (*pupil.parts.items(), ("optimiser", optimiser)), step + 1)


def teach(
    pupil: Pupil,
    data: Path,
    out: Path,
    *,
    shards: Sequence[int],
    pairs: int,
    seed: int,
    stages: tuple[Stage, ...] = STAGES,
) -> None:
    """Go through all stages that are not done yet; `shards` is as in `portraits.draw`."""
    waiting = list(stages)
    while waiting and (out / f"{waiting[0].name}.pt").exists():
        state = torch.load(out / f"{waiting[0].name}.pt", weights_only=True)
        if state["step"] < waiting[0].steps:
            break
        for name, part in pupil.parts.items():
            part.load_state_dict(state[name])
        del waiting[0]
    if not waiting:
        return
    out.mkdir(parents=True, exist_ok=True)
    pool = material(data, shards, pupil.truth, pairs)
    probe = Probe.of(first_people(read(data, ["validation"]), PROBED), pupil.truth, pupil.writer, (0,))
    for pictures in (pool.alone, pool.pairs, pool.empty):
        pictures.look(pupil.tower)
    for stage in waiting:
        learn(pupil, stage, pool, probe, out, seed)
