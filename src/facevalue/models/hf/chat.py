"""Prompts as token ids, split into what the questions share and what is each one's own.

The processor is called once for the pictures, with the first question. What it makes of the pictures' marks in the text
is then put in place of the marks in the other questions' tokens.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

from facevalue.errors import DataError
from facevalue.models.hf.framing import frame_pictures
from facevalue.models.hf.loading import Loaded
from facevalue.models.hf.processors import picture_mark
from facevalue.types import Question

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import Tensor

BUSY = Lock()
"""Processors and tokenizers are not made for several threads."""
Row = list[int]
Messages = list[dict[str, Any]]

_PART = "{'type':"
"""How a part of a message looks where a template writes it out instead of what it holds."""


@dataclass(frozen=True, slots=True)
class Group:
    """Questions that share a prefix.

    `members` are their numbers among all questions. `inputs` is what the model takes to run the prefix, one row; None
    if it cannot be shared, and `full`, which makes all of one question, is to be used. `suffixes` are the token ids
    after the prefix, at least one for each member. `kind` says in what groups differ that a model may treat otherwise:
    pictures, a system message, earlier turns. `varied` makes a group of some of its questions, and of another one; if
    told so, about other pictures of another shape.
    """

    members: list[int]
    inputs: "dict[str, Tensor] | None"
    prefix_ids: Row
    suffixes: list[Row]
    full: "Callable[[int], Mapping[str, Tensor]]"
    kind: str = ""
    varied: "Callable[[Sequence[int], bool], Group] | None" = None

    def excess(self, row: int, more: int, context: int | None) -> str | None:
        """Return why a question with so many more tokens to come doesn't fit into the context, None if it does."""
        tokens = len(self.prefix_ids) + len(self.suffixes[row])
        if context is None or tokens + more <= context:
            return None
        return f"{tokens} tokens of prompt and {more} of reply don't fit into the model's context of {context}"


@dataclass(frozen=True, slots=True)
class WrittenChat:
    """Questions as the chat template puts them, and as tokens, with a single mark for each picture."""

    texts: list[str]
    rows: list[Row]


def write(loaded: Loaded, images: Sequence[object], questions: Sequence[Question]) -> WrittenChat:
    """Write questions about some pictures as the model takes them; errors as of `prepare`."""
    if images and not loaded.sees:
        raise DataError("This is a text-only model: it cannot be shown a picture.")
    texts = [render(loaded, len(images), question) for question in questions]
    return WrittenChat(texts, _tokens(loaded, [_around(loaded, text) for text in texts]))


def prepare(
    loaded: Loaded,
    images: "Sequence[Image]",
    questions: Sequence[Question],
    written: WrittenChat | None = None,
    full: "Callable[[int], dict[str, Tensor]] | None" = None,
) -> list[Group]:
    """Turn questions about the same pictures into groups that share a prefix.

    Pictures of which the processor would cut a part off are padded first (`facevalue.models.hf.framing`). Two questions
    are in different groups if what comes before the end of the pictures differs: the system message, earlier turns. One
    that the template refuses spoils the call with a `DataError`: ask for each alone to find it.

    `written`, and `full`, which makes all of one question, are taken where they are known.
    """
    chat_text = written or write(loaded, images, questions)
    rows, mark = chat_text.rows, _mark(loaded)
    if full is None:
        framed_images = frame_pictures(loaded.processor.image_processor, images)

        def full(number: int) -> "dict[str, Tensor]":
            return process_inputs(loaded, framed_images, chat_text.texts[number])

    groups: dict[tuple[int, ...], list[int]] = {}
    for number, row in enumerate(rows):
        start = tuple(row[: _last(row, mark) + 1]) if images else ()
        groups.setdefault(start, []).append(number)
    return [
        replace(
            _group(loaded, members, rows, mark, full),
            kind=_kind(len(images), questions[members[0]]),
            varied=partial(vary, loaded, images, questions, members),
        )
        for members in groups.values()
    ]


def vary(
    loaded: Loaded,
    images: "Sequence[Image]",
    questions: Sequence[Question],
    members: Sequence[int],
    places: Sequence[int],
    reshape: bool,
) -> Group:
    """Make the group that `Group.varied` does, of those members at some places."""
    ends = [questions[members[place]] for place in places]
    pictures, more = ([_reshape_image(image) for image in images], "And") if reshape else (images, "So")
    return prepare(loaded, pictures, [*ends, replace(ends[0], prompt=f"{more}: {ends[0].prompt}")])[0]


