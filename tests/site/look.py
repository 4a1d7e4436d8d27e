"""Every page of the built site in Chromium, wide, dark and on a phone, with what axe finds: `make docs-look`.

`python -m tests.site.look FOLDER PART...` looks at the pages whose paths hold one of the parts.
"""

import sys
import tempfile
from pathlib import Path

from tests.browser import Browser, chromium

LOOKS = ((1280, False), (1280, True), (390, False))
"""Width in pixels, and whether it is dark."""


def faults(browser: Browser, page: Path) -> list[str]:
    """What is wrong with a page: what axe finds, and what is wider than the window."""
    wrong = []
    for width, dark in LOOKS:
        browser.open(page, width=width, dark=dark)
        wide = browser.run("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        look = f"{width}{' dark' if dark else ''}"
        wrong += [f"{look}: wider than the window"] if wide else []
        wrong += [f"{look}: {violation}" for violation in browser.axe(frames=False)]
    return wrong


def main() -> int:
    """Look at all pages; exit status 1 if anything is wrong on any of them."""
    folder, *parts = sys.argv[1:]
    pages = [page for page in sorted(Path(folder).resolve().rglob("*.html")) if "_static" not in page.parts]
    count = 0
    with tempfile.TemporaryDirectory() as place, chromium(Path(place)) as browser:
        for page in pages:
            if not parts or any(part in str(page) for part in parts):
                wrong = faults(browser, page)
                count += len(wrong)
                print(page.name, *(wrong or ["nothing found"]), sep="\n  ", flush=True)
    print(f"{len(pages)} pages, {count} found wrong")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
