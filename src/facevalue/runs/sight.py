"""Questions about pictures made on the spot, put to a model before a run: whether it sees what it is shown."""

import io
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import PIL.Image
import PIL.ImageDraw

from facevalue.checked_replies import ReplyCheck
from facevalue.errors import FaceValueError, SelfCheckError
from facevalue.models.base import Capabilities, Model, Selective
from facevalue.printable import printable
from facevalue.protocol.study import Study
from facevalue.runs.checks import shows_pictures
from facevalue.runs.requests import TrialNumbers
from facevalue.runs.settings import RunSettings
from facevalue.store.sight import LEAST_TOKENS, Sight
from facevalue.thinking import after_thinking
from facevalue.types import Image, Option, Question, Request, Response, Status, Stimulus

REQUESTS = 12
"""Requests of a check: questions about pictures, and two of them once more without a picture."""
_SIDE = 384
_WHITE, _BLACK = "white", "black"
_COLOURS = {"red": (220, 20, 20), "green": (20, 150, 40), "blue": (20, 60, 220), "yellow": (250, 220, 30)}
_COUNTS = {"one": ("one", "1"), "two": ("two", "2"), "three": ("three", "3"), "four": ("four", "4")}
_PLACES = {"left": (0.15, 0.5), "right": (0.85, 0.5), "top": (0.5, 0.15), "bottom": (0.5, 0.85)}
_SPOTS = ((0.3, 0.3), (0.7, 0.7), (0.7, 0.3), (0.3, 0.7))
_RADIUS = 32
_BARE = 2
_SEED = 20262
_QUOTED = 60  # characters of a reply that are kept
OFF = "--no-sight-check"
RECORDED = "the answers had been recorded before"


@dataclass(frozen=True, slots=True)
class _Item:
    """A picture, what is asked about it, and the right answer."""

    kind: str
    question: Question
    right: str
    data: bytes


def sight_of_run(
    before: Sight | None,
    settings: RunSettings,
    study: Study,
    can: Capabilities,
    numbers: TrialNumbers,
    ask: Callable[[], Sight],
) -> Sight | None:
    """Return what a run knows of its model's sight, which is asked once.

    Parameters
    ----------
    before:
        What earlier sessions of it knew.
    numbers:
        Its trials.
    ask:
        Asks the model, if that is needed (`look`).

    Returns
    -------
    None where it is no question: nothing is shown, or the model says itself what it sees.
    """
    is_question = settings.sight is not None and can.sight != "stated" and can.images_per_request
    if not is_question or not shows_pictures(study, numbers):
        return before
    if before is not None and (before.asked or not settings.sight):
        return before
    if can.sight == "recorded":
        return Sight(why_not=RECORDED)
    if not settings.sight:
        return Sight(why_not=OFF)
    return settings.known_sight or ask()


def look(study: Study, model: Model, *, exact: bool) -> Sight:
    """Ask the questions, drawn as the study's replies are; what fails for good here fails in the run, which says so."""
    items = _items()
    requests = list(_requests(study, items, exact=exact))
    if isinstance(model, Selective) and model.unfit(requests):
        return Sight(why_not="the model answers no such questions")
    replies: dict[int, Response] = {}
    try:
        for response in ReplyCheck(model).respond(iter(requests)):
            replies[response.trial] = response
    except SelfCheckError:  # it is done once: the run would not say it again
        raise
    except FaceValueError:
        pass
    answered = [(at, reply) for at, reply in sorted(replies.items()) if at < len(items) and _has_text(reply)]
    added = [
        replies[at].prompt_tokens - bare.prompt_tokens  # type: ignore[operator] # both are counted
        for at in range(_BARE)
        if (bare := replies.get(len(items) + at)) is not None and _has_text(bare) and bare.prompt_tokens is not None
        and at in replies and _has_text(replies[at]) and replies[at].prompt_tokens is not None
    ]  # fmt: skip
    return Sight(
        asked=len(answered),
        right=sum(_item_text(items[at], reply) == items[at].right for at, reply in answered),
        tokens=min(map(float, added), default=None),
        prompt_tokens=sum(reply.prompt_tokens or 0 for reply in replies.values()),
        completion_tokens=sum(reply.completion_tokens or 0 for reply in replies.values()),
        answers=tuple(
            f"{items[at].kind} {items[at].right}: {_quote_reply(items[at], reply)}" for at, reply in answered
        ),
        why_not="" if answered else "none of its questions was answered",
    )


def new_sight(before: Sight | None, now: Sight | None) -> Sight:
    """Return what was found out now; nothing where it was known before, or not asked."""
    return Sight() if now is None or before == now else now


