"""Draw the pictures that others see when a page is shared, and the icon of a phone's home screen, with Chromium.

    python web/share.py        writes static/share.png, static/icon-180.png and two postcards of each lesson into
                               static/postcards, one with its answer; CHROMIUM names the browser

The ribbons are as thick as the shipped translator's attention: its last layer, the mean of the heads.
"""

import io
import os
import shutil
import sys
from pathlib import Path

import nbformat
import torch
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]  # the package of this checkout

from course import lessons_of  # noqa: E402
from postcards import DIGEST, FOLDER, digest, postcard, style  # noqa: E402

from transformer_lab import analysis  # noqa: E402
from transformer_lab.decoding import single  # noqa: E402
from transformer_lab.training import load_checkpoint  # noqa: E402

STATIC = Path(__file__).with_name("static")
FONTS = ROOT / "transformer_lab" / "widgets" / "static" / "fonts"
COLOURS = 96  # of paper, ink and a few threads, and all between
SENTENCE = "thirty-four thousand and twenty-one"
LEFT, RIGHT, TOP, BOTTOM, THICK = 700, 960, 110, 520, 34
INK, PAPER, SOFT, AMBER, EDGE = "#16202b", "#fbfaf6", "#55606c", "#e0a02e", "#bf7c00"


def translated(sentence: str) -> tuple[list[str], list[str], torch.Tensor]:
    """The tokens read and written, and (T, S), how much each of those written looks at each of those read."""
    model, tokenizer, _ = load_checkpoint("en_de")
    src = torch.tensor([[*tokenizer.encode(sentence), tokenizer.eos_id]])
    ids = single.greedy_decode(
        lambda ids: model(src, torch.tensor([ids]))[0, -1], tokenizer.bos_id, tokenizer.eos_id, max_length=24
    )
    tgt = torch.tensor([ids])
    names = [analysis.token_names(tokenizer, ids[0].tolist()) for ids in (src, tgt)]
    weights = analysis.cross_attention(model, src, tgt[:, :-1])[-1].mean(0)
    return [clean(name) for name in names[0]], [clean(name) for name in names[1][1:]], weights.detach()


def clean(name: str) -> str:
    return name.replace("·", "")


def rows(count: int) -> list[float]:
    return [TOP + (BOTTOM - TOP) * i / (count - 1) for i in range(count)]


def ribbons(weights: torch.Tensor) -> str:
    """A ribbon for each pair of tokens, stacked at both ends: those that arrive at a target are THICK in all."""
    sources, targets = rows(weights.size(1)), rows(weights.size(0))
    room = weights.sum(0)
    begun, drawn = [0.0] * len(sources), []
    for t, row in enumerate(weights.tolist()):
        at = targets[t] - THICK / 2
        for s, share in enumerate(row):
            thick = share * THICK
            from_ = sources[s] - room[s].item() * THICK / 2 + begun[s]
            middle = (LEFT + RIGHT) / 2
            path = f"M{LEFT} {from_:.1f}C{middle} {from_:.1f} {middle} {at:.1f} {RIGHT} {at:.1f}v{thick:.1f}"
            path += f"C{middle} {at + thick:.1f} {middle} {from_ + thick:.1f} {LEFT} {from_ + thick:.1f}z"
            edge = f' stroke="{EDGE}" stroke-width=".7"' if share > 0.02 else ""
            drawn.append(f'<path d="{path}" fill="{AMBER}" fill-opacity=".8"{edge}/>')
            at, begun[s] = at + thick, begun[s] + thick
    return "".join(drawn)


def picture() -> str:
    read, written, weights = translated(SENTENCE)
    words = [(LEFT - 14, y, word, "end") for y, word in zip(rows(len(read)), read, strict=True)]
    words += [(RIGHT + 14, y, word, "start") for y, word in zip(rows(len(written)), written, strict=True)]
    texts = "".join(
        f'<text x="{x}" y="{y + 9}" text-anchor="{end}" font-size="27">{w}</text>' for x, y, w, end in words
    )
    font = (FONTS / "source-serif-4-opsz-normal.woff2").as_uri()
    return (
        f'<style>@font-face{{font-family:S;src:url("{font}");font-weight:200 900}}*{{margin:0}}</style>'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="630" font-family="S" fill="{INK}">'
        f'<rect width="1200" height="630" fill="{PAPER}"/>{ribbons(weights)}{texts}'
        '<g font-size="66" font-weight="500">'
        '<text x="70" y="235">Build a</text><text x="70" y="307">Transformer.</text>'
        '<text x="70" y="379">Then cut</text><text x="70" y="451">its threads.</text></g>'
        f'<text x="72" y="120" font-size="30" font-weight="600" fill="{SOFT}">Transformer Lab</text></svg>'
    )


def letters() -> str:
    """The fonts of the pages, which stand elsewhere before a site is built."""
    names = {
        "Source Serif 4 Variable": ("source-serif-4-opsz-normal", "source-serif-4-wght-italic"),
        "Inter Variable": ("inter-wght-normal",),
        "JetBrains Mono Variable": ("jetbrains-mono-wght-normal",),
    }
    return "".join(
        f'@font-face{{font-family:"{family}";src:url("{(FONTS / f"{name}.woff2").as_uri()}");font-weight:100 900;'
        f"font-style:{'italic' if 'italic' in name else 'normal'}}}"
        for family, files in names.items()
        for name in files
    )


def draw(browser: Browser, html: str, path: Path, size: tuple[int, int], note: str = "") -> None:
    """Draw HTML into a picture of few colours, with a note on what it was drawn from."""
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    scratch = path.with_suffix(".html")  # a file, so that it may name the fonts
    scratch.write_text(f"<!doctype html><style>*{{margin:0}}</style>{html}", "utf-8")
    page.goto(scratch.as_uri())
    page.evaluate("document.fonts.ready")
    shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    info = PngInfo()
    if note:
        info.add_text(DIGEST, note)
    shot.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True, pnginfo=info)
    scratch.unlink()
    page.close()


def main() -> None:
    (FOLDER / "answered").mkdir(exist_ok=True, parents=True)
    stored = {path.stem: nbformat.read(path, as_version=4) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))}
    with sync_playwright() as playwright:
        path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        icon = (STATIC / "icon.svg").read_text("utf-8").replace("<svg ", '<svg width="180" height="180" ', 1)
        draw(browser, picture(), STATIC / "share.png", (1200, 630))
        draw(browser, icon.replace('rx="7"', ""), STATIC / "icon-180.png", (180, 180))
        for lesson in lessons_of(stored, ROOT):
            for answered, folder in ((False, FOLDER), (True, FOLDER / "answered")):
                html = f"<style>{style()}{letters()}</style>{postcard(lesson, answered)}"
                draw(browser, html, folder / f"{lesson['number']}.png", (1200, 630), digest(lesson, answered))
        browser.close()


if __name__ == "__main__":
    main()
