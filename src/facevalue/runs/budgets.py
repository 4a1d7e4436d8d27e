"""Budgets of audits: requests, hours, or money at prices that the user states."""

import re
from dataclasses import dataclass
from math import inf, isfinite
from typing import Literal

from facevalue.errors import SettingError

REQUESTS, HOURS, MONEY = "requests", "hours", "money"
_BUDGET = re.compile(r"([0-9][0-9_,]*(?:\.[0-9]+)?)\s*([A-Za-z]*)")
_UNITS = {"": 1.0, "requests": 1.0, "h": 1.0, "hours": 1.0, "min": 1 / 60}
_CURRENCY = 3


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a model, as its user states them; FaceValue knows none.

    Attributes
    ----------
    prompt, completion:
        Of a million tokens of prompts, and of replies.
    currency:
        In three letters; empty where it was not said.

    Examples
    --------
    >>> Prices(2.0, 8.0).cost(1_000_000, 500_000)
    6.0
    """

    prompt: float
    completion: float
    currency: str = ""

    def __post_init__(self) -> None:
        for price in (self.prompt, self.completion):
            if not 0 <= price < inf:
                raise SettingError(f"A price is that of a million tokens, 0 or more, not {price:g}.")

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float:
        """What so many tokens cost."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


@dataclass(frozen=True, slots=True)
class AuditBudget:
    """What an audit may take.

    Attributes
    ----------
    amount:
        How much, in its unit.
    unit:
        What it is counted in.
    currency:
        Of money, in lower case; else empty.

    Examples
    --------
    >>> AuditBudget(20, "money", "usd").text, AuditBudget(1.5, "hours").text, AuditBudget(200_000, "requests").text
    ('20.00 USD', '1.5 hours', '200,000 requests')
    """

    amount: float
    unit: Literal["requests", "hours", "money"]
    currency: str = ""

    @property
    def text(self) -> str:
        """For people."""
        return self.amount_text(self.amount)

    def amount_text(self, amount: float) -> str:
        """An amount in the unit of the budget, for people."""
        if self.unit == REQUESTS:
            return f"{amount:,.0f} requests"
        if self.unit == HOURS:
            return f"{amount:,.3g} hours"
        return f"{amount:,.2f} {self.currency.upper()}"


def budget_of(text: str) -> AuditBudget:
    """Understand a budget as it is typed.

    Raises
    ------
    SettingError
        It is none.

    Examples
    --------
    >>> budget_of("20usd"), budget_of("90min"), budget_of("200,000")
    (AuditBudget(amount=20.0, unit='money', currency='usd'), AuditBudget(amount=1.5, unit='hours', currency=''), \
AuditBudget(amount=200000.0, unit='requests', currency=''))
    """
    match = _BUDGET.fullmatch(text.strip())
    unit = match[2].lower() if match else ""
    if match is None or (unit not in _UNITS and len(unit) != _CURRENCY):
        raise SettingError(
            f"A budget is written 20usd (any currency of three letters), 2h, 90min, or 200000 (requests), not {text!r}."
        )
    amount = float(re.sub("[_,]", "", match[1])) * _UNITS.get(unit, 1.0)
    if not (isfinite(amount) and amount > 0):
        raise SettingError(f"A budget is more than nothing, not {text!r}.")
    if unit in ("", "requests"):
        if amount < 1 or amount % 1:
            raise SettingError(f"A budget of requests is a whole number of them, not {text!r}.")
        return AuditBudget(amount, "requests")
    return AuditBudget(amount, "hours") if unit in _UNITS else AuditBudget(amount, "money", unit)


def check_currency(budget: AuditBudget, prices: Prices | None, model: str) -> None:
    """Refuse money without prices, or in another currency than theirs."""
    if budget.unit != MONEY:
        return
    if prices is None:
        raise SettingError(
            f"A budget of {budget.text} needs the prices of {model}, which FaceValue does not know: give --price-in "
            f'and --price-out (of a million tokens), or a table [prices."{model}"] with `in` and `out` in the file of '
            "--config."
        )
    if prices.currency and prices.currency != budget.currency:
        raise SettingError(
            f"The budget is in {budget.currency.upper()} and the prices of {model} are in {prices.currency.upper()}: "
            "give both in one currency."
        )
    if not prices.prompt and not prices.completion:
        raise SettingError(
            f"The prices of {model} are 0, so that no budget of money limits anything: give it in requests or hours."
        )
