import os
import sys
from pathlib import Path

import pytest

from runner.doctor import host
from runner.errors import BuildFailed
from runner.stacks import bases, package_sources
from tests.made_files import files
from tests.made_wheel import index_of, lock_of_wheel
from tests.stack_folder import small_stack

ONE_LINE = """
# deb http://old.example/debian bookworm main
deb-src http://sources.example/debian bookworm main
deb [arch=amd64 signed-by=/k.gpg] http://first.example/debian bookworm main contrib
deb http://second.example/debian bookworm main
"""
STANZAS = """Types: deb
# URIs: http://snapshot.example/debian
URIs: http://security.example/debian
Suites: bookworm-security

Types: deb
URIs: http://main.example/debian http://spare.example/debian
Suites: bookworm bookworm-updates
Components: main
"""


@pytest.mark.parametrize(("listed", "variables", "settings"), [
    (":env:.find-links='/env'\nglobal.find-links='/file'\nglobal.index-url='https://file.example'\n",
     {"PIP_INDEX_URL": "https://variable.example"}, {"find-links": "/file", "index-url": "https://variable.example"}),
    ("global.extra-index-url='https://file.example'\n", {"PIP_EXTRA_INDEX_URL": ""}, {}),
    ("global.cert='/ca.crt'\ninstall.user='true'\n", {"PIP_CERT": "/ca.crt"}, {})])       # nothing of packages
def test_pips_variables_win_over_its_files_and_an_empty_one_unsets(listed, variables, settings):
    assert package_sources.settings_of(listed, variables) == settings


def test_wheel_folders_are_the_links_that_are_folders_here(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    links = f"https://wheels.example {tmp_path} file://{tmp_path} ~ {tmp_path}/none"

    assert package_sources.wheel_folders({"find-links": links}) == [tmp_path] * 3


def test_a_containers_configuration_has_no_path_of_this_machine():
    settings = {"index-url": "https://index.example/simple", "extra-index-url": "file:///more https://extra.example",
                "find-links": "/wheels", "trusted-host": "index.example", "timeout": "180"}

    assert package_sources.pip_configuration(settings) == (
        "[global]\nindex-url = https://index.example/simple\nextra-index-url = https://extra.example\n"
        "trusted-host = index.example\ntimeout = 180\n")


@pytest.mark.parametrize(("texts", "release", "expected"), [
    ([ONE_LINE], "bookworm", "http://first.example/debian"),
    ([STANZAS], "bookworm", "http://main.example/debian"),
    ([STANZAS.replace("URIs: http://main", "Enabled: no\nURIs: http://main"), ONE_LINE], "bookworm",
     "http://first.example/debian"),
    (["", ONE_LINE, STANZAS], "bookworm", "http://first.example/debian"),
    ([ONE_LINE, STANZAS], "trixie", None),
    ([], "bookworm", None),
])
def test_the_package_mirror_is_the_first_source_of_the_release(texts, release, expected, tmp_path):
    names = ("sources.list", "sources.list.d/b.list", "sources.list.d/a.sources")
    files(tmp_path, dict(zip(names, texts, strict=False)))

    assert package_sources.package_mirror(release, tmp_path) == expected


def test_certificates_named_by_a_variable_win_if_they_are_there(tmp_path, monkeypatch):
    bundle = tmp_path / "site.crt"
    bundle.write_text("certificates")
    monkeypatch.setenv("PIP_CERT", str(tmp_path / "none.crt"))
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))

    assert package_sources.certificates() == bundle


def test_proxies_are_found_in_large_letters_too(monkeypatch):
    for name in ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")

    asked = []
    monkeypatch.setattr(bases, "run", lambda words, log, heard, variables: asked.extend([*words, variables]))
    bases.docker_build(["."], Path("log"))
    assert asked[:-1] == ["docker", "build", "--progress=plain", "--build-arg=https_proxy", "."]
    assert asked[-1]["https_proxy"] == "http://proxy.example:3128"


PYTORCH = "https://download.pytorch.org/whl/cpu"


def asked_for(tmp_path, settings, pages):
    """(what keeps torch 9.0 from being had, the addresses that were asked) where an index has these pages."""
    asked = []

    def page(address):
        asked.append(address)
        if isinstance(answer := pages.get(address, ""), OSError):
            raise answer
        return answer

    stack = small_stack(tmp_path).model_copy(update={"index": {"torch": PYTORCH}})
    return package_sources.not_had([stack], settings, page), sorted(asked)


