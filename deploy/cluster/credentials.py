"""Keys, certificates, tokens and kubeconfigs of one cluster, made once and kept until `down`."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Mapping
from pathlib import Path

from deploy.cluster import files
from deploy.cluster.shell import run
from deploy.cluster.topology import DNS_DOMAIN, Cluster

_DAYS = "3650"
_SECRET = 0o600

# User and group of each client of the API server; a token each.
USERS: Mapping[str, tuple[str, str]] = {
    "admin": ("admin", "system:masters"),
    "kube-controller-manager": ("system:kube-controller-manager", ""),
    "kube-scheduler": ("system:kube-scheduler", ""),
    "kube-proxy": ("system:kube-proxy", ""),
    "kubelet": ("system:node:{node}", "system:nodes"),
}


def token_file(of: Mapping[str, str], node: str) -> str:
    """The API server's token file: `token,user,uid,"groups"` a line, in the order of USERS."""
    lines = []
    for client, (user, group) in USERS.items():
        name = user.format(node=node)
        lines.append(f'{of[client]},{name},{name},"{group}"\n')
    return "".join(lines)


def tokens(text: str) -> dict[str, str]:
    """The token of each client: inverse of `token_file`."""
    found = [line.partition(",")[0] for line in text.splitlines()]
    return dict(zip(USERS, found, strict=True))


def kubeconfig(cluster: Cluster, authority: bytes, client: str, token: str) -> str:
    """A kubeconfig with the authority's certificate (PEM) and a bearer token inside.

    It is JSON, which is YAML as well and loads without a YAML parser.
    """
    place = {
        "server": cluster.api_url,
        "certificate-authority-data": base64.b64encode(authority).decode(),
    }
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": cluster.name, "cluster": place}],
            "users": [{"name": client, "user": {"token": token}}],
            "contexts": [
                {"name": cluster.name, "context": {"cluster": cluster.name, "user": client}}
            ],
            "current-context": cluster.name,
        },
        indent=1,
    )


def server_names(cluster: Cluster) -> str:
    """The API server certificate's alternative names, in OpenSSL's notation."""
    service = "kubernetes.default.svc"
    names = ["kubernetes", "kubernetes.default", service, f"{service}.{DNS_DOMAIN}"]
    addresses = [cluster.node_address, cluster.api_service_address, "127.0.0.1"]
    return ",".join([*(f"DNS:{n}" for n in names), *(f"IP:{a}" for a in addresses)])


def ensure(cluster: Cluster) -> None:
    """Make what is missing in `cluster.credentials`, and the admin's kubeconfig."""
    folder = cluster.credentials
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _authority(folder)
    _signed(folder, "apiserver", "/CN=kube-apiserver", server_names(cluster))
    _signed(folder, "apiserver-kubelet", "/O=system:masters/CN=kube-apiserver-kubelet-client", "")
    _signed(folder, "kubelet", f"/CN={cluster.name}", f"IP:{cluster.node_address}")
    if not (folder / "service-accounts.key").exists():
        private = run(["openssl", "genrsa", "2048"])
        public = run(["openssl", "rsa", "-pubout"], stdin=private)
        files.write(folder / "service-accounts.pub", public, _SECRET)
        files.write(folder / "service-accounts.key", private, _SECRET)
    if not (folder / "tokens.csv").exists():
        fresh = {client: secrets.token_hex(24) for client in USERS}
        files.write(folder / "tokens.csv", token_file(fresh, cluster.name), _SECRET)
    authority = (folder / "ca.crt").read_bytes()
    for client, token in tokens((folder / "tokens.csv").read_text()).items():
        text = kubeconfig(cluster, authority, client, token)
        files.write(folder / f"{client}.kubeconfig", text, _SECRET)
    files.write(cluster.kubeconfig, (folder / "admin.kubeconfig").read_text(), _SECRET)


def _authority(folder: Path) -> None:
    if (folder / "ca.crt").exists():
        return
    run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", _DAYS,
         "-subj", "/CN=switchyard-local", "-addext", "keyUsage=critical,keyCertSign,cRLSign",
         "-keyout", folder / "ca.key",
         "-out", folder / "ca.crt"])  # fmt: skip


def _signed(folder: Path, name: str, subject: str, alternatives: str) -> None:
    """`name.key` and `name.crt` signed by the authority; a client's has no alternative names."""
    certificate = folder / f"{name}.crt"
    if certificate.exists():
        return
    request, extensions = folder / f"{name}.csr", folder / f"{name}.ext"
    extensions.write_text(
        f"subjectAltName={alternatives}\nextendedKeyUsage=serverAuth\n"
        if alternatives
        else "extendedKeyUsage=clientAuth\n"
    )
    run(["openssl", "req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", subject,
         "-keyout", folder / f"{name}.key", "-out", request])  # fmt: skip
    run(["openssl", "x509", "-req", "-in", request, "-CA", folder / "ca.crt",
         "-CAkey", folder / "ca.key", "-CAcreateserial", "-days", _DAYS,
         "-extfile", extensions, "-out", certificate])  # fmt: skip
    request.unlink()
    extensions.unlink()
