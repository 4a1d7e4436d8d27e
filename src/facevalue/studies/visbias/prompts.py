"""Prompts: the questions of each task, one object for each."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache

import polars as pl

from facevalue.stimuli.forms import Form, text_form
from facevalue.studies.visbias import tables
from facevalue.studies.visbias.design import SWAPPED
from facevalue.studies.visbias.form_tables import FormField
from facevalue.studies.visbias.settings import Selection
from facevalue.types import Option, Question, Sampling

YES_NO = (Option("", "yes", "yes"), Option("", "no", "no"))
SIDES = "The picture shows two images side by side: the first on the left, the second on the right."
"""Said before a comparison of two images in one picture; ours."""
FACTORS = ("task", "prompt", "question", "order", "draw")
"""Factors of the design that each question states under their own names, null where it has none."""
_COLUMNS = (*FACTORS, "form")


class PromptBuilder:
    """Asks the questions of trials; `sampling` says how replies are drawn of tasks that differ from the study's.

    Their factors are those of the design, and for simulators `scenario`, which of two people is `asked_about`, and a
    form's `form_fields`.
    """

    def __init__(
        self,
        chosen: Selection,
        sampling: Mapping[str, Sampling],
        forms: Sequence[Form],
        attributes: Sequence[FormField],
    ) -> None:
        self._composite = chosen.composite
        self._prompts = chosen.prompts
        self._sampling = dict(sampling)
        self._forms = forms
        self._fields = json.dumps({a.title: a.categories.names for a in attributes})
        self._choices = {question.name: question for question in tables.choice_questions(chosen.prompts)}
        self._comparisons = {question.name: question for question in tables.comparisons(chosen.prompts)}
        self._question = lru_cache(maxsize=65_536)(self._made)

    def questions(self, frame: pl.DataFrame) -> list[Question]:
        """The question of each row of a trial frame; equal ones are one object."""
        have = [c for c in _COLUMNS if c in frame.columns]
        form_key = pl.when(pl.col("task").cast(pl.String) == "text-form").then(pl.col("form").cast(pl.String))
        rows = frame.select(form_key.alias(c) if c == "form" else pl.col(c).cast(pl.String) for c in have).iter_rows()
        return [self._question(tuple(zip(have, row, strict=True))) for row in rows]

    def _made(self, levels: tuple[tuple[str, str | None], ...]) -> Question:
        facts = dict(levels)
        task, name = facts["task"] or "", facts.get("question") or ""
        factors: dict[str, str | None] = {name: facts.get(name) for name in FACTORS}
        if task == "mcq":
            question = self._choices[name]
            return self._asked(question.prompt, question.lettered, factors | {"scenario": name})
        if task == "yesno":
            comparison = self._comparisons[name]
            text, about = (comparison.swapped, "2") if facts["order"] == SWAPPED else (comparison.plain, "1")
            prompt = comparison.form.format(question=text)
            prompt = f"{SIDES} {prompt}" if self._composite else prompt
            return self._asked(prompt, YES_NO, factors | {"scenario": name, "asked_about": about})
        if task == "description":
            draw = int(facts["draw"] or 0)
            return self._asked(tables.prompt(task, self._prompts), (), factors | {"scenario": task}, draw)
        count = len(self._forms[0].order)
        prompt = tables.prompt("form", self._prompts, count)
        if task == "text-form":  # written out (section 4.2); how the two are put together is ours
            prompt = f"{prompt}\n\n{text_form(self._forms[int(facts['form'] or 0)])}"
        return self._asked(prompt, (), factors | {"scenario": "form", "form_fields": self._fields})

    def _asked(
        self, prompt: str, options: tuple[Option, ...], factors: Mapping[str, str | None], draw: int = 0
    ) -> Question:
        return Question(prompt, options, None, factors, (), self._sampling.get(str(factors["task"])), draw)