def test_a_framework_is_asked_for_in_folders_first_and_then_at_each_index(tmp_path):
    offered = '<a href="/r2/torch-9.0-cp311-cp311-manylinux_2_28_x86_64.whl#sha256=00">torch</a>'
    indexes = ["https://a.example/torch/", f"{PYTORCH}/torch/"]
    assert asked_for(tmp_path / "a", {"index-url": "https://a.example"}, {indexes[1]: offered}) == ({}, indexes)

    (tmp_path / "torch-9.0-py3-none-any.whl").touch()
    assert asked_for(tmp_path / "b", {"find-links": str(tmp_path)}, {}) == ({}, [])
    assert asked_for(tmp_path / "c", {"no-index": "1"}, {}) == ({"torch-9": (
        "torch==9.0 is in no folder: set PIP_FIND_LINKS to a folder that has it, or unset PIP_NO_INDEX")}, [])


def test_a_framework_that_no_index_has_is_told_with_the_places_that_were_asked_and_no_password(tmp_path):
    other = '<a href="torch-9.0.1-cp311-none-any.whl">torchvision-9.0-cp311-none-any.whl</a>'
    mine = "https://me:secret@mirror.example/simple"

    lacking, _ = asked_for(tmp_path, {"index-url": mine}, {
        f"{mine}/torch/": other, f"{PYTORCH}/torch/": OSError("[Errno 111] Connection refused")})

    assert lacking == {"torch-9": (
        "torch==9.0 is not at mirror.example/simple, download.pytorch.org/whl/cpu (no answer: Connection refused): set "
        "PIP_FIND_LINKS to a folder that has it, or PIP_EXTRA_INDEX_URL to an index")}


def test_an_index_on_this_machine_is_read_as_pip_reads_it(tmp_path):
    (tmp_path / "index/torch").mkdir(parents=True)
    lock_of_wheel(tmp_path / "index/torch", "torch")
    stack = small_stack(tmp_path / "repository")
    stack.lock.write_text("torch==1.0\n")
    stack = stack.model_copy(update={"version": "1.0"})

    with index_of(tmp_path / "index") as (address, _):
        assert package_sources.not_had([stack], {"index-url": address}) == {}
    assert package_sources.not_had([stack], {"index-url": (tmp_path / "index").as_uri()}) == {}


def test_an_index_of_one_package_serves_an_images_build_too(tmp_path, monkeypatch):
    (tmp_path / "index/special").mkdir(parents=True)
    lock = "other==1\n" + lock_of_wheel(tmp_path / "index/special", "special")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_RETRIES", "0")
    download = [sys.executable, "-m", "pip", "download", "--require-hashes", "--no-deps", f"--dest={tmp_path}",
                *package_sources.of_python("3.6")]

    with index_of(tmp_path / "index") as (address, _):
        stack = small_stack(tmp_path / "repository").model_copy(update={"index": {"special": address}})
        package_sources.bring_own(stack, download, lock, tmp_path / "log")
    package_sources.bring_own(stack, download, lock, tmp_path / "log", there={"special"})

    assert [path.name for path in tmp_path.glob("*.whl")] == ["special-1.0-py3-none-any.whl"]


def test_an_index_of_a_package_that_is_not_installed_is_refused(tmp_path):
    stack = small_stack(tmp_path).model_copy(update={"index": {"tourch": PYTORCH}})

    with pytest.raises(BuildFailed, match=r'stack\.toml: index: found "tourch", which is not among what is installed'):
        package_sources.bring_own(stack, ["false"], "torch==9\n", tmp_path / "log")


def test_the_requirement_of_a_package_is_its_own_lines_alone():
    lock = "torch==9 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\ntorchvision==9 \\\n    --hash=sha256:cc\n"

    assert package_sources.requirement(lock, "torch") == lock.partition("torchvision")[0]
    assert package_sources.requirement("torch==9\nnumpy==1   # why\n", "numpy") == "numpy==1   # why\n"
    assert package_sources.requirement("torch-xla==9\n", "torch") == ""


def test_an_environment_without_a_pip_of_its_own_takes_that_of_the_python_it_was_made_from(
        tmp_path, monkeypatch):
    monkeypatch.setattr(package_sources, "find_spec", lambda name: None)
    assert [os.path.realpath(sys.executable), "-m", "pip"] == package_sources.pip()

    monkeypatch.setattr(package_sources, "_usual_index", lambda: "")          # nor has that one a pip
    stack = small_stack(tmp_path)
    assert package_sources.not_had([stack], {}) is None
    monkeypatch.setattr(package_sources, "pip_settings", dict)
    assert [("packages", "note", "1 stack to build, whose frameworks no index was asked for",
             "install pip, or set PIP_INDEX_URL")] == host.packages({stack.name: stack}, tmp_path)
