// Bundles the browser's and Node's halves of the charts, the style sheet and the licences: node build.mjs OUT
import { build } from "esbuild";
import { cp, mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

const out = process.argv[2];
if (!out) throw new Error("usage: node build.mjs OUT");

const common = { bundle: true, minify: true, charset: "utf8", legalComments: "none", metafile: true, logLevel: "warning" };
const results = await Promise.all([
  // Node draws at build time: vega and vega-lite in one file, so that an installed package needs no node_modules.
  build({ ...common, entryPoints: ["src/draw.mjs"], outfile: join(out, "draw.mjs"), platform: "node", format: "esm", target: "node22" }),
  // The page gets a loader of some 2 kB; vega follows only when a reader reaches for a chart.
  build({ ...common, entryPoints: ["src/loader.js"], outfile: join(out, "loader.js"), format: "iife", target: "es2020" }),
  build({ ...common, entryPoints: ["src/interactive.js"], outfile: join(out, "interactive.js"), format: "esm", target: "es2020" }),
  build({ ...common, entryPoints: ["src/metalmark.css"], outfile: join(out, "metalmark.css"), target: ["chrome111", "safari16.4", "firefox113"] }),
]);

/** The names of the packages whose code went into the bundles. */
function bundledPackages() {
  const names = new Set();
  for (const { metafile } of results) {
    for (const path of Object.keys(metafile.inputs)) {
      const found = path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
      if (found) names.add(found[1]);
    }
  }
  return [...names].sort();
}

/** Name, version and licence text of a package, as its licence asks to be passed on. */
async function licence(name) {
  const folder = join("node_modules", name);
  const { version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file ? await readFile(join(folder, file), "utf8") : "(the package carries no licence text)";
  return `${name} ${version} (${license})\n\n${text.trim()}\n`;
}

await mkdir(out, { recursive: true });
for (const picture of ["logo.svg", "icon.svg"]) await cp(join("src", picture), join(out, picture));
const texts = await Promise.all(bundledPackages().map(licence));
await writeFile(join(out, "licences.txt"), texts.join(`\n${"-".repeat(80)}\n\n`));
