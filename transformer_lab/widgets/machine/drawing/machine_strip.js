// The map of all matrices as a strip of thin bands: where the part that is open stands, or what of the map is in sight
// where that is wider than the page. A press opens the part there, or pulls the map to that place.
//   const strip = stripOf({ state, pan, press });  // `pan` holds the map and scrolls
//   strip.show(look)

import { layoutOf, nearest } from "./machine_layout.js";
import { paintMachine } from "./machine_overview.js";
import { stopsOf } from "./machine_route.js";
import { canvas, element } from "../../shared/ui.js";

const [TALL, LOW] = [28, 9]; // pixels of a band, on a phone and beside a part elsewhere

// The numbers of the places to begin, each over its box's upper right corner.
export function stepsIn({ bands, small }, { n_layers }) {
  const boxes = bands.flatMap((band) => band.boxes);
  return stopsOf(n_layers).map((key, i) => {
    const { box, x, width, parts } = boxes.find(({ parts }) => parts.some(({ part }) => part.key === key));
    const [step, up] = [element("b", {}, `${i + 1}`), small ? -3 : box.kind === "embedding" ? 30 : 16];
    Object.assign(step.style, { left: `${x + width - 16}px`, top: `${parts[0].y - up}px` });
    return step;
  });
}

export function stripOf({ state, machine, pan, press }) {
  const { node, at, resize } = canvas("every matrix, small", { keys: false });
  const port = element("i"); // what is in sight
  const steps = element("div", { class: "tl-beads" });
  const room = element("div", { class: "tl-strip", "aria-hidden": "true" }, node, port, steps);
  let [plan, width] = [null, 0];
  const follow = () => {
    const share = (x) => `${(100 * x) / (pan.scrollWidth || 1)}%`;
    Object.assign(port.style, { left: share(pan.scrollLeft), width: share(pan.clientWidth) });
    pan.classList.toggle("tl-end", pan.scrollLeft + pan.clientWidth > pan.scrollWidth - 8);
  };
  const show = (look) => {
    const { zoomed, open } = state.now;
    const { run, lit } = look;
    port.hidden = zoomed;
    room.hidden = !zoomed && !(pan.scrollWidth > pan.clientWidth + 1);
    follow();
    if (room.hidden) return;
    width = room.clientWidth - 6 || width;
    const rows = [run.src.length, run.target.length];
    plan = layoutOf({
      boxes: state.boxes,
      width,
      rows,
      lit,
      small: !zoomed || width < 330 ? TALL : LOW,
    });
    steps.replaceChildren(...(zoomed ? [] : stepsIn(plan, machine)));
    const { box } = state.partOf(open);
    const own = plan.items.filter((item) => item.box === box); // a mask has no picture
    const chosen = zoomed ? (own.find(({ part }) => part.key === open) ?? own[0]) : null;
    paintMachine(resize(plan.width, plan.height), plan, { ...look, chosen, cursor: null });
  };
  let pulled = false;
  const pull = (event) => {
    pulled = event.type === "pointermove" && (pulled || Boolean(event.buttons));
    if (!state.now.zoomed && event.buttons)
      pan.scrollLeft = (at(event)[0] / width) * pan.scrollWidth - pan.clientWidth / 2;
  };
  Object.assign(node, {
    onpointerdown: pull,
    onpointermove: pull,
    onclick: (event) => (state.now.zoomed || !(pulled || state.now.mode)) && press(nearest(plan, ...at(event))),
  });
  pan.onscroll = follow;
  return { room, node, show };
}
