"""Replies of models that think aloud: what is said after the thinking, and thinking that has no end.

Models mark their thinking in many ways: `<think>`, `[THINK]`, `◁think▷`, `<seed:think>`, channels, "Thinking...". No
list of names is complete, so a mark is told by its form: a word for thinking alone in brackets. A closing mark whose
opening one is missing ends the thinking too, as many chat templates write the beginning themselves.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator
from enum import Enum
from functools import lru_cache
from itertools import islice
from typing import Any

import polars as pl

CUT_THINKING = "Cut off at the token limit before the model had ended thinking."
"""Why a reply that hit its limit is no answer."""
ENDLESS_THINKING = "The reply ended before the model had ended thinking."
"""Why a reply that ended by itself is no answer."""
OPENED = "<think>"
"""Put before a thought that came without a mark, so that it is read as one wherever the reply is read."""

_BRACKETS = "<＜[◁◀⟨⟪【⟦‹"
_OPEN, _CLOSE = rf"[{re.escape(_BRACKETS)}][|｜]?", r"[|｜]?[>＞\]▷▶⟩⟫】⟧›]"
_LETTER, _IN_NAME = r"[^\W\d_]", r"[\w:. \u0300-\u036f\u064b-\u065f\u0900-\u0dff-]"
"""What names begin with and hold, in any script: signs of vowels are no letters to `re`."""
_FIELD = r"(?:\s{1,3}[a-z]{1,20}=[^<>\[\]]{0,80})?"
_TAG = rf"{_OPEN}\s{{0,3}}(?P<slash>/?)\s{{0,3}}(?P<name>{_LETTER}{_IN_NAME}{{0,39}}){_FIELD}{_CLOSE}"
"""A name alone in brackets, open or closed; whether it means thinking, `_is_thinking` tells."""


def _fold(name: str) -> str:
    """Return a name without accents and the like, in one form of each letter."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    return "".join(letter for letter in letters if unicodedata.category(letter) != "Mn").strip()


_WORDS = tuple(
    map(
        _fold,
        ("think", "thinking", "thought", "thoughts", "reasoning", "思考", "思维", "推理", "推論", "생각", "추론"),
    )
)
"""Words for thinking, whatever stands before them (`xthink`, `antThinking`)."""
_FOREIGN = """思考 思考中 思考过程 思考過程 思考结束 思维 思維 思索 思路 想法 反思 推理 推理过程 推理過程
    推論 分析 分析过程 理由 考え 考察 熟考 検討 생각 사고 사고과정 추론 분석 고민 숙고
    размышление размышления рассуждение рассуждения мысль мысли мышление анализ раздумья думаю
    denken nachdenken gedanke gedanken gedankengang überlegung überlegungen ueberlegung denkprozess abwägung analyse
    réflexion réflexions pensée pensées raisonnement réfléchir penser
    pensamiento pensamientos pensando razonamiento reflexión análisis pensar
    pensamento pensamentos raciocínio reflexão análise pensiero pensieri ragionamento riflessione
    सोच सोचना विचार चिंतन तर्क विश्लेषण تفكير التفكير تحليل التحليل استدلال الاستدلال تأمل"""
