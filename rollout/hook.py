"""The post-receive hook that tells the controller of a push. It needs only sh and python3."""

from __future__ import annotations

import os
from pathlib import Path

from rollout.errors import RolloutError

WEBHOOK_FILE = "switchyard-token"

SCRIPT = """\
#!/bin/sh
# Tells the rollout controller of each push. A failure never refuses the push:
# the controller also looks at the branch by itself every 30 seconds.
exec python3 -c '
import json, sys, urllib.request
url, token_file = sys.argv[1:]
token = open(token_file).read().strip()
for line in sys.stdin:
    before, after, ref = line.split()
    body = json.dumps({"ref": ref, "before": before, "after": after}).encode()
    headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
    request = urllib.request.Request(url, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            print("rollout:", json.load(answer)["said"])
    except Exception as error:
        print("rollout: not told (%s); it will look by itself" % error)
' "@URL@" "$(dirname "$0")/../@WEBHOOK_FILE@"
"""


class CannotInstall(RolloutError):
    """The folder is no bare repository, or has a hook of its own."""


def script(url: str) -> str:
    """The hook for a webhook at `url`."""
    if any(mark in url for mark in "\"'`$\\\n ") or not url.startswith(("http://", "https://")):
        raise CannotInstall(f"{url!r} is not a plain http or https URL: give one with --url")
    return SCRIPT.replace("@URL@", url).replace("@WEBHOOK_FILE@", WEBHOOK_FILE)


def install(repository: Path, url: str, token: str) -> Path:
    """Write hook and token (0600) into a bare repository; the hook's path."""
    hooks = repository / "hooks"
    if not (repository / "HEAD").is_file() or not (repository / "objects").is_dir():
        raise CannotInstall(f"{repository} is not a bare git repository: name one")
    hooks.mkdir(exist_ok=True)
    path = hooks / "post-receive"
    if path.exists() and "rollout controller" not in path.read_text():
        raise CannotInstall(f"{path} exists and is not ours: call this hook from it yourself")
    secret = repository / WEBHOOK_FILE
    handle = os.open(secret, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(token + "\n")
    path.write_text(script(url))
    path.chmod(0o755)
    return path
