"""Finds the cycles of includes: between units (a header and its source), and between folders."""

import pathlib


def strong_components(edges):
    """The strongly connected components of several nodes of a graph {node: set of nodes} (Tarjan's), each sorted."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        on_stack.add(node)
        for target in sorted(edges.get(node, ())):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in on_stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            component = []
            while not component or component[-1] != node:
                component.append(stack.pop())
                on_stack.discard(component[-1])
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


def unit_edges(includes):
    """`includes`: {file: files that it includes}. The same between units."""
    edges = {}
    for file, targets in includes.items():
        unit = str(pathlib.PurePath(file).with_suffix(""))
        units = {str(pathlib.PurePath(target).with_suffix("")) for target in targets}
        edges.setdefault(unit, set()).update(units - {unit})
    return edges


def folder_edges(includes):
    """The same between folders."""
    edges = {}
    for file, targets in includes.items():
        folder = str(pathlib.PurePath(file).parent)
        edges.setdefault(folder, set()).update({str(pathlib.PurePath(target).parent) for target in targets} - {folder})
    return edges
