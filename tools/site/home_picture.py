"""Write docs/tasks.png, the picture of the home page: real episodes of eight environments, drawn by Chromium.

    python -m palaestra.tools.site.home_picture

Boards are the environments' own pictures. Of the others the observation is shown as agents read it, cut at the edge,
with the oracle's first action below.
"""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import gymnasium as gym

from ...agents.replay import draw_png
from .screenshots import open_page

PICTURE = Path(__file__).parents[2] / "docs" / "tasks.png"
TILES: tuple[tuple[str, float, int], ...] = (
    ("Sokoban-v0", 0.5, 3),
    ("TextToSQL-v0", 0.0, 1),
    ("BabyAI-v0", 0.6, 5),
    ("ProgramRepair-v0", 0.1, 1),
    ("Shop-v0", 0.2, 1),
    ("RushHour-v0", 0.5, 2),
    ("Zebra-v0", 0.0, 1),
    ("Sudoku-v0", 0.5, 4),
)
"""Environment, difficulty and seed of each tile, row by row."""
STYLE = """
body { margin: 0; background: transparent; font: 15px/1.35 "DejaVu Sans", sans-serif; }
main { display: grid; grid-template-columns: repeat(4, 300px); gap: 12px; padding: 6px; width: max-content; }
figure { margin: 0; height: 250px; box-sizing: border-box; overflow: hidden; display: flex; flex-direction: column;
  border: 1px solid #8a9a98; border-radius: 8px; background: #fff; color: #1c2625; }
figcaption { background: #00796b; color: #fff; padding: 5px 10px; font-weight: bold; }
pre { margin: 0; padding: 8px 10px; flex: 1; overflow: hidden; white-space: pre-wrap; font: 11.5px/1.35 monospace; }
pre + pre { flex: none; max-height: 62px; background: #e4f3f0; border-top: 1px solid #8a9a98; color: #004d40; }
div { flex: 1; min-height: 0; padding: 8px; text-align: center; }
img { height: 100%; max-width: 100%; object-fit: contain; image-rendering: auto; }
"""


def main() -> None:
    """Draw the picture."""
    body = "".join(_tile(*tile) for tile in TILES)
    with open_page(1300) as page:
        page.set_content(f"<style>{STYLE}</style><main>{body}</main>")
        page.locator("main").screenshot(path=PICTURE, omit_background=True)
    print(f"wrote {PICTURE}, {PICTURE.stat().st_size / 1000:.0f} kB")


def _tile(name: str, difficulty: float, seed: int) -> str:
    env: Any = gym.make(f"palaestra/{name}", difficulty=difficulty, disable_env_checker=True)
    modes = env.unwrapped.metadata.get("render_modes") or ()
    if "rgb_array" in modes:
        env = gym.make(env.spec, render_mode="rgb_array", disable_env_checker=True)
    observation, _ = env.reset(seed=seed)
    if "rgb_array" in modes:
        shown = f'<div><img src="data:image/png;base64,{draw_png(env.render())}"></div>'
    else:
        shown = "".join(f"<pre>{html.escape(text)}</pre>" for text in (observation, env.unwrapped.oracle()))
    env.close()
    return f"<figure><figcaption>{name}</figcaption>{shown}</figure>"


if __name__ == "__main__":
    main()
