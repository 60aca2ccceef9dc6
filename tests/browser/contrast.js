// The texts in a notebook's outputs that are hard to read: contrast below 4.5 to 1 (WCAG 2, level AA).
() => {
  const MIN = 4.5;
  const rgba = (text) => {
    const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
    return [r, g, b, a];
  };
  const over = ([r, g, b, a], below) => [r, g, b].map((c, i) => a * c + (1 - a) * below[i]);
  const background = (element) => {
    if (!element) return [255, 255, 255];
    const own = rgba(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own.slice(0, 3) : over(own, background(element.parentElement));
  };
  const luminance = (colour) => {
    const [r, g, b] = colour.map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (element) => {
    const below = background(element);
    const pair = [luminance(over(rgba(getComputedStyle(element).color), below)), luminance(below)];
    return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
  };
  const ownText = (element) =>
    [...element.childNodes]
      .filter((n) => n.nodeType === 3)
      .map((n) => n.data)
      .join("")
      .trim();
  return [...document.querySelectorAll(".jp-OutputArea-output *")]
    .filter((element) => ownText(element) && element.checkVisibility() && !element.closest("[aria-hidden=true], svg"))
    .filter((element) => contrast(element) < MIN)
    .map((element) => `${contrast(element).toFixed(1)}: ${ownText(element).slice(0, 60)}`);
};
