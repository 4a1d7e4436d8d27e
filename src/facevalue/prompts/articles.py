"""Indefinite articles of noun phrases, by sound."""

import re

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
