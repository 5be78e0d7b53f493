"""Rendering: what kustomize prints, or one line that says what to do."""

from __future__ import annotations

import pytest

from rollout import child
from rollout import render as module
from rollout.render import IMAGES, MAX_BYTES, RenderError, parse, render
from tests.tree import copy_deploy, edit

PROD = "deploy/overlays/prod/blue"


@pytest.fixture
def tree(tmp_path):
    return copy_deploy(tmp_path)


def test_an_overlay_renders_to_its_objects(tree):
    found = {(item["kind"], item["metadata"]["name"]) for item in render(tree, PROD)}
    assert ("Deployment", "gateway-blue") in found
    assert ("Service", "lane-blue") in found


def test_a_manifest_that_does_not_render_says_where_without_the_folder(tree):
    edit(tree, "deploy/base/assistant/gateway.yaml", "kind: Deployment", "kind: [Deployment")
    with pytest.raises(RenderError, match=r"deploy/overlays/prod/blue: does not render: ") as bad:
        render(tree, PROD)
    assert str(tree) not in str(bad.value)
    assert "\n" not in str(bad.value)


def test_a_resource_that_is_missing_does_not_render(tree):
    (tree / "deploy/base/assistant/tickets.yaml").unlink()
    with pytest.raises(RenderError, match=r"tickets\.yaml"):
        render(tree, PROD)


def test_an_unknown_overlay_is_named(tree):
    with pytest.raises(RenderError, match=r"deploy/overlays/prod/red: no kustomization.yaml"):
        render(tree, "deploy/overlays/prod/red")


def test_without_built_images_the_command_that_builds_them_is_named(tree):
    (tree / IMAGES).unlink()
    with pytest.raises(RenderError, match="python -m images build --push"):
        render(tree, PROD)


def test_rendering_that_takes_too_long_is_ended(tree):
    with pytest.raises(RenderError, match=r"more than 0\.001 s"):
        render(tree, PROD, timeout_s=0.001)


def test_a_document_that_is_no_object_is_refused():
    with pytest.raises(RenderError, match="x: a document without kind and metadata"):
        parse("a: 1\n", "x")


def test_text_that_is_not_yaml_is_one_line():
    with pytest.raises(RenderError, match="x: not YAML: ") as bad:
        parse("a: [\n", "x")
    assert "\n" not in str(bad.value)


def test_rendering_sees_no_secret_of_the_caller(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://192.0.2.1:1")
    monkeypatch.setenv("WEBHOOK_TOKEN", "secret")
    environment = module._environment()
    assert "HTTPS_PROXY" not in environment
    assert "WEBHOOK_TOKEN" not in environment
    assert environment["GIT_ALLOW_PROTOCOL"] == "none"


def test_a_few_lines_that_stand_for_gigabytes_do_not_take_them(tree, monkeypatch):
    monkeypatch.setattr(child, "MEMORY", 160 << 20)
    assert render(tree, PROD)
    width, aliases = 10, ["x0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    for level in range(1, 8):
        aliases.append(f"x{level}: &a{level} [{', '.join([f'*a{level - 1}'] * width)}]")
    path = "deploy/base/assistant/gateway.yaml"
    head = ["---", "apiVersion: v1", "kind: ConfigMap", "metadata: {name: x}"]
    bomb = "\n".join([*head, *aliases])
    (tree / path).write_text(f"{(tree / path).read_text()}\n{bomb}\n")
    with pytest.raises(RenderError, match=r"look for .*aliases"):
        render(tree, PROD)


@pytest.mark.parametrize(
    "death",
    [
        "echo 'fatal error: runtime: out of memory' >&2; exit 2",
        "echo 'SIGSEGV: segmentation violation' >&2; exit 2",
        "kill -SEGV $$",
        "kill -KILL $$",
    ],
)
def test_however_the_renderer_dies_the_line_says_what_to_look_for(tree, monkeypatch, death):
    dying = tree / "kubectl"
    dying.write_text(f"#!/bin/sh\n{death}\n")
    dying.chmod(0o755)
    monkeypatch.setattr(module, "kubectl", lambda: str(dying))
    with pytest.raises(RenderError, match=r"256 MiB, or kubectl crashed.*aliases") as bad:
        render(tree, PROD)
    assert "\n" not in str(bad.value)


def test_an_overlay_that_renders_to_very_much_is_refused(tree):
    path = "deploy/base/assistant/gateway.yaml"
    head = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:"
    long = f"{head} {{x: {'y' * MAX_BYTES}}}"
    (tree / path).write_text(f"{(tree / path).read_text()}\n{long}\n")
    with pytest.raises(RenderError, match="more than 1048576 bytes rendered"):
        render(tree, PROD)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("a: &a [1]\nb: *a\n", "x: line 2: aliases are refused"),
        ("a: &a {b: 1}\nc: {<<: *a}\n", "x: line 2: aliases are refused"),
        ("a: " + "[" * 41 + "]" * 41, "x: line 1: nested deeper than 40"),
        ("a: " + "[" * 100_000, "x: not YAML: while increasing flow level exceeded maximum"),
        ("---\nkind: A\nmetadata: {name: a}\n" * 201, "x: 201 objects, at most 200"),
    ],
)
def test_what_costs_more_than_it_shows_is_refused(text, wrong):
    with pytest.raises(RenderError) as bad:
        parse(text, "x")
    assert wrong in str(bad.value)
    assert "\n" not in str(bad.value)
