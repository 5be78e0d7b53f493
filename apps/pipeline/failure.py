"""What a part says when it cannot do its work now."""


class Unavailable(Exception):
    """A neighbour (database, tickets, another model) did not answer in time or refused.

    The text is one line for the reply's `reason`: no address, no secret, no customer's words.
    """
