"""Values in requests to servers and in their replies, and refusals by a provider's own signal.

No list of such forms is complete, so nothing depends on it but three things: a refusal is not asked again, is called a
refusal, and does not count as a fault of the server. A request that failed in a form which is not known here is a
missing answer all the same. Users add their own words (`--refusal-words`).
"""

import ast
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from facevalue.errors import ModelError, SettingError
from facevalue.types import Status

_MOST_TOKENS = 2**32 - 1
"""More tokens than this are counted by nobody: such a number says that the reply is not to be trusted."""

_UNKNOWN = re.compile(
    r"(unsupported|unknown|unrecognized|unexpected|invalid) (request )?(parameter|argument|field|keyword)"
    r"|not supported|not permitted|not allowed|extra input",
    re.IGNORECASE,
)
"""How servers say that they don't know a parameter, as opposed to its value."""


def as_json(value: object) -> bytes:
    """Return a value as JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def unknown_parameter(complaint: str, names: Iterable[str]) -> str | None:
    """Return the first of some parameters that a server says it does not know.

    Examples
    --------
    >>> unknown_parameter("HTTP 400: Unknown parameter: 'seed'.", ["size", "seed"])
    'seed'
    >>> unknown_parameter("HTTP 400: seed: Input should be at least 0", ["size", "seed"]) is None
    True
    """
    if not _UNKNOWN.search(complaint):
        return None
    return next((name for name in names if re.search(rf"\b{re.escape(name)}\b", complaint)), None)


def named_parameter(complaint: str, spellings: Mapping[str, Sequence[str]]) -> str | None:
    """Return the parameter that a complaint names first, whatever else it says of it.

    `spellings`: what servers call each parameter that was sent.

    Examples
    --------
    >>> names = {"temperature": ["temperature"], "top_p": ["top_p", "topP"]}
    >>> named_parameter("HTTP 400: `temperature` is deprecated for this model.", names)
    'temperature'
    >>> named_parameter("HTTP 400: got an unexpected keyword argument 'topP'", names)
    'top_p'
    >>> named_parameter("HTTP 400: the image is too large", names) is None
    True
    """
    places = {
        name: match.start()
        for name, words in spellings.items()
        if (match := re.search(rf"(?<![\w-])(?:{'|'.join(map(re.escape, words))})(?![\w-])", complaint, re.IGNORECASE))
    }
    return min(places, key=lambda name: places[name], default=None)


def writable(text: str | None) -> str | None:
    """Return a text without halves of surrogate pairs, which some servers cut a reply in and no file can hold."""
    return text if text is None or text.isascii() else text.encode("utf-8", "ignore").decode("utf-8")


def count(value: object) -> int | None:
    """Return a count of tokens; None if it is no count.

    Raises
    ------
    ValueError
        No reply can have so many.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        return None
    if value > _MOST_TOKENS:
        raise ValueError("a count of tokens that no reply can have")
    return value


# Outages: so many failures that the other requests will fail, too.


_IN_A_ROW = 20
_MANY, _LATELY = 90, 100


class Outage:
    """Ends a run in which `_IN_A_ROW` requests, or `_MANY` of the last `_LATELY`, failed for whatever reason."""

    def __init__(self) -> None:
        self._row = 0
        self._lately: deque[bool] = deque(maxlen=_LATELY)

    def weigh(self, status: Status, error: str | None) -> None:
        """Look at what became of the next request, and why it failed if it did."""
        failed = status is Status.ERROR
        self._row = self._row + 1 if failed else 0
        self._lately.append(failed)
        if self._row < _IN_A_ROW and sum(self._lately) < _MANY:
            return
        many = f"{_IN_A_ROW} requests in a row" if self._row >= _IN_A_ROW else f"{_MANY} of {_LATELY} requests"
        raise ModelError(
            f"{many} failed for good, the last with: {(error or 'no reason').rstrip('.')}. "
            "What was answered is kept; run the same command again to go on."
        )


_MOST_VALUES, _MOST_LEVELS, _LONGEST, _SHORTEST = 500, 8, 4000, 3
"""Values of an error that are looked at, levels of nesting, characters of a text, and of a user's own words."""

