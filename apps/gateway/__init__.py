"""The front door: the only part that reads bytes from outside (ASGI, strict JSON, SSE)."""
