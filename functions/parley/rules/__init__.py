"""Rules judge recorded evidence; they touch no network. Every auditor is listed here, and nowhere else."""

from typing import Final

from parley.rules.a2a import A2aAgentCardRules
from parley.rules.mcp import McpServerRules
from parley.rules.oauth import McpAuthRules
from parley.rules.rule import RuleSet
from parley.rules.server_card import ServerCardRules

AUDITORS: Final[tuple[type[RuleSet], ...]] = (ServerCardRules, McpServerRules, McpAuthRules, A2aAgentCardRules)