_ALONE = frozenset((
    "reason", "rationale", "reflect", "reflection", "analysis", "scratchpad", "monologue", "deliberate", "deliberation",
    "deliberating", "cot", "ponder", "pondering", "introspection", "brainstorm", "brainstorming", "cogitate",
    "cogitation", *map(_fold, _FOREIGN.split()),
))  # fmt: skip
_PHRASES = frozenset(map(_fold, (
    "chain of thought", "scratch pad", "inner monologue", "internal monologue", "inner thoughts", "thought process",
    "thinking process", "reasoning process", "end think", "end thinking", "end of thinking", "end of thought",
    "end reasoning", "end of reasoning", "start thinking", "begin thinking", "begin of thought", "internal reasoning",
    "ход мыслей", "사고 과정", "생각 과정", "processus de pensée", "proceso de pensamiento", "cadena de pensamiento",
    "विचार प्रक्रिया", "عملية التفكير",
)))  # fmt: skip
_PARTS = re.compile(r"[:._-]+")
_ENDING = frozenset(("end", "stop", "close", "done", "思考结束"))
"""Parts of names that close: `end_of_thought`, `THINKING_END`."""
_CHANNEL = (
    r"(?:<\|start\|>\w{0,20})?<\|channel\|>(?P<channel>\w{1,20})[^<]{0,80}(?:<\|constrain\|>\w{0,20})?<\|message\|>"
)
_OPENING = (
    r"<unused94>(?:thought)?|<\|channel>\s{0,3}thought|<\|inner_prefix\|>"
    r"|<details\s[^<>]{0,80}reasoning[^<>]{0,80}>"
)
_CLOSING = r"<unused95>|<channel\|>|<\|inner_suffix\|>|</details>|<\|(?:end|return)\|>"
_MARKS = re.compile(
    rf"(?=[{re.escape(_BRACKETS)}])(?:{_CHANNEL}|(?P<opening>{_OPENING})|(?P<closing>{_CLOSING})|{_TAG})", re.IGNORECASE
)
_IN_WORDS = (
    (r"\s*thinking(?:\.\.\.|…)[ \t]*\n", r"(?:\.\.\.|…)\s*done thinking\.?"),  # Ollama's command line
    (r"\s*here(?: is|'s) my thought process:", r"here(?: is|'s) my response:"),  # Granite
    (r"(?-i:analysis(?=[A-Z]))", r"(?-i:assistant\s?final(?![a-z]))"),  # channels whose marks were left out
)
_SAID_TO_THINK = tuple((re.compile(opens, re.IGNORECASE), re.compile(ends, re.IGNORECASE)) for opens, ends in _IN_WORDS)
"""Words with which a reply opens its thinking, and those that end it."""
_FENCED = re.compile(
    r"\s*(?P<fence>`{3,}|~{3,})[ \t]*(?P<name>[^\s`~]{1,40})(?!\S).*?(?:(?P<end>(?P=fence))(?!\w)|\Z)", re.DOTALL
)
"""A fenced block that a reply begins with, perhaps without an end."""
_BRACKET, _BEGINNING = rf"[{re.escape(_BRACKETS)}]", r"\s*(?:```|~~~|thinking|here(?: is|'s)|analysis)"
_POSSIBLE = rf"(?i){_BRACKET}|\A{_BEGINNING}"
"""What every reply with a mark holds: a quick look before the slow one."""
_HAS_BRACKET, _BEGINS = re.compile(_BRACKET).search, re.compile(_BEGINNING, re.IGNORECASE).match
_PLAIN = re.compile(r"<\s*think(?:ing)?\s*>", re.IGNORECASE)
"""Marks that open wherever they stand in a reply."""
_SILENT = re.compile(r"(?:<\|?(?:start|begin|im_start|assistant|s|bos)\|?>|assistant|[\s#*`>])*\Z", re.IGNORECASE)
"""What may stand before the opening mark of a reply that begins with thinking."""
_SHORT = 200
_MOST = 10_000
"""Marks of a reply that are looked at."""
_END_ANYTHING = ("<|end|>", "<|return|>", "</details>", "<channel|>")
"""Marks that end what is said as well."""

_QUOTES = "«《「『"
"""Brackets in which a word for thinking alone is a mark: other words in them are quoted."""
_NAME = rf"(?![a-z]\w?\W){_LETTER}{_IN_NAME}{{1,30}}?"
"""An unknown name; one or two Latin letters are form (`<b>`) or an option."""
_UNKNOWN = re.compile(
    rf"\s*(?P<open>{_OPEN}|[{_QUOTES}])\s*(?P<name>{_NAME})\s*(?:{_CLOSE}|[»》」』])(?=\s*[^\s<\[])", re.IGNORECASE
)
_CLOSED = re.compile(
    rf"\s*{_OPEN}\s*(?P<name>{_NAME}){_FIELD}\s*{_CLOSE}"
    rf"(?>.*?{_OPEN}\s*(?:/|end[_ ])\s*(?P=name)\s*{_CLOSE})"
    r"(?![ \t]*(?-i:[a-z]+),?[ \t]+\w)(?=\W*\w)\s*",
    re.IGNORECASE | re.DOTALL,
)
"""A mark that is closed before something else is said, which does not go on with its sentence."""
_ANSWER = """answer 答案 答え 回答 解答 结论 結論 选择 選択 답 답변 정답 결론 ответ antwort réponse respuesta resposta
    risposta उत्तर जवाब الإجابة إجابة الجواب"""
