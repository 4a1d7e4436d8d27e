"""Sampling of the next token: from logits to a distribution, and a draw."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from facevalue.types import Sampling

if TYPE_CHECKING:
    from torch import Tensor

_LIKELIEST = 256
"""Tokens among which a nucleus is looked for first."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def distribution(logits: "Tensor", sampling: Sampling) -> "Tensor":
    r"""Return how likely each token is to be drawn: float32, (n, vocabulary), as the logits.

    .. math:: q(t) \propto p(t)\,[t \in N], \qquad p(t) = \frac{e^{z_t / T}}{\sum_s e^{z_s / T}},

    where the nucleus :math:`N` holds the likeliest tokens up to the one with which their mass reaches `top_p` (Holtzman
    et al., 2020, "The Curious Case of Neural Text Degeneration"); of equally likely ones the lower id goes first.
    `T = 0` takes the likeliest token. The whole vocabulary counts, and nothing else is applied.
    """
    import torch  # noqa: PLC0415

    if sampling.temperature == 0:
        best = torch.zeros_like(logits)
        return best.scatter_(1, logits.argmax(dim=1, keepdim=True), 1.0)
    shares = torch.softmax(logits / sampling.temperature, dim=1)
    if sampling.top_p >= 1:
        return shares
    last, size = _edge(shares, sampling.top_p)
    inside, tied = shares > last, shares == last
    room = size - inside.sum(dim=1, keepdim=True)
    if (tied.sum(dim=1, keepdim=True) > room).any():
        tied &= tied.cumsum(dim=1) <= room
    nucleus = torch.where(inside | tied, shares, torch.zeros_like(shares))
    return nucleus / nucleus.sum(dim=1, keepdim=True)


def _edge(shares: "Tensor", top_p: float) -> "tuple[Tensor, Tensor]":
    """Return the least share in each row's nucleus, and how many tokens the nucleus has: (n, 1) each.

    It mostly lies among few tokens, which are found many times faster than all are sorted.
    """

    def among(ordered: "Tensor") -> "tuple[Tensor, Tensor]":
        wide = ordered.double()
        size = (wide.cumsum(dim=1) - wide < top_p).sum(dim=1, keepdim=True)
        return ordered.gather(1, size - 1), size

    candidates = min(_LIKELIEST, shares.shape[1])
    last, size = among(shares.topk(candidates, dim=1).values)
    wider = (size[:, 0] == candidates).nonzero()[:, 0]
    if candidates < shares.shape[1] and wider.numel():
        last[wider], size[wider] = among(_descending(shares[wider]))
    return last, size


def _descending(shares: "Tensor") -> "Tensor":
    """Rows in descending order; NumPy sorts numbers alone some twenty times faster than torch with their places."""
    import torch  # noqa: PLC0415

    if shares.device.type != "cpu":
        return shares.sort(dim=1, descending=True).values
    return torch.from_numpy(np.sort(shares.numpy(), axis=1)).flip(1)


def log_probabilities(
    logits: "Tensor", rows: Sequence[int] | Ints, tokens: Sequence[int] | Ints, normal: "Tensor | None" = None
) -> Floats:
    """Return the natural-log probabilities of tokens at temperature 1, in double precision, one for each row.

    `normal` is `logits.logsumexp(dim=1)` where it is known.
    """
    import torch  # noqa: PLC0415

    normal = logits.logsumexp(dim=1) if normal is None else normal
    row = torch.as_tensor(np.asarray(rows, dtype=np.int64), device=logits.device)
    token = torch.as_tensor(np.asarray(tokens, dtype=np.int64), device=logits.device)
    values: Floats = (logits[row, token] - normal[row]).double().cpu().numpy()
    return values


def uniforms(seed: int, count: int) -> Floats:
    """Return numbers in [0, 1) for the tokens of one reply; they depend on its seed, 0 to 2**64 - 1, alone."""
    return np.random.Generator(np.random.Philox(key=seed)).random(count)


def pick(shares: "Tensor", uniform: Floats) -> "Tensor":
    """Draw a token from each row: the first at which the summed probabilities exceed the uniform number.

    A row may sum to a little more or less than 1. Never a token of probability 0.
    """
    import torch  # noqa: PLC0415

    summed = shares.double().cumsum(dim=1)
    aim = torch.as_tensor(uniform, dtype=torch.float64, device=shares.device)[:, None] * summed[:, -1:]
    place = torch.searchsorted(summed, aim, right=True)[:, 0]
    return place.clamp(max=shares.shape[1] - 1)
