"""What is known of each dataset that has a name: how large it is, which files it has, who gives it away.

Checksums of files are those of their bytes after decompression, so that a file that somebody compressed
anew is still the same file. MD5s are the publishers' own; the SHA-256s of Fashion-MNIST were taken from
the files in Debian's package, because the published ones are of compressed files.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KnownFile:
    """One file of a dataset."""

    name: str
    checksum: str = ""
    """As `md5:...` or `sha256:...`, of the decompressed bytes; empty if none is published."""
    size: int | None = None
    """Decompressed bytes."""
    gz: bool = False
    """Whether it may be compressed with gzip, its name ending in .gz."""


@dataclass(frozen=True, slots=True)
class Source:
    """Something to download: an archive to unpack, or a file as it is."""

    url: str
    md5: str

    @property
    def name(self) -> str:
        """What the file is called."""
        return self.url.rsplit("/", 1)[-1]


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """One dataset."""

    name: str
    title: str
    classes: int
    examples: int
    """Training images."""
    test_examples: int
    validation_examples: int = 0
    """Further images that join the training images if `use_val` says so."""
    folds: int = 0
    """Ways to part `examples` into training and test images; 0 if it is done once and for all."""
    channels: int
    size: tuple[int, int] | None
    """Height and width; None if they vary."""
    flip: bool = True
    """Whether a mirrored image still shows its class."""
    folders: tuple[str, ...] = ()
    """Where its files lie below a data folder; the first is where new ones go."""
    files: tuple[KnownFile, ...] = ()
    marks: tuple[str, ...] = ()
    """Files or folders any of which shows that the dataset is there, if it has no list of files."""
    systems_folder: str = ""
    """Where a system's package puts it."""
    sources: tuple[Source, ...] = ()
    torchvision: str = ""
    """The class of torchvision that downloads it, if there is one."""
    obtain: str = ""
    """How to get it, in one line."""


def _cifar(*files: tuple[str, str, int | None]) -> tuple[KnownFile, ...]:
    return tuple(KnownFile(name, f"md5:{md5}", size) for name, md5, size in files)


