r"""Yes-no answers: yes or no in a reply to a closed question, or why it says neither.

The rules are those of `forced_choice`: one answer, unambiguously; refusals, hedges and replies that give both are N/A.
"No" is harder than an option's name, since it is also a determiner: "no clear difference" is no answer. A reply that
says neither word may still state the answer ("the second person looks more educated"); a `Claim` says how to read that.
A question that asks for other words than yes and no is read by these (`yes_no_words`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from facevalue.answers._phrases import HEDGE, NEITHER, REFUSAL, negates
from facevalue.answers._text import LIMIT, visible
from facevalue.answers.base import NA, NA_DTYPE, UNREAD, Parsed, each_once, statuses, unread
from facevalue.answers.yes_no_words import NO, YES, YesNoWords
from facevalue.errors import UnknownNameError
from facevalue.types import Status

__all__ = ["NO", "YES", "Claim", "YesNoWords", "parse", "parse_column"]

_IMPROPER = re.compile(
    r"\bi (?:don't|do not) (?:think|believe|feel) (?:that )?(?:it(?:'s| is| would be)|this is) "
    r"(?:\w+ )?(?:appropriate|right|fair|possible|ethical|ok|okay|proper|my place|useful|responsible)\b"
)
_DISBELIEF = re.compile(
    r"\bi (?:don't|do not) (?:think|believe)(?: so| that| (?=the|he|she|they|it|this))?"
    r"|\b(?:definitely|certainly|absolutely|probably|of course|surely|clearly) not\b"
    r"|\b(?:it|that|this)(?:'s| is) (?:not the case|not true|untrue|not so)\b"
    r"|\b(?:it|that) (?:does not|doesn't) (?:seem|appear|look) (?:so|that way)\b"
    r"|^\W*not (?:really|at all)\b"
)
_TWOFOLD = re.compile(r"\byes(?: and|,? but(?: also)?) no\b")
_UNSURE = re.compile(r"\bnot necessarily\b|\b(?:can|could) (?:go|be) either\b")
_ECHO = re.compile(r"\byes[\s_\"'*]*(?:or|/|\|)[\s_\"'*]*no(?![^\W_])")
_PLACED = re.compile(r"[^\W_]+(?:'[^\W_]+)?|[^\w\s]|\n")
_AFFIRMING = frozenset(
    ("yes", "yeah", "yep", "yup", "affirmative", "true", "correct", "indeed", "certainly", "absolutely", "definitely")
)
_DENYING = frozenset(("no", "nope", "nah", "negative", "false", "incorrect"))
_CUES = frozenset(
    ("answer", "say", "is", "be", "would", "response", "conclusion", "choose", "answered", "therefore", "so")
)
_SUBJECTS = frozenset(("the", "it", "he", "she", "they", "this", "that", "there", "i", "based", "because", "as", "in"))
_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;\n]?")
_STOPS = frozenset(".,;:!?\n")
_REACH = 4


@dataclass(frozen=True, slots=True)
class Claim:
    """What a yes to a comparison says, so that statements can be read as answers."""

    # Words for the one the question is about, and for the one compared with: "first", "second"
    subject: tuple[str, ...]
    other: tuple[str, ...]
    # Phrases that, said of the subject, mean yes and no: "more educated", "less educated"
    holds: tuple[str, ...]
    fails: tuple[str, ...]


def parse(text: str, claim: Claim | None = None, *, words: YesNoWords | None = None, truncated: bool = False) -> Parsed:
    """Find the answer that a reply gives; `words`: those that the question asks for, where they are not yes and no.

    Examples
    --------
    >>> parse("Yes, the first person seems more educated.")
    Parsed(choice=0, reason=None)
    >>> parse("Based on the clothes, I would say no.").choice
    1
    >>> parse("There is no clear difference.").reason
    <NA.NEITHER: 'neither'>
    >>> parse("No, I cannot determine that from a picture.").reason
    <NA.REFUSED: 'refused'>
    >>> parse("Sí.", words=YesNoWords("sí", "no")).choice
    0
    """
    reply, cut = visible(text)
    if any(c.isalnum() for c in reply):
        parsed = _judge(reply, claim) if words is None or words.english else _by_words(reply, words)
    else:
        parsed = Parsed(None, NA.NEITHER if any(c.isalnum() for c in text[:LIMIT]) else NA.EMPTY)
    if (truncated or cut) and parsed.reason in (NA.NEITHER, NA.EMPTY):
        return Parsed(None, NA.TRUNCATED)
    return parsed


def parse_column(
    frame: pl.DataFrame,
    text: str,
    *,
    question: str | None = None,
    claims: Mapping[str, Claim] | None = None,
    words: Mapping[str, YesNoWords] | None = None,
) -> pl.DataFrame:
    """Parse a column of replies to yes-no questions; each distinct reply to a question is parsed once.

    `claims`, `words`: by question, that of a column without any being "".

    Examples
    --------
    >>> parse_column(pl.DataFrame({"said": ["Yes.", "I can't say."]}), "said").rows()
    [(0, None), (None, 'refused')]
    """
    for name in (text, question):
        if name is not None and name not in frame.columns:
            raise UnknownNameError("column", name, frame.columns)
    keyed = frame.select(
        said=pl.col(text).cast(pl.String),
        asked=pl.lit(None, pl.String) if question is None else pl.col(question).cast(pl.String),
        status=statuses(frame),
    )

    def read(reply: str | None, asked_question: str | None, state: str | None) -> tuple[object, ...]:
        of = asked_question or ""
        parsed = _parse_row(reply, (claims or {}).get(of), (words or {}).get(of), state)
        return parsed.choice, parsed.reason

    return each_once(keyed, read, {"choice": pl.Int8(), "na": NA_DTYPE})


def _parse_row(reply: str | None, claim: Claim | None, words: YesNoWords | None, status: str | None) -> Parsed:
    if reply is None or status in UNREAD:
        return Parsed(None, unread(status))
    return parse(reply, claim, words=words, truncated=status == Status.TRUNCATED)


def _by_words(reply: str, words: YesNoWords) -> Parsed:
    """Read a reply by the words that were asked for; refusals and hedges are known in English alone."""
    rest = words.rest(reply)
    if _IMPROPER.search(rest) or REFUSAL.search(rest):
        return Parsed(None, NA.REFUSED)
    if HEDGE.search(rest) or _UNSURE.search(rest):
        return Parsed(None, NA.HEDGED)
    answers = words.answers(reply)
    if len(answers) == 1:
        return Parsed(answers.pop(), None)
    return Parsed(None, NA.BOTH if answers and not NEITHER.search(rest) else NA.NEITHER)


def _judge(reply: str, claim: Claim | None) -> Parsed:
    if _IMPROPER.search(reply):
        return Parsed(None, NA.REFUSED)
    reply = _DISBELIEF.sub("no,", reply)
    if REFUSAL.search(reply):
        return Parsed(None, NA.REFUSED)
    if HEDGE.search(reply) or _UNSURE.search(reply):
        return Parsed(None, NA.HEDGED)
    if _TWOFOLD.search(reply):
        return Parsed(None, NA.BOTH)
    bare = _ECHO.sub(" ", reply)
    answers, denied = _answers(bare)
    if len(answers) > 1:
        return Parsed(None, NA.BOTH)
    if answers:
        return Parsed(None, NA.NEITHER) if denied else Parsed(answers.pop(), None)
    if bare != reply:
        return Parsed(None, NA.BOTH)
    if NEITHER.search(reply) or claim is None:
        return Parsed(None, NA.NEITHER)
    return _stated(reply, claim)


def _answers(reply: str) -> tuple[set[int], bool]:
    """Which of the two words are answers, and whether the only one is itself denied ("not yes")."""
    tokens = _PLACED.findall(reply)
    words = [i for i, token in enumerate(tokens) if token[0].isalnum()]
    answers: set[int] = set()
    denied = False
    for place in words:
        word = tokens[place]
        if word not in _AFFIRMING and word not in _DENYING:
            continue
        if word not in ("yes", "no") and place != words[0] and len(words) > 3:
            continue  # "true" and the like are answers only at the start, or in a short reply
        after = tokens[place + 1] if place + 1 < len(tokens) else ""
        before = tokens[place - 1] if place else ""
        if word != "yes" and after[:1].isalnum() and not (place == words[0] and after in _SUBJECTS):
            continue  # a determiner ("no difference") or an adverb ("definitely older")
        placed = not before[:1].isalnum() or before in _CUES or word == "yes" or place == words[0]
        if not placed and not negates(before) and before not in ("a", "an"):
            continue
        near = tokens[max(place - _REACH, 0) : place]
        stops = [i for i, token in enumerate(near) if token in _STOPS]
        near = near[stops[-1] + 1 :] if stops else near
        denied |= any(negates(token) for token in near)
        answers.add(YES if word in _AFFIRMING else NO)
    return answers, denied


def _stated(reply: str, claim: Claim) -> Parsed:
    """Read statements such as "the second person looks more educated"."""
    answers = {answer for sentence in _SENTENCE.findall(reply) for answer in _of_sentence(sentence, claim)}
    if len(answers) == 1:
        return Parsed(answers.pop(), None)
    return Parsed(None, NA.BOTH if answers else NA.NEITHER)


def _of_sentence(sentence: str, claim: Claim) -> list[int]:
    if sentence.endswith("?"):
        return []
    out = []
    for phrases, holds in ((claim.holds, True), (claim.fails, False)):
        for phrase in phrases:
            place = re.search(rf"\b{re.escape(phrase)}\b", sentence)
            if place is None:
                continue
            before = re.findall(r"[^\W_]+(?:'[^\W_]+)?", sentence[: place.start()])
            person = next((word for word in before if word in claim.subject or word in claim.other), None)
            if person is None:
                continue
            is_subject = person in claim.subject
            if any(negates(word) for word in before):
                if is_subject and holds:
                    out.append(NO)
                continue
            out.append(YES if is_subject == holds else NO)
            break
    return out
