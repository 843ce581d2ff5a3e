"""Tools that an agent calls in its replies: the protocol, and the base of environments that offer tools."""

from .mcp_tool import mcp_tools

__all__ = ["mcp_tools"]
