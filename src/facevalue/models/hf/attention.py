"""Attention over a picture when a model answers, and relevance of its parts for each option.

After VIGNETTE (sections 7.3 and A.8), which shows the mean attention between the picture and the answer, its average by
head, and a relevancy map, all made by LVLM-Interpret. See `facevalue.models.hf.attention` for the equations. Where the
paper is silent:

- *The answer* is one position: the last token before the options part. That is the last token of the prompt, or, where
  all options begin alike, as "(a)" and "(b)" do, the last token that they have in common, after the prompt. What the
  model computes there decides which option is said.
- *The number that is explained* is the log-odds of the option's next token where the option parts from every other one:
  log p / (1 - p). Its gradient is that of the probability p, divided by p (1 - p), so that it doesn't vanish where the
  model is sure. (LVLM-Interpret takes the token's logit, which also rises where all logits do.)
- *Relevancy* is followed through the language model, down to the tokens of the picture; not into the vision model.

A map shows where a model looked, or which attention moved a number. Neither explains why it answered as it did: what
looks important may be replaced without a change of the answer (Jain and Wallace 2019, "Attention is not Explanation").

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

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from facevalue.errors import DataError, ModelError
from facevalue.models.hf.calls import calling
from facevalue.models.hf.chat import prepare
from facevalue.models.hf.loading import Loaded
from facevalue.models.hf.options import tokenise_options
from facevalue.models.hf.packing import OutOfMemory, attempt
from facevalue.models.hf.reference_pass import extend_inputs, plain_logits
from facevalue.models.hf.regions import Regions, check_known, regions
from facevalue.models.hf.vocabulary import TokenVocabulary
from facevalue.types import Option, Question

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import Tensor


# Attention as it is computed, and its gradients, layer by layer.


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

    def rows(self, position: int, *, of_text: bool = False) -> Floats:
        """Return what one token attends to, shape (layers, heads, tokens); each row sums to 1.

        Where some layers look at pictures by cross-attention, these layers alone, and the pictures' tokens; with
        `of_text` the others.
        """
        import torch  # noqa: PLC0415

        crossing = self._crossing or range(0 if of_text else len(self._kept))
        layers = [attention for layer, attention in enumerate(self._kept) if (layer in crossing) != of_text]
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
def watch_attention(loaded: Loaded) -> "Iterator[tuple[Watch, list[Tensor]]]":
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


Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Relevance:
    """One option of a question.

    `probability`: that a reply begins with the option as it is written, over all of its tokens, at temperature 1.
    `relevancy`: of each token of the pictures for the option, >= 0; shape (tokens,).
    """

    label: str
    probability: float
    relevancy: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Attended:
    """Attention of the model while it answered a question.

    `attention`: of the answer's position to each token of the pictures, shape (layers, heads, tokens). Over all tokens
    of the prompt, each layer's and head's sums to 1. Where pictures are looked at by cross-attention
    (`Regions.crossing`), of the layers that do; these look at nothing else. `after`: what stands between the prompt and
    the answer's position, which all options begin with. Often nothing. `words`: share of each head's attention that
    each word of the prompt gets, shape (layers, heads); NaN where the prompt has not the word. Where pictures are
    looked at by cross-attention, of the layers that look at the text.
    """

    regions: Regions
    attention: Floats
    after: str
    options: tuple[Relevance, ...]
    words: Mapping[str, Floats]

    @property
    def mean(self) -> Floats:
        """Mean over layers and heads, shape (tokens,); sums to the share of all attention that the pictures get."""
        mean: Floats = self.attention.mean(axis=(0, 1))
        return mean

    @property
    def by_layer(self) -> Floats:
        """Mean over the heads of each layer, shape (layers, tokens)."""
        mean: Floats = self.attention.mean(axis=1)
        return mean

    @property
    def by_head(self) -> Floats:
        """Share of each head's attention that the pictures get, shape (layers, heads)."""
        share: Floats = self.attention.sum(axis=2)
        return share


@dataclass(frozen=True, slots=True)
class PictureHalves:
    """Shares of the left and the right person of a pair; they sum to 1, or are NaN if there is nothing to share out.

    `even_left` and `even_right` are what these would be if every token that stands for a part of a picture had the
    same.
    """

    left: float
    right: float
    even_left: float
    even_right: float


