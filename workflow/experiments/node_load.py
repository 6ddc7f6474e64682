"""A DICOM node under a year's load: small series from three senders, mixed, some sent twice, some stopped half way
and sent again; an archive that is away for a third of the time; kills.  Then what was acknowledged is compared with
what was answered (`node_load_checks.py`).

Needs DCMTK's storescu and storescp.  Called again with the same folder, it goes on behind what was sent.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from shutil import which
from threading import Lock
from typing import Annotated, Any, NamedTuple

import typer

from dicom_series import FIRST_NUMBER, UID_ROOT, read_grid, series_images
from fovnet.cli import main
from fovnet.cli.screen import empty_table, show_table
from fovnet.errors import ConfigError
from fovnet.records import write_tsv
from node_load_checks import CHECK_COLUMNS, Load, check_load

SENDERS = ("SCANNER1", "SCANNER2", "PACS")
SERIES_IN_BATCH = 4
LARGEST = (64, 64, 12)  # columns, rows and images of a series
MOST_WAITING = 40  # series without an answer, before senders pause
KILLS_AT = (0.1, 0.2, 0.95)
"""Shares of the series answered."""
ARCHIVE_PERIOD_S = 90.0
ARCHIVE_AWAY_SHARE = 1 / 3
REST_S = 15.0
KEEP_HOURS = 0.05
ACCEPTED = "Received Store Response (Success)"

app = typer.Typer(add_completion=False)


class Batch(NamedTuple):
    """Series whose images are sent in one association, mixed; `stops` half way or not."""

    series: tuple[int, ...]
    stops: bool = False


def plan_batches(series: Sequence[int], seed: int) -> list[Batch]:
    """What one sender sends: a tenth of its batches twice, and a tenth after they stopped half way; the
    batch that comes next lies between."""
    generator = random.Random(seed)
    batches: list[Batch] = []
    late: list[Batch] = []
    for start in range(0, len(series), SERIES_IN_BATCH):
        group = tuple(series[start : start + SERIES_IN_BATCH])
        (kind,) = generator.choices(("once", "twice", "stopped"), (8, 1, 1))
        batches += [Batch(group, stops=kind == "stopped"), *late]
        late = []
        if kind != "once":
            late = [Batch(group)]
    return batches + late


def write_templates(volumes: Path, folder: Path) -> list[Path]:
    """A folder of images for each of the volumes; in their UIDs stands FIRST_NUMBER."""
    series_uid = f"{UID_ROOT}.{FIRST_NUMBER}.1"
    elements = {"StudyInstanceUID": f"{UID_ROOT}.{FIRST_NUMBER}", "PatientID": str(FIRST_NUMBER)}
    template_folders = []
    for path in sorted((volumes / "volumes").glob("*.nii.gz")):
        template_folder = folder / path.name.removesuffix(".nii.gz")
        if not template_folder.exists():
            template_folder.mkdir(parents=True)
            for image in series_images(read_grid(path, LARGEST), series_uid, elements):
                image.save_as(
                    template_folder / f"{image.InstanceNumber}.dcm", enforce_file_format=True
                )
        template_folders.append(template_folder)
    return template_folders


def write_series(template: Path, number: int, folder: Path) -> list[Path]:
    """The images of a template under UIDs with this number; their names are their SOP Instance UIDs."""
    uid_number = str(FIRST_NUMBER + number)
    paths = []
    for template_path in sorted(template.iterdir()):
        path = folder / f"{UID_ROOT}.{uid_number}.1.{template_path.stem}"
        content = template_path.read_bytes()
        path.write_bytes(content.replace(str(FIRST_NUMBER).encode(), uid_number.encode()))
        paths.append(path)
    return paths


@dataclass
class Site:
    """A node, an archive and the senders, in one folder.

    node         the process, None while there is none
    ends_s       when senders stop, on a monotonic clock
    health       what the node told last
    is_sending   some sender has batches left
    """

    folder: Path
    node_port: int
    archive_port: int
    page_port: int
    ends_s: float
    node: subprocess.Popen[bytes] | None = None
    archive: subprocess.Popen[bytes] | None = None
    health: dict[str, Any] = field(default_factory=dict)
    is_sending: bool = True
    _lock: Lock = field(default_factory=Lock)

    def start_node(self) -> None:
        words = ["node", "--out", self.folder / "node", "--port", self.node_port, "--rest", REST_S]
        words += ["--page", self.page_port, "--keep", KEEP_HOURS, "--log-format", "json"]
        words += ["--to", f"ARCHIVE@127.0.0.1:{self.archive_port}"]
        with (self.folder / "log.jsonl").open("ab") as log:
            command = [sys.executable, "-m", "fovnet", *map(str, words)]
            self.node = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
        self.note("starts.jsonl", pid=self.node.pid)
        while not self.read_page("/health"):
            time.sleep(0.5)

    def kill_node(self) -> None:
        if self.node is not None:
            self.node.send_signal(signal.SIGKILL)
            self.node.wait()

    def end_at_once(self, number: int, *_: object) -> None:
        """Ends the node, the archive and this process, on a signal: threads that send would be waited
        for until all is sent."""
        self.kill_node()
        self.set_archive(is_there=False)
        os._exit(128 + number)

    def set_archive(self, is_there: bool) -> None:
        if is_there and self.archive is None:
            reports = self.folder / "archive"
            reports.mkdir(exist_ok=True)
            words = ["-aet", "ARCHIVE", "-od", str(reports), str(self.archive_port)]
            self.archive = subprocess.Popen([require("storescp"), *words])
        elif not is_there and self.archive is not None:
            self.archive.kill()
            self.archive.wait()
            self.archive = None

    def read_page(self, path: str) -> str:
        """What the node's own port answers; "" where nobody does, or in trouble."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.page_port}{path}") as page:
                return str(page.read().decode())
        except urllib.error.HTTPError as fault:
            return fault.read().decode()
        except OSError:
            return ""

    def note(self, name: str, **facts: Any) -> None:
        """Adds a line with the time to a file of the folder."""
        with self._lock, (self.folder / name).open("a") as file:
            file.write(json.dumps({"time": time.time(), **facts}) + "\n")

    def store(self, title: str, paths: Sequence[Path], most: int) -> int:
        """Sends images in one association, which is broken off after `most`; how many were
        acknowledged."""
        words = ["-v", "-aet", title, "-aec", "FOVNET", "127.0.0.1", str(self.node_port)]
        acknowledged_count = 0
        name = ""
        with subprocess.Popen(
            [require("storescu"), *words, *map(str, paths)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "TCP_NODELAY": "1"},
        ) as sender:
            assert sender.stdout is not None
            for line in sender.stdout:
                if "Sending file: " in line:
                    name = line.strip().rpartition("/")[2]
                elif ACCEPTED in line:
                    acknowledged_count += 1
                    size = (self.folder / title / name).stat().st_size
                    self.note("acknowledged.jsonl", sender=title, image=name, bytes=size)
                    if acknowledged_count == most:
                        sender.kill()
        return acknowledged_count


