// A word that is dragged onto another's thread: what it is there, at the slab where it is let go, takes the place of
// what the other word is there.
//   draggable(node, { plan: () => plan, above, drop: ({ from, to, part }) => … })

import { element } from "../../shared/ui.js";

const [LEAST, REACH] = [8, 60]; // pixels that a press may move; how far behind the last slab a word may be let go

// What lies at a point of a weave: the row of a word, and the part whose numbers are put in; null beside them.
export function targetAt({ columns: { name, encoder, from }, left, pitch }, x, y) {
  const row = left.findIndex((middle) => Math.abs(middle - y) <= pitch / 2);
  if (row < 0 || x < 0 || x > from + REACH) return null;
  const slab = encoder.findLastIndex((one) => x >= one.x); // before the first, on the word too, it is the encoding
  const part = slab < 0 ? "src_embedding.positions" : `encoder.layers.${slab}.residual_2.norm`;
  const at = slab < 0 ? name + 22 : encoder[slab].x + encoder[slab].wide / 2;
  return { row, part, x: at, y: left[row] };
}

// A finger scrolls and swipes, so only a mouse or a pen drags. `dragged()` tells whether the press that ends was one.
export function draggable(node, { plan, above, drop }) {
  const ghost = element("div", { class: "tl-ghost", "aria-hidden": "true" });
  let held = null;
  const spot = ({ clientX, clientY }) => {
    const { left, top } = node.getBoundingClientRect();
    return [clientX - left, clientY - top];
  };
  const under = ([x, y]) => targetAt(plan(), x, y - above());
  node.onpointerdown = (event) => {
    const word = event.target.closest?.("[data-part=reads][data-s]");
    held = null;
    if (!word || event.pointerType === "touch" || event.button) return;
    held = { row: Number(word.dataset.s), text: word.textContent, start: spot(event), moved: false, to: null };
  };
  node.onpointermove = (event) => {
    if (!held) return;
    const [x, y] = spot(event);
    if (!held.moved && Math.hypot(x - held.start[0], y - held.start[1]) < LEAST) return;
    if (!held.moved) {
      held.moved = true;
      node.setPointerCapture(event.pointerId);
      node.append(ghost);
    }
    held.to = under([x, y]);
    const lands = held.to && held.to.row !== held.row;
    ghost.textContent = lands ? `${held.text} →` : held.text;
    ghost.classList.toggle("tl-lands", Boolean(lands));
    const [left, top] = lands ? [held.to.x - 8, held.to.y + above()] : [x, y];
    ghost.style.cssText = `left:${left}px;top:${top}px`;
  };
  const end = (event) => {
    ghost.remove();
    const { moved, to, row } = held ?? {};
    if (event.type === "pointerup" && moved && to && to.row !== row) drop({ from: row, to: to.row, part: to.part });
    if (event.type === "pointercancel") held = null;
  };
  Object.assign(node, { onpointerup: end, onpointercancel: end });
  return { dragged: () => Boolean(held?.moved) };
}
