"""Settings of the study of counterfactual sets, read and checked."""

import tomllib
from collections.abc import Mapping
from importlib.resources import files

from facevalue.protocol.settings import ALL, Options, Setting, chosen, names, own_files

_PROMPTS = tomllib.loads(files(__package__).joinpath("tables", "prompts.toml").read_text("utf-8"))
MAIN: Mapping[str, str] = _PROMPTS["main"]
FURTHER: Mapping[str, str] = _PROMPTS["further"]
RATINGS: Mapping[str, str] = _PROMPTS["ratings"]
SALARY = "salary"
OPEN: Mapping[str, str] = {**MAIN, **FURTHER}
TITLES = {
    "describe": "Describe", "backstory": "Backstory", "pretend": "Pretend", "characteristics": "Characteristics",
    "personality": "Personality", "story": "Story", "emotions": "Emotions", "keywords": "Keywords",
    "competency": "Competency", "trustworthiness": "Trustworthiness", "work-ethic": "Work ethic", "hiring": "Hiring",
    "performance": "Performance", "warmth": "Warmth", "competence": "Competence", "salary": "Salary",
}  # fmt: skip
"""Prompts as the paper calls them."""


NAME = "counterfactuals"
TITLE = "Counterfactuals: what is said of people who differ in one thing alone"
CITATION = (
    "Howard, Fraser, Bhiwandiwalla and Kiritchenko, Uncovering Bias in Large Vision-Language Models at Scale with "
    "Counterfactuals"
)
WORDINGS = ("paper", "clean", "released")
_OPEN, _RATINGS = (*MAIN, *FURTHER), tuple(RATINGS)
FOLDERS, LISTS = ("social", "cultural"), ("pata", "manifest")
GIVEN = (*FOLDERS, *LISTS)
"""Settings that show pictures which are not drawn."""
RELEASED, CLEAN = "released", "clean"
"""Word lists as a file has them, or only words that say something by themselves."""
PICTURE, TEXT = "picture", "text"

REPLIES = Setting("replies", "Replies to each open prompt, each with a seed of its own; ratings are asked once.", 3)
SETTINGS = (
    Setting(
        "prompt",
        f"Only these prompts, or all ({','.join((*_OPEN, *_RATINGS))}); the paper's five main ones and its ratings by "
        "default.",
        [],
        levels=(ALL, *_OPEN, *_RATINGS),
    ),
    Setting("subset", "Only these subsets (race-gender, physical-gender, physical-race, or your own).", []),
    Setting("occupation", "Only these occupations.", []),
    Setting("occupation_sets", "At most so many whole sets of each occupation and subset; 0 for all.", 0),
    Setting(
        "prompts",
        "Prompts as the paper prints them, with the articles of occupations mended, or as the authors' code asks them.",
        WORDINGS[0],
        WORDINGS,
    ),
    Setting(
        "shown",
        "Show the picture, or say in words who is in it: the paper's text-only counterpart, for language models.",
        PICTURE,
        (PICTURE, TEXT),
        excludes=("cultural",),
    ),
    Setting(
        "social", "Show SocialCounterfactuals: the folder of its Parquet files, or of flat files and metadata.", ""
    ),
    Setting("cultural", "Show CulturalCounterfactuals: the folder of its Parquet files.", "", excludes=GIVEN[:1]),
    Setting("pata", "Show PATA: the list of labels and links; --root is the folder.", "", excludes=GIVEN[:2]),
    Setting("manifest", "Show your own pictures: a manifest with sets and groups.", "", excludes=GIVEN[:3]),
    *own_files(LISTS, ("manifest",)),
    Setting("sets", "Drawn sets, as many of workers as of portraits.", 36, excludes=GIVEN),
    Setting("set_seed", "Which sets are drawn.", 1, excludes=GIVEN),
    REPLIES,
    Setting(
        "words", "Word lists: a CSV of word, dimension, sign, one word a line, JSON or TOML; a small list of ours.", ""
    ),
    Setting(
        "words_variant",
        "All words of your lists, or without those that say nothing by themselves.",
        RELEASED,
        (RELEASED, CLEAN),
        needs=("words",),
    ),
    Setting("min_frequency", "How often a group's texts have a word before it is ranked; the paper's GPT-4o: 3.", 10),
    Setting("min_sets", "Sets of an occupation from which it is told by itself.", 35),
    Setting("seeds", "Sampling seeds; everything is asked once per seed.", ["0"]),
    Setting("temperature", "Sampling temperature.", 0.75),
    Setting("top_p", "Nucleus of sampling (the paper leaves it at the default).", 1.0),
    Setting("max_tokens", "Longest reply in tokens.", 512),
)
NOTE = (
    "This study asks a model to describe and rate people by their looks, as the published protocol does, and looks for "
    "hostile and stereotypical words in what it says. Replies may be offensive. Nothing they say is true of anyone."
)
LEAD = ("group scores", "group ratings", "words of lists")
"""Families that the page's answer is about, in order of preference: whose pictures get other scores, ratings or words
than their sets. Subset and score follow in brackets."""


def chosen_prompts(options: Options) -> tuple[str, ...]:
    """Prompts that are asked: by default the paper's main ones and its ratings."""
    return chosen("prompt", names(options, "prompt"), (*_OPEN, *_RATINGS)) or (*MAIN, *RATINGS)
