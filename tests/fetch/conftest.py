import pytest

from fetch.loopback import Dials, Names


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    return Names(monkeypatch)


@pytest.fixture
def dials(monkeypatch: pytest.MonkeyPatch) -> Dials:
    return Dials(monkeypatch)
