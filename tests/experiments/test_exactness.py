"""The comparison of the two backends at full size, rehearsed on digits."""

import json

import pytest

import exactness


@pytest.mark.evidence
def test_backends_agree_on_learned_weights(tmp_path, capsys):
    out = tmp_path / "exactness.jsonl"
    words = ["--tiny", "--seeds", "1", "--rounds", "2", "--device", "cpu", "--out", str(out)]
    assert exactness.main(words) == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(line["height"], line["width"]) for line in lines] == [(12, 12), (11, 9)]
    assert len(capsys.readouterr().out.splitlines()) == 2
    for line in lines:
        assert 28 <= line["experts"] < 196
        assert 0 < max(line["fused_fp32"].values()) < 1e-3  # another way to compute the same
        assert 0 < max(line["plain_fp32"].values()) < 1e-3  # against float64
        assert min(line["plain_bf16"].values()) > 1e-3  # it is another precision
        assert line["pairs_agreeing"] <= line["pairs"]
