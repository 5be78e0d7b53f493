"""Deployment: the local cluster and the overlays that any cluster gets."""
