"""The rollout controller: from a signed push to a promoted release, and back."""
