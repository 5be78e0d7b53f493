"""Find patches that match nothing: kustomize accepts them in silence.

A patch whose `target` selects no resource changes nothing and is no error, so a
renamed Deployment loses its patch without a word. The files are read here as
kustomize reads them, layer by layer, and every target is compared with the
resources that its layer has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rollout.finding import Finding
from rollout.render import RenderError, load, parse

FILE = "kustomization.yaml"


@dataclass
class Resource:
    """A resource and every name and namespace that it has had so far."""

    group: str
    version: str
    kind: str
    names: set[str]
    namespaces: set[str]
    labels: dict[str, str]
    annotations: dict[str, str]


@dataclass
class _Walk:
    root: Path
    findings: list[Finding] = field(default_factory=list)
    path: list[Path] = field(default_factory=list)
    """The layers that are being read, outermost first."""

    def layer(self, folder: Path, inherited: list[Resource]) -> list[Resource]:
        """The resources after this kustomization; `inherited` are a component's parents'."""
        where = f"{folder.relative_to(self.root)}/{FILE}"
        if folder in self.path:
            raise RenderError(f"{where}: it contains itself")
        self.path.append(folder)
        settings = _load(folder / FILE, where)
        found = list(inherited)
        for entry in settings.get("resources") or []:
            found += self._resource(folder, str(entry), where)
        for kind, generator in (("ConfigMap", "configMapGenerator"), ("Secret", "secretGenerator")):
            for entry in settings.get(generator) or []:
                found.append(_resource({"apiVersion": "v1", "kind": kind, "metadata": entry}))
        for entry in settings.get("components") or []:
            inside = self._inside(folder / str(entry), where)
            found = self.layer(inside, found) if inside else found
        for target in _targets(settings):
            if not any(_matches(target, item) for item in found):
                what = f"a patch for {_shown(target)} matches no resource"
                remedy = "correct its target, or remove the patch"
                self.findings.append(Finding("patch", where, what, remedy))
        _rename(found, settings)
        self.path.pop()
        return found

    def _resource(self, folder: Path, entry: str, where: str) -> list[Resource]:
        inside = self._inside(folder / entry, where)
        if inside is None:
            return []
        if inside.is_dir():
            return self.layer(inside, [])
        shown = str(inside.relative_to(self.root))
        return [_resource(item) for item in parse(inside.read_text(), shown)]

    def _inside(self, path: Path, where: str) -> Path | None:
        """`path` resolved, or None (and a finding) when it is remote or outside the tree."""
        real = path.resolve()
        if real.exists() and real.is_relative_to(self.root):
            return real
        what = f"{path.name!r} is not in this repository"
        remedy = "copy it into the repository: what is released is what was signed"
        self.findings.append(Finding("remote", where, what, remedy))
        return None


def unmatched(checkout: Path, overlay: str) -> list[Finding]:
    """Patches (and resources from elsewhere) that an overlay should not have."""
    walk = _Walk(checkout.resolve())
    try:
        walk.layer((checkout / overlay).resolve(), [])
    except RenderError as bad:
        where, what = str(bad).split(": ", 1)
        walk.findings.append(Finding("render", where, what, "mend the file"))
    return list(dict.fromkeys(walk.findings))


def _load(file: Path, where: str) -> dict[str, Any]:
    try:
        found = load(file.read_text(), where)
    except OSError as bad:
        raise RenderError(f"{where}: cannot be read ({bad.strerror})") from bad
    if len(found) != 1 or not isinstance(found[0], dict):
        raise RenderError(f"{where}: not one YAML mapping")
    return found[0]


def _targets(settings: dict[str, Any]) -> Iterator[dict[str, str]]:
    for patch in [*(settings.get("patches") or []), *(settings.get("patchesJson6902") or [])]:
        if patch.get("target"):
            yield patch["target"]
    for replacement in settings.get("replacements") or []:
        for target in replacement.get("targets") or []:
            yield target.get("select") or {}


def _resource(item: dict[str, Any]) -> Resource:
    metadata, api = item["metadata"], str(item.get("apiVersion", ""))
    group, _, version = api.rpartition("/")
    return Resource(
        group,
        version,
        str(item["kind"]),
        {str(metadata.get("name"))},
        {str(metadata.get("namespace") or "default")},
        dict(metadata.get("labels") or {}),
        dict(metadata.get("annotations") or {}),
    )


def _rename(resources: list[Resource], settings: dict[str, Any]) -> None:
    prefix, suffix = settings.get("namePrefix") or "", settings.get("nameSuffix") or ""
    for item in resources:
        item.names |= {f"{prefix}{name}{suffix}" for name in item.names}
        if settings.get("namespace"):
            item.namespaces.add(settings["namespace"])
        for entry in settings.get("labels") or []:
            item.labels |= entry.get("pairs") or {}


def _matches(target: dict[str, str], item: Resource) -> bool:
    """As kustomize selects: anchored regular expressions; a label selector is `key=value,…`."""
    fields = {"group": {item.group}, "version": {item.version}, "kind": {item.kind}}
    fields |= {"name": item.names, "namespace": item.namespaces}
    for key, values in fields.items():
        wanted = target.get(key)
        if wanted and not any(re.fullmatch(wanted, value) for value in values):
            return False
    return _selects(target.get("labelSelector"), item.labels) and _selects(
        target.get("annotationSelector"), item.annotations
    )


def _selects(selector: str | None, values: dict[str, str]) -> bool:
    if not selector:
        return True
    pairs = (part.replace("==", "=").partition("=") for part in selector.split(","))
    return all(values.get(key.strip()) == value.strip() for key, _, value in pairs)


def _shown(target: dict[str, str]) -> str:
    return " ".join(f"{key} {value}" for key, value in target.items()) or "every resource"
