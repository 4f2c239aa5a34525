import pytest

from runner.stacks import package_sources

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


def test_pips_variables_win_over_its_files():
    listed = ":env:.find-links='/env'\nglobal.find-links='/file'\nglobal.index-url='https://file.example'\n"

    settings = package_sources.settings_of(listed, {"PIP_INDEX_URL": "https://variable.example"})

    assert settings == {"find-links": "/file", "index-url": "https://variable.example"}


def test_an_empty_variable_unsets_what_a_file_says():
    said = "global.extra-index-url='https://file.example'\n"
    assert package_sources.settings_of(said, {"PIP_EXTRA_INDEX_URL": ""}) == {}


def test_settings_that_say_nothing_about_where_packages_come_from_are_left_out():
    assert package_sources.settings_of("global.cert='/ca.crt'\ninstall.user='true'\n", {"PIP_CERT": "/ca.crt"}) == {}


def test_wheel_folders_are_the_links_that_are_folders_here(tmp_path):
    links = f"https://wheels.example {tmp_path} file://{tmp_path} {tmp_path}/none"

    assert package_sources.wheel_folders({"find-links": links}) == [tmp_path, tmp_path]


def test_a_containers_configuration_has_no_path_of_this_machine():
    settings = {"index-url": "https://index.example/simple", "extra-index-url": "file:///more https://extra.example",
                "find-links": "/wheels", "trusted-host": "index.example", "timeout": "180"}

    assert package_sources.pip_configuration(settings) == (
        "[global]\nindex-url = https://index.example/simple\nextra-index-url = https://extra.example\n"
        "trusted-host = index.example\ntimeout = 180\n")


@pytest.mark.parametrize(("texts", "release", "expected"), [
    ([ONE_LINE], "bookworm", "http://first.example/debian"),
    ([STANZAS], "bookworm", "http://main.example/debian"),
    (["", ONE_LINE, STANZAS], "bookworm", "http://first.example/debian"),
    ([ONE_LINE, STANZAS], "trixie", None),
    ([], "bookworm", None),
])
def test_the_package_mirror_is_the_first_source_of_the_release(texts, release, expected):
    assert package_sources.package_mirror(texts, release) == expected


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

    assert package_sources.proxies() == {"https_proxy": "http://proxy.example:3128"}
