"""Customers' facts in PostgreSQL: schema, identity, and typed reading under row-level security."""
