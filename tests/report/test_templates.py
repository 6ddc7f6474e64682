"""Templates against the types that fill them: every name is a field, and no field is gathered for nobody.

Jinja knows no types; this follows them through a template as mypy would: loops, macros and includes too.
"""

import ast
import inspect
import types
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from jinja2 import nodes

from fovnet.report.content.page import Page
from fovnet.report.content.search_explanation.view import ExplainedView
from fovnet.report.figures.body_drawing import BodyDrawing
from fovnet.report.figures.charts import charts, figures_of_chapters, figures_of_volumes
from fovnet.report.pages import card
from fovnet.report.pages.index_page import IndexPage, script_data, write_index
from fovnet.report.pages.templating import template_environment
from fovnet.report.pages.volume_page import VolumePage, write_volume_page

PAGES = {
    "report.html.jinja": {"page": Page, "figures": Mapping[str, str]},
    "volume.html.jinja": {"page": VolumePage, "drawing": BodyDrawing, "data": str},
    "index.html.jinja": {"page": IndexPage, "data": str, "answers": Mapping[str, str]},
}
CHAPTERS = [
    kind for name, kind in get_type_hints(Page).items() if name not in ("title", "vocabulary")
]
READERS = {
    Page: [
        charts,
        figures_of_chapters,
        figures_of_volumes,
        card.card_sections,
        card.model_details,
        card.quantitative_analyses,
        card.card_facts,
        card.markdown,
    ],
    VolumePage: [write_volume_page],
    IndexPage: [write_index, script_data],
}
"""What reads of a page besides its template: the figures, the model card, the scripts' data."""


def kinds_in(kind: Any) -> list[Any]:
    """What a value of this type may be, without None."""
    if get_origin(kind) in (Union, types.UnionType):
        return [one for one in get_args(kind) if one is not type(None)]
    return [kind]


def element(kind: Any) -> Any:
    """The type of what a sequence holds."""
    for one in kinds_in(kind):
        if get_origin(one) in (tuple, list, Sequence):
            return get_args(one)[0]
    return Any


class Follower:
    """Walks a template with the types of its names; `read` collects (type, field) of all that it reads."""

    def __init__(self, template, names):
        self.read, self.macros = set(), {}
        self.walk(self.parsed(template), {**names})

    @staticmethod
    def parsed(name):
        return template_environment().parse(
            template_environment().loader.get_source(template_environment(), name)[0]
        )

    def walk(self, node, names):
        if isinstance(node, nodes.FromImport):
            found = {
                one.name: one for one in self.parsed(node.template.value).find_all(nodes.Macro)
            }
            self.macros |= found
        elif isinstance(node, nodes.Include):
            if node.template.value.endswith(".jinja"):
                self.walk(self.parsed(node.template.value), names)
        elif isinstance(node, nodes.For):
            inner = {**names, "loop": Any}
            self.bind(node.target, element(self.kind(node.iter, names)), inner)
            for one in (*node.body, *node.else_):
                self.walk(one, inner)
        elif isinstance(node, nodes.Assign):
            self.bind(node.target, self.kind(node.node, names), names)
        elif isinstance(node, nodes.Expr):
            self.kind(node, names)
        else:
            for one in node.iter_child_nodes():
                self.walk(one, names)

    def bind(self, target, kind, names):
        if isinstance(target, nodes.Tuple):
            parts = get_args(kind) or (Any,) * len(target.items)
            names |= {one.name: part for one, part in zip(target.items, parts, strict=True)}
        else:
            names[target.name] = kind

    def kind(self, node, names):
        """The type of an expression; Any where it does not matter."""
        if isinstance(node, nodes.Name):
            assert {node.name} & {*names, *self.macros}, (
                f"line {node.lineno}: nobody gives {node.name}"
            )
            return names.get(node.name, Any)
        if isinstance(node, nodes.Getattr):
            return self.field(node, self.kind(node.node, names))
        if isinstance(node, nodes.Call) and getattr(node.node, "name", "") in self.macros:
            return self.call(self.macros[node.node.name], node, names)
        parts = (
            one for one in node.iter_child_nodes() if isinstance(one, nodes.Expr | nodes.Keyword)
        )
        found = [self.kind(one, names) for one in parts]
        is_one = isinstance(node, nodes.Getitem) or getattr(node, "name", "") == "first"
        return element(found[0]) if is_one else Any

    def call(self, macro, node, names):
        """The macro's body with the types of its arguments."""
        given = [self.kind(one, names) for one in node.args]
        self.walk(
            nodes.Block("", macro.body, False, False),
            dict(
                zip(
                    (one.name for one in macro.args),
                    [*given, *[Any] * len(macro.args)],
                    strict=False,
                )
            ),
        )
        return Any

    def field(self, node, kind):
        records = [one for one in kinds_in(kind) if is_dataclass(one)]
        for one in records:
            if node.attr in get_type_hints(one):
                self.read.add((one, node.attr))
                return get_type_hints(one)[node.attr]
        assert not records, f"line {node.lineno}: {records[0].__name__} has no field {node.attr}"
        return Any


