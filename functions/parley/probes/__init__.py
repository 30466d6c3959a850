"""Probes ask the network and record what it said; they interpret only as much as it takes to know what to ask next."""

import threading
from collections.abc import Callable, Sequence

from parley.evidence import Exchange, Request

Fetch = Callable[[Request], Exchange]
"""One request and what came of it; never raises."""


def side_by_side(fetch: Fetch, requests: Sequence[Request]) -> list[Exchange]:
    """Make requests that do not depend on each other at the same time; the answers in the order of the requests.

    How many of them one host gets at once is the client's business.
    """
    answers: dict[int, Exchange] = {}

    def ask(index: int) -> None:
        answers[index] = fetch(requests[index])

    threads = [threading.Thread(target=ask, args=(index,), daemon=True) for index in range(1, len(requests))]
    for thread in threads:
        thread.start()
    if requests:
        ask(0)
    for thread in threads:
        thread.join()
    return [answers[index] for index in range(len(requests))]
