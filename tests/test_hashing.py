"""The request hash changes with everything that is shown or told, and with nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from facevalue.hashing import combined_hash, conditions_hash, question_hash, stimulus_hash
from facevalue.types import Option, Question, Sampling, Stimulus

QUESTION = Question("Which?", (Option("(a)", "kind", "up"), Option("(b)", "cold", "down")), "Be brief.", {"x": "y"})


@pytest.mark.parametrize(
    "other",
    [
        replace(QUESTION, prompt="Which ?"),
        replace(QUESTION, system=None),
        replace(QUESTION, system=""),
        replace(QUESTION, options=QUESTION.options[::-1]),
        replace(QUESTION, options=QUESTION.options[:1]),
        replace(QUESTION, options=(replace(QUESTION.options[0], label="(a"), QUESTION.options[1])),
        replace(QUESTION, options=(replace(QUESTION.options[0], label="(a)k", text="ind"), QUESTION.options[1])),
        replace(QUESTION, prompt="Which?B", system="e brief."),
    ],
)
def test_what_is_told_counts(other: Question) -> None:
    assert question_hash(other) != question_hash(QUESTION)


def test_an_earlier_conversation_counts_turn_by_turn() -> None:
    conversations = [
        (),
        (("user", "Hello."), ("assistant", "Hi.")),
        (("assistant", "Hello."), ("user", "Hi.")),
        (("user", "Hello.H"), ("assistant", "i.")),
        (("user", "Hello."), ("assistant", "Hi."), ("user", "Hello."), ("assistant", "Hi.")),
    ]
    asked = [replace(QUESTION, turns=turns) for turns in conversations]
    moved = replace(QUESTION, turns=(("up", "kind"),), options=())
    offered = replace(QUESTION, options=(Option("up", "kind", ""),))
    assert len({question_hash(one) for one in [*asked, moved, offered]}) == 7


def test_what_it_means_to_the_study_does_not_count() -> None:
    relabelled = tuple(replace(option, level="?") for option in QUESTION.options)
    assert question_hash(replace(QUESTION, factors={}, options=relabelled)) == question_hash(QUESTION)


def test_the_digest_counts_and_the_key_does_not() -> None:
    one = Stimulus("1", "abc", {}, tuple)
    assert stimulus_hash(one) == stimulus_hash(replace(one, key="2", factors={"a": "b"}))
    assert stimulus_hash(one) != stimulus_hash(replace(one, digest="abd"))


def test_conditions_count() -> None:
    base = Sampling()
    seen = {
        conditions_hash(base, 1, False),
        conditions_hash(base, 2, False),
        conditions_hash(base, 1, True),
        conditions_hash(replace(base, temperature=0.5), 1, False),
        conditions_hash(replace(base, top_p=0.5), 1, False),
        conditions_hash(replace(base, max_tokens=17), 1, False),
    }
    assert len(seen) == 6
    assert conditions_hash(replace(base, temperature=1), 1, False) == conditions_hash(base, 1, False)


def test_values_are_stored_and_must_stay() -> None:
    """If this fails, every run folder made so far refuses to be resumed: raise the format, and say so."""
    words = [np.array([word], dtype=np.uint64) for word in (1, 2, 3)]
    assert int(combined_hash(*words)[0]) == 0xD0734750FDE362B3
    assert question_hash(QUESTION) == 0x2141E3E218758BF8
    assert stimulus_hash(Stimulus("", "abc", {}, tuple)) == 0x5BDE822DC8424DFA
    assert conditions_hash(Sampling(), 1, False) == 0x8E1BC7A9BEAB36D1


def test_no_collisions_among_a_million() -> None:
    stimuli, questions = (grid.ravel().astype(np.uint64) for grid in np.meshgrid(np.arange(1000), np.arange(1000)))
    assert np.unique(combined_hash(stimuli, questions, np.zeros(10**6, dtype=np.uint64))).size == 10**6
