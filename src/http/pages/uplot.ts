/**
 * Leaves out of uPlot what no chart here draws: it hangs every kind of line on its class, so that the bundler cannot tell that they are
 * unused. They are a ninth of it, and the dashboard has a limit for its size.
 */
import type { BunPlugin } from "bun";

/** Lines of its module; the version is fixed in package.json. */
const UNUSED = [
  "\tuPlot.join = join;\n",
  "\t(paths.stepped = stepped);\n",
  "\t(paths.bars    = bars);\n",
  "\t(paths.spline  = monotoneCubic);\n",
];

export const withoutUnusedPaths: BunPlugin = {
  name: "uPlot without unused paths",
  setup: (build) => {
    build.onLoad({ filter: /[\\/]uPlot\.esm\.js$/ }, async ({ path }) => {
      let contents = await Bun.file(path).text();
      for (const line of UNUSED) {
        if (!contents.includes(line)) throw new Error(`uPlot has no line ${JSON.stringify(line)} any more`);
        contents = contents.replace(line, "");
      }
      return { contents, loader: "js" };
    });
  },
};
