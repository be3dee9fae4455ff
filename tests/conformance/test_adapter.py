"""From the word behind `--adapter` to an adapter, and no further than the folders it may look into."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conformance.adapter import Adapter, AdapterError, find, names, read
from conformance.drivers.in_process import InProcessLink
from conformance.drivers.process import ProcessLink

MANIFEST = "name: mine\nrole: device\ndriver: process\ncommand: [./driver]\n"


def manifest(path: Path, text: str = MANIFEST) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("place", "word"),
    [
        ("here.yaml", "here.yaml"),
        ("sub/adapter.yaml", "sub"),
        ("adapters/short.yaml", "short"),
        ("adapters/folder/adapter.yaml", "folder"),
        ("adapters/examples/one/adapter.yaml", "examples/one"),
    ],
)
def test_places(place: str, word: str, tmp_path: Path) -> None:
    path = manifest(tmp_path / place)
    assert find(word, tmp_path).folder == path.parent.resolve()


def test_a_path_may_lead_anywhere_as_the_user_says_it(tmp_path: Path) -> None:
    path = manifest(tmp_path / "elsewhere/x.yaml")
    assert find(str(path), tmp_path / "adapters").name == "mine"


def test_a_name_does_not_lead_out_of_the_adapters(tmp_path: Path) -> None:
    manifest(tmp_path / "secret.yaml")
    (tmp_path / "adapters").mkdir()
    with pytest.raises(AdapterError, match=r"there is no adapter '\.\./secret'"):
        find("../secret", tmp_path / "adapters")


def test_a_name_does_not_follow_a_link_out_of_the_adapters(tmp_path: Path) -> None:
    manifest(tmp_path / "outside/adapter.yaml")
    (tmp_path / "work/adapters").mkdir(parents=True)
    (tmp_path / "work/adapters/link").symlink_to(tmp_path / "outside")
    with pytest.raises(AdapterError, match="there is no adapter 'link'"):
        find("link", tmp_path / "work")


def test_a_link_to_itself_is_no_adapter(tmp_path: Path) -> None:
    (tmp_path / "adapters").mkdir()
    (tmp_path / "adapters/loop").symlink_to("loop")
    with pytest.raises(AdapterError, match=r"'loop'|--adapter=loop cannot be looked up"):
        find("loop", tmp_path)


def test_what_the_kit_comes_with() -> None:
    assert {"reference", "reference-process"} <= set(names(Path("/nonexistent")))
    assert isinstance(find("reference", Path("/nonexistent")).link("device"), InProcessLink)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name: x\nrole: device\ndriver: process\n", ":1: command is missing."),
        ("name: x\nrole: device\ndriver: in_process\n", ":1: factory is missing."),
        ("name: ../x\nrole: device\ndriver: process\ncommand: [x]\n", ":1: name: "),
        (MANIFEST + "comand: [x]\n", ":5: comand: comand is unknown here"),
        (MANIFEST + "timeouts: {reply: 5}\n", ":5: timeouts.reply: "),
        (MANIFEST + "timeouts: {replay: 5s}\n", ":5: timeouts.replay: "),
        (MANIFEST + "name: y\n", ":5: "),
        (MANIFEST + "---\n" + MANIFEST, "a manifest is one YAML document, this file holds 2."),
        (MANIFEST + "waivers: ../w.yaml\n", ":5: waivers: '../w.yaml' leaves the folder of the manifest"),
        (MANIFEST + "waivers: /etc/passwd\n", ":5: waivers: '/etc/passwd' leaves the folder of the manifest"),
        ("[", ":1: "),
        ("", "the file holds no document; write one."),
    ],
)
def test_manifests_are_read_strictly(text: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(AdapterError) as caught:
        read(manifest(tmp_path / "adapter.yaml", text))
    assert reason in str(caught.value)
    assert str(tmp_path / "adapter.yaml") in str(caught.value)


def test_waivers_do_not_follow_a_link_out_of_the_folder(tmp_path: Path) -> None:
    outside = manifest(tmp_path / "outside.yaml", "[]\n")
    path = manifest(tmp_path / "in/adapter.yaml", MANIFEST + "waivers: w.yaml\n")
    (path.parent / "w.yaml").symlink_to(outside)
    with pytest.raises(AdapterError, match="leaves the folder of the manifest; keep the file beside it"):
        read(path)


def test_timeouts_and_waivers_of_a_manifest(tmp_path: Path) -> None:
    text = MANIFEST + "timeouts: {reply: 250ms, start: 2s, case: 1m}\nwaivers: w.yaml\n"
    adapter = read(manifest(tmp_path / "adapter.yaml", text))
    assert (adapter.timeouts.reply, adapter.timeouts.start, adapter.timeouts.case) == (0.25, 2.0, 60.0)
    assert adapter.waivers == (tmp_path / "w.yaml").resolve()


def test_words_of_a_command_that_the_kit_fills_in(tmp_path: Path) -> None:
    word = "import os, sys; os.write(1, ('[' + repr(sys.argv[1]) + ']' + chr(10)).replace(chr(39), chr(34)).encode())"
    link = Adapter("x", ("device",), "process", tmp_path, ("{python}", "-S", "-c", word, "{role}")).link("device")
    assert isinstance(link, ProcessLink)
    link.start()
    try:
        assert link.receive(20) == ["device"]
    finally:
        link.stop()


def test_a_command_in_words(tmp_path: Path) -> None:
    adapter = find(f"cmd:{sys.executable} 'my driver.py'", tmp_path)
    assert adapter.command == (sys.executable, "my driver.py")
    assert adapter.roles == ()


def test_a_family_that_cannot_be_imported_is_told_in_a_sentence(tmp_path: Path) -> None:
    text = "name: broken\nrole: device\ndriver: in_process\nfactory: no.such.module:make\n"
    manifest(tmp_path / "adapters/broken/family.yaml", text)
    with pytest.raises(AdapterError, match=r"the factory 'no\.such\.module:make' of adapter broken cannot be imported"):
        find("broken/one", tmp_path)
