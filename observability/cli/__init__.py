"""The commands: what each reads, and what it prints."""
