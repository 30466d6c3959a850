"""What every report store must do (``contract.py``), and what each engine must on top."""

import pytest

pytest.register_assert_rewrite("store.contract")
