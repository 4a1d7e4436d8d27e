"""What the engine's benchmark asks: questions of our own studies, worded as they are."""

from collections.abc import Mapping
from functools import cache

from facevalue import studies
from facevalue.prompts import ORDERINGS
from facevalue.protocol.replies import phrase_options
from facevalue.studies.stylisticbias.tables import JUDGMENT, scenarios
from facevalue.types import Question, Sampling

MOST = 300
"""Questions of each study."""
SAMPLING: Mapping[str, Sampling] = {
    "stylisticbias": Sampling(temperature=0.2, top_p=1.0, max_tokens=16),
    "vignette": Sampling(temperature=0.7, top_p=0.95, max_tokens=200),
}
"""How each study draws its replies."""
HELD = frozenset({"vignette"})
"""Studies whose command holds replies to the options."""


@cache
def questions(study: str) -> tuple[Question, ...]:
    """Return 300 different questions.

    Parameters
    ----------
    study:
        "stylisticbias": its 25 scenarios in 4 orderings, all that it asks about a picture, and then 200 in the same
        wording that pair the words of two scenarios. "vignette": drawn from all that it asks.
    """
    if study == "vignette":
        made = studies.build("vignette", {"drawings": "none"})
        drawn = made.ask(made.design.trials(made.sample(2 * MOST, 1, 1)))
        return tuple({question.prompt: question for question in drawn}.values())[:MOST]
    known = scenarios()
    out = []
    for shift in range(MOST // len(known) // len(ORDERINGS)):
        for place, scenario in enumerate(known):
            words = scenario.favourable, known[(place + shift) % len(known)].unfavourable
            for ordering in ORDERINGS:
                options = ordering.options(words, ("favourable", "unfavourable"))
                out.append(Question(JUDGMENT.format(options=phrase_options(options)), options))
    return tuple(out)


def corpus() -> list[str]:
    """Return all questions' texts in a fixed order."""
    return sorted({question.prompt for study in SAMPLING for question in questions(study)})
