"""Second and third stage: projector and decoder learn to answer about pictures that the tower already sees.

The tower is frozen, so that every picture goes through it once. First single words are learned, all of them about each
picture: the lower half of the decoder learns what is planted about that word and the person shown. That is the hard
part, and needs one token for each word instead of a whole prompt. Then come whole questions with their replies.
`python -m reference.teach DATA OUT` goes on where it was stopped; OUT holds `look.pt` of the first stage.
"""

import argparse
import csv
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional

from facevalue.models.reference.truth import LETTER, POSITION, SCENARIOS, TERMS, Truth
from facevalue.prompts import ORDERINGS, phrase
from facevalue.studies.stylisticbias.tables import JUDGMENT
from reference import scenes, words
from reference.look import paired, people, rate
from reference.network import configuration, features, network
from reference.pack import decode
from reference.portraits import SIDE, Portraits, read
from reference.rows import DIMENSION, Row, Writer, batched

Array = npt.NDArray[np.float64]
PICTURES, QUESTIONS = 16, 16
"""Single portraits of a step, and questions about each."""
PAIRS, PAIR_QUESTIONS = 4, 10
"""Pairs of a step, and questions about each."""
PAIR_POOL = 6_000
"""Pairs of portraits, and as many of people and scenes, that are put together before training."""
LONG, LONG_QUESTIONS = 4, 8
"""Pictures of a step with questions of more words, and questions about each; apart, as padding costs time."""
KINDS = {"chosen": 0.76, "yes_no": 0.12, "rated": 0.12}
LONG_KINDS = {"keywords": 0.3, "refused": 0.3, "answered": 0.2, "quoted": 0.2}
"""Shares of the questions about one person."""
BLANK = 0.03
"""Share of single pictures that are blank: answers follow from the traits' bases alone."""
COLD = 0.2
"""Temperature at which StylisticBias samples."""
FAR = 4.0
"""How far from zero the projector's readings start."""
VALUE = 0.5
"""Weight of the regression at the option words."""


@dataclass
class Material:
    """What is looked at: tokens of the tower, and planted `d` of the people shown."""

    tokens: torch.Tensor
    standing: Array
    pair_tokens: torch.Tensor
    pair_left: Array
    pair_right: Array
    pair_shown: list[tuple[scenes.Shown, scenes.Shown] | None]


@torch.no_grad()
def seen(tower: nn.Module, pixels: torch.Tensor) -> torch.Tensor:
    """Tokens of the tower for many pictures, in half precision."""
    return torch.cat([features(tower, part).half() for part in pixels.split(128)])


