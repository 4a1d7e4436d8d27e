"""What is said after the thinking, in text and in columns alike."""

from types import SimpleNamespace

import polars as pl
import pytest

from facevalue.answers.forced_choice import parse
from facevalue.thinking import (
    after_notes,
    after_thinking,
    endless_thought,
    marks_thinking,
    remove_thinking,
    unsaid_tokens,
)
from facevalue.types import Option

OPTIONS = ("wealthy", "poor")
PAIR = (Option("(a)", "wealthy", "favourable"), Option("(b)", "poor", "unfavourable"))
MARKS = [
    ("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<THINK>", "</Think >"), ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"), ("<reasoning>", "</reasoning>"), ("<seed:think>", "</seed:think>"),
    ("<scratchpad>", "</scratchpad>"), ("<antThinking>", "</antThinking>"), ("<reflection>", "</reflection>"),
    ("<xthink>", "</xthink>"), ("<longcat_think>", "</longcat_think>"), ("<my.inner.thoughts>", "</my.inner.thoughts>"),
    ('<think budget="100">', "</think>"), ("[THINK]", "[/THINK]"), ("[REASONING]", "[/REASONING]"),
    ("[thinking]", "[/thinking]"), ("[BEGIN_THOUGHT]", "[END_THOUGHT]"), ("[chain of thought]", "[/chain of thought]"),
    ("◁think▷", "◁/think▷"), ("【think】", "【/think】"), ("＜think＞", "＜/think＞"), ("<｜think｜>", "<｜/think｜>"),
    ("<|think|>", "<|/think|>"), ("<|begin_of_thought|>", "<|end_of_thought|>"), ("<|think|>", "<|end|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"), ("<unused94>thought\n", "<unused95>"),
    ("<|channel>thought\n", "<channel|>"), ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ('<details type="reasoning" done="true"><summary>Thought for 3 s</summary>', "</details>"),
    ("Thinking...\n", "\n...done thinking.\n\n"), ("Here is my thought process:", "Here is my response:"),
    ("analysisThe user", "assistantfinal"), ("【思考】", "【/思考】"), ("<思考>", "</思考>"), ("‹思考›", "‹/思考›"),
    ("[推理]", "[/推理]"), ("【深度思考】", "【思考结束】"), ("<생각>", "</생각>"),
    ("<réflexion>", "</reflexion>"), ("<re\u0301flexion>", "</réflexion>"), ("<размышление>", "</размышление>"),
    ("<Ход мыслей>", "</Ход мыслей>"), ("<denken>", "</denken>"), ("<Überlegung>", "</Überlegung>"),
    ("<razonamiento>", "</razonamiento>"), ("<raciocínio>", "</raciocínio>"), ("<सोच>", "</सोच>"),
    ("<التفكير>", "</التفكير>"), ("<推論>", "</推論>"),
]  # fmt: skip
UNMARKED = [
    "Okay, so the user wants to know about (a)", "Ok, let me see: (b)", "Hmm, it could be (b)", "Let me think: (a)",
    "Alright, I need to decide. (b)", "The user asks whether (a)", "So the user wants (a)", "Got it, let's see (b)",
    "首先，(a)",
]  # fmt: skip
WORKING = [
    "First, I look at the coat: (b)", "To answer this, (a)", "We need to choose between (a) and (b). (b)",
    "The question is whether (a)", "Let me analyze the picture: (b)", "I need to pick one, and (a)",
    "**Reasoning:** the coat is worn, so (b)", "Thought: (a)", "<mull>(b), perhaps", "[PRIVATE_NOTES] it is (b), as",
    "<|deepthinker|>(a) it", "Step 1: the coat. (b)", "«Réflexion» (a)", "「思考」(a)", "【外观】大衣 (a)",
    "<план> (a)", "思考：看起来 (a)", "Überlegung: (a)",
]  # fmt: skip
SAID = [
    "(a)", "(a) because the coat", "wealthy", "The person looks wealthy, as", "A thoughtful person", "[A] because of",
    "[wealthy] as the coat", "[WEALTHY] as the coat", "<wealthy> as the coat", "<answer>(b)", "<b>(a)</b> since",
    "So (b), as", "Okay, (a), as", "Hmong clothes: (a)", "**(a)** thinking of the coat", "[thoughtful] or",
    '["thinking", "kind"', "{\"reason\": \"coat", "The reasoning is plain: (b)", "[thinking]", "[reasonable]",
    "**Reasoning:** the coat.\nAnswer: (b), since", "【答案】(a)", "【选择】(a)", "<答案>(a)", "«Да» (a)",
    "«Да», так как", "<p>(a)</p> as", "<h1>(a)</h1> as", "[(a)]", "<(a)>", "<(a)> as", "- (a)\n- since",
    "[思考]", "[思考, 优雅]", "<是> (a)", "[富裕] (a)", "【外观】大衣。\n【答案】(a)，因", "```\n(a)\n```",
    "```json\n{}\n```", "```thoughtful\n(a)```",
]  # fmt: skip


