// A word that is dragged onto another's thread: what it is there, at the slab where it is let go, takes the place of
// what the other word is there.
//   draggable(node, { plan: () => plan, above, lift, drop: ({ from, to, part }) => … })

import { element } from "../../shared/ui.js";

const [LEAST, REACH] = [8, 60]; // pixels that a press may move; how far behind the last slab a word may be let go
const [HOLD, OVER] = [300, 48]; // milliseconds until a finger holds a word; pixels over the finger, which hides it

// What lies at a point of a weave: the row of a word, and the part whose numbers are put in; null beside them.
export function targetAt({ columns: { name, encoder, from }, left, pitch }, x, y) {
  const row = left.findIndex((middle) => Math.abs(middle - y) <= pitch / 2);
  if (row < 0 || x < 0 || x > from + REACH) return null;
  const slab = encoder.findLastIndex((one) => x >= one.x); // before the first, on the word too, it is the encoding
  const part = slab < 0 ? "src_embedding.positions" : `encoder.layers.${slab}.residual_2.norm`;
  const at = slab < 0 ? name + 22 : encoder[slab].x + encoder[slab].wide / 2;
  return { row, part, x: at, y: left[row] };
}

// A finger that goes up or down scrolls the page: it drags a word that it has held for a moment, or pulls sideways.
// `lift()` is told that a drag begins; `dragged()` tells whether the press that ends was one, `dropped()` whether a
// word was put in by it.
export function draggable(node, { plan, above, lift = () => {}, drop, hold = HOLD }) {
  const ghost = element("div", { class: "tl-ghost", "aria-hidden": "true" });
  let held = null;
  const spot = ({ clientX, clientY }) => {
    const { left, top } = node.getBoundingClientRect();
    return [clientX - left, clientY - top];
  };
  const begin = () => {
    held.moved = true;
    node.setPointerCapture(held.id);
    node.append(ghost);
    lift();
    follow(held.start);
  };
  const follow = ([x, y]) => {
    held.to = targetAt(plan(), x, y - above());
    const lands = held.to && held.to.row !== held.row ? held.to : null;
    mark(lands?.row);
    const other = held.finger && lands ? ` ${held.words[lands.row] ?? ""}` : ""; // the finger hides the word
    ghost.textContent = lands ? `${held.text} →${other}` : held.text;
    ghost.classList.toggle("tl-lands", Boolean(lands));
    const [left, top] = held.finger ? [Math.max(x, 48), y - OVER] : lands ? [lands.x - 8, lands.y + above()] : [x, y];
    ghost.style.cssText = `left:${left}px;top:${top}px`;
  };
  const rows = () => [...(node.querySelectorAll("[data-part=reads][data-s]") ?? [])];
  const mark = (row) => rows().forEach((one, s) => one.classList.toggle("w-target", s === row));
  const release = () => {
    clearTimeout(held.timer);
    if (!held.moved) return;
    ghost.remove();
    mark(null);
  };
  node.onpointerdown = (event) => {
    const word = event.target.closest?.("[data-part=reads][data-s]");
    if (held) release();
    held = null;
    if (!word || event.button) return;
    held = {
      row: Number(word.dataset.s),
      text: word.textContent,
      start: spot(event),
      id: event.pointerId,
      moved: false,
    };
    held.finger = event.pointerType === "touch";
    held.words = rows().map(({ textContent }) => textContent);
    if (held.finger) held.timer = setTimeout(begin, hold);
  };
  node.onpointermove = (event) => {
    if (!held) return;
    const [x, y] = spot(event);
    const [aside, along] = [Math.abs(x - held.start[0]), Math.abs(y - held.start[1])];
    if (!held.moved && Math.hypot(aside, along) < LEAST) return;
    if (!held.moved && held.finger) {
      clearTimeout(held.timer);
      if (aside <= along) return void (held = null); // the page scrolls
    }
    if (!held.moved) begin();
    follow([x, y]);
  };
  const end = ({ type }) => {
    if (!held) return;
    release();
    const { moved, to, row } = held;
    if (type === "pointercancel") held = null;
    if (!moved || !held) return;
    held.put = Boolean(to && to.row !== row);
    if (held.put) drop({ from: row, to: to.row, part: to.part });
  };
  Object.assign(node, { onpointerup: end, onpointercancel: end });
  const stays = (event) => held?.moved && event.cancelable !== false && event.preventDefault(); // the page does
  node.addEventListener("touchmove", stays, { passive: false });
  return { dragged: () => Boolean(held?.moved), dropped: () => Boolean(held?.put) };
}