def read_by(function, page):
    """(type, field) of what a function reads of its parameter `page`, and of names given to parts of it."""
    tree = ast.parse(inspect.getsource(function))
    names, found = {"page": page}, set()

    def kind(node):
        if isinstance(node, ast.Name):
            return names.get(node.id)
        owner = kind(node.value) if isinstance(node, ast.Attribute) else None
        for one in kinds_in(owner):
            if is_dataclass(one) and node.attr in get_type_hints(one):
                found.add((one, node.attr))
                return get_type_hints(one)[node.attr]
        return None

    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            targets, values = (
                one.elts if isinstance(one, ast.Tuple) else [one]
                for one in (node.targets[0], node.value)
            )
            names |= {
                target.id: kind(value)
                for target, value in zip(targets, values, strict=False)
                if isinstance(target, ast.Name)
            }
        elif isinstance(node, ast.Attribute):
            kind(node)
    return found


@pytest.mark.parametrize("template", PAGES)
def test_every_name_in_a_template_is_a_field(template):
    assert Follower(template, PAGES[template]).read


@pytest.mark.parametrize("template", PAGES)
def test_every_field_is_read(template):
    page = PAGES[template]["page"]
    read = Follower(template, PAGES[template]).read
    read |= {one for function in READERS[page] for one in read_by(function, page)}
    owners = [page, *([*CHAPTERS, ExplainedView] if page is Page else [])]
    gathered = {(owner, field.name) for owner in owners for field in fields(owner)}
    assert not gathered - read, [f"{owner.__name__}.{name}" for owner, name in gathered - read]


@pytest.mark.parametrize(
    "words",
    [
        "{{ page.titel }}",
        "{{ page.search.trails.rows }}",
        "{{ pages.title }}",
        "{% if page.cases.gone %}{% endif %}",
        "{% for one in page.answer.headlines %}{{ one.result.low }}{% endfor %}",
        "{{ table(page.search.nothing, 'x') }}",
        "{% set one = page.search.explained %}{{ one.begin }}",
        "{% for one in page.method.checklists %}{{ two }}{% endfor %}",
    ],
)
def test_a_name_that_is_none_is_found(words, monkeypatch):
    """The follower can fail: misspelt in a test, a loop, an argument of a macro, behind another name."""
    text = '{% from "parts.html.jinja" import table %}' + words
    monkeypatch.setattr(
        Follower,
        "parsed",
        staticmethod(
            lambda name, usual=Follower.parsed: (
                template_environment().parse(text) if name == "planted" else usual(name)
            ),
        ),
    )
    with pytest.raises(AssertionError):
        Follower("planted", PAGES["report.html.jinja"])
