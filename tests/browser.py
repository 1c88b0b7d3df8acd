# ruff: noqa: S310 - addresses are of this machine
"""A headless Chromium for tests of pages, driven through chromedriver's own protocol (W3C WebDriver)."""

import base64
import json
import re
import shutil
import subprocess
import time
import zlib
from contextlib import contextmanager
from threading import Thread
from urllib.request import Request, urlopen

MISSING = "needs Chromium and chromedriver (Debian's packages chromium and chromium-driver)"
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--disable-dev-shm-usage",
)
ARROW_LEFT, HOME, TAB, ENTER = "\ue012", "\ue011", "\ue004", "\ue007"


def installed():
    return shutil.which("chromium") is not None and shutil.which("chromedriver") is not None


PAPER_WIDTH = 739
"""Of Letter between Chromium's margins, in pixels of CSS."""


def contents(pdf):
    """The content of every page of a PDF of Chromium's."""
    found = re.finditer(rb"(?:^|\n)(\d+) 0 obj\n(.*?)endobj", pdf, re.DOTALL)
    objects = {int(one[1]): one[2] for one in found}
    for one in objects.values():
        if re.search(rb"/Type /Page\b(?!s)", one):
            content = objects[int(re.search(rb"/Contents (\d+) 0 R", one)[1])]
            start = content.index(b"stream\n") + len(b"stream\n")
            yield zlib.decompressobj().decompress(content[start:])


class Browser:
    """One tab."""

    def __init__(self, address, session=""):
        self.base = f"{address}/session/{session}" if session else address

    def call(self, method, path, body=None):
        data = None if method == "GET" else json.dumps(body or {}).encode()
        request = Request(
            f"{self.base}{path}", data, {"Content-Type": "application/json"}, method=method
        )
        with urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def cdp(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def resize(self, width, height=900):
        """Give the window another size, in pixels of CSS."""
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )

    def open(self, path, *, width=1280, height=900, dark=False, ready=True):
        self.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.cdp("Emulation.setEmulatedMedia", features=[scheme])
        self.call("POST", "/url", {"url": path.resolve().as_uri()})
        if ready:
            self.wait("return document.documentElement.dataset.ready === 'yes'")

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, script, seconds=60):
        end = time.monotonic() + seconds
        while not self.run(script):
            assert time.monotonic() < end, f"in {seconds} seconds this did not come true: {script}"
            time.sleep(0.05)

    def press(self, *keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "k", "actions": actions}]})

    def complaints(self):
        """What the page has logged as an error or a warning."""
        return self.call("POST", "/se/log", {"type": "browser"})

    def screenshot(self, *, full=False):
        if not full:
            return base64.b64decode(self.call("GET", "/screenshot"))
        size = self.cdp("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.cdp("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def paper(self, width=PAPER_WIDTH):
        """Lay the page out as it is printed on paper with so many pixels between its margins."""
        self.cdp("Emulation.setEmulatedMedia", media="print")
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )

    def printed(self, **options):
        """The pages of a print, each as the text operators of its content, a glyph each."""
        data = self.cdp("Page.printToPDF", printBackground=True, **options)["data"]
        return [re.findall(rb"<[0-9A-F]+> Tj", page) for page in contents(base64.b64decode(data))]


@contextmanager
def browser(profile):
    """A browser with a new profile in the folder `profile`; both programs end with the block."""
    command = [shutil.which("chromedriver"), "--port=0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
        try:
            for line in driver.stdout:
                found = re.search(r"started successfully on port (\d+)", line)
                if found:
                    break
            address = f"http://127.0.0.1:{found[1]}"
            Thread(target=driver.stdout.read, daemon=True).start()  # a full pipe would stop it
            options = {
                "binary": shutil.which("chromium"),
                "args": [*FLAGS, f"--user-data-dir={profile}"],
            }
            wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            made = Browser(address).call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            tab = Browser(address, made["sessionId"])
            try:
                yield tab
            finally:
                tab.call("DELETE", "")
        finally:
            driver.terminate()
            try:
                driver.wait(20)
            except subprocess.TimeoutExpired:
                driver.kill()
