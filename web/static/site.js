// Views follow the theme as JupyterLab tells it, by an attribute of the page; here Furo's switch and the system decide.
const body = document.body;
const system = matchMedia("(prefers-color-scheme: dark)");

function tellTheViews() {
  const { theme } = body.dataset;
  const isDark = theme === "dark" || (theme !== "light" && system.matches);
  body.dataset.jpThemeLight = String(!isDark);
}

tellTheViews();
new MutationObserver(tellTheViews).observe(body, { attributes: true, attributeFilter: ["data-theme"] });
system.addEventListener("change", tellTheViews);

// On paper what is folded is read, too, but for the code of figures.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("article details:not(.above-input)")) details.open = true;
});

// What is wider than the page scrolls by itself, by the keyboard, too.
function reachWhatScrolls() {
  for (const box of document.querySelectorAll("article :is(pre, .math, .table-wrapper, .output.text_html, .opening, p:has(> img))")) {
    if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

reachWhatScrolls();
addEventListener("load", reachWhatScrolls);
addEventListener("resize", reachWhatScrolls);
