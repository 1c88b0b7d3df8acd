"""Tables of labels: which columns count, and what is wrong with a line, by its number."""

import pytest

from xnas.data.tables import Row, read_table
from xnas.errors import DatasetError


def written(tmp_path, text, name="labels.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("path,label\n1.png,cat\n2.png,dog\n", "labels.csv"),
        ("1.png,cat\n2.png,dog\n", "labels.csv"),  # no header
        ("\ufeffimage_id;diagnosis;age\r\n1.png;cat;3\r\n\r\n2.png;dog;4\r\n", "labels.csv"),
        ('File Name\tClass\n"1.png"\tcat\n2.png\tdog', "labels.tsv"),
        ("photo,kind\n1.png,cat\n2.png,dog\n", "labels.csv"),  # two unknown columns, in this order
        ('{"file_name": "1.png", "label": "cat"}\n\n{"label": "dog", "file_name": "2.png"}', "m.jsonl"),
    ],
)
def test_paths_and_labels_are_found_in_many_kinds_of_tables(tmp_path, text, name):
    rows = read_table(written(tmp_path, text, name))
    assert [(row.file, row.label, row.part) for row in rows] == [
        ("1.png", "cat", None),
        ("2.png", "dog", None),
    ]


def test_a_column_may_name_the_part(tmp_path):
    rows = read_table(written(tmp_path, "path,label,split\n1.png,0,train\n2.png,1,Validation\n"))
    assert rows == [Row("1.png", "0", "train", 2), Row("2.png", "1", "val", 3)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "lists no image"),
        ("path,label\n", "lists no image"),
        ("path,label\n1.png\n", r"line 2 of .*csv has 1 cells where the first line has 2; fix it, with"),
        ("path,label\n1.png,cat,\n", "line 2 of .*csv has 3 cells where the first line has 2"),
        ("path,label\n1.png, \n", "line 2 of .*csv has no label; write one, or remove the line"),
        ("path,label\n,cat\n", "line 2 of .*csv has no path"),
        ("path,label\n1.png,cat\n1.png,cat\n", "lines 2 and 3 of .*csv list 1.png twice"),
        ("path,label\n1.png,cat\n1.png,dog\n", "labels 'cat' and 'dog'; .*multi-label data are not"),
        ("path,label\n1.png,a|b\n2.png,a\n3.png,b\n", r"several labels, such as 'a\|b': multi-label"),
        ("path,label\n1.png,a;b\n2.png,b\n", "several labels, such as 'a;b': multi-label"),
        ('path,label\n1.png,"a, b"\n2.png,b\n', "several labels, such as 'a, b': multi-label"),
        ("path,cat,dog\n1.png,1,1\n2.png,0,1\n", "one column per class, as multi-label data have"),
        ("path,label,xmin\n1.png,cat,3\n", "column 'xmin', as data for object detection have"),
        ("image,mask\n1.png,2.png\n", "column 'mask', as data for segmentation have"),
        ("path,label\n1.png,m1.png\n2.png,m2.png\n", "are images, such as 'm1.png': segmentation"),
        ("a,b,c\n1,2,3\n", "has no column of paths, but a, b, c; call them path and label"),
        ("path,label,label\n1.png,cat,dog\n", "has two columns called 'label'"),
        ("path,label,split\n1.png,cat,dev\n", "line 2 of .*csv has the split 'dev'; parts are"),
        (b"path,label\n\xff.png,cat\n", "is not UTF-8 text"),
        ('path,label\n"1.png,cat\n', r"line 2 of .*csv is no CSV \(unexpected end of data\)"),
    ],
)
def test_a_fault_of_a_table_is_one_line_with_its_number(tmp_path, text, words):
    with pytest.raises(DatasetError, match=words) as error:
        read_table(written(tmp_path, text))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"file_name": "1.png"', "line 1 of .* is no JSON"),
        ("[1, 2]", r"line 1 of .* is \[1, 2\]; write an object"),
        (
            '{"file_name": "1.png", "label": [0, 2]}',
            r"line 1 .* has the labels \[0, 2\]: multi-label data",
        ),
        ('{"file_name": "1.png", "label": 0}\n{"file_name": "2.png"}', "line 2 of .* has no label"),
        ('{"file_name": "1.png", "objects": {}}', "column 'objects', as data for object detection have"),
        ('{"file_name": {}, "label": 0}', r"line 1 .* has \{\} for a path or a label"),
    ],
)
def test_a_fault_of_json_lines_is_one_line_with_its_number(tmp_path, text, words):
    with pytest.raises(DatasetError, match=words):
        read_table(written(tmp_path, text, "metadata.jsonl"))
