"""Several applications in one process, each at a port of its own on loopback; imported in the peers' environments."""

import asyncio
import json
import socket
import sys
from collections.abc import Callable
from typing import Any

import uvicorn


def serve(app: Callable[[str, str], Any], path: Callable[[str], str] = lambda mode: "") -> None:
    """Serve ``app(mode, origin)`` for each of the arguments, and print one line: a JSON object of URLs by mode.

    An argument may have more to say to its application than its name: ``MODE=VALUE``. ``path`` is what a mode's URL
    ends in. It does not return.
    """
    asyncio.run(_serve(sys.argv[1:], app, path))


async def _serve(modes: list[str], app: Callable[[str, str], Any], path: Callable[[str], str]) -> None:
    serving = []
    urls = {}
    for mode in modes:
        listener = socket.socket(proto=socket.IPPROTO_TCP)  # else asyncio leaves Nagle's algorithm on
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
        urls[mode.partition("=")[0]] = origin + path(mode)
        server = uvicorn.Server(uvicorn.Config(app(mode, origin), log_level="error"))
        serving.append(server.serve(sockets=[listener]))
    sys.stdout.write(f"{json.dumps(urls)}\n")
    sys.stdout.flush()
    await asyncio.gather(*serving)
