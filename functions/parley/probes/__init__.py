"""Probes ask the network and record what it said; they interpret only as much as it takes to know what to ask next."""

from collections.abc import Callable

from parley.evidence import Exchange, Request

Fetch = Callable[[Request], Exchange]
"""One request and what came of it; never raises."""
