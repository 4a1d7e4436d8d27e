"""Prompt tokens that a server took from its cache of prefixes instead of computing them, as it says itself."""

from collections.abc import Iterable, Mapping

_CACHED, _COUNTED = "prompt_tokens_cached", "prompt_tokens_counted"
"""Among a session's findings: tokens from the cache, and all tokens of the prompts of which this is known."""
COUNTS = (_CACHED, _COUNTED)
"""Findings that are added where several models worked on one run."""


class CachedTokens:
    """Counts them; a reply that doesn't say counts in neither number, as nothing is known of it.

    Examples
    --------
    >>> tokens = CachedTokens()
    >>> tokens.findings()
    {}
    >>> tokens.count(100, 60)
    >>> tokens.count(100, None)
    >>> tokens.findings()
    {'prompt_tokens_cached': 60, 'prompt_tokens_counted': 100}
    """

    def __init__(self) -> None:
        self._cached = self._counted = 0

    def count(self, prompt: int | None, cached: int | None) -> None:
        """Enter one reply: tokens of its prompt, and how many of them came from the cache."""
        if prompt is not None and cached is not None:
            self._counted += prompt
            self._cached += min(cached, prompt)

    def findings(self) -> dict[str, int]:
        """Counts of cached tokens to add to a model's findings; empty if no reply stated any."""
        return {_CACHED: self._cached, _COUNTED: self._counted} if self._counted else {}


def cached_share(sessions: Iterable[Mapping[str, str | int | float | bool]]) -> float | None:
    """Return the share of prompt tokens from the cache over sessions, by their findings; None if it is not known.

    Examples
    --------
    >>> cached_share([{"prompt_tokens_cached": 60, "prompt_tokens_counted": 100}, {}])
    0.6
    >>> cached_share([{}]) is None
    True
    """
    counts = [(findings.get(_CACHED), findings.get(_COUNTED)) for findings in sessions]
    sane = [(c, n) for c, n in counts if isinstance(c, int) and isinstance(n, int) and 0 <= c <= n]
    counted = sum(n for _, n in sane)
    return sum(c for c, _ in sane) / counted if counted else None
