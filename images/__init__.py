"""Container images: bootstrapped bases, locked dependencies, sources last, everything by digest."""
