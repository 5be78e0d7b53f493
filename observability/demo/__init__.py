"""A scripted incident that any machine can play: no cluster, no GPU."""
