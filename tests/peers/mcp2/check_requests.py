"""Reads JSON lines ``[version, message]``, and says by the official wire types (mcp-types) which are no requests."""

import json
import sys

from mcp_types import (
    ClientNotification,
    DiscoverRequest,
    InitializeRequest,
    JSONRPCNotification,
    JSONRPCRequest,
    ListPromptsRequest,
    ListResourcesRequest,
    ListResourceTemplatesRequest,
    ListToolsRequest,
    PingRequest,
)
from pydantic import BaseModel, TypeAdapter, ValidationError

TYPES: dict[str, type[BaseModel]] = {
    "server/discover": DiscoverRequest,
    "initialize": InitializeRequest,
    "ping": PingRequest,
    "tools/list": ListToolsRequest,
    "prompts/list": ListPromptsRequest,
    "resources/list": ListResourcesRequest,
    "resources/templates/list": ListResourceTemplatesRequest,
}

for line in sys.stdin:
    message = json.loads(line)
    try:
        if "id" not in message:
            JSONRPCNotification.model_validate(message, strict=True)
            if message["method"].startswith("notifications/"):
                TypeAdapter(ClientNotification).validate_python({k: message[k] for k in message if k != "jsonrpc"})
            continue
        JSONRPCRequest.model_validate(message, strict=True)
        if message["method"] in TYPES:
            TYPES[message["method"]].model_validate({k: message[k] for k in message if k not in ("jsonrpc", "id")})
    except ValidationError as error:
        sys.stdout.write(f"{message['method']}: {error}\n")
