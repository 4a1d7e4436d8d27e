"""Option probabilities from the top-k log-probabilities that come with a reply.

A server that lists the k most likely tokens at every position of one reply says enough to know the probability of
each option, provided that the options part early. This module does the arithmetic and nothing else.
"""

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from facevalue.models._spelling import BYTES, HALF, Position, ends_within_character, join_texts, own_place, token_text
from facevalue.types import Option, Sampling

_OPENING = " \t\r\n\"'`*_“‘"
"""What may stand before an answer without changing it: blanks, quotes, Markdown."""

_ENOUGH_LETTERS = 3
"""So many letters of an option's text, shared with no other option, name it: "Inc" for "incompetent", but not "I"."""

_LARGEST_VOCABULARY = 2**18
_ROUNDING = 1e-6
"""Less unseen mass than this is the rounding of the visible probabilities."""


def read_positions(logprobs: object) -> list[Position] | None:
    """Read `choices[0].logprobs` of a chat completion.

    `logprobs`: the decoded JSON value, whatever it is.

    Returns None if the server gave no top-k log-probabilities.
    """
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not content:
        return None
    if not isinstance(content, list):
        raise ValueError("logprobs.content is not a list")
    positions = [_position(entry) for entry in content]
    return positions if all(position.top for position in positions) else None


def _position(entry: object) -> Position:
    token, logprob = _pair(entry)
    top = entry.get("top_logprobs") if isinstance(entry, Mapping) else None
    if top is not None and not isinstance(top, list):
        raise ValueError("top_logprobs is not a list")
    return Position(token, logprob, tuple(_pair(pair) for pair in top or ()))


def _pair(entry: object) -> tuple[str, float]:
    if not isinstance(entry, Mapping):
        raise ValueError("a token of the logprobs is not an object")
    token, logprob = entry.get("token"), entry.get("logprob")
    if not isinstance(token, str) or isinstance(logprob, bool) or not isinstance(logprob, int | float):
        raise ValueError("a token of the logprobs has no text or no number")
    token = token_text(token, entry.get("bytes"))
    try:
        number = float(logprob)
    except OverflowError:  # JSON has integers of any length
        raise ValueError("a log-probability of hundreds of digits") from None
    return token, log_probability(number)


def log_probability(value: float) -> float:
    """Return a log-probability that a model states, at most 0; rounding may have lifted it a hair above."""
    if math.isnan(value) or value > 0.01:
        raise ValueError(f"a log-probability of {value}")
    return min(0.0, float(value))


class OptionMass(NamedTuple):
    """Distribution of the probability of all replies to a question."""

    probs: tuple[float, ...]
    """Of each option, in order; at most 1 together."""
    unseen: float
    """Of replies that may be an option or none: they begin with tokens that were not listed, or with listed ones after
    which nothing is known. What is left is certainly no option (`other_mass`)."""

    @property
    def other_mass(self) -> float:
        """Probability of replies that are no option."""
        return max(0.0, 1.0 - math.fsum(self.probs) - self.unseen)


