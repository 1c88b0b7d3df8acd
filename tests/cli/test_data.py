"""`xnas data`: what there is, where it is, whether it is whole, and how to get it."""

import io
import sys
import tarfile

import pytest
from commands import call
from datasets_made import make_cifar100, make_cinic10, make_freiburg, make_image
from photos_written import flowers

from xnas.cli import main


@pytest.fixture(autouse=True)
def _nothing_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XNAS_DATA", raising=False)


def run(capsys, *arguments):
    return call(capsys, "data", *arguments)


def line_of(text, start):
    return next(line for line in text.splitlines() if line.startswith(start)).split()


def test_all_datasets_are_listed_with_what_they_are_and_where(capsys, tmp_path):
    make_cifar100(tmp_path / "there" / "cifar-100-python")
    (tmp_path / "there" / "cifar-100-python" / "meta").unlink()
    status, told, _ = run(capsys, "--data-dir", tmp_path / "there")
    assert status == 0
    names = ["digits", "fashion_mnist", "cifar10", "cifar100", "svhn", "cinic10", "freiburg", "imagenet"]
    assert [line.split()[0] for line in told.splitlines()[1:9]] == names
    assert line_of(told, "svhn")[:8] == ["svhn", "604,388", "26,032", "10", "3", "32", "x", "32"]
    assert line_of(told, "cifar10 ")[-2:] == ["not", "found"]
    assert f"{tmp_path / 'there' / 'cifar-100-python'} (lacks 1 of 3 files)" in told


def test_one_dataset_is_reported_with_all_places_and_what_is_wrong(capsys, tmp_path):
    make_cifar100(tmp_path / "data" / "cifar-100-python")
    status, told, _ = run(capsys, "cifar100", "--data-dir", tmp_path / "empty")
    assert status == 0
    assert "CIFAR-100: 50,000 images for training, 10,000 for test, 100 classes" in told
    assert f"looked in: {tmp_path / 'empty' / 'cifar-100-python'}" in told
    assert "found in: data/cifar-100-python" in told
    assert "not whole: train has the md5" in told
    assert "source: https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz (md5 eb9058c3" in told
    assert "how to get it: --download" in told


@pytest.mark.parametrize("name", ["digits", "freiburg", "imagenet", "cinic10"])
def test_every_kind_of_dataset_can_be_described(capsys, name):
    status, told, _ = run(capsys, name)
    assert status == 0
    assert "how to get it: " in told


def test_datasets_without_checksums_are_counted(capsys, tmp_path):
    make_cinic10(tmp_path / "data" / "CINIC-10")
    root = make_freiburg(tmp_path / "data" / "freiburg_groceries_dataset")
    assert "not whole: 80 of 180,000 images" in run(capsys, "cinic10")[1]
    assert "not whole: 30 of 4,947 images" in run(capsys, "freiburg")[1]
    (root / "splits" / "train0.txt").unlink()
    assert "not whole: cannot read" in run(capsys, "freiburg")[1]


def test_an_archive_is_unpacked_into_the_data_folder(capsys, tmp_path):
    make_cifar100(tmp_path / "made" / "cifar-100-python")
    with tarfile.open(tmp_path / "mine.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "made" / "cifar-100-python", "cifar-100-python")
    status, told, _ = run(capsys, "cifar100", "--unpack", tmp_path / "mine.tar.gz")
    assert status == 0
    assert "unpacked into data/cifar-100-python" in told
    assert (tmp_path / "data" / "cifar-100-python" / "meta").is_file()


def photos(root):
    for label, (name, count) in enumerate((("red ones", 12), ("Grüne", 4))):
        for index in range(count):
            size = (60, 80) if index else (50, 50)
            make_image(root / name / f"{index}.png", (label, 9, 9), size=size)
    make_image(root / "Grüne" / "3.png", 7, mode="L")
    return root


def test_a_folder_is_described(capsys, tmp_path):
    status, told, _ = run(capsys, photos(tmp_path / "my photos"))
    assert status == 0
    assert "my photos: 13 images for training, 3 for test, 2 classes" in told
    assert "images per class: Grüne 3, red ones 10; the largest class has 3.3 times the images" in told
    assert "60 x 80 (" in told
    assert "RGB (" in told
    assert "by the rule crop: cover, then crop the centre" in told
    assert "a search would see 3 channels, 64 x 64" in told
    assert "only the headers of the images were read" in told


def test_a_folders_rule_and_size_can_be_tried(capsys, tmp_path):
    root = photos(tmp_path / "photos")
    _, told, _ = run(capsys, root, "--image-size", "48", "--resize", "pad")
    assert "a search would see 3 channels, 48 x 48, by the rule pad: fit inside" in told


def test_a_folders_bad_images_are_counted_and_refused_unless_skipped(capsys, tmp_path):
    root = photos(tmp_path / "photos")
    (root / "red ones" / "3.png").write_bytes(b"")
    status, listed, complaint = run(capsys, root)
    assert "1 bad file; the first: cannot read the image" in listed
    assert status == 2
    assert f"a run would refuse {root}: cannot read the image" in complaint
    assert complaint.count("\n") == 1
    make_image(root / "red ones" / "5.tiff", 0.5, mode="F")
    status, listed, complaint = run(capsys, root)
    assert "2 bad files; the first: cannot read the image" in listed
    assert f"a run would refuse {root}: 2 of " in complaint
    assert run(capsys, root, "--skip-bad-images")[0] == 0


def test_a_folder_that_a_run_would_refuse_is_described_and_ends_with_status_2(capsys, tmp_path):
    root = photos(tmp_path / "photos")
    make_image(root / "red ones" / "3.png", (1, 2, 3), size=(7, 30))
    status, listed, complaint = run(capsys, root)
    assert status == 2
    assert "3.png is 7 x 30 pixels; images need at least 8 per side" in complaint
    assert "images for training" in listed
    assert run(capsys, root, "--image-size", "32")[0] == 0
    assert run(capsys, root, "--skip-bad-images")[0] == 0
    for path in (root / "Grüne").iterdir():
        path.write_bytes(b"")
    status, _, complaint = run(capsys, root, "--image-size", "32", "--skip-bad-images")
    assert status == 2
    assert "class 'Grüne' of photos has 0 training images left" in complaint


def test_a_test_part_that_lacks_a_class_is_reported(capsys, tmp_path):
    photos(tmp_path / "photos" / "train")
    make_image(tmp_path / "photos" / "test" / "red ones" / "1.png", (1, 2, 3))
    _, told, _ = run(capsys, tmp_path / "photos")
    assert "note: test has no images of 1 of 2 classes, such as 'Grüne'" in told


def test_names_that_the_terminal_cannot_show_are_no_error(tmp_path, monkeypatch):
    root, terminal = photos(tmp_path / "photos"), io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(terminal, "ascii"))
    main(["data", str(root)])
    assert b"images per class: Gr?ne 3" in terminal.getvalue()


