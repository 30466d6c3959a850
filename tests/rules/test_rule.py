"""What the framework keeps of what rules yield."""

from agents import AUDITOR, V1, changed, site
from parley.audit import gather
from parley.rules.a2a import A2aAgentCardRules
from parley.rules.rule import ROWS_PER_RULE
from sites import HOST


def test_what_is_judged_of_one_subject_is_kept_once() -> None:
    """A card with tens of thousands of faults is one subject of a rule, and later rules ask who was at fault."""
    skills: list[object] = [{} for _ in range(3 * ROWS_PER_RULE)]
    rules = A2aAgentCardRules(gather(HOST, site(changed(V1, skills=skills)).open))
    of_skills = [one for one in rules.judge().checks if one.code == f"{AUDITOR}-419"]
    assert len(of_skills) == ROWS_PER_RULE
    assert of_skills[-1].data["more"] == len(skills) - ROWS_PER_RULE
    assert [one.row.number for one in rules.judged].count(419) == 1
