"""The layers of multilingual-e5-small as an ONNX file, from their weights of four bits.

The graph takes one text's token vectors, positions added, as `embedded` (1, length, 384) and gives their mean (1, 384)
after twelve layers. Weights become integers of seven bits with one scale a column: on processors that add pairs of
products of bytes in sixteen bits, eight bits overflow. Activations are scaled once a text, by the library.
On 240 Chinese passages and 300 questions, beside float32: cosines of at least .995, nDCG@10 .957 to .959, 2.3 times
the speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from canonry.embedders.q4_file import Q4File, to_floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

LAYERS, HEADS, WIDTH, INNER = 12, 12, 384, 1536
_EPSILON = 1e-12
_LARGEST = 63  # of seven bits with a sign
_CONTRIBUTED = "com.microsoft"
_OPSET, _IR_VERSION = 18, 8


def build(weights: Q4File, made_from: dict[str, str]) -> bytes:
    """The ONNX file; `made_from` goes into its metadata."""
    graph = _Graph(weights)
    states = graph.normalised("LayerNormalization", ["embedded"], "emb.ln", axis=-1)
    for number in range(LAYERS):
        states = graph.layer(states, f"l{number}")
    graph.add("ReduceMean", [states, graph.constant("axes", np.array([1], np.int64))], "mean", keepdims=0)
    given = helper.make_tensor_value_info("embedded", onnx.TensorProto.FLOAT, [1, "length", WIDTH])
    made = helper.make_tensor_value_info("mean", onnx.TensorProto.FLOAT, [1, WIDTH])
    model = helper.make_model(
        helper.make_graph(graph.nodes, "multilingual-e5-small", [given], [made], graph.constants),
        producer_name="canonry",
        ir_version=_IR_VERSION,
        opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid(_CONTRIBUTED, 1)],
    )
    helper.set_model_props(model, made_from)
    content: bytes = model.SerializeToString()
    return content


class _Graph:
    """Nodes and constants under construction. What `add` and its users return is the name of the node's output."""

    def __init__(self, weights: Q4File) -> None:
        self._weights = weights
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, array: NDArray[Any]) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def add(self, kind: str, inputs: Sequence[str], output: str, domain: str = "", **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output

    def layer(self, states: str, name: str) -> str:
        """One layer: attention, then the feed-forward pair, each added to what it was given."""
        asked, keys, values = (self._linear(states, f"{name}.{part}", WIDTH) for part in "qkv")
        seen = self.add("MultiHeadAttention", [asked, keys, values], f"{name}.seen", _CONTRIBUTED, num_heads=HEADS)
        states = self._joined(states, self._linear(seen, f"{name}.ao", WIDTH), f"{name}.aln")
        inner = self.add("Gelu", [self._linear(states, f"{name}.fi", WIDTH)], f"{name}.gelu", _CONTRIBUTED)
        return self._joined(states, self._linear(inner, f"{name}.fo", INNER), f"{name}.oln")

    def normalised(self, kind: str, inputs: Sequence[str], name: str, domain: str = "", **attributes: Any) -> str:
        """The inputs' sum normalised, with the gain and the bias of that name."""
        facts = [self.constant(f"{name}.{part}", self._weights.floats(f"{name}.{part}")) for part in "wb"]
        return self.add(kind, [*inputs, *facts], f"{name}.out", domain, epsilon=_EPSILON, **attributes)

    def _joined(self, states: str, change: str, name: str) -> str:
        return self.normalised("SkipLayerNormalization", [states, change], name, _CONTRIBUTED)

    def _linear(self, states: str, name: str, columns: int) -> str:
        floats = to_floats(self._weights.blocks(f"{name}.w", columns)).T  # (columns, outputs)
        scales = np.abs(floats).max(axis=0) / _LARGEST
        facts = [
            self.constant(f"{name}.w", np.rint(floats / scales).astype(np.int8)),
            self.constant(f"{name}.s", scales.astype(np.float32)),
            "",  # no zero point
            self.constant(f"{name}.b", self._weights.floats(f"{name}.b")),
        ]
        return self.add("DynamicQuantizeMatMul", [states, *facts], f"{name}.out", _CONTRIBUTED)
