"""onnxruntime, set up the same way for every model that it runs here.

Official builds, on Linux since 1.29, report sessions to their maker, and begin while they are imported: what is called
afterwards to stop that comes too late. Only the environment keeps them from it.
"""

from __future__ import annotations

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime

from canonry.errors import EmbedderError

_MOST_THREADS = 4
_ERRORS_ONLY = 3  # of onnxruntime's log severities


def open_session(model: bytes, spec: str) -> onnxruntime.InferenceSession:
    """A session on the CPU for the bytes of an ONNX file."""
    if hasattr(onnxruntime, "disable_telemetry_events"):
        onnxruntime.disable_telemetry_events()  # of Windows
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = min(os.cpu_count() or 1, _MOST_THREADS)
    options.inter_op_num_threads = 1
    options.add_session_config_entry(
        "session.intra_op.allow_spinning", "0"
    )  # spinning halves the speed of a busy machine
    options.log_severity_level = _ERRORS_ONLY
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has a class of its own for each of a dozen causes
        raise EmbedderError(f"onnxruntime cannot run {spec} ({error}): pip install --upgrade onnxruntime") from error
