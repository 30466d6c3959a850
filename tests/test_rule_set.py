import shutil
import subprocess
import sys
from pathlib import Path

from servers import FUNCTIONS, environment


def rule_set(functions: Path) -> str:
    script = "from parley.rule_set import rule_set; print(rule_set())"
    env = environment() | {"PYTHONPATH": str(functions)}
    ended = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    return ended.stdout.strip()


def test_it_follows_the_code_that_judges(tmp_path: Path) -> None:
    shutil.copytree(FUNCTIONS / "parley", tmp_path / "parley")
    before = rule_set(tmp_path)
    assert before == rule_set(FUNCTIONS)
    for name, follows in (
        ("api.py", False),
        ("render/text.py", False),
        ("rules/rule.py", True),
        ("wire/text.py", True),
        ("audit.py", True),
    ):
        with (tmp_path / "parley" / name).open("a") as file:
            file.write("# changed\n")
        after = rule_set(tmp_path)
        assert (after != before) is follows, name
        before = after
