// Search: every place of every page, read once; the places that hold all words, best first.

const list = document.getElementById("search-results");
const found = document.getElementById("found");
const field = document.querySelector(".search-large input");
const [MOST, BEFORE, AROUND] = [30, 60, 220];
let places = [];

// A place is [page, address in it, title of the page, title of the place, text].
export function ranked(all, query) {
  const words = query.toLowerCase().match(/[\p{L}\p{N}_.]+/gu) ?? [];
  if (!words.length) return [];
  const score = ([, , page, title, text]) => {
    const [inTitle, inPage, inText] = [title, page, text].map((one) => one.toLowerCase());
    let sum = 0;
    for (const word of words) {
      const begins = new RegExp(`(?<![\\p{L}\\p{N}])${word.replaceAll(".", "\\.")}`, "gu");
      const times = inText.match(begins)?.length ?? 0;
      const points = 12 * begins.test(inTitle) + 3 * inPage.includes(word) + Math.min(times, 5);
      if (!times && !inTitle.includes(word) && !inPage.includes(word)) return 0;
      sum += points + (inText.includes(word) ? 0.5 : 0);
    }
    return sum;
  };
  return all
    .map((place) => [score(place), place])
    .filter(([points]) => points)
    .sort(([one], [other]) => other - one)
    .slice(0, MOST)
    .map(([, place]) => place);
}

// The text around the first word that is found, with all of them marked.
export function excerpt(text, query) {
  const words = query.toLowerCase().match(/[\p{L}\p{N}_.]+/gu) ?? [];
  const at = Math.max(0, Math.min(...words.map((word) => text.toLowerCase().indexOf(word)).filter((i) => i >= 0), 1e9));
  const start = at > text.length ? 0 : Math.max(0, at - BEFORE);
  const cut = text.slice(start, start + AROUND);
  const any = new RegExp(`(${words.map((word) => word.replaceAll(".", "\\.")).join("|")})`, "gi");
  const parts = cut.split(any).map((part, i) => {
    if (i % 2 === 0) return part;
    const mark = document.createElement("mark");
    mark.textContent = part;
    return mark;
  });
  return [start ? "… " : "", ...parts, start + AROUND < text.length ? " …" : ""];
}

function show(query) {
  const results = ranked(places, query);
  found.textContent = query.trim() ? `${results.length === MOST ? "The first " : ""}${results.length} places found` : "";
  list.replaceChildren(
    ...results.map(([page, id, of, title, text]) => {
      const [item, link, said] = ["li", "a", "p"].map((name) => document.createElement(name));
      link.href = `${document.documentElement.dataset.root}${page}.html#${id}`;
      link.textContent = title;
      said.append(...excerpt(text, query));
      if (of !== title) {
        const label = document.createElement("span");
        Object.assign(label, { className: "label", textContent: of });
        item.append(label);
      }
      item.append(link, said);
      return item;
    }),
  );
}

if (list) {
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  field.form.onsubmit = (event) => event.preventDefault();
  field.oninput = () => {
    history.replaceState(null, "", `?q=${encodeURIComponent(field.value)}`);
    show(field.value);
  };
  places = await (await fetch(new URL("search.json", import.meta.url))).json();
  show(field.value);
}
