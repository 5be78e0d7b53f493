"""The node agent: attach, read, join, record."""