def test_an_archive_of_something_else_is_reported_with_status_2(capsys, tmp_path):
    make_image(tmp_path / "holiday.png", (1, 2, 3))
    with tarfile.open(tmp_path / "holiday.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "holiday.png", "holiday.png")
    status, _, complaint = run(capsys, "cifar100", "--unpack", tmp_path / "holiday.tar.gz")
    assert status == 2
    assert "holds nothing of CIFAR-100: none of train, test, meta is in it" in complaint
    assert not (tmp_path / "data").exists()


def test_many_classes_are_reported_by_their_extremes(capsys, tmp_path):
    for label in range(12):
        for index in range(5):
            make_image(tmp_path / "many" / f"{label}" / f"{index}.png", (0, 0, 0))
    _, told, _ = run(capsys, tmp_path / "many")
    assert "images per class: 4\n" in told  # nothing about a largest class


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nowhere",), "no dataset or folder called 'nowhere'; give a folder of class folders or the"),
        (("a" * 5000,), "File name too long"),
        (("cifar_10",), "did you mean cifar10 or cifar100? there are: "),
        (("https://example.org/photos.zip",), "is an address, and nothing is fetched from addresses"),
        (("--download",), "--download and --unpack need a dataset's name: digits, fashion_mnist"),
        (("digits", "--data-dir", __file__), "data-dir must be a folder, got the file"),
        (("--data-dir", __file__), "data-dir must be a folder, got the file"),
        (("nowhere", "--download"), "need a dataset's name, got nowhere: digits, fashion_mnist"),
        (("imagenet", "--download"), "torchvision offers no download of ImageNet"),
        (("cifar10", "--unpack", "nowhere.tar.gz"), "no archive nowhere.tar.gz to unpack"),
        ((".",), "has no class folders"),
        ((".", "--image-size", "3"), "image-size must be at least 8, got 3"),
        ((".", "--resize", "bend"), "--resize"),
        (
            ("digits", "--image-size", "32"),
            "--image-size: for a folder of images, got the dataset digits",
        ),
        (("digits", "--fold", "3"), "fold 3 was asked of digits, but only freiburg has folds"),
        ((".", "--fold", "3"), "fold 3 was asked of ., but only freiburg has folds"),
        (("--resize", "pad"), "--resize: for a folder of images, got no folder"),
    ],
)
def test_every_error_is_one_line_and_status_2(capsys, arguments, words):
    status, told, complaint = run(capsys, *arguments)
    assert (status, told) == (2, "")
    assert words in complaint
    assert complaint.count("\n") == 1


def test_a_download_without_a_network_is_one_line(capsys, monkeypatch, tmp_path):
    def refuse(*_, **__):
        raise OSError("Network is unreachable")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    status, _, complaint = run(capsys, "svhn", "--download")
    assert status == 2
    assert "cannot download SVHN from http://ufldl.stanford.edu" in complaint
    assert complaint.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_check_decodes_every_file_and_names_the_bad_ones(capsys, tmp_path):
    flowers(tmp_path, size=(64, 64))
    for name in ("rose", "tulip"):
        cut = tmp_path / name / "3.png"
        cut.write_bytes(cut.read_bytes()[:2000])
    status, out, err = run(capsys, tmp_path, "--check")
    assert status == 2
    assert out.count("bad: cannot read the image") == 2
    assert "all 10 images were decoded; 2 bad files" in out
    assert "only the headers" not in out
    assert "a run would refuse" in err
    assert run(capsys, tmp_path, "--check", "--skip-bad-images")[0] == 0
    status, _, err = run(capsys, "digits", "--check")
    assert status == 2
    assert "--check decodes the image files of a folder" in err
