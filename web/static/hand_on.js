// Below each view: its link, which leads to exactly what is seen, and its picture. The link names the view and what of
// it was changed (`?sharpness=3#view-arcs`), and whoever follows it finds the view set so.

import { sayDone } from "./elements.js";
import { saved, whereFrom } from "./frame.js";
import { pictureOf } from "./picture.js";
import { changedFrom, inWords, set, settingsOf } from "./settings.js";

const page = document.documentElement;
const frame = () => new Promise(requestAnimationFrame);
const isAlive = (node) => node.live?.values && !node.live.querySelector("[aria-busy=true]");
const starts = new WeakMap(); // what each view was set to at first

async function begun(node) {
  while (!isAlive(node)) await frame();
  if (!starts.has(node)) starts.set(node, settingsOf(node.live));
  return node.live;
}

// The view that a place is of: the next one.
const viewOf = (place) =>
  [...document.querySelectorAll("article *")].find(
    (node) =>
      node.localName.startsWith("tl-") && place.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING,
  );

export function addressOf(place, changed) {
  const here = new URL(location.href);
  here.search = new URLSearchParams([...changed]).toString();
  here.hash = place.id;
  return here.href;
}

export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = Object.assign(document.createElement("textarea"), { value: text });
  document.body.append(field); // without https there is no other way
  field.select();
  document.execCommand("copy");
  field.remove();
}

function titleOf(place, node) {
  if (document.querySelector(".poster-question")) return document.querySelector(".poster-question").textContent;
  const tile = document.querySelector(`.wall a[href="#${place.id}"] b`);
  return tile?.textContent ?? node.querySelector("img")?.alt ?? place.dataset.title;
}

function barFor(place, node) {
  const said = Object.assign(document.createElement("span"), { role: "status" });
  const button = (text, done, act) => {
    const one = Object.assign(document.createElement("button"), { type: "button", textContent: text });
    one.onclick = async () => {
      said.textContent = "";
      await act();
      said.textContent = done;
    };
    return one;
  };
  const changed = async () => changedFrom((await begun(node), starts.get(node)), node.live);
  const link = button("Copy link", "Copied: it leads to exactly this.", async () => {
    const address = addressOf(place, await changed());
    history.replaceState(null, "", address);
    await copy(address);
  });
  const picture = button("Save as picture", "Saved.", async () => {
    const [view, set_] = [await begun(node), await changed()];
    const words = inWords(view, set_).join(" · ");
    const about = { title: titleOf(place, node), set: words, from: whereFrom(), root: page.dataset.root };
    await saved(await pictureOf(view, about), `${place.id.replace(/^view-/, "")}.png`);
  });
  const own = node.localName.startsWith("tl-machine"); // which has both, and its own page for an address
  const bar = document.createElement("p");
  bar.className = "hand-on";
  bar.append(link, ...(own ? [] : [picture]), said);
  node.after(bar);
  return bar;
}

// What stands below a view waits as long as the question above the view does.
function waitWith(node, bar) {
  const asked = node.querySelector(".tl-ask");
  if (!asked) return;
  const follow = () => bar.classList.toggle("waits", !!asked.querySelector("button:not(:disabled, .tl-quiet)"));
  new MutationObserver(follow).observe(asked, { subtree: true, attributeFilter: ["disabled"] });
  follow();
}

// The link of a lesson or an exercise, or what a lesson asks to be guessed: on a phone by the sheet for sharing.
function offerLink(button) {
  const canSend = matchMedia("(pointer: coarse)").matches && navigator.share;
  const { asks, send } = button.dataset; // a lesson's own has neither
  const offer = send?.startsWith("exercise-") ? "Send it to a computer" : "Share";
  const words = asks ? button.textContent : canSend ? offer : "Copy link";
  button.textContent = words;
  button.classList.add("ready");
  button.onclick = async () => {
    const url = new URL(location.pathname + (send && `#${send}`), location.href).href;
    const text = asks ?? [document.title, send.replace("exercise-", "")].filter(Boolean).join(": ");
    if (canSend) return navigator.share({ title: document.title, text, url }).catch(() => {});
    await copy(asks ? `${asks}\n${url}` : url);
    sayDone(button, "Copied", words);
  };
}

// What the address asks of one view. Whoever follows such a link is to see it, so no question covers it any more.
async function follow(place, node) {
  const wanted = new Map(new URLSearchParams(location.search));
  if (location.hash !== `#${place.id}` || !wanted.size) return;
  place.scrollIntoView();
  const view = await begun(node);
  if (view.hidden) node.querySelector(".tl-ask .tl-quiet")?.click();
  await set(view, wanted);
  document.activeElement?.blur();
  place.scrollIntoView();
}

// The code that an exercise begins with, and its check.
function offerCode(button) {
  button.classList.add("ready");
  button.onclick = async () => {
    await copy(button.dataset.copy);
    sayDone(button, "Copied", "Copy");
  };
}

document.querySelectorAll("[data-send]").forEach(offerLink);
document.querySelectorAll("[data-copy]").forEach(offerCode);
for (const place of document.querySelectorAll("[data-place=view]")) {
  const node = viewOf(place);
  if (!node) continue;
  const bar = barFor(place, node);
  customElements.whenDefined(node.localName).then(async () => (await begun(node), waitWith(node, bar)));
  follow(place, node);
}
