// Draws charts in Node: one JSON object {id, spec} a line comes in, one {id, svg, vega} a line goes out.
import { createInterface } from "node:readline";
import * as vega from "vega";
import { compile } from "vega-lite";
import widths from "./liberation-sans.json";

const FIRST = 32; // the tables start at the space

// Node has no canvas, and vega would guess 0.8 of the font size for each character, a tenth too wide.
vega.textMetrics.width = (item, text) => {
  const table = String(item.fontWeight ?? "").startsWith("bold") || item.fontWeight >= 600 ? widths.bold : widths.regular;
  let thousandths = 0;
  for (const character of String(text ?? "")) thousandths += table[character.codePointAt(0) - FIRST] ?? 556;
  return (thousandths * (item.fontSize ?? 11)) / 1000;
};

/** The SVG with ids of its own: vega numbers clips and gradients through the whole process. */
function ownIds(svg, prefix) {
  const names = new Map();
  const rename = (id) => {
    if (!names.has(id)) names.set(id, `${prefix}-${names.size + 1}`);
    return names.get(id);
  };
  return svg
    .replace(/ id="([^"]+)"/g, (_, id) => ` id="${rename(id)}"`)
    .replace(/url\(#([^)"]+)\)/g, (_, id) => `url(#${rename(id)})`)
    .replace(/ (?:xlink:)?href="#([^"]+)"/g, (_, id) => ` href="#${rename(id)}"`);
}

/** The SVG without roles and labels of its parts: the page names the drawing as a whole and has its data as a table. */
function unspoken(svg) {
  return svg.replace(/ (?:role|aria-[a-z]+)="[^"]*"/g, "").replace(/<path class="foreground"[^>]*display="none"\/>/g, "");
}

/** The SVG with places to a hundredth of a pixel; vega writes them to sixteen digits, half of a heat map's bytes. */
function rounded(svg) {
  const round = (number) => String(Math.round(number * 100) / 100);
  return svg.replace(/ (?:d|transform|x2|y2)="[^"]*"/g, (attribute) => attribute.replace(/-?\d+\.\d{3,}(?:e-\d+)?/g, round));
}

/** One drawing and the compiled specification that makes it live in a browser. */
async function draw({ id, spec }) {
  const compiled = compile(spec, { logger: strictLogger(id) }).spec;
  const view = new vega.View(vega.parse(compiled), { renderer: "none", logger: strictLogger(id) });
  try {
    const svg = await view.toSVG();
    return { id, svg: rounded(ownIds(unspoken(svg), id)), vega: compiled };
  } finally {
    view.finalize(); // frees the data flow: a big site draws thousands of charts in one process
  }
}

/** A logger that turns a warning into an error: a chart that vega doubts is not published. */
function strictLogger(id) {
  const fail = (...words) => {
    throw new Error(`${id}: ${words.join(" ")}`);
  };
  const logger = { level: () => logger, error: fail, warn: fail, info: () => logger, debug: () => logger };
  return logger;
}

try {
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    if (!line.trim()) continue;
    process.stdout.write(`${JSON.stringify(await draw(JSON.parse(line)))}\n`);
  }
} catch (problem) {
  process.stderr.write(`${problem.message}\n`); // the stack would show a whole bundle on one line
  process.exitCode = 1;
}
