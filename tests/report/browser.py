"""A page opened in Chromium, without network: what axe finds wrong with it, and how wide it turns out."""

import json
import os
import re
import shutil
import subprocess
from html import escape, unescape
from pathlib import Path

CHROMIUM = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    None,
)
AXE = os.environ.get("FOVNET_AXE")
"""The file axe.min.js of the npm package axe-core, which is no part of fovnet."""

ASK = """
<script>
window.addEventListener("load", function () {
  const say = found => {
    const told = document.createElement("pre");
    told.id = "told";
    told.textContent = "told:" + JSON.stringify(found) + ":told";
    parent.document.body.appendChild(told);
  };
  const root = document.documentElement, wide = {inner: window.innerWidth, scroll: root.scrollWidth};
  for (const one of document.querySelectorAll("details")) { one.open = true; }
  const told = one => ({id: one.id, count: one.nodes.length, nodes: one.nodes.slice(0, 3).map(node => node.html.slice(0, 160))});
  setTimeout(function () {
    wide.opened = root.scrollWidth;
    if (!window.axe) { say({wide: wide}); return; }
    axe.run().then(found => say({wide: wide, rules: found.passes.length, violations: found.violations.map(told)}));
  }, 50);
});
</script>
"""


def chromium(folder: Path, *arguments: str) -> str:
    """What Chromium prints."""
    command = [
        str(CHROMIUM),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--hide-scrollbars",
        f"--user-data-dir={folder / 'profile'}",
        *arguments,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=900).stdout


def driven(folder: Path, html: str, script: str) -> dict:
    """What `script`, the body of a function, returns in the page once it has loaded and its own scripts have
    run."""
    append = (
        "told.id = 'told'; told.textContent = 'told:' + JSON.stringify(found) + ':told'; "
        "document.body.appendChild(told);"
    )
    drive = f"const found = (function () {{ {script} }})(); const told = document.createElement('pre'); {append}"
    page = folder / "driven.html"
    wait = f"<script>window.addEventListener('load', () => setTimeout(function () {{ {drive} }}, 50));</script>"
    page.write_text(html.replace("</body>", f"{wait}</body>"), encoding="utf-8")
    dom = chromium(folder, "--virtual-time-budget=20000", "--dump-dom", page.as_uri())
    return json.loads(unescape(re.search('id="told">told:(.*?):told</pre>', dom, re.S).group(1)))


def framed(html: str, width: int) -> str:
    """The page in a frame of that width: a window of Chromium's is at least 500 pixels wide."""
    frame = (
        f'<iframe srcdoc="{escape(html)}" width="{width}" height="900" style="border:0"></iframe>'
    )
    return f'<meta charset="utf-8"><body style="margin:0">{frame}</body>'


DARK = "--blink-settings=preferredColorScheme=0"
"""As on a machine whose pages are dark."""


def asked(folder: Path, html: str, width: int, axe: str | None, *how: str) -> dict:
    """What the page says of itself at a width of `width` pixels: the width it takes, and the violations that
    axe finds in it.

    how  further options of Chromium, such as DARK
    """
    library = f'<script src="{Path(axe).resolve().as_uri()}"></script>' if axe else ""
    page = folder / "asked.html"
    page.write_text(
        framed(html.replace("</body>", f"{library}{ASK}</body>"), width), encoding="utf-8"
    )
    dom = chromium(
        folder,
        f"--window-size={width + 200},1000",
        "--virtual-time-budget=60000",
        "--dump-dom",
        page.as_uri(),
        *how,
    )
    return json.loads(unescape(re.search('id="told">told:(.*?):told</pre>', dom, re.S).group(1)))
