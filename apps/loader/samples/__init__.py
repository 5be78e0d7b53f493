"""Sample reports: invented texts and figures, in Chinese and English, printed to PDF."""
