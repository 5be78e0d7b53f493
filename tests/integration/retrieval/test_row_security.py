"""Nobody sees another customer's rows, whatever a login role sets, forges or replays."""

import hashlib
import time
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql

from apps.retrieval.assertion import sign
from apps.retrieval.configuration import LOGIN_ROLES
from apps.retrieval.documents import replace
from tests.integration.retrieval.reports import MODEL, document, vectors_of

OURS = ("identity", "insurance", "medical", "tickets", "documents")
NOLOGIN_ROLES = (
    "switchyard_owner",
    "switchyard_identity",
    "switchyard_staff",
    "switchyard_upkeep",
    "switchyard_uploads",
)
CUSTOMERS_TABLES = {
    "identity.customers": "id",
    "identity.tokens": "customer",
    "identity.sessions": "customer",
    "insurance.accounts": "customer",
    "medical.reports": "customer",
    "medical.results": "customer",
    "medical.latest_results": "customer",
    "tickets.tickets": "customer",
    "documents.documents": "owner",
    "documents.chunks": "owner",
    "documents.embeddings": "owner",
    "documents.vectors": "owner",
}
# Of these a customer also sees the insurer's own rows, whose owner is ''.
DOCUMENTS_TABLES = ("documents.documents", "documents.chunks", "documents.vectors")
LOADERS_TABLES = (*DOCUMENTS_TABLES, "documents.embeddings")


def visible(url: str, table: str, assertion: str) -> set[str]:
    """The customers whose rows the role sees in `table`; none if it may not look at all."""
    column = CUSTOMERS_TABLES[table]
    query = sql.SQL("SELECT DISTINCT {} FROM {}").format(
        sql.Identifier(column), sql.Identifier(*table.split("."))
    )
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('switchyard.assertion', %s, true)", (assertion,))
        try:
            return {row[0] for row in connection.execute(query)}
        except psycopg.errors.InsufficientPrivilege:
            return set()


@pytest.fixture
def filled(postgres: Any) -> Any:
    """The database with a ticket, a session and a document of each of two customers, and a
    document of the insurer's."""
    with psycopg.connect(postgres.url("loader")) as connection:
        for owner in (None, "c-1001", "c-1002"):
            one = document(owner=owner)
            replace(connection, one, vectors_of(one), MODEL)
    with psycopg.connect(postgres.superuser_url) as connection:
        for customer in ("c-1001", "c-1002"):
            connection.execute(
                "INSERT INTO tickets.tickets (customer, session, message_id, query, language)"
                " VALUES (%s, 's', 'm', 'q', 'en')",
                (customer,),
            )
            connection.execute(
                "INSERT INTO identity.sessions (session, customer) VALUES (%s, %s)",
                (f"session-of-{customer}", customer),
            )
    return postgres


@pytest.mark.parametrize("role", LOGIN_ROLES)
@pytest.mark.parametrize("table", CUSTOMERS_TABLES)
def test_a_role_sees_the_asserted_customers_rows_at_most(
    filled: Any, role: str, table: str
) -> None:
    seen = visible(filled.url(role), table, filled.assertion("c-1001"))
    allowed = {
        "assistant": {
            "identity.customers",
            "insurance.accounts",
            "medical.reports",
            "medical.results",
            "medical.latest_results",
            *DOCUMENTS_TABLES,
        },
        "tickets": {"tickets.tickets"},
        "gateway": set(),
        # It writes everybody's documents and sees nothing else.
        "loader": set(),
    }
    if role == "loader" and table in LOADERS_TABLES:
        assert seen == {"", "c-1001", "c-1002"}
    elif table in DOCUMENTS_TABLES and table in allowed[role]:
        assert seen == {"", "c-1001"}
    else:
        assert seen == ({"c-1001"} if table in allowed[role] else set())


