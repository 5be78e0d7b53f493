"""The scenarios that judge a candidate: the promoted release's, and what it adds itself.

So a commit cannot weaken its own examination by editing or deleting one. How
many there are, how long and how often they run is bounded: a commit writes them.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from rollout.errors import RolloutError
from rollout.git import Repository
from rollout.records import Record
from rollout.scenario import MAX_BYTES, BadScenario, Scenario, load

FOLDER = "rollout/scenarios"
MAX_SCENARIOS = 100
MAX_QUESTIONS = 10_000
"""Questions of a whole examination: runs times turns, over all scenarios."""


class NoScenarios(RolloutError):
    """A release without an examination cannot pass one."""


def texts(repository: Repository, commit: str) -> dict[str, str]:
    """A commit's scenario texts by file name. Raises NoScenarios, or TooLarge for a long one."""
    paths = [
        path
        for path, mode, _blob in repository.tree(commit, [FOLDER])
        if path.endswith((".yaml", ".yml")) and mode.startswith("100")
    ]
    _few_enough(len(paths))
    return {
        str(PurePosixPath(path).relative_to(FOLDER)): repository.read(
            commit, path, MAX_BYTES
        ).decode("utf8", "replace")
        for path in paths
    }


def chosen(base: Record, candidate: Record) -> dict[str, str]:
    """The texts that judge `candidate`, by file name.

    A promoted text that today's program cannot read any more gives way to the
    candidate's, or nobody could ever mend it.
    """
    stands = {
        name: text
        for name, text in base.scenarios.items()
        if name not in candidate.scenarios or _readable(text)
    }
    return {**candidate.scenarios, **stands}


def scenarios(found: dict[str, str]) -> list[Scenario]:
    """The scenarios in the order of their file names. Raises NoScenarios."""
    if not found:
        raise NoScenarios("neither the promoted release nor the candidate has a scenario: add one")
    _few_enough(len(found))
    read = [_scenario(name, text) for name, text in sorted(found.items())]
    questions = sum(one.runs * len(one.turns) for one in read)
    if questions > MAX_QUESTIONS:
        raise NoScenarios(
            f"{FOLDER}: {questions} questions in all (runs times turns), "
            f"at most {MAX_QUESTIONS} are asked: lower some runs"
        )
    return read


def _few_enough(number: int) -> None:
    if number > MAX_SCENARIOS:
        raise NoScenarios(f"{FOLDER}: {number} scenarios, at most {MAX_SCENARIOS}: join some")


def _scenario(name: str, text: str) -> Scenario:
    try:
        return load(text)
    except BadScenario as error:
        raise NoScenarios(f"{FOLDER}/{name}: {error}") from None


def _readable(text: str) -> bool:
    try:
        return bool(load(text))
    except BadScenario:
        return False
