"""Formulas as MathML, which browsers draw by themselves: no script, no font, no network."""

from html import escape

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

_LOG = logging.getLogger(__name__)


def _formula(node: nodes.Element, *, as_block: bool) -> str:
    try:
        return tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        _LOG.warning("%s in the formula %s", error, node.astext(), location=node)
        return f"<code>{escape(node.astext())}</code>"


def _inline(translator: nodes.NodeVisitor, node: nodes.math) -> None:
    translator.body.append(_formula(node, as_block=False))
    raise nodes.SkipNode


def _block(translator: nodes.NodeVisitor, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{_formula(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