def bad_assertions(postgres: Any) -> dict[str, str]:
    key, now = postgres.assertion_key, int(time.time())
    good = postgres.assertion("c-1001")
    head, mac = good.rsplit(".", 1)
    return {
        "none": "",
        "just the name": "c-1001",
        "another name under the same mac": good.replace("c-1001", "c-1002"),
        "another session under the same mac": good.replace("session-1", "session-2"),
        "a later expiry under the same mac": f"{head}1.{mac}",
        "upper-case mac": f"{head}.{mac.upper()}",
        "no mac": head,
        "zero mac": f"{head}.{'0' * 64}",
        "trailing newline": good + "\n",
        "leading space": " " + good,
        "expired": sign(key, "c-1001", "s", now - 1),
        "too far ahead": sign(key, "c-1001", "s", now + 1000),
        "a foreign key": sign(bytes(32), "c-1001", "s", now + 60),
        "a customer that is not": sign(key, "c-9999", "s", now + 60),
        "very long": "v1." + "x" * 100_000,
    }


@pytest.mark.parametrize(
    "table",
    ["insurance.accounts", "medical.results", "identity.customers", *DOCUMENTS_TABLES],
)
def test_forged_expired_and_foreign_assertions_see_nothing(filled: Any, table: str) -> None:
    for name, assertion in bad_assertions(filled).items():
        assert visible(filled.url("assistant"), table, assertion) == set(), name


def test_a_role_that_sets_the_variable_itself_is_still_nobody_else(filled: Any) -> None:
    mine = filled.assertion("c-1001")
    attempts = [
        ("SET switchyard.assertion = 'c-1002'", None),
        ("SET SESSION switchyard.assertion = 'v1.c-1002.s.9999999999.00'", None),
        ("SET search_path = pg_temp, public", None),
        ("SET ROLE switchyard_owner", psycopg.errors.InsufficientPrivilege),
        ("SET ROLE switchyard_identity", psycopg.errors.InsufficientPrivilege),
        ("SET SESSION AUTHORIZATION postgres", psycopg.errors.InsufficientPrivilege),
        ("SET session_replication_role = replica", psycopg.errors.InsufficientPrivilege),
        (
            "CREATE FUNCTION identity.evil() RETURNS text LANGUAGE sql AS 'SELECT 1'",
            psycopg.errors.InsufficientPrivilege,
        ),
        ("CREATE TEMP TABLE assertion_key (x int)", psycopg.errors.InsufficientPrivilege),
        ("CREATE SCHEMA mine", psycopg.errors.InsufficientPrivilege),
    ]
    with psycopg.connect(filled.url("assistant"), autocommit=True) as connection:
        for statement, refusal in attempts:
            if refusal is None:
                connection.execute(statement)
            else:
                with pytest.raises(refusal):
                    connection.execute(statement)
            rows = connection.execute("SELECT customer FROM insurance.accounts").fetchall()
            assert rows == [], statement
        connection.execute("RESET ALL")
        connection.execute("SELECT set_config('switchyard.assertion', %s, false)", (mine,))
        rows = connection.execute("SELECT customer FROM insurance.accounts").fetchall()
        assert rows == [("c-1001",)]
    with (
        psycopg.connect(filled.url("assistant"), options="-c row_security=off") as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"),
    ):
        connection.execute("SELECT customer FROM insurance.accounts")


@pytest.mark.parametrize("role", LOGIN_ROLES)
@pytest.mark.parametrize("table", ["identity.assertion_key", "identity.tokens"])
def test_no_login_role_reads_the_key_or_the_tokens(postgres: Any, role: str, table: str) -> None:
    query = sql.SQL("SELECT * FROM {}").format(sql.Identifier(*table.split(".")))
    with (
        psycopg.connect(postgres.url(role)) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(query)


def test_the_owner_of_the_tables_sees_no_row_either(filled: Any) -> None:
    with psycopg.connect(filled.superuser_url) as connection:
        connection.execute("SET ROLE switchyard_owner")
        for table in CUSTOMERS_TABLES:
            query = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(*table.split(".")))
            assert connection.execute(query).fetchone() == (0,), table


