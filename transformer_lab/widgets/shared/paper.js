// Paper, ink and thread: what pages, views and cards are drawn in, by day and by night. An amount runs from paper to
// amber; an edge stands out from the paper by 3 to 1 and a text by 4.5.
export const PAPER = {
  light: {
    ...{ paper: "#fbfaf6", slab: "#f0ede3", ink: "#16202b", soft: "#55606c", line: "#e3dfd5", edge: "#808992" },
    ...{ amber: "#e0a02e", "amber-edge": "#bf7c00", "amber-ink": "#8a5a00", thread: "#6b7885", change: "#a8337e" },
  },
  dark: {
    ...{ paper: "#0e1217", slab: "#171c23", ink: "#ece9e2", soft: "#a7b0ba", line: "#262d36", edge: "#66717d" },
    ...{ amber: "#f6bc43", "amber-edge": "#f6bc43", "amber-ink": "#f6bc43", thread: "#8e9aa7", change: "#f28fcb" },
  },
};

// Their names as properties of a style: "--tl-paper: #fbfaf6; …".
export function inPaper(theme) {
  return Object.entries(PAPER[theme])
    .map(([name, colour]) => `--tl-${name}: ${colour};`)
    .join(" ");
}
