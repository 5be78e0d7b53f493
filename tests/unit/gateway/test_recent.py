"""The cache of identities and sessions: bounded, expiring, and sure of what "nothing" means."""

from apps.gateway.recent import Recent


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_value_lives_for_its_seconds_and_no_longer() -> None:
    clock = Clock()
    recent: Recent[str, int] = Recent(10, clock)
    recent.put("a", 1, 60)
    clock.now = 59.9
    assert recent.get("a") == (1,)
    clock.now = 60
    assert recent.get("a") is None


def test_nothing_known_and_known_to_be_nothing_differ() -> None:
    recent: Recent[str, str | None] = Recent(10, Clock())
    recent.put("stranger", None, 5)
    assert recent.get("stranger") == (None,)
    assert recent.get("never asked") is None


def test_the_oldest_goes_first_and_a_renewed_one_is_not_the_oldest() -> None:
    recent: Recent[int, int] = Recent(3, Clock())
    for key in (1, 2, 3, 1, 4):
        recent.put(key, key, 60)
    assert [recent.get(key) is not None for key in (1, 2, 3, 4)] == [True, False, True, True]
