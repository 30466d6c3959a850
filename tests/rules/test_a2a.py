"""The auditor of Agent Cards as a whole."""

from collections import defaultdict

from parley.rules.a2a import A2aAgentCardRules


def test_a_section_is_written_in_one_way() -> None:
    """A page's anchors keep the hyphens of a heading: a link with another spelling leads to the page's top."""
    spellings = defaultdict(set)
    for row, _ in A2aAgentCardRules.rules():
        page, _, anchor = row.spec.partition("#")
        spellings[page, anchor.replace("-", "")].add(anchor)
    assert {page_and_words: found for page_and_words, found in spellings.items() if len(found) > 1} == {}