_CODES = re.compile(
    "contentpolic|contentfilt|contentmoderat|contentmanagement|contentviolat|contentblock|contentsafety|contentrisk"
    "|contentexistsrisk|(?<!security)(?<!org)policyviolat|moderationblock|moderationerror|moderationfail"
    "|inputmoderat|outputmoderat"
    "|safetyviolat|safetyblock|safetyfilter|safetysystem|imagesafety|imageprohibited|prohibitedcontent|sensitivecontent"
    "|sensitiveword|newsensitive|datainspection|responsibleai|guardrail|modelarmor|blocklist|promptblock|inputflag"
    "|outputflag|dangerouscontent|unsafecontent|harmcategory|hatespeech|jailbreak|censor|contentwithheld"
    "|illegaldetect|promptinject|promptreject|inputreject|toxicity|piidetect|personident|faceident"
)
"""Parts of codes and names of errors with which providers decline, letters alone."""
_NUMBERS = frozenset({"1301", "1026", "1027", "10013", "10014", "10019"})
"""Numbers of errors: Zhipu; MiniMax (prompt, reply); iFlytek Spark (prompt, reply, tendency)."""
_ENDS = re.compile(
    "filter|safety|recitation|prohibited|refus|blocklist|blocked|spii|guardrail|moderat|sensitive|toxic|policy|flagged"
    "|censor|modelarmor|violat|unsafe|harmful|dangerous|hate|declin|denied|reject"
)
"""Parts of the words with which a reply ends that was withheld, letters alone."""
_PHRASES = re.compile(
    r"safety[ _-](system|filter|violation|check|guideline|polic|setting|reason|block)"
    r"|content[ _-]?((management|safety)[ _-])?(polic|filter|moderation|violat|restriction|guideline|inspection)"
    r"|moderated\b|moderation\b(?!-\w|[ _-](models?|endpoints?|apis?) (do|does|is|are|can|could|must|only|need|take)\b)"
    r"|guardrail|responsible ai|content exists risk|considered high[ -]risk"
    r"|(usage|use|community|safety|acceptable[ -]use) (guideline|polic)"
    r"|violat\w* .{0,60}(polic|guideline|terms|standard|rule)|(polic|guideline)\w* violation"
    r"|\b(nsfw|unsafe|sensitive|inappropriate|harmful|prohibited|disallowed|offensive|illegal)[ _]"
    r"(content|image|picture|prompt|material|information|input|output|text|words?)"
    r"|\b(content|image|picture|photo|prompt|input|output|request|response|text|words?|data)s?:? "
    r"((is|are|was|were|be|rejected|declined|deemed|considered|found|rated|as|to|potentially|likely):? ){0,4}"
    r"(unsafe|not safe|inappropriate|harmful|offensive|unlawful|toxic|sensitive|hateful)\b"
    r"|\b(image|picture|photo|text|prompt|content|input)s? (is |are )?illegal\W*$|\bcontains? (hate|violence)\b"
    r"|\b(contain|show|identif|recogni[sz]|describ|process)\w* ((a|an|the|real|identifiable|individual|or|of) ){0,3}"
    r"(person|people|persons|humans?|individuals?|faces?)\b"
    r"|\bmodel (has )?(refused|declined)\b|\bllama[ -]?guard\W+unsafe|\btoxicity\b|\bprompt[ _-]injection\b|\bpii\b"
    r"|pol[ií]tica de (contenido|uso)|política de (conteúdo|uso)|politique d|richtlinie"
    r"|\bflagged\b|\bcensored\b|\b(content|image|picture|photo|prompt|input|output|response|reply|answer|completion"
    r"|generation|message|text)s? ((has|have|been|is|are|was|were|being|\w+ly) ){0,4}(blocked|withheld|filtered)\b"
    r"|\b(blocked|withheld|filtered)\b([^.]{0,60}\b(content(?![ -]type)|prompts?|safety|polic(y|ies))"
    r"|( (the|this|your|model|model's))* (output|response|reply))\b|内容安全|敏感|违规|不安全|不当|不合规|违法",
    re.IGNORECASE,
)
"""Words in which providers say so."""
_OTHERWISE = re.compile(
    r"invalid[ _]value|supported values|parameter|(?<!invalid[ _])argument|too (large|long)"
    r"|api[ _-]?key|credential|authenticat|billing|quota|rate[ -]?limit|subscription|credit|payment|data policy"
    r"|privacy|firewall|network|\bip\b|ip address|proxy|\bcors\b|cloud(flare|front)|\bwaf\b|akamai|incapsula"
    r"|service controls|(security|access) polic|robots\.txt|referer|browser|captcha|country|region\b"
    r"|organi[sz]ation|(endpoint|deployment|service|account|user|key) (is |was )?(blocked|disabled|suspended)",
    re.IGNORECASE,
)
"""Words of other errors: of settings, and of keys, money, networks and places, which block everybody."""
_REASONS = frozenset({"blockreason", "blockreasonmessage", "flaggedinput"})
"""Fields that stand only where something was declined, letters alone."""
_FLAGS = frozenset({"filtered", "flagged", "blocked", "isblocked", "isrefusal"})
"""Fields that say so by being true."""
_NAMED = frozenset({
    "code", "type", "status", "errorcode", "statuscode", "reason", "reasons", "error", "category", "name", "errortype",
    "finishreason", "stopreason", "nativefinishreason", "action",
})  # fmt: skip
"""Fields that hold codes."""
_ENDINGS = frozenset({"finishreason", "stopreason", "nativefinishreason"})
"""Fields that say how a reply ended."""
_ECHOES = frozenset({"input", "messages", "prompt", "model", "id", "requestid", "usage", "url", "helpurl", "param"})
"""Fields in which a server repeats what it was sent, or says what it is."""
_NEVER = frozenset({401, 402, 404, 405, 407, 408, 425, 429})
"""HTTP statuses that are about the key, the address, the time or the number of requests."""


