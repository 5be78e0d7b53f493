"""Read what a question needs, in one transaction under the asker's assertion."""

from functools import partial

from psycopg.rows import class_row, kwargs_row

from apps.retrieval.pool import Connection, Pool
from apps.retrieval.records import Customer, Facts, InsuranceAccount, LabReport, LabResult

# No WHERE on the customer: row-level security shows the asserted customer's rows alone.
_CUSTOMER = "SELECT id, name, language FROM identity.customers"
_ACCOUNT = (
    "SELECT policy, plan, currency, balance, annual_limit, used_this_year, deductible,"
    " deductible_left, as_of FROM insurance.accounts"
)
_REPORT = "SELECT DISTINCT laboratory, reported_on FROM medical.latest_results"
_RESULTS = (
    "SELECT analyte, label_zh, label_en, unit, value, low, high, flag"
    " FROM medical.latest_results ORDER BY position"
)


class NotAllowed(Exception):
    """The assertion is not valid now, or names nobody: ask for a new one."""


def facts(pool: Pool, assertion: str, intent: str) -> Facts:
    """Return the asserted customer and what `intent` is about, as far as it is on record.

    `insurance_balance` reads the account, `lab_report` the newest report; other intents need
    nothing more than the customer. Raises `NotAllowed` or `TryLater`.
    """
    with pool.transaction(assertion) as connection:
        with connection.cursor(row_factory=class_row(Customer)) as cursor:
            customer = cursor.execute(_CUSTOMER).fetchone()
        if customer is None:
            raise NotAllowed("the assertion is not valid now; ask for a new one")
        if intent == "insurance_balance":
            return Facts(customer, account=_account(connection))
        if intent == "lab_report":
            return Facts(customer, report=_report(connection))
        return Facts(customer)


def _account(connection: Connection) -> InsuranceAccount | None:
    with connection.cursor(row_factory=class_row(InsuranceAccount)) as cursor:
        return cursor.execute(_ACCOUNT).fetchone()


def _report(connection: Connection) -> LabReport | None:
    with connection.cursor(row_factory=class_row(LabResult)) as cursor:
        results = tuple(cursor.execute(_RESULTS))
    with connection.cursor(row_factory=kwargs_row(partial(LabReport, results=results))) as cursor:
        return cursor.execute(_REPORT).fetchone()