def option_probabilities(
    options: Sequence[Option], positions: Sequence[Position], sampling: Sampling, *, ended: bool, blanks: bool = True
) -> OptionMass:
    r"""Return the probability that a reply is each option, and how much could not be seen.

    Let :math:`x_{<i}` be the reply's own text before position `i`, :math:`S_i` its top-k tokens there and
    :math:`q_i(t)` their probabilities under the request's sampling (`visible_probabilities`). A continuation
    :math:`x_{<i}t` is *decided* for option `o` if it can only be `o`, *open* if it can still become several options
    or too little of one is there to tell, and otherwise no option. Then, with :math:`r_i = \prod_{j<i} q_j(x_j)`,

    .. math::

        P(o) &= \sum_{i=1}^{m} r_i \sum_{t \in S_i:\ x_{<i}t \to o} q_i(t), \\
        U &= \sum_{i=1}^{m} r_i \Big(1 - \sum_{t \in S_i} q_i(t)
             + \sum_{t \in S_i \setminus \{x_i\}:\ x_{<i}t\ \text{open}} q_i(t)\Big),

    where `m` is the first position at which the reply's own text is no longer open. "(a)" and "(b)" share "(", so
    they are told apart at the second token, weighted by the probability of the first; "a" as first token, a branch
    that the reply need not have taken, is counted as well. `U` is what is unseen: tokens beyond the top k, open
    branches that the reply did not take, a reply cut off while it was open, and parts of characters. It is never handed
    out. A listed token that begins no option is known to be none.

    An option labelled "(a)" with the text "competent" is spelt "(a)", "(a", "a" or "competent", in either case, after
    blanks, quotes or asterisks, and ends at a word boundary. A spelling that is whole counts at once, so a reply that
    begins with the article "A" counts as option (a): prompts should ask for "(a)".

    `options`: the question's options. `positions`: the reply's tokens in order. `sampling`: how replies are drawn; the
    log-probabilities are those of temperature 1 and no nucleus, whatever it says. `ended`: whether the reply ended by
    itself, as opposed to the token limit. `blanks`: whether tokens show the blanks before them; where they don't, an
    alternative counts only if a blank would change nothing. So does one that is spelt like a likelier one.

    Returns one probability per option, in order, and the unseen mass.

    Examples
    --------
    >>> yes, no = Option("", "Yes", "yes"), Option("", "No", "no")
    >>> listed = (("Yes", math.log(0.6)), (" no", math.log(0.3)), ("I", math.log(0.07)))
    >>> mass = option_probabilities([yes, no], [Position("Yes", math.log(0.6), listed)], Sampling(), ended=True)
    >>> [round(p, 6) for p in mass.probs], round(mass.unseen, 6), round(mass.other_mass, 6)
    ([0.6, 0.3], 0.03, 0.07)
    """
    spellings = [_spellings(option) for option in options]
    probs = [0.0] * len(options)
    text, reached, unseen, within = "", 1.0, 0.0, False
    for number, position in enumerate(positions, 1):
        onward = 0.0
        shares, beyond = visible_probabilities(position, sampling)
        unseen += reached * beyond
        likelier = {position.token}
        for token, share, label_shares in shares:
            goes_on = label_shares and number < len(positions)
            verdict = _verdict(join_texts(text, token), spellings, final=not token and not goes_on)
            if not label_shares:
                doubtful = not blanks or token in likelier
                if within or (
                    doubtful and verdict != _verdict(join_texts(text, " ", token), spellings, final=not token)
                ):
                    verdict = _OPEN  # it may complete the character or break it, or stand after a blank
                likelier.add(token)
            unknown = HALF in token if label_shares else token.endswith(HALF)
            if verdict is _OPEN and label_shares and not unknown:
                onward += share
            elif verdict is _OPEN or unknown:
                unseen += reached * share
            elif verdict is not None:
                probs[verdict] += reached * share
        within = not position.token
        text = join_texts(text, position.token)
        reached *= onward
        if not reached:
            break
    else:
        verdict = _verdict(text, spellings, final=ended)
        if verdict is _OPEN:
            unseen += reached
        elif verdict is not None:
            probs[verdict] += reached
    excess = max(1.0, math.fsum(probs))
    probs = [p / excess for p in probs]
    return OptionMass(tuple(probs), min(unseen, max(0.0, 1.0 - math.fsum(probs))))


