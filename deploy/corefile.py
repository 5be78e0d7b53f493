"""Write the Corefile of split-dns from its template: `python -m deploy.corefile`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

FOLDER = Path(__file__).parent / "base" / "split-dns"
ZONE = "assistant.split.cluster.local"
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


def render(template: str, **values: object) -> str:
    """The text of one template in base/split-dns."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - a Corefile, not HTML
    )
    return environment.get_template(template).render(**values)


def corefile() -> str:
    """The Corefile that base/split-dns ships."""
    return render("Corefile.j2", zone=ZONE, slots=slots())


if __name__ == "__main__":
    (FOLDER / "Corefile").write_text(corefile())
    print(f"wrote {FOLDER / 'Corefile'}")