def sides(values: npt.ArrayLike, regions: Regions, pictures: int = 1) -> PictureHalves:
    """Share out what each token has, >= 0, shape (tokens,), between the people of a pair.

    Of a composed picture each person has one half; a token across the middle counts for both sides by area. Of two
    pictures the first counts as left. Tokens that stand for no part of a picture don't count.

    >>> boxes = np.array([[0, 0, 0.5, 1], [0.25, 0, 0.75, 1], [0.75, 0, 1, 1], [np.nan] * 4])
    >>> shown = Regions(np.arange(4), np.zeros(4, dtype=np.int64), boxes)
    >>> sides([1, 2, 1, 96], shown)
    PictureHalves(left=0.5, right=0.5, even_left=0.5, even_right=0.5)
    """
    placed = regions.is_of_picture
    weights = np.asarray(values, dtype=np.float64)[placed]
    if pictures == 1:
        left, right = regions.boxes[placed, 0], regions.boxes[placed, 2]
        left_share = np.clip((0.5 - left) / (right - left), 0.0, 1.0)
    else:
        left_share = (regions.picture[placed] == 0).astype(np.float64)
    total = float(weights.sum())
    share = float(weights @ left_share) / total if total > 0 else float("nan")
    even = float(left_share.mean())
    return PictureHalves(share, 1 - share, even, 1 - even)


def find_word(word: str, prompt: str) -> Iterator[re.Match[str]]:
    """Find a word, or several in a row, in a prompt: whole, and in any case.

    >>> [match.span() for match in find_word("man", "A woman? Man, a man.")]
    [(9, 12), (16, 19)]
    """
    return re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", prompt, re.IGNORECASE)


def word_tokens(word: str, prompt: str, pieces: Sequence[bytes]) -> list[int]:
    """Return the tokens of a word wherever it stands in a prompt, by what each token of the whole input adds.

    A token that also holds what stands beside the word, such as the blank before it, is one of them.

    >>> word_tokens("man", "A man or a woman, man?", [b"user: ", b"A", b" ma", b"n", b" or a", b" woman,", b" man?"])
    [2, 3, 6]
    """
    start = b"".join(pieces).rfind(prompt.encode())
    if start < 0:
        raise ModelError(
            "The model's tokens do not spell the prompt as it is written, so that none is known as a word's."
        )
    ends = np.cumsum([len(piece) for piece in pieces])
    begins = ends - [len(piece) for piece in pieces]
    places = np.zeros(len(pieces), dtype=np.bool_)
    for match in find_word(word, prompt):
        first, last = (start + len(prompt[:end].encode()) for end in match.span())
        places |= (begins < last) & (ends > first)
    return np.flatnonzero(places).tolist()


