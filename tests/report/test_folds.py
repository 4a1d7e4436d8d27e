"""Sections fold to a heading and a sentence; terms are explained once in each."""

import pytest
from markupsafe import Markup

from facevalue.protocol.lookup import Estimate
from facevalue.report.blocks.content import Content, Figure, PartContent, SectionContent, TextContent
from facevalue.report.html import TERMS, count_findings, definitions, explain_terms, finish_section, folds


def chart(*verdicts: str | None) -> Figure:
    estimates = [Estimate("gap", "m", {"group": str(i)}, value=0.1, verdict=v) for i, v in enumerate(verdicts)]
    return Figure("", "", Markup(""), tuple(estimates))


def test_a_section_folds_to_its_first_sentence_and_what_was_found() -> None:
    lead = TextContent("How far (Table 2 of the paper) cues move it. Read along a row.")
    table = PartContent("All", [chart("difference found", "inconclusive", None), chart("difference found")])
    (first, second) = folds([SectionContent("a", "A", "A", [lead, table]), SectionContent("b", "B", "Bees", [table])])
    assert first.sentence == "How far (Table 2 of the paper) cues move it. A difference was found in 1 of 2."
    assert first.contents[0] == TextContent("Read along a row.")
    assert (second.heading, second.sentence) == ("Bees", "A difference was found in 1 of 2.")
    assert (first.open, second.open) == (True, False)


def test_a_section_without_contents_is_its_sentence() -> None:
    (fold,) = folds([SectionContent("a", "A", "A", [TextContent("No species was shown.", "empty")])])
    assert (fold.sentence, fold.contents) == ("No species was shown.", [])


@pytest.mark.parametrize(
    ("contents", "sentence"),
    [
        ([], ""),
        ([chart(None)], ""),
        ([chart("inconclusive")], "No difference was found in the one comparison."),
        ([chart("difference found")], "A difference was found."),
        ([chart("not measurable", "not measurable")], "No comparison can be judged."),
        ([chart("inconclusive", "inconclusive")], "A difference was found in none of 2."),
    ],
)
def test_what_was_found_is_counted(contents: list[Content], sentence: str) -> None:
    assert count_findings(contents) == sentence


def test_terms_are_explained_at_first_use_in_our_own_texts_alone() -> None:
    html = (
        '<p>Below the noise floor; the page&#39;s level; 5 points.</p><p class="small">The floor.</p>'
        '<blockquote tabindex="0"><p>A verdict of drift.</p></blockquote><pre>margin</pre>'
        '<th scope="col" data-sort="text">Verdict</th><p>Waterfloor, flooring and eq. 5.</p>'
    )
    marked = explain_terms(html)
    names = ["noise floor", "the page&#39;s level", "points"]
    assert [piece.split("</button>")[0].split(">")[1] for piece in marked.split("<button")[1:]] == names
    assert marked.count("term-noise-floor") == 1
    assert Markup(definitions(marked)).count('class="definition"') == 3


def test_every_term_is_defined_once_and_found_as_it_is_named() -> None:
    assert len({term.id for term in TERMS}) == len(TERMS)
    for term in TERMS:
        name = {"Points": "5 points", "q": "q = .01", "p": "p = .01"}.get(term.name, term.name)
        assert f'popovertarget="{term.id}"' in finish_section(f"<p>{name}</p>"), name
