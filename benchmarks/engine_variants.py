"""Four ways to have a model answer many questions about one picture, and whether they agree."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import transformers as tf
from PIL import Image

from benchmarks.engine_models import spelt
from benchmarks.engine_prompts import HELD, SAMPLING
from facevalue.models.hf.chat import Group
from facevalue.models.hf.check import Schedule
from facevalue.models.hf.engine import Engine
from facevalue.models.hf.loading import Loaded
from facevalue.models.hf.reference_pass import plain_logits
from facevalue.models.hf.scoring import OptionScore
from facevalue.models.hf.trial import Trials
from facevalue.types import Question

BATCH = 8

Rows = list[torch.Tensor]
"""Logits of what follows the prompt, and of what follows each further token of the reply, as long as it was led."""


def lead(loaded: Loaded, question: Question) -> list[int]:
    """Return the reply that a model is led to: the first option and the token that ends a reply."""
    return [*spelt(loaded, question.options[0]), loaded.tokenizer.eos_token_id]


def inner(loaded: Loaded, question: Question) -> int:
    """Count the places after the prompt's end that must be read to weigh each option as it is written."""
    spellings = [spelt(loaded, option) for option in question.options]
    return len({tuple(ids[:n]) for ids in spellings for n in range(1, len(ids))})


def _text(loaded: Loaded, question: Question) -> str:
    content = [{"type": "image"}, {"type": "text", "text": question.prompt}]
    conversation = [{"role": "user", "content": content}]
    text: str = loaded.tokenizer.apply_chat_template(conversation, add_generation_prompt=True, tokenize=False)
    return text


def _inputs(loaded: Loaded, picture: Image.Image, asked: Sequence[Question]) -> Any:
    texts = [_text(loaded, question) for question in asked]
    loaded.tokenizer.padding_side = "left"
    made = loaded.processor(
        text=texts,
        images=[[picture]] * len(asked),
        padding=True,
        return_tensors="pt",
        add_special_tokens=False,  # the templates open with what there is to open with
    )
    return made.to(loaded.device, loaded.dtype)


class _Led(tf.LogitsProcessor):  # type: ignore[misc]
    """Has each row say what it is led to, so that all variants generate the same tokens and stop at the same place."""

    def __init__(self, leads: Sequence[Sequence[int]]) -> None:
        self._leads = leads
        self._step = 0

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        wanted = [each[min(self._step, len(each) - 1)] for each in self._leads]
        self._step += 1
        only = torch.full_like(scores, -torch.inf)
        only[torch.arange(len(wanted)), wanted] = 0
        return only


def generated(loaded: Loaded, picture: Image.Image, asked: Sequence[Question]) -> list[Rows]:
    """Call the processor and `generate` once for all questions, padded on the left."""
    leads = [lead(loaded, question) for question in asked]
    with torch.inference_mode():
        out = loaded.model.generate(
            **_inputs(loaded, picture, asked),
            do_sample=False,
            max_new_tokens=max(map(len, leads)),
            eos_token_id=loaded.tokenizer.eos_token_id,
            pad_token_id=loaded.tokenizer.pad_token_id,
            logits_processor=tf.LogitsProcessorList([_Led(leads)]),
            return_dict_in_generate=True,
            output_logits=True,
        )
    return [[step[row] for step in out.logits[: len(each) - 1]] for row, each in enumerate(leads)]


def naive(loaded: Loaded, picture: Image.Image, asked: Sequence[Question]) -> list[Rows]:
    """Call the processor and `generate` for each question."""
    return [generated(loaded, picture, [question])[0] for question in asked]


def batched(loaded: Loaded, picture: Image.Image, asked: Sequence[Question]) -> list[Rows]:
    """Call the processor and `generate` for eight questions at a time."""
    parts = [asked[start : start + BATCH] for start in range(0, len(asked), BATCH)]
    return [rows for part in parts for rows in generated(loaded, picture, part)]


def forward(loaded: Loaded, picture: Image.Image, asked: Sequence[Question]) -> list[Rows]:
    """Call the processor and the model once for each question, its reply given with it."""
    out = []
    for question in asked:
        reply = lead(loaded, question)[:-2]  # neither the last token of the option nor the end is looked past
        inputs = _inputs(loaded, picture, [question])
        out.append(list(plain_logits(loaded, inputs, reply, range(len(reply) + 1))))
    return out


class Shared:
    """The engine, as `hf/...` uses it: the picture and all questions about it in one call.

    Its self-check, a plain forward pass for one question about some pictures (the first 8, then one in 50 at least), is
    kept out of what is timed by `settle`.
    """

    def __init__(self, loaded: Loaded) -> None:
        self.engine = Engine(loaded)
        self._pictures = 0

    def settle(self, picture: Image.Image, question: Question, study: str) -> None:
        """Have the next call be no stimulus that is checked."""
        while Schedule(self._pictures + 1).draw([0]) is not None:
            self(picture, [question], study)

    def __call__(self, picture: Image.Image, asked: Sequence[Question], study: str) -> list[OptionScore]:
        """Weigh the options of all questions, of replies that are held to them where the study's command does so."""
        self._pictures += 1
        scores: dict[int, OptionScore] = {}
        for number, score, _ in self.engine.score([picture], asked, SAMPLING[study], study in HELD):
            if not isinstance(score, OptionScore):
                raise RuntimeError(f"question {number}: {score.reason}")
            scores[number] = score
        return [scores[number] for number in range(len(asked))]


class _Never(Trials):
    def allow(self, kind: str, group: Group) -> bool:
        """Have each question asked by itself."""
        return False


class Plain(Shared):
    """The engine where nothing can be shared."""

    def __init__(self, loaded: Loaded) -> None:
        super().__init__(loaded)
        self.engine.trials = _Never(loaded, {})

    def settle(self, picture: Image.Image, question: Question, study: str) -> None:
        """Have the next call be no stimulus that is checked; the first has each thing tried that is tried once."""
        if not self._pictures:
            self(picture, [question], study)
        self.engine._schedules["score"].stimuli = 8


@dataclass(slots=True)
class Agreement:
    """The largest differences between what the engine and another variant said.

    Attributes
    ----------
    questions:
        How many were compared.
    share:
        Of the probability of an option's next token among those of all options (and the likeliest ones) at that place.
    log:
        Of the natural logarithm of a token's probability.
    """

    questions: int = 0
    share: float = 0.0
    log: float = 0.0

    def enter(self, score: OptionScore, rows: Rows, led: Sequence[int]) -> None:
        """Compare one question, at each place of the reply that was led."""
        self.questions += 1
        for place, row in enumerate(rows):
            here = {e.token: e.logprob for e in score.evidence if e.reply == tuple(led[:place])}
            if not here:
                raise AssertionError(f"the engine has not read place {place} of the reply")
            logs = row.float().log_softmax(dim=0)[list(here)].double().cpu().numpy()
            own = np.array(list(here.values()))
            self.log = max(self.log, float(np.abs(logs - own).max()))
            self.share = max(self.share, float(np.abs(_shares(logs) - _shares(own)).max()))


def _shares(logs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    raised = np.exp(logs - logs.max())
    return raised / raised.sum()
