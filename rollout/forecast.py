"""`rollout plan`: what a push would do now, and how long its steps would take."""

from __future__ import annotations

from functools import partial
from typing import Any

from rollout import settings
from rollout.cluster import Api, core
from rollout.errors import RolloutError
from rollout.names import LANES, Names, other_lane
from rollout.plan import Plan, fill_s, merged, step_s
from rollout.samples import PAGE, Sample, SamplesUnreadable, fetch
from rollout.state import State

RATE_S = 30.0
MAX_PAGES = 10
TIMEOUT_S = 3.0

Data = dict[str, Any]


def forecast(api: Api, names: Names, state: State, now: float) -> Data:
    """The steps at the traffic of the last 30 s, and what a push would wait for."""
    found = api.get(core(names.control, "configmaps", names.settings)) or {}
    plan = settings.parse(found.get("data") or {}).plan
    rate = measured_rate(api, names, now)
    return {**steps(plan, rate), "lane": other_lane(state.serving.lane), "first": first(state, now)}


def steps(plan: Plan, rate: float) -> Data:
    """Each step with its seconds, or why it is merged into the next. Pure."""
    kept = merged(plan, rate)
    rows = []
    for percent in plan.steps:
        fills = fill_s(plan, percent, rate)
        rows.append(
            {
                "percent": percent,
                "merged": percent not in kept,
                "fills_s": round(fills, 1) if fills != float("inf") else None,
                "seconds": step_s(plan, percent, rate) if percent in kept else 0,
            }
        )
    return {
        "environment": plan.environment,
        "rate_per_s": round(rate, 2),
        "min_samples": plan.min_samples,
        "steps": rows,
        "seconds": sum(row["seconds"] for row in rows),
        "holds": kept == plan.steps[-1:] and fill_s(plan, kept[-1], rate) > plan.step_max_s,
    }


def first(state: State, now: float) -> str:
    """What happens to a push first."""
    candidate = state.candidate
    if state.restore is not None:
        return f"waits until the undo to release {state.restore.number} is done"
    if candidate is not None and candidate.phase.examined:
        return f"waits for release {candidate.number}, whose scenarios have passed"
    if candidate is not None:
        return f"takes the place of release {candidate.number}, which is in {candidate.phase}"
    if state.in_undo_window(now) and state.undo_until is not None:
        left = state.undo_until - now
        return f"waits {left:.0f} s for the undo window (`rollout deploy --give-up-undo`)"
    return "starts at once"


def lines(data: Data) -> list[str]:
    """The forecast for a person."""
    out = [
        f"a push     {data['first']}",
        f"then       verify, render, lint; pods on {data['lane']} at 0 %; staging; scenarios",
        f"traffic    {data['rate_per_s']} requests/s, {data['min_samples']} samples a step",
    ]
    for row in data["steps"]:
        fills = "never" if row["fills_s"] is None else f"in {row['fills_s']} s"
        rest = "merged into the next" if row["merged"] else f"about {row['seconds']:.0f} s"
        out.append(f"step       {row['percent']:3} %  filled {fills}: {rest}")
    end = "holds for a person" if data["holds"] else "promotion, and the old lane stands by"
    out.append(f"steps      {data['seconds']:.0f} s in all, then {end}")
    return out


def measured_rate(api: Api, names: Names, now: float) -> float:
    """Requests a second that both lanes answered in the last 30 s, through the pod proxy."""
    pods = api.items(core(names.lanes, "pods"), f"app={names.app},lane in ({','.join(LANES)})")
    found = api.together(
        partial(_recent, api, names, pod["metadata"]["name"], now - RATE_S)
        for pod in pods
        if pod.get("status", {}).get("phase") == "Running"
    )
    return sum(found) / RATE_S


def _recent(api: Api, names: Names, pod: str, since: float) -> int:
    proxy = core(names.lanes, "pods", f"{pod}:{names.admin_port}") + "/proxy"

    def get(url: str) -> bytes:
        try:
            return api.call("GET", url, TIMEOUT_S)
        except RolloutError as error:
            raise SamplesUnreadable(str(error)) from None

    after, samples = 0, list[Sample]()
    try:
        for _ in range(MAX_PAGES):
            _boot, after, page = fetch(proxy, after, get=get)
            samples += page
            if len(page) < PAGE:
                break
    except SamplesUnreadable:
        return 0
    return sum(1 for one in samples if one.t >= since and not one.synthetic)
