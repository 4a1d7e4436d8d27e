"""The paper's image prompts, filled in: what a generator would be asked for each picture of one person."""

import re

import polars as pl

from facevalue.errors import UnknownNameError
from facevalue.studies.vignette.tables import GENDERS, Identity, activities, dimensions, identities, wording

ENGAGED = "{an_identity} engaged in {activity}, with their face visible."
"""Section 3: the prompt for a person doing something; `{an_identity}` stands for "An old man"."""

PORTRAIT = "{an_identity}, with their face visible."
"""Section 3: the prompt for a portrait without an activity."""

# Words that begin with the sound of "you" or of "one", though their first letter is a vowel.
_CONSONANT = re.compile(
    r"eu|ewe|(?:one|once)\b|oui|u(?:[bcfhjkqrst][aeiou]|kr|gand|\b)|uni(?!n|m|dent)|unanim", re.IGNORECASE
)
# Words that begin with a vowel sound, though their first letter is a consonant: silent h, letters said one by one.
_VOWEL = re.compile(r"(?:hour|honest|honou?r|heir)", re.IGNORECASE)
_SPELLED_VOWEL = re.compile(r"[AEFHILMNORSX](?:[A-Z0-9]|\b)|[efhilmnorsx]\b|8|1[18](?!\d)")
_SPELLED_CONSONANT = re.compile(r"[UBCDGJKPQTVWYZ](?:[A-Z0-9]|\b)")


def article(noun: str) -> str:
    """The indefinite article of a noun phrase, chosen by sound.

    Knows words that begin with the sound of "you" or "one" (university, European, one-legged), silent h (hour, honest),
    single letters and abbreviations in capitals, which it takes to be spelled out (an X-ray, an FBI agent, a UN envoy).

    Parameters
    ----------
    noun:
        Without an article; punctuation before its first letter or digit is passed over.

    Returns
    -------
    "a" or "an".

    Examples
    --------
    >>> [f"{article(noun)} {noun}" for noun in ("old man", "European man", "umpire", "honest clerk", "h")]
    ['an old man', 'a European man', 'an umpire', 'an honest clerk', 'an h']
    """
    start = re.sub(r"^\W+", "", noun)
    if _SPELLED_CONSONANT.match(start):
        return "a"
    if _SPELLED_VOWEL.match(start) or _VOWEL.match(start):
        return "an"
    return "an" if start[:1].lower() in set("aeiou") and not _CONSONANT.match(start) else "a"


def with_article(noun: str) -> str:
    """A noun phrase with its indefinite article.

    Examples
    --------
    >>> with_article("office worker")
    'an office worker'
    """
    return f"{article(noun)} {noun}"


def _opening(identity: Identity, gender: str) -> str:
    phrase = with_article(wording(identity, gender))
    return phrase[0].upper() + phrase[1:]


def generation_prompts(gender: str | None = None, *, portraits: bool = False) -> pl.DataFrame:
    """The prompt for every picture of one person (section 3).

    Parameters
    ----------
    gender:
        Only pictures of this gender; None for both.
    portraits:
        The portraits without an activity, 167 male and 162 female, in place of the pictures with one, 12,525 male and
        12,150 female.

    Returns
    -------
    One row per picture, by gender, dimension, identity and activity in the order of the tables: `gender`, `dimension`,
    `identity`, `activity` (null for portraits), `prompt`; all strings.

    Raises
    ------
    UnknownNameError
        No such gender.

    Examples
    --------
    >>> generation_prompts("male").height, generation_prompts("female").height
    (12525, 12150)
    >>> generation_prompts("male", portraits=True)["prompt"][2]
    'A healthy man, with their face visible.'
    """
    if gender is not None and gender not in GENDERS:
        raise UnknownNameError("gender", gender, GENDERS)
    people = pl.DataFrame(
        [
            (one, dimension.name, identity.name, _opening(identity, one))
            for one in (GENDERS if gender is None else (gender,))
            for dimension in dimensions()
            for identity in identities(dimension.name, one)
        ],
        schema=["gender", "dimension", "identity", "opening"],
        orient="row",
    )
    if portraits:
        names = pl.Series("activity", [None], dtype=pl.String)
        prompt = pl.format(PORTRAIT.replace("{an_identity}", "{}"), "opening")
    else:
        names = pl.Series("activity", [activity.name for activity in activities()])
        prompt = pl.format(ENGAGED.replace("{an_identity}", "{}").replace("{activity}", "{}"), "opening", "activity")
    pictures = people.join(names.to_frame(), how="cross", maintain_order="left_right")
    return pictures.select("gender", "dimension", "identity", "activity", prompt.alias("prompt"))
