"""The diagnostic page: one HTML file, no network."""
