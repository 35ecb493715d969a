"""Draw the pictures of the dashboard from its demo: `python docs/generate_dashboard_pictures.py`. It needs Chromium."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

IMAGES = Path(__file__).parent / "images"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PICTURES = (("light", 1280, 900), ("dark", 1280, 1700), ("phone", 390, 844))


def draw(browser: Browser, address: str, token: str, name: str, width: int, height: int) -> None:
    scheme = "dark" if name == "dark" else "light"
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.set_default_timeout(180_000)  # also on a busy machine
    page.goto(address)
    page.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")
    page.locator("a.plan").first.click()
    for part in (".rows .row", ".hitters li", ".changing svg", ".band"):  # all that the pictures show
        page.locator(part).first.wait_for()
    page.wait_for_timeout(1_500)  # until bars have moved to their places
    if name == "phone":
        page.locator(".ranking").evaluate("list => list.scrollIntoView({ block: 'center' })")
    page.screenshot(path=IMAGES / f"dashboard-{name}.png")
    page.close()


def main() -> None:
    token = secrets.token_hex(32)
    command = [sys.executable, "-m", "localdp", "serve", "--demo", "--port", "0"]
    environment = {**os.environ, "LOCALDP_ADMIN_TOKEN": token}
    server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)  # noqa: S603 (our own command)
    try:
        assert server.stdout is not None  # noqa: S101 (for the type checker)
        address = next(line.split()[-1] for line in server.stdout if line.startswith("listening at "))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
            for picture in PICTURES:
                draw(browser, address, token, *picture)
            browser.close()
    finally:
        server.terminate()
        server.wait(30)


if __name__ == "__main__":
    main()
