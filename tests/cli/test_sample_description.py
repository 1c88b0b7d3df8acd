"""The overview of samplers, evaluators and pools."""

import json

from commands import call

from xnas.cli.sample_description import WIDTH, part_lines
from xnas.runs.sampling.sample_job import EVALUATORS, POOLS, SAMPLERS
from xnas.space import ENCODINGS


def test_every_part_is_listed_with_its_summary_and_settings():
    lines = part_lines()
    text = " ".join(" ".join(lines).split())
    for registry in (SAMPLERS, EVALUATORS, POOLS):
        for name, kind in registry.items():
            assert any(line.startswith(f"  {name} ") for line in lines), name
            assert f"{name} {kind.summary}" in text
    assert "evolution aging evolution, as AmoebaNet was found; settings: population, sample, cop" in text
    assert f"spaces, for --space: {', '.join(ENCODINGS)}" in lines
    assert max(map(len, lines)) <= WIDTH


def test_the_list_stands_alone(capsys, tmp_path):
    status, told, warned = call(capsys, "sample", "--list")
    assert (status, told, warned) == (0, "\n".join(part_lines()) + "\n", "")
    for given in (["digits"], ["--resume", tmp_path], ["--seed", 1]):
        status, told, warned = call(capsys, "sample", *given, "--list")
        assert (status, told) == (2, "")
        assert warned == "xnas: --list prints what there is and begins no search; leave the rest out\n"


def test_the_list_is_one_json_document(capsys):
    status, out, _ = call(capsys, "sample", "--list", "--json")
    record = json.loads(out)
    assert status == 0
    assert {*record} == {"format", "version", "samplers", "evaluators", "pools", "spaces"}
    assert {sampler["name"] for sampler in record["samplers"]} == {*SAMPLERS}
    settings = {sampler["name"]: sampler["settings"] for sampler in record["samplers"]}
    assert settings["evolution"] == ["population", "sample", "copies"]
    status, out, err = call(capsys, "sample", "--json")
    assert (status, out) == (2, "")
    assert "--json belongs to --list" in err
