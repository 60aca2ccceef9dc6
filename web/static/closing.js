// The end of a lesson: what was predicted above its views is kept, and what was done there can be sent as a picture.

import { sayDone } from "./elements.js";
import { saved } from "./frame.js";
import { recordPrediction } from "./progress.js";

const [ACROSS, DOWN, STRIP, EDGE, ROUND, APART] = [1200, 630, 110, 64, 19, 52]; // of the picture, in pixels

function keepPredictions() {
  new MutationObserver((all) => {
    for (const { target } of all) {
      const place = target.closest(".cell_output")?.querySelector("[data-place=view]");
      const how = target.dataset.chosen;
      if (place && (how === "right" || how === "wrong")) recordPrediction(place.id, how);
    }
  }).observe(document.querySelector("article"), { subtree: true, attributeFilter: ["data-chosen"] });
}

// A seal for each exercise on a thread; those that are solved are filled.
function seals(context, links, { ink, paper, thread }) {
  const y = DOWN + STRIP / 2;
  const xs = links.map((_, i) => EDGE + ROUND + i * APART);
  Object.assign(context, { lineWidth: 2, strokeStyle: thread });
  if (xs.length) context.stroke(new Path2D(`M${xs[0]} ${y}H${xs.at(-1)}`));
  links.forEach((link, i) => {
    const isSolved = link.classList.contains("solved");
    const circle = new Path2D();
    circle.arc(xs[i], y, ROUND, 0, 2 * Math.PI);
    Object.assign(context, { fillStyle: isSolved ? ink : paper, strokeStyle: ink });
    context.fill(circle);
    context.stroke(circle);
    Object.assign(context, { fillStyle: isSolved ? paper : ink, textAlign: "center" });
    context.fillText(isSolved ? "✓" : link.textContent, xs[i], y + 7);
  });
  return xs.length ? xs.at(-1) + ROUND + 24 : EDGE;
}

// The postcard of the lesson, which is paper at night as well, and below it what was done.
export async function pictureOf(closing) {
  const image = Object.assign(new Image(), { src: closing.dataset.picture });
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: ACROSS, height: DOWN + STRIP });
  const context = canvas.getContext("2d");
  const [ink, paper, thread] = ["#16202b", "#fbfaf6", "#6b7885"];
  Object.assign(context, { fillStyle: paper }).fillRect(0, 0, ACROSS, DOWN + STRIP);
  context.drawImage(image, 0, 0, ACROSS, DOWN);
  Object.assign(context, { fillStyle: "#e3dfd5" }).fillRect(EDGE, DOWN, ACROSS - 2 * EDGE, 2);
  const letters = getComputedStyle(closing).getPropertyValue("--labels");
  context.font = `500 20px ${letters}`;
  const x = seals(context, [...closing.querySelectorAll(".knots a")], { ink, paper, thread });
  const said = closing.querySelector("[data-done]").textContent;
  Object.assign(context, { font: `500 24px ${letters}`, fillStyle: ink, textAlign: "left" });
  context.fillText(said, x, DOWN + STRIP / 2 + 8);
  return canvas;
}

const closing = document.querySelector(".closing");
if (closing) {
  keepPredictions();
  const button = closing.querySelector("[data-keep]");
  button.classList.add("ready");
  button.onclick = async () => {
    await saved(await pictureOf(closing), `${closing.dataset.knot.replaceAll("_", "-")}.png`);
    sayDone(button, "Saved", "Save as picture");
  };
}
