"""Write the generated pages, build the site and check it: ``python -m palaestra.tools.site [--pages-only]``.

``bash scripts/site.sh`` runs this in the checkout's environment. The exit code is 1 if the generator warns, a link is
broken or a page would load something over the network.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

from .api_pages import class_links
from .html_check import find_faults
from .markdown_twins import write_twins
from .site_map import site_pages
from .site_page import write_pages
from .window_fit import fit_page

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
SITE = ROOT / "site"


def main(arguments: list[str]) -> int:
    """Run the tool. Return the exit code."""
    if arguments not in ([], ["--pages-only"]):
        print(f"usage: bash scripts/site.sh [--pages-only], not {' '.join(arguments)!r}.", file=sys.stderr)
        return 2
    # Small data sets warn about their size, which is not needed in examples.
    warnings.simplefilter("ignore", UserWarning)
    logging.disable(logging.WARNING)
    pages = site_pages()
    print(f"writing {len(pages)} pages into {REFERENCE.relative_to(ROOT)} ...", flush=True)
    shutil.rmtree(REFERENCE, ignore_errors=True)
    write_pages(pages, REFERENCE, class_links())
    if arguments:
        return 0
    shutil.rmtree(SITE, ignore_errors=True)
    plain = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(["zensical", "build", "--strict", "--clean"], cwd=ROOT, env=plain)
    if done.returncode:
        return 1
    for page in SITE.rglob("*.html"):
        page.write_text(fit_page(page.read_text(encoding="utf-8")), encoding="utf-8")
    write_twins(ROOT / "docs", SITE, ROOT / "mkdocs.yml")
    faults = list(find_faults(SITE))
    for fault in faults:
        print(fault, file=sys.stderr)
    count = sum(1 for _ in SITE.rglob("*.html"))
    print(
        f"{count} pages in {SITE.relative_to(ROOT)}, {len(faults)} faults; open them by python -m http.server -d site"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
