"""All forced choices of StylisticBias as the model is asked them, up to the letter: what it says, and should."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from facevalue.models.reference.truth import LETTER, POSITION
from facevalue.prompts import ORDERINGS
from facevalue.protocol.replies import phrase_options
from facevalue.studies.stylisticbias.tables import JUDGMENT
from reference.pack import decode
from reference.reading import begin
from reference.rows import DIMENSION, Writer
from reference.truth import SCENARIOS

Array = npt.NDArray[np.float64]
COLD = 0.2
"""Temperature at which StylisticBias samples."""
TRAITS = [DIMENSION[name] for name in SCENARIOS]
"""Where the scenarios stand among all traits."""


@dataclass(frozen=True)
class Choices:
    """The scenarios in one of the four orderings.

    Attributes
    ----------
    ids, ends:
        Tokens of each prompt and of its reply up to the bracket, filled up at the end, and where each ends.
    favourable, other:
        Tokens of the letters of the two poles.
    leaning:
        What is planted about the favourable pole's place and letter, on the logit scale.
    """

    ids: torch.Tensor
    ends: torch.Tensor
    favourable: int
    other: int
    leaning: float

    @classmethod
    def of(cls, writer: Writer, number: int) -> "Choices":
        """Prepare the choices in an ordering."""
        ordering = ORDERINGS[number]
        asked = [
            JUDGMENT.format(options=phrase_options(ordering.options(poles, ("+", "-")))) for poles in SCENARIOS.values()
        ]
        rows = [[*writer.prompt(text), writer.encode("(")[0]] for text in asked]
        length = max(map(len, rows))
        letters = [writer.encode(label[1])[0] for label in ordering.labels]
        side = 1 if ordering.first == 0 else -1
        lettered = LETTER if ordering.labels[0] == "(a)" else -LETTER
        return cls(
            torch.tensor([row + [0] * (length - len(row)) for row in rows]),
            torch.tensor([len(row) - 1 for row in rows]),
            letters[ordering.first],
            letters[1 - ordering.first],
            side * (POSITION + lettered),
        )

    def learned(self, model: Any, tokens: torch.Tensor) -> torch.Tensor:
        """Logits of the favourable pole against the other, shape (pictures, scenarios), for pictures' tokens."""
        language = model.model.language_model
        embedded = language.embed_tokens(self.ids)[None].expand(len(tokens), -1, -1, -1)
        hidden = decode(language, begin(model, tokens), embedded)[:, torch.arange(len(self.ids)), self.ends]
        logits = model.lm_head(language.norm(hidden))
        return logits[..., self.favourable] - logits[..., self.other]

    def planted(self, standing: Array) -> Array:
        """What they should be for people with these `d`, shape (people, traits)."""
        return standing[:, TRAITS] + self.leaning
