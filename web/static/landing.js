// Where a link to a view lands: on the view, and on as much of what leads to it (a sentence, its code) as there is room
// for, but never in the middle of a line. What is folded there opens.

const ENOUGH = 0.62; // of the window, for a view that is higher
const LEADING = 0.4; // of it, at most, for what leads to one: behind a question a view is low until it is answered
const NOTHING = -18; // pixels: what stands above is out of sight

// What stands above a place in its section, the nearest first: first in its cell, then before that.
function above(place) {
  const cell = place.closest(".cell") ?? place;
  const before = [...cell.children].filter((one) => !one.contains(place));
  for (let node = cell; (node = node.previousElementSibling); ) before.push(node);
  return before.filter((one) => one.getClientRects().length);
}

function marginOf(place) {
  const { top } = place.getBoundingClientRect();
  const bottom = (place.closest(".output")?.nextElementSibling ?? place).getBoundingClientRect().bottom;
  const header = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop);
  const left = innerHeight - header - Math.min(ENOUGH * innerHeight, bottom - top);
  const room = Math.min(left, LEADING * innerHeight);
  const boxes = above(place).map((one) => one.getBoundingClientRect());
  const first = boxes.findLastIndex((box) => top - box.top <= room);
  if (first < 0) return NOTHING;
  // What stands above that is to end behind the bar, so it may have to stand nearer to the bar than others do.
  const air = header - document.querySelector(".top").offsetHeight;
  const gap = boxes[first].top - (boxes[first + 1]?.bottom ?? -Infinity);
  return Math.max(NOTHING, top - boxes[first].top - Math.max(0, air - gap));
}

// What is folded around a place, or behind a heading, opens for whoever is led there.
function unfold(place) {
  const extra = place.closest(".extras > section")?.querySelector(":scope > details");
  const folded = extra ? [extra] : [];
  for (let node = place; (node = node.parentElement.closest("details")); ) folded.push(node);
  const shut = folded.filter((one) => !one.open);
  shut.forEach((one) => (one.open = true));
  return shut.length > 0;
}

function prepare(hash) {
  const place = document.getElementById(decodeURIComponent((hash ?? "").slice(1)));
  const opened = place && unfold(place);
  if (place?.dataset.place === "view") place.style.scrollMarginTop = `${Math.round(marginOf(place))}px`;
  if (opened) place.scrollIntoView();
}

addEventListener("click", ({ target }) => prepare(target.closest?.("a[href^='#']")?.hash), true);
addEventListener("hashchange", () => prepare(location.hash));
prepare(location.hash);