def test_every_table_with_a_customer_forces_row_security(postgres: Any) -> None:
    with psycopg.connect(postgres.superuser_url) as connection:
        rows = connection.execute(
            "SELECT c.oid::regclass::text, c.relrowsecurity AND c.relforcerowsecurity,"
            "       pg_get_userbyid(c.relowner)"
            "  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace"
            " WHERE c.relkind IN ('r', 'p') AND n.nspname = ANY(%s)",
            (list(OURS),),
        ).fetchall()
    assert len(rows) >= 9
    assert {owner for _, _, owner in rows} == {"switchyard_owner"}
    assert {table for table, forced, _ in rows if not forced} == {"medical.analytes"}


def test_views_look_with_the_eyes_of_their_reader(postgres: Any) -> None:
    with psycopg.connect(postgres.superuser_url) as connection:
        rows = connection.execute(
            "SELECT c.relname, coalesce(c.reloptions, '{}') FROM pg_class AS c"
            "  JOIN pg_namespace AS n ON n.oid = c.relnamespace"
            " WHERE c.relkind IN ('v', 'm') AND n.nspname = ANY(%s)",
            (list(OURS),),
        ).fetchall()
    assert rows
    assert all("security_invoker=true" in options for _, options in rows)


def test_roles_have_no_more_attributes_than_they_need(postgres: Any) -> None:
    with psycopg.connect(postgres.superuser_url) as connection:
        rows = connection.execute(
            "SELECT rolname, rolcanlogin, rolsuper OR rolbypassrls OR rolcreatedb OR rolcreaterole"
            " OR rolreplication OR rolinherit FROM pg_roles WHERE rolname = ANY(%s)",
            ([*LOGIN_ROLES, *NOLOGIN_ROLES],),
        ).fetchall()
        members = connection.execute(
            "SELECT count(*) FROM pg_auth_members WHERE member::regrole::text = ANY(%s)",
            ([*LOGIN_ROLES, *NOLOGIN_ROLES],),
        ).fetchone()
        owned = connection.execute(
            "SELECT count(*) FROM pg_class WHERE pg_get_userbyid(relowner) = ANY(%s)",
            (list(LOGIN_ROLES),),
        ).fetchone()
    assert sorted(rows) == sorted(
        [(role, True, False) for role in LOGIN_ROLES]
        + [(role, False, False) for role in NOLOGIN_ROLES]
    )
    assert members == (0,)
    assert owned == (0,)


def test_functions_that_run_as_another_fix_their_search_path(postgres: Any) -> None:
    with psycopg.connect(postgres.superuser_url) as connection:
        rows = connection.execute(
            "SELECT p.oid::regprocedure::text, p.proconfig, pg_get_userbyid(p.proowner)"
            "  FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace"
            " WHERE p.prosecdef AND n.nspname = ANY(%s)",
            (list(OURS),),
        ).fetchall()
    assert len(rows) >= 6
    for name, config, owner in rows:
        assert config == ["search_path=pg_catalog, pg_temp"], name
        assert owner in set(NOLOGIN_ROLES) - {"switchyard_owner"}, name


def test_each_role_executes_the_functions_that_are_its_own(postgres: Any) -> None:
    with psycopg.connect(postgres.superuser_url) as connection:
        rows = connection.execute(
            "SELECT r.rolname, n.nspname || '.' || p.proname"
            "  FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace,"
            "       pg_roles AS r"
            " WHERE n.nspname = ANY(%s) AND r.rolname = ANY(%s)"
            "   AND has_function_privilege(r.oid, p.oid, 'EXECUTE')",
            (list(OURS), list(LOGIN_ROLES)),
        ).fetchall()
    assert set(rows) == {
        ("gateway", "identity.authenticate"),
        ("gateway", "identity.bind_session"),
        ("gateway", "tickets.stopped_within"),
        ("gateway", "documents.take_part"),
        ("assistant", "identity.customer"),
        ("assistant", "identity.session"),
        ("assistant", "identity.readable"),
        ("tickets", "identity.customer"),
        ("tickets", "identity.session"),
        ("tickets", "tickets.file"),
        ("tickets", "tickets.staff_page"),
    }


