"""A recording read back: requests, their calls, what they held and what they wasted."""