_HEADING = rf"(?:final\s|最终|最終|최종\s?)?(?:{'|'.join(_ANSWER.split())})"
_UNDER_HEADING = re.compile(
    rf"[\[【]\s*{_HEADING}\s*[\]】]|^\W{{0,4}}{_HEADING}\W{{0,4}}[:：]", re.IGNORECASE | re.MULTILINE
)
"""Headings of answers."""
_HOLD_ANSWERS = frozenset(map(_fold, (
    *_ANSWER.split(), "final", "output", "response", "reply", "result", "conclusion", "choice", "option", "box",
    "selection", "selected", "pick", "decision", "verdict", "judgment", "judgement", "label", "rating", "score",
    "solution", "prediction", "最终答案", "最終回答", "选项", "结果", "結果", "결과", "선택", "выбор", "вывод", "итог",
    "результат", "auswahl", "ergebnis", "fazit", "choix", "résultat", "elección", "resultado", "conclusión", "escolha",
    "conclusão", "النتيجة", "निष्कर्ष", "परिणाम",
)))  # fmt: skip
_NO_THOUGHTS = frozenset((
    "json", "xml", "html", "yaml", "body", "code", "pre", "div", "span", "strong", "bold", "italic", "small", "mark",
    "img", "image", "table", "list", "font", "center", "color", "quote", "blockquote", "cite", "kbd", "samp", "var",
    "sub", "sup", "ins", "del", "section", "article", "main", "text", "math", "person",
)) | _HOLD_ANSWERS  # fmt: skip
"""Names of marks that hold answers, or form."""
_TALK = re.compile(
    r"""[\s*_\#>-]*(?:
    (?:okay|ok|alright|all\s+right|well|so|ah|hm+|got\s+it)\b[\s,.!…:-]*
        (?:so\b|let\b|now\b|i\s+(?:need|have|should|must|will|see)\b|i'll\b|we\b|first\b|the\s+(?:user|question|task)\b)
    | h+m+\b
    | let(?:'s|\s+me|\s+us)\s+(?:think|reason|figure|weigh)\b
    | (?:so,?\s+|now,?\s+)?the\s+user('s|\s+(?:wants?|is|asks?|asked|has|gave|needs?|provided))\b
    | 嗯 | 好的?[,，] | 首先[,，] | 用户 | 让我
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""Beginnings of thoughts in no mark, which no answer has and hardly a text."""
_WORKING = re.compile(
    r"""\W*(?:
    first(?:ly)?,?\s+(?:i|let|we)\b
    | let(?:'s|\s+me|\s+us)\s+(?:see|look|analy[sz]e|consider|examine|start|break|work|evaluate)\b
    | (?:so,?\s+|now,?\s+)?the\s+(?:question|task|prompt|instruction)s?\b
    | (?:i|we)\s+(?:need|have|should|must)\s+to\b
    | (?:i\s*am|i'm|we\s*are|we're)\s+(?:asked|being\s+asked|given|trying|supposed)\b
    | to\s+(?:answer|decide|determine|choose|solve|figure)\b
    | step\s+(?:1|one)\b | wait\b
    | (?:"""
    + "|".join(_FOREIGN.split())
    + r""")\s*\W{0,4}(?:[:：\n…]|\.\.\.)
    | (?:my\s+)?(?:thinking|thoughts?|reasoning|thought\s+process|chain\s+of\s+thought|analysis|rationale)
        \s*\W{0,4}(?:[:\n…]|\.\.\.)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""Beginnings of thoughts where one of several options is to be named."""
_ANSWERED = re.compile(
    rf"\bfinal\s+answer\b|\\boxed|<answer>|{_UNDER_HEADING.pattern}|^\W*answer\W*:", re.IGNORECASE | re.MULTILINE
)


class _MarkKind(Enum):
    OPENS, CLOSES, SPEAKS = range(3)


def after_thinking(text: str) -> str:
    """Return what is said besides the thinking; nothing where the reply begins with thinking that has no end.

    Examples
    --------
    >>> after_thinking("<think>(a)? No.</think>(b)"), after_thinking("[THINK](a)? N"), after_thinking("(a)")
    ('(b)', '', '(a)')
    >>> after_thinking("so it is (a)? No.◁/think▷(b)"), after_thinking("A thoughtful, reasoning person.")
    ('(b)', 'A thoughtful, reasoning person.')
    """
    answer, _ = _split_thoughts(text)
    return answer if answer == text else answer.lstrip()


def after_notes(text: str) -> str:
    """Return what is said behind marks of any name that are closed, where an answer alone is asked for.

    Examples
    --------
    >>> after_notes("<plan>(a)? No.</plan>(b)"), after_notes("<answer>(a)</answer> It is."), after_notes("<b>(a)</b>.")
    ('(b)', '<answer>(a)</answer> It is.', '<b>(a)</b>.')
    """
    while (mark := _CLOSED.match(text)) and not _holds_answer(mark["name"]):
        text = text[mark.end() :]
    return text


def ends_thinking(text: str) -> bool:
    """Return whether a mark in the text ends thinking, its own or one that the template opened."""
    return any(ends.search(text) for _, ends in _SAID_TO_THINK) or any(
        side is not _MarkKind.OPENS for side, _ in islice(_sides(text), _MOST)
    )


def remove_thinking(text: pl.Expr) -> pl.Expr:
    """Return a column of replies without what was thought besides."""
    return text.map_batches(_column, return_dtype=pl.String)


def endless_thought(text: str, *, truncated: bool, options: Collection[str] = ()) -> str | None:
    """Return a reply that is thinking without an end, marked as such; None for any other.

    Of a reply that was cut off, what begins like a thought counts as one, whether or not it is marked.

    `truncated`: whether the reply hit its limit. `options`: texts of the options, where one of several is to be named.

    Examples
    --------
    >>> endless_thought("[THINK]It looks like (b)", truncated=False)
    '[THINK]It looks like (b)'
    >>> endless_thought("Okay, so the user asks about (b)", truncated=True)
    '<think>Okay, so the user asks about (b)'
    >>> endless_thought("Okay, so the user asks about (b)", truncated=False) is None
    True
    """
    answer, endless = _split_thoughts(text)
    if endless and not answer.strip():
        return text
    if not truncated or not answer.strip() or _ANSWERED.search(answer):
        return None
    begins = _TALK.match(answer) or (options and (_WORKING.match(answer) or _unknown_mark(answer, options)))
    return f"{OPENED}{answer}" if begins else None


def marks_thinking(token: str) -> bool:
    """Return whether a token is a mark of thinking, so that it is kept where other marks of a tokenizer are dropped.

    Examples
    --------
    >>> [marks_thinking(token) for token in ("[THINK]", "◁/think▷", "<|im_end|>", "<|end|>")]
    [True, True, False, False]
    """
    mark = _MARKS.fullmatch(token)
    return mark is not None and (
        mark["opening"] is not None or mark[0] == "<unused95>" or _is_thinking(mark["name"] or "")
    )


def unsaid_tokens(tokenizer: Any) -> tuple[frozenset[int], bool]:
    """Return the special tokens of a tokenizer that are no part of a reply, and whether marks of thinking are others.

    A tokenizer leaves all special tokens out of a text, and some models mark their thinking with such: without these
    nobody could tell it from the reply.
    """
    special = dict(zip(tokenizer.all_special_ids, tokenizer.all_special_tokens, strict=False))
    left_out = frozenset(number for number, token in special.items() if not marks_thinking(str(token)))
    return left_out, len(left_out) < len(special)


def _column(texts: pl.Series) -> pl.Series:
    texts = texts.cast(pl.String)
    marked = texts.str.contains(_POSSIBLE)
    if not marked.any():
        return texts
    pieces = {text: after_thinking(text) for text in texts.filter(marked.fill_null(value=False)).unique()}
    return pl.Series(texts.name, [pieces.get(text, text) for text in texts], pl.String)


def _is_thinking(name: str) -> bool:
    """Return whether a name in brackets means thinking.

    Examples
    --------
    >>> [_is_thinking(name) for name in ("seed:think", "xthink", "end_of_thought", "thoughtful", "I think so")]
    [True, True, True, False, False]
    """
    name = _fold(name)
    if " " in name:
        return name in _PHRASES
    return any(word.endswith(_WORDS) or word in _ALONE for word in _PARTS.split(name))


def _sides(text: str) -> Iterator[tuple[_MarkKind, re.Match[str]]]:
    for mark in _MARKS.finditer(text):
        if (side := _side(*mark.group("channel", "name", "slash", "opening"))) is not None:
            yield side, mark


@lru_cache(maxsize=1024)
def _side(channel: str | None, name: str | None, slash: str | None, opening: str | None) -> _MarkKind | None:
    if channel is not None:
        return _MarkKind.SPEAKS if channel.lower() == "final" else _MarkKind.OPENS
    if name is None:
        return _MarkKind.OPENS if opening is not None else _MarkKind.CLOSES
    if not _is_thinking(name):
        return None
    ends = slash or not _ENDING.isdisjoint(re.split(r"[:._ -]+", name.casefold()))
    return _MarkKind.CLOSES if ends else _MarkKind.OPENS


def _split_thoughts(text: str) -> tuple[str, bool]:
    """Split thinking off a text: returns the rest, and whether thinking has no end."""
    if not (_HAS_BRACKET(text) or _BEGINS(text)):
        return text, False
    while (fence := _FENCED.match(text)) and _is_thinking(fence["name"]):
        if fence["end"] is None:
            return "", True
        text = text[fence.end() :]
    for opens, ends in _SAID_TO_THINK:
        if opens.match(text):
            end = max((end.end() for end in ends.finditer(text)), default=None)
            return ("", True) if end is None else (text[end:], False)
    marks = list(islice(_sides(text), _MOST))
    last_end = max((number for number, (side, _) in enumerate(marks) if side is not _MarkKind.OPENS), default=-1)
    pieces: list[str] = []
    depth, start, opening = 0, 0, ""
    for number, (side, mark) in enumerate(marks):
        if side is _MarkKind.OPENS and depth == 0:
            begins = not any(pieces) and mark.start() - start <= _SHORT and _is_silent(text[start : mark.start()])
            if not (number < last_end or _PLAIN.fullmatch(mark[0]) or (begins and _is_followed(mark, text))):
                continue
            pieces.append("" if begins else text[start : mark.start()])
            opening = mark[0]
        if side is _MarkKind.OPENS:
            depth = 1 if mark["channel"] is not None else depth + 1
        elif side is _MarkKind.SPEAKS:
            pieces, depth = [], 0
        elif depth:
            depth -= 1
        elif mark[0].lower() in _END_ANYTHING:
            pieces.append(text[start : mark.start()])
        else:
            pieces = []
        start = mark.end()
    if depth and opening.startswith(("[", "【")) and not opening.isascii():
        for heading in islice(_UNDER_HEADING.finditer(text, start), _MOST):
            depth, start = 0, heading.start()
    if depth == 0:
        pieces.append(text[start:])
    return "".join(pieces), depth > 0


def _is_silent(text: str) -> bool:
    return _SILENT.fullmatch(text) is not None


def _is_followed(mark: re.Match[str], text: str) -> bool:
    """Return whether anything follows a mark in square brackets: a list of one word looks like one, too."""
    return mark["name"] is None or mark[0][0] != "[" or text[mark.end() : mark.end() + _SHORT].strip() != ""


def _unknown_mark(text: str, options: Collection[str]) -> bool:
    """Return whether a reply begins with a mark of unknown name that is never closed, and is none of its options."""
    mark = _UNKNOWN.match(text)
    if mark is None:
        return False
    name = _fold(mark["name"])
    if mark["open"] in _QUOTES or (mark["open"][0] == "[" and not mark["name"].isupper()):
        return _is_thinking(name)
    is_closed = re.search(rf"/\s*{re.escape(name)}|end\w*\s?{re.escape(name)}", _fold(text[mark.end() :]))
    return name not in {_fold(word).strip("() .") for word in options} and not _holds_answer(name) and not is_closed


def _holds_answer(name: str) -> bool:
    """Return whether a mark of this name holds an answer, or is mere layout.

    Examples
    --------
    >>> [_holds_answer(name) for name in ("final_answer", "答案", "strong", "plan")]
    [True, True, True, False]
    """
    name = _fold(name)
    return name in _NO_THOUGHTS or not _HOLD_ANSWERS.isdisjoint(re.split(r"[:._ -]+", name))
