"""Attention as it is computed, and its gradients, layer by layer.

Equations (Chefer, Gur and Wolf 2021, "Generic Attention-model Explainability for Interpreting Bi-Modal and
Encoder-Decoder Transformers", ICCV, eqs. 5 and 6, for self-attention alone), as LVLM-Interpret applies them to the
language model of a vision-language model (Ben Melech Stan et al. 2024), which VIGNETTE used (sections 7.3 and A.8):

    A'(l) = mean over heads of max(0, dy/dA(l) * A(l))          elementwise
    R(0) = I,   R(l) = R(l - 1) + A'(l) R(l - 1)

A(l) is layer l's attention, (heads, tokens, tokens); y the number that is explained. The relevancy of each token for
the answer is the row of R(L) at the answer's position. Only that row is wanted, and R(L) is the product of all
I + A'(l), the last layer first. So the row is carried down from the last layer to the first, in the order in which
gradients are computed: r <- r + r A'(l). No other matrix is kept.

In a model whose pictures are no part of the text (Llama-3.2-Vision), some layers look at them by cross-attention: A(l)
is (heads, tokens, tokens of the pictures), and these attend to nothing themselves. Equations 5 and 6 over both kinds of
tokens together then say that such a layer leaves the row as it is, and adds r A'(l) to what the pictures have. (The
equations' form for two kinds of tokens that attend to each other, eq. 10, normalises in between; here nothing is.)
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from facevalue.errors import ModelError
from facevalue.models.hf.loaded import Loaded

if TYPE_CHECKING:
    from torch import Tensor

Floats = npt.NDArray[np.float32]


class Watch:
    """Keeps the attention of modules during one forward pass, first layer first, and takes its gradients.

    Each module returns its output and its attention, (1, heads, tokens, tokens); those whose numbers are in `crossing`
    look at pictures by cross-attention, (1, heads, tokens, tokens of the pictures).
    """

    def __init__(self, modules: Sequence[Any], crossing: Collection[int] = ()) -> None:
        self._modules = modules
        self._crossing = crossing
        self._kept: list[Tensor] = []

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Watch what is computed within."""
        self._kept = []
        hooks = [module.register_forward_hook(self._keep) for module in self._modules]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def _keep(self, module: Any, inputs: object, output: Any) -> None:
        if output[1] is None:
            raise ModelError("The model doesn't say what it attends to: its attention cannot be computed step by step.")
        self._kept.append(output[1])

    def rows(self, position: int) -> Floats:
        """Return what one token attends to, shape (layers, heads, tokens); each row sums to 1.

        Where some layers look at pictures by cross-attention, these layers alone, and the pictures' tokens.
        """
        import torch  # noqa: PLC0415

        layers = [self._kept[layer] for layer in sorted(self._crossing)] or self._kept
        rows = [attention[0, :, position].detach().float().cpu() for attention in layers]
        stacked: Floats = torch.stack(rows).numpy()
        return stacked

    def relevancy(self, y: "Tensor", start: "Tensor", position: int) -> Floats:
        """Return how relevant each token is for a number y at a position: >= 0, (tokens,); see the module's text.

        `start` is what the first layer was given. Of itself the token has at least 1. Of the pictures' tokens alone
        where some layers look at them by cross-attention.
        """
        import torch  # noqa: PLC0415

        row = torch.zeros(self._kept[0].shape[-2], dtype=torch.float32, device=y.device)
        row[position] = 1.0
        attended = torch.zeros(1, dtype=torch.float32, device=y.device)
        seen: list[int] = []

        def step(layer: int, gradient: "Tensor") -> None:
            nonlocal row, attended
            seen.append(layer)
            attention = self._kept[layer][0].detach().float()
            change = (gradient[0].float() * attention).clamp(min=0).mean(dim=0)
            row = row.to(change.device)
            if layer in self._crossing:
                attended = attended.to(change.device) + row @ change
            else:
                row = row + row @ change

        hooks = [
            attention.register_hook(lambda gradient, layer=layer: step(layer, gradient))
            for layer, attention in enumerate(self._kept)
        ]
        try:
            torch.autograd.grad(y, start, retain_graph=True)
        finally:
            for hook in hooks:
                hook.remove()
        assert seen == list(range(len(self._kept)))[::-1], "gradients come from the last layer to the first"
        relevance: Floats = (attended if self._crossing else row).cpu().numpy()
        return relevance


@contextmanager
def watched(loaded: Loaded) -> "Iterator[tuple[Watch, list[Tensor]]]":
    """Have the language model compute its attention step by step, with gradients from its first layer on.

    The model's weights are taken out of all gradients for good. Yields what watches its layers, and a list whose last
    element is what the first layer was given last.
    """
    decoder = loaded.model.get_decoder()
    before = decoder.config._attn_implementation
    gradients: list[Tensor] = []

    def begin(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        embedded = kwargs.get("inputs_embeds")
        if embedded is None:  # the pictures are no part of the text, so it is embedded by the decoder itself
            embedded = decoder.embed_tokens(kwargs["input_ids"])
        gradients[:] = [embedded.detach().requires_grad_()]
        return args, kwargs | {"input_ids": None, "inputs_embeds": gradients[0]}

    loaded.model.requires_grad_(False)
    decoder.set_attn_implementation("eager")
    hook = decoder.register_forward_pre_hook(begin, with_kwargs=True)
    attentions = [getattr(layer, "self_attn", None) for layer in decoder.layers]
    crossing = {number for number, module in enumerate(attentions) if module is None}
    modules = [
        layer.cross_attn if module is None else module for layer, module in zip(decoder.layers, attentions, strict=True)
    ]
    try:
        yield Watch(modules, crossing), gradients
    finally:
        hook.remove()
        decoder.set_attn_implementation(before)
