"""Run the notebooks of docs/notebooks and write their outputs into them: ``python -m palaestra.tools.notebooks``.

Cells run in one process, in their order. Each keeps what it printed, and the figures that it drew with matplotlib.
There is neither a kernel nor a package of notebooks behind it, so the value of a last expression has to be printed.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"


def read_code(path: Path) -> list[str]:
    """Return the sources of a notebook's code cells."""
    return ["".join(cell["source"]) for cell in _cells(json.loads(path.read_text(encoding="utf-8")))]


def _cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(path: Path) -> None:
    """Run a notebook in an empty folder, and write the outputs into its cells."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    notebook, names = json.loads(path.read_text(encoding="utf-8")), {"__name__": "__main__"}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for number, cell in enumerate(_cells(notebook), start=1):
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec"), names)
                outputs: list[dict[str, Any]] = []
                if printed.getvalue():
                    lines = printed.getvalue().splitlines(keepends=True)
                    outputs.append({"output_type": "stream", "name": "stdout", "text": lines})
                for figure in map(pyplot.figure, pyplot.get_fignums()):
                    stream = io.BytesIO()
                    figure.savefig(stream, format="png", dpi=90, metadata={"Software": None})
                    data = {"image/png": base64.b64encode(stream.getvalue()).decode()}
                    outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
                pyplot.close("all")
                cell.update(outputs=outputs, execution_count=number)
        finally:
            os.chdir(here)
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(map(str, FOLDER.glob("*.ipynb"))):
        run(Path(name))
        print(f"wrote {name}")
