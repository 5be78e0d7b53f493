"""What the PostgreSQL server is told: its settings and who may connect. Pure."""

from collections.abc import Mapping

LOGIN_ROLES = ("gateway", "assistant", "tickets", "loader")
DATABASE = "switchyard"

# Sized for a pod of 256 MiB. No parallel workers, because each needs shared memory and the
# queries here read a few rows; no WAL senders, because nothing replicates from this server.
SETTINGS: dict[str, str] = {
    "max_connections": "80",
    "shared_buffers": "32MB",
    "work_mem": "2MB",
    "maintenance_work_mem": "32MB",
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "0",
    "max_worker_processes": "2",
    "io_method": "sync",
    "jit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "min_wal_size": "32MB",
    "max_wal_size": "256MB",
    "unix_socket_directories": "",
    "password_encryption": "scram-sha-256",
    "authentication_timeout": "5s",
    "statement_timeout": "15s",
    "lock_timeout": "5s",
    "idle_in_transaction_session_timeout": "15s",
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
    "log_destination": "stderr",
    "logging_collector": "off",
    "log_line_prefix": "%m %q%u@%d ",
    # Parameters may be assertions or a customer's words: they never reach the log.
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_timezone": "UTC",
    "TimeZone": "UTC",
}


def postgresql_conf(settings: Mapping[str, str]) -> str:
    """Return the text of postgresql.conf for `settings`, over and above `SETTINGS`."""
    lines = [f"{name} = {_quoted(value)}" for name, value in {**SETTINGS, **settings}.items()]
    return "# Written at each start; changes made here are lost.\n" + "\n".join(lines) + "\n"


def pg_hba_conf() -> str:
    """Return the text of pg_hba.conf: five roles, with a password, and nobody else."""
    roles = ",".join(LOGIN_ROLES)
    return (
        f"host  all  postgres  all  scram-sha-256\nhost  {DATABASE}  {roles}  all  scram-sha-256\n"
    )


def _quoted(value: str) -> str:
    if "\n" in value or "\0" in value:
        raise ValueError(f"a PostgreSQL setting is one line, not {value!r}")
    return "'" + value.replace("'", "''") + "'"
