// Makes a drawn chart live: vega with the expression interpreter, which a strict policy without eval allows.
import { View, parse } from "vega";
import { expressionInterpreter } from "vega-interpreter";
import { tooltip } from "./tooltip.js";

/** Replaces the still drawing by a live one of the same frame. */
export async function show(drawing, spec) {
  const stage = document.createElement("div");
  const view = new View(parse(spec, undefined, { ast: true }), {
    container: stage,
    expr: expressionInterpreter,
    hover: true,
    renderer: "svg", // canvas could not resolve the theme's variables and would not repaint
    tooltip,
  });
  await view.runAsync();
  const live = stage.querySelector("svg");
  for (const name of ["role", "aria-labelledby", "class", "focusable"]) {
    const value = drawing.querySelector("svg")?.getAttribute(name);
    if (value) live.setAttribute(name, value);
  }
  drawing.replaceChildren(stage);
}
