"""Write the success rates of trivial players into ``envs/measured.json``, after a change of an environment.

usage: python -m palaestra.tools.update_measured ID [ID ...] [--episodes 400]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

import gymnasium as gym

from ..agents.atomic import write_atomically
from ..envs.baselines import DIFFICULTIES, success_rates
from ..envs.measured import FILE


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the named environments and update the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="+")
    parser.add_argument("--episodes", type=int, default=400, help="episodes of each player at each difficulty")
    options = parser.parse_args(argv)
    rows = json.loads(FILE.read_text("utf-8"))
    for env_id in options.ids:
        gym.spec(env_id)
        rates = [success_rates(env_id, difficulty, options.episodes) for difficulty in DIFFICULTIES]
        players = {name: [round(rate[name], 3) for rate in rates] for name in rates[0]}
        found = {name: shares for name, shares in players.items() if max(shares) > 0.02}
        row = {name: value for name, value in rows.pop(env_id, {}).items() if name != "baselines"}
        if found or row:
            rows[env_id] = {**({"baselines": found} if found else {}), **row}
        print(env_id, found)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(rows[name])}" for name in sorted(rows))
    write_atomically(FILE, f"{{\n{lines}\n}}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
