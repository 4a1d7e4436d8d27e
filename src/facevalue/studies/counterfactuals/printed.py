"""Requests that the paper counts (Tables 5 and 8, sections 5.1 and A.2), from its design."""

from collections.abc import Callable, Mapping

from facevalue.protocol.printed_plans import PrintedBlock, PrintedPlan
from facevalue.studies.counterfactuals.tables import FURTHER, MAIN, RATINGS

SETS = {"race-gender": (7936, 12), "physical-gender": (5052, 10), "physical-race": (836, 30)}
"""Counterfactual sets, and images of each (Table 5)."""
SOCIAL = sum(sets * images for sets, images in SETS.values())
"""Images of SocialCounterfactuals."""
PATA = 4934
"""Images of PATA (section 4.1)."""
MODELS = {
    "LLaVA-7b": "Vicuna-7b-v1.5", "LLaVA-13b": "Vicuna-13b-v1.5", "BakLLaVA": "Mistral-7B-Instruct-v0.1",
    "InstructBLIP": "Vicuna-7b-v1.5", "LLaVA-Gemma": "Gemma-2b-it",
}  # fmt: skip
"""Open models, and the language models they were trained from (Table 16)."""
SEEDS, PATA_SEEDS = 3, 15
INTERVENTIONS = ("M1", "M2", "M3", "M4", "M5")
KEYWORDS = ("competency", "trustworthiness", "work-ethic")
"""Prompts of Table 20."""
OCCUPATIONS = 8
SAMPLED = {"physical-gender": 100, "race-gender": 100, "physical-race": 35}
"""Sets of each occupation that GPT-4o was asked about (section A.2)."""
SHARED = 757_800
"""M1 with Characteristics about physical-gender, which stands in two rows of Table 8."""


def table_8() -> PrintedPlan:
    """Generations of open models."""
    five, seeds = len(MODELS), SEEDS
    physical = SETS["physical-gender"][0] * SETS["physical-gender"][1]
    blocks = (
        PrintedBlock("main prompts", SOCIAL, len(MAIN), seeds, five),
        PrintedBlock("main prompts with M1", SOCIAL, len(MAIN), seeds, five),
        PrintedBlock("physical-gender with M1 to M5", physical, 1, seeds, five, len(INTERVENTIONS)),
        PrintedBlock("PATA", PATA, 1, PATA_SEEDS, five),
        PrintedBlock("further prompts", SOCIAL, len(FURTHER), seeds, five),
        PrintedBlock("further keyword prompts with M1", SOCIAL, len(KEYWORDS), seeds, five),
        PrintedBlock("ratings and salary", SOCIAL, len(RATINGS), 1, five),
    )
    assert physical * seeds * five == SHARED
    notes = (
        "Of physical-gender with M1 to M5, and of PATA, the prompt is Characteristics.",
        f"{SHARED:,} of them stand in two rows: M1 with Characteristics about physical-gender.",
        f"Of PATA the count has one prompt, though section 4.1 says five: these would be "
        f"{PATA * len(MAIN) * PATA_SEEDS * five:,}.",
        "Table 20, with the results of the further keyword prompts with M1, has four models (InstructBLIP is missing); "
        f"the count needs five. With four it would be {SOCIAL * len(KEYWORDS) * seeds * (five - 1):,}.",
    )
    total = sum(block.trials for block in blocks)
    return PrintedPlan("Table 8: generations of open models", blocks, total - SHARED, notes)


def gpt_4o() -> PrintedPlan:
    """Generations of GPT-4o for each prompt."""
    blocks = tuple(
        PrintedBlock(subset, OCCUPATIONS * sets * SETS[subset][1], 1, SEEDS, 1) for subset, sets in SAMPLED.items()
    )
    total = sum(block.trials for block in blocks)
    notes = (
        f"For each of {len(MAIN)} prompts, so {total * len(MAIN):,} in all.",
        'Section A.2 says "100 counterfactual sets across 8 occupations" (35 of physical-race); only as many sets of '
        "each occupation give its 78k, and the 8,000, 9,600 and 8,400 images of section D.4.",
    )
    return PrintedPlan("Section A.2: generations of GPT-4o for each prompt", blocks, total, notes)


def twin() -> PrintedPlan:
    """Generations of the language models behind the open models."""
    shared = list(MODELS.values())
    models = list(dict.fromkeys(shared))
    blocks = tuple(PrintedBlock(name, SOCIAL, 1, SEEDS, shared.count(name)) for name in models)
    note = (
        "LLaVA-7b and InstructBLIP share Vicuna-7b, which counts twice in the total: section 5.1 has "
        '"an equivalent number of generations from each LLM as before".'
    )
    return PrintedPlan("Section 5.1: generations of language models", blocks, SOCIAL * SEEDS * len(models), (note,))


PLANS: Mapping[str, Callable[[], PrintedPlan]] = {"8": table_8, "gpt-4o": gpt_4o, "twin": twin}


def paper_table(name: str) -> PrintedPlan:
    """What the paper counts: "8", "gpt-4o" or "twin".

    Examples
    --------
    >>> plan = paper_table("8")
    >>> plan.total, plan.distinct
    (57116970, 56359170)
    """
    return PLANS[name]()
