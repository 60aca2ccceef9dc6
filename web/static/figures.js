// A figure as a picture to keep or to post, as the page shows it: by day or by night, its panels beside or below each
// other, with its caption above it.

import { sayDone } from "./elements.js";
import { framed, saved, whereFrom } from "./frame.js";

export async function pictureOf(figure) {
  const images = [...figure.querySelectorAll("img")].filter((one) => one.checkVisibility());
  const drawn = figure.querySelector(".drawn, img");
  images.forEach((one) => (one.loading = "eager"));
  await Promise.all(images.map((one) => one.decode()));
  const { left, top, width, height } = drawn.getBoundingClientRect();
  const places = images.map((one) => one.getBoundingClientRect());
  const draw = (context, x, y) =>
    images.forEach((one, i) => {
      const box = places[i];
      context.drawImage(one, x + box.left - left, y + box.top - top, box.width, box.height);
    });
  const title = figure.querySelector("figcaption").textContent;
  return framed({ draw, width, height }, { title, from: whereFrom() });
}

for (const button of document.querySelectorAll(".plate [data-keep]")) {
  button.classList.add("ready");
  button.onclick = async () => {
    const [lesson] = location.pathname.split("/").at(-1).split(".");
    const name = `${lesson}-${button.dataset.keep}`.replaceAll("_", "-");
    await saved(await pictureOf(button.closest(".plate")), `${name}.png`);
    sayDone(button, "Saved", "Save as picture");
  };
}
