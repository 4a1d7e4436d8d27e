// Builds the viewer into the Python package, or with --tests the tests into build/tests.
import { build } from "esbuild";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const at = process.argv.indexOf("--out");
const out = at > 0 ? process.argv[at + 1] : join(here, "../src/facevalue/view/static");
const LIMIT = 60_000;
const BUNDLED = ["preact", "hyparquet", "fzstd"];
const common = {
  absWorkingDir: here, bundle: true, charset: "utf8", jsx: "automatic", jsxImportSource: "preact", logLevel: "warning",
};

if (process.argv.includes("--tests")) {
  rmSync(join(here, "build"), { recursive: true, force: true });
  const entries = readdirSync(join(here, "tests")).filter((name) => name.includes(".test.")).map((name) => `tests/${name}`);
  await build({
    ...common, entryPoints: entries, outdir: "build/tests", platform: "node", format: "esm", packages: "external",
    define: { PARQUET: '"../../src/parquet.ts"' },
  });
} else {
  const page = { ...common, minify: true, write: true, target: "es2022", metafile: true, define: { PARQUET: '"./parquet.js"' }, external: ["./parquet.js"] };
  const results = [
    await build({ ...page, entryPoints: { viewer: "src/main.tsx" }, outdir: out, format: "iife" }),
    await build({ ...page, entryPoints: { parquet: "src/parquet.ts" }, outdir: out, format: "esm" }),
    await build({ ...page, entryPoints: { viewer: "style/viewer.css" }, outdir: out }),
  ];
  const licenses = BUNDLED.map((name) => `${name}\n\n${readFileSync(join(here, `node_modules/${name}/LICENSE`), "utf8").trim()}\n`);
  writeFileSync(join(out, "LICENSES"), licenses.join("\n\n"));
  for (const name of results.flatMap((result) => Object.keys(result.metafile.outputs))) {
    const size = gzipSync(readFileSync(join(here, name))).length;
    console.log(`${name}: ${size} bytes gzipped`);
    if (name.endsWith("viewer.js") && size > LIMIT) throw new Error(`viewer.js is larger than ${LIMIT} bytes gzipped`);
  }
}
