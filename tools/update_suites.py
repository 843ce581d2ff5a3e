"""Writes the content hashes and baselines of the evaluation suites, after a change that gives them a new version.

usage: python -m palaestra.tools.update_suites [NAME=AGENT ...]

Each ``NAME=AGENT`` is a column of the tables: ``random=random``, ``oracle=oracle``, or the folder of a run,
``tiny=runs/first``. Those that are there already and are not named stay, if the tasks have not changed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from ..agents.atomic import write_atomically
from ..agents.evaluation import evaluate_all, find_suite, suite_names
from ..agents.evaluation.suites import content_hash
from ..agents.lookup import find_agent

FOLDER = Path(__file__).parents[1] / "agents" / "evaluation" / "suites_data"


def main(argv: Sequence[str] | None = None) -> int:
    """Update every suite."""
    agents = dict(text.split("=", 1) for text in (sys.argv[1:] if argv is None else argv))
    for name in suite_names():
        path = FOLDER / f"{name.partition('/')[2]}.json"
        data = json.loads(path.read_text("utf-8"))
        found = content_hash(find_suite(name))
        if found != data["content_hash"]:
            data |= {"content_hash": found, "baselines": {}}
        for column, agent in agents.items():
            report = evaluate_all(find_agent(agent), name, progress=True)
            shares = {one.env: one.to_json()["success"] for one in report.reports}
            data["baselines"][column] = {
                env: None if share is None else round(share, 4) for env, share in shares.items()
            }
            print(f"{name}, {column}: {report.success.text(percent=True)}", flush=True)
        write_atomically(path, json.dumps(data, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
