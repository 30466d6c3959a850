"""What the local server and the Lambda function share: audits under a policy, on somebody's behalf."""

import logging
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from parley.api import PER_ADDRESS, Audience, Quota
from parley.evidence import Exchange, Failure, Request
from parley.fetch.policy import Limits, Policy
from parley.report import Report
from parley.store import Counter
from parley.target import Target

if TYPE_CHECKING:
    from parley.fetch.client import Fetcher

log = logging.getLogger(__name__)


def audience(
    name: str,
    policy: Policy,
    *,
    counter: Counter | None = None,
    quotas: tuple[tuple[Quota, str], ...] = (),
    origin: str | None = None,
    limits: Callable[[], Limits] = Limits,
    has_time: Callable[[], bool] = lambda: True,
) -> Audience:
    """Somebody who may have audited what ``policy`` allows.

    Reports are kept apart by ``name``, and ``origin`` is what requests name as theirs. With a ``counter``, audits are
    counted by the addresses that they visit. ``limits`` is asked when an audit starts.
    """

    def visit(asked: str) -> Report:
        # With them come requests and all rules: at the first audit, not at the start.
        from parley.audit import ORIGIN, audit
        from parley.fetch.client import Fetcher

        def open_door(target: Target) -> "_CountedDoor | Fetcher":
            fetcher = Fetcher(target.url, policy, limits=limits())
            return fetcher if counter is None else _CountedDoor(fetcher, counter)

        report = audit(asked, open_door, origin=origin or ORIGIN)
        log.info("audited" if report.refusal is None else "refused", extra=_told(report))
        return report

    return Audience(
        policy=name,
        audit=visit,
        refuses=lambda target: policy.refuse_url(target.url) is not None,
        quotas=quotas,
        has_time=has_time,
    )


def _told(report: Report) -> dict[str, object]:
    """What a log says of an audit: whose host, what came of it, how long it took. No path, no text of the site's."""
    return {
        "host": report.origin,
        "verdict": report.status.value,
        "codes": sorted({check.code for auditor in report.auditors for check in auditor.checks}),
        "requests": len(report.attempts),
        "durationMs": report.duration_ms,
    }


class _CountedDoor:
    """A fetcher whose target's addresses are counted before anything is sent there."""

    def __init__(self, fetcher: "Fetcher", counter: Counter) -> None:
        self._fetcher: Final = fetcher
        self._counter: Final = counter

    def admit(self) -> Failure | None:
        failure = self._fetcher.admit()
        if failure is None:
            for address in self._fetcher.target_addresses:
                PER_ADDRESS.take(self._counter, str(address))
        return failure

    def __call__(self, request: Request) -> Exchange:
        return self._fetcher(request)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._fetcher.close()
