"""The ticket service: a complaint becomes exactly one ticket; people read them on a plain page."""
