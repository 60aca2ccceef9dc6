// The controls of a weave: breakers on the lines that they cut, a choice of layers, and what plays.

import { button, element, slider } from "../../shared/ui.js";

// ●—●, whose lever the style lifts where it is open: ●╱○.
const LEVER = '<path d="M8 9H36"/><circle cx="7" cy="9" r="4"/><circle class="tl-loose" cx="37" cy="9" r="4"/>';
const ICON = `<svg viewBox="0 -2 44 16" width="44" height="16" aria-hidden="true">${LEVER}</svg>`;
const BREATH = 900; // milliseconds that the first lever stays up

// One for each cut; `places` says over which x each stands, or null where they stand in a row. `says(cut)` is what is
// known of the answer that it gives.
export function breakersOf({ cuts, press, breath = BREATH }) {
  const node = element("div", { class: "tl-breakers", role: "group", "aria-label": "cuts" });
  const all = cuts.map((cut) => {
    const [icon, says] = [element("span", { class: "tl-icon" }), element("span", { class: "tl-known" })];
    const name = `cut ${cut.where}`;
    const one = button("", () => press(cut), { class: "tl-breaker", "aria-label": name, title: name });
    icon.innerHTML = ICON;
    one.append(icon, element("b", {}, cut.name), says);
    node.append(one);
    return { cut, one, says };
  });
  const show = ({ isOpen, says: known, places }) => {
    node.classList.toggle("tl-row", !places);
    for (const { cut, one, says } of all) {
      one.setAttribute("aria-pressed", isOpen(cut));
      const text = known(cut);
      if (says.textContent !== text) says.replaceChildren(...spoken(text));
      one.style.left = places ? `${places[cut.under]}px` : "";
    }
  };
  // The first lever goes up and down once, so that one sees that it can.
  const breathe = () => {
    node.classList.toggle("tl-breathes", true);
    setTimeout(() => node.classList.toggle("tl-breathes", false), breath);
  };
  return { node, show, breathe };
}

// “says 34 024”, of which the verb is left out where room is scarce.
function spoken(text) {
  const [, verb, after] = text.match(/^(says )(.+)$/) ?? [];
  return verb ? [element("span", { class: "tl-verb" }, verb), after] : [text];
}

// Where the breakers stand: under the part that each cuts. A model of one layer has its second slab in the first.
export function placesOf({ clock, encoder, decoder, from, to }) {
  const middle = ({ x, wide }) => x + wide / 2;
  const second = (slabs) => (slabs.length > 1 ? middle(slabs[1]) : slabs[0].x + slabs[0].wide);
  return {
    ...{ positions: clock, "encoder.0": middle(encoder[0]), "encoder.1": second(encoder) },
    ...{ cross: (from + to) / 2, "decoder.0": middle(decoder[0]), "decoder.1": second(decoder) },
  };
}

// Layers as segments of a bar.
export function layersOf({ n, pick }) {
  const all = Array.from({ length: n }, (_, i) => button(`layer ${i}`, () => pick(i)));
  const node = element(
    "div",
    { class: "tl-segments", role: "group", "aria-label": "layer of the cross-attention" },
    ...all,
  );
  return { node, show: (layer) => all.forEach((one, i) => one.setAttribute("aria-pressed", i === layer)) };
}

// Back, play, on, and a slider over the tokens that are written: made anew when their number changes.
export function playBar({ step, toggle, go }) {
  const [back, on] = [
    button("‹", () => step(-1), { "aria-label": "token before" }),
    button("›", () => step(1), { "aria-label": "next token" }),
  ];
  const play = button("▶ Play", toggle, { class: "tl-primary" });
  const room = element("div", { class: "tl-along" });
  const node = element("div", { class: "tl-play" }, back, play, on, room);
  let [along, seen] = [null, ""];
  const show = ({ at, names, playing }) => {
    const key = JSON.stringify(names);
    if (key !== seen) {
      const last = names.length - 1;
      const scale = {
        min: 0,
        max: Math.max(last, 1),
        step: 1,
        value: at,
        show: (t) => `${t}: ${names[Math.min(t, last)]}`,
      };
      along = slider("output token", scale, (t) => go(Math.min(t, last)));
      room.replaceChildren(along.node);
    }
    seen = key;
    along.set(at);
    play.textContent = playing ? "❚❚ Pause" : "▶ Play";
  };
  return { node, play, show };
}
