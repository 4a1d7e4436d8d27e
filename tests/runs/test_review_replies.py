"""Replies before people: what is asked about each."""

from pathlib import Path

import polars as pl

from facevalue.runs.reviews.replies import ANSWER, FORM, NO_ANSWER, reply_packet
from facevalue.runs.stored_run import StoredRun
from tests.golden.cases import unpacked


def test_each_field_of_a_form_is_asked_about_on_the_page_of_its_reply(tmp_path: Path) -> None:
    run = StoredRun.open(unpacked(tmp_path) / "visbias")
    packet, key = reply_packet(run, 60, 0)
    forms = [card for card in packet.cards if len(card.questions) > 1]
    of_forms = key.items.filter(stratum=FORM)
    assert key.sizes[FORM] > len(forms) > 1
    assert sum(len(card.items) for card in forms) == of_forms["item"].n_unique()
    assert of_forms.group_by("trial", "repeat").agg(pl.len()).height == len(forms)
    for card in forms:
        (_, prompt), (_, reply) = card.texts
        assert "form" in prompt
        assert reply
        assert all("was read as: " in question.text for question in card.questions)
    named = dict(of_forms.select("item", "read").iter_rows())
    words = {
        q.item: q.text.partition("was read as: ")[2].partition(". Is")[0] for card in forms for q in card.questions
    }
    assert all((words[item] == "nothing that counts") == (read == NO_ANSWER) for item, read in named.items())
    assert set(named.values()) <= {ANSWER, NO_ANSWER}
