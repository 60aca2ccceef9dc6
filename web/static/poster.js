// The threads of a poster and of a card answer to the pointer as attention does: each is as thick as its share of a
// softmax over how near it is. Nothing is told by that, for a poster only asks. Before anybody points at a poster, its
// threads are read once, from left to right.

const [REACH, POINTS] = [14, 24]; // in the units of the picture; and points along each thread
const [ACROSS, MIDDLE] = [520, 110]; // the size of a poster's picture
const [REST, LASTS] = [1100, 2600]; // milliseconds: until it is read once by itself, and how long that takes
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

for (const picture of document.querySelectorAll(".poster-picture, .cards a")) {
  const svg = picture.querySelector("svg");
  const threads = [...svg.querySelectorAll(THREADS)];
  let along = null; // where each of them runs, once it is asked for
  let untouched = picture.matches(".poster-picture") && !matchMedia("(prefers-reduced-motion: reduce)").matches;
  const look = (at) => {
    along ??= threads.map(alongOf);
    const far = along.map((points) => Math.min(...points.map(({ x, y }) => Math.hypot(x - at.x, y - at.y))));
    sharesOf(far).forEach((share, i) => threads[i].style.setProperty("--near", share.toFixed(3)));
    svg.classList.add("answers");
  };
  const leave = () => svg.classList.remove("answers");
  picture.addEventListener("pointermove", ({ clientX, clientY }) => {
    untouched = false;
    look(new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse()));
  });
  for (const end of ["pointerleave", "pointercancel"]) picture.addEventListener(end, leave);
  const read = (start) => (now) => {
    if (!untouched) return;
    const share = (now - start) / LASTS;
    if (share >= 1) return leave();
    look({ x: ACROSS * share, y: MIDDLE + 0.5 * MIDDLE * Math.sin(2 * Math.PI * share) });
    requestAnimationFrame(read(start));
  };
  if (untouched) setTimeout(() => requestAnimationFrame((now) => read(now)(now)), REST);
}