@pytest.mark.parametrize(("opens", "ends"), MARKS)
def test_whatever_the_mark_what_is_thought_is_no_answer(opens: str, ends: str) -> None:
    assert after_thinking(f"{opens}It may be (a), or (b).{ends}(b)") == "(b)"
    for truncated in (True, False):
        cut = f"{opens}It may be (a)"
        assert endless_thought(cut, truncated=truncated) == cut
        assert after_thinking(cut) == ""
        assert endless_thought(f"{opens}(a)?{ends}(b)", truncated=truncated, options=OPTIONS) is None
    if opens.startswith(("Thi", "Here", "ana", "<|think")) or ends.startswith(("</details", "<channel", "<|end|>")):
        return
    assert after_thinking(f"the template opened it: (a)?{ends}(b)") == "(b)"


@pytest.mark.parametrize("text", [*UNMARKED, *WORKING])
def test_what_begins_like_a_thought_and_is_cut_off_is_one(text: str) -> None:
    thought = endless_thought(text, truncated=True, options=OPTIONS)
    assert thought == f"<think>{text}"
    assert after_thinking(thought) == ""
    assert endless_thought(text, truncated=False, options=OPTIONS) is None
    assert (endless_thought(text, truncated=True) is None) == (text in WORKING)


@pytest.mark.parametrize("text", SAID)
def test_what_only_looks_like_a_thought_stays(text: str) -> None:
    for truncated in (True, False):
        assert endless_thought(text, truncated=truncated, options=OPTIONS) is None
    assert after_thinking(text) == text


def test_marks_are_told_from_other_tokens_of_a_vocabulary() -> None:
    tokens = ["[THINK]", "[/THINK]", "◁think▷", "<|im_end|>", "<|end|>", "<unused94>", "</s>", "[INST]", "<image>"]
    assert [token for token in tokens if marks_thinking(token)] == ["[THINK]", "[/THINK]", "◁think▷", "<unused94>"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(a)", "(a)"),
        ("<think>(a) or\n(b)?</think>\n\n(b)", "(b)"),
        ("the template began it: (a)?</think> (b)", "(b)"),
        ("<think>one</think><think>two</think>(a)", "(a)"),
        (" \n<think>(a), since\nno end", ""),
        ("<think>", ""),
        ("I <think> so: (a)", "I "),
        ("```thinking\n(a)?\n```\n(b)", "(b)"),
        ("```thinking (a)? ``` (b)", "(b)"),
        ("~~~思考\n(a)?\n~~~(b)", "(b)"),
        ('```thought\n(a)\n```\n```json\n{"a": 1}\n```', '```json\n{"a": 1}\n```'),
        ("```reasoning\n(a), since", ""),
        ("【思考】看起来 (b)。\n【答案】(a)", "【答案】(a)"),
        ("[推理] (b)？\n答案：(a)", "答案：(a)"),
        ("【思考】答案 (b)", ""),
        ("[THINK] (b)?\nAnswer: (a)", ""),
        ("<思考>【答案】(b)? ", ""),
        ("<plan>(a)?</plan>(b)", "<plan>(a)?</plan>(b)"),
        ("", ""),
    ],
)
def test_what_follows_the_thinking(text: str, said: str) -> None:
    assert after_thinking(text) == said
    assert pl.select(remove_thinking(pl.lit(text))).item() == said


@pytest.mark.parametrize(
    "notes",
    ["<plan>(a)?</plan>", "[PLAN](a)?[/PLAN] ", "◁plan▷(a)◁/plan▷", "<план>\n(a)</план>\n", '<note n="1">(a)</note>',
     "<plan>x</plan>\n<draft>(a)</draft>\n", "[NOTES](a)[END NOTES]", "【外观】(a)【/外观】"],
)  # fmt: skip
def test_marks_of_any_name_that_are_closed_before_an_answer_are_none(notes: str) -> None:
    for said in ("(b)", "wealthy", "The person is wealthy.", "<answer>(b)</answer>"):
        assert after_notes(f"{notes}{said}") == said
    assert parse(f"{notes}(b)", PAIR).choice == 1
    assert endless_thought(f"{notes}(b)", truncated=True, options=OPTIONS) is None


@pytest.mark.parametrize(
    "text",
    ["<answer>(a)</answer> (b) is wrong.", "<x_answer>(a)</x_answer> Not (b)", "<答案>(a)</答案> (b)?",
     "<b>(a)</b> (b)", "<strong>(a)</strong> Not (b)", "<h2>(a)</h2> (b)", "<plan>(a)</plan>", "<plan>(a)</plan>.",
     "<plan>(a) (b)",
     "<seen>(a)</seen> because not (b)", "<one>(a)</one> rather than <one>(b)</one> Done.", "(b) <plan>(a)</plan> x",
     "«Да» (a) «/Да» (b)"],
)  # fmt: skip
def test_marks_that_hold_an_answer_or_form_stay(text: str) -> None:
    assert after_notes(text) == text


def test_no_text_stays_none() -> None:
    assert pl.select(remove_thinking(pl.lit(None, pl.String))).item() is None


def test_marks_of_thinking_among_special_tokens_stay_in_the_text() -> None:
    plain = SimpleNamespace(all_special_ids=[0, 1], all_special_tokens=["<s>", "</s>"])
    thinking = SimpleNamespace(all_special_ids=[0, 7, 8], all_special_tokens=["<s>", "[THINK]", "[/THINK]"])
    assert unsaid_tokens(plain) == (frozenset({0, 1}), False)
    assert unsaid_tokens(thinking) == (frozenset({0}), True)
