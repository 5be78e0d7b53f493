"""Each kind of fault in a candidate's manifests is found, and its line says what to do."""

from __future__ import annotations

import copy

import pytest

from rollout import patches
from rollout.compare import first_difference
from rollout.lint import against, examine, lint, pair
from rollout.render import render
from tests.tree import copy_deploy, edit

GATEWAY = "deploy/base/assistant/gateway.yaml"
PROD = "deploy/overlays/prod/blue"
PATCHED = "deploy/overlays/prod/blue/kustomization.yaml"


@pytest.fixture
def tree(tmp_path):
    return copy_deploy(tmp_path)


@pytest.fixture(scope="session")
def prod(tmp_path_factory):
    return render(copy_deploy(tmp_path_factory.mktemp("prod")), PROD)


@pytest.fixture(scope="session")
def platform(tmp_path_factory):
    return render(copy_deploy(tmp_path_factory.mktemp("platform")), "deploy/overlays/platform")


@pytest.fixture
def objects(prod):
    return copy.deepcopy(prod)


def one(objects, kind, name="gateway-blue"):
    (found,) = [
        item for item in objects if (item["kind"], item["metadata"]["name"]) == (kind, name)
    ]
    return found


def pod(objects):
    return one(objects, "Deployment")["spec"]["template"]["spec"]


def projected(kind):
    return {"name": "x", "projected": {"sources": [{kind: {"path": "x"}}]}}


def codes(findings):
    return {finding.code for finding in findings}


def test_the_tree_as_it_is_has_no_finding(tree):
    assert [str(finding) for finding in examine(tree, "green")] == []


@pytest.mark.parametrize(
    "image", ["switchyard/gateway", "registry.example/switchyard/gateway:1.2", "gateway:latest", ""]
)
def test_an_image_that_is_not_by_digest_is_found_with_the_command_that_builds_it(objects, image):
    pod(objects)["containers"][0]["image"] = image
    (finding,) = lint(objects, "prod")
    assert finding.code == "image"
    assert "python -m images build" in finding.remedy


def test_an_image_by_tag_is_found_in_an_added_init_container(objects):
    first = copy.deepcopy(pod(objects)["containers"][0])
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        del first[probe]
    pod(objects)["initContainers"] = [{**first, "image": "switchyard/gateway:1"}]
    assert codes(lint(objects, "prod")) == {"image"}


@pytest.mark.parametrize(
    "kind", ["ClusterRole", "RoleBinding", "Secret", "NetworkPolicy", "StatefulSet", "Namespace"]
)
def test_a_kind_that_the_controller_may_not_apply_is_found(objects, kind):
    metadata = {"name": "more-blue", "namespace": "switchyard"}
    objects.append({"apiVersion": "v1", "kind": kind, "metadata": metadata})
    assert "kind" in codes(lint(objects, "prod"))


def test_replicas_in_a_lane_are_found(objects):
    one(objects, "Deployment")["spec"]["replicas"] = 3
    (finding,) = lint(objects, "canary")
    assert finding.code == "owned"
    assert "switchyard/replicas" in finding.remedy


def test_the_minimum_of_an_autoscaler_is_the_controllers_too(objects):
    labels = {"app": "gateway", "lane": "blue"}
    metadata = {"name": "gateway-blue", "namespace": "switchyard", "labels": labels}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "gateway-blue"}
    spec = {"minReplicas": 2, "maxReplicas": 4, "scaleTargetRef": target}
    kind = "HorizontalPodAutoscaler"
    objects.append(
        {"apiVersion": "autoscaling/v2", "kind": kind, "metadata": metadata, "spec": spec}
    )
    assert codes(lint(objects, "prod")) == {"owned"}


