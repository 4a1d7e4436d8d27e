r"""Forced choice: which of the question's options a reply names, or why it names none.

The rules are those of the `stylisticbias` protocol (seed 001, C.2): a reply counts only if it maps unambiguously to
one option; refusals, hedges, replies that name several options and replies that name none are invalid. A reply is
first made plain (`_text`), then each mention of an option is replaced by one mark (`_mentions`), and the rules are
applied to marks and words. What they do not settle is N/A. docs/reference/answers.md has every rule with examples.
"""

from collections.abc import Sequence
from functools import lru_cache

from facevalue.answers._mentions import Finder, Mention, MentionKind, tokens_of, words_of
from facevalue.answers._phrases import BOTH, DANGLING, HEDGE, LIMIT, NEITHER, REFUSAL, denies, negates, visible_text
from facevalue.answers.base import NA, Parsed
from facevalue.errors import DataError
from facevalue.types import Option

_REACH = 4
"""Words between an option and the word that denies it."""
_WINDOW = 40
"""Tokens, punctuation included, in which they are looked for."""

_STOPS_BEFORE = frozenset((".", ";", ":", "!", "?", "\n", "but", "yet", "however", "though"))
_STOPS_AFTER = frozenset(("because", "since", "as", "who", "with", "and", "but", "so", "based", "due", "given"))
_WRAPPING = frozenset("'\"*`)")
_ENDS = frozenset(".!?\n")


@lru_cache(maxsize=4096)
def parse(text: str, options: tuple[Option, ...], *, truncated: bool = False) -> Parsed:
    r"""Find the option that a reply chooses.

    Examples
    --------
    >>> wealthy, poor = Option("(a)", "wealthy", "favourable"), Option("(b)", "poor", "unfavourable")
    >>> parse("(b)", (wealthy, poor))
    Parsed(choice=1, reason=None)
    >>> parse("The person appears Wealthy.", (wealthy, poor)).choice
    0
    >>> parse("(a) poor", (wealthy, poor)).reason
    <NA.CONTRADICTION: 'contradiction'>
    >>> parse("A friendly person, not wealthy.", (wealthy, poor)).reason
    <NA.NEITHER: 'neither'>
    """
    finder = _finder(options)
    plain, cut = visible_text(text)
    letter = finder.letter_alone(plain)
    if letter is not None:
        return Parsed(letter, None)
    if any(c.isalnum() for c in plain):
        parsed = _judge(plain, finder, cut or truncated)
    else:
        thought = any(c.isalnum() for c in text[:LIMIT])
        parsed = Parsed(None, NA.NEITHER if thought else NA.EMPTY)
    if truncated and parsed.reason in (NA.NEITHER, NA.EMPTY):
        return Parsed(None, NA.TRUNCATED)
    return parsed


def check_apart(options: Sequence[Option]) -> None:
    """Refuse options that replies could not be told apart by.

    Options without letters must not begin one another: of a reply that is cut short nobody could say which it meant,
    and the probability of the shorter holds that of the longer.

    Examples
    --------
    >>> check_apart((Option("(a)", "nurse", "one"), Option("(b)", "nurse manager", "two")))
    """
    words = [words_of(option.text) for option in options]
    for first, option in zip(words, options, strict=True):
        for second, other_option in zip(words, options, strict=True):
            if option is other_option or not first or second[: len(first)] != first:
                continue
            if first == second:
                raise DataError(f"The options {option.text!r} and {other_option.text!r} read as one: word them apart.")
            if not option.label:
                raise DataError(
                    f"The option {option.text!r} begins {other_option.text!r}, and a reply may be cut short: word them "
                    "apart, or give them letters."
                )


@lru_cache(maxsize=4096)
def _finder(options: tuple[Option, ...]) -> Finder:
    return Finder(options)


def _judge(plain: str, finder: Finder, cut: bool) -> Parsed:
    marked = finder.mark(plain, cut)
    if REFUSAL.search(marked):
        return Parsed(None, NA.REFUSED)
    marked, repeated = finder.without_question(marked)
    if repeated and not cut and (letter := finder.letter_alone(marked)) is not None:
        return Parsed(letter, None)
    tokens = tokens_of(marked)
    mentions = [m for m in map(Mention.from_token, range(len(tokens)), tokens) if m is not None]
    if NEITHER.search(marked):
        return Parsed(None, NA.NEITHER)
    if HEDGE.search(marked):
        return Parsed(None, NA.HEDGED)
    if BOTH.search(marked):
        return Parsed(None, NA.BOTH)
    if all(m.kind is MentionKind.LOOSE for m in mentions):
        if repeated and mentions and len(tokens) == 1:
            return Parsed(mentions[0].option, None)
        return Parsed(None, NA.BOTH if repeated or len({m.option for m in mentions}) > 1 else NA.NEITHER)
    return _choose(mentions, tokens, marked)


def _choose(mentions: Sequence[Mention], tokens: Sequence[str], marked: str) -> Parsed:
    denied = [_is_denied(tokens, m.place) for m in mentions]
    options = {m.option for m in mentions}
    if all(denied):
        return Parsed(None, NA.NEITHER)
    if len(options) > 1:
        letters = {m.option for m in mentions if m.kind is not MentionKind.TEXT}
        texts = {m.option for m in mentions if m.kind is MentionKind.TEXT}
        clash = len(letters) == len(texts) == 1 and not any(denied)
        return Parsed(None, NA.CONTRADICTION if clash else NA.BOTH)
    if any(denied):
        return Parsed(None, NA.HEDGED)
    if DANGLING.search(marked) or _is_question(tokens):
        return Parsed(None, NA.HEDGED)
    return Parsed(options.pop(), None)


def _is_denied(tokens: Sequence[str], place: int) -> bool:
    """Tell whether a negator stands close before an option, or a denial close behind it, in the same clause."""
    words = 0
    for i in range(place - 1, max(place - 1 - _WINDOW, -1), -1):
        if tokens[i] in _STOPS_BEFORE:
            break
        if negates(tokens[i]) and tokens[i : i + 2] != ["no", ","]:
            return True
        words += tokens[i][0].isalnum()
        if words > _REACH:
            break
    words = 0
    for word in tokens[place + 1 : place + 1 + _WINDOW]:
        if word in _STOPS_AFTER or not (word[0].isalnum() or word in _WRAPPING):
            break
        if denies(word):
            return True
        words += word[0].isalnum()
        if words > _REACH:
            break
    return False


def _is_question(tokens: Sequence[str]) -> bool:
    """Tell whether a sentence that names an option is a question."""
    is_question = False
    for place in range(len(tokens) - 1, -1, -1):
        if tokens[place] in _ENDS:
            is_question = tokens[place] == "?"
        elif is_question and Mention.from_token(place, tokens[place]) is not None:
            return True
    return False
