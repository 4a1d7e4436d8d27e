"""Questions that a page quotes, verbatim."""

import numpy as np
import polars as pl

from facevalue.protocol import Study
from facevalue.protocol.examples import QuotedQuestions
from facevalue.report.blocks.forms import filled
from facevalue.report.data import PromptExample
from facevalue.report.formatting import Titles


def questions(declared: QuotedQuestions, study: Study, titles: Titles) -> tuple[PromptExample, ...]:
    """The first questions of each kind of block, one of each combination of levels."""
    design = study.design
    out: list[PromptExample] = []
    kinds: set[str] = set()
    for block, offset in zip(design.blocks, design.offsets, strict=False):
        kind = block.constants.get(declared.block, block.name if declared.block else "")
        if kind in kinds or len(out) >= declared.most:
            continue
        kinds.add(kind)
        frame = design.trials(offset + np.arange(min(len(block), declared.span * block.prompts)))
        keys = [name for name in declared.by if name in frame.columns]
        frame = frame.unique(keys, keep="first", maintain_order=True) if keys else frame.head(2)
        for name, level, limit in declared.few:
            if name in frame.columns:
                of = (pl.col(name).cast(pl.String) == level).fill_null(value=False)
                frame = pl.concat([frame.filter(~of), frame.filter(of).head(limit)])
        for row, question in zip(frame.iter_rows(named=True), study.ask(frame), strict=True):

            def fill(name: str, manner: str, row: dict[str, object] = row, kind: str = kind) -> str | None:
                level = kind if name == "block" else row.get(name)
                if level is None:
                    return None
                if any(word.startswith(f"{name}=") for word in declared.words):
                    return declared.words.get(f"{name}={level}", "")
                column = manner if manner not in ("", "lower", "poles") else name
                text = titles.poles(str(level)) if manner == "poles" else titles.get(column, str(level))
                return text.lower() if manner == "lower" else text

            out.append(
                PromptExample(
                    filled(declared.title, fill), filled(declared.note, fill), question.prompt, question.system
                )
            )
    return tuple(out)
