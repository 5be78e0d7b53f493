"""Builds the folder that `apps.embedder.model` reads; nothing here is needed to compute."""
