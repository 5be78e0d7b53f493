"""PDF files to passages: blocks with page coordinates, table rows, chunks, vectors, rows."""
