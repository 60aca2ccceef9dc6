// In the contents of a page, where the reader is: the last place above the middle of the window.

const links = [...document.querySelectorAll(".places a")];
const places = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
const list = document.getElementById("contents");
let waiting = false;

const isBefore = (place) =>
  place && !place.closest("details:not([open])") && place.getBoundingClientRect().top < innerHeight / 2;

function show() {
  waiting = false;
  const here = places.findLastIndex(isBefore);
  links.forEach((link, i) => {
    if (i === here) link.setAttribute("aria-current", "location");
    else link.removeAttribute("aria-current");
  });
  if (here >= 0) keepInSight(links[here]);
}

function keepInSight(link) {
  const [{ top, bottom }, room] = [link.getBoundingClientRect(), list.getBoundingClientRect()];
  if (room.height && (top < room.top + 60 || bottom > room.bottom - 60))
    list.scrollTop += top - room.top - room.height / 3;
}

function ask() {
  if (!waiting) requestAnimationFrame(show);
  waiting = true;
}

addEventListener("scroll", ask, { passive: true });
addEventListener("resize", ask);
list?.addEventListener("toggle", ask); // a drawer that is opened
ask();