def test_settings_that_we_name_exist(postgres: Any) -> None:
    # PostgreSQL takes any name with a dot, silently and without effect.
    config = Path(postgres.server.folder, "data", "postgresql.conf").read_text()
    named = {line.split(" = ")[0] for line in config.splitlines() if " = " in line}
    named |= {"lock_timeout", "statement_timeout"}  # migrate and the pool set these
    with psycopg.connect(postgres.superuser_url) as connection:
        known = {row[0] for row in connection.execute("SELECT name FROM pg_settings")}
        errors = connection.execute("SELECT name FROM pg_file_settings WHERE NOT applied")
        assert errors.fetchall() == []
    assert len(named) > 20
    assert named <= known


def test_the_first_to_name_a_session_owns_it(postgres: Any) -> None:
    with psycopg.connect(postgres.url("gateway"), autocommit=True) as connection:

        def bind(session: str, customer: str) -> object:
            row = connection.execute("SELECT identity.bind_session(%s, %s)", (session, customer))
            return (row.fetchone() or (None,))[0]

        assert bind("one", "c-1001") is True
        assert bind("one", "c-1001") is True
        assert bind("one", "c-1002") is False
        assert bind("two", "c-1002") is True
        with pytest.raises(psycopg.errors.CheckViolation):
            bind("not a name", "c-1001")
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            bind("three", "nobody")


def test_a_token_is_known_by_its_hash_alone(postgres: Any) -> None:
    query = "SELECT customer, language, synthetic FROM identity.authenticate(%s)"
    with psycopg.connect(postgres.url("gateway")) as connection:

        def who(token: str) -> object:
            return connection.execute(query, (hashlib.sha256(token.encode()).digest(),)).fetchone()

        assert who(postgres.token("c-1001")) == ("c-1001", "zh", False)
        assert who(postgres.token("s-en")) == ("s-en", "en", True)
        assert who("x" * 32) is None


def test_an_error_in_a_condition_tells_nothing_of_rows_out_of_sight(filled: Any) -> None:
    # c-1002's balance is 3940.00: evaluated on that row, the division would fail.
    query = "SELECT customer FROM insurance.accounts WHERE 1 / (balance - 3940.00) IS NOT NULL"
    with psycopg.connect(filled.url("assistant")) as connection:
        name = "switchyard.assertion"
        connection.execute("SELECT set_config(%s, %s, true)", (name, filled.assertion("c-1001")))
        assert connection.execute(query).fetchall() == [("c-1001",)]
        connection.execute("SELECT set_config(%s, %s, true)", (name, filled.assertion("c-1002")))
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection.execute(query)


def test_a_ticket_in_anothers_name_or_session_is_not_written(filled: Any) -> None:
    insert = (
        "INSERT INTO tickets.tickets (customer, session, message_id, query, language)"
        " VALUES (%s, %s, 'new', 'q', 'en')"
    )
    for customer, session in (("c-1002", "session-1"), ("c-1001", "session-2")):
        with psycopg.connect(filled.url("tickets")) as connection:
            connection.execute(
                "SELECT set_config('switchyard.assertion', %s, true)",
                (filled.assertion("c-1001", session="session-1"),),
            )
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
                connection.execute(insert, (customer, session))


@pytest.mark.parametrize("statement", ["DELETE FROM tickets.tickets", "TRUNCATE tickets.tickets"])
def test_a_ticket_is_never_taken_back(filled: Any, statement: LiteralString) -> None:
    with (
        psycopg.connect(filled.url("tickets")) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(statement)
