"""Write the content hashes and baselines of the evaluation suites, after a change that gives them a new version.

usage: python -m palaestra.tools.update_suites [SUITE ...] [NAME=AGENT ...]

Suites that are not named stay; without a name, all are updated.

Each ``NAME=AGENT`` is a column of the tables: ``random=random``, ``oracle=oracle``, or the folder of a run,
``tiny=runs/first``. A JSON file, ``smollm2-135m=core.json``, must be the output of
`palaestra eval --suite core --json core.json`, and gives the column of that suite only. Existing columns that are not
named are kept if the tasks have not changed.
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
from ..errors import InputError

FOLDER = Path(__file__).parents[1] / "agents" / "evaluation" / "suites_data"


def main(argv: Sequence[str] | None = None) -> int:
    """Update the suites."""
    words = sys.argv[1:] if argv is None else argv
    agents = dict(text.split("=", 1) for text in words if "=" in text)
    suites = [find_suite(text).name for text in words if "=" not in text] or suite_names()
    for name in suites:
        path = FOLDER / f"{name.partition('/')[2]}.json"
        data = json.loads(path.read_text("utf-8"))
        found = content_hash(find_suite(name))
        if found != data["content_hash"]:
            data |= {"content_hash": found, "baselines": {}}
        for column, agent in agents.items():
            if agent.endswith(".json"):
                report = json.loads(Path(agent).read_text("utf-8"))
                if report["suite"] != f"{name} {data['version']}":
                    continue
                if report["content_hash"] != data["content_hash"]:
                    raise InputError(f"{agent} was measured on other tasks than {name} has now; measure it again.")
            else:
                report = evaluate_all(find_agent(agent), name, progress=True).to_json()
            shares = {one["env"]: one["success"] for one in report["reports"]}
            data["baselines"][column] = {
                env: None if share is None else round(share, 4) for env, share in shares.items()
            }
            print(f"{name}, {column}: {report['success']:.1%}", flush=True)
        write_atomically(path, json.dumps(data, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
