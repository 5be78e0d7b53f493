"""How many tokens a request made, how many were sent, and how many nobody read.

`TokenAccounting` wraps an ASGI application that streams model output; the application may
report each token to `scope["tokens"]`, and without that the reply's own bytes are counted.
"""

from observability.tokens.account import Account, Reason
from observability.tokens.middleware import TokenAccounting

__all__ = ["Account", "Reason", "TokenAccounting"]
