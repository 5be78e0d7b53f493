"""Write the Corefiles from their templates: `python -m deploy.corefile`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

DEPLOY = Path(__file__).parent
SPLIT_DNS = DEPLOY / "base" / "split-dns"
LOCAL = DEPLOY / "components" / "local"
ZONE = "assistant.split.cluster.local"
LOCAL_ADDRESS = "10.203.64.11"
# Every whole percentage is the sum of some of these.
WEIGHTS = (1, 2, 4, 8, 16, 32, 37)


@dataclass(frozen=True)
class Slot:
    """One share of the lookups: `below` is the first draw (0 to 99) that it does not take."""

    name: str
    below: int | None


def slots(weights: tuple[int, ...] = WEIGHTS) -> list[Slot]:
    """The slots in the order in which CoreDNS tries them; the last one takes what is left."""
    if sum(weights) != 100:
        raise ValueError(f"slot weights add up to {sum(weights)}, not to 100: {weights}")
    bounds = [sum(weights[: i + 1]) for i in range(len(weights) - 1)]
    return [Slot(f"s{i}", below) for i, below in enumerate([*bounds, None])]


def _render(folder: Path, template: str, **values: object) -> str:
    environment = Environment(
        loader=FileSystemLoader([folder, SPLIT_DNS]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Corefiles, not HTML
    )
    return environment.get_template(template).render(**values)


def stub(address: str) -> str:
    """The server block by which a cluster's DNS hands the split zone to `address`, uncached."""
    return _render(SPLIT_DNS, "stub.j2", zone=ZONE, address=address)


def corefiles() -> dict[Path, str]:
    """Each committed Corefile and what it must say."""
    return {
        SPLIT_DNS / "Corefile": _render(SPLIT_DNS, "Corefile.j2", zone=ZONE, slots=slots()),
        LOCAL / "Corefile": _render(LOCAL, "Corefile.j2", zone=ZONE, address=LOCAL_ADDRESS),
    }


if __name__ == "__main__":
    for path, text in corefiles().items():
        path.write_text(text)
        print(f"wrote {path}")