def material(tower: nn.Module, data: Path, shards: int, truth: Truth, pairs: int) -> Material:
    """Look at every training picture once, and at a pool of pairs. The last single picture is blank."""
    shown = read(data, [f"portraits-{i}" for i in range(shards)])
    pixels = torch.from_numpy(shown.pixels)
    blank = torch.full((1, SIDE, SIDE, 3), 255, dtype=torch.uint8)
    standing = truth.standing(people(shown))
    base = truth.effects["base", ""][None]
    rng = np.random.default_rng([truth.seed, 1])
    left, right = (rng.integers(len(pixels), size=pairs) for _ in range(2))
    tokens = [seen(tower, torch.cat([paired(pixels[a], pixels[b]) for a, b in _split(left, right)]))]
    standings = [standing[left]], [standing[right]]
    who: list[tuple[scenes.Shown, scenes.Shown] | None] = [None] * pairs
    for name, count in (("people", pairs // 2), ("scenes", pairs // 2)):
        if not (data / f"{name}.npy").exists():
            continue
        drawn, facts = scenes.read(data, name)
        picture = torch.from_numpy(drawn)
        own = truth.standing([scenes.person(one) for one in facts])
        a, b = partners(facts, count, rng)
        tokens.append(seen(tower, torch.cat([paired(picture[i], picture[j]) for i, j in _split(a, b)])))
        standings[0].append(own[a])
        standings[1].append(own[b])
        who += [(facts[i], facts[j]) for i, j in zip(a, b, strict=True)]
    return Material(
        torch.cat([seen(tower, pixels), seen(tower, blank)]),
        np.concatenate([standing, base]),
        torch.cat(tokens),
        np.concatenate(standings[0]),
        np.concatenate(standings[1]),
        who,
    )


def _split(left: npt.NDArray, right: npt.NDArray) -> list[tuple[npt.NDArray, npt.NDArray]]:
    parts = max(1, len(left) // 256)
    return list(zip(np.array_split(left, parts), np.array_split(right, parts), strict=True))


def partners(facts: list[scenes.Shown], count: int, rng: np.random.Generator) -> tuple[npt.NDArray, npt.NDArray]:
    """Pairs of pictures of one gender, dimension and activity that show two identities."""
    groups: dict[tuple[str, str, str], list[int]] = {}
    for number, one in enumerate(facts):
        groups.setdefault((one.gender, one.dimension, one.activity), []).append(number)
    usable = [rows for rows in groups.values() if len({facts[i].identity for i in rows}) > 1]
    sizes = np.array([len(rows) for rows in usable], dtype=np.float64)
    out: list[tuple[int, int]] = []
    while len(out) < count:
        rows = usable[rng.choice(len(usable), p=sizes / sizes.sum())]
        i, j = rng.choice(rows, 2, replace=False)
        if facts[i].identity != facts[j].identity:
            out.append((int(i), int(j)))
    return np.array([i for i, _ in out]), np.array([j for _, j in out])


def about_one(writer: Writer, rng: np.random.Generator, standing: Array, kinds: dict[str, float]) -> Row:
    """A question about one person, of one of several kinds."""
    kind = str(rng.choice(list(kinds), p=list(kinds.values())))
    return writer.refused(rng) if kind == "refused" else getattr(writer, kind)(rng, standing)


def about_pair(writer: Writer, rng: np.random.Generator, pool: Material, number: int) -> Row:
    """A question about two people."""
    left, right, who = pool.pair_left[number], pool.pair_right[number], pool.pair_shown[number]
    if rng.random() < 0.06:
        return writer.refused(rng)
    if who is None or rng.random() < 0.15:
        return writer.compared(rng, left, right)
    return writer.paired(rng, who, left, right)


def begin(model: Any, tokens: torch.Tensor) -> torch.Tensor:
    """Embeddings of what all questions about a picture share: the mark of the user's turn, and the picture."""
    mark = model.model.language_model.embed_tokens.weight[model.begin][None, None].expand(len(tokens), 1, -1)
    return torch.cat([mark, model.model.multi_modal_projector(tokens.float())], dim=1)


@torch.no_grad()
def start_projector(projector: Any, pool: Material) -> None:
    """Start the projector as a linear reading of planted `d` from the tower: by least squares, far from any zero."""
    rows = np.random.default_rng(0).permutation(len(pool.standing) - 1)[:8_000]
    seen_, standing = pool.tokens[rows].float().mean(dim=1), torch.tensor(pool.standing[rows], dtype=torch.float32)
    middle = seen_.mean(dim=0)
    x, y = seen_ - middle, standing - standing.mean(dim=0)
    read_out = torch.linalg.solve(x.T @ x + 10 * torch.eye(x.shape[1]), x.T @ y)
    traits, width = read_out.shape[1], projector.linear_2.weight.shape[0]
    turn = torch.linalg.qr(torch.randn(width, width))[0]
    projector.linear_1.weight[:traits] = read_out.T
    projector.linear_1.bias[:traits] = FAR - middle @ read_out
    projector.linear_2.weight.copy_(turn)
    projector.linear_2.bias.copy_(-FAR * turn[:, :traits].sum(dim=1))


class Lexicon:
    """Single words and what is planted about them.

    Parameters
    ----------
    writer:
        Knows the tokens.
    """

    def __init__(self, writer: Writer) -> None:
        terms = [(f" {term}", trait, side) for term, (trait, side) in TERMS.items()]
        terms += [(after, f"rated {name}", 1) for name, (_, after) in words.RATED.items()]
        single = [entry for entry in terms if len(writer.encode(entry[0])) == 1]
        self.ids = torch.tensor([writer.encode(text)[0] for text, _, _ in single])
        self._traits = np.array([DIMENSION[trait] for _, trait, _ in single])
        self._sides = np.array([side for _, _, side in single])

    def loss(self, model: Any, head: nn.Module, tokens: torch.Tensor, standing: Array) -> torch.Tensor:
        """Error of what the lower half of the decoder says of every word, each right after the picture."""
        language = model.model.language_model
        embedded = language.embed_tokens(self.ids)[None, :, None].expand(len(tokens), -1, -1, -1)
        hidden = decode(language, begin(model, tokens), embedded, layers=len(language.layers) // 2)
        wanted = torch.tensor(standing[:, self._traits] * self._sides, dtype=torch.float32)
        return functional.smooth_l1_loss(head(hidden)[..., 0, 0], wanted)

    @torch.no_grad()
    def left(self, model: Any, head: nn.Module, probe: "Probe") -> float:
        """The error that is left about people that were not trained on."""
        parts = np.array_split(np.arange(len(probe.tokens)), max(1, len(probe.tokens) // 32))
        losses = [float(self.loss(model, head, probe.tokens[rows], probe.standing[rows])) for rows in parts]
        return float(np.mean(losses))


def loss_of(model: Any, head: nn.Module, tokens: torch.Tensor, questions: int, rows: list[Row], pad: int) -> Any:
    """Cross entropy of the targets, and error of the regression, for pictures with as many questions each."""
    batch = {name: torch.from_numpy(value) for name, value in batched(rows, pad).items()}
    language = model.model.language_model
    ids = batch["ids"]
    embedded = language.embed_tokens(ids).view(len(tokens), questions, ids.shape[1], -1)
    middle: list[torch.Tensor] = []
    hidden = language.norm(decode(language, begin(model, tokens), embedded, middle)).flatten(0, 1)
    half = middle[0].flatten(0, 1)
    logs = functional.log_softmax(model.lm_head(hidden[batch["at"][:, 0], batch["at"][:, 1]]), dim=-1)
    weights = batch["weights"]
    chosen = logs[batch["target"], batch["token"]] * batch["probability"] * weights[batch["target"]]
    p = batch["probability"]
    entropy = -(p * p.clamp_min(1e-9).log() * weights[batch["target"]]).sum()
    said = (-chosen.sum() - entropy) / weights.sum()
    read_out = head(half[batch["spots"][:, 0], batch["spots"][:, 1]]).squeeze(-1)
    value = functional.smooth_l1_loss(read_out, batch["values"]) if len(read_out) else torch.zeros(())
    return said, value


@dataclass
class Probe:
    """Forced choices about people that were not trained on, with their planted probabilities."""

    tokens: torch.Tensor
    change: list[tuple[str, str] | None]
    person: npt.NDArray
    standing: Array
    planted: Array
    ids: torch.Tensor
    letters: torch.Tensor
    first: torch.Tensor

    @classmethod
    def of(
        cls, tower: nn.Module, shown: Portraits, truth: Truth, writer: Writer, orderings: tuple[int, ...]
    ) -> "Probe":
        """Prepare the probe: all scenarios, in some of the orderings."""
        who = people(shown)
        every = truth.standing(who)
        standing = every[:, [DIMENSION[name] for name in SCENARIOS]]
        ids, letters, first, planted = [], [], [], []
        for number in orderings:
            ordering = ORDERINGS[number]
            sign = 1 if ordering.first == 0 else -1
            lettered = LETTER if ordering.labels[0] == "(a)" else -LETTER
            p = 1 / (1 + np.exp(-(sign * standing + POSITION + lettered)))
            planted.append(p if sign > 0 else 1 - p)
            for poles in SCENARIOS.values():
                text = JUDGMENT.format(options=phrase(ordering.options(poles, ("+", "-"))))
                ids.append([*writer.prompt(text), writer.encode("(")[0]])
                letters.append([writer.encode(label[1])[0] for label in ordering.labels])
                first.append(sign)
        length = max(map(len, ids))
        ends = [len(row) - 1 for row in ids]
        padded = torch.tensor([row + [0] * (length - len(row)) for row in ids])
        names = list(dict.fromkeys(shown.facts["identity"]))
        return cls(
            seen(tower, torch.from_numpy(shown.pixels)),
            [one.change for one in who],
            np.array([names.index(name) for name in shown.facts["identity"]]),
            every,
            np.stack(planted, axis=1),
            torch.cat([padded, torch.tensor(ends)[:, None]], dim=1),
            torch.tensor(letters),
            torch.tensor(first),
        )

    @torch.no_grad()
    def learned(self, model: Any) -> Array:
        """Probability of the favourable pole, given (a) or (b); shape as `planted`: (pictures, orderings, scenarios)."""
        language = model.model.language_model
        ids, ends = self.ids[:, :-1], self.ids[:, -1]
        out = []
        for tokens in self.tokens.split(8):
            embedded = language.embed_tokens(ids)[None].expand(len(tokens), -1, -1, -1)
            hidden = decode(language, begin(model, tokens), embedded)[:, torch.arange(len(ids)), ends]
            logits = model.lm_head(language.norm(hidden))
            two = torch.stack([logits[:, torch.arange(len(ids)), self.letters[:, i]] for i in range(2)], dim=-1)
            p = two.softmax(dim=-1)[..., 0]
            out.append(torch.where(self.first > 0, p, 1 - p).double())
        return torch.cat(out).numpy().reshape(self.planted.shape)

    def effects(self, values: Array) -> Array:
        """Mean shift of each change from the same person's base, per scenario; shape (changes, scenarios)."""
        phi = values.mean(axis=1)
        bases = {int(who): phi[row] for row, who in enumerate(self.person) if self.change[row] is None}
        out = []
        for change in dict.fromkeys(c for c in self.change if c is not None):
            rows = [row for row, one in enumerate(self.change) if one == change]
            out.append(np.mean([phi[row] - bases[int(self.person[row])] for row in rows], axis=0))
        return np.array(out)

    def summary(self, model: Any) -> dict[str, float]:
        """How close learned probabilities and effects come to the planted ones."""
        learned = self.learned(model)
        own, planted = self.effects(learned).ravel(), self.effects(self.planted).ravel()
        none = planted == 0
        cold = [self.effects(sharpened(p, COLD)).ravel() for p in (learned, self.planted)]
        return {
            "r": float(np.corrcoef(learned.ravel(), self.planted.ravel())[0, 1]),
            "mae": float(np.abs(learned - self.planted).mean()),
            "r_effects": float(np.corrcoef(own, planted)[0, 1]),
            "slope": float(np.polyfit(planted, own, 1)[0]),
            "r_cold": float(np.corrcoef(*cold)[0, 1]),
            "slope_cold": float(np.polyfit(cold[1], cold[0], 1)[0]),
            "none_sd": float(own[none].std()) if none.any() else float("nan"),
        }


def sharpened(p: Array, temperature: float) -> Array:
    """Probabilities of one of two options at another temperature than 1."""
    with np.errstate(over="ignore"):
        return 1 / (1 + (1 / p - 1) ** (1 / temperature))


def first_people(shown: Portraits, count: int) -> Portraits:
    """The pictures of the first so many people of each gender."""
    names = list(dict.fromkeys(shown.facts["identity"]))
    males, females = [n for n in names if n.startswith("m")][:count], [n for n in names if n.startswith("f")][:count]
    rows = np.flatnonzero(shown.facts["identity"].is_in(males + females).to_numpy())
    return Portraits(shown.pixels[rows], shown.facts[rows])


def log(path: Path, row: dict[str, float]) -> None:
    """Add a line to a table of curves."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(row))
        if new:
            writer.writeheader()
        writer.writerow({name: round(value, 5) for name, value in row.items()})


def update(loss: torch.Tensor, optimiser: torch.optim.Optimizer, weights: list[Any], pace: float) -> None:
    """Take a step."""
    for group in optimiser.param_groups:
        group["lr"] = pace
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(weights, 1.0)
    optimiser.step()


def save(path: Path, parts: dict[str, Any], step: int) -> None:
    """Write a checkpoint."""
    part = path.with_suffix(".part")
    torch.save({name: value.state_dict() for name, value in parts.items()} | {"step": step}, part)
    part.replace(path)


def main() -> None:
    """Train projector and decoder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--words", type=int, default=1500, help="steps about single words")
    parser.add_argument("--steps", type=int, default=2500, help="steps about whole questions")
    parser.add_argument("--shards", type=int, default=6)
    parser.add_argument("--pairs", type=int, default=PAIR_POOL)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bias", type=float, default=1.0)
    parser.add_argument("--peak", type=float, default=2e-3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    truth = Truth(bias=arguments.bias)
    tokenizer = words.tokenizer()
    writer = Writer(tokenizer)
    token = tokenizer.token_to_id
    pad = token(words.PAD)
    config = configuration(tokenizer.get_vocab_size(), token(words.IMAGE), pad, token(words.END))
    model: Any = network(config, arguments.seed)
    model.begin = token(words.USER)
    tower = model.model.vision_tower
    tower.load_state_dict(torch.load(arguments.out / "look.pt", weights_only=True)["tower"])
    tower.requires_grad_(requires_grad=False)
    width = config.text_config.hidden_size
    head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 1))
    pool = material(tower, arguments.data, arguments.shards, truth, arguments.pairs)
    probe = Probe.of(tower, first_people(read(arguments.data, ["validation"]), 6), truth, writer, (0,))
    weights = [p for p in (*model.parameters(), *head.parameters()) if p.requires_grad]
    optimiser = torch.optim.AdamW(weights, lr=1e-3, weight_decay=0.02, betas=(0.9, 0.98))
    checkpoint, first = arguments.out / "teach.pt", 0
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(state["model"])
        head.load_state_dict(state["head"])
        optimiser.load_state_dict(state["optimiser"])
        first = state["step"]
    else:
        start_projector(model.model.multi_modal_projector, pool)
    lexicon = Lexicon(writer)
    begun, sums, judgments = time.monotonic(), np.zeros(5), 0
    state = {"model": model, "head": head, "optimiser": optimiser}
    for step in range(first, arguments.words):
        rng = np.random.default_rng([arguments.seed, 1, step])
        rows = rng.integers(len(pool.standing), size=PICTURES)
        loss = lexicon.loss(model, head, pool.tokens[rows], pool.standing[rows])
        update(loss, optimiser, weights, arguments.peak * min(1.0, (step + 1) / 60))
        sums[0] += float(loss.detach())
        if (step + 1) % 100 == 0 or step + 1 == arguments.words:
            row = {"step": step + 1, "seconds": round(time.monotonic() - begun), "value": sums[0] / (step % 100 + 1)}
            log(arguments.out / "words.csv", row | {"left": lexicon.left(model, head, probe)})
            sums[:] = 0
            save(checkpoint, state, step + 1)
    for step in range(max(0, first - arguments.words), arguments.steps):
        rng = np.random.default_rng([arguments.seed, 2, step])
        alone = rng.integers(len(pool.standing) - 1, size=PICTURES + LONG)
        alone[rng.random(len(alone)) < BLANK] = len(pool.standing) - 1
        short, long = alone[:PICTURES], alone[PICTURES:]
        rows = [about_one(writer, rng, pool.standing[i], KINDS) for i in short for _ in range(QUESTIONS)]
        said, value = loss_of(model, head, pool.tokens[short], QUESTIONS, rows, pad)
        rows = [about_one(writer, rng, pool.standing[i], LONG_KINDS) for i in long for _ in range(LONG_QUESTIONS)]
        long_said, _ = loss_of(model, head, pool.tokens[long], LONG_QUESTIONS, rows, pad)
        two = rng.integers(len(pool.pair_tokens), size=PAIRS)
        rows = [about_pair(writer, rng, pool, int(i)) for i in two for _ in range(PAIR_QUESTIONS)]
        pair_said, pair_value = loss_of(model, head, pool.pair_tokens[two], PAIR_QUESTIONS, rows, pad)
        loss = said + VALUE * value + 0.2 * long_said + 0.3 * (pair_said + VALUE * pair_value)
        update(loss, optimiser, weights, rate(step, arguments.steps, arguments.peak))
        sums += [float(x.detach()) for x in (said, value, long_said, pair_said, pair_value)]
        judgments += PICTURES * QUESTIONS + LONG * LONG_QUESTIONS + PAIRS * PAIR_QUESTIONS
        if (step + 1) % 100 == 0 or step + 1 == arguments.steps:
            mean = sums / (step % 100 + 1)
            row = {"step": step + 1, "seconds": round(time.monotonic() - begun), "judgments": judgments}
            row |= dict(
                zip(("excess", "value", "long_excess", "pair_excess", "pair_value"), mean.tolist(), strict=True)
            )
            log(arguments.out / "teach.csv", row | probe.summary(model))
            sums[:] = 0
            save(checkpoint, state, arguments.words + step + 1)


if __name__ == "__main__":
    main()