def _kind(images: int, question: Question) -> str:
    phrases = [f"{images} picture{'s' * (images != 1)}" if images else "text alone"]
    phrases += ["a system message"] * (question.system is not None) + ["earlier turns"] * bool(question.turns)
    return ", ".join(phrases)


def _reshape_image(image: "Image") -> "Image":
    """Return another picture of another shape."""
    width, height = image.size
    return image.rotate(180).resize((width, max(1, 2 * height // 3)))


def render(loaded: Loaded, images: int, question: Question) -> str:
    """Return a question as the model's chat template puts it, up to where the reply starts.

    Templates disagree on how a message is given: most take its parts, some a plain text. The form is taken in which
    all that was said comes out, and a mark for each picture.
    """
    texts = [*([question.system] if question.system else []), *(text for _, text in question.turns), question.prompt]
    refusal, mark = "", picture_mark(loaded.processor)
    if mark and any(mark in words for words in texts):
        raise DataError(f"The question contains {mark}, which is this model's mark for a picture.")
    own_mark = mark if loaded.placed else None  # with a mark there would be one picture too many
    mark = None if own_mark else mark
    for messages in _conversations(images, question, mark):
        try:
            text: str = loaded.tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        except Exception as error:  # templates raise what they like
            refusal = refusal or f"{error}"
            continue
        text = text.replace(own_mark, "") if own_mark else text
        marks = text.count(mark) if mark else images
        written = text.count(_PART) > sum(words.count(_PART) for words in texts)  # parts where a text was expected
        if all(words.strip() in text for words in texts) and marks == images and not written:
            return text
        refusal = refusal or "it leaves out a message or a picture"
    raise DataError(f"The model's chat template cannot put the question: {refusal}.")


def _conversations(images: int, question: Question, mark: str | None) -> list[Messages]:
    """Return the forms of a question's messages, the usual one first: by parts, as texts but the last, as texts."""
    before = [] if question.system is None else [("system", question.system)]
    before += question.turns
    messages: Messages = [{"role": role, "content": [{"type": "text", "text": text}]} for role, text in before]
    texts: Messages = [{"role": role, "content": text} for role, text in before]
    pictures = [{"type": "image"}] * images
    last = {"role": "user", "content": [*pictures, {"type": "text", "text": question.prompt}]}
    plain = {"role": "user", "content": (f"{mark}\n" * images if mark else "") + question.prompt}
    return [[*messages, last], [*texts, last], [*texts, plain]]


def _group(
    loaded: Loaded, members: list[int], rows: list[Row], mark: int | None, full: "Callable[[int], dict[str, Tensor]]"
) -> Group:
    """Split questions with the same start into prefix and suffixes."""
    first = full(members[0])
    tokens_of_first: Row = first["input_ids"][0].tolist()
    expanded = _expand_rows(loaded, tokens_of_first, [rows[number] for number in members], mark)
    if expanded is None:
        expanded = [tokens_of_first, *(full(number)["input_ids"][0].tolist() for number in members[1:])]
    shared = min(_common(expanded), min(len(row) for row in expanded) - 1)
    pictures, has_pixels = (
        _last(tokens_of_first, _picture_id(loaded)) + 1,
        any(name.startswith("pixel_values") for name in first),
    )
    if has_pixels and not pictures and _picture_id(loaded) is not None:
        raise DataError("The model's processor puts no picture into the prompt, so that the model would see none.")
    inputs = None
    if shared >= max(pictures, 1):
        size = first["input_ids"].shape
        # What goes with each token is cut, what goes with the pictures is not.
        inputs = {name: tensor[:, :shared] if tensor.shape[:2] == size else tensor for name, tensor in first.items()}
    return Group(members, inputs, tokens_of_first[:shared], [row[shared:] for row in expanded], full)


def pixels(loaded: Loaded, images: "Sequence[Image]") -> "dict[str, Tensor]":
    """Return all that the image processor by itself makes of pictures, on the model's device."""
    with _rejecting("the picture"):
        processed = loaded.processor.image_processor(list(images), return_tensors="pt")
    sent = processed.to(loaded.device, loaded.dtype)
    return {name: tensor for name, tensor in sent.items() if hasattr(tensor, "shape")}


@contextmanager
def _rejecting(subject: str) -> Iterator[None]:
    """Turn whatever a processor raises into a `DataError`; one picture or text at a time goes through it."""
    try:
        with BUSY:
            yield
    except Exception as error:  # image processors raise what they like
        raise DataError(f"The model's processor rejects {subject}: {type(error).__name__}: {error}") from error


def process_inputs(loaded: Loaded, images: "Sequence[Image]", text: str) -> "dict[str, Tensor]":
    """Return all that the processor makes of a text with its pictures, on the model's device."""
    opens = _opens(loaded, text)
    with _rejecting("the picture" if images else "the question"):
        processed = loaded.processor(
            text=[text], images=list(images) or None, return_tensors="pt", add_special_tokens=opens
        )
    sent: dict[str, Tensor] = dict(processed.to(loaded.device, loaded.dtype))
    sent.pop("labels", None)  # PaliGemma's processor adds what is for training
    return sent


def _opens(loaded: Loaded, text: str) -> bool:
    """Return whether the tokenizer is to put its opening token before a text: unless the template has."""
    return not (loaded.tokenizer.bos_token and text.startswith(loaded.tokenizer.bos_token))


def _tokens(loaded: Loaded, texts: list[str]) -> list[Row]:
    rows: dict[int, Row] = {}
    for opens in (False, True):  # many texts at once are several times faster
        places = [place for place, text in enumerate(texts) if _opens(loaded, text) is opens]
        if places:
            with BUSY:  # a processor that pads sets its tokenizer to do so
                tokenized = loaded.tokenizer([texts[place] for place in places], add_special_tokens=opens)["input_ids"]
            rows |= dict(zip(places, tokenized, strict=True))
    return [rows[place] for place in range(len(texts))]


def _mark(loaded: Loaded) -> int | None:
    """Return the token that marks a picture in a text, None if there is none."""
    mark = picture_mark(loaded.processor)
    return None if mark is None else int(loaded.tokenizer.convert_tokens_to_ids(mark))


def _picture_id(loaded: Loaded) -> int | None:
    """Return the token in whose place the model puts a picture."""
    token_id = getattr(loaded.model.config, "image_token_id", None)
    return None if token_id is None else int(token_id)


def _around(loaded: Loaded, text: str) -> str:
    """Return a text with what the processor puts around a picture, the picture still a single mark."""
    mark, edge = picture_mark(loaded.processor), loaded.around
    return text.replace(mark, f"{edge}{mark}{edge}") if mark and edge else text


def _expand_rows(loaded: Loaded, expanded_row: Row, rows: list[Row], mark: int | None) -> list[Row] | None:
    """Put what the processor made of the first question's pictures into the other questions' rows.

    The rows have one mark for a picture and are the same up to the last. None if that cannot be done safely: the first
    question doesn't come out as the processor has it, or what stands for the pictures begins or ends with a token that
    may merge with its neighbours.
    """
    if mark is None or mark not in rows[0]:
        return rows if rows[0] == expanded_row else None
    start, end = rows[0].index(mark), _last(rows[0], mark) + 1
    after = len(rows[0]) - end
    block = expanded_row[start : len(expanded_row) - after]
    if (
        not block
        or expanded_row[:start] != rows[0][:start]
        or expanded_row[len(expanded_row) - after :] != rows[0][end:]
    ):
        return None
    added_tokens = loaded.tokenizer.added_tokens_decoder
    for token in (mark, block[0], block[-1]):
        if (
            token not in added_tokens
            or not added_tokens[token].special
            or added_tokens[token].lstrip
            or added_tokens[token].rstrip
        ):
            return None
    return [row[:start] + block + row[end:] for row in rows]


def _last(row: Row, token: int | None) -> int:
    """Return where a token last stands, -1 if nowhere."""
    return max((place for place, token_there in enumerate(row) if token_there == token), default=-1)


def _common(rows: list[Row]) -> int:
    """Return how many tokens all rows start with alike."""
    low, high = min(rows), max(rows)  # all others lie between them
    return next((place for place, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), len(low))


def after_pictures(loaded: Loaded, group: Group) -> Group:
    """Return a group whose prefix ends with its pictures, or after one token: which it is, no other question decides.

    Special tokens right after a picture may belong to it.
    """
    assert group.inputs is not None
    has_pixels, picture = any(name.startswith("pixel_values") for name in group.inputs), _picture_id(loaded)
    end = len(group.prefix_ids) if has_pixels and picture is None else max(_last(group.prefix_ids, picture) + 1, 1)
    special = frozenset(loaded.tokenizer.all_special_ids) if has_pixels else frozenset()
    while end < len(group.prefix_ids) and group.prefix_ids[end] in special:
        end += 1
    size = group.inputs["input_ids"].shape
    inputs = {name: tensor[:, :end] if tensor.shape[:2] == size else tensor for name, tensor in group.inputs.items()}
    between = group.prefix_ids[end:]
    return replace(
        group,
        inputs=inputs,
        prefix_ids=group.prefix_ids[:end],
        suffixes=[[*between, *suffix] for suffix in group.suffixes],
    )
