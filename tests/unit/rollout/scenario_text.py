"""A short scenario as a file holds it."""

from __future__ import annotations


def scenario(query: str, runs: int = 20, turns: int = 1) -> str:
    """One that asks `query` in each turn and waits for the word `ticket`."""
    head = f"name: greeting.en\nlanguage: en\ncustomer: s-en\nruns: {runs}\nturns:\n"
    turn = f'  - query: {query}\n    expect: {{intent: other, reply_matches: ["ticket"]}}\n'
    return head + turn * turns
