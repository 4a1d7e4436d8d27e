"""How far each benchmark lies from what is promised, from its committed results."""

import json
from pathlib import Path
from textwrap import shorten

from tools.site.charts import Axis, Row, chart

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def page() -> str:
    """Of each benchmark with a promise, the case that is nearest to it."""
    rows = []
    for path in sorted(RESULTS.glob("*.json")):
        cases = [(margin, one) for one in json.loads(path.read_text())["results"] if (margin := _margin(one))]
        if cases:
            margin, one = min(cases, key=lambda case: case[0])
            text = f"{one['value']:,g} {one['unit']} ({one['target']})"
            label = shorten(f"{path.stem}: {one['case']}", 52, placeholder=" …")
            rows.append(Row(label, margin, margin, margin, text=text))
    return chart(
        "Times better than promised: of each benchmark, its nearest case",
        rows,
        Axis((0.5, 1, 2, 5, 10, 100), (1, 100), logarithmic=True),
    )


def _margin(case: dict[str, object]) -> float | None:
    target, value = str(case["target"]).split(), case["value"]
    if len(target) != 2 or target[0] not in ("<=", ">=") or not isinstance(value, int | float) or not value:
        return None
    promised = float(target[1].replace(",", ""))
    return promised / value if target[0] == "<=" else value / promised
