"""A headless Chromium for the tests of pages: what every page must fulfil, and how a person presses a button."""
import contextlib
import importlib.resources
import os
import shutil

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

SIZES = {"a desktop": (1280, 900), "a tablet": (768, 1024), "a phone": (390, 844), "a narrow phone": (320, 640)}
DESKTOP = SIZES["a desktop"]
WAIT = 20
# Milliseconds on loopback.
PAINT = 200

# The ratio of WCAG 2.2 §1.4.3 for every text that is seen, and what is lower.
CONTRAST = r"""
const rgb = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
  .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
function ground(element) {
  for (let at = element; at; at = at.parentElement) {
    const colour = rgb(getComputedStyle(at).backgroundColor);
    if (colour.length === 3 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
}
const low = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
  const [a, b] = [light(rgb(getComputedStyle(element).color)), light(ground(element))].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) low.push(`${element.tagName} ${walker.currentNode.data.trim().slice(0, 20)} ${ratio.toFixed(1)}`);
}
return low;
"""

# Controls without a name, and targets that a finger misses (WCAG 2.2 §2.5.8). Links in a sentence need no size.
CONTROLS = r"""
const wrong = [];
for (const control of document.querySelectorAll("button, input, summary, nav a")) {
  if (!control.checkVisibility()) continue;
  const name = control.getAttribute("aria-label") || control.textContent.trim() || control.labels?.[0]?.textContent;
  if (!name) wrong.push(`${control.tagName} without a name`);
  const box = control.getBoundingClientRect();
  if (box.height < 24 || box.width < 24) wrong.push(`${name}: ${box.width}x${box.height}`);
}
if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
if (!document.documentElement.lang) wrong.push("no language");
return wrong;
"""


# Rows whose cells do not stand below the heads of their columns, whatever the row is about.
COLUMNS = r"""
const wrong = [];
for (const table of document.querySelectorAll("table")) {
  if (!table.tHead || !table.checkVisibility()) continue;
  const heads = [...table.tHead.rows[0].cells].map((cell) => cell.getBoundingClientRect());
  for (const row of [...table.tBodies].flatMap((body) => [...body.rows])) {
    if (!row.checkVisibility() || row.cells.length !== heads.length) continue;
    const off = [...row.cells].some((cell, index) => {
      const box = cell.getBoundingClientRect();
      return Math.abs(box.left - heads[index].left) > 1 || Math.abs(box.right - heads[index].right) > 1;
    });
    if (off) wrong.push(row.innerText.replace(/\s+/g, " ").slice(0, 60));
  }
}
return wrong.slice(0, 3);
"""

# The rules of axe-core that a page breaks, each with the first elements that do.
AXE = r"""
const done = arguments[arguments.length - 1];
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"];
axe.run(document, { runOnly: tags, resultTypes: ["violations"] })
  .then(({ violations }) => done(violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ target }) => target.join(" "))}`)))
  .catch((error) => done([String(error)]));
"""


def check(what, wrong):
    print(f"{what}: {wrong}" if wrong else f"ok {what}", flush=True)


def figure(what, value):
    print(f"# {what}: {value}", flush=True)


@contextlib.contextmanager
def browser(size, dark=False):
    options = webdriver.ChromeOptions()
    for flag in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-proxy-server"]:
        options.add_argument(flag)
    options.binary_location = shutil.which("chromium") or ""
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        width, height = size
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
        scheme = "dark" if dark else "light"
        driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        yield driver
    finally:
        driver.quit()


def complaints(driver):
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def faults(driver):
    """What the console complains of, but for refusals that were asked for."""
    return [line for line in complaints(driver) if "the server responded with a status of" not in line]


def screenshot(driver, name):
    folder = os.environ.get("SCREENSHOTS")
    if not folder:
        return
    os.makedirs(folder, exist_ok=True)
    size = driver.execute_script("return [innerWidth, document.documentElement.scrollHeight, innerHeight]")
    metrics = {"width": size[0], "height": min(size[1], 4000), "deviceScaleFactor": 1, "mobile": size[0] < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    driver.save_screenshot(os.path.join(folder, f"{name}.png"))
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**metrics, "height": size[2]})