def is_refusal(payload: object, status: int | None = None) -> bool:
    """Return whether what a provider says in place of a reply is a refusal to answer rather than a failure.

    Parameters
    ----------
    payload:
        The body of its reply, the error in it, or a text.
    status:
        HTTP status, if there is one. A fault of the server (5xx) is a refusal only by its code.

    Examples
    --------
    >>> is_refusal({"error": {"message": "Input was flagged by moderation", "code": 403}}, 403)
    True
    >>> is_refusal({"error": {"message": "Unknown parameter: 'seed'.", "code": "unknown_parameter"}}, 400)
    False
    >>> is_refusal("Your API key was blocked for violation of our policy.", 403)
    False
    """
    if status in _NEVER:
        return False
    is_fault = status is not None and status >= 500
    texts: list[str] = []
    for name, value in _values([payload, _parse_quoted(payload)] if isinstance(payload, str) else payload, "", 0):
        if name in _REASONS and value not in (None, "", False, "BLOCK_REASON_UNSPECIFIED"):
            return True
        if name in _FLAGS and value is True:
            return True
        if isinstance(value, str):
            text = value[:_LONGEST]
            if _CODES.search(_letters(text)) or (name in _NAMED and text in _NUMBERS):
                return True
            if name in _ENDINGS and is_withheld_end(text):
                return True
            texts.append(text)
        elif name in _NAMED and isinstance(value, int) and str(value) in _NUMBERS:
            return True
    if is_fault or any(_OTHERWISE.search(text) for text in texts):
        return False
    return any(_PHRASES.search(text) for text in texts)


def is_withheld_end(word: str) -> bool:
    """Return whether a reply was withheld, by the word with which it ended (`finish_reason`, `stop_reason`).

    Examples
    --------
    >>> [is_withheld_end(word) for word in ("content_filter", "IMAGE_SAFETY", "guardrail_intervened", "stop", "length")]
    [True, True, True, False, False]
    """
    return bool(_ENDS.search(_letters(word)))


def checked_words(words: Sequence[str]) -> tuple[str, ...]:
    """The user's own words for a refusal, none of them too short to tell a refusal from an answer.

    Raises
    ------
    SettingError
        One is.
    """
    for word in words:
        if len(word.strip()) < _SHORTEST:
            raise SettingError(
                f"Words for a refusal have at least {_SHORTEST} characters, and {word!r} has not: answers hold it, too."
            )
    return tuple(words)


def holds_words(text: str | None, words: Sequence[str]) -> bool:
    """Return whether a text holds any of the user's own words for a refusal, ignoring case.

    Examples
    --------
    >>> holds_words("Denied by Example Corp AI Shield.", ("ai shield",)), holds_words("(a)", ())
    (True, False)
    """
    folded = (text or "").casefold()
    return any(word.casefold() in folded for word in words)


def _parse_quoted(text: str) -> object:
    """The object that an error quotes, as JSON or as Python writes it; None if it quotes none."""
    start, end = text.find("{"), text.rfind("}") + 1
    if not 0 <= start < end <= _LONGEST:
        return None
    for parser in (json.loads, ast.literal_eval):
        try:
            return parser(text[start:end])
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return None


def _letters(text: str) -> str:
    """Letters of a text, small ones."""
    return re.sub("[^a-z]", "", text.lower())


def _values(payload: object, name: str, level: int) -> Iterator[tuple[str, object]]:
    """Values at the ends of a nested error, each with the name of its field; what it echoes is left out."""
    if level > _MOST_LEVELS:
        return
    if isinstance(payload, Mapping):
        for key, value in list(payload.items())[:_MOST_VALUES]:
            field = _letters(str(key)[:80])
            if field not in _ECHOES or field in _REASONS:
                yield from _values(value, field, level + 1)
    elif isinstance(payload, list | tuple):
        for value in payload[:_MOST_VALUES]:
            yield from _values(value, name, level + 1)
    else:
        yield name, payload
