"""Whoever asks a command for help gets an example that can be typed."""

import runpy
import sys

import pytest

COMMANDS = [
    "apps.embedder",
    "apps.embedder.build",
    "apps.engine",
    "apps.engine.native",
    "apps.loader",
    "apps.loader.samples",
    "apps.local",
    "apps.retrieval.migrate",
    "apps.retrieval.space",
    "deploy.apply",
    "deploy.cluster",
    "images",
    *(f"images {name}" for name in ("build", "lock", "check", "requirements")),
    "observability",
    *(
        f"observability {name}"
        for name in (
            "check",
            "record",
            "serve",
            "top",
            "request",
            "flame",
            "export",
            "page",
            "demo",
        )
    ),
    "observability.native",
    "observability.probes",
    "observability.ring",
    "rollout",
    "rollout undo",
]


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_of_the_command(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module, *words = command.split()
    monkeypatch.setattr(sys, "argv", [module, *words, "--help"])
    with pytest.raises(SystemExit) as end:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    assert end.value.code in (0, None)
    _, _, examples = capsys.readouterr().out.partition("example")
    name = "rollout" if module == "rollout" else f"python -m {module}"
    assert name in " ".join(examples.split())
