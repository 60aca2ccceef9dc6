// What every page does at once: its theme, views that begin when they come near, what is wider than the page.

const page = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");

// Views follow the theme as JupyterLab tells it, by an attribute of the body; here a button and the system decide.
function tellTheViews() {
  const { theme } = page.dataset;
  const isDark = theme === "dark" || (theme !== "light" && system.matches);
  page.toggleAttribute("data-dark", isDark);
  document.body.dataset.jpThemeLight = String(!isDark);
}
system.addEventListener("change", tellTheViews);

const THEMES = { auto: "as the system has them", light: "light", dark: "dark" };
const SIGNS = { auto: "◐", light: "○", dark: "●" };

function showTheme(button) {
  button.setAttribute("aria-label", `Colours: ${THEMES[page.dataset.theme] ?? THEMES.auto}`);
  button.firstElementChild.textContent = SIGNS[page.dataset.theme] ?? SIGNS.auto;
}

// A view's script runs when the reader comes near it: until then its picture stands there, and nothing is computed.
const MARGIN = 900; // pixels before it is seen
const defineNow = customElements.define.bind(customElements);
const waiting = new Map();
const near = new IntersectionObserver(
  (all) => all.filter((one) => one.isIntersecting).forEach((one) => waiting.get(one.target.localName)?.()),
  { rootMargin: `${MARGIN}px 0px` },
);

customElements.define = (name, ...rest) => {
  if (waiting.has(name)) return;
  const begin = () => {
    if (customElements.get(name)) return;
    document.querySelectorAll(name).forEach((node) => near.unobserve(node));
    defineNow(name, ...rest);
  };
  waiting.set(name, begin);
  document.querySelectorAll(name).forEach((node) => near.observe(node));
};

// On paper what is folded is read, too, and every view is drawn.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("article details")) details.open = true;
  waiting.forEach((begin) => begin());
});

// What is wider than the page scrolls by itself, by the keyboard, too.
const BOXES = "article :is(pre, .math, .table-wrapper, .output.text_html, p:has(> img))";
function reachWhatScrolls() {
  for (const box of document.querySelectorAll(BOXES)) {
    if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
addEventListener("load", reachWhatScrolls);
addEventListener("resize", reachWhatScrolls);
addEventListener("toggle", reachWhatScrolls, true); // what opens has a width only then

// A notebook installs the wheel of its site. Where the build was not told the site's address, the page knows it.
async function withAddress(event) {
  const link = event.target.closest("a[download]");
  if (!link || link.protocol === "blob:") return;
  event.preventDefault();
  const text = await (await fetch(link.href)).text();
  const root = new URL(page.dataset.root, location.href).href;
  const notebook = new Blob([text.replaceAll("SITE-ADDRESS/", root)], { type: "application/x-ipynb+json" });
  const filled = Object.assign(document.createElement("a"), {
    href: URL.createObjectURL(notebook),
    download: link.pathname.split("/").pop(),
  });
  document.body.append(filled);
  filled.click();
  filled.remove();
}

// What leads into the machine of the page keeps the sentence, and all else that the machine is set to.
function intoTheMachine(event) {
  const link = event.target.closest("a[href^='#s=']");
  if (!link) return;
  event.preventDefault();
  const [wanted, now] = [link.hash, location.hash].map((hash) => new URLSearchParams(hash.slice(1)));
  now.delete("at"); // a part that is open
  for (const [name, value] of wanted) if (name !== "s" || !now.has(name)) now.set(name, value);
  location.hash = now;
  scrollTo(0, 0);
}

addEventListener("DOMContentLoaded", () => {
  addEventListener("click", withAddress);
  addEventListener("click", intoTheMachine);
  reachWhatScrolls();
  const button = document.querySelector("button.theme");
  showTheme(button);
  button.onclick = () => {
    const names = Object.keys(THEMES);
    page.dataset.theme = names[(names.indexOf(page.dataset.theme) + 1) % names.length];
    localStorage.setItem("theme", page.dataset.theme);
    showTheme(button);
    tellTheViews();
  };
  const contents = document.getElementById("contents");
  contents?.addEventListener("click", (event) => {
    if (event.target.closest("a") && contents.matches(":popover-open")) contents.hidePopover();
  });
});
