"""Budgets of requests and tokens a minute, spent evenly."""

from facevalue.servers.server import Waits

_FIRST_GUESS = 1000.0
"""Tokens that a request is taken to cost until a server has said what one costs."""


class _Meter:
    """Something that may be used at an even rate.

    `per_minute`: how much may be used a minute; None for no limit.
    """

    def __init__(self, per_minute: float | None) -> None:
        self._seconds_each = 60 / per_minute if per_minute else 0.0
        self._free_at = float("-inf")
        self._part = 1.0

    def reserve(self, amount: float, now: float) -> float:
        """Book an amount and return the seconds until it may be used."""
        start = max(self._free_at, now)
        self._free_at = start + amount * self._seconds_each / self._part
        return start - now

    def share(self, fraction: float) -> None:
        """Use only this part of the rate from now on."""
        self._part = fraction

    def correct(self, amount: float) -> None:
        """Book so much more (or less) after the fact."""
        self._free_at += amount * self._seconds_each / self._part


class Budget:
    """Spends requests and tokens evenly over the minute.

    What a request will cost in tokens is guessed as the mean cost so far and put right by its actual cost.

    `rpm`, `tpm`: requests and tokens a minute; None for no budget. `waits`: the clock and how to wait.
    """

    def __init__(self, rpm: float | None, tpm: float | None, waits: Waits) -> None:
        self._requests, self._tokens = _Meter(rpm), _Meter(tpm)
        self._waits = waits
        self._spent = 0.0
        self._counted = 0

    async def take(self) -> float:
        """Wait until one more request may be sent; return the tokens booked for it."""
        guess = self._spent / self._counted if self._counted else _FIRST_GUESS
        now = self._waits.clock()
        wait = max(self._requests.reserve(1, now), self._tokens.reserve(guess, now))
        if wait > 0:
            await self._waits.sleep(wait)
        return guess

    def share(self, fraction: float) -> None:
        """Spend only this part from now on, as others spend the rest."""
        self._requests.share(fraction)
        self._tokens.share(fraction)

    def settle(self, booked: float, actual: int) -> None:
        """Put a booking right.

        `booked`: what `take` returned for the request. `actual`: the tokens that it cost, prompt and reply.
        """
        self._spent += actual
        self._counted += 1
        self._tokens.correct(actual - booked)
