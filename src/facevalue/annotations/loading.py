"""From what the user types to a scorer."""

from collections.abc import Sequence
from pathlib import Path

from facevalue.annotations.model_scorers import ClassifierScorer, ModerationScorer, RubricScorer
from facevalue.annotations.scorers import LEXICAL, LexicalHostility, Scorer
from facevalue.errors import SettingError, UnknownNameError
from facevalue.models.base import ModelOptions

SCORERS = (LEXICAL, "hf-text/FOLDER", "openai-moderation", "judge/MODEL")
"""How scorers are written."""


def load_scorer(
    spec: str, labels: Sequence[str] = (), rubric: Path | None = None, options: ModelOptions | None = None
) -> Scorer:
    """Return a scorer.

    Parameters
    ----------
    spec:
        "lexical"; "hf-text/FOLDER" for a text classifier of transformers; "openai-moderation", or
        "openai-moderation/MODEL" or ".../http://HOST/v1#MODEL" for another one; "judge/MODEL" for a model that rates by
        a rubric.
    labels:
        Which of its labels it shall score; its usual ones by default.
    rubric:
        What a judge is told.
    options:
        How to reach a server.

    Raises
    ------
    UnknownNameError
        There is no such scorer, or it has no such label.
    SettingError
        A judge without a rubric, or a rubric without a judge; a scorer of no folder or model.
    ModelError, DataError, DependencyError
        It cannot be loaded or reached.
    """
    kind, _, name = spec.partition("/")
    options = options or ModelOptions()
    if kind not in {scorer.partition("/")[0] for scorer in SCORERS} or (kind == LEXICAL and name):
        raise UnknownNameError("scorer", spec, SCORERS)
    if (kind == "judge") != (rubric is not None):
        raise SettingError("A judge needs a --rubric, a text file that says what to rate; other scorers take none.")
    if not name and kind in ("hf-text", "judge"):
        full = next(scorer for scorer in SCORERS if scorer.startswith(kind))
        raise SettingError(f"{spec!r} names no scorer: write {full}.")
    if kind == LEXICAL:
        return LexicalHostility(labels)
    if kind == "hf-text":
        return ClassifierScorer(Path(name), labels)
    if kind == "judge" and rubric is not None:
        return RubricScorer(name, rubric, options, labels)
    return ModerationScorer(name, options, labels)
