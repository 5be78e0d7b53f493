"""Verdicts on a candidate: never "pass" on too little, never "fail" for the clients' doing."""

from rollout.analysis import AnalysisPlan, judge
from rollout.samples import Sample

PLAN = AnalysisPlan()


def lane(
    good: int,
    bad: int = 0,
    *,
    first: float = 50,
    total: float = 100,
    http: int = 200,
    status: str = "degraded",
    synthetic: bool = False,
) -> list[Sample]:
    fine = [Sample(i, i, f"c{i}", synthetic, "other", "ok", 200, first, total) for i in range(good)]
    return fine + [
        Sample(i, i, f"d{i}", synthetic, "other", status, http, first, total) for i in range(bad)
    ]


def test_a_candidate_like_the_serving_lane_passes() -> None:
    verdict = judge(lane(30), lane(300), PLAN)
    assert verdict.kind == "pass"
    assert verdict.figures["candidate"].samples == 30
    assert verdict.figures["candidate"].clients == 30


def test_too_few_samples_are_inconclusive_never_a_pass() -> None:
    verdict = judge(lane(29), lane(300), PLAN)
    assert (verdict.kind, verdict.why) == ("inconclusive", "29 of 30 samples")
    assert judge([], [], PLAN).kind == "inconclusive"


def test_synthetic_samples_count_for_nothing() -> None:
    assert judge(lane(29) + lane(100, synthetic=True), lane(300), PLAN).kind == "inconclusive"
    assert judge(lane(30) + lane(0, 100, synthetic=True), lane(300), PLAN).kind == "pass"


def test_failures_that_no_further_sample_can_mend_fail_at_once() -> None:
    verdict = judge(lane(3, 2), lane(300), PLAN)
    assert (verdict.kind, verdict.why) == ("fail", "2 of only 5 requests failed")


def test_below_the_limit_fails() -> None:
    verdict = judge(lane(94, 6), lane(300), PLAN)
    assert verdict.kind == "fail"
    assert "94.0% of 100 good, 95% needed" in verdict.why


def test_clearly_worse_than_the_serving_lane_fails_above_the_limit() -> None:
    assert judge(lane(480, 20), lane(500), PLAN).kind == "fail"
    assert judge(lane(97, 3), lane(97, 3), PLAN).kind == "pass"


def test_one_failure_in_thirty_is_chance() -> None:
    assert judge(lane(29, 1), lane(30), PLAN).kind == "pass"


def test_an_absolute_latency_limit_fails_whatever_the_other_lane_does() -> None:
    verdict = judge(lane(40, first=1300, total=1301), lane(40, first=1300, total=1301), PLAN)
    assert verdict.kind == "fail"
    assert "P95 to the first content 1300 ms > 1200 ms" in verdict.why


def test_a_relative_latency_limit_fails_under_the_absolute_one() -> None:
    verdict = judge(lane(40, first=50, total=900), lane(40, first=50, total=400), PLAN)
    assert verdict.kind == "fail"
    assert "P95 to the whole reply 900 ms, the serving lane 400 ms (at most 750 ms)" in verdict.why


def test_few_milliseconds_more_are_no_verdict() -> None:
    assert judge(lane(40, first=4, total=9), lane(40, first=1, total=2), PLAN).kind == "pass"


def test_a_serving_lane_with_too_few_samples_is_no_yardstick() -> None:
    assert judge(lane(40, total=900), lane(5, total=100), PLAN).kind == "pass"


def test_refused_requests_are_the_clients_doing_unless_only_here() -> None:
    both = judge(lane(40, 10, http=401), lane(40, 10, http=401), PLAN)
    assert both.kind == "pass"
    assert both.figures["candidate"].refused == 10
    only_here = judge(lane(40, 10, http=401), lane(400, 2, http=401), PLAN)
    assert only_here.kind == "fail"
    assert "10 of 50 refused with 4xx" in only_here.why


def test_a_client_that_left_at_once_says_nothing_and_one_that_waited_does() -> None:
    assert judge(lane(40, 20, http=499, status="gone"), lane(40), PLAN).kind == "pass"
    waited = [Sample(1, 1, "w", False, "other", "gone", 499, 0, 9000)] * 20
    assert judge(lane(40) + waited, lane(40), PLAN).kind == "fail"


def test_a_stopped_answer_is_a_good_one() -> None:
    assert judge(lane(30, 10, status="stopped"), lane(40), PLAN).kind == "pass"
