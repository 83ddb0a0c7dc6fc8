/**
 * Leaves out of uPlot what no chart here draws: it hangs every kind of line on its class, and can write times in a language of templates, so that
 * the bundler cannot tell that they are unused. They are a sixth of it, and the dashboard has a limit for its size.
 */
import type { BunPlugin } from "bun";

/** Parts of its module, and what replaces them; the version is fixed in package.json. */
const CHANGES: readonly (readonly [part: string, instead: string])[] = [
  ["\tuPlot.join = join;\n", ""],
  ["\t(paths.stepped = stepped);\n", ""],
  ["\t(paths.bars    = bars);\n", ""],
  ["\t(paths.spline  = monotoneCubic);\n", ""],
  ["\tuPlot.fmtDate = fmtDate;\n\tuPlot.tzDate  = tzDate;\n", ""],
  // Our charts have functions that write the values of their axes, and no legend.
  ["\tconst _fmtDate = (opts.fmtDate || fmtDate);\n", ""],
  [
    "timeAxisVals(_tzDate, timeAxisStamps((ms == 1 ? _timeAxisStampsMs : _timeAxisStampsS), _fmtDate));",
    "numAxisVals;",
  ],
  ["timeSeriesVal(_tzDate, timeSeriesStamp(_timeSeriesStamp, _fmtDate));", "numSeriesVal;"],
  ["isStr(sv) ? timeSeriesVal(_tzDate, timeSeriesStamp(sv, _fmtDate)) : ", ""],
  ["timeAxisVals(_tzDate, timeAxisStamps(av, _fmtDate)) :", "_timeAxisVals :"],
  ["timeAxisVal(_tzDate, av) :", "_timeAxisVals :"],
  ["\tconst showLegend = legend.show;\n", ""],
  ["showLegend", "false"],
  ["\t\t_timeAxisStamps,\n", "\t\t0,\n"],
  // Values that are computed when the module loads are kept, also if nothing uses them; functions are not.
  ["\tconst _timeAxisStamps = [", "\tconst _timeAxisStamps = 0 && ["],
  ["const days3 = days.map(slice3);", "const days3 = () => days;"],
  ["const months3 = months.map(slice3);", "const months3 = () => months;"],
  ["const localTz = new Intl.DateTimeFormat()", "const localTz = () => new Intl.DateTimeFormat()"],
];

export const withoutUnusedPaths: BunPlugin = {
  name: "uPlot without unused parts",
  setup: (build) => {
    build.onLoad({ filter: /[\\/]uPlot\.esm\.js$/ }, async ({ path }) => {
      let contents = await Bun.file(path).text();
      for (const [part, instead] of CHANGES) {
        if (!contents.includes(part)) throw new Error(`uPlot has no ${JSON.stringify(part)} any more`);
        contents = contents.replaceAll(part, instead);
      }
      return { contents, loader: "js" };
    });
  },
};
