"""How to reach the API server: address, trust and credentials.

A kubeconfig with a token or a client certificate, and a pod's service
account, are read here with the standard library alone, because an undo must
not wait for imports. Other ways (exec plugins, …) go through the kubernetes
package.
"""

from __future__ import annotations

import base64
import json
import os
import ssl
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rollout.errors import RolloutError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
TOKEN_MAX_AGE_S = 60.0


class BadAccess(RolloutError):
    """No usable way to the cluster."""


@dataclass
class Token:
    """A bearer token, read again from its file now and then because it is rotated."""

    value: str = ""
    path: Path | None = None
    read_at: float = 0.0

    def header(self) -> str | None:
        """The value of the Authorization header, or None without a token."""
        if self.path is not None and time.monotonic() - self.read_at > TOKEN_MAX_AGE_S:
            self.value, self.read_at = self.path.read_text().strip(), time.monotonic()
        return f"Bearer {self.value}" if self.value else None


@dataclass(frozen=True)
class Access:
    """Where the API server is. `context` is None for plain HTTP (a kubectl proxy)."""

    host: str
    port: int
    context: ssl.SSLContext | None
    token: Token
    server_name: str | None = None
    """The name in the server's certificate, where it is not `host` (`tls-server-name`)."""


def find() -> Access:
    """From $KUBECONFIG, else the pod's service account, else ~/.kube/config."""
    named = os.environ.get("KUBECONFIG")
    if named:
        return from_kubeconfig(Path(named))
    if (SERVICE_ACCOUNT / "token").exists():
        return in_cluster()
    home = Path.home() / ".kube" / "config"
    if home.exists():
        return from_kubeconfig(home)
    raise BadAccess("no cluster: set KUBECONFIG to a kubeconfig file")


def in_cluster() -> Access:
    """A pod's own service account."""
    host = os.environ.get("KUBERNETES_SERVICE_HOST", "kubernetes.default.svc")
    port = int(os.environ.get("KUBERNETES_SERVICE_PORT", "443"))
    context = _context(cafile=str(SERVICE_ACCOUNT / "ca.crt"))
    return Access(host, port, context, Token(path=SERVICE_ACCOUNT / "token", read_at=-1e9))


def from_kubeconfig(path: Path) -> Access:
    """The current context of a kubeconfig. Raises BadAccess."""
    try:
        document = _read(path)
        context = _named(document, "contexts", document["current-context"])["context"]
        cluster = _named(document, "clusters", context["cluster"])["cluster"]
        user = _named(document, "users", context["user"])["user"]
        if not _plain(user):
            return _through_package(path)
        return _access(path.parent, cluster, user)
    except OSError as error:
        raise BadAccess(f"{path}: {error.strerror}: set KUBECONFIG to a readable file") from None
    except (KeyError, TypeError, ValueError) as error:
        raise BadAccess(f"{path}: not a usable kubeconfig ({error!r}): mend it") from None


def _read(path: Path) -> Any:
    text = path.read_text()
    try:
        return json.loads(text)
    except ValueError:
        import yaml  # a kubeconfig may be JSON, which is read without this import

        try:
            return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
        except yaml.YAMLError as error:
            raise ValueError(" ".join(str(error).split())) from None


def _named(document: Any, group: str, name: str) -> Any:
    for item in document[group]:
        if item["name"] == name:
            return item
    raise ValueError(f"{group} has no {name!r}")


def _plain(user: dict[str, Any]) -> bool:
    return not {"exec", "auth-provider", "username"} & set(user)


def _access(folder: Path, cluster: dict[str, Any], user: dict[str, Any]) -> Access:
    url = urlsplit(cluster["server"])
    secure = url.scheme == "https"
    host = url.hostname
    if not host or url.scheme not in ("http", "https"):
        raise ValueError(f"server {cluster['server']!r} is not a URL")
    context = _tls(folder, cluster, user) if secure else None
    token = Token(user.get("token", ""))
    if user.get("tokenFile"):
        token = Token(path=folder / user["tokenFile"], read_at=-1e9)
    name = cluster.get("tls-server-name")
    return Access(host, url.port or (443 if secure else 80), context, token, name)


def _tls(folder: Path, cluster: dict[str, Any], user: dict[str, Any]) -> ssl.SSLContext:
    authority = _material(folder, cluster, "certificate-authority")
    context = _context(cadata=authority.decode() if authority else None)
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    certificate = _material(folder, user, "client-certificate")
    key = _material(folder, user, "client-key")
    if certificate and key:
        import tempfile  # the ssl module reads client certificates from files only

        with tempfile.TemporaryDirectory(prefix="rollout-") as private:
            pair = Path(private, "pair.pem")
            pair.touch(mode=0o600)
            pair.write_bytes(certificate + b"\n" + key)
            context.load_cert_chain(pair)
    return context


def _context(cafile: str | None = None, cadata: str | None = None) -> ssl.SSLContext:
    """Chain and name are verified; an authority without the key-usage extension is accepted.

    Many clusters sign with such an authority, and Python 3.13 refuses it by default.
    """
    context = ssl.create_default_context(cafile=cafile, cadata=cadata)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _material(folder: Path, entry: dict[str, Any], name: str) -> bytes | None:
    if entry.get(f"{name}-data"):
        return base64.b64decode(entry[f"{name}-data"], validate=True)
    return (folder / entry[name]).read_bytes() if entry.get(name) else None


def _through_package(path: Path) -> Access:
    """Credentials that need a plugin: let the kubernetes package find them."""
    from kubernetes import client, config

    settings = client.Configuration()
    load: Any = config.load_kube_config
    load(str(path), client_configuration=settings)
    url = urlsplit(settings.host)
    context = _context(cafile=settings.ssl_ca_cert)
    if settings.cert_file:
        context.load_cert_chain(settings.cert_file, settings.key_file)
    value = settings.get_api_key_with_prefix("BearerToken", "authorization") or ""
    token = Token(value.removeprefix("Bearer "))
    name = getattr(settings, "tls_server_name", None)
    return Access(url.hostname or "", url.port or 443, context, token, name)
