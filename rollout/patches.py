"""Find patches that match nothing: kustomize accepts them in silence.

A patch whose `target` selects no resource changes nothing and is no error, so a
renamed Deployment loses its patch without a word. The files are read here as
kustomize reads them, layer by layer, and every target is compared with the
resources that its layer has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rollout.finding import Finding
from rollout.pattern import BadPattern, Pattern
from rollout.render import MAX_BYTES, RenderError, load, parse

FILE = "kustomization.yaml"
MAX_FILE = 64 << 10
MAX_LAYERS = 100


@dataclass
class Resource:
    """A resource and every name and namespace that it has had so far; its present name last."""

    group: str
    version: str
    kind: str
    names: list[str]
    namespaces: set[str]
    labels: dict[str, str]
    annotations: dict[str, str]


@dataclass
class _Walk:
    root: Path
    findings: list[Finding] = field(default_factory=list)
    path: list[Path] = field(default_factory=list)
    """The layers that are being read, outermost first."""
    layers: int = 0

    def layer(self, folder: Path, inherited: list[Resource]) -> list[Resource]:
        """The resources after this kustomization; `inherited` are a component's parents'."""
        where = f"{folder.relative_to(self.root)}/{FILE}"
        if folder in self.path:
            raise RenderError(f"{where}: it contains itself")
        self.layers += 1
        if self.layers > MAX_LAYERS:
            raise RenderError(f"{where}: more than {MAX_LAYERS} layers: include each only once")
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
            if not _matches(target, found, where):
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
        return [_resource(item) for item in parse(_text(inside, shown), shown)]

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
    found = load(_text(file, where, MAX_FILE), where)
    if len(found) != 1 or not isinstance(found[0], dict):
        raise RenderError(f"{where}: not one YAML mapping")
    return found[0]


def _text(file: Path, where: str, most: int = MAX_BYTES) -> str:
    try:
        if file.stat().st_size > most:
            raise RenderError(f"{where}: longer than {most} bytes: shorten it")
        return file.read_text(encoding="utf8", errors="replace")
    except OSError as bad:
        raise RenderError(f"{where}: cannot be read ({bad.strerror})") from bad


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
        [str(metadata.get("name"))],
        {str(metadata.get("namespace") or "default")},
        dict(metadata.get("labels") or {}),
        dict(metadata.get("annotations") or {}),
    )


def _rename(resources: list[Resource], settings: dict[str, Any]) -> None:
    prefix, suffix = settings.get("namePrefix") or "", settings.get("nameSuffix") or ""
    for item in resources:
        if prefix or suffix:
            item.names.append(f"{prefix}{item.names[-1]}{suffix}")
        if settings.get("namespace"):
            item.namespaces.add(settings["namespace"])
        for entry in settings.get("labels") or []:
            item.labels |= entry.get("pairs") or {}


def _matches(target: dict[str, str], found: list[Resource], where: str) -> bool:
    """Whether kustomize would select one: anchored patterns; a label selector is `key=value,…`."""
    keys = ("group", "version", "kind", "name", "namespace")
    try:
        patterns = {key: Pattern(str(target[key])) for key in keys if target.get(key)}
    except BadPattern as bad:
        raise RenderError(f"{where}: a patch's target: {bad}") from None
    return any(_selected(target, patterns, item) for item in found)


def _selected(target: dict[str, str], patterns: dict[str, Pattern], item: Resource) -> bool:
    fields: dict[str, Iterable[str]] = {
        "group": [item.group],
        "version": [item.version],
        "kind": [item.kind],
        "name": item.names,
        "namespace": item.namespaces,
    }
    for key, pattern in patterns.items():
        if not any(pattern.matches(value) for value in fields[key]):
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