class AttentionReader:
    """Reader of the model's attention, one question at a time; gradients leave out the model's weights."""

    def __init__(self, loaded: Loaded) -> None:
        check_known(loaded)
        self._loaded = loaded
        size = int(loaded.model.get_output_embeddings().weight.shape[0])
        self._vocabulary = TokenVocabulary.from_tokenizer(loaded.tokenizer, size, loaded.stop_ids)

    def read_attention(self, images: "Sequence[Image]", question: Question, words: Sequence[str] = ()) -> Attended:
        """Answer a question about one or more pictures, and say what was attended to; also how far to some words."""
        if not images:
            raise DataError("No picture is shown with this question, so there is nothing to look at.")
        if len(question.options) < 2:
            raise DataError("This question has no options, so no choice can be explained by what was looked at.")
        (group,) = prepare(self._loaded, images, [question])
        ways = tokenise_options(question.options, self._loaded.tokenizer, self._vocabulary)
        if reason := group.excess(0, max(len(way) for spelled in ways for way in spelled), self._loaded.context):
            raise DataError(f"{reason}.")
        inputs, sizes = group.full(0), [image.size for image in images]
        piece_of_token = dict(enumerate(self._vocabulary.pieces))
        pieces = [piece_of_token.get(token) or b"" for token in inputs["input_ids"][0].tolist()]
        places = {word: word_tokens(word, question.prompt.strip(), pieces) for word in words}

        def work(ways: list[list[Tokens]]) -> Attended:
            return self._read(inputs, sizes, question.options, self._manner(inputs, ways), places)

        maps = attempt(work, ways)
        if isinstance(maps, OutOfMemory):
            raise ModelError(
                f"The attention of {inputs['input_ids'].shape[1]:,} tokens, all layers and heads of it, doesn't fit "
                "into memory: use a machine with more, smaller pictures, or a smaller model."
            )
        return maps

    def _manner(self, inputs: "Mapping[str, Tensor]", ways: list[list[Tokens]]) -> list[Tokens]:
        """Return the likelier of the two ways to write all options: with or without a blank before them."""
        manners = [[way[min(manner, len(way) - 1)] for way in ways] for manner in (0, 1)]
        shares = plain_logits(self._loaded, inputs, [], [0])[0].softmax(-1)
        mass = [sum(float(shares[token]) for token in {way[0] for way in manner}) for manner in manners]
        return manners[int(mass[1] > mass[0])]

    def _read(
        self,
        inputs: "Mapping[str, Tensor]",
        sizes: list[tuple[int, int]],
        options: Sequence[Option],
        spoken: list[Tokens],
        places: Mapping[str, list[int]],
    ) -> Attended:
        picture_regions = regions(self._loaded, inputs, sizes)
        end = int(inputs["input_ids"].shape[1]) - 1
        alike = min(_common(spoken[0], tokens) for tokens in spoken[1:])
        attention: Floats | None = None
        gradients, word_shares = [], {}
        with watch_attention(self._loaded) as (watch, passes):
            for number, option in enumerate(options):
                logits = self._run(watch, inputs, spoken[number])
                if attention is None:
                    attention = self._picture_attention(watch.rows(end + alike), picture_regions)
                    rows = watch.rows(end + alike, of_text=True)
                    word_shares = {
                        word: rows[:, :, tokens].sum(axis=2) if tokens else np.full(rows.shape[:2], np.nan, rows.dtype)
                        for word, tokens in places.items()
                    }
                shared, own_tokens, others = _parting(number, spoken, option)
                odds = _log_odds(logits[shared], own_tokens, others)
                row = watch.relevancy(odds, passes[-1], end + shared)
                logs = logits.detach().log_softmax(-1)
                total = float(sum(logs[place, token] for place, token in enumerate(spoken[number])))
                gradients.append(
                    Relevance(option.label or option.text, float(np.exp(total)), row[picture_regions.positions])
                )
        assert attention is not None
        after = self._loaded.tokenizer.decode(spoken[0][:alike]) if alike else ""
        return Attended(picture_regions, attention, after, tuple(gradients), word_shares)

    def _picture_attention(self, rows: Floats, regions: Regions) -> Floats:
        """Attention of a position to the tokens of pictures."""
        if regions.crossing and rows.shape[2] != regions.positions.size:
            raise ModelError(
                f"{self._loaded.name} was expected to look at {regions.positions.size:,} tokens of its pictures, "
                f"and looks at {rows.shape[2]:,}: it is set in a way that is not known here."
            )
        of_pictures: Floats = rows[:, :, regions.positions]
        return of_pictures

    def _run(self, watch: Watch, inputs: "Mapping[str, Tensor]", reply: Tokens) -> "Tensor":
        """Return the logits of what follows the prompt and each token of a reply, (len(reply) + 1, vocabulary)."""
        import torch  # noqa: PLC0415

        with watch(), torch.enable_grad(), calling():
            out = self._loaded.model(**extend_inputs(inputs, reply), use_cache=False, logits_to_keep=len(reply) + 1)
            logits: Tensor = out.logits[0].float()
        return logits


def _common(first: Tokens, second: Tokens) -> int:
    """Return how many tokens two options begin with alike."""
    return next(
        (n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )


def _parting(number: int, spoken: Sequence[Tokens], option: Option) -> tuple[int, Tokens, Tokens]:
    """Return after how many tokens an option parts from every other, and by which token.

    That token is empty if the option is written to its end and only others go on; the third value is by which tokens.
    """
    option_tokens = spoken[number]
    shared = [_common(option_tokens, tokens) for at, tokens in enumerate(spoken) if at != number]
    common = max(shared)
    others = {
        tokens[common]
        for at, tokens in enumerate(spoken)
        if at != number and _common(option_tokens, tokens) == common < len(tokens)
    }
    if common == len(option_tokens) and not others:
        raise DataError(f"The option {(option.label or option.text)!r} is written like another one.")
    return common, option_tokens[common : common + 1], tuple(sorted(others))


def _log_odds(logits: "Tensor", own_tokens: Tokens, others: Tokens) -> "Tensor":
    """Return log p / (1 - p), p the probability of an option's next token, or that no other option goes on."""
    import torch  # noqa: PLC0415

    chosen = torch.zeros(logits.shape[-1], dtype=torch.bool, device=logits.device)
    chosen[list(own_tokens or others)] = True
    odds = logits[chosen].logsumexp(-1) - logits[~chosen].logsumexp(-1)
    return odds if own_tokens else -odds
