"""Variants that a study declares: its questions in their wording, and the study that asks them besides."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from facevalue.errors import DataError, UnknownNameError, placed
from facevalue.prompts.variants import Variant, checked
from facevalue.protocol.asks import Ask
from facevalue.protocol.compiled import asked_variants, compiled
from facevalue.protocol.replies import Options
from facevalue.protocol.study import Study
from facevalue.protocol.tasks import TASK
from facevalue.protocol.variant_trials import varied
from facevalue.types import OptionValue

if TYPE_CHECKING:
    from facevalue.protocol.protocol import Protocol


def in_variants(protocol: "Protocol", study: Study, options: Mapping[str, OptionValue]) -> Study:
    """Ask a compiled study in the variants of its protocol, too: those of tasks that are asked."""
    variants = asked_variants(protocol, {block.constants.get(TASK, "") for block in study.design.blocks})
    if not variants:
        return study
    versions = {
        variant.name: compiled(_in_words_of(variant, protocol), options, study.manifest)
        for variant in variants if variant.reworded
    }  # fmt: skip
    return varied(study, variants, versions)


def check_variants(protocol: "Protocol") -> None:
    """Refuse variants that this study cannot be asked in.

    Raises
    ------
    DataError
        Two have one name, or one changes what the questions have not, or nothing.
    UnknownNameError
        There is no such task or option.
    """
    if protocol.variants and protocol.build is not None:
        raise DataError(f"The study {protocol.name!r} is built in Python, which declares no variants.")
    for variant in checked(protocol.variants):
        reworded(variant, protocol.asks)


def _in_words_of(variant: Variant, protocol: "Protocol") -> "Protocol":
    asks = reworded(variant, protocol.asks)
    return replace(protocol, variants=(), **({"ask": asks[""]} if protocol.ask is not None else {"tasks": asks}))


def reworded(variant: Variant, asks: Mapping[str, Ask]) -> dict[str, Ask]:
    """Questions by task, in the wording of a variant."""
    with placed(variant.where):
        for task in variant.tasks:
            if "" in asks:
                raise DataError(f"{variant.name!r} names tasks, and the study asks one question.")
            if task not in asks:
                raise UnknownNameError("task", task, asks)
        tasks = variant.tasks or tuple(asks)
        if variant.prompt and len(tasks) > 1:
            raise DataError(f"{variant.name!r} is one wording of {len(tasks)} tasks: name one, tasks = [{tasks[0]!r}].")
        return {name: _reworded(variant, ask) if name in tasks else ask for name, ask in asks.items()}


def _reworded(variant: Variant, ask: Ask) -> Ask:
    prompts, reply = ask.prompts, ask.reply
    if variant.prompt and len(prompts) > 1:
        raise DataError(
            f"{variant.name!r} is another wording of a question that has {len(prompts)}: make it one of the "
            "paraphrases, or leave these out."
        )
    if variant.prompt in prompts:
        raise DataError(f"{variant.name!r} words the question as it is.")
    if variant.options:
        if not isinstance(reply, Options) or reply.parser != "choice":
            raise DataError(f"{variant.name!r} words options anew, and the answer is no choice among options.")
        for name in variant.options:
            if name not in reply.texts:
                raise UnknownNameError("option", name, reply.texts)
        reply = replace(reply, texts={**reply.texts, **variant.options}, where="")
    return replace(ask, prompts=(variant.prompt,) if variant.prompt else prompts, reply=reply, where=variant.where)
