import pytest
from tests.clock import within_cpu_seconds

from fieldguide.collection.layout import choose_kinds, judge_folders


def kinds_of(*paths):
    return choose_kinds([f"{path}/img_0001.jpg" for path in paths], "auto").kinds


@pytest.mark.parametrize(
    ("folders", "kinds"),
    [
        (["heron", "coot"], ["heron", "coot"]),
        (["2019/heron", "2020/coot"], ["heron", "coot"]),
        (["heron/2019", "coot/2020-05-01"], ["heron", "coot"]),
        (["train/heron", "test/heron", "val/images/coot"], ["heron", "heron", "coot"]),
        (["birds/heron", "birds/coot"], ["heron", "coot"]),
        (["ridge/CAM01/2020-05-01", "valley/CAM02/2020-05-02"], [None, None]),
        (["Site A/camera 3/20200501", "Site B/camera 4/20200501"], [None, None]),
        (["S1/B04/B04_R1", "S2/C11/C11_R2"], [None, None]),
        (["ridge/cam 3/deer", "ridge/cam 4/fox"], ["deer", "fox"]),
        (["2020", "2021"], [None, None]),
        (["0", "1", "17"], [None, None, None]),
        (["DCIM/100CANON", "DCIM/101_PANA", "DCIM/Camera"], [None, None, None]),
        (["2020/May", "2020/06 June", "2020/12"], [None, None, None]),
        (["May", "June"], ["May", "June"]),
        (["camera", "stapler"], ["camera", "stapler"]),
        (["F16", "T72"], ["F16", "T72"]),
        (["112birds", "017.Cardinal"], ["112birds", "017.Cardinal"]),
        (["2019 Kenya", "Spring 2020"], ["2019 Kenya", None]),
        (["2017/NIKON D70", "2018-05/iPhone", "summer 2020/Lumix"], [None, None, None]),
        (["Canon EOS 5D Mark II", "Samsung Galaxy S9", "DJI_0012"], [None, None, None]),
        (["heron/iPhone 12", "coot/Canon"], ["heron", "coot"]),
        (["Canon City", "canary", "Olympus", "pixel art"],
         ["Canon City", "canary", "Olympus", "pixel art"]),
    ],
)  # fmt: skip
def test_which_folders_are_kinds(folders, kinds):
    assert kinds_of(*folders) == kinds


def test_a_flat_folder_has_no_kinds():
    layout = choose_kinds(["a.jpg", "b.jpg"], "auto")
    assert layout.kinds == [None, None]
    assert layout.because.startswith("The images are in no folders, so they have no kinds. ")


@pytest.mark.parametrize(
    ("folders", "because"),
    [
        (["heron", "coot"], "The kind of an image is the folder that holds it. Choose "),
        (
            ["2019/heron", "2020/coot"],
            "The kind of an image is the folder that holds it. Not kinds: dates (2019, 2020). ",
        ),
        (
            ["heron/2018", "heron/2019", "heron/2020", "heron/2021"],
            "The kind of an image is the folder nearest to it that can name one. "
            "Not kinds: dates (2018, 2019, 2020, …). ",
        ),
        (["2020", "DCIM"], "No folder names a kind: dates (2020), cameras (DCIM). "),
    ],
)
def test_it_says_what_it_chose_and_how_to_choose_otherwise(folders, because):
    said = choose_kinds([f"{folder}/a.jpg" for folder in folders], "auto").because
    assert said.startswith(because)
    assert "--kinds parent, top or none" in said


def test_what_it_says_is_short_whatever_the_names():
    paths = [f"{2000 + k % 99}-{'1' * 200}/{k}.jpg" for k in range(500)]
    assert len(choose_kinds(paths, "auto").because) < 400


@pytest.mark.parametrize(
    ("rule", "kinds"), [("parent", ["2019", None]), ("top", ["heron", None]), ("none", [None] * 2)]
)
def test_what_the_user_asks_for_is_done(rule, kinds):
    assert choose_kinds(["heron/2019/a.jpg", "b.jpg"], rule).kinds == kinds


def test_folders_above_a_camera_are_where_it_stood():
    assert judge_folders(["north", "CAM1"]).reasons == ("above a camera", "cameras")
    assert judge_folders(["north", "Nikon D70"]).reasons == (None, "cameras")  # in a hand


@pytest.mark.parametrize(
    "name", ["1" * 250, "1 " * 120, "jan" * 80, "a1_" * 80, "2020-" * 50, "canon 1" + "1 " * 120]
)
def test_strange_names_take_no_time(name):
    with within_cpu_seconds(0.5):
        judge_folders([name] * 20)
