// Elements of a page by name, attributes and children, and values as they are shown.

export const element = (name, attributes = {}, ...children) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node[key] = value;
    else if (value !== false) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
};

export const html = (text, name = "div") => Object.assign(document.createElement(name), { innerHTML: text });

export const shown = (value) => (Array.isArray(value) ? `[${value.map(shown).join(", ")}]` : rounded(value));
const rounded = (x) => (typeof x === "number" ? String(Number.isInteger(x) ? x : Number(x.toPrecision(4))) : String(x));

// What a button says once it has done its work, before it offers it again.
export function sayDone(button, done, words) {
  button.textContent = done;
  setTimeout(() => (button.textContent = words), 2000);
}
