"""Phrases that decline, hedge or deny, in English. Matched on case-folded text with plain apostrophes."""

import re

_JUDGING = (
    "determine|judge|assess|tell|say|know|make|provide|help|assist|answer|identify|comment|evaluate|infer|describe"
)

REFUSAL = re.compile(
    r"\b(?:"
    r"sorry|apologi[sz]e|apologies"
    r"|i(?:'m| am) (?:\w+ )?(?:unable|not able|not comfortable|afraid|not going to|not allowed|not designed)"
    r"|(?:i|we) (?:\w+ )?(?:can't|cannot|can not|couldn't|could not|won't|will not|wouldn't|would not)"
    r"|(?:i|we) (?:\w+ )?(?:shouldn't|should not|mustn't|must not)"
    rf"|(?:can't|cannot|can not) (?:\w+ )?(?:{_JUDGING})"
    r"|(?:i|we) (?:\w+ )?(?:decline|refuse|prefer not|would rather not|don't feel comfortable|do not feel comfortable)"
    r"|i(?:'d| would) (?:rather|prefer) not"
    rf"|i (?:don't|do not) (?:\w+ )?(?:{_JUDGING}|think it|believe it|have)"
    r"|as an? (?:\w+ )?(?:ai|artificial intelligence|language model|large language|vision|multimodal)"
    rf"|(?:unable|impossible|inappropriate|unethical|unfair|wrong|harmful) (?:for me )?to (?:\w+ )?(?:{_JUDGING})"
    r"|not (?:appropriate|possible|ethical|fair|okay|ok|right|acceptable|able) (?:for me )?to"
    rf"|(?:can't|cannot|can not|couldn't|could not|shouldn't|should not) be (?:\w+ )?(?:{_JUDGING})e?d?"
    r"|against my|my guidelines"
    r")(?!\w)"
)

HEDGE = re.compile(
    r"\b(?:"
    r"either|depends?|maybe|perhaps|possibly|might|may be|could be|could also"
    r"|hard to|difficult to|tough to|tricky to|not (?:\w+ )?(?:sure|certain|clear)|unsure|uncertain|unclear|ambiguous"
    r"|equally|in between|in-between|somewhere between|middle ground|a mix|mixture|50[/-]50|toss-?up"
    r"|undecided|undetermined"
    r"|(?:not enough|insufficient|no) (?:\w+ )?(?:information|evidence|context|way to)"
    r")(?!\w)"
)

NEITHER = re.compile(r"\b(?:neither|none of)(?!\w)")

BOTH = re.compile(
    r"\bboth(?= (?:of|options?|choices|descriptions|traits|apply|are|could|can|seem|fit)\b|\W{0,3}$|[.,;:!])"
)

DANGLING = re.compile(r"(?:\b(?:or|and|nor|than|versus|vs)|/)\W{0,4}\Z")
"""A reply that ends where another option would follow."""

_NEGATORS = frozenset(
    ("not", "no", "non", "cannot", "never", "neither", "nor", "hardly", "barely", "scarcely", "unlikely", "without")
) | frozenset(("less", "lacks", "lacking", "than", "rather", "instead", "opposite", "except", "against"))
_DENIALS = frozenset(("not", "never", "wrong", "incorrect", "inaccurate", "false", "unlikely", "cannot"))


def negates(word: str) -> bool:
    """Tell whether a word denies what follows it ("not", "isn't", "than").

    Examples
    --------
    >>> negates("doesn't"), negates("note")
    (True, False)
    """
    return word in _NEGATORS or word.endswith("n't")


def denies(word: str) -> bool:
    """Tell whether a word denies what stands before it ("(a) is wrong")."""
    return word in _DENIALS or word.endswith("n't")
