"""The real pipeline: Triton with all its models, on a real PostgreSQL and tickets service."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.pipeline.harness import Pipeline, run_pipeline, run_tickets


@pytest.fixture(scope="session")
def running_tickets(running_postgres: Any) -> Iterator[str]:
    with run_tickets(running_postgres) as url:
        yield url


@pytest.fixture(scope="session")
def running_pipeline(running_postgres: Any, running_tickets: str) -> Iterator[Pipeline]:
    with run_pipeline(running_postgres.url("assistant"), running_tickets) as pipeline:
        yield pipeline


@pytest.fixture
def pipeline(running_pipeline: Pipeline, postgres: Any) -> Pipeline:
    """The running pipeline; tickets start at 1."""
    return running_pipeline
