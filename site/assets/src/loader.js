// Small and always there: waits until a reader reaches for a chart, then fetches vega and the chart's specification.
import { tend } from "./labels.js";

const folder = new URL(".", document.currentScript.src); // known only while this script runs first
let library; // the promise of the vega bundle, asked for once

/** Makes one drawing live; a second call while it loads or lives does nothing. */
async function wake(drawing) {
  if (drawing.dataset.state) return;
  drawing.dataset.state = "loading";
  const figure = drawing.closest("figure");
  say(figure, "Loading…");
  try {
    library ??= import(new URL("interactive.js", folder).href);
    const [{ show }, answer] = await Promise.all([library, fetch(new URL(`../../charts/${drawing.dataset.chart}.json`, folder))]);
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    await show(drawing, await answer.json());
    drawing.dataset.state = "live";
    say(figure, "Interactive: point at a mark");
  } catch {
    library = undefined; // a failed download may succeed next time
    delete drawing.dataset.state;
    say(figure, "Could not be loaded. Try again");
  }
}

/** The text of the figure's button, which stays where it is so that the focus stays too. */
function say(figure, text) {
  const button = figure.querySelector(".mm-wake");
  if (button) button.textContent = text;
}

/** The drawing of a figure that the present width shows. */
const shown = (figure) => [...figure.querySelectorAll(".mm-drawing")].find((drawing) => drawing.offsetParent !== null);

/** Listens on every figure of the page; called again after each instant navigation. */
function wire() {
  for (const figure of document.querySelectorAll("figure.mm-figure:not([data-wired])")) {
    figure.dataset.wired = "";
    const button = figure.querySelector(".mm-wake");
    if (!button) continue;
    button.hidden = false; // without JavaScript there is nothing to press
    const wakeShown = () => {
      const drawing = shown(figure);
      if (drawing) wake(drawing);
    };
    button.addEventListener("click", wakeShown);
    button.addEventListener("focusin", wakeShown); // who comes by keyboard reaches for the chart here
    for (const drawing of figure.querySelectorAll(".mm-drawing")) {
      drawing.addEventListener("pointerenter", () => wake(drawing));
    }
  }
  tend();
}

// The theme's instant navigation swaps the page without loading it: its `document$` tells of each new page.
if (window.document$) window.document$.subscribe(wire);
else if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", wire);
else wire();
