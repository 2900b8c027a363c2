"""Chromium, without a window, driven by Selenium.

    with Browser() as browser:
        browser.open("page.html")
        browser.evaluate("document.title")
        browser.click("#fit")
        browser.type("relu")
        pixels = browser.screenshot()

Everything that the browser and its driver write is in one folder, which close() removes.
"""

import io
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

try:
    from PIL import Image
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.actions.action_builder import ActionBuilder
    from selenium.webdriver.common.keys import Keys
except ImportError:
    # Debian's packages are for Debian's Python.
    debian = "/usr/bin/python3"
    if os.path.exists(debian) and not os.path.samefile(sys.executable, debian) and "SCONCE_DEBIAN_PYTHON" not in os.environ:
        os.environ["SCONCE_DEBIAN_PYTHON"] = "1"
        os.execv(debian, [debian, "-B", *sys.argv])
    webdriver = None

PROGRAMS = ["chromium", "google-chrome"]


def find() -> str | None:
    """The browser's program; None when it, its driver or Selenium is missing."""
    if not webdriver or not shutil.which("chromedriver"):
        return None
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Browser:
    """A page of one size."""

    def __init__(self, width: int = 1400, height: int = 900, dark: bool = False, program: str | None = None):
        self.folder = tempfile.mkdtemp(prefix="sconce-browser-")
        options = webdriver.ChromeOptions()
        options.binary_location = program or find()
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                         f"--user-data-dir={self.folder}/profile", "about:blank"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        # The browser's wrappers and the driver write to HOME and TMPDIR.
        places = dict(os.environ, TMPDIR=self.folder, HOME=self.folder, XDG_CONFIG_HOME=self.folder, XDG_CACHE_HOME=self.folder)
        try:
            self.driver = webdriver.Chrome(
                options=options, service=Service(shutil.which("chromedriver"), log_path=os.devnull, env=places))
        except Exception:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self.driver.set_script_timeout(60)
        self.driver.get("about:blank")
        self.problems(), self.requests()  # those of the browser's own first page
        self.show(width, height, dark)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        if self.driver:
            self.driver.quit()
            self.driver = None
            shutil.rmtree(self.folder)

    def command(self, method: str, **params) -> dict:
        return self.driver.execute_cdp_cmd(method, params)

    def show(self, width: int = 1400, height: int = 900, dark: bool = False) -> None:
        """The size of the page from now on, and which colours it is asked for."""
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.command("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, path: str) -> None:
        self.driver.get(pathlib.Path(path).resolve().as_uri())

    def problems(self) -> list[str]:
        """Warnings, errors and uncaught exceptions on the page's console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("WARNING", "SEVERE")]

    def requests(self) -> list[str]:
        """What the page asked for since the last call."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]

    def evaluate(self, expression: str):
        return self.driver.execute_script(f"return ({expression});")

    def wait_for(self, condition: str, seconds: float = 30) -> None:
        end = time.time() + seconds
        while not self.evaluate(condition):
            if time.time() > end:
                raise TimeoutError(f"never true: {condition}")
            time.sleep(0.02)

    def centre(self, selector: str) -> tuple[int, int]:
        x, y = self.evaluate(f"(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                             " return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        return round(x), round(y)

    def click(self, selector: str, count: int = 1) -> None:
        x, y = self.centre(selector)
        actions = ActionBuilder(self.driver, duration=0)
        actions.pointer_action.move_to_location(x, y)
        for _ in range(count):
            actions.pointer_action.click()
        actions.perform()

    def drag(self, x: int, y: int, dx: int, dy: int) -> None:
        actions = ActionBuilder(self.driver, duration=0)
        pointer = actions.pointer_action
        pointer.move_to_location(x, y).pointer_down()
        pointer.move_to_location(x + dx // 2, y + dy // 2).move_to_location(x + dx, y + dy).pointer_up()
        actions.perform()

    def wheel(self, x: int, y: int, dy: int) -> None:
        actions = ActionBuilder(self.driver)
        actions.wheel_action.scroll(x=x, y=y, delta_y=dy)
        actions.perform()

    def type(self, text: str) -> None:
        ActionChains(self.driver, duration=0).send_keys(text).perform()

    def key(self, key: str) -> None:
        names = {"Enter": Keys.ENTER, "Escape": Keys.ESCAPE, "ArrowDown": Keys.ARROW_DOWN, "ArrowUp": Keys.ARROW_UP}
        self.type(names.get(key, key))

    def screenshot(self, path: str | None = None) -> "Image.Image":
        data = self.driver.get_screenshot_as_png()
        if path:
            pathlib.Path(path).write_bytes(data)
        return Image.open(io.BytesIO(data)).convert("RGB")
