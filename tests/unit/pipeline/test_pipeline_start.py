"""How Triton is started: settings, paths, and a machine that lacks something."""

import os
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from apps.pipeline import backend, processes
from apps.pipeline.customer import facts_of
from apps.pipeline.reply import Fact
from apps.pipeline.settings import Settings, SettingsError
from apps.retrieval.records import Customer, Facts, InsuranceAccount, LabReport, LabResult

GOOD = {"DATABASE_URL": "postgresql://a:b@c/d", "TICKETS_URL": "http://tickets:8080"}


def test_the_default_listens_on_the_loopback() -> None:
    assert Settings.read(GOOD) == Settings("127.0.0.1", 8001, 8000, 8002)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", ""),
        ("DATABASE_URL", "mysql://x"),
        ("TICKETS_URL", "https://x"),
        ("GRPC_PORT", "65536"),
        ("HEALTH_PORT", "-1"),
        ("METRICS_PORT", "８００２"),
        ("ENGINE_THREADS", "0"),
    ],
)
def test_a_bad_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name) as raised:
        Settings.read({**GOOD, name: value})
    assert "\n" not in str(raised.value)


def test_the_backend_folder_has_the_stub_of_this_python(tmp_path: Path) -> None:
    folder = backend.prepare(tmp_path) / "python"
    names = {path.name for path in folder.iterdir()}
    assert {"libtriton_python.so", "triton_python_backend_stub"} <= names
    assert os.access(folder / "triton_python_backend_stub", os.X_OK)


def test_the_server_speaks_grpc_only_and_keeps_its_metrics_to_itself(tmp_path: Path) -> None:
    command = backend.command(Settings("0.0.0.0", 1, 2, 3), tmp_path, "p_")
    assert "--allow-http=false" in command
    assert "--metrics-address=127.0.0.1" in command
    assert "--grpc-address=0.0.0.0" in command
    (guarded,) = [word for word in command if word.startswith("--grpc-restricted-protocol=")]
    assert len(guarded.rpartition("=")[2]) == 32


def test_every_model_has_its_source_where_its_configuration_says() -> None:
    for folder in backend.MODELS.iterdir():
        text = (folder / "config.pbtxt").read_text()
        assert f'default_model_filename: "{folder.name}.py"' in text
        assert (folder / "1" / f"{folder.name}.py").is_file()


def test_too_little_shared_memory_is_said(tmp_path: Path) -> None:
    with pytest.raises(backend.BackendError, match="mount a tmpfs there"):
        backend.check_shared_memory(tmp_path / "none")


def test_the_environment_finds_our_code_and_this_python() -> None:
    made = backend.environment({"PATH": "/bin", "PYTHONPATH": "/more", "DATABASE_URL": "x"})
    assert made["PYTHONPATH"].split(":") == [str(backend.ROOT), "/more"]
    assert made["PATH"].endswith(":/bin")
    assert made["DATABASE_URL"] == "x"
    first = Path(made["LD_LIBRARY_PATH"].split(":")[0])
    assert list(first.glob("libpython3.*.so.1.0"))


def process(proc: Path, pid: int, parent: int, state: str, *words: str) -> None:
    folder = proc / str(pid)
    folder.mkdir()
    (folder / "stat").write_text(f"{pid} (a (b) c) {state} {parent} 1 1")
    (folder / "cmdline").write_bytes(b"\0".join(word.encode() for word in words) + b"\0")


def test_a_models_process_is_found_and_missed(tmp_path: Path) -> None:
    stub = "/x/triton_python_backend_stub"
    process(tmp_path, 11, 5, "S", stub, "/app/models/answer/1/answer.py", "region")
    process(tmp_path, 12, 5, "S", stub, "/app/models/intent/1/intent.py", "region")
    process(tmp_path, 13, 6, "S", stub, "/app/models/ticket/1/ticket.py", "region")
    process(tmp_path, 14, 5, "S", "/bin/sh", "-c", "true")
    (tmp_path / "self").mkdir()
    known = processes.stubs(5, tmp_path)
    assert known == {11: "answer", 12: "intent"}
    assert processes.lost(known, 5, tmp_path) == ""
    (tmp_path / "12" / "stat").write_text("12 (stub) Z 5 1 1")
    assert processes.lost(known, 5, tmp_path) == "intent"
    (tmp_path / "11" / "stat").unlink()
    assert processes.lost(known, 5, tmp_path) == "answer"


CUSTOMER = Customer("c-1", "Emma", "en")


def test_an_account_becomes_exact_facts_in_the_language_asked_for() -> None:
    account = InsuranceAccount(
        policy="P",
        plan="Plan",
        currency="CNY",
        balance=Decimal("0.10"),
        annual_limit=Decimal("20000.00"),
        used_this_year=Decimal("19999.90"),
        deductible=Decimal("1500.00"),
        deductible_left=Decimal("0.00"),
        as_of=date(2026, 11, 1),
    )
    english = facts_of(Facts(CUSTOMER, account=account), "en")
    assert english[0] == Fact("balance", "balance", "0.10", "CNY")
    assert english[5] == Fact("as_of", "as of", "2026-11-01")
    assert facts_of(Facts(CUSTOMER, account=account), "zh")[0].label == "余额"


def test_a_report_becomes_facts_with_ranges_and_flags() -> None:
    result = LabResult(
        "ldl", "低密度脂蛋白", "LDL", "mmol/L", Decimal("3.90"), None, Decimal("3.4"), "high"
    )
    report = LabReport("Lab", date(2026, 10, 20), (result,))
    facts = facts_of(Facts(CUSTOMER, report=report), "en")
    assert facts[0] == Fact("ldl", "LDL", "3.90", "mmol/L", "≤ 3.4", "high")
    assert [fact.name for fact in facts] == ["ldl", "reported_on", "laboratory"]


def test_no_record_is_no_fact() -> None:
    assert facts_of(Facts(CUSTOMER), "en") == []
