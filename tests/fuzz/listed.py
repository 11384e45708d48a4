"""Every fuzzer by its name."""

from tests.fuzz.clips import CLIPS
from tests.fuzz.files import IMAGES, MATRIX, ONNX, SAID, SIDECAR, STATES, WEIGHTS
from tests.fuzz.guides import CATALOGUE, EDITS, FEATURES, INFO, JOURNAL, MODELS, WORDED
from tests.fuzz.requests import QUERIES, UPLOADS

FUZZERS = {
    fuzzer.name: fuzzer
    for fuzzer in (
        *(IMAGES, CLIPS, SIDECAR, MATRIX, ONNX, SAID, WEIGHTS, STATES),
        *(INFO, CATALOGUE, FEATURES, MODELS, WORDED, EDITS, JOURNAL),
        *(QUERIES, UPLOADS),
    )
}
