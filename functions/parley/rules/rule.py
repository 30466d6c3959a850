"""The rule framework: the row on the rule, evidence by parameter, findings yielded, crashes contained.

A rule is one method of a :class:`RuleSet`::

    @check(
        412, title="CORS", when="...", seen="{cardUrl} was served without ...", why="...",
        recommendation="Add Access-Control-Allow-Origin: * on {cardUrl}.", spec="https://...",
    )
    def check_rule_cors(self, served: ServedCard) -> Findings:
        if not served.exchange.header("access-control-allow-origin"):
            yield Finding(cardUrl=served.url)

Its parameter names the evidence it needs: the rule set's method of that name, which says what there is
of it. The rule is called once for each, and never where there is none.
"""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeVar

from parley.evidence import Evidence
from parley.report import AuditorReport, Check, Protocol, ProtocolReport, Status, Untested
from parley.wire.text import CUT, clean
from parley.wire.url import LONGEST

ROWS_PER_RULE: Final = 50
"""Checks that one rule may add to a report; the last of them then says how many more there were."""

log = logging.getLogger(__name__)

T = TypeVar("T")


class Finding:
    """What a rule saw: the values that its row's texts have places for, cleaned and cut when they are shown."""

    def __init__(self, **values: object) -> None:
        self.values = values


Findings = Iterator[Finding]


class Composed(str):
    """A text made by a rule from parts that are cut already; a stranger's own values are cut at 200 characters."""

    __slots__ = ()


def listed(texts: Iterable[str], most: int = 12, *, by: str = ", ") -> Composed:
    """Texts in one sentence: the first of them, and how many more there are."""
    told = list(texts)
    more = [f"and {len(told) - most} more"] if len(told) > most else []
    return Composed(by.join([*told[:most], *more]))


class Row(NamedTuple):
    """All that is said about a rule, in one place: the catalogue, CHECKS.md and the page's help are made from it.

    ``seen`` and ``recommendation`` are templates for :meth:`str.format`. ``blocks`` tells that a finding keeps its
    protocol from being ``confirmed``.
    """

    number: int
    title: str
    when: str
    seen: str
    why: str
    recommendation: str
    spec: str
    blocks: bool

    @property
    def status(self) -> Status:
        """The status that the number's range stands for."""
        match self.number // 100:
            case 1:
                return Status.INFORMATION
            case 2:
                return Status.SUCCESS
            case 3:
                return Status.WARNING
            case 4:
                return Status.FAIL
        raise ValueError(f"{self.number} is in no status's range")


class Given(NamedTuple, Generic[T]):
    """The evidence there is for a parameter, and what kept the rest from being had: a reason, or None for nothing.

    A rule without evidence is not applicable; one that found nothing in evidence that is not whole is untested.
    """

    values: tuple[T, ...] = ()
    missing: str | None = None


Rule = Callable[[Any, Any], Findings]


def check(
    number: int,
    *,
    title: str,
    when: str,
    seen: str,
    why: str,
    spec: str,
    recommendation: str = "",
    blocks: bool = False,
) -> Callable[[Rule], Rule]:
    """Make a method a rule, with its row."""
    row = Row(
        number=number,
        title=title,
        when=when,
        seen=seen,
        why=why,
        recommendation=recommendation,
        spec=spec,
        blocks=blocks,
    )
    row.status  # noqa: B018 - a number outside the ranges is an error at import, not in somebody's audit

    def mark(rule: Rule) -> Rule:
        rule.row = row  # type: ignore[attr-defined]
        return rule

    return mark


class Judged(NamedTuple):
    """What a rule found something about, as later rules and the state may ask for it. A crash counts as a finding."""

    row: Row
    subject: object