def usable(driver, kind, width):
    """Nothing overflows, everything can be read, and a finger meets every control."""
    # Not innerWidth: a phone zooms out until everything fits.
    wide = driver.execute_script("return document.documentElement.scrollWidth") - width
    check(f"{kind}: fits", f"{wide} pixels too wide" if wide > 0 else "")
    check(f"{kind}: can be read", driver.execute_script(CONTRAST))
    check(f"{kind}: can be used", driver.execute_script(CONTROLS))
    check(f"{kind}: each row stands below the heads of its table", driver.execute_script(COLUMNS))
    # WebDriver runs a script whatever the page's policy says, so the page loads nothing more.
    driver.execute_script(importlib.resources.files("axe_core_python").joinpath("axe.min.js").read_text())
    check(f"{kind}: axe finds nothing", driver.execute_async_script(AXE))


def looks(base, path, name):
    """A page at every size and in both schemes: nothing overflows, everything can be read, nothing is complained of."""
    for device, size in SIZES.items():
        for dark in (False, True):
            kind = f"{name} on {device}, {'dark' if dark else 'light'}"
            with browser(size, dark) as driver:
                driver.get(base + path)
                WebDriverWait(driver, WAIT).until(
                    lambda d: d.execute_script("return document.readyState") == "complete")
                unfold(driver)
                usable(driver, kind, size[0])
                driver.execute_script("for (const part of document.querySelectorAll('details')) part.open = false")
                screenshot(driver, kind.replace(": ", "-").replace(", ", "-").replace(" ", "-"))
                check(f"{kind}: the browser has no complaint", complaints(driver))


# When the page first painted, and the bytes of the page and its parts, without what its script asks for.
PAINTED = r"""
const [page] = performance.getEntriesByType("navigation");
const parts = performance.getEntriesByType("resource").filter(({ initiatorType }) => ["link", "script", "css"].includes(initiatorType));
const paint = performance.getEntriesByName("first-contentful-paint")[0];
return [paint?.startTime, [page, ...parts].reduce((sum, entry) => sum + entry.decodedBodySize, 0)];
"""


def paints(base, path, name, most):
    """A page is small, and paints soon. The best of five loads counts, or of twenty on a busy machine."""
    times, size = [], 0
    with browser(DESKTOP) as driver:
        driver.execute_cdp_cmd("Network.enable", {})
        driver.execute_cdp_cmd("Network.setCacheDisabled", {"cacheDisabled": True})
        while len(times) < 5 or min(times) > PAINT and len(times) < 20:
            driver.get(base + path)
            WebDriverWait(driver, WAIT).until(lambda d: d.execute_script(PAINTED)[0])
            time, size = driver.execute_script(PAINTED)
            times.append(time)
    figure(f"{name}", f"{size / 1000:.1f} KB, first paint after {min(times):.0f} ms (median {sorted(times)[len(times) // 2]:.0f} ms)")
    check(f"{name} has at most {most} KB", "" if 0 < size <= most * 1000 else f"{size} bytes")
    check(f"{name} paints within {PAINT} ms", "" if min(times) <= PAINT else f"{min(times):.0f} ms")


def unfold(driver):
    """Opens everything that is folded, so that it can be read and pressed."""
    driver.execute_script("for (const part of document.querySelectorAll('details')) part.open = true")


def text(driver, element):
    return driver.find_element(By.ID, element).text


def use(driver, button, place, expected):
    """Presses a button and waits for its words."""
    control = driver.find_element(By.XPATH, f'//button[normalize-space()="{button}"]') if isinstance(button, str) else button
    # Read before the click, which may replace the button.
    what = f"{' '.join(control.text.split())} says {expected}"
    # As a person does where something that stays in view covers it.
    driver.execute_script("arguments[0].scrollIntoView({ block: 'center', behavior: 'instant' })", control)
    control.click()
    try:
        WebDriverWait(driver, WAIT).until(lambda d: expected in text(d, place))
        check(what, "")
    except Exception:  # What is there instead says more than what timed out.
        check(what, text(driver, place) or "nothing")


def waits_for(driver, what, condition):
    try:
        WebDriverWait(driver, WAIT).until(condition)
        check(what, "")
    except Exception:
        check(what, "not within the time")


def asks_for_token(driver):
    """Waits until the page has asked the server, and then for a token; returns its field."""
    field = driver.find_element(By.ID, "token")
    WebDriverWait(driver, WAIT).until(lambda d: field.is_displayed())
    return field


def attempt(what, work, *arguments):
    """A failure that no check foresaw is one, too."""
    try:
        work(*arguments)
    except Exception as error:
        check(what, str(error).splitlines()[0] or type(error).__name__)
