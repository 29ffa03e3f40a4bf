"""Draw Snakemake's graph of rules as SVG, in layers, without Graphviz.

    snakemake --rulegraph --configfile config.demo.yaml docs/rulegraph.yaml |
        python docs/draw_rulegraph.py > docs/rulegraph.svg

Each rule is drawn below all that it waits for. An arrow that follows from others is left out; one that passes layers is
led between their rules. The order within a layer is that of the mean places of the neighbours, found by sweeps.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from statistics import fmean
from xml.sax.saxutils import escape

Node = str | tuple[str, str, int]
Edges = set[tuple[Node, Node]]
LAYER, GAP, HEIGHT, LETTER, MARGIN = 62, 26, 28, 7.6, 12
SWEEPS = 20


def main() -> None:
    """Read dot, write SVG."""
    nodes, edges = read_dot(sys.stdin.read())
    if not nodes:
        sys.exit("no graph on standard input: pipe the output of `snakemake --rulegraph` into this command")
    sys.stdout.write(svg(*placed(nodes, without_shortcuts(edges))))


def read_dot(text: str) -> tuple[list[str], Edges]:
    """Return the names of the rules and the pairs (rule, rule that waits for it)."""
    names = dict(re.findall(r'(\d+)\[label = "(\w+)"', text))
    return list(names.values()), {(names[a], names[b]) for a, b in re.findall(r"(\d+) -> (\d+)", text)}


def without_shortcuts(edges: Edges) -> Edges:
    """Return the edges that no longer way replaces."""
    below = defaultdict(set)
    for first, last in edges:
        below[first].add(last)

    def reached(nodes: Iterable[Node]) -> set[Node]:
        found = set(nodes)
        return found.union(*(reached(below[node]) for node in found))

    return {
        (first, last) for first, last in edges if last not in reached(set().union(*(below[n] for n in below[first])))
    }


def layers_of(nodes: list[str], edges: Edges) -> dict[Node, int]:
    """Return each rule's layer: one below the last it waits for, and no higher than those that wait for it need."""
    layer: dict[Node, int] = dict.fromkeys(nodes, 0)
    for _ in nodes:
        for first, last in edges:
            layer[last] = max(layer[last], layer[first] + 1)
    for node in nodes:
        after = [layer[last] for first, last in edges if first == node]
        if after and not any(last == node for _, last in edges):
            layer[node] = min(after) - 1
    return layer


def placed(nodes: list[str], edges: Edges) -> tuple[dict[Node, tuple[float, float]], list[list[Node]]]:
    """Return the centre of each rule, and of each point between, and the ways of the arrows through them."""
    layer, ways = layers_of(nodes, edges), []
    for first, last in sorted(edges, key=str):
        between: list[Node] = [(str(first), str(last), level) for level in range(layer[first] + 1, layer[last])]
        layer |= {node: node[2] for node in between}
        ways.append([first, *between, last])
    rows: dict[int, list[Node]] = defaultdict(list)
    for node in sorted(layer, key=str):
        rows[layer[node]].append(node)
    near = defaultdict(list)
    for way in ways:
        for one, other in pairwise(way):
            near[one].append(other)
            near[other].append(one)
    at = {node: 0.0 for node in layer}
    for sweep in range(SWEEPS):
        for level in sorted(rows, reverse=bool(sweep % 2)):
            rows[level].sort(
                key=lambda node: (fmean(at[other] for other in near[node]) if near[node] else 0.0, str(node))
            )
            spread(rows[level], at)
    return {node: (at[node], layer[node] * LAYER) for node in layer}, ways


def spread(row: list[Node], at: dict[Node, float]) -> None:
    """Place the nodes of a layer side by side, about zero."""
    left = -(sum(width(node) for node in row) + GAP * (len(row) - 1)) / 2
    for node in row:
        at[node] = left + width(node) / 2
        left += width(node) + GAP


def width(node: Node) -> float:
    """Return the width of a rule's box, or none of a point on an arrow's way."""
    return LETTER * len(node) + 16 if isinstance(node, str) else 0.0


def svg(at: dict[Node, tuple[float, float]], ways: list[list[Node]]) -> str:
    """Return the picture."""
    left = min(x - width(node) / 2 for node, (x, _) in at.items()) - MARGIN
    right = max(x + width(node) / 2 for node, (x, _) in at.items()) + MARGIN
    top, bottom = -HEIGHT / 2 - MARGIN, max(y for _, y in at.values()) + HEIGHT / 2 + MARGIN
    box = f"{left:.0f} {top:.0f} {right - left:.0f} {bottom - top:.0f}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="{right - left:.0f}" role="img">',
        "<title>The rules of the workflow; arrows lead to what waits</title>",
        '<defs><marker id="tip" markerWidth="7" markerHeight="7" refX="6" refY="3.5" orient="auto">'
        '<path d="M0 0L7 3.5L0 7z" fill="#777"/></marker></defs>',
        f'<rect x="{left:.0f}" y="{top:.0f}" width="100%" height="100%" fill="white"/>',
    ]
    for way in ways:
        lines.append(
            f'<path d="{curve([at[node] for node in way])}" fill="none" stroke="#777" marker-end="url(#tip)"/>'
        )
    for node, (x, y) in at.items():
        if isinstance(node, str):
            corner = (
                f'x="{x - width(node) / 2:.1f}" y="{y - HEIGHT / 2:.1f}" width="{width(node):.1f}" height="{HEIGHT}"'
            )
            lines.append(f'<rect {corner} rx="7" fill="#eef4fb" stroke="#2b5c8a"/>')
            style = 'font-family="sans-serif" font-size="13" text-anchor="middle"'
            lines.append(f'<text x="{x:.1f}" y="{y + 4.5:.1f}" {style}>{escape(node)}</text>')
    return "\n".join([*lines, "</svg>", ""])


def curve(points: list[tuple[float, float]]) -> str:
    """Return a smooth way down through the points, from the lower edge of the first box to the upper of the last."""
    points = [(points[0][0], points[0][1] + HEIGHT / 2), *points[1:-1], (points[-1][0], points[-1][1] - HEIGHT / 2)]
    text = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x, y), (to_x, to_y) in pairwise(points):
        middle = (y + to_y) / 2
        text += f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}"
    return text


if __name__ == "__main__":
    main()
