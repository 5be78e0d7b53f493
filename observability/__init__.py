"""Why one answer was slow: its functions, its GPU memory, its tokens."""
