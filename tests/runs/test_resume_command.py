"""The command that resumes a run can be typed as it is printed."""

from pathlib import Path

from xnas.runs.resume_command import ResumeCommand


def test_settings_of_this_resumption_are_given_again():
    changes = {"device": "cpu", "compile": False}
    command = ResumeCommand(program="xnas", kind="train", path=Path("my run"), changes=changes)
    assert str(command) == "xnas train --resume 'my run' --device cpu --no-compile"


def test_images_in_memory_are_given_to_a_call():
    command = ResumeCommand(
        program="xnas", kind="train", path=Path("run"), in_memory=True, changes={"device": "cpu"}
    )
    call = "xnas.resume_training('run', data=..., device='cpu'), with the same images"
    assert str(command) == call