def test_a_slot_in_a_lane_is_found(objects):
    spec = {"type": "ExternalName", "externalName": "assistant-c9.switchyard.svc.cluster.local"}
    metadata = {"name": "s0", "namespace": "switchyard-slots"}
    objects.append({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
    assert {"owned", "namespace"} <= codes(lint(objects, "prod"))


def test_a_role_service_is_found_in_any_overlay(objects, platform):
    spec = {"selector": {"app": "gateway", "lane": "green"}, "ports": [{"port": 80}]}
    metadata = {"name": "assistant-stable", "namespace": "switchyard"}
    role = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
    assert "owned" in codes(lint([*objects, role], "prod"))
    assert "owned" in codes(lint([*platform, role], "platform"))


@pytest.mark.parametrize("size", [None, "0", "-1", "two", "1.5", "1000"])
def test_a_wanted_size_that_is_no_number_of_pods_is_found(objects, size):
    metadata = one(objects, "Deployment")["metadata"]
    metadata["annotations"] = {} if size is None else {"switchyard/replicas": size}
    assert codes(lint(objects, "prod")) == {"size"}


def test_an_object_in_another_namespace_is_found(objects):
    one(objects, "Service", "lane-blue")["metadata"]["namespace"] = "kube-system"
    (finding,) = lint(objects, "prod")
    assert (finding.code, finding.remedy) == ("namespace", "set it to switchyard")


def test_a_name_without_its_lane_is_found(objects):
    one(objects, "Service", "lane-blue")["metadata"]["name"] = "lane"
    assert codes(lint(objects, "prod")) == {"lane"}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("words-blue", set()),
        ("words-blue-6ghd2gcmd9", set()),
        ("words-6ghd2gcmd9", {"lane"}),
        ("words-blue-stylesheet", {"lane"}),
        ("words-green", {"lane"}),
        ("words-green-6ghd2gcmd9", {"lane"}),
    ],
)
def test_a_config_map_ends_in_its_lane_or_in_that_and_a_hash(objects, name, found):
    metadata = {"name": name, "namespace": "switchyard", "labels": {"lane": "blue"}}
    objects.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {}})
    assert codes(lint(objects, "prod")) == found


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda spec: spec.update(hostNetwork=True), "hostNetwork"),
        (lambda spec: spec["volumes"].append({"name": "x", "hostPath": {"path": "/"}}), "volume x"),
        (lambda spec: spec["volumes"].append({"name": "x", "emptyDir": {}}), "sizeLimit"),
        (lambda spec: spec["volumes"].append(projected("serviceAccountToken")), "projects a"),
        (lambda spec: spec["volumes"].append(projected("clusterTrustBundle")), "projects a"),
        (lambda spec: spec.update(priorityClassName="system-node-critical"), "priorityClassName"),
        (lambda spec: spec.update(priority=1000), "priority is set"),
        (lambda spec: spec.update(serviceAccount="rollout"), "serviceAccount is set"),
        (lambda spec: spec.update(nodeName="node-1"), "nodeName is set"),
        (lambda spec: spec.update(nodeSelector={}), "nodeSelector is set"),
        (lambda spec: spec.update(tolerations=[]), "tolerations is set"),
        (lambda spec: spec.update(runtimeClassName="x"), "runtimeClassName is set"),
        (lambda spec: spec.update(schedulerName="x"), "schedulerName is set"),
        (lambda spec: spec.update(affinity={}), "affinity is set"),
        (lambda spec: spec["containers"][0].update(resources=None), "no memory limit"),
        (lambda spec: spec["containers"][0]["resources"].update(requests=None), "requests no cpu"),
        (
            lambda spec: spec["containers"][0]["securityContext"]["capabilities"].update(drop=None),
            "does not drop ALL",
        ),
        (lambda spec: spec["securityContext"].update(runAsUser=0), "root"),
        (lambda spec: spec["securityContext"].pop("seccompProfile"), "seccomp"),
        (lambda spec: spec["containers"][0].pop("securityContext"), "write to its root"),
        (lambda spec: spec["containers"][0]["resources"].pop("limits"), "memory limit"),
        (lambda spec: spec["containers"][0]["resources"]["requests"].pop("cpu"), "no cpu"),
        (lambda spec: spec["containers"][0].pop("livenessProbe"), "livenessProbe"),
        (lambda spec: spec["containers"][0]["ports"][0].update(hostPort=80), "port of the node"),
        (
            lambda spec: spec["containers"][0]["securityContext"].update(privileged=True),
            "privileged",
        ),
        (
            lambda spec: spec["containers"][0]["securityContext"]["capabilities"].update(
                add=["SYS_ADMIN"]
            ),
            "adds capabilities",
        ),
    ],
)
def test_a_pod_that_is_less_restricted_is_found(objects, change, said):
    change(pod(objects))
    findings = lint(objects, "canary")
    assert codes(findings) == {"pod"}
    assert any(said in finding.what for finding in findings)


@pytest.mark.parametrize("field", ["initContainers", "volumes"])
def test_a_list_that_is_null_is_read_as_empty(objects, field):
    pod(objects)[field] = None
    assert lint(objects, "prod") == []


@pytest.mark.parametrize("kind", ["configMap", "secret", "downwardAPI"])
def test_a_volume_may_project_what_a_pod_may_mount_anyway(objects, kind):
    pod(objects)["volumes"].append(projected(kind))
    assert lint(objects, "prod") == []


def test_a_lane_part_with_rights_of_its_own_is_found(objects):
    pod(objects).update(serviceAccountName="rollout", automountServiceAccountToken=True)
    assert "account" in codes(lint(objects, "prod"))


@pytest.mark.parametrize(
    "subject",
    [
        {"kind": "User", "name": "somebody"},
        {"kind": "Group", "name": "system:authenticated"},
        {"kind": "ServiceAccount", "name": "default", "namespace": "switchyard-rollout"},
        {"kind": "ServiceAccount", "name": "rollout", "namespace": "elsewhere"},
        {"kind": "ServiceAccount", "name": "rollout"},
    ],
)
def test_rights_for_a_foreign_subject_are_found(platform, subject):
    objects = copy.deepcopy(platform)
    binding = next(item for item in objects if item["kind"] == "RoleBinding")
    binding["subjects"] = [subject]
    (finding,) = lint(objects, "platform")
    assert finding.code == "subject"
    assert subject["name"] in finding.what


