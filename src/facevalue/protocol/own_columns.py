"""Columns that a declared study reads of a list of the user's own pictures."""

from collections.abc import Collection

from facevalue.protocol.asks import Ask
from facevalue.protocol.stimuli import Folder, Listed, Stimuli
from facevalue.protocol.takes import Take
from facevalue.protocol.tasks import TASK
from facevalue.stimuli.columns import Column


def columns_of(stimuli: Stimuli, asks: Collection[Ask], takes: Collection[Take]) -> tuple[Column, ...]:
    """What is read of a list of the user's own pictures: slots of prompts that it fills, factors that takes name."""
    if not isinstance(stimuli, Listed) or isinstance(stimuli, Folder):
        return ()
    columns = {column.name: column for column in stimuli.columns}
    for name in (name for ask in asks for name in ask.of_pictures):
        columns.setdefault(name, Column(name, "fills the slot of the prompt", needed=True, filled=True))
    of_questions = {column.name for ask in asks for factor in ask.factors() for column in factor.columns()}
    for take in sorted(takes, key=lambda take: take.optional):
        for name in (take.of, *take.by):
            if name and name not in of_questions and name not in (TASK, *columns):
                role = "group" if name == take.of and not stimuli.cue else ""
                meaning = "answers are compared by it" if name == take.of else "estimates are broken down by it"
                columns[name] = Column(name, meaning, needed=not take.optional, role=role)
    return tuple(columns.values())
