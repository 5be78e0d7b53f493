"""Kubeconfigs of every usual kind; a bad one is one line with the remedy."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from rollout import access
from rollout.access import BadAccess, from_kubeconfig
from rollout.cluster import Api
from rollout.errors import RolloutError


def document(cluster: dict[str, Any], user: dict[str, Any]) -> dict[str, Any]:
    return {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }


def saved(folder: Path, content: Any, text: str | None = None) -> Path:
    path = folder / "kubeconfig"
    path.write_text(text if text is not None else json.dumps(content))
    return path


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pair")
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-subj", "/CN=x", "-days", "1",
            "-addext", "subjectAltName=DNS:name.example",
        ],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    return folder


def test_json_and_yaml_read_alike(tmp_path: Path) -> None:
    content = document({"server": "http://127.0.0.1:8001"}, {"token": "t"})
    one = from_kubeconfig(saved(tmp_path, content))
    other = from_kubeconfig(saved(tmp_path, None, yaml.safe_dump(content)))
    assert one == other
    assert (one.host, one.port, one.token.header()) == ("127.0.0.1", 8001, "Bearer t")


def test_a_client_certificate_and_an_authority_from_files(tmp_path: Path, pair: Path) -> None:
    cluster = {"server": "https://[::1]:6443", "certificate-authority": str(pair / "cert.pem")}
    user = {"client-certificate": str(pair / "cert.pem"), "client-key": str(pair / "key.pem")}
    found = from_kubeconfig(saved(tmp_path, document(cluster, user)))
    assert (found.host, found.port) == ("::1", 6443)
    assert found.context is not None
    assert found.context.verify_mode is ssl.CERT_REQUIRED
    assert found.context.check_hostname
    assert not list(tmp_path.glob("rollout-*"))


def test_the_name_in_the_certificate_may_differ_from_the_address(
    tmp_path: Path, pair: Path
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair / "cert.pem", pair / "key.pem")
    server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    cluster = {
        "server": f"https://127.0.0.1:{server.server_port}",
        "certificate-authority": str(pair / "cert.pem"),
    }
    for name, outcome in (("name.example", "501"), ("other.example", "certificate verify failed")):
        content = document({**cluster, "tls-server-name": name}, {})
        with pytest.raises(RolloutError, match=outcome):
            Api(from_kubeconfig(saved(tmp_path, content))).get("/x")
    server.shutdown()
    server.server_close()


def test_a_token_file_is_read_again_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("one\n")
    content = document({"server": "http://h"}, {"tokenFile": "token"})
    found = from_kubeconfig(saved(tmp_path, content))
    assert found.token.header() == "Bearer one"
    (tmp_path / "token").write_text("two\n")
    assert found.token.header() == "Bearer one"
    monkeypatch.setattr(access, "TOKEN_MAX_AGE_S", -1.0)
    assert found.token.header() == "Bearer two"


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", "current-context: nowhere", "a: [", "\0",
        json.dumps(document({"server": "ftp://x"}, {})),
        json.dumps(document({"server": "https://x", "certificate-authority-data": "%%"}, {})),
    ],
)  # fmt: skip
def test_a_bad_kubeconfig_is_one_line_with_its_path(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadAccess) as caught:
        from_kubeconfig(saved(tmp_path, None, text))
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_any_cluster_the_remedy_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(access, "SERVICE_ACCOUNT", tmp_path)
    with pytest.raises(BadAccess, match="set KUBECONFIG"):
        access.find()
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "absent"))
    with pytest.raises(BadAccess, match="absent"):
        access.find()
    assert os.environ["HOME"] == str(tmp_path)


def test_an_exec_plugin_is_left_to_the_kubernetes_package(tmp_path: Path) -> None:
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "sh",
        "interactiveMode": "Never",
        "args": ["-c", "printf '%s' '{\"apiVersion\":\"client.authentication.k8s.io/v1\","
                 "\"kind\":\"ExecCredential\",\"status\":{\"token\":\"from-a-plugin\"}}'"],
    }  # fmt: skip
    content = document({"server": "https://127.0.0.1:6443"}, {"exec": plugin})
    found = from_kubeconfig(saved(tmp_path, content))
    assert found.token.header() == "Bearer from-a-plugin"