def test_a_difference_between_canary_and_prod_is_named_by_its_path(tree):
    more = "patches:\n  - path: more.yaml\n    target: {kind: Deployment, name: gateway}\n"
    edit(tree, PATCHED, "patches:\n", more)
    op = "- {op: replace, path: /spec/template/spec/containers/0/env/6/value, value: '96'}\n"
    (tree / PROD / "more.yaml").write_text(op)
    (finding,) = examine(tree, "blue")
    assert finding.code == "pair"
    assert finding.what.startswith("spec.template.spec.containers.0.env.6.value differs")


def test_the_wanted_size_may_differ_between_canary_and_prod(prod, objects):
    one(objects, "Deployment")["metadata"]["annotations"]["switchyard/replicas"] = "5"
    assert pair(prod, objects) == []


def test_an_object_that_only_one_of_the_two_has_is_found(prod):
    (finding,) = pair(prod[1:], prod)
    assert "only in the prod overlay" in finding.what


def test_a_changed_selector_is_found(prod, objects):
    for item in objects:
        selector = item["spec"]["selector"]
        selector.get("matchLabels", selector)["tier"] = "front"
    findings = against(prod, objects)
    assert len(findings) == len(objects)
    assert codes(findings) == {"selector"}


def test_a_part_that_is_new_has_no_selector_to_keep(prod):
    assert against(prod[1:], prod) == []


def test_a_patch_that_matches_nothing_is_found_though_it_renders(tree):
    edit(tree, PATCHED, "kind: Deployment}", "kind: Deployment, name: gatevay}")
    render(tree, PROD)
    (finding,) = patches.unmatched(tree, PROD)
    assert finding.code == "patch"
    assert finding.where == PATCHED
    assert "name gatevay matches no resource" in finding.what


@pytest.mark.parametrize("name", ["gateway", "gateway-blue", "gate.*", "gateway|pipeline"])
def test_a_patch_may_name_its_target_by_any_name_that_it_has_had(tree, name):
    edit(tree, PATCHED, "kind: Deployment}", f"kind: Deployment, name: {name}}}")
    assert patches.unmatched(tree, PROD) == []


@pytest.mark.parametrize(
    ("selector", "found"),
    [("app=gateway", 0), ("lane=blue", 0), ("app=none", 1), ("lane=green", 1)],
)
def test_a_patch_may_choose_by_label(tree, selector, found):
    edit(tree, PATCHED, "kind: Deployment}", f"labelSelector: '{selector}'}}")
    assert len(patches.unmatched(tree, PROD)) == found


def test_a_patch_inside_a_component_is_looked_at_too(tree):
    component = "deploy/components/lane-blue/kustomization.yaml"
    patch = "patches:\n  - {patch: '[]', target: {kind: CronJob}}\n"
    edit(tree, component, "nameSuffix:", patch + "nameSuffix:")
    (finding,) = patches.unmatched(tree, PROD)
    assert finding.where == component


@pytest.mark.parametrize(
    "entry", ["https://example.invalid/all.yaml", "github.com/a/b?ref=v1", "../../../../../etc"]
)
def test_a_resource_from_outside_the_repository_is_found(tree, entry):
    edit(
        tree,
        PATCHED,
        "  - ../../../base/assistant\n",
        f"  - ../../../base/assistant\n  - {entry}\n",
    )
    assert [finding.code for finding in patches.unmatched(tree, PROD)] == ["remote"]


def test_a_kustomization_that_contains_itself_ends(tree):
    edit(tree, PATCHED, "  - ../../../base/assistant\n", "  - .\n")
    (finding,) = patches.unmatched(tree, PROD)
    assert "contains itself" in finding.what


def test_a_tree_that_does_not_render_is_one_finding_an_overlay(tree):
    edit(tree, GATEWAY, "kind: Deployment", "kind: [")
    findings = examine(tree, "blue")
    assert [finding.code for finding in findings] == ["render"] * 3
    assert all("kubectl kustomize" in finding.remedy for finding in findings)


def test_every_finding_is_one_line(tree):
    edit(tree, GATEWAY, "automountServiceAccountToken: false", "automountServiceAccountToken: true")
    findings = examine(tree, "blue")
    assert findings
    assert all("\n" not in str(finding) for finding in findings)


def test_the_first_difference_is_found_in_lists_and_in_missing_keys():
    assert first_difference({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}) == "a.1.b"
    assert first_difference({"a": 1}, {}) == "a"
    assert first_difference({"a": [1]}, {"a": [1, 2]}) == "a"
    assert first_difference({"a": 1}, {"a": 1}) is None


@pytest.mark.parametrize(
    ("image", "good"),
    [
        (f"registry.example:5000/switchyard/gateway@sha256:{'0' * 64}", True),
        (f"registry.example/a/b/c@sha256:{'0' * 64}", True),
        (f"gateway@sha256:{'0' * 64}", False),
        (f"/gateway@sha256:{'0' * 64}", False),
        (f"registry.example/gateway@sha256:{'0' * 63}", False),
        ("registry.example/gateway:1", False),
        ("a/" * 200_000, False),
    ],
)
def test_an_image_is_known_by_its_digest_also_when_its_name_is_very_long(objects, image, good):
    pod(objects)["containers"][0]["image"] = image
    assert ("image" in codes(lint(objects, "prod"))) != good
