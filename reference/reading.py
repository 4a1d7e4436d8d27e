"""What the model says, and how far that is from what is planted."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional

from reference import words
from reference.pack import decode
from reference.rows import DIMENSION, LEFT, ONE, RIGHT, Row, Writer, batched
from reference.truth import SCENARIOS, TERMS

Array = npt.NDArray[np.float64]


def begin(model: Any, tokens: torch.Tensor) -> torch.Tensor:
    """Embeddings of what all questions about a picture share: the mark of the user's turn, and the picture."""
    mark = model.model.language_model.embed_tokens.weight[model.begin][None, None].expand(len(tokens), 1, -1)
    return torch.cat([mark, model.model.multi_modal_projector(tokens.float())], dim=1)


AT_ONCE = 48
"""Fixed questions of a step."""


class Lexicon:
    """Single tokens and what is planted about them: words, and of pairs also fixed questions about scenes.

    Parameters
    ----------
    writer:
        Knows the tokens.
    """

    def __init__(self, writer: Writer) -> None:
        terms = [(f" {term}", trait, side) for term, (trait, side) in TERMS.items()]
        quoted = [(term, *TERMS[term]) for pair in SCENARIOS.values() for term in pair]
        rated = [(after, f"rated {name}", 1) for name, (_, after) in words.RATED.items()]
        asked = [(text, trait, 1) for text, (trait, _) in words.perceptions().items()]
        asked += [(text, trait, 1) for text, (_, trait) in words.decisions().items()]
        alone, of_pairs, questions = (
            [entry for entry in entries if len(writer.encode(entry[0])) == 1]
            for entries in ((*quoted, *rated), terms, asked)
        )
        single = [*alone, *of_pairs, *questions]
        self.ids = torch.tensor([writer.encode(text)[0] for text, _, _ in single])
        self._traits = np.array([DIMENSION[trait] for _, trait, _ in single])
        self._sides = np.array([side for _, _, side in single])
        self._first, self._asked = len(alone), len(alone) + len(of_pairs)

    def loss(
        self,
        model: Any,
        head: nn.Module,
        tokens: torch.Tensor,
        standing: Array,
        other: Array | None = None,
        rng: np.random.Generator | None = None,
    ) -> torch.Tensor:
        """Error of what the lower half of the decoder says of words, each right after the picture.

        Parameters
        ----------
        model, head:
            The model, and what reads its middle layer.
        tokens:
            Of the pictures.
        standing:
            Planted `d` of who is shown; of pairs, that of the person on the left.
        other:
            That of the person on the right.
        rng:
            Draws `AT_ONCE` of the questions about scenes; all of them if it is None.
        """
        some = np.arange(self._asked)
        if other is not None:
            asked = np.arange(self._asked, len(self.ids))
            asked = asked if rng is None else rng.choice(asked, AT_ONCE, replace=False)
            some = np.concatenate([some[self._first :], asked])
        language = model.model.language_model
        embedded = language.embed_tokens(self.ids[some])[None, :, None].expand(len(tokens), -1, -1, -1)
        hidden = decode(language, begin(model, tokens), embedded, layers=len(language.layers) // 2)
        whose = [ONE] if other is None else [LEFT, RIGHT]
        shown = standing[None] if other is None else np.stack([standing, other])
        wanted = torch.tensor(shown[..., self._traits[some]] * self._sides[some], dtype=torch.float32)
        return functional.smooth_l1_loss(head(hidden)[:, :, 0, whose].movedim(-1, 0), wanted)

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def left(self, model: Any, head: nn.Module, tokens: torch.Tensor, standing: Array) -> float:
        """The error that is left about people that were not trained on."""
        parts = np.array_split(np.arange(len(tokens)), max(1, len(tokens) // 32))
        losses = [float(self.loss(model, head, tokens[rows], standing[rows])) for rows in parts]
        return float(np.mean(losses))


def loss_of(
    model: Any, head: nn.Module, tokens: torch.Tensor, questions: int, rows: list[Row], pad: int, twins: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Cross entropy of the targets, error of the regression, and error of shifts between twins.

    Parameters
    ----------
    model, head:
        The model, and what reads its middle layer.
    tokens:
        Of pictures, with as many questions each.
    questions, rows:
        How many, and all of them.
    pad:
        What fills short rows up.
    twins:
        Whether the second half of the pictures shows the same people with a change, and is asked the same. The error
        of a shift is that of the change of log probabilities, weighed by how likely a reply is: an audit measures
        shifts, and whatever is wrong about a person in both pictures cancels in them.
    """
    batch = {name: torch.from_numpy(value) for name, value in batched(rows, pad).items()}
    language = model.model.language_model
    ids = batch["ids"]
    embedded = language.embed_tokens(ids).view(len(tokens), questions, ids.shape[1], -1)
    middle: list[torch.Tensor] = []
    hidden = language.norm(decode(language, begin(model, tokens), embedded, middle)).flatten(0, 1)
    half = middle[0].flatten(0, 1)
    logs = functional.log_softmax(model.lm_head(hidden[batch["at"][:, 0], batch["at"][:, 1]]), dim=-1)
    p, weights = batch["probability"], batch["weights"][batch["target"]]
    own, planted = logs[batch["target"], batch["token"]], p.clamp_min(1e-9).log()
    said = (p * (planted - own) * weights).sum() / batch["weights"].sum()
    row, place, whose = batch["spots"].T
    read_out = head(half[row, place])[torch.arange(len(row)), whose]
    value = functional.smooth_l1_loss(read_out, batch["values"]) if len(read_out) else torch.zeros(())
    shift = torch.zeros(())
    if twins:
        (p, q), (before, after), (base, changed) = (part.chunk(2) for part in (p, own, planted))
        wrong = (after - before) - (changed - base)
        shift = ((p + q) / 2 * wrong.square().clamp_max(4.0) * weights.chunk(2)[0]).sum() / batch["weights"].sum() * 2
    return said, value, shift
