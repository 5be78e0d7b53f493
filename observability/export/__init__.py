"""One renderer a file: a session in the formats that other tools open."""
