"""The whole assistant on this machine, without Kubernetes: `python -m apps.local` or `make run`."""
