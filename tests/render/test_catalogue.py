from pathlib import Path

import pytest

from parley.render.catalogue import catalogue, checks_markdown, checks_text
from parley.rules import AUDITORS

ROOT = Path(__file__).resolve().parents[2]


def test_checks_md_is_current() -> None:
    assert (ROOT / "CHECKS.md").read_text(encoding="utf-8") == checks_markdown(), "run `make catalogue`"


def test_no_code_stands_twice() -> None:
    codes = [row["code"] for row in catalogue()]
    assert len(codes) == len(set(codes))


def test_every_row_says_all_there_is_to_say() -> None:
    for row in catalogue():
        for text in (row["title"], row["when"], row["why"], row["message"], row["specification"]):
            assert text, row["code"]
        assert row["when"].endswith(".")
        assert row["why"].endswith(".")
        assert row["recommendation"] or row["status"] in ("SUCCESS", "INFORMATION")
        assert row["specification"].startswith("https://")
        assert row["code"] in checks_text()


def test_server_card_codes_are_exactly_the_fixed_ones() -> None:
    numbers = {row["code"].rpartition("-")[2] for row in catalogue() if row["code"].startswith("37A-")}
    assert numbers == {"100", "200", "300", *map(str, range(400, 414))}
    blocking = {
        int(row["code"][-3:]) for row in catalogue() if row["blocksConfirmed"] and row["code"].startswith("37A-")
    }
    assert blocking == set(range(400, 412))


@pytest.mark.parametrize("rules", AUDITORS)
def test_every_rule_names_evidence_that_there_is(rules: type) -> None:
    from parley.rules.rule import _parameter

    for _, rule in rules.rules():  # type: ignore[attr-defined]
        assert callable(getattr(rules, _parameter(rule)))
