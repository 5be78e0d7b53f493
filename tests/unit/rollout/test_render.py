"""Rendering: what kustomize prints, or one line that says what to do."""

from __future__ import annotations

import pytest

from rollout import render as module
from rollout.render import IMAGES, RenderError, parse, render
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
