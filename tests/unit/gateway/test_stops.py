"""Stopping answers by session: exactly those, once, and not the complaint itself."""

from apps.gateway.stops import COMPLAINT, GONE, Running, Stops


def test_a_complaint_ends_the_sessions_answers_and_no_others() -> None:
    stops = Stops()
    with stops.running("s1") as one, stops.running("s1") as two, stops.running("s2") as other:
        assert stops.stop("s1", but=two) == 1
        assert (one.ended, two.ended, other.ended) == (COMPLAINT, None, None)
    assert stops.stop("s1") == 0


def test_ending_cancels_only_while_something_is_waited_for() -> None:
    cancelled: list[str] = []
    running = Running()
    with running.cancelling(lambda: cancelled.append("first")):
        pass
    running.end(COMPLAINT)
    assert cancelled == []
    with running.cancelling(lambda: cancelled.append("second"), (GONE,)):
        running.end(COMPLAINT)
        assert cancelled == []
        running.end(GONE)
    assert cancelled == ["second"]


def test_a_client_that_left_outweighs_a_complaint_and_not_the_reverse() -> None:
    running = Running()
    running.end(COMPLAINT)
    running.end(GONE)
    running.end(COMPLAINT)
    assert running.ended == GONE


def test_a_complaint_heard_of_late_ends_only_answers_that_began_before_it() -> None:
    now = 100.0
    stops = Stops(lambda: now)
    with stops.running("s1") as before:
        now = 105.0
        with stops.running("s1") as after:
            now = 110.0
            assert stops.stop("s1", ago_s=7.0) == 1
            assert (before.ended, after.ended) == (COMPLAINT, None)
            assert stops.stop("s1", ago_s=11.0) == 0
            assert stops.stop("s1") == 2
