"""GPU calls, GPU counters, and rules that turn them into findings."""
