"""How fast the machine answers a letter that is typed into a text of 19 tokens, by the browser's Event Timing.

python tests/browser/machine_speed.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from lab import chromium
from playwright.sync_api import Page

import transformer_lab
from transformer_lab import widgets
from transformer_lab.training import load_checkpoint

LONG = "nine hundred and eighty-seven thousand, six hundred and fifty-four, t-w-o"  # 20 tokens
LISTEN = """() => {
    window.spans = [];
    const keys = all => all.getEntries().filter(({name}) => name === 'keydown');
    const note = all => spans.push(...keys(all).map(({duration}) => duration));
    new PerformanceObserver(note).observe({type: 'event', durationThreshold: 16});
}"""


def typed(page: Page, presses: int) -> list[float]:
    """Milliseconds from each key to the presentation of what it changes (those under 16 are left out)."""
    page.evaluate(LISTEN)
    field = page.get_by_label("text to translate")
    field.fill(LONG)
    field.press("End")
    for press in range(presses):
        page.keyboard.press("Backspace" if press % 2 else "o")
        page.wait_for_timeout(150)
    return sorted(page.evaluate("spans"))


def main() -> None:
    path = Path(transformer_lab.__file__).parent / "checkpoints" / "en_de.safetensors"
    model, tokenizer, _ = load_checkpoint(path)
    html = widgets.machine(model, tokenizer).html()
    with TemporaryDirectory() as folder, chromium() as browser:
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        (file := Path(folder) / "machine.html").write_text(f"<!doctype html><meta charset=utf-8>{html}", "utf-8")
        page.goto(file.as_uri())
        page.wait_for_function("document.querySelector('.tl-view')?.values")
        spans = typed(page, 100)
        tokens = page.locator(".tl-tokens").first.locator("span").count()
    median, high = spans[len(spans) // 2], spans[int(0.95 * len(spans))]
    print(f"{len(html.encode()):,} bytes; {tokens} tokens: median {median:.0f} ms, 95th percentile {high:.0f} ms")


if __name__ == "__main__":
    main()