class RuleSet:
    """An auditor: rules under one code prefix, judging one audit's evidence.

    A subclass declares the class variables, its rules, a method for each evidence that they name, and how its
    protocol stands.
    """

    prefix: ClassVar[str]
    name: ClassVar[str]
    title: ClassVar[str]
    protocol: ClassVar[Protocol | None]

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.judged: list[Judged] = []

    @classmethod
    def auditor(cls) -> str:
        """The auditor's name as reports have it: ``37A-McpServerCardAuditor``."""
        return f"{cls.prefix}-{cls.name}"

    @classmethod
    def code(cls, row: Row) -> str:
        """The CheckCode of a row."""
        return f"{cls.auditor()}-{row.number}"

    @classmethod
    def rules(cls) -> list[tuple[Row, Rule]]:
        """All rules by number, but what reports success last, since it needs to know of all others.

        A large auditor's rules may be spread over several base classes.
        """
        members = {name: member for base in reversed(cls.__mro__) for name, member in vars(base).items()}
        found = [(member.row, member) for member in members.values() if hasattr(member, "row")]
        return sorted(found, key=lambda pair: (pair[0].status is Status.SUCCESS, pair[0].number))

    def judge(self) -> AuditorReport:
        """Try every rule. A rule that crashes is logged and untested, and stops nothing else."""
        checks: list[tuple[Row, Check]] = []
        passed: list[tuple[Row, str]] = []
        not_applicable: list[tuple[Row, str]] = []
        untested: list[tuple[Row, Untested]] = []
        for row, rule in self.rules():
            code = self.code(row)
            try:
                given, found = self._try(row, rule)
            except Exception:
                log.exception("a rule crashed", extra={"code": code})
                untested.append((row, Untested(code=code, reason="internal error")))
                continue
            if found:
                checks.extend((row, one) for one in found)
            elif given.missing is not None:
                untested.append((row, Untested(code=code, reason=given.missing)))
            elif given.values and row.status is not Status.SUCCESS:
                passed.append((row, code))
            else:
                not_applicable.append((row, code))
        tested = bool(passed) or any(row.status is not Status.INFORMATION for row, _ in checks)
        worst = max((one.status for _, one in checks), key=lambda status: status.rank, default=Status.INFORMATION)
        return AuditorReport(
            name=self.auditor(),
            title=self.title,
            protocol=self.protocol,
            status=Status.SUCCESS if tested and worst is Status.INFORMATION else worst,
            checks=_by_number(checks),
            passed=_by_number(passed),
            not_applicable=_by_number(not_applicable),
            untested=_by_number(untested),
        )

    def protocol_report(self, judged: AuditorReport, others: Sequence["RuleSet"]) -> ProtocolReport | None:
        """The state that this auditor gives its protocol, once all have judged; None if that is another's business.

        ``others`` are all rule sets of this audit, this one included.
        """
        return None

    def _try(self, row: Row, rule: Rule) -> tuple[Given[Any], list[Check]]:
        given: Given[Any] = getattr(self, _parameter(rule))()
        found: list[Check] = []
        more = 0
        for subject in given.values:
            known = len(self.judged)
            try:
                for finding in rule(self, subject):
                    if len(self.judged) == known:
                        self.judged.append(Judged(row=row, subject=subject))
                    if len(found) < ROWS_PER_RULE:
                        found.append(self._check(row, finding))
                    else:
                        more += 1
            except Exception:
                if len(self.judged) == known:
                    self.judged.append(Judged(row=row, subject=subject))
                raise
        if more:
            last = found[-1]
            found[-1] = Check(
                code=last.code,
                status=last.status,
                message=f"{last.message} (and {more} more like this)",
                recommendation=last.recommendation,
                data=last.data | {"more": more},
            )
        return given, found

    def _check(self, row: Row, finding: Finding) -> Check:
        places = {name: _shown(value) for name, value in finding.values.items()}
        return Check(
            code=self.code(row),
            status=row.status,
            message=row.seen.format(**places),
            recommendation=row.recommendation.format(**places),
            data={name: _datum(name, value) for name, value in finding.values.items()},
        )


U = TypeVar("U")


def _by_number(pairs: list[tuple[Row, U]]) -> tuple[U, ...]:
    return tuple(value for _, value in sorted(pairs, key=lambda pair: pair[0].number))


def _parameter(rule: Rule) -> str:
    return rule.__code__.co_varnames[1]  # inspect.signature takes a hundred times as long, for each of all rules


def _shown(value: object) -> object:
    match value:
        case Composed():
            return clean(value, LONGEST)
        case str():
            return clean(value)
        case int() | float():
            return value
        case _:
            return clean(json.dumps(value))


def _datum(name: str, value: object) -> object:
    match value:
        case str():
            return clean(value, LONGEST if isinstance(value, Composed) or name.lower().endswith("url") else CUT)
        case list() | tuple():
            return [_datum(name, item) for item in value]
        case dict():
            return {clean(key): _datum(str(key), item) for key, item in value.items()}
        case _:
            return value
