"""Completion in bash: words as they were typed, where bash ends a word at each `:` and `=`."""

import os
from typing import Any

from click.shell_completion import BashComplete, CompletionItem, add_completion_class, split_arg_string

_ENDS = ":="
"""Characters at which bash ends a word: of addresses, and of LABEL=RUN."""


@add_completion_class
class WholeWords(BashComplete):
    """Completes whole words, and answers with what stands behind the last of the characters that end one in bash."""

    source_template = BashComplete.source_template.replace(
        "$(env COMP_WORDS=", '$(env COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORDS='
    )

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one that is completed, and as much as there is of it."""
        line = os.environ.get("COMP_LINE")
        if line is None:  # of a script that an earlier version wrote
            return super().get_completion_args()
        words = split_arg_string(line)
        return words[1:] if line[-1:].isspace() else words[1:-1], "" if line[-1:].isspace() else words[-1]

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """An item, without what bash keeps of the word before it."""
        _, incomplete = self.get_completion_args()
        cut = 1 + max(map(incomplete.rfind, _ENDS))
        value = item.value[cut:] if cut and "COMP_LINE" in os.environ else item.value
        return f"{item.type},{value}"