def visible_probabilities(position: Position, sampling: Sampling) -> tuple[list[tuple[str, float, bool]], float]:
    r"""Return the probability with which each visible token is drawn here, and of all others together.

    With :math:`p` the visible probabilities at temperature 1 and :math:`m = 1 - \sum p` what is beyond the top k,

    .. math:: q(t) = \frac{p(t)^{1/T}}{\sum_{s} p(s)^{1/T} + n\, (m/n)^{1/T}} .

    The last term stands for the unseen tokens, none of which is likelier than the least visible one. It is their exact
    share at `T = 1` and the largest possible one at any other temperature, so that no option is overestimated: for
    `T < 1` they are as few as can be (:math:`n = m / p_{\min}`), for `T > 1` as many as a large vocabulary has.
    `T = 0` takes the likeliest token, ties in equal parts. `top_p` then keeps the likeliest tokens up to that mass.
    Unseen tokens that it cuts off count as unseen nevertheless if `T` is not 1: where the cut lies is then not known.

    `position`: a token of the reply and its alternatives. `sampling`: temperature and nucleus.

    Returns tokens with their probabilities and whether it is the one that the reply took, likeliest first, and the
    probability of unseen tokens.
    """
    own_position = own_place(position)
    entries = [(token, log, place == own_position) for place, (token, log) in enumerate(position.top)]
    if own_position is None:
        entries.append((position.token, position.logprob, True))
    entries.sort(key=lambda entry: (-entry[1], entry[0], not entry[2]))
    logs = [log for _, log, _ in entries]
    highest = logs[0]
    if highest == -math.inf:
        return [], 1.0
    if sampling.temperature == 0:
        best = logs.count(highest)
        return [(token, 1 / best, taken) for token, _, taken in entries[:best]], 0.0
    sharpness = 1 / sampling.temperature
    powers = [sharpness * log for log in logs]
    total = reduce(_log_sum, powers)
    unseen = 1.0 - math.fsum(map(math.exp, logs))
    beyond = 0.0
    if unseen > _ROUNDING:
        power_unseen = math.log(unseen / _LARGEST_VOCABULARY)
        if sharpness > 1:
            power_unseen = max(logs[-1], power_unseen)
        power = math.log(unseen) + (sharpness - 1) * power_unseen
        total = _log_sum(total, power)
        beyond = math.exp(power - total)
    nucleus, lacking = _nucleus([math.exp(power - total) for power in powers], sampling.top_p)
    if sampling.top_p < 1:
        beyond = lacking if sampling.temperature == 1 else max(lacking, beyond)
    return [(token, share, taken) for (token, _, taken), share in zip(entries, nucleus, strict=False)], beyond


def _nucleus(shares: Sequence[float], top_p: float) -> tuple[Sequence[float], float]:
    """Return the shares within the nucleus, likeliest first, and how much of it is not among them."""
    if top_p >= 1:
        return shares, 0.0
    nucleus: list[float] = []
    mass = 0.0
    for share in shares:
        if mass >= top_p:
            break
        nucleus.append(share)
        mass += share
    limit = max(mass, top_p)
    return [share / limit for share in nucleus], 1.0 - mass / limit


def _log_sum(a: float, b: float) -> float:
    high, low = max(a, b), min(a, b)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))


def _spellings(option: Option) -> tuple[str, ...]:
    label, text = (spelled.lstrip(_OPENING).rstrip().casefold() for spelled in (option.label, option.text))
    first = next((i for i, c in enumerate(label) if c.isalnum()), len(label))
    last = next((i for i in range(len(label), 0, -1) if label[i - 1].isalnum()), 0)
    return tuple(dict.fromkeys(s for s in (label, label[:last], label[first:last], text) if s))


_OPEN = -1


def _verdict(text: str, spellings: Sequence[tuple[str, ...]], *, final: bool) -> int | None:
    """Return the option that a reply beginning with `text` is, None if it is none, or `_OPEN`."""
    if ends_within_character(text):
        stem = text.rstrip(BYTES)
        return None if _verdict(stem, spellings, final=False) is None else _OPEN
    start = text.lstrip(_OPENING).casefold()
    complete = [max((len(s) for s in forms if _says(start, s)), default=0) for forms in spellings]
    begun = [any(len(s) > len(start) and s.startswith(start) for s in forms) for forms in spellings]
    longest = max(complete, default=0)
    said_whole = [i for i, length in enumerate(complete) if length and length == longest]
    alive = {i for i, yes in enumerate(begun) if yes} | set(said_whole)
    if len(said_whole) == 1 and (final or alive == set(said_whole)):
        return said_whole[0]
    if final or not alive:
        return None
    if len(alive) == 1 and sum(c.isalpha() for c in start) >= _ENOUGH_LETTERS:
        return alive.pop()
    return _OPEN


def _says(reply: str, spelling: str) -> bool:
    """Return whether `reply` begins with `spelling`, ending at a word boundary."""
    if not reply.startswith(spelling):
        return False
    rest = reply[len(spelling) :]
    return not (rest and rest[0].isalnum() and spelling[-1].isalnum())
