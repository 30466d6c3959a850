"""MCP servers on the official SDK (mcp 2.x), which speaks both eras, each at a port of its own on loopback.

Arguments: the modes. Prints one line: a JSON object of their endpoints, by mode.
"""

from typing import Any

from listening import serve
from mcp.server.caching import CacheHint
from mcp.server.mcpserver import MCPServer


class Unstable(MCPServer):
    """Each listing begins with another tool, and every other one lacks the last."""

    turn = 0

    async def list_tools(self) -> Any:
        tools = await super().list_tools()
        self.turn += 1
        first = self.turn % len(tools)
        return (tools[first:] + tools[:first])[: len(tools) - self.turn % 2]


def app(mode: str, origin: str) -> Any:
    hints = {"tools/list": CacheHint(ttl_ms=60_000, scope="public")} if mode == "cache" else None
    kind = Unstable if mode == "unstable" else MCPServer
    server = kind("weather", version="1.4.0", cache_hints=hints)

    @server.tool()
    def get_forecast(place: str, days: int = 3) -> str:
        """The forecast for a place."""
        return f"{place}: fair for {days} days"

    @server.tool()
    def get_warnings(place: str) -> list[str]:
        """The warnings for a place."""
        return [place]

    @server.tool()
    def get_tides(place: str) -> str:
        """The tides at a place."""
        return place

    if mode == "sse":
        return server.sse_app()
    if mode == "open":  # as for a deployment on all interfaces: no check of Host or Origin
        return server.streamable_http_app(host="0.0.0.0")
    return server.streamable_http_app(stateless_http=mode == "stateless", json_response=mode == "json")


serve(app, lambda mode: "/sse" if mode == "sse" else "/mcp")
