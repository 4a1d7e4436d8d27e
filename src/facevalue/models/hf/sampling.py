"""Replies drawn token by token, many at once, as a tree that grows from the prompts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from facevalue.models.hf.constraints import Constraint
from facevalue.models.hf.decoding import Decoding
from facevalue.models.hf.resumption import Path
from facevalue.models.hf.scoring import Evidence, Tokens
from facevalue.models.hf.token_sampling import distribution, log_probabilities, pick, uniforms
from facevalue.types import Sampling

if TYPE_CHECKING:
    from torch import Tensor

_ROWS = 64
"""Replies whose distributions are computed at once: each is as long as the vocabulary, in double precision."""


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """One reply to be drawn for a member of a group; several draws may answer one, and share its tokens.

    Tokens that the `constraint`, not begun yet, forbids are taken out before temperature and nucleus, as
    `facevalue.models.hf.constraints` weighs them.
    """

    member: int
    sampling: Sampling
    seed: int
    constraint: Constraint | None = None


@dataclass(slots=True, eq=False)
class Drawn:
    """A reply while it is drawn, and when it is done.

    `tokens` and their `logprobs` (natural logs at temperature 1, unconstrained) don't have the one that ended it;
    `count` does. It `ended` by itself, as opposed to the token limit.
    """

    draw: Draw
    uniforms: npt.NDArray[np.float64]
    tokens: Tokens = ()
    logprobs: list[float] = field(default_factory=list)
    count: int = 0
    ended: bool = False

    @classmethod
    def from_draw(cls, draw: Draw) -> Self:
        """Return a reply without tokens."""
        return cls(draw, uniforms(draw.seed, draw.sampling.max_tokens))

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Log-probability that the model gave each token."""
        return tuple(Evidence(self.tokens[:n], self.tokens[n], log) for n, log in enumerate(self.logprobs))

    @property
    def path(self) -> Path:
        """Path to the current end of the reply."""
        return self.draw.member, self.tokens

    @property
    def is_finished(self) -> bool:
        """True if no further token is drawn."""
        return self.ended or self.count >= self.draw.sampling.max_tokens


def draw_pack(decoding: Decoding, pack: Sequence[Draw], stops: frozenset[int]) -> list[Drawn]:
    """Draw replies to questions of one group, all of them one token further at a time.

    Replies to one question that have begun alike share what they have in common. Each has random numbers of its own, so
    that it doesn't depend on the others; where two tokens are about equally likely, the rounding of another pack can
    still tip the scales.
    """
    replies = [Drawn.from_draw(draw) for draw in pack]
    going = replies
    while going:
        paths = list(dict.fromkeys(reply.path for reply in going))
        rows = {path: row for row, path in enumerate(paths)}
        logits = decoding.read(paths)
        extend(going, logits, [rows[reply.path] for reply in going], stops)
        going = [reply for reply in going if not reply.is_finished]
    return replies


def extend(replies: Sequence[Drawn], logits: "Tensor", rows: Sequence[int], stops: frozenset[int]) -> None:
    """Draw the next token of each reply from its row of the logits, of which several may have the same."""
    for first in range(0, len(replies), _ROWS):
        some = slice(first, first + _ROWS)
        _extend(replies[some], logits[list(rows[some])], stops)


def _extend(replies: Sequence[Drawn], logits: "Tensor", stops: frozenset[int]) -> None:
    """Draw the next token of each reply from its row of the logits."""
    tokens = np.zeros(len(replies), dtype=np.int64)
    groups: dict[Sampling, list[int]] = {}
    for at, reply in enumerate(replies):
        groups.setdefault(reply.draw.sampling, []).append(at)
    for sampling, members in groups.items():
        constrained_logits = _constrain_logits(logits[members], [replies[at] for at in members])
        uniform = np.array([replies[at].uniforms[replies[at].count] for at in members])
        tokens[members] = pick(distribution(constrained_logits, sampling), uniform).cpu().numpy()
    logs = log_probabilities(logits, range(len(replies)), tokens)
    for reply, token, log in zip(replies, tokens.tolist(), logs.tolist(), strict=True):
        reply.count += 1
        if token in stops:
            reply.ended = True
            continue
        reply.tokens = (*reply.tokens, token)
        reply.logprobs.append(log)
        if reply.draw.constraint is not None:
            reply.draw.constraint.take(token)
            reply.ended = reply.draw.constraint.complete


def _constrain_logits(logits: "Tensor", replies: Sequence[Drawn]) -> "Tensor":
    """Return the logits, minus infinity where a reply may not go on; a row of its own for each reply."""
    import torch  # noqa: PLC0415

    for at, reply in enumerate(replies):
        if reply.draw.constraint is not None:
            allowed = torch.as_tensor(reply.draw.constraint.allowed_tokens(), device=logits.device)
            logits[at] = logits[at].masked_fill(~allowed, -torch.inf)
    return logits
