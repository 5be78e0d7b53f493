"""The assistant: one folder a part."""
