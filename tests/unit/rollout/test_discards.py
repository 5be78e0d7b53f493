"""What lanes throw away: compared by requests, never by chance; asked of agents that may lie."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rollout import discardsource
from rollout.analysis import AnalysisPlan
from rollout.cluster import core
from rollout.discards import DiscardPlan, Discards, compare, said
from rollout.discardsource import DiscardSource, read
from rollout.errors import ApiError, ApiUnavailable
from rollout.observation import Observation, Traffic
from rollout.plan import Plan
from rollout.samples import SamplesUnreadable
from rollout.settings import Settings
from rollout.status import lines, status, with_traffic
from rollout.traffic import weighed
from tests.unit.rollout.fake_api import FakeApi
from tests.unit.rollout.fake_cluster import NAMES, api, candidate, installed

PLAN = DiscardPlan()
NOW = 1_000_000.0


def lane(answered: int, share: float, *, wasted_s: float = 0.0, tokens: int = 40) -> Discards:
    """So many answers of `tokens` tokens and 2 s each."""
    made = answered * tokens
    return Discards(answered, made, round(made * share), 2.0 * answered, wasted_s * answered)


def codes(mine: Discards, theirs: Discards, plan: DiscardPlan = PLAN, least: int = 30) -> list[str]:
    return [one.code for one in compare({"other": mine}, {"other": theirs}, plan, least)]


def test_a_lane_like_the_other_has_no_finding():
    assert codes(lane(300, 0.2), lane(300, 0.2)) == []
    assert codes(lane(300, 0.0), lane(300, 0.4)) == []


def test_clearly_more_tokens_thrown_away_is_a_finding():
    assert codes(lane(300, 0.4), lane(300, 0.1)) == ["discarded-share"]


def test_answers_count_and_not_their_tokens():
    """Of 12,000 tokens a difference of 9 points is sure, of 40 answers it is chance."""
    assert codes(lane(40, 0.35, tokens=300), lane(40, 0.15, tokens=300)) == []
    assert codes(lane(400, 0.35, tokens=30), lane(400, 0.15, tokens=30)) == ["discarded-share"]


def test_a_difference_within_the_bound_is_none_however_sure_it_is():
    assert codes(lane(100_000, 0.19), lane(100_000, 0.10)) == []
    assert codes(lane(100_000, 0.19), lane(100_000, 0.10), DiscardPlan(share=0.05)) != []


def test_too_few_answers_on_either_lane_are_none():
    assert codes(lane(29, 0.9), lane(300, 0.0)) == []
    assert codes(lane(300, 0.9), lane(29, 0.0)) == []


def test_more_seconds_thrown_away_is_a_finding_where_few_tokens_are():
    slow = lane(300, 0.1, wasted_s=0.8)
    assert codes(slow, lane(300, 0.1, wasted_s=0.1)) == ["discarded-seconds"]
    assert codes(slow, lane(300, 0.1, wasted_s=0.7)) == []


def test_a_scenario_that_one_lane_never_had_says_nothing():
    assert compare({"complaint": lane(300, 0.9)}, {"other": lane(300, 0.0)}, PLAN, 30) == []


def test_sums_that_contradict_themselves_stay_shares():
    assert Discards(1, 0, 50, 0.0, 9.0).share == 0.0
    assert Discards(1, 10, 50, 1.0, 9.0).share == 1.0
    assert Discards(1, 10, 50, 1.0, 9.0).time_share == 1.0


def test_a_finding_names_the_scenario_both_lanes_and_what_to_do():
    (one,) = compare({"other": lane(300, 0.4)}, {"other": lane(300, 0.1)}, PLAN, 30)
    assert str(one).startswith(
        "scenario other: 40% of 12000 tokens thrown away, on the serving lane 10% of 12000: "
    )
    assert "does not count" in one.remedy
    assert said({"other": lane(100, 0.25, wasted_s=0.5)}, {}) == (
        "25.0% of the tokens and 0.50 s an answer (100 answers), the serving lane 0.0% and"
        " 0.00 s (0)"
    )


WORSE = {"other": lane(300, 0.4)}, {"other": lane(300, 0.1)}
PASSED = Traffic(10.0, 300, 300, "pass", "300 samples")


def test_without_agents_the_verdict_is_what_it_was():
    same = weighed(PASSED, {}, {}, "no tracing is installed", Settings())
    assert same == replace(PASSED, discards="no tracing is installed")


def test_a_finding_is_told_and_by_default_fails_nothing():
    found = weighed(PASSED, *WORSE, "", Settings())
    assert found.kind == "pass"
    assert found.why.startswith("300 samples; told only: scenario other: 40% of 12000 tokens")
    assert [one.code for one in found.findings] == ["discarded-share"]


def test_a_finding_that_counts_fails_whatever_the_samples_say():
    settings = Settings(discards=DiscardPlan(counts=True), analysis=AnalysisPlan(min_samples=30))
    for kind in ("pass", "inconclusive"):
        found = weighed(replace(PASSED, kind=kind), *WORSE, "", settings)
        assert (found.kind, found.why.split(":")[0]) == ("fail", "scenario other")
    failed = weighed(replace(PASSED, kind="fail", why="slow"), *WORSE, "", settings)
    assert failed.why.startswith("slow; scenario other")


@pytest.mark.parametrize("counts", [False, True])
def test_what_is_told_of_many_scenarios_does_not_fill_the_record(counts):
    mine = {f"scenario-{number}": lane(300, 0.4) for number in range(500)}
    theirs = dict.fromkeys(mine, lane(300, 0.1))
    found = weighed(PASSED, mine, theirs, "", Settings(discards=DiscardPlan(counts=counts)))
    assert found.why.endswith("; and 490 more")
    assert len(found.why) < 2000
    assert len(found.findings) == 10


def test_the_status_shows_what_is_thrown_away_and_each_finding():
    fake = installed()
    now = candidate(fake, 20)
    shown = weighed(PASSED, *WORSE, "1 of 2 tracing agents answer", Settings())
    data = with_traffic(
        status(now, {}, {}, {}, NAMES, NOW), Observation(plan=Plan(), traffic=shown), "waits"
    )
    text = "\n".join(lines(json.loads(json.dumps(data))))
    assert "discarded  40.0% of the tokens and 0.00 s an answer (300 answers)" in text
    assert "; 1 of 2 tracing agents answer\n" in text
    assert "finding    scenario other: 40% of 12000 tokens thrown away" in text


# Asking the agents.


def row(answered: int, discarded: int = 0, **other: object) -> dict[str, object]:
    return {
        "lane": "green", "intent": "other", "synthetic": False,
        "requests": 2 * answered, "answered": answered,
        "seconds": 2.0 * answered, "discarded_seconds": 0.0, "generated": 40 * answered,
        "handed": 0, "delivered": 0, "discarded": discarded, "discarded_share": 0.0, **other,
    }  # fmt: skip


class Agents:
    """Tracing agents by address: rows, or None for one that does not answer."""

    def __init__(self, *ips: str) -> None:
        self.fake = FakeApi()
        self.rows: dict[str, list[dict[str, object]] | None] = {}
        for number, ip in enumerate(ips):
            self.start(f"tracing-{number}", ip)
        self.source = DiscardSource(api(self.fake), NAMES, get=self.get)

    def start(self, name: str, ip: str, restarts: int = 0) -> None:
        self.fake.put(
            core(NAMES.tracing, "pods", name),
            metadata={"labels": {"app": "tracing"}, "uid": name},
            status={"podIP": ip, "containerStatuses": [{"restartCount": restarts}]},
        )
        self.rows.setdefault(ip, [])

    def get(self, url: str) -> bytes:
        address = url.removeprefix("http://").removesuffix(":9102/scenarios")
        rows = self.rows[address]
        if rows is None:
            raise SamplesUnreadable(f"{url}: refused")
        return json.dumps({"scenarios": rows}).encode()


def test_the_growth_of_all_agents_is_added_up_and_what_was_before_is_not():
    agents = Agents("10.0.0.1", "fd00::2")
    agents.rows = {"10.0.0.1": [row(1000, 40)], "[fd00::2]": [row(500)]}
    agents.source.poll(NOW)
    assert agents.source.since("green", 0) == {}
    agents.rows = {"10.0.0.1": [row(1007, 50)], "[fd00::2]": [row(503, 5)]}
    agents.source.poll(NOW + 5)
    assert agents.source.since("green", 0)["other"] == Discards(10, 400, 15, 20.0, 0.0)
    assert agents.source.since("blue", 0) == {}
    assert agents.source.said == ""


def test_only_rounds_that_began_in_this_step_count():
    agents = Agents("10.0.0.1")
    for second, answered in ((0, 0), (5, 10), (10, 30), (15, 31)):
        agents.rows["10.0.0.1"] = [row(answered)]
        agents.source.poll(NOW + second)
    assert agents.source.since("green", NOW + 5)["other"].answered == 21
    agents.source.poll(NOW + 10 + discardsource.KEPT_S)
    assert agents.source.since("green", 0)["other"].answered == 1


def test_an_agent_that_restarted_is_not_counted_from_its_first_request_on():
    agents = Agents("10.0.0.1")
    agents.rows["10.0.0.1"] = [row(10)]
    agents.source.poll(NOW)
    agents.start("tracing-0", "10.0.0.1", restarts=1)
    agents.rows["10.0.0.1"] = [row(900, 900)]  # it reads whole rings again
    agents.source.poll(NOW + 5)
    assert agents.source.since("green", 0) == {}
    agents.rows["10.0.0.1"] = [row(903, 900)]
    agents.source.poll(NOW + 10)
    assert agents.source.since("green", 0)["other"].answered == 3


def test_sums_that_fall_without_a_restart_count_nothing():
    agents = Agents("10.0.0.1")
    for second, answered in ((0, 10), (5, 4), (10, 6)):
        agents.rows["10.0.0.1"] = [row(answered)]
        agents.source.poll(NOW + second)
    assert agents.source.since("green", 0)["other"].answered == 2


def test_an_agent_that_does_not_answer_hides_no_other_and_is_asked_on_from_where_it_was():
    agents = Agents("10.0.0.1", "10.0.0.2")
    agents.source.poll(NOW)
    agents.rows = {"10.0.0.1": None, "10.0.0.2": [row(4)]}
    agents.source.poll(NOW + 5)
    assert agents.source.since("green", 0)["other"].answered == 4
    assert agents.source.said == "1 of 2 tracing agents answer"
    agents.rows = {"10.0.0.1": [row(6)], "10.0.0.2": [row(4)]}
    agents.source.poll(NOW + 10)
    assert agents.source.since("green", 0)["other"].answered == 10


def test_synthetic_customers_and_foreign_lanes_and_names_do_not_count():
    body = {
        "scenarios": [
            row(1),
            row(2, synthetic=True),
            row(3, lane="local"),
            row(4, intent="<b>\n"),
            row(5, intent="x" * 65),
        ]
    }
    assert read(json.dumps(body).encode()) == {("green", "other"): Discards(1, 40, 0, 2.0, 0.0)}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"scenarios": 3}',
        b'{"scenarios": [3]}',
        b"[" * 100_000,
        *(
            json.dumps({"scenarios": [row(1) | {name: wrong}]}).encode()
            for name in ("answered", "seconds")
            for wrong in (-1, "1", None, True, float("nan"), float("inf"), 1e300, 10**400)
        ),
    ],
)
def test_what_no_agent_says_is_not_believed(body):
    with pytest.raises(SamplesUnreadable):
        read(body)


def test_rounds_in_which_nothing_happened_take_no_room():
    agents = Agents("10.0.0.1")
    agents.rows["10.0.0.1"] = [row(3)]
    for second in range(3):
        agents.source.poll(NOW + second)
    assert agents.source.since("green", 0) == {}


def test_an_agent_that_names_other_scenarios_each_time_takes_room_within_bounds(monkeypatch):
    monkeypatch.setattr(discardsource, "MAX_KEPT", 10)
    agents = Agents("10.0.0.1")
    for second in range(5):
        agents.rows["10.0.0.1"] = [row(1, intent=f"{second}-{at}") for at in range(4)]
        agents.source.poll(NOW + second)
    assert set(agents.source.since("green", 0)) == {f"{s}-{at}" for s in (3, 4) for at in range(4)}


@pytest.mark.parametrize("status", [403, 404])
def test_a_cluster_without_tracing_says_so_once_and_never_fails(status, caplog):
    agents = Agents()

    def refuse(verb: str, path: str) -> None:
        raise ApiError(status, "no")

    agents.fake.before = refuse
    with caplog.at_level("INFO", logger="rollout"):
        for second in range(5):
            agents.source.poll(NOW + second)
    assert [one.getMessage() for one in caplog.records] == ["discards: no tracing is installed"]
    assert agents.source.since("green", 0) == {}


def test_a_namespace_without_agents_is_one_without_tracing():
    agents = Agents()
    agents.source.poll(NOW)
    assert agents.source.said == "no tracing is installed"
    empty = DiscardSource(api(agents.fake), replace(NAMES, tracing=""), get=agents.get)
    empty.poll(NOW)
    assert empty.said == "no tracing is installed"


def test_an_api_server_that_is_away_is_said_and_the_figures_stay():
    agents = Agents("10.0.0.1")
    agents.source.poll(NOW)
    agents.rows["10.0.0.1"] = [row(3)]
    agents.source.poll(NOW + 5)

    def away(verb: str, path: str) -> None:
        raise ApiUnavailable("503")

    agents.fake.before = away
    agents.source.poll(NOW + 10)
    assert agents.source.said == "the agents are not found: 503"
    assert agents.source.since("green", 0)["other"].answered == 3
