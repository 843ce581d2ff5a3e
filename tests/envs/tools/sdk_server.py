"""A server made with the reference SDK of the Model Context Protocol, for the tests of its clients.

python sdk_server.py [stdio | PORT of 127.0.0.1]
"""

from __future__ import annotations

import os
import sys
import time
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

server = MCPServer("numbers")


class Point(BaseModel):
    x: int
    y: int


@server.tool()
def add(a: Annotated[int, Field(description="the first number")], b: int = 1) -> int:
    """Add two whole numbers."""
    return a + b


@server.tool()
def shift(point: Point, by: list[float], up: bool, unit: Literal["m", "cm"]) -> dict[str, Any]:
    """Shift a point."""
    return {"x": point.x + by[0], "y": point.y + by[1], "up": up, "unit": unit}


@server.tool()
def divide(a: float, b: float) -> float:
    """Divide."""
    if b == 0:
        raise ToolError("there is no quotient by 0")
    return a / b


@server.tool()
def repeat(text: str, times: int) -> str:
    """Repeat a text."""
    return text * times


@server.tool()
def sleep(seconds: float) -> str:
    """Sleep."""
    time.sleep(seconds)
    return "awake"


@server.tool()
def crash() -> str:
    """End the server."""
    print("out of order", file=sys.stderr, flush=True)
    os._exit(3)


@server.tool()
def process() -> int:
    """Return the process id of the server."""
    return os.getpid()


if __name__ == "__main__":
    if sys.argv[1:] in ([], ["stdio"]):
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
