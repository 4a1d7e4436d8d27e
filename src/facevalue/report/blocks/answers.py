"""Stored answers and pictures of a report, made ready."""

from collections.abc import Sequence

from facevalue.measures.definitions import APART
from facevalue.protocol import blocks
from facevalue.report.blocks.content import (
    AnswerCard,
    AnswersContent,
    CaptionedPicture,
    Content,
    PictureRow,
    TextContent,
)
from facevalue.report.blocks.view import View
from facevalue.report.data import Album, AnyExample, Example, PairExample, Sentence, WholeSet
from facevalue.report.formatting import NOT_MEASURABLE, number
from facevalue.report.pictures import data_uri

MOST = 12
_SMALL = 144
"""Longest side of pictures in a gallery, in pixels."""


def pictures(gallery: Album) -> PictureRow:
    """Make a row of the pictures of one unit."""
    thumbnails = (CaptionedPicture(caption, data_uri(data, _SMALL)) for caption, data in gallery.pictures)
    return PictureRow(gallery.title, tuple(picture for picture in thumbnails if picture.uri))


def widest(whole_set: WholeSet) -> PictureRow:
    """A set with what was said of each picture, the highest score first."""
    replies = sorted(whole_set.replies, key=lambda reply: -reply[1])
    thumbnails = (
        CaptionedPicture(f"{caption}: {number(score, '1')}", data_uri(data, _SMALL) if data else None, said=text)
        for caption, score, text, data in replies
    )
    return PictureRow(f"{whole_set.title} ({whole_set.model})", tuple(thumbnails))


def answers(block: blocks.StoredAnswers, view: View, examples: Sequence[AnyExample]) -> list[Content]:
    """Stored answers, a dozen at most."""
    picked = [e for e in examples if isinstance(e, (Example, PairExample)) and not isinstance(e, Sentence)][:MOST]
    heading: list[Content] = [TextContent(block.heading, "h3")] if block.heading else []
    if not picked:
        return [*heading, TextContent(block.empty, "empty")] if block.empty else []
    contents = [_compared(e, view) if isinstance(e, Example) else _answer(e) for e in picked]
    wide = any(isinstance(e, PairExample) for e in picked)
    return [*heading, TextContent(block.lead), AnswersContent(contents, wide)]


def _compared(e: Example, view: View) -> AnswerCard:
    """A stimulus without and with what was changed."""
    cue = view.titles.variation(e.attribute, e.variation)
    attribute = view.titles.get("attribute", e.attribute)
    shift = NOT_MEASURABLE
    if e.base_phi is not None and e.variant_phi is not None:
        shift = number(e.variant_phi - e.base_phi, APART, signed=True)
    sides = tuple(
        (
            CaptionedPicture(caption, data_uri(picture), e.no_picture),
            (("preference score", NOT_MEASURABLE if phi is None else number(phi, "probability")),),
            reply,
            choice,
        )
        for picture, caption, reply, phi, choice in (
            (e.base_image, e.base_title, e.base_answer, e.base_phi, e.base_choice),
            (e.variant_image, cue, e.variant_answer, e.variant_phi, e.variant_choice),
        )
    )
    finding = f"{view.titles.poles(e.scenario)}: shift {shift} · {attribute}"
    return AnswerCard(e.title, finding, e.model, sides, e.prompt)


def _answer(e: PairExample) -> AnswerCard:
    side = (CaptionedPicture("", data_uri(e.image, e.longest), e.no_picture), (), e.answer, e.choice)
    return AnswerCard(e.title, e.finding, e.model, (side,), e.prompt, e.options, e.left, e.right)