DIGITS = Known(
    name="digits",
    title="Digits of scikit-learn",
    classes=10,
    examples=1438,
    test_examples=359,
    channels=1,
    size=(8, 8),
    flip=False,
    obtain="it comes with scikit-learn, which xnas depends on",
)
FASHION_MNIST = Known(
    name="fashion_mnist",
    title="Fashion-MNIST",
    classes=10,
    examples=60_000,
    test_examples=10_000,
    channels=1,
    size=(28, 28),
    folders=("FashionMNIST/raw", "fashion-mnist"),
    files=(
        KnownFile(
            "train-images-idx3-ubyte",
            "sha256:c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            47_040_016,
            gz=True,
        ),
        KnownFile(
            "train-labels-idx1-ubyte",
            "sha256:bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            60_008,
            gz=True,
        ),
        KnownFile(
            "t10k-images-idx3-ubyte",
            "sha256:5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            7_840_016,
            gz=True,
        ),
        KnownFile(
            "t10k-labels-idx1-ubyte",
            "sha256:0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
            10_008,
            gz=True,
        ),
    ),
    systems_folder="/usr/share/datasets/fashion-mnist",
    sources=tuple(
        Source(f"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/{name}.gz", md5)
        for name, md5 in (
            ("train-images-idx3-ubyte", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
            ("train-labels-idx1-ubyte", "25c81989df183df01b3e8a0aad5dffbe"),
            ("t10k-images-idx3-ubyte", "bef4ecab320f06d8554ea6380940ec79"),
            ("t10k-labels-idx1-ubyte", "bb300cfdad3c16e7a12a480ee83cd310"),
        )
    ),
    torchvision="FashionMNIST",
    obtain="apt install dataset-fashion-mnist on Debian, or --download",
)
CIFAR10 = Known(
    name="cifar10",
    title="CIFAR-10",
    classes=10,
    examples=50_000,
    test_examples=10_000,
    channels=3,
    size=(32, 32),
    folders=("cifar-10-batches-py",),
    files=_cifar(
        ("data_batch_1", "c99cafc152244af753f735de768cd75f", 31_035_704),
        ("data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec", 31_035_320),
        ("data_batch_3", "54ebc095f3ab1f0389bbae665268c751", 31_035_999),
        ("data_batch_4", "634d18415352ddfa80567beed471001a", 31_035_696),
        ("data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb", 31_035_623),
        ("test_batch", "40351d587109b95175f43aff81a1287e", 31_035_526),
        ("batches.meta", "5ff9c542aee3614f3951f8cda6e48888", 158),
    ),
    sources=(
        Source(
            "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz", "c58f30108f718f92721af3b95e74349a"
        ),
    ),
    torchvision="CIFAR10",
    obtain="--download, or fetch the archive and --unpack it",
)
CIFAR100 = Known(
    name="cifar100",
    title="CIFAR-100",
    classes=100,
    examples=50_000,
    test_examples=10_000,
    channels=3,
    size=(32, 32),
    folders=("cifar-100-python",),
    files=_cifar(
        ("train", "16019d7e3df5f24257cddd939b257f8d", None),
        ("test", "f0ef6b0ae62326f3e7ffdfab6717acfc", None),
        ("meta", "7973b15100ade9c7d40fb424638fde48", None),
    ),
    sources=(
        Source(
            "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",
            "eb9058c3a382ffc7106e4002c42a8d85",
        ),
    ),
    torchvision="CIFAR100",
    obtain="--download, or fetch the archive and --unpack it",
)
SVHN = Known(
    name="svhn",
    title="SVHN",
    classes=10,
    examples=604_388,  # train 73,257 and extra 531,131
    test_examples=26_032,
    channels=3,
    size=(32, 32),
    flip=False,
    folders=("SVHN", "svhn"),
    files=(
        KnownFile("train_32x32.mat", "md5:e26dedcc434d2e4c54c9b2d4a06d8373"),
        KnownFile("extra_32x32.mat", "md5:a93ce644f1a588dc4d68dda5feec44a7"),
        KnownFile("test_32x32.mat", "md5:eb5a983be6a315427106f1b164d9cef3"),
    ),
    sources=tuple(
        Source(f"http://ufldl.stanford.edu/housenumbers/{name}_32x32.mat", md5)
        for name, md5 in (
            ("train", "e26dedcc434d2e4c54c9b2d4a06d8373"),
            ("extra", "a93ce644f1a588dc4d68dda5feec44a7"),
            ("test", "eb5a983be6a315427106f1b164d9cef3"),
        )
    ),
    torchvision="SVHN",
    obtain="--download, or put the three .mat files there",
)
CINIC10 = Known(
    name="cinic10",
    title="CINIC-10",
    classes=10,
    examples=90_000,
    test_examples=90_000,
    validation_examples=90_000,
    channels=3,
    size=(32, 32),
    folders=("CINIC-10", "cinic-10", "cinic10"),
    marks=("train/airplane", "valid/airplane", "test/airplane"),
    sources=(
        Source(
            "https://datashare.ed.ac.uk/bitstream/handle/10283/3192/CINIC-10.tar.gz",
            "6ee4d0c996905fe93221de577967a372",
        ),
    ),
    obtain="fetch the archive and --unpack it; 90,000 more images in valid join with --use-val",
)
FREIBURG = Known(
    name="freiburg",
    title="Freiburg Groceries",
    classes=25,
    examples=4947,
    test_examples=0,
    folds=5,
    channels=3,
    size=(256, 256),
    folders=("freiburg_groceries_dataset",),
    marks=("images/BEANS", "splits/train0.txt"),
    sources=(
        Source(
            "http://aisdatasets.informatik.uni-freiburg.de/freiburg_groceries_dataset/"
            "freiburg_groceries_dataset.tar.gz",
            "4d7a9d202da5f0d0f09e69eca4c28bf0",
        ),
    ),
    obtain="fetch the archive and --unpack it; put the folder splits of "
    "https://github.com/PhilJd/freiburg_groceries_dataset next to images",
)
IMAGENET = Known(
    name="imagenet",
    title="ImageNet (ILSVRC 2012)",
    classes=1000,
    examples=1_281_167,
    test_examples=50_000,
    channels=3,
    size=None,
    folders=("imagenet", "ImageNet", "ILSVRC2012"),
    marks=("train/n01440764", "val/n01440764", "val/ILSVRC2012_val_00000001.JPEG"),
    obtain="get ILSVRC2012_img_train.tar, ILSVRC2012_img_val.tar and ILSVRC2012_devkit_t12.tar.gz from "
    "https://image-net.org (an account is needed); torchvision.datasets.ImageNet(folder, split) unpacks "
    "and sorts them for split 'train' and 'val'",
)

CATALOGUE: dict[str, Known] = {
    known.name: known
    for known in (DIGITS, FASHION_MNIST, CIFAR10, CIFAR100, SVHN, CINIC10, FREIBURG, IMAGENET)
}
"""Descriptions of the datasets that have a name, by name."""
