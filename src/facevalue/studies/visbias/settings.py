"""Settings of VisBias: what its user may choose."""

from facevalue.protocol.settings import Options, Setting, chosen, names, own_files
from facevalue.studies.visbias.tables import WORDINGS, choice_questions

NAME = "visbias"
TITLE = "VisBias: explicit bias in choices and comparisons, implicit bias in descriptions and forms"
CITATION = (
    "Huang, Qin, Zhang, Yuan, Wang and Zhao, VisBias: Measuring Explicit and Implicit Social Biases in Vision Language "
    "Models"
)
TASKS = ("mcq", "yesno", "description", "form", "text-form")
"""Multiple choice, comparisons, descriptions (section 2.1 I-II, 2.2 III), forms as pictures (IV) and as text (4.2)."""
DRAWN = "drawn"
TABLES = ("paper", "released")
"""Tables of the form's categories: Table 10, and what the published results use."""
GROUPS = ("race", "skin_tone", "gender", "species")
"""Factors of people that are compared by default, those of the pictures at hand."""
SEPARATE, COMPOSITE = "separate", "composite"
LIMITS = {"mcq": 128, "yesno": 128, "description": 1024, "form": 2048, "text-form": 2048}
"""Longest replies in tokens; ours, as the paper states none. Replies in the cipher take about three times as many."""

OWN = ("folder", "manifest")
"""Settings that show pictures which are not drawn."""
QUESTIONS, PEOPLE = ("task=mcq", "task=yesno"), ("task=mcq", "task=yesno", "task=description")
FORMS = ("task=form", "task=text-form")


_QUESTIONS = tuple(question.name for question in choice_questions())
SETTINGS = (
    Setting("task", f"Only these tasks ({','.join(TASKS)}).", [], levels=TASKS),
    Setting("question", f"Only these questions ({','.join(_QUESTIONS)}).", [], needs=QUESTIONS, levels=_QUESTIONS),
    Setting(
        "prompts",
        "Questions as the paper prints them (ours where it prints none), or as the authors' released code asks them.",
        WORDINGS[0],
        WORDINGS,
    ),
    Setting("race", "Only people of these races (or skin tones, where these are drawn).", [], needs=PEOPLE),
    Setting("gender", "Only people of these genders.", [], needs=PEOPLE),
    Setting("occupation", "Only people of these occupations.", [], needs=PEOPLE),
    Setting(
        "group",
        f"Factors whose groups are compared; those there are of {','.join(GROUPS)} by default.",
        [],
        needs=PEOPLE,
    ),
    Setting("folder", "Show the authors' photographs: the folder with occupation/race_gender/N.jpg.", "", needs=PEOPLE),
    Setting(
        "manifest",
        "Show your own pictures instead: a CSV, JSONL or Parquet manifest.",
        "",
        needs=PEOPLE,
        excludes=("folder",),
    ),
    *own_files(OWN, OWN),
    Setting(
        "species",
        "Ask the questions about fictional species, too, as a negative control: 'drawn', or a manifest of yours.",
        "",
        needs=QUESTIONS,
    ),
    Setting(
        "species_root",
        "The folder that paths of species' images are relative to; that of the file by default.",
        "",
        needs=("species",),
        excludes=("species=drawn",),
    ),
    Setting(
        "pairs",
        "Pairs of two people that are compared within each occupation; of two beings, for each species.",
        10,
        needs=("task=yesno",),
    ),
    Setting("pair_seed", "Which pairs are drawn.", 1, needs=("task=yesno",)),
    Setting(
        "images",
        "Pairs as two images in one request, or as one composite for models that take one.",
        SEPARATE,
        (SEPARATE, COMPOSITE),
        needs=("task=yesno",),
    ),
    Setting(
        "descriptions",
        "Descriptions of each image; the released prompt asks for four at a time.",
        16,
        needs=("task=description",),
    ),
    Setting("forms", "Forms filled in at random for each of the 20 orders of the fields.", 20, needs=FORMS),
    Setting("form_seed", "Which forms.", 1, needs=FORMS),
    Setting(
        "categories", "The form's categories: of Table 10, or of the published results.", "paper", TABLES, needs=FORMS
    ),
    Setting(
        "stereotype_words",
        "A JSON, TOML or CSV file of word lists, such as those of Ghavami and Peplau.",
        "",
        needs=("task=description",),
    ),
    Setting("seeds", "Sampling seeds; everything is asked once per seed.", ["1"]),
    Setting("temperature", "Sampling temperature of all tasks but descriptions.", 0.0, needs=(*QUESTIONS, *FORMS)),
    Setting("description_temperature", "Sampling temperature of descriptions.", 1.0, needs=("task=description",)),
    Setting("max_tokens", "Longest reply in tokens; 0 for that of each task (128, 1,024, 2,048).", 0),
)


def tasks_asked(options: Options) -> tuple[str, ...]:
    """The tasks that are chosen, all by default."""
    return chosen("task", names(options, "task"), TASKS) or TASKS


def questions_asked(options: Options) -> tuple[str, ...]:
    """The questions that are chosen, all by default."""
    return chosen("question", names(options, "question"), _QUESTIONS) or _QUESTIONS
