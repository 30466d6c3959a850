"""MCP servers on the official SDK (mcp 1.x), which speaks the legacy era, each at a port of its own on loopback.

Arguments: the modes. Prints one line: a JSON object of their endpoints, by mode.
"""

from typing import Any

from listening import serve
from mcp.server.fastmcp import FastMCP


def app(mode: str, origin: str) -> Any:
    host = "0.0.0.0" if mode == "open" else "127.0.0.1"  # a setting; what is bound is another matter
    port = int(origin.rpartition(":")[2])
    stateless = mode in ("stateless", "json")
    server = FastMCP("weather", host=host, port=port, stateless_http=stateless, json_response=mode == "json")

    @server.tool()
    def get_forecast(place: str, days: int = 3) -> str:
        """The forecast for a place."""
        return f"{place}: fair for {days} days"

    @server.tool()
    def get_warnings(place: str) -> list[str]:
        """The warnings for a place."""
        return [place]

    return server.sse_app() if mode == "sse" else server.streamable_http_app()


serve(app, lambda mode: "/sse" if mode == "sse" else "/mcp")
