"""Real gateways on the real pipeline, tickets service and PostgreSQL."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.integration.gateway.harness import Gateway, run_gateway
from tests.integration.pipeline.harness import Pipeline, run_pipeline, run_tickets


@pytest.fixture(scope="session")
def tickets_url(running_postgres: Any) -> Iterator[str]:
    with run_tickets(running_postgres) as url:
        yield url


@pytest.fixture(scope="session")
def lane(running_postgres: Any, tickets_url: str) -> Iterator[Pipeline]:
    """The pipeline that the gateways of these tests share."""
    with run_pipeline(running_postgres.url("assistant"), tickets_url) as pipeline:
        yield pipeline


@pytest.fixture(scope="session")
def start_gateway(
    running_postgres: Any, lane: Pipeline, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Gateway]]:
    """Start a gateway on the shared pipeline; it runs to the end of the tests."""
    folder = tmp_path_factory.mktemp("gateway")
    with ExitStack() as stack:

        def start(**more: str) -> Gateway:
            return stack.enter_context(
                run_gateway(
                    running_postgres.url("gateway"),
                    running_postgres.assertion_key,
                    lane.grpc,
                    folder,
                    wait=True,
                    **more,
                )
            )

        yield start


@pytest.fixture(scope="session")
def running_gateway(start_gateway: Callable[..., Gateway]) -> Gateway:
    return start_gateway(ANSWER_MAX_TOKENS="12")


@pytest.fixture
def gateway(running_gateway: Gateway, postgres: Any) -> Gateway:
    """The running gateway; no tickets, no sessions."""
    return running_gateway


@pytest.fixture(scope="session")
def second_gateway(start_gateway: Callable[..., Gateway]) -> Gateway:
    """Another gateway process on the same database, as in another lane."""
    return start_gateway(LANE="green")
