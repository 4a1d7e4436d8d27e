"""Budgets of requests and tokens a minute."""

import asyncio

from facevalue.servers.pool import Budget
from facevalue.servers.server import Waits


def test_a_part_of_a_budget_is_spent_at_that_part_of_the_rate() -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    async def take(budget: Budget, many: int) -> None:
        for _ in range(many):
            await budget.take()

    budget = Budget(60, None, Waits(sleep=sleep, clock=lambda: 0.0))
    asyncio.run(take(budget, 3))
    assert waited == [1.0, 2.0]
    budget.share(0.25)
    asyncio.run(take(budget, 2))
    assert waited[2:] == [3.0, 7.0], "four seconds each from now on; what was booked before stays"
