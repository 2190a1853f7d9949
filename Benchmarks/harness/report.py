"""Figures side by side: ours, the peer's, their ratio, and the target, as text or as Markdown."""

from dataclasses import dataclass
from statistics import median


def headings(ours: str) -> tuple[str, ...]:
    """What stands over the columns; `ours` names the first server."""
    return ("measure", ours, "peer", "ratio (min–max)", "target", "")


@dataclass(frozen=True)
class Row:
    """One line of the table. `met` is None where no target is set."""

    measure: str
    ours: str
    peer: str = "–"
    ratio: str = "–"
    target: str = "–"
    met: bool | None = None

    def cells(self) -> tuple[str, ...]:
        verdict = {None: "", True: "met", False: "**missed**"}[self.met]
        return (self.measure, self.ours, self.peer, self.ratio, self.target, verdict)


@dataclass(frozen=True)
class Pairs:
    """The same quantity of ours and of the peer, measured in turns."""

    ours: list[float]
    peer: list[float]

    def ratios(self) -> list[float]:
        return [ours / peer for ours, peer in zip(self.ours, self.peer, strict=True) if peer > 0]

    def ratio(self) -> float:
        """The median of the pairs' ratios: what both suffered together cancels out."""
        return median(self.ratios())

    def row(self, measure: str, form: str, unit: str, target: str = "–", met: bool | None = None) -> Row:
        ratios = self.ratios()
        return Row(
            measure,
            f"{median(self.ours):{form}} {unit}".strip(),
            f"{median(self.peer):{form}} {unit}".strip(),
            f"{median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})",
            target,
            met,
        )


def text(rows: list[Row], ours: str) -> str:
    """The table in columns, for a terminal."""
    cells = [headings(ours), *(tuple(cell.replace("**", "") for cell in row.cells()) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells)


def markdown(rows: list[Row], ours: str) -> str:
    """The table as Benchmarks/README.md keeps it."""
    heads = headings(ours)
    lines = [heads, tuple("---" for _ in heads), *(row.cells() for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
