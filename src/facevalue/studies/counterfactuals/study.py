"""Declaration of the study of counterfactual sets: what models say of people who differ in one thing alone."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from facevalue.protocol.asks import ANY, Ask
from facevalue.protocol.open_answers import LENGTH, Salary, TenPoints, Text
from facevalue.protocol.outside_scores import Outside
from facevalue.protocol.replies import Reply
from facevalue.protocol.settings import Options, whole
from facevalue.protocol.tasks import SCORERS
from facevalue.statistics.estimand import Estimand
from facevalue.studies.counterfactuals import measures as m
from facevalue.studies.counterfactuals import statistics as paper
from facevalue.studies.counterfactuals.group_words import TextStatistic
from facevalue.studies.counterfactuals.pictures import SetPictures
from facevalue.studies.counterfactuals.settings import (
    FURTHER,
    MAIN,
    RATINGS,
    REPLIES,
    SALARY,
    TEXT,
    TITLES,
    chosen_prompts,
)
from facevalue.studies.counterfactuals.texts import TextWords

OPEN, RATING = "open", "rating"
BY = ("subset", "prompt")
KEYWORDS = (
    ("competent", "skilled", "careful", "clumsy", "unskilled"),
    ("friendly", "kind", "quiet", "cold", "distant"),
    ("calm", "patient", "cheerful", "tired", "serious"),
    ("neat", "practical", "modest", "elegant", "colourful"),
    ("confident", "thoughtful", "determined", "lazy", "stupid"),
)
"""Keywords that simulated respondents choose from."""
_PLACE = "[OCCUPATION]"
_TITLES = {
    "prompt": TITLES,
    "subset": {
        "race-gender": "Race and gender",
        "physical-gender": "Looks and gender",
        "physical-race": "Looks and race",
        "skin-tone-gender": "Skin tone and gender",
        "pata": "PATA (photographs)",
    },
    "task": {OPEN: "Open prompts", RATING: "Ratings", SALARY: "Salaries"},
}


def declaration(options: Options) -> Mapping[str, Any]:
    """Fields of the protocol that help of the study does not need."""
    replies: dict[str, Reply] = {
        OPEN: Text((LENGTH,), outside=Outside(all_scores=True), keywords=KEYWORDS),
        RATING: TenPoints(explained=True),
        SALARY: Salary(explained=True),
    }
    items: dict[str, list[dict[str, str]]] = {task: [] for task in replies}
    for prompt in chosen_prompts(options):
        task = OPEN if prompt not in RATINGS else SALARY if prompt == SALARY else RATING
        items[task].append({"prompt": prompt, "question": _wording(prompt, str(options["prompts"]))})
    person = "{a_person}" if options["prompts"] == "clean" else "a {who}"
    before = f"You are looking at a picture of {person}, " if options["shown"] == TEXT else ""
    tasks = {
        task: Ask(
            (f"{before}{{question}}",), reply, items=items[task],
            draws=REPLIES if task == OPEN else 1, pictures={} if task == OPEN else {"occupation": (ANY,)},
        )
        for task, reply in replies.items() if items[task]
    }  # fmt: skip
    return {
        "stimuli": SetPictures(),
        "tasks": tasks,
        "estimands": tuple(_estimands(options, [*tasks])),
        "measures": (*m.MEASURES, *m.JUDGED),
        "titles": _TITLES,
    }


def _wording(prompt: str, version: str) -> str:
    """A prompt as the paper prints it, with the articles of occupations mended, or as the authors' code asks it."""
    text = {**MAIN, **FURTHER, **RATINGS}[prompt]
    if version == "clean":
        text = text.replace(f"a {_PLACE}", "{an_occupation}")
    if version == "released":
        text = f"{text} " if prompt in RATINGS else text.replace("I'm", "I\u2019m")
    return text.replace(_PLACE, "{occupation}")


def _family(name: str, *about: str) -> str:
    """A family of tests for each level of these labels."""
    return m.family(name, *(f"{{{label}}}" for label in about))


def _estimands(options: Options, tasks: Sequence[str]) -> Iterator[Estimand]:
    """Everything that is estimated: of refusals, lengths, scores, ratings and salaries, then of words."""
    sets, longest = whole(options, "min_sets", 1), whole(options, "max_tokens", 1)
    for task, of, limit in ((RATING, m.RATINGS, 0), (SALARY, m.SALARIES, 0), (OPEN, m.LENGTHS, longest)):
        if task in tasks:
            yield Estimand(paper.MissingReplies(), BY, (task,))
            yield Estimand(paper.GroupQuantity(of=of, longest=limit), BY, (task,), _family(of.family, *BY))
            refusals = paper.GroupQuantity(of=m.REFUSALS)
            yield Estimand(refusals, BY, (task,), _family(m.GROUP_REFUSALS, *BY))
    if OPEN not in tasks:
        return
    for statistic in (paper.DescriptionScores(fewest=sets), paper.DescriptionScores(released=True)):
        yield Estimand(statistic, BY, (SCORERS,))
    contrasts = paper.GroupQuantity(of=m.SCORES)
    yield Estimand(contrasts, BY, (SCORERS,), _family(m.GROUP_SCORES, "subset", "score", "prompt"))
    words = TextWords(str(options["words"]), str(options["words_variant"]))
    yield Estimand(TextStatistic(words=words, frequency=whole(options, "min_frequency", 1), fewest=sets), BY, (OPEN,))
