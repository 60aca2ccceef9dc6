// A poster's threads answer to the pointer as attention does: each is as thick as its share of a softmax over how near
// it is. Nothing is told by that, for a poster only asks.

const [REACH, POINTS] = [14, 24]; // in the units of the picture; and points along each thread
const THREADS = "path:not(.tick, .full, .thick), rect:not(.slab, .bar), circle:not(.lens, .full)";

function alongOf(thread) {
  const length = thread.getTotalLength();
  return Array.from({ length: POINTS }, (_, i) => thread.getPointAtLength((length * i) / (POINTS - 1)));
}

export function sharesOf(far) {
  const least = Math.min(...far);
  const powers = far.map((one) => Math.exp((least - one) / REACH));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

for (const picture of document.querySelectorAll(".poster-picture")) {
  const svg = picture.querySelector("svg");
  const threads = [...svg.querySelectorAll(THREADS)];
  let along = null; // where each of them runs, once it is asked for
  picture.addEventListener("pointermove", ({ pointerType, clientX, clientY }) => {
    if (pointerType === "touch") return;
    along ??= threads.map(alongOf);
    const at = new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
    const far = along.map((points) => Math.min(...points.map(({ x, y }) => Math.hypot(x - at.x, y - at.y))));
    sharesOf(far).forEach((share, i) => threads[i].style.setProperty("--near", share.toFixed(3)));
    svg.classList.add("answers");
  });
  picture.addEventListener("pointerleave", () => svg.classList.remove("answers"));
}
