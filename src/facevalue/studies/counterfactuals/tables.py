"""Prompts of the paper (Tables 6, 7 and 15), and names of groups for people and in prompts."""

import tomllib
from collections.abc import Mapping
from importlib.resources import files

_PROMPTS = tomllib.loads(files(__package__).joinpath("tables", "prompts.toml").read_text("utf-8"))
MAIN: Mapping[str, str] = _PROMPTS["main"]
FURTHER: Mapping[str, str] = _PROMPTS["further"]
RATINGS: Mapping[str, str] = _PROMPTS["ratings"]
SALARY = "salary"
OPEN: Mapping[str, str] = {**MAIN, **FURTHER}
TITLES = {
    "describe": "Describe", "backstory": "Backstory", "pretend": "Pretend", "characteristics": "Characteristics",
    "personality": "Personality", "story": "Story", "emotions": "Emotions", "keywords": "Keywords",
    "competency": "Competency", "trustworthiness": "Trustworthiness", "work-ethic": "Work ethic", "hiring": "Hiring",
    "performance": "Performance", "warmth": "Warmth", "competence": "Competence", "salary": "Salary",
}  # fmt: skip
"""Prompts as the paper calls them."""