def send_all(site: Site, templates: Sequence[Path], series_count: int, sender_index: int) -> None:
    """Sends what a sender has to send, behind what it has sent already."""
    title = SENDERS[sender_index]
    batches = plan_batches(range(sender_index, series_count, len(SENDERS)), sender_index)
    folder = site.folder / title
    folder.mkdir(exist_ok=True)
    done_path = site.folder / f"{title}.done"
    first_batch = 0
    if done_path.exists():
        first_batch = int(done_path.read_text())
    for index in range(first_batch, len(batches)):
        if time.monotonic() > site.ends_s:
            return
        batch = batches[index]
        paths = [
            path
            for number in batch.series
            for path in write_series(templates[number % len(templates)], number, folder)
        ]
        random.Random(index).shuffle(paths)
        most = len(paths)
        if batch.stops:
            most //= 2
        while site.store(title, paths, most) < most:  # all again, as after a kill
            time.sleep(1.0)
        for path in paths:
            path.unlink()
        done_path.write_text(str(index + 1))
        while site.health.get("series_waiting", 0) > MOST_WAITING:
            time.sleep(0.5)


def watch(site: Site, series_count: int) -> None:
    """Notes figures, takes the archive away and kills the node, until all is sent, answered and
    delivered."""
    answered_count = json.loads(site.read_page("/health"))["series_answered"]
    kills_at = [share * series_count for share in KILLS_AT if share * series_count > answered_count]
    load = Load(site.folder)
    while True:
        away_from_s = ARCHIVE_PERIOD_S * (1 - ARCHIVE_AWAY_SHARE)
        site.set_archive(not site.is_sending or time.monotonic() % ARCHIVE_PERIOD_S < away_from_s)
        site.health = json.loads(site.read_page("/health"))
        site.note("samples.jsonl", kept_bytes=load.kept_bytes(), **site.health)
        if kills_at and site.health["series_answered"] >= kills_at[0]:
            site.kill_node()
            site.start_node()
            del kills_at[0]
        waiting = [site.health[f"series_{state}"] for state in ("arriving", "waiting")]
        if not site.is_sending and not any([*waiting, site.health["reports_unsent"]]):
            return
        time.sleep(3.0)


def require(name: str) -> str:
    """Where a program of DCMTK is; pynetdicom has others of its names beside the interpreter."""
    places = [
        place
        for place in os.environ["PATH"].split(os.pathsep)
        if Path(place) != Path(sys.executable).parent
    ]
    path = which(name, path=os.pathsep.join(places))
    if path is None:
        raise ConfigError("node-load", f"{name}: not installed; install DCMTK")
    return path


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@app.command()
def load_node(
    volumes: Annotated[Path, typer.Argument(help="A folder that `fovnet phantom` wrote.")],
    out: Annotated[Path, typer.Option(help="Where all is kept, and checks.tsv written.")],
    series: Annotated[int, typer.Option(min=40, help="Series to send.")] = 2000,
    minutes: Annotated[float, typer.Option(help="Of sending, in this part of the load.")] = 60.0,
) -> None:
    """Load a node, and check that nothing was lost and nothing answered twice."""
    require("storescp")
    out.mkdir(parents=True, exist_ok=True)
    templates = write_templates(volumes, out / "templates")
    ends_s = time.monotonic() + 60 * minutes
    site = Site(out.resolve(), free_port(), free_port(), free_port(), ends_s)
    signal.signal(signal.SIGTERM, site.end_at_once)
    site.start_node()
    try:
        with ThreadPoolExecutor(len(SENDERS) + 1) as executor:
            send = partial(send_all, site, templates, series)
            watching = executor.submit(watch, site, series)
            sendings = [executor.submit(send, index) for index in range(len(SENDERS))]
            for sending in sendings:
                sending.result()
            site.is_sending = False
            watching.result()
        checks = check_load(Load(site.folder), site.read_page("/metrics"), series, KEEP_HOURS)
    finally:
        site.kill_node()
        site.set_archive(is_there=False)
    write_tsv(out / "checks.tsv", CHECK_COLUMNS, [check._asdict() for check in checks])
    table = empty_table(f"{series} series", *CHECK_COLUMNS)
    for check in checks:
        table.add_row(*map(str, check))
    show_table(table)


if __name__ == "__main__":
    main(app)