def said_of(sight: Sight) -> tuple[str, ...]:
    """Results of the questions, for people; empty where none was asked."""
    if not sight.asked:
        return ()
    tokens = "" if sight.tokens is None else f"; a picture adds {sight.tokens:,.0f} tokens to a prompt"
    out = f"{sight.right} of {sight.asked} questions about pictures made on the spot were answered rightly{tokens}."
    from facevalue.measures.instrument import SIGHT_ALPHA, chance_of  # noqa: PLC0415 - scipy.stats takes a second to import

    if chance_of(sight.asked, sight.right) <= SIGHT_ALPHA:
        return (out,)
    if sight.tokens is not None and sight.tokens >= LEAST_TOKENS:
        return (f"{out} The model takes pictures in, as these tokens show, although it did not answer the simple "
                "questions.",)  # fmt: skip
    return (f"{out} Nothing shows so far that the model sees pictures: unless its answers turn out to depend on them, "
            "no groups will be called equivalent.",)  # fmt: skip


def _has_text(reply: Response) -> bool:
    return reply.status is not Status.ERROR


def _requests(study: Study, items: Sequence[_Item], *, exact: bool) -> Iterator[Request]:
    """Each picture with its question, then the first questions without a picture."""
    bare = Stimulus("sight: no picture", "", {}, tuple, 0)
    stimuli = [
        Stimulus(f"sight {at}", f"sight {at}", {}, lambda data=item.data: (Image(data, "image/png"),), 1)  # type: ignore[misc]
        for at, item in enumerate(items)
    ]
    for trial, (stimulus, item) in enumerate(zip([*stimuli, bare, bare], [*items, *items[:_BARE]], strict=True)):
        yield Request(
            trial, 0, study.draws.seeds[0], stimulus, item.question, study.draws.sampling, exact, study.draws.constrain
        )


def _items() -> list[_Item]:
    """Four colours, three counts and three places, in an order of answers that is the same each time."""
    order = random.Random(_SEED)  # noqa: S311 - no secret
    colours, counts, places = (order.sample(list(names), len(names)) for names in (_COLOURS, _COUNTS, _PLACES))
    out = [_item("colour", "What colour is the square?", colours, name, order) for name in colours]
    out += [_item("count", "How many dots are there?", counts, name, order) for name in counts[:3]]
    out += [_item("place", "Where in the picture is the dot?", places, name, order) for name in places[:3]]
    return out


def _item(kind: str, question: str, names: Sequence[str], right: str, order: random.Random) -> _Item:
    *firsts, last = order.sample(list(names), len(names))
    options = tuple(Option("", name, name) for name in (*firsts, last))
    prompt = f"{question} Answer with one word: {', '.join(firsts)} or {last}."
    picture = PIL.Image.new("RGB", (_SIDE, _SIDE), _WHITE)
    pen = PIL.ImageDraw.Draw(picture)
    if kind == "colour":
        pen.rectangle((_SIDE // 4, _SIDE // 4, 3 * _SIDE // 4, 3 * _SIDE // 4), fill=_COLOURS[right])
    for x, y in _SPOTS[: list(_COUNTS).index(right) + 1] if kind == "count" else ():
        _dot(pen, x, y)
    if kind == "place":
        _dot(pen, *_PLACES[right])
    file = io.BytesIO()
    picture.save(file, "PNG")
    return _Item(kind, Question(prompt, options), right, file.getvalue())


def _dot(pen: PIL.ImageDraw.ImageDraw, x: float, y: float) -> None:
    box = (x * _SIDE - _RADIUS, y * _SIDE - _RADIUS, x * _SIDE + _RADIUS, y * _SIDE + _RADIUS)
    pen.ellipse(box, fill=_BLACK)


def _item_text(item: _Item, reply: Response) -> str:
    """The one answer that a reply names, or that is likeliest; empty if there is none."""
    names = [option.text for option in item.question.options]
    if reply.probs is not None:
        top = max(reply.probs, default=0.0)
        likeliest = [name for name, p in zip(names, reply.probs, strict=True) if p == top > 0]
        return likeliest[0] if len(likeliest) == 1 else ""
    text = after_thinking(reply.text or "")
    mentions = [
        name for name in names if re.search(rf"\b(?:{'|'.join(_COUNTS.get(name, (name,)))})\b", text, re.IGNORECASE)
    ]
    return mentions[0] if len(mentions) == 1 else ""


def _quote_reply(item: _Item, reply: Response) -> str:
    """The reply itself, clipped; of probabilities the likeliest answer."""
    text = _item_text(item, reply) if reply.probs is not None else reply.text or str(reply.status)
    return printable(" ".join(text.split()))[:_QUOTED]
