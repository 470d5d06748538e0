"""Files that run vitals on a host, held against what those hosts' own tools and the settings say."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from app import settings
from app.authserver.limits.askers import Trusted, client_address, parse
from app.settings import addresses
from tests.packaging.tree import text, tracked

COMPOSE: dict[str, Any] = yaml.safe_load(text("deploy/compose.yaml"))
FLY: dict[str, Any] = tomllib.loads(text("fly.toml"))
EXAMPLE = dict(re.findall(r"^#?([A-Z_]+)=(.*)$", text("deploy/vitals.env.example"), re.MULTILINE))
SECRETS = {"OURA_CLIENT_SECRET", "SECRET_KEY"}
STOP_S = 10  # the longest that a stop may take (tests/system/test_stopping.py)


def known(names: set[str]) -> bool:
    return {name.removesuffix("_FILE") for name in names} <= set(settings.NAMES)


def seen(named: str, peer: str, forwarded: str) -> str:
    """The address that counts, with this FORWARDED_ALLOW_IPS."""
    return str(client_address(parse(peer), [forwarded], Trusted(addresses.proxies(tuple(named.split(","))))))


class TestFly:
    @pytest.mark.parametrize(
        ("peer", "of_this_app"), [("172.16.12.34", "66.241.124.230"), ("fdaa:0:1::3", "2a09:8280:1::af:1aa1:0")]
    )
    def test_of_what_its_proxy_forwards_the_client_counts(self, peer: str, of_this_app: str) -> None:
        # It appends the client, then the address of the app that the client called; what was sent stands in front.
        forwarded = f"198.51.100.9, 203.0.113.7, {of_this_app}"

        assert seen(FLY["env"]["FORWARDED_ALLOW_IPS"], peer, forwarded) == "203.0.113.7"

    def test_one_small_machine_with_a_volume_sleeps_while_nobody_asks(self) -> None:
        service = FLY["http_service"]

        assert (service["auto_stop_machines"], service["auto_start_machines"]) == ("stop", True)
        assert service["min_machines_running"] == 0
        assert FLY["mounts"]["destination"] == FLY["env"]["DATA_DIR"] == "/data"
        assert service["force_https"] is True
        assert str(service["internal_port"]) == FLY["env"]["PORT"]

    def test_it_asks_whether_the_process_is_alive(self) -> None:
        (check,) = FLY["http_service"]["checks"]

        assert (check["method"], check["path"]) == ("GET", "/healthz")

    def test_the_machine_is_killed_only_after_a_stop_has_had_its_time(self) -> None:
        assert FLY["kill_signal"] == "SIGTERM"
        assert FLY["kill_timeout"] > STOP_S

    def test_every_setting_exists_and_none_is_a_secret(self) -> None:
        assert known(set(FLY["env"]))
        assert not SECRETS & set(FLY["env"])

    def test_the_readme_uses_its_names(self) -> None:
        readme = text("README.md")

        assert f"fly apps create {FLY['app']}" in readme
        assert f"fly volumes create {FLY['mounts']['source']} --size 1 --region {FLY['primary_region']}" in readme
        assert FLY["env"]["PUBLIC_URL"] == f"https://{FLY['app']}.fly.dev"


class TestCompose:
    @pytest.mark.parametrize("peer", ["172.18.0.3", "192.168.16.2", "10.5.0.2", "fd00::3"])
    def test_what_caddy_says_of_the_client_is_believed(self, peer: str) -> None:
        named = COMPOSE["services"]["vitals"]["environment"]["FORWARDED_ALLOW_IPS"]

        assert seen(named, peer, "203.0.113.7") == "203.0.113.7"

    @pytest.mark.parametrize("name", sorted(COMPOSE["services"]))
    def test_no_service_can_write_its_system_or_gain_a_privilege(self, name: str) -> None:
        service = COMPOSE["services"][name]

        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service.get("cap_add", []) == (["NET_BIND_SERVICE"] if name == "caddy" else [])
        assert not {"privileged", "network_mode", "pid", "ipc", "devices"} & set(service)
        assert "docker.sock" not in str(service)

    def test_only_caddy_can_be_reached_from_outside(self) -> None:
        assert [name for name, service in COMPOSE["services"].items() if "ports" in service] == ["caddy"]
        assert COMPOSE["networks"]["store"] == {"internal": True}
        assert COMPOSE["services"]["valkey"]["networks"] == ["store"]

    def test_secrets_are_files_that_the_user_of_the_image_owns(self) -> None:
        service = COMPOSE["services"]["vitals"]
        uid, gid = re.findall(r"^USER (\d+):(\d+)$", text("Dockerfile"), re.MULTILINE)[-1]

        assert known(set(service["environment"]))
        assert not SECRETS & set(service["environment"])
        assert service["environment"]["OURA_CLIENT_SECRET_FILE"] == "/run/secrets/oura_client_secret"
        assert "./secrets:/run/secrets:ro" in service["volumes"]
        for page in ("deploy/compose.yaml", "README.md"):
            assert f"-o {uid} -g {gid} /dev/null secrets/oura_client_secret" in text(page)

    def test_what_must_last_is_on_a_volume(self) -> None:
        assert "data:/data" in COMPOSE["services"]["vitals"]["volumes"]
        assert "certificates:/data" in COMPOSE["services"]["caddy"]["volumes"]
        assert set(COMPOSE["volumes"]) == {"data", "certificates", "caddy", "valkey"}

    def test_valkey_is_optional_and_keeps_every_write(self) -> None:
        valkey = COMPOSE["services"]["valkey"]
        options = dict(zip(valkey["command"][1::2], valkey["command"][2::2], strict=True))

        assert valkey["profiles"] == ["valkey"]
        assert (options["--appendonly"], options["--appendfsync"]) == ("yes", "always")
        assert options["--maxmemory-policy"] == "noeviction"
        assert valkey["volumes"] == ["valkey:/data"]

    def test_a_container_is_killed_only_after_a_stop_has_had_its_time(self) -> None:
        assert int(COMPOSE["services"]["vitals"]["stop_grace_period"].removesuffix("s")) > STOP_S

    def test_the_example_holds_settings_that_exist_and_no_secret(self) -> None:
        assert known(set(EXAMPLE))
        assert not SECRETS & set(EXAMPLE)
        assert EXAMPLE["OURA_CLIENT_ID"] == ""
        assert "deploy/vitals.env" not in tracked()

    def test_the_example_filled_in_is_a_sound_configuration(self) -> None:
        shown = dict(re.findall(r"^([A-Z_]+)=(.*)$", text("deploy/vitals.env.example"), re.MULTILINE))

        read = settings.load_settings(shown | {"OURA_CLIENT_ID": "id", "OURA_CLIENT_SECRET": "a-client-secret"})

        assert read.redirect_uri == "https://vitals.example.com/callback/oura/"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
class TestSystemd:
    def analyze(self, *arguments: str, unit: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["systemd-analyze", *arguments, str(unit)], capture_output=True, text=True, timeout=60, check=False
        )

    @pytest.fixture
    def unit(self, tmp_path: Path) -> Path:
        """The unit with a program that exists, since verify looks for it."""
        copy = tmp_path / "vitals.service"
        copy.write_text(
            re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", text("deploy/vitals.service"), flags=re.MULTILINE)
        )
        return copy

    def test_systemd_finds_nothing_to_say_about_the_unit(self, unit: Path) -> None:
        ran = self.analyze("verify", unit=unit)

        assert (ran.returncode, ran.stderr.strip()) == (0, "")

    def test_a_start_that_is_refused_for_good_is_not_tried_again(self) -> None:
        assert "\nRestartPreventExitStatus=2 3\n" in text("deploy/vitals.service")

    def test_little_is_exposed(self, unit: Path) -> None:
        ran = self.analyze("security", "--offline=true", "--threshold=15", unit=unit)  # 1.5 of 10

        assert ran.returncode == 0, ran.stdout[-300:]

    def test_settings_exist_and_secrets_come_as_credentials(self) -> None:
        unit = text("deploy/vitals.service")
        given = {
            name
            for line in re.findall(r"^#?Environment=(.+)$", unit, re.MULTILINE)
            for name in re.findall(r"(\w+)=", line)
        }

        assert known(given - {"PYTHONDONTWRITEBYTECODE"})
        assert not SECRETS & given
        for path in re.findall(r"_FILE=%d/(\w+)", unit):
            assert re.search(rf"^#?LoadCredential={path}:/etc/vitals/{path}$", unit, re.MULTILINE)
        assert int(re.findall(r"TimeoutStopSec=(\d+)", unit)[0]) > STOP_S

    def test_it_starts_what_the_readme_installs(self) -> None:
        assert "cd /opt/vitals\n" in text("README.md")
        assert "ExecStart=/opt/vitals/.venv/bin/vitals serve\n" in text("deploy/vitals.service")
