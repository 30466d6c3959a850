"""The groups of rules of one auditor share its names and its numbers."""

import pytest

from parley.rules import AUDITORS
from parley.rules.rule import RuleSet


@pytest.mark.parametrize("auditor", AUDITORS, ids=lambda auditor: auditor.name)
def test_no_rule_hides_another(auditor: type[RuleSet]) -> None:
    """A method of the same name in two base classes is one rule only, and the other is lost without a word."""
    written = [
        member.row.number for base in auditor.__mro__ for member in vars(base).values() if hasattr(member, "row")
    ]
    kept = [row.number for row, _ in auditor.rules()]
    assert sorted(written) == sorted(kept)
    assert len(set(kept)) == len(kept)
